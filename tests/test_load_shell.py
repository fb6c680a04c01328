"""Mistakes in shell text have their place in the file, not in the text alone."""

from pathlib import Path

import pytest
from broken_configs import problems, with_

from gymsubmit.config.load import load_config

BLOCK = """\
    pre_command: |
      export A=1

      if x; then
        y )
      fi
"""
TOKEN = "syntax error near unexpected token `)'"
QUOTE = "unexpected EOF while looking for matching `''"

pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


def config(field: str) -> str:
    """The valid config with a field in its sixth line, and two lines of shell text to refer to."""
    return with_(("    port: 8000\n", field)) + '_text: {two_lines: "b\\nc"}\n'


@pytest.mark.parametrize(
    ("field", "place", "message"),
    [
        (BLOCK, "10:9", TOKEN),
        (BLOCK.replace("|", "|-  # why"), "10:9", TOKEN),
        (BLOCK.replace("|", "&shell |"), "10:9", TOKEN),
        (BLOCK.replace("A=1", "A=${job.output_path}"), "10:9", TOKEN),
        ("    pre_command: |\n      x 'a\n", "7:7", QUOTE),
        # Bash misses something behind the last line.
        ("    pre_command: |\n      if x; then\n      y\n\n", "8:7", "syntax error: unexpected end of file"),
        ("    pre_command: b )\n", "6:18", TOKEN),
        # Lines of the text that are none of the file: the line is named.
        ("    pre_command: >\n      a\n\n      b )\n", "6:18", f"line 2: {TOKEN}"),
        ('    pre_command: "a\\nb )"\n', "6:18", f"line 2: {TOKEN}"),
        ("    pre_command: |\n      a\n      ${_text.two_lines} )\n", "6:18", f"line 3: {TOKEN}"),
    ],
)
def test_the_line_is_that_of_the_file(field: str, place: str, message: str) -> None:
    assert problems(config(field)) == [f"{place}: services.policy.pre_command: {message}; correct the shell text"]


@pytest.mark.parametrize(
    ("value", "shown", "message"),
    [("a )", "a )", TOKEN), ("|\n  a\n  b )", "|\\n  a\\n  b )", f"line 2: {TOKEN}")],
)
def test_an_override_is_named_instead(value: str, shown: str, message: str) -> None:
    assert problems(config(BLOCK), f"services.policy.pre_command={value}") == [
        f"override 'services.policy.pre_command={shown}': services.policy.pre_command: {message}; "
        "correct the shell text"
    ]


def test_the_block_is_right_without_its_mistake() -> None:
    Path("c.yaml").write_text(config(BLOCK.replace(" )", "")))
    assert load_config(Path("c.yaml")).warnings == ()
