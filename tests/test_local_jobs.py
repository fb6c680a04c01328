"""What the script of a local job does with its services and its driver, and what its logs say."""

import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from local_jobs import Gate, await_end, processes_with, run_dir_of, runner_of

pytestmark = pytest.mark.usefixtures("submissions")


def write(path: Path, services: dict[str, Any], command: str = "exit 0", **driver: object) -> Path:
    config = {
        "services": {name: {"type": "command", **service} for name, service in services.items()},
        "compute": {"here": {"type": "local"}},
        "driver": {"benchmarks": {"math": {"command": command}}, **driver},
        "job": {"output_path": str(path.parent / "runs")},
    }
    path.write_text(json.dumps(config, indent=2))
    return path


def log(tmp_path: Path, name: str = "job") -> str:
    """The log of the job, or of one of its steps."""
    (found,) = run_dir_of(tmp_path).glob(f"math/logs/{name}-*.log")
    return found.read_text()


def silent_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


PRE_COMMAND = """\
cd /usr
ulimit -n 77
export EXPORTED=exported
unexported=unexported
set -o pipefail
shopt -s extglob
greet() { echo hello; }
"""
TELL = """\
echo "$PWD $(ulimit -n) $EXPORTED"
echo "${unexported-none} $(greet 2>/dev/null || echo no greeting)"
shopt -o errexit pipefail; shopt extglob
"""


@pytest.mark.parametrize("kind", ["text", "words", "file"])
def test_what_a_command_finds_of_its_pre_command(
    kind: str, tmp_path: Path, gate: Callable[[str], Gate], capsys: pytest.CaptureFixture[str]
) -> None:
    done = gate("done")
    script = f"{TELL}{done.opens}; exec sleep 1000\n"
    command = {"text": script, "words": ["bash", "-c", script], "file": f"#!/bin/bash\n{script}"}[kind]
    service = {"command": command, "pre_command": PRE_COMMAND}
    assert run(capsys, "submit", "-c", write(tmp_path / "c.yaml", {"s": service}, done.awaits), "--wait").status == 0
    same_shell = kind == "text"
    on = "on" if same_shell else "off"
    assert log(tmp_path, "s").split() == [
        *("/usr", "77", "exported"),
        *(("unexported", "hello") if same_shell else ("none", "no", "greeting")),
        *("errexit", on, "pipefail", on, "extglob", on),
    ]


def test_what_fails_in_a_pre_command_ends_the_service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    service = {"command": ["sleep", "1000"], "pre_command": "echo before; (exit 4); echo after"}
    assert run(capsys, "submit", "-c", write(tmp_path / "c.yaml", {"s": service}, "sleep 1000"), "--wait").status == 1
    assert log(tmp_path, "s") == "before\n"
    assert log(tmp_path).startswith("ERROR: service s ended with status 4 while the driver ran\n")


def await_processes(run_dir: Path, command: bytes) -> set[int]:
    """The processes of a submission whose command line holds `command`, once there are any."""
    while not (found := processes_with(str(run_dir).encode(), "environ") & processes_with(command, "cmdline")):
        pass
    return found


def test_a_health_check_that_is_killed_says_nothing(
    tmp_path: Path, gate: Callable[[str], Gate], capsys: pytest.CaptureFixture[str]
) -> None:
    go = gate("go")
    check = {"timeout_seconds": 5000, "interval_seconds": 997}
    service = {"command": f"{go.awaits}; echo last words; exit 3", "port": silent_port(), "health_check": check}
    config = write(tmp_path / "c.yaml", {"dies": service})
    assert run(capsys, "submit", "-c", config).status == 0
    run_dir = run_dir_of(tmp_path)
    # As it happens when the job ends: what a check waits with may be killed before the check is.
    (pause,) = await_processes(run_dir, b"sleep\x00997")
    os.kill(pause, signal.SIGTERM)
    await_end(pause)
    go.open()
    await_end(runner_of(run_dir))
    (dies,) = run_dir.glob("math/logs/dies-*.log")
    assert log(tmp_path) == (
        "ERROR: service dies ended with status 3 before all services were healthy\n"
        f"The end of its log, {dies}:\nlast words\n"
    )
