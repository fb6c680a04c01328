"""What `vllm serve` is told for each size of a service and each number of its nodes."""

from typing import Any

import pytest
from configs import pools, vllm
from plans import on, service_launch, steps

from gymsubmit.plan import DataParallelStep, Placement, RayInstanceStep, ServerStep
from gymsubmit.words import AllHosts, NodeAddress, NodeEndpoint, OwnAddress, PoolHosts, RankOffset, Word

SERVE = ("vllm", "serve", "org/model", "--port", 8000, "--tensor-parallel-size", 1)
FOUR = {"node_pools": pools(gpu=4)}
EVERYWHERE = Placement(0, 4, 4, AllHosts(), None)


def argv(**fields: Any) -> tuple[Word, ...]:
    """What runs on the only node of a job."""
    step = steps({"p": vllm(**fields)})["p"]
    assert isinstance(step, ServerStep)
    return step.argv


def test_one_instance_on_one_node() -> None:
    assert steps() == {"policy": ServerStep(service_launch(), SERVE)}


def test_several_instances_on_one_node_are_data_parallel_behind_one_port() -> None:
    step = steps({"p": vllm(number_of_instances=4, tensor_parallel_size=2, port=9000)})["p"]
    assert step == ServerStep(
        service_launch("p", ports=(9000,)),
        (*SERVE[:4], 9000, "--tensor-parallel-size", 2, "--data-parallel-size", 4),
    )


def test_instances_over_nodes_are_ranks_that_meet_on_the_first_node() -> None:
    service = vllm(number_of_instances=8, tensor_parallel_size=2, data_parallel_rpc_port=7000)
    spread = (
        *(*SERVE[:-1], 2),
        *("--data-parallel-size", 8, "--data-parallel-size-local", 2),
        *("--data-parallel-address", NodeAddress(0), "--data-parallel-rpc-port", 7000),
    )
    assert steps({"p": service}, compute=FOUR)["p"] == DataParallelStep(
        service_launch("p", placement=EVERYWHERE, ports=(8000, 7000)),
        head=spread,
        rank=(*spread, "--headless", "--data-parallel-start-rank", RankOffset(2)),
    )


def test_ranks_of_a_pinned_service_meet_on_the_first_node_of_its_pool() -> None:
    service = vllm(number_of_instances=2, node_pool="b")
    step = steps({"p": service}, compute={"node_pools": pools(a=3, b=2)})["p"]
    spread = (
        *SERVE,
        *("--data-parallel-size", 2, "--data-parallel-size-local", 1),
        *("--data-parallel-address", NodeAddress(3), "--data-parallel-rpc-port", 13345),
    )
    assert step == DataParallelStep(
        service_launch("p", placement=Placement(3, 2, 2, PoolHosts("GYM_POOL_B_NODES"), None), ports=(8000, 13345)),
        head=spread,
        rank=(*spread, "--headless", "--data-parallel-start-rank", RankOffset(1)),
    )


def test_one_instance_over_nodes_is_served_from_the_head_of_a_ray_cluster() -> None:
    service = vllm(tensor_parallel_size=8, pipeline_parallel_size=4, ray_port=6400)
    node = (
        *("--node-ip-address", OwnAddress()),
        *("--min-worker-port", 20000, "--max-worker-port", 28999),
        "--block",
    )
    quiet = ("--include-dashboard=false", "--disable-usage-stats")
    assert steps({"p": service}, compute=FOUR)["p"] == RayInstanceStep(
        service_launch("p", placement=EVERYWHERE, ports=(8000, 6400, 6401)),
        head=NodeAddress(0),
        ray_port=6400,
        ray_address=NodeEndpoint(0, 6400),
        ray_head=("ray", "start", "--head", "--port", 6400, "--ray-client-server-port", 6401, *quiet, *node),
        ray_worker=("ray", "start", "--address", NodeEndpoint(0, 6400), *node),
        argv=(*SERVE[:-1], 8, "--pipeline-parallel-size", 4, "--distributed-executor-backend", "ray"),
    )


def test_the_ray_head_of_a_pinned_service_is_the_first_node_of_its_pool() -> None:
    service = vllm(tensor_parallel_size=2, node_pool="b")
    step = steps({"p": service}, compute={"node_pools": pools(a=1, b=2)})["p"]
    assert isinstance(step, RayInstanceStep)
    assert step.launch.placement == Placement(1, 2, 2, PoolHosts("GYM_POOL_B_NODES"), None)
    assert (step.head, step.ray_port, step.ray_address, step.ray_worker[:4]) == (
        NodeAddress(1),
        6379,
        NodeEndpoint(1, 6379),
        ("ray", "start", "--address", NodeEndpoint(1, 6379)),
    )


