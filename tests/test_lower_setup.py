"""What a job finds out about its nodes, and the variables that tell services and benchmarks of them."""

from typing import Any

import pytest
from configs import command, pools, vllm
from plans import plan

from gymsubmit.plan import NodeSetup, Pool, Variable
from gymsubmit.words import NodeAddress, NodeUrl

TWO_POOLS = {"node_pools": pools(a=2, b=3)}
A, B = Pool("a", "GYM_POOL_A_NODES", 0, 2), Pool("b", "GYM_POOL_B_NODES", 2, 3)
HEADS = (Variable("HEAD_NODE_IP", NodeAddress(0)), Variable("RAY_HEAD_NODE_IP", NodeAddress(0)))


def setup(**changes: Any) -> NodeSetup:
    """The setup of a job in which nothing asks for anything, but for the `changes`."""
    fields: dict[str, Any] = {
        "names": False,
        "het_groups": (),
        "all_hosts": False,
        "pools": (),
        "addresses": (),
        "network_interface": None,
        "exports": (),
    }
    return NodeSetup(**fields | changes)


def test_a_job_of_one_node_asks_slurm_for_no_names() -> None:
    assert plan({"c": command()}).nodes == setup()


def test_a_service_of_a_job_of_one_node_is_on_localhost() -> None:
    services = {"my.judge-1": vllm(port=8001), "silent": command(), "c": command(port=8002)}
    assert plan(services).nodes == setup(
        exports=(
            Variable("GYM_SERVICE_MY_JUDGE_1_URL", "http://localhost:8001"),
            Variable("GYM_SERVICE_C_URL", "http://localhost:8002"),
        )
    )


def test_the_pools_of_a_job_of_one_node_are_exported_where_a_service_is_pinned() -> None:
    pool = Pool("gpu", "GYM_POOL_GPU_NODES", 0, 1)
    assert plan({"c": command(node_pool="gpu")}).nodes == setup(names=True, pools=(pool,))


def test_a_service_is_found_by_the_address_of_its_first_node() -> None:
    services = {"p": vllm(), "judge": vllm(node_pool="b", port=8001), "c": command(port=8002, node_pool="b")}
    assert plan(services, compute=TWO_POOLS).nodes == setup(
        names=True,
        pools=(A, B),
        addresses=(0, 2),
        exports=(
            Variable("GYM_SERVICE_P_URL", NodeUrl(0, 8000)),
            Variable("GYM_SERVICE_JUDGE_URL", NodeUrl(2, 8001)),
            Variable("GYM_SERVICE_C_URL", NodeUrl(2, 8002)),
        ),
    )


def test_data_parallel_ranks_over_all_nodes_dial_the_first() -> None:
    assert plan({"p": vllm(number_of_instances=5)}, compute=TWO_POOLS).nodes == setup(
        names=True,
        all_hosts=True,
        addresses=(0,),
        exports=(*HEADS, Variable("GYM_SERVICE_P_URL", NodeUrl(0, 8000))),
    )


def test_two_nodes_are_enough_to_have_a_head() -> None:
    assert plan({"p": vllm(number_of_instances=2)}, compute={"node_pools": pools(a=2)}).nodes == setup(
        names=True,
        all_hosts=True,
        addresses=(0,),
        exports=(*HEADS, Variable("GYM_SERVICE_P_URL", NodeUrl(0, 8000))),
    )


def test_each_node_of_a_ray_cluster_has_an_address_and_the_first_of_the_allocation() -> None:
    service = vllm(tensor_parallel_size=2, node_pool="b")
    assert plan({"p": service}, compute=TWO_POOLS).nodes == setup(
        names=True,
        pools=(A, B),
        addresses=(0, 2, 3, 4),
        exports=(*HEADS, Variable("GYM_SERVICE_P_URL", NodeUrl(2, 8000))),
    )


def test_copies_on_every_node_dial_the_first_even_without_a_port() -> None:
    assert plan({"c": command(per_node=True, node_pool="b")}, compute=TWO_POOLS).nodes == setup(
        names=True, pools=(A, B), addresses=(2,)
    )
    assert plan({"c": command(per_node=True)}, compute=TWO_POOLS).nodes == setup(
        names=True, all_hosts=True, addresses=(0,)
    )


def test_the_interface_whose_address_is_dialled() -> None:
    compute = {**TWO_POOLS, "network_interface": "ib0"}
    assert plan({"c": command(per_node=True)}, compute=compute).nodes == setup(
        names=True, all_hosts=True, addresses=(0,), network_interface="ib0"
    )


@pytest.mark.parametrize("het", [True, False])
def test_the_head_of_the_allocation_is_exported_only_where_a_model_spans_nodes(het: bool) -> None:
    compute = {**TWO_POOLS, "heterogeneous": het}
    services = {"p": vllm(), "c": command(per_node=True, node_pool="b")}
    assert plan(services, compute=compute).nodes.exports == (Variable("GYM_SERVICE_P_URL", NodeUrl(0, 8000)),)


def test_components_are_put_together_in_the_order_of_the_pools() -> None:
    assert plan({"c": command(node_pool="b")}, compute={**TWO_POOLS, "heterogeneous": True}).nodes == setup(
        names=True, het_groups=(0, 1), pools=(A, B)
    )


def test_this_machine_is_one_node_without_a_name() -> None:
    services = {"p": vllm(tensor_parallel_size=8, number_of_instances=2), "c": command(port=1, per_node=True)}
    assert plan(services, compute={"type": "local"}).nodes == setup(
        exports=(
            Variable("GYM_SERVICE_P_URL", "http://localhost:8000"),
            Variable("GYM_SERVICE_C_URL", "http://localhost:1"),
        )
    )
