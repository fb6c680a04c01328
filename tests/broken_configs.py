"""A valid config as text, ways to break it, and what loading then says."""

from pathlib import Path

import pytest

from gymsubmit.config.load import load_config
from gymsubmit.errors import ConfigError

VALID = """\
services:
  policy:
    type: vllm
    model: org/model
    container: vllm/vllm-openai:v1
    port: 8000
    env:
      HF_TOKEN: host:HF_TOKEN
    health_check:
      timeout_seconds: 600
compute:
  cluster:
    type: slurm
    walltime: 12:00:00
    node_pools:
      gpu:
        nodes: 1
        gpus_per_node: 1
driver:
  policy_model: policy
  benchmarks:
    aime:
      run:
        limit: 10
job:
  output_path: /results
"""


def problems(text: str | bytes, *overrides: str) -> list[str]:
    """What is wrong with a config file c.yaml, without the file's name."""
    Path("c.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigError) as caught:
        load_config(Path("c.yaml"), overrides)
    assert caught.value.exit_status == 2
    assert str(caught.value).splitlines() == [str(problem) for problem in caught.value.problems]
    return [str(problem).removeprefix("c.yaml:").strip() for problem in caught.value.problems]


def with_(*changes: tuple[str, str]) -> str:
    """The valid config with some text of it replaced."""
    text = VALID
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text
