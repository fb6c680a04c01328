"""The models: what they take and refuse, and that nothing can change them."""

# ruff: noqa: E501 - tables of what is wrong and how it is said, a line each

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


def complaints(data: Any) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(ValidationError) as caught:
        SubmitConfig.model_validate(data)
    return [(error["loc"], error["msg"]) for error in caught.value.errors()]


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


SERVICE = ("services", "policy", "vllm")
COMPUTE = ("compute", "c", "slurm")
DRIVER = ("driver",)
BENCHMARK = ("driver", "benchmarks", "b")
NOT_A_NAME = "is no valid name; use ASCII letters, digits, '.', '_' and '-', a letter or digit first"


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({"port": True}, ("port",), "Input should be a valid integer"),
        ({"port": "8000"}, ("port",), "Input should be a valid integer"),
        ({"port": 8000.0}, ("port",), "Input should be a valid integer"),
        ({"port": 0}, ("port",), "Input should be greater than or equal to 1"),
        ({"port": 65536}, ("port",), "Input should be less than or equal to 65535"),
        ({"tensor_parallel_size": 0}, ("tensor_parallel_size",), "Input should be greater than or equal to 1"),
        ({"number_of_instances": -1}, ("number_of_instances",), "Input should be greater than or equal to 1"),
        ({"trust_remote_code": "true"}, ("trust_remote_code",), "Input should be a valid boolean"),
        ({"trust_remote_code": 1}, ("trust_remote_code",), "Input should be a valid boolean"),
        ({"model": 1}, ("model",), "Input should be a valid string"),
        ({"model": " "}, ("model",), "is empty; give it a value, or leave the field out"),
        ({"model": "a\nb"}, ("model",), "holds a line break; write it on one line"),
        ({"model": "-x"}, ("model",), "'-x' begins with a dash, so that a program would take it for an option; write it without"),
        ({"model": "a\0"}, ("model",), "holds a NUL character, which no argument or variable can hold; remove it"),
        ({"prot": 1}, ("prot",), "Extra inputs are not permitted"),
        ({"extra_args": ["--a", 4]}, ("extra_args", 1), "Input should be a valid string"),
        ({"extra_args": {"a": 1}}, ("extra_args",), "Input should be a valid tuple"),
        (
            {"extra_args": "a 'b"},
            ("extra_args",),
            "has a quote ' without its closing one, before 'b'; close it",
        ),
        ({"mounts": "/a"}, ("mounts",), "Input should be a valid tuple"),
        ({"mounts": ["/a", "b:/c"]}, ("mounts", 1), "'b:/c' mounts 'b', which is no path; begin it with / or ."),
        ({"container": "./x.sqsh"}, ("container",), "'./x.sqsh' is a relative path; write the absolute path of the image, beginning with /"),
        ({"env": {"A": "x"}}, ("env", "A"), "has no prefix; write lit:VALUE for the text itself, host:VAR for a variable of the submitting machine, or runtime:VAR for one of the job"),
        ({"env": {"A": 1}}, ("env", "A"), "Input should be a valid string"),
        ({"env": {"A": "host:a b"}}, ("env", "A"), "'a b' is no variable name; use ASCII letters, digits and '_', a digit not first"),
        ({"env": {"A\n": "lit:"}}, ("env", "A\n", "[key]"), "'A\\n' is no variable name; use ASCII letters, digits and '_', a digit not first"),
        ({"env": {"UID": "lit:1"}}, ("env", "UID", "[key]"), "'UID' is bash's own, whatever it is set to; choose another name"),
        ({"node_pool": "a\n"}, ("node_pool",), f"'a\\n' {NOT_A_NAME}"),
        ({"health_check": {"path": "health"}}, ("health_check", "path"), "'health' does not begin with /; write the path of the URL alone, as in /health"),
        ({"health_check": {"path": "/a b"}}, ("health_check", "path"), "'/a b' holds what no URL may; write blanks, control characters and all but ASCII as %XX"),
        ({"health_check": {"timeout_seconds": 0}}, ("health_check", "timeout_seconds"), "Input should be greater than or equal to 1"),
        ({"health_check": {"nodes": "all"}}, ("health_check", "nodes"), "Input should be 'head' or 'every'"),
        ({"srun_args": {"--mpi": "x"}}, ("srun_args", "--mpi", "[key]"), "'--mpi' begins with a dash; write the option without dashes"),
        ({"srun_args": {"mpi=x": ""}}, ("srun_args", "mpi=x", "[key]"), "'mpi=x' is no option; write its long name alone, without dashes in front and without a value"),
        ({"srun_args": {"mpi": ["a"]}}, ("srun_args", "mpi"), 'is no value of an option; write text or a number, true, null or "" for none, or false to leave it out'),
        ({"srun_args": {"mpi": "a\nb"}}, ("srun_args", "mpi"), "holds a line break; write it on one line"),
    ],
)  # fmt: skip
def test_a_service_refuses(fields: dict[str, Any], path: tuple[str | int, ...], message: str) -> None:
    assert complaints(tree({"policy": vllm(**fields)})) == [((*SERVICE, *path), message)]


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({"walltime": "0:0"}, ("walltime",), "'0:0' is no time at all; write how long it may take, as MINUTES, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS"),
        ({"walltime": 1.5}, ("walltime",), "Input should be a valid string"),
        ({"walltime": True}, ("walltime",), "Input should be a valid integer"),
        ({"node_pools": {}}, ("node_pools",), "is empty; add at least one entry"),
        ({"node_pools": {"p": {"nodes": 0}}}, ("node_pools", "p", "nodes"), "Input should be greater than or equal to 1"),
        ({"node_pools": {"p": {"gpus_per_node": -1}}}, ("node_pools", "p", "gpus_per_node"), "Input should be greater than or equal to 0"),
        ({"node_pools": {"p": {"mem": 1.5}}}, ("node_pools", "p", "mem"), "Input should be a valid string"),
        ({"hostname": "-oProxyCommand=x"}, ("hostname",), "'-oProxyCommand=x' begins with a dash, so that a program would take it for an option; write it without"),
        ({"network_interface": "eth0/1"}, ("network_interface",), "'eth0/1' can be no network interface of Linux; write one as `ip link` lists it"),
        ({"pass_env": ["*"]}, ("pass_env", 0), "'*' would pass everything; name the variables, or what a group of them begins with (HF_*)"),
        ({"pass_env": ["A*B"]}, ("pass_env", 0), "'A*B' is no variable name; use ASCII letters, digits and '_', a digit not first"),
        ({"container_runtime": "docker"}, ("container_runtime",), "Input should be 'pyxis', 'apptainer' or 'none'"),
    ],
)  # fmt: skip
def test_a_slurm_compute_refuses(fields: dict[str, Any], path: tuple[str | int, ...], message: str) -> None:
    assert complaints(tree(compute=fields)) == [((*COMPUTE, *path), message)]


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({"benchmarks": {}}, ("benchmarks",), "is empty; add at least one entry"),
        ({"benchmarks": {"..": {}}}, ("benchmarks", "..", "[key]"), f"'..' {NOT_A_NAME}"),
        ({"benchmarks": {"a" * 64: {}}}, ("benchmarks", "a" * 64, "[key]"), "the name is 64 characters long; use at most 63"),
        ({"benchmarks": {"ä": {}}}, ("benchmarks", "ä", "[key]"), f"'ä' {NOT_A_NAME}"),
        ({"gym_install": {}}, ("gym_install", "ref"), "Field required"),
        ({"gym_install": {"ref": "--upload-pack=x"}}, ("gym_install", "ref"), "'--upload-pack=x' begins with a dash, so that a program would take it for an option; write it without"),
        ({"grace_seconds": 0}, ("grace_seconds",), "Input should be greater than or equal to 1"),
        ({"container": None}, ("container",), "Input should be a valid string"),
    ],
)  # fmt: skip
def test_the_driver_refuses(fields: dict[str, Any], path: tuple[str | int, ...], message: str) -> None:
    assert complaints(tree(driver=fields)) == [((*DRIVER, *path), message)]


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({"resumable": "yes"}, ("resumable",), "Input should be a valid dictionary or instance of Resumable"),
        ({"resumable": {"max_retries": -1}}, ("resumable", "max_retries"), "Input should be greater than or equal to 0"),
        ({"resumable": {"max_walltime": "x"}}, ("resumable", "max_walltime"), "'x' is no duration; write MINUTES, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS"),
        ({"command": " \n"}, ("command",), "is empty; give it a value, or leave the field out"),
        ({"command": ["a"]}, ("command",), "Input should be a valid string"),
        ({"run": []}, ("run",), "Input should be a valid dictionary"),
        ({"run": {"a": [{"b": "x\0"}]}}, ("run", "a", 0, "b"), "holds a NUL character, which no argument can hold; remove it"),
        ({"run": {"a": {"b": b"x"}}}, ("run", "a", "b"), "is a bytes; use text, a number, true, false, null, a list or a mapping"),
        ({"prepare": {"a": "\ud800"}}, ("prepare", "a"), "holds half of a surrogate pair, which is no character; write the whole character"),
    ],
)  # fmt: skip
def test_a_benchmark_refuses(fields: dict[str, Any], path: tuple[str | int, ...], message: str) -> None:
    data = tree(driver={"benchmarks": {"b": fields}})
    assert complaints(data) == [((*BENCHMARK, *path), message)]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("results", "'results' is not absolute; write the whole path on the cluster, beginning with /"),
        *(
            (f"/a{char}b", f"holds {char!r}, which the mount that it becomes cannot; choose a directory without it")
            for char in ",:$`\"'\\"
        ),
        ("/a\nb", "holds a line break; write it on one line"),
        ("", "is empty; give it a value, or leave the field out"),
    ],
)
def test_the_output_path_becomes_a_mount(path: str, message: str) -> None:
    assert complaints(tree(job={"output_path": path})) == [(("job", "output_path"), message)]


