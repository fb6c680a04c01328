import os
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest
from local_jobs import Gate, end, state_of

# The same examples on every run of a change, so that one is not red for what another brought; at a desk, new ones.
hypothesis.settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("ci")


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test, and no command that one runs, writes to the user's cache; templates are compiled once a session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's working directory, where it may write files by short names."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Callable[[str], Gate]]:
    """Makes gates by name."""
    gates: list[Gate] = []

    def make(name: str) -> Gate:
        gates.append(Gate(tmp_path / name))
        return gates[-1]

    yield make
    for made in gates:
        made.close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this machine's records go."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def submissions(tmp_path: Path, cache: Path) -> Iterator[None]:
    """For tests that submit: their records stay among themselves, and what they started ends with them."""
    yield
    for path in (tmp_path / "runs").glob("*/*/.gym_local.json"):
        runner = state_of(path.parent)["runner"]
        assert isinstance(runner, dict)
        end(runner["pid"])
