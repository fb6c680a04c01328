"""The models: what they take and mean, and that nothing can change them."""

import copy
import math
import pickle
from typing import Any

import pytest
from configs import command, config, prefill_decode, ray, tree, vllm
from pydantic import BaseModel, TypeAdapter, ValidationError

from gymsubmit.config.base import FrozenDict
from gymsubmit.config.driver import Resumable
from gymsubmit.config.options import Options, set_options
from gymsubmit.config.services import EffectiveHealthCheck, VllmPdService, VllmService
from gymsubmit.config.submit import SubmitConfig


def whole() -> dict[str, Any]:
    """A config that sets a field of every kind."""
    return tree(
        {
            "policy": vllm(
                extra_args="--x 'a b'",
                env={"A": "lit:a:b\n", "B": "host:HF_TOKEN", "C": "runtime:HOME"},
                mounts=["/a", "/b:/c:ro+nosuid"],
                health_check={"timeout_seconds": 10},
                srun_args={"mpi": "pmix", "label": True},
            ),
            "list": command(command=["a", "--b"], port=1, health_check={"port": 3}),
            "pd": prefill_decode({"node_pool": "p"}, {"extra_args": ["a"]}),
            "ray": ray(node_pools=["p"], resources={"p": {"slots": 2}}),
        },
        compute={
            "walltime": 240,
            "pass_env": ["HF_*", "USER"],
            "node_pools": {"p": {"mem": 0, "extra_args": {"a": None, "b": 1.5, "c": ""}}},
        },
        driver={
            "benchmarks": {
                "b": {
                    "run": {"a": [1, {"b": None}], "c": {"d": math.inf}, "e": "${oc.env:X}"},
                    "resumable": {"max_walltime": "2-00"},
                },
                "c": {"command": "x", "resumable": True},
            }
        },
        otel={"endpoint": "https://o", "service_name": "s", "gpu_metrics_port": None},
    )


def test_what_was_set_is_dumped_and_validates_to_an_equal_config() -> None:
    first = SubmitConfig.model_validate(whole())
    for dumped in (
        first.model_dump(exclude_unset=True),
        first.model_dump(),
        first.model_dump(exclude_unset=True, mode="json"),
    ):
        assert SubmitConfig.model_validate(dumped) == first
    assert first.model_dump(exclude_unset=True, mode="json") == whole()


def test_a_config_survives_pickle_and_deepcopy() -> None:
    first = SubmitConfig.model_validate(whole())
    assert pickle.loads(pickle.dumps(first)) == first
    assert copy.deepcopy(first) == first
    assert type(copy.deepcopy(first).services) is FrozenDict


def frozen_values(value: Any) -> list[Any]:
    """Every model, mapping and list within a value."""
    if isinstance(value, BaseModel):
        inner = [each for _, each in value]
    elif isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, tuple | list):
        inner = list(value)
    else:
        return []
    return [value, *(found for each in inner for found in frozen_values(each))]


def test_nothing_in_a_config_can_be_changed() -> None:
    containers = frozen_values(SubmitConfig.model_validate(whole()))
    assert {type(each).__name__ for each in containers} >= {"SubmitConfig", "FrozenDict", "tuple", "Benchmark"}
    for each in containers:
        assert not isinstance(each, list)
        if isinstance(each, dict):
            for change in (
                lambda d: d.update(a=1),
                lambda d: d.__setitem__("a", 1),
                lambda d: d.__delitem__("a"),
                lambda d: d.clear(),
                lambda d: d.pop("a", None),
                lambda d: d.popitem(),
                lambda d: d.setdefault("a", 1),
                lambda d: d.__ior__({"a": 1}),
            ):
                with pytest.raises(TypeError, match="the config is frozen; build a changed one with model_validate"):
                    change(each)
        elif not isinstance(each, tuple):
            with pytest.raises(ValidationError, match="frozen"):
                setattr(each, next(iter(type(each).__pydantic_fields__)), None)


