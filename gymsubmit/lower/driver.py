"""The driver step: what evaluates the policy, and how it is told where the policy is."""

from collections.abc import Mapping

from gymsubmit.config.driver import Benchmark
from gymsubmit.config.placeholders import escape
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.frozen import Frozen
from gymsubmit.lower.environment import variables
from gymsubmit.lower.launch import Launches
from gymsubmit.lower.nodes import NodeRange
from gymsubmit.lower.overrides import flatten, with_defaults
from gymsubmit.lower.scripts import lower_script
from gymsubmit.plan import Driver, GymInstall, Launch, ProgramDriver, ScriptDriver, StagedFile, Variable
from gymsubmit.words import Word

NAME = "driver"
# What services want for an API key that none of ours checks.
POLICY_API_KEY = "dummy"


class PolicyEndpoint(Frozen):
    """Where a benchmark finds the policy."""

    base_url: str
    model_name: str


def policy_endpoint(config: SubmitConfig) -> PolicyEndpoint | None:
    """Where benchmarks find the policy, None without one."""
    policy = config.policy
    if policy is None:
        return None
    name = getattr(policy, "policy_model_name", None)
    port = getattr(policy, "port", None)
    return PolicyEndpoint(f"http://{config.driver.policy_host}:{port}/v1", str(name))


def lower_driver(
    config: SubmitConfig, benchmark: Benchmark, launches: Launches
) -> tuple[Driver, tuple[StagedFile, ...]]:
    """The driver of a benchmark's job, and the files it needs."""
    driver = config.driver
    install = None if driver.gym_install is None else GymInstall(driver.gym_install.repo, driver.gym_install.ref, ".")
    endpoint = policy_endpoint(config)
    if benchmark.command is None:
        launch = _launch(config, launches, ())
        return ProgramDriver(launch, install, _prepare(benchmark), _run(config, benchmark, launches, endpoint)), ()
    script = lower_script(benchmark.command, f"{NAME}.command", launches.directory)
    launch = _launch(config, launches, _policy_variables(launches, endpoint))
    if script.script is None:
        return ProgramDriver(launch, install, _prepare(benchmark), script.argv or ()), script.files
    return ScriptDriver(launch, install, _prepare(benchmark), script.script), script.files


def _launch(config: SubmitConfig, launches: Launches, own: tuple[Variable, ...]) -> Launch:
    driver, directory = config.driver, launches.directory
    given = variables(driver.env)
    names = {variable.name for variable in given}
    return launches.launch(
        NAME,
        NodeRange(launches.nodes.driver, 1),
        image=driver.container,
        mounts=(f"{directory}:{directory}", *driver.mounts),
        workdir=directory,
        env=(*(variable for variable in own if variable.name not in names), *given),
        srun_args=driver.srun_args,
    )


def _policy_variables(launches: Launches, endpoint: PolicyEndpoint | None) -> tuple[Variable, ...]:
    directory = Variable("NEMO_GYM_BENCH_DIR", launches.directory)
    if endpoint is None:
        return (directory,)
    return (
        directory,
        Variable("NEMO_GYM_POLICY_BASE_URL", endpoint.base_url),
        Variable("NEMO_GYM_POLICY_MODEL_NAME", endpoint.model_name),
        Variable("NEMO_GYM_POLICY_API_KEY", POLICY_API_KEY),
    )


def _prepare(benchmark: Benchmark) -> tuple[Word, ...] | None:
    return ("gym", "eval", "prepare", *flatten(benchmark.prepare)) if benchmark.prepare else None


def _run(
    config: SubmitConfig, benchmark: Benchmark, launches: Launches, endpoint: PolicyEndpoint | None
) -> tuple[Word, ...]:
    directory = launches.directory
    defaults: dict[str, object] = {}
    if endpoint is not None:
        # The driver's config would resolve a `${` in them.
        defaults["policy_base_url"] = escape(endpoint.base_url, in_shell=False)
        defaults["policy_model_name"] = escape(endpoint.model_name, in_shell=False)
        defaults["policy_api_key"] = POLICY_API_KEY
    defaults["output_jsonl_fpath"] = str(directory / "artifacts" / "rollouts.jsonl")
    defaults["require_complete"] = True
    defaults["observability_enabled"] = True
    if _observed(benchmark.run):
        defaults["model_call_capture_dir"] = str(directory / "model-calls")
    words: tuple[Word, ...] = ("gym", "eval", "run")
    if endpoint is not None and config.driver.policy_model_type:
        words += ("--model-type", config.driver.policy_model_type)
    return (*words, *flatten(with_defaults(benchmark.run, defaults)))


def _observed(run: Mapping[str, object]) -> bool:
    values = [run[key] for prefix in ("", "+", "++") if (key := prefix + "observability_enabled") in run]
    return values[-1] not in (None, False) if values else True
