"""Hydra itself is the judge: what `flatten` writes is composed and compared with the YAML value."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext

import pytest
from hydra import compose, initialize
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, OverrideParseException
from hypothesis import example, given, settings
from hypothesis import strategies as st
from omegaconf import DictConfig, OmegaConf

from gymsubmit.config.hydra_keys import inexpressible
from gymsubmit.errors import UsageError
from gymsubmit.lower.overrides import flatten, with_defaults


class FrozenDict(dict):
    """Config values are a subclass of dict."""


@pytest.fixture(scope="module", autouse=True)
def hydra() -> Iterator[None]:
    with initialize(version_base="1.3", config_path=None):
        yield
    GlobalHydra.instance().clear()


def composed(overrides: Sequence[str]) -> object:
    return OmegaConf.to_container(compose(overrides=list(overrides)))


def merged(overrides: Sequence[str]) -> object:
    """As `composed`, by the one step of it that overrides take part in: Hydra's own configuration is not read."""
    config = OmegaConf.create()
    OmegaConf.set_struct(config, True)
    ConfigLoaderImpl._apply_overrides_to_config(OverridesParser.create().parse_overrides(list(overrides)), config)
    return OmegaConf.to_container(config)


def freeze(value: object) -> object:
    """The value as a config holds it."""
    if isinstance(value, Mapping):
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    return tuple(freeze(item) for item in value) if isinstance(value, list | tuple) else value


def parsed(override: str) -> object:
    return OverridesParser.create().parse_override(override).value()


def exact(value: object) -> object:
    """The value with all that `==` forgets: types, the sign of zero, NaN, the order of keys; tuples are lists."""
    if isinstance(value, Mapping):
        return "map", [(exact(key), exact(item)) for key, item in value.items()]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "list", [exact(item) for item in value]
    return type(value).__name__, repr(value)


# fmt: off
# Each is something that Hydra, OmegaConf or YAML could read as something else.
TEXTS = [
    "", " ", "  x", "x  ", "\t", "\tx\t", "\n", "x\n", "\nx", "a\nb\n", "\r", "a\r\nb", "\x0b", "\x85", "\u2028",
    "\ufeff", "null", "NULL", "Null", "~", "true", "True", "FALSE", "yes", "off", "on", "inf", "-inf", "+Inf", "nan",
    "NaN", ".inf", "0", "1", "-1", "+1", "010", "0x1F", "0o17", "1_000", "1.5", "1.", ".5", "-.5", "1e3", "1E-3", "1e",
    "12:30:00", "-0", "1 ", " 1", "nan ", "null\n", "2024-01-01", "1.2.3", "-", "--", "---", "...", "-x", "+x", "~x",
    "?", "??", "!", "!!str", "a,b", ",", "a, b", "[", "]", "[1,2]", "{", "}", "{}", "{a:1}", "a:b", "a: b", ":",
    "http://x:8000/v1?a=b&c=d#e", "::", "=", "a=b", "a = b", "(", ")", "f(x)", "int(3)", "choice(a,b)", "range(1,3)",
    "glob(*)", "x@y", "a/b", "/", "/abs/path.json", "'", '"', "''", '""', "'a'", '"a"', "a'b", 'a"b', "a'b\"c", '"""',
    "'\"'", '","', "','", '"],["', '{"a": [1, "b"]}', "\\", "\\\\", "\\\\\\", "a\\", "a\\\\", "\\a", "a\\b", "\\n",
    "C:\\dir\\", '\\"', '\\\\"', '\\\\\\"', "\\'", "\\\\'", '"\\', '"\\\\', 'a\\"b\\\\"c\\', '\\"\\"', "\\,", "\\ ",
    "\\=", "\\(", "\\:", '\\\n"', '"\n\\', "\\\\ ", '\\" ', "\\\\n", "$", "$x", "$$", "$(x)", "a$", "$ {x}", "$\\{x}",
    "%", "%s", "100%", "#", "# x", "a #b", "*", "&x", "|", ">", "`x`", ";", "<x>", "ü", "ß", "日本語", "😀", "é", "١",
    "\u00a0", "\u200b", "true", "nullx", "info", "nano", "truely", "in f", "a.5", "a-5", "a+5", "gpt-4.1",
    "meta/llama-3@main", "x" * 5000, "\x01", "\x1b[0m", "\x7f", "???x", "_",
]