def test_a_frozen_dict_equals_and_dumps_as_a_plain_one() -> None:
    assert FrozenDict({"a": 1}) == {"a": 1}
    dumped = config(driver={"benchmarks": {"b": {"run": {"a": {"b": [{"c": 1}]}}}}}).model_dump()
    run = dumped["driver"]["benchmarks"]["b"]["run"]
    assert [type(each) for each in (run, run["a"], run["a"]["b"][0])] == [dict, dict, dict]


def test_defaults() -> None:
    defaults = config({"policy": {"type": "vllm", "model": "m"}}).model_dump()
    assert defaults["services"]["policy"] == {
        "type": "vllm",
        "model": "m",
        "container": None,
        "placement": None,
        "node_pool": None,
        "health_check": None,
        "env": {},
        "mounts": (),
        "pre_command": "",
        "srun_args": {},
        "port": 8000,
        "served_model_name": None,
        "tensor_parallel_size": 1,
        "pipeline_parallel_size": 1,
        "number_of_instances": 1,
        "trust_remote_code": False,
        "use_ray_serve": False,
        "extra_args": (),
        "data_parallel_rpc_port": 13345,
        "ray_port": 6379,
    }
    assert defaults["compute"]["c"] == {
        "type": "slurm",
        "account": None,
        "hostname": None,
        "walltime": None,
        "exclusive": False,
        "qos": None,
        "node_pools": {
            "gpu": {
                "partition": None,
                "nodes": 1,
                "ntasks_per_node": 1,
                "cpus_per_task": None,
                "gpus_per_node": None,
                "mem": None,
                "extra_args": {},
            }
        },
        "extra_args": {},
        "container_runtime": "pyxis",
        "heterogeneous": False,
        "network_interface": None,
        "pass_env": (),
        "check_mounts": True,
        "transport": "fabric",
    }
    assert defaults["driver"] == {
        "container": "python:3.12",
        "gym_install": None,
        "policy_model": None,
        "policy_host": "localhost",
        "policy_model_type": "openai_model",
        "benchmarks": {"b": {"prepare": {}, "run": {"limit": 1}, "command": None, "resumable": False}},
        "env": {},
        "mounts": (),
        "overlap_startup": False,
        "grace_seconds": 30,
        "srun_args": {},
    }
    assert (defaults["otel"], defaults["site"]) == (None, None)


def test_otel_defaults() -> None:
    otel = config(otel={"endpoint": "https://o", "service_name": "s"}).otel
    assert otel is not None
    assert otel.model_dump() == {
        "enabled": True,
        "endpoint": "https://o",
        "service_name": "s",
        "token_env": "OTEL_TOKEN",
        "binary": "otelcol-contrib",
        "container": None,
        "component": "gym-vllm",
        "gym_telemetry": None,
        "gym_span_groups": "default,verify",
        "gym_logs": True,
        "gpu_metrics_port": 9400,
        "node_metrics_port": 9100,
        "scrape_interval_seconds": 15,
        "health_check_timeout_seconds": 300,
    }


def test_health_checks_by_type() -> None:
    services = config(
        {
            "vllm": vllm(port=1),
            "own": vllm(port=1, health_check={"port": 2, "path": "/x", "timeout_seconds": 3, "interval_seconds": 4}),
            "command": command(port=5),
            "checked": command(port=5, health_check={"nodes": "every"}),
            "portless": command(health_check={}),
            "pd": prefill_decode({}, {}),
            "ray": ray(),
            "ray-checked": ray(health_check={"port": 6}),
        }
    ).services
    assert {name: service.effective_health_check for name, service in services.items()} == {
        "vllm": EffectiveHealthCheck("/health", 1, 60, 5, "head"),
        "own": EffectiveHealthCheck("/x", 2, 3, 4, "head"),
        "command": None,
        "checked": EffectiveHealthCheck("/health", 5, 60, 5, "every"),
        "portless": None,
        "pd": EffectiveHealthCheck("/health", 8000, 60, 5, "head"),
        "ray": None,
        "ray-checked": EffectiveHealthCheck("/health", 6, 60, 5, "head"),
    }


