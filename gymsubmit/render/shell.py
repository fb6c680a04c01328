"""Values as shell text: the only place that writes one.

A value becomes exactly one word of bash, whatever it holds, or is refused. `word` is what a template's `{{ value }}`
does; the filters are for the places where one word is not what is wanted.
"""

# ruff: noqa: S704 (this is where text is made safe)

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from markupsafe import Markup

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
)

BARE = re.compile(r"[A-Za-z0-9_./:=@%+,-]+")
"""Text that means itself outside quotes; `~`, braces and globs are not in it."""

# Where a command may begin, bash takes `A=b` for an assignment and these for syntax, unless some of it is quoted.
ASSIGNMENT = re.compile(r"[A-Za-z0-9_]*\+?=")
RESERVED = frozenset(
    "if then elif else fi time for in until while do done case esac coproc select function".split()  # noqa: SIM905
)

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
ANSI_C = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\\": r"\\", "'": r"\'"}

# sbatch's scanner (Slurm, src/sbatch/opt.c) gives these no meaning outside quotes; it does not expand globs.
DIRECTIVE_BARE = re.compile(r"[A-Za-z0-9_./:=@%+,\[\]-]+")


class RefusedValueError(ValueError):
    """A value that has no place in shell text; the message is `what is wrong; what to do`, without the value."""


def word(value: object) -> Markup:
    """Spell a `Word` as exactly one shell word that is safe in any unquoted place.

    Raises:
        RefusedValueError: The value is not a Word, is `UserShell`, or holds a NUL or text that is not Unicode.
    """
    return Markup(_spell(value, may_begin_command=True))


def argv(words: object, indent: int = 8) -> Markup:
    r"""Spell a tuple of words as one command, each flag and each Hydra override on a line of its own.

    Words up to the first that begins with `-` or `+` are on the first line; any other word stays with the flag
    before it. So `("vllm", "serve", "m", "--port", 8000)` is `vllm serve m \`, newline, 8 blanks, `--port 8000`.
    `indent` is the number of blanks.

    Raises:
        RefusedValueError: As `word`; or there are no words.
    """
    if not isinstance(words, tuple):
        raise RefusedValueError(f"{_named(words)} is not a command; argv takes a tuple of words")
    if not words:
        raise RefusedValueError("a command without words; argv needs at least one")
    text = _spell(words[0], may_begin_command=True)
    for each in words[1:]:
        separator = " \\\n" + " " * indent if _is_flag(each) else " "
        text += separator + _spell(each, may_begin_command=False)
    return Markup(text)


def heredoc(script: object) -> Markup:
    """Carry the user's shell text verbatim in a quoted here-document; it must be the last thing on its line.

    Raises:
        RefusedValueError: Not a `UserShell`, or its text holds a NUL or is not Unicode.
    """
    if not isinstance(script, UserShell):
        raise RefusedValueError(f"{_named(script)} is not the user's shell text; heredoc takes a UserShell")
    text = _checked(script.text)
    # Inside `$( )` some versions of bash end a here-document at a line that only begins with the delimiter.
    starts = [line.lstrip("\t") for line in text.split("\n")]
    delimiter, number = "END_OF_SCRIPT", 1
    while any(line.startswith(delimiter) for line in starts):
        number += 1
        delimiter = f"END_OF_SCRIPT_{number}"
    body = text if not text or text.endswith("\n") else text + "\n"
    return Markup(f"<<'{delimiter}'\n{body}{delimiter}")


def sbatch(value: object) -> Markup:
    """Spell a directive's name or value for a `#SBATCH` line, where it is the rest of the token after `--key=`.

    The rules are those of `_get_argument` in Slurm's src/sbatch/opt.c: quotes group, a backslash escapes the next
    character in either kind of quotes, an unquoted `#` ends the line, nothing is expanded.

    Raises:
        RefusedValueError: Not text or a number; or it holds a line break or a NUL, which no directive can.
    """
    if not isinstance(value, str | int) or isinstance(value, bool | Markup):
        raise RefusedValueError(f"{_named(value)} is not a directive's value; give it as text or a number")
    text = _checked(str(value))
    if "\n" in text:
        raise RefusedValueError("a directive's value with a line break; write it on one line")
    if DIRECTIVE_BARE.fullmatch(text):
        return Markup(text)
    return Markup('"' + re.sub(r'([\\"])', r"\\\1", text) + '"')


