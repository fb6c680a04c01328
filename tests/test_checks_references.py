"""Names that a config refers to, names that would coincide, and what services need where they run."""

# ruff: noqa: E501 - findings are compared whole, message and all

import pytest
from configs import command, findings, pools, prefill_decode, ray, vllm

LOCAL = {"type": "local"}
OTEL = {"endpoint": "https://o", "service_name": "s"}


def test_a_sound_config_has_nothing_to_say() -> None:
    assert findings() == []
    assert findings({"p": vllm(), "j": command()}, compute=LOCAL) == []


def test_names_that_do_not_exist() -> None:
    assert findings(
        {"policy": vllm(placement="d", node_pool="gpus"), "judge": command(node_pool="zzz")},
        driver={"policy_model": "polcy"},
    ) == [
        ("services.policy.placement", "there is no compute entry 'd'; there is 'c'"),
        ("services.policy.node_pool", "there is no node pool 'gpus'; did you mean 'gpu'?"),
        ("services.judge.node_pool", "there is no node pool 'zzz'; there is 'gpu'"),
        ("driver.policy_model", "there is no service 'polcy'; did you mean 'policy'?"),
    ]


def test_names_within_tiers() -> None:
    assert findings({"x": prefill_decode({"node_pool": "gpu", "placement": "d"}, {"node_pool": "b"})}) == [
        ("services.x.prefill.placement", "there is no compute entry 'd'; there is 'c'"),
        ("services.x.decode.node_pool", "there is no node pool 'b'; there is 'gpu'"),
    ]


def test_a_local_compute_has_no_pools() -> None:
    services = {"p": vllm(node_pool="gpu"), "r": ray(node_pools=["gpu"]), "x": prefill_decode({}, {}, port=7000)}
    assert findings(services, compute=LOCAL) == [
        ("services.p.node_pool", "compute.c is local and has no node pools; remove it"),
        ("services.r.node_pools.0", "compute.c is local and has no node pools; remove it"),
        ("services.x", "compute.c is local and has no node pools, of which tiers need one each; use slurm"),
    ]


def test_the_pools_of_a_ray_service() -> None:
    service = ray(node_pool="a", node_pools=["a", "b", "a", "d"], resources={"a": {"x": 1}, "c": {"x": 1}})
    assert findings({"r": service}, compute={"node_pools": pools(a=1, b=1, c=1)}) == [
        ("services.r.node_pool", "a ray service may span pools; write node_pools: [a]"),
        ("services.r.node_pools.2", "node pool 'a' is listed twice; keep it once"),
        ("services.r.node_pools.3", "there is no node pool 'd'; there is 'a', 'b', 'c'"),
        (
            "services.r.resources.c",
            "the service does not span node pool 'c'; add it to node_pools, or remove its resources",
        ),
        (
            "compute.c.node_pools.c",
            "warning: nothing runs on the only node of node pool 'c'; ask for fewer nodes, or pin a service to the pool",
        ),
    ]


def test_a_policy_serves_a_model_on_a_port() -> None:
    driver = {"policy_model": "p"}
    assert findings({"p": ray()}, driver=driver) == [
        ("driver.policy_model", "'p' is a ray service, which serves no model; name a service that does"),
    ]
    assert findings({"p": command(health_check={"port": 1})}, driver=driver) == [
        ("services.p", "is the policy and has no model; add it"),
        ("services.p", "is the policy and has no port; add it"),
    ]
    assert findings({"p": command(model="m", port=1)}, driver=driver) == [
        (
            "services.p",
            "warning: is the policy and has no health check, so that benchmarks may start before it is up; add health_check",
        ),
    ]
    assert findings({"p": command(model="m", port=1, health_check={})}, driver=driver) == []


def test_steps_that_would_share_a_name() -> None:
    services = {
        "a-b": command(),
        "a_b": command(),
        "A.B": command(),
        "driver": command(),
        "Job": command(),
        "otel-collector": command(),
        "x": prefill_decode({"node_pool": "a"}, {"node_pool": "b"}),
        "x-prefill": command(),
        "r": ray(node_pools=["a"]),
        "r_a-workers": command(),
    }
    assert findings(services, compute={"node_pools": pools(a=1, b=1)}) == [
        ("services.a_b", "service 'a_b' and service 'a-b' would both be called A_B in the job script; rename one"),
        ("services.A.B", "service 'A.B' and service 'a-b' would both be called A_B in the job script; rename one"),
        (
            "services.driver",
            "service 'driver' and the driver's step would both be called DRIVER in the job script; rename one",
        ),
        ("services.Job", "service 'Job' and the job's own log would both be called JOB in the job script; rename one"),
        (
            "services.otel-collector",
            "service 'otel-collector' and the collector's step would both be called OTEL_COLLECTOR in the job script; rename one",
        ),
        (
            "services.x-prefill",
            "service 'x-prefill' and the prefill tier of service 'x' would both be called X_PREFILL in the job script; rename one",
        ),
        (
            "services.r_a-workers",
            "service 'r_a-workers' and the workers of service 'r' in node pool 'a' would both be called R_A_WORKERS in the job script; rename one",
        ),
    ]


