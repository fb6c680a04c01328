import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath

import pytest
from local_jobs import Gate, await_end, end, state_of

from gymsubmit.executors.base import JobState, JobStatus, Queued, Receipt, Submission
from gymsubmit.executors.local import LocalExecutor, read_status
from gymsubmit.executors.local_runner import identity
from gymsubmit.plan import StagedFile

Submit = Callable[..., tuple[LocalExecutor, Submission, Receipt]]


def submission(run_dir: Path, scripts: Mapping[str, str]) -> Submission:
    files = [StagedFile(PurePosixPath(name, "job.sh"), script + "\n", 0o600) for name, script in scripts.items()]
    return Submission(PurePosixPath(run_dir), tuple(scripts), tuple(files))


# The local executor needs none to follow its jobs.
NO_RECEIPT = Receipt((), {})


@pytest.fixture
def submit(tmp_path: Path) -> Iterator[Submit]:
    """Stage and start scripts by benchmark; whatever still runs at the end is ended."""
    started: list[tuple[LocalExecutor, Receipt]] = []

    def start(scripts: Mapping[str, str], pass_env: tuple[str, ...] = ()) -> tuple[LocalExecutor, Submission, Receipt]:
        executor = LocalExecutor(pass_env)
        staged = submission(tmp_path / "run", scripts)
        executor.stage(staged)
        receipt = executor.submit(staged)
        started.append((executor, receipt))
        return executor, staged, receipt

    yield start
    for executor, receipt in started:
        if "runner_pid" in receipt.metadata:
            end(receipt.metadata["runner_pid"])
        executor.leave()


def states(executor: LocalExecutor, staged: Submission) -> list[tuple[str, str, int | None, str | None]]:
    """How each benchmark ended, once all have."""
    for _ in executor.follow(staged, NO_RECEIPT):
        pass
    found = [(name, executor.status(staged.run_dir / name)) for name in staged.benchmarks]
    return [(name, status.state, status.exit_code, status.reason) for name, status in found if status]


def test_jobs_run_one_after_the_other(submit: Submit, tmp_path: Path) -> None:
    order = tmp_path / "order"
    executor, staged, receipt = submit(
        {name: f'echo "{name} $PWD" >> {order}; echo out; echo err >&2' for name in "ab"}
    )
    seen = [(name, status.state) for name, status in executor.follow(staged, NO_RECEIPT)]
    pid = receipt.metadata["runner_pid"]
    assert receipt == Receipt((Queued("a", f"{pid}_1", None), Queued("b", f"{pid}_2", None)), {"runner_pid": pid})
    assert [entry for entry in seen if entry[1].ended] == [("a", JobState.COMPLETED), ("b", JobState.COMPLETED)]
    assert order.read_text() == f"a {tmp_path}/run/a\nb {tmp_path}/run/b\n"
    assert (tmp_path / "run" / "a" / "logs" / f"job-{pid}_1.log").read_text() == "out\nerr\n"
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["a", "b"]
    for name, number in (("a", 1), ("b", 2)):
        status = executor.status(staged.run_dir / name)
        assert status is not None
        assert status.started_at is not None
        assert status.ended_at is not None
        assert status.started_at <= status.ended_at
        assert status == JobStatus(f"{pid}_{number}", JobState.COMPLETED, status.started_at, status.ended_at, 0, None)


def test_a_job_that_fails_does_not_keep_the_next_from_running(submit: Submit) -> None:
    executor, staged, _ = submit({"a": "exit 3", "b": "exit 0"})
    assert states(executor, staged) == [("a", "FAILED", 3, None), ("b", "COMPLETED", 0, None)]


