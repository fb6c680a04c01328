"""`#SBATCH` directives and srun options: not those that the compiler writes, and the same for all pools."""

from collections.abc import Iterator, Mapping

from gymsubmit.config.base import FrozenDict
from gymsubmit.config.checks.layout import Layout
from gymsubmit.config.compute import LocalCompute, NodePool, SlurmCompute
from gymsubmit.config.findings import ANY_NAME, Finding, Path
from gymsubmit.config.options import Scalar
from gymsubmit.config.paths import dotted
from gymsubmit.config.services import VllmPdService
from gymsubmit.config.submit import SubmitConfig

# The options and their letters are those of sbatch(1) and srun(1). {c} is the compute entry, {p} its pools.
_DIRECTIVES: dict[tuple[str, ...], str] = {
    ("job-name", "J"): "it is the benchmark's name; remove it",
    ("account", "A"): "set {c}.account instead",
    ("time", "t"): "set {c}.walltime instead",
    ("chdir", "D"): "it is the benchmark's directory; remove it",
    ("partition", "p"): "set {p}.partition instead",
    ("nodes", "N"): "set {p}.nodes instead",
    ("ntasks", "n"): "set {p}.nodes and ntasks_per_node instead",
    ("ntasks-per-node",): "set {p}.ntasks_per_node instead",
    ("cpus-per-task", "c"): "set {p}.cpus_per_task instead",
    ("gpus-per-node",): "set {p}.gpus_per_node instead",
    ("mem",): "set {p}.mem instead",
    ("exclusive",): "set {c}.exclusive instead",
    ("qos", "q"): "set {c}.qos instead",
}
_WHEN_RESUMABLE: dict[tuple[str, ...], str] = {
    ("requeue",): "a resumable benchmark must not be requeued; remove it",
    ("no-requeue",): "a resumable benchmark has it already; remove it",
    ("open-mode",): "a resumable benchmark appends to its logs; remove it",
}
_PLACEMENT = "the service's nodes follow from its node_pool; remove it"
_STEP_OPTIONS: dict[tuple[str, ...], str] = {
    ("nodes", "N"): _PLACEMENT,
    ("nodelist", "w"): _PLACEMENT,
    ("nodefile", "F"): _PLACEMENT,
    ("exclude", "x"): _PLACEMENT,
    ("relative", "r"): _PLACEMENT,
    ("het-group", "pack-group"): _PLACEMENT,
    ("ntasks", "n"): "a step has one task on each of its nodes; remove it",
    ("ntasks-per-node", "tasks-per-node"): "a step has one task on each of its nodes; remove it",
    ("overlap",): "every step shares its nodes; remove it",
    ("kill-on-bad-exit", "K"): "every step ends as a whole; remove it",
    ("wait", "W"): "every step ends as a whole; remove it",
    ("job-name", "J"): "it is the service's name; remove it",
    ("jobid",): "the step belongs to the benchmark's job; remove it",
    ("output", "o"): "the log is logs/<name>-<job id>.log; remove it",
    ("error", "e"): "the log is logs/<name>-<job id>.log; remove it",
    ("input", "i"): "a step reads nothing; remove it",
    ("export",): "set env instead",
    ("cpu-bind",): "a step may use all CPUs of its nodes; remove it",
    ("container-image", "container-mounts"): "set container and mounts instead",
    ("container-env",): "set env instead",
}
_FIELDS = ("partition", "ntasks_per_node", "cpus_per_task", "gpus_per_node", "mem")


def check_directives(config: SubmitConfig, layout: Layout) -> Iterator[Finding]:
    """Extra options leave alone what the compiler writes; pools of one allocation agree."""
    yield from _srun_args(config)
    compute = config.only_compute
    if isinstance(compute, LocalCompute):
        return
    path: Path = config.compute_path
    owned = dict(_DIRECTIVES)
    if any(benchmark.resume for benchmark in config.driver.benchmarks.values()):
        owned |= _WHEN_RESUMABLE
    where = dotted(path)
    yield from _owned(owned, (*path, "extra_args"), compute.extra_args, c=where, p=f"{where}.node_pools.<pool>")
    for name, pool in compute.node_pools.items():
        here = layout.pool_path(name)
        yield from _owned(owned, (*here, "extra_args"), pool.extra_args, c=where, p=dotted(here))
    if not compute.heterogeneous:
        yield from _disagreements(layout, compute)


def _srun_args(config: SubmitConfig) -> Iterator[Finding]:
    steps: list[tuple[Path, FrozenDict[str, Scalar]]] = [(("driver",), config.driver.srun_args)]
    for name, service in config.services.items():
        path: Path = ("services", name)
        steps.append((path, service.srun_args))
        if isinstance(service, VllmPdService):
            steps.append(((*path, "prefill"), service.prefill.srun_args))
            steps.append(((*path, "decode"), service.decode.srun_args))
    for path, options in steps:
        yield from _owned(_STEP_OPTIONS, (*path, "srun_args"), options)


def _owned(
    owned: Mapping[tuple[str, ...], str], path: Path, options: FrozenDict[str, Scalar], **fields: str
) -> Iterator[Finding]:
    for key in options:
        option = key.replace("_", "-")
        advice = next((advice for names, advice in owned.items() if option in names), None)
        if advice is None and option.removeprefix("no-").startswith("container"):
            advice = "containers are the compiler's to start; remove it"
        if advice:
            yield Finding((*path, key), f"{key!r} is written by the compiler; {advice.format(**fields)}")
        elif len(option) == 1:
            yield Finding((*path, key), f"{key!r} is the short form of an option; write the long one")


def _disagreements(layout: Layout, compute: SlurmCompute) -> Iterator[Finding]:
    """Pools of one allocation share its directives: they may differ in their number of nodes alone."""
    pools = compute.node_pools
    for field in _FIELDS:
        values = {name: getattr(pool, field) for name, pool in pools.items()}
        yield from _disagreement(layout, (field,), values)
    for key in dict.fromkeys(key for pool in pools.values() for key in pool.extra_args):
        yield from _disagreement(layout, ("extra_args", key), _sharing(pools, key))


def _sharing(pools: FrozenDict[str, NodePool], key: str) -> dict[str, Scalar]:
    # true, null and "" are one value: the bare option.
    values = {name: pool.extra_args[key] for name, pool in pools.items() if key in pool.extra_args}
    return {name: True if value is None or value == "" else value for name, value in values.items()}


def _disagreement(layout: Layout, field: tuple[str, ...], values: Mapping[str, Scalar]) -> Iterator[Finding]:
    names = list(values)
    differing = [name for name in names[1:] if _differ(values[name], values[names[0]])]
    if differing:
        listed = ", ".join(f"{name} has {_shown(value)}" for name, value in values.items())
        yield Finding(
            (*layout.pool_path(differing[0]), *field),
            f"node pools of one allocation must agree, but {listed}; write the same for all, "
            f"or set {dotted((*layout.config.compute_path, 'heterogeneous'))}: true",
            involved=(
                *((*layout.pool_path(name), *field) for name in names),
                layout.pool_path(ANY_NAME),
                (*layout.config.compute_path, "heterogeneous"),
            ),
        )


def _differ(one: Scalar, other: Scalar) -> bool:
    # 0 and "0" are written alike; true and "True" are not.
    return isinstance(one, bool) != isinstance(other, bool) or str(one) != str(other)


def _shown(value: Scalar) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case _:
            return repr(value)
