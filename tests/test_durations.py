"""Durations in Slurm's grammar."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymsubmit.config.durations import duration_seconds

FORMS = "MINUTES, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS"
NUMBERS = st.integers(0, 999)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (90, 5400),
        ("90", 5400),
        ("090", 5400),
        ("1:30", 90),
        ("90:00", 5400),
        ("12:00:00", 43200),
        ("0-12", 43200),
        ("00-12", 43200),
        ("1-0", 86400),
        ("1-2:3", 93780),
        ("1-02:03:04", 93784),
        ("0:0:1", 1),
    ],
)
def test_as_slurm_counts(text: str | int, seconds: int) -> None:
    assert duration_seconds(text) == seconds


@given(
    days=NUMBERS, hours=NUMBERS, minutes=NUMBERS, seconds=st.integers(1, 999), zeros=st.sampled_from(["", "0", "00"])
)
def test_every_form_counts_its_parts(days: int, hours: int, minutes: int, seconds: int, zeros: str) -> None:
    clock = hours * 3600 + minutes * 60 + seconds
    assert duration_seconds(f"{zeros}{days}-{hours}:{minutes}:{seconds}") == days * 86400 + clock
    assert duration_seconds(f"{hours}:{zeros}{minutes}:{seconds}") == clock
    assert duration_seconds(f"{minutes}:{seconds}") == minutes * 60 + seconds
    assert duration_seconds(f"{zeros}{seconds}") == seconds * 60
    assert duration_seconds(f"{days}-{seconds}:{minutes}") == days * 86400 + seconds * 3600 + minutes * 60


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 90",
        "90 ",
        "90\n",
        "-1",
        -1,
        "1-",
        "1-1:1:1:1",
        "1:1:1:1",
        "4h",
        "1.5",
        "1e3",
        "UNLIMITED",
        "١",
        "1:",
        ":1",
    ],
)
def test_all_else_is_refused(text: str | int) -> None:
    with pytest.raises(ValueError, match="is no duration") as caught:
        duration_seconds(text)
    assert str(caught.value) == f"{str(text)!r} is no duration; write {FORMS}"


@pytest.mark.parametrize("text", [0, "0", "0:00", "00:00:00", "0-0"])
def test_no_time_is_refused_since_slurm_takes_it_for_no_limit(text: str | int) -> None:
    with pytest.raises(ValueError, match="is no time at all") as caught:
        duration_seconds(text)
    assert str(caught.value) == f"{str(text)!r} is no time at all; write how long it may take, as {FORMS}"


def test_more_than_slurm_can_count_is_refused() -> None:
    with pytest.raises(ValueError, match="is longer than Slurm can count; write a shorter time"):
        duration_seconds("99999999999")
