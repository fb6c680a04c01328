"""gymsubmit as a user of the cluster runs it on the login node, and what its submissions came to."""

import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from slurm_cluster import Accounted, Cluster

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def requirements() -> list[str]:
    """What gymsubmit itself needs to be installed."""
    found: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return found


@dataclass(frozen=True)
class Submission:
    """A submission whose jobs were queued: its run directory, and the job id of each benchmark."""

    cluster: Cluster
    directory: PurePosixPath
    jobs: dict[str, int]

    @property
    def job(self) -> int:
        """The id of the one job."""
        (job,) = self.jobs.values()
        return job

    @property
    def bench_dir(self) -> PurePosixPath:
        """The directory of the one benchmark."""
        (benchmark,) = self.jobs
        return self.directory / benchmark

    def wait(self, seconds: float = 120) -> Accounted:
        """Wait for the end of the one job; nothing of it is left then."""
        came_to = self.cluster.wait(self.job, seconds)
        self.cluster.await_nothing_left(self.job)
        return came_to

    def log(self, name: str = "job") -> str:
        """The log of the job, or of one of its steps."""
        return self.cluster.read(self.bench_dir / "logs" / f"{name}-{self.job}.log")

    def logs(self) -> str:
        """All logs, for the message of a test that failed."""
        folder = self.cluster.outside(self.bench_dir / "logs")
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')}" for path in sorted(folder.glob("*")))


@dataclass(frozen=True)
class Login:
    """The login node, where `python` runs the gymsubmit that is unpacked at `packages`."""

    cluster: Cluster
    python: Path
    packages: PurePosixPath

    def gymsubmit(self, *arguments: str | PurePosixPath, check: bool = True, **variables: str) -> Any:
        """Run gymsubmit; returns the ended process."""
        environment = [f"{name}={value}" for name, value in variables.items()]
        command = ["env", f"PYTHONPATH={self.packages}", *environment, str(self.python), "-m", "gymsubmit"]
        return self.cluster.run("login", *command, *arguments, check=check)

    def submit(self, config: PurePosixPath, *arguments: str, **variables: str) -> Submission:
        """Submit all benchmarks of a config; their jobs do not outlive the test."""
        done = self.gymsubmit("submit", "-c", config, "--json", *arguments, **variables)
        record = json.loads(done.stdout)
        jobs = {entry["benchmark"]: int(entry["job_id"]) for entry in record["benchmarks"]}
        self.cluster.ends_with_test(*jobs.values())
        return Submission(self.cluster, PurePosixPath(record["run_dir"]), jobs)


Submit = Callable[..., Submission]
