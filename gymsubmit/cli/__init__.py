"""The command line: arguments, printing, exit statuses.

Exit status: 0 done, 1 some of the work failed, 2 the command line or the config is wrong, 130 interrupted. stdout
carries only a command's result, everything else goes to stderr.

Importing this package costs little more than click: a command's module is imported when the command runs, so that
help and shell completion stay quick.
"""

from importlib import import_module
from typing import Any, NoReturn

import click

from gymsubmit import __version__
from gymsubmit.cli import logs
from gymsubmit.errors import GymSubmitError

# One line each, shown by --help without importing gymsubmit.cli.NAME, whose `command` it stands for.
COMMANDS = {
    "submit": "Check a config, then stage and start its benchmarks.",
    "compile": "Write the job scripts that submit would stage.",
    "plan": "Show what would run on which node, and on which port.",
    "schema": "Print the JSON Schema of a config, for editors.",
}


class Commands(click.Group):
    """The commands by name, imported on first use, and the one place where an error becomes an exit status."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order that --help shows."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"{__name__}.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names; the nearest one is suggested for a name that is none."""
        name = args[0]
        if name not in COMMANDS and name.isalpha():
            from difflib import get_close_matches  # noqa: PLC0415

            near = get_close_matches(name, COMMANDS, n=1)
            ctx.fail(f"no such command: {name}; {f'did you mean {near[0]}?' if near else 'see gymsubmit --help'}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; whatever goes wrong becomes a message on stderr and an exit status."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # click's own; it also ends quietly when the reader of a pipe has gone
        except KeyboardInterrupt as error:
            return self._end(ctx, error, "interrupted", 130)
        except GymSubmitError as error:
            return self._end(ctx, error, str(error), error.exit_status)
        except Exception as error:
            message = f"internal error: {type(error).__name__}: {error}; please report it, --debug shows where"
            return self._end(ctx, error, message, 1)

    def _end(self, ctx: click.Context, error: BaseException, message: str, status: int) -> NoReturn:
        logs.error(ctx, error, message)
        ctx.exit(status)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="gymsubmit", message="%(prog)s %(version)s")
@logs.options
def main() -> None:
    """Evaluate language models on a cluster from one YAML file."""
