"""Which executor runs a config's jobs."""

import socket

from gymsubmit.config.compute import SlurmCompute
from gymsubmit.config.findings import Finding, UnsupportedError
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.connections.local import LocalConnection
from gymsubmit.executors.base import Executor
from gymsubmit.executors.local import LocalExecutor
from gymsubmit.executors.slurm import SlurmExecutor


def executor_for(config: SubmitConfig) -> Executor:
    """The executor of the config's compute entry.

    Raises:
        UnsupportedError: the jobs are to be queued from another machine.
    """
    compute = config.only_compute
    if not isinstance(compute, SlurmCompute):
        return LocalExecutor(compute.pass_env)
    if compute.hostname is not None and not _is_this_machine(compute.hostname):
        message = (
            f"submitting over SSH is not in this version; run gymsubmit on {compute.hostname} itself, "
            "or leave hostname out where this machine has sbatch"
        )
        raise UnsupportedError([Finding((*config.compute_path, "hostname"), message)])
    return SlurmExecutor(LocalConnection(), compute.pass_env)


def _is_this_machine(name: str) -> bool:
    own = socket.gethostname()
    return name in {"localhost", own, own.partition(".")[0]} or name == socket.getfqdn()
