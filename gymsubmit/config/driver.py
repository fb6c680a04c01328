"""`driver`: what runs against the services."""

from typing import Annotated

from pydantic import Field

from gymsubmit.config.base import Count, CountOrZero, EitherOr, Filled, FrozenDict, Model
from gymsubmit.config.durations import Duration, duration_seconds
from gymsubmit.config.env import Environment
from gymsubmit.config.hydra_keys import HydraValues
from gymsubmit.config.images import Image
from gymsubmit.config.mounts import Mounts
from gymsubmit.config.names import FilledLine, FilledText, Line, Name, Operand
from gymsubmit.config.options import Options


class GymInstall(Model):
    """NeMo Gym, installed from git before the benchmark."""

    repo: Operand = Field("https://github.com/NVIDIA-NeMo/gym", description="Git repository.")
    ref: Operand = Field(description="Branch, tag or commit.", examples=["main"])


class Resumable(Model):
    """How a benchmark that did not finish is taken up again by a successor job."""

    max_retries: CountOrZero = Field(3, description="Failures after which no successor tries again.")
    max_walltime: Duration | None = Field(
        None, description="Time that all jobs of the chain may take together, in Slurm's grammar; none is no limit."
    )

    @property
    def max_walltime_seconds(self) -> int | None:
        """The time that all jobs of the chain may take together, in seconds."""
        return None if self.max_walltime is None else duration_seconds(self.max_walltime)


class Benchmark(Model):
    """One benchmark: one job."""

    prepare: HydraValues = Field(FrozenDict(), description="Hydra overrides of `gym eval prepare`; empty skips it.")
    run: HydraValues = Field(FrozenDict(), description="Hydra overrides of `gym eval run`.")
    command: FilledText | None = Field(None, description="A script that runs instead of `gym eval run`.")
    resumable: Annotated[bool | Resumable, EitherOr(bool, Resumable, lambda value: isinstance(value, bool))] = Field(
        False, description="Whether a successor job takes the benchmark up again: true, false, or how."
    )

    @property
    def resume(self) -> Resumable | None:
        """How the benchmark is taken up again; None when it is not."""
        if isinstance(self.resumable, Resumable):
            return self.resumable
        return Resumable() if self.resumable else None


class Driver(Model):
    """The driver step of every job, and the benchmarks that it runs."""

    container: Image = Field("python:3.12", description="Container image of the driver.")
    gym_install: GymInstall | None = Field(None, description="Install NeMo Gym from git; none has it in the image.")
    policy_model: Name | None = Field(None, description="Service whose model is evaluated.")
    policy_host: FilledLine = Field("localhost", description="Host that benchmarks reach the policy at.")
    policy_model_type: Line = Field("openai_model", description='Value of --model-type; "" for none.')
    benchmarks: Filled[FrozenDict[Name, Benchmark]] = Field(
        description="The benchmarks, one job each.",
        examples=[{"aime": {"run": {"config_paths": ["benchmarks/aime.yaml"]}}}],
    )
    env: Environment = Field(FrozenDict(), description="Environment of the driver: lit:TEXT, host:VAR or runtime:VAR.")
    mounts: Mounts = Field((), description="Mounts of the container: SRC, SRC:DST or SRC:DST:FLAGS.")
    overlap_startup: bool = Field(False, description="Install and prepare while the services start.")
    grace_seconds: Count = Field(30, description="Seconds between TERM and KILL when the driver has to end.")
    srun_args: Options = Field(FrozenDict(), description="Extra srun options of the driver's step.")
