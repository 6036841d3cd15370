"""Drawings of architectures: where things stand, how arrows run, and what is refused."""

import re
from itertools import combinations

import pytest
from drawings import DRAWINGS

from softlookup.show import drawing, show_drawing
from softlookup.show.drawing.description import read
from softlookup.show.drawing.geometry import Rect, around, crossing, segments, span
from softlookup.show.drawing.layout import Layout, laid_out
from softlookup.show.drawing.svg import SMALLEST
from softlookup.show.drawing.text import Run, line_width, runs

PHONE = 350  # pixels that a picture has on a page of 390

GOOD = {
    "grid": """
        y
        add
        layer
        fork
        x
        """,
    "data": {"x": "x", "y": "y"},
    "learned": {"layer": "layer"},
    "circles": {"add": "+"},
    "joints": "fork",
    "arrows": """
        x -> fork -> layer -> add -> y
        fork -> add by left
        """,
    "name": "fig-a-block",
    "alt": "The input goes around the layer",
    "caption": "A block.",
}


@pytest.fixture
def shown(monkeypatch) -> list[dict]:
    """What the drawings show: data by kind."""
    bundles = []
    monkeypatch.setattr(drawing, "display", lambda bundle, raw: bundles.append(bundle))
    return bundles


@pytest.fixture
def layouts(monkeypatch, shown) -> list[Layout]:
    """The places of what is drawn."""
    found = []
    drawn = drawing.drawn
    monkeypatch.setattr(
        drawing, "drawn", lambda layout, alt: found.append(layout) or drawn(layout, alt)
    )
    return found


def faults(layout: Layout) -> list[str]:
    """What overlaps, or runs through what."""
    boxes = {name: place for name, (box, place) in layout.boxes.items() if box.kind != "joint"}
    found = [f"{a} on {b}" for a, b in combinations(boxes, 2) if boxes[a].meets(boxes[b])]
    for wire in layout.wires:
        for name, place in boxes.items():
            inside = place.grown(-0.5)
            if any(span(piece, 0.1).meets(inside) for piece in segments(wire.points)):
                found.append(f"{wire.arrow} through {name}")
    texts = {str(label.arrow): label.place for label in layout.labels}
    texts |= {frame.title: frame.title_place for frame in layout.frames}
    lines = [span(piece, 1) for wire in layout.wires for piece in segments(wire.points)]
    for text, place in texts.items():
        others = [other for name, other in texts.items() if name != text]
        if any(place.meets(other) for other in [*boxes.values(), *lines, *others]):
            found.append(f"the text of {text} on something")
    return found


def shared(layout: Layout) -> list[str]:
    """The arrows without a box in common that run on one line."""
    return [
        f"{one.arrow} on {other.arrow}"
        for one, other in combinations(layout.wires, 2)
        if not {one.arrow.start, one.arrow.end} & {other.arrow.start, other.arrow.end}
        for a in segments(one.points)
        for b in segments(other.points)
        if not crossing(a, b) and span(a, 1).meets(span(b, 1))
    ]


@pytest.mark.parametrize("draw", DRAWINGS, ids=lambda draw: draw.__name__)
def test_nothing_overlaps_and_no_arrow_runs_through_a_box(draw, layouts):
    draw()
    (layout,) = layouts
    assert layout.wires
    assert faults(layout) == []


@pytest.mark.parametrize("draw", DRAWINGS, ids=lambda draw: draw.__name__)
def test_an_arrow_begins_and_ends_at_the_borders_of_its_boxes(draw, layouts):
    draw()
    (layout,) = layouts
    for wire in layout.wires:
        ends = ((wire.arrow.start, wire.points[0]), (wire.arrow.end, wire.points[-1]))
        for name, (x, y) in ends:
            place = layout.boxes[name][1]
            at_side = x in (place.left, place.right) and place.top <= y <= place.bottom
            at_top = y in (place.top, place.bottom) and place.left <= x <= place.right
            assert at_side or at_top, (str(wire.arrow), name)


@pytest.mark.parametrize("draw", DRAWINGS, ids=lambda draw: draw.__name__)
def test_wires_of_different_arrows_share_no_line(draw, layouts):
    draw()
    (layout,) = layouts
    assert shared(layout) == []


@pytest.mark.parametrize("draw", DRAWINGS, ids=lambda draw: draw.__name__)
def test_a_dense_drawing_is_as_wide_and_lower_and_nothing_overlaps(draw, layouts, monkeypatch):
    draw()
    monkeypatch.setattr(drawing, "USUAL", drawing.DENSE)
    draw()
    usual, dense = layouts
    assert faults(dense) == []
    assert shared(dense) == []

    def height(layout):
        places = [place for _, place in layout.boxes.values()]
        return max(p.bottom for p in places) - min(p.top for p in places)

    assert height(dense) < 0.9 * height(usual)
    assert dense.boxes.keys() == usual.boxes.keys()


