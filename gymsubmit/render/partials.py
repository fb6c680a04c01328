"""Which templates a plan is written with, and the files that come out."""

from functools import cache
from pathlib import PurePosixPath
from typing import assert_never

from gymsubmit.frozen import Frozen
from gymsubmit.plan import (
    DataParallelStep,
    Driver,
    JobPlan,
    Launch,
    ProgramDriver,
    RayInstanceStep,
    Script,
    ScriptDriver,
    ScriptStep,
    ServerStep,
    StagedFile,
    Step,
)
from gymsubmit.plan_json import plan_json
from gymsubmit.render.environment import BashEnvironment, make_environment, render_template

JOB_SCRIPT = PurePosixPath("job.sh")
PLAN_FILE = PurePosixPath("plan.json")


class Uses(Frozen):
    """Which functions a script needs: one that nothing calls is not written."""

    process_groups: bool
    env: bool
    devices: bool
    ports: bool
    pre_commands: bool
    pre_command_files: bool
    scripts: bool
    script_files: bool
    ray: bool


def render(plan: JobPlan) -> tuple[StagedFile, ...]:
    """The files of a job, `job.sh` first.

    Raises:
        TemplateError: a template could not be rendered.
    """
    script = render_template(
        _environment(),
        "job.sh.j2",
        plan=plan,
        launch=f"launch/{plan.launcher}.sh.j2",
        runtime="parts/slurm.sh.j2" if plan.allocation else "parts/local.sh.j2",
        steps=tuple((_step_template(step), step) for step in plan.steps),
        driver=((_driver_template(plan.driver), plan.driver),),
        uses=_uses(plan),
    )
    return (
        StagedFile(JOB_SCRIPT, script, 0o600),
        StagedFile(PLAN_FILE, plan_json(plan), 0o644),
        *plan.files,
    )


@cache
def _environment() -> BashEnvironment:
    return make_environment()


def _step_template(step: Step) -> str:
    match step:
        case ServerStep():
            return "steps/server.sh.j2"
        case DataParallelStep():
            return "steps/data_parallel.sh.j2"
        case RayInstanceStep():
            return "steps/ray_instance.sh.j2"
        case ScriptStep():
            return "steps/script.sh.j2"
        case _:
            assert_never(step)


def _driver_template(driver: Driver) -> str:
    match driver:
        case ProgramDriver():
            return "steps/program_driver.sh.j2"
        case ScriptDriver():
            return "steps/script_driver.sh.j2"
        case _:
            assert_never(driver)


def _uses(plan: JobPlan) -> Uses:
    steps: tuple[Step | Driver, ...] = (*plan.steps, plan.driver)
    launches: list[Launch] = [step.launch for step in steps]
    pre_commands = [launch.pre_command for launch in launches if launch.pre_command is not None]
    scripts: list[Script] = [step.script for step in steps if isinstance(step, ScriptStep | ScriptDriver)]
    return Uses(
        process_groups=not plan.allocation,
        env=bool(pre_commands or scripts or any(launch.env for launch in launches)),
        devices=any(launch.devices is not None for launch in launches),
        ports=any(launch.ports for launch in launches),
        pre_commands=any(script.text is not None for script in pre_commands),
        pre_command_files=any(script.file is not None for script in pre_commands),
        scripts=any(script.text is not None for script in scripts),
        script_files=any(script.file is not None for script in scripts),
        ray=any(isinstance(step, RayInstanceStep) for step in steps),
    )
