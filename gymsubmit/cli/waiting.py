"""`submit --wait`: following the jobs of a submission to their end, on stderr."""

import gc
import os
from datetime import datetime
from pathlib import Path

import click

from gymsubmit.cli import logs
from gymsubmit.executors.base import Executor, JobState, JobStatus, Receipt, Submission, log_path

TAIL_LINES = 20
TAIL_BYTES = 64 * 1024


def duration(seconds: float) -> str:
    """For people: `4 s`, `3 min 20 s`, `2 h 5 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_rest = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes_rest} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def line_of(benchmark: str, status: JobStatus) -> str:
    """What is said of a benchmark when its state has changed."""
    line = f"{benchmark}: {status.state}"
    if not status.state.ended:
        return f"{line}{f', {status.reason}' if status.reason else ''} (job {status.job_id})"
    if status.started_at and status.ended_at:
        elapsed = datetime.fromisoformat(status.ended_at) - datetime.fromisoformat(status.started_at)
        line += f" after {duration(elapsed.total_seconds())}"
    if status.exit_code and not status.reason:
        line += f", exit status {status.exit_code}"
    return line + (f", {status.reason}" if status.reason else "")


def tail(path: Path) -> str:
    """The last lines of a log; empty if it cannot be read."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES))
            text = log.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-TAIL_LINES:])


def wait_for(ctx: click.Context, executor: Executor, submission: Submission, receipt: Receipt) -> bool:
    """Follow the jobs until all have ended, a line for every change; whether all ended well.

    Ctrl-C ends the waiting, not the jobs: how to find and how to stop them is printed, the exit status is 130.
    """
    gc.enable()  # the program goes without, but this may take days
    done = True
    running: tuple[str, JobStatus] | None = None
    try:
        for benchmark, status in executor.follow(submission, receipt):
            # Before it is said: who answers the line with Ctrl-C is told where that job is.
            running = (benchmark, status)
            logs.say(ctx, line_of(benchmark, status))
            if not status.state.ended:
                continue
            done = done and status.state is JobState.COMPLETED
            if status.state not in (JobState.COMPLETED, JobState.CANCELLED):
                log = log_path(submission.run_dir / benchmark, status.job_id)
                end = tail(Path(log))
                logs.say(ctx, f"{benchmark}: the end of {log}:\n{end}" if end else f"{benchmark}: its log is {log}")
    except KeyboardInterrupt:
        logs.say(ctx, _how_to_find(executor, submission, receipt, running))
        ctx.exit(130)
    return done


def _how_to_find(
    executor: Executor, submission: Submission, receipt: Receipt, running: tuple[str, JobStatus] | None
) -> str:
    lines = ["interrupted; the submission goes on:", f"  run directory  {submission.run_dir}"]
    queued = [(entry.benchmark, entry.job_id) for entry in receipt.queued if entry.job_id]
    if running is not None and not running[1].state.ended:
        benchmark, job_id = running[0], running[1].job_id
        lines.append(f"  running        {benchmark} (job {job_id})")
        lines.append(f"  its log        {log_path(submission.run_dir / benchmark, job_id)}")
    elif queued:
        lines += [f"  job            {benchmark} (job {job_id})" for benchmark, job_id in queued]
    lines.append(f"  stop it        {executor.how_to_stop(receipt)}")
    return "\n".join(lines)
