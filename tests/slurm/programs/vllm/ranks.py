"""The processes of one model: the first waits for the ranks of all others, and each notices when another is gone.

In place of vLLM's ZeroMQ sockets it is one TCP connection for each other process, with a line of JSON for each message:
HELLO and READY to the first process, INIT and GO from it, PING both ways.
"""

import contextlib
import json
import socket
import threading
import time
from typing import Any

from vllm.checks import Layout
from vllm.events import Bus
from vllm.sockets import listen

PING_SECONDS = 2.0
SILENCE_SECONDS = 15.0
RETRY_SECONDS = 0.2


class Connection:
    """One end of a connection."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lock = threading.Lock()
        self._buffer = b""
        sock.settimeout(PING_SECONDS)

    def send(self, status: str, **fields: object) -> None:
        with self._lock, contextlib.suppress(OSError):
            self._sock.sendall(json.dumps({"status": status, **fields}).encode() + b"\n")

    def receive(self) -> dict[str, Any] | None:
        """The next message that is no PING; None when the other end is gone, or silent as a crashed node is."""
        heard = time.monotonic()
        while time.monotonic() - heard < SILENCE_SECONDS:
            line, newline, rest = self._buffer.partition(b"\n")
            if newline:
                self._buffer = rest
                try:
                    message: dict[str, Any] = json.loads(line)
                except json.JSONDecodeError:
                    # A probe for HTTP, say.
                    return None
                if message["status"] != "PING":
                    return message
                continue
            try:
                more = self._sock.recv(65536)
            except TimeoutError:
                self.send("PING")
                continue
            except OSError:
                return None
            if not more:
                return None
            heard = time.monotonic()
            self._buffer += more
        return None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()


class First:
    """The process that waits for the others; ZMQError where it cannot. Posts `complete`, `lost` and `failed`."""

    def __init__(self, layout: Layout, shape: list[Any], bus: Bus) -> None:
        self._layout = layout
        self._shape = shape
        self._bus = bus
        self._states: dict[int, str] = {rank: "NEW" for rank in range(layout.size) if rank not in layout.ranks}
        self._own_ready = False
        self._connections: list[Connection] = []
        self._lock = threading.RLock()
        self._listener: socket.socket | None = None
        if not layout.alone:
            self._listener = listen(layout.address, layout.port)
            threading.Thread(target=self._accept, daemon=True).start()

    def start(self) -> None:
        """It need not be known to anybody."""
        self._bus.post("joined")

    def ready(self) -> None:
        """Its own ranks are loaded."""
        with self._lock:
            self._own_ready = True
            self._check()

    def close(self) -> None:
        """End the others."""
        with self._lock:
            if self._listener:
                self._listener.close()
            for connection in self._connections:
                connection.close()

    def _accept(self) -> None:
        assert self._listener is not None
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            connection = Connection(sock)
            with self._lock:
                self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        ranks: list[int] = []
        host = "?"
        while message := connection.receive():
            with self._lock:
                if message["status"] == "HELLO":
                    ranks, host = message["ranks"], message["host"]
                if refusal := self._refusal(message, ranks):
                    self._bus.post("failed", refusal)
                    return
                for rank in ranks:
                    self._states[rank] = "CONNECTED" if message["status"] == "HELLO" else "READY"
                if message["status"] == "HELLO":
                    connection.send("INIT")
                self._check()
        if ranks:
            self._bus.post("lost", f"ranks {', '.join(map(str, ranks))} on {host}")

    def _refusal(self, message: dict[str, Any], ranks: list[int]) -> str:
        """Why a message cannot be, in vLLM's words; empty if it can."""
        status, headless = message["status"], message.get("headless")
        for rank in ranks:
            state = self._states.get(rank)
            if rank in self._layout.ranks:
                return f"{status} message from remote engine {rank}, expected it to be local"
            if state is None:
                return f"Message from engine with unexpected data parallel rank: {rank}"
            if status == "HELLO" and headless and self._layout.outside:
                return f"Remote engine {rank} must not use --headless in external or hybrid dp lb mode"
            if status == "HELLO" and not headless and not self._layout.outside:
                return f"Remote engine {rank} must use --headless unless in external or hybrid dp lb mode"
            if (status, state) not in {("HELLO", "NEW"), ("READY", "CONNECTED")}:
                return f"Unexpected {status} message for remote engine {rank} in CoreEngineState.{state} state."
            if status == "HELLO" and message["shape"] != self._shape:
                return (
                    f"Configuration mismatch detected for engine {rank}. All DP workers must have identical "
                    f"configurations for parameters that affect collective communication. Worker: {message['shape']}, "
                    f"Expected: {self._shape}. Please ensure all workers are started with the same command-line "
                    "arguments."
                )
        return ""

    def _check(self) -> None:
        if self._own_ready and set(self._states.values()) <= {"READY"}:
            for connection in self._connections:
                connection.send("GO")
            self._bus.post("complete")


class Other:
    """A process that registers with the first. Posts `joined`, `complete`, `lost` and `failed`."""

    def __init__(self, layout: Layout, shape: list[Any], bus: Bus, seconds: float) -> None:
        self._layout = layout
        self._shape = shape
        self._bus = bus
        self._seconds = seconds
        self._connection: Connection | None = None

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def ready(self) -> None:
        assert self._connection is not None
        self._connection.send("READY", ranks=list(self._layout.ranks))

    def close(self) -> None:
        if self._connection:
            self._connection.close()

    def _run(self) -> None:
        connection = self._connect()
        if connection is None:
            minutes = self._seconds / 60
            self._bus.post("failed", f"Did not receive response from front-end process within {minutes:g} minutes")
            return
        self._connection = connection
        connection.send(
            "HELLO",
            ranks=list(self._layout.ranks),
            headless=not self._layout.serves,
            host=socket.gethostname(),
            shape=self._shape,
        )
        while message := connection.receive():
            self._bus.post({"INIT": "joined", "GO": "complete"}[message["status"]])
        self._bus.post("lost", f"the first process at {self._layout.address}:{self._layout.port}")

    def _connect(self) -> Connection | None:
        """As a ZeroMQ socket does, try again for as long as the first process is not there."""
        deadline = time.monotonic() + self._seconds
        while time.monotonic() < deadline:
            try:
                return Connection(socket.create_connection((self._layout.address, self._layout.port), timeout=5))
            except OSError:
                time.sleep(RETRY_SECONDS)
        return None
