"""Small valid configs for the tests of models and checks, and ways to break them."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from gymsubmit.config.checks import check
from gymsubmit.config.findings import Finding
from gymsubmit.config.submit import SubmitConfig


def vllm(**fields: Any) -> dict[str, Any]:
    return {"type": "vllm", "model": "org/model", "container": "vllm/vllm-openai:v1"} | fields


def command(**fields: Any) -> dict[str, Any]:
    return {"type": "command", "command": "serve", "container": "org/server:1"} | fields


def ray(**fields: Any) -> dict[str, Any]:
    return {"type": "ray", "container": "rayproject/ray:2"} | fields


def prefill_decode(prefill: Mapping[str, Any], decode: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    tiers = {"prefill": dict(prefill), "decode": dict(decode)}
    return {"type": "vllm_pd", "model": "org/model", "container": "vllm/vllm-openai:v1"} | tiers | fields


def pools(**sizes: int) -> dict[str, Any]:
    """Node pools by their number of nodes."""
    return {name: {"nodes": nodes} for name, nodes in sizes.items()}


def tree(services: Mapping[str, Any] | None = None, **sections: Any) -> dict[str, Any]:
    """A valid config: one vLLM policy on one node, unless `services` are given; `compute` is the entry `c`'s fields."""
    driver = {"benchmarks": {"b": {"run": {"limit": 1}}}} | ({} if services else {"policy_model": "policy"})
    compute = sections.pop("compute", {})
    if compute.get("type") != "local":
        compute = {"type": "slurm", "node_pools": pools(gpu=1)} | compute
    whole: dict[str, Any] = {
        "services": dict(services) if services else {"policy": vllm()},
        "compute": {"c": compute},
        "driver": driver | sections.pop("driver", {}),
        "job": {"output_path": "/results"},
    }
    return deepcopy(whole | sections)


def config(services: Mapping[str, Any] | None = None, **sections: Any) -> SubmitConfig:
    return SubmitConfig.model_validate(tree(services, **sections))


def findings(services: Mapping[str, Any] | None = None, **sections: Any) -> list[tuple[str, str]]:
    """Every finding as its dotted path and its message, with `warning: ` and the line in front where it has them."""
    return [
        (path_of(each), "warning: " * each.warning + (f"line {each.line}: " if each.line else "") + each.message)
        for each in check(config(services, **sections))
    ]


def path_of(finding: Finding) -> str:
    return ".".join(str(key) for key in finding.path)
