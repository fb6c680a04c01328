"""How shell text of a user reaches the step that runs it."""

from pathlib import PurePosixPath

import pytest

from gymsubmit.lower.scripts import LONGEST_CARRIED_BYTES, LoweredScript, lower_script, lower_shell_text
from gymsubmit.plan import Script, StagedFile
from gymsubmit.words import UserShell

DIRECTORY = PurePosixPath("/runs/b")


def test_text_is_carried_up_to_a_size_in_bytes_and_staged_beyond_it() -> None:
    longest = "é" * (LONGEST_CARRIED_BYTES // 2)
    assert lower_shell_text(longest, "s.pre_command", DIRECTORY) == (Script(UserShell(longest), None), ())
    staged = StagedFile(PurePosixPath("s.pre_command"), longest + "x", 0o644)
    assert lower_shell_text(longest + "x", "s.pre_command", DIRECTORY) == (
        Script(None, DIRECTORY / "s.pre_command"),
        (staged,),
    )


def test_text_that_is_carried_is_no_argument_too_long_for_the_kernel() -> None:
    # MAX_ARG_STRLEN; a quote in the text becomes four characters.
    assert LONGEST_CARRIED_BYTES * 4 < 128 * 1024


@pytest.mark.parametrize(
    ("first_line", "words"),
    [
        ("#!/bin/sh", ("/bin/sh",)),
        ("#! /bin/sh ", ("/bin/sh",)),
        ("#!/bin/sh -e", ("/bin/sh", "-e")),
        ("#!\t/usr/bin/env\t-S  python3 -u \t", ("/usr/bin/env", "-S  python3 -u")),
        ("#!/usr/bin/python3\r", ("/usr/bin/python3",)),
    ],
)
@pytest.mark.parametrize("rest", ["", "\n", "\nprint(1)\n"])
def test_a_script_is_run_by_the_program_that_its_first_line_names(
    first_line: str, words: tuple[str, ...], rest: str
) -> None:
    text = first_line + rest
    assert lower_script(text, "s.command", DIRECTORY) == LoweredScript(
        script=None,
        argv=(*words, DIRECTORY / "s.command"),
        files=(StagedFile(PurePosixPath("s.command"), text, 0o755),),
    )


@pytest.mark.parametrize("text", ["serve", "# !/bin/sh\nserve", " #!/bin/sh\nserve", "\n#!/bin/sh", "#!", "#! \nserve"])
def test_a_script_that_names_no_program_is_shell_text(text: str) -> None:
    assert lower_script(text, "s.command", DIRECTORY) == LoweredScript(Script(UserShell(text), None), None, ())
