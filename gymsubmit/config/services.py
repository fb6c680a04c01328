"""`services.<name>`: what is served, and how to know that it is up."""

from typing import Annotated, Any, Literal

from pydantic import Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from gymsubmit.config.arguments import Arguments
from gymsubmit.config.base import ByType, Check, Count, CountOrZero, EitherOr, FrozenDict, Model, Port, Words, wrong
from gymsubmit.config.env import Environment
from gymsubmit.config.images import Image
from gymsubmit.config.mounts import Mounts
from gymsubmit.config.names import FilledLine, FilledText, Name, Operand, Text
from gymsubmit.config.options import Options
from gymsubmit.frozen import Frozen

DEFAULT_PATH = "/health"
DEFAULT_TIMEOUT_SECONDS = 60
DEFAULT_INTERVAL_SECONDS = 5


def _check_path(path: str) -> str:
    if not path.startswith("/"):
        message = f"{path!r} does not begin with /; write the path of the URL alone, as in {DEFAULT_PATH}"
        raise wrong(message)
    if not all("!" <= char <= "~" for char in path):
        message = f"{path!r} holds what no URL may; write blanks, control characters and all but ASCII as %XX"
        raise wrong(message)
    return path


class HealthCheck(Model):
    """How to find out over HTTP that a service is ready."""

    path: Annotated[str, Check(_check_path)] = Field(
        DEFAULT_PATH, description="Path of the URL that answers 2xx when the service is ready."
    )
    port: Port | None = Field(None, description="Port to ask; none is the service's own.")
    timeout_seconds: Count = Field(
        DEFAULT_TIMEOUT_SECONDS, description="Seconds from the service's start after which the job gives up."
    )
    interval_seconds: Count = Field(DEFAULT_INTERVAL_SECONDS, description="Seconds between two probes.")
    nodes: Literal["head", "every"] | None = Field(
        None, description="Which of the service's nodes are asked; none is the usual for the service, mostly `head`."
    )


class EffectiveHealthCheck(Frozen):
    """A health check with nothing left to defaults."""

    path: str
    port: int
    timeout_seconds: int
    interval_seconds: int
    nodes: Literal["head", "every"]


def _effective(
    check: HealthCheck | None, port: int | None, nodes: Literal["head", "every"]
) -> EffectiveHealthCheck | None:
    check = check or HealthCheck()
    port = check.port or port
    if port is None:
        return None
    return EffectiveHealthCheck(check.path, port, check.timeout_seconds, check.interval_seconds, check.nodes or nodes)


class _Service(Model):
    container: Image | None = Field(
        None, description="Container image: an absolute path or a registry image. Required under a container runtime."
    )
    placement: Name | None = Field(None, description="Compute entry that the service runs on; none is the only one.")
    node_pool: Name | None = Field(
        None, description="Node pool that the service is pinned to; none is the whole allocation."
    )
    health_check: HealthCheck | None = Field(None, description="How to find out that the service is ready.")
    env: Environment = Field(
        FrozenDict(), description="Environment of this service: lit:TEXT, host:VAR or runtime:VAR."
    )
    mounts: Mounts = Field((), description="Mounts of the container: SRC, SRC:DST or SRC:DST:FLAGS.")
    pre_command: Text = Field("", description="Shell statements run in the same shell just before the command.")
    srun_args: Options = Field(FrozenDict(), description="Extra srun options of this service's steps.")


class _Vllm(_Service):
    served_model_name: FilledLine | None = Field(
        None, description="Name that the API knows the model by; none is `model`."
    )
    tensor_parallel_size: Count = Field(1, description="GPUs that one pipeline stage of an instance is split over.")
    pipeline_parallel_size: Count = Field(1, description="Pipeline stages of an instance.")
    number_of_instances: Count = Field(1, description="Instances of the model, behind one endpoint.")
    trust_remote_code: bool = Field(False, description="Run code that comes with the model.")
    use_ray_serve: bool = Field(False, description="Put the instances behind the Ray Serve gateway.")
    extra_args: Arguments = Field(
        (),
        description="More arguments of `vllm serve`: text split into words as a POSIX shell does, or a list of words.",
    )
    ray_port: Port = Field(6379, description="Port of the Ray cluster of an instance over several nodes.")


