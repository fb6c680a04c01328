"""Which nodes the allocation has, and which of them each service and the driver run on."""

from collections.abc import Mapping

from gymsubmit.config.compute import LocalCompute, NodePool
from gymsubmit.config.names import identifier
from gymsubmit.config.services import CommandService, VllmService
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.frozen import Frozen
from gymsubmit.plan import Placement, Pool
from gymsubmit.words import AllHosts, NodeHost, PoolHosts, Word


class NodeRange(Frozen):
    """`count` nodes from node `first` on; `pool` where they are a pool's, `whole` where they are all."""

    first: int
    count: int
    pool: str | None = None
    whole: bool = False

    @property
    def indexes(self) -> range:
        """The node numbers."""
        return range(self.first, self.first + self.count)


class Nodes:
    """The nodes of one allocation, numbered from 0 in the order of its pools."""

    def __init__(self, config: SubmitConfig) -> None:
        compute = config.only_compute
        node_pools: Mapping[str, NodePool] = {} if isinstance(compute, LocalCompute) else compute.node_pools
        # Slurm knows a job of one component as a plain one: none of the variables of components is set in it.
        self.heterogeneous = not isinstance(compute, LocalCompute) and compute.heterogeneous and len(node_pools) > 1
        self.pools: dict[str, Pool] = {}
        self._gpus_per_node: list[int | None] = []
        for name, pool in node_pools.items():
            variable = f"GYM_POOL_{identifier(name)}_NODES"
            self.pools[name] = Pool(name, variable, len(self._gpus_per_node), pool.nodes)
            self._gpus_per_node += [pool.gpus_per_node] * pool.nodes
        if not node_pools:
            self._gpus_per_node = [None]
        self.count = len(self._gpus_per_node)
        policy = config.policy
        pinned = policy is not None and policy.node_pool is not None
        self.driver = self.pools[policy.node_pool].first_node if pinned else 0  # type: ignore[union-attr, index]

    def gpus_on(self, node: int) -> int | None:
        """GPUs that the job has on a node, None where the config does not say."""
        return self._gpus_per_node[node]

    def of(self, service: VllmService | CommandService) -> NodeRange:
        """The nodes that a service runs on."""
        everywhere = service.per_node if isinstance(service, CommandService) else not self._fits_one_node(service)
        if service.node_pool is not None:
            pool = self.pools[service.node_pool]
            return NodeRange(pool.first_node, pool.nodes if everywhere else 1, pool=pool.name)
        if everywhere:
            return NodeRange(0, self.count, whole=True)
        return NodeRange(self.driver, 1)

    def _fits_one_node(self, service: VllmService) -> bool:
        size = service.tensor_parallel_size * service.pipeline_parallel_size
        if service.number_of_instances > 1:
            return False
        if size == 1:
            return True
        gpus = self.gpus_on(self.driver)
        # A pinned service was given its pool's nodes to use them.
        return service.node_pool is None and gpus is not None and size <= gpus

    def placement(self, nodes: NodeRange) -> Placement:
        """The placement of a step with one task on each of `nodes`."""
        group = self._group_of(nodes.first) if self.heterogeneous else None
        hosts = self.hosts(nodes) if self.count > 1 else None
        return Placement(nodes.first, nodes.count, nodes.count, hosts, group)

    def hosts(self, nodes: NodeRange) -> Word:
        """The hosts of `nodes`, comma-separated, as one word."""
        if nodes.count == 1:
            return NodeHost(nodes.first)
        if nodes.pool is not None:
            return PoolHosts(self.pools[nodes.pool].variable)
        return AllHosts()

    def _group_of(self, node: int) -> int:
        return next(
            index
            for index, pool in enumerate(self.pools.values())
            if pool.first_node <= node < pool.first_node + pool.nodes
        )
