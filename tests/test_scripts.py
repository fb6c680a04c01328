"""Every compiled script is bash that a reviewer and shellcheck accept."""

import subprocess
from pathlib import Path

import pytest
from snapshot_files import SNAPSHOTS

import gymsubmit

SCRIPTS = sorted(SNAPSHOTS.glob("*/*/job.sh"))
REMOTE_SCRIPTS = sorted((Path(gymsubmit.__file__).parent / "executors" / "scripts").glob("*.sh"))


def said_by(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_script_is_valid_bash(script: Path) -> None:
    assert said_by("bash", "-n", script) == ""


def test_shellcheck_finds_nothing() -> None:
    assert SCRIPTS
    assert REMOTE_SCRIPTS
    assert said_by("shellcheck", "--shell=bash", "--severity=warning", *SCRIPTS, *REMOTE_SCRIPTS) == ""


def test_no_script_silences_shellcheck() -> None:
    assert [script for script in SCRIPTS if "shellcheck disable" in script.read_text()] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_every_function_is_called(script: Path) -> None:
    text = script.read_text()
    functions = [line.removesuffix("() {") for line in text.splitlines() if line.endswith("() {") and line[0] != " "]
    written_by_users = {"gym_test"}
    assert [name for name in functions if text.count(name) < 2 and name not in written_by_users] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_no_two_blank_lines_in_a_row(script: Path) -> None:
    assert "\n\n\n" not in script.read_text()
