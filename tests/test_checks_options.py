"""Extra arguments, directives and srun options leave alone what the compiler writes."""

# ruff: noqa: E501 - findings are compared whole, message and all

from typing import Any

import pytest
from configs import findings, prefill_decode, ray, tree, vllm

from gymsubmit.config.checks import check
from gymsubmit.config.submit import SubmitConfig

POLICY = {"policy_model": "p"}
LAID_OUT = "instances are laid out by number_of_instances and the nodes: remove it"
OVER_NODES = "an instance is spread over the nodes of its service: remove it"


def field(name: str) -> str:
    return f"set services.p.{name} instead"


@pytest.mark.parametrize(
    ("extra_args", "flag", "advice"),
    [
        ("--port 9", "--port", field("port")),
        ("--port=9", "--port", field("port")),
        (["--port", "9"], "--port", field("port")),
        ("x --max-len 4 '--port'", "--port", field("port")),
        ("--model m", "--model", field("model")),
        ("--served_model_name m", "--served-model-name", field("served_model_name")),
        ("-tp 4", "-tp", field("tensor_parallel_size")),
        ("-tp=4", "-tp", field("tensor_parallel_size")),
        ("-t 4", "-t (-tp)", field("tensor_parallel_size")),
        ("--tensor_parallel_size 4", "--tensor-parallel-size", field("tensor_parallel_size")),
        ("--tensor-par 4", "--tensor-par (--tensor-parallel-size)", field("tensor_parallel_size")),
        ("--pipeline-parallel-size 4", "--pipeline-parallel-size", field("pipeline_parallel_size")),
        ("-pp 4", "-pp", field("pipeline_parallel_size")),
        ("--trust-remote-code", "--trust-remote-code", field("trust_remote_code")),
        ("--no-trust-remote-code", "--no-trust-remote-code", field("trust_remote_code")),
        ("--data-parallel-size 4", "--data-parallel-size", field("number_of_instances")),
        ("-dp 4", "-dp", field("number_of_instances")),
        ("--data-parallel-rpc-port 4", "--data-parallel-rpc-port", field("data_parallel_rpc_port")),
        ("--data-parallel-size-local=2", "--data-parallel-size-local", LAID_OUT),
        ("--data-parallel-backend=ray", "--data-parallel-backend", LAID_OUT),
        ("--data_parallel_hybrid_lb", "--data-parallel-hybrid-lb", LAID_OUT),
        ("-dpl 2", "-dpl", LAID_OUT),
        ("--headless", "--headless", LAID_OUT),
        ("--distributed-executor-backend mp", "--distributed-executor-backend", OVER_NODES),
        ("--nnodes 2", "--nnodes", OVER_NODES),
        ("--node_rank 1", "--node-rank", OVER_NODES),
        ("--master-addr x", "--master-addr", OVER_NODES),
    ],
)
def test_a_flag_of_vllm_that_is_set_already(extra_args: Any, flag: str, advice: str) -> None:
    assert findings({"p": vllm(extra_args=extra_args)}, driver=POLICY) == [
        ("services.p.extra_args", f"{flag} is set by the compiler; {advice}")
    ]


def test_all_other_flags_of_vllm_pass() -> None:
    extra_args = """
        --enable-auto-tool-choice --tool-call-parser=x --load-format=dummy --api-server-count=1 -asc 1 -q awq -O3
        --compilation-config={"pass_config":{"fuse_allreduce_rms":false}} --compilation-config.cudagraph_mode NONE
        --kv-cache-dtype=fp8 --max-model-len 8192 --host 0.0.0.0 --kv-transfer-config '{"kv_role":"kv_both"}'
        --additional-config '{"a": "--port 1"}' --some-flag-of-next-year -1
    """
    assert findings({"p": vllm(extra_args=extra_args)}, driver=POLICY) == []


def test_a_flag_is_named_once() -> None:
    assert findings({"p": vllm(extra_args="--port 1 --port=2 --headless")}, driver=POLICY) == [
        ("services.p.extra_args", f"--port is set by the compiler; {field('port')}"),
        ("services.p.extra_args", f"--headless is set by the compiler; {LAID_OUT}"),
    ]


def test_names_with_a_dot_are_written_as_overrides_write_them() -> None:
    compute = {"node_pools": {"a.b": {}, "c": {"mem": 1}}, "extra_args": {"time": 1}}
    service = vllm(
        extra_args="--port 1", number_of_instances=2, env={"VLLM_HOST_IP": "lit:x"}, health_check={"port": 1}
    )
    config = tree({"qwen2.5": service, "x": vllm()}, compute=compute)
    config["compute"] = {"c.1": config["compute"]["c"]}
    said = [each.message for each in check(SubmitConfig.model_validate(config)) if not each.warning]
    assert said == [
        '--port is set by the compiler; set services["qwen2.5"].port instead',
        "'time' is written by the compiler; set compute[\"c.1\"].walltime instead",
        "node pools of one allocation must agree, but a.b has none, c has 1; write the same for all, or set "
        'compute["c.1"].heterogeneous: true',
        'is each node\'s own address, so that one value is wrong on all but one of the 2 nodes of services["qwen2.5"]; '
        'remove it, and choose addresses with compute["c.1"].network_interface',
        'port 8000 is used by services.x.port and by services["qwen2.5"].port on node pool a.b; change one of them',
    ]


