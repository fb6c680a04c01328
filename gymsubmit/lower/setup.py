"""What the job script finds out about its nodes before anything starts, and what it tells the steps."""

from collections.abc import Mapping

from gymsubmit.config.names import identifier
from gymsubmit.config.services import CommandService, VllmService
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.lower.nodes import NodeRange, Nodes
from gymsubmit.lower.vllm import is_ray_instance
from gymsubmit.plan import NodeSetup, Variable
from gymsubmit.words import NodeAddress, NodeUrl, Word

Placed = Mapping[str, tuple[VllmService | CommandService, NodeRange]]


def node_setup(config: SubmitConfig, nodes: Nodes, placed: Placed) -> NodeSetup:
    """The node setup of a job with these services on these nodes."""
    services = list(placed.values())
    several = nodes.count > 1
    exports = _exports(placed, several=several)
    addressed = {value.index for export in exports if isinstance(value := export.value, NodeAddress | NodeUrl)}
    for service, service_nodes in services:
        if not several:
            continue
        if isinstance(service, VllmService) and service_nodes.count > 1:
            addressed.add(service_nodes.first)
        if isinstance(service, VllmService) and is_ray_instance(service, service_nodes):
            addressed |= set(service_nodes.indexes)
        if isinstance(service, CommandService) and service.per_node:
            addressed.add(service_nodes.first)
    pinned = any(service.node_pool is not None for service, _ in services)
    return NodeSetup(
        names=several or pinned,
        het_groups=tuple(range(len(nodes.pools))) if nodes.heterogeneous else (),
        all_hosts=several and any(service_nodes.whole for _, service_nodes in services),
        pools=tuple(nodes.pools.values()) if pinned else (),
        addresses=tuple(sorted(addressed)),
        network_interface=getattr(config.only_compute, "network_interface", None),
        exports=exports,
    )


def _exports(placed: Placed, *, several: bool) -> tuple[Variable, ...]:
    exports: list[Variable] = []
    if any(isinstance(service, VllmService) and nodes.count > 1 for service, nodes in placed.values()):
        exports += [Variable("HEAD_NODE_IP", NodeAddress(0)), Variable("RAY_HEAD_NODE_IP", NodeAddress(0))]
    for name, (service, nodes) in placed.items():
        if service.port is not None:
            port = service.port
            url: Word = NodeUrl(nodes.first, port) if several else f"http://localhost:{port}"
            exports.append(Variable(f"GYM_SERVICE_{identifier(name)}_URL", url))
    return tuple(exports)
