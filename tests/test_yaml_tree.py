"""YAML as we read and write it: the core schema of YAML 1.2, places, aliases, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gymsubmit.config.tree import Mapping, plain
from gymsubmit.config.yaml_scalars import PythonDumper, dump_yaml
from gymsubmit.config.yaml_syntax import PythonParser
from gymsubmit.config.yaml_tree import parse


def data_of(text: str) -> Any:
    root, faults = parse(text)
    assert faults == []
    assert root is not None
    return plain(root)


def faults_of(text: str) -> list[tuple[str, str]]:
    return [(f"{fault.mark.line}:{fault.mark.column}", fault.message) for fault in parse(text)[1]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12:00:00", "12:00:00"),
        ("1_000", "1_000"),
        ("2001-01-01", "2001-01-01"),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("No", "No"),
        ("y", "y"),
        ("0b1", "0b1"),
        ("1.e", "1.e"),
        ("nUll", "nUll"),
        ("=", "="),
        ("010", 10),
        ("+1", 1),
        ("-7", -7),
        ("0o17", 15),
        ("0x1F", 31),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1.5E-2", -0.015),
        (".inf", math.inf),
        ("+.INF", math.inf),
        ("-.Inf", -math.inf),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("NULL", None),
        ("'8000'", "8000"),
        ('"null"', "null"),
        ("! 8000", "8000"),
        ("!!str 8000", "8000"),
        ("!!int '8'", 8),
        ("!!float 1", 1.0),
    ],
)
def test_scalars_follow_the_core_schema(text: str, value: Any) -> None:
    read = data_of(f"key: {text}\n")["key"]
    assert (read, type(read)) == (value, type(value))


def test_nan() -> None:
    assert math.isnan(data_of("key: .NaN")["key"])


def test_every_key_and_value_has_its_place() -> None:
    root, _ = parse("a:\n  - x\n  - {é: 1, c: 'q'}\n")
    assert isinstance(root, Mapping)
    key, items = root.entries["a"]
    assert (key, items.mark) == ((1, 1, None), (2, 3, None))
    inner = items.items[1]  # type: ignore[union-attr]
    places = {name: (entry.key[:2], entry.node.mark[:2]) for name, entry in inner.entries.items()}  # type: ignore[union-attr]
    assert places == {"é": ((3, 6), (3, 9)), "c": ((3, 12), (3, 15))}


def test_aliases_and_merges() -> None:
    text = """
