"""The addresses that services are found at, in a job whose nodes are components of their own."""

from pathlib import PurePosixPath

from slurm_cluster import Cluster
from submissions import Login

# The driver, on the first component's node, dials a server on each.
CONFIG = """\
services:
  one: {{type: command, node_pool: one, port: 8123, command: [python3, -m, http.server, "8123"]}}
  two: {{type: command, node_pool: two, port: 8124, command: [python3, -m, http.server, "8124"]}}
compute:
  cluster:
    type: slurm
    walltime: 10
    container_runtime: none
    heterogeneous: true
    node_pools:
      one: {{gpus_per_node: 1}}
      two: {{}}
driver:
  benchmarks:
    dial:
      command: |
        tell() {{
            curl --silent --show-error --fail --retry 20 --retry-connrefused --output /dev/null "$2" || exit
            echo "$(scontrol show hostnames "$1") $2" >>artifacts/urls
        }}
        tell "$SLURM_JOB_NODELIST_HET_GROUP_0" "$GYM_SERVICE_ONE_URL"
        tell "$SLURM_JOB_NODELIST_HET_GROUP_1" "$GYM_SERVICE_TWO_URL"
job:
  output_path: {shared}
"""

# As on Debian and Ubuntu, where a host's own name stands for 127.0.1.1 in its /etc/hosts.
GETENT = """\
#!/bin/bash
[[ $* != "ahosts $(hostname)" ]] || exec echo "127.0.1.1 STREAM $2"
exec /usr/bin/getent "$@"
"""


def dialled(cluster: Cluster, shared: PurePosixPath, login: Login, *overrides: str, **variables: str) -> list[str]:
    """The host part of the URL of each service: an address whose last number is for the service's node."""
    config = cluster.write(shared / "config.yaml", CONFIG.format(shared=shared))
    submission = login.submit(config, *overrides, **variables)
    assert submission.wait().came_to == "COMPLETED 0:0", submission.logs()
    lines = cluster.read(submission.bench_dir / "artifacts" / "urls").splitlines()
    numbers = {host: address.rpartition(".")[2] for host, address in cluster.addresses.items()}
    return [url.replace(f".{numbers[host]}:", ".NODE:") for host, url in map(str.split, lines)]


def test_addresses_are_those_of_the_interface(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    assert dialled(cluster, shared, login, "compute.cluster.network_interface=ib0") == [
        "http://10.78.0.NODE:8123",
        "http://10.78.0.NODE:8124",
    ]


def test_a_host_whose_own_name_is_a_loopback_address(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    cluster.outside(shared / "bin").mkdir()
    cluster.write(shared / "bin" / "getent", GETENT, mode=0o755)
    assert dialled(cluster, shared, login, PATH=f"{shared}/bin:/usr/bin:/bin") == [
        "http://10.77.0.NODE:8123",
        "http://10.77.0.NODE:8124",
    ]
