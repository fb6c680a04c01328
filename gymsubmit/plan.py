"""What will run, decided: the only thing that rendering and executors see of a config.

A JobPlan is one benchmark's job. Everything in it is frozen and made of words (`gymsubmit.words`). Nothing after
lowering asks why: a step has its placement, its argv and its environment, and a template writes them down.
"""

from dataclasses import dataclass
from pathlib import PurePosixPath

from gymsubmit.words import UserShell, Word


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable. `name` is a shell identifier."""

    name: str
    value: Word


@dataclass(frozen=True, slots=True)
class Pool:
    """A contiguous range of the allocation's nodes: `first_node` (from 0) and the `nodes` from there on.

    `variable` is the exported variable that lists its hosts.
    """

    name: str
    variable: str
    first_node: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a step runs: one task on each of `node_count` nodes from `first_node` on.

    `hosts` is the word that names them, None in a job of one node. `het_group` is the component of a heterogeneous
    job, None elsewhere.
    """

    first_node: int
    node_count: int
    task_count: int
    hosts: Word | None
    het_group: int | None


@dataclass(frozen=True, slots=True)
class Directive:
    """One `#SBATCH --name=value`; `value` None is the bare option."""

    name: str
    value: str | int | None


@dataclass(frozen=True, slots=True)
class Component:
    """One component of the allocation (a job that is not heterogeneous has exactly one)."""

    nodes: int
    directives: tuple[Directive, ...]


@dataclass(frozen=True, slots=True)
class Container:
    """The container of a step. `image` and `mounts` are in the runtime's own spelling.

    `hook_env` names variables that hooks of the runtime read before the step's shell starts.
    """

    image: str
    mounts: tuple[str, ...]
    workdir: PurePosixPath
    hook_env: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Port:
    """A TCP port that a step listens on. `first_node_only`: only its first node does."""

    number: int
    first_node_only: bool


@dataclass(frozen=True, slots=True)
class Launch:
    """How a step is started, whatever it runs.

    `key` is unique within the job and a shell identifier; `name` is the step's own (Slurm's --job-name, the log).
    `env` is set in the step's shell and nowhere else, `pre_command` runs in that shell just before the command.
    `srun_options` are complete options as single words.
    """

    name: str
    key: str
    container: Container | None
    placement: Placement
    env: tuple[Variable, ...]
    ports: tuple[Port, ...]
    pre_command: UserShell | None
    srun_options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """Shell text of the user's, or a program for the interpreter that its `#!` line names.

    Exactly one is set: `text` is carried in the job script; `file` is staged in the job's directory.
    """

    text: UserShell | None
    file: PurePosixPath | None


@dataclass(frozen=True, slots=True)
class ServerStep:
    """One process on each node of the placement, all with the same argv."""

    launch: Launch
    argv: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class DataParallelStep:
    """vLLM data parallel over nodes: `head` on the step's first node, `rank` on each other one."""

    launch: Launch
    head: tuple[Word, ...]
    rank: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class RayInstanceStep:
    """One vLLM instance over nodes: a Ray cluster over all of them, the server on the first.

    `address` is the Ray head's host:port as one word, `nodes` how many must have joined before the server starts.
    """

    launch: Launch
    ray_head: tuple[Word, ...]
    ray_worker: tuple[Word, ...]
    address: Word
    nodes: int
    argv: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """A service that is the user's own script."""

    launch: Launch
    script: Script


Step = ServerStep | DataParallelStep | RayInstanceStep | ScriptStep


@dataclass(frozen=True, slots=True)
class Probe:
    """One HTTP health check: `GET http://host:port/path` answered with 2xx.

    `step` is the name of the step that must be ready. `timeout_seconds` counts from the step's start.
    """

    step: str
    host: Word
    port: int
    path: str
    timeout_seconds: int
    interval_seconds: int


@dataclass(frozen=True, slots=True)
class RuntimeCheck:
    """A variable that must be set where the batch script runs, and the config field that asks for it."""

    variable: str
    field: str


@dataclass(frozen=True, slots=True)
class NodeSetup:
    """What the job script finds out about its nodes before anything starts.

    `names`: whether the host list is needed. `addresses`: the nodes whose addresses are. `network_interface`: whose
    address counts, None for the one that the host's name resolves to. `exports` in order, each set once.
    """

    names: bool
    het_groups: int
    pools: tuple[Pool, ...]
    addresses: tuple[int, ...]
    network_interface: str | None
    exports: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class GymInstall:
    """NeMo Gym from git: `ref` is a branch, a tag or a commit; `package` what is installed (`.` or with extras)."""

    repo: str
    ref: str
    package: str


@dataclass(frozen=True, slots=True)
class GymDriver:
    """`gym eval prepare` and `gym eval run`, Gym installed before them where asked for."""

    launch: Launch
    install: GymInstall | None
    prepare: tuple[Word, ...] | None
    run: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class ScriptDriver:
    """A benchmark that is the user's own script, with Gym installed before it where asked for."""

    launch: Launch
    install: GymInstall | None
    script: Script


Driver = GymDriver | ScriptDriver


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file beside the job script; `path` is relative to the job's directory, `mode` the permission bits."""

    path: PurePosixPath
    text: str
    mode: int


@dataclass(frozen=True, slots=True)
class JobPlan:
    """One benchmark's job.

    `launcher` names the templates that start a step: `pyxis`, `srun` or `local`. `directory` is absolute, on the
    machine where the job runs. `secrets` are variable names of the submitting machine.
    """

    name: str
    directory: PurePosixPath
    launcher: str
    allocation: tuple[Component, ...]
    secrets: tuple[str, ...]
    runtime_checks: tuple[RuntimeCheck, ...]
    nodes: NodeSetup
    steps: tuple[Step, ...]
    probes: tuple[Probe, ...]
    driver: Driver
    overlap_startup: bool
    grace_seconds: int
    files: tuple[StagedFile, ...]
