"""The HTTP server: how answers travel, and what becomes of them when the engine is dead or hangs."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from vllm.api import Json, Model, RefusedError, complete, refused
from vllm.args import flags
from vllm.events import Bus, Output
from vllm.faults import Fault, Faults
from vllm.kv import LoadError, Transfer

DEAD = refused(500, "InternalServerError", "The server had an error while processing your request.")
# Kinds of faults after which a request is still answered, with an error; the others leave it without an answer.
ANSWERED = {"crash", "oom"}


def take_port(host: str | None, port: int, share: bool) -> socket.socket:
    """Take a port, as vLLM does long before it listens there: until then connections are refused.

    `share` is with other servers that share, as several API servers of one vLLM do. OSError where it is taken.
    """
    sock = socket.socket(socket.AF_INET6 if ":" in (host or "") else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if share:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    sock.bind((host or "", port))
    return sock


class Server:
    """Serves a model at a port that was taken before."""

    def __init__(
        self,
        sock: socket.socket,
        model: Model,
        keys: list[str],
        seconds: float,
        faults: Faults,
        transfer: Transfer,
        bus: Bus,
        out: Output,
    ) -> None:
        self.transfer = transfer
        self.model = model
        self.keys = keys
        self.seconds = seconds
        self.faults = faults
        self.bus = bus
        self.out = out
        self.dead = threading.Event()
        self.hangs = threading.Event()
        self.counts = {"running": 0, "finished": 0}
        self.lock = threading.Lock()
        self._http = ThreadingHTTPServer(sock.getsockname()[:2], self._handler(), bind_and_activate=False)
        self._http.daemon_threads = True
        self._http.socket.close()
        self._http.socket = sock

    def start(self) -> None:
        """Listen; OSError if another server took the port and listens by now."""
        self._http.socket.listen(2048)
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """Take no more connections."""
        self._http.shutdown()
        self._http.socket.close()

    def drain(self, seconds: float) -> None:
        """Wait for the requests that run, as --shutdown-timeout asks for."""
        deadline = time.monotonic() + seconds
        while self.counts["running"] and time.monotonic() < deadline:
            time.sleep(0.05)

    def _handler(self) -> Callable[..., BaseHTTPRequestHandler]:
        def make(*arguments: Any) -> BaseHTTPRequestHandler:
            return Handler(self, *arguments)

        return make


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "uvicorn"
    sys_version = ""

    def __init__(self, of: Server, *arguments: Any) -> None:
        self.of = of
        super().__init__(*arguments)

    def do_GET(self) -> None:
        self._answer({"/health": self._health, "/v1/models": self._models, "/metrics": self._metrics}, {"/ping"})

    def do_POST(self) -> None:
        self._answer({"/v1/chat/completions": self._chat, "/v1/completions": self._completions}, set())

    def log_message(self, form: str, *arguments: Any) -> None:
        """Nothing: the line of a request is written with its answer."""

    # --- routes

    def _answer(self, routes: dict[str, Callable[[], None]], empty: set[str]) -> None:
        path = self.path.partition("?")[0]
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        try:
            if path.startswith("/v1") and self.of.keys and self._key() not in self.of.keys:
                raise RefusedError(401, {"error": "Unauthorized"})
            if path == "/version":
                self._json(200, {"version": flags()["version"]})
            elif path in empty:
                self._send(200, b"", "text/plain")
            elif path in routes:
                routes[path]()
            else:
                raise RefusedError(404, {"detail": "Not Found"})
        except RefusedError as e:
            self._json(e.status, e.body)

    def _key(self) -> str:
        return str(self.headers.get("Authorization") or "").removeprefix("Bearer ")

    def _health(self) -> None:
        self._send(503 if self.of.dead.is_set() else 200, b"", "text/plain")

    def _models(self) -> None:
        self._json(200, self.of.model.listed())

    def _metrics(self) -> None:
        labels = f'engine="0",model_name="{self.of.model.names[0]}"'
        text = (
            "# TYPE vllm:num_requests_running gauge\n"
            f"vllm:num_requests_running{{{labels}}} {self.of.counts['running']}\n"
            "# TYPE vllm:request_success_total counter\n"
            f'vllm:request_success_total{{{labels},finished_reason="stop"}} {self.of.counts["finished"]}\n'
        )
        self._send(200, text.encode(), "text/plain; version=0.0.4; charset=utf-8")

    def _chat(self) -> None:
        self._complete(chat=True)

    def _completions(self) -> None:
        self._complete(chat=False)

    def _complete(self, chat: bool) -> None:
        try:
            request: Json = json.loads(self.body)
        except (json.JSONDecodeError, UnicodeDecodeError) as e:
            raise refused(400, "Bad Request", f"1 validation error:\n  {{'type': 'json_invalid', 'msg': '{e}'}}") from e
        made = complete(self.of.model, request, chat)
        with self.of.lock:
            self.of.counts["running"] += 1
        try:
            self._meet(self.of.faults.request())
            params = request.get("kv_transfer_params") or {}
            self._receive(params)
            time.sleep(self.of.seconds)
            if request.get("stream"):
                options = request.get("stream_options") or {}
                self._stream(made.pieces(bool(options.get("include_usage"))))
            else:
                self._json(200, made.whole() | {"kv_transfer_params": self.of.transfer.offer(params)})
        finally:
            with self.of.lock:
                self.of.counts["running"] -= 1
                self.of.counts["finished"] += 1

    def _receive(self, params: Json) -> None:
        try:
            self.of.transfer.receive(params)
        except LoadError as e:
            self.of.out.error("scheduler.py:3765", f"Failing 1 request(s) due to KV load failure: {e}")
            raise refused(500, "InternalServerError", "Internal server error") from e

    def _meet(self, fault: Fault | None) -> None:
        """Answer as the engine's state asks for; where it hangs, /health is still well, as in vLLM."""
        if self.of.dead.is_set():
            raise DEAD
        if fault and fault.kind in ANSWERED:
            self._json(DEAD.status, DEAD.body)
        if fault:
            self.of.bus.post("fault", fault)
        if fault or self.of.hangs.is_set():
            threading.Event().wait()

    # --- sending

    def _json(self, status: int, body: Json) -> None:
        self._send(status, json.dumps(body).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        self._log(status)

    def _stream(self, pieces: Any) -> None:
        self._log(200)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in [*pieces, None]:
                data = f"data: {json.dumps(piece) if piece else '[DONE]'}\n\n".encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")

    def _log(self, status: int) -> None:
        host, port = self.client_address[:2]
        phrase = HTTPStatus(status).phrase
        self.of.out.uvicorn(f'{host}:{port} - "{self.requestline}" {status} {phrase}')
