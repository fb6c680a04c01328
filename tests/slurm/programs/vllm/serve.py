"""`vllm serve`, from its command line to its exit status.

The statuses are vLLM's, of which two surprise: where the engine of a running server dies, one with a single API server
ends with 0, and so does a headless process whose engine dies at any time. See faults.py for what can be made to go
wrong; the other settings are

    STAND_IN_LOAD_SECONDS       how long a model loads (0)
    STAND_IN_REQUEST_SECONDS    how long a completion takes (0)
    STAND_IN_HANDSHAKE_SECONDS  how long a process looks for the first one (300)
    STAND_IN_RAY_SECONDS        how long it waits for Ray's GPUs (1800)
    STAND_IN_RECORDS            where it records what it was (see records.py)
"""

import os
import signal
import socket
import threading
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from records import Record

from vllm import devices
from vllm.api import Model
from vllm.args import flags, parser
from vllm.checks import Layout, check_model, check_parsers, layout_of
from vllm.events import Bus, Output
from vllm.faults import Fault, Faults
from vllm.kv import Transfer
from vllm.ranks import First, Other
from vllm.ray_workers import Workers
from vllm.server import Server, take_port
from vllm.sockets import ZMQError

DEFAULT_MAX_MODEL_LEN = 40960
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB "
    "of which 1.17 GiB is free."
)


def seconds(name: str, otherwise: float) -> float:
    return float(os.environ.get(f"STAND_IN_{name}_SECONDS", otherwise))


