"""Extra options of `sbatch` and `srun`: `key: value` for `--key=value`."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from gymsubmit.config.base import Check, FrozenDict, wrong
from gymsubmit.config.names import check_line

Scalar = str | int | float | bool | None


def _check_key(key: str) -> str:
    if key.startswith("-"):
        message = f"{key!r} begins with a dash; write the option without dashes"
        raise wrong(message)
    if not key or not all(char.isascii() and (char.isalnum() or char in "-_") for char in key):
        message = f"{key!r} is no option; write its long name alone, without dashes in front and without a value"
        raise wrong(message)
    return key


def _check_value(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return check_line(value)
    message = 'is no value of an option; write text or a number, true, null or "" for none, or false to leave it out'
    raise wrong(message)


Value = Annotated[
    Scalar,
    BeforeValidator(_check_value),
    WithJsonSchema({"anyOf": [{"type": name} for name in ("string", "number", "boolean", "null")]}),
]
Options = FrozenDict[Annotated[str, Check(_check_key)], Value]


def set_options(options: Mapping[str, Scalar]) -> dict[str, str | int | float | None]:
    """The options that are to be written, None for a bare one: without those that are false."""
    return {
        key: None if value is True or value == "" else value for key, value in options.items() if value is not False
    }
