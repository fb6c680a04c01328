import json
from pathlib import Path

import pytest
from command_line import Outcome, run, write_local, write_slurm

TABLE = """\
Benchmarks math, code
on cluster: slurm, 5 nodes a job

NODES  POOL   SERVICE  PROCESS                PORTS        GPUS A NODE
0      gpu    policy   vllm serve             8000, 13345  8
1      gpu    policy   vllm serve (headless)  -            8
2      judge  judge    vllm serve             8001         4 (0-3)
2      judge  grader   script                 8002         2 (4-5)
3      large  large    ray start (head)       6379, 6380   -
3      large  large    vllm serve             8003         8
4      large  large    ray start (worker)     -            8
0      gpu    driver   gym eval run           -            -

The driver dials
  policy_base_url         http://localhost:8000/v1
  HEAD_NODE_IP            <node 0>
  RAY_HEAD_NODE_IP        <node 0>
  GYM_SERVICE_POLICY_URL  http://<node 0>:8000
  GYM_SERVICE_JUDGE_URL   http://<node 2>:8001
  GYM_SERVICE_GRADER_URL  http://<node 2>:8002
  GYM_SERVICE_LARGE_URL   http://<node 3>:8003

Benchmark own
on cluster: slurm, 5 nodes a job

NODES  POOL   SERVICE  PROCESS                PORTS        GPUS A NODE
0      gpu    policy   vllm serve             8000, 13345  8
1      gpu    policy   vllm serve (headless)  -            8
2      judge  judge    vllm serve             8001         4 (0-3)
2      judge  grader   script                 8002         2 (4-5)
3      large  large    ray start (head)       6379, 6380   -
3      large  large    vllm serve             8003         8
4      large  large    ray start (worker)     -            8
0      gpu    driver   script                 -            -

The driver dials
  policy_base_url         http://localhost:8000/v1
  HEAD_NODE_IP            <node 0>
  RAY_HEAD_NODE_IP        <node 0>
  GYM_SERVICE_POLICY_URL  http://<node 0>:8000
  GYM_SERVICE_JUDGE_URL   http://<node 2>:8001
  GYM_SERVICE_GRADER_URL  http://<node 2>:8002
  GYM_SERVICE_LARGE_URL   http://<node 3>:8003
"""


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = run(capsys, "plan", "-c", write_slurm(tmp_path / "c.yaml"))
    assert (done.status, done.out) == (0, TABLE)


def test_the_table_of_a_local_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_local(tmp_path / "c.yaml", {"math": "#!/usr/bin/env python3\nprint(1)"})
    assert run(capsys, "plan", "-c", config) == Outcome(
        0,
        """\
Benchmark math
on here: local, 1 node a job

NODES  POOL  SERVICE  PROCESS  PORTS  GPUS A NODE
0      -     idle     sleep    -      -
0      -     driver   python3  -      -
""",
        "",
    )


def test_json_is_what_plan_json_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_slurm(tmp_path / "c.yaml")
    done = run(capsys, "plan", "-c", config, "--format", "json")
    run(capsys, "compile", "-c", config, "-o", tmp_path / "out")
    written = [json.loads((tmp_path / f"out/c/{name}/plan.json").read_text()) for name in ("math", "code", "own")]
    assert done.status == 0
    assert json.loads(done.out) == written


def test_the_schema_describes_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    done = run(capsys, "schema")
    assert (done.status, done.err) == (0, "")
    schema = json.loads(done.out)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["required"] == ["services", "compute", "driver", "job"]
    fields = [
        (name, field, described)
        for name, model in {"SubmitConfig": schema, **schema["$defs"]}.items()
        for field, described in model.get("properties", {}).items()
    ]
    assert len(fields) > 100
    assert [f"{name}.{field}" for name, field, described in fields if not described.get("description")] == []
    assert schema["$defs"]["VllmService"]["properties"]["port"]["default"] == 8000
    compute = schema["properties"]["compute"]
    assert (compute["minProperties"], compute["maxProperties"]) == (1, 1)


LATER = """\
services:
  cluster: {type: ray}
compute:
  here: {type: local}
driver:
  benchmarks: {math: {command: "exit 0"}}
job: {output_path: /results}
"""


@pytest.mark.parametrize("command", ["plan", "compile", "submit"])
def test_what_cannot_be_run_yet_has_its_place(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(LATER)
    assert run(capsys, command, "-c", config, "site=here") == Outcome(
        2,
        "",
        f"{config}:2:19: services.cluster.type: `ray` is not in this version; use `vllm` or `command`\n"
        "override 'site=here': site: sites are not in this version; leave the key out\n",
    )
