"""A plan as JSON: what `plan.json` holds. Public, for people and for programs that come after."""

import dataclasses
import json
import re
from pathlib import PurePosixPath

from gymsubmit.plan import JobPlan

_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


def plan_json(plan: JobPlan) -> str:
    """The plan as indented JSON.

    Every object names its `kind` (`server_step`, `secret`, ...), so that a secret and a variable of one name cannot be
    taken for each other; text, numbers and paths stand for themselves, and a list among words is one word in parts.
    """
    return json.dumps(_plain(plan), indent=2, ensure_ascii=False) + "\n"


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value):
        kind = _WORD_START.sub("_", type(value).__name__).lower()
        fields = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"kind": kind, **fields}
    if isinstance(value, PurePosixPath):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
