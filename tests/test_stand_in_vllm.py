"""The stand-in for vLLM serves, fails and ends as vLLM does."""

import json
import signal
import socket
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "slurm" / "programs"
sys.path.insert(0, str(PROGRAMS))

from records import read  # noqa: E402
from running import Running, ask, free_port, gpus  # noqa: E402

CHAT = {"messages": [{"role": "user", "content": "one two"}]}
SAID = "You said: one two"


def vllm(records: Path, *words: object, environment: dict[str, str] | None = None, **more: str) -> Running:
    """`vllm serve m`, with GPUs that nobody has unless `more` names some."""
    given = {"CUDA_VISIBLE_DEVICES": gpus(4)} | (environment or {}) | more
    return Running(["vllm/vllm", "serve", "m", *map(str, words)], records, **given)


# --- serving


def test_it_serves(tmp_path: Path) -> None:
    port = free_port()
    with vllm(tmp_path, "--port", port, "--served-model-name", "a", "b") as server:
        server.await_event("healthy")
        assert ask(port, "/health") == (200, "")
        assert [card["id"] for card in json.loads(ask(port, "/v1/models")[1])["data"]] == ["a", "b"]
        status, text = ask(port, "/v1/chat/completions", CHAT | {"model": "b"})
        answer = json.loads(text)
        assert (status, answer["model"], answer["choices"][0]["message"]["content"]) == (200, "b", SAID)
        assert answer["usage"] == {"prompt_tokens": 2, "completion_tokens": 4, "total_tokens": 6}
        answer = json.loads(ask(port, "/v1/completions", {"model": "a", "prompt": "x", "max_tokens": 2})[1])
        assert (answer["choices"][0]["text"], answer["choices"][0]["finish_reason"]) == ("You said:", "length")
        server.signal(signal.SIGTERM)
        assert server.wait() == 0
    lines = [line.partition(") ")[2] for line in server.output.splitlines()]
    assert f"INFO:     Started server process [{server.process.pid}]" in lines
    assert "INFO:     Application startup complete." in lines


def test_a_stream_comes_in_pieces(tmp_path: Path) -> None:
    port = free_port()
    with vllm(tmp_path, "--port", port) as server:
        server.await_event("healthy")
        body = CHAT | {"stream": True, "stream_options": {"include_usage": True}}
        _, text = ask(port, "/v1/chat/completions", body)
        *events, done = [event.removeprefix("data: ") for event in text.strip().split("\n\n")]
        assert done == "[DONE]"
        *pieces, usage = map(json.loads, events)
        assert "".join(piece["choices"][0]["delta"]["content"] for piece in pieces) == SAID
        assert [piece["choices"][0]["finish_reason"] for piece in pieces] == [None, None, None, None, "stop"]
        assert usage["usage"]["total_tokens"] == 6


@pytest.mark.parametrize(
    ("path", "body", "status", "error"),
    [
        ("/v1/chat/completions", CHAT | {"model": "other"}, 404, "The model `other` does not exist."),
        ("/v1/chat/completions", {"model": "m"}, 400, "1 validation error"),
        ("/v1/completions", {"prompt": "x", "max_tokens": 100}, 400, "This model's maximum context length is 100"),
    ],
)
def test_what_is_refused_has_the_form_of_vllm(path: str, body: object, status: int, error: str, tmp_path: Path) -> None:
    port = free_port()
    with vllm(tmp_path, "--port", port, "--max-model-len", 100) as server:
        server.await_event("healthy")
        got, text = ask(port, path, body)
        answer = json.loads(text)["error"]
        assert (got, answer["code"]) == (status, status)
        assert answer["message"].startswith(error)


def test_a_key_is_asked_for_below_v1_alone(tmp_path: Path) -> None:
    port = free_port()
    with vllm(tmp_path, "--port", port, VLLM_API_KEY="k") as server:
        server.await_event("healthy")
        assert ask(port, "/health")[0] == 200
        assert ask(port, "/v1/models") == (401, '{"error": "Unauthorized"}')
        assert ask(port, "/v1/models", Authorization="Bearer k")[0] == 200


def test_while_it_loads_connections_are_refused_and_the_port_is_taken(tmp_path: Path) -> None:
    port = free_port()
    with vllm(tmp_path, "--port", port, STAND_IN_FAULTS="hang@load") as server:
        server.await_event("fault")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        with pytest.raises(OSError, match="Address already in use"), socket.socket() as other:
            other.bind(("", port))


def test_a_port_that_is_taken_ends_it(tmp_path: Path) -> None:
    with socket.create_server(("", 0)) as other, vllm(tmp_path, "--port", other.getsockname()[1]) as server:
        assert server.wait() == 1
        assert server.output.splitlines()[-1] == "OSError: [Errno 98] Address already in use"


def test_it_records_what_it_was(tmp_path: Path) -> None:
    port = free_port()
    devices = gpus(2)
    with vllm(tmp_path, "--port", port, "-tp", 2, CUDA_VISIBLE_DEVICES=f"{devices},{gpus(1)}") as server:
        server.await_event("healthy")
    (record,) = read(tmp_path, "vllm")
    assert record["argv"] == ["serve", "m", "--port", str(port), "-tp", "2"]
    assert record["devices"] == devices.split(",")
    assert (record["pid"], record["host"]) == (server.process.pid, socket.gethostname())
    assert (record["cwd"], record["model"], record["ranks"]) == (str(Path.cwd()), "m", [0])
    assert record["environment"]["STAND_IN_RECORDS"] == str(tmp_path)
    # It was killed, so there is no end.
    assert [event["name"] for event in record["events"]] == ["start", "port", "joined", "loaded", "healthy"]


