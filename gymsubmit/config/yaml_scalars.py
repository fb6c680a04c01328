"""How YAML spells single values: the core schema of YAML 1.2 (section 10.3.2), for reading and for writing.

PyYAML's own resolver is that of YAML 1.1, where `12:00:00` is the number 43200, `no` is false and `010` is eight.
"""

import re
from typing import Any

import yaml

Value = str | int | float | bool | None

LONGEST_NUMBER = 1000
"""Digits after which a number is refused: Python prints none of more than 4300."""

_CONSTANTS: dict[str, bool | float | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((sign + name for sign in ("", "+") for name in (".inf", ".Inf", ".INF")), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_NUMBER = re.compile(
    r"(?P<int>[-+]?[0-9]+)|0o(?P<oct>[0-7]+)|0x(?P<hex>[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_BASES = {"int": 10, "oct": 8, "hex": 16, None: None}


def resolve(text: str) -> Value:
    """The value of an unquoted scalar.

    Raises:
        ValueError: a number of more than `LONGEST_NUMBER` digits.
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in "-+.0123456789" or not (match := _NUMBER.fullmatch(text)):
        return text
    if len(text) > LONGEST_NUMBER:
        message = f"is a number of {len(text)} digits; use at most {LONGEST_NUMBER}, or put it in quotes"
        raise ValueError(message)
    base = _BASES.get(match.lastgroup)
    return float(text) if base is None else int(match[match.lastgroup or 0], base)


_NULL, _TEXT = "tag:yaml.org,2002:null", "tag:yaml.org,2002:str"
_TAGS = {bool: "tag:yaml.org,2002:bool", int: "tag:yaml.org,2002:int", float: "tag:yaml.org,2002:float"}


def _tag(text: str) -> str:
    value = resolve(text[:LONGEST_NUMBER])
    return _NULL if value is None else _TAGS.get(type(value), _TEXT)


class _Resolver:
    """In front of PyYAML's resolver: decides for the emitter which text can do without quotes."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        if kind is not yaml.ScalarNode:
            return f"tag:yaml.org,2002:{'map' if kind is yaml.MappingNode else 'seq'}"
        if not implicit[0]:
            return _TEXT
        # `<<` and `=` are text to the core schema, but `<<` as a key merges.
        return "tag:yaml.org,2002:merge" if value == "<<" else _tag(value)


# libyaml's emitter is ten times as fast. It escapes a few characters that Python's does not; both read back the same.
_BaseDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_Resolver, _BaseDumper):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


class PythonDumper(_Resolver, yaml.SafeDumper):
    """The dumper where there is no libyaml."""

    def ignore_aliases(self, data: Any) -> bool:
        """Never write anchors: the same value twice is written twice."""
        return True


def _can_be_block(text: str) -> bool:
    """Whether a literal block (`|`) keeps `text` as it is, in any parser."""
    lines = text.split("\n")
    return (
        len(lines) > 1
        and bool(lines[0])
        and not lines[0][0].isspace()
        and all(line.replace("\t", "").isprintable() and line == line.rstrip() for line in lines)
    )


def _represent_text(dumper: Any, text: str) -> yaml.ScalarNode:
    if _can_be_block(text):
        return yaml.ScalarNode(_TEXT, text, style="|")
    # Only between double quotes do line breaks other than "\n" survive.
    return yaml.ScalarNode(_TEXT, text, style=None if text.isprintable() else '"')


def _represent_float(dumper: Any, value: float) -> yaml.ScalarNode:
    special = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}
    return yaml.ScalarNode(_TAGS[float], special.get(repr(value), repr(value)))


for _dumper in (_Dumper, PythonDumper):
    _dumper.add_representer(str, _represent_text)
    _dumper.add_representer(float, _represent_float)


def dump_yaml(data: Any, dumper: type = _Dumper) -> str:
    """Write plain data as a YAML document that reads back equal, whatever its texts look like.

    `data` holds dicts, lists, text without lone surrogates, numbers, booleans and None.
    """
    return str(
        yaml.dump(data, Dumper=dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=1 << 30)
    )
