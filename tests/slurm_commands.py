"""Slurm's commands, played by scripts: for answers that a healthy cluster does not give."""

import shutil
from pathlib import Path

import pytest

TOOLS = ("sed", "env", "cat", "rm", "kill")


class SlurmCommands:
    """A folder that is all of the PATH: with the commands that a test adds, and no other of Slurm's."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder.mkdir()
        self.folder = folder
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found is not None
            (folder / tool).symlink_to(found)
        monkeypatch.setenv("PATH", str(folder))

    def add(self, name: str, script: str) -> None:
        """Make the command `name` of a bash script."""
        path = self.folder / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)
