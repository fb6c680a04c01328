"""Ports and GPUs of services that share nodes."""

# ruff: noqa: E501 - findings are compared whole, message and all

from typing import Any

from configs import command, findings, pools, prefill_decode, ray, vllm

OTEL = {"endpoint": "https://o", "service_name": "s"}


def gpus(nodes: int = 1, each: int = 8) -> dict[str, Any]:
    return {"node_pools": {"gpu": {"nodes": nodes, "gpus_per_node": each}}}


def idle(used: str, all_: int, rest: int, pool: str = "gpu") -> tuple[str, str]:
    message = f"warning: {used} of the {all_} GPUs of a node, so that {rest} stay idle; use them, or ask for fewer"
    return f"compute.c.node_pools.{pool}.gpus_per_node", message


def product(tensor: int = 1, pipeline: int = 1, instances: int = 1) -> str:
    total = tensor * pipeline * instances
    return (
        f"tensor_parallel_size {tensor} x pipeline_parallel_size {pipeline} x number_of_instances {instances} = {total}"
    )


def needed(what: str, where: str, has: str) -> str:
    return f"{what} GPUs are needed on {where}, where there {has}; use fewer, or ask for more GPUs or nodes"


def clash(port: int, one: str, other: str, where: str = "node pool gpu") -> str:
    return f"port {port} is used by {one} and by {other} on {where}; change one of them"


def test_two_services_on_a_port() -> None:
    services = {"p": vllm(), "c": command(port=8000), "d": command(port=8001)}
    assert findings(services) == [("services.c.port", clash(8000, "services.c.port", "services.p.port"))]
    assert findings(services, compute={"type": "local"}) == [
        ("services.c.port", clash(8000, "services.c.port", "services.p.port", "this machine")),
    ]


def test_services_on_different_nodes_may_share_a_port() -> None:
    two = {"node_pools": pools(a=1, b=1)}
    apart = {"p": vllm(node_pool="a"), "c": command(port=8000, node_pool="b")}
    assert findings(apart, compute=two, driver={"policy_model": "p"}) == []
    # An unpinned service is on the driver's node, which is the policy's.
    joined = {"p": vllm(node_pool="b"), "c": command(port=8000), "d": command(port=8000, node_pool="a")}
    assert findings(joined, compute=two, driver={"policy_model": "p"}) == [
        ("services.c.port", clash(8000, "services.c.port", "services.p.port", "node pool b")),
    ]


def test_a_copy_on_every_node_listens_on_every_node() -> None:
    two = {"node_pools": pools(a=1, b=1)}
    services = {"p": command(port=1, per_node=True), "c": command(port=1, node_pool="b")}
    assert findings(services, compute=two) == [
        ("services.c.port", clash(1, "services.c.port", "services.p.port", "node pool b")),
    ]
    assert findings({"p": command(port=1), "c": command(port=1, node_pool="b")}, compute=two) == []
    assert findings({"p": command(port=1, node_pool="b", per_node=True), "c": command(port=1)}, compute=two) == []


def test_ports_of_data_parallel_ranks_and_of_an_instance_over_nodes() -> None:
    two = {"node_pools": pools(a=1, b=1)}
    services = {"p": vllm(number_of_instances=2), "c": command(port=13345), "d": command(port=13345, node_pool="b")}
    assert findings(services, compute=two) == [
        ("services.c.port", clash(13345, "services.c.port", "services.p.data_parallel_rpc_port", "node pool a")),
    ]
    services = {"p": vllm(tensor_parallel_size=2), "r": ray(node_pools=["b"])}
    assert findings(services, compute=two) == [
        ("services.r.port", clash(6379, "services.r.port", "services.p.ray_port", "node pool a")),
    ]
    # On one node neither listens.
    assert (
        findings({"p": vllm(tensor_parallel_size=2, number_of_instances=2), "r": ray(), "c": command(port=13345)}) == []
    )
    assert findings({"p": vllm(data_parallel_rpc_port=8000, number_of_instances=2)}, compute=two) == [
        (
            "services.p.data_parallel_rpc_port",
            clash(8000, "services.p.data_parallel_rpc_port", "services.p.port", "node pool a"),
        ),
    ]


