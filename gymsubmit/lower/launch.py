"""How each step is started: its container, its variables, its extra options."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from gymsubmit.config.compute import SlurmCompute
from gymsubmit.config.images import pyxis_image
from gymsubmit.config.names import identifier
from gymsubmit.config.options import Scalar, set_options
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.frozen import Frozen
from gymsubmit.lower.environment import hook_variables
from gymsubmit.lower.nodes import NodeRange, Nodes
from gymsubmit.plan import Container, Devices, Launch, Script, StagedFile, Variable

# A service's own writes belong below its mounts; /tmp is what is there, writable and empty, in every container.
SERVICE_WORKDIR = PurePosixPath("/tmp")  # noqa: S108


def launcher(config: SubmitConfig) -> str:
    """The name of the templates that start a step."""
    compute = config.only_compute
    if not isinstance(compute, SlurmCompute):
        return "local"
    return "srun" if compute.container_runtime == "none" else compute.container_runtime


class Launches(Frozen):
    """Makes the launches of one job, whose directory is `directory`."""

    config: SubmitConfig
    nodes: Nodes
    directory: PurePosixPath

    def launch(  # noqa: PLR0913
        self,
        name: str,
        nodes: NodeRange,
        *,
        image: str | None,
        mounts: tuple[str, ...],
        workdir: PurePosixPath,
        env: tuple[Variable, ...],
        srun_args: Mapping[str, Scalar],
        ports: tuple[int, ...] = (),
        devices: Devices | None = None,
        pre_command: Script | None = None,
    ) -> Launch:
        """The launch of the step `name`, one task on each of `nodes`."""
        return Launch(
            name=name,
            key=identifier(name).lower(),
            container=self._container(image, mounts, workdir, env),
            placement=self.nodes.placement(nodes),
            devices=devices,
            env=env,
            ports=ports,
            pre_command=pre_command,
            # No step on this machine is started by srun.
            srun_options=() if launcher(self.config) == "local" else _options(srun_args),
        )

    def _container(
        self, image: str | None, mounts: tuple[str, ...], workdir: PurePosixPath, env: tuple[Variable, ...]
    ) -> Container | None:
        if launcher(self.config) != "pyxis" or image is None:
            return None
        hooks = hook_variables(env)
        return Container(pyxis_image(image), mounts, workdir, hooks, tuple(variable.name for variable in hooks))

    def file_mounts(self, files: tuple[StagedFile, ...]) -> tuple[str, ...]:
        """The mounts that show staged files to a container, at the path they have outside."""
        paths = [self.directory / file.path for file in files]
        return tuple(f"{path}:{path}" for path in paths)


def _options(arguments: Mapping[str, Scalar]) -> tuple[str, ...]:
    options = set_options(arguments)
    return tuple(f"--{key}" if value is None else f"--{key}={value}" for key, value in options.items())
