r"""Where the interpolations of a text are: `${a.b}`, `${oc.env:VAR}`, but not `\${literal}`.

The escapes are OmegaConf's: of the backslashes right before a `${` each pair stands for one, and one that is left
over makes the `${` literal. Backslashes elsewhere are themselves.
"""

import re
from collections.abc import Iterator

from gymsubmit.config.findings import Path

_START = re.compile(r"(?<!\\)(\\*)\$\{")
_CALL = r"\$\{\s*([A-Za-z_][\w.]*)\s*:"
_STEP = r"""(?:\.[\w-]+|\[(?:[\w-]+|"[^"\]]+"|'[^'\]]+')\])"""
_SHELL_SAFE = re.compile(rf"\$\{{\s*(?:oc\.[\w.]+\s*:|[A-Za-z_]\w*{_STEP}*(?:\.[\w-]+){_STEP}*\s*\}})")
_ENV = r"""oc\.env\s*:\s*(["']?)([A-Za-z_]\w*)\1\s*([,}])"""
_CREDENTIAL = (
    r"(?i)(?:TOKEN|APIKEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)$|(?:^|_)(?:KEY|KEY_ID|PASS|AUTH|PAT)$"
)


class PlaceholderError(ValueError):
    """A `${` without an end. `text` is what begins with it."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(text)


def is_shell(path: Path) -> bool:
    """Whether a field, or an item of its list, holds shell text, where most `${...}` are the shell's own.

    Scratch values are written to be merged into a service, so that there the field's name alone counts.
    """
    while path and isinstance(path[-1], int):
        path = path[:-1]
    if not path or path[-1] not in {"pre_command", "command"}:
        return False
    match path:
        case ("services", _, _) | ("services", _, "prefill" | "decode", _) | ("driver", "benchmarks", _, _):
            return True
    return str(path[0]).startswith("_")


def resolver_of(placeholder: str) -> str | None:
    """`oc.env` of `${oc.env:VAR}`; None where it names a path."""
    match = re.match(_CALL, placeholder)
    return match[1] if match else None


def is_credential(name: str) -> bool:
    """Whether the variable `name` is one that usually holds a secret."""
    return bool(re.search(_CREDENTIAL, name))


def variables(placeholder: str) -> tuple[str, ...] | None:
    """The variables that a placeholder reads; None where one is not written out (`${oc.env:${name}}`)."""
    names = tuple(match[2] for match in re.finditer(_ENV, placeholder))
    return names if len(names) == len(re.findall(r"oc\.env\s*:", placeholder)) else None


def only_variable(placeholder: str) -> str | None:
    """VAR where the placeholder is `${oc.env:VAR}` and nothing more."""
    match = re.fullmatch(_ENV, placeholder[2:].lstrip())
    return match[2] if match and match[3] == "}" else None


def split(text: str, in_shell: bool) -> Iterator[tuple[bool, str]]:
    """The parts of a text in order: literal ones, unescaped, as (False, text), placeholders as (True, `${...}`).

    In shell text only what bash could not mean is a placeholder: its names hold no dot.

    Raises:
        PlaceholderError: one does not end.
    """
    position = 0
    while match := _START.search(text, position):
        start = match.end() - 2
        if in_shell and not _SHELL_SAFE.match(text, start):
            yield False, text[position : match.end()]
            position = match.end()
            continue
        pairs, odd = divmod(len(match[1]), 2)
        yield False, text[position : match.start()] + "\\" * pairs
        if odd:
            yield False, "${"
            position = match.end()
        else:
            position = _end(text, start)
            yield True, text[start:position]
    yield False, text[position:]


def escape(text: str, in_shell: bool) -> str:
    """The spelling of a literal text that `split` reads back as that text."""

    def escaped(match: re.Match[str]) -> str:
        if in_shell and not _SHELL_SAFE.match(text, match.end() - 2):
            return match[0]
        return match[1] * 2 + "\\${"

    return _START.sub(escaped, text)


def _end(text: str, start: int) -> int:
    """Where the placeholder that begins at `start` ends: behind its `}`."""
    closers: list[str] = []  # of each brace and quote that is open, as OmegaConf's grammar nests them
    position = start
    while position < len(text):
        char = text[position]
        if char == "\\":
            position += 1
        elif text.startswith("${", position):
            closers.append("}")
            position += 1
        elif char == closers[-1]:
            closers.pop()
            if not closers:
                return position + 1
        elif closers[-1] == "}" and char in "{'\"":
            closers.append("}" if char == "{" else char)
        position += 1
    raise PlaceholderError(text[start:])
