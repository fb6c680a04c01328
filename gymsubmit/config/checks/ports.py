"""Listeners that could share a node, and the ports they would use."""

from collections.abc import Iterator

from gymsubmit.config.arguments import split_words
from gymsubmit.config.checks.layout import Layout, Part
from gymsubmit.config.findings import Finding, Path
from gymsubmit.config.paths import dotted
from gymsubmit.config.ray import WORKER_PORTS, client_server_port
from gymsubmit.config.services import CommandService, RayService, VllmPdService, VllmService
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.frozen import Frozen

_COLLECTOR_PORTS = {4317: "OTLP over gRPC", 4318: "OTLP over HTTP", 13133: "its health check"}
# Ray's defaults: flag to move it, port, whether the head alone listens.
_RAY_PORTS = (
    ("--dashboard-port", 8265, True),
    ("--ray-client-server-port", 10001, True),
    ("--dashboard-agent-listen-port", 52365, False),
)


class _Listener(Frozen):
    """Ports that a process listens on, on each of `nodes`; `path` is the field that they come from, `name` its text.

    `fixed`: no field moves them. `searched`: it takes those of them that are free (Ray's workers), which is no harm to
    another one that does the same, but to a server that comes later.
    """

    ports: range
    nodes: range
    path: Path
    name: str
    fixed: bool = False
    searched: bool = False


def check_ports(config: SubmitConfig, layout: Layout) -> Iterator[Finding]:
    """No two listeners that can share a node use one port."""
    listeners = [
        (listener, _drawn_from(layout, part)) for part in layout.parts for listener in _listeners(config, layout, part)
    ]
    if config.otel and config.otel.enabled:
        driver = range(layout.driver_node, layout.driver_node + 1)
        drawn_from = (("otel", "enabled"), *layout.driver_placed_by)
        for port, what in _COLLECTOR_PORTS.items():
            collector = _Listener(range(port, port + 1), driver, ("otel",), f"the collector ({what})", fixed=True)
            listeners.append((collector, drawn_from))
    for index, (listener, own) in enumerate(listeners):
        for other, others in listeners[:index]:
            ports, nodes = _shared(listener.ports, other.ports), _shared(listener.nodes, other.nodes)
            # Tiers that share nodes have been told already that they must not.
            if ports and nodes and listener.path != other.path and not (listener.searched and other.searched):
                # What the user can move is where the message belongs.
                here, there = (other, listener) if listener.fixed else (listener, other)
                yield Finding(
                    here.path,
                    f"port {ports[0]} is used by {here.name} and by {there.name} on "
                    f"{layout.pools_named(nodes)}; change one of them",
                    involved=(there.path, *own, *others),
                )


def _drawn_from(layout: Layout, part: Part) -> tuple[Path, ...]:
    """The values that say where a part listens, but for the field of the port."""
    owner, drawn_from = part.path[:2], layout.placed_by(part)
    if isinstance(part.service, RayService):
        return (*drawn_from, (*owner, "node_pools"), (*owner, "extra_args"))
    if part.path == owner:
        return drawn_from
    # A tier's ports follow from the router's and from the other tier's.
    return (*drawn_from, (*owner, "port"), (*owner, "prefill", "data_parallel_rpc_port"))


def _shared(one: range, other: range) -> range:
    return range(max(one.start, other.start), min(one.stop, other.stop))


def _listeners(config: SubmitConfig, layout: Layout, part: Part) -> Iterator[_Listener]:
    service = part.service
    head = part.nodes[:1]
    if isinstance(service, CommandService):
        if service.port is not None:
            yield _field(part, "port", service.port, part.nodes if service.per_node else head)
    elif isinstance(service, RayService):
        yield from _ray(layout, part, service)
    elif isinstance(service, VllmPdService):
        yield _field(part, "port", service.port, head)
        yield _field(part, "router_metrics_port", service.router_metrics_port, head)
    else:
        yield from _vllm(config, part, service)


def _vllm(config: SubmitConfig, part: Part, service: VllmService) -> Iterator[_Listener]:
    head = part.nodes[:1]
    owner = config.services[str(part.path[1])]
    per_node = isinstance(owner, VllmPdService) and owner.server_per_node
    yield _field(part, "port", service.port, part.nodes if per_node else head)
    if len(part.nodes) > 1 and not per_node:
        if service.use_ray_serve or service.number_of_instances == 1:
            yield from _own_ray(part, service)
        else:
            yield _field(part, "data_parallel_rpc_port", service.data_parallel_rpc_port, head)
    elif service.use_ray_serve:
        yield from _own_ray(part, service)
    if isinstance(owner, VllmPdService):
        first = owner.nixl_side_channel_port + (part.path[-1] == "decode")
        ranks = service.tensor_parallel_size * service.pipeline_parallel_size * service.number_of_instances
        path = (*part.path[:-1], "nixl_side_channel_port")
        name = f"{dotted(path)} ({first} and up, one a rank of {part.path[-1]})"
        yield _Listener(range(first, first + ranks), part.nodes, path, name)


def _own_ray(part: Part, service: VllmService) -> Iterator[_Listener]:
    yield _field(part, "ray_port", service.ray_port, part.nodes[:1])
    path, client = (*part.path, "ray_port"), client_server_port(service.ray_port)
    yield _Listener(range(client, client + 1), part.nodes[:1], path, f"{part.label}.ray_port (Ray's client server)")
    yield _Listener(WORKER_PORTS, part.nodes, path, f"{part.label}'s Ray workers", fixed=True, searched=True)


def _ray(layout: Layout, part: Part, service: RayService) -> Iterator[_Listener]:
    yield _field(part, "port", service.port, part.nodes)
    words = split_words(service.extra_args)
    for flag, default, head_only in _RAY_PORTS:
        port = _flag_value(words, flag, default)
        if port is None or (flag == "--dashboard-port" and _without_dashboard(words)):
            continue
        name = f"{part.label}.extra_args ({flag})"
        places = [part.nodes]
        if not head_only:
            # Worker nodes, and the head's wherever that is; a node that is both is listed once.
            pools = [layout.pool_nodes[pool] for pool in dict.fromkeys(service.node_pools) if pool in layout.pool_nodes]
            places = [nodes for nodes in places if not any(nodes[0] in pool for pool in pools)] + pools
        for nodes in places:
            yield _Listener(range(port, port + 1), nodes, (*part.path, "extra_args"), name)


def _flag_value(words: tuple[str, ...], flag: str, default: int) -> int | None:
    """The port that `flag` sets, None where it sets none that could be known."""
    port: str = str(default)
    for index, word in enumerate(words):
        if word.startswith(f"{flag}="):
            port = word.partition("=")[2]
        elif word == flag:
            port = words[index + 1] if index + 1 < len(words) else ""
    return int(port) if port.isascii() and port.isdigit() and port != "0" else None


def _without_dashboard(words: tuple[str, ...]) -> bool:
    text = " ".join(words).replace("--include-dashboard=", "--include-dashboard ").lower()
    return any(f"--include-dashboard {no}" in text for no in ("false", "0", "no"))


def _field(part: Part, field: str, port: int, nodes: range) -> _Listener:
    return _Listener(range(port, port + 1), nodes, (*part.path, field), f"{part.label}.{field}")
