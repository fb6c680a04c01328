"""Where Slurm puts a step's tasks, what steps share and what they get: what the job scripts take for granted."""

from pathlib import PurePosixPath

import pytest
from job_values import values_of
from slurm_cluster import Cluster, until

pytestmark = pytest.mark.slow


def test_where_tasks_start(cluster: Cluster, shared: PurePosixPath) -> None:
    script = r"""
where() { echo $SLURM_PROCID:$SLURM_NODEID:$(hostname); }
export -f where
echo "no_counts=$(step hostname | wc --lines)"
echo "nodelist_alone=$(step --nodelist="${nodes[1]}" hostname | wc --lines)"
step --nodes=1 --nodelist="${nodes[1]}" hostname; echo "nodes_without_ntasks=$?"
echo "no_nodelist=$(one hostname)"
echo "all_three=$(one --nodelist="${nodes[2]}" hostname)"
echo "nodelist_order=$(step --nodes=3 --ntasks=3 --nodelist=n3,n1,n2 bash -c where | sort | xargs)"
echo "list_longer_than_nodes=$(one --nodelist=n2,n3 hostname)"
echo "names=$(one --nodelist=n2 bash -c 'echo $SLURM_JOB_NODELIST $SLURM_STEP_NODELIST $SLURM_NODEID')"
step --nodes=1 --ntasks=8 --nodelist=n2 true; echo "more_tasks_than_cpus=$?"
step --nodes=1 --ntasks=8 --nodelist=n2 --overcommit true; echo "overcommit=$?"
one --nodelist=nosuch true; echo "foreign_node=$?"
"""
    assert values_of(cluster, shared, script, "--nodelist=n4,n3,n2,n1", "--ntasks-per-node=1") == {
        "job": "COMPLETED 0:0",
        "no_counts": "4",
        "nodelist_alone": "4",
        "nodes_without_ntasks": "1",
        "no_nodelist": "n1",
        "all_three": "n3",
        "nodelist_order": "0:0:n1 1:1:n2 2:2:n3",
        "list_longer_than_nodes": "n2",
        "names": "n[1-4] n2 0",
        "more_tasks_than_cpus": "1",
        "overcommit": "0",
        "foreign_node": "1",
    }


def test_what_steps_share(cluster: Cluster, shared: PurePosixPath) -> None:
    script = r"""
gpus() { one "$@" bash -c 'echo $CUDA_VISIBLE_DEVICES'; }
echo "all_gpus=$(gpus)"
echo "two_gpus=$(gpus --gpus-per-node=2)"
echo "gres_0=$(gpus --gres=gpu:0)"
echo "gpus_per_node_0=$(gpus --gpus-per-node=0)"
# Each of the two waits for the other, so that both run at once.
mkfifo there back
one --gpus-per-node=1 bash -c 'echo $CUDA_VISIBLE_DEVICES >first; echo >there; read -r <back' &
one --gpus-per-node=1 bash -c 'echo $CUDA_VISIBLE_DEVICES >second; read -r <there; echo >back'
wait
echo "at_the_same_time=$(cat first) $(cat second)"
one --mem=6000 bash -c 'echo >there; read -r <back' &
one --mem=6000 bash -c 'read -r <there; echo >back'; echo "memory_adds_up=$?"
wait
one --mem=9000 true; echo "more_memory_than_the_job=$?"
# Without --overlap the second waits, whichever that is.
for _ in 1 2; do
    srun --nodes=1 --ntasks=1 bash -c 'echo begin >>order; sleep 1; echo end >>order' &
done
wait
echo "not_overlapping=$(xargs <order)"
echo "stdin=$(printf '1\n2\n' | while read -r line; do one echo "$line"; done | xargs)"
echo "no_stdin=$(printf '1\n2\n' | while read -r line; do one --input=none echo "$line"; done | xargs)"
"""
    assert values_of(cluster, shared, script, "--nodes=1", "--gpus-per-node=4", "--mem=8000") == {
        "job": "COMPLETED 0:0",
        "all_gpus": "0,1,2,3",
        "two_gpus": "0,1",
        "gres_0": "0,1,2,3",
        "gpus_per_node_0": "",
        "at_the_same_time": "0 0",
        "memory_adds_up": "0",
        "more_memory_than_the_job": "1",
        "not_overlapping": "begin end begin end",
        "stdin": "1",
        "no_stdin": "1 2",
    }


def test_what_environment_a_step_gets(cluster: Cluster, shared: PurePosixPath) -> None:
    script = r"""
export SET=job LINES_=$'1\n2'
echo "as_it_is=$(one bash -c 'echo "$SET ${LINES_@Q}"')"
echo "set_already=$(one --export=ALL,SET=step bash -c 'echo "$SET"')"
echo "new=$(one --export=ALL,NEW=step bash -c 'echo "$NEW"')"
echo "comma=$(one --export=ALL,NEW=a,b bash -c 'echo "$NEW"')"
echo "name=$(one --job-name=server bash -c 'echo "$SLURM_JOB_NAME"')"
echo "missing_directory=$(one --chdir=/nope pwd)"
"""
    assert values_of(cluster, shared, script, "--nodes=1") == {
        "job": "COMPLETED 0:0",
        "as_it_is": r"job $'1\n2'",
        "set_already": "job",
        "new": "step",
        "comma": "a",
        "name": "server",
        "missing_directory": "/tmp",
    }


def test_export_none_reaches_the_steps(cluster: Cluster, shared: PurePosixPath) -> None:
    script = """
one sh -c true; echo "default=$?"
one --export=ALL sh -c true; echo "all=$?"
"""
    assert values_of(cluster, shared, script, "--nodes=1", "--export=NONE") == {
        "job": "COMPLETED 0:0",
        # No PATH: the program is not found.
        "default": "2",
        "all": "0",
    }


def test_components_of_a_heterogeneous_job(cluster: Cluster, shared: PurePosixPath) -> None:
    head = "#SBATCH --nodes=1 --ntasks-per-node=1 --exclusive\n#SBATCH hetjob\n"
    job = cluster.sbatch(
        f"--output={shared}/job.log",
        script=f"""#!/bin/bash
{head}#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 --exclusive
tell() {{ echo $SLURM_PROCID $(hostname) $SLURM_JOB_ID $CUDA_VISIBLE_DEVICES; }}
export -f tell
scontrol show hostnames $SLURM_JOB_NODELIST_HET_GROUP_0
scontrol show hostnames $SLURM_JOB_NODELIST_HET_GROUP_1
hostname
srun --overlap bash -c tell
srun --overlap --het-group=1 bash -c tell | sort
srun --overlap --het-group=0,1 hostname | wc --lines
exit 6
""",
    )
    assert cluster.wait(job).came_to == "FAILED 6:0"
    lines = cluster.read(shared / "job.log").splitlines()
    first, second, third = lines[:3]
    assert lines[3:] == [
        first,
        f"0 {first} {job}",
        f"0 {second} {job} 0,1,2,3",
        f"1 {third} {job} 0,1,2,3",
        "3",
    ]
    # The other component's line comes late.
    entries = until(lambda: cluster.accounting(job)[1:] and cluster.accounting(job), "both components are accounted")
    assert [entry.job for entry in entries] == [f"{job}+0", f"{job}+1"]
