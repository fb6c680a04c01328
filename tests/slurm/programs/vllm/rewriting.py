"""What vLLM does to the words of its command line before argparse sees them.

From `FlexibleArgumentParser` in vllm/utils/argparse_utils.py: underscores in an option's name are dashes, and
`--option.key value` is a piece of the JSON value of `--option`.
"""

import argparse
import json
import re
from typing import Any

DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def human_readable_int(word: str) -> int:
    """`1k` is 1000, `1K` is 1024, `25.6k` is 25600; ValueError or ArgumentTypeError for what is none."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT])", word.strip())
    if not match:
        return int(word)
    number, suffix = match.groups()
    if suffix in DECIMAL:
        return int(float(number) * DECIMAL[suffix])
    try:
        return int(number) * BINARY[suffix]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"Decimals are not allowed with binary suffixes like {suffix}. "
            f"Did you mean to use {number}{suffix.lower()} instead?"
        ) from None


def _value_of(word: str) -> Any:
    try:
        return json.loads(word)
    except json.JSONDecodeError:
        pass
    try:
        return human_readable_int(word)
    except (ValueError, argparse.ArgumentTypeError):
        return word


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        elif isinstance(value, list) and isinstance(into.get(key), list):
            into[key] += value
        else:
            into[key] = value


def model_first(words: list[str]) -> list[str]:
    """The model of `--model` as the first word after `serve`; ValueError where a served name has no model at all."""
    at = next((i for i, word in enumerate(words) if re.match(r"--model(=.+|$)", word)), None)
    if at is not None:
        separate = words[at] == "--model"
        model = words[at + 1] if separate else words[at].removeprefix("--model=")
        words = ["serve", model, *words[1:at], *words[at + 1 + separate :]]
    if (
        len(words) > 1
        and words[1].startswith("-")
        and not any(re.match(r"--config(=.+|$)", word) for word in words)
        and any(re.match(r"--served[-_]model[-_]name(=.+|$)", word) for word in words)
    ):
        raise ValueError(
            "`model` should be provided as the first positional argument when using `vllm serve`. "
            "i.e. `vllm serve <model> --<arg> <value>`."
        )
    return words


def _dashed(name: str) -> str:
    before, dot, keys = name.partition(".")
    return before.replace("_", "-") + dot + keys


def dash_names(words: list[str]) -> list[str]:
    """Options' names with dashes, and `-O3` as `--optimization-level 3`."""
    made: list[str] = []
    for i, word in enumerate(words):
        if word.startswith("--help="):
            made.append("--help")
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            made.append(_dashed(name) + equals + value)
        elif word.startswith("-O") and word != "-O":
            made += ["--optimization-level", word[3:] if word[2] == "=" else word[2:]]
        elif word == "-O" and words[i + 1 : i + 2] in (["0"], ["1"], ["2"], ["3"]):
            made.append("--optimization-level")
        else:
            made.append(word)
    return made


def join_keys(words: list[str]) -> list[str]:
    """`--option.key value`, also with `=`, and `--option.key+ a,b` for a list, as `--option JSON` at the end."""
    kept: list[str] = []
    joined: dict[str, dict[str, Any]] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if not (word.startswith("-") and "." in name):
            kept.append(word)
            continue
        if not equals:
            value = next(rest)
        if name.endswith("+"):
            name, value = name[:-1], json.dumps(value.split(","))
        option, *keys = name.split(".")
        tree = _value_of(value)
        for key in reversed(keys):
            tree = {key: tree}
        _merge(joined.setdefault(option, {}), tree)
    for option, tree in joined.items():
        kept += [option, json.dumps(tree)]
    return kept


def rewrite(words: list[str]) -> list[str]:
    """All of it, in vLLM's order."""
    if words[:1] == ["serve"]:
        words = model_first(words)
    return join_keys(dash_names(words))
