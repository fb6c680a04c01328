"""The record of a submission: what was queued, where, by whom. Nothing in it is specific to one executor.

It lies in the run directory as gym-job.json, and in this machine's index. A reader takes any version up to its own;
within a version fields are only added, with defaults, and fields that a reader does not know are kept.
"""

import json
import logging
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from gymsubmit.errors import GymSubmitError

SCHEMA_VERSION = 1
RECORD_NAME = "gym-job.json"

logger = logging.getLogger(__name__)


class RecordError(GymSubmitError):
    """A record that cannot be read or written."""


@dataclass(frozen=True, slots=True)
class BenchmarkRecord:
    """One benchmark of a submission: `job_id` when it was queued, else `error`, the reason in the queue's words."""

    benchmark: str
    job_dir: str
    job_id: str | None = None
    error: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record:
    """A submission. `submitted_at` is ISO 8601 with a Z; `hostname` the machine that queued the jobs.

    `templates` holds the site (or None) and digests of the templates used. `extra` are fields that another version
    of the same schema wrote.
    """

    gym_job_id: str
    gymsubmit_version: str = ""
    submitted_at: str = ""
    submitted_by: str = ""
    run_dir: str = ""
    cluster: str = ""
    executor: str = ""
    hostname: str | None = None
    benchmarks: tuple[BenchmarkRecord, ...] = ()
    templates: Mapping[str, Any] = field(default_factory=dict)
    executor_metadata: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """The value's own fields, then those that this version does not know."""
    return {name: entry for name, entry in value.items() if name != "extra"} | dict(value["extra"])


def dumps(record: Record) -> str:
    """The record as JSON text."""
    document = {"schema_version": SCHEMA_VERSION} | _flat(asdict(record))
    document["benchmarks"] = [_flat(benchmark) for benchmark in document["benchmarks"]]
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _parts(cls: type, document: Mapping[str, Any]) -> dict[str, Any]:
    known = {entry.name for entry in fields(cls)} - {"extra"}
    own = {name: value for name, value in document.items() if name in known}
    return own | {"extra": {name: value for name, value in document.items() if name not in known}}


def loads(text: str, where: str) -> Record:
    """Read a record; `where` names it in errors.

    Raises:
        RecordError: it is no record, or a newer version wrote it.
    """
    try:
        document = json.loads(text)
        version = document.pop("schema_version", SCHEMA_VERSION)
        if not isinstance(version, int):
            raise TypeError(f"schema_version is {version!r}")
        if version > SCHEMA_VERSION:
            raise RecordError(
                f"{where}: this record has schema_version {version}, gymsubmit reads up to {SCHEMA_VERSION}; "
                f"read it with gymsubmit {document.get('gymsubmit_version') or 'of a newer version'}"
            )
        parts = _parts(Record, document)
        parts["benchmarks"] = tuple(
            BenchmarkRecord(**_parts(BenchmarkRecord, entry)) for entry in parts.get("benchmarks", ())
        )
        return Record(**parts)
    except (ValueError, TypeError, AttributeError) as error:
        raise RecordError(f"{where}: not a record of a submission ({error}); nothing was changed") from None


def read(path: Path) -> Record:
    """The record in the file `path`.

    Raises:
        RecordError: it cannot be read, is no record, or a newer version wrote it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path}: cannot read the record: {getattr(error, 'strerror', None) or error}") from None
    return loads(text, str(path))


def _write(path: Path, text: str) -> None:
    """Whole or not at all: written beside, then renamed."""
    handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(beside).chmod(0o644)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def write(path: Path, record: Record) -> None:
    """Write the record to the file `path`, whole or not at all.

    Raises:
        OSError: as the system says.
    """
    _write(path, dumps(record))


def index_directory() -> Path:
    """Where this machine's records lie; a relative $XDG_CACHE_HOME does not count (XDG base directory spec)."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if cache.startswith("/") else Path.home() / ".cache") / "gymsubmit" / "jobs"


def write_index(record: Record) -> None:
    """Add the record to this machine's index; a failure is a warning, since the run directory has the record too."""
    try:
        directory = index_directory()
        directory.mkdir(parents=True, exist_ok=True)
        _write(directory / f"{record.gym_job_id}.json", dumps(record))
    except (OSError, RuntimeError) as error:  # RuntimeError: no home directory
        logger.warning("the record is not in this machine's index (%s); it is in %s", error, record.run_dir)
