"""The GPUs of a server, by name alone, and that no two servers of a node fill the same one.

A device is taken in twentieths of its memory. Each is an abstract socket, which lives in the network namespace that all
containers of a node share, and ends with its process however that ends.
"""

import errno
import os
import socket
import time
from pathlib import Path

TWENTIETHS = 20
GIB = 79.11
_held: list[socket.socket] = []


class NoDevicesError(Exception):
    """Fewer devices than needed; in vLLM it is found out before any engine starts."""


def visible() -> list[str]:
    """The devices that CUDA would see.

    Those of CUDA_VISIBLE_DEVICES up to the first that is not there, as CUDA has it; all of the node where it is unset.
    A number N is there if /dev/nvidiaN is; a UUID (`GPU-...`) always is.
    """
    numbers = sorted(int(path.name[6:]) for path in Path("/dev").glob("nvidia[0-9]*") if path.name[6:].isdigit())
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return [str(number) for number in numbers]
    found: list[str] = []
    for name in map(str.strip, named.split(",")):
        there = int(name) in numbers if name.isdigit() else name.startswith("GPU-")
        if not there or name in found:
            break
        found.append(name)
    return found


def choose(needed: int, world_size: int, device_ids: str | None = None) -> list[str]:
    """The devices that the ranks of this process take; NoDevicesError in vLLM's words if there are too few."""
    there = visible()
    if needed and not there:
        raise NoDevicesError(
            "Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG` "
            "to turn on verbose logging to help debug the issue."
        )
    if needed and len(there) < world_size and needed >= world_size:
        raise NoDevicesError(
            f"World size ({world_size}) is larger than the number of available GPUs ({len(there)}) in this node. If "
            "this is intentional and you are using:\n- ray, set '--distributed-executor-backend ray'.\n"
            "- multiprocessing, set '--nnodes' appropriately."
        )
    if device_ids is not None:
        there = [name.strip() for name in device_ids.split(",")]
    return there[:needed]


def take(devices: list[str], needed: int, utilization: float) -> None:
    """Fill a share of each device; MemoryError in vLLM's words where less is free, NoDevicesError if too few."""
    if len(devices) < needed:
        raise NoDevicesError(
            f"Error computing device indices for CUDA_VISIBLE_DEVICES: local range: [{len(devices)}, {needed}) "
            f'base value: "{os.environ.get("CUDA_VISIBLE_DEVICES")}"'
        )
    wanted = min(TWENTIETHS, max(1, round(utilization * TWENTIETHS)))
    for index, device in enumerate(devices):
        free = _fill(device, wanted)
        if free < wanted:
            raise MemoryError(
                f"Free memory on device cuda:{index} ({free / TWENTIETHS * GIB:.2f}/{GIB} GiB) on startup is less than "
                f"desired GPU memory utilization ({utilization}, {utilization * GIB:.2f} GiB). Decrease GPU memory "
                "utilization or reduce GPU memory used by other processes."
            )


def _fill(device: str, wanted: int) -> int:
    """Hold `wanted` twentieths of a device; returns how many were free, and holds none if that is too few."""
    turn = None
    while not (turn := _bind(f"{device}-turn")):
        time.sleep(0.01)
    with turn:
        got: list[socket.socket] = []
        for part in range(TWENTIETHS):
            if len(got) < wanted and (held := _bind(f"{device}-{part}")):
                got.append(held)
        if len(got) < wanted:
            for held in got:
                held.close()
        else:
            _held.extend(got)
        return len(got)


def _bind(name: str) -> socket.socket | None:
    made = socket.socket(socket.AF_UNIX)
    try:
        made.bind(f"\0stand-in-gpu-{name}")
    except OSError as e:
        made.close()
        if e.errno != errno.EADDRINUSE:
            raise
        return None
    return made
