"""What is valid and cannot be run yet."""

from gymsubmit.config.compute import SlurmCompute
from gymsubmit.config.services import CommandService, VllmService
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.errors import NotInThisVersionError
from gymsubmit.lower.nodes import Nodes


def check_supported(config: SubmitConfig, nodes: Nodes) -> dict[str, VllmService | CommandService]:
    """The services of a config all of which this version can run.

    Raises:
        NotInThisVersionError: naming everything that it cannot, a line each.
    """
    services: dict[str, VllmService | CommandService] = {}
    missing: list[str] = []
    for name, service in config.services.items():
        if not isinstance(service, VllmService | CommandService):
            missing.append(f"services.{name}.type: `{service.type}` is not in this version; use `vllm` or `command`")
            continue
        services[name] = service
        if isinstance(service, VllmService):
            missing += _missing_shape(name, service, nodes)
    compute = config.only_compute
    if isinstance(compute, SlurmCompute) and compute.container_runtime == "apptainer":
        where = f"compute.{config.compute_name}.container_runtime"
        missing.append(f"{where}: `apptainer` is not in this version; use `pyxis` or `none`")
    for name, benchmark in config.driver.benchmarks.items():
        if benchmark.resume is not None:
            where = f"driver.benchmarks.{name}.resumable"
            missing.append(f"{where}: resuming is not in this version; leave it out and give the job enough walltime")
    if config.otel is not None and config.otel.enabled:
        missing.append("otel: the collector is not in this version; leave the section out, or set `enabled: false`")
    if config.site is not None:
        missing.append("site: sites are not in this version; leave the key out")
    if missing:
        raise NotInThisVersionError("\n".join(missing))
    return services


def _missing_shape(name: str, service: VllmService, nodes: Nodes) -> list[str]:
    if service.use_ray_serve:
        where = f"services.{name}.use_ray_serve"
        return [f"{where}: is not in this version; leave it out, and instances are spread by data parallelism"]
    size = service.tensor_parallel_size * service.pipeline_parallel_size
    indexes = nodes.of(service).indexes
    gpus = min((count for index in indexes if (count := nodes.gpus_on(index)) is not None), default=None)
    if service.number_of_instances > 1 and gpus is not None and size > gpus:
        return [
            f"services.{name}: {service.number_of_instances} instances of {size} GPUs each, more than a node's {gpus}, "
            "are not in this version; use one instance over several nodes, or instances that fit one node"
        ]
    return []
