"""The stand-in for vLLM takes and refuses the command lines that vLLM takes and refuses."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from snapshot_files import SNAPSHOTS

PROGRAMS = Path(__file__).parent / "slurm" / "programs"
sys.path.insert(0, str(PROGRAMS))

from running import Running, gpus  # noqa: E402
from vllm.args import flags, parser  # noqa: E402
from vllm.checks import layout_of  # noqa: E402

OPTIONS: list[dict[str, Any]] = flags()["options"]
WORDS: dict[str, tuple[str, object]] = {
    "str": ("a word", "a word"),
    "int": ("-3", -3),
    "float": ("0.5", 0.5),
    "json": ('{"a": [1]}', {"a": [1]}),
    "json_or_str": ('{"a": 1}', {"a": 1}),
    "human_int": ("2k", 2000),
    "human_int_or_auto": ("1K", 1024),
    "lora": ("name=path", {"name": "name", "path": "path"}),
}


def parse(*words: str) -> dict[str, object]:
    return vars(parser().parse_args(["serve", "m", *words]))


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The last line of what is printed about words that cannot be parsed."""
    with pytest.raises(SystemExit) as raised:
        parse(*words)
    assert raised.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


def example_of(option: dict[str, Any]) -> tuple[list[str], object]:
    """Words for an option, and its value then."""
    if option["kind"] in {"flag", "boolean"}:
        return [], True
    if option["kind"] == "config":
        return [json.dumps({option["keys"][0]: 1})], {option["keys"][0]: 1}
    if "choices" in option:
        word, value = str(option["choices"][-1]), option["choices"][-1]
    else:
        word, value = WORDS[option["kind"]]
    several = isinstance(option.get("nargs"), int) or option.get("nargs") == "+" or option.get("action") == "append"
    count = option["nargs"] if isinstance(option.get("nargs"), int) else 1
    return [word] * count, [value] * count if several else value


# --model is another way to give the word that every line here has.
@pytest.mark.parametrize("option", [one for one in OPTIONS if one["dest"] != "model"], ids=lambda one: one["dest"])
def test_every_option_of_the_real_one_is_taken_by_each_of_its_names(option: dict[str, Any]) -> None:
    words, value = example_of(option)
    before = parse()
    for name in option["names"]:
        assert parse(name, *words) == before | {option["dest"]: value}


def test_names_may_have_underscores_and_values_an_equals_sign() -> None:
    assert parse("--tensor_parallel_size=2", "--served-model-name", "a_b", "c") == parse(
        "--tensor-parallel-size", "2", "--served-model-name", "a_b", "c"
    )


def test_a_value_after_an_equals_sign_keeps_its_underscores_and_dots() -> None:
    assert parse("--chat_template=a_b.jinja")["chat_template"] == "a_b.jinja"


@pytest.mark.parametrize(
    "words",
    [
        ["--compilation-config.mode", "3", "--compilation_config.pass_config.fuse_allreduce_rms=false"],
        ["-cc.mode=3", "-cc.pass_config.fuse_allreduce_rms", "false"],
        ["--compilation-config={'mode': 3, 'pass_config': {'fuse_allreduce_rms': false}}".replace("'", '"')],
    ],
)
def test_a_json_value_may_come_key_by_key(words: list[str]) -> None:
    value = {"mode": 3, "pass_config": {"fuse_allreduce_rms": False}}
    assert [one for one in parse(*words).values() if isinstance(one, dict)] == [value]


def test_keys_of_a_list_and_human_numbers() -> None:
    assert parse("--kv-transfer-config.kv_connector_extra_config.sizes+", "1,2", "--kv-transfer-config.kv_port", "2k")[
        "kv_transfer_config"
    ] == {"kv_connector_extra_config": {"sizes": ["1", "2"]}, "kv_port": 2000}


@pytest.mark.parametrize("word", ["--no-enable-prefix-caching", "--disable-prefix-caching"])
def test_a_boolean_has_its_negations(word: str) -> None:
    assert parse(word)["enable_prefix_caching"] is False


def test_an_option_may_be_shortened_where_that_is_unambiguous(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse("--tensor-par", "2")["tensor_parallel_size"] == 2
    assert "ambiguous option: --data-parallel-s could match" in refusal(capsys, "--data-parallel-s", "2")


def test_the_model_may_be_an_option() -> None:
    made = parser().parse_args(["serve", "--port", "1", "--model", "m"])
    assert (made.model_tag, made.port) == ("m", 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nothing", "1"], "vllm: error: unrecognized arguments: --nothing 1"),
        (["--port", "http"], "vllm serve: error: argument --port: invalid int value: 'http'"),
        (["--dtype=int4"], "vllm serve: error: argument --dtype: invalid choice: 'int4' (choose from "),
        (["--compilation-config={mode: 3}"], "  Invalid JSON: "),
        (["--compilation-config.no_such_key=3"], "  Unexpected keyword argument "),
        (["--hf-overrides={a}"], "vllm serve: error: argument --hf-overrides: Value {a} cannot be converted"),
        (["--max-model-len", "1.5K"], "vllm serve: error: argument --max-model-len: Decimals are not allowed"),
        (["--tensor-parallel-size"], "vllm serve: error: argument --tensor-parallel-size/-tp: expected one argument"),
        (["--lora-modules", "{}"], "vllm serve: error: Invalid fields for --lora-modules"),
    ],
)
def test_what_cannot_be_parsed_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, *words).startswith(message)