def test_sections_and_types_are_asked_for() -> None:
    assert complaints({"services": {"a": {}}, "compute": {}, "otel": {"enabled": False}}) == [
        (("services", "a"), "Unable to extract tag using discriminator 'type'"),
        (("compute",), "is empty; add at least one entry"),
        (("driver",), "Field required"),
        (("job",), "Field required"),
        (("otel", "endpoint"), "Field required"),
        (("otel", "service_name"), "Field required"),
    ]


def test_a_local_compute_has_no_host_and_no_pools() -> None:
    assert complaints(tree(compute={"type": "local", "hostname": "h", "node_pools": {"p": {}}, "pass_env": ["A"]})) == [
        (("compute", "c", "local", "hostname"), "Extra inputs are not permitted"),
        (("compute", "c", "local", "node_pools"), "Extra inputs are not permitted"),
    ]


def test_a_tier_says_which_fields_belong_elsewhere() -> None:
    fields = {"type": "vllm", "server_per_node": True, "nixl_side_channel_port": 1, "prot": 1, "port": 0}
    tier = ("services", "pd", "vllm_pd", "prefill")
    assert complaints(tree({"pd": prefill_decode(fields, {})})) == [
        ((*tier, "port"), "Input should be greater than or equal to 1"),
        ((*tier, "type"), "is no field of a tier, which is always a vllm service; remove it"),
        ((*tier, "server_per_node"), "sits on the service, not on a tier; move it up"),
        ((*tier, "nixl_side_channel_port"), "sits on the service, not on a tier; move it up"),
        ((*tier, "prot"), "Extra inputs are not permitted"),
    ]


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
