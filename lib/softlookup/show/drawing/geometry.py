"""Rectangles and the lines of wires: where they are, what they touch."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]


@dataclass(frozen=True)
class Rect:
    """A rectangle in pixels; y points down."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def x(self) -> float:
        """Its middle."""
        return (self.left + self.right) / 2

    @property
    def y(self) -> float:
        """Its middle."""
        return (self.top + self.bottom) / 2

    @property
    def width(self) -> float:
        """From left to right."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """From top to bottom."""
        return self.bottom - self.top

    def grown(self, by: float, across: float | None = None) -> "Rect":
        """A rectangle that is larger on each side; ``across`` holds for top and bottom."""
        dy = by if across is None else across
        return Rect(self.left - by, self.top - dy, self.right + by, self.bottom + dy)

    def meets(self, other: "Rect") -> bool:
        """Whether the two have a point inside in common."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def holds(self, other: "Rect") -> bool:
        """Whether the other lies in this one."""
        return (
            self.left <= other.left
            and self.top <= other.top
            and self.right >= other.right
            and self.bottom >= other.bottom
        )


def around(x: float, y: float, width: float, height: float) -> Rect:
    """The rectangle with this middle."""
    return Rect(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def union(rects: Iterable[Rect]) -> Rect:
    """The smallest rectangle around all."""
    found = list(rects)
    return Rect(
        min(r.left for r in found),
        min(r.top for r in found),
        max(r.right for r in found),
        max(r.bottom for r in found),
    )


def segments(points: list[Point]) -> list[tuple[Point, Point]]:
    """The straight pieces of a line."""
    return list(pairwise(points))


def span(segment: tuple[Point, Point], by: float = 0.0) -> Rect:
    """The thin rectangle around a straight piece."""
    (x0, y0), (x1, y1) = segment
    return Rect(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)).grown(by)


def is_level(segment: tuple[Point, Point]) -> bool:
    """Whether a straight piece is horizontal."""
    return segment[0][1] == segment[1][1]


def crossing(one: tuple[Point, Point], other: tuple[Point, Point]) -> Point | None:
    """Where a horizontal and a vertical piece cross, away from their ends; else None."""
    if is_level(one) == is_level(other):
        return None
    level, upright = (one, other) if is_level(one) else (other, one)
    x, y = upright[0][0], level[0][1]
    across, along = span(level), span(upright)
    inside = across.left + 1 < x < across.right - 1 and along.top + 1 < y < along.bottom - 1
    return (x, y) if inside else None
