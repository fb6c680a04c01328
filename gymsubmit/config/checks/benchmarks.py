"""Rules of benchmarks."""

from collections.abc import Iterator

from gymsubmit.config.compute import LocalCompute
from gymsubmit.config.driver import Benchmark
from gymsubmit.config.findings import Finding, Path
from gymsubmit.config.hydra_keys import bare_key, inexpressible
from gymsubmit.config.submit import SubmitConfig

_POLICY_KEYS = frozenset({"policy_base_url", "policy_model_name", "policy_api_key"})


def check_benchmarks(config: SubmitConfig) -> Iterator[Finding]:
    """Each benchmark says one thing to run, in words that Hydra knows, on an executor that can."""
    has_policy = config.driver.policy_model is not None
    local = isinstance(config.only_compute, LocalCompute)
    for name, benchmark in config.driver.benchmarks.items():
        path: Path = ("driver", "benchmarks", name)
        if benchmark.run or benchmark.prepare:
            for field, values in (("prepare", benchmark.prepare), ("run", benchmark.run)):
                for where, message in inexpressible(values):
                    yield Finding((*path, field, *where), message)
            if has_policy:
                yield from _policy_keys(path, benchmark)
        if benchmark.command is not None:
            yield from _command(path, benchmark)
        if local and benchmark.resume:
            message = "a local compute cannot resume; remove it"
            yield Finding((*path, "resumable"), message, involved=((*config.compute_path, "type"),))


def _policy_keys(path: Path, benchmark: Benchmark) -> Iterator[Finding]:
    for key in benchmark.run:
        setting = bare_key(key).partition(".")[0]
        if setting in _POLICY_KEYS:
            message = f"{setting} follows from driver.policy_model; remove it"
            yield Finding((*path, "run", key), message, involved=(("driver", "policy_model"),))


def _command(path: Path, benchmark: Benchmark) -> Iterator[Finding]:
    command = ((*path, "command"),)
    if benchmark.run:
        message = "command runs instead of `gym eval run`; keep one of command and run"
        yield Finding((*path, "run"), message, involved=command)
    if benchmark.resume:
        message = "a command cannot be resumed; remove it, or use run"
        yield Finding((*path, "resumable"), message, involved=command)
