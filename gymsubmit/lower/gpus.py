"""Which GPUs of a node each of the services on it gets.

Slurm gives the overlapping steps of a job the same devices, so services that share a node are told which to take.
"""

from collections.abc import Mapping

from gymsubmit.config.services import CommandService, VllmService
from gymsubmit.lower.nodes import NodeRange
from gymsubmit.plan import Devices


def gpus_per_node(service: VllmService | CommandService, nodes: NodeRange) -> int | None:
    """The GPUs that a service needs on each of its nodes, None where that is not known."""
    if isinstance(service, CommandService):
        return service.gpus
    total = service.tensor_parallel_size * service.pipeline_parallel_size * service.number_of_instances
    return -(-total // nodes.count)


def split_devices(services: Mapping[str, tuple[VllmService | CommandService, NodeRange]]) -> dict[str, Devices]:
    """The devices of each service that shares a node with another one; disjoint, from 0 up without a gap on each node.

    Services over more nodes come first, and those over as many in their order. A service that sets
    CUDA_VISIBLE_DEVICES itself, or whose need is not known, has none here and takes none away.
    """
    needs = {
        name: (need, nodes)
        for name, (service, nodes) in services.items()
        if (need := gpus_per_node(service, nodes)) and "CUDA_VISIBLE_DEVICES" not in service.env
    }
    taken: dict[int, int] = {}
    devices: dict[str, Devices] = {}
    # A service has the same devices on each of its nodes. Those of two services are the same nodes, or apart, or the
    # ones are among the others: with the wider ones first, as many are taken on each node of the next.
    for name, (need, nodes) in sorted(needs.items(), key=lambda item: -item[1][1].count):
        first = max(taken.get(node, 0) for node in nodes.indexes)
        taken |= dict.fromkeys(nodes.indexes, first + need)
        shares = any(
            set(nodes.indexes) & set(other.indexes) for other_name, (_, other) in needs.items() if other_name != name
        )
        if shares:
            devices[name] = Devices(first, need)
    return devices
