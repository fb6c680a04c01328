"""No connection at all: `sbatch` is on this machine."""

import contextlib
import os
import signal
import subprocess
import tempfile
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
        self._process: subprocess.Popen[bytes] | None = None
        self._interrupted = False

    def run(self, script: str, arguments: Sequence[str]) -> Answer:
        """Run a bash script, out of reach of the terminal's Ctrl-C: whoever waits for it decides what that means."""
        # Files, not pipes: those would be open for as long as something that the script has left behind.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                ["/bin/bash", "-s"],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                cwd="/",
                env={name: value for name, value in os.environ.items() if name not in _STARTUP},
                start_new_session=True,
            )
            with process:
                self._process = process
                if self._interrupted:  # while it was being started
                    self.interrupt()
                try:
                    process.communicate(as_input(script, arguments))
                except BaseException:
                    self._signal(signal.SIGKILL)
                    raise
                finally:
                    self._process = None
            out.seek(0)
            err.seek(0)
            return Answer(process.returncode, out.read(), err.read())

    def interrupt(self) -> None:
        """End the script that runs, and any that is run later."""
        self._interrupted = True
        self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def stage(self, run_dir: PurePosixPath, benchmarks: Iterable[str], files: Iterable[StagedFile]) -> None:
        """Make the directory `run_dir`, whole or not at all.

        Raises:
            StagingError: with nothing left behind.
        """
        staging.stage(Path(run_dir), benchmarks, files)

    def discard(self, run_dir: PurePosixPath) -> None:
        """Remove a run directory in which nothing was started."""
        staging.discard(Path(run_dir))
