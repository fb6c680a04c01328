"""What sbatch reads, takes over and accepts, and what follows upon it."""

from pathlib import PurePosixPath

import pytest
from job_values import values_of
from slurm_cluster import Cluster

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("--job-name=a#b --nosuch", "a"),
        ('--job-name="a # b"', "a # b"),
        (r"--job-name=a\#b", "a#b"),
        ("--job-name='a \"b\" $HOME'", 'a "b" $HOME'),
        (r'--job-name="a\"\\"', 'a"\\'),
        (r"--job-name='a\b c\\d e\'f'", r"ab c\d e'f"),
    ],
)
def test_how_a_directive_is_read(cluster: Cluster, words: str, name: str) -> None:
    job = cluster.sbatch("--hold", "--output=/dev/null", script=f"#!/bin/bash\n#SBATCH {words}\n")
    assert cluster.queued(job, "%j") == [name]


@pytest.mark.parametrize(
    "words", ["--job-name=a b", r"--job-name=a\ b", "--nosuch=1", '--job-name="a', "--account=nosuch", "--mem=900G"]
)
def test_what_is_refused(cluster: Cluster, words: str) -> None:
    script = f"#!/bin/bash\n#SBATCH {words}\n"
    done = cluster.run("login", "sbatch", "--output=/dev/null", stdin=script, check=False)
    assert (done.returncode != 0, done.stdout) == (True, "")


def test_what_ends_the_directives(cluster: Cluster) -> None:
    script = """#!/bin/bash

# --- what follows is no directive
##SBATCH --job-name=a
 #SBATCH --job-name=b
#SBATCH --comment=this-one-is
true
#SBATCH --job-name=d
"""
    job = cluster.sbatch("--hold", "--output=/dev/null", "--job-name=given", script=script)
    assert cluster.queued(job, "%j %k") == ["given this-one-is"]


def test_output_goes_to_no_missing_directory(cluster: Cluster, shared: PurePosixPath) -> None:
    assert cluster.wait(cluster.sbatch(f"--output={shared}/no/job.log", "--wrap=true")).came_to == "FAILED 0:53"
    assert not cluster.outside(shared / "no").exists()


def test_unknown_jobs(cluster: Cluster) -> None:
    job = cluster.sbatch("--hold", "--dependency=afternotok:99999", "--output=/dev/null", "--wrap=true")
    assert cluster.queued(job) == ["PENDING"]
    sacct = cluster.run("login", "sacct", "-X", "-n", "-P", "--jobs=99999")
    squeue = cluster.run("login", "squeue", "--noheader", "--jobs=99999", check=False)
    assert (sacct.returncode, sacct.stdout, squeue.returncode, squeue.stdout) == (0, "", 1, "")


def test_afternotok(cluster: Cluster) -> None:
    """It fires after a cancelled job too, whether that ran or not."""

    def job_with_successor(*options: str, script: str) -> tuple[int, int]:
        job = cluster.sbatch("--output=/dev/null", *options, f"--wrap={script}")
        return job, cluster.sbatch(
            f"--dependency=afternotok:{job}", "--kill-on-invalid-dep=yes", "--output=/dev/null", "--wrap=true"
        )

    pairs = {
        "good": job_with_successor("--begin=now+2", script="true"),
        "bad": job_with_successor("--begin=now+2", script="exit 4"),
        "running": job_with_successor(script="sleep 600"),
        "pending": job_with_successor("--begin=now+1hour", script="true"),
    }
    cluster.await_running(pairs["running"][0])
    cluster.run("login", "scancel", str(pairs["running"][0]), str(pairs["pending"][0]))
    assert {
        name: (cluster.wait(job).came_to, cluster.wait(successor).came_to) for name, (job, successor) in pairs.items()
    } == {
        "good": ("COMPLETED 0:0", "CANCELLED 0:0"),
        "bad": ("FAILED 4:0", "COMPLETED 0:0"),
        "running": ("CANCELLED 0:0", "COMPLETED 0:0"),
        "pending": ("CANCELLED 0:0", "COMPLETED 0:0"),
    }


def test_job_submitted_by_a_job_takes_over_its_shape(cluster: Cluster, shared: PurePosixPath) -> None:
    script = r"""
inner='echo "$SLURM_NTASKS $SLURM_GPUS_PER_NODE"; srun --overlap true 2>/dev/null; echo $?'
submit() { sbatch --wait --output="$1" --nodes=1 --wrap "$inner" >/dev/null; echo "$1=$(xargs <"$1")"; }
submit inherited
unset "${!SBATCH_@}" $(compgen -e SLURM_)
submit cleared
"""
    assert values_of(cluster, shared, script, "--nodes=2", "--ntasks-per-node=1", "--gpus-per-node=4") == {
        "job": "COMPLETED 0:0",
        "inherited": "2 4 1",
        "cleared": "0",
    }


def test_environment_beats_the_directives(cluster: Cluster) -> None:
    script = "#!/bin/bash\n#SBATCH --job-name=directive\n"
    done = cluster.run(
        "login",
        "env",
        "SBATCH_JOB_NAME=environment",
        "sbatch",
        "--parsable",
        "--hold",
        "--output=/dev/null",
        stdin=script,
    )
    job = int(done.stdout)
    try:
        assert cluster.queued(job, "%j") == ["environment"]
    finally:
        cluster.run("login", "scancel", str(job))
