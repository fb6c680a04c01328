"""Plans of small configs, and the values that their parts are compared with."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from configs import config

from gymsubmit.config.checks import check
from gymsubmit.lower import Run, lower
from gymsubmit.plan import Container, Driver, JobPlan, Launch, Placement, Step
from gymsubmit.words import NodeHost

# Of the config's only benchmark, `b`.
DIRECTORY = PurePosixPath("/results/gym-job-1/b")

# Of a job that has one node.
ALONE = Placement(first_node=0, node_count=1, task_count=1, hosts=None, het_group=None)


def plans(services: Mapping[str, Any] | None = None, **sections: Any) -> tuple[JobPlan, ...]:
    """The plans of `configs.tree`, in which nothing is wrong."""
    made = config(services, **sections)
    assert [finding for finding in check(made) if not finding.warning] == []
    return lower(made, Run.of(made, "gym-job-1"))


def plan(services: Mapping[str, Any] | None = None, **sections: Any) -> JobPlan:
    (only,) = plans(services, **sections)
    return only


def steps(services: Mapping[str, Any] | None = None, **sections: Any) -> dict[str, Step]:
    """The steps of the services by their names."""
    return {step.launch.name: step for step in plan(services, **sections).steps}


def launches(services: Mapping[str, Any] | None = None, **sections: Any) -> dict[str, Launch]:
    """How each service, and `driver`, is started."""
    made = plan(services, **sections)
    return {step.launch.name: step.launch for step in (*made.steps, made.driver)}


def driver(services: Mapping[str, Any] | None = None, *, benchmark: Mapping[str, Any]) -> Driver:
    """The driver of one benchmark under `services`, by default a policy alone."""
    return plan(services, driver={"benchmarks": {"b": benchmark}}).driver


def on(node: int, *, het_group: int | None = None) -> Placement:
    """One node of several."""
    return Placement(node, 1, 1, NodeHost(node), het_group)


def service_launch(name: str = "policy", **changes: Any) -> Launch:
    """The launch of `configs.vllm()` alone on a node, but for the `changes`."""
    image = "vllm/vllm-openai:v1"
    fields: dict[str, Any] = {
        "name": name,
        "key": name,
        "container": Container(image, mounts=(), workdir=PurePosixPath("/tmp"), hook_env=(), hook_names=()),
        "placement": ALONE,
        "devices": None,
        "env": (),
        "ports": (8000,),
        "pre_command": None,
        "srun_options": (),
    }
    return Launch(**fields | changes)


def driver_launch(**changes: Any) -> Launch:
    """The launch of a driver alone on a node, but for the `changes`."""
    fields: dict[str, Any] = {
        "name": "driver",
        "key": "driver",
        "container": Container(
            "python:3.12", (f"{DIRECTORY}:{DIRECTORY}",), workdir=DIRECTORY, hook_env=(), hook_names=()
        ),
        "placement": ALONE,
        "devices": None,
        "env": (),
        "ports": (),
        "pre_command": None,
        "srun_options": (),
    }
    return Launch(**fields | changes)
