"""What is valid and cannot be run yet."""

from gymsubmit.config.compute import SlurmCompute
from gymsubmit.config.findings import Finding, UnsupportedError
from gymsubmit.config.services import CommandService, VllmService
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.lower.nodes import Nodes


def check_supported(config: SubmitConfig, nodes: Nodes) -> dict[str, VllmService | CommandService]:
    """The services of a config all of which this version can run.

    Raises:
        UnsupportedError: everything that it cannot.
    """
    services: dict[str, VllmService | CommandService] = {}
    missing: list[Finding] = []
    for name, service in config.services.items():
        if not isinstance(service, VllmService | CommandService):
            message = f"`{service.type}` is not in this version; use `vllm` or `command`"
            missing.append(Finding(("services", name, "type"), message))
            continue
        services[name] = service
        if isinstance(service, VllmService):
            missing += _missing_shape(name, service, nodes)
    compute = config.only_compute
    if isinstance(compute, SlurmCompute) and compute.container_runtime == "apptainer":
        message = "`apptainer` is not in this version; use `pyxis` or `none`"
        missing.append(Finding((*config.compute_path, "container_runtime"), message))
    for name, benchmark in config.driver.benchmarks.items():
        if benchmark.resume is not None:
            message = "resuming is not in this version; leave it out and give the job enough walltime"
            missing.append(Finding(("driver", "benchmarks", name, "resumable"), message))
    if config.otel is not None and config.otel.enabled:
        message = "the collector is not in this version; leave the section out, or set `enabled: false`"
        missing.append(Finding(("otel",), message))
    if config.site is not None:
        missing.append(Finding(("site",), "sites are not in this version; leave the key out"))
    if missing:
        raise UnsupportedError(missing)
    return services


def _missing_shape(name: str, service: VllmService, nodes: Nodes) -> list[Finding]:
    if service.use_ray_serve:
        message = "is not in this version; leave it out, and instances are spread by data parallelism"
        return [Finding(("services", name, "use_ray_serve"), message)]
    size = service.tensor_parallel_size * service.pipeline_parallel_size
    indexes = nodes.of(service).indexes
    gpus = min((count for index in indexes if (count := nodes.gpus_on(index)) is not None), default=None)
    if service.number_of_instances > 1 and gpus is not None and size > gpus:
        message = (
            f"{service.number_of_instances} instances of {size} GPUs each, more than a node's {gpus}, "
            "are not in this version; use one instance over several nodes, or instances that fit one node"
        )
        return [Finding(("services", name, "number_of_instances"), message)]
    return []
