r"""A benchmark's `prepare` and `run` as Hydra command-line overrides.

The reference is Hydra 1.3's grammar, `hydra/grammar/OverrideLexer.g4` and `OverrideParser.g4`, and the visitor that
turns it into values (`hydra/core/override_parser/overrides_visitor.py`):

- A key is a path, `a.b.0`, whose parts are ASCII identifiers (`-` and `$` allowed) or plain numbers. (`a/b` and `a@b`
  choose from a config group, which is no value.)
- Text is quoted unless it can only be read as text. Within double quotes only the backslashes in front of a quote,
  the closing one included, are escapes: each of them is doubled, and one more stands before the quote.
- The keys of a mapping written as one value (`{a:1}`) cannot be quoted: a character that has a meaning is escaped by
  a backslash, and what reads as a number, boolean or null is one.

`${...}` in a text reaches the composed config as it is, where OmegaConf resolves it when the value is read. So does
`\${...}`, which OmegaConf reads as the literal text `${...}`, and `???`, a value that must be given later.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from gymsubmit.errors import UsageError

_PREFIX = re.compile(r"\+{0,2}")
# KEY_SPECIAL and INT_UNSIGNED. A number is a part of a path, but no path of its own.
_WORD_PART = r"[A-Za-z_$][A-Za-z0-9_$-]*"
_NUMBER_PART = r"(?:0|[1-9](?:_?[0-9])*)"
_PART = re.compile(rf"{_WORD_PART}|{_NUMBER_PART}")
_PATH = re.compile(rf"{_WORD_PART}|(?:{_WORD_PART}|{_NUMBER_PART})(?:\.(?:{_WORD_PART}|{_NUMBER_PART}))+")

# Text that Hydra reads back as itself without quotes; the words that mean something else are _KEYWORD.
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_/.@%+-]*")
_KEYWORD = re.compile(r"[+-]?(?:inf|nan)|true|false|null", re.IGNORECASE)
_QUOTE = re.compile(r'(\\*)("|\Z)')

# UNQUOTED_CHAR, ID, numbers and what ESC can escape: all that a key within braces can hold.
_DICT_KEY = re.compile(r"[A-Za-z0-9_/\\+.$%*@?|()\[\]{}:=, \t-]+")
_DICT_KEY_ESCAPED = re.compile(r"[\\()\[\]{}:=, \t]")
_DIGITS = r"[0-9](?:_?[0-9])*"
_NUMBER = re.compile(
    rf"[+-]?(?:{_NUMBER_PART}|(?:{_NUMBER_PART}\.|{_NUMBER_PART}?\.{_DIGITS}|{_NUMBER_PART})(?:[eE][+-]?{_DIGITS})?)"
)


def flatten(mapping: Mapping[str, object]) -> tuple[str, ...]:
    """The overrides that make Hydra compose `mapping`, `+a.b=value` each, in its order.

    A top-level key is a path (`a.b` is the key `b` of `a`); `++a` overrides a value that exists, `+a` is `a`. Below
    the top level a key is a name: a mapping with a name that is no part of a path (`gpt-4.1`, `two words`, the number
    1) is written as one value, `+models={gpt-4.1:x}`.

    Raises:
        UsageError: Hydra has no spelling for a key or a value, or two keys set the same path.
    """
    overrides: dict[str, str] = {}
    for key, value in mapping.items():
        prefix = _prefix(key)
        for path, text in _leaves(key[len(prefix) :], value):
            if path in overrides:
                raise UsageError(f"{path}: set twice, the second time under {key!r}; keep one of them")
            overrides[path] = f"{prefix or '+'}{path}={text}"
    return tuple(overrides.values())


def with_defaults(run: Mapping[str, object], defaults: Mapping[str, object]) -> dict[str, object]:
    """`run` with the `defaults` that it does not set under any spelling (`a`, `+a`, `++a`) in front of it."""
    own = {_bare(key) for key in run}
    return {name: value for name, value in defaults.items() if name not in own} | dict(run)


def _prefix(key: str) -> str:
    found = _PREFIX.match(key)
    return found[0] if found else ""


def _bare(key: str) -> str:
    return key[len(_prefix(key)) :]


def _leaves(path: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value and all(isinstance(key, str) and _PART.fullmatch(key) for key in value):
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}", inner)
        return
    if not _PATH.fullmatch(path):
        raise UsageError(
            f"{path}: Hydra cannot express this key; use letters, digits, `_`, `-` and `$`, not a digit first, "
            "with dots between nested keys"
        )
    yield path, _value(path, value)


def _value(path: str, value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _text(value)
        case Mapping():
            return "{" + ",".join(f"{_dict_key(path, key)}:{_value(path, item)}" for key, item in value.items()) + "}"
        case Sequence() if not isinstance(value, bytes | bytearray):
            return "[" + ",".join(_value(path, item) for item in value) + "]"
    raise UsageError(f"{path}: Hydra cannot express a {type(value).__name__}; use text, a number, a list or a mapping")


def _text(value: str) -> str:
    if _PLAIN.fullmatch(value) and not _KEYWORD.fullmatch(value):
        return value
    return '"' + _QUOTE.sub(lambda found: found[1] * 2 + ('\\"' if found[2] else ""), value) + '"'


def _dict_key(path: str, key: object) -> str:
    if isinstance(key, bool | int | float):
        return _value(path, key)
    if not isinstance(key, str) or not _DICT_KEY.fullmatch(key) or _KEYWORD.fullmatch(key) or _NUMBER.fullmatch(key):
        raise UsageError(
            f"{path}: Hydra cannot express the key {key!r} of a mapping that is a value; "
            "use ASCII letters, digits and `_` that do not read as a number, boolean or null"
        )
    return _DICT_KEY_ESCAPED.sub(lambda found: "\\" + found[0], key)