KEYS = [
    "a", "A9", "_", "$x", "a-b", "a_b", "a$b", "null", "true", "nan", "keys", "_content", "__class__", "_target_",
    "x-",
]
DICT_KEYS = [
    "a b", " a", "a ", " ", "\t", "a.b", "gpt-4.1", ".", "..", "1a", "4xH100", "00", "010", "1.2.3", "-", "--", "-a",
    "+a", "++a", "a:b", ":", "a=b", "=", "a,b", "(", ")", "[0]", "{", "}", "{}", "${x}", "$", "\\", "\\\\", "a\\",
    "\\a", "\\ ", " \\", "a\\:", "%", "*", "@", "?", "|", "/", "a/b", "a@b", "truex", "nulls", "1e", "1_", "1.5x",
    "inf.", "info", "++", "+", "1-", "0_0x", 0, 1, -1, 1000, True, False, 1.5, -0.5, 1e100, math.inf,
]
UNSAYABLE_DICT_KEYS = [
    "", "1", "-1", "+1", "0", "1_000", "1.5", "1.", ".5", "1e3", "null", "NULL", "true", "False", "inf", "-inf", "NaN",
    "'", '"', "a'b", "#", "!", "&", ";", "<", ">", "^", "`", "~", "\n", "a\n", "\r", "é", "日", "\u00a0", None, ("a",),
]
# fmt: on

texts = st.one_of(
    st.sampled_from([text for text in TEXTS if len(text) < 100]),
    st.text(alphabet=st.sampled_from("\\\"'${}[](),:=#% \t\n\r0e1.-+_abnul/é"), max_size=12),
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
).filter(lambda text: "${" not in text and text != "???")
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts)
parts = st.one_of(st.sampled_from(KEYS), st.from_regex(r"\A[A-Za-z_$][A-Za-z0-9_$-]{0,5}\Z"))
numbers = st.from_regex(r"\A(0|[1-9][0-9]{0,3})\Z")
dict_keys = st.one_of(
    st.sampled_from(DICT_KEYS),
    st.text(alphabet=st.sampled_from("aZ_9$-./\\+%*@?|()[]{}:=, \t"), min_size=1, max_size=6).map(
        lambda key: f"{key}x"
    ),
)
# Below a list there are no paths, so that a name may be odd but not read as something else.
within_a_value = st.recursive(
    scalars,
    lambda inner: st.one_of(
        *(st.lists(inner, max_size=3).map(kind) for kind in (list, tuple)),
        *(st.dictionaries(dict_keys, inner, max_size=3).map(kind) for kind in (dict, FrozenDict)),
    ),
    max_leaves=6,
)
values = st.recursive(
    st.one_of(scalars, st.lists(within_a_value, max_size=3), st.dictionaries(dict_keys, within_a_value, max_size=3)),
    lambda inner: st.dictionaries(parts | numbers, inner, max_size=3).map(FrozenDict),
    max_leaves=6,
)


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(parts, values, max_size=3))
@example({"a": {"b": {"c": {}}, "d": []}, "e": [[], {}, [[]], {"f": {}}]})
@example({"a": [{"b": [{"c": [None, True, 1, 1.0, "1", "null"]}]}]})
@example({"a": {"0": 1, "10": {"7": 2}}})
def test_hydra_composes_the_yaml_value(mapping: dict[str, object]) -> None:
    assert exact(merged(flatten(mapping))) == exact(mapping)


@settings(deadline=None, max_examples=400)
@given(texts)
def test_any_text_is_parsed_back(text: str) -> None:
    override, listed, keyed = flatten({"a": text, "b": [text, text], "c": [{"k": text}]})
    assert (parsed(override), parsed(listed), parsed(keyed)) == (text, [text, text], [{"k": text}])


def test_every_odd_text_is_composed() -> None:
    mapping = {"plain": dict(zip((f"t{index}" for index in range(len(TEXTS))), TEXTS, strict=True)), "listed": TEXTS}
    mapping["mapped"] = [{f"t{index}": text for index, text in enumerate(TEXTS)}]
    assert exact(composed(flatten(mapping))) == exact(mapping)


