"""Names that a config refers to: they exist, and are what they have to be."""

from collections.abc import Collection, Iterator

from gymsubmit.config.checks.layout import AnyService
from gymsubmit.config.compute import LocalCompute
from gymsubmit.config.findings import Finding, Path, unknown_name
from gymsubmit.config.paths import dotted
from gymsubmit.config.services import CommandService, RayService, Tier, VllmPdService
from gymsubmit.config.spelling import nearest
from gymsubmit.config.submit import SubmitConfig


def check_references(config: SubmitConfig) -> Iterator[Finding]:
    """Placements, node pools and the policy name things that exist; there is one compute entry."""
    for name in list(config.compute)[1:]:
        message = f"is one compute entry too many, beside {config.compute_name!r}; keep the one that the jobs run on"
        yield Finding(("compute", name), message)
    for name, service in config.services.items():
        path: Path = ("services", name)
        yield from _placed(config, path, service)
        if isinstance(service, VllmPdService):
            yield from _placed(config, (*path, "prefill"), service.prefill)
            yield from _placed(config, (*path, "decode"), service.decode)
        elif isinstance(service, RayService):
            yield from _ray_pools(config, path, service)
    yield from _policy(config)


def _unknown(kind: str, name: str, known: Collection[str]) -> str:
    near = nearest(name, known)
    advice = f"did you mean {near!r}?" if near else f"there is {', '.join(map(repr, known))}"
    return f"there is no {kind} {name!r}; {advice}"


def _pools(config: SubmitConfig) -> Collection[str] | None:
    compute = config.only_compute
    return None if isinstance(compute, LocalCompute) else compute.node_pools


def _placed(config: SubmitConfig, path: Path, service: AnyService | Tier) -> Iterator[Finding]:
    if service.placement is not None and service.placement not in config.compute:
        message = _unknown("compute entry", service.placement, config.compute)
        yield Finding((*path, "placement"), message, involved=unknown_name(("compute",), service.placement))
    if service.node_pool is not None and not isinstance(service, RayService):
        yield from _pool(config, (*path, "node_pool"), service.node_pool)


def _pool(config: SubmitConfig, path: Path, pool: str) -> Iterator[Finding]:
    pools = _pools(config)
    if pools is None:
        message = f"{dotted(config.compute_path)} is local and has no node pools; remove it"
        yield Finding(path, message, involved=((*config.compute_path, "type"),))
    elif pool not in pools:
        involved = unknown_name((*config.compute_path, "node_pools"), pool)
        yield Finding(path, _unknown("node pool", pool, pools), involved=involved)


def _ray_pools(config: SubmitConfig, path: Path, service: RayService) -> Iterator[Finding]:
    if service.node_pool is not None:
        yield Finding((*path, "node_pool"), f"a ray service may span pools; write node_pools: [{service.node_pool}]")
    for index, pool in enumerate(service.node_pools):
        where = (*path, "node_pools", index)
        yield from _pool(config, where, pool)
        if pool in service.node_pools[:index]:
            yield Finding(where, f"node pool {pool!r} is listed twice; keep it once")
    for pool in service.resources:
        if pool not in service.node_pools:
            message = f"the service does not span node pool {pool!r}; add it to node_pools, or remove its resources"
            yield Finding((*path, "resources", pool), message, involved=((*path, "node_pools"),))


def _policy(config: SubmitConfig) -> Iterator[Finding]:
    name, path = config.driver.policy_model, ("driver", "policy_model")
    if name is None:
        return
    policy = config.policy
    if policy is None:
        yield Finding(path, _unknown("service", name, config.services), involved=unknown_name(("services",), name))
    elif isinstance(policy, RayService):
        message = f"{name!r} is a ray service, which serves no model; name a service that does"
        yield Finding(path, message, involved=(("services", name, "type"),))
    elif isinstance(policy, CommandService):
        for field in ("model", "port"):
            if getattr(policy, field) is None:
                message = f"is the policy and has no {field}; add it"
                yield Finding(("services", name), message, involved=(path, ("services", name, field)))
        if policy.health_check is None:
            message = (
                "is the policy and has no health check, so that benchmarks may start before it is up; add health_check"
            )
            yield Finding(("services", name), message, warning=True)
