"""Flags in extra_args that a field or the compiler sets."""

from collections.abc import Iterator, Mapping

from gymsubmit.config.arguments import Arguments, flags, owned_flag, split_words
from gymsubmit.config.findings import Finding, Path
from gymsubmit.config.paths import dotted
from gymsubmit.config.services import RayService, VllmPdService, VllmService
from gymsubmit.config.submit import SubmitConfig

# What to do about a flag: a field's name, or a sentence. Long and short names are those of vllm/engine/arg_utils.py.
_LAID_OUT = "instances are laid out by number_of_instances and the nodes: remove it"
_OVER_NODES = "an instance is spread over the nodes of its service: remove it"
_VLLM = {
    "--model": "model",
    "--port": "port",
    "--served-model-name": "served_model_name",
    "--tensor-parallel-size": "tensor_parallel_size",
    "-tp": "tensor_parallel_size",
    "--pipeline-parallel-size": "pipeline_parallel_size",
    "-pp": "pipeline_parallel_size",
    "--trust-remote-code": "trust_remote_code",
    "--no-trust-remote-code": "trust_remote_code",
    "--data-parallel-size": "number_of_instances",
    "-dp": "number_of_instances",
    "--data-parallel-rpc-port": "data_parallel_rpc_port",
    "-dpp": "data_parallel_rpc_port",
    "--data-parallel-*": _LAID_OUT,
    "--no-data-parallel-*": _LAID_OUT,
    "-dp*": _LAID_OUT,
    "--headless": _LAID_OUT,
    "--no-headless": _LAID_OUT,
    "--distributed-executor-backend": _OVER_NODES,
    "--nnodes": _OVER_NODES,
    "-n": _OVER_NODES,
    "--node-rank": _OVER_NODES,
    "-r": _OVER_NODES,
    "--master-addr": _OVER_NODES,
    "--master-port": _OVER_NODES,
}
_TIER = _VLLM | {"--kv-transfer-config": "the tiers are connected by kv_connector of the service: remove it"}
_CLUSTER = "head and workers are started on the nodes of node_pools: remove it"
_WORKER_PORTS = "worker ports are kept out of the way of services: remove it"
_RAY = {
    "--port": "port",
    "--num-cpus": "num_cpus",
    "--num-gpus": "num_gpus",
    "--resources": "resources",
    "--head": _CLUSTER,
    "--address": _CLUSTER,
    "--node-ip-address": _CLUSTER,
    "--block": _CLUSTER,
    "--min-worker-port": _WORKER_PORTS,
    "--max-worker-port": _WORKER_PORTS,
    "--worker-port-list": _WORKER_PORTS,
}


def check_flags(config: SubmitConfig) -> Iterator[Finding]:
    """extra_args holds no flag that a field or the compiler sets."""
    for name, service in config.services.items():
        path: Path = ("services", name)
        if isinstance(service, VllmService):
            yield from _owned(path, service.extra_args, _VLLM)
        elif isinstance(service, VllmPdService):
            yield from _owned((*path, "prefill"), service.prefill.extra_args, _TIER)
            yield from _owned((*path, "decode"), service.decode.extra_args, _TIER)
        elif isinstance(service, RayService):
            yield from _owned(path, service.extra_args, _RAY)


def _owned(path: Path, arguments: "Arguments", owned: Mapping[str, str]) -> Iterator[Finding]:
    for flag in dict.fromkeys(flags(split_words(arguments))):
        key = owned_flag(flag, owned)
        if key is None:
            continue
        advice = owned[key]
        if " " not in advice:
            advice = f"set {dotted((*path, advice))} instead"
        known = f"{flag} ({key})" if key != flag and not key.endswith("*") else flag
        yield Finding((*path, "extra_args"), f"{known} is set by the compiler; {advice}")
