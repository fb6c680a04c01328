"""Mounts of a container: `SRC`, `SRC:DST` or `SRC:DST:FLAGS`."""

import re
from typing import Annotated

from gymsubmit.config.base import Check, Words, wrong
from gymsubmit.config.names import check_filled_line
from gymsubmit.frozen import Frozen

# Pyxis splits at ',' and ':' without an escape, and a shell on the node expands the rest within double quotes.
_EXPANDED = '$`"\\'
_FLAGS = re.compile(r"[A-Za-z0-9._=/%-]+(?:\+[A-Za-z0-9._=/%-]+)*")
_NOT_PATHS = ("tmpfs", "umount")


class Mount(Frozen):
    """`source` (a path, `tmpfs` or `umount`) at `destination` in the container."""

    source: str
    destination: str
    flags: tuple[str, ...]

    @property
    def host_path(self) -> str | None:
        """The path that must exist on the node; None for what is no path."""
        return None if self.source in _NOT_PATHS else self.source


def parse_mount(text: str) -> Mount:
    """Read a mount, by Pyxis' grammar.

    Raises:
        PydanticCustomError: (a ValueError) `text` is no mount.
    """
    check_filled_line(text)
    if "," in text:
        message = f"{text!r} holds a comma, which would end the mount; write every mount as an item of its own"
        raise wrong(message)
    if bad := next((char for char in text if char in _EXPANDED), None):
        message = f"{text!r} holds {bad!r}, which a shell on the node would expand; choose a path without it"
        raise wrong(message)
    source, *more = text.split(":")
    if len(more) > 2:
        message = f"{text!r} has more than three parts; write SRC, SRC:DST or SRC:DST:FLAGS, paths without a colon"
        raise wrong(message)
    if source not in _NOT_PATHS:
        _check_path(text, source)
    elif not more:
        message = f"{text!r} has no destination; write {source}:/path"
        raise wrong(message)
    destination = more[0] if more else source
    _check_path(text, destination)
    flags = more[1] if len(more) == 2 else None
    if flags is not None and not _FLAGS.fullmatch(flags):
        message = f"{text!r} ends in no flags; write them joined by a plus, as in ro+nosuid"
        raise wrong(message)
    return Mount(source, destination, tuple(flags.split("+")) if flags else ())


def _check_path(text: str, path: str) -> None:
    if not path.startswith(("/", ".")):
        message = f"{text!r} mounts {path!r}, which is no path; begin it with / or ."
        raise wrong(message)


def _check(text: str) -> str:
    parse_mount(text)
    return text


Mounts = Words[Annotated[str, Check(_check)]]
