"""What the driver runs for each benchmark, and what it is told of the policy."""

from pathlib import PurePosixPath
from typing import Any

import pytest
from configs import command, pools, vllm
from plans import ALONE, DIRECTORY, driver, driver_launch, plan, plans

from gymsubmit.plan import Container, GymInstall, ProgramDriver, Script, ScriptDriver, StagedFile, Variable
from gymsubmit.words import RuntimeEnv, UserShell, Word

EVAL_RUN = ("gym", "eval", "run")
POLICY = (
    "--model-type",
    "openai_model",
    '+policy_base_url="http://localhost:8000/v1"',
    "+policy_model_name=org/model",
    "+policy_api_key=dummy",
)
DEFAULTS = (
    f"+output_jsonl_fpath={DIRECTORY}/artifacts/rollouts.jsonl",
    "+require_complete=true",
    "+observability_enabled=true",
    f"+model_call_capture_dir={DIRECTORY}/model-calls",
)
# What a script is told, which no Hydra override tells.
BENCH_DIR = Variable("NEMO_GYM_BENCH_DIR", DIRECTORY)
POLICY_VARIABLES = (
    BENCH_DIR,
    Variable("NEMO_GYM_POLICY_BASE_URL", "http://localhost:8000/v1"),
    Variable("NEMO_GYM_POLICY_MODEL_NAME", "org/model"),
    Variable("NEMO_GYM_POLICY_API_KEY", "dummy"),
)
NO_POLICY = {"c": command()}


def argv(run: dict[str, Any], services: dict[str, Any] | None = None, **fields: Any) -> tuple[Word, ...]:
    """The command of a benchmark with this `run`; `fields` are the driver's."""
    made = plan(services, driver={"benchmarks": {"b": {"run": run}}} | fields).driver
    assert isinstance(made, ProgramDriver)
    return made.argv


def test_a_benchmark_with_a_policy() -> None:
    assert plan().driver == ProgramDriver(
        driver_launch(), install=None, prepare=None, argv=(*EVAL_RUN, *POLICY, *DEFAULTS, "+limit=1")
    )


def test_a_benchmark_without_a_policy_is_told_of_none() -> None:
    assert argv({"limit": 1}, NO_POLICY) == (*EVAL_RUN, *DEFAULTS, "+limit=1")


def test_a_policy_is_asked_for_by_its_served_name_at_its_port() -> None:
    services = {"p": vllm(port=9000, served_model_name="short")}
    assert argv({}, services, policy_model="p") == (
        *(*EVAL_RUN, "--model-type", "openai_model"),
        *('+policy_base_url="http://localhost:9000/v1"', "+policy_model_name=short", "+policy_api_key=dummy"),
        *DEFAULTS,
    )


def test_a_policy_that_is_somebodys_own_server() -> None:
    services = {"p": command(port=9000, model="m", health_check={})}
    assert argv({}, services, policy_model="p")[5:8] == (
        '+policy_base_url="http://localhost:9000/v1"',
        "+policy_model_name=m",
        "+policy_api_key=dummy",
    )


def test_the_host_that_a_policy_is_reached_at_and_its_model_type_can_be_chosen() -> None:
    words = argv({}, policy_host="proxy.example", policy_model_type="vllm_model")
    assert words[3:6] == ("--model-type", "vllm_model", '+policy_base_url="http://proxy.example:8000/v1"')


def test_a_policy_without_a_model_type() -> None:
    assert argv({}, policy_model_type="") == (*EVAL_RUN, *POLICY[2:], *DEFAULTS)


def test_what_a_policy_is_called_is_text_even_where_the_drivers_config_would_resolve_it() -> None:
    services = {"p": vllm(model="org/${HOME}${oc.env:HOME}")}
    assert argv({}, services, policy_model="p", policy_host="${HOST}")[5:7] == (
        '+policy_base_url="http://\\${HOST}:8000/v1"',
        '+policy_model_name="org/\\${HOME}\\${oc.env:HOME}"',
    )


def test_a_pinned_policy_is_on_localhost_since_the_driver_is_with_it() -> None:
    services = {"judge": vllm(node_pool="a", port=8001), "p": vllm(node_pool="b")}
    made = plan(services, compute={"node_pools": pools(a=1, b=1)}, driver={"policy_model": "p"})
    assert made.driver.launch.placement == made.steps[1].launch.placement
    assert isinstance(made.driver, ProgramDriver)
    assert made.driver.argv[5] == '+policy_base_url="http://localhost:8000/v1"'


@pytest.mark.parametrize("prefix", ["", "+", "++"])
def test_what_a_benchmark_sets_itself_beats_the_default_under_any_spelling(prefix: str) -> None:
    run = {f"{prefix}output_jsonl_fpath": "/mine.jsonl", f"{prefix}require_complete": False}
    plus = prefix or "+"
    assert argv(run) == (
        *(*EVAL_RUN, *POLICY, *DEFAULTS[2:]),
        *(f"{plus}output_jsonl_fpath=/mine.jsonl", f"{plus}require_complete=false"),
    )


@pytest.mark.parametrize("prefix", ["", "+", "++"])
@pytest.mark.parametrize(
    ("value", "written", "kept"), [(False, "false", False), (None, "null", False), (True, "true", True)]
)
def test_calls_of_the_model_are_kept_only_while_observability_is_on(
    prefix: str, value: bool | None, written: str, kept: bool
) -> None:
    assert argv({f"{prefix}observability_enabled": value}) == (
        *(*EVAL_RUN, *POLICY, *DEFAULTS[:2], *DEFAULTS[3:] * kept),
        f"{prefix or '+'}observability_enabled={written}",
    )


