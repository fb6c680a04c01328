"""Services against the nodes of the allocation."""

from collections.abc import Iterator

from gymsubmit.config.checks.layout import Layout, Part
from gymsubmit.config.compute import LocalCompute
from gymsubmit.config.findings import Finding
from gymsubmit.config.services import RayService
from gymsubmit.config.submit import SubmitConfig


def check_placement(config: SubmitConfig, layout: Layout) -> Iterator[Finding]:
    """No step spans components of a heterogeneous job; nodes that nothing uses are a warning."""
    compute = config.only_compute
    if isinstance(compute, LocalCompute):
        return
    if compute.heterogeneous:
        heterogeneous = (*config.compute_path, "heterogeneous")
        for part in layout.parts:
            if layout.pool_of(part.nodes[0]) != layout.pool_of(part.nodes[-1]):
                message = (
                    f"would span {layout.pools_named(part.nodes)} in one step, which a heterogeneous job cannot; "
                    "pin it with node_pool"
                )
                yield Finding(part.path, message, involved=(heterogeneous, *layout.placed_by(part)))
    used = {layout.driver_node}.union(*(_nodes_used(layout, part) for part in layout.parts))
    for name, nodes in layout.pool_nodes.items():
        idle = sum(node not in used for node in nodes)
        if idle:
            whose = f"{idle} of the {len(nodes)} nodes" if len(nodes) > 1 else "the only node"
            message = (
                f"nothing runs on {whose} of node pool {name!r}; ask for fewer nodes, or pin a service to the pool"
            )
            yield Finding(layout.pool_path(name), message, warning=True)


def _nodes_used(layout: Layout, part: Part) -> set[int]:
    used = set(part.nodes)
    if isinstance(part.service, RayService):
        for pool in part.service.node_pools:
            used.update(layout.pool_nodes.get(pool, ()))
    return used
