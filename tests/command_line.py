"""Running the command in this process, or as one of its own; and a config whose jobs need nothing but bash."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from gymsubmit.cli import main

PROGRAM = (sys.executable, "-m", "gymsubmit")


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


def run(capsys: pytest.CaptureFixture[str], *args: str | Path) -> Outcome:
    capsys.readouterr()
    try:
        main([str(arg) for arg in args], prog_name="gymsubmit")
    except SystemExit as exit_:
        code = exit_.code
        assert isinstance(code, int)
        return Outcome(code, *capsys.readouterr())
    raise AssertionError("the command did not exit")


def start(*args: str | Path, **environ: str) -> subprocess.Popen[str]:
    """In a session of its own, so that a Ctrl-C can be sent to its process group."""
    return subprocess.Popen(
        [*PROGRAM, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environ,
        start_new_session=True,
    )


def write_local(path: Path, benchmarks: dict[str, str], *, env: dict[str, str] | None = None) -> Path:
    """A local config: one service that waits to be ended, and a script a benchmark. JSON is YAML."""
    config = {
        "services": {"idle": {"type": "command", "command": ["sleep", "1000"], "env": env or {}}},
        "compute": {"here": {"type": "local"}},
        "driver": {"benchmarks": {name: {"command": script} for name, script in benchmarks.items()}},
        "job": {"output_path": str(path.parent / "runs")},
    }
    path.write_text(json.dumps(config, indent=2, ensure_ascii=False))
    return path


def place(config: Path, text: str) -> str:
    """Where in a config written as JSON a text stands that is there once, as messages say it."""
    before, _ = config.read_text().split(json.dumps(text))
    *above, line = before.split("\n")
    return f"{config}:{len(above) + 1}:{len(line) + 1}"


SLURM = """\
services:
  policy:
    {type: vllm, model: a/b, container: nvcr.io/a/b:1, node_pool: gpu, number_of_instances: 4, tensor_parallel_size: 4}
  judge: {type: vllm, model: c/d, container: nvcr.io/a/b:1, node_pool: judge, port: 8001, tensor_parallel_size: 4}
  grader: {type: command, command: "serve --all", container: nvcr.io/a/b:1, node_pool: judge, port: 8002, gpus: 2}
  large: {type: vllm, model: e/f, container: nvcr.io/a/b:1, node_pool: large, port: 8003, tensor_parallel_size: 16}
compute:
  cluster:
    type: slurm
    node_pools:
      gpu: {nodes: 2, gpus_per_node: 8}
      judge: {nodes: 1, gpus_per_node: 8}
      large: {nodes: 2, gpus_per_node: 8}
driver:
  policy_model: policy
  benchmarks:
    math: {run: {a: 1}}
    code: {run: {a: 2}}
    own: {command: "./harness"}
job: {output_path: /lustre/me/runs}
"""


def write_slurm(path: Path) -> Path:
    path.write_text(SLURM)
    return path
