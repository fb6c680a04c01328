"""Single mistakes that people really make: one message each, with its place, and nothing else."""

import pytest
from broken_configs import VALID, problems, with_

pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "org/model",
            "${model}",
            "4:12: services.policy.model: `${model}` does not resolve: there is no `model` in the config; "
            "correct it, or write `\\${model}` for the text itself",
        ),
        (
            "org/model",
            "${oc.env:HF_TOKEN}",
            "4:12: services.policy.model: `${oc.env:HF_TOKEN}` would write a secret into files; put `HF_TOKEN: "
            "host:HF_TOKEN` under `env`, and write `\\${oc.env:HF_TOKEN}` where the driver is to read it",
        ),
        ("org/model", "123", "4:12: services.policy.model: is the number 123 where text belongs; put it in quotes"),
        (
            "org/model",
            "",
            "4:11: services.policy.model: is empty where text belongs; give it a value",
        ),
        (
            "org/model",
            '"a\\0b"',
            "4:12: services.policy.model: holds a NUL character, which no program can be given; remove it",
        ),
        ("org/model", "[org/model]", "4:5: services.policy.model: is a list where text belongs; write a single value"),
        (
            "org/model",
            "{name: org/model}",
            "4:5: services.policy.model: is a mapping where text belongs; write a single value",
        ),
        ("    model: org/model\n", "", "2:3: services.policy.model: is missing; add it"),
        (
            "    type: vllm\n",
            "",
            "2:3: services.policy.type: is missing; write one of `vllm`, `vllm_pd`, `ray`, `command`",
        ),
        ("type: vllm", "typ: vllm", "3:5: services.policy.typ: unknown field `typ`; did you mean `type`?"),
        (
            "type: vllm",
            "type: vlm",
            "3:11: services.policy.type: there is no type `vlm`; did you mean `vllm`? There are `vllm`, "
            "`vllm_pd`, `ray`, `command`",
        ),
        (
            "type: vllm",
            "type: sglang",
            "3:11: services.policy.type: there is no type `sglang`; use one of `vllm`, `vllm_pd`, `ray`, `command`",
        ),
        (
            "type: vllm",
            "type: [vllm]",
            "3:5: services.policy.type: is a list where one of `vllm`, `vllm_pd`, `ray`, `command` belongs; "
            "write one of them",
        ),
        (
            "port: 8000",
            'port: "8000"',
            "6:11: services.policy.port: is text where a whole number belongs; write it without quotes",
        ),
        (
            "port: 8000",
            "port: true",
            "6:11: services.policy.port: is `true` where a whole number belongs; write a whole number",
        ),
        (
            "port: 8000",
            "port: 80.5",
            "6:11: services.policy.port: is the number 80.5 where a whole number belongs; write a whole number",
        ),
        ("port: 8000", "port: 80000", "6:11: services.policy.port: is 80000; use at most 65535"),
        (
            "port: 8000",
            "port: http",
            "6:11: services.policy.port: is text where a whole number belongs; write a whole number",
        ),
        (
            "port: 8000",
            "port: 8000\n    port: 8001",
            "7:5: services.policy.port: is there twice, first in line 6; remove one of the two",
        ),
        ("port: 8000", "prot: 8000", "6:5: services.policy.prot: unknown field `prot`; did you mean `port`?"),
        (
            "port: 8000",
            "trust_remote_code: yes",
            "6:24: services.policy.trust_remote_code: is text where true or false belongs; write true",
        ),
        ("port: 8000", "number_of_instances: 0", "6:26: services.policy.number_of_instances: is 0; use at least 1"),
        (
            "port: 8000",
            "number_of_instance: 8",
            "6:5: services.policy.number_of_instance: unknown field `number_of_instance`; did you mean "
            "`number_of_instances`?",
        ),
        (
            "port: 8000",
            "favourite_colour: red",
            "6:5: services.policy.favourite_colour: unknown field `favourite_colour`; an option that is no field goes "
            "into `extra_args`, the fields here are "
            "`container`, `data_parallel_rpc_port`, `env`, `extra_args`, `health_check`, `model`, `mounts`, "
            "`node_pool`, `number_of_instances`, `pipeline_parallel_size`, `placement`, `port`, `pre_command`, "
            "`ray_port`, `served_model_name`, `srun_args`, `tensor_parallel_size`, `trust_remote_code`, `type`, "
            "`use_ray_serve`",
        ),
        (
            "port: 8000",
            "mounts: /a:/b",
            "6:13: services.policy.mounts: is text where a list belongs; write its items as `- item`",
        ),
        (
            "port: 8000",
            "extra_args: {max-model-len: 8}",
            "6:5: services.policy.extra_args: is a mapping where text or a list belongs; write its items as `- item`",
        ),
        (
            "port: 8000",
            "pre_command: echo 'x",
            "6:18: services.policy.pre_command: unexpected EOF while looking for matching `''; correct the shell text",
        ),
        (
            "port: 8000",
            "node_pool: cpu",
            "6:16: services.policy.node_pool: there is no node pool 'cpu'; did you mean 'gpu'?",
        ),
        (
            "host:HF_TOKEN",
            "hf_123",
            "8:17: services.policy.env.HF_TOKEN: has no prefix; write lit:VALUE for the text itself, host:VAR "
            "for a variable of the submitting machine, or runtime:VAR for one of the job",
        ),
        (
            "HF_TOKEN: host",
            "1HF: host",
            "8:7: services.policy.env.1HF: '1HF' is no variable name; use ASCII letters, digits and '_', a digit "
            "not first",
        ),
        (
            "host:HF_TOKEN",
            "1",
            "8:17: services.policy.env.HF_TOKEN: is the number 1 where text belongs; put it in quotes",
        ),
        (
            "      HF_TOKEN: host:HF_TOKEN",
            "      - HF_TOKEN=1",
            "7:5: services.policy.env: is a list where a mapping belongs; write its entries as `name: value`, "
            "without dashes",
        ),
        (
            "timeout_seconds: 600",
            "timeout_second: 600",
            "10:7: services.policy.health_check.timeout_second: unknown field `timeout_second`; did you mean "
            "`timeout_seconds`?",
        ),
        (
            "timeout_seconds: 600",
            "nodes: evry",
            "10:14: services.policy.health_check.nodes: is `evry`; did you mean `every`? There are `head`, `every`",
        ),
        (
            "  policy:\n    type",
            "  - policy:\n    type",
            "1:1: services: is a list where a mapping belongs; write its entries as `name: value`, without dashes",
        ),
        ("services:", "service:", "1:1: service: unknown field `service`; did you mean `services`?"),
        ("job:\n  output_path: /results\n", "", "1:1: job: is missing; add it"),
        (
            "  output_path: /results\n",
            "",
            "25:5: job: is empty where a mapping belongs; write its entries below it, indented, as `name: value`",
        ),
        (
            "/results",
            "results",
            "26:16: job.output_path: 'results' is not absolute; write the whole path on the cluster, beginning with /",
        ),
        (
            "12:00:00",
            "12h",
            "14:15: compute.cluster.walltime: '12h' is no duration; write MINUTES, MM:SS, HH:MM:SS, D-HH, "
            "D-HH:MM or D-HH:MM:SS",
        ),
        (
            "12:00:00",
            "{hours: 12}",
            "14:5: compute.cluster.walltime: is a mapping where text belongs; write a single value",
        ),
        ("nodes: 1\n", "8: 1\n", '17:9: compute.cluster.node_pools.gpu: the key 8 is no text; put it in quotes: "8"'),
        (
            "limit: 10",
            "limit: 10\n      command: eval.sh",
            "23:7: driver.benchmarks.aime.run: command runs instead of `gym eval run`; keep one of command and run",
        ),
        (
            "policy_model: policy",
            "policy_model: polcy",
            "20:17: driver.policy_model: there is no service 'polcy'; did you mean 'policy'?",
        ),
        (
            "  benchmarks:\n    aime:\n      run:\n        limit: 10\n",
            "  benchmarks: {}\n",
            "21:3: driver.benchmarks: is empty; add at least one entry",
        ),
        (
            "    aime:",
            "    aime 24:",
            "22:5: driver.benchmarks[\"aime 24\"]: 'aime 24' is no valid name; use ASCII letters, digits, '.', '_' "
            "and '-', a letter or digit first",
        ),
        (
            "    aime:\n      run:\n        limit: 10",
            "    - aime",
            "21:3: driver.benchmarks: is a list where a mapping belongs; write its entries as `name: value`, "
            "without dashes",
        ),
        (
            "      run:\n        limit: 10",
            "      run:\n        - limit=10",
            "23:7: driver.benchmarks.aime.run: is a list where a mapping belongs; write its entries as `name: "
            "value`, without dashes",
        ),
        (
            "services:\n  policy:\n",
            "  services:\n    policy:\n      x: 1\n",
            "12:1: cannot follow what is above it; begin all sections in the same column",
        ),
        ("job:", "job: {}\n---\njob:", "26:1: a second document begins here; keep one, without `---` lines in between"),
    ],
)
def test_one_mistake(old: str, new: str, message: str) -> None:
    assert problems(with_((old, new))) == [message]


