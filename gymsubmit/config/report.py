"""Where in which file a problem is."""

from gymsubmit.config.findings import Finding, Path
from gymsubmit.config.paths import dotted
from gymsubmit.config.tree import Fault, Mapping, Mark, Node, Scalar, Sequence, children
from gymsubmit.errors import Problem
from gymsubmit.frozen import Frozen


class Report(Frozen):
    """Gathers what is wrong with one config.

    `file` is named as the user named it, `text` is what it holds, `overrides` are in their order.
    """

    file: str
    text: str
    overrides: tuple[str, ...]
    faults: list[Fault]

    def fresh(self) -> "Report":
        """A report on the same config with nothing in it."""
        return Report(self.file, self.text, self.overrides, [])

    def add(self, mark: Mark, path: Path, message: str) -> None:
        """Note one thing."""
        self.faults.append(Fault(mark, path, message))

    def add_finding(self, finding: Finding, root: Mapping) -> None:
        """Note what was found out about the config that `root` is the tree of."""
        mark, message = mark_of(root, finding.path), finding.message
        node = node_at(root, finding.path)
        if finding.line is not None and isinstance(node, Scalar):
            lines = str(node.value).rstrip("\n").split("\n")
            # Bash counts a line behind the last where it misses something at the end.
            index = min(finding.line, len(lines)) - 1
            if node.first_line is not None and mark.source is None:
                mark = self._start_of(node.first_line + index)
            elif len(lines) > 1:
                message = f"line {index + 1}: {message}"
        self.add(mark, finding.path, message)

    def _start_of(self, number: int) -> Mark:
        """Where the text of a line of the file begins."""
        line = self.text.splitlines()[number - 1]
        return Mark(number, len(line) - len(line.lstrip()) + 1)

    def where(self, mark: Mark) -> str:
        """How a message names a place."""
        return mark.source or f"{self.file}:{mark.line}:{mark.column}"

    def problems(self) -> tuple[Problem, ...]:
        """Everything noted, once each: in the order of the file, then of the overrides."""
        found: dict[tuple[Mark, Path, str], Problem] = {}
        for fault in sorted(self.faults, key=self._order):
            # An aliased value has several paths, but is one thing to correct. Missing fields have one place together.
            key = fault.mark, fault.path[-1:], fault.message
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


def node_at(root: Mapping, path: Path) -> Node | None:
    """What a path leads to; None where there is nothing."""
    node: Node | None = root
    for step in path:
        node = dict(children(node)).get(step) if node else None
    return node
