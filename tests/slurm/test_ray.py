"""The real Ray runs in an image, over nodes: the test cluster is good for it."""

from pathlib import PurePosixPath

import pytest
from slurm_cluster import Cluster

pytestmark = pytest.mark.slow

DRIVER = """\
import socket
import time

import ray

ray.init(address="auto")
while sum(node["Alive"] for node in ray.nodes()) < 2:
    time.sleep(0.2)


# Each actor holds the one CPU of a node.
@ray.remote(num_cpus=1)
class Seat:
    def host(self):
        return socket.gethostname()


seats = [Seat.remote(), Seat.remote()]
print("hosts", *sorted(ray.get([seat.host.remote() for seat in seats])), flush=True)
"""

# The driver runs in the head's step: another container has a /tmp of its own, with no session of Ray in it.
SCRIPT = """\
#!/bin/bash
step() {
    srun --overlap --nodes=1 --ntasks=1 --nodelist="$1" --container-image="$image" --container-mounts="$PWD:/job" \
        bash -c "$2"
}
options="--num-cpus=1 --disable-usage-stats"
step n1 "ray start --head --port=6379 --include-dashboard=false $options && python /job/driver.py" >head.log 2>&1 &
head=$!
step n2 "until ray health-check --address=n1:6379; do sleep 0.2; done; ray start --block --address=n1:6379 $options" \
    >worker.log 2>&1 &
wait "$head"
"""


def test_ray_runs_over_two_nodes(cluster: Cluster, shared: PurePosixPath, ray_image: str) -> None:
    cluster.write(shared / "driver.py", DRIVER)
    job = cluster.sbatch(
        "--nodelist=n1,n2",
        "--ntasks-per-node=1",
        f"--export=ALL,image={ray_image}",
        f"--output={shared}/job.log",
        script=SCRIPT,
        cwd=shared,
    )
    assert cluster.wait(job).came_to == "COMPLETED 0:0", cluster.read(shared / "worker.log")
    assert "hosts n1 n2" in cluster.read(shared / "head.log").splitlines()
    cluster.await_nothing_left(job)
