"""Which variables each step gets, and what they need of the submitting machine and of the job."""

from typing import Any

import pytest
from configs import command, config, pools, prefill_decode, ray, vllm
from plans import launches, plan

from gymsubmit.lower.environment import secrets
from gymsubmit.plan import RuntimeValue, Variable
from gymsubmit.words import AllHosts, NodeAddress, NodeHost, PoolHosts, RuntimeEnv, Secret

TWO_POOLS = {"node_pools": pools(a=2, b=3)}
# Each prefix, and values that look like another's.
EVERY_KIND = {
    "TOKEN": "host:HF_TOKEN",
    "USER_NAME": "runtime:USER",
    "TEXT": "lit:host:HF_TOKEN",
    "EMPTY": "lit:",
    "LINES": "lit: one\ntwo\n",
}


def env(services: dict[str, Any], **sections: Any) -> dict[str, tuple[Variable, ...]]:
    found = launches(services, **sections)
    return {name: launch.env for name, launch in found.items() if name != "driver"}


def interface(name: str) -> tuple[Variable, ...]:
    return Variable("NCCL_SOCKET_IFNAME", name), Variable("GLOO_SOCKET_IFNAME", name)


@pytest.mark.parametrize("compute", [{}, {"container_runtime": "none"}, {"type": "local"}])
def test_a_variable_reaches_its_own_step_alone_in_the_order_written(compute: dict[str, Any]) -> None:
    made = launches(
        {"p": vllm(env=EVERY_KIND), "c": command(env={"B": "lit:b", "A": "lit:a"})},
        compute=compute,
        driver={"env": {"D": "lit:d"}},
    )
    assert {name: launch.env for name, launch in made.items()} == {
        "p": (
            Variable("TOKEN", Secret("HF_TOKEN")),
            Variable("USER_NAME", RuntimeEnv("USER")),
            Variable("TEXT", "host:HF_TOKEN"),
            Variable("EMPTY", ""),
            Variable("LINES", " one\ntwo\n"),
        ),
        "c": (Variable("B", "b"), Variable("A", "a")),
        "driver": (Variable("D", "d"),),
    }


def test_secrets_of_all_steps_are_listed_once_in_the_order_of_the_steps() -> None:
    services = {
        "p": vllm(env={"T": "host:HF_TOKEN", "X": "lit:host:NOT_ONE", "K": "host:A_KEY"}),
        "c": command(env={"T2": "host:HF_TOKEN", "R": "runtime:NOT_ONE_EITHER"}),
    }
    driver = {"env": {"B": "host:B_KEY", "T": "host:HF_TOKEN"}}
    assert plan(services, driver=driver).secrets == ("HF_TOKEN", "A_KEY", "B_KEY")
    assert secrets(config(services, driver=driver)) == {
        "HF_TOKEN": [("services", "p", "env", "T"), ("services", "c", "env", "T2"), ("driver", "env", "T")],
        "A_KEY": [("services", "p", "env", "K")],
        "B_KEY": [("driver", "env", "B")],
    }


def test_secrets_of_tiers_are_secrets_too() -> None:
    service = prefill_decode(
        {"node_pool": "a", "env": {"T": "host:PREFILL_KEY"}},
        {"node_pool": "b", "env": {"T": "host:DECODE_KEY", "U": "host:ROUTER_KEY"}},
        env={"T": "host:ROUTER_KEY"},
    )
    services = {"x": service, "r": ray(env={"T": "host:RAY_KEY"})}
    assert secrets(config(services, compute={"node_pools": pools(a=1, b=1)})) == {
        "ROUTER_KEY": [("services", "x", "env", "T"), ("services", "x", "decode", "env", "U")],
        "PREFILL_KEY": [("services", "x", "prefill", "env", "T")],
        "DECODE_KEY": [("services", "x", "decode", "env", "T")],
        "RAY_KEY": [("services", "r", "env", "T")],
    }


