"""What is valid and cannot be run yet is refused as a whole, each part with what to do."""

from typing import Any

import pytest
from configs import command, config, pools, prefill_decode, ray, vllm

from gymsubmit.config.checks import check
from gymsubmit.errors import NotInThisVersionError
from gymsubmit.lower import Run, lower

LARGER = (
    "services.s.number_of_instances: 2 instances of 8 GPUs each, more than a node's 4, are not in this version; "
    "use one instance over several nodes, or instances that fit one node"
)


def refused(services: dict[str, Any], **sections: Any) -> list[str]:
    made = config(services, **sections)
    assert [finding for finding in check(made) if not finding.warning] == []
    with pytest.raises(NotInThisVersionError) as error:
        lower(made, Run.of(made))
    assert error.value.exit_status == 2
    return str(error.value).splitlines()


def test_everything_that_is_missing_is_said_at_once() -> None:
    services = {
        "pd": prefill_decode({"node_pool": "a"}, {"node_pool": "b"}, port=9000),
        "cluster": ray(),
        "gateway": vllm(use_ray_serve=True, ray_port=6380),
        "fine": command(),
    }
    assert refused(
        services,
        compute={"node_pools": pools(a=1, b=1), "container_runtime": "apptainer"},
        driver={"benchmarks": {"b": {"resumable": True}, "fine": {}}},
        otel={"endpoint": "https://o", "service_name": "s"},
        site="example",
    ) == [
        "services.pd.type: `vllm_pd` is not in this version; use `vllm` or `command`",
        "services.cluster.type: `ray` is not in this version; use `vllm` or `command`",
        "services.gateway.use_ray_serve: is not in this version; leave it out, and instances are spread by data "
        "parallelism",
        "compute.c.container_runtime: `apptainer` is not in this version; use `pyxis` or `none`",
        "driver.benchmarks.b.resumable: resuming is not in this version; leave it out and give the job enough walltime",
        "otel: the collector is not in this version; leave the section out, or set `enabled: false`",
        "site: sites are not in this version; leave the key out",
    ]


def test_instances_that_are_each_larger_than_a_node() -> None:
    compute = {"node_pools": {"gpu": {"nodes": 4, "gpus_per_node": 4}}}
    assert refused({"s": vllm(tensor_parallel_size=8, number_of_instances=2)}, compute=compute) == [LARGER]


@pytest.mark.parametrize(
    "services",
    [
        {"s": vllm(tensor_parallel_size=16)},
        {"s": vllm(tensor_parallel_size=4, number_of_instances=4)},
        {"s": command(gpus=4)},
    ],
)
def test_what_fits_is_not_refused(services: dict[str, Any]) -> None:
    made = config(services, compute={"node_pools": {"gpu": {"nodes": 4, "gpus_per_node": 4}}})
    assert len(lower(made, Run.of(made))) == 1


def test_a_collector_that_is_off_is_none() -> None:
    otel = {"endpoint": "https://o", "service_name": "s", "enabled": False}
    made = config(otel=otel)
    assert lower(made, Run.of(made)) == lower(config(), Run.of(made))
