r"""A benchmark's `prepare` and `run` as Hydra command-line overrides.

The reference is Hydra 1.3's grammar, `hydra/grammar/OverrideLexer.g4` and `OverrideParser.g4`, and the visitor that
turns it into values (`hydra/core/override_parser/overrides_visitor.py`):

- Keys are as gymsubmit.config.hydra_keys reads them. (`a/b` and `a@b` choose from a config group, which is no value.)
- Text is quoted unless it can only be read as text. Within double quotes only the backslashes in front of a quote,
  the closing one included, are escapes: each of them is doubled, and one more stands before the quote.
- The keys of a mapping written as one value (`{a:1}`) cannot be quoted: a character that has a meaning is escaped by
  a backslash, and what reads as a number, boolean or null is one.

`${...}` in a text reaches the composed config as it is, where OmegaConf resolves it when the value is read. So does
`\${...}`, which OmegaConf reads as the literal text `${...}`, and `???`, a value that must be given later.
"""

import re
from collections.abc import Mapping, Sequence

from gymsubmit.config.hydra_keys import KEYWORD, bare_key, inexpressible, settings
from gymsubmit.config.paths import dotted
from gymsubmit.errors import UsageError

# Text that Hydra reads back as itself without quotes, unless it is a KEYWORD.
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_/.@%+-]*")
_QUOTE = re.compile(r'(\\*)("|\Z)')
_DICT_KEY_ESCAPED = re.compile(r"[\\()\[\]{}:=, \t]")


def flatten(mapping: Mapping[str, object]) -> tuple[str, ...]:
    """The overrides that make Hydra compose `mapping`, `+a.b=value` each, in its order.

    `++a` overrides a value that exists, `+a` is `a`. A mapping that is one value is written so: `+models={gpt-4.1:x}`.

    Raises:
        UsageError: Hydra has no spelling for a key, or two keys set the same path.
    """
    for path, message in inexpressible(mapping):
        raise UsageError(f"{dotted(path)}: {message}")
    return tuple(
        f"{'++' if str(path[0]).startswith('++') else '+'}{key}={_value(value)}"
        for key, path, value in settings(mapping)
    )


def with_defaults(run: Mapping[str, object], defaults: Mapping[str, object]) -> dict[str, object]:
    """`run` with the `defaults` that it does not set under any spelling (`a`, `+a`, `++a`) in front of it."""
    own = {bare_key(key) for key in run}
    return {name: value for name, value in defaults.items() if name not in own} | dict(run)


def _value(value: object) -> str:
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
            return "{" + ",".join(f"{_dict_key(key)}:{_value(item)}" for key, item in value.items()) + "}"
        case Sequence() if not isinstance(value, bytes | bytearray):
            return "[" + ",".join(map(_value, value)) + "]"
    message = f"a {type(value).__name__} is no value of a config"
    raise TypeError(message)


def _text(value: str) -> str:
    if _PLAIN.fullmatch(value) and not KEYWORD.fullmatch(value):
        return value
    return '"' + _QUOTE.sub(lambda found: found[1] * 2 + ('\\"' if found[2] else ""), value) + '"'


def _dict_key(key: object) -> str:
    return _DICT_KEY_ESCAPED.sub(lambda found: "\\" + found[0], key) if isinstance(key, str) else _value(key)