# --- devices


def test_a_device_that_another_server_fills_has_no_memory(tmp_path: Path) -> None:
    device = gpus(1)
    with vllm(tmp_path, "--port", 0, CUDA_VISIBLE_DEVICES=device) as first:
        first.await_event("healthy")
        with vllm(tmp_path, "--port", 0, CUDA_VISIBLE_DEVICES=device) as second:
            assert second.wait() == 1
        assert "is less than desired GPU memory utilization (0.92, 72.78 GiB)" in second.output
    with vllm(tmp_path, "--port", 0, CUDA_VISIBLE_DEVICES=device) as third:
        third.await_event("healthy")


def test_a_device_may_be_shared_by_what_fits(tmp_path: Path) -> None:
    device = gpus(1)
    words = ("--port", 0, "--gpu-memory-utilization", 0.4)
    with (
        vllm(tmp_path, *words, CUDA_VISIBLE_DEVICES=device) as first,
        vllm(tmp_path, *words, CUDA_VISIBLE_DEVICES=device) as second,
    ):
        first.await_event("healthy")
        second.await_event("healthy")
        with vllm(tmp_path, *words, CUDA_VISIBLE_DEVICES=device) as third:
            assert third.wait() == 1


# --- ends


def test_term_is_followed_by_what_must_be_flushed(tmp_path: Path) -> None:
    with vllm(tmp_path, "--port", 0, STAND_IN_FAULTS="flush=0.1") as server:
        server.await_event("healthy")
        server.signal(signal.SIGTERM)
        assert server.wait() == 0
    assert server.events[-3:] == ["term", "flushed", "end"]


def test_a_server_that_is_loading_is_interrupted(tmp_path: Path) -> None:
    with vllm(tmp_path, "--port", 0, STAND_IN_LOAD_SECONDS="1000") as server:
        server.await_event("joined")
        server.signal(signal.SIGTERM)
        assert server.wait() == 130


def test_term_may_be_ignored(tmp_path: Path) -> None:
    port = free_port()
    with vllm(tmp_path, "--port", port, STAND_IN_FAULTS="ignore_term") as server:
        server.await_event("healthy")
        server.signal(signal.SIGTERM)
        server.await_event("term")
        assert ask(port, "/health")[0] == 200


@pytest.mark.parametrize(
    ("faults", "words", "status", "last"),
    [
        ("crash@start", [], 1, "RuntimeError: Engine core initialization failed. See root cause above."),
        ("oom@load", [], 1, "torch.OutOfMemoryError: CUDA out of memory."),
        # vLLM's API server takes a dead engine for a reason to shut down, and no error.
        ("crash@run", [], 0, "vllm.v1.engine.exceptions.EngineDeadError"),
        ("crash@run", ["-dp", "2"], 1, "RuntimeError: Engine core process EngineCore_DP0 died unexpectedly."),
        ("exit0@run", [], 0, ""),
        ("exit3@load", [], 3, ""),
        ("kill@0.01s", [], -signal.SIGKILL, ""),
        ("crash@load:rank=1,exit5@run:port=0:node=0", [], 5, ""),
    ],
)
def test_faults_end_it(faults: str, words: list[str], status: int, last: str, tmp_path: Path) -> None:
    with vllm(tmp_path, "--port", 0, *words, STAND_IN_FAULTS=faults) as server:
        assert server.wait() == status
        assert last in server.output


def test_a_request_may_be_one_too_many(tmp_path: Path) -> None:
    port = free_port()
    with vllm(tmp_path, "--port", port, STAND_IN_FAULTS="oom@3requests") as server:
        server.await_event("healthy")
        assert [ask(port, "/v1/chat/completions", CHAT)[0] for _ in range(3)] == [200, 200, 500]
        assert server.wait() == 0
        assert "torch.OutOfMemoryError: CUDA out of memory." in server.output


def test_a_file_may_be_the_moment(tmp_path: Path) -> None:
    with vllm(tmp_path, "--port", 0, STAND_IN_FAULTS=f"exit4@{tmp_path}/now") as server:
        server.await_event("healthy")
        (tmp_path / "now").touch()
        assert server.wait() == 4


def test_a_hanging_engine_is_healthy(tmp_path: Path) -> None:
    port = free_port()
    with vllm(tmp_path, "--port", port, STAND_IN_FAULTS="hang@1requests") as server:
        server.await_event("healthy")
        with socket.create_connection(("127.0.0.1", port)) as asking:
            body = json.dumps(CHAT)
            asking.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            server.await_event("fault")
            assert ask(port, "/health")[0] == 200
            asking.setblocking(False)
            with pytest.raises(BlockingIOError):
                asking.recv(1)


def test_an_unknown_fault_is_not_passed_over(tmp_path: Path) -> None:
    with vllm(tmp_path, "--port", 0, STAND_IN_FAULTS="crsh@load:rank=7") as server:
        assert server.wait() == 1
        assert "STAND_IN_FAULTS: crsh@load is no fault" in server.output
