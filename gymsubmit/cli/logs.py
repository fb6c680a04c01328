"""What goes to stderr: warnings, progress and errors, as text or as one JSON object a line.

The options are taken in front of a command and behind it alike. `gymsubmit --help` needs none of what is imported
inside functions here, and would take half as long again with it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    import logging

F = TypeVar("F", bound=Callable[..., Any])


class Settings:
    """How much is said and how. One object for the whole run, at the root context."""

    def __init__(self) -> None:
        self.verbosity = 0
        self.json = False
        self.debug = False


def settings(ctx: click.Context) -> Settings:
    """The settings of the run that `ctx` belongs to."""
    found: Settings = ctx.find_root().ensure_object(Settings)
    return found


def _verbose(ctx: click.Context, _param: click.Parameter, value: int) -> None:
    settings(ctx).verbosity += value


def _log_format(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        settings(ctx).json = value == "json"


def _debug(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    settings(ctx).debug |= value


def options(function: F) -> F:
    """Add -v, --log-format and --debug to a command."""
    common: dict[str, Any] = {"expose_value": False}
    for option in (
        click.option("--debug", is_flag=True, callback=_debug, help="Show where an error came from.", **common),
        click.option(
            "--log-format",
            type=click.Choice(["text", "json"]),
            callback=_log_format,
            help="How stderr is written; json is one object a line.",
            **common,
        ),
        click.option("-v", "--verbose", count=True, callback=_verbose, help="Say more; twice for all.", **common),
    ):
        function = option(function)
    return function


class Command(click.Command):
    """A command that takes the logging options too."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it, with logging as the options in front of the command and behind it say."""
        configure(ctx)
        return super().invoke(ctx)


def _json_line(level: str, logger: str, message: str) -> str:
    import json  # noqa: PLC0415
    from datetime import UTC, datetime  # noqa: PLC0415

    time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"time": time, "level": level, "logger": logger, "message": message})


def _format(record: "logging.LogRecord", as_json: bool) -> str:
    message = record.getMessage()
    if record.exc_info and record.exc_info[0]:
        import traceback  # noqa: PLC0415

        message += "\n" + "".join(traceback.format_exception(record.exc_info[1]))
    level = record.levelname.lower()
    return _json_line(level, record.name, message) if as_json else f"{level}: {message}"


def configure(ctx: click.Context) -> None:
    """Send the package's logging to stderr as the settings say. May be called again."""
    import logging  # noqa: PLC0415

    chosen = settings(ctx)

    class Stderr(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            click.echo(_format(record, chosen.json), err=True)

    logger = logging.getLogger("gymsubmit")
    logger.handlers[:] = [Stderr()]
    logger.setLevel({0: logging.WARNING, 1: logging.INFO}.get(chosen.verbosity, logging.DEBUG))


def say(ctx: click.Context, message: str) -> None:
    """Print progress that a user asked for (--wait), whatever the verbosity."""
    click.echo(_json_line("info", "gymsubmit", message) if settings(ctx).json else message, err=True)


def error(ctx: click.Context, cause: BaseException, message: str) -> None:
    """Print the message that a command ends with; with --debug, where `cause` came from."""
    chosen = settings(ctx)
    if chosen.debug:
        import traceback  # noqa: PLC0415

        message = "".join(traceback.format_exception(cause)) + message
    click.echo(_json_line("error", "gymsubmit", message) if chosen.json else message, err=True)
