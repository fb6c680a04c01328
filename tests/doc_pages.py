"""The documentation as tests read it: pages, their fenced blocks, code spans and links."""

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
README = ROOT / "README.md"
PAGES = [README, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *DOCS]

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is that of its first line, from 1."""

    language: str
    line: int
    text: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [Block(match[1], text.count("\n", 0, match.start()) + 2, match[2]) for match in _FENCED.finditer(text)]


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCED.sub("", page.read_text())


def spans(page: Path) -> list[str]:
    """What stands between backticks; a span that goes over a line's end is one line."""
    return [" ".join(match[2].split()) for match in _SPAN.finditer(prose(page))]


def bold_spans(page: Path) -> list[str]:
    return [" ".join(text.split()) for text in re.findall(r"\*\*`([^`]+)`\*\*", prose(page))]


def links(page: Path) -> list[str]:
    """The targets of links, those to other sites apart."""
    return [target for target in _LINK.findall(prose(page)) if "://" not in target]


def headings(page: Path) -> list[str]:
    return re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)


def commands(page: Path) -> Iterator[str]:
    """Every command line that begins with gymsubmit, in text or in a block."""
    lines = [line for block in blocks(page) if block.language == "sh" for line in block.text.splitlines()]
    for text in (*lines, *spans(page)):
        if match := re.search(r"(?:^|[/ ])gymsubmit ((?:compile|plan|schema|submit|-).*)", text):
            yield match[1]


def load_fields() -> ModuleType:
    """The program that writes the tables of fields."""
    spec = importlib.util.spec_from_file_location("fields", ROOT / "docs" / "fields.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