def test_each_field_that_wants_a_variable_of_the_job_is_named() -> None:
    services = {"p": vllm(env={"A": "runtime:USER", "B": "lit:runtime:X"}), "c.1": command(env={"C": "runtime:USER"})}
    assert plan(services, driver={"env": {"D": "runtime:HOME"}}).runtime_values == (
        RuntimeValue("USER", "services.p.env.A"),
        RuntimeValue("USER", 'services["c.1"].env.C'),
        RuntimeValue("HOME", "driver.env.D"),
    )


def test_a_config_that_asks_for_nothing_of_any_machine() -> None:
    made = plan({"p": vllm(env={"A": "lit:a"})})
    assert (made.secrets, made.runtime_values) == ((), ())


def test_services_over_nodes_are_told_the_network_interface() -> None:
    services = {
        "ranks": vllm(number_of_instances=5),
        "over_ray": vllm(node_pool="b", tensor_parallel_size=3, port=8001, env={"A": "lit:a"}),
        "alone": vllm(port=8002),
        "one": command(),
    }
    assert env(services, compute={**TWO_POOLS, "network_interface": "ib0"}) == {
        "ranks": interface("ib0"),
        "over_ray": (*interface("ib0"), Variable("A", "a")),
        "alone": (),
        "one": (),
    }
    assert env({"ranks": vllm(number_of_instances=5)}, compute=TWO_POOLS) == {"ranks": ()}


@pytest.mark.parametrize(("nodes", "told"), [(1, ()), (2, interface("ib0"))])
def test_two_nodes_are_enough_to_need_the_network_interface(nodes: int, told: tuple[Variable, ...]) -> None:
    compute = {"node_pools": pools(a=nodes), "network_interface": "ib0"}
    assert env({"p": vllm(number_of_instances=2)}, compute=compute) == {"p": told}


def test_a_service_that_names_its_interface_itself_is_left_alone() -> None:
    service = vllm(number_of_instances=5, env={"A": "lit:a", "NCCL_SOCKET_IFNAME": "lit:eth1"})
    assert env({"p": service}, compute={**TWO_POOLS, "network_interface": "ib0"}) == {
        "p": (Variable("GLOO_SOCKET_IFNAME", "ib0"), Variable("A", "a"), Variable("NCCL_SOCKET_IFNAME", "eth1"))
    }


def test_copies_on_every_node_know_their_hosts_and_the_first_of_them() -> None:
    services = {
        "pinned": command(per_node=True, node_pool="b"),
        "everywhere": command(per_node=True),
        "one": command(),
    }
    assert env(services, compute=TWO_POOLS) == {
        "pinned": (
            Variable("GYM_STEP_NODES", PoolHosts("GYM_POOL_B_NODES")),
            Variable("GYM_STEP_HEAD_IP", NodeAddress(2)),
        ),
        "everywhere": (Variable("GYM_STEP_NODES", AllHosts()), Variable("GYM_STEP_HEAD_IP", NodeAddress(0))),
        "one": (),
    }


def test_a_copy_on_the_only_node_of_its_pool() -> None:
    services = {"c": command(per_node=True, node_pool="b")}
    assert env(services, compute={"node_pools": pools(a=2, b=1)}) == {
        "c": (Variable("GYM_STEP_NODES", NodeHost(2)), Variable("GYM_STEP_HEAD_IP", NodeAddress(2)))
    }


@pytest.mark.parametrize("compute", [{}, {"type": "local"}])
def test_a_copy_on_the_only_node_of_a_job_is_on_localhost(compute: dict[str, Any]) -> None:
    assert env({"c": command(per_node=True)}, compute=compute) == {
        "c": (Variable("GYM_STEP_NODES", "localhost"), Variable("GYM_STEP_HEAD_IP", "127.0.0.1"))
    }


def test_copies_over_nodes_are_told_the_network_interface_first() -> None:
    own = {"GYM_STEP_HEAD_IP": "lit:10.0.0.1"}
    compute = {**TWO_POOLS, "network_interface": "ib0"}
    assert env({"c": command(per_node=True, env=own)}, compute=compute) == {
        "c": (*interface("ib0"), Variable("GYM_STEP_NODES", AllHosts()), Variable("GYM_STEP_HEAD_IP", "10.0.0.1"))
    }