# fmt: off
NUMBERS = [
    0, -0, 1, -1, 10**40, -(10**40), 0.0, -0.0, 1.0, -1.5, 1e3, 1e16, 1e-7, 1e300, 5e-324, 0.1, math.inf, -math.inf,
    math.nan,
]
# fmt: on


def test_every_other_scalar_is_composed() -> None:
    scalars = [None, True, False, *NUMBERS]
    mapping = {"leaf": {f"n{index}": value for index, value in enumerate(scalars)}, "listed": scalars}
    assert exact(composed(flatten(mapping))) == exact(mapping)


@pytest.mark.parametrize("key", DICT_KEYS, ids=repr)
def test_odd_names_are_composed(key: object) -> None:
    mapping = {"listed": [{key: "v", "other": [1]}], "nested": {"mapping": {key: {"b": 1}, "z": None}}}
    assert exact(composed(flatten(mapping))) == exact(mapping)


@pytest.mark.parametrize("key", UNSAYABLE_DICT_KEYS, ids=repr)
def test_names_that_hydra_cannot_say_are_refused(key: object) -> None:
    with pytest.raises(UsageError, match=r"(?s)^a\.b\[1\].*: Hydra cannot express the key .*; use "):
        flatten({"a": {"b": [{"ok": 1}, {key: 1}]}})


@pytest.mark.parametrize("key", UNSAYABLE_DICT_KEYS, ids=repr)
def test_refused_names_have_no_spelling(key: object) -> None:
    """Neither bare nor escaped nor quoted does Hydra read them as this key."""
    for spelling in (f"{key}", f"\\{key}", f'"{key}"', f"'{key}'"):
        try:
            read = composed([f"+a={{{spelling}:1}}"])
        except HydraException:
            continue
        assert exact(read) != exact({"a": {key: 1}})


@pytest.mark.parametrize(
    "key",
    [
        "", "+", "++", "+++a", "~a", "0", "1", "a.", ".a", "a..b", "a.01", "a.1b", "a b", " a", "a ", "é", "a=b",
        "a,b", "a:b", "a@b", "a/b", "a/", "/a", "a//b", "a/b.c", "a.b/c", "a/1", "$a/b", "a[0]", "a\n", "-a", "a.-b",
        "{a}", "'a'", "a+b", "a%",
    ],
)  # fmt: skip
def test_keys_that_are_no_path_are_refused(key: str) -> None:
    for value in (1, {}, [], {"b c": 1}):
        with pytest.raises(UsageError, match=r"Hydra cannot express the key .*; use "):
            flatten({key: value})


@pytest.mark.parametrize(
    "key", ["a", "+a", "++a", "a.b", "0.a", "0", "", "+++a", "~a", "a b", "a/b", "é", "a.", "a.01"]
)
def test_loading_refuses_the_same_keys(key: str) -> None:
    """What a config may hold can be written, and nothing that could be written is refused."""
    for odd in (*KEYS, *DICT_KEYS, *(odd for odd in UNSAYABLE_DICT_KEYS if isinstance(odd, str))):
        for values in (
            {key: {odd: 1}},
            {key: [{odd: 1}]},
            {key: {"b": {odd: {}}, "c": 1}},
            {key: 1, "b": {"c": [{odd: 1}]}},
        ):
            at_load = bool(list(inexpressible(freeze(values))))
            with pytest.raises(UsageError) if at_load else nullcontext():
                flatten(values)


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet=st.sampled_from("a_$-.019é +"), max_size=6).filter(lambda key: key.strip("+")))
@example("0.a")
@example("a.10")
def test_a_key_is_accepted_where_hydra_accepts_it(key: str) -> None:
    parser = OverridesParser.create()
    try:
        (word,) = flatten({key: 1})
    except UsageError:
        with pytest.raises(OverrideParseException):
            parser.parse_overrides([key + "=1" if key.startswith("+++") else f"+{key.lstrip('+')}=1"])
    else:
        assert parser.parse_override(word).key_or_group == key.lstrip("+")


