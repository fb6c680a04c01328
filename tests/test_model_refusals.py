"""What the models refuse, field by field."""

# ruff: noqa: E501 - tables of what is wrong and how it is said, a line each

from typing import Any

import pytest
from configs import prefill_decode, tree, vllm
from pydantic import ValidationError

from gymsubmit.config.submit import SubmitConfig

SERVICE = ("services", "policy", "vllm")
COMPUTE = ("compute", "c", "slurm")
DRIVER = ("driver",)
BENCHMARK = ("driver", "benchmarks", "b")
NOT_A_NAME = "is no valid name; use ASCII letters, digits, '.', '_' and '-', a letter or digit first"


def complaints(data: Any) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(ValidationError) as caught:
        SubmitConfig.model_validate(data)
    return [(error["loc"], error["msg"]) for error in caught.value.errors()]


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
