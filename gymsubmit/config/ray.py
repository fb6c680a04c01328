"""The ports of a Ray cluster that gymsubmit starts, and that no field of the config moves."""

# Ray's default, 10002 to 19999, holds ports that others listen on: vLLM's RPC, the collector's health.
WORKER_PORTS = range(20000, 29000)


def client_server_port(ray_port: int) -> int:
    """The Ray client server's port for a head on `ray_port`; Ray's default is one for every head on a machine."""
    return ray_port + 1 if ray_port < 65535 else ray_port - 1
