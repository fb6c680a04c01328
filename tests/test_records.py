import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymsubmit.records import (
    BenchmarkRecord,
    Record,
    RecordError,
    dumps,
    index_directory,
    loads,
    read,
    write,
    write_index,
)

RECORD = Record(
    gym_job_id="gym-job-20260101T120000Z-a1b2c3",
    gymsubmit_version="0.1.0",
    submitted_at="2026-01-01T12:00:00Z",
    submitted_by="ada",
    run_dir="/runs/gym-job-20260101T120000Z-a1b2c3",
    cluster="here",
    executor="local",
    hostname="box",
    benchmarks=(
        BenchmarkRecord("math", "/runs/gym-job-20260101T120000Z-a1b2c3/math", job_id="77_1"),
        BenchmarkRecord("code", "/runs/gym-job-20260101T120000Z-a1b2c3/code", error="no bash"),
    ),
    templates={"site": None, "digests": {"job.sh.j2": "sha256:00"}},
    executor_metadata={"runner_pid": 77},
)


def test_what_is_written() -> None:
    assert json.loads(dumps(RECORD)) == {
        "schema_version": 1,
        "gym_job_id": "gym-job-20260101T120000Z-a1b2c3",
        "gymsubmit_version": "0.1.0",
        "submitted_at": "2026-01-01T12:00:00Z",
        "submitted_by": "ada",
        "run_dir": "/runs/gym-job-20260101T120000Z-a1b2c3",
        "cluster": "here",
        "executor": "local",
        "hostname": "box",
        "benchmarks": [
            {
                "benchmark": "math",
                "job_dir": "/runs/gym-job-20260101T120000Z-a1b2c3/math",
                "job_id": "77_1",
                "error": None,
            },
            {
                "benchmark": "code",
                "job_dir": "/runs/gym-job-20260101T120000Z-a1b2c3/code",
                "job_id": None,
                "error": "no bash",
            },
        ],
        "templates": {"site": None, "digests": {"job.sh.j2": "sha256:00"}},
        "executor_metadata": {"runner_pid": 77},
    }


def test_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "gym-job.json"
    write(path, RECORD)
    assert read(path) == RECORD
    assert [entry.name for entry in tmp_path.iterdir()] == ["gym-job.json"]
    assert path.stat().st_mode & 0o777 == 0o644


known = set(json.loads(dumps(RECORD))) | {"benchmark", "job_dir", "job_id", "error"}
values = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=4)
unknown = st.dictionaries(st.text().filter(lambda name: name not in known), values, max_size=3)


@given(unknown, unknown)
def test_fields_of_a_later_gymsubmit_survive(of_record: dict[str, object], of_benchmark: dict[str, object]) -> None:
    document = json.loads(dumps(RECORD))
    document |= of_record
    document["benchmarks"][0] |= of_benchmark
    assert json.loads(dumps(loads(json.dumps(document), "x"))) == document


def test_missing_fields_have_defaults() -> None:
    text = '{"schema_version": 1, "gym_job_id": "a", "benchmarks": [{"benchmark": "b", "job_dir": "/b"}]}'
    assert loads(text, "x") == Record("a", benchmarks=(BenchmarkRecord("b", "/b"),))


def test_a_newer_schema_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "gym-job.json"
    path.write_text('{"schema_version": 2, "gymsubmit_version": "3.1", "unheard": {"of": 1}}')
    with pytest.raises(RecordError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}: this record has schema_version 2, gymsubmit reads up to 1; read it with gymsubmit 3.1"
    )


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", "{}", '{"schema_version": "1"}', '{"gym_job_id": "a", "benchmarks": 3}', '{"gym_job_id": "a"'],
)
def test_what_is_no_record_is_told_with_its_path(text: str, tmp_path: Path) -> None:
    path = tmp_path / "gym-job.json"
    path.write_text(text)
    with pytest.raises(RecordError, match=f"^{path}: not a record of a submission"):
        read(path)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_what_cannot_be_read_is_told_with_its_path(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "gym-job.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RecordError, match=f"^{path}: cannot read the record"):
        read(path)


def test_an_old_record_stays_when_the_new_one_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "gym-job.json"
    write(path, RECORD)

    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", no_space)
    with pytest.raises(OSError, match="No space left"):
        write(path, Record("other"))
    assert read(path) == RECORD
    assert [entry.name for entry in tmp_path.iterdir()] == ["gym-job.json"]


def test_the_index_lies_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_index(RECORD)
    assert read(tmp_path / "cache" / "gymsubmit" / "jobs" / f"{RECORD.gym_job_id}.json") == RECORD


@pytest.mark.parametrize("value", ["", "relative"])
def test_a_cache_that_is_not_absolute_does_not_count(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert index_directory() == Path("/home/ada/.cache/gymsubmit/jobs")


def test_no_index_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / "cache"))
    write_index(RECORD)
    (message,) = caplog.messages
    assert message.startswith("the record is not in this machine's index (")
    assert message.endswith(f"; it is in {RECORD.run_dir}")
