"""Which nodes each service, its health check and the driver get."""

from typing import Any

import pytest
from configs import command, pools, vllm
from plans import ALONE, launches, on, plan

from gymsubmit.plan import Placement, Pool, Probe
from gymsubmit.words import AllHosts, NodeHost, PoolHosts, Word

TWO_POOLS = {"node_pools": pools(a=2, b=3)}
PINNED_POLICY = vllm(node_pool="b")
EVERYWHERE = Placement(0, 5, 5, AllHosts(), None)
WHOLE_B = Placement(2, 3, 3, PoolHosts("GYM_POOL_B_NODES"), None)


def placements(services: dict[str, Any], **sections: Any) -> dict[str, Placement]:
    return {name: launch.placement for name, launch in launches(services, **sections).items()}


def gpus(**nodes: int) -> dict[str, Any]:
    """A compute entry of pools with eight GPUs on each of their nodes."""
    return {"node_pools": {name: {"nodes": count, "gpus_per_node": 8} for name, count in nodes.items()}}


def test_on_one_node_everything_shares_it() -> None:
    services = {
        "p": vllm(number_of_instances=2),
        "q": vllm(port=8001, tensor_parallel_size=4),
        "c": command(),
        "d": command(per_node=True),
        "e": command(node_pool="gpu"),
    }
    assert placements(services) == dict.fromkeys([*services, "driver"], ALONE)


def test_a_pool_owns_the_nodes_after_those_of_the_pools_before_it() -> None:
    made = plan({"c": command(node_pool="b-2")}, compute={"node_pools": pools(**{"z": 2, "b-2": 3, "1a": 1})})
    assert made.nodes.pools == (
        Pool("z", "GYM_POOL_Z_NODES", first_node=0, nodes=2),
        Pool("b-2", "GYM_POOL_B_2_NODES", first_node=2, nodes=3),
        Pool("1a", "GYM_POOL_1A_NODES", first_node=5, nodes=1),
    )


@pytest.mark.parametrize(
    ("service", "placement"),
    [
        # One instance that fits one node.
        (vllm(), on(0)),
        (vllm(tensor_parallel_size=4, pipeline_parallel_size=2), on(0)),
        # One that does not, and several.
        (vllm(tensor_parallel_size=8, pipeline_parallel_size=2), EVERYWHERE),
        (vllm(number_of_instances=5), EVERYWHERE),
        (command(), on(0)),
        (command(per_node=True), EVERYWHERE),
    ],
)
def test_where_a_service_without_a_pool_runs(service: dict[str, Any], placement: Placement) -> None:
    assert placements({"s": service}, compute=gpus(a=2, b=3)) == {"s": placement, "driver": on(0)}


@pytest.mark.parametrize(
    ("service", "placement"),
    [
        (vllm(), on(2)),
        # It was given the nodes of its pool to use them.
        (vllm(tensor_parallel_size=8), WHOLE_B),
        (vllm(tensor_parallel_size=8, pipeline_parallel_size=3), WHOLE_B),
        (vllm(number_of_instances=3), WHOLE_B),
        (command(), on(2)),
        (command(per_node=True), WHOLE_B),
    ],
)
def test_where_a_service_with_a_pool_runs(service: dict[str, Any], placement: Placement) -> None:
    services = {"s": {**service, "node_pool": "b"}}
    assert placements(services, compute=gpus(a=2, b=3)) == {"s": placement, "driver": on(0)}


def test_a_model_over_gpus_is_over_all_nodes_where_nobody_says_how_many_gpus_a_node_has() -> None:
    assert placements({"s": vllm(tensor_parallel_size=2)}, compute=TWO_POOLS)["s"] == EVERYWHERE


def test_the_driver_and_what_is_pinned_nowhere_are_with_a_pinned_policy() -> None:
    services = {
        "p": PINNED_POLICY,
        "judge": vllm(port=8001, tensor_parallel_size=7),
        "sandbox": command(),
        "other": command(node_pool="a"),
    }
    assert placements(services, compute=gpus(a=2, b=3), driver={"policy_model": "p"}) == {
        "p": on(2),
        "judge": on(2),
        "sandbox": on(2),
        "other": on(0),
        "driver": on(2),
    }


def test_a_pinned_service_that_is_not_the_policy_leaves_the_driver_on_the_first_node() -> None:
    services = {"p": vllm(), "judge": vllm(port=8001, node_pool="b")}
    assert placements(services, compute=TWO_POOLS, driver={"policy_model": "p"}) == {
        "p": on(0),
        "judge": on(2),
        "driver": on(0),
    }


