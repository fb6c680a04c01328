"""Writes flags.json: the options of `vllm serve`, read from vLLM's source distribution. vLLM itself is not run.

    python3 -m vllm.flags.make 0.33.0     # in ../..; fetches the source distribution of that release from PyPI
    python3 -m vllm.flags.make ~/vllm-0.33.0.tar.gz

It follows the statements of vLLM's own `add_cli_args` with the types of vLLM's config classes, by the rules of
`_compute_kwargs` in vllm/engine/arg_utils.py. An option is
{"names": [...], "dest": ..., "kind": ..., "default": ...} and, where it has them, "choices", "nargs", "const",
"optional" (an empty word or `None` is None), "action", "keys" (those of the config class that a JSON value must fit).
A statement that it cannot follow is an error, so that a newer vLLM is not half read.
"""

import ast
import copy
import io
import json
import re
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from vllm.flags.annotations import Field, Hint, Source

ENGINE = "vllm.engine.arg_utils"
FRONTEND = "vllm.entrypoints.common.cli_args"
# Types that are functions, by how they are written.
KINDS = {
    "str": "str",
    "int": "int",
    "float": "float",
    "json.loads": "json",
    "parse_reasoning_parser": "str",
    "optional_type(json.loads)": "optional json",
    "optional_type(str)": "optional str",
    "lambda s: s.lower().replace('-', '_')": "underscored",
}
ACTIONS = {"argparse.BooleanOptionalAction": "boolean", "LoRAParserAction": "lora", "DeprecatedLogConfigFileAction": ""}
HUMAN = {
    "max_model_len": "human_int_or_auto",
    "max_num_batched_tokens": "human_int",
    "max_num_scheduled_tokens": "human_int",
    "kv_cache_memory_bytes": "human_int",
    "safetensors_prefetch_block_size": "human_int",
    "max_num_queued_tokens": "human_int",
}
Option = dict[str, Any]


def literal_option(hint: Hint, types: set[str]) -> Option:
    kind = {str: "str", int: "int"}[type(hint.options[0])]
    return {"kind": kind} if "str" in types else {"kind": kind, "choices": sorted(hint.options)}


def collection_option(hint: Hint) -> Option:
    inside = {one.name: one for one in hint.element}
    option: Option = {"nargs": hint.length or "+"}
    if "Literal" in inside:
        return option | literal_option(inside["Literal"], set(inside))
    return option | {"kind": next(iter(inside)) if set(inside) in ({"int"}, {"float"}) else "str"}


def scalar_kind(name: str, types: set[str]) -> str:
    if "int" in types:
        return HUMAN.get(name, "int")
    if "float" in types:
        return "float"
    if "dict" in types:
        return "json_or_str" if types & {"str", "other"} else "json"
    return "str"


def option_of(field: Field) -> Option:
    """A field of a config class as an option, by the rules of `_compute_kwargs`."""
    hints = {hint.name: hint for hint in field.hints}
    types = set(hints)
    option: Option = {"default": field.default}
    collection = next((hints[name] for name in ("tuple", "list", "set") if name in types), None)
    if "config" in types:
        option |= {"kind": "config", "keys": list(hints["config"].keys)}
    elif types == {"bool", "str", "None"}:
        return option | {"kind": "str", "nargs": "?", "const": True}
    elif "bool" in types:
        return option | {"kind": "boolean"}
    elif "Literal" in types:
        option |= literal_option(hints["Literal"], types)
    elif collection:
        option |= collection_option(collection)
    else:
        option["kind"] = scalar_kind(field.name, types)
    return option | ({"optional": True} if "None" in types else {})


