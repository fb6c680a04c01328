"""Writes the tables of fields in these pages from the config's models: `python docs/fields.py`.

A table stands between `<!-- fields of MODEL -->` and `<!-- end of fields -->`. Its meanings are the descriptions of the
fields, its defaults those of the models. A test compares; whoever changes a field runs this and reads the diff.
"""

import re
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gymsubmit.config import arguments, base, compute, durations, env, hydra_keys, images, mounts, names, options
from gymsubmit.config import services as service_models
from gymsubmit.config.submit import SubmitConfig

DOCS = Path(__file__).parent
# The config takes them, and nothing that runs uses them yet.
NOT_IN_THIS_VERSION = frozenset(
    {
        ("VllmService", "use_ray_serve"),
        ("SlurmCompute", "transport"),
        ("Benchmark", "resumable"),
        ("SubmitConfig", "otel"),
        ("SubmitConfig", "site"),
    }
)
# What pages call the types that have rules of their own; config.md says what each takes.
_NAMED = (
    (base.Port, "port"),
    (base.Count, "integer, 1 or more"),
    (base.CountOrZero, "integer, 0 or more"),
    (names.Name, "name"),
    (names.Line, "line, may be empty"),
    (names.FilledLine, "line"),
    (names.Operand, "line"),
    (names.Text, "text, may be empty"),
    (names.FilledText, "text"),
    (images.Image, "image"),
    (mounts.Mounts, "list of mounts"),
    (env.Environment, "environment"),
    (env.Variable, "variable"),
    (options.Options, "options"),
    (arguments.Arguments, "arguments"),
    (durations.Duration, "duration"),
    (base.Words[names.Name], "list of names"),
    (compute.PassEnv, "list of variables"),
    (hydra_keys.HydraValues, "values"),
    (service_models.Service, "[service](services.md)"),
    (compute.Compute, "[compute entry](compute.md)"),
    (str, "text"),
    (int, "integer"),
    (float, "number"),
    (bool, "boolean"),
)
# The fields of every service have a table of their own.
_COMMON = service_models.CommandService.__bases__[0]
TABLE = re.compile(r"(<!-- fields of (\w+) -->\n).*?(<!-- end of fields -->\n)", re.DOTALL)


def anchor(heading: str) -> str:
    """What a link to a heading ends in, as GitHub makes it of the heading's text."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def models(model: type[BaseModel] = SubmitConfig) -> dict[str, type[BaseModel]]:
    """All models of the config by their names, from `model` down; `Service` is what every service has."""
    found = {model.__name__: model}
    if issubclass(model, _COMMON):
        found["Service"] = _COMMON
    for hint in get_type_hints(model, include_extras=True).values():
        for part in _models_in(hint):
            found |= models(part)
    return found


def _models_in(hint: Any) -> Iterator[type[BaseModel]]:
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        yield hint
    for part in get_args(hint):
        yield from _models_in(part)


def _type(hint: Any, places: Mapping[str, str]) -> str:
    """What a field takes, in words."""
    for named, word in _NAMED:
        if hint == named:
            return word
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _type(parts[0], places)
    if origin is Literal:
        return " or ".join(f"`{choice}`" for choice in parts)
    if origin in {Union, types.UnionType}:
        return " or ".join(_type(part, places) for part in parts if part is not types.NoneType)
    if origin is tuple:
        return f"list of {_type(parts[0], places)}"
    if origin is base.FrozenDict:
        return f"mapping of {_type(parts[0], places)} to {_type(parts[1], places)}"
    return f"[mapping]({places[hint.__name__]})"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default()
    if value is None:
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str | int | float):
        return f"`{value}`" if value != "" else "empty"
    assert not value, f"{value!r} needs a spelling here"  # noqa: S101
    return "empty"


def table(name: str, model: type[BaseModel], places: Mapping[str, str]) -> str:
    """The table of a model's fields: its own first, those that every service has left to their own table."""
    hints = get_type_hints(model, include_extras=True)
    left_out = set(_COMMON.model_fields) if issubclass(model, _COMMON) and model is not _COMMON else set()
    fields = [field for field in dict.fromkeys([*model.__annotations__, *model.model_fields]) if field not in left_out]
    rows = ["| field | type | default | meaning |", "| --- | --- | --- | --- |"]
    for field in fields:
        info = model.model_fields[field]
        meaning = (info.description or "").replace("|", r"\|")
        if (name, field) in NOT_IN_THIS_VERSION:
            meaning += " *[Not in this version.](not-in-this-version.md)*"
        rows.append(f"| `{field}` | {_type(hints[field], places)} | {_default(info)} | {meaning} |")
    return "\n".join(rows) + "\n"


def places(pages: Mapping[str, str]) -> dict[str, str]:
    """Where each model's table is, by the model's name: `compute.md#node-pools`; `pages` are texts by file name."""
    found: dict[str, str] = {}
    for page, text in pages.items():
        for match in TABLE.finditer(text):
            headings = re.findall(r"^#+ (.*)$", text[: match.start()], re.MULTILINE)
            found[match[2]] = f"{page}#{anchor(headings[-1])}"
    return found


def written(pages: Mapping[str, str]) -> dict[str, str]:
    """The pages with all tables as they should be."""
    known, where = models(), places(pages)

    def fresh(match: re.Match[str]) -> str:
        return match[1] + "\n" + table(match[2], known[match[2]], where) + "\n" + match[3]

    return {page: TABLE.sub(fresh, text) for page, text in pages.items()}


def read() -> dict[str, str]:
    """The pages by file name."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))}


if __name__ == "__main__":
    for page, text in written(read()).items():
        (DOCS / page).write_text(text, encoding="utf-8")
