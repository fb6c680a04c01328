"""The stand-in for vLLM in containers: processes of several nodes are one server, those of one node share devices."""

from pathlib import PurePosixPath

import pytest
from slurm_cluster import Cluster
from stand_ins import has, ran

# step NAME NODE COMMAND: one task in a container of its own
STEP = """\
#!/bin/bash
step() {
    srun --overlap --nodes=1 --ntasks=1 --nodelist="$2" --cpu-bind=none --container-image="$image" \
        bash -c "$3" >"$1.log" 2>&1
}
healthy() {
    until step health "$1" "python3 -c 'import urllib.request as u; u.urlopen(\\"http://localhost:$2/health\\")'"; do
        sleep 0.2
    done
}
"""

DATA_PARALLEL = """\
serve="vllm serve m --port 8000 -tp 2 -dp 4 -dpl 2 -dpa n1 -dpp 13345"
step head n1 "exec $serve" &
step other n2 "exec $serve --headless -dpr 2" &
healthy n1 8000
"""

ONE_DEVICE = """\
step first n1 "exec vllm serve m --port 8000" &
healthy n1 8000
step second n1 "exec vllm serve m --port 8001"
echo $? >status
"""

OVER_RAY = """\
ray="--num-gpus=1 --num-cpus=1 --disable-usage-stats"
step head n1 "ray start --head --port=6379 --include-dashboard=false $ray && RAY_ADDRESS=n1:6379 \
    exec vllm serve m --port 8000 -tp 2 --distributed-executor-backend ray" &
step worker n2 "until ray health-check --address=n1:6379; do sleep 0.2; done
    ray start --block --address=n1:6379 $ray" &
healthy n1 8000
"""


def run(cluster: Cluster, shared: PurePosixPath, image: str, nodes: str, script: str) -> int:
    """A job that comes to its end well; its id."""
    options = [f"--nodelist={nodes}", "--ntasks-per-node=1", "--gpus-per-node=4", f"--output={shared}/job.log"]
    job = cluster.sbatch(*options, f"--export=ALL,image={image}", script=STEP + script, cwd=shared)
    assert cluster.wait(job).came_to == "COMPLETED 0:0", cluster.read(shared / "job.log")
    cluster.await_nothing_left(job)
    return job


def test_ranks_of_two_nodes_are_one_server(cluster: Cluster, shared: PurePosixPath, vllm_image: str) -> None:
    job = run(cluster, shared, vllm_image, "n1,n2", DATA_PARALLEL)
    head, other = sorted(ran(cluster, job, "vllm"), key=lambda one: one["headless"])
    assert [one["host"] for one in (head, other)] == ["n1", "n2"]
    assert [one["ranks"] for one in (head, other)] == [[0, 1], [2, 3]]
    # The same devices, and yet not: they are of two nodes.
    assert [one["devices"] for one in (head, other)] == [["0", "1", "2", "3"]] * 2
    assert has(head, "healthy")
    assert has(other, "healthy")


def test_steps_of_one_node_share_its_devices(cluster: Cluster, shared: PurePosixPath, vllm_image: str) -> None:
    run(cluster, shared, vllm_image, "n1", ONE_DEVICE)
    assert cluster.read(shared / "status") == "1\n"
    assert "MemoryError: Free memory on device cuda:0" in cluster.read(shared / "second.log")


@pytest.mark.slow
def test_one_instance_over_ray(cluster: Cluster, shared: PurePosixPath, vllm_image: str) -> None:
    job = run(cluster, shared, vllm_image, "n1,n2", OVER_RAY)
    (server,) = ran(cluster, job, "vllm")
    assert sorted(worker["host"] for worker in server["ray_workers"]) == ["n1", "n2"]