class Statements:
    """Follows statements that build and add options."""

    def __init__(self, source: Source, module: str) -> None:
        self.source = source
        self.module = module
        self.values: dict[str, Any] = {}
        self.options: list[Option] = []

    def kwargs(self, name: str) -> dict[str, Option]:
        fields = self.source.fields(*self.source.class_of(self.module, name))
        return {field.name: option_of(field) for field in fields.values()}

    def value(self, node: ast.expr) -> Any:
        """What an expression made of options is, or a name for what is none."""
        match node:
            case ast.Name(id=name) if name in self.values:
                return self.values[name]
            case ast.Subscript(value=of, slice=ast.Constant(value=key)):
                return self.value(of)[key]
            case ast.Call(func=ast.Name(id="get_kwargs"), args=[ast.Name(id=name)]):
                return self.kwargs(name)
            case ast.Dict(keys=keys, values=values):
                made: Option = {}
                for word, one in zip(keys, values, strict=True):
                    made |= self.value(one) if word is None else self.keyword(ast.literal_eval(word), one)
                return made
        raise SyntaxError(f"{self.module}:{node.lineno}: cannot follow {ast.unparse(node)}")

    def keyword(self, name: str, node: ast.expr) -> Option:
        """A keyword of `add_argument`, as members of an option."""
        text = ast.unparse(node)
        match name:
            case "help" | "metavar":
                return {}
            case "type":
                kind = KINDS.get(text, "str" if isinstance(node, ast.Lambda) else "")
                assert kind, f"{self.module}:{node.lineno}: a type {text}"
                return {"kind": kind.split()[-1]} | ({"optional": True} if kind.startswith("optional") else {})
            case "action" if isinstance(node, ast.Constant):
                return {"kind": "flag", "default": False} if node.value == "store_true" else {"action": node.value}
            case "action":
                kind = ACTIONS[text]
                return {"kind": kind} if kind else {}
            case "choices" if "get_args" in text:
                (argument,) = [one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id != "get_args"]
                (hint,) = self.source.hints(self.module, argument)
                return {"choices": list(hint.options)}
            case "choices" if isinstance(node, ast.BinOp):
                # With the devices of the platform that it runs on.
                return {"choices": [*ast.literal_eval(node.left), "cuda"]}
            case "default" if text == "argparse.SUPPRESS" or text.startswith("AsyncEngineArgs."):
                return {"default": None}
        return {name: ast.literal_eval(node)}

    def add(self, call: ast.Call) -> None:
        option: Option = {}
        for keyword in call.keywords:
            option |= (
                copy.deepcopy(self.value(keyword.value))
                if keyword.arg is None
                else self.keyword(keyword.arg, keyword.value)
            )
        names = [ast.literal_eval(argument) for argument in call.args]
        if names[0].startswith("-"):
            self.named(names, option)

    def named(self, names: list[str], option: Option) -> None:
        dest = next((name for name in names if name.startswith("--")), names[0]).lstrip("-").replace("-", "_")
        made = {"names": names, "dest": dest, "kind": "str", "default": None} | option
        if made["kind"] != "config":
            # A type of its own took the place of the class, as for --speculative-config.
            made.pop("keys", None)
        self.options.append(made)

    def run(self, body: list[ast.stmt]) -> None:
        for node in body:
            self.step(node)

    def step(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="add_argument")) as call):
                self.add(call)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=of, attr="remove"), args=[ast.Name(id=name)])):
                found = self.source.find(self.module, name)
                assert found is not None
                self.value(of).remove(ast.literal_eval(found[1]))
            case ast.Assign(targets=[ast.Subscript(value=of, slice=ast.Constant(value=key))], value=value):
                of_option = self.value(of)
                of_option |= self.keyword(str(key), value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name.endswith("kwargs"):
                if not ast.unparse(value).startswith(("super()", "cls.")):
                    self.values[name] = self.value(value)
            case ast.Delete(targets=[ast.Subscript(value=of, slice=ast.Constant(value=key))]):
                self.value(of).pop(key, None)
            case ast.If():
                self.run(node.body)
            case ast.Assign() | ast.AugAssign() | ast.Expr() | ast.Return() | ast.ImportFrom():
                pass
            case _:
                raise SyntaxError(f"{self.module}:{node.lineno}: cannot follow {ast.unparse(node)}")


def method(node: ast.ClassDef, name: str) -> list[ast.stmt]:
    (found,) = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == name]
    return found.body


def options_of(source: Source) -> list[Option]:
    frontend = Statements(source, FRONTEND)
    found = source.find(FRONTEND, "make_arg_parser")
    assert found is not None
    assert isinstance(found[1], ast.FunctionDef)
    frontend.run(found[1].body)
    fields = frontend.values["frontend_kwargs"] = frontend.kwargs("FrontendArgs")
    for name in ("BaseFrontendArgs", "FrontendArgs"):
        frontend.run(method(source.class_of(FRONTEND, name)[1], "_customize_cli_kwargs"))
    for name, option in fields.items():
        frontend.named([f"--{name.replace('_', '-')}"], option)
    engine = Statements(source, ENGINE)
    for name in ("EngineArgs", "AsyncEngineArgs"):
        engine.run(method(source.class_of(ENGINE, name)[1], "add_cli_args"))
    return frontend.options + engine.options


def parsers_of(source: Source, module: str, name: str) -> list[str]:
    """The names of a table of parsers."""
    found = source.find(module, name)
    assert found is not None
    assert isinstance(found[1], ast.Dict)
    return [ast.literal_eval(key) for key in found[1].keys if key]


def fetch(version: str) -> bytes:
    with urllib.request.urlopen("https://pypi.org/simple/vllm/") as answer:
        page = answer.read().decode()
    found = re.search(rf'href="([^"#]*/vllm-{re.escape(version)}\.tar\.gz)', page)
    assert found, f"vLLM {version} has no source distribution on PyPI"
    with urllib.request.urlopen(urllib.parse.urljoin(answer.url, found[1])) as answer:
        content: bytes = answer.read()
    return content


def main() -> None:
    (given,) = sys.argv[1:]
    content = Path(given).read_bytes() if given.endswith(".tar.gz") else fetch(given)
    with tempfile.TemporaryDirectory() as directory, tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(directory, filter="data")
        (root,) = Path(directory).iterdir()
        source = Source(root)
        options = options_of(source)
        tool_parsers = parsers_of(source, "vllm.tool_parsers", "_TOOL_PARSERS_TO_REGISTER")
        reasoning_parsers = parsers_of(source, "vllm.reasoning", "_REASONING_PARSERS_TO_REGISTER")
    made = {
        "about": "The options of `vllm serve`, read from vLLM's source distribution by vllm.flags.make.",
        "version": root.name.removeprefix("vllm-"),
        "tool_parsers": tool_parsers,
        "reasoning_parsers": reasoning_parsers,
        "options": options,
    }
    # An option a line, so that the difference between two releases can be read.
    lines = ",\n".join(json.dumps(option) for option in options)
    head = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in (made | {"options": []}).items())
    Path(__file__).with_name("flags.json").write_text(
        "{\n" + head.replace('"options": []', f'"options": [\n{lines}\n ]') + "\n}\n"
    )


if __name__ == "__main__":
    main()
