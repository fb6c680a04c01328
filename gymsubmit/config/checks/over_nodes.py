"""A vLLM service over several nodes: what is the job script's part there, and what its first node alone can do."""

from collections.abc import Iterator

from gymsubmit.config.checks.layout import Layout, Part
from gymsubmit.config.findings import Finding
from gymsubmit.config.paths import dotted
from gymsubmit.config.services import VllmPdService, VllmService
from gymsubmit.config.submit import SubmitConfig


def check_over_nodes(config: SubmitConfig, layout: Layout) -> Iterator[Finding]:
    """No variable stands for something that differs from node to node, and no node without an API is probed."""
    for part in layout.parts:
        service, owner = part.service, config.services[str(part.path[1])]
        independent = isinstance(owner, VllmPdService) and owner.server_per_node
        if isinstance(service, VllmService) and len(part.nodes) > 1 and not independent:
            yield from _environment(layout, part, service)
            yield from _health_check(layout, part, service)


def _environment(layout: Layout, part: Part, service: VllmService) -> Iterator[Finding]:
    if "VLLM_HOST_IP" in service.env:
        message = (
            f"is each node's own address, so that one value is wrong on all but one of the {len(part.nodes)} nodes of "
            f"{part.label}; remove it, and choose addresses with "
            f"{dotted((*layout.config.compute_path, 'network_interface'))}"
        )
        yield Finding((*part.path, "env", "VLLM_HOST_IP"), message, involved=layout.placed_by(part))
    if "RAY_ADDRESS" in service.env and (service.use_ray_serve or service.number_of_instances == 1):
        message = f"is the Ray cluster that the job starts on the {len(part.nodes)} nodes of {part.label}; remove it"
        yield Finding((*part.path, "env", "RAY_ADDRESS"), message, involved=layout.placed_by(part))


def _health_check(layout: Layout, part: Part, service: VllmService) -> Iterator[Finding]:
    if service.health_check is not None and service.health_check.nodes == "every":
        message = (
            f"'every' would ask {len(part.nodes)} nodes, of which only the first serves the API of {part.label}; "
            "write head, or leave it out"
        )
        yield Finding((*part.path, "health_check", "nodes"), message, involved=layout.placed_by(part))
