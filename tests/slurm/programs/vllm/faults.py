"""What goes wrong in a stand-in, and when: the variable STAND_IN_FAULTS.

    STAND_IN_FAULTS='oom@3requests:rank=4,flush=2'

Items are separated by commas. KIND@MOMENT, once, where KIND is

    crash    the engine dies of an error: the server ends as vLLM then does (see server.py)
    oom      the same of CUDA out of memory
    kill     SIGKILL, as the kernel's out-of-memory killer does
    exitN    the process ends with status N
    freeze   SIGSTOP: it does nothing any more, not even end at TERM
    hang     the engine does nothing any more: it is never ready, or completions have no answer

and MOMENT is

    start        before the port is taken          load        while the model loads
    run          as soon as it is healthy          Nrequests   at the N-th completion
    Ns           N seconds after it is healthy     /PATH       when that file appears

or one of

    flush=N      after TERM it takes N seconds to end, and only then records the event `flushed`
    ignore_term  TERM and INT do nothing
    deaf         it does not notice that another rank is gone

An item is for every process unless it ends in :node=N (SLURM_NODEID), :rank=N (the process that has this data-parallel
rank, or --node-rank) or :port=N (the server of that port); several must all fit. A PATH has no comma and no colon.
"""

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vllm.events import Bus

KINDS = r"crash|oom|kill|freeze|hang|exit\d+"
MOMENTS = r"start|load|run|\d+requests|\d+(\.\d+)?s|/.*"
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Fault:
    """`kind` at `moment`; a setting has no moment, and `seconds` if it is `flush`."""

    kind: str
    moment: str = ""
    seconds: float = 0


def _parse(item: str) -> Fault:
    if match := re.fullmatch(rf"({KINDS})@({MOMENTS})", item):
        return Fault(match[1], match[2])
    if match := re.fullmatch(r"flush=(\d+(\.\d+)?)", item):
        return Fault("flush", seconds=float(match[1]))
    if item in {"ignore_term", "deaf"}:
        return Fault(item)
    raise ValueError(f"STAND_IN_FAULTS: {item} is no fault; see faults.py")


def _fits(condition: str, node: str, ranks: range, port: int) -> bool:
    name, _, value = condition.partition("=")
    match name:
        case "node":
            return value == node
        case "rank":
            return int(value) in ranks
        case "port":
            return int(value) == port
    raise ValueError(f"STAND_IN_FAULTS: {condition} is no condition; see faults.py")


class Faults:
    """The faults of this process; those that are due are posted to `bus` as `fault`."""

    def __init__(self, text: str, node: str, ranks: range, port: int, bus: Bus) -> None:
        self._bus = bus
        self._requests = 0
        self._lock = threading.Lock()
        self.all: list[Fault] = []
        for item in filter(None, map(str.strip, text.split(","))):
            what, *conditions = item.split(":")
            fault = _parse(what)
            if all(_fits(condition, node, ranks, port) for condition in conditions):
                self.all.append(fault)
        for fault in self.all:
            if fault.moment.startswith("/"):
                threading.Thread(target=self._await_file, args=(fault,), daemon=True).start()

    def setting(self, kind: str) -> Fault | None:
        return next((fault for fault in self.all if fault.kind == kind), None)

    def at(self, moment: str) -> Iterator[Fault]:
        return (fault for fault in self.all if fault.moment == moment)

    def healthy(self) -> None:
        """Post what is due now, and start the clocks of what is due later."""
        for fault in self.all:
            if fault.moment == "run":
                self._bus.post("fault", fault)
            elif match := re.fullmatch(r"([\d.]+)s", fault.moment):
                self._later(fault, float(match[1]))

    def request(self) -> Fault | None:
        """Count a completion; the fault that it meets is not posted, since its answer must be seen to first."""
        with self._lock:
            self._requests += 1
            return next(self.at(f"{self._requests}requests"), None)

    def _later(self, fault: Fault, seconds: float) -> None:
        timer = threading.Timer(seconds, self._bus.post, ("fault", fault))
        timer.daemon = True
        timer.start()

    def _await_file(self, fault: Fault) -> None:
        stop = threading.Event()
        while not Path(fault.moment).exists():
            stop.wait(POLL_SECONDS)
        self._bus.post("fault", fault)