def test_ports_of_ray_clusters() -> None:
    services = {
        "r": ray(node_pools=["a"]),
        "s": ray(port=1, extra_args="--dashboard-port 2 --ray-client-server-port=3 --dashboard-agent-listen-port 4"),
        "t": ray(port=5, extra_args="--include-dashboard=false"),
        "c": command(port=8265),
        "d": command(port=52365, node_pool="a"),
    }
    agent, client = (
        "services.t.extra_args (--dashboard-agent-listen-port)",
        "services.t.extra_args (--ray-client-server-port)",
    )
    assert findings(services, compute={"node_pools": pools(a=2)}) == [
        ("services.t.extra_args", clash(10001, client, client.replace(".t.", ".r."), "node pool a")),
        ("services.t.extra_args", clash(52365, agent, agent.replace(".t.", ".r."), "node pool a")),
        ("services.c.port", clash(8265, "services.c.port", "services.r.extra_args (--dashboard-port)", "node pool a")),
        ("services.d.port", clash(52365, "services.d.port", agent.replace(".t.", ".r."), "node pool a")),
        ("services.d.port", clash(52365, "services.d.port", agent, "node pool a")),
    ]


def test_ports_of_the_ray_cluster_under_an_instance_over_nodes() -> None:
    services = {
        "p": vllm(tensor_parallel_size=2),
        "q": vllm(tensor_parallel_size=2, port=8001, ray_port=6380),
        "c": command(port=20000, node_pool="b"),
        "d": command(port=28999, node_pool="a"),
        "e": command(port=29000, node_pool="a"),
    }
    workers, client = "services.{}'s Ray workers", "services.p.ray_port (Ray's client server)"
    assert findings(services, compute={"node_pools": pools(a=1, b=1)}) == [
        ("services.q.ray_port", clash(6380, "services.q.ray_port", client, "node pool a")),
        ("services.c.port", clash(20000, "services.c.port", workers.format("p"), "node pool b")),
        ("services.c.port", clash(20000, "services.c.port", workers.format("q"), "node pool b")),
        ("services.d.port", clash(28999, "services.d.port", workers.format("p"), "node pool a")),
        ("services.d.port", clash(28999, "services.d.port", workers.format("q"), "node pool a")),
    ]
    apart = {"p": vllm(tensor_parallel_size=2), "q": vllm(tensor_parallel_size=2, port=8001, ray_port=6381)}
    assert findings(apart, compute={"node_pools": pools(a=1, b=1)}) == []


def test_a_service_before_ray_is_the_one_that_moves() -> None:
    services = {"c": command(port=20500), "p": vllm(tensor_parallel_size=2, node_pool=None)}
    assert findings(services, compute={"node_pools": pools(a=1, b=1)}) == [
        ("services.c.port", clash(20500, "services.c.port", "services.p's Ray workers", "node pool a")),
    ]


def test_ports_of_prefill_and_decode() -> None:
    services = {
        "x": prefill_decode(
            {"node_pool": "a", "tensor_parallel_size": 4}, {"node_pool": "b"}, router_metrics_port=8000
        ),
        "c": command(port=5603, node_pool="a"),
        "d": command(port=5604, node_pool="a"),
        "e": command(port=5601, node_pool="b"),
        "f": command(port=8002, node_pool="b"),
        "g": command(port=8001),
    }
    nixl = "services.x.nixl_side_channel_port"
    assert findings(services, compute={"node_pools": pools(a=1, b=1)}) == [
        (
            "services.x.router_metrics_port",
            clash(8000, "services.x.router_metrics_port", "services.x.port", "node pool a"),
        ),
        (
            "services.c.port",
            clash(5603, "services.c.port", f"{nixl} (5600 and up, one a rank of prefill)", "node pool a"),
        ),
        (
            "services.e.port",
            clash(5601, "services.e.port", f"{nixl} (5601 and up, one a rank of decode)", "node pool b"),
        ),
        ("services.f.port", clash(8002, "services.f.port", "services.x.decode.port", "node pool b")),
        ("services.g.port", clash(8001, "services.g.port", "services.x.prefill.port", "node pool a")),
    ]


