"""The variables of a step, and what they need of the submitting machine and of the job."""

from collections.abc import Mapping

from gymsubmit.config.env import EnvHost, EnvLiteral, EnvRuntime, parse_env_value
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


def environments(config: SubmitConfig) -> dict[str, Mapping[str, str]]:
    """Every `env` of the config by its dotted path."""
    paths: dict[str, Mapping[str, str]] = {}
    for name, service in config.services.items():
        paths[f"services.{name}.env"] = service.env
        if isinstance(service, VllmPdService):
            paths[f"services.{name}.prefill.env"] = service.prefill.env
            paths[f"services.{name}.decode.env"] = service.decode.env
    return paths | {"driver.env": config.driver.env}


def secrets(config: SubmitConfig) -> dict[str, list[str]]:
    """The submitting machine's variables that a config asks for, each with the fields that do."""
    wanted: dict[str, list[str]] = {}
    for path, env in environments(config).items():
        for name, value in env.items():
            if isinstance(source := parse_env_value(value), EnvHost):
                wanted.setdefault(source.name, []).append(f"{path}.{name}")
    return wanted


def runtime_values(config: SubmitConfig) -> tuple[RuntimeValue, ...]:
    """The variables that must be set where the job runs."""
    return tuple(
        RuntimeValue(source.name, f"{path}.{name}")
        for path, env in environments(config).items()
        for name, value in env.items()
        if isinstance(source := parse_env_value(value), EnvRuntime)
    )
