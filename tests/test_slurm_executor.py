import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome, place, run, start
from local_jobs import Gate, run_dir_of
from slurm_commands import SlurmCommands

import gymsubmit

HOST = os.uname().nodename
LOOK = "it may be queued all the same: look for it with `squeue --me`"


@pytest.fixture
def slurm(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmCommands:
    return SlurmCommands(tmp_path / "bin", monkeypatch)


def write(path: Path, *benchmarks: str, compute: dict[str, object] | None = None, **service: object) -> Path:
    config = {
        "services": {"idle": {"type": "command", "command": "sleep inf", "container": "a/b:1", **service}},
        "compute": {"cluster": {"type": "slurm", "node_pools": {"gpu": {}}, **(compute or {})}},
        "driver": {"benchmarks": {name: {"command": "exit 0"} for name in benchmarks}},
        "job": {"output_path": str(path.parent / "runs")},
    }
    path.write_text(json.dumps(config, indent=2))
    return path


def test_submit_queues_a_job_a_benchmark_and_keeps_the_record(
    tmp_path: Path, cache: Path, slurm: SlurmCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.add("sbatch", f'echo "$@" >> {tmp_path}/calls; [[ $2 == */math/* ]] && echo 41 || echo 42')
    config = write(tmp_path / "c.yaml", "math", "code")
    done = run(capsys, "submit", "-c", config)
    run_dir = run_dir_of(tmp_path)
    assert done == Outcome(
        0, f"Run directory: {run_dir}\nsubmitted math → Slurm job 41\nsubmitted code → Slurm job 42\n", ""
    )
    calls = [f"--parsable {run_dir}/{name}/job.sh" for name in ("math", "code")]
    assert (tmp_path / "calls").read_text().splitlines() == calls
    files = sorted(path.relative_to(run_dir).as_posix() for path in run_dir.rglob("*"))
    own = ("", "/artifacts", "/job.sh", "/logs", "/plan.json")
    assert files == [
        *(f"code{name}" for name in own),
        "gym-job.json",
        *(f"math{name}" for name in own),
        "resolved-config.yaml",
    ]
    text = (run_dir / "gym-job.json").read_text()
    assert (cache / "gymsubmit" / "jobs" / f"{run_dir.name}.json").read_text() == text
    record = json.loads(text)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record.pop("submitted_at"))
    del record["templates"]
    assert record == {
        "schema_version": 1,
        "gym_job_id": run_dir.name,
        "gymsubmit_version": gymsubmit.__version__,
        "submitted_by": Path("/proc/self").owner(),
        "run_dir": str(run_dir),
        "cluster": "cluster",
        "executor": "slurm",
        "hostname": HOST,
        "benchmarks": [
            {"benchmark": "math", "job_dir": f"{run_dir}/math", "job_id": "41", "error": None},
            {"benchmark": "code", "job_dir": f"{run_dir}/code", "job_id": "42", "error": None},
        ],
        "executor_metadata": {},
    }


def test_sbatch_gets_a_clean_environment(
    tmp_path: Path, slurm: SlurmCommands, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm.add("sbatch", f"cat /proc/$$/environ > {tmp_path}/environ; cat /proc/$PPID/cmdline >> {tmp_path}/ps; echo 1")
    for name in list(os.environ):
        if name != "PATH":
            monkeypatch.delenv(name)
    kept = {"HOME": "/home/me", "LANG": "C.UTF-8", "SLURM_CONF": "/etc/s.conf", "HF_TOKEN": "a b\nc", "MINE": ""}
    leftovers = {
        "SBATCH_ACCOUNT": "x",
        "SLURM_NTASKS": "8",
        "PYXIS_CONTAINER_IMAGE": "x",
        "SECRET": "s3cret",
        "HF": "x",
        "BASH_FUNC_sbatch%%": "() { echo 99; }",
        "BASH_ENV": "/dev/stdin",
    }
    for name, value in (kept | leftovers).items():
        monkeypatch.setenv(name, value)
    config = write(tmp_path / "c.yaml", "math", compute={"pass_env": ["MINE", "HF_*"]})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert run(capsys, "submit", "-c", config).status == 0
    entries = (tmp_path / "environ").read_bytes().decode().split("\0")[:-1]
    seen = dict(entry.split("=", 1) for entry in entries)
    # Bash's own, not ours.
    for name in ("PWD", "OLDPWD", "SHLVL", "_"):
        seen.pop(name, None)
    assert seen == kept | {"PATH": str(slurm.folder)}
    assert b"s3cret" not in (tmp_path / "ps").read_bytes()
    assert b"a b" not in (tmp_path / "ps").read_bytes()


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        ("echo 17", "submitted math → Slurm job 17"),
        ("echo '17;alpha'", "submitted math → Slurm job 17"),
        ("echo 'sbatch: warning: 99 nodes' >&2; echo 17; echo 18 >&2", "submitted math → Slurm job 17"),
        ("echo 'Welcome to cluster 3'; echo 5; echo 17; echo bye", "submitted math → Slurm job 17"),
        ("echo 17; exit 1", "submitted math → Slurm job 17"),
        (
            "echo 'sbatch: error: invalid partition specified: nope' >&2\n"
            "echo 'sbatch: error: Batch job submission failed: Invalid partition name specified' >&2; exit 1",
            "failed math: invalid partition specified: nope; Batch job submission failed: "
            "Invalid partition name specified",
        ),
        ("exit 3", "failed math: sbatch ended with status 3"),
        ("echo held", f"failed math: sbatch answered without a job id: held; {LOOK}"),
        ("exit 0", f"failed math: sbatch answered without a job id: nothing; {LOOK}"),
        ("kill -KILL $PPID", "failed math: sbatch ended with status 137"),
    ],
)
def test_what_sbatch_answers(
    tmp_path: Path, slurm: SlurmCommands, capsys: pytest.CaptureFixture[str], script: str, answer: str
) -> None:
    slurm.add("sbatch", f"if [[ $2 == */math/* ]]; then\n{script}\nelse echo 42; fi")
    done = run(capsys, "submit", "-c", write(tmp_path / "c.yaml", "math", "code"))
    status = 0 if answer.startswith("submitted") else 1
    lines = f"Run directory: {run_dir_of(tmp_path)}\n{answer}\nsubmitted code → Slurm job 42\n"
    assert done == Outcome(status, lines, "")


