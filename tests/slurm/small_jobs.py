"""A small job with a policy and a judge, to be changed by overrides, and what its log says."""

import re
from pathlib import PurePosixPath

from slurm_cluster import until
from submissions import Login, Submission

# Two servers on a node's two GPUs; the driver asks each, then waits until the file `go` is there.
CONFIG = """\
services:
  policy:
    type: vllm
    container: nvcr.io/nvidia/vllm:25.09
    model: org/policy
    node_pool: gpu
    health_check: {{timeout_seconds: 60, interval_seconds: 1}}
{judge}
compute:
  cluster:
    type: slurm
    account: evaluation
    walltime: "00:10:00"
    exclusive: true
    node_pools:
      gpu: {{partition: batch, gpus_per_node: 2}}
driver:
  container: nvcr.io/nvidia/vllm:25.09
  policy_model: policy
  benchmarks:
    small:
      command: |
        for url in "${{!GYM_SERVICE_@}}"; do
          curl --silent --fail --noproxy '*' "${{!url}}/v1/models" >>artifacts/models.json
        done
        touch artifacts/asked
        until [[ -e go ]]; do sleep 0.1; done
job:
  output_path: {shared}
"""
JUDGE = """\
  judge:
    type: vllm
    container: nvcr.io/nvidia/vllm:25.09
    model: org/judge
    port: 8001
    node_pool: gpu
    health_check: {timeout_seconds: 60, interval_seconds: 1}
"""


def submit(login: Login, shared: PurePosixPath, *overrides: str, judge: bool = True, **variables: str) -> Submission:
    """Submit the job with these overrides, and these variables in the submitter's environment."""
    text = CONFIG.format(shared=shared, judge=JUDGE if judge else "")
    return login.submit(login.cluster.write(shared / "config.yaml", text), *overrides, **variables)


def faults(service: str, text: str) -> str:
    """The override that gives a service these faults (programs/vllm/faults.py)."""
    return f"services.{service}.env.STAND_IN_FAULTS=lit:{text}"


def await_driver(submission: Submission) -> None:
    """Wait until the driver has asked the servers."""
    asked = submission.cluster.outside(submission.bench_dir / "artifacts" / "asked")
    until(asked.exists, f"the driver of job {submission.job} has asked the servers")


def go(submission: Submission) -> None:
    """Let the driver end."""
    submission.cluster.write(submission.bench_dir / "go", "")


def said(submission: Submission) -> list[str]:
    """The job's log: DIRECTORY, ID and N are what is another with every job.

    What it quotes of another log's end is one line, if that is what the log ends with. Services become healthy in any
    order.
    """
    log = submission.log()
    quoted = re.compile(
        rf"^(?:The end of its log, |The driver ended .*){submission.bench_dir}/logs/(\S+)-\d+\.log:?\n", re.M
    )
    for match in quoted.finditer(log):
        end = "".join(submission.log(match[1]).splitlines(keepends=True)[-20:])
        if end and log.startswith(end, match.end()):
            log = log[: match.end()] + f"<the end of {match[1]}>\n" + log[match.end() + len(end) :]
    log = log.replace(str(submission.bench_dir), "DIRECTORY").replace(f"-{submission.job}.log", "-ID.log")
    lines = re.sub(r"\b\d+ s$", "N s", log, flags=re.MULTILINE).splitlines()
    healthy = [line for line in lines if re.fullmatch("service .* is healthy after N s", line)]
    return sorted(healthy) + [line for line in lines if line not in healthy]


def blamed(service: str, what: str) -> list[str]:
    """How the log names the service that ended the job."""
    return [
        f"ERROR: service {service} {what}",
        f"The end of its log, DIRECTORY/logs/{service}-ID.log:",
        f"<the end of {service}>",
    ]


BOTH_HEALTHY = [
    "service judge is healthy after N s",
    "service policy is healthy after N s",
    "all services are healthy after N s",
]
POLICY_HEALTHY = BOTH_HEALTHY[1:]


def driver_ended(status: int) -> list[str]:
    """How the log tells that the driver ended."""
    line = f"The driver ended with status {status}; its log is DIRECTORY/logs/driver-ID.log"
    return [line, "<the end of driver>"] if status else [line]
