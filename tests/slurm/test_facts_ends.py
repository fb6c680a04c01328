"""How steps and jobs end: signals, exit statuses, and what the accounting says of them."""

from pathlib import PurePosixPath

import pytest
from job_values import values_of
from slurm_cluster import Cluster, until

pytestmark = pytest.mark.slow

# server NAME: a step that writes the signals it gets to NAME.signals; ready NAME: waits until it listens to them
SERVER = r"""
cat >server.sh <<'END'
: >"$1.signals"
for signal in TERM INT USR1; do
    trap "echo $signal >>'$1.signals'; exit 7" "$signal"
done
touch "$1.ready"
while :; do
    sleep 0.1
done
END
server() { exec srun --overlap --nodes=1 --ntasks=1 --job-name="$1" bash server.sh "$1"; }
ready() { until [[ -e $1.ready ]]; do sleep 0.1; done; }
id_of() { squeue --noheader --steps --jobs="$SLURM_JOB_ID" --format='%j %i' | sed -n "s/^$1 //p"; }
came_to() { local status=0; wait "$pid" || status=$?; echo "$1=$status $(xargs <"$1.signals")"; }
"""


def test_signals(cluster: Cluster, shared: PurePosixPath) -> None:
    script = (
        SERVER
        + r"""
for signal in TERM USR1 HUP; do
    server "$signal" & pid=$!
    ready "$signal"
    kill -"$signal" "$pid"
    came_to "$signal"
done
server asked & pid=$!
ready asked
scancel --signal=TERM "$(id_of asked)"
came_to asked
server cancelled & pid=$!
ready cancelled
scancel "$(id_of cancelled)"
came_to cancelled
# A function in the background is a shell: srun stays when that is ended.
call() { one --job-name=inner bash server.sh inner; }
call & pid=$!
ready inner
kill "$pid"
came_to inner
echo "still_there=$(id_of inner | wc --lines)"
"""
    )
    assert values_of(cluster, shared, script, "--nodes=1") == {
        # The steps that are left are ended; the job is what its script came to.
        "job": "COMPLETED 0:0",
        "TERM": "137 ",
        "USR1": "7 USR1",
        "HUP": "137 ",
        "asked": "7 TERM",
        "cancelled": "137 ",
        "inner": "143 ",
        "still_there": "1",
    }


def test_exit_statuses(cluster: Cluster, shared: PurePosixPath) -> None:
    script = r"""
two() { step --nodes=2 --ntasks=2 "$@"; }
one bash -c 'exit 3'; echo "status=$?"
one nosuchprogram; echo "not_found=$?"
one "$PWD/values.log"; echo "not_executable=$?"
one bash -c 'kill -TERM $$'; echo "signalled=$?"
two bash -c 'exit $((SLURM_PROCID + 3))'; echo "highest=$?"
two --job-name=bad --kill-on-bad-exit=1 bash -c '((SLURM_PROCID)) && sleep 60; exit 5'; echo "killed_others=$?"
two --wait=1 bash -c '((SLURM_PROCID)) && sleep 60; exit 0'; echo "after_a_clean_end=$?"
echo "job_id=$SLURM_JOB_ID"
exit 143
"""
    values = values_of(cluster, shared, script, "--nodes=2", "--ntasks-per-node=1")
    job = values.pop("job_id")
    assert values == {
        "job": "FAILED 15:0",
        "status": "3",
        "not_found": "2",
        "not_executable": "13",
        "signalled": "143",
        "highest": "4",
        # What srun returns is of the one that was killed; the cause is in the accounting.
        "killed_others": "143",
        "after_a_clean_end": "137",
    }
    steps = cluster.out("login", "sacct", "-n", "-P", "-j", job, "-o", "JobName,State,ExitCode").splitlines()
    assert "bad|FAILED|5:0" in steps


@pytest.mark.parametrize(
    ("script", "came_to"),
    [
        ("exit 4", "FAILED 4:0"),
        ("exit 300", "FAILED 44:0"),
        ("kill -TERM $$", "FAILED 0:15"),
        ("scancel $SLURM_JOB_ID; sleep 60", "CANCELLED 0:0"),
    ],
)
def test_states(cluster: Cluster, script: str, came_to: str) -> None:
    assert cluster.wait(cluster.sbatch("--output=/dev/null", script=f"#!/bin/bash\n{script}\n")).came_to == came_to


def test_services_are_asked_to_end_when_the_script_ends(cluster: Cluster, shared: PurePosixPath) -> None:
    script = SERVER + "server left &\nready left\n"
    assert values_of(cluster, shared, script, "--nodes=1") == {"job": "COMPLETED 0:0"}
    assert cluster.read(shared / "left.signals") == "TERM\n"


def test_cancelled_job_has_its_grace(cluster: Cluster, shared: PurePosixPath) -> None:
    script = SERVER + 'server left &\nready left\nscancel "$SLURM_JOB_ID"\nwait\n'
    assert values_of(cluster, shared, script, "--nodes=1") == {"job": "CANCELLED 0:0"}
    assert cluster.read(shared / "left.signals") == "TERM\n"


def test_time_limit(cluster: Cluster, shared: PurePosixPath) -> None:
    job = cluster.sbatch("--time=0:05", f"--output={shared}/job.log", script="#!/bin/bash\nsleep 600\n")
    successor = cluster.sbatch(f"--dependency=afternotok:{job}", "--output=/dev/null", "--wrap=true")
    # Less than a minute is a minute.
    assert cluster.queued(job, "%l") == ["1:00"]
    assert cluster.wait(job, seconds=180).came_to == "TIMEOUT 0:0"
    assert cluster.wait(successor).came_to == "COMPLETED 0:0"
    assert "DUE TO TIME LIMIT" in cluster.read(shared / "job.log")


@pytest.mark.parametrize(
    ("option", "came_to", "starts", "next_state"),
    [
        ("--requeue", "COMPLETED 0:0", ["start 0", "start 1"], "CANCELLED"),
        ("--no-requeue", "NODE_FAIL 0:0", ["start 0"], "COMPLETED"),
    ],
)
def test_lost_node(
    cluster: Cluster, shared: PurePosixPath, option: str, came_to: str, starts: list[str], next_state: str
) -> None:
    """The same job starts again, unless it says --no-requeue; only then does it count as not ok."""
    script = """#!/bin/bash
echo "start ${SLURM_RESTART_COUNT:-0}" >>starts
((${SLURM_RESTART_COUNT:-0})) || sleep 600
"""
    job = cluster.sbatch("--nodelist=n4", "--exclusive", "--output=/dev/null", option, script=script, cwd=shared)
    successor = cluster.sbatch(
        f"--dependency=afternotok:{job}", "--kill-on-invalid-dep=yes", "--output=/dev/null", "--wrap=true"
    )
    until(cluster.outside(shared / "starts").exists, f"job {job} starts")
    cluster.crash("n4")
    cluster.start("n4")
    assert cluster.wait(job).came_to == came_to
    assert cluster.read(shared / "starts").splitlines() == starts
    assert cluster.wait(successor).state == next_state
