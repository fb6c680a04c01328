"""Several processes of the stand-in for vLLM serve one model, or fail to."""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "slurm" / "programs"
sys.path.insert(0, str(PROGRAMS))

from running import Running, ask, free_port, gpus  # noqa: E402


class Model:
    """Starts the processes of one model, each with GPUs of its own as if on a node of its own."""

    def __init__(self, records: Path, stack: ExitStack) -> None:
        self.records = records
        self.port = free_port()
        self.rpc_port = free_port()
        self._stack = stack

    def start(self, *words: object, **environment: str) -> Running:
        """`vllm serve m` with `words` as they are."""
        given = {"CUDA_VISIBLE_DEVICES": gpus(4)} | environment
        return self._stack.enter_context(Running(["vllm/vllm", "serve", "m", *map(str, words)], self.records, **given))

    def ranks(self, *words: object, **environment: str) -> Running:
        """One process of a data-parallel model of four ranks, two of them a process unless `words` say otherwise."""
        common = ("-dp", 4, "-dpl", 2, "-dpa", "127.0.0.1", "-dpp", self.rpc_port, "--port", self.port)
        return self.start(*common, *words, **environment)


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Model]:
    with ExitStack() as stack:
        yield Model(tmp_path, stack)


OTHERS = ("--headless", "-dpr", 2)


def test_the_head_is_healthy_when_every_rank_has_come(model: Model, tmp_path: Path) -> None:
    head = model.ranks("--api-server-count", 1)
    head.await_event("loaded")
    assert ask(model.port, "/health") == (0, "")
    other = model.ranks(*OTHERS, STAND_IN_FAULTS=f"hang@load,exit9@{tmp_path}/x")
    other.await_event("fault")
    assert ask(model.port, "/health") == (0, "")
    other.signal(signal.SIGKILL)
    assert head.wait() == 1
    assert "RuntimeError: Connection closed by peer: ranks 2, 3 on " in head.output


@pytest.mark.parametrize("order", [["head", "other"], ["other", "head"]])
def test_the_processes_come_in_any_order(order: list[str], model: Model) -> None:
    starts = {"head": model.ranks, "other": lambda: model.ranks(*OTHERS)}
    started = {name: starts[name]() for name in order}
    for name in order:
        started[name].await_event("healthy")
    assert ask(model.port, "/health")[0] == 200
    assert [started[name].record["ranks"] for name in ("head", "other")] == [[0, 1], [2, 3]]
    assert [started[name].record["headless"] for name in ("head", "other")] == [False, True]


@pytest.mark.parametrize(
    ("api_servers", "status", "said"),
    [(1, 0, "EngineDeadError"), (4, 1, "RuntimeError: Engine core process EngineCore_DP0 died unexpectedly.")],
)
def test_when_a_rank_is_lost_the_head_ends(api_servers: int, status: int, said: str, model: Model) -> None:
    head, other = model.ranks("--api-server-count", api_servers), model.ranks(*OTHERS)
    head.await_event("healthy")
    other.signal(signal.SIGKILL)
    assert head.wait() == status
    assert said in head.output


def test_when_the_head_ends_so_do_the_others(model: Model) -> None:
    head, other = model.ranks(), model.ranks(*OTHERS)
    other.await_event("healthy")
    head.signal(signal.SIGTERM)
    assert head.wait() == 0
    assert other.wait() == 0
    assert f"Connection closed by peer: the first process at 127.0.0.1:{model.rpc_port}" in other.output


def test_a_fault_may_be_for_one_rank(model: Model) -> None:
    faults = "crash@load:rank=3"
    head, other = model.ranks(STAND_IN_FAULTS=faults), model.ranks(*OTHERS, STAND_IN_FAULTS=faults)
    # A headless vLLM looks on while its engine dies, and ends.
    assert other.wait() == 0
    assert "EngineCore_DP2 encountered a fatal error." in other.output
    assert head.wait() == 1


def test_a_head_may_not_notice(model: Model) -> None:
    head, other = model.ranks(STAND_IN_FAULTS="deaf"), model.ranks(*OTHERS)
    head.await_event("healthy")
    other.signal(signal.SIGKILL)
    head.await_event("lost")
    assert ask(model.port, "/health")[0] == 200


