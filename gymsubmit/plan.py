"""What will run, decided: the only thing that rendering and executors see of a config.

A JobPlan is one benchmark's job. Everything in it is frozen and made of words (`gymsubmit.words`). Nothing after
lowering asks why: a step has its placement, its argv and its environment, and a template writes them down.
"""

from pathlib import PurePosixPath

from gymsubmit.frozen import Frozen
from gymsubmit.words import UserShell, Word


class Variable(Frozen):
    """An environment variable. `name` is a shell identifier."""

    name: str
    value: Word


class Pool(Frozen):
    """A contiguous range of the allocation's nodes: `first_node` (from 0) and the `nodes` from there on.

    `variable` is the exported variable that lists its hosts.
    """

    name: str
    variable: str
    first_node: int
    nodes: int


class Placement(Frozen):
    """Where a step runs: one task on each of `node_count` nodes from `first_node` on.

    `hosts` is the word that names them, None in a job of one node. `het_group` is the component of a heterogeneous
    job, None elsewhere.
    """

    first_node: int
    node_count: int
    task_count: int
    hosts: Word | None
    het_group: int | None


class Directive(Frozen):
    """One `#SBATCH --name=value`; `value` None is the bare option."""

    name: str
    value: str | int | None


class Component(Frozen):
    """One component of the allocation (a job that is not heterogeneous has exactly one)."""

    nodes: int
    directives: tuple[Directive, ...]


class Container(Frozen):
    """The container of a step. `image` and `mounts` are in the runtime's own spelling.

    `hook_env` are variables that hooks of the runtime read before the step's shell starts; `hook_names` are their
    names.
    """

    image: str
    mounts: tuple[str, ...]
    workdir: PurePosixPath
    hook_env: tuple[Variable, ...]
    hook_names: tuple[str, ...]


class Script(Frozen):
    """Shell text of the user's, run by a bash of its own. Exactly one is set.

    `text` is carried in the job script; `file`, for text too long for that, is staged in the job's directory.
    """

    text: UserShell | None
    file: PurePosixPath | None


class Devices(Frozen):
    """`count` GPUs from number `first` on, of those that the job has on the step's node."""

    first: int
    count: int


class Launch(Frozen):
    """How a step is started, whatever it runs.

    `key` is unique within the job and part of shell identifiers; `name` is the step's own (Slurm's --job-name, the
    log). `devices` is None where the step may use all GPUs. `env` is set in the step's shell and nowhere else,
    `pre_command` runs in that shell just before the command. `ports` are the TCP ports that must be free where it
    starts (for a step whose nodes differ: on its first node). `srun_options` are complete options as single words.
    """

    name: str
    key: str
    container: Container | None
    placement: Placement
    devices: Devices | None
    env: tuple[Variable, ...]
    ports: tuple[int, ...]
    pre_command: Script | None
    srun_options: tuple[str, ...]


class ServerStep(Frozen):
    """One process on each node of the placement, all with the same argv."""

    launch: Launch
    argv: tuple[Word, ...]


class DataParallelStep(Frozen):
    """vLLM data parallel over nodes: `head` on the step's first node, `rank` on each other one.

    `launch.ports` are the head's; the others listen on none that is fixed.
    """

    launch: Launch
    head: tuple[Word, ...]
    rank: tuple[Word, ...]


class RayInstanceStep(Frozen):
    """One vLLM instance over nodes: a Ray cluster over all of them, the server (`argv`) on the first.

    `head` is the address of the Ray head, which listens on `ray_port`; `ray_address` is both, as Ray takes them.
    """

    launch: Launch
    head: Word
    ray_port: int
    ray_address: Word
    ray_head: tuple[Word, ...]
    ray_worker: tuple[Word, ...]
    argv: tuple[Word, ...]


class ScriptStep(Frozen):
    """A service that is the user's own script."""

    launch: Launch
    script: Script


Step = ServerStep | DataParallelStep | RayInstanceStep | ScriptStep


class Probe(Frozen):
    """The HTTP health check of a step: `GET http://host:port/path` answered with 2xx by each of `hosts`.

    `step` is the step's name. `timeout_seconds` counts from the step's start.
    """

    step: str
    hosts: tuple[Word, ...]
    port: int
    path: str
    timeout_seconds: int
    interval_seconds: int


class RuntimeValue(Frozen):
    """A variable that is read where the batch script runs, and the config field that asks for it."""

    variable: str
    field: str


class NodeSetup(Frozen):
    """What the job script finds out about its nodes before anything starts.

    `names`: whether the host list is needed; `het_groups`: the components it is put together from, none in a plain
    job; `all_hosts`: whether a step names them all. `pools` are those whose hosts are exported, `addresses` the nodes
    whose address is. `network_interface`: whose address that is, None for the one that the host's name stands for.
    `exports` in order, each set once.
    """

    names: bool
    het_groups: tuple[int, ...]
    all_hosts: bool
    pools: tuple[Pool, ...]
    addresses: tuple[int, ...]
    network_interface: str | None
    exports: tuple[Variable, ...]


class GymInstall(Frozen):
    """NeMo Gym from git: `ref` is a branch, a tag or a commit; `package` what is installed (`.` or with extras)."""

    repo: str
    ref: str
    package: str


class ProgramDriver(Frozen):
    """A benchmark that is a program, `gym eval run` mostly; `prepare` before it, and before that Gym installed."""

    launch: Launch
    install: GymInstall | None
    prepare: tuple[Word, ...] | None
    argv: tuple[Word, ...]


class ScriptDriver(Frozen):
    """A benchmark that is the user's own shell script; before it, what comes before a program."""

    launch: Launch
    install: GymInstall | None
    prepare: tuple[Word, ...] | None
    script: Script


Driver = ProgramDriver | ScriptDriver


class StagedFile(Frozen):
    """A file beside the job script; `path` is relative to the job's directory, `mode` the permission bits."""

    path: PurePosixPath
    text: str
    mode: int


class JobPlan(Frozen):
    """One benchmark's job.

    `launcher` names the templates that start a step: `pyxis`, `srun` or `local`. `directory` is absolute, on the
    machine where the job runs. `secrets` are variable names of the submitting machine.
    """

    name: str
    directory: PurePosixPath
    launcher: str
    allocation: tuple[Component, ...]
    secrets: tuple[str, ...]
    runtime_values: tuple[RuntimeValue, ...]
    nodes: NodeSetup
    steps: tuple[Step, ...]
    probes: tuple[Probe, ...]
    driver: Driver
    overlap_startup: bool
    grace_seconds: int
    files: tuple[StagedFile, ...]
