"""Configs that do not load: files that are none, several mistakes at once, and what follows from them."""

import contextlib
from pathlib import Path

import pytest
from broken_configs import VALID, problems, with_
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gymsubmit.config.load import load_config
from gymsubmit.errors import ConfigError

pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


def test_the_valid_config_is_valid() -> None:
    Path("c.yaml").write_text(VALID)
    assert load_config(Path("c.yaml")).warnings == ()


def test_a_file_with_a_byte_order_mark_and_windows_line_ends_is_valid() -> None:
    Path("c.yaml").write_bytes(b"\xef\xbb\xbf" + VALID.replace("\n", "\r\n").encode())
    assert load_config(Path("c.yaml")).config.services["policy"].type == "vllm"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty; write the sections `services`, `compute`, `driver` and `job`"),
        (b" \n\n", "is empty; write the sections `services`, `compute`, `driver` and `job`"),
        (
            b"# nothing yet\n",
            "1:1: holds nothing but comments; write the sections `services`, `compute`, `driver` and `job`",
        ),
        (
            b"- services\n",
            "1:1: is a list where the sections `services`, `compute`, `driver` and `job` belong; write "
            "`section:` lines",
        ),
        (
            b"services\n",
            "1:1: is a single value where the sections `services`, `compute`, `driver` and `job` belong; "
            "write `section:` lines",
        ),
        (b"\x89PNG\r\n\x1a\n\0\0", "is a binary file; give a YAML file"),
        ("a: 1".encode("utf-16"), "is UTF-16 text; save it as UTF-8"),
        (
            "# é\nservices:\n  a: {model: caf".encode() + b"\xe9}\n",
            "3:17: the byte 0xe9 is not UTF-8; save the file as UTF-8",
        ),
        (b"services: \x07\n", "1:11: holds the control character U+0007; remove it"),
    ],
)
def test_files_that_are_no_config(data: bytes, message: str) -> None:
    assert problems(data) == [message]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("folder", "folder: is a directory; give the path of a YAML file"),
        ("c.yml", "c.yml: there is no such file; did you mean c.yaml?"),
        ("other/x", "other/x: there is no such file; check the path"),
        ("c.yaml/x", "c.yaml/x: cannot be read (Not a directory); give the path of a YAML file that can"),
        ("-", "-: standard input is not read; give the path of a file"),
    ],
)
def test_paths_that_lead_to_no_file(name: str, message: str) -> None:
    Path("folder").mkdir()
    Path("c.yaml").write_text(VALID)
    with pytest.raises(ConfigError) as caught:
        load_config(Path(name))
    assert str(caught.value) == message


def test_all_mistakes_at_once_in_the_order_of_the_file() -> None:
    text = with_(
        ("org/model", "${nope}"),
        ("port: 8000", "prot: 8000"),
        ("timeout_seconds: 600", "timeout_seconds: 0"),
        ("type: slurm", "type: slrum"),
        ("limit: 10", "limit: 10\n        limit: 11"),
        ("/results", "results"),
    )
    assert problems(text, "driver.grace_seconds=soon", "driver.mount=[]", "job.output_path.x=1") == [
        "4:12: services.policy.model: `${nope}` does not resolve: there is no `nope` in the config; correct it, "
        r"or write `\${nope}` for the text itself",
        "6:5: services.policy.prot: unknown field `prot`; did you mean `port`?",
        "10:24: services.policy.health_check.timeout_seconds: is 0; use at least 1",
        "13:11: compute.cluster.type: there is no type `slrum`; did you mean `slurm`? There are `slurm`, `local`",
        "25:9: driver.benchmarks.aime.run.limit: is there twice, first in line 24; remove one of the two",
        "27:16: job.output_path: 'results' is not absolute; write the whole path on the cluster, beginning with /",
        "override 'driver.grace_seconds=soon': driver.grace_seconds: is text where a whole number belongs; "
        "write a whole number",
        "override 'driver.mount=[]': driver.mount: unknown field `mount`; did you mean `mounts`?",
        "override 'job.output_path.x=1': job.output_path.x: `job.output_path` is a single value, without a `x` in it; "
        "override `job.output_path` itself",
    ]


