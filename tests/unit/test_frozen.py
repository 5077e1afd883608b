from __future__ import annotations

import pickle

import pytest

from mlacheck.frozen import as_dict, field, frozen, record, replace


@frozen
class Point:
    """A point."""

    x: int
    y: int = 2
    names: dict[str, str] = field(default_factory=dict)
    kind: str = "plain"

    @property
    def total(self) -> int:
        """Add up."""
        return self.x + self.y


@frozen
class Line:
    start: Point
    ends: tuple[Point, ...] = ()


def test_fields_defaults_and_properties():
    point = Point(1)
    assert (point.x, point.y, point.names, point.kind, point.total) == (1, 2, {}, "plain", 3)
    assert Point(1).names is not point.names
    assert Point(x=4, kind="other") == Point(4, 2, {}, "other")
    assert repr(point) == "Point(x=1, y=2, names={}, kind='plain')"
    assert not hasattr(point, "__dict__")


def test_a_value_cannot_be_changed():
    point = Point(1)
    with pytest.raises(AttributeError, match="'x' cannot be changed"):
        point.x = 3
    with pytest.raises(AttributeError, match="immutable"):
        del point.x
    with pytest.raises(TypeError):
        Point()
    with pytest.raises(TypeError):
        Point(1, z=3)


def test_equality_and_hash_are_by_value_and_type():
    assert Line(Point(1, names={})) == Line(Point(1))
    assert Point(1) != Point(2)
    assert Point(1) != (1, 2, {}, "plain")
    assert hash(Line.__mro__[0] and (1,)) == hash((1,))
    assert len({Only(1), Only(1), Only(2)}) == 2


@frozen
class Only:
    number: int


def test_replace_copies_and_as_dict_goes_inside():
    line = Line(Point(1), (Point(2),))
    moved = replace(line, start=Point(9))
    assert (moved.start.x, line.start.x, moved.ends) == (9, 1, line.ends)
    assert as_dict(line)["ends"] == ({"x": 2, "y": 2, "names": {}, "kind": "plain"},)


def test_values_match_and_pickle():
    match Point(3):
        case Point(x, y):
            assert (x, y) == (3, 2)
    assert pickle.loads(pickle.dumps(Point(3))) == Point(3)  # noqa: S301 - pickled here


@record
class Counter:
    """Counts."""

    start: int
    seen: list[int] = field(default_factory=list)
    step: int = 1

    def __post_init__(self) -> None:
        self.next = self.start + self.step


def test_a_record_can_be_changed_and_copied():
    counter = Counter(3, step=2)
    assert (counter.start, counter.seen, counter.step, counter.next) == (3, [], 2, 5)
    assert Counter(1).seen is not counter.seen
    counter.start = 4
    assert replace(counter, step=5).next == 9
    assert counter != Counter(4, step=2)  # it is itself, not its values
    with pytest.raises(TypeError):
        Counter()


def test_many_values_are_made_as_the_first_ones_are():
    values = [Point(number, kind="other") for number in range(100)]
    assert values[50] == Point(50, 2, {}, "other")
    assert values[50].names is not values[99].names
    for wrong in ({}, {"x": 1, "z": 3}):
        with pytest.raises(TypeError, match="__init__"):
            Point(**wrong)
    with pytest.raises(TypeError, match="multiple values"):
        Point(1, x=1)
