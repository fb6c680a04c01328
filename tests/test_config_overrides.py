"""Overrides from the command line, as trees: what they change, and what is no override."""

from __future__ import annotations

from typing import Any

import pytest

from gymsubmit.config.overrides import apply, parse_override
from gymsubmit.config.tree import Mapping, plain
from gymsubmit.config.yaml_tree import parse

CONFIG = """
_scratch: {x: 1}
services:
  a: &a {port: 1, mounts: [/x, /y]}
  b: *a
  qwen2.5: {port: 2}
run:
pools: ${_scratch}
"""


def overridden(*texts: str) -> Any:
    root, messages = _apply(*texts)
    assert messages == []
    return plain(root)


def messages_of(*texts: str) -> list[tuple[str | None, str]]:
    return _apply(*texts)[1]


def _apply(*texts: str) -> tuple[Mapping, list[tuple[str | None, str]]]:
    root, _ = parse(CONFIG)
    assert isinstance(root, Mapping)
    parsed = [parse_override(text) for text in texts]
    changed, faults = apply(root, [override for override, _ in parsed if override])
    faults = [fault for _, found in parsed for fault in found] + faults
    return changed, [(fault.mark.source, fault.message) for fault in faults]


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("services.a.port=5", {"services": {"a": {"port": 5}}}),
        ("+services.a.port=5", {"services": {"a": {"port": 5}}}),
        ("++services.a.port=5", {"services": {"a": {"port": 5}}}),
        (" services.a.port=5", {"services": {"a": {"port": 5}}}),
        ("services[a][port]=5", {"services": {"a": {"port": 5}}}),
        ('services["qwen2.5"].port=8001', {"services": {"qwen2.5": {"port": 8001}}}),
        ("services['qwen2.5'].port=8001", {"services": {"qwen2.5": {"port": 8001}}}),
        ("services.new.type=vllm", {"services": {"new": {"type": "vllm"}}}),
        ("run.a.b=1", {"run": {"a": {"b": 1}}}),
        ('run["a=b"]=c=d', {"run": {"a=b": "c=d"}}),
        ("run.++a=1", {"run": {"++a": 1}}),
        ("run.1=x", {"run": {"1": "x"}}),
        ("services.a.mounts.1=/z", {"services": {"a": {"mounts": ["/x", "/z"]}}}),
        ("services.a.mounts[0]=/z", {"services": {"a": {"mounts": ["/z", "/y"]}}}),
        ("services.a.mounts=[]", {"services": {"a": {"mounts": []}}}),
        ("services.a={port: 3, x: [1, 'y']}", {"services": {"a": {"port": 3, "x": [1, "y"]}}}),
        ("_scratch.x=2", {"_scratch": {"x": 2}}),
    ],
)
def test_one_value_changes_and_nothing_else(text: str, changed: dict[str, Any]) -> None:
    """An aliased value changes in the one place that is named."""
    expected = overridden()
    assert overridden(text) == _merged(expected, changed, replace=text.startswith("services.a={"))


def _merged(data: Any, changes: Any, *, replace: bool) -> Any:
    if not isinstance(data, dict) or not isinstance(changes, dict) or (replace and "port" in data):
        return changes
    return data | {key: _merged(data.get(key), value, replace=replace) for key, value in changes.items()}


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("8000", 8000),
        ("'8000'", "8000"),
        ("12:00:00", "12:00:00"),
        ("yes", "yes"),
        ("1e3", 1000.0),
        ("", None),
        ("''", ""),
        ("lit:a b=c", "lit:a b=c"),
        ("/a,b", "/a,b"),
        ("[1, {a: b}]", [1, {"a": b"b".decode()}]),
        ("a\nb", "a b"),
    ],
)
def test_values_are_yaml(value: str, read: Any) -> None:
    found = overridden(f"run.x={value}")["run"]["x"]
    assert (found, type(found)) == (read, type(read))


def test_the_last_one_wins() -> None:
    assert overridden("run.x=1", "run={y: 2}", "run.x=3")["run"] == {"y": 2, "x": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("services.a.port", "has no `=`; write a.b.c=VALUE"),
        ("=5", "'' is no path of a field; write a.b.c=VALUE, a name with a dot as a[\"b.c\"]"),
        ("a..b=5", "'a..b' is no path of a field; write a.b.c=VALUE, a name with a dot as a[\"b.c\"]"),
        ("a b=5", "'a b' is no path of a field; write a.b.c=VALUE, a name with a dot as a[\"b.c\"]"),
        ("a[b=5", "'a[b' is no path of a field; write a.b.c=VALUE, a name with a dot as a[\"b.c\"]"),
        ("~services.a=", "takes something out, which no override does; change the file"),
        ("run.x=[1", "the `[` that opens here is never closed; close it with `]`"),
        ("run.x=@y", "text cannot begin with '@'; put it in quotes"),
        ("run.x={a: 1, a: 2}", "is there twice, first in line 1; remove one of the two"),
        ("a." * 200 + "b=1", "the path has more than 100 steps; use fewer"),
        (
            "services.a.port.x=1",
            "`services.a.port` is a single value, without a `x` in it; override `services.a.port` itself",
        ),
        ("pools.x=1", "`pools` is an interpolation; override what it refers to, or all of `pools`"),
        (
            "services.a.mounts.2=x",
            "the list `services.a.mounts` has items 0 to 1, and no `2`; name one of them, or override the whole list",
        ),
        (
            "services.a.mounts.-1=x",
            "the list `services.a.mounts` has items 0 to 1, and no `-1`; name one of them, or override the whole list",
        ),
        (
            "services.qwen2.5.port=8001",
            'there is no `qwen2`; write services["qwen2.5"].port=VALUE for the name with a dot in it',
        ),
        ("_new=1", "there is no such scratch value, and an override adds none; add it to the file"),
        ("_scratch.y=1", "there is no such scratch value, and an override adds none; add it to the file"),
        ("run.x=\udcff", "holds bytes that are not UTF-8; use UTF-8"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    shown = ascii(text)[1:-1] if "\udcff" in text else text
    assert messages_of(text) == [(f"override '{shown}'", message)]


def test_a_pasted_secret_is_not_repeated() -> None:
    assert messages_of("services.a.port.HF_TOKEN=hf_abc") == [
        (
            "override 'services.a.port.HF_TOKEN=...'",
            "`services.a.port` is a single value, without a `HF_TOKEN` in it; override `services.a.port` itself",
        )
    ]
