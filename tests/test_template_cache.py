"""Compiled templates are kept for the next run, and nothing goes wrong, or is trusted, when that does not work."""

import os
from pathlib import Path

import pytest

from gymsubmit.errors import TemplateError
from gymsubmit.render import cache
from gymsubmit.render.environment import BashEnvironment, make_environment, render_template


class Run:
    """Runs of the program: each has an environment of its own, and tells which templates it had to compile."""

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.templates = base / "templates"
        self.templates.mkdir()
        self.write("a {{ x }}\n")
        self.home = base / "cache"
        self.kept = self.home / "gymsubmit" / "templates"
        monkeypatch.setenv("XDG_CACHE_HOME", str(self.home))
        self.compiled: list[str | None] = []
        parse = BashEnvironment._parse

        def recorded(environment: BashEnvironment, source: str, name: str | None, filename: str | None) -> object:
            self.compiled.append(name)
            return parse(environment, source, name, filename)

        monkeypatch.setattr(BashEnvironment, "_parse", recorded)

    def write(self, text: str) -> None:
        (self.templates / "x.j2").write_text(text)

    def __call__(self, text: str = "a b\n") -> bool:
        """Render; whether the template came from the cache."""
        self.compiled.clear()
        assert render_template(make_environment(self.templates), "x.j2", x="b") == text
        return not self.compiled


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(tmp_path, monkeypatch)


def test_an_unchanged_template_is_compiled_once(run: Run) -> None:
    assert [run(), run(), run()] == [False, True, True]
    assert [path.stat().st_mode & 0o777 for path in (run.kept, *run.kept.iterdir())] == [0o700, 0o600]


def test_a_changed_template_is_checked_and_compiled_again(run: Run) -> None:
    run()
    run.write("c {{ x }}\n")
    assert [run("c b\n"), run("c b\n")] == [False, True]
    assert len(list(run.kept.iterdir())) == 1
    run.write('c "{{ x }}"\n')
    for _ in range(2):
        with pytest.raises(TemplateError):
            run()


def test_a_changed_check_looks_at_every_template_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    monkeypatch.setattr(cache, "_code_digest", lambda: "other code")
    assert [run(), run()] == [False, True]


@pytest.mark.parametrize("what", ["directory", "file"])
@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_what_others_can_write_is_not_trusted(run: Run, what: str, mode: int) -> None:
    run()
    (run.kept if what == "directory" else next(run.kept.iterdir())).chmod(mode)
    assert not run()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("what", ["directory", "file"])
def test_what_belongs_to_another_user_is_not_trusted(run: Run, what: str) -> None:
    run()
    os.chown(run.kept if what == "directory" else next(run.kept.iterdir()), 65534, -1)
    assert not run()


@pytest.mark.parametrize("what", ["directory", "file"])
def test_a_link_is_not_followed(run: Run, what: str) -> None:
    run()
    path = run.kept if what == "directory" else next(run.kept.iterdir())
    path.rename(run.home / "elsewhere")
    path.symlink_to(run.home / "elsewhere")
    assert not run()


def test_a_damaged_file_is_written_anew(run: Run) -> None:
    run()
    file = next(run.kept.iterdir())
    whole = file.read_bytes()
    for damaged in (b"", whole[:20], whole[: len(whole) // 2]):
        file.write_bytes(damaged)
        assert [run(), run()] == [False, True]


def test_without_a_place_for_it_there_is_no_cache(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.home.write_text("a file where the directory would be")
    assert [run(), run()] == [False, False]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", staticmethod(lambda: Path("/nowhere")))
    monkeypatch.setattr(os, "mkdir", _refuse)
    assert [run(), run()] == [False, False]


def _refuse(*_: object, **__: object) -> None:
    raise PermissionError


@pytest.mark.parametrize("base", ["", "relative"])
def test_the_cache_is_below_home_unless_a_place_is_named(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", base)
    monkeypatch.setenv("HOME", "/home/ada")
    found = cache.user_cache()
    assert found is not None
    assert found.directory == Path("/home/ada/.cache/gymsubmit/templates")


def test_tests_leave_the_users_own_cache_alone(tmp_path_factory: pytest.TempPathFactory) -> None:
    found = cache.user_cache()
    assert found is not None
    assert found.directory.is_relative_to(tmp_path_factory.getbasetemp())
