"""What an executor is: it stages a run directory, starts its jobs, and knows what became of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, ClassVar, Protocol

from gymsubmit.plan import StagedFile


class JobState(StrEnum):
    """Where a job is in its life; the names are Slurm's (squeue(1), JOB STATE CODES)."""

    PENDING = "PENDING"
    CONFIGURING = "CONFIGURING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    STOPPED = "STOPPED"
    COMPLETING = "COMPLETING"
    REQUEUED = "REQUEUED"
    REQUEUE_HOLD = "REQUEUE_HOLD"
    REQUEUE_FED = "REQUEUE_FED"
    SPECIAL_EXIT = "SPECIAL_EXIT"
    RESV_DEL_HOLD = "RESV_DEL_HOLD"
    RESIZING = "RESIZING"
    SIGNALING = "SIGNALING"
    STAGE_OUT = "STAGE_OUT"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMEOUT = "TIMEOUT"
    NODE_FAIL = "NODE_FAIL"
    PREEMPTED = "PREEMPTED"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    BOOT_FAIL = "BOOT_FAIL"
    DEADLINE = "DEADLINE"
    REVOKED = "REVOKED"

    @property
    def ended(self) -> bool:
        """Whether it is final."""
        return self in _FINAL


_FINAL = frozenset(
    {
        JobState.COMPLETED,
        JobState.FAILED,
        JobState.CANCELLED,
        JobState.TIMEOUT,
        JobState.NODE_FAIL,
        JobState.PREEMPTED,
        JobState.OUT_OF_MEMORY,
        JobState.BOOT_FAIL,
        JobState.DEADLINE,
        JobState.REVOKED,
    }
)


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

    @property
    def host(self) -> str:
        """The machine that queues or starts the jobs."""

    def missing(self, paths: Sequence[str]) -> Sequence[str]:
        """Those of `paths` that a job's containers need and that are not there.

        Raises:
            GymSubmitError: nothing can be submitted from there.
        """

    def stage(self, submission: Submission) -> None:
        """Put the tree in place, whole or not at all.

        Raises:
            StagingError: with nothing left behind.
        """

    def discard(self, submission: Submission) -> None:
        """Remove a staged tree in which nothing was started."""

    def submit(self, submission: Submission) -> Receipt:
        """Start or queue every benchmark of a staged submission."""

    def interrupt(self) -> None:
        """Wait for no answer any longer: `submit` returns with what was queued until now.

        May be called from a signal handler.
        """

    def follow(self, submission: Submission, receipt: Receipt) -> Iterator[tuple[str, JobStatus]]:
        """Each queued benchmark's status whenever it has changed, until all have ended."""

    def how_to_stop(self, receipt: Receipt) -> str:
        """The command line that ends what of the submission has not ended."""

    def leave(self) -> None:
        """Let go of everything that this process holds of the jobs; they go on."""


def log_path(job_dir: PurePosixPath, job_id: str) -> PurePosixPath:
    """Where the job script's output goes."""
    return job_dir / "logs" / f"job-{job_id}.log"