class VllmService(_Vllm):
    """A model served by vLLM."""

    type: Literal["vllm"] = Field(description="Type of the service.")
    model: Operand = Field(description="Model: a path or a name that vLLM can load.", examples=["Qwen/Qwen3-8B"])
    port: Port = Field(8000, description="Port of the API.")
    data_parallel_rpc_port: Port = Field(13345, description="Port that data parallel ranks on several nodes meet on.")

    @property
    def policy_model_name(self) -> str:
        """The name that requests name the model by."""
        return self.served_model_name or self.model

    @property
    def effective_health_check(self) -> EffectiveHealthCheck | None:
        """The health check with its defaults filled in; never None."""
        return _effective(self.health_check, self.port, "head")


class Tier(_Vllm):
    """One half of a prefill/decode service: a vllm service without `type`."""

    model: Operand | None = Field(None, description="Model; none is the service's.")
    port: Port | None = Field(
        None, description="Port of the API; none is the router's + 1 for prefill, + 2 for decode."
    )
    data_parallel_rpc_port: Port | None = Field(
        None, description="Port that data parallel ranks meet on; none is 13345 for prefill, prefill's + 1 for decode."
    )

    @model_validator(mode="wrap")
    @classmethod
    def _say_where_it_belongs(cls, value: Any, validate: ModelWrapValidatorHandler["Tier"]) -> "Tier":
        try:
            return validate(value)
        except ValidationError as error:
            raise ValidationError.from_exception_data(
                error.title, [_of_tier(each) for each in error.errors()]
            ) from None


_NOT_OF_TIER = {
    "type": "is no field of a tier, which is always a vllm service; remove it",
    "server_per_node": "sits on the service, not on a tier; move it up",
    "nixl_side_channel_port": "sits on the service, not on a tier; move it up",
}


def _of_tier(error: ErrorDetails) -> InitErrorDetails:
    kind: str | PydanticCustomError = error["type"]
    field = error["loc"][0] if len(error["loc"]) == 1 else None
    if kind == "extra_forbidden" and field in _NOT_OF_TIER:
        kind = wrong(_NOT_OF_TIER[field])
    elif kind == "gymsubmit":
        kind = wrong(error["msg"])
    return InitErrorDetails(type=kind, loc=error["loc"], input=error["input"], ctx=error.get("ctx", {}))