# A wrapper of sbatch that will not end for TERM, and sbatch itself, which does.
@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
def test_ctrl_c_while_a_job_is_being_queued_tells_of_those_that_were(
    tmp_path: Path, slurm: SlurmCommands, gate: Callable[[str], Gate], trap: str
) -> None:
    up, never = gate("up"), gate("never")
    held = f"{trap}{up.opens}; {never.awaits}"
    slurm.add("sbatch", f"case $2 in */math/*) echo 41 ;; */code/*) {held} ;; *) echo 43 ;; esac")
    process = start("submit", "-c", write(tmp_path / "c.yaml", "math", "code", "chat"), "--wait")
    up.wait()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    never.open()
    run_dir = run_dir_of(tmp_path)
    assert Outcome(process.returncode, out, err) == Outcome(
        130,
        f"Run directory: {run_dir}\n"
        "submitted math → Slurm job 41\n"
        f"failed code: sbatch did not answer (signal 15); {LOOK}\n"
        "failed chat: was not queued: the shell ended before its turn (signal 15)\n",
        "interrupted\n",
    )
    record = json.loads((run_dir / "gym-job.json").read_text())
    assert [entry["job_id"] for entry in record["benchmarks"]] == ["41", None, None]


def test_ctrl_c_while_slurm_is_asked_ends_the_waiting(
    tmp_path: Path, slurm: SlurmCommands, gate: Callable[[str], Gate]
) -> None:
    up, never = gate("up"), gate("never")
    slurm.add("sbatch", "[[ $2 == */math/* ]] && echo 41 || echo 42")
    slurm.add("squeue", f"{up.opens}; {never.awaits}")
    process = start("submit", "-c", write(tmp_path / "c.yaml", "math", "code"), "--wait")
    up.wait()
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err) == (
        130,
        "interrupted; the submission goes on:\n"
        f"  run directory  {run_dir_of(tmp_path)}\n"
        "  job            math (job 41)\n"
        "  job            code (job 42)\n"
        "  stop it        scancel 41 42\n",
    )


def test_a_shell_that_dies_half_way(tmp_path: Path, slurm: SlurmCommands, capsys: pytest.CaptureFixture[str]) -> None:
    slurm.add("sbatch", "[[ $2 == */math/* ]] && { echo 41; exit; }; kill -KILL 0")
    done = run(capsys, "submit", "-c", write(tmp_path / "c.yaml", "math", "code", "chat"))
    assert done == Outcome(
        1,
        f"Run directory: {run_dir_of(tmp_path)}\n"
        "submitted math → Slurm job 41\n"
        f"failed code: sbatch did not answer (signal 9); {LOOK}\n"
        "failed chat: was not queued: the shell ended before its turn (signal 9)\n",
        "",
    )


