"""Every example compiles to exactly the files under `snapshots/`: the only snapshot test there is."""

from pathlib import Path

import pytest
from snapshot_files import SNAPSHOTS, CompiledFile
from syrupy.assertion import SnapshotAssertion

from gymsubmit.config.load import load_config
from gymsubmit.lower import Run, lower
from gymsubmit.render import render

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.yaml"))


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    # What an example compiles to depends on nothing but the example.
    for name in ("HOME", "USER", "PATH", "HF_TOKEN", "GYMSUBMIT_EXAMPLE_TOKEN", "LANG", "LC_ALL", "TZ"):
        monkeypatch.delenv(name, raising=False)


def compiled(example: Path) -> dict[str, bytes]:
    config = load_config(example).config
    return {
        f"{example.stem}/{plan.name}/{file.path}": file.text.encode()
        for plan in lower(config, Run.of(config))
        for file in render(plan)
    }


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_compiles_to_its_snapshots(example: Path, snapshot: SnapshotAssertion) -> None:
    files = snapshot.use_extension(CompiledFile)
    for path, content in compiled(example).items():
        assert content == files(name=path)


def test_no_snapshot_is_left_over() -> None:
    expected = {path for example in EXAMPLES for path in compiled(example)}
    assert {str(path.relative_to(SNAPSHOTS)) for path in SNAPSHOTS.rglob("*") if path.is_file()} == expected
