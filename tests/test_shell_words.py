"""Whatever a value holds, bash gets it as one word, byte for byte, and runs none of it."""

import subprocess
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymsubmit.render.shell import RefusedValueError, argv, commas, heredoc, word
from gymsubmit.words import (
    AllHosts,
    NodeAddress,
    NodeEndpoint,
    NodeHost,
    NodeUrl,
    OwnAddress,
    PoolHosts,
    RankOffset,
    RuntimeEnv,
    Secret,
    UserShell,
    Word,
)

SPECIAL = "'\"$`\\\n\t\r #~{}[]()*?!&;|<>=+-%@:,.^/a0"
TEXTS = st.text(st.one_of(st.sampled_from(SPECIAL), st.characters(codec="utf-8", exclude_characters="\0")), max_size=40)
IN_BASH: tuple[tuple[Word, str], ...] = (
    (RuntimeEnv("HOSTILE"), "a  b$(c)'\n"),
    (Secret("KEY"), "s e'c\"ret"),
    (NodeHost(1), "n2"),
    (NodeAddress(1), "10.0.0.2"),
    (NodeUrl(1, 8000), "http://[fd00::2]:8000"),
    (NodeEndpoint(1, 6379), "[fd00::2]:6379"),
    (OwnAddress(), "10.0.0.9"),
    (PoolHosts("GYM_POOL_A_NODES"), "n1,n2"),
    (AllHosts(), "n1,n2,n3"),
    (RankOffset(4), "8"),
)
PRELUDE = r"""
GYM_RUNTIME_HOSTILE=$'a  b$(c)\'\n'
GYM_SECRET_KEY=$'s e\'c"ret'
gym_nodes=(n1 n2 n3)
GYM_NODE_ADDRESS_1=10.0.0.2
GYM_NODE_URL_1=http://[fd00::2]
GYM_OWN_ADDRESS=10.0.0.9
GYM_POOL_A_NODES=n1,n2
gym_all_nodes=n1,n2,n3
SLURM_NODEID=2
show() { printf '%s\0' "$@"; }
"""


def bash(script: str, locale: str = "C.UTF-8") -> bytes:
    done = subprocess.run(
        ["/bin/bash", "-eu", "/dev/stdin"],
        input=(PRELUDE + script).encode(),
        capture_output=True,
        env={"PATH": "/nowhere", "LC_ALL": locale},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    return done.stdout


def shown(values: Sequence[str]) -> bytes:
    return b"".join(value.encode() + b"\0" for value in values)


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
@given(texts=st.lists(TEXTS, min_size=20, max_size=60))
@settings(max_examples=60, deadline=None)
def test_any_text_is_one_word(locale: str, texts: list[str]) -> None:
    script = "".join(f'show {word(text)} x{word(text)}y\nv={word(text)}\nshow "$v"\n' for text in texts)
    assert bash(script, locale) == shown([shape for text in texts for shape in (text, f"x{text}y", text)])


@given(
    words=st.lists(
        st.lists(st.sampled_from(IN_BASH) | TEXTS.map(lambda text: (text, text)), max_size=5), min_size=10, max_size=20
    )
)
@settings(max_examples=60, deadline=None)
def test_a_tuple_is_its_parts_in_one_word(words: list[list[tuple[Word, str]]]) -> None:
    script = "".join(f"show {word(tuple(part for part, _ in parts))}\n" for parts in words)
    assert bash(script) == shown(["".join(value for _, value in parts) for parts in words])


@given(commands=st.lists(st.lists(TEXTS | st.integers(), max_size=8), min_size=5, max_size=10))
@settings(max_examples=60, deadline=None)
def test_any_command_arrives_as_its_words(commands: list[list[str | int]]) -> None:
    script = "".join(f"{argv(('show', *words))}\n" for words in commands if words)
    assert bash(script) == shown([str(each) for words in commands for each in words])


@given(texts=st.lists(st.text("END_OF_SCRIPT2 \t\n\\$`'x", max_size=40) | TEXTS, min_size=5, max_size=10))
@settings(max_examples=60, deadline=None)
def test_any_shell_text_is_carried_verbatim(texts: list[str]) -> None:
    tricky = [f"\tEND_OF_SCRIPT\nEND_OF_SCRIPT_2\n{text}" for text in texts[:3]]
    script = ""
    for text in [*texts, *tricky]:
        carried = heredoc(UserShell(text))
        take = f"{{ IFS= read -r -d '' v || true; }} {carried}\n"
        script += f'{take}show "$v"\nv=$({take}printf %sX "$v")\nshow "$v"\n'
    whole = [text if text == "" or text.endswith("\n") else text + "\n" for text in [*texts, *tricky]]
    assert bash(script) == shown([shape for text in whole for shape in (text, text + "X")])


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        ("", "<<'END_OF_SCRIPT'\nEND_OF_SCRIPT"),
        ("a", "<<'END_OF_SCRIPT'\na\nEND_OF_SCRIPT"),
        ("a\n", "<<'END_OF_SCRIPT'\na\nEND_OF_SCRIPT"),
        ("END_OF_SCRIPT", "<<'END_OF_SCRIPT_2'\nEND_OF_SCRIPT\nEND_OF_SCRIPT_2"),
    ],
)
def test_how_shell_text_is_carried(text: str, carried: str) -> None:
    assert heredoc(UserShell(text)) == carried


