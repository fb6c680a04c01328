"""Whatever a directive's value holds, sbatch reads it whole from its #SBATCH line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import DictLoader

from gymsubmit.errors import TemplateError
from gymsubmit.render.environment import BashEnvironment, render_template
from gymsubmit.render.shell import RefusedValueError, sbatch

SPECIAL = "'\"$`\\\t\r\v\f #~{}[]()*?!&;|<>=+-%@:,.^/a0"
TEXTS = st.text(st.sampled_from(SPECIAL) | st.characters(codec="utf-8", exclude_characters="\0\n"), max_size=40)
SPACES = b" \t\n\v\f\r"


def options(script: str) -> list[str]:
    """What sbatch reads from a script: `_opt_batch_script` and `next_line` of Slurm's src/sbatch/opt.c."""
    found: list[str] = []
    for line in script.encode().split(b"\n"):
        if line.startswith(b"#SBATCH"):
            rest = line.removeprefix(b"#SBATCH")
            while True:
                argument, used = next_argument(rest)
                if argument is None:
                    break
                found.append(argument.decode())
                rest = rest[used:]
        elif line.strip(SPACES) and not line.startswith(b"#"):
            break
    return found


def next_argument(line: bytes) -> tuple[bytes | None, int]:
    """`_get_argument` of the same file: the next argument of a line, if any, and how many bytes were read."""
    at = 0
    while at < len(line) and line[at] in SPACES:
        at += 1
    argument, quote, escaped = bytearray(), 0, False
    while at < len(line) and (quote or line[at] not in SPACES):
        byte = line[at]
        if escaped:
            escaped = False
            argument.append(byte)
        elif byte == ord("\\"):
            escaped = True
        elif quote:
            if byte == quote:
                quote = 0
            else:
                argument.append(byte)
        elif byte == ord("#"):
            break
        elif byte in b"'\"":
            quote = byte
        else:
            argument.append(byte)
        at += 1
    if quote:
        raise ValueError("Unmatched quote")
    return bytes(argument) or None, at


@given(values=st.lists(TEXTS, min_size=1, max_size=8))
@settings(max_examples=300, deadline=None)
def test_any_value_arrives_whole(values: list[str]) -> None:
    lines = [f"#SBATCH --comment={sbatch(value)}\n#SBATCH --time=1 --x={sbatch(value)} --y=2" for value in values]
    expected = [each for value in values for each in (f"--comment={value}", "--time=1", f"--x={value}", "--y=2")]
    assert options("\n".join(["#!/bin/bash", *lines, "true"])) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("batch", "batch"),
        ("logs/job-%j.log", "logs/job-%j.log"),
        ("n[1-4,7]", "n[1-4,7]"),
        (4, "4"),
        ("", '""'),
        ("a b", '"a b"'),
        ("it's", '"it\'s"'),
        ('say "hi"', r'"say \"hi\""'),
        (r"back\slash", r'"back\\slash"'),
        ("a#b", '"a#b"'),
        ("$(id) `id`", '"$(id) `id`"'),
        ("&(a|b)", '"&(a|b)"'),
        ("名前", '"名前"'),
    ],
)
def test_how_a_value_reads(value: str | int, text: str) -> None:
    assert sbatch(value) == text
    assert options(f"#!/bin/bash\n#SBATCH --x={text}") == [f"--x={value}"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a\nb", "a directive's value with a line break; write it on one line"),
        ("a\0b", "text with a NUL character, which no argument can hold; remove it"),
        ("\udc80", "text that is not valid Unicode; write it again"),
        (None, "None is not a directive's value; give it as text or a number"),
        (True, "a boolean is not a directive's value; give it as text or a number"),
    ],
)
def test_what_no_directive_can_hold_is_refused(value: object, message: str) -> None:
    with pytest.raises(RefusedValueError) as refused:
        sbatch(value)
    assert str(refused.value) == message


def test_a_refused_value_names_its_line() -> None:
    environment = BashEnvironment(DictLoader({"x.j2": "#!/bin/bash\n#SBATCH --comment={{ comment | sbatch }}\n"}))
    with pytest.raises(TemplateError) as refused:
        render_template(environment, "x.j2", comment="a\nb")
    assert str(refused.value) == "templates/x.j2:2: a directive's value with a line break; write it on one line"
