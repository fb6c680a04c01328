"""A config as a tree that knows where each of its values stands.

Nodes are never changed: what overrides and interpolation change, they build anew along the path, so that an aliased
node can be shared.
"""

from typing import Any, NamedTuple

from gymsubmit.config.findings import Path
from gymsubmit.config.yaml_scalars import Value
from gymsubmit.frozen import Frozen

DEEPEST = 100
MOST_VALUES = 500_000
"""Values that aliases may make of a file; a few lines of nested aliases could make billions."""


class Mark(NamedTuple):
    """Where something stands: line and column from 1, and the override whose text they count in, if it is one's."""

    line: int
    column: int
    source: str | None = None


class Fault(Frozen):
    """Something wrong with a config before its models see it. `message` reads `what is wrong; what to do`."""

    mark: Mark
    path: Path
    message: str


class Scalar(Frozen):
    """A single value; `first_line` is the line that its text begins in, where each of its lines is one of the file."""

    mark: Mark
    value: Value
    first_line: int | None = None


class Sequence(Frozen):
    """A list."""

    mark: Mark
    items: list["Node"]


class Entry(NamedTuple):
    """A key's place and its value."""

    key: Mark
    node: "Node"


class Mapping(Frozen):
    """A mapping, in the order of its keys."""

    mark: Mark
    entries: dict[str, Entry]


Node = Scalar | Sequence | Mapping


def plain(node: Node, seen: dict[int, Any] | None = None) -> Any:
    """The data of a node: dicts, lists and single values. Shared nodes come out as shared data."""
    if isinstance(node, Scalar):
        return node.value
    seen = {} if seen is None else seen
    if id(node) not in seen:
        if isinstance(node, Mapping):
            seen[id(node)] = {key: plain(entry.node, seen) for key, entry in node.entries.items()}
        else:
            seen[id(node)] = [plain(item, seen) for item in node.items]
    return seen[id(node)]


def is_utf8(text: str) -> bool:
    """Whether `text` can be written at all: no lone surrogate, which Python makes of bytes that it cannot decode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def count(node: Node, seen: dict[int, int] | None = None) -> int:
    """The values that a node holds, those of a shared one counted each time."""
    if isinstance(node, Scalar):
        return 1
    seen = {} if seen is None else seen
    if id(node) not in seen:
        seen[id(node)] = 1 + sum(count(child, seen) for _, child in children(node))
    return seen[id(node)]


def children(node: Node) -> list[tuple[str | int, Node]]:
    """What stands right below a node, and under which key or index."""
    if isinstance(node, Scalar):
        return []
    if isinstance(node, Mapping):
        return [(key, entry.node) for key, entry in node.entries.items()]
    return list(enumerate(node.items))