JUDGE = """\
  judge:
    type: vllm
    model: org/judge
    container: vllm/vllm-openai:v1
    port: 8000
compute:
"""


def test_two_services_on_a_port() -> None:
    assert problems(with_(("compute:\n", JUDGE), ("gpus_per_node: 1", "gpus_per_node: 2"))) == [
        "15:11: services.judge.port: port 8000 is used by services.judge.port and by services.policy.port on node pool "
        "gpu; change one of them"
    ]


def test_a_broken_part_does_not_hide_what_is_wrong_elsewhere() -> None:
    text = with_(
        ("nodes: 1\n", "node: 1\n"), ("policy_model: policy", "policy_model: polcy"), ("limit: 10", "limit: ${x}")
    )
    assert problems(text) == [
        "17:9: compute.cluster.node_pools.gpu.node: unknown field `node`; did you mean `nodes`?",
        "20:17: driver.policy_model: there is no service 'polcy'; did you mean 'policy'?",
        "24:16: driver.benchmarks.aime.run.limit: `${x}` does not resolve: there is no `x` in the config; correct it, "
        r"or write `\${x}` for the text itself",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    port: 8000\n", "    port: 8000\n    tensor_parallel_sise: 1\n    pipeline_parallel_size: 8\n"),
        ("    gpus_per_node: 1\n", "    gpus_per_nodes: 8\n"),
        ("    type: vllm\n", "    type: vlm\n"),
        ("    model: org/model\n", ""),
        ("services:\n", "servises:\n"),
        ("    model: org/model\n", "    model: ${nope}\n"),
    ],
)
def test_a_broken_part_makes_no_other_problems(old: str, new: str) -> None:
    """Neither too few GPUs, nor a policy that does not exist, nor a missing field."""
    assert len(problems(with_((old, new)))) == 1


def test_a_mistake_in_an_aliased_value_is_reported_once_where_it_is_written() -> None:
    text = "_common: &common\n  prot: 1\n" + with_(("    port: 8000\n", "    <<: *common\n")).replace(
        "compute:\n", JUDGE.replace("port: 8000", "<<: *common")
    )
    assert problems(text.replace("gpus_per_node: 1", "gpus_per_node: 2")) == [
        "2:3: services.policy.prot: unknown field `prot`; did you mean `port`?"
    ]


def test_a_missing_field_of_what_an_override_began() -> None:
    assert problems(VALID, "services.judge.type=command", "services.judge.container=a/b") == [
        "override 'services.judge.type=command': services.judge.command: is missing; add it"
    ]


SECOND = """\
  judge:
    type: command
    command: [serve]
    container: a/b
    node_pool: cpu
  grader:
    type: vllm
    model: a/b
    container: a/b
    port: 8000
    extra_args: --port 1
compute:
"""
ACROSS = {
    "pool": "services.judge.node_pool: there is no node pool 'cpu'; did you mean 'gpu'?",
    "port": "services.grader.port: port 8000 is used by services.grader.port and by services.policy.port on node pool "
    "gpu; change one of them",
    "flag": "services.grader.extra_args: --port is set by the compiler; set services.grader.port instead",
}
BENCHMARKS = "  benchmarks:\n    aime:\n      run:\n        limit: 10\n"


