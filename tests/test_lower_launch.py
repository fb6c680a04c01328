"""How each service is started: under which name, in which container, with which mounts and options."""

from pathlib import PurePosixPath
from typing import Any

import pytest
from configs import command, pools, vllm
from plans import ALONE, DIRECTORY, launches, plan, service_launch, steps

from gymsubmit.plan import Container, Launch, Script, ScriptStep, ServerStep, StagedFile, Variable
from gymsubmit.words import UserShell

TMP = PurePosixPath("/tmp")
NO_CONTAINERS = {"container_runtime": "none"}
LOCAL = {"type": "local"}
# More than is carried in the job script.
LONG = "echo " + "x" * 30_000


def launch(service: dict[str, Any], **sections: Any) -> Launch:
    return launches({"s": service}, **sections)["s"]


@pytest.mark.parametrize(
    ("name", "key"), [("policy", "policy"), ("my.judge-1", "my_judge_1"), ("1st", "1st"), ("Policy", "policy")]
)
def test_a_step_is_called_as_the_service_is(name: str, key: str) -> None:
    assert launches({name: vllm()})[name] == service_launch(name, key=key)


def test_the_steps_come_in_the_order_of_the_services() -> None:
    assert list(steps({"z": command(), "a": command(), "m": command()})) == ["z", "a", "m"]


@pytest.mark.parametrize(
    ("compute", "name"),
    [({}, "pyxis"), ({"container_runtime": "pyxis"}, "pyxis"), (NO_CONTAINERS, "srun"), (LOCAL, "local")],
)
def test_what_starts_the_steps(compute: dict[str, Any], name: str) -> None:
    assert plan(compute=compute).launcher == name


@pytest.mark.parametrize(
    ("image", "pyxis"),
    [
        ("/shared/a b.sqsh", "/shared/a b.sqsh"),
        ("nvcr.io/nvidia/vllm:25.09", "nvcr.io#nvidia/vllm:25.09"),
        ("docker://docker.io/vllm/vllm-openai:v1", "vllm/vllm-openai:v1"),
    ],
)
def test_an_image_is_spelled_as_the_runtime_spells_it(image: str, pyxis: str) -> None:
    assert launch(vllm(container=image)).container == Container(pyxis, (), TMP, (), ())


def test_a_service_begins_in_tmp_with_its_mounts_in_their_order() -> None:
    mounts = ["/models:/models:ro", "/cache", "/a b:/c", "tmpfs:/scratch"]
    assert launch(vllm(mounts=mounts)).container == Container("vllm/vllm-openai:v1", tuple(mounts), TMP, (), ())


def test_scripts_are_shown_to_a_container_before_its_own_mounts() -> None:
    service = command(command="#!/bin/x\n", pre_command=LONG, mounts=["/data"])
    made = plan({"s": service})
    (step,) = made.steps
    assert step.launch.container == Container(
        "org/server:1",
        (
            f"{DIRECTORY}/s.pre_command:{DIRECTORY}/s.pre_command",
            f"{DIRECTORY}/s.command:{DIRECTORY}/s.command",
            "/data",
        ),
        TMP,
        (),
        (),
    )
    assert made.files == (
        StagedFile(PurePosixPath("s.pre_command"), LONG, 0o644),
        StagedFile(PurePosixPath("s.command"), "#!/bin/x\n", 0o755),
    )


@pytest.mark.parametrize("compute", [NO_CONTAINERS, LOCAL])
def test_without_containers_nothing_is_mounted(compute: dict[str, Any]) -> None:
    service = vllm(mounts=["/data"], env={"NVIDIA_VISIBLE_DEVICES": "lit:all"})
    found = launches({"s": service}, compute=compute, driver={"mounts": ["/data"]})
    assert {name: each.container for name, each in found.items()} == {"s": None, "driver": None}


@pytest.mark.parametrize("name", ["NVIDIA_VISIBLE_DEVICES", "MELLANOX_VISIBLE_DEVICES", "ENROOT_REMAP_ROOT"])
def test_what_hooks_of_the_container_read_is_told_to_them_too(name: str) -> None:
    found = launch(vllm(env={"A": "lit:a", name: "lit:all", "MY_NVIDIA_X": "lit:x"}))
    hook = Variable(name, "all")
    assert found == service_launch(
        "s",
        container=Container("vllm/vllm-openai:v1", (), TMP, (hook,), (name,)),
        env=(Variable("A", "a"), hook, Variable("MY_NVIDIA_X", "x")),
    )