class VllmPdService(_Service):
    """A model served by vLLM in two tiers, prefill and decode, behind a router."""

    type: Literal["vllm_pd"] = Field(description="Type of the service.")
    model: Operand | None = Field(None, description="Model of both tiers, unless a tier sets its own.")
    served_model_name: FilledLine | None = Field(None, description="Name that the API knows the model by.")
    port: Port = Field(8000, description="Port of the router.")
    prefill: Tier = Field(description="The tier that reads prompts.", examples=[{"node_pool": "prefill"}])
    decode: Tier = Field(description="The tier that writes answers.", examples=[{"node_pool": "decode"}])
    server_per_node: bool = Field(False, description="Run one independent server on each node of a tier.")
    nixl_side_channel_port: Port = Field(
        5600, description="First port of prefill's NIXL side channel, one a rank; decode's begins one after it."
    )
    prefill_policy: FilledLine = Field("cache_aware", description="How the router picks a prefill server.")
    decode_policy: FilledLine = Field("cache_aware", description="How the router picks a decode server.")
    intra_node_data_parallel_size: Count = Field(1, description="Data parallel ranks that one URL stands for.")
    request_timeout_secs: Count = Field(86400, description="Seconds that the router lets a request take.")
    log_level: FilledLine = Field("error", description="Log level of the router.")
    kv_connector: FilledLine = Field("NixlConnector", description="Connector that hands the KV cache over.")
    kv_load_failure_policy: FilledLine = Field(
        "fail", description="What decode does when the KV cache does not arrive."
    )
    router_metrics_port: Port = Field(29000, description="Port of the router's Prometheus metrics.")

    @property
    def policy_model_name(self) -> str | None:
        """The name that requests name the model by."""
        return self.served_model_name or self.model or self.decode.served_model_name or self.decode.model

    @property
    def effective_health_check(self) -> EffectiveHealthCheck | None:
        """The router's health check with its defaults filled in; never None."""
        return _effective(self.health_check, self.port, "head")

    @property
    def effective_prefill(self) -> VllmService:
        """The prefill tier as the service it amounts to, with all that it inherits."""
        return self._effective_tier(self.prefill, self.port + 1, 13345)

    @property
    def effective_decode(self) -> VllmService:
        """The decode tier as the service it amounts to, with all that it inherits."""
        return self._effective_tier(self.decode, self.port + 2, (self.prefill.data_parallel_rpc_port or 13345) + 1)

    def _effective_tier(self, tier: Tier, port: int, rpc_port: int) -> VllmService:
        values: dict[str, Any] = {name: getattr(tier, name) for name in Tier.model_fields}
        check = tier.health_check or HealthCheck()
        nodes = check.nodes or ("every" if self.server_per_node else "head")
        return VllmService.model_construct(
            **values
            | {
                "type": "vllm",
                "container": tier.container or self.container,
                "placement": tier.placement or self.placement,
                "model": tier.model or self.model,
                "served_model_name": tier.served_model_name or self.served_model_name,
                "port": tier.port or port,
                "data_parallel_rpc_port": tier.data_parallel_rpc_port or rpc_port,
                "health_check": check.model_copy(update={"nodes": nodes}),
            }
        )


class RayService(_Service):
    """A Ray cluster for benchmarks to use."""

    type: Literal["ray"] = Field(description="Type of the service.")
    node_pools: Words[Name] = Field((), description="Node pools that the cluster spans; empty is one node.")
    port: Port = Field(6379, description="Port of the Ray head.")
    resources: FrozenDict[Name, FrozenDict[FilledLine, Annotated[float, Field(ge=0, allow_inf_nan=False)]]] = Field(
        FrozenDict(), description="Custom resources that each node of a pool offers: {POOL: {NAME: NUMBER}}."
    )
    num_cpus: CountOrZero | None = Field(None, description="CPUs that each node offers; none is what Ray finds.")
    num_gpus: CountOrZero | None = Field(None, description="GPUs that each node offers; none is what Ray finds.")
    extra_args: Arguments = Field(
        (),
        description="More arguments of `ray start`: text split into words as a POSIX shell does, or a list of words.",
    )

    @property
    def effective_health_check(self) -> EffectiveHealthCheck | None:
        """The health check with its defaults filled in; None without one: ready when all nodes have joined."""
        return _effective(self.health_check, None, "head") if self.health_check else None


class CommandService(_Service):
    """Any other server: a shell script, or a list of words."""

    type: Literal["command"] = Field(description="Type of the service.")
    command: Annotated[
        str | tuple[str, ...], EitherOr(FilledText, Words[Text], lambda value: isinstance(value, str))
    ] = Field(description="What runs: a shell script, or a list of words.", examples=["exec python3 -m server"])
    port: Port | None = Field(None, description="Port that it listens on.")
    gpus: Count | None = Field(None, description="GPUs that it needs on each of its nodes.")
    model: Operand | None = Field(None, description="Model that it serves.")
    served_model_name: FilledLine | None = Field(
        None, description="Name that the API knows the model by; none is `model`."
    )
    per_node: bool = Field(False, description="Run one copy on every node of its pool.")

    @property
    def policy_model_name(self) -> str | None:
        """The name that requests name the model by."""
        return self.served_model_name or self.model

    @property
    def effective_health_check(self) -> EffectiveHealthCheck | None:
        """The health check with its defaults filled in; None where there is none."""
        return _effective(self.health_check, self.port, "head") if self.health_check else None


Service = Annotated[
    VllmService | VllmPdService | RayService | CommandService,
    ByType(VllmService, VllmPdService, RayService, CommandService),
]