def commas(parts: object) -> Markup:
    """Spell texts as one word, joined by commas: for an option of which a program sees the last occurrence alone.

    Raises:
        RefusedValueError: Not a tuple of texts, or one of them holds a comma, which would end it.
    """
    if not isinstance(parts, tuple) or not all(isinstance(part, str) for part in parts):
        raise RefusedValueError(f"{_named(parts)} is no tuple of texts; only one can be joined by commas")
    if any("," in part for part in parts):
        raise RefusedValueError("a part with a comma, which would end it; write it without")
    return word(",".join(parts))


FILTERS: dict[str, Callable[[Any], Markup]] = {"argv": argv, "commas": commas, "heredoc": heredoc, "sbatch": sbatch}


def _spell(value: object, *, may_begin_command: bool) -> str:
    first, *rest = _parts(value) or [""]
    return _quoted(first, may_begin_command=may_begin_command) + "".join(
        _quoted(part, may_begin_command=False) for part in rest
    )


def _parts(value: object) -> list[str]:
    """The pieces of a word, none empty: text as str, never two in a row, and what bash fills in as Markup."""
    if not isinstance(value, tuple):
        part = _part(value)
        return [part] if part else []
    parts: list[str] = []
    for each in value:
        for part in _parts(each):
            if parts and not isinstance(part, Markup) and not isinstance(parts[-1], Markup):
                parts[-1] += part
            else:
                parts.append(part)
    return parts


def _part(value: object) -> str:
    match value:
        case bool() | Markup():
            raise RefusedValueError(f"{_named(value)} is not a word; pass what it stands for as text")
        case str() | PurePosixPath():
            return _checked(str(value))
        case int():
            return str(value)
        case UserShell():
            raise RefusedValueError("the user's shell text is not a word; write it with the heredoc filter")
        case _:
            return Markup(f'"{_expansion(value)}"')


def _expansion(value: object) -> str:
    match value:
        case RuntimeEnv(name):
            return f"$GYM_RUNTIME_{_identifier(name)}"
        case PoolHosts(name):
            return f"${_identifier(name)}"
        case Secret(name):
            return f"$GYM_SECRET_{_identifier(name)}"
        case NodeHost() | NodeAddress() | NodeUrl() | NodeEndpoint():
            return _of_node(value)
        case OwnAddress():
            return "$GYM_OWN_ADDRESS"
        case AllHosts():
            return "$gym_all_nodes"
        case RankOffset(per_node):
            return f"$((SLURM_NODEID * {per_node:d}))"
        case _:
            raise RefusedValueError(f"{_named(value)} is not a word; pass text, a number or another Word")


def _of_node(value: NodeHost | NodeAddress | NodeUrl | NodeEndpoint) -> str:
    match value:
        case NodeHost(index):
            return f"${{gym_nodes[{index:d}]}}"
        case NodeAddress(index):
            return f"$GYM_NODE_ADDRESS_{index:d}"
        case NodeUrl(index, port):
            return f"$GYM_NODE_URL_{index:d}:{port:d}"
        case NodeEndpoint(index, port):
            # The URL's host, which has the brackets.
            return f"${{GYM_NODE_URL_{index:d}#http://}}:{port:d}"


def _quoted(part: str, *, may_begin_command: bool) -> str:
    if isinstance(part, Markup):
        return str(part)
    if CONTROL.search(part):
        return "$'" + re.sub(r"[\\']|" + CONTROL.pattern, _ansi_c, part) + "'"
    special = may_begin_command and (ASSIGNMENT.match(part) or part in RESERVED)
    if BARE.fullmatch(part) and not special:
        return part
    return "'" + part.replace("'", r"'\''") + "'"


def _ansi_c(found: re.Match[str]) -> str:
    character = found.group()
    # C1 controls are two bytes in UTF-8; octal is the same in every locale, \u is not.
    return ANSI_C.get(character) or "".join(f"\\{byte:03o}" for byte in character.encode())


def _is_flag(value: object) -> bool:
    parts = [""] if isinstance(value, int) else _parts(value)
    return bool(parts) and not isinstance(parts[0], Markup) and parts[0].startswith(("-", "+"))


def _checked(text: str) -> str:
    if "\0" in text:
        raise RefusedValueError("text with a NUL character, which no argument can hold; remove it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RefusedValueError("text that is not valid Unicode; write it again") from None
    return text


def _identifier(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise RefusedValueError(f"{name!r} is not the name of a shell variable; use letters, digits and _")
    return name


def _named(value: object) -> str:
    names = {bool: "a boolean", type(None): "None", float: "a float", list: "a list", dict: "a mapping"}
    return names.get(type(value), f"a value of type {type(value).__name__}")