def test_ports_of_the_collector() -> None:
    services = {
        "a": command(port=4317),
        "b": command(port=4318),
        "c": command(port=13133),
        "d": command(port=4317, node_pool="cpu"),
    }
    compute = {"node_pools": pools(gpu=1, cpu=1)}
    assert findings(services, compute=compute, otel=OTEL) == [
        ("services.a.port", clash(4317, "services.a.port", "the collector (OTLP over gRPC)")),
        ("services.b.port", clash(4318, "services.b.port", "the collector (OTLP over HTTP)")),
        ("services.c.port", clash(13133, "services.c.port", "the collector (its health check)")),
    ]
    assert findings(services, compute=compute, otel={**OTEL, "enabled": False}) == []


def test_gpus_of_one_node() -> None:
    assert (
        findings({"p": vllm(tensor_parallel_size=2, pipeline_parallel_size=2, number_of_instances=2)}, compute=gpus())
        == []
    )
    assert findings({"p": vllm(tensor_parallel_size=8, number_of_instances=2)}, compute=gpus()) == [
        ("services.p.tensor_parallel_size", needed(product(8, 1, 2), "a node of node pool gpu", "are only 8")),
    ]
    assert findings({"p": vllm(pipeline_parallel_size=2)}, compute=gpus()) == [
        idle(f"services.p uses {product(1, 2)}", 8, 6),
    ]
    assert findings({"p": vllm()}, compute=gpus(each=0)) == [
        ("services.p", needed(product(), "a node of node pool gpu", "are none")),
    ]
    assert findings({"p": vllm(tensor_parallel_size=99)}) == []


def test_gpus_of_commands() -> None:
    assert findings({"c": command(gpus=9)}, compute=gpus()) == [
        ("services.c.gpus", needed("9", "a node of node pool gpu", "are only 8")),
    ]
    assert findings({"c": command(gpus=6)}, compute=gpus()) == [idle("services.c uses 6", 8, 2)]
    assert findings({"c": command()}, compute=gpus()) == []


def test_an_instance_over_nodes() -> None:
    assert findings({"p": vllm(tensor_parallel_size=8, pipeline_parallel_size=2)}, compute=gpus(2)) == []
    assert findings({"p": vllm(tensor_parallel_size=8, pipeline_parallel_size=3)}, compute=gpus(2)) == [
        (
            "services.p.tensor_parallel_size",
            needed(product(8, 3), "the 2 nodes of node pool gpu together", "are only 16"),
        ),
    ]
    assert findings({"p": vllm(tensor_parallel_size=12)}, compute=gpus(2)) == [
        idle(f"services.p uses {product(12)}, 6 a node,", 8, 2),
    ]


def test_data_parallel_over_nodes() -> None:
    assert findings({"p": vllm(tensor_parallel_size=4, number_of_instances=16)}, compute=gpus(8)) == []
    share = "tensor_parallel_size 4 x pipeline_parallel_size 1 x 3 of 6 instances = 12"
    assert findings({"p": vllm(tensor_parallel_size=4, number_of_instances=6)}, compute=gpus(2)) == [
        ("services.p.number_of_instances", needed(share, "a node of node pool gpu", "are only 8")),
    ]
    uneven = "3 instances cannot be shared out evenly over the 2 nodes of node pool gpu; write a multiple of 2, or use_ray_serve: true"
    for compute in (gpus(2), {"node_pools": pools(gpu=2)}):
        assert findings({"p": vllm(tensor_parallel_size=4, number_of_instances=3)}, compute=compute) == [
            ("services.p.number_of_instances", uneven),
        ]


def test_ray_serve_counts_all_nodes_together() -> None:
    serve = vllm(tensor_parallel_size=4, number_of_instances=3, use_ray_serve=True)
    assert findings({"p": serve}, compute=gpus(2)) == [idle(f"services.p uses {product(4, 1, 3)}, 6 a node,", 8, 2)]
    assert findings({"p": {**serve, "number_of_instances": 5}}, compute=gpus(2)) == [
        (
            "services.p.number_of_instances",
            needed(product(4, 1, 5), "the 2 nodes of node pool gpu together", "are only 16"),
        ),
    ]
    # Instances that are larger than a node are placed by Ray Serve too.
    assert findings({"p": vllm(tensor_parallel_size=16, number_of_instances=3)}, compute=gpus(6)) == []