def test_vllms_own_port_never_falls_to_a_ray_worker() -> None:
    step = steps({"p": vllm(tensor_parallel_size=2)}, compute={"node_pools": pools(gpu=2)})["p"]
    assert isinstance(step, RayInstanceStep)
    for words in (step.ray_head, step.ray_worker):
        first, last = (words[words.index(flag) + 1] for flag in ("--min-worker-port", "--max-worker-port"))
        assert isinstance(first, int)
        assert isinstance(last, int)
        # Those that listen by default: vLLM and its RPC, Ray, a router's metrics, the collector.
        assert not {8000, 13345, 6379, 29000, 4317, 4318, 13133} & set(range(first, last + 1))


def test_one_gpu_needs_no_ray_however_many_nodes_there_are() -> None:
    assert steps({"p": vllm()}, compute=FOUR) == {"p": ServerStep(service_launch("p", placement=on(0)), SERVE)}


def test_the_model_is_known_by_its_served_name() -> None:
    assert argv(served_model_name="short") == (*SERVE[:5], "--served-model-name", "short", *SERVE[5:])


def test_pipeline_stages_on_one_node() -> None:
    assert argv(pipeline_parallel_size=2) == (*SERVE, "--pipeline-parallel-size", 2)


def test_code_of_the_model_is_trusted_where_that_is_asked_for() -> None:
    assert argv(trust_remote_code=True) == (*SERVE, "--trust-remote-code")


@pytest.mark.parametrize(
    ("extra_args", "words"),
    [
        ('--max-model-len 4096 \\\n  --json \'{"a": "b c"}\'', ("--max-model-len", "4096", "--json", '{"a": "b c"}')),
        ("$HOME; # `id`", ("$HOME;", "#", "`id`")),
        (["--a b", "", "$HOME"], ("--a b", "", "$HOME")),
    ],
)
def test_more_arguments_come_last(extra_args: str | list[str], words: tuple[str, ...]) -> None:
    assert argv(number_of_instances=2, extra_args=extra_args) == (*SERVE, "--data-parallel-size", 2, *words)


def test_more_arguments_reach_the_server_over_ray() -> None:
    step = steps({"p": vllm(tensor_parallel_size=2, extra_args="-O3 --seed 1")}, compute={"node_pools": pools(gpu=2)})[
        "p"
    ]
    assert isinstance(step, RayInstanceStep)
    assert step.argv == (*SERVE[:-1], 2, "--distributed-executor-backend", "ray", "-O3", "--seed", "1")


@pytest.mark.parametrize(
    ("extra_args", "of_ranks"),
    [
        ("--seed 1 --api-server-count 4 --x y", ("--seed", "1", "--x", "y")),
        ("--api-server-count=4 --seed 1", ("--seed", "1")),
        ("--api_server_count 4", ()),
        ("--api-server 4 --seed 1", ("--seed", "1")),
        ("-asc 4 --seed 1", ("--seed", "1")),
        ("-asc=4", ()),
        ("--seed 1 --api-server-count", ("--seed", "1")),
        ("--api-key k", ("--api-key", "k")),
        # As text within a value it is no flag.
        (["--json", '{"x": "--api-server-count 4"}'], ("--json", '{"x": "--api-server-count 4"}')),
        ("--seed 1 -- --api-server-count 4", ("--seed", "1", "--", "--api-server-count", "4")),
    ],
)
def test_a_rank_without_an_api_is_not_told_how_many_api_servers(
    extra_args: str | list[str], of_ranks: tuple[str, ...]
) -> None:
    service = vllm(number_of_instances=2, extra_args=extra_args)
    step = steps({"p": service}, compute={"node_pools": pools(gpu=2)})["p"]
    assert isinstance(step, DataParallelStep)
    spread = (
        *SERVE,
        *("--data-parallel-size", 2, "--data-parallel-size-local", 1),
        *("--data-parallel-address", NodeAddress(0), "--data-parallel-rpc-port", 13345),
    )
    given = tuple(extra_args) if isinstance(extra_args, list) else tuple(extra_args.split())
    assert step.head == (*spread, *given)
    assert step.rank == (*spread, "--headless", "--data-parallel-start-rank", RankOffset(1), *of_ranks)
