"""KV transfer between servers: no cache is moved, but the NIXL side channel of the one is called by the other.

Each data-parallel rank listens at VLLM_NIXL_SIDE_CHANNEL_HOST, port VLLM_NIXL_SIDE_CHANNEL_PORT plus its rank, and says
its engine's id. A prefill's answer names that place in `kv_transfer_params`; a decode that is given it calls there. So
a wrong address or a taken port fails as it does in vLLM (vllm/distributed/kv_transfer/kv_connector/v1/nixl).
"""

import os
import socket
import threading
import uuid
from typing import Any

from vllm.sockets import listen

CONNECTORS = {"NixlConnector", "NixlPullConnector", "NixlPushConnector"}
ROLES = ("kv_producer", "kv_both", "kv_consumer")
POLICIES = ("recompute", "fail")
CALL_SECONDS = 5


class LoadError(Exception):
    """The cache of a prefill did not come."""


class Transfer:
    """The transfer that --kv-transfer-config asks for; ValueError for one that vLLM refuses."""

    def __init__(self, config: dict[str, Any], ranks: range) -> None:
        connector, role = config.get("kv_connector"), config.get("kv_role")
        if role is not None and role not in ROLES:
            raise ValueError(f"Unsupported kv_role: {role}. Supported roles are {ROLES}")
        if connector is not None and role is None:
            raise ValueError(f"Please specify kv_role when kv_connector is set, supported roles are {ROLES}")
        self.policy = config.get("kv_load_failure_policy", "fail")
        if self.policy not in POLICIES:
            raise ValueError(
                f"kv_load_failure_policy: Input should be 'recompute' or 'fail' [input_value='{self.policy}']"
            )
        children = config.get("kv_connector_extra_config", {}).get("connectors", [])
        self.nixl = not {connector, *(child.get("kv_connector") for child in children)}.isdisjoint(CONNECTORS)
        self.engine_id = config.get("engine_id") or str(uuid.uuid4())
        self.host = os.environ.get("VLLM_NIXL_SIDE_CHANNEL_HOST", "localhost")
        self.base = int(os.environ.get("VLLM_NIXL_SIDE_CHANNEL_PORT", "5600"))
        self.ranks = ranks

    def listen(self) -> None:
        """Open the side channels; ZMQError where one cannot be."""
        for rank in self.ranks if self.nixl else ():
            listener = listen(self.host, self.base + rank)
            threading.Thread(target=self._serve, args=(listener, self._name(rank)), daemon=True).start()

    def _name(self, rank: int) -> str:
        return f"{self.engine_id}_dp{rank}"

    def _serve(self, listener: socket.socket, name: str) -> None:
        while True:
            caller, _ = listener.accept()
            with caller:
                caller.sendall(name.encode())

    def receive(self, params: dict[str, Any]) -> None:
        """Before a request is computed: fetch what another server has prefilled. LoadError where that fails."""
        if not (self.nixl and params.get("do_remote_prefill")):
            return
        try:
            place = (params["remote_host"], params["remote_port"])
            with socket.create_connection(place, timeout=CALL_SECONDS) as caller:
                said = b"".join(iter(lambda: caller.recv(4096), b"")).decode()
        except (KeyError, OSError) as e:
            said = ""
            reason = f"NIXL handshake failed: {type(e).__name__}: {e} ({params})"
        else:
            reason = (
                f"Remote NIXL agent engine ID mismatch. Expected {params.get('remote_engine_id')}, received {said}."
            )
        if said != params.get("remote_engine_id") and self.policy == "fail":
            raise LoadError(reason)

    def offer(self, params: dict[str, Any]) -> dict[str, Any] | None:
        """After a prefill: where another server finds it."""
        if not (self.nixl and params.get("do_remote_decode")):
            return None
        return {
            "do_remote_prefill": True,
            "do_remote_decode": False,
            "remote_block_ids": [[0]],
            "remote_engine_id": self._name(self.ranks.start),
            "remote_request_id": str(uuid.uuid4()),
            "remote_host": self.host,
            "remote_port": self.base + self.ranks.start,
            "tp_size": 1,
        }
