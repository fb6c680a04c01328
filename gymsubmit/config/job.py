"""`job`: where results go."""

from typing import Annotated

from pydantic import Field

from gymsubmit.config.base import Check, Model, wrong
from gymsubmit.config.names import check_filled_line

# The directory becomes a mount, whose source a shell on the node expands (Pyxis) and whose parts ',' and ':' divide.
_NOT_IN_MOUNTS = ",:$`\"'\\"


def _check_output_path(path: str) -> str:
    check_filled_line(path)
    if not path.startswith("/"):
        message = f"{path!r} is not absolute; write the whole path on the cluster, beginning with /"
        raise wrong(message)
    if bad := next((char for char in path if char in _NOT_IN_MOUNTS), None):
        message = f"holds {bad!r}, which the mount that it becomes cannot; choose a directory without it"
        raise wrong(message)
    return path


class Job(Model):
    """What all jobs of a submission share."""

    output_path: Annotated[str, Check(_check_output_path)] = Field(
        description="Absolute directory on the cluster that submissions are put into.", examples=["/shared/evaluations"]
    )
