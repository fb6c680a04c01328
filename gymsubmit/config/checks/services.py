"""Rules of single services: containers, health checks, prefill/decode tiers."""

from collections.abc import Iterator

from gymsubmit.config.checks.layout import AnyService
from gymsubmit.config.compute import LocalCompute, SlurmCompute
from gymsubmit.config.findings import Finding, Path
from gymsubmit.config.mounts import parse_mount
from gymsubmit.config.paths import dotted
from gymsubmit.config.services import CommandService, RayService, Tier, VllmPdService
from gymsubmit.config.submit import SubmitConfig


def check_services(config: SubmitConfig) -> Iterator[Finding]:
    """Each service is complete for where it runs."""
    for name, service in config.services.items():
        path: Path = ("services", name)
        yield from _container(config, path, service)
        yield from _health_check(path, service)
        if isinstance(service, VllmPdService):
            yield from _tiers(path, service)
            yield from _tier_pools(config, path, service)
            yield from _tier_ports(path, service)
    yield from _mounts(config, ("driver", "mounts"), config.driver.mounts)
    if config.otel and config.otel.gym_telemetry and config.driver.gym_install is None:
        message = "needs a Gym that the job installs; set driver.gym_install, or leave it out"
        yield Finding(("otel", "gym_telemetry"), message, involved=(("driver", "gym_install"),))


def _container(config: SubmitConfig, path: Path, service: AnyService) -> Iterator[Finding]:
    compute = config.only_compute
    if isinstance(compute, SlurmCompute) and compute.container_runtime != "none" and service.container is None:
        runtime = (*config.compute_path, "container_runtime")
        message = f"has no container, which {compute.container_runtime} needs; add container"
        own = (*path, "container")
        yield Finding(path, message, involved=(runtime, own))
        if isinstance(service, VllmPdService):
            for tier in ("prefill", "decode"):
                if getattr(service, tier).container is None:
                    where = (*path, tier)
                    yield Finding(where, message, involved=(runtime, own, (*where, "container")))
    mounted: list[tuple[Path, AnyService | Tier]] = [(path, service)]
    if isinstance(service, VllmPdService):
        mounted += [((*path, "prefill"), service.prefill), ((*path, "decode"), service.decode)]
    for where, part in mounted:
        yield from _mounts(config, (*where, "mounts"), part.mounts)


def _mounts(config: SubmitConfig, path: Path, mounts: tuple[str, ...]) -> Iterator[Finding]:
    compute = config.only_compute
    if isinstance(compute, LocalCompute) or compute.container_runtime == "none":
        if mounts:
            field = "type" if isinstance(compute, LocalCompute) else "container_runtime"
            runtime = (*config.compute_path, field)
            message = "has no effect without containers; make sure that what runs finds its files where they are"
            yield Finding(path, message, warning=True, involved=(runtime,))
        return
    if compute.container_runtime != "apptainer":
        return
    runtime = (*config.compute_path, "container_runtime")
    for index, text in enumerate(mounts):
        mount = parse_mount(text)
        if mount.host_path is None:
            message = f"apptainer cannot mount {mount.source!r}; mount a path"
            yield Finding((*path, index), message, involved=(runtime,))
        unknown = [flag for flag in mount.flags if flag not in ("ro", "rw")]
        if unknown or len(mount.flags) > 1:
            shown = "+".join(unknown or mount.flags)
            message = f"apptainer has no mount flag {shown!r}; write ro or rw"
            yield Finding((*path, index), message, involved=(runtime,))


def _health_check(path: Path, service: AnyService) -> Iterator[Finding]:
    if not isinstance(service, RayService | CommandService):
        return
    if service.health_check and service.effective_health_check is None:
        if isinstance(service, RayService):
            message = "has no port, and a ray service none that speaks HTTP; add health_check.port"
        else:
            message = "has no port, and neither has the service; add a port"
        yield Finding((*path, "health_check"), message, involved=((*path, "port"), (*path, "health_check", "port")))


def _tiers(path: Path, service: VllmPdService) -> Iterator[Finding]:
    tiers = {"prefill": service.prefill, "decode": service.decode}
    for name, tier in tiers.items():
        if (tier.model or service.model) is None:
            message = "has no model, and neither has the service; add model to one of them"
            yield Finding((*path, name), message, involved=((*path, "model"), (*path, name, "model")))
        if service.server_per_node and tier.number_of_instances != 1:
            yield Finding(
                (*path, name, "number_of_instances"),
                "server_per_node runs one server a node; set it to 1",
                involved=((*path, "server_per_node"),),
            )


def _tier_pools(config: SubmitConfig, path: Path, service: VllmPdService) -> Iterator[Finding]:
    kind = (*config.compute_path, "type")
    if isinstance(config.only_compute, LocalCompute):
        message = (
            f"{dotted(config.compute_path)} is local and has no node pools, of which tiers need one each; use slurm"
        )
        yield Finding(path, message, involved=(kind,))
        return
    for name in ("prefill", "decode"):
        if getattr(service, name).node_pool is None:
            message = "has no node pool; each tier needs one of its own: add node_pool"
            yield Finding((*path, name), message, involved=(kind, (*path, name, "node_pool")))
    pool = service.prefill.node_pool
    if pool is not None and pool == service.decode.node_pool:
        yield Finding(
            (*path, "decode", "node_pool"),
            f"node pool {pool!r} is prefill's; give each tier one of its own",
            involved=(kind, (*path, "prefill", "node_pool")),
        )


def _tier_ports(path: Path, service: VllmPdService) -> Iterator[Finding]:
    prefill, decode = service.effective_prefill, service.effective_decode
    if prefill.data_parallel_rpc_port == decode.data_parallel_rpc_port:
        yield Finding(
            (*path, "decode", "data_parallel_rpc_port"),
            f"port {decode.data_parallel_rpc_port} is prefill's; give each tier one of its own",
            involved=((*path, "prefill", "data_parallel_rpc_port"),),
        )
    for name, tier in (("prefill", prefill), ("decode", decode)):
        for field, source in (("port", path), ("data_parallel_rpc_port", (*path, "prefill"))):
            if getattr(tier, field) > 65535:
                message = f"{field} would be {getattr(tier, field)}, past the last port 65535; set it"
                yield Finding((*path, name), message, involved=((*source, field), (*path, name, field)))
