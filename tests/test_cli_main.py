import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import PROGRAM, Outcome, run, start, write_local

import gymsubmit
from gymsubmit.cli import COMMANDS, logs, schema, submit

HELP = """\
Usage: gymsubmit [OPTIONS] COMMAND [ARGS]...

  Evaluate language models on a cluster from one YAML file.

Options:
  --version                 Show the version and exit.
  -v, --verbose             Say more; twice for all.
  --log-format [text|json]  How stderr is written; json is one object a line.
  --debug                   Show where an error came from.
  -h, --help                Show this message and exit.

Commands:
  submit   Check a config, then stage and start its benchmarks.
  compile  Write the job scripts that submit would stage.
  plan     Show what would run on which node, and on which port.
  schema   Print the JSON Schema of a config, for editors.
"""


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, option) == Outcome(0, HELP, "")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == Outcome(0, f"gymsubmit {gymsubmit.__version__}\n", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_begins_as_listed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = run(capsys, command, "--help")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"Usage: gymsubmit {command} [OPTIONS]")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_imports_little_but_click(option: str) -> None:
    code = (
        "import sys, click\nbefore = set(sys.modules)\nfrom gymsubmit.cli import main\n"
        f"try: main(['{option}'])\nexcept SystemExit: pass\n"
        "print(sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    new = set(json.loads(done.stderr.replace("'", '"')))
    assert {name for name in new if name.startswith("gymsubmit")} == {
        "gymsubmit",
        "gymsubmit.cli",
        "gymsubmit.cli.logs",
        "gymsubmit.errors",
        "gymsubmit.frozen",
    }
    for heavy in (
        "logging",
        "json",
        "pathlib",
        "yaml",
        "pydantic",
        "jinja2",
        "omegaconf",
        "importlib.metadata",
        "rich",
    ):
        assert heavy not in new


def test_a_misspelt_command(capsys: pytest.CaptureFixture[str]) -> None:
    done = run(capsys, "complie")
    assert (done.status, done.out) == (2, "")
    assert done.err.splitlines()[-1] == "Error: no such command: complie; did you mean compile?"


@pytest.mark.parametrize("command", ["submit", "compile", "plan"])
def test_no_config(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, command) == Outcome(2, "", "no config was given; name it with -c FILE\n")
    assert run(capsys, command, "hello.yaml") == Outcome(2, "", "no config was given; name it with -c hello.yaml\n")


@pytest.mark.parametrize("command", ["submit", "compile", "plan"])
def test_a_config_that_is_not_there(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = run(capsys, command, "-c", tmp_path / "none.yaml")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"{tmp_path}/none.yaml: ")
    assert done.err.count("\n") == 1


def broken(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(_: str) -> None:
        raise error

    monkeypatch.setattr(schema, "show", fail)


def test_an_error_of_ours(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, KeyError("services"))
    message = "internal error: KeyError: 'services'; please report it, --debug shows where\n"
    assert run(capsys, "schema") == Outcome(1, "", message)
    for args in (["--debug", "schema"], ["schema", "--debug"]):
        done = run(capsys, *args)
        assert done.status == 1
        assert done.err.startswith("Traceback (most recent call last):\n")
        assert done.err.endswith(f"\n{message}")


def test_ctrl_c(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, KeyboardInterrupt())
    assert run(capsys, "schema") == Outcome(130, "", "interrupted\n")


def test_a_reader_that_has_gone_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*PROGRAM, "schema"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_result_that_cannot_be_written() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*PROGRAM, "schema"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "stdout: cannot write the result: No space left on device\n")


def test_a_closed_stdout_is_no_error() -> None:
    done = subprocess.run(
        ["bash", "-c", 'exec "$@" >&-', "bash", *PROGRAM, "schema"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "environ", [{"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "latin-1"}]
)
def test_what_is_printed_is_utf_8_in_any_locale(environ: dict[str, str], tmp_path: Path) -> None:
    config = write_local(tmp_path / "c.yaml", {"math": "echo 中 é"})
    with start("compile", "-c", config, **environ) as process:
        raw = process.stdout
        assert raw is not None
        assert "echo 中 é\n".encode() in raw.buffer.read()  # type: ignore[attr-defined]


def told(_: str) -> None:
    logs.inform("detail")
    logs.warn("careful, you")


def logged(_: str) -> None:
    logger = logging.getLogger("gymsubmit.some.part")
    logger.debug("fine")
    logger.info("detail")
    logger.warning("careful, %s", "you")


@pytest.mark.parametrize(
    ("args", "err"),
    [
        ([], "warning: careful, you\n"),
        (["-v"], "info: detail\nwarning: careful, you\n"),
        (["-vv"], "info: detail\nwarning: careful, you\n"),
    ],
)
def test_verbosity_in_front_and_behind(
    args: list[str], err: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "show", told)
    assert run(capsys, *args, "schema") == Outcome(0, "", err)
    assert run(capsys, "schema", *args) == Outcome(0, "", err)


@pytest.mark.parametrize(
    ("args", "err"),
    [
        ([], "warning: careful, you\n"),
        (["-v"], "info: detail\nwarning: careful, you\n"),
        (["-vv"], "debug: fine\ninfo: detail\nwarning: careful, you\n"),
    ],
)
def test_what_submitting_logs_is_told_too(
    args: list[str],
    err: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(submit, "show", logged)
    config = write_local(tmp_path / "c.yaml", {"math": "true"})
    assert run(capsys, *args, "submit", "-c", config, "--resolve-only") == Outcome(0, "", err)
    assert run(capsys, "submit", "-c", config, "--resolve-only", *args) == Outcome(0, "", err)


@pytest.mark.parametrize(("say", "logger"), [(told, "gymsubmit"), (logged, "gymsubmit.some.part")])
def test_json_lines(
    say: Callable[[str], None],
    logger: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(submit, "show", say)
    command = ["submit", "-c", str(write_local(tmp_path / "c.yaml", {"math": "true"})), "--resolve-only"]
    for args in (["--log-format", "json", *command, "-v"], ["-v", *command, "--log-format", "json"]):
        lines = [json.loads(line) for line in run(capsys, *args).err.splitlines()]
        assert all(line.pop("time").endswith("Z") for line in lines)
        assert lines == [
            {"level": "info", "logger": logger, "message": "detail"},
            {"level": "warning", "logger": logger, "message": "careful, you"},
        ]


def test_errors_are_json_lines_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, KeyboardInterrupt())
    (line,) = run(capsys, "--log-format", "json", "schema").err.splitlines()
    assert json.loads(line)["message"] == "interrupted"
