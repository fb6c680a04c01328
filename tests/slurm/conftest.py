"""Tests with a real Slurm cluster, which is up before pytest starts: `make test-slurm` sees to that."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest
from slurm_cluster import SCRIPTS, Cluster
from stand_ins import make_image
from submissions import ROOT, Login, requirements


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("slurm")


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """The cluster at CLUSTER_STATE, which says that one is up there, or the one that was brought up by hand."""
    given = os.environ.get("CLUSTER_STATE")
    state = Path(given or f"/var/tmp/gymsubmit-cluster-{os.getuid()}")
    up = subprocess.run([SCRIPTS / "status.sh"], capture_output=True, text=True, check=False)
    if up.returncode == 0:
        return Cluster(state)
    if given:
        pytest.fail(f"the cluster at CLUSTER_STATE={state} is not up:\n{up.stdout}{up.stderr}", pytrace=False)
    can = subprocess.run([SCRIPTS / "can.sh"], capture_output=True, text=True, check=False)
    pytest.skip(can.stdout.strip() or f"no cluster is up: `make test-slurm` starts one, or {SCRIPTS}/up.sh")


@pytest.fixture(autouse=True)
def no_job_outlives_its_test(cluster: Cluster) -> Iterator[None]:
    yield
    cluster.cancel_submitted()


@pytest.fixture
def shared(cluster: Cluster, request: pytest.FixtureRequest) -> PurePosixPath:
    """A directory of the test's own that all hosts see."""
    return cluster.make_directory(request.node.originalname)


@pytest.fixture(scope="session")
def virtual_environment() -> Callable[..., Path]:
    """Makes virtual environments, at the same path for this machine, the hosts and images that take it in as a tree.

    Called with requirements as pip takes them. What was made once stays for later runs (see cluster/venv.sh).
    """

    def make(*requirements: str) -> Path:
        done = subprocess.run([SCRIPTS / "venv.sh", *requirements], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return Path(done.stdout.strip())

    return make


@pytest.fixture(scope="session")
def ray_image(cluster: Cluster, virtual_environment: Callable[..., Path]) -> str:
    """An image with the real Ray and Hydra."""
    venv = virtual_environment("ray==2.60.0", "hydra-core==1.3.2")
    return cluster.make_image(
        "ray", env={"PATH": f"{venv}/bin:/usr/local/bin:/usr/bin:/bin"}, trees={str(venv): venv}, workdir="/tmp"
    )


@pytest.fixture(scope="session")
def login(
    cluster: Cluster, virtual_environment: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Login:
    """The login node, with this gymsubmit as its wheel has it."""
    built = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(built)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = built.glob("*.whl")
    packages = cluster.make_directory("gymsubmit")
    zipfile.ZipFile(wheel).extractall(cluster.outside(packages))
    return Login(cluster, virtual_environment(*requirements()) / "bin" / "python", packages)


@pytest.fixture(scope="session")
def vllm_image(cluster: Cluster, virtual_environment: Callable[..., Path]) -> str:
    """An image with the stand-in for vLLM, and the real Ray."""
    venv = virtual_environment("ray==2.60.0", "hydra-core==1.3.2")
    return make_image(cluster, "nvcr.io#nvidia/vllm:25.09", "vllm", venv=venv)
