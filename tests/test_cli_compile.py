import os
import stat
import subprocess
from pathlib import Path

import pytest
from command_line import Outcome, place, run, start, write_local, write_slurm

from gymsubmit.cli import compiled


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_local(tmp_path / "hello.yaml", {"math": "echo 1", "code": "#!/usr/bin/env python3\nprint(2)"})


def test_a_folder_a_benchmark(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(capsys, "compile", "-c", config, "-o", out) == Outcome(0, "", "")
    assert sorted(files(out)) == [
        "hello/code/driver.command",
        "hello/code/job.sh",
        "hello/code/plan.json",
        "hello/math/job.sh",
        "hello/math/plan.json",
    ]
    assert files(out)["hello/code/driver.command"] == b"#!/usr/bin/env python3\nprint(2)"
    assert f"{tmp_path}/runs/gym-job-00000000T000000Z-000000/math".encode() in files(out)["hello/math/job.sh"]


def test_stdout_has_the_same_under_rules(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "compile", "-c", config, "-o", tmp_path / "out")
    written = files(tmp_path / "out")
    order = ("math/job.sh", "math/plan.json", "code/job.sh", "code/plan.json", "code/driver.command")
    expected = "".join(
        f" hello/{path} ".center(100, "=") + "\n" + written[f"hello/{path}"].decode().removesuffix("\n") + "\n"
        for path in order
    )
    assert run(capsys, "compile", "-c", config) == Outcome(0, expected, "")


def test_overrides_apply_to_every_config(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = write_slurm(tmp_path / "other.yaml")
    done = run(capsys, "compile", "-c", config, "-c", other, "job.output_path=/else", "-o", tmp_path / "out")
    assert done.status == 0
    scripts = {path: text for path, text in files(tmp_path / "out").items() if path.endswith("job.sh")}
    assert sorted(scripts) == [
        "hello/code/job.sh",
        "hello/math/job.sh",
        "other/code/job.sh",
        "other/math/job.sh",
        "other/own/job.sh",
    ]
    assert all(b"/else/gym-job-00000000T000000Z-000000/" in text for text in scripts.values())


def test_the_same_bytes_whatever_the_environment(tmp_path: Path) -> None:
    config = write_local(tmp_path / "c.yaml", {"math": "echo ä"}, env={"TOKEN": "host:SECRET_TOKEN"})
    outputs = []
    for environ in (
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C", "USER": "a", "SLURM_JOB_ID": "7"},
        {"PYTHONHASHSEED": "2", "TZ": "UTC", "LC_ALL": "C.UTF-8", "USER": "b", "SECRET_TOKEN": "s3cret"},
    ):
        process = start("compile", "-c", config, **environ)
        outputs.append(process.communicate())
        assert process.returncode == 0
    assert outputs[0][0] == outputs[1][0]
    assert [err for _, err in outputs] == [
        f"warning: {place(config, 'host:SECRET_TOKEN')}: services.idle.env.TOKEN: the variable SECRET_TOKEN is not set "
        "on this machine; export it before submitting\n",
        "",
    ]
    assert "s3cret" not in outputs[1][0]


def test_what_is_right_already_is_not_touched(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    run(capsys, "compile", "-c", config, "-o", out)
    before = {path: path.stat() for path in out.rglob("*")}
    script = out / "hello/math/job.sh"
    script.write_text("edited\n")
    done = run(capsys, "-v", "compile", "-c", config, "-o", out)
    assert done == Outcome(0, "", f"info: wrote {script}\n")
    changed = [path for path in out.rglob("*") if path.is_file() and path.stat().st_ino != before[path].st_ino]
    assert changed == [script]
    assert all(
        path.stat().st_mtime_ns == before[path].st_mtime_ns for path in before if path.is_file() and path != script
    )


def test_a_checkout_has_modes_of_its_own(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    run(capsys, "compile", "-c", config, "-o", out)
    script, program = out / "hello/math/job.sh", out / "hello/code/driver.command"
    mode = stat.S_IMODE(program.stat().st_mode)
    script.chmod(0o644)
    program.chmod(0o644)
    run(capsys, "compile", "-c", config, "-o", out)
    assert stat.S_IMODE(script.stat().st_mode) == 0o644
    assert stat.S_IMODE(program.stat().st_mode) == (mode if mode & 0o100 else 0o644)


def test_a_stem_is_owned_whole_and_others_are_left_alone(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    run(capsys, "compile", "-c", config, "-o", out)
    expected = files(out)
    (out / "hello/gone/logs").mkdir(parents=True)
    (out / "hello/gone/job.sh").write_text("old\n")
    (out / "hello/math/extra/deep").mkdir(parents=True)
    (out / "hello/math/extra/deep/file").write_text("old\n")
    (out / "hello/math/.job.sh.abc").write_text("of an interrupted write\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine\n")
    (out / "hello/math/link").symlink_to(outside)
    (out / "other/math").mkdir(parents=True)
    (out / "other/math/job.sh").write_text("theirs\n")
    (out / "README.md").write_text("mine\n")
    assert run(capsys, "compile", "-c", config, "-o", out).status == 0
    assert files(out) == expected | {"other/math/job.sh": b"theirs\n", "README.md": b"mine\n"}
    assert sorted(path.name for path in (out / "hello").rglob("*") if path.is_dir()) == ["code", "math"]
    assert (outside / "precious").read_text() == "mine\n"


def test_a_directory_in_the_way_of_a_file(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    run(capsys, "compile", "-c", config, "-o", out)
    expected = files(out)
    (out / "hello/math/job.sh").unlink()
    (out / "hello/math/job.sh").mkdir()
    (out / "hello/math/job.sh/x").write_text("x")
    (out / "hello/code/plan.json").unlink()
    (out / "hello/code/plan.json").symlink_to(out / "hello/math/plan.json")
    (out / "hello/third").mkdir()
    for name in ("job.sh", "plan.json"):
        (out / "hello/third" / name).write_text("marks the folder as compiled")
    assert run(capsys, "compile", "-c", config, "-o", out).status == 0
    assert files(out) == expected
    assert not (out / "hello/code/plan.json").is_symlink()


def test_prune_removes_other_compiled_folders_only(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    other = write_slurm(tmp_path / "other.yaml")
    run(capsys, "compile", "-c", config, "-c", other, "-o", out)
    (out / "notes").mkdir()
    (out / "notes/job.sh").write_text("no plan beside it\n")
    (out / "link").symlink_to(out / "other")
    assert run(capsys, "compile", "-c", config, "-o", out, "--prune") == Outcome(0, "", "")
    assert sorted(path.name for path in out.iterdir()) == ["hello", "link", "notes"]


def test_prune_needs_a_directory(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = "--prune: there is nothing to remove without a directory; add -o DIR\n"
    assert run(capsys, "compile", "-c", config, "--prune") == Outcome(2, "", message)


def refusal(folder: Path, stray: str) -> str:
    return (
        f"{folder}: was not made by compile, which would remove {folder / stray}; "
        "choose another directory with -o, or move the folder away\n"
    )


@pytest.mark.parametrize("stray", ["main.c", "math/thesis.tex", ".git/HEAD"])
def test_somebody_elses_folder_is_not_taken_over(
    stray: str, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "hello"
    (folder / stray).parent.mkdir(parents=True)
    (folder / stray).write_text("mine\n")
    assert run(capsys, "compile", "-c", config, "-o", tmp_path) == Outcome(1, "", refusal(folder, stray))
    assert files(folder) == {stray: b"mine\n"}


def test_a_compiled_folder_with_a_repository_in_it_is_not_taken_over(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "compile", "-c", config, "-o", tmp_path)
    (tmp_path / "hello/math/.git").mkdir()
    (tmp_path / "hello/math/.git/HEAD").write_text("ref\n")
    before = files(tmp_path)
    done = run(capsys, "compile", "-c", config, "-o", tmp_path)
    assert done == Outcome(1, "", refusal(tmp_path / "hello", "math/.git/HEAD"))
    assert files(tmp_path) == before


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_no_folder_is_not_taken_over(
    kind: str, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "out" / "hello"
    place.parent.mkdir()
    if kind == "file":
        place.write_text("mine\n")
    else:
        place.symlink_to(tmp_path)
    message = f"{place}: is no folder; move it away, or choose another directory with -o\n"
    assert run(capsys, "compile", "-c", config, "-o", tmp_path / "out") == Outcome(1, "", message)


def test_nothing_is_written_when_one_folder_is_refused(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_slurm(tmp_path / "other.yaml")
    (tmp_path / "out" / "other").mkdir(parents=True)
    (tmp_path / "out" / "other" / "mine").write_text("mine\n")
    assert run(capsys, "compile", "-c", config, "-c", other, "-o", tmp_path / "out").status == 1
    assert files(tmp_path / "out") == {"other/mine": b"mine\n"}


def test_what_an_interrupted_compile_left_is_no_obstacle(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    write = compiled._write

    def interrupted(path: Path, file: object) -> None:
        if path.name == "plan.json":
            raise KeyboardInterrupt
        write(path, file)  # type: ignore[arg-type]

    monkeypatch.setattr(compiled, "_write", interrupted)
    assert run(capsys, "compile", "-c", config, "-o", out) == Outcome(130, "", "interrupted\n")
    assert list(files(out)) == ["hello/math/job.sh"]
    (out / "hello/math/.plan.json.x7").write_text("of a killed one")
    monkeypatch.setattr(compiled, "_write", write)
    assert run(capsys, "compile", "-c", config, "-o", out).status == 0
    assert len(files(out)) == 5


def test_equal_stems(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sub").mkdir()
    other = write_slurm(tmp_path / "sub" / "hello.yml")
    message = f"{other}: compiles to the folder hello, as {config} does; rename one of them\n"
    assert run(capsys, "compile", "-c", config, "-c", other) == Outcome(2, "", message)


def test_a_stem_that_is_the_directory_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_slurm(tmp_path / "..yaml")
    message = f"{config}: its name gives no name for a folder; rename the config\n"
    assert run(capsys, "compile", "-c", config, "-o", tmp_path) == Outcome(2, "", message)


def test_everything_wrong_with_all_configs_is_told_at_once(
    tmp_path: Path, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configs = []
    for name in ("a", "b"):
        configs.append(write_slurm(tmp_path / f"{name}.yaml"))
        configs[-1].write_text(configs[-1].read_text().replace("policy_model: policy", "policy_model: polcy"))
    out = tmp_path / "out"
    done = run(capsys, "compile", "-c", configs[0], "-c", config, "-c", configs[1], "-o", out)
    assert (done.status, done.out) == (2, "")
    assert [line.split(":")[0] for line in done.err.splitlines()] == [str(path) for path in configs]
    assert not out.exists()


def test_a_directory_that_cannot_be_written(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("a file\n")
    done = run(capsys, "compile", "-c", config, "-o", tmp_path / "out" / "below")
    assert (done.status, done.err) == (1, f"{tmp_path}/out/below: cannot write: Not a directory\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_that_is_closed_early_is_no_error(unbuffered: str, tmp_path: Path) -> None:
    config = write_local(tmp_path / "c.yaml", {f"b{number}": "x" * 10_000 for number in range(20)})
    process = start("compile", "-c", config, PYTHONUNBUFFERED=unbuffered)
    head = subprocess.run(["head", "-n", "2"], stdin=process.stdout, capture_output=True, text=True, check=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait() == 1
    assert head.stdout.splitlines()[1] == "#!/bin/bash"


def test_the_umask_applies(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = os.umask(0o077)
    try:
        run(capsys, "compile", "-c", config, "-o", tmp_path / "out")
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert modes == {0o600, 0o700}
