"""What validation finds, before it has a place in a file: a path into the config and a message."""

from dataclasses import dataclass

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong, or worth a warning, at `path`.

    `message` reads `what is wrong; what to do`. `path` leads to the offending value or, where a field is missing, to
    the mapping that lacks it. `involved` are the other paths the finding was drawn from.
    """

    path: Path
    message: str
    warning: bool = False
    involved: tuple[Path, ...] = ()
