"""Putting a submission together: the tree that an executor gets, and the record of what came of it."""

import difflib
import hashlib
import os
import pwd
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath

from gymsubmit import __version__
from gymsubmit.config.load import LoadedConfig
from gymsubmit.config.resolved import resolved_yaml
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.errors import UsageError
from gymsubmit.executors.base import Executor, Receipt, Submission
from gymsubmit.plan import JobPlan, StagedFile
from gymsubmit.records import BenchmarkRecord, Record
from gymsubmit.render import render
from gymsubmit.render.environment import packaged_templates
from gymsubmit.render.shell import word

SECRETS_FILE = PurePosixPath("secrets.env")
RESOLVED_CONFIG = PurePosixPath("resolved-config.yaml")


def pick(loaded: LoadedConfig, names: Sequence[str]) -> LoadedConfig:
    """The config with no benchmarks but `names`, in the config's order; all of them when `names` is empty.

    Raises:
        UsageError: a name is no benchmark of the config.
    """
    if not names:
        return loaded
    driver = loaded.config.driver
    benchmarks = driver.benchmarks
    for name in names:
        if name not in benchmarks:
            near = difflib.get_close_matches(name, benchmarks, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(benchmarks)}"
            raise UsageError(f"--only {name}: the config has no such benchmark; {hint}")
    kept = type(benchmarks)({name: benchmark for name, benchmark in benchmarks.items() if name in names})
    picked = {"driver": driver.model_copy(update={"benchmarks": kept})}
    return loaded.with_config(loaded.config.model_copy(update=picked))


def secrets_file(plan: JobPlan) -> StagedFile | None:
    """The values of the plan's secrets, one assignment a line, readable by their owner alone; None without any."""
    lines = [f"GYM_SECRET_{name}={word(os.environ[name])}\n" for name in plan.secrets]
    return StagedFile(SECRETS_FILE, "".join(lines), 0o600) if lines else None


def assemble(config: SubmitConfig, plans: Sequence[JobPlan], run_dir: PurePosixPath) -> Submission:
    """The tree of the run directory, but for the record.

    Raises:
        TemplateError: a script could not be rendered.
    """
    files = [StagedFile(RESOLVED_CONFIG, resolved_yaml(config), 0o644)]
    for plan in plans:
        secrets = secrets_file(plan)
        own = (*render(plan), *([secrets] if secrets else []))
        files += [StagedFile(PurePosixPath(plan.name) / file.path, file.text, file.mode) for file in own]
    return Submission(run_dir, tuple(plan.name for plan in plans), tuple(files))


def user_name() -> str:
    """The submitter's name, or number where there is no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def record_of(
    config: SubmitConfig, gym_job_id: str, submission: Submission, executor: Executor, receipt: Receipt
) -> Record:
    """The record of a submission that was just made."""
    return Record(
        gym_job_id=gym_job_id,
        gymsubmit_version=__version__,
        submitted_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        submitted_by=user_name(),
        run_dir=str(submission.run_dir),
        cluster=config.compute_name,
        executor=executor.name,
        hostname=executor.host,
        benchmarks=tuple(
            BenchmarkRecord(queued.benchmark, str(submission.run_dir / queued.benchmark), queued.job_id, queued.error)
            for queued in receipt.queued
        ),
        templates=template_digests(),
        executor_metadata=receipt.metadata,
    )


def template_digests() -> dict[str, object]:
    """The site, None without one, and a digest of every template."""
    root = packaged_templates()
    digests = {
        path.relative_to(root).as_posix(): "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*.j2"))
    }
    return {"site": None, "digests": digests}
