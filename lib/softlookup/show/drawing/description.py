"""What an author writes about a drawing, read and checked: its grid, its boxes, its arrows."""

import difflib
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from softlookup.checks import require

SIDES = ("left", "right", "top", "bottom")

_NAME = re.compile(r"[^\W\d]\w*")
_ARROW = re.compile(r"\s*(?:->|-\((?P<label>.+?)\)->)\s*")
_SIDE = re.compile(r"\s+by\s+(\w+)\s*$")


@dataclass(frozen=True)
class Box:
    """Something that stands in the grid.

    Attributes:
        name: What the description calls it.
        kind: ``data``, ``learned``, ``fixed``, ``circle``, ``gate``, ``stack``, ``words`` or
            ``joint``.
        label: What is written in it; what stands after " | " is small.
        rows: Its first row of the grid, and the row after its last.
        columns: So its columns.
    """

    name: str
    kind: str
    label: str
    rows: tuple[int, int]
    columns: tuple[int, int]


@dataclass(frozen=True)
class Arrow:
    """From one box to another.

    Attributes:
        start: Where it begins.
        end: Where its head is.
        label: What stands beside it.
        side: The side by which it goes around what is between; empty where it finds its way.
    """

    start: str
    end: str
    label: str = ""
    side: str = ""

    def __str__(self) -> str:
        return f"{self.start} -> {self.end}"


@dataclass(frozen=True)
class Description:
    """A drawing as its author described it.

    Attributes:
        boxes: What stands in the grid, by name.
        arrows: In the order written.
        frames: The names that each frame goes around, by its title.
        n_rows: How many rows the grid has.
        n_columns: How many columns it has.
    """

    boxes: dict[str, Box]
    arrows: list[Arrow]
    frames: dict[str, tuple[str, ...]]
    n_rows: int
    n_columns: int


def read(
    grid: str,
    kinds: Mapping[str, Mapping[str, str]],
    arrows: str,
    frames: Mapping[str, str],
) -> Description:
    """Read a description.

    Args:
        grid: A row a line, a name a cell, "." for an empty one; neighbours with one name are one.
        kinds: The label of each name, by kind.
        arrows: "a -> b -(label)-> c", a chain a line; "by left" at its end leads it around.
        frames: The names inside each frame, by its title.

    Raises:
        ValueError: Something does not fit; the message names it.
    """
    cells = _cells(grid)
    areas = _areas(cells)
    boxes = {}
    for kind, labels in kinds.items():
        for name, label in labels.items():
            known(name, areas, f"{kind} names what is not in the grid")
            require(name not in boxes, "a name must have one kind", name=name, kind=kind)
            boxes[name] = Box(name, kind, label, *areas[name])
    for name in areas:
        known(name, boxes, "each name in the grid must have a kind (data, learned, ...)")
    members = {title: tuple(names.split()) for title, names in frames.items()}
    for title, names in members.items():
        require(len(names) > 0, "a frame must go around something", title=title)
        for name in names:
            known(name, boxes, f"the frame {title!r} names what is not in the grid")
    return Description(boxes, _arrows(arrows, boxes), members, len(cells), len(cells[0]))


def known(name: str, names: Sequence[str] | Mapping, rule: str) -> None:
    """Raise a ``ValueError`` unless the name is there; say which one it may have been."""
    if name not in names:
        near = difflib.get_close_matches(name, list(names), 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{rule}; got {name!r}{hint}")


def _cells(grid: str) -> list[list[str]]:
    rows = [line.split() for line in textwrap.dedent(grid).splitlines() if line.strip()]
    require(len(rows) > 0, "the grid must have a row", grid=grid)
    for row in rows:
        require(
            len(row) == len(rows[0]),
            f"each row of the grid must have as many cells as the first, {len(rows[0])}",
            row=" ".join(row),
        )
        for name in row:
            is_name = name == "." or _NAME.fullmatch(name) is not None
            require(is_name, "a cell must hold a name or a dot", cell=name)
    return rows


def _areas(cells: list[list[str]]) -> dict[str, tuple[tuple[int, int], tuple[int, int]]]:
    places = {}
    for r, row in enumerate(cells):
        for c, name in enumerate(row):
            if name != ".":
                places.setdefault(name, []).append((r, c))
    areas = {}
    for name, found in places.items():
        rows, columns = ([place[k] for place in found] for k in (0, 1))
        (top, bottom), (left, right) = ((min(line), max(line) + 1) for line in (rows, columns))
        full = (bottom - top) * (right - left) == len(found)
        require(full, "the cells of one name must be a rectangle", name=name)
        areas[name] = ((top, bottom), (left, right))
    return areas


def _arrows(text: str, boxes: Mapping[str, Box]) -> list[Arrow]:
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        ending = _SIDE.search(line)
        side = ending[1] if ending else ""
        if ending:
            require(side in SIDES, f"an arrow goes by one of {', '.join(SIDES)}", arrow=line)
        parts = _ARROW.split(line[: ending.start()] if ending else line)
        names, labels = parts[::2], parts[1::2]
        require(len(names) > 1, "an arrow is written 'a -> b' or 'a -(label)-> b'", arrow=line)
        require(not side or len(names) == 2, "'by' needs a line of its own", arrow=line)
        for name in names:
            known(name, boxes, f"the arrow {line!r} names what is not in the grid")
        for start, label, end in zip(names, labels, names[1:], strict=False):
            arrow = Arrow(start, end, label or "", side)
            require(start != end, "an arrow must lead from one box to another", arrow=str(arrow))
            twice = any((a.start, a.end) == (start, end) for a in found)
            require(not twice, "an arrow must be written once", arrow=str(arrow))
            found.append(arrow)
    for name, box in boxes.items():
        if box.kind == "joint":
            loose = not all(name in {getattr(a, end) for a in found} for end in ("start", "end"))
            require(not loose, "a joint must have an arrow in and an arrow out", joint=name)
    return found
