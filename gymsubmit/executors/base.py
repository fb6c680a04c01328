"""What an executor is: it stages a run directory, starts its jobs, and knows what became of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, ClassVar, Protocol

from gymsubmit.plan import StagedFile


class JobState(StrEnum):
    """Where a job is in its life; the names are Slurm's."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def ended(self) -> bool:
        """Whether it is final."""
        return self not in (JobState.PENDING, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job's state. Times are ISO 8601 with a Z, None before they come; `reason` says why it is not COMPLETED."""

    job_id: str
    state: JobState
    started_at: str | None
    ended_at: str | None
    exit_code: int | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Submission:
    """A finished tree and the jobs in it: `files` are relative to `run_dir`, one directory a benchmark."""

    run_dir: PurePosixPath
    benchmarks: tuple[str, ...]
    files: tuple[StagedFile, ...]


@dataclass(frozen=True, slots=True)
class Queued:
    """One benchmark's answer: a `job_id`, or the `error` that kept it from being queued."""

    benchmark: str
    job_id: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a submission came to; `metadata` is the executor's own, for the record."""

    queued: tuple[Queued, ...]
    metadata: Mapping[str, Any]


class Executor(Protocol):
    """Runs the jobs of a submission somewhere."""

    name: ClassVar[str]
    supports_resumable: ClassVar[bool]

    def stage(self, submission: Submission) -> None:
        """Put the tree in place, whole or not at all.

        Raises:
            StagingError: with nothing left behind.
        """

    def submit(self, submission: Submission) -> Receipt:
        """Start or queue every benchmark of a staged submission."""

    def status(self, job_dir: PurePosixPath) -> JobStatus | None:
        """What became of the job in `job_dir`; None when nothing is known of one."""
