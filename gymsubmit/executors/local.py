"""Runs the jobs on this machine, in the background: the whole life of a job without a cluster."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import ClassVar

from gymsubmit.connections import staging
from gymsubmit.executors import local_runner
from gymsubmit.executors.base import JobState, JobStatus, Queued, Receipt, Submission
from gymsubmit.executors.environment import clean_environment

# An interpreter may need this to start at all; jobs get it only if pass_env says so.
LIBRARIES = "LD_LIBRARY_PATH"
# Python sets this one itself in the C locale (PEP 538).
LOCALE = "LC_CTYPE"


def _lives(identity: object) -> bool:
    """Whether the process that `identity` names (local_runner.identity) is still there."""
    if not isinstance(identity, dict) or not isinstance(pid := identity.get("pid"), int):
        return False
    return local_runner.identity(pid) == identity


def _read(job_dir: PurePosixPath) -> tuple[JobStatus, dict[str, object]] | None:
    try:
        state = json.loads(Path(job_dir, local_runner.STATE_FILE).read_text(encoding="utf-8"))
        status = JobStatus(
            job_id=state["job_id"],
            state=JobState(state["state"]),
            started_at=state.get("started_at"),
            ended_at=state.get("ended_at"),
            exit_code=state.get("exit_code"),
            reason=state.get("reason"),
        )
    except (OSError, ValueError, TypeError, LookupError):
        return None
    return status, state


def read_status(job_dir: PurePosixPath) -> JobStatus | None:
    """The job's state, right even if its runner died; on another machine, what was written last."""
    found = _read(job_dir)
    if found is None:
        return None
    status, state = found
    if status.state.ended or state.get("host") != os.uname().nodename:
        return status
    if _lives(state.get("process")) or _lives(state.get("runner")):
        return status
    # The runner may have written the end, and ended, since the file was read.
    status, _ = _read(job_dir) or found
    if status.state is JobState.PENDING:
        return replace(status, state=JobState.CANCELLED, reason="its runner died before it was started")
    if status.state is JobState.RUNNING:
        reason = "its runner died; how the job ended is unknown, see its log"
        return replace(status, state=JobState.FAILED, reason=reason)
    return status


class LocalExecutor:
    """One runner process for each submission, in a session of its own: the submitter's signals do not reach it."""

    name: ClassVar[str] = "local"
    supports_resumable: ClassVar[bool] = False

    def __init__(self, pass_env: Sequence[str] = ()) -> None:
        self._pass_env = tuple(pass_env)
        self._runner: subprocess.Popen[bytes] | None = None

    @property
    def host(self) -> str:
        """This machine."""
        return os.uname().nodename

    def missing(self, paths: Sequence[str]) -> Sequence[str]:
        """Those of `paths` that do not exist."""
        return [path for path in paths if not Path(path).exists()]

    def stage(self, submission: Submission) -> None:
        """Put the tree in place, whole or not at all.

        Raises:
            StagingError: with nothing left behind.
        """
        staging.stage(Path(submission.run_dir), submission.benchmarks, submission.files)

    def discard(self, submission: Submission) -> None:
        """Remove a staged tree in which nothing was started."""
        staging.discard(Path(submission.run_dir))

    def _start_runner(self, submission: Submission) -> subprocess.Popen[bytes]:
        environment = clean_environment(os.environ, self._pass_env)
        own = {LIBRARIES: os.environ[LIBRARIES]} if LIBRARIES in os.environ else {}
        drops = [word for name in (LIBRARIES, LOCALE) if name not in environment for word in ("--drop", name)]
        command = [sys.executable, "-I", local_runner.__file__, *drops, str(submission.run_dir), *submission.benchmarks]
        with Path(submission.run_dir, local_runner.RUNNER_LOG).open("wb") as log:
            return subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd="/",
                env=environment | own,
                start_new_session=True,
            )

    def submit(self, submission: Submission) -> Receipt:
        """Start the jobs of a staged submission; they run one after the other, since they use the same ports."""
        log = Path(submission.run_dir, local_runner.RUNNER_LOG)
        try:
            runner = self._start_runner(submission)
        except OSError as error:
            return _all_failed(submission, f"cannot start {sys.executable}: {error.strerror}")
        answer = runner.stdout.readline() if runner.stdout else b""
        if not answer:
            runner.communicate()
            words = log.read_text(errors="replace").strip().splitlines()
            why = f"its runner ended with status {runner.returncode}: {words[-1] if words else ''}"
            return _all_failed(submission, why)
        failed: dict[str, str] = json.loads(answer)["failed"]
        self._runner = runner
        queued = tuple(
            Queued(name, None, failed[name]) if name in failed else Queued(name, f"{runner.pid}_{number}", None)
            for number, name in enumerate(submission.benchmarks, 1)
        )
        return Receipt(queued, {"runner_pid": runner.pid})

    def interrupt(self) -> None:
        """Nothing that would take long is waited for: the runner answers once it has started the first job."""

    def status(self, job_dir: PurePosixPath) -> JobStatus | None:
        """What became of the job in `job_dir`."""
        return read_status(job_dir)

    def follow(self, submission: Submission, receipt: Receipt) -> Iterator[tuple[str, JobStatus]]:
        """Each benchmark's status whenever it has changed, from RUNNING on, until all have ended."""
        del receipt  # the runner tells of all jobs, and of those that it could not start
        seen: dict[str, JobState] = {}

        def changed(name: str) -> Iterator[tuple[str, JobStatus]]:
            status = read_status(submission.run_dir / name)
            if status is not None and status.state not in (JobState.PENDING, seen.get(name)):
                seen[name] = status.state
                yield name, status

        yield from changed(submission.benchmarks[0])
        if self._runner is not None and self._runner.stdout is not None:
            for line in self._runner.stdout:
                yield from changed(submission.benchmarks[int(line)])
            self._runner.wait()
        for name in submission.benchmarks:
            yield from changed(name)
        while running := [name for name, state in seen.items() if not state.ended]:
            time.sleep(0.2)  # the runner died, a job of its still runs
            for name in running:
                yield from changed(name)

    def how_to_stop(self, receipt: Receipt) -> str:
        """The command line that ends the runner, and with it the job that runs and those that wait."""
        return f"kill {receipt.metadata.get('runner_pid')}"

    def leave(self) -> None:
        """Let go of the runner, which outlives this process."""
        if self._runner is not None:
            if self._runner.stdout is not None:
                self._runner.stdout.close()
            self._runner.returncode = 0  # else Popen warns that it still runs
            self._runner = None


def _all_failed(submission: Submission, why: str) -> Receipt:
    return Receipt(tuple(Queued(name, None, why) for name in submission.benchmarks), {})
