"""Listening where vLLM has a ZeroMQ socket."""

import os
import socket


class ZMQError(RuntimeError):
    """An address that cannot be listened at, in ZeroMQ's words."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; ZMQError where there can be none."""
    try:
        return socket.create_server((host, port), backlog=256)
    except socket.gaierror as e:
        raise ZMQError(f"No such device (addr='tcp://{host}:{port}')") from e
    except OSError as e:
        raise ZMQError(f"{os.strerror(e.errno or 0)} (addr='tcp://{host}:{port}')") from e
