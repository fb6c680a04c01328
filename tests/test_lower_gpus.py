"""Which GPUs each service is told to take where several share a node."""

from typing import Any

import pytest
from configs import command, pools, vllm
from plans import launches

from gymsubmit.plan import Devices

OWN_DEVICES = {"CUDA_VISIBLE_DEVICES": "lit:7"}


def devices(services: dict[str, Any], **compute: Any) -> dict[str, Devices | None]:
    found = launches(services, compute=compute)
    assert found.pop("driver").devices is None
    return {name: launch.devices for name, launch in found.items()}


def gpus(**nodes: int) -> dict[str, Any]:
    return {name: {"nodes": count, "gpus_per_node": 8} for name, count in nodes.items()}


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize(
    "service",
    [vllm(tensor_parallel_size=4), vllm(number_of_instances=2), command(gpus=8), command(gpus=1, per_node=True)],
)
def test_a_service_alone_on_its_nodes_is_left_as_it_is(nodes: int, service: dict[str, Any]) -> None:
    assert devices({"s": service}, node_pools=gpus(a=nodes)) == {"s": None}


def test_services_that_share_a_node_take_its_gpus_in_their_order() -> None:
    services = {
        "p": vllm(tensor_parallel_size=2, pipeline_parallel_size=2),
        "c": command(gpus=1),
        "q": vllm(port=8001, number_of_instances=3),
    }
    assert devices(services, node_pools=gpus(a=1)) == {"p": Devices(0, 4), "c": Devices(4, 1), "q": Devices(5, 3)}


def test_services_on_this_machine_share_it() -> None:
    services = {"p": vllm(tensor_parallel_size=2), "c": command(gpus=1)}
    assert devices(services, type="local") == {"p": Devices(0, 2), "c": Devices(2, 1)}


def test_services_on_different_nodes_do_not_share() -> None:
    services = {"p": vllm(node_pool="a", tensor_parallel_size=8), "q": vllm(node_pool="b", tensor_parallel_size=8)}
    assert devices(services, node_pools=gpus(a=1, b=1)) == {"p": None, "q": None}


@pytest.mark.parametrize("other", [command(), command(gpus=2, env=OWN_DEVICES)])
def test_what_asks_for_no_known_gpus_or_chooses_its_own_shares_with_nobody(other: dict[str, Any]) -> None:
    assert devices({"c": other, "p": vllm()}, node_pools=gpus(a=1)) == {"c": None, "p": None}
    services = {"c": other, "p": vllm(tensor_parallel_size=2), "d": command(gpus=2)}
    assert devices(services, node_pools=gpus(a=1)) == {"c": None, "p": Devices(0, 2), "d": Devices(2, 2)}


def test_ranks_over_nodes_take_the_same_gpus_on_each() -> None:
    services = {
        "p": vllm(tensor_parallel_size=2, number_of_instances=6),
        "a": command(node_pool="a", gpus=4),
        "b": command(node_pool="b", gpus=3),
    }
    assert devices(services, node_pools=gpus(a=1, b=2)) == {
        "p": Devices(0, 4),
        "a": Devices(4, 4),
        "b": Devices(4, 3),
    }


def test_an_instance_over_nodes_takes_its_share_of_each() -> None:
    services = {"p": vllm(tensor_parallel_size=8, node_pool="a"), "c": command(gpus=4, per_node=True)}
    assert devices(services, node_pools=gpus(a=2)) == {"p": Devices(0, 4), "c": Devices(4, 4)}


def test_what_fits_the_gpus_of_a_node_gets_none_beyond_them() -> None:
    # Were the first four of node 0 taken first, those that are left on node 1 would not be in one piece.
    services = {
        "a": command(node_pool="a", gpus=4),
        "p": vllm(tensor_parallel_size=4, number_of_instances=2),
        "b": command(node_pool="b", gpus=4),
    }
    assert devices(services, node_pools=gpus(a=1, b=1)) == {
        "a": Devices(4, 4),
        "p": Devices(0, 4),
        "b": Devices(4, 4),
    }


def test_without_gpus_per_node_services_are_told_as_well() -> None:
    services = {"p": vllm(), "q": vllm(port=8001)}
    assert devices(services, node_pools=pools(a=1)) == {"p": Devices(0, 1), "q": Devices(1, 1)}
