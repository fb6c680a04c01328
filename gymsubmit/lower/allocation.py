"""What is asked of Slurm: the directives of the job script."""

from collections.abc import Mapping

from gymsubmit.config.compute import NodePool, SlurmCompute
from gymsubmit.config.options import Scalar, set_options
from gymsubmit.plan import Component, Directive

JOB_LOG = "logs/job-%j.log"


def allocation(compute: SlurmCompute, benchmark: str, directory: str) -> tuple[Component, ...]:
    """The components of a benchmark's job: one, or one a pool in a heterogeneous job.

    Job-wide options stand in the first component alone, where Slurm reads them.
    """
    pools = tuple(compute.node_pools.values())
    parts = [(pool,) for pool in pools] if compute.heterogeneous else [pools]
    first, *others = [_component(compute, part) for part in parts]
    has_log = any(directive.name == "output" for directive in first.directives)
    job_wide = _written(
        {
            "job-name": f"gym-{benchmark}",
            "account": compute.account,
            "time": compute.walltime,
            "chdir": directory,
            "output": None if has_log else JOB_LOG,
        }
    )
    return (Component(first.nodes, job_wide + first.directives), *others)


def _component(compute: SlurmCompute, pools: tuple[NodePool, ...]) -> Component:
    """The component that `pools` make, all of which say the same but for their number of nodes."""
    pool, nodes = pools[0], sum(each.nodes for each in pools)
    directives = _written(
        {
            "partition": pool.partition,
            "nodes": nodes,
            "ntasks-per-node": pool.ntasks_per_node,
            "cpus-per-task": pool.cpus_per_task,
            "gpus-per-node": pool.gpus_per_node,
            "mem": pool.mem,
        }
    )
    if compute.exclusive:
        directives += (Directive("exclusive", None),)
    directives += _written({"qos": compute.qos})
    extra_args: dict[str, Scalar] = dict(compute.extra_args)
    for each in pools:
        extra_args |= each.extra_args
    more = (Directive(key, _text(value)) for key, value in set_options(extra_args).items())
    return Component(nodes, (*directives, *more))


def _written(values: Mapping[str, str | int | None]) -> tuple[Directive, ...]:
    return tuple(Directive(name, value) for name, value in values.items() if value is not None)


def _text(value: str | int | float | None) -> str | int | None:
    return str(value) if isinstance(value, float) else value
