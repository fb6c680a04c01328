"""Queues the jobs with sbatch, from whichever machine the connection reaches."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from gymsubmit.connections.base import Answer, Connection
from gymsubmit.errors import GymSubmitError
from gymsubmit.executors import remote
from gymsubmit.executors.base import JobState, JobStatus, Receipt, Submission
from gymsubmit.executors.environment import PASSED
from gymsubmit.executors.sbatch import read_answers
from gymsubmit.executors.slurm_status import ACCOUNT_FIELDS, QUEUE_FIELDS, read_status

# Every question is answered by the one slurmctld that schedules for everybody.
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 15.0
# What Slurm knows of a job it has just taken may take a while to be seen, in the accounting above all.
FORGOTTEN_AFTER = 20
# A job waits for its turn: nothing that anybody could do something about.
_WAITING = frozenset({"Priority", "Resources", "BeginTime", "Dependency"})


class SlurmExecutor:
    """One `sbatch` a benchmark, all in one shell."""

    name: ClassVar[str] = "slurm"
    supports_resumable: ClassVar[bool] = False

    def __init__(self, connection: Connection, pass_env: Sequence[str] = ()) -> None:
        self._connection = connection
        self._patterns = " ".join((*PASSED, "SLURM_CONF", *pass_env))

    @property
    def host(self) -> str:
        """The machine where sbatch is called."""
        return self._connection.host

    def missing(self, paths: Sequence[str]) -> Sequence[str]:
        """Those of `paths` that are not there, as seen from where sbatch is called.

        Raises:
            GymSubmitError: there is no sbatch.
        """
        answer = remote.run(self._connection, "look", [self._patterns, *paths])
        _, _, said = answer.stdout.decode("utf-8", "replace").partition("begin\n")
        *lines, end = said.splitlines() or [""]
        if end != "end":
            words = answer.stderr.decode("utf-8", "replace").strip()
            raise GymSubmitError(f"{self.host}: cannot look for sbatch and the mounts: {words or 'no answer'}")
        if "sbatch" in lines:
            raise GymSubmitError(
                f"{self.host}: there is no sbatch on the PATH; submit from a machine that has Slurm's commands, or run "
                "the job on this one with a compute entry of `type: local`"
            )
        return [paths[int(line)] for line in lines]

    def stage(self, submission: Submission) -> None:
        """Put the tree in place, whole or not at all.

        Raises:
            StagingError: with nothing left behind.
        """
        self._connection.stage(submission.run_dir, submission.benchmarks, submission.files)

    def discard(self, submission: Submission) -> None:
        """Remove a staged tree in which nothing was queued."""
        self._connection.discard(submission.run_dir)

    def submit(self, submission: Submission) -> Receipt:
        """Queue every benchmark's job; one that Slurm rejects is no reason to stop."""
        arguments = [self._patterns, str(submission.run_dir), *submission.benchmarks]
        answer = remote.run(self._connection, "queue", arguments)
        return Receipt(read_answers(submission.benchmarks, answer), {})

    def interrupt(self) -> None:
        """End the shell that queues the jobs: `submit` returns with those that were queued until now."""
        self._connection.interrupt()

    def follow(self, submission: Submission, receipt: Receipt) -> Iterator[tuple[str, JobStatus]]:
        """Each queued benchmark's status whenever it has changed, until all have ended.

        Raises:
            GymSubmitError: Slurm does not know the jobs any more.
        """
        waiting = {queued.job_id: queued.benchmark for queued in receipt.queued if queued.job_id}
        seen: dict[str, tuple[JobState, str | None]] = {}
        unanswered = dict.fromkeys(waiting, 0)
        pause = FIRST_PAUSE_SECONDS
        while waiting:
            answer = remote.run(self._connection, "ask", [",".join(waiting), QUEUE_FIELDS, ACCOUNT_FIELDS])
            found = read_status(answer.stdout.decode("utf-8", "replace"))
            unanswered = {job_id: 0 if job_id in found else unanswered[job_id] + 1 for job_id in waiting}
            if FORGOTTEN_AFTER in unanswered.values():
                lost = [job_id for job_id, times in unanswered.items() if times == FORGOTTEN_AFTER]
                raise GymSubmitError(_silence(self.host, lost, answer))
            for job_id, status in _changes(waiting, found, seen):
                yield waiting[job_id], status
                if status.state.ended:
                    del waiting[job_id]
                pause = FIRST_PAUSE_SECONDS
            if waiting:
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def how_to_stop(self, receipt: Receipt) -> str:
        """The scancel of every job that was queued."""
        return " ".join(["scancel", *(queued.job_id for queued in receipt.queued if queued.job_id)])

    def leave(self) -> None:
        """Nothing of the jobs is held here."""


def _silence(host: str, job_ids: Sequence[str], answer: Answer) -> str:
    words = answer.stderr.decode("utf-8", "replace").strip().splitlines()
    said = f" ({words[-1]})" if words else ""
    return f"{host}: Slurm knows nothing of job {', '.join(job_ids)}{said}; look for it with `sacct -j {job_ids[0]}`"


def _changes(
    waiting: Mapping[str, str], found: Mapping[str, JobStatus], seen: dict[str, tuple[JobState, str | None]]
) -> list[tuple[str, JobStatus]]:
    """What is news, by job id; `seen` is brought up to date."""
    news = []
    for job_id in waiting:
        if (status := found.get(job_id)) is None:
            continue
        reason = status.reason if status.reason not in _WAITING else None
        if seen.get(job_id) != (status.state, reason):
            seen[job_id] = (status.state, reason)
            news.append((job_id, status))
    return news
