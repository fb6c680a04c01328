"""Text split into words as a shell splits it, and the flags among words."""

import shlex
import subprocess

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gymsubmit.config.arguments import flags, owned_flag, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        (" \t\n", ()),
        ("a b\tc\nd", ("a", "b", "c", "d")),
        ("a \\\n  b", ("a", "b")),
        ("a\\\nb", ("ab",)),
        ("a \\\r\n b", ("a", "b")),
        ("'a\\\nb'", ("a\\\nb",)),
        ('"a\\\nb"', ("ab",)),
        ("'' \"\"", ("", "")),
        ("a''b\"c d\"", ("abc d",)),
        ("# ; | & $X `x` $(y) * ~ {a,b} <z", ("#", ";", "|", "&", "$X", "`x`", "$(y)", "*", "~", "{a,b}", "<z")),
        ("\\# \\ x \\'", ("#", " x", "'")),
        (r'"\$ \` \" \\ \a"', ('$ ` " \\ \\a',)),
        ("""--x='{"a": "b c"}'""", ('--x={"a": "b c"}',)),
        ("a\rb\x0bc\u00a0d", ("a\rb\x0bc\u00a0d",)),
    ],
)
def test_words(text: str, words: tuple[str, ...]) -> None:
    assert split_words(text) == words


def test_a_list_of_words_is_used_as_it_is() -> None:
    assert split_words(("a b", "'")) == ("a b", "'")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 'b c", "has a quote ' without its closing one, before 'b c'; close it"),
        ('a\nb "c', "has a quote \" without its closing one in line 2, before 'c'; close it"),
        ("it's", "has a quote ' without its closing one, before 's'; close it"),
        ("a \\", "ends in a backslash; remove it, or double it"),
    ],
)
def test_what_is_left_open_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=".") as caught:
        split_words(text)
    assert str(caught.value) == message


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))))
def test_quoted_words_come_back(words: list[str]) -> None:
    # The line break of Windows is taken for one; within quotes it would not come back.
    assume(not any("\r\n" in word for word in words))
    assert split_words(" ".join(shlex.quote(word) for word in words)) == tuple(words)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text("ab \n\t'\"\\-=#é", max_size=12), min_size=40, max_size=40))
def test_bash_splits_alike(texts: list[str]) -> None:
    # Bash takes a # in front of a word for a comment; ours has none.
    texts = [text.replace("#", "x#") for text in texts]
    script = "printf '%s\\0' {}\nprintf '\\1\\0'\n"
    whole, expected = "", b""
    for text in texts:
        try:
            words = split_words(text)
        except ValueError:
            continue
        # A line break ends a command; for ours it is a blank, where no quote holds it and no backslash joins the lines.
        whole += f"eval {shlex.quote('words=(' + text + chr(10) + ')')}\n"
        whole += 'printf "%s\\0" "${words[@]}" end\n'
        expected += b"".join(word.encode() + b"\0" for word in words) * bool(words) + b"\0" * (not words) + b"end\0"
    assert script
    ran = subprocess.run(["bash"], input=whole.encode(), capture_output=True, check=True)
    assert ran.stdout == expected.replace(b"\0" + b"end", b"\0end")


def test_flags_are_read_as_vllm_reads_them() -> None:
    words = split_words("m --a_b=c_d -tp 4 --x.y_z 1 -O3 -1 -.5 v --json={'-q'} -- --not")
    assert tuple(flags(words)) == ("--a-b", "-tp", "--x", "-O3", "--json")


@pytest.mark.parametrize(
    ("flag", "key"),
    [
        ("--port", "--port"),
        ("--por", "--port"),
        ("--porter", None),
        ("-tp", "-tp"),
        ("-t", "-tp"),
        ("--data-parallel-x", "--data-parallel-*"),
        ("--data", "--data-parallel-*"),
        ("--", None),
        ("-", None),
    ],
)
def test_owned_flags_in_any_spelling(flag: str, key: str | None) -> None:
    assert owned_flag(flag, {"--port": "", "-tp": "", "--data-parallel-*": ""}) == key
