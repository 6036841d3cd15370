"""A drawing as SVG: its kinds of boxes, its wires, in the page's colours and letters."""

import html

from softlookup.show.drawing.description import Arrow, Box
from softlookup.show.drawing.geometry import (
    Point,
    Rect,
    crossing,
    is_level,
    segments,
    span,
    union,
)
from softlookup.show.drawing.layout import STACKED, Layout
from softlookup.show.drawing.routes import Wire
from softlookup.show.drawing.text import SMALL, block, block_svg
from softlookup.show.style import BLUE, CSS_COLOURS, GREY, ORANGE

SMALLEST = 0.865  # to how much a drawing may shrink: then its letters still have ten pixels
HEAD, CORNER, HOP, EDGE = 8, 7, 5, 5

_SANS = "var(--sl-sans, 'Source Sans 3', 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif)"
_BLUE, _ORANGE, _GREY = (CSS_COLOURS[colour] for colour in (BLUE, ORANGE, GREY))
LOOKS = {
    "data": f"fill: currentColor; fill-opacity: .07; stroke: {_GREY}; stroke-width: 1",
    "learned": f"fill: {_BLUE}; fill-opacity: .13; stroke: {_BLUE}; stroke-width: 1.6",
    "stack": f"fill: {_BLUE}; fill-opacity: .13; stroke: {_BLUE}; stroke-width: 1.6",
    "gate": f"fill: {_ORANGE}; fill-opacity: .14; stroke: {_ORANGE}; stroke-width: 1.6",
    "fixed": "fill: none; stroke: currentColor; stroke-width: 1.2",
    "circle": "fill: none; stroke: currentColor; stroke-width: 1.2",
}


def drawn(layout: Layout, alt: str) -> str:
    """The drawing as one ``<svg>`` element."""
    frames = "".join(_frame(f.title, f.place, f.title_place) for f in layout.frames)
    joints = {name for name, (box, _) in layout.boxes.items() if box.kind == "joint"}
    lines = _joined(layout.wires, joints)
    wires = "".join(_wire(wire, lines, joints) for wire in lines)
    dots = "".join(
        f'<circle cx="{place.x:g}" cy="{place.y:g}" r="2.8" fill="currentColor" stroke="none"/>'
        for name, (_, place) in layout.boxes.items()
        if name in joints and _meeting(name, layout.wires) > 2
    )
    boxes = "".join(_box(box, place) for box, place in layout.boxes.values() if box.kind != "joint")
    labels = "".join(
        f'<g data-label="{html.escape(str(label.arrow))}">'
        f"{block_svg(block(label.arrow.label, SMALL), label.place.x, label.place.y)}</g>"
        for label in layout.labels
    )
    view = _extent(layout)
    return (
        f'<svg class="sl-drawing" role="img" aria-label="{html.escape(alt)}" '
        f'viewBox="{view.left:.1f} {view.top:.1f} {view.width:.1f} {view.height:.1f}" '
        f'style="width: {view.width:.0f}px; max-width: 100%; '
        f"min-width: {SMALLEST * view.width:.0f}px; "
        f'height: auto; display: block; white-space: pre; font-family: {_SANS}">\n'
        f'<g fill="none" stroke="currentColor">{frames}</g>\n'
        f'<g fill="none" stroke="currentColor" stroke-width="1.4">{wires}{dots}</g>\n'
        f"<g>{boxes}</g>\n"
        f'<g fill="currentColor">{labels}</g>\n</svg>'
    )


def _extent(layout: Layout) -> Rect:
    rects = [place for _, place in layout.boxes.values()]
    rects += [span(piece) for wire in layout.wires for piece in segments(wire.points)]
    rects += [label.place for label in layout.labels] + [frame.place for frame in layout.frames]
    return union(rects).grown(3)


def _joined(wires: list[Wire], joints: set[str]) -> list[Wire]:
    """The wires; two that meet at a joint where nothing else does are one line with a bend."""
    lines = list(wires)
    for joint in sorted(joints):
        if _meeting(joint, wires) == 2:
            before = next(line for line in lines if line.arrow.end == joint)
            after = next(line for line in lines if line.arrow.start == joint)
            lines[lines.index(before)] = Wire(
                Arrow(before.arrow.start, after.arrow.end), [*before.points, *after.points[1:]]
            )
            lines.remove(after)
    return lines


def _meeting(joint: str, wires: list[Wire]) -> int:
    return sum(joint in (wire.arrow.start, wire.arrow.end) for wire in wires)


def _rect(place: Rect, radius: float, style: str) -> str:
    return (
        f'<rect x="{place.left:.1f}" y="{place.top:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.1f}" rx="{radius:g}" style="{style}"/>'
    )


