"""The step of each service."""

from gymsubmit.config.services import CommandService, VllmService
from gymsubmit.lower.environment import variables
from gymsubmit.lower.launch import SERVICE_WORKDIR, Launches
from gymsubmit.lower.nodes import NodeRange
from gymsubmit.lower.scripts import LoweredScript, lower_script, lower_shell_text
from gymsubmit.lower.vllm import head_ports, vllm_step
from gymsubmit.plan import Devices, Launch, Script, ScriptStep, ServerStep, StagedFile, Step, Variable
from gymsubmit.words import NodeAddress, Word


def lower_service(
    name: str, service: VllmService | CommandService, nodes: NodeRange, launches: Launches, devices: Devices | None
) -> tuple[Step, tuple[StagedFile, ...]]:
    """The step of a service on its nodes, and the files it needs."""
    pre_command, files = _pre_command(name, service, launches)
    script = None
    if isinstance(service, CommandService) and isinstance(service.command, str):
        script = lower_script(service.command, f"{name}.command", launches.directory)
        files += script.files
    launch = launches.launch(
        name,
        nodes,
        image=service.container,
        mounts=(*launches.file_mounts(files), *service.mounts),
        workdir=SERVICE_WORKDIR,
        env=_environment(service, nodes, launches),
        srun_args=service.srun_args,
        ports=_ports(service, nodes),
        devices=devices,
        pre_command=pre_command,
    )
    return _step(service, nodes, launch, script), files


def _step(
    service: VllmService | CommandService, nodes: NodeRange, launch: Launch, script: LoweredScript | None
) -> Step:
    if isinstance(service, VllmService):
        return vllm_step(service, nodes, launch)
    if script is None:
        return ServerStep(launch, tuple(service.command))
    if script.script is None:
        return ServerStep(launch, script.argv or ())
    return ScriptStep(launch, script.script)


def _pre_command(
    name: str, service: VllmService | CommandService, launches: Launches
) -> tuple[Script | None, tuple[StagedFile, ...]]:
    if not service.pre_command.strip():
        return None, ()
    return lower_shell_text(service.pre_command, f"{name}.pre_command", launches.directory)


def _ports(service: VllmService | CommandService, nodes: NodeRange) -> tuple[int, ...]:
    if isinstance(service, VllmService):
        return head_ports(service, nodes)
    return () if service.port is None else (service.port,)


def _environment(service: VllmService | CommandService, nodes: NodeRange, launches: Launches) -> tuple[Variable, ...]:
    own: dict[str, Word] = {}
    interface = getattr(launches.config.only_compute, "network_interface", None)
    if nodes.count > 1 and interface is not None:
        own |= {"NCCL_SOCKET_IFNAME": interface, "GLOO_SOCKET_IFNAME": interface}
    if isinstance(service, CommandService) and service.per_node:
        alone = launches.nodes.count == 1
        own["GYM_STEP_NODES"] = "localhost" if alone else launches.nodes.hosts(nodes)
        own["GYM_STEP_HEAD_IP"] = "127.0.0.1" if alone else NodeAddress(nodes.first)
    given = variables(service.env)
    names = {variable.name for variable in given}
    return (*(Variable(name, value) for name, value in own.items() if name not in names), *given)
