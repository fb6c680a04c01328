"""GPUs: what services need against what their nodes have."""

from collections.abc import Iterator

from gymsubmit.config.checks.layout import Layout, Part
from gymsubmit.config.findings import ANY_NAME, Finding, Path
from gymsubmit.config.services import CommandService, RayService, VllmPdService, VllmService
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.frozen import Frozen


class _Need(Frozen):
    """GPUs that a part needs on each of its nodes; `per_node` None is not known.

    `total` and `available` are compared for the part alone, and `product` spells `total` out.
    """

    part: Part
    per_node: int | None
    total: int
    available: int | None
    product: str
    where: str


def check_gpus(config: SubmitConfig, layout: Layout) -> Iterator[Finding]:
    """Services fit the GPUs of their nodes, alone and together; idle GPUs are a warning."""
    needs: list[_Need] = []
    wrong: set[Path] = set()
    for part in layout.parts:
        need = _need(config, layout, part)
        if need is None:
            continue
        needs.append(need)
        uneven = _uneven(config, layout, part)
        if uneven:
            wrong.add(part.path)
            yield uneven
        elif need.available is not None and need.total > need.available:
            wrong.add(part.path)
            has = f"are only {need.available}" if need.available else "are none"
            yield Finding(
                _largest(part),
                f"{need.product} GPUs are needed {need.where}, where there {has}; "
                "use fewer, or ask for more GPUs or nodes",
                involved=_drawn_from(layout, part),
            )
    yield from _together(layout, [need for need in needs if need.part.path not in wrong], wrong)


