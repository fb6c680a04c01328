"""The container plugin does as Pyxis and enroot do, in all that job scripts rely on."""

from pathlib import Path, PurePosixPath

import pytest
from job_values import values_of
from slurm_cluster import Cluster

IMAGE = "nvcr.io#team/app:1.0"


@pytest.fixture
def image(cluster: Cluster, tmp_path: Path) -> str:
    (tmp_path / "app").write_text('#!/bin/sh\necho "app $*"\n')
    (tmp_path / "app").chmod(0o755)
    return cluster.make_image(
        IMAGE,
        env={"APP_ENV": "image", "PATH": "/opt/app/bin:/usr/bin:/bin"},
        workdir="/workspace",
        files={"/opt/app/bin/app": tmp_path / "app"},
        hidden=("/usr/bin/curl",),
    )


def test_what_a_step_finds_in_its_image(cluster: Cluster, shared: PurePosixPath, image: str) -> None:
    script = f"""
box() {{ one --container-image={image} "$@"; }}
export APP_ENV=job OTHER=job LANG=C.UTF-8
echo "program=$(box app 1)"
echo "workdir=$(box pwd)"
echo "asked_workdir=$(box --container-workdir=/usr/lib pwd)"
echo "variables=$(box sh -c 'echo $APP_ENV $OTHER ${{LANG:-none}} $PATH')"
echo "named_variables=$(box --container-env=APP_ENV,LANG sh -c 'echo $APP_ENV $LANG')"
echo "user=$(box id --user)"
echo "remapped=$(box --container-remap-root id --user)"
echo "slurm=$(box sh -c 'command -v srun sbatch scontrol scancel; ls /etc/slurm; ls /shared /home/alice' | wc --lines)"
echo "home=$(box --container-mount-home ls -d /home/alice)"
box curl; echo "missing_program=$?"
box touch /file; echo "read_only=$?"
box --container-writable touch /file; echo "writable=$?"
box touch /tmp/file; echo "own_tmp=$?"
echo "fresh_tmp=$(box ls /tmp)"
"""
    assert values_of(cluster, shared, script, "--nodes=1") == {
        "job": "COMPLETED 0:0",
        "program": "app 1",
        "workdir": "/workspace",
        "asked_workdir": "/usr/lib",
        "variables": "image job none /opt/app/bin:/usr/bin:/bin",
        "named_variables": "job C.UTF-8",
        "user": "2001",
        "remapped": "0",
        "slurm": "0",
        "home": "/home/alice",
        "missing_program": "2",
        "read_only": "1",
        "writable": "0",
        "own_tmp": "0",
        "fresh_tmp": "",
    }


def test_mounts(cluster: Cluster, shared: PurePosixPath) -> None:
    script = """
box() { one --container-image=base "$@"; }
mkdir 'a b' && echo inside >'a b/file'
here=$PWD
echo "mounted=$(box --container-mounts="$here/a b:/job" cat /job/file)"
box --container-mounts="$here:/job" touch /job/new; echo "written=$?$(ls new)"
box --container-mounts="$here:/job:ro" touch /job/no; echo "read_only=$?$(ls no)"
echo "several=$(box --container-mounts="$here/a b:/1,$here:/2" sh -c 'cat /1/file; ls /2/new' | xargs)"
echo "repeated=$(box --container-mounts="$here:/1" --container-mounts="$here:/2" sh -c 'ls -d /1 /2')"
box --container-mounts=/nope:/job true; echo "missing_source=$?"
"""
    assert values_of(cluster, shared, script, "--nodes=1") == {
        "job": "COMPLETED 0:0",
        "mounted": "inside",
        "written": "0new",
        "read_only": "1",
        "several": "inside /2/new",
        # srun reads them all, but Slurm hands a plugin on the node only the last one.
        "repeated": "/2",
        "missing_source": "1",
    }


def test_what_cannot_start_fails_the_step(cluster: Cluster, shared: PurePosixPath, image: str) -> None:
    script = f"""
one --container-image={image.replace("#", "/")} true; echo "unknown_image=$?"
one --container-image=/nope.sqsh true; echo "missing_file=$?"
one --container-image=base --container-workdir=/nope true; echo "missing_workdir=$?"
one --container-image= true; echo "no_value=$?"
one --container-image=base --container-mounts=a:b true; echo "bad_mount=$?"
one --container-workdir=/nope true; echo "no_image=$?"
"""
    assert values_of(cluster, shared, script, "--nodes=1") == {
        "job": "COMPLETED 0:0",
        "unknown_image": "1",
        "missing_file": "1",
        "missing_workdir": "1",
        "no_value": "255",
        "bad_mount": "255",
        # Only warned about: the step runs on the host.
        "no_image": "0",
    }
    errors = cluster.read(shared / "errors.log")
    assert "failed to import docker image: nvcr.io/team/app:1.0" in errors
    assert "No such file or directory: /nope.sqsh" in errors


def test_a_named_container_keeps_its_files(cluster: Cluster, shared: PurePosixPath) -> None:
    script = """
box() { one --container-name=kept "$@"; }
box --container-image=base --container-writable touch /kept
echo "kept=$(box ls /kept)"
"""
    try:
        found = values_of(cluster, shared, script, "--nodes=1", "--nodelist=n1")
    finally:
        cluster.run("n1", "bash", "-c", "rm -rf /run/box/n.*.kept*", user="root")
    assert found == {"job": "COMPLETED 0:0", "kept": "/kept"}


def test_a_pytorch_image_sets_ranks(cluster: Cluster, shared: PurePosixPath) -> None:
    cluster.make_image("pytorch", env={"PYTORCH_VERSION": "2.9"})
    script = """
export RANK=job LOCAL_RANK=job
step --ntasks=2 --nodes=2 --container-image=pytorch sh -c 'echo "rank_$SLURM_PROCID=$RANK $LOCAL_RANK"'
"""
    assert values_of(cluster, shared, script, "--nodes=2", "--ntasks-per-node=1") == {
        "job": "COMPLETED 0:0",
        "rank_0": "0 0",
        "rank_1": "1 0",
    }


def test_the_step_log_says_what_was_asked_for(cluster: Cluster, shared: PurePosixPath) -> None:
    job = cluster.sbatch(
        f"--nodelist={','.join(cluster.nodes[:2])}",
        "--ntasks-per-node=1",
        "--output=/dev/null",
        script=f"""#!/bin/bash
srun --job-name=server --container-image=base --container-mounts={shared}:/job:ro --container-workdir=/job \\
    --no-container-mount-home bash -c 'exit 3' 'a"b\\'
""",
    )
    cluster.wait(job)
    steps = [event for event in cluster.events(job) if event["step"] == "0"]
    assert {event["node"] for event in steps} == set(cluster.nodes[:2])
    for event in steps:
        assert event["SLURM_JOB_NAME"] == "server"
        assert (event["argv"], event["tasks"]) == (["bash", "-c", "exit 3", 'a"b\\'], 2)
        assert event["container"] == {
            "contained": True,
            "image": "base",
            "workdir": "/job",
            "name": None,
            "save": None,
            "mounts": [f"{shared}:/job:ro"],
            "env": [],
            "unshare": [],
            "mount_home": False,
            "remap_root": None,
            "entrypoint": None,
            "entrypoint_log": None,
            "writable": None,
        }
    ends = [event for event in cluster.events(job, "exit") if event["step"] == "0"]
    assert sorted((event["rank"], event["exit"], event["signal"]) for event in ends) == [(0, 3, 0), (1, 3, 0)]
    (batch,) = [event for event in cluster.events(job) if event["step"] == "batch"]
    assert batch["container"] is None
