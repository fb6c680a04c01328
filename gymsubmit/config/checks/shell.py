"""Shell text that the user wrote, read by bash without running it."""

import re
import shutil
from collections.abc import Iterator, Sequence

from gymsubmit.config.findings import Finding, Path
from gymsubmit.config.services import CommandService, VllmPdService
from gymsubmit.config.submit import SubmitConfig

# One process reads text after text, up to the first that is wrong: within the function nothing is run once `set -n` is
# seen, and `local -` takes that back behind it. `extglob` since bash would not see a `shopt -s extglob` of the text's.
_READ = """((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)) || exit 1
read_text() { local -; eval "set -n
$1"; }
mapfile -d '' -t texts
for text in "${texts[@]}"; do read_text "$text" 2>&1 && printf '\\0' || break; done"""
_LINES_BEFORE = 3
_COMPLAINT = r"[^\n]*?line (\d+): (?!warning: )(.*)"
_INTERPRETER = r"#![ \t]*(?:\S*/)?(?:env[ \t]+(?:-S[ \t]+)?)?(?:\S*/)?(?P<name>[^\s/]+)"
_SHELLS = ("sh", "bash", "dash")


def check_shell(config: SubmitConfig) -> Iterator[Finding]:
    """All shell text of a config is what bash can read, where there is a bash (4.4 or later) to ask."""
    places = [(path, text) for path, text in _texts(config) if text]
    for (path, _), complaint in zip(places, complaints([text for _, text in places]), strict=True):
        if complaint:
            line, message = complaint
            yield Finding(path, f"{message}; correct the shell text", line=line)


def complaints(texts: Sequence[str]) -> list[tuple[int, str] | None]:
    """What bash says about each text, with the line, from 1, at which it noticed; None where it has nothing to say.

    That may be the line behind the last.
    """
    if not texts:
        return []
    import subprocess  # noqa: PLC0415  # what most configs do not need

    bash = shutil.which("bash")
    answers: list[tuple[int, str] | None] = []
    while bash and len(answers) < len(texts):
        ran = subprocess.run(  # noqa: S603
            [bash, "--norc", "-O", "extglob", "-c", _READ],
            input="\0".join(texts[len(answers) :]).encode() + b"\0",
            capture_output=True,
            # No variable of the caller's may change how bash reads: BASH_ENV, SHELLOPTS, POSIXLY_CORRECT, a function.
            env={"LC_ALL": "C"},
            check=False,
        )
        # What bash has complained about may have left it in disorder, so the next text gets another one.
        *right, complaint = ran.stdout.decode(errors="replace").split("\0")
        if not right and not complaint:
            break
        answers += map(_first_line, right)
        if len(answers) < len(texts):
            answers.append(_first_line(complaint))
    return answers + [None] * (len(texts) - len(answers))


def _first_line(complaint: str) -> tuple[int, str] | None:
    for line in complaint.splitlines():
        if match := re.match(_COMPLAINT, line):
            return int(match[1]) - _LINES_BEFORE, match[2]
    return None


def _is_shell(script: str) -> bool:
    """Whether a script is for a shell: it has no `#!` line, or one that names a shell."""
    if not script.startswith("#!"):
        return True
    interpreter = re.match(_INTERPRETER, script)
    return interpreter is None or interpreter["name"] in _SHELLS


def _texts(config: SubmitConfig) -> Iterator[tuple[Path, str]]:
    for name, service in config.services.items():
        path: Path = ("services", name)
        yield (*path, "pre_command"), service.pre_command
        if isinstance(service, VllmPdService):
            yield (*path, "prefill", "pre_command"), service.prefill.pre_command
            yield (*path, "decode", "pre_command"), service.decode.pre_command
        elif isinstance(service, CommandService) and isinstance(service.command, str) and _is_shell(service.command):
            yield (*path, "command"), service.command
    for name, benchmark in config.driver.benchmarks.items():
        if benchmark.command is not None and _is_shell(benchmark.command):
            yield ("driver", "benchmarks", name, "command"), benchmark.command
