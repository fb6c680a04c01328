"""Errors a user can cause, and the form that their messages take: `where: what is wrong; what to do`."""

from collections.abc import Sequence

from gymsubmit.frozen import Frozen


class GymSubmitError(Exception):
    """Base of all errors that are shown to the user as a message, without a traceback."""

    exit_status = 1


class UsageError(GymSubmitError):
    """The command line or the config is wrong."""

    exit_status = 2


class Problem(Frozen):
    """One thing wrong with a config.

    `where` is `FILE:LINE:COL` (lines and columns from 1) or the override or site that the value came from, `path`
    the dotted path of the value, empty when the file as a whole is meant.
    """

    where: str
    path: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.path, self.message) if part)


class ConfigError(UsageError):
    """Everything that is wrong with one config, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in problems))


class NotInThisVersionError(ConfigError):
    """A valid config asks for something that this version cannot do yet."""


class TemplateError(GymSubmitError):
    """A template breaks its contract, or could not be rendered; `where` is the template's file and line."""

    exit_status = 2
