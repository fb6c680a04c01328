"""The process that runs a local submission's jobs one after the other, whatever becomes of the command that did.

Run as `python -I local_runner.py [--drop NAME]... RUN_DIR BENCHMARK...`, standard library only. `--drop` names
variables that this interpreter needed and the jobs must not see; everything else of its environment is theirs.

What it tells others:

- `<benchmark>/.gym_local.json`, a job's state, written beside and renamed, so that a reader sees a whole one.
- stdout, a pipe: first one JSON object `{"failed": {BENCHMARK: WHY}}` once the first job was started, then the number
  of a benchmark (from 0) on a line whenever its state has changed. Nobody needs to listen.

TERM ends the running job by TERM to its process group; it and those after it become CANCELLED. A second TERM is a KILL
to all that is left of it.
"""

import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

STATE_FILE = ".gym_local.json"
RUNNER_LOG = ".gym_runner.log"  # our stderr, in the run directory
KILL_WAIT_SECONDS = 10.0  # between TERM and KILL for what a job leaves behind, as Slurm does (its KillWait)
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def now() -> str:
    """The time as ISO 8601 with milliseconds and a Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def boot_id() -> str:
    """Names this boot of this machine."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def _stat(pid: int | str) -> list[str]:
    """The fields of /proc/PID/stat from the third (state) on; empty when there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return []
    # The second field is the program's name in parentheses, which may hold blanks and parentheses itself.
    return text.rpartition(")")[2].split()


def identity(pid: int) -> dict[str, object]:
    """Names a process for good, not just as long as its pid is not given again; empty if it is no more.

    `start` is in clock ticks since `boot`. A zombie is no more.
    """
    stat = _stat(pid)
    return {"pid": pid, "start": int(stat[19]), "boot": boot_id()} if stat and stat[0] not in "ZX" else {}


class Job:
    """One benchmark's job and its state file."""

    def __init__(self, number: int, directory: Path) -> None:
        self.number = number
        self.name = directory.name
        self.directory = directory
        self.id = f"{os.getpid()}_{number + 1}"
        self.state: dict[str, object] = {
            "job_id": self.id,
            "state": "PENDING",
            "started_at": None,
            "ended_at": None,
            "exit_code": None,
            "reason": None,
            "host": socket.gethostname(),
            "process": {},
            "runner": identity(os.getpid()),
        }

    def write(self, **changes: object) -> None:
        """Change the state and write it. A full disk must not end the jobs, so a failure is only told."""
        self.state |= changes
        beside = self.directory / f"{STATE_FILE}.{os.getpid()}"
        try:
            beside.write_text(json.dumps(self.state, indent=2) + "\n")
            beside.replace(self.directory / STATE_FILE)
        except OSError as error:
            sys.stderr.write(f"{self.directory / STATE_FILE}: {error.strerror}\n")
            sys.stderr.flush()
            with contextlib.suppress(OSError):
                beside.unlink()