def test_a_job_sees_a_clean_environment(submit: Submit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name != "PATH":
            monkeypatch.delenv(name)
    given = {
        "HOME": "/home/ada",
        "USER": "ada",
        "LOGNAME": "ada",
        "SHELL": "/bin/zsh",
        "LANG": "C.UTF-8",
        "TZ": "Europe/Paris",
        "HF_HOME": "/cache with blank",
        "HF_LINES": "a\nb",
        "ONE": "1",
    }
    leftovers = {"SLURM_JOB_ID": "1", "HF": "x", "ONE_MORE": "2", "MY_TOKEN": "s3cret", "LD_LIBRARY_PATH": "/opt/lib"}
    for name, value in (given | leftovers).items():
        monkeypatch.setenv(name, value)
    dump = tmp_path / "environment"
    executor, staged, receipt = submit({"a": f"cat /proc/$$/environ > {dump}"}, ("HF_*", "ONE"))
    assert [state for _, state, _, _ in states(executor, staged)] == ["COMPLETED"]
    found = dict(entry.split("=", 1) for entry in dump.read_text().split("\0") if entry)
    own = {"PATH": os.environ["PATH"], "GYM_JOB_ID": f"{receipt.metadata['runner_pid']}_1"}
    assert found == given | own


def test_a_library_path_passes_when_it_is_asked_for(
    submit: Submit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/lib")
    executor, staged, _ = submit({"a": f'echo "$LD_LIBRARY_PATH" > {tmp_path}/it'}, ("LD_*",))
    assert [state for _, state, _, _ in states(executor, staged)] == ["COMPLETED"]
    assert (tmp_path / "it").read_text() == "/opt/lib\n"


def test_a_job_has_a_session_and_default_signals_of_its_own(submit: Submit, tmp_path: Path) -> None:
    ignored = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGHUP)}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1])
    try:
        script = """
            [[ $(readlink /proc/$$/fd/0) == /dev/null ]] && echo no stdin
            open=(/proc/$$/fd/*); echo "${#open[@]}"
            read -r _ _ _ _ group session _ < /proc/$$/stat; [[ $session == $$ && $group == $$ ]] && echo own session
            bash -c 'grep -E "Sig(Blk|Ign)" /proc/$$/status'
        """
        executor, staged, receipt = submit({"a": script})
        states(executor, staged)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in ignored.items():
            signal.signal(number, handler)
    log = tmp_path / "run" / "a" / "logs" / f"job-{receipt.metadata['runner_pid']}_1.log"
    nothing = "0" * 16
    # stdin, stdout, stderr, bash's own 255 for the script, and the directory that it lists
    assert log.read_text() == f"no stdin\n5\nown session\nSigBlk:\t{nothing}\nSigIgn:\t{nothing}\n"