def test_where_the_calls_of_the_model_are_kept_can_be_chosen_whatever_is_observed() -> None:
    run = {"observability_enabled": False, "model_call_capture_dir": "/mine"}
    assert argv(run)[-2:] == ("+observability_enabled=false", "+model_call_capture_dir=/mine")


def test_run_is_written_as_hydra_overrides_in_its_order() -> None:
    run = {
        "config_paths": ["a b.yaml", "c.yaml"],
        "nested": {"on": True, "none": None, "deep": {"x": "1e3"}},
        "judge": "${oc.env:GYM_SERVICE_JUDGE_URL}/v1",
        "++limit": 1.5,
    }
    assert argv(run)[-6:] == (
        '+config_paths=["a b.yaml",c.yaml]',
        "+nested.on=true",
        "+nested.none=null",
        '+nested.deep.x="1e3"',
        '+judge="${oc.env:GYM_SERVICE_JUDGE_URL}/v1"',
        "++limit=1.5",
    )


def test_results_are_kept_apart_by_benchmark() -> None:
    first, second = plans(driver={"benchmarks": {"a": {}, "b.1": {}}})
    assert (first.name, first.directory) == ("a", PurePosixPath("/results/gym-job-1/a"))
    assert (second.name, second.directory) == ("b.1", PurePosixPath("/results/gym-job-1/b.1"))
    for made in (first, second):
        assert isinstance(made.driver, ProgramDriver)
        assert f"+output_jsonl_fpath={made.directory}/artifacts/rollouts.jsonl" in made.driver.argv
        assert f"+model_call_capture_dir={made.directory}/model-calls" in made.driver.argv


def test_prepare_comes_before_and_is_told_nothing_of_the_policy() -> None:
    assert driver(benchmark={"prepare": {"dataset": "a b", "++n": 2}}) == ProgramDriver(
        driver_launch(),
        install=None,
        prepare=("gym", "eval", "prepare", '+dataset="a b"', "++n=2"),
        argv=(*EVAL_RUN, *POLICY, *DEFAULTS),
    )


def test_an_empty_prepare_is_left_out() -> None:
    made = driver(benchmark={"prepare": {}})
    assert made.prepare is None


@pytest.mark.parametrize(
    ("install", "installed"),
    [
        ({"ref": "v1"}, GymInstall("https://github.com/NVIDIA-NeMo/gym", "v1", ".")),
        ({"ref": "main", "repo": "/src/gym"}, GymInstall("/src/gym", "main", ".")),
    ],
)
@pytest.mark.parametrize("benchmark", [{}, {"command": "x"}, {"command": "#!/bin/x"}])
def test_gym_is_installed_before_any_benchmark(
    install: dict[str, str], installed: GymInstall, benchmark: dict[str, Any]
) -> None:
    made = plan(driver={"benchmarks": {"b": benchmark}, "gym_install": install}).driver
    assert made.install == installed


def test_a_script_is_told_by_variables_what_it_runs_against() -> None:
    assert driver(benchmark={"command": "./harness", "prepare": {"a": 1}}) == ScriptDriver(
        driver_launch(env=POLICY_VARIABLES),
        install=None,
        prepare=("gym", "eval", "prepare", "+a=1"),
        script=Script(UserShell("./harness"), None),
    )


def test_a_script_without_a_policy_is_told_its_directory_alone() -> None:
    made = driver(NO_POLICY, benchmark={"command": "./harness"})
    assert made.launch.env == (BENCH_DIR,)


def test_a_script_that_names_its_interpreter_runs_by_it() -> None:
    text = "#!/usr/bin/env -S python3 -u\nprint(1)\n"
    made = plan(driver={"benchmarks": {"b": {"command": text}}})
    assert made.driver == ProgramDriver(
        driver_launch(env=POLICY_VARIABLES),
        install=None,
        prepare=None,
        argv=("/usr/bin/env", "-S python3 -u", DIRECTORY / "driver.command"),
    )
    assert made.files == (StagedFile(PurePosixPath("driver.command"), text, 0o755),)


def test_the_drivers_own_variables_beat_what_a_script_is_told() -> None:
    env = {"A": "lit:1", "NEMO_GYM_POLICY_API_KEY": "runtime:KEY"}
    fields = {"benchmarks": {"b": {"command": "x"}}, "env": env}
    assert plan(driver=fields).driver.launch.env == (
        *POLICY_VARIABLES[:3],
        Variable("A", "1"),
        Variable("NEMO_GYM_POLICY_API_KEY", RuntimeEnv("KEY")),
    )


def test_how_the_driver_is_started() -> None:
    fields = {
        "container": "nvcr.io/nvidia/gym:1",
        "mounts": ["/data", "/a b:/c:ro"],
        "env": {"NVIDIA_VISIBLE_DEVICES": "lit:void", "A": "lit:"},
        "srun_args": {"label": True, "mem": "4G", "verbose": False},
    }
    hook = Variable("NVIDIA_VISIBLE_DEVICES", "void")
    assert plan(driver=fields).driver.launch == driver_launch(
        container=Container(
            "nvcr.io#nvidia/gym:1",
            (f"{DIRECTORY}:{DIRECTORY}", "/data", "/a b:/c:ro"),
            DIRECTORY,
            (hook,),
            ("NVIDIA_VISIBLE_DEVICES",),
        ),
        env=(hook, Variable("A", "")),
        placement=ALONE,
        srun_options=("--label", "--mem=4G"),
    )


def test_when_the_driver_starts_and_how_long_it_may_take_to_end() -> None:
    default, chosen = plan(), plan(driver={"overlap_startup": True, "grace_seconds": 7})
    assert (default.overlap_startup, default.grace_seconds) == (False, 30)
    assert (chosen.overlap_startup, chosen.grace_seconds) == (True, 7)
