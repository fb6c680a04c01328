"""Names of environment variables, on the evidence of bash."""

import os
import shutil
import subprocess

import pytest

from gymsubmit.config.env import (
    EnvHost,
    EnvLiteral,
    EnvRuntime,
    check_settable,
    parse_env_value,
)

VALUES = ["", "7", "plain text", "/a:/b", "a\nb"]
BASH = shutil.which("bash") or "bash"
ENV = shutil.which("env") or "env"


def exported(name: str, value: str) -> str | None:
    """What a process finds in `name` that is exec'ed by a bash that exported `value` under it."""
    ran = subprocess.run(
        [BASH, "--norc", "-c", f'export {name}="$VALUE"; exec {ENV} -0'],
        env={"VALUE": value, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    found = [line.partition("=")[2] for line in ran.stdout.split("\0") if line.startswith(f"{name}=")]
    return found[0] if found else None


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "LD_LIBRARY_PATH",
        "IFS",
        "PWD",
        "OLDPWD",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TERM",
        "TZ",
        "SHELL",
        "HOSTNAME",
        "POSIXLY_CORRECT",
        "FUNCNEST",
        "BASH_ENV",
        "BASH_COMPAT",
        "BASH_XTRACEFD",
        "BASH_ARGV0",
        "BASH",
        "BASH_VERSION",
        "ENV",
        "CDPATH",
        "TMOUT",
        "TMPDIR",
        "PS4",
        "OPTARG",
        "OPTERR",
        "REPLY",
        "COLUMNS",
        "LINES",
        "MAPFILE",
        "COPROC",
        "COMP_WORDBREAKS",
        "TIMEFORMAT",
        "PROMPT_COMMAND",
        "GLOBIGNORE",
        "HISTFILE",
        "BASHX",
    ],
)
def test_a_name_that_is_allowed_reaches_the_process(name: str) -> None:
    assert check_settable(name) == name
    assert [exported(name, value) for value in VALUES] == VALUES


@pytest.mark.parametrize(
    "name",
    [
        "UID",
        "EUID",
        "PPID",
        "BASHOPTS",
        "SHELLOPTS",
        "BASH_VERSINFO",
        "RANDOM",
        "SRANDOM",
        "SECONDS",
        "LINENO",
        "EPOCHSECONDS",
        "EPOCHREALTIME",
        "HISTCMD",
        "BASHPID",
        "BASH_ALIASES",
        "BASH_ARGC",
        "BASH_ARGV",
        "BASH_CMDS",
        "BASH_COMMAND",
        "BASH_LINENO",
        "BASH_SOURCE",
        "BASH_SUBSHELL",
        "DIRSTACK",
        "FUNCNAME",
        "GROUPS",
        "OPTIND",
        "SHLVL",
        "_",
    ],
)
def test_a_name_that_is_refused_would_not(name: str) -> None:
    with pytest.raises(ValueError, match="bash's own") as caught:
        check_settable(name)
    assert str(caught.value) == f"{name!r} is bash's own, whatever it is set to; choose another name"
    assert [exported(name, value) for value in VALUES] != VALUES


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A B", "A\n", "Ä", "A=B", "A.B"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(ValueError, match="no variable name") as caught:
        check_settable(name)
    assert str(caught.value) == f"{name!r} is no variable name; use ASCII letters, digits and '_', a digit not first"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("lit:", EnvLiteral("")),
        ("lit:a:b ${X}\n", EnvLiteral("a:b ${X}\n")),
        ("lit:runtime:X", EnvLiteral("runtime:X")),
        ("host:HF_TOKEN", EnvHost("HF_TOKEN")),
        ("runtime:SLURM_JOB_ID", EnvRuntime("SLURM_JOB_ID")),
    ],
)
def test_where_a_value_comes_from(text: str, value: object) -> None:
    assert parse_env_value(text) == value


@pytest.mark.parametrize("text", ["", "x", "LIT:x", " lit:x", "secret:hunter2", "https://x"])
def test_a_value_without_prefix_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ValueError, match="has no prefix") as caught:
        parse_env_value(text)
    assert str(caught.value) == (
        "has no prefix; write lit:VALUE for the text itself, host:VAR for a variable of the submitting machine, "
        "or runtime:VAR for one of the job"
    )
