"""The placement of a job drawn as a table: which process sits on which node, its ports and its GPUs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import assert_never

from gymsubmit.config.compute import LocalCompute
from gymsubmit.config.services import CommandService, VllmService
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.lower.driver import policy_endpoint
from gymsubmit.lower.gpus import gpus_per_node
from gymsubmit.lower.nodes import NodeRange
from gymsubmit.plan import (
    DataParallelStep,
    Driver,
    JobPlan,
    Launch,
    ProgramDriver,
    RayInstanceStep,
    ScriptDriver,
    ScriptStep,
    ServerStep,
    Step,
)
from gymsubmit.words import NodeAddress, NodeUrl, Word

COLUMNS = ("NODES", "POOL", "SERVICE", "PROCESS", "PORTS", "GPUS A NODE")
NOTHING = "-"

# Programs whose first argument says what they do.
SUBCOMMANDS = {"vllm": 2, "ray": 2, "gym": 3}


@dataclass(frozen=True, slots=True)
class Row:
    """One process on `count` nodes from `first` on. `gpus` is text for a node."""

    first: int
    count: int
    service: str
    process: str
    ports: tuple[int, ...]
    gpus: str


def _program(argv: Sequence[Word]) -> str:
    words = [str(word) for word in argv if isinstance(word, str | PurePosixPath)]
    name = PurePosixPath(words[0]).name if words else NOTHING
    if name == "env" and len(words) > 1:  # of a script that begins with #!/usr/bin/env
        return PurePosixPath(words[1]).name
    return " ".join([name, *words[1 : SUBCOMMANDS.get(name, 1)]])


def _gpus(config: SubmitConfig, launch: Launch) -> str:
    """How many, and which where a service is told so: `4 (0-3)`."""
    if launch.devices is not None:
        first, count = launch.devices.first, launch.devices.count
        return f"{count} ({_span(first, count)})"
    service = config.services.get(launch.name)
    if not isinstance(service, VllmService | CommandService):
        return NOTHING
    need = gpus_per_node(service, NodeRange(launch.placement.first_node, launch.placement.node_count))
    return NOTHING if need is None else str(need)


def _span(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _row(config: SubmitConfig, launch: Launch, process: str) -> Row:
    placement = launch.placement
    return Row(placement.first_node, placement.node_count, launch.name, process, launch.ports, _gpus(config, launch))


def _step_rows(config: SubmitConfig, step: Step) -> tuple[Row, ...]:
    match step:
        case ServerStep():
            return (_row(config, step.launch, _program(step.argv)),)
        case ScriptStep():
            return (_row(config, step.launch, "script"),)
        case DataParallelStep():
            row = _row(config, step.launch, _program(step.head))
            others = replace(row, first=row.first + 1, count=row.count - 1, ports=())
            return replace(row, count=1), replace(others, process=f"{_program(step.rank)} (headless)")
        case RayInstanceStep():
            row = _row(config, step.launch, _program(step.argv))
            # The server's own port, then those of the Ray head.
            head = replace(row, count=1, ports=row.ports[:1])
            ray = replace(row, count=1, process=f"{_program(step.ray_head)} (head)", ports=row.ports[1:], gpus=NOTHING)
            others = replace(row, first=row.first + 1, count=row.count - 1, ports=())
            return ray, head, replace(others, process=f"{_program(step.ray_worker)} (worker)")
        case _:
            assert_never(step)


def _driver_row(config: SubmitConfig, driver: Driver) -> Row:
    match driver:
        case ProgramDriver():
            return _row(config, driver.launch, _program(driver.argv))
        case ScriptDriver():
            return _row(config, driver.launch, "script")
        case _:
            assert_never(driver)


def _pools(config: SubmitConfig) -> list[tuple[str, int, int]]:
    """Name, first node and node count of each pool."""
    compute = config.only_compute
    pools: list[tuple[str, int, int]] = []
    first = 0
    if not isinstance(compute, LocalCompute):
        for name, pool in compute.node_pools.items():
            pools.append((name, first, pool.nodes))
            first += pool.nodes
    return pools


def _cells(row: Row, pools: Iterable[tuple[str, int, int]]) -> tuple[str, ...]:
    touched = [name for name, first, count in pools if first < row.first + row.count and row.first < first + count]
    ports = ", ".join(map(str, row.ports))
    return (
        _span(row.first, row.count),
        ", ".join(touched) or NOTHING,
        row.service,
        row.process,
        ports or NOTHING,
        row.gpus,
    )


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(line.rstrip() + "\n" for line in lines)


def _plain(word: Word) -> str:
    match word:
        case NodeUrl():
            return f"http://<node {word.index}>:{word.port}"
        case NodeAddress():
            return f"<node {word.index}>"
        case _:
            return str(word)


def _dials(config: SubmitConfig, plan: JobPlan) -> list[tuple[str, str]]:
    endpoint = policy_endpoint(config)
    policy = [] if endpoint is None else [("policy_base_url", endpoint.base_url)]
    return policy + [(export.name, _plain(export.value)) for export in plan.nodes.exports]


def _layout(config: SubmitConfig, plan: JobPlan) -> str:
    """All that is drawn of a job but its name."""
    pools = _pools(config)
    rows = [row for step in plan.steps for row in _step_rows(config, step)]
    rows.append(_driver_row(config, plan.driver))
    text = _aligned([COLUMNS, *(_cells(row, pools) for row in rows)])
    if dials := _dials(config, plan):
        text += "\nThe driver dials\n" + "".join(f"  {line}\n" for line in _aligned(dials).splitlines())
    return text


def table(config: SubmitConfig, plans: Sequence[JobPlan]) -> str:
    """The placement of every job; jobs that are placed alike share one drawing."""
    alike: dict[str, list[str]] = {}
    for plan in plans:
        alike.setdefault(_layout(config, plan), []).append(plan.name)
    nodes = sum(count for _, _, count in _pools(config)) or 1
    where = f"{config.compute_name}: {config.only_compute.type}, {nodes} node{'s' if nodes > 1 else ''} a job"
    parts = [
        f"{'Benchmark' if len(names) == 1 else 'Benchmarks'} {', '.join(names)}\non {where}\n\n{layout}"
        for layout, names in alike.items()
    ]
    return "\n".join(parts)
