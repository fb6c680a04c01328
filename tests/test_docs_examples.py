"""What the README and the pages under docs/ show works: configs compile, commands print what stands below them."""

import os
import random
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from doc_pages import DOCS, README, ROOT, Block, blocks

from gymsubmit.config.load import load_config
from gymsubmit.config.tree import plain
from gymsubmit.config.yaml_scalars import dump_yaml
from gymsubmit.config.yaml_tree import parse
from gymsubmit.lower import Run, lower
from gymsubmit.render import render

SECTIONS = {"services", "compute", "driver", "job"}
# What a fragment is a part of.
BASE = """\
services:
  policy: {type: vllm, container: nvcr.io/nvidia/vllm:25.09, model: Qwen/Qwen3-8B}
compute:
  cluster: {type: slurm, node_pools: {gpu: {gpus_per_node: 1}}}
driver:
  container: nvcr.io/nvidia/nemo-gym:0.2
  policy_model: policy
  benchmarks: {aime: {run: {config_paths: [benchmarks/aime.yaml]}}}
job: {output_path: /shared/evaluations}
"""
CONFIGS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}:{block.line}")
    for page in (README, *DOCS)
    for block in blocks(page)
    if block.language == "yaml"
]
RUN = [page for page in DOCS if any(block.language == "sh" for block in blocks(page))]


def data(text: str) -> dict[str, Any]:
    node, faults = parse(text)
    assert node is not None, faults
    assert faults == []
    found = plain(node)
    assert isinstance(found, dict)
    return found


def merged(base: Any, part: Any) -> Any:
    """`part` over `base`: key by key, but for what has a type of its own, which replaces what is there."""
    if not isinstance(base, dict) or not isinstance(part, dict) or "type" in part:
        return part
    return base | {key: merged(base.get(key), value) for key, value in part.items()}


def whole(fragment: dict[str, Any]) -> dict[str, Any]:
    if fragment.keys() >= SECTIONS:
        return fragment
    base = data(BASE)
    if any("type" in entry for entry in fragment.get("compute", {}).values()):
        del base["compute"]  # there is one entry
    found = merged(base, fragment)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("block", CONFIGS)
def test_configs_compile(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "submit.yaml"
    fragment = data(block.text)
    path.write_text(dump_yaml(whole(fragment)))
    loaded = load_config(path)
    # A fragment's nodes may be more than the base's service uses.
    idle = re.compile("stay idle|nothing runs on" if SECTIONS - fragment.keys() else "(?!)")
    assert [warning for warning in loaded.warnings if not idle.search(warning.message)] == []
    for plan in lower(loaded.config, Run.of(loaded.config)):
        assert render(plan)


def free_port() -> str:
    """As long as those on the pages, so that columns keep their widths."""
    while True:
        port = random.randint(2000, 9999)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return str(port)


def printed(shown: str) -> re.Pattern[str]:
    """What output matches that is shown so: `...` stands for anything."""
    return re.compile(".*".join(map(re.escape, shown.split("..."))), re.DOTALL)


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_commands_print_what_is_shown(page: Path, tmp_path: Path) -> None:
    # The pages' ports may be taken here, and what they write belongs below tmp_path.
    changes = {"8399": free_port(), "8398": free_port(), "/tmp/gymsubmit": f"{tmp_path}/runs"}

    def here(text: str) -> str:
        for old, new in changes.items():
            text = text.replace(old, new)
        return text

    programs = {"gymsubmit": f'exec "{sys.executable}" -m gymsubmit "$@"', "sbatch": "echo 4711"}
    for name, script in programs.items():
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/bash\n{script}\n")
        program.chmod(0o755)
    (tmp_path / "examples").mkdir()
    for example in (ROOT / "examples").glob("*.yaml"):
        (tmp_path / "examples" / example.name).write_text(here(example.read_text()))
    environ = os.environ | {
        "HOME": str(tmp_path),
        "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": f"{tmp_path}/cache",
    }
    output: str | None = None
    for block in blocks(page):
        text = here(block.text)
        if block.language == "yaml" and (name := re.match(r"# (\S+\.yaml)\n", text)):
            (tmp_path / name[1]).write_text(text)
        elif block.language == "sh":
            done = subprocess.run(
                ["bash", "-c", text],
                cwd=tmp_path,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                check=False,
            )
            output = done.stdout
        elif block.language == "text" and output is not None:
            assert printed(text).fullmatch(output), f"line {block.line} is not what is printed:\n{output}"
            output = None
