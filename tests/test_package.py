"""The built wheel is what the checkout is: it brings its templates and compiles to the same bytes."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", directory, ROOT],
        check=True,
        capture_output=True,
    )
    (wheel,) = directory.glob("gymsubmit-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory / "site")
    return directory / "site"


def test_wheel_holds_every_template(unpacked: Path) -> None:
    packaged = {path.relative_to(unpacked / "gymsubmit" / "templates") for path in unpacked.rglob("*.j2")}
    assert packaged == {path.relative_to(ROOT / "templates") for path in (ROOT / "templates").rglob("*.j2")}


def test_wheel_compiles_to_the_same_bytes(unpacked: Path, tmp_path: Path) -> None:
    subprocess.run(
        [
            sys.executable,
            "-m",
            "gymsubmit",
            "compile",
            "-c",
            ROOT / "examples" / "policy_and_judge.yaml",
            "-o",
            tmp_path,
        ],
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(unpacked), "PYTHONSAFEPATH": "1"},
    )
    (script,) = tmp_path.rglob("job.sh")
    assert script.read_bytes() == (ROOT / "snapshots/policy_and_judge/arena_hard/job.sh").read_bytes()


def test_wheel_is_the_one_that_ran(unpacked: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import gymsubmit; print(gymsubmit.__file__)"],
        check=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(unpacked)},
    )
    assert Path(done.stdout.strip()).is_relative_to(unpacked)
