"""The command as a process: nobody misses what it leaves out to be quick."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import IO

from command_line import Outcome

RUN = "from gymsubmit.__main__ import run\nrun()\n"


def python(code: str, *args: str | Path, stdout: int | IO[str] = subprocess.PIPE) -> Outcome:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, "-c", code, *args], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, env=environ
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_compile_imports_nothing_that_is_not_needed(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "services: {idle: {type: command, command: [sleep, '1000']}}\n"
        "compute: {here: {type: local}}\n"
        "driver: {benchmarks: {math: {run: {limit: 1}}}}\n"
        "job: {output_path: /runs}\n"
    )
    code = (
        "import json, os, sys\n"
        "end = os._exit\n"
        "os._exit = lambda status: (print(json.dumps(sorted(sys.modules)), file=sys.stderr), end(status))\n"
    )
    imported = set(json.loads(python(code + RUN, "compile", "-c", tmp_path / "c.yaml").err))
    assert "gymsubmit.cli.compile" in imported
    needed_elsewhere = {
        "email",  # importlib.metadata would import it
        "gymsubmit.config.interpolation",
        "gymsubmit.config.refused",
        "gymsubmit.executors",
        "gymsubmit.records",
        "logging",
        "omegaconf",
        "subprocess",
    }
    assert imported & needed_elsewhere == set()


def test_what_asks_for_installed_packages_is_answered() -> None:
    code = (
        "import gymsubmit.cli\n"
        "def ask():\n"
        "    from importlib.metadata import entry_points\n"
        "    print(any(each.name == 'gymsubmit' for each in entry_points(group='console_scripts')))\n"
        "    import importlib.metadata\n"
        "    print(importlib.metadata.version('click'))\n"
        "    raise SystemExit(0)\n"
        "gymsubmit.cli.main = ask\n"
    )
    assert python(code + RUN) == Outcome(0, f"True\n{version('click')}\n", "")


ENDS = "import gymsubmit.cli\ndef end():\n    print('told')\n    raise SystemExit(3)\ngymsubmit.cli.main = end\n"


def test_what_was_printed_arrives_and_the_exit_status_too() -> None:
    assert python(ENDS + RUN) == Outcome(3, "told\n", "")


def test_what_cannot_be_written_is_told() -> None:
    with Path("/dev/full").open("w") as full:
        done = python(ENDS + RUN, stdout=full)
    assert done.status == 120
    assert "No space left on device" in done.err
