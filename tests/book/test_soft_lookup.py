"""The soft lookup of the front page, dragged in Chromium as a visitor would: all of it is ours."""

import math
import random
import re

import pytest
import torch
from conftest import drag_by_finger

from softlookup.attention import attention, attention_scores, hard_lookup, soft_lookup
from softlookup.ops import softmax
from softlookup.show import SoftLookup

WORDS, VALUES = ("cat", "dog", "car"), (9.0, 7.0, 0.0)
QUERY, KEYS = (3.0, 1.0), ((1.0, 0.0), (0.4, 0.5), (0.0, 0.8))
X, Y = (-1, 4), (-1, 2.5)
READ = """(figure) => ({
  scores: [...figure.querySelectorAll("tbody td:nth-child(2)")].map((cell) => cell.textContent),
  weights: [...figure.querySelectorAll(".so-weight")].map((cell) => cell.textContent),
  bars: [...figure.querySelectorAll(".so-fill")].map((bar) => parseFloat(bar.style.width) / 100),
  lines: [...figure.querySelectorAll(".so-line")].map((one) => parseFloat(one.style.strokeWidth)),
  ends: [...figure.querySelectorAll(".so-line")].map((one) =>
    ["x1", "y1", "x2", "y2"].map((key) => Number(one.getAttribute(key)))),
  discs: [...figure.querySelectorAll(".so-disc")].map((one) => Number(one.getAttribute("r"))),
  pivot: Number(figure.querySelector(".so-pivot").getAttribute("points").split(",")[0]),
  answers: [figure.querySelector(".so-answer"), figure.querySelector(".so-asks .so-value"),
    figure.querySelector(".so-sum b")].map((one) => one.textContent),
  live: figure.querySelector(".so-live").textContent,
})"""


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def by_library(query, keys, values, temperature):
    """Scores, weights and answer; at the two ends of the slider, those of the limits."""
    query, keys, values = tensor([query]), tensor(keys), tensor(values)[:, None]
    scores = attention_scores(query, keys, scale=False)[0]
    eye = torch.eye(len(values), dtype=torch.float64)
    if temperature == 0:
        weights, answer = hard_lookup(query, keys, eye)[0], hard_lookup(query, keys, values)
    elif math.isinf(temperature):
        weights, answer = eye.mean(dim=0), values.mean()
    else:
        weights = softmax(scores, temperature=temperature)
        answer = soft_lookup(query, keys, values, temperature=temperature)
    return scores.tolist(), weights.tolist(), answer.item()


def temperature(place):
    return math.inf if place == 100 else place / (100 - place)


def example():
    return SoftLookup()


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/soft_lookup/maths.js")


@pytest.fixture
def open_figure(open_figures):
    """Opens the figure of the front page, or those given."""

    def open_page(*figures, **options):
        return open_figures(*(figures or (SoftLookup(),)), ready=".so-table", **options)

    return open_page


def number(text):
    return float(text.replace("−", "-"))


def assert_shows(page, query=QUERY, keys=KEYS, place=50, nth=0):
    """Table, bars, lines, beam and sentence say what the library says."""
    read = page.locator(".sl-body").nth(nth).evaluate(READ)
    scores, weights, answer = by_library(query, keys, VALUES, temperature(place))
    assert [number(text) for text in read["scores"]] == pytest.approx(scores, abs=0.0051)
    assert [number(text) for text in read["weights"]] == pytest.approx(weights, abs=0.0051)
    assert read["bars"] == pytest.approx(weights, abs=1e-5)
    assert read["lines"] == pytest.approx([1 + 15 * weight for weight in weights], abs=1e-4)
    areas = [(radius / 30) ** 2 for radius in read["discs"]]
    assert areas == pytest.approx(weights, abs=1e-9)
    assert read["pivot"] == pytest.approx(40 + 42 * answer, abs=1e-6)
    assert {number(text) for text in read["answers"]} == {round(answer, 1)}
    start = [100 * (query[0] - X[0]), 100 * (Y[1] - query[1])]
    ends = [[*start, 100 * (a - X[0]), 100 * (Y[1] - b)] for a, b in keys]
    assert read["ends"] == [pytest.approx(end) for end in ends]
    assert read["live"].endswith(f"softness {round(answer, 1):g}.")
    return read["live"]


