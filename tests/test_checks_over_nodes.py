"""What a vLLM service over several nodes may not be told: one value for all, or a probe of what has no API."""

# ruff: noqa: E501 - findings are compared whole, message and all

from pathlib import Path
from typing import Any

import pytest
from broken_configs import problems, with_
from configs import command, findings, pools, prefill_decode, vllm

TWO = {"node_pools": pools(a=2)}
RANKS: dict[str, Any] = {"number_of_instances": 4}
OVER_RAY: dict[str, Any] = {"tensor_parallel_size": 16}
GATEWAY: dict[str, Any] = {"tensor_parallel_size": 16, "number_of_instances": 2, "use_ray_serve": True}
ADDRESSES = {"VLLM_HOST_IP": "lit:10.0.0.1", "RAY_ADDRESS": "runtime:RAY_ADDRESS"}


def host_ip(service: str) -> tuple[str, str]:
    return (
        f"{service}.env.VLLM_HOST_IP",
        f"is each node's own address, so that one value is wrong on all but one of the 2 nodes of {service}; remove it, and choose addresses with compute.c.network_interface",
    )


def ray_address(service: str) -> tuple[str, str]:
    return (
        f"{service}.env.RAY_ADDRESS",
        f"is the Ray cluster that the job starts on the 2 nodes of {service}; remove it",
    )


def every(service: str) -> tuple[str, str]:
    return (
        f"{service}.health_check.nodes",
        f"'every' would ask 2 nodes, of which only the first serves the API of {service}; write head, or leave it out",
    )


@pytest.mark.parametrize("size", [OVER_RAY, GATEWAY])
def test_addresses_that_the_job_finds_out(size: dict[str, Any]) -> None:
    assert findings({"p": vllm(env=ADDRESSES, **size)}, compute=TWO) == [
        host_ip("services.p"),
        ray_address("services.p"),
    ]


def test_ranks_have_addresses_of_their_own_and_no_ray() -> None:
    assert findings({"p": vllm(env=ADDRESSES, **RANKS)}, compute=TWO) == [host_ip("services.p")]


def test_on_one_node_the_env_is_the_users() -> None:
    services = {"p": vllm(env=ADDRESSES), "q": vllm(env=ADDRESSES, port=8001, node_pool="b", **RANKS)}
    assert findings(services, compute={"node_pools": pools(a=1, b=1)}) == []
    assert findings({"c": command(env=ADDRESSES, per_node=True)}, compute=TWO) == []


@pytest.mark.parametrize("size", [RANKS, OVER_RAY, GATEWAY])
def test_nodes_without_an_api_are_not_probed(size: dict[str, Any]) -> None:
    assert findings({"p": vllm(health_check={"nodes": "every"}, **size)}, compute=TWO) == [every("services.p")]
    assert findings({"p": vllm(health_check={"nodes": "head"}, **size)}, compute=TWO) == []


def test_every_node_is_probed_where_each_has_a_server() -> None:
    check = {"nodes": "every"}
    services = {"p": vllm(health_check=check), "c": command(port=1, per_node=True, health_check=check)}
    assert findings(services, compute=TWO) == []


def test_tiers() -> None:
    tier = {"number_of_instances": 2, "env": {"VLLM_HOST_IP": "lit:10.0.0.1"}, "health_check": {"nodes": "every"}}
    tiers = prefill_decode({"node_pool": "a", **tier}, {"node_pool": "b"})
    compute = {"node_pools": pools(a=2, b=1)}
    assert findings({"x": tiers}, compute=compute) == [host_ip("services.x.prefill"), every("services.x.prefill")]
    tiers["prefill"]["number_of_instances"] = 1
    assert findings({"x": tiers | {"server_per_node": True}}, compute=compute) == []


def test_where_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = with_(
        ("      HF_TOKEN: host:HF_TOKEN\n", "      VLLM_HOST_IP: lit:10.0.0.1\n"),
        ("      timeout_seconds: 600\n", "      nodes: every\n"),
        ("        nodes: 1\n", "        nodes: 2\n"),
        ("    port: 8000\n", "    number_of_instances: 2\n"),
    )
    where, what = host_ip("services.policy")
    nodes, probed = every("services.policy")
    assert problems(text) == [
        f"8:21: {where}: {what.replace('compute.c.', 'compute.cluster.')}",
        f"10:14: {nodes}: {probed}",
    ]
