"""The plan of each benchmark's job, put together."""

from pathlib import PurePosixPath

from gymsubmit.config.compute import SlurmCompute
from gymsubmit.config.driver import Benchmark
from gymsubmit.config.services import CommandService, VllmService
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.frozen import Frozen
from gymsubmit.lower.allocation import allocation
from gymsubmit.lower.driver import lower_driver
from gymsubmit.lower.environment import runtime_values, secrets
from gymsubmit.lower.gpus import split_devices
from gymsubmit.lower.launch import Launches, launcher
from gymsubmit.lower.nodes import NodeRange, Nodes
from gymsubmit.lower.services import lower_service
from gymsubmit.lower.setup import node_setup
from gymsubmit.lower.supported import check_supported
from gymsubmit.plan import JobPlan, Probe
from gymsubmit.words import NodeHost, Word

# The identity of what is compiled but not submitted, so that its output is the same every time.
FIXED_JOB_ID = "gym-job-00000000T000000Z-000000"


class Run(Frozen):
    """One submission: its id and its directory where the jobs run."""

    gym_job_id: str
    directory: PurePosixPath

    @classmethod
    def of(cls, config: SubmitConfig, gym_job_id: str = FIXED_JOB_ID) -> "Run":
        """The run of a config under `gym_job_id`."""
        return cls(gym_job_id, PurePosixPath(config.job.output_path) / gym_job_id)


def lower(config: SubmitConfig, run: Run) -> tuple[JobPlan, ...]:
    """The plans of a config's benchmarks, in their order.

    Raises:
        UnsupportedError: the config asks for something that cannot be run yet.
    """
    nodes = Nodes(config)
    services = check_supported(config, nodes)
    placed = {name: (service, nodes.of(service)) for name, service in services.items()}
    return tuple(
        _job(config, run.directory / name, name, benchmark, nodes, placed)
        for name, benchmark in config.driver.benchmarks.items()
    )


Placed = dict[str, tuple[VllmService | CommandService, NodeRange]]


def _job(  # noqa: PLR0913
    config: SubmitConfig, directory: PurePosixPath, name: str, benchmark: Benchmark, nodes: Nodes, placed: Placed
) -> JobPlan:
    launches = Launches(config, nodes, directory)
    devices = split_devices(placed)
    lowered = [
        lower_service(service_name, service, service_nodes, launches, devices.get(service_name))
        for service_name, (service, service_nodes) in placed.items()
    ]
    driver, driver_files = lower_driver(config, benchmark, launches)
    compute = config.only_compute
    return JobPlan(
        name=name,
        directory=directory,
        launcher=launcher(config),
        allocation=allocation(compute, name, str(directory)) if isinstance(compute, SlurmCompute) else (),
        secrets=tuple(secrets(config)),
        runtime_values=runtime_values(config),
        nodes=node_setup(config, nodes, placed),
        steps=tuple(step for step, _ in lowered),
        probes=tuple(
            probe
            for service_name, (service, service_nodes) in placed.items()
            if (probe := _probe(service_name, service, service_nodes)) is not None
        ),
        driver=driver,
        overlap_startup=config.driver.overlap_startup,
        grace_seconds=config.driver.grace_seconds,
        files=(*(file for _, files in lowered for file in files), *driver_files),
    )


def _probe(name: str, service: VllmService | CommandService, nodes: NodeRange) -> Probe | None:
    check = service.effective_health_check
    if check is None:
        return None
    indexes = nodes.indexes if check.nodes == "every" else nodes.indexes[:1]
    hosts = tuple(map(_probed_host, indexes))
    return Probe(name, hosts, check.port, check.path, check.timeout_seconds, check.interval_seconds)


def _probed_host(index: int) -> Word:
    # The batch script runs on the first node, where some servers listen on localhost only.
    return "localhost" if index == 0 else NodeHost(index)