def handle(page, name, nth=0):
    return page.get_by_role("slider", name=f"{name}, arrow keys move it").nth(nth)


def where(page, name, nth=0):
    text = handle(page, name, nth).get_attribute("aria-valuetext")
    return tuple(number(part) for part in re.fullmatch(r"fur (\S+), motion (\S+)", text).groups())


def grab(page, name):
    box = handle(page, name).locator(".so-dot").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()


def move(page, point):
    box = page.locator(".so-plane").bounding_box()
    across = (point[0] - X[0]) / (X[1] - X[0])
    down = (Y[1] - point[1]) / (Y[1] - Y[0])
    page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"], steps=3)


# The arithmetic


def test_scores_weights_and_answer_are_the_librarys(maths):
    draw = random.Random(10)
    cases = []
    for place in [0, 1, 2, 13, 37, 50, 71, 99, 100] * 20:
        n = draw.choice([1, 2, 3, 5])
        keys = [[draw.uniform(-4, 4) for _ in range(2)] for _ in range(n)]
        query = [draw.uniform(-4, 4), draw.uniform(-4, 4)]
        cases.append((query, keys, [draw.uniform(0, 10) for _ in range(n)], place))
    cases += [([0, 0], [[1, 0], [0, 1]], [7, 9], place) for place in (0, 50, 100)]  # a tie
    cases += [([300, 0], [[4, 0], [-4, 0]], [7, 9], place) for place in (0, 1, 50, 100)]
    found = maths(
        """return data.map(([query, keys, values, place]) =>
             maths.lookup(query, keys, values, maths.temperatureOf(place / 100)));""",
        cases,
    )
    for (query, keys, values, place), got in zip(cases, found, strict=True):
        scores, weights, answer = by_library(query, keys, values, temperature(place))
        assert got["scores"] == pytest.approx(scores, rel=1e-12, abs=1e-12)
        assert got["weights"] == pytest.approx(weights, rel=1e-9, abs=1e-12)
        assert got["answer"] == pytest.approx(answer, rel=1e-9, abs=1e-12)


def test_at_temperature_1_it_is_attention(maths):
    """Attention divides the scores by the root of 2; a query that much longer makes up for it."""
    got = maths("return maths.lookup(...data, 1).answer;", [QUERY, KEYS, VALUES])
    longer = math.sqrt(2) * tensor([QUERY])
    expected = attention(longer, tensor(KEYS), tensor(VALUES)[:, None]).item()
    assert got == pytest.approx(expected, rel=1e-12)
    assert round(got, 4) == 7.8851


def test_the_ends_of_the_slider_are_the_limits(maths):
    hard, soft = maths(
        "return [0, 1].map((place) => maths.lookup(...data, maths.temperatureOf(place)).weights);",
        [QUERY, KEYS, VALUES],
    )
    assert hard == [1, 0, 0]
    assert soft == [1 / 3] * 3
    near = [softmax(tensor([3.0, 1.7, 0.8]), temperature=tau).tolist() for tau in (1e-3, 1e6)]
    assert near[0] == pytest.approx(hard, abs=1e-9)
    assert near[1] == pytest.approx(soft, abs=1e-5)


# The page


def test_it_starts_as_the_front_page_tells(open_figure):
    assert assert_shows(open_figure()) == "kitten is most like cat (0.72): softness 7.9."


def test_a_pencil_that_adds_the_sum_up_gets_the_answer(open_figure):
    page = open_figure()
    slider = page.locator('input[type="range"]')
    for place in range(0, 101, 2):
        slider.fill(str(place))
        parts, answer = page.locator(".so-sum").inner_text().split(" = ")
        added = sum(math.prod(map(float, part.split(" × "))) for part in parts.split(" + "))
        assert abs(added - float(answer)) < 0.05, (place, parts)


