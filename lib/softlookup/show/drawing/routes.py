"""The ways of the arrows: straight where they can, else with few bends, never through a box."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from softlookup.show.drawing.description import Arrow
from softlookup.show.drawing.geometry import Point, Rect, crossing, is_level, segments, span

GUTTER = 16  # from a box to the line that goes around it
CLEAR = 5  # what stays free around a box
BEND, CROSS, SHARE, SAME_SIDE, SIDEWAYS = 40, 90, 600, 60, 60  # what each costs, in pixels of way


@dataclass(frozen=True)
class Wire:
    """An arrow and its way."""

    arrow: Arrow
    points: list[Point]

    @property
    def arrives(self) -> str:
        """The side of its end at which it arrives."""
        return side_of(self.points[-1], self.points[-2])


def side_of(end: Point, before: Point) -> str:
    """The side of a box at which a line arrives that comes from ``before``."""
    (x, y), (x0, y0) = end, before
    if x == x0:
        return "bottom" if y0 > y else "top"
    return "left" if x0 < x else "right"


def routed(
    arrows: Sequence[Arrow],
    places: Mapping[str, Rect],
    lanes: tuple[list[float], list[float]],
    round_ones: set[str],
) -> list[Wire]:
    """A way for each arrow, in their order.

    Args:
        arrows: From where to where.
        places: Where each box stands.
        lanes: The x and the y of lines that run between columns and between rows.
        round_ones: The names of circles and joints.

    Raises:
        ValueError: There is no free way for an arrow.
    """
    found: dict[Arrow, Wire] = {}
    straight = [a for a in arrows if not a.side and _free(_straight(a, places), a, places)]
    for arrow in [*straight, *(a for a in arrows if a not in straight)]:
        ways = [list(w) for w in _ways(arrow, places, lanes) if _free([w], arrow, places)]
        ways = [w for w in ways if not arrow.side or side_of(w[-1], w[-2]) == arrow.side]
        if not ways:
            by = f" by {arrow.side}" if arrow.side else ""
            raise ValueError(f"no free way for the arrow '{arrow}{by}'; move a box or add a joint")
        wires = list(found.values())
        best = min(ways, key=lambda way: round(_cost(way, arrow, wires, round_ones), 3))
        found[arrow] = Wire(arrow, best)
    return [found[arrow] for arrow in arrows]


def _free(ways: Sequence[list[Point]], arrow: Arrow, places: Mapping[str, Rect]) -> bool:
    """Whether the first of the ways goes through no box."""
    if not ways:
        return False
    for name, place in places.items():
        own = name in (arrow.start, arrow.end)
        block = place.grown(-1 if own else CLEAR)
        if any(span(piece, 0.01).meets(block) for piece in segments(ways[0])):
            return False
    return True


def _straight(arrow: Arrow, places: Mapping[str, Rect]) -> list[list[Point]]:
    a, b = places[arrow.start], places[arrow.end]
    x = _common((a.left, a.right), (b.left, b.right))
    y = _common((a.top, a.bottom), (b.top, b.bottom))
    if x is not None and (b.bottom < a.top or b.top > a.bottom):
        up = b.bottom < a.top
        return [[(x, a.top if up else a.bottom), (x, b.bottom if up else b.top)]]
    if y is not None and (b.right < a.left or b.left > a.right):
        left = b.right < a.left
        return [[(a.left if left else a.right, y), (b.right if left else b.left, y)]]
    return []


def _common(one: tuple[float, float], other: tuple[float, float]) -> float | None:
    """The middle of the shorter of two ranges if the longer holds it well inside."""
    short, long = sorted((one, other), key=lambda r: r[1] - r[0])
    middle = (short[0] + short[1]) / 2
    margin = min(8.0, (long[1] - long[0]) / 2)
    return middle if long[0] + margin <= middle <= long[1] - margin else None


def _ways(
    arrow: Arrow, places: Mapping[str, Rect], lanes: tuple[list[float], list[float]]
) -> Iterator[list[Point]]:
    """All ways worth trying."""
    yield from _straight(arrow, places)
    a, b = places[arrow.start], places[arrow.end]
    up, left = b.y < a.y, b.x < a.x
    a_row, b_row = (a.top if up else a.bottom), (b.bottom if up else b.top)
    a_column, b_column = (a.left if left else a.right), (b.right if left else b.left)
    if not b.top <= a.y <= b.bottom or not b.left <= a.x <= b.right:
        if not b.left < a.x < b.right and not a.top < b.y < a.bottom:
            yield [(a.x, a_row), (a.x, b.y), (b_column, b.y)]
        if not b.top < a.y < b.bottom and not a.left < b.x < a.right:
            yield [(a_column, a.y), (b.x, a.y), (b.x, b_row)]
    for y in lanes[1]:
        if min(a_row, b_row) < y < max(a_row, b_row) and a.x != b.x:
            yield [(a.x, a_row), (a.x, y), (b.x, y), (b.x, b_row)]
    for x in lanes[0]:
        if min(a_column, b_column) < x < max(a_column, b_column) and a.y != b.y:
            yield [(a_column, a.y), (x, a.y), (x, b.y), (b_column, b.y)]
    for place in places.values():
        if (x := place.left - GUTTER) < min(a.left, b.left):
            yield [(a.left, a.y), (x, a.y), (x, b.y), (b.left, b.y)]
        if (x := place.right + GUTTER) > max(a.right, b.right):
            yield [(a.right, a.y), (x, a.y), (x, b.y), (b.right, b.y)]
        if (y := place.top - GUTTER) < min(a.top, b.top):
            yield [(a.x, a.top), (a.x, y), (b.x, y), (b.x, b.top)]
        if (y := place.bottom + GUTTER) > max(a.bottom, b.bottom):
            yield [(a.x, a.bottom), (a.x, y), (b.x, y), (b.x, b.bottom)]


def _cost(way: list[Point], arrow: Arrow, wires: list[Wire], round_ones: set[str]) -> float:
    pieces = segments(way)
    cost = sum(abs(x1 - x0) + abs(y1 - y0) for (x0, y0), (x1, y1) in pieces)
    cost += BEND * (len(pieces) - 1)
    if len(pieces) == 2 and is_level(pieces[0]) and arrow.start not in round_ones:
        cost += SIDEWAYS  # a box gives to what stands above or below it, not to its side
    for wire in wires:
        kin = {wire.arrow.start, wire.arrow.end} & {arrow.start, arrow.end}
        for piece in pieces:
            for other in segments(wire.points):
                cost += CROSS * (crossing(piece, other) is not None)
                alike = is_level(piece) == is_level(other)
                cost += SHARE * (alike and not kin and span(piece, 3).meets(span(other, 3)))
        if wire.arrow.end == arrow.end and arrow.end in round_ones:
            cost += SAME_SIDE * (wire.arrives == side_of(way[-1], way[-2]))
    return cost
