"""`gymsubmit submit`."""

import json
from pathlib import Path, PurePosixPath

import click

from gymsubmit.cli import logs
from gymsubmit.cli.common import (
    RULE_WIDTH,
    config_options,
    fixed_plans,
    load,
    placed,
    plans,
    require_config,
    ruled,
    show,
    unset_host_variables,
    warn_of_unset,
)
from gymsubmit.cli.executors import executor_for
from gymsubmit.cli.interruption import held
from gymsubmit.cli.submission import assemble, pick, record_of
from gymsubmit.cli.waiting import wait_for
from gymsubmit.config.findings import Finding
from gymsubmit.config.load import LoadedConfig
from gymsubmit.config.paths import dotted
from gymsubmit.config.resolved import resolved, resolved_yaml
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.errors import ConfigError, GymSubmitError, UsageError
from gymsubmit.executors.base import Executor, Receipt, Submission
from gymsubmit.identity import new_gym_job_id
from gymsubmit.lower import FIXED_JOB_ID
from gymsubmit.lower.mounts import needed_paths
from gymsubmit.records import RECORD_NAME, Record, dumps, write, write_index
from gymsubmit.render import PLAN_FILE, render


def _show_config(config: SubmitConfig, as_json: bool) -> None:
    show(json.dumps(resolved(config), indent=2, ensure_ascii=False) + "\n" if as_json else resolved_yaml(config))


def _dry_run(loaded: LoadedConfig) -> None:
    # The plan is no script; `gymsubmit plan` shows it.
    files = [
        (PurePosixPath(plan.name), file)
        for plan in fixed_plans(loaded)
        for file in render(plan)
        if file.path != PLAN_FILE
    ]
    show(f"[dry-run] remote run dir: {PurePosixPath(loaded.config.job.output_path) / FIXED_JOB_ID}\n")
    show(ruled(files) + "=" * RULE_WIDTH + "\n")


def _write_record(record: Record) -> None:
    """Write the record to the run directory and to this machine's index.

    Raises:
        GymSubmitError: it is not in the run directory; the message lists what was started.
    """
    write_index(record)
    path = Path(record.run_dir, RECORD_NAME)
    try:
        write(path, record)
    except OSError as error:
        started = " ".join(f"{entry.benchmark}={entry.job_id}" for entry in record.benchmarks if entry.job_id)
        raise GymSubmitError(
            f"{path}: cannot write the record: {error.strerror}; these jobs were started: {started or 'none'}"
        ) from None


def _show_record(record: Record, as_json: bool) -> None:
    if as_json:
        show(dumps(record))
        return
    kind = "local job" if record.executor == "local" else "Slurm job"
    lines = [f"Run directory: {record.run_dir}"]
    lines += [
        f"submitted {entry.benchmark} → {kind} {entry.job_id}"
        if entry.job_id
        else f"failed {entry.benchmark}: {entry.error}"
        for entry in record.benchmarks
    ]
    show("\n".join(lines) + "\n")


def _check_paths(loaded: LoadedConfig, executor: Executor) -> None:
    """Look for what the containers will need, before anything is copied.

    Raises:
        ConfigError: the paths that do not exist, each wherever it is named.
        GymSubmitError: nothing can be submitted from there.
    """
    config = loaded.config
    needed = needed_paths(config)
    missing = executor.missing(tuple(needed))
    switch = dotted((*config.compute_path, "check_mounts"))
    advice = f"correct it, or set {switch} to false if only the nodes have it"
    if problems := loaded.problems(
        Finding(path, f"{source} does not exist on {executor.host}; {advice}")
        for source in missing
        for path in needed[source]
    ):
        raise ConfigError(problems)


def _submit(loaded: LoadedConfig, executor: Executor, as_json: bool) -> tuple[Submission, Receipt]:
    """Check, stage, start, record and print, with nothing in between that could leave half of it."""
    config, gym_job_id = loaded.config, new_gym_job_id()
    submission = assemble(config, plans(loaded, gym_job_id), PurePosixPath(config.job.output_path) / gym_job_id)
    _check_paths(loaded, executor)
    with held() as signals:
        executor.stage(submission)
        if signals.arrived:
            executor.discard(submission)
            raise KeyboardInterrupt
        # What was queued until then is recorded and printed all the same.
        signals.interrupt = executor.interrupt
        receipt = executor.submit(submission)
        record = record_of(config, gym_job_id, submission, executor, receipt)
        _write_record(record)
        _show_record(record, as_json)
    return submission, receipt


@click.command()
@config_options()
@click.option("--only", multiple=True, metavar="NAME", help="Only this benchmark; may be repeated.")
@click.option("--wait", is_flag=True, help="Stay until all jobs have ended, showing their states.")
@click.option("--dry-run", is_flag=True, help="Print every script and staged file, and do nothing.")
@click.option("--resolve-only", is_flag=True, help="Print the resolved config, and do nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the record (or the resolved config) as JSON.")
@logs.options
@click.pass_context
def command(  # noqa: PLR0913
    ctx: click.Context,
    config: Path | None,
    overrides: tuple[str, ...],
    only: tuple[str, ...],
    wait: bool,
    dry_run: bool,
    resolve_only: bool,
    as_json: bool,
) -> None:
    """Check a config, then stage and start its benchmarks.

    Prints the run directory and a line for each benchmark. Exit status: 0 all were started (with --wait: all have
    ended well), 1 some were not, 2 the command line or the config is wrong, 130 interrupted.
    """
    logs.configure(ctx)
    config = require_config(config, overrides)
    _check_modes(wait=wait, dry_run=dry_run, resolve_only=resolve_only, as_json=as_json)
    chosen = pick(load(config, overrides), only)
    if dry_run or resolve_only:
        warn_of_unset(chosen)
        if dry_run:
            _dry_run(chosen)
        else:
            _show_config(chosen.config, as_json)
        return
    fixed_plans(chosen)  # what cannot be run at all comes before what this machine lacks
    with placed(chosen):
        executor = executor_for(chosen.config)
    if unset := unset_host_variables(chosen):
        raise ConfigError(unset)

    try:
        submission, receipt = _submit(chosen, executor, as_json)
        done = all(queued.error is None for queued in receipt.queued)
        if wait:
            done = wait_for(ctx, executor, submission, receipt) and done
    finally:
        executor.leave()
    ctx.exit(0 if done else 1)


def _check_modes(*, wait: bool, dry_run: bool, resolve_only: bool, as_json: bool) -> None:
    if dry_run and resolve_only:
        raise UsageError("--dry-run and --resolve-only each print something of their own; give one of them")
    if dry_run and as_json:
        raise UsageError("--json: a dry run prints scripts; leave it out, or use `gymsubmit plan --format json`")
    if wait and (dry_run or resolve_only):
        raise UsageError("--wait: nothing is started, so there is nothing to wait for; leave it out")
