"""Images in which stand-ins play what cannot run here, and what those recorded."""

import sys
from pathlib import Path, PurePosixPath
from typing import Any

from slurm_cluster import Cluster

PROGRAMS = Path(__file__).parent / "programs"
sys.path.append(str(PROGRAMS))

from records import event_of, read  # noqa: E402

# Where the programs and their records are in every image, and where the records are outside.
INSIDE = PurePosixPath("/opt/stand-ins")
RECORDS = PurePosixPath("/shared/records")

Ran = dict[str, Any]


def make_image(cluster: Cluster, name: str, *programs: str, venv: Path | None = None, **env: str) -> str:
    """An image with stand-ins, each PROGRAM/PROGRAM below programs/, and with a virtual environment's packages."""
    path = [*(f"{INSIDE}/{program}" for program in programs), *([f"{venv}/bin"] if venv else [])]
    records = cluster.outside(RECORDS)
    records.mkdir(exist_ok=True)
    records.chmod(0o1777)
    return cluster.make_image(
        name,
        env={"PATH": ":".join([*path, "/usr/local/bin:/usr/bin:/bin"]), "STAND_IN_RECORDS": str(RECORDS), **env},
        workdir="/workspace",
        files={str(INSIDE / entry.name): entry for entry in PROGRAMS.iterdir() if not entry.name.startswith(".")},
        trees={str(venv): venv} if venv else None,
        mounts=(f"{RECORDS}:{RECORDS}",),
    )


def make_image_file(cluster: Cluster, path: PurePosixPath, image: str) -> PurePosixPath:
    """A file that is good for --container-image, as a squashfs file is, and stands for `image`."""
    cluster.outside(path.parent).mkdir(parents=True, exist_ok=True)
    return cluster.write(path, f"#box-image {image}\n")


def ran(cluster: Cluster, job: int, program: str = "*") -> list[Ran]:
    """The records of a job's processes, in the order in which they started."""
    found = read(cluster.outside(RECORDS), program)
    return [one for one in found if one["environment"].get("SLURM_JOB_ID") == str(job)]


def has(one: Ran, event: str) -> bool:
    """Did this happen to the process?"""
    return event_of(one, event) is not None
