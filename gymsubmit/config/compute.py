"""`compute.<name>`: where jobs run."""

from typing import Annotated, Literal

from pydantic import Field

from gymsubmit.config.base import ByType, Check, Count, CountOrZero, EitherOr, Filled, FrozenDict, Model, Words, wrong
from gymsubmit.config.durations import Duration, duration_seconds
from gymsubmit.config.env import check_variable
from gymsubmit.config.names import FilledLine, Name, Operand, check_filled_line
from gymsubmit.config.options import Options


def _check_passed(name: str) -> str:
    if name == "*":
        message = "'*' would pass everything; name the variables, or what a group of them begins with (HF_*)"
        raise wrong(message)
    check_variable(name.removesuffix("*"))
    return name


_PASSED = "Variables of the submitter's environment that the job may see: names, or PREFIX_* for all that begin so."
PassEnv = Words[Annotated[str, Check(_check_passed)]]
_LONGEST_INTERFACE = 15  # IFNAMSIZ - 1


def _check_interface(name: str) -> str:
    check_filled_line(name)
    if len(name) > _LONGEST_INTERFACE or "/" in name or any(char.isspace() for char in name):
        message = f"{name!r} can be no network interface of Linux; write one as `ip link` lists it"
        raise wrong(message)
    return name


class NodePool(Model):
    """A part of the allocation: nodes of one kind."""

    partition: FilledLine | None = Field(None, description="Slurm partition; none is Slurm's default.")
    nodes: Count = Field(1, description="Number of nodes.")
    ntasks_per_node: Count = Field(1, description="Tasks a node that the allocation is made for.")
    cpus_per_task: Count | None = Field(None, description="CPUs a task.")
    gpus_per_node: CountOrZero | None = Field(None, description="GPUs a node.")
    mem: Annotated[str | int, EitherOr(CountOrZero, FilledLine, lambda value: isinstance(value, int))] | None = Field(
        None, description="Memory a node, in Slurm's spelling: 64G; a bare number is megabytes, 0 all of the node's."
    )
    extra_args: Options = Field(FrozenDict(), description="More #SBATCH directives, without dashes.")


class SlurmCompute(Model):
    """A Slurm cluster."""

    type: Literal["slurm"] = Field(description="Type of the compute entry.")
    account: FilledLine | None = Field(None, description="Slurm account; none is Slurm's default.")
    hostname: Operand | None = Field(
        None, description="Host to submit from, over SSH; none, or this machine's own name, is this machine."
    )
    walltime: Duration | None = Field(
        None, description="Time limit in Slurm's grammar: 90 (minutes), HH:MM:SS, D-HH; none is Slurm's default."
    )
    exclusive: bool = Field(False, description="Ask for whole nodes.")
    qos: FilledLine | None = Field(None, description="Slurm quality of service.")
    node_pools: Filled[FrozenDict[Name, NodePool]] = Field(
        description="The node pools of the allocation, in the order of its nodes.",
        examples=[{"gpu": {"partition": "batch"}}],
    )
    extra_args: Options = Field(FrozenDict(), description="More #SBATCH directives, without dashes.")
    container_runtime: Literal["pyxis", "apptainer", "none"] = Field("pyxis", description="What runs containers.")
    heterogeneous: bool = Field(False, description="Make each pool a component of its own, which may differ.")
    network_interface: Annotated[str, Check(_check_interface)] | None = Field(
        None, description="Network interface whose address other nodes dial; none is the address of the host's name."
    )
    pass_env: PassEnv = Field((), description=_PASSED)
    check_mounts: bool = Field(True, description="Check that mount sources exist where sbatch runs.")
    transport: Literal["fabric", "openssh"] = Field("fabric", description="How `hostname` is reached.")

    @property
    def walltime_seconds(self) -> int | None:
        """The time limit in seconds."""
        return None if self.walltime is None else duration_seconds(self.walltime)


class LocalCompute(Model):
    """This machine, without Slurm and without containers: for trying a config out."""

    type: Literal["local"] = Field(description="Type of the compute entry.")
    pass_env: PassEnv = Field((), description=_PASSED)


Compute = Annotated[SlurmCompute | LocalCompute, ByType(SlurmCompute, LocalCompute)]
