"""Type hints of a source tree's dataclasses, read without importing it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

BUILTIN = {"bool", "int", "float", "str", "None", "list", "tuple", "set", "dict"}
WRAPPERS = {"Annotated": 1, "SkipValidation": 1, "Required": 1}
NO_FIELDS = {"ClassVar", "InitVar"}


@dataclass(frozen=True)
class Hint:
    """One type of a hint: a builtin's name, `Literal` with its `options`, `config` with its `keys`, or `other`.

    `element` is what a collection holds; `length` is a tuple's, None if any.
    """

    name: str
    options: tuple[Any, ...] = ()
    keys: tuple[str, ...] = ()
    element: frozenset["Hint"] = frozenset()
    length: int | None = None


@dataclass(frozen=True)
class Field:
    name: str
    hints: frozenset[Hint]
    default: Any = field(default=None, compare=False)


def literal(node: ast.expr | None) -> Any:
    """A default as it is written, where it is a plain value; else None, for what only running the code can tell."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"Field", "field"}:
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        node = named.get("default", node.args[0] if node.args else None)
    try:
        return ast.literal_eval(node) if node else None
    except ValueError:
        return None


class Source:
    """The modules of a tree, by their dotted names."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cache  # noqa: B019 - the one tree of a run
    def module(self, name: str) -> dict[str, tuple[str, ast.AST]] | None:
        """What a module defines at its top, name to (module, node); None for a module that is not in the tree."""
        base = self.root.joinpath(*name.split("."))
        package = base.is_dir()
        path = base / "__init__.py" if package else base.with_suffix(".py")
        if not path.is_file():
            return None
        names: dict[str, tuple[str, ast.AST]] = {}
        for node in self._statements(ast.parse(path.read_text(encoding="utf-8")).body):
            match node:
                case ast.ClassDef() | ast.FunctionDef():
                    names[node.name] = (name, node)
                case ast.Assign(targets=[ast.Name(id=target)], value=value):
                    names[target] = (name, value)
                case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value):
                    names[target] = (name, value)
                case ast.ImportFrom(names=aliases):
                    parts = name.split(".")
                    parents = parts[: len(parts) - node.level + package] if node.level else []
                    origin = ".".join([*parents, *([node.module] if node.module else [])])
                    if aliases[0].name == "*":
                        names |= self.module(origin) or {}
                    else:
                        names |= {alias.asname or alias.name: (origin, alias) for alias in aliases}
        return names

    def _statements(self, body: list[ast.stmt]) -> Iterator[ast.stmt]:
        for node in body:
            yield node
            if isinstance(node, ast.If):
                # `if TYPE_CHECKING`, whose other branch wins when the program runs.
                yield from self._statements([*node.body, *node.orelse])

    def find(self, module: str, name: str) -> tuple[str, ast.AST] | None:
        """Where a name of a module is defined, through imports; None if outside of the tree."""
        found = (self.module(module) or {}).get(name)
        while found and isinstance(found[1], ast.alias):
            found = (self.module(found[0]) or {}).get(found[1].name)
        return found

    def class_of(self, module: str, name: str) -> tuple[str, ast.ClassDef]:
        found = self.find(module, name)
        assert found is not None, f"{module} has no {name}"
        assert isinstance(found[1], ast.ClassDef), f"{module}.{name} is no class"
        return found[0], found[1]

    def fields(self, module: str, node: ast.ClassDef) -> dict[str, Field]:
        """A dataclass's fields, its bases' first."""
        found: dict[str, Field] = {}
        for base in node.bases:
            if isinstance(base, ast.Name) and (at := self.find(module, base.id)) and isinstance(at[1], ast.ClassDef):
                found |= self.fields(at[0], at[1])
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                outer = statement.annotation
                outer = outer.value if isinstance(outer, ast.Subscript) else outer
                if not (isinstance(outer, ast.Name) and outer.id in NO_FIELDS):
                    name = statement.target.id
                    hints = self.hints(module, statement.annotation)
                    found[name] = Field(name, hints, literal(statement.value))
        return found

    def hints(self, module: str, node: ast.expr) -> frozenset[Hint]:
        """The types that a hint allows, unions and aliases taken apart."""
        match node:
            case ast.Constant(value=None):
                return frozenset({Hint("None")})
            case ast.Constant(value=str() as text):
                return self.hints(module, ast.parse(text, mode="eval").body)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self.hints(module, left) | self.hints(module, right)
            case ast.Subscript(value=value, slice=inside):
                return self._subscripted(module, ast.unparse(value).rpartition(".")[2], inside)
            case ast.Name(id=name) if name in BUILTIN:
                return frozenset({Hint(name)})
            case ast.Name(id=name):
                return self._named(module, name)
        return frozenset({Hint("other")})

    def _subscripted(self, module: str, name: str, inside: ast.expr) -> frozenset[Hint]:
        inner = inside.elts if isinstance(inside, ast.Tuple) else [inside]
        if name == "Literal":
            return frozenset({Hint("Literal", options=tuple(self._options(module, inner)))})
        if name in {"Union", "Optional"}:
            none = {Hint("None")} if name == "Optional" else set()
            return frozenset(none).union(*(self.hints(module, one) for one in inner))
        if name in WRAPPERS:
            return self.hints(module, inner[0])
        if name in {"list", "set", "tuple"}:
            any_length = name != "tuple" or any(isinstance(one, ast.Constant) and one.value is ... for one in inner)
            return frozenset(
                {Hint(name, element=self.hints(module, inner[0]), length=None if any_length else len(inner))}
            )
        return frozenset({Hint(name if name in BUILTIN else "other")})

    def _options(self, module: str, nodes: list[ast.expr]) -> Iterator[Any]:
        for node in nodes:
            if isinstance(node, ast.Constant):
                yield node.value
                continue
            found = self.find(module, node.id) if isinstance(node, ast.Name) else None
            if found and isinstance(found[1], ast.Constant):
                yield found[1].value
                continue
            for hint in self.hints(module, node):
                assert hint.name == "Literal", f"{module}: {ast.unparse(node)} in a Literal"
                yield from hint.options

    def _named(self, module: str, name: str) -> frozenset[Hint]:
        found = self.find(module, name)
        if found is None:
            return frozenset({Hint("other")})
        where, node = found
        if isinstance(node, ast.expr):
            return self.hints(where, node)
        assert isinstance(node, ast.ClassDef), f"{module}: {name} is no type"
        if any(ast.unparse(base).startswith(("dict", "Dict")) for base in node.bases):
            return frozenset({Hint("dict")})
        decorators = {ast.unparse(one).partition("(")[0].rpartition(".")[2] for one in node.decorator_list}
        if decorators & {"config", "dataclass"}:
            return frozenset({Hint("config", keys=tuple(self.fields(where, node)))})
        return frozenset({Hint("other")})