class Runner:
    """Runs the jobs in order."""

    def __init__(self, jobs: list[Job], environment: dict[str, str]) -> None:
        self.jobs = jobs
        self.environment = environment
        self.process: subprocess.Popen[bytes] | None = None
        self.cancelled = False
        self.killed = False

    def cancel(self, _signal: int, _frame: object) -> None:
        """The handler of TERM."""
        self.killed = self.cancelled
        self.cancelled = True
        self.end_process()

    def end_process(self) -> None:
        """Ask the running job to end, or make it."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL if self.killed else signal.SIGTERM)

    def end_session(self, session: int) -> None:
        """End what a job left running, as the end of a Slurm job does: the next job uses the same ports."""
        deadline = time.monotonic() + KILL_WAIT_SECONDS
        asked: set[int] = set()
        while running := left_behind(session):
            late = self.killed or time.monotonic() > deadline
            for pid in running if late else running - asked:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
            asked |= running
            time.sleep(0.05)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if time.monotonic() > deadline + KILL_WAIT_SECONDS:
                return  # another user's, or stuck in the kernel

    def start(self, job: Job) -> str | None:
        """Start the job; why it could not be, None when it runs."""
        bash = shutil.which("bash", path=self.environment.get("PATH", os.defpath))
        if bash is None:
            return "there is no bash on PATH; install it"
        try:
            log = os.open(job.directory / "logs" / f"job-{job.id}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            return f"cannot open the job's log: {error.strerror}"
        try:
            self.process = subprocess.Popen(  # noqa: S603
                [bash, "job.sh"],
                cwd=job.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment | {"GYM_JOB_ID": job.id},
                start_new_session=True,
            )
        except OSError as error:
            return f"cannot start bash: {error.strerror}"
        finally:
            os.close(log)
        job.write(state="RUNNING", started_at=now(), process=identity(self.process.pid))
        if self.cancelled:  # while it was being started
            self.end_process()
        return None

    def finish(self, job: Job) -> None:
        """Wait for the running job, end what it left behind, write how it ended."""
        if self.process is None:
            return
        pid = self.process.pid
        ended, status = os.waitpid(-1, 0)
        while ended != pid:  # an orphan of the job's
            ended, status = os.waitpid(-1, 0)
        code = os.waitstatus_to_exitcode(status)
        self.process.returncode = code
        self.process = None
        ended_at = now()
        self.end_session(pid)
        reason = None
        if code < 0:
            reason = f"killed by {signal.Signals(-code).name}"
            code = 128 - code
        state = "COMPLETED" if code == 0 else "CANCELLED" if self.cancelled else "FAILED"
        job.write(state=state, ended_at=ended_at, exit_code=code, reason=reason)

    def run(self) -> None:
        """Run all jobs."""
        for job in self.jobs:
            job.write()
        failed: dict[str, str] = {}
        for job in self.jobs:
            why = "cancelled before it started" if self.cancelled else self.start(job)
            if why is not None:
                job.write(state="CANCELLED" if self.cancelled else "FAILED", ended_at=now(), reason=why)
                failed[job.name] = why
            if job is self.jobs[0]:
                report(json.dumps({"failed": failed}))
                # From here on a listener that does not read must not hold up the jobs.
                os.set_blocking(sys.stdout.fileno(), False)
            else:
                report(str(job.number))
            self.finish(job)
            report(str(job.number))


def report(line: str) -> None:
    """Tell whoever started us, if anybody still listens."""
    with contextlib.suppress(BrokenPipeError, BlockingIOError):
        os.write(sys.stdout.fileno(), f"{line}\n".encode())


def left_behind(session: int) -> set[int]:
    """Processes of the session `session`, and orphans that fell to us; zombies apart."""
    found = set()
    for entry in os.listdir("/proc"):  # noqa: PTH208
        stat = _stat(entry) if entry.isdigit() else []
        if stat and stat[0] not in "ZX" and (int(stat[1]) == os.getpid() or int(stat[3]) == session):
            found.add(int(entry))
    return found


def main(argv: list[str]) -> None:
    """Run the submission that `argv` names."""
    environment = dict(os.environ)
    while argv and argv[0] == "--drop":
        environment.pop(argv[1], None)
        del argv[:2]
    run_dir, *benchmarks = argv
    runner = Runner([Job(n, Path(run_dir, name)) for n, name in enumerate(benchmarks)], environment)
    # Handlers, not SIG_IGN and not a mask: a job would inherit those, and could not trap the signal.
    signal.signal(signal.SIGTERM, runner.cancel)
    signal.signal(signal.SIGINT, runner.cancel)
    signal.signal(signal.SIGHUP, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    # Orphans of a job fall to this process, where they are found and ended.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    runner.run()
    with contextlib.suppress(OSError):
        if (log := Path(run_dir, RUNNER_LOG)).stat().st_size == 0:
            log.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
