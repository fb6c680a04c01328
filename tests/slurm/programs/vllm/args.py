"""The command line of `vllm`, by the options of a real release (flags/flags.json)."""

import argparse
import json
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from vllm.rewriting import human_readable_int, rewrite

OTHER_COMMANDS = ("chat", "complete", "launch", "bench", "collect-env", "run-batch")


@cache
def flags() -> dict[str, Any]:
    """The file of options, see flags/make.py."""
    data: dict[str, Any] = json.loads(Path(__file__).with_name("flags").joinpath("flags.json").read_text())
    return data


# --- types


def _convert(convert: Callable[[str], Any], word: str) -> Any:
    try:
        return convert(word)
    except ValueError as e:
        raise ArgumentTypeError(f"Value {word} cannot be converted to {convert}.") from e


def _or_none(convert: Callable[[str], Any], word: str) -> Any:
    return None if word in {"", "None"} else _convert(convert, word)


def _human_int_or_auto(word: str) -> int:
    return -1 if word.strip().lower() in {"-1", "auto"} else human_readable_int(word)


def _json_or_str(word: str) -> Any:
    return _or_none(json.loads, word) if re.fullmatch(r"(?s)\s*{.*}\s*", word) else word


def _config(keys: list[str], word: str) -> dict[str, Any]:
    """The JSON object of a config class: its keys are looked at, its values are not."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', word)
    for i in range(0, len(parts), 2):
        number = r"\b\d+(?:\.\d+)?[kKmMgGtT]\b"
        parts[i] = re.sub(number, lambda match: str(human_readable_int(match.group())), parts[i])
    try:
        value = json.loads("".join(parts))
    except json.JSONDecodeError as e:
        raise ArgumentTypeError(f"1 validation error\n  Invalid JSON: {e} [type=json_invalid]") from e
    if not isinstance(value, dict):
        raise ArgumentTypeError("1 validation error\n  Input should be an object [type=dataclass_type]")
    if unknown := sorted(set(value) - set(keys)):
        errors = "".join(
            f"\n{key}\n  Unexpected keyword argument [type=unexpected_keyword_argument]" for key in unknown
        )
        raise ArgumentTypeError(f"{len(unknown)} validation error{errors}")
    return value


def _underscored(word: str) -> str:
    return word.lower().replace("-", "_")


TYPES: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "json": partial(_convert, json.loads),
    "json_or_str": _json_or_str,
    "human_int": human_readable_int,
    "human_int_or_auto": _human_int_or_auto,
    "underscored": _underscored,
    "lora": str,
}


# --- actions


class EnableDisable(argparse.BooleanOptionalAction):
    """`--x` and `--no-x`, of which `--enable-x` pairs with `--disable-x` too."""

    INVERSE = {"--enable-": "--disable-", "--disable-": "--enable-"}  # noqa: RUF012

    def __init__(self, option_strings: Sequence[str], dest: str, **settings: Any) -> None:
        super().__init__(option_strings, dest, **settings)
        inverses = [
            inverse + name.removeprefix(prefix)
            for name in option_strings
            for prefix, inverse in self.INVERSE.items()
            if name.startswith(prefix)
        ]
        self.negative = {name for name in self.option_strings if name not in option_strings} | set(inverses)
        self.option_strings = [*self.option_strings, *inverses]

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        setattr(namespace, self.dest, option_string not in self.negative)


class LoRAModules(argparse.Action):
    """`name=path`, or a JSON object with `name` and `path`."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        found: list[dict[str, str]] = []
        for word in filter(None, values):
            if "=" in word and "," not in word:
                name, _, path = word.partition("=")
                found.append({"name": name, "path": path})
                continue
            try:
                module = json.loads(word)
            except json.JSONDecodeError:
                parser.error(f"Invalid JSON format for --lora-modules: {word}")
            if not isinstance(module, dict) or not {"name", "path"} <= set(module):
                parser.error(f"Invalid fields for --lora-modules: {word} - name and path are needed")
            found.append(module)
        setattr(namespace, self.dest, found)


# --- the parser


class Parser(argparse.ArgumentParser):
    """argparse's own, fed with rewritten words."""

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> argparse.Namespace:  # type: ignore[override]
        parsed = super().parse_args(rewrite(list(args or [])), namespace)
        assert isinstance(parsed, argparse.Namespace)
        return parsed


def _settings(option: dict[str, Any]) -> dict[str, Any]:
    """One option of the file as the keywords of `add_argument`."""
    settings: dict[str, Any] = {"dest": option["dest"], "default": option["default"]}
    kind = option["kind"]
    if kind == "flag":
        return settings | {"action": "store_true"}
    if kind == "boolean":
        return settings | {"action": EnableDisable}
    convert = partial(_config, option["keys"]) if kind == "config" else TYPES[kind]
    settings["type"] = partial(_or_none, convert) if option.get("optional") else convert
    if "choices" in option:
        settings["choices"] = [*option["choices"], *([None] if option.get("optional") else [])]
    settings |= {key: option[key] for key in ("nargs", "const", "action") if key in option}
    return settings | ({"action": LoRAModules} if kind == "lora" else {})


def parser() -> Parser:
    """The parser of `vllm`; what it gives has `subparser`, `model_tag`, and a member for each option of `serve`."""
    made = Parser(prog="vllm", description="vLLM CLI")
    made.add_argument("-v", "--version", action="version", version=flags()["version"])
    commands = made.add_subparsers(required=False, dest="subparser")
    serve = commands.add_parser("serve", usage="vllm serve [model_tag] [options]")
    serve.add_argument("model_tag", nargs="?")
    for option in flags()["options"]:
        serve.add_argument(*option["names"], **_settings(option))
    for command in OTHER_COMMANDS:
        commands.add_parser(command)
    return made
