"""From what the user wrote to what will run: the only place that decides."""

from gymsubmit.lower.job import FIXED_JOB_ID, Run, lower

__all__ = ["FIXED_JOB_ID", "Run", "lower"]
