"""What happens in a server, in the order in which it happens, for its main thread to act on."""

import queue
import sys
import time
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Event:
    """`name` is one of

    joined    the first process knows of this one          loaded   the model is in memory
    complete  every rank is there and loaded               lost     another process is gone; `detail` says which
    failed    the engine cannot go on; `detail` is why     fault    `detail` is the fault that is due
    term      a signal asks for an end                     flushed  what an end waits for is done
    """

    name: str
    detail: Any = None


class Bus(queue.SimpleQueue[Event]):
    """Threads and signal handlers post, the main thread gets."""

    def post(self, name: str, detail: Any = None) -> None:
        self.put(Event(name, detail))


class Output:
    """Lines as vLLM and uvicorn print them."""

    def __init__(self, process: str, pid: int) -> None:
        self._prefix = f"({process} pid={pid})"

    def line(self, level: str, file: str, message: str) -> None:
        self._print(f"{level} {time.strftime('%m-%d %H:%M:%S')} [{file}] {message}")

    def info(self, file: str, message: str) -> None:
        self.line("INFO", file, message)

    def error(self, file: str, message: str) -> None:
        self.line("ERROR", file, message)

    def uvicorn(self, message: str) -> None:
        self._print(f"INFO:     {message}")

    def _print(self, text: str) -> None:
        # In one write, so that threads do not mix their lines.
        lines = "".join(f"{self._prefix} {line}\n" for line in text.splitlines())
        sys.stdout.write(lines)
        sys.stdout.flush()