def test_flags_of_tiers() -> None:
    tiers = prefill_decode(
        {"node_pool": "a", "extra_args": "--kv-transfer-config {}"}, {"node_pool": "b", "extra_args": "-tp 2"}
    )
    assert findings({"x": tiers}, compute={"node_pools": {"a": {}, "b": {}}}) == [
        (
            "services.x.prefill.extra_args",
            "--kv-transfer-config is set by the compiler; the tiers are connected by kv_connector of the service: remove it",
        ),
        (
            "services.x.decode.extra_args",
            "-tp is set by the compiler; set services.x.decode.tensor_parallel_size instead",
        ),
    ]


def test_flags_of_ray() -> None:
    extra_args = "--port=1 --num-cpus 2 --num-gpus 1 --resources {} --head --address x --block --min-worker-port=9 --dashboard-port 1 --system-config {}"
    started = "head and workers are started on the nodes of node_pools: remove it"
    assert findings({"r": ray(extra_args=extra_args)}) == [
        ("services.r.extra_args", "--port is set by the compiler; set services.r.port instead"),
        ("services.r.extra_args", "--num-cpus is set by the compiler; set services.r.num_cpus instead"),
        ("services.r.extra_args", "--num-gpus is set by the compiler; set services.r.num_gpus instead"),
        ("services.r.extra_args", "--resources is set by the compiler; set services.r.resources instead"),
        ("services.r.extra_args", f"--head is set by the compiler; {started}"),
        ("services.r.extra_args", f"--address is set by the compiler; {started}"),
        ("services.r.extra_args", f"--block is set by the compiler; {started}"),
        (
            "services.r.extra_args",
            "--min-worker-port is set by the compiler; worker ports are kept out of the way of services: remove it",
        ),
    ]


@pytest.mark.parametrize(
    ("keys", "advice"),
    [
        (["job-name", "J"], "it is the benchmark's name; remove it"),
        (["account", "A"], "set compute.c.account instead"),
        (["time", "t"], "set compute.c.walltime instead"),
        (["chdir", "D"], "it is the benchmark's directory; remove it"),
        (["partition", "p"], "set {pool}.partition instead"),
        (["nodes", "N"], "set {pool}.nodes instead"),
        (["ntasks", "n"], "set {pool}.nodes and ntasks_per_node instead"),
        (["ntasks-per-node", "ntasks_per_node"], "set {pool}.ntasks_per_node instead"),
        (["cpus-per-task", "c"], "set {pool}.cpus_per_task instead"),
        (["gpus-per-node"], "set {pool}.gpus_per_node instead"),
        (["mem"], "set {pool}.mem instead"),
        (["exclusive"], "set compute.c.exclusive instead"),
        (["qos", "q"], "set compute.c.qos instead"),
        (["container-image"], "containers are the compiler's to start; remove it"),
    ],
)
def test_a_directive_that_is_written_already(keys: list[str], advice: str) -> None:
    for key in keys:
        compute = {"extra_args": {key: "x"}, "node_pools": {"gpu": {"extra_args": {key: "x"}}}}
        assert findings(compute=compute) == [
            (
                f"compute.c.extra_args.{key}",
                f"{key!r} is written by the compiler; {advice.format(pool='compute.c.node_pools.<pool>')}",
            ),
            (
                f"compute.c.node_pools.gpu.extra_args.{key}",
                f"{key!r} is written by the compiler; {advice.format(pool='compute.c.node_pools.gpu')}",
            ),
        ]


def test_other_directives_pass() -> None:
    extra_args = {
        "output": "x-%j.log",
        "constraint": "a100|h100",
        "comment": 'a "b" # c',
        "requeue": True,
        "mem-per-cpu": 1,
    }
    assert findings(compute={"extra_args": extra_args | {"open-mode": "append", "x-y": False}}) == []


def test_a_short_option_is_refused() -> None:
    assert findings(compute={"extra_args": {"C": "a100"}}) == [
        ("compute.c.extra_args.C", "'C' is the short form of an option; write the long one"),
    ]


def test_a_resumable_job_is_not_requeued() -> None:
    extra_args = {"requeue": True, "no-requeue": None, "open-mode": "append"}
    assert findings(compute={"extra_args": extra_args}, driver={"benchmarks": {"b": {"resumable": True}}}) == [
        (
            "compute.c.extra_args.requeue",
            "'requeue' is written by the compiler; a resumable benchmark must not be requeued; remove it",
        ),
        (
            "compute.c.extra_args.no-requeue",
            "'no-requeue' is written by the compiler; a resumable benchmark has it already; remove it",
        ),
        (
            "compute.c.extra_args.open-mode",
            "'open-mode' is written by the compiler; a resumable benchmark appends to its logs; remove it",
        ),
    ]


