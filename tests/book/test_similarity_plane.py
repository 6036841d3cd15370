"""The similarity plane, dragged in Chromium as a reader would: its numbers are the library's."""

import math
import random
import re

import pytest
import torch
from conftest import drag_by_finger

from softlookup.show import SimilarityPlane
from softlookup.words import MEASURES, similarity

START = ((2.0, 1.0), (0.5, 2.5))
STILL = {"turn": 0, "whole": 1, "across": 1, "shift": 0}
LABELS = {
    "turn": "Turn",
    "whole": "Stretch all",
    "across": "Stretch across only",
    "shift": "Shift to the right",
}
ROWS = dict(zip(("cosine", "dot", "distance"), MEASURES, strict=True))
TIPS = """(nth) => {  // the tips of the arrows, in units of the picture
  const plane = document.querySelectorAll("svg.sp-plane")[nth];
  return ["sp-x", "sp-y"].map((kind) => plane.querySelector(`.${kind} polygon`)
    .getAttribute("points").split(" ")[0].split(",").map(Number));
}"""
READ = """() => Object.fromEntries([...document.querySelectorAll(".sp-table td[data-key]")]
    .map((cell) => [cell.dataset.key, cell.textContent]))"""


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def after(points, turn, whole, across, shift):
    """The map by matrices: stretch across, stretch all, turn, shift."""
    angle = math.radians(turn)
    rotation = tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    stretch = whole * torch.diag(tensor([across, 1.0]))
    return tensor(points) @ (rotation @ stretch).T + tensor([shift, 0.0])


def by_library(points):
    x, y = tensor(points)[:, None]
    values = {key: similarity(x, y, measure=measure).item() for key, measure in ROWS.items()}
    return {**values, "distance": -values["distance"]}


def example():
    return SimilarityPlane(*map(torch.tensor, START))


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/similarity_plane/maths.js")


@pytest.fixture
def open_figure(open_figures):
    """Opens one figure, or those given."""

    def open_page(*figures, **options):
        figures = figures or (SimilarityPlane(*map(torch.tensor, START)),)
        return open_figures(*figures, ready=".sp-table", **options)

    return open_page


def number(text):
    return float(text.replace("−", "-").replace("°", "").replace("×", ""))


def assert_shows(page, points, settings=STILL):
    """Every number of the table is the library's, and what is called the same is the same."""
    read = page.evaluate(READ)
    before, later = by_library(points), by_library(after(points, **settings).tolist())
    for key in ROWS:
        for part, value in ("before", before[key]), ("after", later[key]):
            shown = number(read[f"{key}:{part}"])
            assert abs(shown - value) <= 0.6e-3 * abs(value) + 1e-9, (key, part, shown, value)
        kept = math.isclose(before[key], later[key], rel_tol=1e-9, abs_tol=1e-9)
        assert read[f"{key}:word"] == ("= the same" if kept else "≠ changed")


def handle(page, name):
    return page.get_by_role("slider", name=f"Vector {name}, arrow keys move its tip")


def set_map(page, **settings):
    for key, value in settings.items():
        page.get_by_role("slider", name=re.compile(f"^{LABELS[key]}: ")).fill(str(value))


def where(page, name):
    return tuple(map(number, handle(page, name).get_attribute("aria-valuetext")[1:-1].split(",")))


# The arithmetic


def test_measures_are_the_librarys(maths):
    draw = random.Random(3)
    pairs = [[[draw.uniform(-4, 4) for _ in range(2)] for _ in range(2)] for _ in range(100)]
    pairs += [[[1, 2], [2, 4]], [[1, 2], [-1, -2]], [[1, 0], [0, -3]], [[0, 0], [1, 2]],
              [[0, 0], [0, 0]], [[1e-9, 0], [4, 4]]]  # fmt: skip
    found = maths("return data.map(([x, y]) => maths.measures(x, y));", pairs)
    for points, got in zip(pairs, found, strict=True):
        expected = by_library(points)
        for key in ROWS:
            assert got[key] == pytest.approx(expected[key], rel=1e-9, abs=1e-12)
        if any(map(any, points)) and all(map(any, points)):
            cosine = max(-1.0, min(1.0, expected["cosine"]))
            assert got["degrees"] == pytest.approx(math.degrees(math.acos(cosine)), abs=1e-5)
        else:
            assert got["degrees"] is None


def test_the_map_is_that_of_its_matrices(maths):
    draw = random.Random(4)
    cases = [
        (
            [draw.uniform(-4, 4), draw.uniform(-4, 4)],
            {
                "turn": draw.uniform(-180, 180),
                "whole": draw.uniform(0.25, 3),
                "across": draw.uniform(0.25, 3),
                "shift": draw.uniform(-3, 3),
            },
        )
        for _ in range(100)
    ]
    found = maths("return data.map(([point, map]) => maths.mapped(point, map));", cases)
    for (point, settings), got in zip(cases, found, strict=True):
        assert got == pytest.approx(after([point], **settings)[0].tolist(), abs=1e-12)


def test_values_are_the_same_up_to_rounding_only(maths):
    cases = [[1, 1 + 1e-12], [0, 1e-12], [1e6, 1e6 + 1e-5], [1, 1.0001], [0, 1e-3], [1, -1]]
    found = maths("return data.map(([a, b]) => maths.same(a, b));", cases)
    assert found == [True, True, True, False, False, False]


# The page


