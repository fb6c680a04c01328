"""The whole of a submit config."""

from pydantic import Field

from gymsubmit.config.base import Filled, FrozenDict, Model
from gymsubmit.config.compute import Compute, LocalCompute, SlurmCompute
from gymsubmit.config.driver import Driver
from gymsubmit.config.job import Job
from gymsubmit.config.names import FilledLine, Name
from gymsubmit.config.otel import Otel
from gymsubmit.config.services import CommandService, RayService, Service, VllmPdService, VllmService


class SubmitConfig(Model):
    """Everything that a submission needs."""

    services: Filled[FrozenDict[Name, Service]] = Field(
        description="The services that every job starts, by name.",
        examples=[{"policy": {"type": "vllm", "model": "Qwen/Qwen3-8B", "container": "nvcr.io/nvidia/vllm:25.09"}}],
    )
    compute: Filled[FrozenDict[Name, Compute]] = Field(
        description="Where the jobs run: exactly one entry.",
        examples=[{"cluster": {"type": "slurm", "node_pools": {"gpu": {"partition": "batch"}}}}],
        json_schema_extra={"maxProperties": 1},
    )
    driver: Driver = Field(
        description="What runs against the services.",
        examples=[{"benchmarks": {"aime": {"run": {"config_paths": ["benchmarks/aime.yaml"]}}}}],
    )
    job: Job = Field(description="What all jobs share.", examples=[{"output_path": "/shared/evaluations"}])
    otel: Otel | None = Field(None, description="OpenTelemetry collector; none runs no collector.")
    site: FilledLine | None = Field(None, description="Site whose defaults and templates apply: a directory or a name.")

    @property
    def compute_name(self) -> str:
        """The name of the only compute entry."""
        return next(iter(self.compute))

    @property
    def compute_path(self) -> tuple[str, str]:
        """The path of the only compute entry."""
        return "compute", self.compute_name

    @property
    def only_compute(self) -> SlurmCompute | LocalCompute:
        """The only compute entry."""
        return next(iter(self.compute.values()))

    @property
    def policy(self) -> VllmService | VllmPdService | RayService | CommandService | None:
        """The service whose model is evaluated, if there is one."""
        return None if self.driver.policy_model is None else self.services.get(self.driver.policy_model)
