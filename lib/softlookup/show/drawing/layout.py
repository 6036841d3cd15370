"""From a description to places: how large each box is, where it stands, where arrows run."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from softlookup.checks import require
from softlookup.show.drawing.description import Arrow, Box, Description
from softlookup.show.drawing.geometry import Rect, around, is_level, segments, span, union
from softlookup.show.drawing.routes import Wire, routed
from softlookup.show.drawing.text import SMALL, block

SMALLEST_BOX, ROUND = 44, 28  # the width of a box with a letter, and across a circle
STACKED = 8  # by how much a stack stands out behind its first box
FRAME_X, FRAME_Y, TITLE = 14, 12, 20  # a frame's room at the sides, above and below, for its title
STRETCHED = ("learned", "fixed", "gate", "stack")
SETTLE = 4  # rounds until frames have their room


@dataclass(frozen=True)
class Spacing:
    """How much room there is.

    Attributes:
        row_gap: Between rows.
        joint_gap: Beside rows and columns of joints alone.
        padding: Above and below the text of a box, together.
        column_gap: Between columns.
        sides: Left and right of the text of a box, together.
    """

    row_gap: int
    joint_gap: int
    padding: int
    column_gap: int = 22
    sides: int = 24

    @property
    def close(self) -> "Spacing":
        """The same with less room from column to column."""
        return replace(self, column_gap=12, sides=14)


USUAL, DENSE = Spacing(26, 16, 16), Spacing(14, 9, 7)


@dataclass(frozen=True)
class Label:
    """What stands beside an arrow."""

    arrow: Arrow
    place: Rect


@dataclass(frozen=True)
class Frame:
    """A frame, and where its title stands."""

    title: str
    place: Rect
    title_place: Rect


@dataclass(frozen=True)
class Layout:
    """A drawing with all its places, in pixels."""

    boxes: dict[str, tuple[Box, Rect]]
    wires: list[Wire]
    labels: list[Label]
    frames: list[Frame]


def laid_out(description: Description, spacing: Spacing = USUAL) -> Layout:
    """Find a place for everything.

    Raises:
        ValueError: An arrow has no free way, or a text has no room.
    """
    room = dict.fromkeys(description.frames, Rect(0, 0, 0, 0))
    for _ in range(SETTLE):
        places, lanes = _placed(description, room, spacing)
        round_ones = {n for n, b in description.boxes.items() if b.kind in ("circle", "joint")}
        wires = routed(description.arrows, places, lanes, round_ones)
        outlines = _outlines(description, places, wires)
        before, room = room, _room(description, places, outlines)
        if room == before:
            break
    labels = _labels(wires, places, list(outlines.values()))
    frames = _titled(outlines, wires, [label.place for label in labels])
    boxes = {name: (box, places[name]) for name, box in description.boxes.items()}
    return Layout(boxes, wires, labels, frames)


def natural_size(box: Box, spacing: Spacing) -> tuple[float, float]:
    """How large a box must be for its text."""
    if box.kind == "joint":
        return 0.0, 0.0
    text = block(box.label)
    if box.kind == "circle":
        return max(ROUND, text.width + 14), ROUND
    if box.kind == "words":
        return text.width + 4, text.height + 4
    more = STACKED if box.kind == "stack" else 0
    width, height = text.width + spacing.sides, text.height + spacing.padding
    return max(SMALLEST_BOX, width) + more, height + more


def _placed(
    description: Description, room: Mapping[str, Rect], spacing: Spacing
) -> tuple[dict[str, Rect], tuple[list[float], list[float]]]:
    """Where each box stands, and the lines between columns and rows."""
    boxes = description.boxes.values()
    sizes = {box.name: natural_size(box, spacing) for box in boxes}
    spans = {"x": {b.name: b.columns for b in boxes}, "y": {b.name: b.rows for b in boxes}}
    tracks, lanes = {}, {}
    for k, (axis, n) in enumerate((("x", description.n_columns), ("y", description.n_rows))):
        gaps = _gaps(description, axis, n, spans[axis], room, spacing)
        lengths = _lengths({name: size[k] for name, size in sizes.items()}, spans[axis], n, gaps)
        tracks[axis], position = [], 0.0
        for length, gap in zip(lengths, [*gaps, 0.0], strict=True):
            tracks[axis].append((position, position + length))
            position += length + gap
        between = zip(tracks[axis], tracks[axis][1:], strict=False)
        lanes[axis] = [
            end + (start - end) * share
            for (_, end), (start, _) in between
            for share in (0.5, 0.3, 0.7)
        ]
    ends = [name for arrow in description.arrows for name in (arrow.start, arrow.end)]
    wide = {box.name for box in boxes if box.kind in STRETCHED or ends.count(box.name) > 2}
    places = {box.name: _place(box, sizes[box.name], tracks, box.name in wide) for box in boxes}
    return places, (lanes["x"], lanes["y"])


def _place(box: Box, size: tuple[float, float], tracks: dict, wide: bool) -> Rect:
    """Where the box stands in its cells: layers fill them, and tensors that many arrows touch."""
    left, right = tracks["x"][box.columns[0]][0], tracks["x"][box.columns[1] - 1][1]
    top, bottom = tracks["y"][box.rows[0]][0], tracks["y"][box.rows[1] - 1][1]
    cell = Rect(left, top, right, bottom)
    if box.kind in ("circle", "joint", "words"):
        return around(cell.x, cell.y, *size)
    alone = box.columns[1] - box.columns[0] == 1
    fills = wide if not alone else box.kind != "data" or cell.width <= 1.6 * size[0]
    return around(cell.x, cell.y, cell.width if fills else size[0], cell.height)


def _gaps(
    description: Description,
    axis: str,
    n: int,
    spans: Mapping,
    room: Mapping[str, Rect],
    spacing: Spacing,
) -> list[float]:
    """The room between neighbours: for arrows, their labels, and the borders of frames."""
    kinds = [
        {b.kind for b in description.boxes.values() if spans[b.name][0] <= k < spans[b.name][1]}
        for k in range(n)
    ]
    joints = [kind == {"joint"} for kind in kinds]
    usual = spacing.column_gap if axis == "x" else spacing.row_gap
    near = min(spacing.joint_gap, usual)
    gaps = [float(near if joints[k] or joints[k + 1] else usual) for k in range(n - 1)]
    for arrow in description.arrows:
        if not arrow.label:
            continue
        a, b = sorted((spans[arrow.start], spans[arrow.end]))
        if a[1] == b[0]:
            text = block(arrow.label, SMALL)
            need = text.width + 22 if axis == "x" else text.height + 16
            other = "rows" if axis == "x" else "columns"
            ends = [getattr(description.boxes[name], other) for name in (arrow.start, arrow.end)]
            facing = max(ends[0][0], ends[1][0]) < min(ends[0][1], ends[1][1])
            if facing:
                gaps[a[1] - 1] = max(gaps[a[1] - 1], need)
    extra = [[0.0, 0.0] for _ in gaps]
    for title, members in description.frames.items():
        first = min(spans[name][0] for name in members)
        last = max(spans[name][1] for name in members)
        before, after = (
            (room[title].left, room[title].right)
            if axis == "x"
            else (room[title].top, room[title].bottom)
        )
        if first > 0:
            extra[first - 1][1] = max(extra[first - 1][1], before)
        if last < n:
            extra[last - 1][0] = max(extra[last - 1][0], after)
    return [gap + sum(more) for gap, more in zip(gaps, extra, strict=True)]


def _lengths(sizes: Mapping[str, float], spans: Mapping, n: int, gaps: list[float]) -> list[float]:
    """The widths of columns, or the heights of rows: what is in them fits."""
    lengths = [0.0] * n
    for name, (first, last) in sorted(spans.items(), key=lambda s: s[1][1] - s[1][0]):
        have = sum(lengths[first:last]) + sum(gaps[first : last - 1])
        more = max(0.0, sizes[name] - have) / (last - first)
        for k in range(first, last):
            lengths[k] += more
    return lengths


def _outlines(
    description: Description, places: Mapping[str, Rect], wires: list[Wire]
) -> dict[str, Rect]:
    """The frames: around their boxes, the arrows between these, and frames inside."""
    outlines: dict[str, Rect] = {}
    for title, members in sorted(description.frames.items(), key=lambda f: len(f[1])):
        inner = [places[name] for name in members]
        inner += [
            span(piece)
            for wire in wires
            if {wire.arrow.start, wire.arrow.end} <= set(members)
            for piece in segments(wire.points)
        ]
        inner += [
            outlines[other] for other in outlines if set(description.frames[other]) <= set(members)
        ]
        rect = union(inner).grown(FRAME_X, FRAME_Y)
        top = rect.top - TITLE
        band = Rect(rect.left, top, rect.right, rect.top)
        passing = [
            span(piece).left
            for wire in wires
            for piece in segments(wire.points)
            if span(piece, 0.01).meets(band)
        ]
        need = block(title, SMALL).width + 20
        left = min(rect.left, min(passing, default=rect.right) - need)
        outlines[title] = Rect(left, top, rect.right, rect.bottom)
    return {title: _aligned(title, description, outlines) for title in description.frames}


def _aligned(title: str, description: Description, outlines: Mapping[str, Rect]) -> Rect:
    """The frame, as wide as the others that go around the same columns."""

    def columns(frame: str) -> tuple[int, int]:
        spans = [description.boxes[name].columns for name in description.frames[frame]]
        return min(first for first, _ in spans), max(last for _, last in spans)

    alike = [outlines[other] for other in outlines if columns(other) == columns(title)]
    left, right = min(one.left for one in alike), max(one.right for one in alike)
    return Rect(left, outlines[title].top, right, outlines[title].bottom)


def _room(
    description: Description, places: Mapping[str, Rect], outlines: Mapping[str, Rect]
) -> dict[str, Rect]:
    """By how much each frame stands out from the boxes in it, on each side."""
    room = {}
    for title, members in description.frames.items():
        inner, outer = union(places[name] for name in members), outlines[title]
        room[title] = Rect(
            round(inner.left - outer.left, 3),
            round(inner.top - outer.top, 3),
            round(outer.right - inner.right, 3),
            round(outer.bottom - inner.bottom, 3),
        )
    return room


def _labels(wires: list[Wire], places: Mapping[str, Rect], frames: list[Rect]) -> list[Label]:
    """A place beside its arrow for each label, where nothing else is."""
    taken = [place.grown(2) for place in places.values()]
    taken += [span(piece, 3) for wire in wires for piece in segments(wire.points)]
    taken += [edge for frame in frames for edge in _edges(frame)]
    labels = []
    for wire in wires:
        if not wire.arrow.label:
            continue
        free = [p for p in _beside(wire) if not any(p.meets(other) for other in taken)]
        if not free:
            raise ValueError(f"no room for {wire.arrow.label!r} beside the arrow '{wire.arrow}'")
        labels.append(Label(wire.arrow, free[0]))
        taken.append(free[0].grown(3, 1))
    return labels


def _beside(wire: Wire) -> list[Rect]:
    """The places for a label, the best first."""
    text = block(wire.arrow.label, SMALL)
    width, height = text.width, text.height
    found = []
    pieces = sorted(segments(wire.points), key=lambda p: -span(p).width - span(p).height)
    for piece in pieces:
        (x0, y0), (x1, y1) = piece
        for share in (0.5, 0.35, 0.65, 0.2, 0.8):
            x, y = x0 + (x1 - x0) * share, y0 + (y1 - y0) * share
            if is_level(piece):
                found += [around(x, y + s * (height / 2 + 4), width, height) for s in (-1, 1)]
            else:
                found += [around(x + s * (width / 2 + 7), y, width, height) for s in (1, -1)]
    return found


def _edges(frame: Rect) -> list[Rect]:
    left, top, right, bottom = frame.left, frame.top, frame.right, frame.bottom
    corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    return [span(piece, 2) for piece in segments(corners)]


def _titled(outlines: Mapping[str, Rect], wires: list[Wire], labels: list[Rect]) -> list[Frame]:
    """The frames with their titles, in the upper left corner."""
    taken = [span(piece, 4) for wire in wires for piece in segments(wire.points)] + labels
    frames = []
    for title, frame in outlines.items():
        text = block(title, SMALL)
        x, y = frame.left + 10 + text.width / 2, frame.top + TITLE / 2 + 3
        place = around(x, y, text.width, text.height)
        free = frame.holds(place) and not any(place.meets(other) for other in taken)
        require(free, "no room for the title of a frame; shorten it", title=title)
        frames.append(Frame(title, frame, place))
    return frames
