"""What the containers of a job need of the host's file system."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from gymsubmit.config.compute import SlurmCompute
from gymsubmit.config.findings import Path
from gymsubmit.config.mounts import parse_mount
from gymsubmit.config.services import VllmPdService
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.lower.launch import launcher


def needed_paths(config: SubmitConfig) -> dict[str, list[Path]]:
    """The absolute paths that must exist before the job starts, each with where in the config it is named.

    None where the config says not to check, and where no container is started. A path that the submission makes
    itself, as job.output_path and what is above it, is not among them.
    """
    compute = config.only_compute
    if not isinstance(compute, SlurmCompute) or not compute.check_mounts or launcher(config) == "srun":
        return {}
    output = PurePosixPath(config.job.output_path)
    made = {str(path) for path in (output, *output.parents)}
    needed: dict[str, list[Path]] = {}
    for field, path in _paths(config):
        # A relative source is looked up from where the step starts, on its node.
        if path.startswith("/") and str(PurePosixPath(path)) not in made:
            needed.setdefault(path, []).append(field)
    return needed


def _paths(config: SubmitConfig) -> Iterator[tuple[Path, str]]:
    for name, service in config.services.items():
        where: Path = ("services", name)
        yield from _of(where, service.container, service.mounts)
        if isinstance(service, VllmPdService):
            yield from _of((*where, "prefill"), service.prefill.container, service.prefill.mounts)
            yield from _of((*where, "decode"), service.decode.container, service.decode.mounts)
    yield from _of(("driver",), config.driver.container, config.driver.mounts)


def _of(where: Path, image: str | None, mounts: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    if image is not None and image.startswith("/"):
        yield (*where, "container"), image
    for number, mount in enumerate(mounts):
        if (path := parse_mount(mount).host_path) is not None:
            yield (*where, "mounts", number), path
