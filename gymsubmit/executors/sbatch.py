"""What `sbatch` has answered, benchmark by benchmark.

One shell (scripts/queue.sh) queues all jobs. Its answer is NUL-separated, so that whatever `sbatch` or a site's wrapper
of it prints, each job id stays with its benchmark, and a shell that dies half way still tells of all that it queued.
"""

import re
from collections.abc import Sequence

from gymsubmit.connections.base import Answer
from gymsubmit.executors.base import Queued

# `sbatch --parsable` prints the job id, and `;CLUSTER` behind it on a cluster of several (sbatch(1)).
_JOB_ID = re.compile(r"([0-9]+)(?:;([^\s;]+))?")
_SPEAKER = re.compile(r"^sbatch: (?:error: )?", re.MULTILINE)


def read_answers(benchmarks: Sequence[str], answer: Answer) -> tuple[Queued, ...]:
    """What became of each benchmark, in the order of `benchmarks`, also when the shell died half way."""
    _, _, answers = answer.stdout.decode("utf-8", "replace").partition("begin\0")
    *fields, cut = answers.split("\0")
    queued = []
    for number, benchmark in enumerate(benchmarks):
        match fields[4 * number : 4 * number + 4]:
            case [_, status, said, *words]:
                queued.append(_queued(benchmark, int(status), said, words[0] if words else cut))
            case [_, *_]:
                queued.append(Queued(benchmark, None, f"sbatch did not answer ({_end_of(answer)}); {_LOOK}"))
            case _:
                why = f"was not queued: the shell ended before its turn ({_end_of(answer)})"
                queued.append(Queued(benchmark, None, why))
    return tuple(queued)


_LOOK = "it may be queued all the same: look for it with `squeue --me`"


def _queued(benchmark: str, status: int, said: str, words: str) -> Queued:
    ids = [match for line in said.splitlines() if (match := _JOB_ID.fullmatch(line.strip()))]
    if ids:
        # The last one: a wrapper may print a number of its own before sbatch does.
        return Queued(benchmark, ids[-1][1], None)
    complaint = "; ".join(_SPEAKER.sub("", f"{words}\n{said}").split("\n")).strip("; ") or "nothing"
    if status == 0:
        return Queued(benchmark, None, f"sbatch answered without a job id: {complaint}; {_LOOK}")
    return Queued(benchmark, None, complaint if complaint != "nothing" else f"sbatch ended with status {status}")


def _end_of(answer: Answer) -> str:
    words = answer.stderr.decode("utf-8", "replace").strip().splitlines()
    end = f"signal {-answer.status}" if answer.status < 0 else f"status {answer.status}"
    return f"{end}: {words[-1]}" if words else end
