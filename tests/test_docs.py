"""What the README and the pages under docs/ say is true of the code."""

import ast
import re
from functools import cache
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from doc_pages import DOCS, PAGES, README, ROOT, bold_spans, commands, headings, links, load_fields, spans

from gymsubmit.cli import COMMANDS, main

CODE = [*(ROOT / "gymsubmit").rglob("*.py"), *(ROOT / "gymsubmit").rglob("*.sh"), *(ROOT / "templates").rglob("*.j2")]


@cache
def all_code() -> str:
    return "\n".join(path.read_text() for path in CODE)


@cache
def all_strings() -> list[str]:
    """Every text in the code as one line, with a mark for each value that is put in; templates as a whole."""
    found = []
    for path in CODE:
        text = path.read_text()
        if path.suffix != ".py":
            found.append(text)
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.JoinedStr):
                found.append("".join(str(p.value) if isinstance(p, ast.Constant) else "\0" for p in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return found


def options_of(name: str) -> set[str]:
    context = click.Context(main)
    command = main.get_command(context, name)
    assert command is not None
    of_main = {opt for param in main.get_params(context) for opt in param.opts}
    return of_main | {opt for param in command.get_params(context) for opt in param.opts}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    anchor = load_fields().anchor
    broken = []
    for link in links(page):
        target, _, fragment = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (fragment and fragment not in map(anchor, headings(path))):
            broken.append(link)
    assert broken == []


def test_the_index_lists_every_page() -> None:
    assert set(links(ROOT / "docs" / "README.md")) >= {page.name for page in DOCS} - {"README.md"}
    assert "docs/README.md" in links(README)


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_pages_are_short(page: Path) -> None:
    assert page.read_text().count("\n") <= 300


def test_every_command_is_in_the_readme() -> None:
    in_table = re.findall(r"^\| `gymsubmit (\w+)", README.read_text(), re.MULTILINE)
    assert sorted(in_table) == sorted(COMMANDS)
    assert [CliRunner().invoke(main, [name, "--help"]).exit_code for name in in_table] == [0] * len(in_table)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_exist(page: Path) -> None:
    wrong = []
    for line in commands(page):
        words = re.sub(r"[\[\]]", " ", line.partition("|")[0]).split()
        known = options_of(next((word for word in words if word in COMMANDS), "submit"))
        wrong += [f"{word} in {line}" for word in words if word.startswith("-") and word not in known]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_exist(page: Path) -> None:
    named = [
        span
        for span in spans(page)
        if re.fullmatch(r"(?:docs|examples|launch|parts|snapshots|steps|tests)/[\w./-]*", span)
    ]
    assert [name for name in named if not (ROOT / name).exists() and not (ROOT / "templates" / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_fields_and_variables_exist(page: Path) -> None:
    # By the underscore: everything else may be a word of somebody's. <NAME> is what a name of the config makes of it.
    named = [
        re.sub(r"^GYM_SERVICE_\w+_URL$", "GYM_SERVICE_<NAME>_URL", span)
        for span in spans(page)
        if re.fullmatch(r"(?=\w*_)[A-Za-z][\w<>]*\w>?", span)
    ]
    assert [name for name in named if not all(part in all_code() for part in re.split(r"<\w+>", name))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_that_stand_alone_exist(page: Path) -> None:
    # Those of gymsubmit, or of a program that it calls or knows.
    own = set().union(*(options_of(name) for name in COMMANDS))
    named = [span for span in spans(page) if re.fullmatch(r"--[a-z][a-z-]*", span)]
    assert [name for name in named if name not in own and not re.search(rf"\b{name[2:]}\b", all_code())] == []


@pytest.mark.parametrize("message", bold_spans(ROOT / "docs" / "troubleshooting.md"))
def test_messages_are_those_of_the_code(message: str) -> None:
    parts = [part.strip() for part in message.removeprefix("ERROR: ").split("...")]
    assert len("".join(parts)) >= len("failed:")
    pattern = re.compile(".*".join(map(re.escape, parts)), re.DOTALL)
    assert [text for text in all_strings() if pattern.search(text)] != []
