import json
import os
import re
import signal
import stat
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest
from command_line import Outcome, place, run, write_local
from local_jobs import Gate, await_end, processes_with, run_dir_of, runner_of, state_of

import gymsubmit
from gymsubmit.cli import submit as submit_module
from gymsubmit.executors.base import Receipt, Submission
from gymsubmit.executors.local import LocalExecutor

pytestmark = pytest.mark.usefixtures("submissions")

SECRET = "s3cret $(touch /tmp/pwned) 'quoted'\nsecond line"


def test_submit_returns_while_the_jobs_run(
    tmp_path: Path, cache: Path, gate: Callable[[str], Gate], capsys: pytest.CaptureFixture[str]
) -> None:
    up, go = gate("up"), gate("go")
    config = write_local(tmp_path / "c.yaml", {"math": f"{up.opens}; {go.awaits}", "code": "echo done"})
    done = run(capsys, "submit", "-c", config)
    run_dir = run_dir_of(tmp_path)
    runner = runner_of(run_dir)
    assert done == Outcome(
        0,
        f"Run directory: {run_dir}\nsubmitted math → local job {runner}_1\nsubmitted code → local job {runner}_2\n",
        "",
    )
    up.wait()
    assert [state_of(run_dir / name)["state"] for name in ("math", "code")] == ["RUNNING", "PENDING"]
    go.open()
    await_end(runner)
    assert [state_of(run_dir / name)["state"] for name in ("math", "code")] == ["COMPLETED", "COMPLETED"]
    assert sorted(path.relative_to(run_dir).as_posix() for path in run_dir.rglob("*") if path.is_file()) == [
        "code/.gym_local.json",
        "code/job.sh",
        f"code/logs/driver-{runner}_2.log",
        f"code/logs/idle-{runner}_2.log",
        f"code/logs/job-{runner}_2.log",
        "code/plan.json",
        "gym-job.json",
        "math/.gym_local.json",
        "math/job.sh",
        f"math/logs/driver-{runner}_1.log",
        f"math/logs/idle-{runner}_1.log",
        f"math/logs/job-{runner}_1.log",
        "math/plan.json",
        "resolved-config.yaml",
    ]