@pytest.mark.parametrize("text", ["A=b", "A+=b", "A=", "if", "time", "function", "case", "in", "=x", "done", "A[0]=b"])
def test_a_value_is_a_command_name_even_where_bash_looks_for_syntax(text: str) -> None:
    script = 'command_not_found_handle() { show "$@"; }\n' + f"{word(text)} x\n{argv((text, 'x'))}\n"
    assert bash(script) == shown([text, "x", text, "x"])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain-1.0_x/y:z=@%+,", "plain-1.0_x/y:z=@%+,"),
        ("--port=8000", "--port=8000"),
        ("+a.b=c", "+a.b=c"),
        ("", "''"),
        ("a b", "'a b'"),
        ("it's", r"'it'\''s'"),
        ("~/x", "'~/x'"),
        ("{a,b}", "'{a,b}'"),
        ("名前", "'名前'"),
        ("a=b", "'a=b'"),
        ("a\nb\t'\\\r\x01\x7f\x85é", r"$'a\nb\t\'\\\r\001\177\302\205é'"),
        (-5, "-5"),
        (PurePosixPath("/a b"), "'/a b'"),
        ((), "''"),
        (("", ("", "")), "''"),
        (("a", "", ("b", 1)), "ab1"),
        (("A", "=", RuntimeEnv("X")), "'A='\"$GYM_RUNTIME_X\""),
        (("http://", NodeHost(0), ":", 80), 'http://"${gym_nodes[0]}":80'),
        ((RuntimeEnv("A"), Secret("B"), "c"), '"$GYM_RUNTIME_A""$GYM_SECRET_B"c'),
        (NodeUrl(2, 8000), '"$GYM_NODE_URL_2:8000"'),
        (NodeEndpoint(2, 6379), '"${GYM_NODE_URL_2#http://}:6379"'),
        (NodeAddress(2), '"$GYM_NODE_ADDRESS_2"'),
        (OwnAddress(), '"$GYM_OWN_ADDRESS"'),
        (PoolHosts("GYM_POOL_X_NODES"), '"$GYM_POOL_X_NODES"'),
        (AllHosts(), '"$gym_all_nodes"'),
        (RankOffset(8), '"$((SLURM_NODEID * 8))"'),
    ],
)
def test_how_a_word_reads(value: object, text: str) -> None:
    assert word(value) == text


def test_how_a_command_reads() -> None:
    words = (
        "vllm",
        "serve",
        "org/m",
        "--port",
        8000,
        "--seed",
        -1,
        "--name",
        "a b",
        "-v",
        "+x=1",
        ("-", "u", NodeHost(0)),
    )
    lines = [
        "vllm serve org/m",
        "--port 8000",
        "--seed -1",
        "--name 'a b'",
        "-v",
        "+x=1",
        '-u"${gym_nodes[0]}"',
    ]
    assert argv(words) == " \\\n        ".join(lines)
    assert argv(words, 2) == " \\\n  ".join(lines)
    assert argv(("--first", RuntimeEnv("X"), "a=b")) == '--first "$GYM_RUNTIME_X" a=b'


def test_how_parts_joined_by_commas_read() -> None:
    assert commas(("/a:/b", "/c d:/c d:ro")) == "'/a:/b,/c d:/c d:ro'"
    assert commas(("NVIDIA_VISIBLE_DEVICES",)) == "NVIDIA_VISIBLE_DEVICES"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("/a:/b", "a value of type str is no tuple of texts; only one can be joined by commas"),
        (("/a", 1), "a value of type tuple is no tuple of texts; only one can be joined by commas"),
        (("/a", "/b,/c"), "a part with a comma, which would end it; write it without"),
    ],
)
def test_what_cannot_be_joined_by_commas_is_refused(value: object, message: str) -> None:
    with pytest.raises(RefusedValueError) as refused:
        commas(value)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "None is not a word; pass text, a number or another Word"),
        (True, "a boolean is not a word; pass what it stands for as text"),
        (1.5, "a float is not a word; pass text, a number or another Word"),
        (["a"], "a list is not a word; pass text, a number or another Word"),
        ({}, "a mapping is not a word; pass text, a number or another Word"),
        (Path, "a value of type type is not a word; pass text, a number or another Word"),
        (word("a"), "a value of type Markup is not a word; pass what it stands for as text"),
        (("a", None), "None is not a word; pass text, a number or another Word"),
        (UserShell("x"), "the user's shell text is not a word; write it with the heredoc filter"),
        ("a\0b", "text with a NUL character, which no argument can hold; remove it"),
        ("\udc80", "text that is not valid Unicode; write it again"),
        (RuntimeEnv("A B"), "'A B' is not the name of a shell variable; use letters, digits and _"),
    ],
)
def test_what_is_no_word_is_refused(value: object, message: str) -> None:
    with pytest.raises(RefusedValueError) as refused:
        word(value)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("vllm serve", "a value of type str is not a command; argv takes a tuple of words"),
        ((), "a command without words; argv needs at least one"),
        (("a", True), "a boolean is not a word; pass what it stands for as text"),
    ],
)
def test_what_is_no_command_is_refused(value: object, message: str) -> None:
    with pytest.raises(RefusedValueError) as refused:
        argv(value)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("echo", "a value of type str is not the user's shell text; heredoc takes a UserShell"),
        (UserShell("a\0"), "text with a NUL character, which no argument can hold; remove it"),
    ],
)
def test_only_the_users_shell_text_is_carried(value: object, message: str) -> None:
    with pytest.raises(RefusedValueError) as refused:
        heredoc(value)
    assert str(refused.value) == message
