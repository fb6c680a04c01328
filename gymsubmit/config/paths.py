"""Paths into a config as people write them: `services.policy.port`, `mounts[0]`, `services["qwen2.5"].port`."""

import re
from collections.abc import Iterable

_STEP = re.compile(
    r"""(?P<name>[^.\[\]"'\s]+) | \[(?P<bare>[^\[\]"'\s]+)\] | \["(?P<double>[^"]+)"\] | \['(?P<single>[^']+)'\]""",
    re.VERBOSE,
)
_BARE = re.compile(r"""[^.\[\]"'\s=]+""")


def dotted(path: Iterable[str | int]) -> str:
    """Write a path; `parse_path` reads it back."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _BARE.fullmatch(step) and step.isprintable():
            text += f".{step}" if text else step
        else:
            quote = "'" if '"' in step else '"'
            shown = step if step.isprintable() else step.encode("unicode_escape").decode()
            text += f"[{quote}{shown}{quote}]"
    return text


def parse_path(text: str) -> tuple[str, ...] | None:
    """Read a path; None where `text` is none. An index stays text: a mapping may have a key that looks like one."""
    steps: list[str] = []
    position = 0
    while position < len(text):
        if steps and text[position] != "[":
            if text[position] != ".":
                return None
            position += 1
        match = _STEP.match(text, position)
        if not match or (match["name"] is None and text[position - 1 : position] == "."):
            return None
        steps.append(match[match.lastgroup or 0])
        position = match.end()
    return tuple(steps) or None
