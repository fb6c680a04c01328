"""Which nodes each part of a config runs on, as far as the checks need to know.

Nodes are numbers within the allocation, from 0; pools own contiguous ranges of them in declaration order.
"""

from functools import cached_property

from gymsubmit.config.compute import LocalCompute, NodePool
from gymsubmit.config.findings import ANY_NAME, Path, unknown_name
from gymsubmit.config.paths import dotted
from gymsubmit.config.services import CommandService, RayService, VllmPdService, VllmService
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.frozen import Frozen

# The fields of a service that decide on how many nodes it runs.
_SHAPE = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "number_of_instances",
    "use_ray_serve",
    "per_node",
)
AnyService = VllmService | VllmPdService | RayService | CommandService


class Part(Frozen):
    """A service, or a tier of one, on its nodes. `path` leads to it in the config, `label` is that path as text."""

    path: Path
    service: AnyService
    nodes: range

    @property
    def label(self) -> str:
        """The path as users write it."""
        return dotted(self.path)


class Layout(Frozen):
    """The nodes of an allocation and what runs on them."""

    config: SubmitConfig

    @cached_property
    def pools(self) -> dict[str, NodePool]:
        """The node pools; none on a local compute."""
        compute = self.config.only_compute
        return {} if isinstance(compute, LocalCompute) else compute.node_pools

    @cached_property
    def pool_nodes(self) -> dict[str, range]:
        """The nodes of each pool."""
        nodes, first = {}, 0
        for name, pool in self.pools.items():
            nodes[name] = range(first, first + pool.nodes)
            first += pool.nodes
        return nodes

    @cached_property
    def node_count(self) -> int:
        """The number of nodes of the allocation."""
        return sum(pool.nodes for pool in self.pools.values()) or 1

    @cached_property
    def driver_node(self) -> int:
        """The node that the driver runs on."""
        policy = self.config.policy
        pinned = self.pool_nodes.get(policy.node_pool or "") if policy else None
        return pinned[0] if pinned else 0

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Services, routers and tiers in declaration order, without those whose pool does not exist."""
        parts: list[Part] = []
        for key, service in self.config.services.items():
            path: Path = ("services", key)
            found: list[tuple[Path, AnyService, bool]] = [(path, service, self._spreads(service))]
            if isinstance(service, VllmPdService):
                for name, tier in (("prefill", service.effective_prefill), ("decode", service.effective_decode)):
                    found.append(((*path, name), tier, service.server_per_node or self._spreads(tier)))
            for where, part, everywhere in found:
                nodes = self._nodes(part, everywhere)
                if nodes is not None:
                    parts.append(Part(where, part, nodes))
        return tuple(parts)

    def placed_by(self, part: Part) -> tuple[Path, ...]:
        """The values that decide on which nodes a part runs."""
        own = [(*part.path, field) for field in ("node_pool", *_SHAPE)]
        own.append((*part.path[:2], "server_per_node"))
        pool = None if isinstance(part.service, RayService) else part.service.node_pool
        if pool is not None:
            return (*own, (*self.pool_path(pool), "nodes"))
        return (*own, *self._allocation, *self.driver_placed_by)

    @cached_property
    def _allocation(self) -> tuple[Path, ...]:
        """The values that decide how many nodes there are, and what is on them."""
        fields = [(*self.pool_path(pool), field) for pool in self.pools for field in ("nodes", "gpus_per_node")]
        return (*fields, self.pool_path(ANY_NAME), (*self.config.compute_path, "type"))

    @cached_property
    def driver_placed_by(self) -> tuple[Path, ...]:
        """The values that decide which node the driver runs on."""
        name, path = self.config.driver.policy_model, ("driver", "policy_model")
        if name is None:
            return (path,)
        if self.config.policy is None:
            return (path, *unknown_name(("services",), name))
        return (path, ("services", name, "node_pool"))

    def pool_path(self, pool: str) -> Path:
        """The path of a node pool in the config."""
        return (*self.config.compute_path, "node_pools", pool)

    def pool_of(self, node: int) -> str | None:
        """The name of the pool that owns a node."""
        return next((name for name, nodes in self.pool_nodes.items() if node in nodes), None)

    def gpus(self, node: int) -> int | None:
        """The GPUs of a node; None where the config does not say."""
        pool = self.pool_of(node)
        return None if pool is None else self.pools[pool].gpus_per_node

    def pools_named(self, nodes: range) -> str:
        """The pools that own some of `nodes`, for a message."""
        names = [name for name, own in self.pool_nodes.items() if own.start < nodes.stop and nodes.start < own.stop]
        if not names:
            return "this machine"
        return ("node pool " if len(names) == 1 else "node pools ") + ", ".join(names)

    def _nodes(self, service: AnyService, everywhere: bool) -> range | None:
        """The nodes of a service; None where its pool does not exist."""
        if isinstance(service, RayService) or service.node_pool is None:
            everywhere = everywhere and not isinstance(service, RayService)
            return range(self.node_count) if everywhere else range(self.driver_node, self.driver_node + 1)
        pool = self.pool_nodes.get(service.node_pool)
        return pool if pool is None or everywhere else pool[:1]

    def _spreads(self, service: AnyService) -> bool:
        """Whether a service runs on every node that it is given, rather than on one of them."""
        if not isinstance(service, VllmService):
            return isinstance(service, CommandService) and service.per_node
        needed = service.tensor_parallel_size * service.pipeline_parallel_size
        if service.number_of_instances > 1:
            return True
        gpus = self.gpus(self.driver_node)
        # A pinned service was given the nodes of its pool to use them.
        return needed > 1 and (service.node_pool is not None or gpus is None or needed > gpus)