first: &first {x: 1, y: 2}
second: &second {y: 3, z: 4}
same: *first
both: {<<: [*first, *second], z: 5}
own: {x: 0, <<: *first}
chained: {<<: {<<: *second, x: 6}}
quoted: {'<<': 1}
"""
    assert data_of(text) == {
        "first": {"x": 1, "y": 2},
        "second": {"y": 3, "z": 4},
        "same": {"x": 1, "y": 2},
        "both": {"x": 1, "y": 2, "z": 5},
        "own": {"x": 0, "y": 2},
        "chained": {"x": 6, "y": 3, "z": 4},
        "quoted": {"<<": 1},
    }


def test_merged_keys_stand_where_they_are_merged() -> None:
    """The order of node pools counts."""
    assert list(data_of("a: &a {p: 1, q: 2}\nb: {o: 0, <<: *a, r: 3, p: 4}\n")["b"]) == ["o", "p", "q", "r"]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("a: 1\nb: 2\na: 3\n", [("3:1", "is there twice, first in line 1; remove one of the two")]),
        ("a: {b: 1, b: 1}", [("1:11", "is there twice, first in line 1; remove one of the two")]),
        ("a: {<<: {x: 1}, <<: {y: 2}}", [("1:17", "`<<` is there twice; merge several mappings with `<<: [*a, *b]`")]),
        ("a: {<<: 1}", [("1:5", "`<<` merges mappings only; give it the `*NAME` of one, or a list of them")]),
        (
            "8000: x\ntrue: y\n",
            [
                ("1:1", 'the key 8000 is no text; put it in quotes: "8000"'),
                ("2:1", 'the key true is no text; put it in quotes: "true"'),
            ],
        ),
        ("a: {~: 1}", [("1:5", "a key is missing before the `:`; add it, or put the key in quotes")]),
        ("a: {{ x }}", [("1:5", "a mapping cannot be a key; put text with brackets in quotes")]),
        ("? [a]\n: b", [("1:3", "a list cannot be a key; put text with brackets in quotes")]),
        ("a: &x [1, *x]", [("1:11", "`*x` stands inside the value of `&x`; take it out")]),
        (
            "a: *x",
            [
                (
                    "1:4",
                    "`*x` names no anchor above it; write `&x` before the value that is meant, "
                    "or put text that begins with `*` in quotes",
                )
            ],
        ),
        (
            "a: !!python/object:os.system {}",
            [
                (
                    "1:4",
                    "the tag `!!python/object:os.system` means nothing here; remove it, "
                    "or put text that begins with `!` in quotes",
                )
            ],
        ),
        ("a: !!int x", [("1:4", "is no `!!int`, as its tag says; correct the value, or remove the tag")]),
        ("a: " + "9" * 5000, [("1:4", "is a number of 5000 digits; use at most 1000, or put it in quotes")]),
        ('a: "x\\0"', [("1:4", "holds a NUL character, which no program can be given; remove it")]),
        ('a: "\\ud800"', [("1:4", "holds half of a surrogate pair, which no program can be given; remove it")]),
        ("a: [\n" * 5000, [("51:1", "nested more than 100 deep; use fewer levels")]),
        ("a: 1\n---\nb: 2\n", [("2:1", "a second document begins here; keep one, without `---` lines in between")]),
    ],
)
def test_what_is_refused(text: str, faults: list[tuple[str, str]]) -> None:
    assert faults_of(text) == faults


def test_aliases_that_make_billions_of_values() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    assert faults_of("\n".join(lines)) == [("1:1", "its aliases make more than 500000 values; use fewer")]


def test_aliases_that_nest_deeper_than_brackets_may() -> None:
    lines = ["a0: &a0 {}"] + [f"a{n}: &a{n} {{x: *a{n - 1}}}" for n in range(1, 200)]
    assert faults_of("\n".join(lines)) == [("100:15", "nested more than 100 deep; use fewer levels")]


TEXTS = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
    | st.text("\n\r\t '\"#:-{}[]&*!|>%@`,?a1e.~<=\\$\x85\u2028\ufeff\x7f\x01", max_size=12)
    | st.sampled_from(["1e3", "12:00:00", "yes", "null", "0o17", ".inf", "", "~", "<<", "=", "- a", "a: b", "# x"])
    | st.sampled_from(
        ["---", "...", "x\n---\ny", "1" * 2000, "a" * 300, "\n", "a\n\n", "\na", "a\n b", " a\nb", "a \nb"]
    )
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_what_is_written_reads_back(value: Any) -> None:
    """By either parser, written by either dumper; repr tells 1 from 1.0 and true, and the order of keys."""
    for text in {dump_yaml(value), dump_yaml(value, PythonDumper)}:
        for parser in (None, PythonParser):
            root, faults = parse(text, None, parser)
            assert faults == []
            assert root is not None
            assert repr(plain(root)) == repr(value)


def test_awkward_values_are_written_plainly() -> None:
    data = {
        "time": "12:00:00",
        "text": "1e3",
        "no": "no",
        "number": 1e3,
        "inf": math.inf,
        "script": "a\n  b\n",
        "e": [],
    }
    assert dump_yaml(data) == (
        "time: 12:00:00\ntext: '1e3'\nno: no\nnumber: 1000.0\ninf: .inf\nscript: |\n  a\n    b\ne: []\n"
    )


STRUCTURE = ["a", "b: ", "- ", "\n", "\n  ", "\n    ", "{", "}", "[", "]", ", ", "'", '"', "#", " ", "\t", ":\t"]
MARKS = ["&x ", "*x", "|\n", "? ", "!!str ", "1", "\\", "<<: ", "${", "---\n", "%", "é"]
SNIPPETS = st.lists(st.sampled_from(STRUCTURE + MARKS), max_size=14).map(lambda parts: "".join(parts) + "\n")


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="there is no second parser to compare with")
@given(SNIPPETS)
def test_both_parsers_agree(text: str) -> None:
    """What libyaml accepts, Python's parser reads alike; what it refuses, Python's parser explains."""
    root, faults = parse(text)
    python_root, python_faults = parse(text, None, PythonParser)
    if python_root is not None or root is None:
        assert repr((root, faults)) == repr((python_root, python_faults))
