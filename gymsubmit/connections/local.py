"""No connection at all: `sbatch` is on this machine."""

import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from gymsubmit.connections import staging
from gymsubmit.connections.base import Answer, as_input
from gymsubmit.plan import StagedFile

# Files that bash would run before a script.
_STARTUP = ("BASH_ENV", "ENV")


class LocalConnection:
    """Runs scripts on this machine."""

    def __init__(self) -> None:
        self.host = os.uname().nodename

    def run(self, script: str, arguments: Sequence[str]) -> Answer:
        """Run a bash script, out of reach of the terminal's Ctrl-C: whoever waits for it decides what that means."""
        done = subprocess.run(
            ["/bin/bash", "-s"],
            input=as_input(script, arguments),
            capture_output=True,
            check=False,
            cwd="/",
            env={name: value for name, value in os.environ.items() if name not in _STARTUP},
            start_new_session=True,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def stage(self, run_dir: PurePosixPath, benchmarks: Iterable[str], files: Iterable[StagedFile]) -> None:
        """Make the directory `run_dir`, whole or not at all.

        Raises:
            StagingError: with nothing left behind.
        """
        staging.stage(Path(run_dir), benchmarks, files)

    def discard(self, run_dir: PurePosixPath) -> None:
        """Remove a run directory in which nothing was started."""
        staging.discard(Path(run_dir))
