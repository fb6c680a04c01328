"""Drivers that fail, and jobs that are ended from outside."""

from pathlib import PurePosixPath

import pytest
from slurm_cluster import Cluster, until
from small_jobs import BOTH_HEALTHY, POLICY_HEALTHY, await_driver, blamed, driver_ended, faults, said, submit
from stand_ins import event_of, has, ran
from submissions import Login, Submission

pytestmark = pytest.mark.usefixtures("vllm_image")


def driver(script: str) -> str:
    """The override that has the driver run this script."""
    return f"driver.benchmarks.small.command={script!r}"


# Slurm takes an exit status above 128 for that of a shell whose command was killed.
@pytest.mark.parametrize(
    ("script", "status", "accounted"), [("exit 3", 3, 3), ("kill -KILL $$", 137, 9), ("no-such-program", 127, 127)]
)
def test_a_driver_that_fails(
    cluster: Cluster, shared: PurePosixPath, login: Login, script: str, status: int, accounted: int
) -> None:
    submission = submit(login, shared, driver(script), judge=False)
    assert submission.wait().came_to == f"FAILED {accounted}:0"
    assert said(submission) == [*POLICY_HEALTHY, *driver_ended(status)]


def test_a_driver_is_told_when_a_service_dies(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    script = "trap 'sleep 1; touch artifacts/flushed; exit 0' TERM; touch artifacts/asked; sleep 600 & wait"
    submission = submit(login, shared, driver(script), faults("judge", "exit7@2s"))
    assert submission.wait().came_to == "FAILED 1:0"
    assert said(submission) == [*BOTH_HEALTHY, *blamed("judge", "ended with status 7 while the driver ran")]
    assert cluster.outside(submission.bench_dir / "artifacts" / "flushed").exists()


@pytest.mark.slow
def test_a_driver_that_ignores_the_end_of_a_service(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    script = "trap '' TERM; while :; do sleep 1; done"
    submission = submit(login, shared, driver(script), faults("judge", "exit7@2s"))
    assert submission.wait().came_to == "FAILED 1:0"
    assert said(submission) == [*BOTH_HEALTHY, *blamed("judge", "ended with status 7 while the driver ran")]


def cancel(submission: Submission) -> None:
    submission.cluster.run("login", "scancel", str(submission.job))


def test_a_cancel_while_a_service_loads(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    submission = submit(login, shared, "services.policy.env.STAND_IN_LOAD_SECONDS=lit:600", judge=False)
    until(lambda: ran(cluster, submission.job), "the server has started")
    cancel(submission)
    assert submission.wait().state == "CANCELLED"
    (server,) = ran(cluster, submission.job)
    assert event_of(server, "end") is not None


def test_a_cancel_while_the_driver_runs(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    submission = submit(login, shared, faults("policy", "flush=2"), judge=False)
    await_driver(submission)
    cancel(submission)
    assert submission.wait().state == "CANCELLED"
    (server,) = ran(cluster, submission.job)
    assert has(server, "flushed")


def test_a_cancel_of_a_driver_that_ignores_it(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    script = "trap '' TERM; touch artifacts/asked; while :; do sleep 1; done"
    submission = submit(login, shared, driver(script), judge=False)
    await_driver(submission)
    cancel(submission)
    assert submission.wait().state == "CANCELLED"


@pytest.mark.slow
def test_a_node_that_goes_down(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    submission = submit(
        login,
        shared,
        "compute.cluster.extra_args.no-requeue=true",
        "compute.cluster.node_pools.gpu.nodes=2",
        "services.policy.number_of_instances=4",
        judge=False,
    )
    await_driver(submission)
    other = next(one["host"] for one in ran(cluster, submission.job) if one["environment"]["SLURM_NODEID"] == "1")
    cluster.crash(other)
    try:
        came_to = cluster.wait(submission.job, 180)
    finally:
        cluster.start(other)
    assert (came_to.state, said(submission)[:-1]) == ("NODE_FAIL", POLICY_HEALTHY)
    assert "DUE TO NODE FAILURE" in said(submission)[-1]
    cluster.await_nothing_left(submission.job)


@pytest.mark.slow
def test_a_time_limit(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    submission = submit(login, shared, "compute.cluster.walltime='00:01:00'", faults("policy", "flush=2"), judge=False)
    assert submission.wait(180).state == "TIMEOUT"
    (server,) = ran(cluster, submission.job)
    assert has(server, "flushed")


def test_a_disk_that_is_full(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    directory = cluster.make_directory("full", at="scratch")
    submission = submit(
        login, shared, f"job.output_path={directory}", driver("head --bytes=16M /dev/zero >artifacts/zero"), judge=False
    )
    try:
        assert submission.wait().came_to == "FAILED 1:0"
    finally:
        cluster.outside(submission.bench_dir / "artifacts" / "zero").unlink()
    assert said(submission) == [*POLICY_HEALTHY, *driver_ended(1)]
