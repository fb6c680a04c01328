"""Each template says what it receives, and there is no template that nothing uses."""

import re
from pathlib import Path

import pytest
from snapshot_files import SNAPSHOTS

from gymsubmit.render.contracts import contract, used
from gymsubmit.render.environment import make_environment

TEMPLATES = Path(__file__).parent.parent / "templates"
NAMES = sorted(str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.j2"))
# Chosen by the plan, so that no other template names them.
CHOSEN = re.compile(r"job\.sh\.j2|launch/(local|pyxis|srun)\.sh\.j2|parts/(slurm|local)\.sh\.j2|steps/.*\.sh\.j2")


@pytest.mark.parametrize("name", NAMES)
def test_template_uses_what_it_says_it_receives(name: str) -> None:
    environment = make_environment(TEMPLATES)
    said = contract(environment, name)
    assert said.summary.endswith(".")
    assert said.receives == used(environment, name)


def test_every_template_is_used() -> None:
    text = "".join((TEMPLATES / name).read_text() for name in NAMES)
    assert [name for name in NAMES if f'"{name}"' not in text and not CHOSEN.fullmatch(name)] == []


def test_every_step_template_is_in_some_example() -> None:
    scripts = "".join(path.read_text() for path in SNAPSHOTS.glob("*/*/job.sh"))
    headed = [name for name in NAMES if f"# --- {name.removesuffix('.j2')}" in (TEMPLATES / name).read_text()]
    assert headed
    assert [name for name in headed if f"# --- {name.removesuffix('.j2')}" not in scripts] == []
