"""Everything wrong in one run: what is reported beside a refused value is wrong whatever that is corrected to."""

import json
from collections.abc import Iterable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from configs import command, prefill_decode, ray, tree, vllm

from gymsubmit.config.load import load_config
from gymsubmit.config.paths import parse_path
from gymsubmit.errors import ConfigError

pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


SCRIPT = "#!/usr/bin/env python3"  # bash, which would be asked about a shell script, takes its time


def served(**fields: Any) -> dict[str, Any]:
    return command(command=["serve"], **fields)


# Configs with many things wrong across their fields, so that a value of either has something to make or to hide.
CROWDED = tree(
    {
        "policy": vllm(tensor_parallel_size=4, health_check={}, extra_args="--port 1", env={"RAY_ADDRESS": "lit:x"}),
        "pinned": vllm(node_pool="b", number_of_instances=3, port=8000, health_check={"nodes": "every"}),
        "wide": vllm(node_pool="a", tensor_parallel_size=8, port=8001, env={"VLLM_HOST_IP": "lit:x"}),
        "judge": served(node_pool="b", port=8000, gpus=4, srun_args={"nodes": 1}),
        "every": served(per_node=True, port=8002, gpus=1, health_check={}, placement="nowhere"),
        "cluster": ray(node_pools=["b", "b", "c"], port=8001, num_gpus=8, resources={"a": {"x": 1}}, health_check={}),
        "judge-1": served(node_pool="c"),
        "judge.1": {"type": "command", "command": ["serve"]},
    },
    compute={
        "node_pools": {"a": {"nodes": 2, "gpus_per_node": 2}, "b": {"nodes": 2, "gpus_per_node": 4}},
        "extra_args": {"requeue": True, "time": 1},
    },
    driver={
        "policy_model": "policy",
        "benchmarks": {
            "x": {"run": {"policy_base_url": "u", "a b": 1}, "command": SCRIPT, "resumable": True},
            "y": {"run": {"a": {"b": 1}, "a.b": 2}, "resumable": {"max_retries": 1}},
        },
    },
    otel={"endpoint": "e", "service_name": "s", "gym_telemetry": True},
)
TIERS = tree(
    {
        "pd": prefill_decode(
            {"node_pool": "a", "tensor_parallel_size": 3, "port": 8000},
            {"node_pool": "a", "number_of_instances": 2, "data_parallel_rpc_port": 13345, "mounts": ["tmpfs:/x:sync"]},
            port=8000,
            server_per_node=True,
            router_metrics_port=8001,
        ),
        "other": served(node_pool="a", port=8002),
        "open": prefill_decode({}, {"node_pool": "b"}, port=65535, model=None, container=None),
        "unknown": served(node_pool="d"),
        "serve": vllm(use_ray_serve=True, ray_port=8002, number_of_instances=2, tensor_parallel_size=2, port=5600),
    },
    compute={
        "node_pools": {"a": {"nodes": 2, "gpus_per_node": 2}, "b": {"gpus_per_node": 4}},
        "container_runtime": "apptainer",
        "heterogeneous": True,
    },
    driver={"policy_model": "open", "benchmarks": {"gym-job.json": {}}},
    otel={"endpoint": "e", "service_name": "s", "enabled": True},
)
HERE = tree(
    {
        "a": vllm(node_pool="x", port=4317),
        "b": prefill_decode({"node_pool": "x"}, {"node_pool": "x"}, port=4318),
        "c": served(health_check={}, port=None),
    },
    compute={"type": "local"},
    driver={"policy_model": "c", "benchmarks": {"x": {"resumable": True, "run": {"policy_api_key": 1}}}},
    otel={"endpoint": "e", "service_name": "s"},
)

VALUES: dict[str, list[Any]] = {
    "port": [8000, 8002, 6379],
    "tensor_parallel_size": [1, 3, 8],
    "pipeline_parallel_size": [1, 2, 5],
    "number_of_instances": [1, 2, 3],
    "node_pool": ["a", "b", "c", None],
    "node_pools": [[], ["a"], ["b", "c"]],
    "placement": ["c"],
    "container": ["a/b", None],
    "use_ray_serve": [True, False],
    "per_node": [True, False],
    "gpus": [1, 9],
    "num_gpus": [1, 9],
    "ray_port": [6379, 8002],
    "data_parallel_rpc_port": [13345, 8000],
    "nixl_side_channel_port": [5600, 8001],
    "router_metrics_port": [8000, 8001, 29000],
    "server_per_node": [True, False],
    "model": ["a", None],
    "health_check": [{"nodes": "head"}, {"nodes": "every"}, {"port": 1}, None],
    "extra_args": ["", "--port 1", "--include-dashboard false", "--dashboard-port 8002"],
    "resources": [{}, {"a": {}}, {"b": {}}],
    "mounts": [[], ["/a:/b:ro"], ["tmpfs:/x:size=1"]],
    "srun_args": [{}],
    "env": [{}, {"RAY_ADDRESS": "lit:"}, {"VLLM_HOST_IP": "lit:"}],
    "nodes": [1, 2, 5],
    "gpus_per_node": [1, 2, 4, 16, None],
    "partition": ["p", "q", None],
    "container_runtime": ["pyxis", "apptainer", "none"],
    "heterogeneous": [True, False],
    "policy_model": ["policy", "judge", "cluster", "pinned", "nobody", None],
    "gym_install": [None, {"ref": "main"}],
    "enabled": [True, False],
    "gym_telemetry": [True, False],
    "run": [{}, {"policy_base_url": 1}, {"c": 1}],
    "command": [SCRIPT],
    "resumable": [True, False, {"max_walltime": "1:00"}],
}
SERVICE_FIELDS = {
    "vllm": "port tensor_parallel_size pipeline_parallel_size number_of_instances use_ray_serve ray_port extra_args "
    "env data_parallel_rpc_port",
    "vllm_pd": "port model nixl_side_channel_port router_metrics_port server_per_node",
    "ray": "port node_pools num_gpus extra_args resources",
    "command": "port per_node gpus model",
}
COMMON = "node_pool placement container health_check mounts srun_args"
TIER = "port tensor_parallel_size number_of_instances node_pool model container data_parallel_rpc_port mounts"