NODES = "the service's nodes follow from its node_pool; remove it"
TASKS = "a step has one task on each of its nodes; remove it"
WHOLE = "every step ends as a whole; remove it"
LOG = "the log is logs/<name>-<job id>.log; remove it"


@pytest.mark.parametrize(
    ("keys", "advice"),
    [
        (["nodes", "N", "nodelist", "w", "het-group", "exclude", "relative"], NODES),
        (["ntasks", "n", "ntasks-per-node"], TASKS),
        (["overlap"], "every step shares its nodes; remove it"),
        (["kill-on-bad-exit", "K", "wait", "W"], WHOLE),
        (["job-name", "J"], "it is the service's name; remove it"),
        (["output", "o", "error", "e"], LOG),
        (["input", "i"], "a step reads nothing; remove it"),
        (["jobid"], "the step belongs to the benchmark's job; remove it"),
        (["export", "container-env"], "set env instead"),
        (["cpu-bind"], "a step may use all CPUs of its nodes; remove it"),
        (["container-image", "container-mounts"], "set container and mounts instead"),
        (
            ["container-workdir", "no-container-remap-root", "container_name"],
            "containers are the compiler's to start; remove it",
        ),
    ],
)
def test_an_srun_option_that_is_written_already(keys: list[str], advice: str) -> None:
    for key in keys:
        said = f"{key!r} is written by the compiler; {advice}"
        assert findings({"p": vllm(srun_args={key: "x"})}, driver={"srun_args": {key: 1}}) == [
            (f"driver.srun_args.{key}", said),
            (f"services.p.srun_args.{key}", said),
        ]


def test_other_srun_options_pass() -> None:
    options = {"mpi": "pmix", "label": True, "unbuffered": None, "mem": "0", "cpus-per-task": 4, "gpus-per-node": 1}
    assert findings({"p": vllm(srun_args=options)}) == []


def test_srun_options_of_tiers() -> None:
    tiers = prefill_decode({"node_pool": "a", "srun_args": {"nodes": 1}}, {"node_pool": "b", "srun_args": {"wait": 1}})
    assert findings({"x": tiers}, compute={"node_pools": {"a": {}, "b": {}}}) == [
        ("services.x.prefill.srun_args.nodes", f"'nodes' is written by the compiler; {NODES}"),
        ("services.x.decode.srun_args.wait", f"'wait' is written by the compiler; {WHOLE}"),
    ]


AGREE = "write the same for all, or set compute.c.heterogeneous: true"
DIFFERENT = {
    "a": {"partition": "x", "mem": 0, "extra_args": {"constraint": "v", "x-y": True, "one": 1}},
    "b": {"partition": "x", "mem": "0", "extra_args": {"x-y": None}, "nodes": 2},
    "c": {"partition": "y", "gpus_per_node": 8, "cpus_per_task": 2, "extra_args": {"constraint": "w", "x-y": "True"}},
}


def test_pools_of_one_allocation_agree() -> None:
    services = {name: {**vllm(port=port), "node_pool": name} for name, port in (("a", 1), ("b", 2), ("c", 3))}
    found = [each for each in findings(services, compute={"node_pools": DIFFERENT}) if "agree" in each[1]]
    assert found == [
        (
            "compute.c.node_pools.c.partition",
            f"node pools of one allocation must agree, but a has 'x', b has 'x', c has 'y'; {AGREE}",
        ),
        (
            "compute.c.node_pools.c.cpus_per_task",
            f"node pools of one allocation must agree, but a has none, b has none, c has 2; {AGREE}",
        ),
        (
            "compute.c.node_pools.c.gpus_per_node",
            f"node pools of one allocation must agree, but a has none, b has none, c has 8; {AGREE}",
        ),
        (
            "compute.c.node_pools.c.mem",
            f"node pools of one allocation must agree, but a has 0, b has '0', c has none; {AGREE}",
        ),
        (
            "compute.c.node_pools.c.extra_args.constraint",
            f"node pools of one allocation must agree, but a has 'v', c has 'w'; {AGREE}",
        ),
        (
            "compute.c.node_pools.c.extra_args.x-y",
            f"node pools of one allocation must agree, but a has true, b has true, c has 'True'; {AGREE}",
        ),
    ]


def test_components_of_a_heterogeneous_job_may_differ() -> None:
    services = {name: {**vllm(), "node_pool": name} for name in DIFFERENT}
    found = findings(services, compute={"heterogeneous": True, "node_pools": DIFFERENT})
    assert [path for path, message in found if not message.startswith("warning: ")] == []
