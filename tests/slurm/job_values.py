"""Jobs that find something out: what they print as NAME=VALUE, as a dict to compare as a whole."""

import re
from pathlib import PurePosixPath

from slurm_cluster import Cluster

# The job's errors are kept aside, since srun's own may come at any place.
BEGIN = """\
#!/bin/bash
exec 2>errors.log
mapfile -t nodes < <(scontrol show hostnames)
step() { srun --overlap "$@"; }
one() { step --nodes=1 --ntasks=1 "$@"; }
"""


def values_of(cluster: Cluster, directory: PurePosixPath, script: str, *options: str) -> dict[str, str]:
    """Run a job with `script` behind BEGIN, in `directory`; `job` is what it came to."""
    job = cluster.sbatch(f"--output={directory}/values.log", *options, script=BEGIN + script, cwd=directory)
    came_to = cluster.wait(job).came_to
    lines = re.findall(r"^(\w+)=(.*)$", cluster.read(directory / "values.log"), re.MULTILINE)
    assert len(lines) == len(dict(lines)), "a name was printed twice"
    return {"job": came_to, **dict(lines)}
