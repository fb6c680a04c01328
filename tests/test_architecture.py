"""The three rules that hold the design up."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "gymsubmit"
# What would be shell if Python wrote it: a redirection, an expansion, a program that only a script calls.
SHELL = re.compile(r"\$\{|\$\(|2>&1|\bsrun |\bbash -c\b|&& |\|\| ")


def test_imports_flow_one_way() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("part", ["lower", "plan.py", "words.py", "executors"])
def test_no_shell_text_in_python(part: str) -> None:
    paths = [PACKAGE / part] if part.endswith(".py") else sorted((PACKAGE / part).glob("*.py"))
    found = [
        f"{path.name}:{node.lineno}: {node.value!r}"
        for path in paths
        for node in ast.walk(without_docstrings(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SHELL.search(node.value)
    ]
    assert found == []


def without_docstrings(path: Path) -> ast.Module:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                part for part in body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
            ]
    return tree


def test_the_plan_alone_decides_what_is_rendered() -> None:
    # A template that compares, computes or calls methods does not load; that it does not is tested with the
    # environment. Here: none of ours reaches for a config.
    texts = {path.name: path.read_text() for path in (ROOT / "templates").rglob("*.j2")}
    assert [name for name, text in texts.items() if re.search(r"\bconfig\.", text)] == []


def test_files_hold_one_idea() -> None:
    long = [
        str(path.relative_to(ROOT))
        for directory, most in (("gymsubmit", 300), ("templates", 300), ("tests", 400))
        for path in (ROOT / directory).rglob("*")
        if path.suffix in {".py", ".j2"} and path.read_text().count("\n") > most
    ]
    assert long == []
