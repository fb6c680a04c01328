"""The user's own scripts: carried in the job script, or staged as files beside it."""

from pathlib import PurePosixPath

from gymsubmit.frozen import Frozen
from gymsubmit.plan import Script, StagedFile
from gymsubmit.words import UserShell, Word

# The kernel takes 128 KiB in one argument or variable; quoting may make four characters of one byte.
LONGEST_CARRIED_BYTES = 24 * 1024


class LoweredScript(Frozen):
    """A script as shell text to run (`script`) or as a program with its interpreter (`argv`); and its file, if any."""

    script: Script | None
    argv: tuple[Word, ...] | None
    files: tuple[StagedFile, ...]


def lower_script(text: str, file_name: str, directory: PurePosixPath) -> LoweredScript:
    """Decide how a script reaches its step; `file_name` is where it would be staged in `directory`."""
    if interpreter := _interpreter(text):
        path = PurePosixPath(file_name)
        return LoweredScript(None, (*interpreter, directory / path), (StagedFile(path, text, 0o755),))
    script, files = lower_shell_text(text, file_name, directory)
    return LoweredScript(script, None, files)


def lower_shell_text(text: str, file_name: str, directory: PurePosixPath) -> tuple[Script, tuple[StagedFile, ...]]:
    """Decide whether shell text is carried in the job script or staged as a file, and which."""
    if len(text.encode()) <= LONGEST_CARRIED_BYTES:
        return Script(UserShell(text), None), ()
    path = PurePosixPath(file_name)
    return Script(None, directory / path), (StagedFile(path, text, 0o644),)


def _interpreter(text: str) -> tuple[str, ...]:
    """The words in front of a script's file, from its `#!` line; none where it names no program."""
    if not text.startswith("#!"):
        return ()
    # As the kernel reads the line (fs/binfmt_script.c): the program, and all of the rest as one argument. Named here,
    # the script also runs where its directory is mounted noexec.
    line = text.partition("\n")[0].removeprefix("#!").strip(" \t\r")
    program, _, argument = line.replace("\t", " ").partition(" ")
    return tuple(word for word in (program, argument.strip()) if word)
