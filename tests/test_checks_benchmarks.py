"""Benchmarks: what they run, and keys that Hydra's own parser has to take."""

from typing import Any

import pytest
from configs import findings, vllm
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hypothesis import given
from hypothesis import strategies as st

from gymsubmit.config.hydra_keys import inexpressible
from gymsubmit.errors import UsageError
from gymsubmit.lower.overrides import flatten

KEY_ADVICE = "use ASCII letters, digits, '_', '-' and '$', not a digit first, and dots between nested keys"
IN_VALUE_ADVICE = "use ASCII letters, digits and '_' that do not read as a number, boolean or null"


def of_benchmark(**fields: Any) -> list[tuple[str, str]]:
    return [
        (path.removeprefix("driver.benchmarks.b."), message)
        for path, message in findings(driver={"benchmarks": {"b": fields}})
    ]


@pytest.mark.parametrize(
    ("key", "setting"),
    [
        ("policy_base_url", "policy_base_url"),
        ("+policy_model_name", "policy_model_name"),
        ("++policy_api_key", "policy_api_key"),
        ("policy_base_url.x", "policy_base_url"),
    ],
)
def test_the_policy_is_wired_by_the_compiler(key: str, setting: str) -> None:
    said = f"{setting} follows from driver.policy_model; remove it"
    assert of_benchmark(run={key: "x"}) == [(f"run.{key}", said)]
    assert of_benchmark(run={key: {"x": 1}}) == [(f"run.{key}", said)]
    assert of_benchmark(run={"x": {key.lstrip("+"): 1}}, prepare={key: 1}) == []
    # Without a policy of ours, a benchmark says itself where its model is.
    assert findings({"p": vllm()}, driver={"benchmarks": {"b": {"run": {key: "x"}}}}) == []


def test_a_command_stands_alone() -> None:
    assert of_benchmark(command="x", run={"a": 1}, resumable=True) == [
        ("run", "command runs instead of `gym eval run`; keep one of command and run"),
        ("resumable", "a command cannot be resumed; remove it, or use run"),
    ]
    assert of_benchmark(command="x", prepare={"a": 1}, run={}, resumable=False) == []


def test_a_local_compute_cannot_resume() -> None:
    for resumable in (True, {"max_retries": 1}):
        found = findings(
            {"p": vllm()}, compute={"type": "local"}, driver={"benchmarks": {"b": {"resumable": resumable}}}
        )
        assert found == [("driver.benchmarks.b.resumable", "a local compute cannot resume; remove it")]


def test_keys_that_hydra_cannot_express() -> None:
    run = {
        "a b": 1,
        "ok.a-b.$c.0": 1,
        "+++x": 1,
        "~x": 1,
        "1": 1,
        "a/b": 1,
        "": 1,
        "models": {"gpt-4.1": 1, "ünï": 2, "a": {"true": 1}},
        "list": [{"x y": 1, "1": 2, "a'b": 3}],
        "nested": {"a": {"b": {"c": 1}}},
    }
    assert of_benchmark(run=run) == [
        ("run.a b", f"Hydra cannot express the key 'a b'; {KEY_ADVICE}"),
        ("run.+++x", f"Hydra cannot express the key '+x'; {KEY_ADVICE}"),
        ("run.~x", f"Hydra cannot express the key '~x'; {KEY_ADVICE}"),
        ("run.1", f"Hydra cannot express the key '1'; {KEY_ADVICE}"),
        ("run.a/b", f"Hydra cannot express the key 'a/b'; {KEY_ADVICE}"),
        ("run.", f"Hydra cannot express the key ''; {KEY_ADVICE}"),
        ("run.models.ünï", f"Hydra cannot express the key 'ünï' in a mapping that is a value; {IN_VALUE_ADVICE}"),
        ("run.models.a.true", f"Hydra cannot express the key 'true' in a mapping that is a value; {IN_VALUE_ADVICE}"),
        ("run.list.0.1", f"Hydra cannot express the key '1' in a mapping that is a value; {IN_VALUE_ADVICE}"),
        ("run.list.0.a'b", f'Hydra cannot express the key "a\'b" in a mapping that is a value; {IN_VALUE_ADVICE}'),
    ]


def test_one_setting_is_set_once() -> None:
    assert of_benchmark(run={"a": {"b": 1}, "+a.b": 2, "++a": {"b": 3}}, prepare={"a": {"b": 1}}) == [
        ("run.+a.b", "sets a.b, as 'a' does already; keep one of them"),
        ("run.++a.b", "sets a.b, as 'a' does already; keep one of them"),
    ]


@given(st.text("aZ0_1-$.+/@~ =:é", max_size=6))
def test_hydra_takes_the_keys_that_pass_and_no_others(key: str) -> None:
    passes = not list(inexpressible({key: 1}))
    bare = key.removeprefix("+").removeprefix("+")
    try:
        override = OverridesParser.create().parse_override(f"+{bare}=1")
        taken = override.key_or_group == bare and override.package is None and override.value() == 1
    except HydraException:
        taken = False
    # A group (db/x) and an empty path say something else than a key.
    assert passes == (taken and "/" not in bare and bare != "")


KEYS = st.sampled_from(["a", "b", "a.b", "+a", "++b", "c-d", "1", "1.5", "x y", "a'b", "gpt-4.1", "true", "", "$c"])
VALUES = st.recursive(
    st.sampled_from([1, None, "x"]),
    lambda inner: st.dictionaries(KEYS, inner, max_size=3) | st.lists(inner, max_size=2).map(tuple),
    max_leaves=6,
)


@given(st.dictionaries(KEYS, VALUES, max_size=3))
def test_what_passes_is_what_becomes_overrides(values: dict[str, Any]) -> None:
    try:
        flatten(values)
        becomes = True
    except UsageError:
        becomes = False
    assert becomes == (not list(inexpressible(values)))