def _box(box: Box, place: Rect) -> str:
    shape, front = "", place
    if box.kind == "stack":
        front = Rect(place.left, place.top + STACKED, place.right - STACKED, place.bottom)
        shape = "".join(_behind(front, step) for step in (STACKED, STACKED / 2))
    if box.kind != "words":
        radius = {"circle": place.height / 2, "data": min(12, place.height / 2)}.get(box.kind, EDGE)
        shape += _rect(front, radius, LOOKS[box.kind])
    text = block_svg(block(box.label), front.x, front.y)
    return (
        f'<g data-box="{box.name}" data-kind="{box.kind}">{shape}'
        f'<g fill="currentColor" stroke="none">{text}</g></g>'
    )


def _behind(front: Rect, step: float) -> str:
    """The corner of a further box, as far as the ones before it leave it to be seen."""
    left, top, right, bottom = (
        front.left + step,
        front.top - step,
        front.right + step,
        front.bottom - step,
    )
    half = STACKED / 2
    path = (
        f"M{left:.1f} {top + half:.1f}V{top + EDGE:.1f}"
        f"Q{left:.1f} {top:.1f} {left + EDGE:.1f} {top:.1f}H{right - EDGE:.1f}"
        f"Q{right:.1f} {top:.1f} {right:.1f} {top + EDGE:.1f}V{bottom - EDGE:.1f}"
        f"Q{right:.1f} {bottom:.1f} {right - half:.1f} {bottom:.1f}"
    )
    return f'<path d="{path}" style="{LOOKS["stack"]}; fill: none"/>'


def _frame(title: str, place: Rect, title_place: Rect) -> str:
    text = block_svg(block(title, SMALL), title_place.x, title_place.y)
    return (
        f'<g data-frame="{html.escape(title)}">'
        f"{_rect(place, 10, f'stroke: {_GREY}; stroke-width: 1.2; stroke-dasharray: 5 4')}"
        f'<g fill="currentColor" stroke="none" font-weight="600">{text}</g></g>'
    )


def _wire(wire: Wire, wires: list[Wire], joints: set[str]) -> str:
    """The line, rounded at its bends, with a hop where it crosses another; then its head."""
    headed = wire.arrow.end not in joints
    path = _line(wire, wires, shorten=HEAD - 2 if headed else 0)
    head = _head(*wire.points[-2:]) if headed else ""
    return f'<g data-wire="{html.escape(str(wire.arrow))}"><path d="{path}"/>{head}</g>'


def _line(wire: Wire, wires: list[Wire], shorten: float) -> str:
    points = [*wire.points[:-1], _towards(wire.points[-1], wire.points[-2], shorten)]
    path = f"M{_at(points[0])}"
    for k, (start, end) in enumerate(segments(points)):
        if is_level((start, end)):
            path += _hops(start, end, wire, wires)
        if k + 2 < len(points):
            radius = min(CORNER, _length(start, end) / 2, _length(end, points[k + 2]) / 2)
            before, after = _towards(end, start, radius), _towards(end, points[k + 2], radius)
            path += f"L{_at(before)}Q{_at(end)} {_at(after)}"
        else:
            path += f"L{_at(end)}"
    return path


def _hops(start: Point, end: Point, wire: Wire, wires: list[Wire]) -> str:
    """Little bridges over the wires that cross this horizontal piece."""
    others = [w for w in wires if w.arrow != wire.arrow]
    found = {crossing((start, end), piece) for w in others for piece in segments(w.points)} - {None}
    right = end[0] > start[0]
    step, sweep = (HOP, 1) if right else (-HOP, 0)
    return "".join(
        f"L{x - step:.1f} {y:.1f}A{HOP} {HOP} 0 0 {sweep} {x + step:.1f} {y:.1f}"
        for x, y in sorted(found, reverse=not right)
    )


def _head(before: Point, tip: Point) -> str:
    """An arrowhead whose tip touches the border."""
    base = _towards(tip, before, HEAD)
    dx, dy = (base[1] - tip[1]) * 0.48, (base[0] - tip[0]) * 0.48
    corners = [tip, (base[0] + dx, base[1] - dy), (base[0] - dx, base[1] + dy)]
    path = "M" + "L".join(map(_at, corners)) + "Z"
    return f'<path data-head="" d="{path}" fill="currentColor" stroke="none"/>'


def _towards(point: Point, other: Point, by: float) -> Point:
    """The point moved towards another one."""
    far = _length(point, other)
    share = by / far if far else 0.0
    return (
        point[0] + (other[0] - point[0]) * share,
        point[1] + (other[1] - point[1]) * share,
    )


def _length(one: Point, other: Point) -> float:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def _at(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"