def test_the_record(tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_local(tmp_path / "c.yaml", {"math": "exit 0", "code": "exit 0"})
    done = run(capsys, "submit", "-c", config, "--json", "--wait")
    run_dir = run_dir_of(tmp_path)
    text = (run_dir / "gym-job.json").read_text()
    assert (done.status, done.out) == (0, text)
    assert (cache / "gymsubmit" / "jobs" / f"{run_dir.name}.json").read_text() == text
    record = json.loads(text)
    digests = record["templates"].pop("digests")
    assert {"job.sh.j2", "launch/local.sh.j2"} < set(digests)
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", digest) for digest in digests.values())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record.pop("submitted_at"))
    runner = record["executor_metadata"]["runner_pid"]
    assert record == {
        "schema_version": 1,
        "gym_job_id": run_dir.name,
        "gymsubmit_version": gymsubmit.__version__,
        "submitted_by": Path("/proc/self").owner(),
        "run_dir": str(run_dir),
        "cluster": "here",
        "executor": "local",
        "hostname": os.uname().nodename,
        "benchmarks": [
            {"benchmark": "math", "job_dir": f"{run_dir}/math", "job_id": f"{runner}_1", "error": None},
            {"benchmark": "code", "job_dir": f"{run_dir}/code", "job_id": f"{runner}_2", "error": None},
        ],
        "templates": {"site": None},
        "executor_metadata": {"runner_pid": runner},
    }


def test_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_local(tmp_path / "c.yaml", dict.fromkeys(("math", "code", "chat"), "exit 0"))
    done = run(capsys, "submit", "-c", config, "--only", "chat", "--only", "math", "--wait")
    run_dir = run_dir_of(tmp_path)
    assert done.status == 0
    assert [line.split(" ")[:2] for line in done.out.splitlines()[1:]] == [["submitted", "math"], ["submitted", "chat"]]
    assert sorted(path.name for path in run_dir.iterdir() if path.is_dir()) == ["chat", "math"]
    again = run(capsys, "compile", "-c", run_dir / "resolved-config.yaml", "-o", tmp_path / "out")
    assert again.status == 0
    assert sorted(path.name for path in (tmp_path / "out" / "resolved-config").iterdir()) == ["chat", "math"]


def test_only_with_a_name_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_local(tmp_path / "c.yaml", {"math": "exit 0", "code": "exit 0"})
    assert run(capsys, "submit", "-c", config, "--only", "maths") == Outcome(
        2, "", "--only maths: the config has no such benchmark; did you mean math?\n"
    )
    assert run(capsys, "submit", "-c", config, "--only", "xyz") == Outcome(
        2, "", "--only xyz: the config has no such benchmark; there are math, code\n"
    )
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_touches_nothing_and_shows_what_is_submitted(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_local(tmp_path / "c.yaml", {"math": "exit 0", "code": "#!/usr/bin/env python3\nprint(1)"})
    dry = run(capsys, "submit", "-c", config, "--dry-run")
    assert [path.name for path in tmp_path.iterdir()] == ["c.yaml"]
    assert run(capsys, "submit", "-c", config, "--wait").status == 0
    run_dir = run_dir_of(tmp_path)
    fixed = "gym-job-00000000T000000Z-000000"
    shown = "".join(
        f" {path} ".center(100, "=")
        + "\n"
        + (run_dir / path).read_text().replace(run_dir.name, fixed).removesuffix("\n")
        + "\n"
        for path in ("math/job.sh", "code/job.sh", "code/driver.command")
    )
    assert dry == Outcome(0, f"[dry-run] remote run dir: {tmp_path}/runs/{fixed}\n{shown}{'=' * 100}\n", "")


def test_resolve_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_local(tmp_path / "c.yaml", {"math": "exit 0"}, env={"A": "lit:1"})
    as_yaml = run(capsys, "submit", "-c", config, "services.idle.env.A=lit:${job.output_path}", "--resolve-only")
    assert (as_yaml.status, as_yaml.err) == (0, "")
    assert f"A: lit:{tmp_path}/runs\n" in as_yaml.out
    (tmp_path / "resolved.yaml").write_text(as_yaml.out)
    assert run(capsys, "submit", "-c", tmp_path / "resolved.yaml", "--resolve-only") == as_yaml
    as_json = run(capsys, "submit", "-c", tmp_path / "resolved.yaml", "--resolve-only", "--json")
    expected = json.loads(config.read_text())
    expected["services"]["idle"]["env"]["A"] = f"lit:{tmp_path}/runs"
    assert json.loads(as_json.out) == expected
    assert not (tmp_path / "runs").exists()


def test_host_variables_that_are_not_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SET_BUT_EMPTY", "")
    config = write_local(
        tmp_path / "c.yaml",
        {"math": "exit 0"},
        env={"A": "host:NOT_SET_1", "B": "host:SET_BUT_EMPTY", "C": "host:NOT_SET_2"},
    )
    why = "is not set on this machine; export it before submitting"
    problems = [
        f"{place(config, 'host:NOT_SET_1')}: services.idle.env.A: the variable NOT_SET_1 {why}",
        f"{place(config, 'host:NOT_SET_2')}: services.idle.env.C: the variable NOT_SET_2 {why}",
    ]
    assert run(capsys, "submit", "-c", config) == Outcome(2, "", "".join(f"{problem}\n" for problem in problems))
    assert not (tmp_path / "runs").exists()
    warnings = "".join(f"warning: {problem}\n" for problem in problems)
    for args in (["submit", "--dry-run"], ["submit", "--resolve-only"], ["compile"], ["plan"]):
        done = run(capsys, *args, "-c", config)
        assert (args, done.status, done.err) == (args, 0, warnings)
    override = "driver.env.D=host:NOT_SET_3"
    problems.append(f"override '{override}': driver.env.D: the variable NOT_SET_3 {why}")
    assert run(capsys, "submit", "-c", config, "--only", "math", override) == Outcome(
        2, "", "".join(f"{problem}\n" for problem in problems)
    )


def test_a_secret_is_in_one_file_and_in_the_process_that_asked(
    tmp_path: Path,
    cache: Path,
    gate: Callable[[str], Gate],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    up, go, served = gate("up"), gate("go"), gate("served")
    monkeypatch.setenv("THE_TOKEN", SECRET)
    config = write_local(tmp_path / "c.yaml", {"math": f"{up.opens}; {go.awaits}"}, env={"TOKEN": "host:THE_TOKEN"})
    # It tells that it serves once it has become what it stays: while a process execs, its environment reads as empty.
    server = tmp_path / "server.sh"
    server.write_text(
        f'printf %s "$TOKEN" > {tmp_path}/served-secret; echo $$ > {tmp_path}/server; '
        f"{served.opens}; {gate('never').awaits}"
    )
    document = json.loads(config.read_text())
    document["services"]["idle"]["command"] = f"exec bash {server}"
    config.write_text(json.dumps(document))
    done = run(capsys, "submit", "-c", config, "-vv")
    run_dir = run_dir_of(tmp_path)
    up.wait()
    served.wait()

    assert (tmp_path / "served-secret").read_text() == SECRET
    assert not Path("/tmp/pwned").exists()
    marks = [b"s3cret", b"second line"]
    server_pid = int((tmp_path / "server").read_text())
    for mark in marks:
        assert processes_with(mark, "cmdline") == set()
        assert processes_with(mark, "environ") == {server_pid}

    assert stat.S_IMODE((run_dir / "math" / "secrets.env").stat().st_mode) == 0o600
    holders = [
        path.relative_to(tmp_path).as_posix()
        for path in tmp_path.rglob("*")
        if path.is_file() and any(mark in path.read_bytes() for mark in marks)
    ]
    assert sorted(holders) == [f"runs/{run_dir.name}/math/secrets.env", "served-secret"]
    assert all(mark.decode() not in done.out + done.err for mark in marks)
    go.open()
    await_end(runner_of(run_dir))


def test_a_secret_that_is_no_text_is_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_TOKEN", "s3cret\udcff")
    config = write_local(tmp_path / "c.yaml", {"math": "exit 0"}, env={"TOKEN": "host:THE_TOKEN"})
    field = f"{place(config, 'host:THE_TOKEN')}: services.idle.env.TOKEN"
    message = f"{field}: the value of the variable THE_TOKEN is not UTF-8 text; set it to the text itself\n"
    assert run(capsys, "submit", "-c", config) == Outcome(2, "", message)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--dry-run", "--resolve-only"],
            "--dry-run and --resolve-only each print something of their own; give one of them",
        ),
        (
            ["--dry-run", "--json"],
            "--json: a dry run prints scripts; leave it out, or use `gymsubmit plan --format json`",
        ),
        (["--wait", "--dry-run"], "--wait: nothing is started, so there is nothing to wait for; leave it out"),
    ],
)
def test_options_that_exclude_each_other(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_local(tmp_path / "c.yaml", {"math": "exit 0"})
    assert run(capsys, "submit", "-c", config, *options) == Outcome(2, "", f"{message}\n")


def test_a_run_directory_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_local(tmp_path / "c.yaml", {"math": "exit 0"})
    (tmp_path / "runs").write_text("a file\n")
    done = run(capsys, "submit", "-c", config)
    assert (done.status, done.out) == (1, "")
    assert re.fullmatch(
        rf"{tmp_path}/runs/gym-job-\w+-\w+: cannot write the run directory: Not a directory; "
        "nothing was left behind, check job.output_path\n",
        done.err,
    )
    # The cache of compiled templates is there or not, whatever ran before.
    assert {path.name for path in tmp_path.iterdir()} - {"cache"} == {"c.yaml", "runs"}


def test_jobs_that_cannot_be_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_local(tmp_path / "c.yaml", {"math": "exit 0"})
    monkeypatch.setenv("PATH", str(tmp_path))
    for args in ([], ["--wait"]):
        done = run(capsys, "submit", "-c", config, *args)
        assert done.status == 1
        assert done.out.splitlines()[1:] == ["failed math: there is no bash on PATH; install it"]
    for record in (tmp_path / "runs").glob("*/gym-job.json"):
        (benchmark,) = json.loads(record.read_text())["benchmarks"]
        assert (benchmark["job_id"], benchmark["error"]) == (None, "there is no bash on PATH; install it")


def test_a_record_that_cannot_be_written_names_every_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(submit_module, "write", no_space)
    config = write_local(tmp_path / "c.yaml", {"math": "exit 0", "code": "exit 0"})
    done = run(capsys, "submit", "-c", config)
    run_dir = run_dir_of(tmp_path)
    ids = [state_of(run_dir / name)["job_id"] for name in ("math", "code")]
    assert done == Outcome(
        1,
        "",
        f"{run_dir}/gym-job.json: cannot write the record: No space left on device; "
        f"these jobs were started: math={ids[0]} code={ids[1]}\n",
    )


def test_ctrl_c_before_the_start_leaves_nothing(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = LocalExecutor.stage

    def interrupted(executor: LocalExecutor, submission: Submission) -> None:
        stage(executor, submission)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(LocalExecutor, "stage", interrupted)
    config = write_local(tmp_path / "c.yaml", {"math": "exit 0"})
    assert run(capsys, "submit", "-c", config) == Outcome(130, "", "interrupted\n")
    assert list((tmp_path / "runs").iterdir()) == []
    assert not cache.exists()


def test_ctrl_c_after_the_start_comes_when_all_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = LocalExecutor.submit

    def interrupted(executor: LocalExecutor, submission: Submission) -> Receipt:
        receipt = submit(executor, submission)
        signal.raise_signal(signal.SIGINT)
        return receipt

    monkeypatch.setattr(LocalExecutor, "submit", interrupted)
    config = write_local(tmp_path / "c.yaml", {"math": "exit 0"})
    done = run(capsys, "submit", "-c", config, "--wait")
    run_dir = run_dir_of(tmp_path)
    runner = runner_of(run_dir)
    assert done == Outcome(130, f"Run directory: {run_dir}\nsubmitted math → local job {runner}_1\n", "interrupted\n")
    await_end(runner)
    assert state_of(run_dir / "math")["state"] == "COMPLETED"


def test_paths_are_those_of_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Blanks and Unicode in the output path reach the job."""
    config = write_local(tmp_path / "c.yaml", {"math": 'pwd > "$NEMO_GYM_BENCH_DIR/artifacts/pwd"'})
    place = tmp_path / "runs" / "my räns"
    done = run(capsys, "submit", "-c", config, f"job.output_path={place}", "--wait")
    assert done.status == 0
    (run_dir,) = place.iterdir()
    assert PurePosixPath((run_dir / "math/artifacts/pwd").read_text().rstrip("\n")) == run_dir / "math"