@pytest.mark.parametrize(
    ("old", "new", "path", "hidden"),
    [
        ("/results", "results", "job.output_path", ""),
        ("job:\n  output_path: /results\n", "", "job", ""),
        (BENCHMARKS, "", "driver.benchmarks", ""),
        ("driver:\n  policy_model: policy\n" + BENCHMARKS, "driver: []\n", "driver", "port"),
        ("    model: org/model\n", "", "services.policy.model", ""),
        ("org/model", "${nope}", "services.policy.model", ""),
        ("12:00:00", "soon", "compute.cluster.walltime", ""),
        ("    port: 8000\n    env", "    port: http\n    env", "services.policy.port", "port"),
        ("    port: 8000\n    env", "    port: 8000\n    prt: 1\n    env", "services.policy.prt", ""),
        ("    port: 8000\n    env", "    prt: 1\n    env", "services.policy.prt", "port"),
        ("    extra_args: --port 1", '    extra_args: "\'"', "services.grader.extra_args", "flag"),
        ("type: slurm", "type: slrum", "compute.cluster.type", "pool port"),
        ("        nodes: 1\n", "        nodes: 0\n", "compute.cluster.node_pools.gpu.nodes", "port"),
        ("      gpu:\n", "      g u:\n", 'compute.cluster.node_pools["g u"]', "pool port"),
    ],
)
def test_a_refused_value_hides_what_depends_on_it_alone(old: str, new: str, path: str, hidden: str) -> None:
    text = with_(("compute:\n", SECOND), ("gpus_per_node: 1", "gpus_per_node: 2"))
    assert text.count(old) == 1
    found = [problem.partition(": ")[2] for problem in problems(text.replace(old, new))]
    beside = [problem for problem in found if problem in ACROSS.values()]
    assert beside == [message for name, message in ACROSS.items() if name not in hidden]
    assert [problem.partition(": ")[0] for problem in found if problem not in beside] == [path]


def test_two_compute_entries() -> None:
    second = "  other:\n    type: slrum\n  here:\n    type: local\ndriver:\n"
    assert problems(with_(("driver:\n", second), ("port: 8000", "placement: here"))) == [
        "19:3: compute.other: is one compute entry too many, beside 'cluster'; keep the one that the jobs run on",
        "20:11: compute.other.type: there is no type `slrum`; did you mean `slurm`? There are `slurm`, `local`",
        "21:3: compute.here: is one compute entry too many, beside 'cluster'; keep the one that the jobs run on",
    ]


def test_warnings_have_their_place_too() -> None:
    Path("c.yaml").write_text(with_(("gpus_per_node: 1", "gpus_per_node: 4")))
    assert [str(warning) for warning in load_config(Path("c.yaml")).warnings] == [
        "c.yaml:18:24: compute.cluster.node_pools.gpu.gpus_per_node: services.policy uses tensor_parallel_size 1 x "
        "pipeline_parallel_size 1 x number_of_instances 1 = 1 of the 4 GPUs of a node, so that 3 stay idle; use them, "
        "or ask for fewer"
    ]


LINES = VALID.splitlines()
VALUES = [
    "null",
    "[]",
    "{}",
    "[1]",
    "{a: 1}",
    "-1",
    "true",
    "'x'",
    "${nope}",
    "${job}",
    "${services}",
    "&a {x: 1}",
    "*a",
]
VALUES += [
    "!!int x",
    "1e400",
    ".nan",
    "''",
    '"\\0"',
    "x: y",
    "|\n  a",
    "[[[]]]",
    "<<",
    "${oc.create:{a: [1]}}",
    "ray",
    "vllm_pd",
]
EDITS = st.tuples(
    st.integers(0, len(LINES) - 1), st.sampled_from(["value", "delete", "colon", "indent"]), st.sampled_from(VALUES)
)
OVERRIDES = [
    "services.policy.port=",
    "driver.benchmarks.aime.run.x=",
    "compute.cluster.node_pools.gpu=",
    "services=",
    "a[0]=",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(EDITS, min_size=1, max_size=3), st.sampled_from(OVERRIDES), st.sampled_from(VALUES))
def test_no_edit_ends_in_a_traceback(edits: list[tuple[int, str, str]], path: str, value: str) -> None:
    lines = list(LINES)
    for index, edit, new in edits:
        key = lines[index].partition(":")[0]
        changed = {"value": f"{key}: {new}", "delete": "", "colon": key + lines[index][len(key) + 1 :]}
        lines[index] = changed.get(edit, "  " + lines[index])
    Path("c.yaml").write_text("\n".join(lines))
    with contextlib.suppress(ConfigError):
        load_config(Path("c.yaml"), [path + value])
