"""Environment variables: which names may be set, and where a value comes from."""

import re
from typing import Annotated

from gymsubmit.config.base import Check, FrozenDict, wrong
from gymsubmit.config.names import check_text
from gymsubmit.frozen import Frozen

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class EnvLiteral(Frozen):
    """The text itself."""

    text: str


class EnvHost(Frozen):
    """The submitting machine's variable `name`: a secret."""

    name: str


class EnvRuntime(Frozen):
    """What the variable `name` holds where the batch script runs."""

    name: str


EnvValue = EnvLiteral | EnvHost | EnvRuntime


def check_variable(name: str) -> str:
    """Return `name` if it can name an environment variable; raise otherwise."""
    if not _VARIABLE.fullmatch(name):
        message = f"{name!r} is no variable name; use ASCII letters, digits and '_', a digit not first"
        raise wrong(message)
    return name


# Bash either refuses to set these (read-only), gives them a value of its own, or does not export them. Each was tried
# with `export NAME=VALUE; exec env` in bash 5.2; BASH_MONOSECONDS and BASH_TRAPSIG are those that bash 5.3 adds.
# fmt: off
_BASH_OWN = frozenset((
    "BASHOPTS", "BASHPID", "BASH_ALIASES", "BASH_ARGC", "BASH_ARGV", "BASH_CMDS", "BASH_COMMAND", "BASH_LINENO",
    "BASH_MONOSECONDS", "BASH_SOURCE", "BASH_SUBSHELL", "BASH_TRAPSIG", "BASH_VERSINFO", "DIRSTACK", "EPOCHREALTIME",
    "EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS", "HISTCMD", "LINENO", "OPTIND", "PIPESTATUS", "PPID", "RANDOM",
    "SECONDS", "SHELLOPTS", "SHLVL", "SRANDOM", "UID", "_",
))
# fmt: on


def check_settable(name: str) -> str:
    """Return `name` if bash hands the variable on as it was set; raise otherwise."""
    check_variable(name)
    if name in _BASH_OWN:
        message = f"{name!r} is bash's own, whatever it is set to; choose another name"
        raise wrong(message)
    return name


def parse_env_value(text: str) -> EnvValue:
    """Read a value of `env`.

    Raises:
        PydanticCustomError: (a ValueError) the prefix is missing, or what follows it is no variable's name.
    """
    prefix, colon, rest = text.partition(":")
    if colon and prefix == "lit":
        return EnvLiteral(check_text(rest))
    if colon and prefix == "host":
        return EnvHost(check_variable(rest))
    if colon and prefix == "runtime":
        return EnvRuntime(check_variable(rest))
    # The value may be a secret that somebody pasted in: the message does not repeat it.
    message = (
        "has no prefix; write lit:VALUE for the text itself, host:VAR for a variable of the submitting machine, "
        "or runtime:VAR for one of the job"
    )
    raise wrong(message)


def _check_value(text: str) -> str:
    parse_env_value(text)
    return text


Variable = Annotated[str, Check(check_variable)]
Environment = FrozenDict[Annotated[str, Check(check_settable)], Annotated[str, Check(_check_value)]]
