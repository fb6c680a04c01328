"""The directory that `compile -o` writes: one folder a config, owned whole."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from gymsubmit.cli import logs
from gymsubmit.errors import GymSubmitError
from gymsubmit.plan import StagedFile

# What every compiled benchmark has; a folder is known as compiled by it.
MARKS = ("job.sh", "plan.json")


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Everything below `folder`, what is in a directory before the directory itself. Links are not followed."""
    with os.scandir(folder) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(Path(entry.path))
        yield entry


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def is_compiled(folder: Path) -> bool:
    """Whether an earlier compile made `folder`: it holds a benchmark, and no repository."""
    return (
        _is_folder(folder)
        and any(all((entry / mark).is_file() for mark in MARKS) for entry in folder.iterdir())
        and not any(entry.name == ".git" for entry in _entries(folder))
    )


def _check_own(folder: Path, files: Mapping[PurePosixPath, StagedFile]) -> None:
    """Refuse a folder with something in it that compile would remove without having made it."""
    if not os.path.lexists(folder) or is_compiled(folder):
        return
    if not _is_folder(folder):
        raise GymSubmitError(f"{folder}: is no folder; move it away, or choose another directory with -o")
    own = {folder / path for path in files}
    for entry in _entries(folder):
        # What an interrupted compile left is its own.
        own_beside = any(entry.name.startswith(f".{path.name}.") for path in files)
        if not entry.is_dir(follow_symlinks=False) and Path(entry.path) not in own and not own_beside:
            raise GymSubmitError(
                f"{folder}: was not made by compile, which would remove {entry.path}; "
                "choose another directory with -o, or move the folder away"
            )


def _remove_stale(folder: Path, files: Mapping[PurePosixPath, StagedFile]) -> None:
    keep = {folder / path for path in files}
    directories = {folder / parent for path in files for parent in path.parents}
    for entry in _entries(folder):
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            if path not in directories:
                path.rmdir()
        elif path not in keep:
            path.unlink()
            logs.inform(f"removed {path}")


def _write(path: Path, file: StagedFile) -> None:
    data = file.text.encode()
    # A checkout keeps no more of a mode than whether its owner may run the file.
    if path.is_file() and not path.is_symlink() and path.read_bytes() == data:
        if (path.stat().st_mode ^ file.mode) & 0o100:
            path.chmod(file.mode)
        return
    beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, file.mode)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    logs.inform(f"wrote {path}")


def write(directory: Path, folders: Mapping[str, Mapping[PurePosixPath, StagedFile]], *, prune: bool) -> None:
    """Make each of `folders` (by config stem) hold exactly its files; a file that is right already is not touched.

    `prune` removes the other compiled folders of `directory`.

    Raises:
        GymSubmitError: something there is not compile's to change, before any change; or it cannot be written.
    """
    for stem, files in folders.items():
        _check_own(directory / stem, files)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if prune:
            for other in directory.iterdir():
                if other.name not in folders and is_compiled(other):
                    shutil.rmtree(other)
                    logs.inform(f"removed {other}")
        for stem, files in folders.items():
            folder = directory / stem
            if folder.exists():
                _remove_stale(folder, files)
            for path, file in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                _write(folder / path, file)
    except OSError as error:
        raise GymSubmitError(f"{error.filename or directory}: cannot write: {error.strerror}") from None
