import copy
import pickle

import pytest

from gymsubmit.frozen import Frozen


class Point(Frozen):
    x: int
    y: int = 0


class Vector(Frozen):
    x: int
    y: int = 0


class Named(Point):
    name: str = "origin"


class Nothing(Frozen):
    pass


@pytest.mark.parametrize("point", [Point(1, 2), Point(1, y=2), Point(x=1, y=2), Point(y=2, x=1)])
def test_fields_by_position_or_by_name(point: Point) -> None:
    assert (point.x, point.y, point, hash(point)) == (1, 2, Point(1, 2), hash(Point(1, 2)))
    assert repr(point) == "Point(x=1, y=2)"


def test_what_has_a_default_may_be_left_out() -> None:
    assert Point(1) == Point(1, 0)
    assert Named(1) == Named(1, 0, "origin")
    assert Nothing() == Nothing()


@pytest.mark.parametrize("other", [Point(2, 1), Vector(1, 2), Named(1, 2), (1, 2), None])
def test_values_of_other_fields_or_of_another_class_differ(other: object) -> None:
    assert Point(1, 2) != other


def test_a_set_tells_classes_apart() -> None:
    assert len({Point(1, 2), Vector(1, 2), Point(1, 2)}) == 2


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((), {}, "Point: the field x is missing"),
        ((), {"y": 1}, "Point: the field x is missing"),
        ((1, 2, 3), {}, "Point: a field too many, or one given twice"),
        ((1,), {"x": 1}, "Point: a field too many, or one given twice"),
        ((1,), {"z": 1}, "Point: there is no field z"),
    ],
)
def test_fields_that_do_not_fit(arguments: tuple[int, ...], named: dict[str, int], message: str) -> None:
    with pytest.raises(TypeError) as refused:
        Point(*arguments, **named)
    assert str(refused.value) == message


def test_nothing_changes() -> None:
    point = Point(1, 2)
    with pytest.raises(AttributeError, match=r"^Point is frozen: cannot set x$"):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(AttributeError, match=r"^Point is frozen: cannot delete x$"):
        del point.x
    assert point == Point(1, 2)


def test_a_copy_is_an_equal_value() -> None:
    named = Named(1, 2, "here")
    assert copy.deepcopy(named) == copy.copy(named) == pickle.loads(pickle.dumps(named)) == named


def test_patterns_take_fields_in_order() -> None:
    match Point(1, 2):
        case Vector(_, _):
            raise AssertionError
        case Point(x, y):
            assert (x, y) == (1, 2)
