"""The answers of the OpenAI-compatible API: what is in them, not how they travel."""

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


class RefusedError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, body: Json) -> None:
        super().__init__(body)
        self.status = status
        self.body = body


def refused(status: int, kind: str, message: str, param: str | None = None) -> RefusedError:
    """An error in vLLM's form."""
    return RefusedError(status, {"error": {"message": message, "type": kind, "param": param, "code": status}})


@dataclass(frozen=True)
class Model:
    """What is served: the first of `names` is what answers say; `fingerprint` tells servers apart."""

    names: list[str]
    path: str
    max_model_len: int
    fingerprint: str

    def listed(self) -> Json:
        cards = [
            {
                "id": name,
                "object": "model",
                "created": int(time.time()),
                "owned_by": "vllm",
                "root": self.path,
                "parent": None,
                "max_model_len": self.max_model_len,
            }
            for name in self.names
        ]
        return {"object": "list", "data": cards}

    def check(self, name: object) -> None:
        if name and name not in self.names:
            raise refused(404, "NotFoundError", f"The model `{name}` does not exist.", "model")


@dataclass(frozen=True)
class Completion:
    """A completion: it says what it was asked, and stops at `max_tokens` words."""

    model: str
    chat: bool
    prompt: str
    words: list[str]
    finish: str
    fingerprint: str
    id: str

    @property
    def usage(self) -> Json:
        prompt, made = len(self.prompt.split()), len(self.words)
        return {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made}

    def _body(self, kind: str, choice: Json) -> Json:
        return {
            "id": self.id,
            "object": kind,
            "created": int(time.time()),
            "model": self.model,
            "choices": [{"index": 0, "logprobs": None, **choice}],
            "system_fingerprint": self.fingerprint,
        }

    def whole(self) -> Json:
        text = " ".join(self.words)
        said: Json = (
            {"message": {"role": "assistant", "content": text, "tool_calls": []}} if self.chat else {"text": text}
        )
        kind = "chat.completion" if self.chat else "text_completion"
        return self._body(kind, {**said, "finish_reason": self.finish, "stop_reason": None}) | {"usage": self.usage}

    def pieces(self, usage: bool) -> Iterator[Json]:
        """The events of a stream, without the closing [DONE]."""
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        if self.chat:
            yield self._body(kind, {"delta": {"role": "assistant", "content": ""}, "finish_reason": None})
        for i, word in enumerate(self.words):
            text = word if i == 0 else f" {word}"
            said: Json = {"delta": {"content": text}} if self.chat else {"text": text}
            yield self._body(kind, {**said, "finish_reason": self.finish if i == len(self.words) - 1 else None})
        if usage:
            yield self._body(kind, {}) | {"choices": [], "usage": self.usage}


def _text_of(content: object) -> str:
    """The text of a message's content, which may be a list of parts."""
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def complete(model: Model, request: Json, chat: bool) -> Completion:
    """The completion of a request; RefusedError for one that vLLM would not take."""
    model.check(request.get("model"))
    field = "messages" if chat else "prompt"
    if field not in request:
        where = f"{{'type': 'missing', 'loc': ('body', '{field}'), 'msg': 'Field required'}}"
        raise refused(400, "Bad Request", f"1 validation error:\n  {where}", field)
    if chat:
        messages = request["messages"]
        if not (isinstance(messages, list) and messages and all(isinstance(one, dict) for one in messages)):
            raise refused(400, "BadRequestError", "messages: a list of messages is needed", "messages")
        prompt = "\n".join(_text_of(one.get("content")) for one in messages)
        asked = _text_of(messages[-1].get("content"))
    else:
        prompt = asked = str(request["prompt"])
    limit = request.get("max_completion_tokens") or request.get("max_tokens") or (None if chat else 16)
    if isinstance(limit, int) and len(prompt.split()) + limit > model.max_model_len:
        raise refused(
            400,
            "BadRequestError",
            f"This model's maximum context length is {model.max_model_len} tokens. However, you requested {limit} "
            f"output tokens and your prompt contains {len(prompt.split())} input tokens.",
            "input_tokens",
        )
    words = f"You said: {asked}".split()
    return Completion(
        model=request.get("model") or model.names[0],
        chat=chat,
        prompt=prompt,
        words=words[:limit],
        finish="length" if limit and len(words) > limit else "stop",
        fingerprint=model.fingerprint,
        id=f"{'chatcmpl' if chat else 'cmpl'}-{uuid.uuid4().hex}",
    )
