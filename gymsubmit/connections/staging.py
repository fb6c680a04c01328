"""A run directory appears whole under its name, or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from gymsubmit.errors import GymSubmitError
from gymsubmit.plan import StagedFile

# What every benchmark's directory has from the start: Slurm opens the job's log before the job can make the folder.
BENCHMARK_DIRECTORIES = ("logs", "artifacts")


class StagingError(GymSubmitError):
    """The run directory could not be made; nothing of it is left behind."""


def _make_parents(directory: Path) -> list[Path]:
    """Make `directory` and what it lacks above it; what was made, the deepest last."""
    missing = []
    while not directory.exists():
        missing.append(directory)
        directory = directory.parent
    made: list[Path] = []
    try:
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            made.append(path)
    except OSError:
        _remove_empty(made)
        raise
    return made


def _remove_empty(directories: list[Path]) -> None:
    for path in reversed(directories):
        try:
            path.rmdir()
        except OSError:
            return


def _write(path: Path, file: StagedFile) -> None:
    # The mode is there before the first byte is; fchmod because the umask takes bits from open's.
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, file.mode)
    with os.fdopen(handle, "wb") as stream:
        os.fchmod(handle, file.mode)
        stream.write(file.text.encode("utf-8", "surrogateescape"))


def _fill(root: Path, benchmarks: Iterable[str], files: Iterable[StagedFile]) -> None:
    directories = {Path(name, sub) for name in benchmarks for sub in BENCHMARK_DIRECTORIES}
    files = sorted(files, key=lambda file: file.path)
    for file in files:
        if file.path.is_absolute() or ".." in file.path.parts:
            raise ValueError(f"{file.path} does not lie in the run directory")
        directories.add(Path(file.path).parent)
    for directory in sorted({part for path in directories for part in (path, *path.parents)} - {Path()}):
        (root / directory).mkdir()
        (root / directory).chmod(0o755)
    for file in files:
        _write(root / file.path, file)


def stage(run_dir: Path, benchmarks: Iterable[str], files: Iterable[StagedFile]) -> None:
    """Make the directory `run_dir` (mode 0755) with `files` and each benchmark's empty directories.

    The tree is written to a directory beside it that only its owner can enter, then renamed.

    Raises:
        StagingError: `run_dir` is there already, or cannot be written; nothing is left behind.
    """
    if os.path.lexists(run_dir):
        raise StagingError(f"{run_dir}: is there already; a run directory is never merged into, submit again")
    made: list[Path] = []
    beside: str | None = None
    try:
        made = _make_parents(run_dir.parent)
        beside = tempfile.mkdtemp(prefix=".gymsubmit-", dir=run_dir.parent)
        _fill(Path(beside), benchmarks, files)
        Path(beside).chmod(0o755)
        # A directory that appeared since is replaced only if it is empty, else the rename fails.
        Path(beside).rename(run_dir)
    except BaseException as error:
        if beside is not None:
            shutil.rmtree(beside, ignore_errors=True)
        _remove_empty(made)
        if not isinstance(error, OSError):
            raise
        why = error.strerror or str(error)
        raise StagingError(
            f"{run_dir}: cannot write the run directory: {why}; nothing was left behind, check job.output_path"
        ) from None


def discard(run_dir: Path) -> None:
    """Remove a run directory in which nothing was started."""
    shutil.rmtree(run_dir, ignore_errors=True)
