"""Interpolation, as trees: what resolves to what, what stays as it is, and what is refused."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from gymsubmit.config.interpolation import interpolate
from gymsubmit.config.placeholders import escape, split
from gymsubmit.config.tree import Mapping, plain
from gymsubmit.config.yaml_scalars import dump_yaml
from gymsubmit.config.yaml_tree import parse


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "TP": "4",
        "ON": "true",
        "NAME": "alice",
        "EMPTY": "",
        "ODD": "${job.n} 1",
        "HF_TOKEN": "s",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NOPE", raising=False)


BASE = {
    "_a": {"b": 5, "t": "text", "f": True, "n": None, "l": [1, {"x": "y"}], "m": {"k": "v"}, "tp": "${oc.env:TP}"},
    "_key": "b",
    "services": {"s-1": {"port": 8000}, "qwen2.5": {"port": 8001}},
    "job": {"n": 1},
}


def resolve(value: Any, *at: str) -> Any:
    """What `value` resolves to, at the given path of a config."""
    data: dict[str, Any] = BASE | {at[0] if at else "x": _nested(value, at[1:])}
    result, faults = _interpolated(data)
    assert faults == []
    for step in at or ("x",):
        result = result[step]
    return result


def _nested(value: Any, path: tuple[str, ...]) -> Any:
    for step in reversed(path):
        value = {step: value}
    return value


def messages(value: Any, *at: str) -> list[str]:
    return _interpolated(BASE | {at[0] if at else "x": _nested(value, at[1:])})[1]


def _interpolated(data: dict[str, Any]) -> tuple[Any, list[str]]:
    root, _ = parse(dump_yaml(data))
    assert isinstance(root, Mapping)
    result, faults = interpolate(root)
    return (None if result is None else plain(result)), [fault.message for fault in faults]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${_a.b}", 5),
        ("${ _a.b }", 5),
        ("${_a[b]}", 5),
        ("${_a.f}", True),
        ("${_a.n}", None),
        ("${_a.l}", [1, {"x": "y"}]),
        ("${_a.l.0}", 1),
        ("${_a.l[1].x}", "y"),
        ("${_a.m}", {"k": "v"}),
        ("${services.s-1.port}", 8000),
        ('${services["qwen2.5"].port}', 8001),
        ("${_a.${_key}}", 5),
        ("${_a.tp}", 4),
        ("a ${_a.b}-${_a.t} z", "a 5-text z"),
        ("${_a.f} ${_a.n}", "True None"),
        ("$${_a.b}", "$5"),
        ("$a {x} $", "$a {x} $"),
        ("${oc.env:TP}", 4),
        ("x${oc.env:TP}", "x4"),
        ("${oc.env:ON}", True),
        ("${oc.env:NAME}", "alice"),
        ("${oc.env:EMPTY}", ""),
        ("${oc.env:ODD}", "${job.n} 1"),
        ("${oc.env:NOPE,4}", 4),
        ("${oc.env:NOPE,null}", None),
        ("${oc.env:NOPE,}", ""),
        ("${oc.env:NOPE,'a}b'}", "a}b"),
        ("${oc.env:NOPE,http://h:80/v1}/x", "http://h:80/v1/x"),
        ("${oc.env:NOPE,${_a.t}}", "text"),
        ("${oc.env:NOPE,${oc.env:NAME}}", "alice"),
        ("${oc.decode:'[1, 2]'}", [1, 2]),
        ("${oc.select:_a.zz,7}", 7),
        ("${oc.select:_a.t,7}", "text"),
        ("${oc.dict.keys:_a.m}", ["k"]),
        (r"\${_a.b}", "${_a.b}"),
        (r"\${oc.env:GYM_SERVICE_JUDGE_URL}/v1", "${oc.env:GYM_SERVICE_JUDGE_URL}/v1"),
        (r"\\${_a.b}", r"\5"),
        (r"\\\${_a.b}", r"\${_a.b}"),
        (r"\\\\${_a.b}", r"\\5"),
        (r"c:\d\\e\ ${_a.b}\\", r"c:\d\\e\ 5" + r"\\"),
        (r"\${a} ${_a.b} \${", "${a} 5 ${"),
    ],
)
def test_values(text: str, value: Any) -> None:
    found = resolve(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("path", [("services", "p", "pre_command"), ("driver", "benchmarks", "b", "command")])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("cd ${HOME} ${X:-y} ${#a[@]} ${a[0]} ${x%.*} ${f/a.b/c.d}", None),
        ("${HOST-a.b} ${x:-${y-z.1}} ${!p} ${ x } ${_key}", None),
        (r"echo \${HOME} \\${HOME} '${' \$", None),
        ("echo ${_a.b} ${HOME}", "echo 5 ${HOME}"),
        ("echo ${job.n} ${X:-${oc.env:NAME}}", "echo 1 ${X:-alice}"),
        (r"echo \${_a.b} \\${_a.b} \${oc.env:TP}", r"echo ${_a.b} \5 ${oc.env:TP}"),
    ],
)
def test_shell_text_keeps_what_is_the_shells(path: tuple[str, ...], text: str, value: str | None) -> None:
    assert resolve(text, *path) == (text if value is None else value)


def test_only_the_fields_themselves_hold_shell_text() -> None:
    """A key of `run` that is called `command` is no field."""
    found = messages("${HOME}", "driver", "benchmarks", "b", "run", "command")
    remedy = "write `${oc.env:HOME}` for the submitting machine's variable"
    assert found == [unresolved("${HOME}", "there is no `HOME` in the config", remedy)]


def test_shell_text_in_a_scratch_value_that_services_merge() -> None:
    root, _ = parse("_d: &d {pre_command: 'cd ${HOME}/${_x.y}'}\n_x: {y: z}\nservices: {s: {<<: *d}}\n")
    assert isinstance(root, Mapping)
    result, faults = interpolate(root)
    assert result is not None
    assert (plain(result)["services"], faults) == ({"s": {"pre_command": "cd ${HOME}/z"}}, [])


def test_a_scratch_value_that_nobody_refers_to_may_be_anything() -> None:
    assert resolve(1, "_unused", "${nope}") == 1


def test_keys_are_never_interpolated() -> None:
    assert resolve({"${_a.b}": "${_a.b}"}) == {"${_a.b}": 5}


def unresolved(text: str, reason: str, remedy: str = "correct it") -> str:
    return f"`{text}` does not resolve: {reason}; {remedy}, or write `\\{text}` for the text itself"


def unclosed(text: str) -> str:
    return (
        f"`{text}` does not end: its closing brace is missing, or a quote in it is open; "
        r"close it, or write `\${` for the text itself"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${_a.zz.y}", unresolved("${_a.zz.y}", "there is no `_a.zz` in the config")),
        (
            "a ${NOPE} b",
            unresolved(
                "${NOPE}",
                "there is no `NOPE` in the config",
                "write `${oc.env:NOPE}` for the submitting machine's variable",
            ),
        ),
        (
            "${WANDB_API_KEY}",
            unresolved(
                "${WANDB_API_KEY}",
                "there is no `WANDB_API_KEY` in the config",
                "put `WANDB_API_KEY: host:WANDB_API_KEY` under `env` for the submitting machine's variable",
            ),
        ),
        ("${jobs.n}", unresolved("${jobs.n}", "there is no `jobs` in the config", "write `${job.n}`")),
        ("${oc.create:{1: a}}", unresolved("${oc.create:{1: a}}", "it gives a dict, which no config holds")),
        ("${oc.env:BYTES}", unresolved("${oc.env:BYTES}", "it holds bytes that are not UTF-8")),
        ("${_a.l.2}", unresolved("${_a.l.2}", "there is no `_a.l.2` in the config")),
        ("${_a.b.c}", unresolved("${_a.b.c}", "there is no `_a.b.c` in the config")),
        ("${.b}", unresolved("${.b}", "it is relative", "write the whole path from the top")),
        ("${}", unresolved("${}", "it names neither a path nor a resolver")),
        ("${#a[@]}", unresolved("${#a[@]}", "there is no `#a` in the config")),
        ("${X:-y}", unresolved("${X:-y}", "there is no resolver `X`")),
        ("${now:%Y}", unresolved("${now:%Y}", "there is no resolver `now`")),
        ("${x}", unresolved("${x}", "it refers back to itself")),
        ("x${_a.m}", unresolved("${_a.m}", "it is a mapping, which cannot be a part of a text", "let it stand alone")),
        (
            "${oc.env:NOPE}",
            unresolved(
                "${oc.env:NOPE}", "the variable NOPE is not set", "set it, give a default (`${oc.env:NOPE,DEFAULT}`)"
            ),
        ),
        ("${oc.env:${_a.t}}", unresolved("${oc.env:${_a.t}}", "a variable's name must be written out")),
        ("${oc.env:NOPE,[1}", unresolved("${oc.env:NOPE,[1}", "its arguments cannot be read", "quote them")),
        ("${oc.env:NOPE,it's}", unclosed("${oc.env:NOPE,it's}")),
        ("a ${_a.b", unclosed("${_a.b")),
        (
            "Bearer ${oc.env:HF_TOKEN}",
            "`${oc.env:HF_TOKEN}` would write a secret into files; put `HF_TOKEN: host:HF_TOKEN` under `env`, "
            r"and write `\${oc.env:HF_TOKEN}` where the driver is to read it",
        ),
    ],
)
def test_what_does_not_resolve(monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    monkeypatch.setenv("BYTES", "\udcff")
    assert messages(text) == [message]


@pytest.mark.parametrize(
    ("name", "is_refused"),
    [
        *(
            (name, True)
            for name in ("WANDB_API_KEY", "my_secret", "DB_PASSWORD", "TOKEN", "AWS_ACCESS_KEY_ID", "GH_PAT")
        ),
        *((name, False) for name in ("KEYBOARD", "TOKENIZERS_PARALLELISM", "MAX_TOKENS", "PWD", "MONKEY", "PATH")),
    ],
)
def test_which_variables_are_credentials(monkeypatch: pytest.MonkeyPatch, name: str, is_refused: bool) -> None:
    monkeypatch.setenv(name, "x")
    for text in (f"${{oc.env:{name}}}", f"${{oc.env:'{name}',d}}", f"${{oc.env:NOPE,${{oc.env:{name}}}}}"):
        assert [("would write a secret" in found) for found in messages(text)] == [True] * is_refused


def test_a_credential_in_a_scratch_value_is_refused_too() -> None:
    assert len(messages("${oc.env:HF_TOKEN}", "_unused")) == 1


def test_one_mistake_is_reported_once() -> None:
    root, _ = parse("_a: {u: '${nope}'}\nx: ${_a}\ny: ${x.u}\nz: '${y} ${_a.u}'\n")
    assert isinstance(root, Mapping)
    _, faults = interpolate(root)
    assert [(fault.mark[:2], fault.path) for fault in faults] == [((1, 9), ("_a", "u"))]


def test_circles() -> None:
    root, _ = parse("a: {b: '${c}'}\nc: ${d}\nd: ${a.b}\ne: [1, '${e}']\n")
    assert isinstance(root, Mapping)
    _, faults = interpolate(root)
    assert [fault.path for fault in faults] == [("d",), ("e", 1)]
    assert all("it refers back to itself" in fault.message for fault in faults)


def test_a_few_lines_that_would_make_billions() -> None:
    texts = {"_t0": "x" * 100} | {f"_t{n}": f"${{_t{n - 1}}}" * 10 for n in range(1, 20)}
    lists = {"_l0": [1] * 10} | {f"_l{n}": [f"${{_l{n - 1}}}"] * 10 for n in range(1, 20)}
    assert [message.partition(": ")[2] for message in _interpolated(texts | {"x": "${_t19}"})[1]] == [
        r"the text grows longer than 1000000 characters; correct it, or write `\${_t4}` for the text itself"
    ]
    assert _interpolated(lists | {"x": "${_l19}"}) == (
        None,
        ["its interpolations make more than 500000 values; use fewer"],
    )


def test_a_chain_that_is_too_long() -> None:
    chain = {"_c0": 1} | {f"_c{n}": f"${{_c{n - 1}}}" for n in range(1, 3000)}
    assert _interpolated(chain | {"x": "${_c2999}"}) == (
        None,
        ["its interpolations refer to each other too deeply; use fewer"],
    )


def test_omegaconf_is_not_loaded_where_it_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "omegaconf", None)  # importing it would fail
    assert resolve(r"${_a.b} \${x} ${oc.env:NAME}") == "5 ${x} alice"


PIECES = st.lists(
    st.sampled_from(["\\", "\\\\", "${", "}", "a", "$", "{", "${a.b}", "${HOME}", "${oc.env:X}", " ", ".", "'", "\n"])
    | st.text(max_size=3),
    max_size=12,
).map("".join)


@given(PIECES, st.booleans())
def test_an_escaped_text_is_that_text(text: str, in_shell: bool) -> None:
    parts = list(split(escape(text, in_shell), in_shell))
    assert not any(is_placeholder for is_placeholder, _ in parts)
    assert "".join(part for _, part in parts) == text


@given(st.lists(st.sampled_from(["\\", "${a.b}", "x", "$", " ", "}"]), max_size=10).map("".join))
def test_escapes_are_omegaconfs(text: str) -> None:
    data = {"a": {"b": "5"}, "x": text}
    assert _interpolated(data) == ({"a": {"b": "5"}, "x": OmegaConf.create(data)["x"]}, [])