def _need(config: SubmitConfig, layout: Layout, part: Part) -> _Need | None:
    service, nodes = part.service, part.nodes
    known = [layout.gpus(node) for node in nodes]
    counts = [count for count in known if count is not None]
    node = min(counts) if len(counts) == len(known) else None
    one = f"on a node of {layout.pools_named(nodes)}"
    if isinstance(service, CommandService):
        if service.gpus is None:
            return _Need(part, None, 0, None, "", one)
        return _Need(part, service.gpus, service.gpus, node, str(service.gpus), one)
    if isinstance(service, RayService):
        if service.num_gpus is None:
            return _Need(part, None, 0, None, "", one)
        return _Need(part, service.num_gpus, service.num_gpus, node, str(service.num_gpus), one)
    if isinstance(service, VllmPdService):
        return None  # the router; its tiers are parts of their own
    instance = service.tensor_parallel_size * service.pipeline_parallel_size
    total = instance * service.number_of_instances
    every = None if node is None else sum(counts)
    all_nodes = f"on the {len(nodes)} nodes of {layout.pools_named(nodes)}"
    if len(nodes) == 1 or _server_per_node(config, part):
        return _Need(part, total, total, node, _product(service), one)
    if _over_nodes(service, node):
        return _Need(part, -(-total // len(nodes)), total, every, _product(service), f"{all_nodes} together")
    share = -(-service.number_of_instances // len(nodes))
    product = (
        f"tensor_parallel_size {service.tensor_parallel_size} x pipeline_parallel_size {service.pipeline_parallel_size}"
        f" x {share} of {service.number_of_instances} instances = {instance * share}"
    )
    return _Need(part, instance * share, instance * share, node, product, one)


def _server_per_node(config: SubmitConfig, part: Part) -> bool:
    owner = config.services[str(part.path[1])]
    return isinstance(owner, VllmPdService) and owner.server_per_node


def _over_nodes(service: VllmService, node: int | None) -> bool:
    """Whether Ray places the service's GPUs over all nodes, so that only the total counts."""
    instance = service.tensor_parallel_size * service.pipeline_parallel_size
    return service.use_ray_serve or service.number_of_instances == 1 or (node is not None and 0 < node < instance)


def _uneven(config: SubmitConfig, layout: Layout, part: Part) -> Finding | None:
    """Data parallel over nodes puts as many instances on each node as on the others."""
    service, nodes = part.service, part.nodes
    if not isinstance(service, VllmService) or len(nodes) == 1 or _server_per_node(config, part):
        return None
    if _over_nodes(service, layout.gpus(nodes[0])) or service.number_of_instances % len(nodes) == 0:
        return None
    return Finding(
        (*part.path, "number_of_instances"),
        f"{service.number_of_instances} instances cannot be shared out evenly over the {len(nodes)} nodes of "
        f"{layout.pools_named(nodes)}; write a multiple of {len(nodes)}, or use_ray_serve: true",
        involved=_drawn_from(layout, part),
    )


def _product(service: VllmService) -> str:
    factors = [
        f"{field} {getattr(service, field)}"
        for field in ("tensor_parallel_size", "pipeline_parallel_size", "number_of_instances")
    ]
    total = service.tensor_parallel_size * service.pipeline_parallel_size * service.number_of_instances
    return f"{' x '.join(factors)} = {total}"


def _largest(part: Part) -> Path:
    """The field that a part's need for GPUs mostly comes from."""
    if isinstance(part.service, CommandService):
        return (*part.path, "gpus")
    if isinstance(part.service, RayService):
        return (*part.path, "num_gpus")
    fields = ("tensor_parallel_size", "pipeline_parallel_size", "number_of_instances")
    field = max(fields, key=lambda name: int(getattr(part.service, name)))
    return (*part.path, field) if getattr(part.service, field) > 1 else part.path


def _drawn_from(layout: Layout, *parts: Part) -> tuple[Path, ...]:
    """The values that say what parts need, and what their nodes have."""
    involved: list[Path] = []
    for part in parts:
        pools = dict.fromkeys(pool for pool in map(layout.pool_of, part.nodes) if pool is not None)
        involved += [(*layout.pool_path(pool), "gpus_per_node") for pool in pools]
        involved += [(*part.path, field) for field in ("gpus", "num_gpus")]
        involved += layout.placed_by(part)
    return tuple(involved)


def _together(layout: Layout, needs: list[_Need], wrong: set[Path]) -> Iterator[Finding]:
    """Sums of what shares a node. Nodes with the same services are spoken of once."""
    known_wrong = [part.nodes for part in layout.parts if part.path in wrong]
    reported: set[tuple[Path, ...]] = set()
    for pool, nodes in layout.pool_nodes.items():
        gpus = layout.pools[pool].gpus_per_node
        if gpus is None:
            continue
        for node in nodes:
            group = [need for need in needs if node in need.part.nodes]
            paths = tuple(need.part.path for need in group)
            if paths in reported:
                continue
            reported.add(paths)
            known = [need for need in group if need.per_node]
            total = sum(need.per_node or 0 for need in known)
            if total > gpus:
                yield _too_many(layout, known, total, pool)
            elif 0 < total < gpus and len(known) == len(group) and not any(node in each for each in known_wrong):
                yield _idle(layout, known, total, pool)


def _too_many(layout: Layout, needs: list[_Need], total: int, pool: str) -> Finding:
    listed = " + ".join(f"{need.part.label} {need.per_node}" for need in needs)
    return Finding(
        _largest(needs[-1].part),
        f"{listed} = {total} GPUs are needed on a node of node pool {pool}, "
        f"where there are only {layout.pools[pool].gpus_per_node}; "
        "pin one of them elsewhere, or lower what they need",
        # A part that needs more than is known may be on the node too.
        involved=(*_drawn_from(layout, *layout.parts), ("services", ANY_NAME)),
    )


def _idle(layout: Layout, needs: list[_Need], total: int, pool: str) -> Finding:
    gpus = layout.pools[pool].gpus_per_node or 0
    if len(needs) > 1:
        listed = " + ".join(f"{need.part.label} {need.per_node}" for need in needs)
        used = f"{listed} = {total}"
    else:
        used = f"{needs[0].part.label} uses {needs[0].product}"
        if needs[0].total != needs[0].per_node:
            used += f", {needs[0].per_node} a node,"
    return Finding(
        (*layout.pool_path(pool), "gpus_per_node"),
        f"{used} of the {gpus} GPUs of a node, so that {gpus - total} stay idle; use them, or ask for fewer",
        warning=True,
        involved=tuple(_largest(need.part) for need in needs),
    )
