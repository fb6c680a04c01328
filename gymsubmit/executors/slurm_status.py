"""What Slurm knows of jobs: asked of the controller, and of the accounting for what the controller has forgotten."""

import signal
from collections.abc import Sequence

from gymsubmit.executors.base import JobState, JobStatus

# squeue(1): a field's suffix is what follows the colon and the width.
QUEUE_FIELDS = "JobID:|,State:|,exit_code:|,StartTime:|,EndTime:|,Reason:|"
ACCOUNT_FIELDS = "JobIDRaw,State,ExitCode,Start,End"
_NO_REASON = frozenset({"None", "NonZeroExitCode", ""})
_NO_TIME = frozenset({"N/A", "Unknown", "None", ""})


def read_status(output: str) -> dict[str, JobStatus]:
    """The status of each job by its id, from the answer of scripts/ask.sh; one that is not known is not there."""
    found: dict[str, JobStatus] = {}
    for line in output.splitlines():
        match line.strip().split("|"):
            # The controller is right while it remembers: the accounting lags, and may be switched off.
            case ["queue", *fields] if len(fields) >= 6:
                found[fields[0]] = _of_queue(fields)
            case ["account", *fields] if len(fields) == 5 and fields[0] not in found:
                found[fields[0]] = _of_account(fields)
    return found


def _of_queue(fields: Sequence[str]) -> JobStatus:
    job_id, state, wait_status, start, end, reason, *_ = fields
    number = int(wait_status) if wait_status.isdigit() else 0
    # The status of wait(2): the exit code above the number of the signal.
    return _status(job_id, state, number >> 8, number & 0x7F, start, end, reason)


def _of_account(fields: Sequence[str]) -> JobStatus:
    job_id, state, exit_code, start, end = fields
    code, _, number = exit_code.partition(":")
    return _status(job_id, state, int(code or 0), int(number or 0), start, end, "")


def _status(job_id: str, state: str, code: int, number: int, start: str, end: str, reason: str) -> JobStatus:  # noqa: PLR0913
    # sacct writes `CANCELLED by UID`, and a `+` behind what it has cut.
    name = state.split(" ", maxsplit=1)[0].rstrip("+")
    known = JobState(name) if name in JobState.__members__ else JobState.RUNNING
    if known is JobState.FAILED and number:
        reason = f"ended by {_signal_name(number)}"
    return JobStatus(
        job_id=job_id,
        state=known,
        started_at=_time(start),
        ended_at=_time(end) if known.ended else None,
        exit_code=code if known.ended else None,
        reason=None if reason in _NO_REASON else reason,
    )


def _time(text: str) -> str | None:
    return None if text in _NO_TIME else f"{text}Z"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