def test_the_query_can_be_dragged(open_figure):
    page = open_figure()
    grab(page, "kitten")
    move(page, (-0.5, 2.1))
    query = where(page, "kitten")
    assert query == pytest.approx((-0.5, 2.1), abs=0.02)
    assert_shows(page, query)
    assert "most like car" in page.locator(".so-live").inner_text()
    page.mouse.move(5, 5)
    assert where(page, "kitten") == (X[0], Y[1])  # held at the corner
    page.mouse.up()
    move(page, (1, 1))
    assert where(page, "kitten") == (X[0], Y[1])  # let go
    page.get_by_role("button", name="Start again").click()
    assert_shows(page)


def test_a_key_can_be_dragged(open_figure):
    page = open_figure()
    grab(page, "car")
    move(page, (2, 1))
    keys = (*KEYS[:2], where(page, "car"))
    assert keys[2] == pytest.approx((2, 1), abs=0.02)
    assert_shows(page, QUERY, keys)
    assert where(page, "kitten") == QUERY


def test_the_nearer_of_two_is_taken(open_figure):
    """A key that lies on the query's edge does not catch what is meant for the query."""
    page = open_figure(SoftLookup(tensor([1.1, 0.0])))
    grab(page, "kitten")
    move(page, (3, 2))
    assert where(page, "kitten") == pytest.approx((3, 2), abs=0.02)
    assert where(page, "cat") == KEYS[0]


def test_a_finger_drags_the_query_on_a_phone(open_figure):
    page = open_figure(width=390, has_touch=True, is_mobile=True)
    drag_by_finger(page, handle(page, "kitten").locator(".so-dot"), -120, -60)
    unit = page.locator(".so-plane").bounding_box()["width"] / (X[1] - X[0])
    query = where(page, "kitten")
    assert query == pytest.approx((3 - 120 / unit, 1 + 60 / unit), abs=0.03)
    assert_shows(page, query)


def test_arrow_keys_move_query_and_keys(open_figure):
    page = open_figure()
    handle(page, "kitten").focus()
    for key in ("ArrowLeft", "ArrowUp", "ArrowUp", "Shift+ArrowLeft", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    assert where(page, "kitten") == (2.5, 1.1)
    assert_shows(page, (2.5, 1.1))
    for key in ("Control", "Alt", "Meta"):
        page.keyboard.press(f"{key}+ArrowUp")  # the browser's own
    assert where(page, "kitten") == (2.5, 1.1)
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+ArrowDown")
    assert where(page, "cat") == (1, -0.5)
    assert_shows(page, (2.5, 1.1), ((1, -0.5), *KEYS[1:]))


@pytest.mark.parametrize(
    ("button", "place", "said"),
    [
        ("Hard: one key", 0, "kitten takes all of cat, nothing else: softness 9."),
        ("All alike", 100, "kitten takes from cat, dog and car alike (0.33 each): softness 5.3."),
        ("Softmax", 50, "kitten is most like cat (0.72): softness 7.9."),
    ],
)
def test_from_hard_to_soft(open_figure, button, place, said):
    page = open_figure()
    page.locator(".sl-slider").fill("30")
    assert_shows(page, place=30)
    page.get_by_role("button", name=button).click()
    assert assert_shows(page, place=place) == said
    assert page.locator(".sl-slider").input_value() == str(place)
    pressed = page.locator('.sl-button[aria-pressed="true"]')
    assert pressed.all_inner_texts() == [button]


def test_a_hard_lookup_jumps_and_a_soft_one_does_not(open_figure):
    page = open_figure(SoftLookup(tensor([1.0, 1.2])))  # cat 1, dog 1, car 0.96
    for place, most in (0, 2.0), (50, 0.4):
        page.locator(".sl-slider").fill(str(place))
        said = [assert_shows(page, (1.0, 1.2), place=place)]
        handle(page, "kitten").focus()
        page.keyboard.press("ArrowUp")
        said.append(assert_shows(page, (1.0, 1.3), place=place))
        page.keyboard.press("ArrowDown")
        one, other = (float(text.split("softness ")[1].rstrip(".")) for text in said)
        assert (abs(one - other) < most) == (place == 50), said


def test_two_best_keys_are_both_told(open_figure):
    page = open_figure(SoftLookup(keys=tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 0.8]])))
    said = page.locator(".so-live").inner_text()
    weights = by_library(QUERY, [[1, 0], [1, 0], [0, 0.8]], VALUES, 1)[1]
    assert said.startswith(f"kitten is most like cat and dog ({weights[0]:.2f} each): ")


