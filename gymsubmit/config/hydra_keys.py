"""`prepare` and `run`: plain values under keys that Hydra's overrides can express.

They become overrides `+a.b=value` by Hydra's grammar (hydra/grammar/OverrideLexer.g4): a key is a path whose parts
are ASCII identifiers, with `-` and `$`, or plain numbers. A mapping with another key, or within a list, is written as a
value, `{key:value}`, whose keys cannot be quoted.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import InitErrorDetails

from gymsubmit.config.base import Check, FrozenDict, wrong
from gymsubmit.config.findings import Path

_WORD = r"[A-Za-z_$][A-Za-z0-9_$-]*"
_NUMBER = r"(?:0|[1-9](?:_?[0-9])*)"
_PART = re.compile(rf"{_WORD}|{_NUMBER}")
# A number is a part of a path, but no path of its own.
_PATH = re.compile(rf"{_WORD}|(?:{_WORD}|{_NUMBER})(?:\.(?:{_WORD}|{_NUMBER}))+")
# UNQUOTED_CHAR, ID, numbers and what ESC can escape: all that a key within braces can hold.
_IN_BRACES = r"[A-Za-z0-9_/\\+.$%*@?|()\[\]{}:=, \t-]+"
_DIGITS = r"[0-9](?:_?[0-9])*"
_NUMERAL = rf"(?i)[+-]?(?:{_NUMBER}|(?:{_NUMBER}\.|{_NUMBER}?\.{_DIGITS}|{_NUMBER})(?:e[+-]?{_DIGITS})?)"
KEYWORD = re.compile(r"[+-]?(?:inf|nan)|true|false|null", re.IGNORECASE)
"""Text that Hydra reads as a number, a boolean or null, though it has no digits."""


class Setting(NamedTuple):
    """One override to be: `key` is set to `value`, which stands at `path` below `prepare` or `run`."""

    key: str
    path: Path
    value: Any


def bare_key(key: str) -> str:
    """A top-level key without the `+` or `++` that may stand in front."""
    return key.removeprefix("+").removeprefix("+")


def settings(values: Mapping[str, Any]) -> Iterator[Setting]:
    """The overrides that `values` becomes, in its order.

    A top-level key is a path (`a.b` is the key `b` of `a`); below it a key is a name. A mapping with a name that is no
    part of a path (`gpt-4.1`, `two words`) is one value, as an empty one is.
    """
    for key, value in values.items():
        yield from _settings(bare_key(key), (key,), value)


def _settings(dotted: str, path: Path, value: Any) -> Iterator[Setting]:
    if isinstance(value, Mapping) and value and all(isinstance(key, str) and _PART.fullmatch(key) for key in value):
        for key, inner in value.items():
            yield from _settings(f"{dotted}.{key}", (*path, key), inner)
    else:
        yield Setting(dotted, path, value)


def inexpressible(values: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Path and message for every key of `values` that Hydra cannot express, or that sets what another one does."""
    seen: dict[str, Path] = {}
    for key, path, value in settings(values):
        if not _PATH.fullmatch(key):
            advice = "use ASCII letters, digits, '_', '-' and '$', not a digit first, and dots between nested keys"
            yield path, f"Hydra cannot express the key {key!r}; {advice}"
            continue
        if key in seen:
            yield path, f"sets {key}, as {seen[key][0]!r} does already; keep one of them"
        seen.setdefault(key, path)
        yield from _in_value(path, value)


def _in_value(path: Path, value: Any) -> Iterator[tuple[Path, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            here = (*path, key if isinstance(key, str) else str(key))
            if not _is_key_of_value(key):
                advice = "use ASCII letters, digits and '_' that do not read as a number, boolean or null"
                yield here, f"Hydra cannot express the key {key!r} in a mapping that is a value; {advice}"
            yield from _in_value(here, inner)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _in_value((*path, index), inner)


def _is_key_of_value(key: object) -> bool:
    if isinstance(key, str):
        is_read_as_another = KEYWORD.fullmatch(key) or re.fullmatch(_NUMERAL, key)
        return bool(re.fullmatch(_IN_BRACES, key)) and not is_read_as_another
    return isinstance(key, bool | int | float)


def _freeze(values: Any) -> Any:
    faults: list[InitErrorDetails] = []
    frozen = _frozen(values, (), faults)
    if faults:
        raise ValidationError.from_exception_data("values", faults)
    return frozen


def _frozen(value: Any, path: Path, faults: list[InitErrorDetails]) -> Any:
    """`value` with every mapping in it a FrozenDict and every list a tuple; what Hydra has no value for is a fault."""
    if isinstance(value, str):
        if "\0" in value:
            _fault("holds a NUL character, which no argument can hold; remove it", value, path, faults)
        elif not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            _fault(
                "holds half of a surrogate pair, which is no character; write the whole character", value, path, faults
            )
    elif isinstance(value, dict):
        return FrozenDict({key: _frozen(item, (*path, key), faults) for key, item in value.items()})
    elif isinstance(value, list | tuple):
        return tuple([_frozen(item, (*path, index), faults) for index, item in enumerate(value)])
    elif value is not None and not isinstance(value, bool | int | float):
        kind = type(value).__name__
        _fault(f"is a {kind}; use text, a number, true, false, null, a list or a mapping", value, path, faults)
    return value


def _fault(message: str, value: Any, path: Path, faults: list[InitErrorDetails]) -> None:
    faults.append(InitErrorDetails(type=wrong(message), loc=path, input=value))


HydraValues = Annotated[FrozenDict[str, Any], Check(_freeze)]
