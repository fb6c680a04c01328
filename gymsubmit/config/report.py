"""Where in which file a problem is."""

from collections.abc import Iterable
from dataclasses import dataclass

from gymsubmit.config.findings import Path
from gymsubmit.config.paths import dotted
from gymsubmit.config.yaml_tree import Fault, Mapping, Mark, Node, Scalar, Sequence
from gymsubmit.errors import Problem


@dataclass(frozen=True, slots=True)
class Report:
    """Gathers what is wrong with one config. `file` is named as the user named it, `overrides` in their order."""

    file: str
    overrides: tuple[str, ...]
    faults: list[Fault]

    def add(self, mark: Mark, path: Path, message: str) -> None:
        """Note one thing."""
        self.faults.append(Fault(mark, path, message))

    def where(self, mark: Mark) -> str:
        """How a message names a place."""
        return mark.source or f"{self.file}:{mark.line}:{mark.column}"

    def problems(self) -> tuple[Problem, ...]:
        """Everything noted, once each: in the order of the file, then of the overrides."""
        found: dict[tuple[Mark, str], Problem] = {}
        for fault in sorted(self.faults, key=self._order):
            # An aliased value has several paths, but is one thing to correct.
            key = fault.mark, fault.message
            found.setdefault(key, Problem(self.where(fault.mark), dotted(fault.path), fault.message))
        return tuple(found.values())

    def _order(self, fault: Fault) -> tuple[int, int, int]:
        source = fault.mark.source
        return (0 if source is None else 1 + self.overrides.index(source), fault.mark.line, fault.mark.column)


def mark_of(root: Mapping, path: Path, at_key: bool = False) -> Mark:
    """The place of a value: of its first character where it is a single value, else of its key.

    For what is not there, the place of the key that it is missing below. `at_key` asks for the key in any case.
    """
    node: Node = root
    key = root.mark
    for step in path:
        if isinstance(node, Mapping) and step in node.entries:
            key, node = node.entries[str(step)]
        elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
            key = node.mark
        else:
            return key
    return node.mark if isinstance(node, Scalar) and not at_key else key


def touches(path: Path, others: Iterable[Path]) -> bool:
    """Whether a path leads into one of `others`, or to something that holds one."""
    return any(path[: len(other)] == other or other[: len(path)] == path for other in others)
