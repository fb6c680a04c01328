"""gym_install run for real: git, a virtual environment, uv and a package, with a repository of this machine."""

import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import run
from local_jobs import Gate, await_end, run_dir_of, runner_of, state_of

pytestmark = pytest.mark.usefixtures("submissions")

# The program, and a build backend of its own, so that nothing has to come from a network (PEP 517, PEP 660).
PROGRAM = """\
import os, sys
VERSION = {version!r}
def main():
    print("gym", VERSION, *sys.argv[1:], "in", os.getcwd() == os.path.dirname(os.path.realpath(__file__)))
"""
BACKEND = """\
import os, zipfile
def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    name = "gym-1-py3-none-any.whl"
    files = {
        "gym.pth": os.getcwd() + "\\n",
        "gym-1.dist-info/METADATA": "Metadata-Version: 2.1\\nName: gym\\nVersion: 1\\n",
        "gym-1.dist-info/WHEEL": "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        "gym-1.dist-info/entry_points.txt": "[console_scripts]\\ngym = gym_program:main\\n",
    }
    record = "".join(f"{path},,\\n" for path in (*files, "gym-1.dist-info/RECORD"))
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        for path, text in {**files, "gym-1.dist-info/RECORD": record}.items():
            wheel.writestr(path, text)
    return name
"""
PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "gym"
version = "1"
"""


def git(repo: Path, *words: str) -> str:
    identity = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    done = subprocess.run(["git", *identity, *words], cwd=repo, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def uv_of_this_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Branch `main` at version 3, tag `v1` at version 1, and version 2 that no branch or tag leads to."""
    repo = tmp_path / "gym repo"
    repo.mkdir()
    git(repo, "init", "--quiet", "--initial-branch=main")
    (repo / "backend.py").write_text(BACKEND)
    (repo / "pyproject.toml").write_text(PYPROJECT)

    def commit(version: str) -> None:
        (repo / "gym_program.py").write_text(PROGRAM.format(version=version))
        git(repo, "add", ".")
        git(repo, "commit", "--quiet", "--message", version)

    commit("v1")
    git(repo, "tag", "v1")
    commit("v2")
    git(repo, "update-ref", "refs/pull/7/head", "HEAD")
    git(repo, "reset", "--quiet", "--hard", "v1")
    commit("v3")
    return repo


def write(path: Path, repo: Path, ref: str, **driver: object) -> Path:
    config = {
        "services": {"idle": {"type": "command", "command": ["sleep", "1000"]}},
        "compute": {"here": {"type": "local", "pass_env": ["PIP_*", "UV_*"]}},
        "driver": {
            "gym_install": {"repo": str(repo), "ref": ref},
            "benchmarks": {"math": {"prepare": {"a": 1}, "run": {"b": 2}}},
            **driver,
        },
        "job": {"output_path": str(path.parent / "runs")},
    }
    path.write_text(json.dumps(config, indent=2))
    return path


def driver_log(tmp_path: Path) -> list[str]:
    (log,) = run_dir_of(tmp_path).glob("math/logs/driver-*.log")
    return log.read_text().splitlines()


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize(("ref", "version"), [("main", "v3"), ("v1", "v1"), ("refs/pull/7/head", "v2")])
def test_a_ref_is_installed_and_runs_in_its_checkout(
    tmp_path: Path, repo: Path, capsys: pytest.CaptureFixture[str], ref: str, version: str, overlap: bool
) -> None:
    done = run(capsys, "submit", "-c", write(tmp_path / "c.yaml", repo, ref, overlap_startup=overlap), "--wait")
    assert done.status == 0, done.err
    output = f"+output_jsonl_fpath={run_dir_of(tmp_path)}/math/artifacts/rollouts.jsonl"
    commit = git(repo, "rev-parse", ref)
    said = driver_log(tmp_path)
    assert said[0] == f"NeMo Gym at {commit}"
    assert said[1] == f"gym {version} eval prepare +a=1 in True"
    assert said[2].startswith(f"gym {version} eval run ")
    assert said[2].endswith("in True")
    assert output in said[2]
    assert len(said) == 3