def commands_of(script: Path) -> list[list[str]]:
    """The words of each `vllm serve` of a job script, as bash has them on the second node."""
    lines = iter(script.read_text().splitlines())
    commands = []
    for line in lines:
        if line.strip().startswith("exec vllm serve"):
            text = line
            while text.endswith("\\"):
                text = f"{text}\n{next(lines)}"
            commands.append(text.replace("exec vllm", "printf '%s\\0'", 1))
    environment = {"SLURM_NODEID": "1", "GYM_NODE_ADDRESS_0": "10.0.0.1"}
    return [
        subprocess.run(["bash", "-uc", command], env=environment, check=True, capture_output=True, text=True)
        .stdout.removesuffix("\0")
        .split("\0")
        for command in commands
    ]


SCRIPTS = sorted(SNAPSHOTS.glob("*/*/job.sh"))
COMMANDS = [
    pytest.param(command, id=f"{script.parent.parent.name}-{i}")
    for script in SCRIPTS
    for i, command in enumerate(commands_of(script))
    if script.parent.parent.name != "hostile"
]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_examples_are_taken(command: list[str]) -> None:
    made = parser().parse_args(command)
    assert made.model_tag == command[1]
    layout = layout_of(made)
    assert layout.serves is not made.headless


def test_the_commands_of_an_example_make_a_whole() -> None:
    headless, head = (
        layout_of(parser().parse_args(command))
        for command in commands_of(SNAPSHOTS / "data_parallel_2_nodes" / "livecodebench" / "job.sh")
    )
    assert (head.ranks, headless.ranks, head.size) == (range(4), range(4, 8), 8)
    assert (head.first, headless.first) == (True, False)
    assert (head.address, head.port) == (headless.address, headless.port) == ("10.0.0.1", 13345)
    assert (head.devices, headless.devices) == (8, 8)


def test_the_other_example_has_options_that_vllm_does_not_have(capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands_of(SNAPSHOTS / "hostile" / "a-b" / "job.sh"):
        assert "unrecognized arguments: --json=" in refusal(capsys, *command[2:])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--headless", "--api-server-count", "2"], "ValueError: --api-server-count=2 cannot be used with --headless"),
        (["--enable-auto-tool-choice"], "TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser"),
        (
            ["--enable-auto-tool-choice", "--tool-call-parser", "no"],
            "KeyError: 'invalid tool call parser: no (chose from",
        ),
        (["--reasoning-parser", "no"], "KeyError: 'invalid reasoning parser: no (chose from"),
        (["--chat-template", "no.jinja"], "ValueError: The supplied chat template string (no.jinja) appears path-like"),
        (["-dp", "2", "-dpl", "4"], "ValueError: data_parallel_size_local (4) must be <= data_parallel_size (2)"),
        (["-dp", "2", "-dpl", "1", "-dpr", "2"], "ValueError: data_parallel_rank (2) must be in the range [0, 2)"),
        (["-dp", "2", "-dpl", "0", "--headless"], "ValueError: data_parallel_size_local must be > 0 in headless mode"),
        (["-dp", "2", "-dpn", "0", "-dpr", "1"], "ValueError: Cannot use more than one data parallel load balancing"),
        (
            ["-dp", "2", "-dpe"],
            "ValueError: Invalid data-parallel launch options: `--data-parallel-external-lb` requires",
        ),
        (
            ["-dp", "2", "-dph"],
            "ValueError: Invalid data-parallel launch options: `--data-parallel-hybrid-lb` requires",
        ),
        (["-tp", "0"], "ValueError: 1 validation error for ParallelConfig"),
        (["-tp", "3", "--nnodes", "2"], "ValueError: Invalid data-parallel launch options: `--nnodes 2` must evenly"),
        (["-tp", "2", "-n", "2", "-r", "2"], "ValueError: Invalid data-parallel launch options: `--node-rank` must be"),
        (["-tp", "4"], "vllm.devices.NoDevicesError: World size (4) is larger than the number of available GPUs (2)"),
        (["-dp", "3"], "RuntimeError: Engine core initialization failed. See root cause above."),
        (["--distributed-executor-backend", "rey"], "ValueError: Unrecognized distributed executor backend rey."),
        (["--kv-transfer-config", '{"kv_connector": "NixlConnector"}'], "ValueError: Please specify kv_role when"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_does_not_add_up_ends_with_a_traceback(words: list[str], message: str, tmp_path: Path) -> None:
    command = ["vllm/vllm", "serve", "m", "--port", "0", *words]
    with Running(command, tmp_path, CUDA_VISIBLE_DEVICES=gpus(2)) as run:
        assert run.wait() == 1
        assert [line for line in run.output.splitlines() if line.startswith(message)], run.output
        assert run.events == ["start", *(name for name in run.events[1:-1] if name not in {"loaded", "healthy"}), "end"]


def test_a_model_is_a_repository_or_a_directory_with_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    command = ["vllm/vllm", "serve", str(tmp_path / "weights"), "--port", "0"]
    with Running(command, tmp_path, CUDA_VISIBLE_DEVICES=gpus(1)) as run:
        assert run.wait() == 1
        assert f"ValueError: Invalid repository ID or local directory specified: '{tmp_path}/weights'." in run.output
    (tmp_path / "weights" / "config.json").touch()
    with Running(command, tmp_path, CUDA_VISIBLE_DEVICES=gpus(1)) as run:
        run.await_event("healthy")


def test_without_a_gpu_there_is_no_device_type(tmp_path: Path) -> None:
    with Running(["vllm/vllm", "serve", "m", "--port", "0"], tmp_path, CUDA_VISIBLE_DEVICES="") as run:
        assert run.wait() == 1
        assert "Failed to infer device type" in run.output


def test_ray_is_needed_where_it_is_asked_for(tmp_path: Path) -> None:
    command = ["vllm/vllm", "serve", "m", "--port", "0", "-tp", "16", "--distributed-executor-backend", "ray"]
    with Running(command, tmp_path) as run:
        assert run.wait() == 1
        assert "Failed to import Ray: No module named 'ray'" in run.output