def test_without_a_head_the_others_give_up(model: Model) -> None:
    other = model.ranks(*OTHERS, STAND_IN_HANDSHAKE_SECONDS="0.3")
    assert other.wait() == 0
    assert "Did not receive response from front-end process within 0.005 minutes" in other.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--headless", "-dpr", 1], "HELLO message from remote engine 1, expected it to be local"),
        (["--headless", "-dpr", 3], "Message from engine with unexpected data parallel rank: 4"),
        (["-dpr", 2, "--port", 0], "Remote engine 2 must use --headless unless in external or hybrid dp lb mode"),
        (["--headless", "-dpr", 2, "-tp", 2], "Configuration mismatch detected for engine 2."),
    ],
)
def test_a_rank_that_does_not_fit_ends_the_head(words: list[object], said: str, model: Model) -> None:
    head, _ = model.ranks(), model.ranks(*words)
    assert head.wait() == 1
    assert said in head.output


def test_a_rank_comes_once(model: Model) -> None:
    head, _, _ = model.ranks(), model.ranks(*OTHERS), model.ranks(*OTHERS)
    assert head.wait() == 1
    assert "Unexpected HELLO message for remote engine 2 in CoreEngineState." in head.output


def test_an_rpc_port_that_is_taken_ends_the_head(model: Model) -> None:
    model.ranks().await_event("joined")
    second = model.ranks("--port", 0)
    assert second.wait() == 1
    assert f"ZMQError: Address already in use (addr='tcp://127.0.0.1:{model.rpc_port}')" in second.output


def test_each_may_serve_its_own_ranks(model: Model) -> None:
    first, second = model.ranks("-dpr", 0), model.ranks("-dpr", 2, "--port", free_port())
    for one in (first, second):
        one.await_event("healthy")
        assert ask(one.await_event("port")["port"], "/health")[0] == 200


def test_one_instance_over_nodes(model: Model) -> None:
    common = ("-tp", 4, "--nnodes", 2, "--master-addr", "127.0.0.1", "--master-port", model.rpc_port)
    head = model.start(*common, "--port", model.port)
    other = model.start(*common, "--node-rank", 1, "--headless")
    head.await_event("healthy")
    assert [len(one.record["devices"]) for one in (head, other)] == [2, 2]
    other.signal(signal.SIGKILL)
    head.wait()
    assert "ranks 1 on" in head.output


# --- prefill and decode


def transfer(role: str, policy: str = "fail") -> str:
    return json.dumps({"kv_connector": "NixlConnector", "kv_role": role, "kv_load_failure_policy": policy})


def chat(port: int, params: object) -> tuple[int, dict[str, object]]:
    body = {"messages": [{"role": "user", "content": "x"}], "kv_transfer_params": params}
    status, text = ask(port, "/v1/chat/completions", body)
    return status, json.loads(text)


def test_a_decode_fetches_from_where_a_prefill_says(model: Model) -> None:
    ports = [free_port(), free_port()]
    prefill, decode = (
        model.start(
            *("--port", port, "--kv-transfer-config", transfer(role)),
            VLLM_NIXL_SIDE_CHANNEL_HOST="127.0.0.1",
            VLLM_NIXL_SIDE_CHANNEL_PORT=str(free_port()),
        )
        for port, role in zip(ports, ("kv_producer", "kv_consumer"), strict=True)
    )
    prefill.await_event("healthy")
    decode.await_event("healthy")
    _, answer = chat(ports[0], {"do_remote_decode": True})
    params = answer["kv_transfer_params"]
    assert isinstance(params, dict)
    assert chat(ports[1], params)[0] == 200
    prefill.signal(signal.SIGKILL)
    prefill.wait()
    assert chat(ports[1], params)[0] == 500
    assert "Failing 1 request(s) due to KV load failure: NIXL handshake failed" in decode.output


def test_side_channels_of_one_node_need_ports_of_their_own(model: Model) -> None:
    base = str(free_port())
    words = ("--port", 0, "--kv-transfer-config", transfer("kv_both"))
    model.start(*words, VLLM_NIXL_SIDE_CHANNEL_PORT=base).await_event("healthy")
    second = model.start(*words, VLLM_NIXL_SIDE_CHANNEL_PORT=base)
    assert second.wait() == 1
    assert f"ZMQError: Address already in use (addr='tcp://localhost:{base}')" in second.output