def test_a_commit(tmp_path: Path, repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit = git(repo, "rev-parse", "v1")
    assert run(capsys, "submit", "-c", write(tmp_path / "c.yaml", repo, commit), "--wait").status == 0
    assert driver_log(tmp_path)[:2] == [f"NeMo Gym at {commit}", "gym v1 eval prepare +a=1 in True"]


def test_a_ref_that_is_none(tmp_path: Path, repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = run(capsys, "submit", "-c", write(tmp_path / "c.yaml", repo, "nope"), "--wait")
    assert done.status == 1
    assert driver_log(tmp_path) == ["fatal: couldn't find remote ref nope"]
    assert "fatal: couldn't find remote ref nope" in done.err


@pytest.mark.parametrize(
    ("command", "status", "overlap"),
    [
        ("exit 7", 7, False),
        ("exec bash -c 'exit 7'", 7, True),
        ("kill -KILL $$", 137, False),
        # To its process group, as a job ends its driver.
        ("kill -TERM 0; sleep 1000", 143, True),
        ("trap 'echo end > end; exit 5' TERM; kill -TERM 0; while :; do sleep 0.1; done", 5, False),
    ],
)
def test_nothing_is_left_of_the_checkout(
    tmp_path: Path, repo: Path, capsys: pytest.CaptureFixture[str], command: str, status: int, overlap: bool
) -> None:
    benchmark = {"command": f'pwd > "$NEMO_GYM_BENCH_DIR/artifacts/checkout"; {command}'}
    config = write(tmp_path / "c.yaml", repo, "v1", benchmarks={"math": benchmark}, overlap_startup=overlap)
    run(capsys, "submit", "-c", config, "--wait")
    job_dir = run_dir_of(tmp_path) / "math"
    assert state_of(job_dir)["exit_code"] == status
    checkout = Path((job_dir / "artifacts" / "checkout").read_text().strip())
    assert (checkout.name, checkout.parent.parent) == ("gym", Path("/tmp"))
    assert not checkout.parent.exists()


def test_nothing_is_left_of_an_installation_that_is_cut_off(
    tmp_path: Path,
    repo: Path,
    gate: Callable[[str], Gate],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The job is cancelled while git runs, which is not done with its files yet."""
    up, never = gate("up"), gate("never")
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(
        f"""#!/bin/bash
        [[ $1 == clone ]] || exec {shutil.which("git")} "$@"
        mkdir "${{@: -1}}"
        echo "${{@: -1}}" > {tmp_path}/checkout
        trap 'sleep 0.3; mkdir -p "${{@: -1}}"; exit 143' TERM
        {up.opens}
        {never.awaits}
        """
    )
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{git.parent}{os.pathsep}{os.environ['PATH']}")
    assert run(capsys, "submit", "-c", write(tmp_path / "c.yaml", repo, "v1")).status == 0
    run_dir = run_dir_of(tmp_path)
    up.wait()
    runner = runner_of(run_dir)
    os.kill(runner, signal.SIGTERM)
    await_end(runner)
    assert state_of(run_dir / "math")["state"] == "CANCELLED"
    assert not Path((tmp_path / "checkout").read_text().strip()).parent.exists()


def test_without_uv_one_is_installed_first(
    tmp_path: Path, repo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    uv = shutil.which("uv")
    assert uv is not None
    # The folder of wheels that stands for the network: a uv that is the one of this environment.
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    info = "uv-1.dist-info"
    with zipfile.ZipFile(wheels / "uv-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("uv_program.py", f"import os, sys\ndef main():\n    os.execv({uv!r}, ['uv', *sys.argv[1:]])\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: uv\nVersion: 1\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\nuv = uv_program:main\n")
        wheel.writestr(f"{info}/RECORD", "uv_program.py,,\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv(
        "PATH", os.pathsep.join(part for part in os.environ["PATH"].split(os.pathsep) if not Path(part, "uv").exists())
    )
    done = run(capsys, "submit", "-c", write(tmp_path / "c.yaml", repo, "v1"), "--wait")
    assert done.status == 0, done.err
    assert driver_log(tmp_path)[1] == "gym v1 eval prepare +a=1 in True"
