import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from gymsubmit.connections import staging
from gymsubmit.connections.staging import StagingError, stage
from gymsubmit.plan import StagedFile

FILES = (
    StagedFile(PurePosixPath("resolved-config.yaml"), "a: 1\n", 0o644),
    StagedFile(PurePosixPath("math/job.sh"), "#!/bin/bash\nexit 0\n", 0o600),
    StagedFile(PurePosixPath("math/secrets.env"), "GYM_SECRET_A=b\n", 0o600),
    StagedFile(PurePosixPath("math/tools/deep/gate.py"), "é\udcff\r\n", 0o755),
)


def tree(root: Path) -> dict[str, int]:
    """Everything below `root` with its mode."""
    return {path.relative_to(root).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*")}


@pytest.fixture(params=[0o022, 0o077, 0o000])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_the_tree_and_its_modes_whatever_the_umask(tmp_path: Path) -> None:
    run_dir = tmp_path / "out" / "gym-job-1"
    stage(run_dir, ["math", "code"], FILES)
    assert tree(run_dir) == {
        "resolved-config.yaml": 0o644,
        "math": 0o755,
        "math/job.sh": 0o600,
        "math/secrets.env": 0o600,
        "math/tools": 0o755,
        "math/tools/deep": 0o755,
        "math/tools/deep/gate.py": 0o755,
        "math/logs": 0o755,
        "math/artifacts": 0o755,
        "code": 0o755,
        "code/logs": 0o755,
        "code/artifacts": 0o755,
    }
    assert stat.S_IMODE(run_dir.stat().st_mode) == 0o755
    assert (run_dir / "math/tools/deep/gate.py").read_bytes() == b"\xc3\xa9\xff\r\n"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["gym-job-1"]


def test_nobody_can_look_in_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int, int]] = []
    before = os.umask(0)
    fchmod = os.fchmod

    def watch(handle: int, mode: int) -> None:
        (beside,) = tmp_path.iterdir()
        now = os.fstat(handle)
        seen.append((stat.S_IMODE(beside.stat().st_mode), stat.S_IMODE(now.st_mode), now.st_size))
        fchmod(handle, mode)

    monkeypatch.setattr(os, "fchmod", watch)
    try:
        stage(tmp_path / "run", ["math"], FILES[2:3])
    finally:
        os.umask(before)
    assert seen == [(0o700, 0o600, 0)]


@pytest.mark.parametrize("there", ["full", "empty", "file", "link"])
def test_one_that_is_there_is_never_merged_into(there: str, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    if there == "file":
        run_dir.write_text("mine")
    elif there == "link":
        run_dir.symlink_to("nowhere")
    else:
        run_dir.mkdir()
        if there == "full":
            (run_dir / "mine").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StagingError) as caught:
        stage(run_dir, ["math"], FILES)
    assert str(caught.value) == f"{run_dir}: is there already; a run directory is never merged into, submit again"
    assert sorted(tmp_path.rglob("*")) == before


def refused(run_dir: Path, why: str) -> None:
    with pytest.raises(StagingError) as caught:
        stage(run_dir, ["math"], FILES)
    assert str(caught.value) == (
        f"{run_dir}: cannot write the run directory: {why}; nothing was left behind, check job.output_path"
    )


def test_one_that_appears_meanwhile_is_not_merged_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = tmp_path / "run"
    fill = staging._fill

    def slow(root: Path, *rest: object) -> None:
        fill(root, *rest)  # type: ignore[arg-type]
        run_dir.mkdir()
        (run_dir / "theirs").write_text("theirs")

    monkeypatch.setattr(staging, "_fill", slow)
    refused(run_dir, "Directory not empty")
    assert sorted(tmp_path.rglob("*")) == [run_dir, run_dir / "theirs"]


def test_a_file_where_the_output_path_should_be(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    refused(tmp_path / "out" / "run", "Not a directory")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_name_too_long_leaves_no_parent_behind(tmp_path: Path) -> None:
    refused(tmp_path / "new" / ("x" * 256) / "run", "File name too long")
    refused(tmp_path / "new" / ("x" * 256), "File name too long")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A directory that nobody but root may write to, and this process without root's powers."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o555)
    as_root = os.geteuid() == 0
    if as_root:
        os.seteuid(65534)
    yield place
    if as_root:
        os.seteuid(0)
    place.rmdir()


@pytest.mark.parametrize("below", ["run", "new/run"])
def test_no_permission(below: str, read_only: Path) -> None:
    refused(read_only / below, "Permission denied")
    assert list(read_only.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs to mount a small tmpfs")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    run_dir = small_disk / "new" / "run"
    with pytest.raises(StagingError) as caught:
        stage(run_dir, ["math"], [*FILES, StagedFile(PurePosixPath("math/plan.json"), "x" * 100_000, 0o644)])
    assert str(caught.value) == (
        f"{run_dir}: cannot write the run directory: No space left on device; "
        "nothing was left behind, check job.output_path"
    )
    assert list(small_disk.iterdir()) == []


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fchmod", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stage(tmp_path / "new" / "run", ["math"], FILES)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x"])
def test_no_file_lies_outside(path: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not lie in the run directory"):
        stage(tmp_path / "run", [], [StagedFile(PurePosixPath(path), "", 0o644)])
    assert list(tmp_path.iterdir()) == []
