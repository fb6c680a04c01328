"""How long `gymsubmit` takes, as a user waits for it: whole processes, started one after the other.

Every command runs once to warm up (bytecode, disk cache), then all of them in turn, round after round, so that a busy
machine slows them all alike. The quickest of a command's runs counts: it is the one that was disturbed least.

    python benchmarks/compile.py [--rounds N] [--check]

Run it by the interpreter that gymsubmit is installed for. The exit status is 0; with --check it is 1 when a goal is
missed, and 2 when a command fails, so that there is nothing to measure.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "policy_and_judge.yaml"
SIZES = (1, 100, 1000)

CONFIG = """\
services:
  policy:
    type: vllm
    container: nvcr.io/nvidia/vllm:25.09
    model: org/policy-model
    tensor_parallel_size: 8
compute:
  cluster:
    type: slurm
    account: team
    walltime: "04:00:00"
    node_pools:
      main: {partition: batch, nodes: 1, gpus_per_node: 8}
job:
  output_path: /results
driver:
  gym_install: {ref: main}
  policy_model: policy
  benchmarks:
"""
BENCHMARK = """\
    benchmark_{number}:
      prepare: {{config_paths: [benchmarks/task_{number}/config.yaml]}}
      run:
        config_paths: [benchmarks/task_{number}/config.yaml]
        num_repeats: {number}
        responses_create_params: {{temperature: 0.6, top_p: 0.95, max_output_tokens: 32768}}
"""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that a command took, one for each round."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The quickest run."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The run in the middle."""
        return statistics.median(self.seconds)


@dataclass(frozen=True, slots=True)
class Goal:
    """A number to reach: `value` is to be `limit` at most; `note` says what it is made of."""

    name: str
    value: float
    limit: float
    unit: str
    note: str

    @property
    def reached(self) -> bool:
        """Whether the value is within the limit."""
        return self.value <= self.limit


def commands(directory: Path) -> dict[str, list[str]]:
    """The commands by name; their configs and outputs go to `directory`."""
    script = shutil.which("gymsubmit", path=sysconfig.get_path("scripts")) or shutil.which("gymsubmit")
    gymsubmit = [script] if script else [sys.executable, "-m", "gymsubmit"]
    found = {
        "import click": [sys.executable, "-c", "import click"],
        "import click, yaml, jinja2, pydantic": [sys.executable, "-c", "import click, yaml, jinja2, pydantic"],
        "gymsubmit --help": [*gymsubmit, "--help"],
        "compile policy_and_judge": [*gymsubmit, "compile", "-c", str(EXAMPLE)],
    }
    for size in SIZES:
        config = directory / f"of_{size}.yaml"
        config.write_text(CONFIG + "".join(BENCHMARK.format(number=number) for number in range(1, size + 1)))
        found[f"compile {size}"] = [*gymsubmit, "compile", "-c", str(config)]
    found[f"compile {SIZES[-1]} -o DIR"] = [*found[f"compile {SIZES[-1]}"], "-o", str(directory / "compiled")]
    return found


def run(argv: Sequence[str], environment: dict[str, str]) -> float:
    """Seconds that the command takes."""
    start = time.perf_counter()
    subprocess.run(argv, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return time.perf_counter() - start


def measure(named: dict[str, list[str]], rounds: int) -> dict[str, Timing]:
    """Every command's timing over `rounds` rounds, all commands in each round."""
    # Bytecode is written once, as for any user; `-X` and profiling variables of the caller stay out of it.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    seconds: dict[str, list[float]] = {name: [] for name in named}
    for number in range(rounds + 1):
        for name, argv in named.items():
            taken = run(argv, environment)
            if number:
                seconds[name].append(taken)
    return {name: Timing(tuple(values)) for name, values in seconds.items()}


def goals(timings: dict[str, Timing]) -> Iterator[Goal]:
    """What the timings come to, against what they should."""

    def ratio(name: str, command: str, reference: str, limit: float) -> Goal:
        own, base = timings[command].best * 1000, timings[reference].best * 1000
        return Goal(name, own / base, limit, "x", f"{own:.0f} ms to the {base:.0f} ms of `{reference}`")

    yield ratio("compile one config", "compile policy_and_judge", "import click, yaml, jinja2, pydantic", 1.5)
    yield ratio("--help", "gymsubmit --help", "import click", 2.0)
    small, middle, large = SIZES
    of_small, of_middle, of_large = (timings[f"compile {size}"].best * 1000 for size in SIZES)
    each = (of_large - of_small) / (large - small)
    yield Goal("one more benchmark", each, 1.0, "ms", f"{of_small:.0f} ms with {small}, {of_large:.0f} ms with {large}")
    late, early = (of_large - of_middle) / (large - middle), (of_middle - of_small) / (middle - small)
    note = f"{late:.2f} ms each after {middle}, {early:.2f} ms each before"
    yield Goal("linearity", late / max(early, 1e-9), 1.5, "x", note)


def report(timings: dict[str, Timing], found: Sequence[Goal]) -> None:
    """Print both tables."""
    width = max(len(name) for name in timings)
    print(f"{'command':{width}}  {'best':>8}  {'median':>8}   ms")
    for name, timing in timings.items():
        print(f"{name:{width}}  {timing.best * 1000:8.1f}  {timing.median * 1000:8.1f}")
    print(f"\n{'goal':{width}}  {'value':>8}  {'limit':>8}")
    for goal in found:
        verdict = "reached" if goal.reached else "MISSED"
        value, limit = f"{goal.value:6.2f} {goal.unit:2}", f"{goal.limit:5.1f} {goal.unit:2}"
        print(f"{goal.name:{width}}  {value}  {limit}  {verdict}: {goal.note}")


def main() -> int:
    """Measure, report, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=10, help="measured runs of each command (default: 10)")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a goal is missed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gymsubmit-benchmark-") as directory:
        try:
            timings = measure(commands(Path(directory)), max(1, options.rounds))
        except subprocess.CalledProcessError as error:
            print(
                f"{' '.join(error.cmd)}: exit status {error.returncode}",
                error.stderr.decode(),
                sep="\n",
                file=sys.stderr,
            )
            return 2
    found = list(goals(timings))
    report(timings, found)
    return 1 if options.check and not all(goal.reached for goal in found) else 0


if __name__ == "__main__":
    sys.exit(main())