def pd(**fields: Any) -> VllmPdService:
    service = config({"pd": prefill_decode(**fields)}).services["pd"]
    assert isinstance(service, VllmPdService)
    return service


def test_tiers_inherit_and_count_their_ports_from_the_router() -> None:
    tiers = pd(
        prefill={"node_pool": "p", "data_parallel_rpc_port": 100},
        decode={"model": "other", "served_model_name": "d", "container": "a:b", "health_check": {"timeout_seconds": 9}},
        port=7000,
        served_model_name="m",
        placement="c",
    )
    assert tiers.effective_prefill == VllmService.model_validate(
        vllm(
            served_model_name="m",
            placement="c",
            port=7001,
            node_pool="p",
            data_parallel_rpc_port=100,
            health_check={"nodes": "head"},
        )
    )
    assert tiers.effective_decode == VllmService.model_validate(
        vllm(
            model="other",
            container="a:b",
            served_model_name="d",
            placement="c",
            port=7002,
            data_parallel_rpc_port=101,
            health_check={"timeout_seconds": 9, "nodes": "head"},
        )
    )
    assert tiers.policy_model_name == "m"


def test_a_server_on_every_node_is_asked_on_every_node() -> None:
    check = pd(prefill={}, decode={"health_check": {"nodes": "head"}}, server_per_node=True)
    assert check.effective_prefill.effective_health_check == EffectiveHealthCheck("/health", 8001, 60, 5, "every")
    assert check.effective_decode.effective_health_check == EffectiveHealthCheck("/health", 8002, 60, 5, "head")


@pytest.mark.parametrize(
    ("resumable", "resume"),
    [(False, None), (True, Resumable()), ({}, Resumable()), ({"max_retries": 0}, Resumable(max_retries=0))],
)
def test_resumable_is_a_switch_or_a_mapping(resumable: object, resume: Resumable | None) -> None:
    assert config(driver={"benchmarks": {"b": {"resumable": resumable}}}).driver.benchmarks["b"].resume == resume


def test_options_that_are_to_be_written() -> None:
    given = {"a": "x", "b": 1, "c": True, "d": None, "e": "", "f": False, "g": 0, "h": 1.5}
    options = TypeAdapter(Options).validate_python(given)
    assert set_options(options) == {"a": "x", "b": 1, "c": None, "d": None, "e": None, "g": 0, "h": 1.5}


def fields_of(schema: dict[str, Any], definitions: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    models = [schema, *definitions.values()]
    return [
        (f"{model['title']}.{name}", field) for model in models for name, field in model.get("properties", {}).items()
    ]


def test_the_schema_describes_every_field_and_says_its_default() -> None:
    schema = SubmitConfig.model_json_schema()
    fields = fields_of(schema, schema["$defs"])
    assert {name for name, field in fields if "description" not in field} == set()
    by_name = dict(fields)
    assert by_name["VllmService.port"] == {
        "default": 8000,
        "description": "Port of the API.",
        "maximum": 65535,
        "minimum": 1,
        "title": "Port",
        "type": "integer",
    }
    assert by_name["VllmService.extra_args"]["anyOf"] == [
        {"type": "string"},
        {"items": {"type": "string"}, "type": "array"},
    ]
    required = {name: model.get("required", []) for name, model in schema["$defs"].items()}
    assert {"type", "model"} == set(required["VllmService"])
    with_default = {name for name, field in fields if "default" in field}
    listed = {f"{model}.{name}" for model, names in required.items() for name in names}
    assert {name for name, _ in fields} - with_default - listed == {
        f"SubmitConfig.{name}" for name in schema["required"]
    }