def test_spelling() -> None:
    assert flatten(
        {
            "a": {"b": 1, "c": {"d": "text", "e": {}}},
            "+plus": None,
            "++force": {"x": True, "y": {"z": [1, "two", "3"]}},
            "dotted.path": {"deeper": 1.5},
            "models": {"gpt-4.1": "x", "b": {"c": 1}},
            "list": FrozenDict(items=(FrozenDict({"a b": 'say "hi"\\'}), [])),
            "quoted": "it's, {x}",
            "path": "/out/run 1/rollouts.jsonl",
            "empty": {},
            "++none": [],
        }
    ) == (
        "+a.b=1",
        "+a.c.d=text",
        "+a.c.e={}",
        "+plus=null",
        "++force.x=true",
        '++force.y.z=[1,two,"3"]',
        "+dotted.path.deeper=1.5",
        "+models={gpt-4.1:x,b:{c:1}}",
        r'+list.items=[{a\ b:"say \"hi\"\\"},[]]',
        '+quoted="it\'s, {x}"',
        '+path="/out/run 1/rollouts.jsonl"',
        "+empty={}",
        "++none=[]",
    )
    assert flatten({}) == ()


def test_force_overrides_what_is_there_and_plus_does_not() -> None:
    there = ["+a.b=1"]
    assert composed([*there, *flatten({"++a": {"b": 2, "c": 3}})]) == {"a": {"b": 2, "c": 3}}
    with pytest.raises(HydraException, match="already at"):
        compose(overrides=[*there, *flatten({"a": {"b": 2}})])


@pytest.mark.parametrize(
    "mapping",
    [{"a": 1, "+a": 2}, {"++a": 1, "a": 2}, {"a": {"b": 1}, "a.b": 2}, {"a.b": {}, "++a": {"b": {}}}],
    ids=str,
)
def test_a_path_set_twice_is_refused(mapping: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"sets a(\.b)?, as '.*' does already; keep one of them$"):
        flatten(mapping)


def test_values_that_are_no_yaml_are_refused() -> None:
    for value in (b"x", {1, 2}, object()):
        with pytest.raises(TypeError, match=r"^a \w+ is no value of a config$"):
            flatten({"a": {"b": [value]}})


def test_interpolations_are_left_to_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYM_SERVICE_JUDGE_URL", "http://node7:8000")
    mapping = {
        "url": "${oc.env:GYM_SERVICE_JUDGE_URL}/v1",
        "urls": ["${url}", {"judge": "<${oc.env:GYM_SERVICE_JUDGE_URL}>"}],
        "nested": {"default": "${oc.env:GYM_NOT_SET,'a, \"b\"'}", "number": "${count}", "inner": "${nested.${name}}"},
        "odd names": 0,
        "count": 8,
        "name": "number",
        "escaped": "\\${url} and \\\\${count}",
        "windows": "C:\\${count}\\",
    }
    mapping["odd_names"] = {"a b": mapping.pop("odd names"), "c": "${count}"}
    config = compose(overrides=list(flatten(mapping)))
    assert isinstance(config, DictConfig)
    assert OmegaConf.to_container(config, resolve=False) == mapping
    assert OmegaConf.to_container(config, resolve=True) == {
        "url": "http://node7:8000/v1",
        "urls": ["http://node7:8000/v1", {"judge": "<http://node7:8000>"}],
        "nested": {"default": 'a, "b"', "number": 8, "inner": 8},
        "count": 8,
        "name": "number",
        "escaped": "${url} and \\8",
        "windows": "C:${count}\\",
        "odd_names": {"a b": 0, "c": 8},
    }


def test_a_value_to_be_given_later_stays_one() -> None:
    config = compose(overrides=list(flatten({"a": "???", "b": ["???"]})))
    assert OmegaConf.missing_keys(config) == {"a", "b[0]"}


def test_defaults_stand_first_and_only_where_the_run_has_none() -> None:
    defaults = {"output": "/out", "complete": True, "capture": "/calls", "observe": True}
    run = {"z": 1, "+complete": False, "++capture": None, "observe": False}
    assert list(with_defaults(FrozenDict(run), defaults).items()) == [("output", "/out"), *run.items()]
    assert list(with_defaults({}, defaults).items()) == list(defaults.items())
    assert run == {"z": 1, "+complete": False, "++capture": None, "observe": False}