def test_it_starts_as_python_asks(open_figure):
    page = open_figure()
    assert (where(page, "x"), where(page, "y")) == START
    assert_shows(page, START)
    angle = math.degrees(math.acos(by_library(START)["cosine"]))
    said = page.locator(".sl-live").inner_text()
    assert said == f"The angle between x and y is {angle:.2f}°."
    assert page.evaluate(TIPS, 1) == page.evaluate(TIPS, 0)


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"turn": 75}, "cosine, dot product and distance"),
        ({"whole": 2.5}, "cosine"),
        ({"shift": -1.5}, "distance"),
        ({"across": 0.5}, "none of the three"),
        ({"turn": -90, "across": 3}, "none of the three"),
        ({"turn": 180, "shift": 2}, "distance"),
        ({"whole": 3, "across": 3, "turn": 45, "shift": 3}, "none of the three"),
    ],
)
def test_which_measure_survives_which_map(open_figure, settings, kept):
    page = open_figure()
    set_map(page, **{**STILL, **settings})
    assert_shows(page, START, {**STILL, **settings})
    assert f"The map leaves unchanged: {kept}." in page.locator(".sl-live").inner_text()
    page.get_by_role("button", name="Reset the map").click()
    assert_shows(page, START, STILL)
    assert "The map" not in page.locator(".sl-live").inner_text()
    assert page.get_by_role("slider", name="Turn: 0°").input_value() == "0"


def test_a_tip_can_be_dragged(open_figure):
    page = open_figure()
    plane = page.locator("svg.sp-plane").first.bounding_box()
    dot = handle(page, "y").locator(".sp-dot").bounding_box()
    page.mouse.move(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
    page.mouse.down()
    at = (
        plane["x"] + plane["width"] * (1 - 3 / 6) / 2,
        plane["y"] + plane["height"] * (1 + 1 / 6) / 2,
    )
    page.mouse.move(*at, steps=4)
    assert where(page, "y") == pytest.approx((-3, -1), abs=0.051)
    page.mouse.up()
    points = (START[0], where(page, "y"))
    assert_shows(page, points)
    page.mouse.move(plane["x"] + 5, plane["y"] + 5)
    assert where(page, "y") == points[1]  # let go


def test_a_finger_drags_a_tip_on_a_phone(open_figure):
    page = open_figure(width=390, has_touch=True, is_mobile=True)
    start = where(page, "y")
    drag_by_finger(page, handle(page, "y").locator(".sp-dot"), -40, 30)
    assert where(page, "y")[0] < start[0] - 0.5
    assert where(page, "y")[1] < start[1] - 0.5
    assert_shows(page, (START[0], where(page, "y")))


def test_a_tip_stays_in_the_plane(open_figure):
    page = open_figure()
    dot = handle(page, "x").locator(".sp-dot").bounding_box()
    page.mouse.move(dot["x"] + 3, dot["y"] + 3)
    page.mouse.down()
    page.mouse.move(1270, 5, steps=3)
    assert where(page, "x") == (6, 6)
    page.mouse.up()
    assert_shows(page, ((6.0, 6.0), START[1]))


def test_arrow_keys_move_a_tip(open_figure):
    page = open_figure()
    handle(page, "x").focus()
    for key in ("ArrowLeft", "ArrowUp", "ArrowUp", "Shift+ArrowRight", "Shift+ArrowDown"):
        page.keyboard.press(key)
    assert where(page, "x") == pytest.approx((2.4, 0.7))
    assert_shows(page, ((2.4, 0.7), START[1]))
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert where(page, "y") == pytest.approx((0.5, 2.4))


@pytest.mark.parametrize(
    ("button", "points", "said"),
    [
        ("One direction", ((1, 0.5), (3, 1.5)), "is 0°"),
        ("Right angle", ((2, 1), (-1.5, 3)), "is 90°"),
        ("Opposite", ((2, 1), (-2, -1)), "is 180°"),
        ("A zero vector", ((2, 1), (0, 0)), "0 by the library’s rule"),
    ],
)
def test_examples(open_figure, button, points, said):
    page = open_figure()
    page.get_by_role("button", name=button).click()
    assert_shows(page, points)
    assert said in page.locator(".sl-live").inner_text()
    page.get_by_role("button", name="Start").click()
    assert_shows(page, START)


def test_the_axes_stay_as_they_are(open_figure):
    """What is stretched twofold is drawn twice as long; what leaves the picture is named."""
    page = open_figure()
    middle = torch.tensor([130.0, 130.0])
    before = torch.tensor(page.evaluate(TIPS, 1)) - middle
    set_map(page, whole=2)
    after = torch.tensor(page.evaluate(TIPS, 1)) - middle
    torch.testing.assert_close(after, 2 * before)
    assert page.locator("svg.sp-plane .sp-tick").all_text_contents() == ["6", "6"]
    assert "outside" not in page.locator(".sl-live").inner_text()
    set_map(page, turn=0, whole=3, across=1, shift=0)
    assert_shows(page, START, {**STILL, "whole": 3})
    assert "The tip of y lies outside the picture." in page.locator(".sl-live").inner_text()
    assert page.locator("svg.sp-plane .sp-tick").all_text_contents() == ["6", "6"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": torch.tensor([4.1, 0.0])}, r"x must hold numbers from -4 to 4; got largest=4\.0999"),
        ({"y": torch.tensor([math.nan, 0.0])}, "y must hold numbers from -4 to 4; got largest=nan"),
        ({"names": ["x"]}, "names must be 2 words"),
        ({"names": ["x", " "]}, "names must be 2 words"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        SimilarityPlane(**{"x": torch.ones(2), "y": torch.ones(2), **options})


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.ones(3), r"x must have 2 numbers; got x=\(3,\)"),
        (torch.ones(2, dtype=torch.long), "x must hold floating-point numbers"),
    ],
)
def test_vectors_have_two_numbers(x, message):
    with pytest.raises(ValueError, match=message):
        SimilarityPlane(x, torch.ones(2))
