"""What a job on the test cluster finds, and that it leaves nothing."""

import subprocess
from pathlib import PurePosixPath

import pytest
from job_values import values_of
from slurm_cluster import Cluster, until


def test_job_runs_steps_on_two_nodes_in_an_image(cluster: Cluster, shared: PurePosixPath) -> None:
    image = cluster.make_image("nvcr.io#team/first:1.0", env={"FROM": "image"}, workdir="/workspace")
    job = cluster.sbatch(
        "--nodes=2",
        "--ntasks-per-node=1",
        "--gpus-per-node=2",
        f"--output={shared}/job.log",
        script=f"""\
#!/bin/bash
mapfile -t nodes < <(scontrol show hostnames)
export FROM=job ALSO=job
srun --overlap --nodes=1 --ntasks=1 --nodelist="${{nodes[0]}}" --input=none hostname
srun --overlap --nodes=1 --ntasks=1 --nodelist="${{nodes[1]}}" --input=none hostname
srun --overlap --nodes=1 --ntasks=1 --nodelist="${{nodes[1]}}" --input=none \\
    --container-image={image} --container-mounts={shared}:/job:ro --no-container-mount-home \\
    bash -c 'echo "$(hostname) $FROM $ALSO $PWD $CUDA_VISIBLE_DEVICES $(ls /job)"; test -e /shared || echo hidden'
scontrol show hostnames
""",
    )
    ended = cluster.wait(job)
    lines = cluster.read(shared / "job.log").splitlines()
    nodes = lines[-2:]
    assert lines == [*nodes, f"{nodes[1]} image job /workspace 0,1 job.log", "hidden", *nodes]
    assert len(set(nodes)) == 2
    assert ended.came_to == "COMPLETED 0:0"
    (step,) = [event for event in cluster.events(job) if event["container"]]
    container = step["container"]
    assert isinstance(container, dict)
    assert (step["node"], container["image"], container["mounts"]) == (nodes[1], image, [f"{shared}:/job:ro"])
    cluster.await_nothing_left(job)


def test_what_a_running_job_has_is_seen(cluster: Cluster) -> None:
    job = cluster.sbatch(
        "--nodes=2",
        "--ntasks-per-node=1",
        "--output=/dev/null",
        # Without an environment, a process is the job's by its parent alone.
        script="#!/bin/bash\nsrun --container-image=base bash -c 'env --ignore-environment sleep 1000; true'\n",
    )

    def sleeping() -> list[str]:
        return [what.partition(":")[0] for what in cluster.left_of(job) if what.endswith(": sleep 1000")]

    until(lambda: len(sleeping()) == 2, "both tasks sleep")
    left = cluster.left_of(job)
    for node in set(sleeping()):
        assert f"{node}: slurmstepd: [{job}.0]" in left
        assert f"{node}: /run/box/c.{job}.0" in left
    cluster.run("login", "scancel", str(job))
    assert cluster.wait(job).came_to == "CANCELLED 0:0"
    cluster.await_nothing_left(job)


def test_no_daemon_outlives_its_step(cluster: Cluster, shared: PurePosixPath) -> None:
    script = """
for container in "" --container-image=base; do
    one $container setsid --fork sleep 1001
    one $container bash -c 'setsid --fork sleep 1001; exit 3'
done
echo "after_the_steps=$(pgrep --full --count "sleep 1001")"
setsid --fork sleep 1002
"""
    values = values_of(cluster, shared, script, "--nodelist=n2")
    assert values == {"job": "COMPLETED 0:0", "after_the_steps": "0"}
    assert cluster.run("n2", "pgrep", "--full", "sleep 100[12]", check=False).stdout == ""


def test_every_node_is_a_host_of_its_own(cluster: Cluster) -> None:
    for host in cluster.hosts:
        assert cluster.out(host, "hostname") == host
        cluster.run(host, "bash", "-c", "echo $HOSTNAME > /tmp/own; ls -d /home/alice /shared")
    assert [cluster.out(host, "cat", "/tmp/own") for host in cluster.hosts] == list(cluster.hosts)
    for node in cluster.nodes:
        assert cluster.out("login", "getent", "hosts", node).split() == [cluster.addresses[node], node]
    assert (cluster.root("n1") / "tmp" / "own").read_text() == "n1\n"


def test_login_host_is_reached_by_ssh(cluster: Cluster, shared: PurePosixPath) -> None:
    cluster.write(shared / "hello", "hello\n")
    done = subprocess.run(
        ["ssh", "-F", cluster.ssh_config, "login", f"hostname; whoami; cat {shared}/hello"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "login\nalice\nhello\n"


@pytest.mark.parametrize("user", ["alice", "bob"])
def test_users_have_accounts(cluster: Cluster, user: str) -> None:
    job = cluster.sbatch("--account=other", "--wrap=true", "--output=/dev/null", user=user)
    assert cluster.wait(job).came_to == "COMPLETED 0:0"
    assert cluster.out("login", "sacct", "-X", "-n", "-P", "-j", str(job), "-o", "User,Account") == f"{user}|other"
