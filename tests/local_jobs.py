"""Jobs of the local executor for tests: gates instead of sleeps."""

import json
import os
import re
import select
import signal
from pathlib import Path

DEADLINE = 60.0


class Gate:
    """A FIFO that a job passes a line through: `opens` in a script, `wait` in the test, or the other way round."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        # Open at both ends, so that neither side blocks in open().
        self._fd = os.open(path, os.O_RDWR)

    @property
    def opens(self) -> str:
        return f"echo open > '{self.path}'"

    @property
    def awaits(self) -> str:
        return f"read -r _ < '{self.path}'"

    def wait(self) -> None:
        ready, _, _ = select.select([self._fd], [], [], DEADLINE)
        assert ready, f"nothing came through {self.path}"
        os.read(self._fd, 5)

    def open(self) -> None:
        os.write(self._fd, b"open\n")

    def close(self) -> None:
        os.close(self._fd)


def await_end(pid: int) -> None:
    """Wait until a process that may not be a child of ours is gone."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        ready, _, _ = select.select([descriptor], [], [], DEADLINE)
        assert ready, f"process {pid} does not end"
    finally:
        os.close(descriptor)


def state_of(job_dir: Path) -> dict[str, object]:
    state = json.loads((job_dir / ".gym_local.json").read_text())
    assert isinstance(state, dict)
    return state


def end(pid: int) -> None:
    """Clean up after a test: the runner, then what it ran."""
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    await_end(pid)


def run_dir_of(tmp_path: Path) -> Path:
    """The only run directory of a test."""
    (run_dir,) = (tmp_path / "runs").iterdir()
    assert re.fullmatch(r"gym-job-\d{8}T\d{6}Z-[0-9a-f]{6}", run_dir.name)
    return run_dir


def runner_of(run_dir: Path) -> int:
    pid = json.loads((run_dir / "gym-job.json").read_text())["executor_metadata"]["runner_pid"]
    assert isinstance(pid, int)
    return pid


def processes_with(needle: bytes, what: str) -> set[int]:
    """Pids whose /proc/PID/`what` holds `needle`, this process apart."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if needle in (entry / what).read_bytes():
                    found.add(int(entry.name))
            except OSError:
                continue
    return found
