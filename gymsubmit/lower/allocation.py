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
    job_wide = _written(
        {
            "job-name": f"gym-{benchmark}",
            "account": compute.account,
            "time": compute.walltime,
            "chdir": directory,
            "output": None if "output" in compute.extra_args else JOB_LOG,
        }
    )
    pools = tuple(compute.node_pools.values())
    if compute.heterogeneous:
        parts = [(pool.nodes, _per_component(compute, pool, pool.nodes, pool.extra_args)) for pool in pools]
    else:
        nodes = sum(pool.nodes for pool in pools)
        extra_args: dict[str, Scalar] = {}
        for pool in pools:
            extra_args |= pool.extra_args
        parts = [(nodes, _per_component(compute, pools[0], nodes, extra_args))]
    (nodes, first), *others = parts
    return (Component(nodes, job_wide + first), *(Component(count, directives) for count, directives in others))


def _per_component(
    compute: SlurmCompute, pool: NodePool, nodes: int, pool_extra_args: Mapping[str, Scalar]
) -> tuple[Directive, ...]:
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
    extra_args = set_options(compute.extra_args) | set_options(pool_extra_args)
    return directives + tuple(Directive(key, _text(value)) for key, value in extra_args.items())


def _written(values: Mapping[str, str | int | None]) -> tuple[Directive, ...]:
    return tuple(Directive(name, value) for name, value in values.items() if value is not None)


def _text(value: str | int | float | None) -> str | int | None:
    return str(value) if isinstance(value, float) else value
