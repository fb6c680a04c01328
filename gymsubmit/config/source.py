"""The text of a config file, or why there is none."""

import codecs
from pathlib import Path

from gymsubmit.errors import ConfigError, Problem

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # UTF-32 begins with the first of them too, or with NULs


def read(path: Path) -> str:
    """Read a config file.

    Raises:
        ConfigError: there is no such file, or it holds no text.
    """
    where = str(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError([Problem(where, "", _unreadable(path, error))]) from None
    if not data.strip():
        raise ConfigError(
            [Problem(where, "", "is empty; write the sections `services`, `compute`, `driver` and `job`")]
        )
    if data.startswith(_UTF16):
        raise ConfigError([Problem(where, "", "is UTF-16 text; save it as UTF-8")])
    if b"\0" in data:
        raise ConfigError([Problem(where, "", "is a binary file; give a YAML file")])
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        *before, line = error.object[: error.start].split(b"\n")
        place = f"{where}:{len(before) + 1}:{len(line.decode()) + 1}"
        message = f"the byte 0x{error.object[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise ConfigError([Problem(place, "", message)]) from None


def _unreadable(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        if str(path) == "-":
            return "standard input is not read; give the path of a file"
        near = _nearest(path)
        return f"there is no such file; {f'did you mean {near}?' if near else 'check the path'}"
    if isinstance(error, IsADirectoryError):
        return "is a directory; give the path of a YAML file"
    return f"cannot be read ({error.strerror}); give the path of a YAML file that can"


def _nearest(path: Path) -> Path | None:
    from difflib import get_close_matches  # noqa: PLC0415  # only a mistake pays for the import

    try:
        names = [other.name for other in path.parent.iterdir() if other.suffix in {".yaml", ".yml"}]
    except OSError:
        return None
    match = get_close_matches(path.name, names, n=1)
    return path.with_name(match[0]) if match else None
