"""Checks across the fields of a config that is valid field by field."""

from gymsubmit.config.checks.benchmarks import check_benchmarks
from gymsubmit.config.checks.directives import check_directives
from gymsubmit.config.checks.flags import check_flags
from gymsubmit.config.checks.gpus import check_gpus
from gymsubmit.config.checks.layout import Layout
from gymsubmit.config.checks.names import check_names
from gymsubmit.config.checks.over_nodes import check_over_nodes
from gymsubmit.config.checks.placement import check_placement
from gymsubmit.config.checks.ports import check_ports
from gymsubmit.config.checks.references import check_references
from gymsubmit.config.checks.services import check_services
from gymsubmit.config.checks.shell import check_shell
from gymsubmit.config.findings import Finding
from gymsubmit.config.submit import SubmitConfig


def check(config: SubmitConfig) -> list[Finding]:
    """All that is wrong with a config, or worth a warning, across its fields."""
    layout = Layout(config)
    return [
        *check_references(config),
        *check_services(config),
        *check_flags(config),
        *check_directives(config, layout),
        *check_names(config, layout),
        *check_placement(config, layout),
        *check_over_nodes(config, layout),
        *check_ports(config, layout),
        *check_gpus(config, layout),
        *check_benchmarks(config),
        *check_shell(config),
    ]
