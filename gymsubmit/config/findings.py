"""What validation finds, before it has a place in a file: a path into the config and a message."""

from collections.abc import Iterable

from gymsubmit.config.paths import dotted
from gymsubmit.errors import NotInThisVersionError, Problem
from gymsubmit.frozen import Frozen

Path = tuple[str | int, ...]

ANY_NAME = "*"
"""Stands in a path for all names that a mapping of names does not hold, and could."""


class Finding(Frozen):
    """One thing wrong, or worth a warning, at `path`.

    `message` reads `what is wrong; what to do`. `path` leads to the offending value or, where a field is missing, to
    the mapping that lacks it. `involved` are the paths of the other values that it was drawn from, of absent ones too:
    if one of them is refused, there may be no such finding once that is corrected. What stands below a path is not
    involved with it. `line` is the line of the text at `path` that is meant, from 1.
    """

    path: Path
    message: str
    warning: bool = False
    involved: tuple[Path, ...] = ()
    line: int | None = None


def unknown_name(mapping: Path, name: str) -> tuple[Path, ...]:
    """What is involved where `mapping` does not hold `name`."""
    return (*mapping, name), (*mapping, ANY_NAME)


class UnsupportedError(NotInThisVersionError):
    """What a valid config asks for and this version cannot do, each with its path."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__([Problem("", dotted(finding.path), finding.message) for finding in self.findings])
