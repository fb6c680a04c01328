"""How commands and files reach the machine where `sbatch` is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from gymsubmit.plan import StagedFile


@dataclass(frozen=True, slots=True)
class Answer:
    """What a script came to: its exit status (negative for a signal's number) and all that it wrote."""

    status: int
    stdout: bytes
    stderr: bytes


class Connection(Protocol):
    """A machine to submit from; `host` is its name."""

    host: str

    def run(self, script: str, arguments: Sequence[str]) -> Answer:
        """Run a bash script there with positional `arguments` of any number and size, and no standard input.

        The arguments are in no argument list that another user could read.
        """

    def interrupt(self) -> None:
        """End the script that runs, and any that is run later: `run` returns with what it has written.

        May be called from a signal handler.
        """

    def stage(self, run_dir: PurePosixPath, benchmarks: Iterable[str], files: Iterable[StagedFile]) -> None:
        """Make the directory `run_dir` there, whole or not at all.

        Raises:
            StagingError: with nothing left behind.
        """

    def discard(self, run_dir: PurePosixPath) -> None:
        """Remove a run directory in which nothing was started."""


def as_input(script: str, arguments: Sequence[str]) -> bytes:
    """What `bash -s` reads to run a script with arguments that no argument list would hold.

    bash reads a script from a pipe byte by byte, so that what follows it is there for the script to read.
    """
    # Being one compound command, all of it is read before any of it runs.
    text = f"{{\nmapfile -d '' -t arguments\nset -- \"${{arguments[@]}}\"\nexec </dev/null\n{script}\nexit\n}}\n"
    data = "".join(f"{argument}\0" for argument in arguments)
    return (text + data).encode("utf-8", "surrogateescape")
