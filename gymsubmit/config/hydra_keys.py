"""`prepare` and `run`: plain values under keys that Hydra's overrides can express.

They become overrides `+a.b=value` by Hydra's grammar (hydra/grammar/OverrideLexer.g4): a key is a path whose parts
are ASCII identifiers, with `-` and `$`, or plain numbers. A mapping with another key, or within a list, is written as a
value, `{key:value}`, whose keys cannot be quoted.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, ValidationError
from pydantic_core import InitErrorDetails

from gymsubmit.config.base import FrozenDict, wrong
from gymsubmit.config.findings import Path

_WORD = r"[A-Za-z_$][A-Za-z0-9_$-]*"
_NUMBER = r"(?:0|[1-9](?:_?[0-9])*)"
_PART = re.compile(rf"{_WORD}|{_NUMBER}")
# A number is a part of a path, but no path of its own.
_PATH = re.compile(rf"{_WORD}|(?:{_WORD}|{_NUMBER})(?:\.(?:{_WORD}|{_NUMBER}))+")
_IN_BRACES = re.compile(r"[A-Za-z0-9_/\\+.$%*@?|()\[\]{}:=, \t-]+")
_DIGITS = r"[0-9](?:_?[0-9])*"
_READ_AS_ANOTHER = re.compile(
    rf"[+-]?(?:inf|nan|{_NUMBER}|(?:{_NUMBER}\.|{_NUMBER}?\.{_DIGITS}|{_NUMBER})(?:e[+-]?{_DIGITS})?)|true|false|null",
    re.IGNORECASE,
)


def bare_key(key: str) -> str:
    """A top-level key without the `+` or `++` that may stand in front."""
    return key.removeprefix("+").removeprefix("+")


def inexpressible(values: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Path and message for every key of `values` that Hydra cannot express, or that sets what another one does."""
    seen: dict[str, str] = {}
    for key, value in values.items():
        for dotted, path, message in _leaves(bare_key(key), (key,), value):
            if message:
                yield path, message
            elif dotted in seen:
                yield path, f"sets {dotted}, as {seen[dotted]!r} does already; keep one of them"
            else:
                seen[dotted] = key


def _leaves(dotted: str, path: Path, value: Any) -> Iterator[tuple[str, Path, str | None]]:
    if isinstance(value, dict) and value and all(isinstance(key, str) and _PART.fullmatch(key) for key in value):
        for key, inner in value.items():
            yield from _leaves(f"{dotted}.{key}", (*path, key), inner)
        return
    if not _PATH.fullmatch(dotted):
        advice = "use ASCII letters, digits, '_', '-' and '$', not a digit first, and dots between nested keys"
        yield dotted, path, f"Hydra cannot express the key {dotted!r}; {advice}"
        return
    yield dotted, path, None
    yield from _in_value(dotted, path, value)


def _in_value(dotted: str, path: Path, value: Any) -> Iterator[tuple[str, Path, str | None]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(key, str) and (not _IN_BRACES.fullmatch(key) or _READ_AS_ANOTHER.fullmatch(key)):
                advice = "use ASCII letters, digits and '_' that do not read as a number, boolean or null"
                yield (
                    dotted,
                    (*path, key),
                    f"Hydra cannot express the key {key!r} in a mapping that is a value; {advice}",
                )
            yield from _in_value(dotted, (*path, key), inner)
    elif isinstance(value, tuple):
        for index, inner in enumerate(value):
            yield from _in_value(dotted, (*path, index), inner)


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


HydraValues = Annotated[FrozenDict[str, Any], AfterValidator(_freeze)]
