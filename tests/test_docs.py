"""What the README shows is true of the code."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from gymsubmit.cli import main
from gymsubmit.config.load import load_config

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_config_in_the_readme_is_valid(tmp_path: Path) -> None:
    (config,) = re.findall(r"^```yaml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    path = tmp_path / "submit.yaml"
    path.write_text(config)
    assert load_config(path).warnings == ()


@pytest.mark.parametrize("command", ["compile", "submit", "plan", "schema"])
def test_every_command_is_in_the_readme(command: str) -> None:
    assert f"| `gymsubmit {command}" in README
    assert CliRunner().invoke(main, [command, "--help"]).exit_code == 0
