"""Clusters, nodes, images and submitters that are a little different from everyone else's."""

from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest
from slurm_cluster import Cluster
from small_jobs import BOTH_HEALTHY, POLICY_HEALTHY, await_driver, blamed, driver_ended, go, said, submit
from stand_ins import Ran, make_image, ran
from submissions import Login, Submission

pytestmark = pytest.mark.usefixtures("vllm_image")

SHARED_NODE = "compute.cluster.exclusive=false"


def done(submission: Submission) -> list[Ran]:
    """Have the job end well; what it ran."""
    await_driver(submission)
    go(submission)
    assert submission.wait().came_to == "COMPLETED 0:0", submission.logs()
    return ran(submission.cluster, submission.job, "vllm")


def on(node: str) -> str:
    """The override that has the job run there."""
    return f"compute.cluster.extra_args.nodelist={node}"


def test_a_mount_that_only_the_nodes_lack(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    cluster.run("login", "mkdir", "-p", "/srv/weights", user="root")
    submission = submit(login, shared, "services.policy.mounts=[/srv/weights:/weights]", judge=False)
    assert submission.wait().came_to == "FAILED 1:0"
    assert said(submission) == blamed("policy", "ended with status 1 before all services were healthy")
    assert "source path does not exist: /srv/weights" in submission.log("policy")


@pytest.mark.parametrize("in_image", [{}, {"MODEL_CACHE": "/image", "LANG": "C"}], ids=["not set", "set"])
def test_what_the_image_says_of_a_variable(
    cluster: Cluster, shared: PurePosixPath, login: Login, in_image: dict[str, str]
) -> None:
    image = make_image(cluster, f"variables-{len(in_image)}", "vllm", **in_image)
    submission = submit(
        login,
        shared,
        f"services.policy.container={image}",
        "services.policy.env.MODEL_CACHE=lit:/mine",
        "services.policy.env.LANG=lit:C.UTF-8",
        "services.policy.env.HOME=runtime:GYM_BENCH_DIR",
        judge=False,
    )
    (server,) = done(submission)
    environment = server["environment"]
    assert [environment[name] for name in ("MODEL_CACHE", "LANG", "HOME", "GYM_BENCH_DIR")] == [
        "/mine",
        "C.UTF-8",
        str(submission.bench_dir),
        str(submission.bench_dir),
    ]


def test_a_proxy_in_the_jobs_environment(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    proxies = dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy"), "http://127.0.0.1:9")
    submission = submit(login, shared, f"compute.cluster.pass_env={[*proxies]}", judge=False, **proxies)
    (server,) = done(submission)
    assert {name: server["environment"][name] for name in proxies} == proxies


def test_what_is_left_over_in_the_submitters_environment(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    left_over = {
        "SBATCH_PARTITION": "no-such-partition",
        "SBATCH_TIMELIMIT": "0:01",
        "SBATCH_EXPORT": "NONE",
        "SBATCH_GPUS": "4",
        "SLURM_JOB_ID": "77",
        "SLURM_NTASKS": "8",
        "SLURM_CPUS_PER_TASK": "64",
        "SLURM_EXPORT_ENV": "NONE",
        "SRUN_CPUS_PER_TASK": "64",
        "PYXIS_CONTAINER_IMAGE": "no-such-image",
        "PYXIS_CONTAINER_WRITABLE": "1",
        "GYM_JOB_ID": "77",
        "CUDA_VISIBLE_DEVICES": "7",
    }
    submission = submit(login, shared, **left_over)
    servers = done(submission)
    kept = [name for name, value in left_over.items() if any(one["environment"].get(name) == value for one in servers)]
    assert kept == []
    assert said(submission) == [*BOTH_HEALTHY, *driver_ended(0)]


def test_an_allocation_for_many_tasks(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    submission = submit(login, shared, "compute.cluster.node_pools.gpu.ntasks_per_node=8")
    assert len(done(submission)) == 2


@pytest.fixture
def loopback_name(cluster: Cluster) -> Iterator[str]:
    """A node where its own name means 127.0.1.1, as Debian's installer has it."""
    node = cluster.nodes[-2]
    cluster.run(node, "sed", "-i", rf"s/^.* {node}$/127.0.1.1 {node}\n&/", "/etc/hosts", user="root")
    yield node
    cluster.run(node, "sed", "-i", "/^127.0.1.1/d", "/etc/hosts", user="root")


def test_a_host_whose_name_is_a_loopback_address(
    cluster: Cluster, shared: PurePosixPath, login: Login, loopback_name: str
) -> None:
    submission = submit(
        login,
        shared,
        "compute.cluster.node_pools.gpu.nodes=2",
        "services.policy.number_of_instances=4",
        on(",".join(cluster.nodes[-2:])),
        judge=False,
    )
    servers = done(submission)
    dialled = {one["argv"][one["argv"].index("--data-parallel-address") + 1] for one in servers}
    assert dialled == {cluster.addresses[loopback_name]}


def test_two_servers_share_the_gpus_of_a_node(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    servers = done(submit(login, shared))
    assert sorted((one["argv"][1], one["devices"]) for one in servers) == [("org/judge", ["1"]), ("org/policy", ["0"])]


def test_a_port_that_another_job_on_the_node_holds(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    node = cluster.nodes[-3]
    first = submit(login, shared, SHARED_NODE, on(node), judge=False)
    await_driver(first)
    second = submit(login, shared, SHARED_NODE, on(node), judge=False)
    assert second.wait().came_to == "FAILED 1:0"
    assert said(second) == blamed("policy", "ended with status 98 before all services were healthy")
    assert f"port 8000 on {node} is in use by another process" in second.log("policy")
    done(first)


def test_two_jobs_of_a_user_on_a_node(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    node = cluster.nodes[-4]
    first = submit(login, shared, SHARED_NODE, on(node), judge=False)
    second = submit(login, shared, SHARED_NODE, on(node), "services.policy.port=8100", judge=False)
    await_driver(second)
    (one,) = done(first)
    (other,) = done(second)
    assert said(second) == [*POLICY_HEALTHY, *driver_ended(0)]
    assert (one["host"], other["host"]) == (node, node)
    assert one["environment"]["SLURM_JOB_GPUS"] != other["environment"]["SLURM_JOB_GPUS"]
