"""Stand-ins as a test on this machine starts them: with records, and without a sleep.

with Running(["vllm/vllm", "serve", "m", "--port", "8000"], records, STAND_IN_FAULTS="crash@load") as server:
    server.await_event("healthy")
    ...
    assert server.wait() == 0
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any

from records import event_of, read

PROGRAMS = Path(__file__).parent
SECONDS = 30.0


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def gpus(count: int) -> str:
    """Names of GPUs that nobody else has, for CUDA_VISIBLE_DEVICES."""
    return ",".join(f"GPU-{uuid.uuid4()}" for _ in range(count))


def ask(port: int, path: str, body: object = None, **headers: str) -> tuple[int, str]:
    """Status and text of an HTTP answer; status 0 where nobody listens, or the connection ends without an answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()
    except OSError:
        return 0, ""


class Running:
    """A stand-in that runs: `command` is its path below this directory, and its arguments."""

    def __init__(self, command: list[str], records: Path, **environment: str) -> None:
        self.records = records
        self.log = records / f"{uuid.uuid4().hex}.log"
        records.mkdir(exist_ok=True)
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "STAND_IN_", "CUDA_"))
        }
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, PROGRAMS / command[0], *command[1:]],
                env=kept | {"STAND_IN_RECORDS": str(records)} | environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def output(self) -> str:
        return self.log.read_text()

    @property
    def record(self) -> dict[str, Any]:
        """What it recorded so far."""
        return next((one for one in read(self.records) if one["pid"] == self.process.pid), {"events": []})

    @property
    def events(self) -> list[str]:
        return [event["name"] for event in self.record["events"]]

    def await_event(self, name: str) -> dict[str, Any]:
        """The event, once it is recorded."""
        deadline = time.monotonic() + SECONDS
        while not (event := event_of(self.record, name)):
            assert time.monotonic() < deadline, f"no {name} within {SECONDS} s:\n{self.output}"
            assert self.process.poll() is None, f"ended without {name}:\n{self.output}"
            time.sleep(0.02)
        return event

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """The exit status, -N for signal N."""
        return self.process.wait(SECONDS)

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