def test_mounts_and_images_that_are_not_there(
    tmp_path: Path, slurm: SlurmCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.add("sbatch", f"echo 1 >> {tmp_path}/calls; echo 1")
    (tmp_path / "the re").mkdir()
    mounts = [f"{tmp_path}/the re:/data", f"{tmp_path}/gone:/x:ro", "tmpfs:/y", "./here:/z", f"{tmp_path}/runs/:/runs"]
    container = f"{tmp_path}/no'image.sqsh"
    service: dict[str, object] = {"mounts": mounts, "container": container}
    config = write(tmp_path / "c.yaml", "math", **service)
    image, mount = (place(config, text) for text in (container, mounts[1]))
    advice = "correct it, or set compute.cluster.check_mounts to false if only the nodes have it"
    assert run(capsys, "submit", "-c", config) == Outcome(
        2,
        "",
        f"{image}: services.idle.container: {tmp_path}/no'image.sqsh does not exist on {HOST}; {advice}\n"
        f"{mount}: services.idle.mounts[1]: {tmp_path}/gone does not exist on {HOST}; {advice}\n",
    )
    assert not (tmp_path / "runs").exists()
    assert not (tmp_path / "calls").exists()
    unchecked = write(tmp_path / "c.yaml", "math", compute={"check_mounts": False}, **service)
    assert run(capsys, "submit", "-c", unchecked).status == 0


def test_no_sbatch(tmp_path: Path, slurm: SlurmCommands, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "submit", "-c", write(tmp_path / "c.yaml", "math")) == Outcome(
        1,
        "",
        f"{HOST}: there is no sbatch on the PATH; submit from a machine that has Slurm's commands, or run the job on "
        "this one with a compute entry of `type: local`\n",
    )
    assert not (tmp_path / "runs").exists()


def test_a_record_that_cannot_be_written_names_the_jobs(
    tmp_path: Path, slurm: SlurmCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.add("sbatch", '[[ $2 == */code/* ]] || { echo 41; exit; }; rm -r "${2%/code/job.sh}"; echo 42')
    done = run(capsys, "submit", "-c", write(tmp_path / "c.yaml", "math", "code"))
    assert (done.status, done.out) == (1, "")
    assert re.fullmatch(
        f"{tmp_path}/runs/gym-job-.*/gym-job.json: cannot write the record: No such file or directory; "
        "these jobs were started: math=41 code=42\n",
        done.err,
    )


def test_another_host_is_for_a_later_version(
    tmp_path: Path, slurm: SlurmCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.add("sbatch", "echo 1")
    config = write(tmp_path / "c.yaml", "math", compute={"hostname": "login.example.org"})
    assert run(capsys, "submit", "-c", config) == Outcome(
        2,
        "",
        f"{place(config, 'login.example.org')}: compute.cluster.hostname: submitting over SSH is not in this version; "
        "run gymsubmit on login.example.org itself, or leave hostname out where this machine has sbatch\n",
    )
    for own in (HOST, "localhost"):
        write(config, "math", compute={"hostname": own})
        assert run(capsys, "submit", "-c", config).status == 0


def test_waiting_follows_each_job_to_its_end(
    tmp_path: Path, slurm: SlurmCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    code = 'echo 42; echo "lost in the pipe" > "${2%job.sh}logs/job-42.log"'
    slurm.add("sbatch", f"case $2 in */math/*) echo 41 ;; */code/*) {code} ;; *) echo 43 ;; esac")
    times = "2026-01-01T10:00:00|2026-01-01T10:01:30"
    slurm.add(
        "squeue",
        f"""
echo x >> {tmp_path}/asked
case $(cat {tmp_path}/asked | sed -n '$=') in
    1) echo '41|PENDING|0|N/A|N/A|Priority|'; echo '42|PENDING|0|N/A|N/A|PartitionNodeLimit|' ;;
    2) echo '41|RUNNING|0|2026-01-01T10:00:00|2026-01-01T14:00:00|None|'
       echo '42|FAILED|768|{times}|NonZeroExitCode|' ;;
    *) echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1 ;;
esac""",
    )
    slurm.add(
        "sacct", f"echo '41|COMPLETED|0:0|{times.replace('10:01:30', '12:00:00')}'; echo '43|TIMEOUT|0:0|{times}'"
    )
    done = run(capsys, "submit", "-c", write(tmp_path / "c.yaml", "math", "code", "chat"), "--wait")
    log = f"{run_dir_of(tmp_path)}/code/logs/job-42.log"
    chat_log = f"{run_dir_of(tmp_path)}/chat/logs/job-43.log"
    assert done.status == 1
    assert done.err.splitlines() == [
        "math: PENDING, Priority (job 41)",
        "code: PENDING, PartitionNodeLimit (job 42)",
        "chat: TIMEOUT after 1 min 30 s",
        f"chat: its log is {chat_log}",
        "math: RUNNING (job 41)",
        "code: FAILED after 1 min 30 s, exit status 3",
        f"code: the end of {log}:",
        "lost in the pipe",
        "math: COMPLETED after 2 h 0 min",
    ]