def test_the_shade_is_the_answer_at_each_place(open_figure):
    page = open_figure()
    shade = """(node, [column, row]) =>
        node.getContext("2d").getImageData(column, row, 1, 1).data[3]"""
    for place in (0, 50, 100):
        page.locator(".sl-slider").fill(str(place))
        for column, row in ((0, 0), (240, 80), (249, 174), (60, 140), (20, 60)):
            query = (X[0] + (column + 0.5) / 50, Y[1] - (row + 0.5) / 50)
            answer = by_library(query, KEYS, VALUES, temperature(place))[2]
            found = page.locator(".so-shade").evaluate(shade, [column, row])
            assert found == pytest.approx(255 * (0.03 + 0.042 * answer), abs=1), (place, query)
    before = page.locator(".so-shade").evaluate(shade, [60, 140])
    page.locator(".sl-slider").fill("50")
    handle(page, "car").focus()
    page.keyboard.press("Shift+ArrowDown")  # a key moves, so must the shade
    query = (X[0] + 60.5 / 50, Y[1] - 140.5 / 50)
    answer = by_library(query, (*KEYS[:2], (0.0, 0.3)), VALUES, 1)[2]
    found = page.locator(".so-shade").evaluate(shade, [60, 140])
    assert found == pytest.approx(255 * (0.03 + 0.042 * answer), abs=1) != before


@pytest.mark.parametrize("corner", [(X[0], Y[0]), (X[0], Y[1]), (X[1], Y[0]), (X[1], Y[1])])
def test_no_word_leaves_the_picture(open_figure, corner):
    page = open_figure(SoftLookup(tensor(corner), tensor([corner, (0.4, 0.5), (1.5, Y[0])])))
    outside = page.evaluate(
        """() => { const box = document.querySelector(".so-plane").getBoundingClientRect();
             return [...document.querySelectorAll(".so-word")]
               .map((one) => one.getBoundingClientRect())
               .filter((one) => one.left < box.left || one.right > box.right
                 || one.top < box.top || one.bottom > box.bottom).length; }"""
    )
    assert outside == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query": tensor([4.1, 0.0])}, "query must have number 0 from -1 to 4"),
        ({"query": tensor([0.0, math.nan])}, "query must have number 1 from -1 to 2.5"),
        ({"keys": tensor([[0, 0], [0, 0], [0, 2.6]])}, "keys must have number 1 .*got"),
        ({"values": tensor([0, 5, 10.5])}, r"values must be from 0 to 10; got .*largest=10\.5"),
        ({"values": tensor([0, 5, -0.5])}, "values must be from 0 to 10"),
        ({"words": ["cat", " ", "car"]}, "words must be 1 to 5 words"),
        ({"words": "cat"}, "words must be 1 to 5 words"),
        ({"words": ["cat"]}, "keys must have 2 numbers per word"),
        ({"values": tensor([9.0, 7.0])}, "values must have 1 number per word"),
        ({"reader": ""}, "reader must be a word"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        SoftLookup(**options)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("query", "message"),
    [
        (torch.ones(3), r"query must have 2 numbers; got query=\(3,\)"),
        (torch.ones(2, dtype=torch.long), "query must hold floating-point numbers"),
    ],
)
def test_a_query_is_two_numbers(query, message):
    with pytest.raises(ValueError, match=message):
        SoftLookup(query)