def test_a_drawing_is_dense_where_it_is_asked(layouts):
    show_drawing(**GOOD)
    show_drawing(**GOOD, dense=True)
    usual, dense = ([place.y for _, place in layout.boxes.values()] for layout in layouts)
    assert max(dense) - min(dense) < 0.9 * (max(usual) - min(usual))


def width(layout: Layout) -> float:
    """From the first box to the last."""
    places = [place for _, place in layout.boxes.values()]
    return max(place.right for place in places) - min(place.left for place in places)


@pytest.mark.parametrize("draw", DRAWINGS, ids=lambda draw: draw.__name__)
def test_a_close_drawing_is_as_high_and_no_wider_and_nothing_overlaps(draw, layouts, monkeypatch):
    draw()
    monkeypatch.setattr(drawing, "USUAL", drawing.USUAL.close)
    draw()
    usual, close = layouts
    assert faults(close) == []
    assert shared(close) == []
    assert width(close) < width(usual)
    assert close.boxes.keys() == usual.boxes.keys()
    for name, (_, place) in close.boxes.items():
        before = usual.boxes[name][1]
        assert (place.top, place.bottom) == (before.top, before.bottom)


def test_six_columns_of_words_stand_on_a_phone_where_they_are_close(layouts):
    words = ["he", "[MASK]", "entarté", "with", "a\u200b", "pie"]
    names = [f"w{k}" for k in range(6)]
    six = {
        **{"grid": f"{' '.join(['net'] * 6)}\n{' '.join(names)}", "learned": {"net": "net"}},
        **{"data": dict(zip(names, words, strict=True)), "arrows": "w0 -> net"},
        **{key: GOOD[key] for key in ("name", "alt", "caption")},
    }
    show_drawing(**six)
    show_drawing(**six, close=True)
    show_drawing(**six, close=True, dense=True)
    usual, close, both = layouts
    assert SMALLEST * width(usual) > PHONE
    assert SMALLEST * width(close) < PHONE
    assert width(both) == width(close)
    apart = [one.boxes["w0"][1].y - one.boxes["net"][1].y for one in (close, both)]
    assert apart[1] < 0.9 * apart[0]


def test_two_arrows_that_change_places_take_lanes_of_their_own():
    kinds = {"data": {"a": "a", "b": "b", "c": "c", "d": "d"}}
    assert shared(laid_out(read("c d\na b", kinds, "a -> d\nb -> c", {}))) == []


@pytest.mark.parametrize("draw", DRAWINGS, ids=lambda draw: draw.__name__)
def test_a_frame_goes_around_its_boxes_and_around_no_other(draw, layouts, monkeypatch):
    described = []
    monkeypatch.setattr(
        drawing, "read", lambda *args: described.append(read(*args)) or described[0]
    )
    draw()
    (layout,) = layouts
    for frame in layout.frames:
        members = described[0].frames[frame.title]
        for name, (_, place) in layout.boxes.items():
            assert frame.place.holds(place) if name in members else not frame.place.meets(place)


def test_the_laws_find_what_breaks_them():
    kinds = {"data": {"a": "a", "b": "b", "c": "c"}}
    layout = laid_out(read("a\nb\nc", kinds, "a -> b", {}))
    assert faults(layout) == []
    (box, place), (wire,) = layout.boxes["c"], layout.wires
    layout.boxes["c"] = (box, around(place.x, wire.points[0][1] + 10, 20, 30))
    assert "a -> b through c" in faults(layout)
    assert "a on c" in faults(layout)


def test_the_grid_says_what_stands_where_and_neighbours_of_one_name_are_one_box():
    kinds = {"data": {"a": "a", "b": "b"}, "fixed": {"c": "c"}}
    boxes = laid_out(read("c c\na b", kinds, "a -> c\nb -> c", {})).boxes
    a, b, c = (boxes[name][1] for name in "abc")
    assert a.right < b.left
    assert a.top == b.top > c.bottom
    assert (c.left, c.right) == (a.left, b.right)


def test_a_way_around_keeps_its_distance_from_what_is_between(layouts):
    show_drawing(**GOOD)
    (layout,) = layouts
    skip = next(wire for wire in layout.wires if str(wire.arrow) == "fork -> add")
    layer, add = layout.boxes["layer"][1], layout.boxes["add"][1]
    assert min(x for x, _ in skip.points) == layer.left - 16
    assert skip.points[-1] == (add.left, add.y)
    assert skip.arrives == "left"


def test_the_letters_of_a_label():
    assert runs("h_{t−1}") == [Run("h", 0, True), Run("t", -1, True), Run("−1", -1, False)]
    assert runs("W^Q") == [Run("W", 0, True), Run("Q", 1, True)]
    assert runs("n × d_model") == [
        Run("n", 0, True),
        Run(" × ", 0, False),
        Run("d", 0, True),
        Run("model", -1, False),
    ]
    assert runs("a layer, <s> and I") == [Run("a layer, <s> and I", 0, False)]
    assert line_width("Wi", 10) == pytest.approx(12.3)


