"""Text split into words as a shell splits it, and the flags among words."""

import re
import shlex
import shutil
import subprocess

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gymsubmit.config.arguments import flags, owned_flag, split_words

BASH = shutil.which("bash") or "bash"


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
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        split_words(text)
    assert str(caught.value) == message


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))))
def test_quoted_words_come_back(words: list[str]) -> None:
    # The line break of Windows is taken for one; within quotes it would not come back.
    assume(not any("\r\n" in word for word in words))
    assert split_words(" ".join(shlex.quote(word) for word in words)) == tuple(words)


def splits(text: str) -> bool:
    try:
        split_words(text)
    except ValueError:
        return False
    return True


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text("ab \n\t'\"\\-=x\u00e9", max_size=12), min_size=40, max_size=40))
def test_bash_splits_alike(texts: list[str]) -> None:
    # Left out here, since a strategy that throws most of its lists away fails Hypothesis' health check now and then.
    texts = [text for text in texts if splits(text)]
    # In an array a line break is a blank for bash too.
    script = "".join(f'words=({text}\n); printf "%s\\0" "${{words[@]}}" "."\n' for text in texts)
    ran = subprocess.run([BASH, "--norc"], input=script.encode(), capture_output=True, check=True)
    words = [word for text in texts for word in (*split_words(text), ".")]
    assert ran.stdout.decode().split("\0")[:-1] == words


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