SUBMITTER = """
import json, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_local_executor import submission
from gymsubmit.executors.local import LocalExecutor
executor = LocalExecutor()
staged = submission(Path({run_dir!r}), json.loads({scripts!r}))
executor.stage(staged)
receipt = executor.submit(staged)
print(receipt.metadata["runner_pid"], flush=True)
for _ in executor.follow(staged, receipt):
    pass
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_killing_the_submitter_does_not_touch_the_job(
    number: signal.Signals, gate: Callable[[str], Gate], tmp_path: Path
) -> None:
    up, go = gate("up"), gate("go")
    scripts = {"a": f"{up.opens}; {go.awaits}; exit 0", "b": "exit 0"}
    code = SUBMITTER.format(
        tests=str(Path(__file__).parent), run_dir=str(tmp_path / "run"), scripts=json.dumps(scripts)
    )
    submitter = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    with submitter:
        assert submitter.stdout is not None
        runner = int(submitter.stdout.readline())
        up.wait()
        os.killpg(submitter.pid, number)
    assert submitter.returncode == -number
    assert state_of(tmp_path / "run" / "a")["state"] == "RUNNING"
    go.open()
    await_end(runner)
    assert [state_of(tmp_path / "run" / name)["state"] for name in "ab"] == ["COMPLETED", "COMPLETED"]


def test_a_job_killed_by_sigkill_is_failed_and_leaves_nothing(
    submit: Submit, gate: Callable[[str], Gate], tmp_path: Path
) -> None:
    up = gate("up")
    script = f"""
        (echo $BASHPID > {tmp_path}/child; exec sleep 1000) &
        setsid bash -c 'echo $$ > {tmp_path}/daemon; exec sleep 1000' &
        until [[ -s {tmp_path}/child && -s {tmp_path}/daemon ]]; do :; done
        {up.opens}
        wait
    """
    executor, staged, _ = submit({"a": script, "b": "exit 0"})
    up.wait()
    process = state_of(tmp_path / "run" / "a")["process"]
    assert isinstance(process, dict)
    os.kill(process["pid"], signal.SIGKILL)
    assert states(executor, staged) == [("a", "FAILED", 137, "killed by SIGKILL"), ("b", "COMPLETED", 0, None)]
    for left in ("child", "daemon"):
        assert not Path("/proc", (tmp_path / left).read_text().strip()).exists()


def test_term_to_the_runner_cancels_what_runs_and_what_waits(
    submit: Submit, gate: Callable[[str], Gate], tmp_path: Path
) -> None:
    up = gate("up")
    script = f"trap 'echo flushed > {tmp_path}/flushed; exit 143' TERM; {up.opens}; while :; do sleep 1000 & wait; done"
    executor, staged, receipt = submit({"a": "exit 0", "b": script, "c": "exit 0"})
    up.wait()
    os.kill(receipt.metadata["runner_pid"], signal.SIGTERM)
    assert states(executor, staged) == [
        ("a", "COMPLETED", 0, None),
        ("b", "CANCELLED", 143, None),
        ("c", "CANCELLED", None, "cancelled before it started"),
    ]
    assert (tmp_path / "flushed").read_text() == "flushed\n"


def test_a_second_term_to_the_runner_kills_what_is_left(
    submit: Submit, gate: Callable[[str], Gate], tmp_path: Path
) -> None:
    up, asked, never = gate("up"), gate("asked"), gate("never")
    # As a job script does it: a step with a process group of its own; both hear TERM, and go on.
    stubborn = f"trap '{asked.opens}' TERM; {up.opens}; while :; do {never.awaits}; done"
    (tmp_path / "step").write_text(f"echo $$ > {tmp_path}/pid; {stubborn}")
    script = f"set -m; bash {tmp_path}/step & set +m; trap '{asked.opens}; kill %1' TERM; while :; do wait; done"
    executor, staged, receipt = submit({"a": script, "b": "exit 0"})
    up.wait()
    runner = receipt.metadata["runner_pid"]
    os.kill(runner, signal.SIGTERM)
    asked.wait()
    asked.wait()
    os.kill(runner, signal.SIGTERM)
    assert states(executor, staged) == [
        ("a", "CANCELLED", 137, "killed by SIGKILL"),
        ("b", "CANCELLED", None, "cancelled before it started"),
    ]
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_when_the_runner_is_killed_its_job_goes_on_and_is_known(
    submit: Submit, gate: Callable[[str], Gate], tmp_path: Path
) -> None:
    up, go = gate("up"), gate("go")
    executor, staged, receipt = submit({"a": f"{up.opens}; {go.awaits}", "b": "exit 0"})
    up.wait()
    process = state_of(tmp_path / "run" / "a")["process"]
    assert isinstance(process, dict)
    os.kill(receipt.metadata["runner_pid"], signal.SIGKILL)
    await_end(receipt.metadata["runner_pid"])
    running = executor.status(staged.run_dir / "a")
    assert running is not None
    assert (running.state, running.reason) == (JobState.RUNNING, None)
    go.open()
    await_end(process["pid"])
    assert states(executor, staged) == [
        ("a", "FAILED", None, "its runner died; how the job ended is unknown, see its log"),
        ("b", "CANCELLED", None, "its runner died before it was started"),
    ]


def written(tmp_path: Path, **changes: object) -> PurePosixPath:
    state: dict[str, object] = {
        "job_id": "7_1",
        "state": "RUNNING",
        "started_at": "2026-01-01T00:00:00.000Z",
        "ended_at": None,
        "exit_code": None,
        "reason": None,
        "host": os.uname().nodename,
        "process": {},
        "runner": {},
    }
    (tmp_path / ".gym_local.json").write_text(json.dumps(state | changes))
    return PurePosixPath(tmp_path)


def found(job_dir: PurePosixPath) -> str:
    status = read_status(job_dir)
    assert status is not None
    return status.state


def test_a_pid_given_to_another_process_is_not_the_job(tmp_path: Path) -> None:
    here = identity(os.getpid())
    assert found(written(tmp_path, process=here)) == "RUNNING"
    assert found(written(tmp_path, runner=here)) == "RUNNING"
    assert found(written(tmp_path, process=here | {"start": 1})) == "FAILED"
    assert found(written(tmp_path, process=here | {"boot": "before"})) == "FAILED"


def test_processes_of_another_machine_are_not_looked_for_here(tmp_path: Path) -> None:
    assert found(written(tmp_path, host="elsewhere")) == "RUNNING"


@pytest.mark.parametrize("text", [None, "", "{", "[]", "{}", '{"job_id": "a", "state": "DANCING"}'])
def test_nothing_is_known_without_a_state(text: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / ".gym_local.json").write_text(text)
    assert read_status(PurePosixPath(tmp_path)) is None


def test_no_bash(submit: Submit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    executor, staged, receipt = submit({"a": "exit 0"})
    why = "there is no bash on PATH; install it"
    assert receipt.queued == (Queued("a", None, why),)
    assert states(executor, staged) == [("a", "FAILED", None, why)]


def test_no_interpreter(submit: Submit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    _, _, receipt = submit({"a": "exit 0", "b": "exit 0"})
    why = f"cannot start {tmp_path}/python: No such file or directory"
    assert receipt == Receipt((Queued("a", None, why), Queued("b", None, why)), {})


def test_a_runner_that_does_not_come_up(submit: Submit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'no module named signal' >&2\nexit 5\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    _, _, receipt = submit({"a": "exit 0"})
    assert receipt.queued == (Queued("a", None, "its runner ended with status 5: no module named signal"),)


def test_a_later_job_that_cannot_start_is_failed(submit: Submit, gate: Callable[[str], Gate], tmp_path: Path) -> None:
    up, go = gate("up"), gate("go")
    executor, staged, _ = submit({"a": f"{up.opens}; {go.awaits}", "b": "exit 0", "c": "exit 0"})
    up.wait()
    (tmp_path / "run" / "b" / "logs").rmdir()
    go.open()
    assert states(executor, staged) == [
        ("a", "COMPLETED", 0, None),
        ("b", "FAILED", None, "cannot open the job's log: No such file or directory"),
        ("c", "COMPLETED", 0, None),
    ]


def test_following_ends_when_the_run_directory_is_gone(
    submit: Submit, gate: Callable[[str], Gate], tmp_path: Path
) -> None:
    up, go = gate("up"), gate("go")
    executor, staged, _ = submit({"a": f"{up.opens}; {go.awaits}", "b": "exit 0"})
    up.wait()
    shutil.rmtree(tmp_path / "run")
    go.open()
    assert [entry for entry in executor.follow(staged, NO_RECEIPT) if entry[1].state.ended] == []


def test_a_listener_that_does_not_read_does_not_hold_up_the_jobs(submit: Submit, gate: Callable[[str], Gate]) -> None:
    up, go = gate("up"), gate("go")
    executor, staged, receipt = submit({"a": f"{up.opens}; {go.awaits}", "b": "exit 0"})
    up.wait()
    assert executor._runner is not None
    assert executor._runner.stdout is not None
    full = os.open(f"/proc/self/fd/{executor._runner.stdout.fileno()}", os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(full, b"1")
    go.open()
    await_end(receipt.metadata["runner_pid"])
    os.close(full)
    assert [found(staged.run_dir / name) for name in "ab"] == ["COMPLETED", "COMPLETED"]