def fields(config: dict[str, Any]) -> list[tuple[str, ...]]:
    """The paths of fields that could be refused."""
    found: list[tuple[str, ...]] = []
    for name, service in config["services"].items():
        found += [("services", name, field) for field in (SERVICE_FIELDS[service["type"]] + f" {COMMON}").split()]
        if service["type"] == "vllm_pd":
            found += [("services", name, tier, field) for tier in ("prefill", "decode") for field in TIER.split()]
    ((name, compute),) = config["compute"].items()
    if compute["type"] == "slurm":
        found += [("compute", name, field) for field in ("container_runtime", "heterogeneous")]
        for pool in compute["node_pools"]:
            found += [("compute", name, "node_pools", pool, field) for field in ("nodes", "gpus_per_node", "partition")]
    found += [("driver", field) for field in ("policy_model", "gym_install", "mounts", "srun_args")]
    for benchmark in config["driver"]["benchmarks"]:
        found += [("driver", "benchmarks", benchmark, field) for field in ("run", "command", "resumable")]
    return [*found, ("otel", "enabled"), ("otel", "gym_telemetry")]


def put(config: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    changed = deepcopy(config)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    if value is None:
        inner.pop(path[-1], None)
    else:
        inner[path[-1]] = value
    return changed


@cache
def wrong_in(text: str) -> frozenset[tuple[str, str]]:
    Path("c.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(Path("c.yaml"))
    return frozenset((problem.path, problem.message) for problem in caught.value.problems)


def wrong(config: dict[str, Any]) -> frozenset[tuple[str, str]]:
    """Path and message of everything that is wrong."""
    return wrong_in(json.dumps(config))


def is_in(path: tuple[str, ...], text: str) -> bool:
    return (parse_path(text) or ())[: len(path)] == path


CONFIGS = {"crowded": CROWDED, "tiers": TIERS, "here": HERE}


def hasty(broken: dict[str, Any], path: tuple[str, ...], corrected: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """What is reported beside the refused value at `path`, and is not wrong in one of the corrected configs."""
    reported = {each for each in wrong(broken) if not is_in(path, each[0])}
    return sorted({each for config in corrected for each in reported - wrong(config)})


@pytest.mark.parametrize("refused", [[[]], "${nope}"], ids=["wrong", "unresolved"])
@pytest.mark.parametrize("name", CONFIGS)
def test_a_refused_value(name: str, refused: object) -> None:
    config = CONFIGS[name]
    for path in fields(config):
        corrected = (put(config, path, value) for value in VALUES[path[-1]])
        assert hasty(put(config, path, refused), path, corrected) == [], path


@pytest.mark.parametrize("name", CONFIGS)
def test_a_service_of_no_type(name: str) -> None:
    config = CONFIGS[name]
    others = [vllm(port=9), served(per_node=True, gpus=9), ray(port=9), prefill_decode({}, {})]
    for service in config["services"]:
        path = "services", service
        corrected = [config, *(put(config, path, other) for other in others)]
        for broken in (put(config, (*path, "type"), "nope"), put(config, (*path, "type"), None), put(config, path, [])):
            assert hasty(broken, path, corrected) == [], path


@pytest.mark.parametrize("name", CONFIGS)
def test_a_section_that_is_not_there(name: str) -> None:
    config = CONFIGS[name]
    for section in ("services", "compute", "driver", "job"):
        corrected = [config | {section: other[section]} for other in CONFIGS.values()]
        for broken in (None, [], {}):
            assert hasty(put(config, (section,), broken), (section,), corrected) == [], section
        assert hasty(put(config, (section,), None) | {"x" + section: {}}, ("x" + section,), corrected) == [], section


@pytest.mark.parametrize("name", CONFIGS)
def test_an_unknown_field(name: str) -> None:
    config = CONFIGS[name]
    for path in fields(config):
        inner: Any = config
        for step in path[:-1]:
            inner = inner[step]
        # A name that nobody knows may stand for any field that is not there, a misspelt one for the one that it is.
        unknown = [(*path[:-1], path[-1] + "s")] + [(*path[:-1], "what")] * (path[-1] not in inner)
        without = put(config, path, None)
        for where in unknown:
            corrected = [put(config, path, value) for value in VALUES[path[-1]]]
            assert hasty(put(without, where, 1), where, corrected) == [], where


@pytest.mark.parametrize("name", ["crowded", "tiers"])
def test_a_name_that_is_none(name: str) -> None:
    config = CONFIGS[name]
    for path in [("compute", "c", "node_pools", "b"), *(("services", service) for service in config["services"])]:
        value: Any = config
        for step in path:
            value = value[step]
        without = put(config, path, None)
        where = (*path[:-1], "a name")
        corrected = [put(without, (*path[:-1], new), value) for new in (path[-1], "d", "new")]
        assert hasty(put(without, where, value), where, corrected) == [], where