def test_more_options_of_srun_are_single_words() -> None:
    arguments = {
        "mpi": "pmix",
        "label": True,
        "mem": 0,
        "time-min": 1.5,
        "comment": "a b",
        "verbose": None,
        "quiet": "",
        "left-out": False,
    }
    assert launch(vllm(srun_args=arguments)) == service_launch(
        "s",
        srun_options=("--mpi=pmix", "--label", "--mem=0", "--time-min=1.5", "--comment=a b", "--verbose", "--quiet"),
    )


def test_on_this_machine_there_is_no_srun_to_take_options() -> None:
    found = launches({"s": command(srun_args={"label": True})}, compute=LOCAL, driver={"srun_args": {"label": True}})
    assert {name: each.srun_options for name, each in found.items()} == {"s": (), "driver": ()}


def test_what_applies_on_this_machine_too() -> None:
    service = command(
        command=["serve", "--all"], port=8001, pre_command="cd /srv", env={"A": "lit:a"}, health_check={"path": "/up"}
    )
    made = plan({"s": service}, compute=LOCAL)
    assert made.steps == (
        ServerStep(
            Launch(
                name="s",
                key="s",
                container=None,
                placement=ALONE,
                devices=None,
                env=(Variable("A", "a"),),
                ports=(8001,),
                pre_command=Script(UserShell("cd /srv"), None),
                srun_options=(),
            ),
            ("serve", "--all"),
        ),
    )
    assert [(probe.hosts, probe.port, probe.path) for probe in made.probes] == [(("localhost",), 8001, "/up")]


@pytest.mark.parametrize("blank", ["", " \n\t\n"])
def test_a_blank_pre_command_is_none(blank: str) -> None:
    assert launch(vllm(pre_command=blank)) == service_launch("s")


def test_a_pre_command_is_carried_as_it_was_written() -> None:
    text = "  cd \"$HOME\"\n\tcat <<'EOF'\n}\nEOF\n"
    assert launch(vllm(pre_command=text)) == service_launch("s", pre_command=Script(UserShell(text), None))


def test_each_benchmark_has_its_own_copy_of_a_long_pre_command() -> None:
    assert launch(vllm(pre_command=LONG)) == service_launch(
        "s",
        container=Container(
            "vllm/vllm-openai:v1", (f"{DIRECTORY}/s.pre_command:{DIRECTORY}/s.pre_command",), TMP, (), ()
        ),
        pre_command=Script(None, DIRECTORY / "s.pre_command"),
    )


OWN = {"container": Container("org/server:1", (), TMP, (), ())}


def test_a_command_of_words_is_run_as_they_are() -> None:
    words = ["serve", "--prompt=a b\n", "$HOME", ""]
    assert steps({"s": command(command=words)})["s"] == ServerStep(service_launch("s", ports=(), **OWN), tuple(words))


def test_a_command_of_shell_is_a_script() -> None:
    step = steps({"s": command(command='serve "$HOME"\n', port=1)})["s"]
    assert step == ScriptStep(service_launch("s", ports=(1,), **OWN), Script(UserShell('serve "$HOME"\n'), None))


def test_a_long_command_is_a_script_in_a_file() -> None:
    file = DIRECTORY / "s.command"
    container = Container("org/server:1", (f"{file}:{file}",), TMP, (), ())
    assert steps({"s": command(command=LONG)})["s"] == ScriptStep(
        service_launch("s", ports=(), container=container), Script(None, file)
    )


def test_a_command_that_names_its_interpreter_is_run_by_it() -> None:
    file = DIRECTORY / "s.command"
    container = Container("org/server:1", (f"{file}:{file}",), TMP, (), ())
    step = steps({"s": command(command="#!/usr/bin/python3 -u\nprint(1)\n", port=1)})["s"]
    assert step == ServerStep(service_launch("s", ports=(1,), container=container), ("/usr/bin/python3", "-u", file))


def test_the_port_of_a_copy_on_every_node_must_be_free_on_each() -> None:
    step = steps({"s": command(port=1, per_node=True)}, compute={"node_pools": pools(a=2)})["s"]
    assert isinstance(step, ScriptStep)
    assert (step.launch.ports, step.launch.placement.node_count) == ((1,), 2)
