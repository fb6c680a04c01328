"""One instance over the nodes of a Ray cluster: the real Ray is asked for as many GPUs as the model needs.

As in vLLM (vllm/v1/executor/ray_utils.py), a cluster that has too few is waited for, and a node that is lost ends the
engine. Ray counts only GPUs that it finds or is told of (`ray start --num-gpus`, or RAY_OVERRIDE_RESOURCES).
"""

import importlib
import os
import socket
import sys
import threading
import time
from typing import Any

from vllm.events import Bus, Output

WAIT_SECONDS = 1800.0


class Seat:
    """An actor that holds one GPU."""

    def where(self) -> dict[str, Any]:
        return {"host": socket.gethostname(), "devices": os.environ.get("CUDA_VISIBLE_DEVICES", "")}

    def stay(self) -> None:
        threading.Event().wait()


class Workers:
    """The workers of one instance. Posts `lost` when one is gone."""

    def __init__(self, bus: Bus, out: Output, wait_seconds: float = WAIT_SECONDS) -> None:
        self._bus = bus
        self._out = out
        self._wait_seconds = wait_seconds
        self._seats: list[Any] = []

    def start(self, count: int) -> list[dict[str, Any]]:
        """Start `count` workers with a GPU each; returns where they are.

        ValueError where there is no Ray, or not within the time as many GPUs; what `ray.init` raises without a cluster.
        """
        try:
            ray: Any = importlib.import_module("ray")
            strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
        except ImportError as e:
            raise ValueError(f"Failed to import Ray: {e}.Please install Ray with `pip install ray`.") from e
        ray.init(log_to_driver=False)
        # The workers' Python does not find this package.
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
        there = ray.cluster_resources().get("GPU", 0)
        if count > there:
            self._out.line(
                "WARNING",
                "ray_utils.py:364",
                "The number of required GPUs exceeds the total number of available GPUs in the placement group.",
            )
        group = ray.util.placement_group([{"GPU": 1.0}] * count, strategy="PACK")
        self._await(ray, group.ready(), count)
        actor = ray.remote(num_cpus=0, num_gpus=1, max_concurrency=2)(Seat)
        for index in range(count):
            strategy = strategies.PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=index)
            self._seats.append(actor.options(scheduling_strategy=strategy).remote())
        where: list[dict[str, Any]] = ray.get([seat.where.remote() for seat in self._seats])
        threading.Thread(target=self._watch, args=(ray,), daemon=True).start()
        return where

    def _await(self, ray: Any, ready: Any, count: int) -> None:
        started = time.monotonic()
        interval = 10.0
        while not ray.wait([ready], timeout=max(0.0, min(interval, started + self._wait_seconds - time.monotonic())))[
            0
        ]:
            passed = time.monotonic() - started
            if passed >= self._wait_seconds:
                raise ValueError(
                    f"Cannot provide a placement group requiring {count} GPUs within {self._wait_seconds:g} seconds.\n"
                    "Tensor parallel size may exceed available GPUs in your cluster. Check resources with `ray status` "
                    "and `ray list nodes`."
                )
            interval *= 2
            self._out.info(
                "ray_utils.py:223",
                f"Waiting for creating a placement group of specs for {int(passed)} seconds. "
                f"specs={[{'GPU': 1.0}] * count}. Check `ray status` and `ray list nodes` to see if you have enough "
                "resources, and make sure the IP addresses used by ray cluster are the same as VLLM_HOST_IP "
                "environment variable specified in each node if you are running on a multi-node.",
            )

    def _watch(self, ray: Any) -> None:
        gone, _ = ray.wait([seat.stay.remote() for seat in self._seats], num_returns=1)
        try:
            ray.get(gone)
        except ray.exceptions.RayError as e:
            self._bus.post("lost", f"a Ray worker: {e}")
