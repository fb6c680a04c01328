"""Overrides from the command line: `a.b.c=value`, with the value written as YAML."""

import re
from collections.abc import Sequence as AbstractSequence

from gymsubmit.config.paths import dotted, parse_path
from gymsubmit.config.placeholders import is_credential
from gymsubmit.config.tree import DEEPEST, Entry, Fault, Mapping, Mark, Node, Scalar, Sequence, is_utf8
from gymsubmit.config.yaml_tree import parse
from gymsubmit.frozen import Frozen

# The first `=` that is in no quoted name; Hydra's `+a=` and `++a=` mean the same here.
_OVERRIDE = r"""(?s)\s*\+{0,2}(?P<path>(?:\["[^"]*"\]|\['[^']*'\]|[^=])*)=(?P<value>.*)"""
_HOW = "write a.b.c=VALUE"


class Override(Frozen):
    """One override: what to put where. `source` is how messages name it."""

    source: str
    path: tuple[str, ...]
    node: Node


class _RefusedError(Exception):
    """An override that cannot be applied; the message says why and what to do."""


def source_of(text: str) -> str:
    """How messages name an override: as it was written, without what is perhaps a pasted secret."""
    match = re.fullmatch(_OVERRIDE, text)
    path = parse_path(match["path"].strip()) if match else None
    shown = f"{text[: text.index('=')]}=..." if match and path and is_credential(path[-1]) else text
    return f"override '{shown if shown.isprintable() else ascii(shown)[1:-1]}'"


def parse_override(text: str) -> tuple[Override | None, list[Fault]]:
    """Read one override; None where it makes no sense."""
    source = source_of(text)
    mark = Mark(1, 1, source)
    if not is_utf8(text):
        return None, [Fault(mark, (), "holds bytes that are not UTF-8; use UTF-8")]
    if text.startswith("~"):
        return None, [Fault(mark, (), "takes something out, which no override does; change the file")]
    match = re.fullmatch(_OVERRIDE, text)
    if not match:
        return None, [Fault(mark, (), f"has no `=`; {_HOW}")]
    path = parse_path(match["path"].strip())
    if path is None:
        return None, [
            Fault(mark, (), f'{match["path"]!r} is no path of a field; {_HOW}, a name with a dot as a["b.c"]')
        ]
    if len(path) > DEEPEST:
        return None, [Fault(mark, (), f"the path has more than {DEEPEST} steps; use fewer")]
    node, faults = parse(match["value"], source)
    if node is None:
        return None, [Fault(fault.mark, path, fault.message) for fault in faults]
    return Override(source, path, node), [Fault(fault.mark, (*path, *fault.path), fault.message) for fault in faults]


def apply(root: Mapping, overrides: AbstractSequence[Override]) -> tuple[Mapping, list[Fault]]:
    """The config with the overrides in it, the later ones over the earlier, and those that do not fit."""
    faults = []
    for override in overrides:
        try:
            root = _replaced_in_mapping(root, override, 0)
        except _RefusedError as error:
            faults.append(Fault(Mark(1, 1, override.source), override.path, str(error)))
    return root, faults


def _replaced(node: Node | None, override: Override, depth: int) -> Node:
    """`node` with the override in it, whose steps up to `depth` have led to it; built anew along the path."""
    if depth == len(override.path):
        return override.node
    if node is None or (isinstance(node, Scalar) and node.value is None):
        node = Mapping(Mark(1, 1, override.source), {})
    here = dotted(override.path[:depth])
    if isinstance(node, Mapping):
        return _replaced_in_mapping(node, override, depth)
    step = override.path[depth]
    if isinstance(node, Scalar):
        if isinstance(node.value, str) and "${" in node.value:
            raise _RefusedError(f"`{here}` is an interpolation; override what it refers to, or all of `{here}`")
        raise _RefusedError(f"`{here}` is a single value, without a `{step}` in it; override `{here}` itself")
    if not step.isdecimal() or int(step) >= len(node.items):
        last = len(node.items) - 1
        has = f"items 0 to {last}" if last > 0 else "item 0 only" if last == 0 else "no items"
        raise _RefusedError(
            f"the list `{here}` has {has}, and no `{step}`; name one of them, or override the whole list"
        )
    items = list(node.items)
    items[int(step)] = _replaced(items[int(step)], override, depth + 1)
    return Sequence(node.mark, items)


def _replaced_in_mapping(mapping: Mapping, override: Override, depth: int) -> Mapping:
    step = override.path[depth]
    entry = mapping.entries.get(step)
    if entry is None:
        _check_new(mapping, override, depth)
    node = _replaced(entry.node if entry else None, override, depth + 1)
    key = entry.key if entry and depth + 1 < len(override.path) else Mark(1, 1, override.source)
    return Mapping(mapping.mark, mapping.entries | {step: Entry(key, node)})


def _check_new(mapping: Mapping, override: Override, depth: int) -> None:
    """Refuse a new name that was hardly meant as one."""
    path = override.path
    if path[0].startswith("_"):
        raise _RefusedError("there is no such scratch value, and an override adds none; add it to the file")
    for known in mapping.entries:
        split = tuple(known.split("."))
        if len(split) > 1 and path[depth : depth + len(split)] == split:
            meant = dotted((*path[:depth], known, *path[depth + len(split) :]))
            raise _RefusedError(f"there is no `{path[depth]}`; write {meant}=VALUE for the name with a dot in it")
