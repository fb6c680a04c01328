"""`otel`: the OpenTelemetry collector beside the services."""

from pydantic import Field

from gymsubmit.config.base import Count, Model, Port
from gymsubmit.config.env import Variable
from gymsubmit.config.images import Image
from gymsubmit.config.names import FilledLine


class Otel(Model):
    """An OpenTelemetry collector in every job."""

    enabled: bool = Field(True, description="Whether the collector runs.")
    endpoint: FilledLine = Field(
        description="Where telemetry is sent: an OTLP endpoint.", examples=["https://telemetry.example.com:4317"]
    )
    service_name: FilledLine = Field(description="service.name of all that is sent.", examples=["evaluation"])
    token_env: Variable = Field("OTEL_TOKEN", description="Variable of the submitting machine that holds the token.")
    binary: FilledLine = Field("otelcol-contrib", description="The collector's program.")
    container: Image | None = Field(None, description="Container image of the collector; none runs it on the host.")
    component: FilledLine = Field("gym-vllm", description="Component that is named in all that is sent.")
    gym_telemetry: bool | None = Field(
        None, description="Gym's own telemetry; none is on when driver.gym_install is set."
    )
    gym_span_groups: FilledLine = Field("default,verify", description="Groups of spans that Gym sends.")
    gym_logs: bool = Field(True, description="Whether Gym's logs are sent.")
    gpu_metrics_port: Port | None = Field(9400, description="Port of the GPU exporter on each node; null skips it.")
    node_metrics_port: Port | None = Field(9100, description="Port of the node exporter on each node; null skips it.")
    scrape_interval_seconds: Count = Field(15, description="Seconds between two scrapes.")
    health_check_timeout_seconds: Count = Field(
        300, description="Seconds after which a collector that is not up ends the job."
    )
