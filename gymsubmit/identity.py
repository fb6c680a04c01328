"""The name of a submission: its gym job id, which is its run directory's name too."""

import secrets
from datetime import UTC, datetime


def new_gym_job_id() -> str:
    """`gym-job-<UTC YYYYMMDDTHHMMSSZ>-<6 hex>`."""
    return f"gym-job-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
