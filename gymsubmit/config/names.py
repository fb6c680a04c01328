"""Names, lines and texts: what they may hold, and the shell identifiers that scripts make of names."""

import re
from typing import Annotated

from gymsubmit.config.base import Check, wrong

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NOT_IDENTIFIER = re.compile(r"[^A-Z0-9]")
LONGEST_NAME = 63


def check_name(name: str) -> str:
    """Return `name` if it can name a service, a pool, a compute entry or a benchmark; raise otherwise."""
    if not _NAME.fullmatch(name):
        message = f"{name!r} is no valid name; use ASCII letters, digits, '.', '_' and '-', a letter or digit first"
        raise wrong(message)
    if len(name) > LONGEST_NAME:
        message = f"the name is {len(name)} characters long; use at most {LONGEST_NAME}"
        raise wrong(message)
    return name


def identifier(name: str) -> str:
    """The part of a shell identifier that stands for `name`: upper-cased, all but ASCII letters and digits as `_`.

    It may begin with a digit: an identifier is made of it by a prefix.
    """
    return _NOT_IDENTIFIER.sub("_", name.upper())


def check_text(text: str) -> str:
    """Return `text` if a process can be given it as an argument or a variable; raise otherwise."""
    if "\0" in text:
        message = "holds a NUL character, which no argument or variable can hold; remove it"
        raise wrong(message)
    return text


def check_line(text: str) -> str:
    """Return `text` if it is one line without a NUL; raise otherwise."""
    check_text(text)
    if "\n" in text or "\r" in text:
        message = "holds a line break; write it on one line"
        raise wrong(message)
    return text


def check_filled_line(text: str) -> str:
    """Return `text` if it is one line, and not blank; raise otherwise."""
    check_line(text)
    if not text.strip():
        message = "is empty; give it a value, or leave the field out"
        raise wrong(message)
    return text


def check_operand(text: str) -> str:
    """Return `text` if it is a filled line that no program takes for an option; raise otherwise."""
    check_filled_line(text)
    if text.startswith("-"):
        message = f"{text!r} begins with a dash, so that a program would take it for an option; write it without"
        raise wrong(message)
    return text


def check_filled_text(text: str) -> str:
    """Return `text` if it is not blank and holds no NUL; raise otherwise."""
    check_text(text)
    if not text.strip():
        message = "is empty; give it a value, or leave the field out"
        raise wrong(message)
    return text


Name = Annotated[str, Check(check_name)]
Text = Annotated[str, Check(check_text)]
FilledText = Annotated[str, Check(check_filled_text)]
Line = Annotated[str, Check(check_line)]
FilledLine = Annotated[str, Check(check_filled_line)]
Operand = Annotated[str, Check(check_operand)]
