"""From a plan to the files of a job, with the templates."""

from gymsubmit.render.partials import JOB_SCRIPT, PLAN_FILE, render

__all__ = ["JOB_SCRIPT", "PLAN_FILE", "render"]
