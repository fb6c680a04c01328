"""A loaded config dumps to data, and resolves to a file, that make an equal config again."""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymsubmit.config.load import load_config
from gymsubmit.config.resolved import resolved, resolved_yaml
from gymsubmit.config.submit import SubmitConfig

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.yaml"))

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
LIKE_OTHER_VALUES = ["1e3", "12:00:00", "yes", "null", "0o17", ".inf", "~", "<<", "=", "- a", "a: b", "# x", " x", "x "]
LIKE_PLACEHOLDERS = [
    "${HOME}",
    "\\${HOME}",
    "${a.b}",
    "\\${a.b}",
    "\\\\${oc.env:X}",
    "${oc.env:HF_TOKEN}",
    "${",
    "$${a.b}}",
]
SPECIAL = [
    "%",
    "@x",
    "`x`",
    "{{ x }}",
    "*x",
    "&x",
    "!x",
    "'",
    '"',
    "\\",
    "é",
    "\u2028",
    "\x85",
    "\ufeff",
    "\x07",
    "😀",
    "---",
]
AWKWARD = st.sampled_from(LIKE_OTHER_VALUES + LIKE_PLACEHOLDERS + SPECIAL)
TEXT = st.text(CHARACTERS, max_size=15) | AWKWARD | st.lists(AWKWARD, max_size=4).map("".join)
LINE = TEXT.map(lambda text: "x" + text.replace("\n", " ").replace("\r", " "))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b_c", "++d"]), inner, max_size=2)
    ),
    max_leaves=6,
)


def config_of(line: str, text: str, words: list[str], value: Any) -> SubmitConfig:
    return SubmitConfig.model_validate(
        {
            "services": {
                "policy": {
                    "type": "vllm",
                    "model": line,
                    "extra_args": words,
                    "env": {"A": "lit:" + text, "B": "host:HF_TOKEN"},
                    "pre_command": text,
                },
                "other": {"type": "command", "command": words or "x" + text, "pre_command": text},
            },
            "compute": {"here": {"type": "local"}},
            "driver": {
                "benchmarks": {
                    "a": {
                        "run": {"value": value, "command": text},
                        "prepare": {"x": text},
                        "resumable": {"max_retries": 1},
                    },
                    "b": {"command": "x" + text},
                }
            },
            "job": {"output_path": "/results"},
        }
    )


def loaded(text: str) -> SubmitConfig:
    """The config in a YAML file, without the checks across fields: hypothesis writes no valid shell text."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr("gymsubmit.config.load.check", lambda _config: [])
        file = Path(folder, "resolved.yaml")
        file.write_bytes(text.encode())
        return load_config(file).config


@given(LINE, TEXT, st.lists(TEXT, max_size=3), VALUES)
def test_any_text_survives(line: str, text: str, words: list[str], value: Any) -> None:
    config = config_of(line, text, words, value)
    again = loaded(resolved_yaml(config))
    assert again == config
    assert again.model_fields_set == config.model_fields_set
    assert resolved_yaml(again) == resolved_yaml(config)
    assert SubmitConfig.model_validate(config.model_dump()) == config


def test_shell_text_keeps_its_own_expansions() -> None:
    text = "cd ${HOME} ${X:-y} \\${a.b} ${#a[@]} \\\\${oc.env:X}"
    data = resolved(config_of("m", text, [], None))
    assert (
        data["driver"]["benchmarks"]["b"]["command"]
        == "xcd ${HOME} ${X:-y} \\\\\\${a.b} ${#a[@]} \\\\\\\\\\${oc.env:X}"
    )
    assert data["driver"]["benchmarks"]["a"]["run"]["command"].startswith("cd \\${HOME} \\${X:-y}")


def test_only_what_was_set_is_written() -> None:
    config = SubmitConfig.model_validate(
        {
            "services": {"s": {"type": "vllm", "model": "1e3", "port": 8000}},
            "compute": {"c": {"type": "slurm", "walltime": "12:00:00", "node_pools": {"b": {}, "a": {"nodes": 2}}}},
            "driver": {"benchmarks": {"b": {"run": {"inf": math.inf, "judge": "${oc.env:URL}/v1", "list": [1, "1"]}}}},
            "job": {"output_path": "/results"},
        }
    )
    assert (
        resolved_yaml(config)
        == """\
services:
  s:
    type: vllm
    model: '1e3'
    port: 8000
compute:
  c:
    type: slurm
    walltime: 12:00:00
    node_pools:
      b: {}
      a:
        nodes: 2
driver:
  benchmarks:
    b:
      run:
        inf: .inf
        judge: \\${oc.env:URL}/v1
        list:
        - 1
        - '1'
job:
  output_path: /results
"""
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.stem for example in EXAMPLES])
def test_examples(example: Path) -> None:
    config = load_config(example).config
    assert loaded(resolved_yaml(config)) == config
    assert SubmitConfig.model_validate(config.model_dump()) == config