class Process:
    """One process of `vllm serve`."""

    def __init__(self, args: Namespace, layout: Layout, record: Record) -> None:
        self.args = args
        self.layout = layout
        self.record = record
        self.bus = Bus()
        self.out = Output("APIServer" if layout.serves else "EngineCore", os.getpid())
        node = os.environ.get("SLURM_NODEID", "0")
        self.faults = Faults(os.environ.get("STAND_IN_FAULTS", ""), node, layout.ranks, args.port, self.bus)
        self.transfer = Transfer(args.kv_transfer_config or {}, layout.ranks)
        self.ranks: First | Other | None = None
        self.server: Server | None = None
        self.devices: list[str] = []
        self.healthy = self.stuck = self.ending = False

    def run(self) -> int:
        """Live; returns the exit status, or raises as vLLM does."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: self.bus.post("term", signal.Signals(number).name))
        for fault in self.faults.at("start"):
            self.bus.post("fault", fault)
        self.bus.post("begin")
        handlers: dict[str, Callable[[Any], int | None]] = {
            "begin": self.on_begin,
            "joined": self.on_joined,
            "loaded": self.on_loaded,
            "complete": self.on_complete,
            "lost": self.on_lost,
            "failed": self.on_failed,
            "fault": self.on_fault,
            "term": self.on_term,
            "flushed": self.on_flushed,
        }
        while True:
            event = self.bus.get()
            if (self.stuck or self.ending) and event.name not in {"term", "flushed", "fault"}:
                continue
            status = handlers[event.name](event.detail)
            if status is not None:
                return status

    # --- the way up

    def on_begin(self, _: Any) -> None:
        args, layout = self.args, self.layout
        self.out.info("launcher.py:367", f"vLLM API server version {flags()['version']} (stand-in), model {args.model}")
        if layout.serves:
            check_parsers(args)
            sock = take_port(args.host, args.port, share=layout.api_servers > 1)
            self.record.event("port", port=args.port)
            self.server = self.make_server(sock)
        check_model(args.model)
        self.devices = devices.choose(layout.devices, layout.world_size, args.device_ids)
        self.record.set(devices=self.devices)
        shape = [layout.size, layout.world_size, args.model, args.enable_expert_parallel]
        if layout.first:
            self.ranks = First(layout, shape, self.bus)
        else:
            self.out.info(
                "serve.py:230",
                f"Launching {len(layout.ranks)} data parallel engine(s) in headless mode, "
                f"with head node address tcp://{layout.address}:{layout.port}.",
            )
            self.ranks = Other(layout, shape, self.bus, seconds("HANDSHAKE", 300))
        self.ranks.start()

    def make_server(self, sock: socket.socket) -> Server:
        args = self.args
        model = Model(
            names=args.served_model_name or [args.model],
            path=args.model,
            max_model_len=args.max_model_len if (args.max_model_len or 0) > 0 else DEFAULT_MAX_MODEL_LEN,
            fingerprint=f"stand-in-{socket.gethostname()}-{args.port}",
        )
        keys = args.api_key or list(filter(None, [os.environ.get("VLLM_API_KEY")]))
        return Server(sock, model, keys, seconds("REQUEST", 0), self.faults, self.transfer, self.bus, self.out)

    def on_joined(self, _: Any) -> int | None:
        self.record.event("joined")
        try:
            devices.take(self.devices, self.layout.devices, self.args.gpu_memory_utilization)
            self.transfer.listen()
        except (MemoryError, ZMQError, devices.NoDevicesError) as e:
            return self.on_failed(f"{type(e).__name__}: {e}")
        self.out.info("gpu_model_runner.py:4100", f"Starting to load model {self.args.model}...")
        for fault in self.faults.at("load"):
            self.bus.post("fault", fault)
        threading.Thread(target=self.load, daemon=True).start()
        return None

    def load(self) -> None:
        if self.layout.ray:
            try:
                workers = Workers(self.bus, self.out, seconds("RAY", 1800)).start(self.layout.world_size)
            except Exception as e:
                # Ray's are many, and each ends the engine.
                self.bus.post("failed", f"{type(e).__name__}: {e}")
                return
            self.record.set(ray_workers=workers)
        threading.Event().wait(seconds("LOAD", 0))
        self.bus.post("loaded")

    def on_loaded(self, _: Any) -> None:
        self.record.event("loaded")
        self.out.info("gpu_model_runner.py:4200", "Model loading took 1.00 GiB memory")
        assert self.ranks is not None
        self.ranks.ready()

    def on_complete(self, _: Any) -> None:
        if self.server:
            self.out.info(
                "entry.py:128", f"Starting vLLM server on http://{self.args.host or '0.0.0.0'}:{self.args.port}"
            )
            self.out.uvicorn(f"Started server process [{os.getpid()}]")
            self.out.uvicorn("Waiting for application startup.")
            self.server.start()
            self.out.uvicorn("Application startup complete.")
        self.healthy = True
        self.record.event("healthy")
        self.faults.healthy()

    # --- the ways down

    def on_lost(self, who: str) -> int | None:
        self.record.event("lost", who=who)
        return (
            None if self.faults.setting("deaf") else self.on_failed(f"RuntimeError: Connection closed by peer: {who}")
        )

    def on_failed(self, why: str) -> int:
        """The engine is dead: vLLM prints why, and ends as it then does."""
        core = f"EngineCore_DP{self.layout.ranks.start}" if self.layout.size > 1 else "EngineCore"
        self.out.error("core.py:1060", f"{core} encountered a fatal error.")
        self.out.error("core.py:1060", f"Traceback (most recent call last):\n{why}")
        self.record.event("dead", why=why)
        if self.server:
            self.server.dead.set()
        if not self.layout.serves:
            self.out.info("serve.py:265", "Shutting down.")
            return 0
        if not self.healthy:
            raise RuntimeError(
                f"Engine core initialization failed. See root cause above. Failed core proc(s): {{'{core}': 1}}"
            )
        if self.layout.api_servers > 1:
            raise RuntimeError(f"Engine core process {core} died unexpectedly.")
        self.out.error(
            "async_llm.py:700",
            "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. "
            "See stack trace (above) for the root cause.",
        )
        self.out.uvicorn("Shutting down")
        return 0

    def on_fault(self, fault: Fault) -> int | None:
        self.record.event("fault", kind=fault.kind, moment=fault.moment)
        match fault.kind:
            case "kill" | "freeze":
                os.kill(os.getpid(), signal.SIGKILL if fault.kind == "kill" else signal.SIGSTOP)
            case "hang" if self.healthy and self.server:
                self.server.hangs.set()
            case "hang":
                self.stuck = True
            case "crash":
                return self.on_failed("RuntimeError: CUDA error: an illegal memory access was encountered")
            case "oom":
                return self.on_failed(OOM)
            case _:
                return int(fault.kind.removeprefix("exit"))
        return None

    def on_term(self, name: str) -> int | None:
        self.record.event("term", signal=name)
        if self.ending or self.faults.setting("ignore_term"):
            return None
        self.ending = True
        self.out.info("launcher.py:256", "[shutdown] API server: shutdown triggered")
        if self.server and self.healthy:
            self.server.stop()
            self.server.drain(self.args.shutdown_timeout)
        if not (flush := self.faults.setting("flush")):
            return self.on_flushed(None)
        timer = threading.Timer(flush.seconds, self.bus.post, ("flushed", flush))
        timer.daemon = True
        timer.start()
        return None

    def on_flushed(self, flush: Fault | None) -> int:
        if flush:
            self.record.event("flushed")
        self.out.uvicorn("Application shutdown complete.")
        # A single API server that is not up yet is ended by a KeyboardInterrupt.
        return 130 if not self.healthy and self.layout.api_servers == 1 else 0


def serve(words: list[str], record: Record) -> int:
    """Run a command line; returns the exit status. SystemExit 2 for one that cannot be parsed, as argparse has it."""
    made = parser()
    args = made.parse_args(words)
    if args.subparser is None:
        made.print_help()
        return 0
    if args.subparser != "serve":
        raise NotImplementedError(f"vllm {args.subparser}: the stand-in does not play it")
    args.model = args.model_tag or args.model
    layout = layout_of(args)
    record.set(model=args.model, ranks=list(layout.ranks), headless=not layout.serves)
    process = Process(args, layout, record)
    try:
        return process.run()
    finally:
        if process.ranks:
            process.ranks.close()
