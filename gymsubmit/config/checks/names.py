"""Names that would coincide in one job: shell variables, log files, files of the run directory."""

from collections.abc import Iterator

from gymsubmit.config.checks.layout import Layout
from gymsubmit.config.findings import Finding, Path
from gymsubmit.config.names import identifier
from gymsubmit.config.services import RayService, VllmPdService
from gymsubmit.config.submit import SubmitConfig

# Steps and logs that are there whatever the config says.
_STEPS = {"driver": "the driver's step", "job": "the job's own log", "otel_collector": "the collector's step"}
# Files that stand beside the benchmarks' directories.
_RUN_FILES = ("gym-job.json", "resolved-config.yaml")


def check_names(config: SubmitConfig, layout: Layout) -> Iterator[Finding]:
    """No two steps, variables or files of a job have the same name."""
    taken: dict[str, tuple[Path, str]] = {"STEP_" + identifier(name): ((), what) for name, what in _STEPS.items()}
    reported: set[tuple[Path, Path]] = set()
    for variable, path, what in _variables(config, layout):
        other, other_what = taken.setdefault(variable, (path, what))
        if other != path and (other, path) not in reported:
            reported.add((other, path))
            shown = variable.removeprefix("STEP_")
            message = f"{what} and {other_what} would both be called {shown} in the job script; rename one"
            yield Finding(path, message, involved=(other,) if other else ())
    for name in config.driver.benchmarks:
        if name in _RUN_FILES:
            message = f"{name!r} is a file in the directory that the benchmark's would be in; choose another name"
            yield Finding(("driver", "benchmarks", name), message)


def _variables(config: SubmitConfig, layout: Layout) -> Iterator[tuple[str, Path, str]]:
    """Every name that is made of a name of the config: the name, where that stands, and what it is."""
    for pool in layout.pools:
        yield f"GYM_POOL_{identifier(pool)}_NODES", layout.pool_path(pool), f"node pool {pool!r}"
    for name, service in config.services.items():
        path, what = ("services", name), f"service {name!r}"
        key = identifier(name)
        yield f"STEP_{key}", path, what
        yield f"GYM_SERVICE_{key}_URL", path, what
        if isinstance(service, VllmPdService):
            for tier in ("prefill", "decode"):
                yield f"STEP_{key}_{tier.upper()}", (*path, tier), f"the {tier} tier of {what}"
        elif isinstance(service, RayService):
            yield f"GYM_RAY_ADDRESS_{key}", path, what
            for index, pool in enumerate(service.node_pools):
                workers = f"the workers of {what} in node pool {pool!r}"
                where = (*path, "node_pools", index)
                if pool not in service.node_pools[:index]:
                    yield f"STEP_{key}_{identifier(pool)}_WORKERS", where, workers
                    yield f"GYM_RAY_{key}_{identifier(pool)}_WORKERS", where, workers
