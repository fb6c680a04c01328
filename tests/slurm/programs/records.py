"""What a stand-in program was: one JSON file for each process, below the directory that STAND_IN_RECORDS names.

    from records import record

    run = record("vllm", devices=["0", "1"])  # first thing in the program
    run.event("healthy", port=8000)           # as often as something happens
    run.end(0)                                # last

A file is whole whenever it is read: every change is written beside it and renamed. Without STAND_IN_RECORDS nothing is
written. The environment is recorded too, so the directory is for tests alone.
"""

import contextlib
import json
import os
import socket
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any

DIRECTORY = "STAND_IN_RECORDS"


class Record:
    """The record of this process; `data` is what its file holds."""

    def __init__(self, path: Path | None, data: dict[str, Any]) -> None:
        self.path = path
        self.data = data
        self._writes = 0
        # A signal's handler may come in between.
        self._lock = threading.RLock()

    def event(self, name: str, **fields: object) -> None:
        """Add {"name": name, "time": seconds since the epoch, **fields} to `events`."""
        with self._lock:
            self.data["events"].append({"name": name, "time": time.time(), **fields})
            self._write()

    def set(self, **fields: object) -> None:
        """Add fields that were not known at the start."""
        with self._lock:
            self.data |= fields
            self._write()

    def end(self, status: int) -> None:
        """The event `end`, with the exit status; a process that is killed has none."""
        self.event("end", status=status)

    def _write(self) -> None:
        if self.path is None:
            return
        self._writes += 1
        beside = self.path.with_suffix(f".{self._writes}.new")
        beside.write_text(json.dumps(self.data, indent=1), encoding="utf-8", errors="surrogateescape")
        beside.rename(self.path)


def record(program: str, **fields: object) -> Record:
    """Start the record of this process: program, argv, environment, host, pid, cwd, `fields`, events (`start` so far).

    The file is named PROGRAM-HOST-PID-RANDOM.json. The directory is made where it is missing; it is open to all, since
    several users' programs may share one.
    """
    directory = os.environ.get(DIRECTORY)
    host = socket.gethostname()
    path = None
    if directory:
        path = Path(directory, f"{program}-{host}-{os.getpid()}-{uuid.uuid4().hex[:8]}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(PermissionError):
            path.parent.chmod(0o1777)
    data: dict[str, Any] = {
        "program": program,
        "argv": sys.argv[1:],
        "environment": dict(os.environ),
        "host": host,
        "pid": os.getpid(),
        "cwd": os.getcwd(),  # noqa: PTH109 - as the kernel has it
        "events": [],
        **fields,
    }
    made = Record(path, data)
    made.event("start")
    return made


def read(directory: Path, program: str = "*") -> list[dict[str, Any]]:
    """All records of a directory, or those of one program, in the order in which the processes started."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in directory.glob(f"{program}-*.json")]
    return sorted(found, key=lambda one: one["events"][0]["time"])


def event_of(one: dict[str, Any], name: str) -> dict[str, Any] | None:
    """The first event of that name in a record as `read` returns it."""
    return next((event for event in one["events"] if event["name"] == name), None)
