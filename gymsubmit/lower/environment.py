"""The variables of a step, and what they need of the submitting machine and of the job."""

from collections.abc import Iterator, Mapping

from gymsubmit.config.env import EnvHost, EnvLiteral, EnvRuntime, EnvValue, parse_env_value
from gymsubmit.config.findings import Path
from gymsubmit.config.paths import dotted
from gymsubmit.config.services import VllmPdService
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.plan import RuntimeValue, Variable
from gymsubmit.words import RuntimeEnv, Secret, Word

# Read by hooks of enroot and the NVIDIA container toolkit before the step's shell runs, so that it is too late there.
_HOOK_PREFIXES = ("NVIDIA_", "MELLANOX_", "ENROOT_")


def variables(env: Mapping[str, str]) -> tuple[Variable, ...]:
    """A config's `env` as variables, in its order."""
    return tuple(Variable(name, _word(value)) for name, value in env.items())


def _word(value: str) -> Word:
    match parse_env_value(value):
        case EnvLiteral(text):
            return text
        case EnvHost(name):
            return Secret(name)
        case EnvRuntime(name):
            return RuntimeEnv(name)


def hook_variables(variables: tuple[Variable, ...]) -> tuple[Variable, ...]:
    """Those that a container's hooks read."""
    return tuple(variable for variable in variables if variable.name.startswith(_HOOK_PREFIXES))


def _sources(config: SubmitConfig) -> Iterator[tuple[Path, EnvValue]]:
    """Every variable of every step: the path of its value, and what that says."""
    environments: list[tuple[Path, Mapping[str, str]]] = []
    for name, service in config.services.items():
        environments.append((("services", name), service.env))
        if isinstance(service, VllmPdService):
            environments.append((("services", name, "prefill"), service.prefill.env))
            environments.append((("services", name, "decode"), service.decode.env))
    for path, env in (*environments, (("driver",), config.driver.env)):
        for variable, value in env.items():
            yield (*path, "env", variable), parse_env_value(value)


def secrets(config: SubmitConfig) -> dict[str, list[Path]]:
    """The submitting machine's variables that a config asks for, each with the paths of the values that do."""
    wanted: dict[str, list[Path]] = {}
    for path, source in _sources(config):
        if isinstance(source, EnvHost):
            wanted.setdefault(source.name, []).append(path)
    return wanted


def runtime_values(config: SubmitConfig) -> tuple[RuntimeValue, ...]:
    """The variables that must be set where the job runs."""
    return tuple(
        RuntimeValue(source.name, dotted(path)) for path, source in _sources(config) if isinstance(source, EnvRuntime)
    )
