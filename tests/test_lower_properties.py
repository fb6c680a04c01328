"""What holds for the plan of any config: places, ports and GPUs are given once, and what a step names is found out."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from configs import command, config, vllm
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from gymsubmit.config.checks import check
from gymsubmit.config.services import CommandService, VllmService
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.errors import NotInThisVersionError
from gymsubmit.frozen import Frozen
from gymsubmit.lower import Run, lower
from gymsubmit.plan import DataParallelStep, JobPlan, Launch, Placement, RayInstanceStep, Step
from gymsubmit.words import (
    AllHosts,
    NodeAddress,
    NodeEndpoint,
    NodeHost,
    NodeUrl,
    OwnAddress,
    PoolHosts,
    RuntimeEnv,
    Secret,
)

NAMES = ["p", "q", "c.1", "d-2", "e"]
POOLS = ["a", "b", "c-3"]
PORTS = st.sampled_from([*range(8000, 8006), 6379, 13345])
ENV = st.dictionaries(
    st.sampled_from(["A", "CUDA_VISIBLE_DEVICES", "NCCL_SOCKET_IFNAME"]),
    st.sampled_from(["lit:0", "host:TOKEN", "runtime:USER"]),
    max_size=2,
)
PLACE = st.fixed_dictionaries({"port": PORTS}, optional={"node_pool": st.sampled_from(POOLS), "env": ENV})


def sized(**sizes: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda place, given: place | given, PLACE, st.fixed_dictionaries({}, optional=sizes))


VLLM = sized(
    tensor_parallel_size=st.sampled_from([1, 2, 4, 8]),
    pipeline_parallel_size=st.sampled_from([1, 2]),
    number_of_instances=st.sampled_from([1, 2, 3, 4, 6, 12]),
    data_parallel_rpc_port=PORTS,
    ray_port=PORTS,
)
COMMAND = sized(
    gpus=st.sampled_from([1, 2, 3, 4]),
    per_node=st.just(True),
    health_check=st.fixed_dictionaries({"port": PORTS}, optional={"nodes": st.sampled_from(["head", "every"])}),
)
# Of which many fit together, so that they fill the GPUs of nodes which they share in part.
SMALL = st.builds(
    lambda given: command(**given),
    st.fixed_dictionaries(
        {"gpus": st.integers(2, 4), "per_node": st.booleans()}, optional={"node_pool": st.sampled_from(POOLS)}
    ),
)
SERVICE = st.one_of(st.builds(lambda given: vllm(**given), VLLM), st.builds(lambda given: command(**given), COMMAND))


@dataclass(frozen=True)
class Job:
    config: SubmitConfig
    plan: JobPlan

    @property
    def node_count(self) -> int:
        return sum(component.nodes for component in self.plan.allocation)

    @property
    def pools(self) -> dict[str, range]:
        """The nodes of each pool."""
        ends: dict[str, range] = {}
        for name, pool in self.config.only_compute.node_pools.items():  # type: ignore[union-attr]
            first = max((nodes.stop for nodes in ends.values()), default=0)
            ends[name] = range(first, first + pool.nodes)
        return ends

    @property
    def launches(self) -> dict[str, Launch]:
        return {step.launch.name: step.launch for step in (*self.plan.steps, self.plan.driver)}


def made_of(services: dict[str, Any], pools: dict[str, Any], policy: str | None, **compute: Any) -> Job:
    """The job of those services in which nothing is wrong with the others."""
    left = dict(services)
    while True:
        assume(left)
        driver = {"policy_model": policy} if policy in left and left[policy]["type"] == "vllm" else {}
        made = config(left, compute={"node_pools": pools} | compute, driver=driver)
        errors = [finding for finding in check(made) if not finding.warning]
        if not errors:
            break
        for finding in errors:
            left.pop(str(finding.path[1]), None)
    try:
        (plan,) = lower(made, Run.of(made))
    except NotInThisVersionError:
        reject()
    return Job(made, plan)


@st.composite
def jobs(draw: st.DrawFn, service: st.SearchStrategy[dict[str, Any]] = SERVICE) -> Job:
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=len(POOLS)))
    gpus: dict[str, int] = draw(st.sampled_from([{}, {"gpus_per_node": 8}, {"gpus_per_node": 16}]))
    pools = {name: {"nodes": nodes, **gpus} for name, nodes in zip(POOLS, sizes, strict=False)}
    services = dict(zip(NAMES, draw(st.lists(service, min_size=1, max_size=len(NAMES))), strict=False))
    for wanted in services.values():
        if pool := wanted.get("node_pool"):
            wanted["node_pool"] = POOLS[POOLS.index(pool) % len(pools)]
    compute = draw(
        st.fixed_dictionaries({}, optional={"heterogeneous": st.booleans(), "network_interface": st.just("ib0")})
    )
    return made_of(services, pools, draw(st.sampled_from([None, *services])), **compute)


def nodes_of(placement: Placement) -> range:
    return range(placement.first_node, placement.first_node + placement.node_count)


def parts(value: object) -> Iterator[object]:
    """Everything that a plan is made of."""
    yield value
    if isinstance(value, Frozen):
        for field in value.__match_args__:
            yield from parts(getattr(value, field))
    elif isinstance(value, tuple):
        for each in value:
            yield from parts(each)


def listening(step: Step) -> Iterator[tuple[int, int]]:
    """Node and port of each listener of a step."""
    nodes = nodes_of(step.launch.placement)
    for node in nodes[:1] if isinstance(step, DataParallelStep | RayInstanceStep) else nodes:
        for port in step.launch.ports:
            yield node, port


@settings(max_examples=150, deadline=None)
@given(jobs())
def test_pools_lie_side_by_side_and_every_step_within_them(job: Job) -> None:
    assert job.node_count == max(nodes.stop for nodes in job.pools.values())
    assert {pool.name: range(pool.first_node, pool.first_node + pool.nodes) for pool in job.plan.nodes.pools} in (
        {},
        job.pools,
    )
    for name, launch in job.launches.items():
        nodes = nodes_of(launch.placement)
        service = job.config.services.get(name)
        allowed = (
            range(job.node_count) if service is None or service.node_pool is None else job.pools[service.node_pool]
        )
        assert set(nodes) <= set(allowed), name
        assert launch.placement.task_count == len(nodes)


@settings(max_examples=150, deadline=None)
@given(jobs())
def test_the_hosts_that_a_step_names_are_the_nodes_that_it_is_placed_on(job: Job) -> None:
    exported = {pool.variable: range(pool.first_node, pool.first_node + pool.nodes) for pool in job.plan.nodes.pools}
    for launch in job.launches.values():
        named: range | None
        match launch.placement.hosts:
            case NodeHost(index):
                named = range(index, index + 1)
            case PoolHosts(variable):
                named = exported[variable]
            case AllHosts():
                named = range(job.node_count)
            case None:
                assert job.node_count == 1
                named = range(1)
        assert named == nodes_of(launch.placement)


@settings(max_examples=150, deadline=None)
@given(jobs())
def test_a_step_of_a_heterogeneous_job_is_within_the_component_that_it_names(job: Job) -> None:
    several = len(job.plan.allocation) > 1
    groups = list(job.pools.values())
    assert job.plan.nodes.het_groups == (tuple(range(len(groups))) if several else ())
    for launch in job.launches.values():
        group = launch.placement.het_group
        assert (group is not None) == several
        if group is not None:
            assert set(nodes_of(launch.placement)) <= set(groups[group])


@settings(max_examples=150, deadline=None)
@given(jobs())
def test_the_driver_is_where_the_policy_serves_its_api(job: Job) -> None:
    policy = job.config.driver.policy_model
    first = job.launches[policy].placement.first_node if policy else 0
    assert nodes_of(job.plan.driver.launch.placement) == range(first, first + 1)


@settings(max_examples=150, deadline=None)
@given(jobs())
def test_a_port_of_a_node_has_one_listener(job: Job) -> None:
    listeners = Counter(listener for step in job.plan.steps for listener in listening(step))
    assert [listener for listener, count in listeners.items() if count > 1] == []


def gpus_needed(service: object, nodes: int) -> int | None:
    """GPUs that a service needs on each of its nodes."""
    if isinstance(service, CommandService):
        return service.gpus
    assert isinstance(service, VllmService)
    total = service.tensor_parallel_size * service.pipeline_parallel_size * service.number_of_instances
    return -(-total // nodes)


@settings(max_examples=300, deadline=None)
@given(jobs() | jobs(SMALL))
def test_a_gpu_of_a_node_is_given_once_and_there_is_one(job: Job) -> None:
    sharing: dict[int, list[str]] = {}
    for name, service in job.config.services.items():
        placement = job.launches[name].placement
        need = gpus_needed(service, placement.node_count)
        if need is None or "CUDA_VISIBLE_DEVICES" in service.env:
            assert job.launches[name].devices is None
            continue
        for node in nodes_of(placement):
            sharing.setdefault(node, []).append(name)
    pool = next(iter(job.config.only_compute.node_pools.values()))  # type: ignore[union-attr]
    for names in sharing.values():
        taken: Counter[int] = Counter()
        for name in names:
            devices, need = (
                job.launches[name].devices,
                gpus_needed(job.config.services[name], job.launches[name].placement.node_count),
            )
            if devices is None:
                assert names == [name], "shares a node and is not told which GPUs are its own"
                continue
            assert devices.count == need
            taken.update(range(devices.first, devices.first + devices.count))
        assert [gpu for gpu, count in taken.items() if count > 1] == []
        if pool.gpus_per_node is not None:
            assert max(taken, default=0) < pool.gpus_per_node


@settings(max_examples=150, deadline=None)
@given(jobs())
def test_what_a_step_names_is_found_out_before_it_starts(job: Job) -> None:
    setup = job.plan.nodes
    for part in parts(job.plan):
        match part:
            case NodeAddress(index) | NodeUrl(index, _) | NodeEndpoint(index, _):
                assert index in setup.addresses
            case NodeHost():
                assert setup.names
            case PoolHosts(variable):
                assert setup.names
                assert variable in {pool.variable for pool in setup.pools}
            case AllHosts():
                assert setup.names
                assert setup.all_hosts
            case RayInstanceStep(launch):
                # A node that dials others by its own address is told that address.
                assert OwnAddress() in part.ray_worker
                assert set(nodes_of(launch.placement)) <= set(setup.addresses)
            case Secret(name):
                assert name in job.plan.secrets
            case RuntimeEnv(name):
                assert name in {value.variable for value in job.plan.runtime_values}
    if setup.addresses or setup.pools or setup.all_hosts:
        assert setup.names


@settings(max_examples=100, deadline=None)
@given(jobs())
def test_the_plan_is_the_same_on_each_run(job: Job) -> None:
    again = SubmitConfig.model_validate(job.config.model_dump(exclude_unset=True))
    assert lower(again, Run.of(again)) == (job.plan,)
