"""vLLM services: the shape that a service's size and nodes ask for, and its arguments."""

from gymsubmit.config.arguments import flags, owned_flag, split_words
from gymsubmit.config.ray import WORKER_PORTS, client_server_port
from gymsubmit.config.services import VllmService
from gymsubmit.lower.nodes import NodeRange
from gymsubmit.plan import DataParallelStep, Launch, RayInstanceStep, ServerStep
from gymsubmit.words import NodeAddress, NodeEndpoint, OwnAddress, RankOffset, Word


def is_ray_instance(service: VllmService, nodes: NodeRange) -> bool:
    """Whether the service is one instance over several nodes."""
    return nodes.count > 1 and service.number_of_instances == 1


def head_ports(service: VllmService, nodes: NodeRange) -> tuple[int, ...]:
    """The ports that the service listens on, on its first node."""
    if nodes.count == 1:
        return (service.port,)
    if is_ray_instance(service, nodes):
        return (service.port, service.ray_port, client_server_port(service.ray_port))
    return (service.port, service.data_parallel_rpc_port)


def vllm_step(
    service: VllmService, nodes: NodeRange, launch: Launch
) -> ServerStep | DataParallelStep | RayInstanceStep:
    """The step that serves the model."""
    extra = split_words(service.extra_args)
    serve = _serve(service)
    instances = service.number_of_instances
    if nodes.count == 1:
        replicas = ("--data-parallel-size", instances) if instances > 1 else ()
        return ServerStep(launch, (*serve, *replicas, *extra))
    if instances == 1:
        return _over_ray(service, nodes, launch, (*serve, "--distributed-executor-backend", "ray", *extra))
    per_node = instances // nodes.count
    spread: tuple[Word, ...] = (
        *("--data-parallel-size", instances),
        *("--data-parallel-size-local", per_node),
        *("--data-parallel-address", NodeAddress(nodes.first)),
        *("--data-parallel-rpc-port", service.data_parallel_rpc_port),
    )
    rank: tuple[Word, ...] = ("--headless", "--data-parallel-start-rank", RankOffset(per_node))
    return DataParallelStep(launch, head=(*serve, *spread, *extra), rank=(*serve, *spread, *rank, *_headless(extra)))


def _serve(service: VllmService) -> tuple[Word, ...]:
    words: tuple[Word, ...] = ("vllm", "serve", service.model, "--port", service.port)
    if service.served_model_name is not None:
        words += ("--served-model-name", service.served_model_name)
    words += ("--tensor-parallel-size", service.tensor_parallel_size)
    if service.pipeline_parallel_size > 1:
        words += ("--pipeline-parallel-size", service.pipeline_parallel_size)
    if service.trust_remote_code:
        words += ("--trust-remote-code",)
    return words


def _over_ray(service: VllmService, nodes: NodeRange, launch: Launch, argv: tuple[Word, ...]) -> RayInstanceStep:
    ray_address = NodeEndpoint(nodes.first, service.ray_port)
    common: tuple[Word, ...] = (
        *("--node-ip-address", OwnAddress()),
        *("--min-worker-port", WORKER_PORTS[0]),
        *("--max-worker-port", WORKER_PORTS[-1]),
        "--block",
    )
    return RayInstanceStep(
        launch,
        head=NodeAddress(nodes.first),
        ray_port=service.ray_port,
        ray_address=ray_address,
        ray_head=(
            "ray",
            "start",
            "--head",
            "--port",
            service.ray_port,
            "--ray-client-server-port",
            client_server_port(service.ray_port),
            "--include-dashboard=false",
            "--disable-usage-stats",
            *common,
        ),
        ray_worker=("ray", "start", "--address", ray_address, *common),
        argv=argv,
    )


# vLLM refuses it on a headless server, which has no API (vllm/entrypoints/cli/serve.py).
_API_SERVER_COUNT = {"--api-server-count": "", "-asc": ""}


def _headless(extra: tuple[str, ...]) -> tuple[str, ...]:
    kept: list[str] = []
    words = iter(extra)
    for word in words:
        if word == "--":
            return (*kept, word, *words)
        flag = next(flags((word,)), "")
        if owned_flag(flag, _API_SERVER_COUNT) is None:
            kept.append(word)
        elif "=" not in word:
            next(words, None)
    return tuple(kept)