POLICY = VALID[: VALID.index("compute:")].removeprefix("services:\n")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            POLICY,
            POLICY.replace("  policy:\n", "").replace("\n  ", "\n")[2:],
            "1:1: services: holds the field `type` where a name belongs; put one between, as in `services.policy.type`",
        ),
        (
            "  cluster:\n    type: slurm\n    walltime: 12:00:00\n    node_pools:\n      gpu:\n        nodes: 1\n",
            "  type: slurm\n  node_pools:\n      gpu:\n        nodes: 1\n",
            "11:1: compute: holds the field `type` where a name belongs; put one between, as in `compute.cluster.type`",
        ),
        (
            "      gpu:\n        nodes: 1\n        gpus_per_node: 1\n",
            "      nodes: 1\n      gpus_per_node: 1\n",
            "15:5: compute.cluster.node_pools: holds the field `nodes` where a name belongs; put one between, as in "
            "`compute.cluster.node_pools.gpu.nodes`",
        ),
        (
            "gpus_per_node: 1",
            "gpus: 1",
            "18:9: compute.cluster.node_pools.gpu.gpus: unknown field `gpus`; did you mean `gpus_per_node`?",
        ),
        (
            "      run:\n        limit: 10\n",
            "      resumable: yes\n",
            "23:18: driver.benchmarks.aime.resumable: is text where true, false or a mapping belongs; write true",
        ),
        (
            "      run:\n        limit: 10\n",
            "      resumable: [1]\n",
            "23:7: driver.benchmarks.aime.resumable: is a list where true, false or a mapping belongs; write its "
            "entries as `name: value`, without dashes",
        ),
        (
            "port: 8000",
            "trust_remote_code: maybe",
            "6:24: services.policy.trust_remote_code: is text where true or false belongs; write true or false",
        ),
        (
            "compute:\n",
            "  r: {type: ray, container: a/b, node_pools: [gpu], resources: {gpu: {x: .inf}}}\ncompute:\n",
            "11:74: services.r.resources.gpu.x: is inf; use a finite number",
        ),
        ("org/model", '""', "4:12: services.policy.model: is empty; give it a value"),
        (
            "port: 8000",
            'served_model_name: ""',
            "6:24: services.policy.served_model_name: is empty; give it a value, or leave the field out",
        ),
        (
            "host:HF_TOKEN",
            "${HF_TOKEN}",
            "8:17: services.policy.env.HF_TOKEN: `${HF_TOKEN}` does not resolve: there is no `HF_TOKEN` in the config; "
            "put `HF_TOKEN: host:HF_TOKEN` under `env` for the submitting machine's variable, or write "
            "`\\${HF_TOKEN}` for the text itself",
        ),
        (
            "/results",
            "${SCRATCH}/results",
            "26:16: job.output_path: `${SCRATCH}` does not resolve: there is no `SCRATCH` in the config; write "
            "`${oc.env:SCRATCH}` for the submitting machine's variable, or write `\\${SCRATCH}` for the text itself",
        ),
        (
            "org/model",
            "${services.polcy.port}",
            "4:12: services.policy.model: `${services.polcy.port}` does not resolve: there is no `services.polcy` in "
            "the config; write `${services.policy.port}`, or write `\\${services.polcy.port}` for the text itself",
        ),
    ],
)
def test_one_mistake_that_many_make(old: str, new: str, message: str) -> None:
    assert problems(with_((old, new))) == [message]


def test_all_sections_that_are_missing() -> None:
    assert problems('{"services": {"policy": {"type": "vllm", "container": "a/b"}}}') == [
        "1:1: compute: is missing; add it",
        "1:1: driver: is missing; add it",
        "1:1: job: is missing; add it",
        "1:15: services.policy.model: is missing; add it",
    ]