def test_a_drawing_is_a_numbered_figure_with_a_text_alternative(shown):
    show_drawing(**GOOD)
    page = shown[0]["text/html"]
    assert '<figure class="sl-figure ' in page
    assert 'id="fig-a-block"' in page
    assert f'role="img" aria-label="{GOOD["alt"]}"' in page
    assert "<figcaption>A block.</figcaption>" in page
    assert shown[0]["text/plain"] == f"Figure: {GOOD['alt']}"
    assert not re.search(r"<(script|style|image)|#[0-9a-f]{6}(?!\))|http", page)  # fallbacks alone


def test_a_drawing_is_the_same_text_twice_and_shares_no_id_with_another(shown):
    show_drawing(**GOOD)
    show_drawing(**GOOD)
    show_drawing(**GOOD | {"name": "fig-another"})
    assert shown[0] == shown[1]
    first, second = (re.findall(r'\bid="([^"]+)"', shown[k]["text/html"]) for k in (0, 2))
    assert (first, second) == (["fig-a-block"], ["fig-another"])


def test_wires_that_cross_hop_and_those_that_meet_have_a_dot(shown):
    kinds = {"data": {"a": "a", "b": "b", "c": "c", "d": "d"}}
    layout = laid_out(read(". c .\na . b\n. d .", kinds, "d -> c\na -> b", {}))
    assert "A5 5 0 0 1" in drawing.drawn(layout, "two wires that cross")
    assert "<circle" not in drawing.drawn(layout, "two wires that cross")
    show_drawing(**GOOD)
    assert shown[0]["text/html"].count("<circle") == 1


TALL = {"grid": "x\nm\ny", "learned": {"m": "m"}, "circles": {}, "joints": ""}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"grid": ""}, "the grid must have a row"),
        ({"grid": "y .\nadd"}, "as many cells as the first, 2; got row='add'"),
        ({"grid": "y -"}, "a cell must hold a name or a dot; got cell='-'"),
        ({"grid": "y\nadd\nlayer\nfork\ny"}, "cells of one name must be a rectangle; got name='y'"),
        ({"learned": {}}, "must have a kind (data, learned, ...); got 'layer'"),
        ({"learned": {"layre": "f"}}, "not in the grid; got 'layre'; did you mean 'layer'?"),
        ({"fixed": {"layer": "layer"}}, "must have one kind; got name='layer', kind='fixed'"),
        ({"joints": "fork fork2"}, "joint names what is not in the grid; got 'fork2'"),
        ({"arrows": "x -> lair"}, "'x -> lair' names what is not in the grid; got 'lair'"),
        ({"arrows": "x"}, "an arrow is written 'a -> b' or 'a -(label)-> b'; got arrow='x'"),
        ({"arrows": "x -> x"}, "from one box to another; got arrow='x -> x'"),
        ({"arrows": "x -> y\nx -> y"}, "an arrow must be written once; got arrow='x -> y'"),
        ({"arrows": "x -> y by middle"}, "an arrow goes by one of left, right, top, bottom; got"),
        ({"arrows": "x -> layer -> y by left"}, "'by' needs a line of its own; got"),
        ({"arrows": "x -> fork"}, "an arrow in and an arrow out; got joint='fork'"),
        ({"frames": {"× L": "add lair"}}, "'× L' names what is not in the grid; got 'lair'"),
        ({"frames": {"× L": ""}}, "a frame must go around something; got title='× L'"),
        ({**TALL, "arrows": "x -> y by bottom"}, "no free way for the arrow 'x -> y by bottom'"),
        ({"alt": "a block"}, "alt must tell the finding in words"),
        ({"caption": ""}, "caption must not be empty"),
        ({"name": "block"}, "name must be 'fig-'"),
    ],
)
def test_a_mistake_in_the_description_is_named(changed, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        show_drawing(**GOOD | changed)


def test_a_label_without_room_is_named():
    kinds = {"data": {"a": "a", "b": "b", "c": "c", "d": "d"}}
    long = "some words that are far too long for this place"
    with pytest.raises(ValueError, match=f"no room for '{long}' beside the arrow 'a -> b'"):
        laid_out(read("c b d\n. a .", kinds, f"a -({long})-> b\nc -> a by top\nd -> a by top", {}))


def test_rectangles():
    one = Rect(0, 0, 4, 2)
    assert one.meets(Rect(3, 1, 5, 5))
    assert not one.meets(Rect(4, 0, 5, 2))  # they touch
    assert one.holds(Rect(1, 0, 4, 2))
    assert not one.holds(Rect(1, 0, 5, 2))
    assert one.grown(1, 2) == Rect(-1, -2, 5, 4)
