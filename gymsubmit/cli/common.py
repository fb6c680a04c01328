"""What the commands that read a config share: its options, reading it, and printing a result."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import click

from gymsubmit.cli import logs
from gymsubmit.config.findings import Finding, UnsupportedError
from gymsubmit.config.load import LoadedConfig, load_config
from gymsubmit.config.tree import is_utf8
from gymsubmit.errors import GymSubmitError, NotInThisVersionError, Problem, UsageError
from gymsubmit.lower import FIXED_JOB_ID, Run, lower
from gymsubmit.lower.environment import secrets
from gymsubmit.plan import JobPlan, StagedFile

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
RULE_WIDTH = 100


def config_options(*, several: bool = False) -> Callable[[F], F]:
    """Add -c/--config (`configs` when it may repeat, else `config`) and the trailing overrides."""

    def add(function: F) -> F:
        name = "configs" if several else "config"
        text = "The submit config; may be repeated." if several else "The submit config."
        file = click.Path(path_type=Path)
        function = click.argument("overrides", nargs=-1, metavar="[KEY=VALUE]...")(function)
        return click.option("-c", "--config", name, type=file, multiple=several, metavar="FILE", help=text)(function)

    return add


def require_config(given: T | None, overrides: Sequence[str]) -> T:
    """Refuse a command line without a config, with the one that was probably meant.

    Raises:
        UsageError: there is none.
    """
    if given:
        return given
    file = next((word for word in overrides if "=" not in word and word.endswith((".yaml", ".yml"))), "FILE")
    raise UsageError(f"no config was given; name it with -c {file}")


def load(path: Path, overrides: Sequence[str]) -> LoadedConfig:
    """Read and check a config; its warnings go to stderr.

    Raises:
        ConfigError: everything that is wrong with it.
    """
    loaded = load_config(path, overrides)
    for warning in loaded.warnings:
        logs.warn(str(warning))
    return loaded


@contextmanager
def placed(loaded: LoadedConfig) -> Iterator[None]:
    """What is refused within is reported with its place in the file.

    Raises:
        NotInThisVersionError: the config asks for what cannot be run.
    """
    try:
        yield
    except UnsupportedError as error:
        raise NotInThisVersionError(loaded.problems(error.findings)) from None


def fixed_plans(loaded: LoadedConfig) -> tuple[JobPlan, ...]:
    """The plans under the identity that makes output the same every time: there is no submission."""
    return plans(loaded, FIXED_JOB_ID)


def plans(loaded: LoadedConfig, gym_job_id: str) -> tuple[JobPlan, ...]:
    """The plans of the submission `gym_job_id`.

    Raises:
        NotInThisVersionError: the config asks for what cannot be run.
    """
    with placed(loaded):
        return lower(loaded.config, Run.of(loaded.config, gym_job_id))


def unset_host_variables(loaded: LoadedConfig) -> tuple[Problem, ...]:
    """The config's `host:` values whose variables are not set here, or hold no text. Messages repeat no value."""
    return loaded.problems(
        Finding(path, message)
        for name, paths in secrets(loaded.config).items()
        if (message := _unusable(name)) is not None
        for path in paths
    )


def _unusable(variable: str) -> str | None:
    if variable not in os.environ:
        return f"the variable {variable} is not set on this machine; export it before submitting"
    if not is_utf8(os.environ[variable]):
        return f"the value of the variable {variable} is not UTF-8 text; set it to the text itself"
    return None


def warn_of_unset(loaded: LoadedConfig) -> None:
    """Where the values are not needed, an unset variable is worth no more than a warning."""
    for problem in unset_host_variables(loaded):
        logs.warn(str(problem))


def show(text: str) -> None:
    """Print a result, or a part of one, to stdout at once.

    Raises:
        GymSubmitError: stdout cannot be written (its disk is full).
    """
    if sys.stdout is None:  # closed by whoever started us
        return
    # UTF-8 whatever the locale says: scripts are; and a path that is not comes out as the bytes it has.
    rest = memoryview(text.encode("utf-8", "surrogateescape"))
    try:
        sys.stdout.flush()
        while rest:
            # An unbuffered stdout (PYTHONUNBUFFERED) may take less than it is given.
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise GymSubmitError(f"stdout: cannot write the result: {error.strerror}") from None


def ruled(files: Iterable[tuple[PurePosixPath, StagedFile]]) -> str:
    """Files under `=` rules with their paths, for reading; `files` pairs a folder with each."""
    parts = []
    for folder, file in files:
        parts.append(f" {folder / file.path} ".center(RULE_WIDTH, "=") + "\n")
        parts.append(file.text if file.text.endswith("\n") or not file.text else file.text + "\n")
    return "".join(parts)
