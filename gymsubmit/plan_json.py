"""A plan as JSON: what `plan.json` holds. Public, for people and for programs that come after."""

import json
import re
from functools import cache
from pathlib import PurePosixPath

from gymsubmit.frozen import Frozen
from gymsubmit.plan import JobPlan

_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


def plan_json(plan: JobPlan) -> str:
    """The plan as indented JSON.

    Every object names its `kind` (`server_step`, `secret`, ...), so that a secret and a variable of one name cannot be
    taken for each other; text, numbers and paths stand for themselves, and a list among words is one word in parts.
    """
    return _text(plan, "\n") + "\n"


_QUOTED = json.JSONEncoder(ensure_ascii=False).encode
_CONSTANTS = {"None": "null", "True": "true", "False": "false"}


def _text(value: object, line: str) -> str:
    """As json.dumps(indent=2) writes it; `line` is a line break and the indentation of the value."""
    below = line + "  "
    if isinstance(value, Frozen):
        fields = [f'"{name}": {_text(getattr(value, name), below)}' for name in value.__match_args__]
        return "{" + below + f",{below}".join([f'"kind": "{_kind(type(value).__name__)}"', *fields]) + line + "}"
    if isinstance(value, tuple):
        items = [_text(item, below) for item in value]
        return "[" + below + f",{below}".join(items) + line + "]" if items else "[]"
    text = str(value)
    return _QUOTED(text) if isinstance(value, str | PurePosixPath) else _CONSTANTS.get(text, text)


@cache
def _kind(class_name: str) -> str:
    return _WORD_START.sub("_", class_name).lower()