def test_a_pinned_service_is_sized_against_its_own_pool() -> None:
    compute = {
        "heterogeneous": True,
        "node_pools": {"big": {"gpus_per_node": 8}, "small": {"gpus_per_node": 2, "nodes": 2}},
    }
    services = {
        "p": vllm(tensor_parallel_size=8, node_pool="big"),
        "j": vllm(tensor_parallel_size=8, node_pool="small"),
    }
    assert findings(services, compute=compute) == [
        (
            "services.j.tensor_parallel_size",
            needed(product(8), "the 2 nodes of node pool small together", "are only 4"),
        ),
    ]


def test_services_that_share_a_node_are_added_up() -> None:
    fitting = {
        "p": vllm(tensor_parallel_size=4),
        "j": vllm(tensor_parallel_size=2, port=1),
        "c": command(gpus=2, node_pool="gpu"),
    }
    assert findings(fitting, compute=gpus()) == []
    assert findings({**fitting, "c": command(gpus=3)}, compute=gpus()) == [
        (
            "services.c.gpus",
            "services.p 4 + services.j 2 + services.c 3 = 9 GPUs are needed on a node of node pool gpu, where there are only 8; pin one of them elsewhere, or lower what they need",
        ),
    ]
    assert findings({**fitting, "c": command(gpus=1)}, compute=gpus()) == [
        idle("services.p 4 + services.j 2 + services.c 1 = 7", 8, 1),
    ]
    # What a server needs that does not say so is not known, nor whether GPUs stay idle.
    assert findings({**fitting, "c": command()}, compute=gpus()) == []


def test_sums_over_nodes() -> None:
    compute = {"node_pools": {"a": {"gpus_per_node": 8}, "b": {"gpus_per_node": 8}}}
    services = {"p": vllm(tensor_parallel_size=4, number_of_instances=4), "c": command(gpus=1, node_pool="b")}
    assert findings(services, compute=compute) == [
        (
            "services.c.gpus",
            "services.p 8 + services.c 1 = 9 GPUs are needed on a node of node pool b, where there are only 8; pin one of them elsewhere, or lower what they need",
        ),
    ]


def test_gpus_of_tiers() -> None:
    compute = {"node_pools": {"a": {"gpus_per_node": 8, "nodes": 2}, "b": {"gpus_per_node": 8}}}
    whole = {"node_pool": "a", "tensor_parallel_size": 8}
    small = {"node_pool": "b", "tensor_parallel_size": 4}
    assert (
        findings(
            {"x": prefill_decode({**whole, "pipeline_parallel_size": 2}, {**small, "tensor_parallel_size": 8})},
            compute=compute,
        )
        == []
    )
    assert findings({"x": prefill_decode(whole, small, server_per_node=True)}, compute=compute) == [
        idle(f"services.x.decode uses {product(4)}", 8, 4, "b"),
    ]
    assert findings(
        {
            "x": prefill_decode(
                {**whole, "tensor_parallel_size": 16}, {**small, "tensor_parallel_size": 8}, server_per_node=True
            )
        },
        compute=compute,
    ) == [
        ("services.x.prefill.tensor_parallel_size", needed(product(16), "a node of node pool a", "are only 8")),
    ]


def test_nodes_that_nothing_uses() -> None:
    fits = {"p": vllm(tensor_parallel_size=8)}
    rest = "ask for fewer nodes, or pin a service to the pool"
    assert findings(fits, compute=gpus(3)) == [
        ("compute.c.node_pools.gpu", f"warning: nothing runs on 2 of the 3 nodes of node pool 'gpu'; {rest}"),
    ]
    assert findings({"p": vllm()}, compute={"node_pools": pools(gpu=1, cpu=1)}) == [
        ("compute.c.node_pools.cpu", f"warning: nothing runs on the only node of node pool 'cpu'; {rest}"),
    ]
    assert findings({"p": vllm(tensor_parallel_size=8), "r": ray(node_pools=["gpu"])}, compute=gpus(3)) == []


def test_no_step_spans_components() -> None:
    compute = {"heterogeneous": True, "node_pools": pools(a=1, b=1)}
    spanning = "would span node pools a, b in one step, which a heterogeneous job cannot; pin it with node_pool"
    services = {"p": vllm(number_of_instances=2), "c": command(per_node=True), "d": vllm(port=1, node_pool="b")}
    assert findings(services, compute=compute) == [("services.p", spanning), ("services.c", spanning)]
    assert findings({"c": command(), "r": ray(node_pools=["a", "b"])}, compute=compute) == []
