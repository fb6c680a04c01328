import gc
import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import run, start, write_local
from local_jobs import Gate, await_end, processes_with, run_dir_of, runner_of, state_of

pytestmark = pytest.mark.usefixtures("submissions")


def test_wait_tells_every_change_and_the_end_of_a_failed_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_local(
        tmp_path / "c.yaml", {"good": "exit 0", "bad": "for i in {1..30}; do echo line $i; done; exit 7"}
    )
    done = run(capsys, "submit", "-c", config, "--wait")
    run_dir = run_dir_of(tmp_path)
    runner = runner_of(run_dir)
    log = run_dir / "bad" / "logs" / f"job-{runner}_2.log"
    assert done.status == 1
    assert done.out.startswith(f"Run directory: {run_dir}\nsubmitted good → ")
    tail = "\n".join(log.read_text().splitlines()[-20:])
    assert "line 30" in tail
    assert re.sub(r"after \d+ s", "after N s", done.err) == (
        f"good: RUNNING (job {runner}_1)\n"
        "good: COMPLETED after N s\n"
        f"bad: RUNNING (job {runner}_2)\n"
        "bad: FAILED after N s, exit status 7\n"
        f"bad: the end of {log}:\n{tail}\n"
    )


def test_wait_speaks_json_when_logs_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_local(tmp_path / "c.yaml", {"good": "exit 0"})
    done = run(capsys, "submit", "-c", config, "--wait", "--log-format", "json")
    messages = [json.loads(line)["message"].split(" ")[:2] for line in done.err.splitlines()]
    assert (done.status, messages) == (0, [["good:", "RUNNING"], ["good:", "COMPLETED"]])


def test_wait_collects_garbage_though_the_program_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gc.disable()
    try:
        assert run(capsys, "submit", "-c", write_local(tmp_path / "c.yaml", {"good": "exit 0"}), "--wait").status == 0
        assert gc.isenabled()
    finally:
        gc.enable()


def test_ctrl_c_under_wait_leaves_the_job_running_and_says_how_to_find_it(
    tmp_path: Path, gate: Callable[[str], Gate]
) -> None:
    up, go = gate("up"), gate("go")
    config = write_local(tmp_path / "c.yaml", {"math": f"{up.opens}; {go.awaits}", "code": "exit 0"})
    process = start("submit", "-c", config, "--wait")
    assert process.stderr is not None
    first = process.stderr.readline()
    up.wait()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    run_dir = run_dir_of(tmp_path)
    runner = runner_of(run_dir)
    assert process.returncode == 130
    assert out.startswith(f"Run directory: {run_dir}\n")
    assert first == f"math: RUNNING (job {runner}_1)\n"
    assert err == (
        "interrupted; the submission goes on:\n"
        f"  run directory  {run_dir}\n"
        f"  running        math (job {runner}_1)\n"
        f"  its log        {run_dir}/math/logs/job-{runner}_1.log\n"
        f"  stop it        kill {runner}\n"
    )
    assert state_of(run_dir / "math")["state"] == "RUNNING"
    go.open()
    await_end(runner)
    assert [state_of(run_dir / name)["state"] for name in ("math", "code")] == ["COMPLETED", "COMPLETED"]


def test_what_it_says_stops_it(tmp_path: Path, gate: Callable[[str], Gate], capsys: pytest.CaptureFixture[str]) -> None:
    up = gate("up")
    config = write_local(tmp_path / "c.yaml", {"math": f"{up.opens}; sleep 1000", "code": "exit 0"})
    assert run(capsys, "submit", "-c", config).status == 0
    run_dir = run_dir_of(tmp_path)
    up.wait()
    runner = runner_of(run_dir)
    os.kill(runner, signal.SIGTERM)
    await_end(runner)
    assert [state_of(run_dir / name)["state"] for name in ("math", "code")] == ["CANCELLED", "CANCELLED"]
    assert processes_with(str(run_dir).encode(), "environ") == set()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_the_command_may_die_while_it_waits(
    number: signal.Signals, tmp_path: Path, gate: Callable[[str], Gate]
) -> None:
    up, go = gate("up"), gate("go")
    config = write_local(tmp_path / "c.yaml", {"math": f"{up.opens}; {go.awaits}"})
    process = start("submit", "-c", config, "--wait")
    up.wait()
    assert process.stderr is not None
    process.stderr.readline()
    os.killpg(process.pid, number)
    process.communicate()
    assert process.returncode == -number
    go.open()
    run_dir = run_dir_of(tmp_path)
    await_end(runner_of(run_dir))
    assert state_of(run_dir / "math")["state"] == "COMPLETED"


def test_a_driver_that_is_killed_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_local(tmp_path / "c.yaml", {"math": "kill -9 $$"})
    done = run(capsys, "submit", "-c", config, "--wait")
    assert done.status == 1
    assert "math: FAILED after" in done.err
