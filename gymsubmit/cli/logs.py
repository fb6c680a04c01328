"""What goes to stderr: warnings, progress and errors, as text or as one JSON object a line.

The options are taken in front of a command and behind it alike. What is imported inside functions here, `gymsubmit
--help` does not need, and would take half as long again with it.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import click

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


def _put(ctx: click.Context, level: str, message: str, *, logger: str = "gymsubmit", plain: bool = False) -> None:
    """Print to stderr: one JSON object, or the message, which its level stands in front of unless it is `plain`."""
    if settings(ctx).json:
        import json  # noqa: PLC0415
        from datetime import UTC, datetime  # noqa: PLC0415

        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        message = json.dumps({"time": time, "level": level, "logger": logger, "message": message})
    elif not plain:
        message = f"{level}: {message}"
    click.echo(message, err=True)


def warn(message: str) -> None:
    """Say what is worth a second look."""
    _put(click.get_current_context(), "warning", message)


def inform(message: str) -> None:
    """Say what was done, if the user wants to know (-v)."""
    ctx = click.get_current_context()
    if settings(ctx).verbosity:
        _put(ctx, "info", message)


def say(ctx: click.Context, message: str) -> None:
    """Print progress that a user asked for (--wait), whatever the verbosity."""
    _put(ctx, "info", message, plain=True)


def error(ctx: click.Context, cause: BaseException, message: str) -> None:
    """Print the message that a command ends with; with --debug, where `cause` came from."""
    if settings(ctx).debug:
        import traceback  # noqa: PLC0415

        message = "".join(traceback.format_exception(cause)) + message
    _put(ctx, "error", message, plain=True)


def configure(ctx: click.Context) -> None:
    """Send the package's logging to stderr too, as the settings say; for commands that run what logs."""
    import logging  # noqa: PLC0415

    class Stderr(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            _put(ctx, record.levelname.lower(), self.format(record), logger=record.name)

    logger = logging.getLogger("gymsubmit")
    logger.handlers[:] = [Stderr()]
    logger.setLevel({0: logging.WARNING, 1: logging.INFO}.get(settings(ctx).verbosity, logging.DEBUG))
