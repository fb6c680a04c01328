"""`gymsubmit compile`."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import click

from gymsubmit.cli import logs
from gymsubmit.cli.common import config_options, fixed_plans, load, require_config, ruled, show, warn_of_unset
from gymsubmit.cli.compiled import write
from gymsubmit.errors import GymSubmitError, UsageError
from gymsubmit.plan import StagedFile
from gymsubmit.render import render

Folder = dict[PurePosixPath, StagedFile]


def stem_of(path: Path) -> str:
    """The name of the folder that a config compiles to.

    Raises:
        UsageError: the config's name gives none.
    """
    if path.stem in ("", ".", ".."):
        raise UsageError(f"{path}: its name gives no name for a folder; rename the config")
    return path.stem


def _check_stems(configs: Sequence[Path]) -> None:
    first: dict[str, Path] = {}
    for path in configs:
        other = first.setdefault(stem_of(path), path)
        if other is not path:
            raise UsageError(f"{path}: compiles to the folder {path.stem}, as {other} does; rename one of them")


def compile_config(path: Path, overrides: Sequence[str]) -> Folder:
    """What submit would stage, secrets apart: files by their path in the config's folder.

    Raises:
        GymSubmitError: it cannot be compiled.
    """
    loaded = load(path, overrides)
    warn_of_unset(loaded)
    return {PurePosixPath(plan.name) / file.path: file for plan in fixed_plans(loaded) for file in render(plan)}


def _compile_all(configs: Sequence[Path], overrides: Sequence[str]) -> dict[str, Folder]:
    """Compile every config before anything is written, so that all that is wrong is told in one go."""
    folders: dict[str, Folder] = {}
    errors: list[GymSubmitError] = []
    for path in configs:
        try:
            folders[stem_of(path)] = compile_config(path, overrides)
        except GymSubmitError as error:
            errors.append(error)
    if len(errors) > 1:
        raise UsageError("\n".join(str(error) for error in errors))
    if errors:
        raise errors[0]
    return folders


@click.command()
@config_options(several=True)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Write DIR/CONFIG/BENCHMARK/job.sh etc."
)
@click.option("--prune", is_flag=True, help="Remove folders of DIR that were compiled from other configs.")
@logs.options
def command(configs: tuple[Path, ...], overrides: tuple[str, ...], output: Path | None, prune: bool) -> None:
    """Write the job scripts that submit would stage, to stdout or a directory.

    The output is the same on every run and machine, and no secret is needed. In DIR, a config's folder is owned
    whole: what is no longer made is removed.
    """
    require_config(configs, overrides)
    if prune and output is None:
        raise UsageError("--prune: there is nothing to remove without a directory; add -o DIR")
    _check_stems(configs)
    folders = _compile_all(configs, overrides)
    if output is not None:
        write(output, folders, prune=prune)
        return
    for stem, files in folders.items():
        show(ruled((PurePosixPath(stem) / path.parts[0], file) for path, file in files.items()))
