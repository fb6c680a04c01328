"""Services that die, hang or end: the job ends at once, with the right status, and says which service it was."""

from pathlib import PurePosixPath

import pytest
from slurm_cluster import Cluster
from small_jobs import BOTH_HEALTHY, POLICY_HEALTHY, await_driver, blamed, driver_ended, faults, go, said, submit
from stand_ins import event_of, has, ran
from submissions import Login

pytestmark = pytest.mark.usefixtures("vllm_image")

# A model that takes longer to load than any test waits.
NEVER_LOADED = "env.STAND_IN_LOAD_SECONDS=lit:600"
TWO_NODES = ("compute.cluster.node_pools.gpu.nodes=2", "services.policy.number_of_instances=4")


def test_a_job_that_goes_well(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    submission = submit(login, shared)
    await_driver(submission)
    go(submission)
    assert submission.wait().came_to == "COMPLETED 0:0"
    assert said(submission) == [*BOTH_HEALTHY, *driver_ended(0)]


def test_a_service_that_dies_while_another_loads(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    submission = submit(login, shared, faults("judge", "crash@load"), f"services.policy.{NEVER_LOADED}")
    assert submission.wait().came_to == "FAILED 1:0"
    assert said(submission) == blamed("judge", "ended with status 1 before all services were healthy")
    assert [one["argv"][1] for one in ran(cluster, submission.job) if has(one, "healthy")] == []


def test_a_service_that_dies_while_loading(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    submission = submit(login, shared, faults("policy", "oom@load"), judge=False)
    assert submission.wait().came_to == "FAILED 1:0"
    assert said(submission) == blamed("policy", "ended with status 1 before all services were healthy")


def test_a_service_that_is_killed_while_loading(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    submission = submit(login, shared, faults("policy", "kill@load"), judge=False)
    assert submission.wait().came_to == "FAILED 1:0"
    assert said(submission) == blamed("policy", "ended with status 137 before all services were healthy")


def test_a_service_that_never_answers(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    submission = submit(login, shared, faults("judge", "hang@load"), "services.judge.health_check.timeout_seconds=4")
    assert submission.wait().came_to == "FAILED 1:0"
    assert said(submission) == [
        POLICY_HEALTHY[0],
        "GET http://localhost:8001/health was not answered with 2xx in time",
        *blamed("judge", "was not healthy within its timeout"),
    ]


def test_a_service_that_ends_while_the_driver_runs(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    submission = submit(login, shared, faults("judge", "exit0@2s"))
    assert submission.wait().came_to == "FAILED 1:0"
    assert said(submission) == [*BOTH_HEALTHY, *blamed("judge", "ended with status 0 while the driver ran")]


def test_one_rank_of_many_that_is_killed(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    submission = submit(login, shared, *TWO_NODES, faults("policy", "kill@2s:rank=2"), judge=False)
    assert submission.wait().came_to == "FAILED 1:0"
    assert said(submission) == [*POLICY_HEALTHY, *blamed("policy", "ended with status 137 while the driver ran")]
    hosts = {one["host"] for one in ran(cluster, submission.job, "vllm")}
    assert len(hosts) == 2


def test_one_rank_that_dies_while_the_others_load(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    submission = submit(
        login,
        shared,
        *TWO_NODES,
        faults("policy", "exit3@start:rank=2"),
        f"services.policy.{NEVER_LOADED}",
        judge=False,
    )
    assert submission.wait().came_to == "FAILED 1:0"
    # srun's own status is the highest of its tasks', and it ended the others with TERM.
    assert said(submission) == blamed("policy", "ended with status 143 before all services were healthy")
    assert "task 1: Exited with exit code 3" in submission.log("policy")


def test_a_server_may_take_a_while_to_flush(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    submission = submit(login, shared, faults("policy", "flush=2"), judge=False)
    await_driver(submission)
    go(submission)
    assert submission.wait().came_to == "COMPLETED 0:0"
    (server,) = ran(cluster, submission.job, "vllm")
    assert event_of(server, "flushed") is not None