def test_one_task_a_node_whatever_the_allocation_is_made_for() -> None:
    compute = {"node_pools": {"gpu": {"nodes": 2, "ntasks_per_node": 8}}}
    assert placements({"p": vllm(number_of_instances=2)}, compute=compute) == {
        "p": Placement(0, 2, 2, AllHosts(), None),
        "driver": on(0),
    }


def test_a_pool_of_one_node_is_named_by_its_host() -> None:
    services = {"p": vllm(number_of_instances=2, node_pool="b"), "c": command(per_node=True, node_pool="b")}
    assert placements(services, compute={"node_pools": pools(a=2, b=1)}) == {
        "p": on(2),
        "c": on(2),
        "driver": on(0),
    }


def test_each_step_of_a_heterogeneous_job_names_the_component_of_its_pool() -> None:
    compute = {"heterogeneous": True, "node_pools": pools(a=2, b=3, c=1)}
    services = {
        "p": vllm(node_pool="b", number_of_instances=3),
        "judge": vllm(port=8001),
        "sandbox": command(node_pool="c"),
        "tools": command(node_pool="a", per_node=True),
    }
    made = plan(services, compute=compute, driver={"policy_model": "p"})
    assert {step.launch.name: step.launch.placement for step in (*made.steps, made.driver)} == {
        "p": Placement(2, 3, 3, PoolHosts("GYM_POOL_B_NODES"), het_group=1),
        "judge": on(2, het_group=1),
        "sandbox": on(5, het_group=2),
        "tools": Placement(0, 2, 2, PoolHosts("GYM_POOL_A_NODES"), het_group=0),
        "driver": on(2, het_group=1),
    }
    assert made.nodes.het_groups == (0, 1, 2)
    assert [component.nodes for component in made.allocation] == [2, 3, 1]


def test_one_pool_is_no_heterogeneous_job() -> None:
    # Slurm sets the variables of components only where there are several.
    made = plan(compute={"heterogeneous": True, "node_pools": pools(gpu=2)})
    assert made == plan(compute={"node_pools": pools(gpu=2)})
    assert (made.nodes.het_groups, made.driver.launch.placement) == ((), on(0))


def test_two_pools_of_a_plain_job_have_no_components() -> None:
    made = plan({"p": vllm(node_pool="b")}, compute=TWO_POOLS)
    assert (made.nodes.het_groups, [component.nodes for component in made.allocation]) == ((), [5])


@pytest.mark.parametrize(
    ("service", "hosts"),
    [
        # The batch script runs on the first node, where some servers listen on localhost alone.
        (vllm(), ("localhost",)),
        (vllm(node_pool="a"), ("localhost",)),
        (vllm(node_pool="b"), (NodeHost(2),)),
        (vllm(node_pool="b", number_of_instances=3), (NodeHost(2),)),
        (command(per_node=True, port=1, health_check={"nodes": "head"}), ("localhost",)),
        (
            command(per_node=True, port=1, health_check={"nodes": "every"}),
            ("localhost", NodeHost(1), NodeHost(2), NodeHost(3), NodeHost(4)),
        ),
        (
            command(per_node=True, node_pool="b", port=1, health_check={"nodes": "every"}),
            (NodeHost(2), NodeHost(3), NodeHost(4)),
        ),
    ],
)
def test_where_a_health_check_asks(service: dict[str, Any], hosts: tuple[Word, ...]) -> None:
    (probe,) = plan({"s": service}, compute=TWO_POOLS).probes
    assert probe.hosts == hosts


def test_a_health_check_with_its_defaults_and_with_none_of_them() -> None:
    own = {"path": "/up", "port": 9, "timeout_seconds": 1800, "interval_seconds": 30}
    services = {
        "p": vllm(port=8005),
        "q": vllm(port=8006, health_check=own),
        "c": command(port=1, health_check={}),
        "silent": command(port=2),
    }
    assert plan(services).probes == (
        Probe("p", ("localhost",), port=8005, path="/health", timeout_seconds=60, interval_seconds=5),
        Probe("q", ("localhost",), port=9, path="/up", timeout_seconds=1800, interval_seconds=30),
        Probe("c", ("localhost",), port=1, path="/health", timeout_seconds=60, interval_seconds=5),
    )
