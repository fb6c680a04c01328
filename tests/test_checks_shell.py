"""Shell text that the user wrote, read by bash."""

import shutil
import subprocess
from pathlib import Path

import pytest
from configs import command, findings, prefill_decode, vllm
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gymsubmit.config.checks.shell import complaints

BASH = shutil.which("bash") or "bash"


def test_every_place_where_shell_text_stands() -> None:
    services = {
        "p": vllm(pre_command="export A=1\nb )\n"),
        "c": command(command='x "a\n', pre_command="{ x"),
        "words": command(command=["x", "("]),
        "x": prefill_decode({"node_pool": "a", "pre_command": "fi"}, {"node_pool": "b", "pre_command": "done"}, port=9),
    }
    benchmarks = {"b": {"command": "if x; then y"}, "ok": {"command": "if x; then y; fi"}}
    found = findings(services, compute={"node_pools": {"a": {}, "b": {}}}, driver={"benchmarks": benchmarks})
    assert found == [
        ("services.p.pre_command", "line 2: syntax error near unexpected token `)'; correct the shell text"),
        ("services.c.pre_command", "line 2: syntax error: unexpected end of file; correct the shell text"),
        ("services.c.command", "line 1: unexpected EOF while looking for matching `\"'; correct the shell text"),
        ("services.x.prefill.pre_command", "line 1: syntax error near unexpected token `fi'; correct the shell text"),
        ("services.x.decode.pre_command", "line 1: syntax error near unexpected token `done'; correct the shell text"),
        ("driver.benchmarks.b.command", "line 2: syntax error: unexpected end of file; correct the shell text"),
    ]


@pytest.mark.parametrize(
    ("first_line", "is_shell"),
    [
        ("", True),
        ("#!/bin/sh", True),
        ("#!/bin/bash -eu", True),
        ("#! /usr/bin/env bash", True),
        ("#!/usr/bin/env -S bash -e", True),
        ("#!/usr/bin/env python3", False),
        ("#!/usr/bin/python3 -u", False),
        ("#!/bin/zsh", False),
        ("#!/usr/bin/env -S uv run --script", False),
    ],
)
def test_a_script_of_another_language_is_not_read(first_line: str, is_shell: bool) -> None:
    found = findings({"c": command(command=f"{first_line}\nx(\n")})
    said = "line 2: syntax error near unexpected token `newline'; correct the shell text"
    assert found == [("services.c.command", said)] * is_shell


def test_text_that_bash_takes() -> None:
    texts = [
        "shopt -s extglob\nrm !(a|b)",
        "cat <<EOF\n$(x) ' \" `\nEOF\n",
        "cat <<EOF\nnever closed",
        "x \\",
        "# ' only a comment",
        "a=(1 2)\n[[ ${a[0]} == @(1|2) ]]",
        "",
        "\n",
        "set +n; exit 3",
        "return 1",
    ]
    assert complaints(texts) == [None] * len(texts)


def test_each_text_is_read_for_itself() -> None:
    wrong = (1, "unexpected EOF while looking for matching `\"'")
    texts = ['x "', "y", '"', "x=$(a", "z", "x=$(a", "`", '"']
    assert [complaint is None for complaint in complaints(texts)] == [
        False,
        True,
        False,
        False,
        True,
        False,
        False,
        False,
    ]
    assert complaints(texts)[0] == complaints(texts)[-1] == wrong


def test_nothing_of_it_runs(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    texts = [
        f"touch {mark}",
        f"set +n\ntouch {mark}",
        f"x=$(touch {mark})",
        f"}}\ntouch {mark}\n{{",
        f")\ntouch {mark}\n(",
        f"'\ntouch {mark}\n'",
        f"local -\ntouch {mark}",
        f"trap 'touch {mark}' EXIT DEBUG ERR RETURN",
        f"`touch {mark}`",
        f"cat <(touch {mark})",
        f"EOF\ntouch {mark}",
    ]
    complaints(texts)
    assert list(tmp_path.iterdir()) == []


def test_the_environment_of_the_caller_changes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "env").write_text(f"touch {tmp_path}/ran")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "env"))
    monkeypatch.setenv("SHELLOPTS", "xtrace:verbose")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("BASH_FUNC_read_text%%", "() { :; }")
    assert complaints(["a )"]) == [(1, "syntax error near unexpected token `)'")]
    assert [path.name for path in tmp_path.iterdir()] == ["env"]


def test_without_a_bash_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert complaints(["a )"]) == [None]


PIECES = [
    "a",
    " ",
    "\n",
    ";",
    "&&",
    "|",
    "(",
    ")",
    "{",
    "}",
    "'",
    '"',
    "`",
    "$(",
    "$((",
    "))",
    "${x",
    "\\",
    "#",
    "<<E\n",
]
PIECES += [
    "\nE\n",
    "if ",
    " then ",
    " fi ",
    "case x in ",
    " esac ",
    "for ",
    " do ",
    " done ",
    "f() ",
    "=(",
    "é",
]


def is_taken(text: str) -> bool:
    """Whether `bash -n` reads a text without a complaint; for some that it complains about it exits with 0."""
    ran = subprocess.run([BASH, "-O", "extglob", "-n"], input=text.encode(), capture_output=True, check=False)
    return ran.returncode == 0 and all(b"warning: " in line for line in ran.stderr.splitlines())


@settings(max_examples=15, deadline=None)
@example(["[[ ;", "[[ a", "x"])
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), min_size=8, max_size=8))
def test_as_bash_n_reads_each_text_in_a_file_of_its_own(texts: list[str]) -> None:
    assert [complaint is None for complaint in complaints(texts)] == [is_taken(text) for text in texts]