def test_variables_that_would_share_a_name() -> None:
    ports = {"extra_args": "--include-dashboard=false --ray-client-server-port=0 --dashboard-agent-listen-port=0"}
    services = {
        "a": ray(node_pools=["b-c"], **ports),
        "a-b": ray(node_pools=["c"], port=2, **ports),
        "address": ray(node_pools=["c"], port=3, **ports),
        "c.workers": ray(port=4, **ports),
    }
    assert findings(services, compute={"node_pools": pools(**{"b-c": 1, "b.c": 1, "c": 1})}) == [
        ("compute.c.node_pools.b.c", "node pool 'b.c' and node pool 'b-c' would both be called GYM_POOL_B_C_NODES in the job script; rename one"),
        ("services.a-b.node_pools.0", "the workers of service 'a-b' in node pool 'c' and the workers of service 'a' in node pool 'b-c' would both be called A_B_C_WORKERS in the job script; rename one"),
        ("services.c.workers", "service 'c.workers' and the workers of service 'address' in node pool 'c' would both be called GYM_RAY_ADDRESS_C_WORKERS in the job script; rename one"),
        ("compute.c.node_pools.b.c", "warning: nothing runs on the only node of node pool 'b.c'; ask for fewer nodes, or pin a service to the pool"),
    ]  # fmt: skip


def test_a_benchmark_that_is_called_like_a_file_beside_it() -> None:
    assert findings(driver={"benchmarks": {"gym-job.json": {}, "resolved-config.yaml": {}, "gym-job": {}}}) == [
        (
            "driver.benchmarks.gym-job.json",
            "'gym-job.json' is a file in the directory that the benchmark's would be in; choose another name",
        ),
        (
            "driver.benchmarks.resolved-config.yaml",
            "'resolved-config.yaml' is a file in the directory that the benchmark's would be in; choose another name",
        ),
    ]


@pytest.mark.parametrize("runtime", ["pyxis", "apptainer"])
def test_a_container_runtime_needs_containers(runtime: str) -> None:
    services = {
        "p": vllm(container=None),
        "x": prefill_decode({"node_pool": "a"}, {"node_pool": "b", "container": "a:b"}, container=None, port=7000),
    }
    compute = {"container_runtime": runtime, "node_pools": pools(a=1, b=1)}
    assert findings(services, compute=compute) == [
        ("services.p", f"has no container, which {runtime} needs; add container"),
        ("services.x", f"has no container, which {runtime} needs; add container"),
        ("services.x.prefill", f"has no container, which {runtime} needs; add container"),
    ]


@pytest.mark.parametrize("compute", [LOCAL, {"container_runtime": "none"}])
def test_without_a_runtime_none_is_needed(compute: dict[str, str]) -> None:
    assert findings({"p": vllm(container=None), "c": command(container=None)}, compute=compute) == []


@pytest.mark.parametrize("compute", [LOCAL, {"container_runtime": "none"}])
def test_without_a_runtime_mounts_have_no_effect(compute: dict[str, str]) -> None:
    message = "warning: has no effect without containers; make sure that what runs finds its files where they are"
    services = {"p": vllm(container=None, mounts=["/a:/b"]), "c": command(container=None, port=1)}
    assert findings(services, compute=compute, driver={"mounts": ["/d"]}) == [
        ("services.p.mounts", message),
        ("driver.mounts", message),
    ]


def test_mounts_of_apptainer() -> None:
    assert findings(
        {"p": vllm(mounts=["/a:/b:ro+nosuid", "tmpfs:/x", "/a:/b:rw"])},
        compute={"container_runtime": "apptainer"},
        driver={"mounts": ["/a:/a:ro+rw"]},
    ) == [
        ("services.p.mounts.0", "apptainer has no mount flag 'nosuid'; write ro or rw"),
        ("services.p.mounts.1", "apptainer cannot mount 'tmpfs'; mount a path"),
        ("driver.mounts.0", "apptainer has no mount flag 'ro+rw'; write ro or rw"),
    ]


def test_a_health_check_has_a_port() -> None:
    assert findings(
        {"c": command(health_check={}), "r": ray(health_check={}), "d": command(port=1, health_check={})}
    ) == [
        ("services.c.health_check", "has no port, and neither has the service; add a port"),
        ("services.r.health_check", "has no port, and a ray service none that speaks HTTP; add health_check.port"),
    ]


def test_tiers_are_whole_and_apart() -> None:
    compute = {"node_pools": pools(a=2, b=1)}
    assert findings({"x": prefill_decode({}, {}, model=None)}, compute={"node_pools": pools(a=1)}) == [
        ("services.x.prefill", "has no model, and neither has the service; add model to one of them"),
        ("services.x.decode", "has no model, and neither has the service; add model to one of them"),
        ("services.x.prefill", "has no node pool; each tier needs one of its own: add node_pool"),
        ("services.x.decode", "has no node pool; each tier needs one of its own: add node_pool"),
    ]
    same = prefill_decode(
        {"node_pool": "a", "number_of_instances": 2, "data_parallel_rpc_port": 5},
        {"node_pool": "a", "data_parallel_rpc_port": 5},
        server_per_node=True,
        port=65534,
    )
    assert findings({"x": same, "c": command(node_pool="b")}, compute=compute) == [
        ("services.x.prefill.number_of_instances", "server_per_node runs one server a node; set it to 1"),
        ("services.x.decode.node_pool", "node pool 'a' is prefill's; give each tier one of its own"),
        ("services.x.decode.data_parallel_rpc_port", "port 5 is prefill's; give each tier one of its own"),
        ("services.x.decode", "port would be 65536, past the last port 65535; set it"),
    ]
    sound = prefill_decode({"node_pool": "a"}, {"node_pool": "b"}, server_per_node=True)
    assert findings({"x": sound}, compute=compute, driver={"policy_model": "x"}) == []


def test_gym_telemetry_needs_a_gym() -> None:
    assert findings(otel={**OTEL, "gym_telemetry": True}) == [
        ("otel.gym_telemetry", "needs a Gym that the job installs; set driver.gym_install, or leave it out"),
    ]
    assert findings(otel={**OTEL, "gym_telemetry": True}, driver={"gym_install": {"ref": "main"}}) == []
