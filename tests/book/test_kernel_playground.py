"""The kernel playground in Chromium: its weights, prediction and curve are the library's."""

import functools
import math
import random
import re

import pytest
import torch
from conftest import drag_by_finger

from softlookup.attention import (
    bilinear_scores,
    cosine_scores,
    gaussian_scores,
    laplace_scores,
    lookup_weights,
    nadaraya_watson,
)
from softlookup.show import KernelPlayground

THREE = [(1.36, 1.79), (3.40, -1.77), (6.05, -2.17)]
IDENTITY = [[1.0, 0.0], [0.0, 1.0]]
KERNELS = {
    "laplace": "Laplace",
    "gaussian": "Gaussian",
    "printed": "Gaussian, sign as printed",
    "cosine": "cosine",
    "bilinear": "bilinear",
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
ROWS = """() => [...document.querySelectorAll(".kp-table tbody tr")]
    .map((row) => [...row.children].map((cell) => cell.textContent))"""
POINTS = """() => [...document.querySelectorAll(".kp-point")]
    .map((one) => one.getAttribute("aria-valuetext"))"""
CURVE = """() => document.querySelector(".kp-curve").getAttribute("points").split(" ")
    .map((pair) => pair.split(",").map(Number))"""


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def features(x):
    return torch.cat((torch.ones_like(x), x), dim=-1)


def scoring(kernel, width, W):
    """The library's scoring function of a kernel, for columns of numbers."""
    return {
        "laplace": functools.partial(laplace_scores, bandwidth=width),
        "gaussian": functools.partial(gaussian_scores, bandwidth=width),
        "printed": lambda q, x: -2 * gaussian_scores(q, x, bandwidth=width),
        "cosine": lambda q, x: cosine_scores(features(q), features(x)) / width,
        "bilinear": lambda q, x: bilinear_scores(features(q), features(x), tensor(W)) / width,
    }[kernel]


def by_library(kernel, query, points, width=1.0, W=IDENTITY):
    """Scores, weights and the prediction at one query."""
    x, y = tensor([p[0] for p in points])[:, None], tensor([p[1] for p in points])
    scores = scoring(kernel, width, W)
    at = tensor([[query]])
    found = scores(at, x)
    prediction = nadaraya_watson(at, x, y, scores).item()
    return found[0].tolist(), lookup_weights(found)[0].tolist(), prediction


def example():
    return KernelPlayground()


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/kernel_playground/maths.js")


@pytest.fixture
def open_figure(open_figures):
    """Opens one figure, or those given."""

    def open_page(*figures, **options):
        return open_figures(*(figures or (KernelPlayground(),)), ready=".kp-table", **options)

    return open_page


def number(text):
    return float(text.replace("−", "-"))


def points_of(page):
    """The points where they stand now, as a screen reader hears them."""
    found = [re.fullmatch(r"x (.+), y (.+)", text).groups() for text in page.evaluate(POINTS)]
    return [tuple(map(number, pair)) for pair in found]


def query(page):
    return page.get_by_role("slider", name="Query q, arrow keys move it")


def query_of(page):
    return number(query(page).get_attribute("aria-valuetext"))


def point(page, n):
    return page.get_by_role("slider", name=re.compile(rf"^Point {n}, arrow keys move it"))


def assert_shows(page, kernel="laplace", width=1.0, W=IDENTITY):
    """Every number of the table, the sentence and the curve are the library's."""
    points, at = points_of(page), query_of(page)
    scores, weights, prediction = by_library(kernel, at, points, width, W)
    *rows, total = page.evaluate(ROWS)
    order = list(range(len(points)))
    if len(points) > 6:
        order = sorted(order, key=lambda i: -weights[i])[:3]
        others = rows.pop()
        assert others[0] == f"{len(points) - 3} others"
        rest = [i for i in range(len(points)) if i not in order]
        assert number(others[3]) == pytest.approx(sum(weights[i] for i in rest), abs=6e-5)
        assert number(others[4]) == pytest.approx(
            sum(weights[i] * points[i][1] for i in rest), abs=6e-5
        )
    for row, i in zip(rows, order, strict=True):
        expected = [*points[i], scores[i], weights[i], weights[i] * points[i][1]]
        for text, value, digits in zip(row, expected, (2, 2, 3, 4, 4), strict=True):
            assert number(text) == pytest.approx(value, abs=0.6 * 10**-digits)
    assert [total[0], total[3]] == ["together", "1.0000"]
    assert number(total[4]) == pytest.approx(prediction, abs=6e-5)
    said = page.locator(".kp-live").inner_text()
    assert f"prediction is {total[4]}. The point at x = " in said
    assert said.endswith(f" gets the most weight, {max(weights):.4f}.")
    assert_draws(page, points, weights, prediction, functools.partial(by_library, kernel))


def assert_draws(page, points, weights, prediction, library):
    """Bars, dots and the star stand where the numbers say."""
    heights = page.evaluate(
        "() => [...document.querySelectorAll('.kp-bar')].map((one) => +one.getAttribute('height'))"
    )
    radii = page.evaluate(
        "() => [...document.querySelectorAll('.kp-dot')].map((one) => +one.getAttribute('r'))"
    )
    assert len(heights) == len(radii) == len(points)
    shares = [height / sum(heights) for height in heights]
    assert shares == pytest.approx(weights, abs=1e-6)
    if len(points) <= 6:  # one scale for every query: a bar of 60 is a weight of 1
        assert heights == pytest.approx([60 * weight for weight in weights], abs=1e-6)
    assert radii == pytest.approx([3 + 5 * math.sqrt(w) for w in weights], abs=0.006)
    star = page.locator(".kp-star").get_attribute("transform")
    height = float(re.search(r" ([-\d.e]+)\)", star).group(1))
    assert height == pytest.approx(34 + (4 - prediction) / 8 * 162, abs=1e-6)


def curve_of(page):
    """The curve as (query, prediction), read off the drawing."""
    return [((x - 26) / 282 * 8, 4 - (y - 34) / 162 * 8) for x, y in page.evaluate(CURVE)]


# The arithmetic


@every_kernel
def test_scores_weights_and_prediction_are_the_librarys(maths, kernel):
    draw = random.Random(5)
    cases = []
    for _ in range(60):
        points = [(draw.uniform(0, 8), draw.uniform(-4, 4)) for _ in range(draw.randint(1, 30))]
        W = [[draw.uniform(-5, 5) for _ in range(2)] for _ in range(2)]
        cases.append((draw.uniform(0, 8), points, 10 ** draw.uniform(-1.3, 1.3), W))
    cases += [(3.0, [(3.0, 1.0)], 0.05, IDENTITY), (0.0, [(0.0, 2.0), (8.0, -2.0)], 0.05, IDENTITY)]
    found = maths(
        """return data.cases.map(([query, points, width, W]) => maths.smooth(data.kernel, query,
             points.map((p) => p[0]), points.map((p) => p[1]), width, W));""",
        {"kernel": kernel, "cases": cases},
    )
    for case, got in zip(cases, found, strict=True):
        scores, weights, prediction = by_library(kernel, *case)
        assert got["scores"] == pytest.approx(scores, rel=1e-9, abs=1e-9)
        assert got["weights"] == pytest.approx(weights, rel=1e-7, abs=1e-12)
        assert got["prediction"] == pytest.approx(prediction, rel=1e-7, abs=1e-9)


@every_kernel
def test_the_curve_is_the_librarys_prediction_everywhere(maths, kernel):
    found = maths(
        """return maths.curve(data.kernel, 0, 8, 16, data.points.map((p) => p[0]),
             data.points.map((p) => p[1]), 0.3, [[1, 0], [0, 1]]);""",
        {"kernel": kernel, "points": THREE},
    )
    assert [x for x, _ in found] == pytest.approx([i / 2 for i in range(17)])
    for at, prediction in found:
        assert prediction == pytest.approx(by_library(kernel, at, THREE, 0.3)[2], abs=1e-9)


# The page


def test_it_starts_with_the_lectures_numbers(open_figure):
    page = open_figure()
    assert points_of(page) == THREE
    assert query_of(page) == 4.25
    assert page.evaluate(ROWS) == [
        ["1.36", "1.79", "−2.890", "0.0857", "0.1535"],
        ["3.40", "−1.77", "−0.850", "0.6593", "−1.1670"],
        ["6.05", "−2.17", "−1.800", "0.2550", "−0.5533"],
        ["together", "", "", "1.0000", "−1.5668"],
    ]
    assert page.locator(".kp-live").inner_text() == (
        "At q = 4.25 the prediction is −1.5668. The point at x = 3.4, the nearest, gets the most "
        "weight, 0.6593."
    )
    assert page.locator(".kp-weight").all_text_contents() == ["0.66", "0.25", "0.09"]
    assert_shows(page)


@every_kernel
def test_each_kernel_shows_its_weights_and_its_curve(open_figure, kernel):
    page = open_figure()
    page.get_by_role("radio", name=KERNELS[kernel], exact=True).check()
    assert_shows(page, kernel)
    drawn = curve_of(page)
    assert len(drawn) == 161
    for at, prediction in drawn[::8]:
        assert prediction == pytest.approx(by_library(kernel, at, THREE)[2], abs=1e-3)
    sign = {"printed": "grows with the distance", "cosine": "only two directions",
            "bilinear": "read as the vector (1, x)"}.get(kernel, "score = −")  # fmt: skip
    assert sign in page.locator(".kp-formula").inner_text()
    assert page.locator(".kp-matrix").is_visible() == (kernel == "bilinear")


def test_the_printed_sign_makes_the_farthest_win(open_figure):
    page = open_figure()
    page.get_by_role("radio", name="Gaussian, sign as printed").check()
    said = page.locator(".kp-live").inner_text()
    assert "The point at x = 1.36, the farthest, gets the most weight" in said
    page.get_by_role("radio", name="Gaussian", exact=True).check()
    assert "The point at x = 3.4, the nearest, gets" in page.locator(".kp-live").inner_text()


@pytest.mark.parametrize("exponent", [-1.3, -0.5, 0.48, 1.3])
def test_the_bandwidth_slider(open_figure, exponent):
    page = open_figure()
    slider = page.get_by_role("slider", name=re.compile("^Bandwidth b: "))
    slider.fill(str(exponent))
    width = float(f"{10**exponent:.3g}")
    assert number(slider.get_attribute("aria-valuetext")) == width
    assert page.locator(".sl-number").first.inner_text() == f"Bandwidth b: {width:g}"
    assert_shows(page, width=width)
    page.get_by_role("radio", name="cosine").check()
    assert page.get_by_role("slider", name="Temperature τ: 1", exact=True).count() == 1
    page.get_by_role("slider", name=re.compile("^Temperature τ: ")).fill(str(exponent))
    assert page.get_by_role("slider", name=f"Temperature τ: {width:g}", exact=True).count() == 1
    assert_shows(page, "cosine", width=width)


def test_the_chapters_experiments_hold_in_their_order_and_in_any_other(open_figure):
    page = open_figure()

    def choose(kernel):
        page.get_by_role("radio", name=KERNELS[kernel], exact=True).check()
        assert_shows(page, kernel)
        return [prediction for _, prediction in curve_of(page)]

    def widen(exponent):
        page.locator(".kp-field input").fill(str(exponent))
        return [prediction for _, prediction in curve_of(page)]

    for last in 1.3, -1.3:  # what the experiment before has left
        choose("gaussian")
        flat = widen(1.3)
        assert max(flat) - min(flat) < 0.1
        stairs = widen(-1.3)
        assert [stairs[0], stairs[-1]] == pytest.approx([1.79, -2.17], abs=0.001)
        widen(last)
        assert choose("printed")[0] == pytest.approx(-2.17, abs=0.001)
        widen(last)
        cosine = choose("cosine")
        assert max(cosine[20:]) - min(cosine[20:]) < 0.3  # from q = 1 on
        cold = widen(-1.3)
        assert max(cold) - min(cold) > 2


def test_a_kernel_begins_with_the_width_that_python_set(open_figure):
    page = open_figure(KernelPlayground(bandwidth=0.5))
    page.locator(".kp-field input").fill("1")
    page.get_by_role("radio", name="cosine").check()
    assert_shows(page, "cosine", width=0.5)
    page.get_by_role("radio", name="bilinear").check()
    page.get_by_label("W, row 1, column 2").fill("2")
    page.get_by_role("radio", name="cosine").check()
    page.get_by_role("radio", name="bilinear").check()
    assert_shows(page, "bilinear", width=0.5, W=[[1.0, 2.0], [0.0, 1.0]])


def test_the_matrix_of_the_bilinear_score(open_figure):
    page = open_figure()
    page.get_by_role("radio", name="bilinear").check()
    W = [[1.0, -0.5], [0.25, -2.0]]
    for r in range(2):
        for c in range(2):
            page.get_by_label(f"W, row {r + 1}, column {c + 1}").fill(str(W[r][c]))
    assert_shows(page, "bilinear", W=W)
    entry = page.get_by_label("W, row 2, column 2")
    for wrong in "7", "":
        entry.fill(wrong)
        assert entry.get_attribute("aria-invalid") == "true"
        assert_shows(page, "bilinear", W=W)
    for wrong, nearest in (
        ("99", 5),
        ("-7", -5),
        ("", 0),
    ):  # what stays in the field is what is drawn
        entry.fill(wrong)
        entry.blur()
        assert entry.input_value() == str(nearest)
        assert_shows(page, "bilinear", W=[W[0], [W[1][0], nearest]])
    page.get_by_role("button", name="Start again").click()
    assert entry.input_value() == "1"
    assert entry.get_attribute("aria-invalid") is None
    assert_shows(page, "bilinear")


def drag(page, what, to):
    """Drag a handle by the mouse to a place of the plane."""
    box = page.locator("svg.kp-plot").first.bounding_box()
    scale = box["width"] / 320
    held = what.locator(".sl-reach").bounding_box()
    page.mouse.move(held["x"] + held["width"] / 2, held["y"] + held["height"] / 2)
    page.mouse.down()
    x, y = 26 + to[0] / 8 * 282, 34 + (4 - to[1]) / 8 * 162
    page.mouse.move(box["x"] + scale * x, box["y"] + scale * y, steps=4)
    page.mouse.up()


def test_points_and_query_can_be_dragged(open_figure):
    page = open_figure()
    drag(page, point(page, 2), (5.0, 3.0))
    assert points_of(page)[1] == pytest.approx((5.0, 3.0), abs=0.03)
    drag(page, query(page), (2.0, -1.0))
    assert query_of(page) == pytest.approx(2.0, abs=0.03)
    assert_shows(page)
    before, box = query_of(page), query(page).locator(".sl-reach").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 2)
    page.mouse.move(300, 300, steps=3)
    assert query_of(page) == before  # it was let go


def test_what_is_dragged_stays_inside(open_figure):
    page = open_figure()
    drag(page, point(page, 1), (-9.0, 9.0))
    drag(page, query(page), (99.0, 0.0))
    assert points_of(page)[0] == (0, 4)
    assert query_of(page) == 8
    assert_shows(page)


def test_a_finger_drags_too(open_figure):
    page = open_figure(width=390, has_touch=True, is_mobile=True)
    start = points_of(page)[2]
    drag_by_finger(page, point(page, 3).locator(".sl-reach"), -60, -40)
    moved = points_of(page)[2]
    assert moved[0] < start[0] - 1
    assert moved[1] > start[1] + 1
    assert_shows(page)


def test_arrow_keys_move_points_and_query(open_figure):
    page = open_figure()
    point(page, 1).focus()
    for key in "ArrowRight", "ArrowUp", "ArrowUp", "Shift+ArrowRight", "Shift+ArrowDown":
        page.keyboard.press(key)
    assert points_of(page)[0] == pytest.approx((1.91, 1.39))
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert query_of(page) == pytest.approx(3.8)
    assert points_of(page)[1:] == THREE[1:]
    assert_shows(page)


def test_many_noisy_points(open_figure):
    page = open_figure()
    page.get_by_role("button", name="24 noisy points").click()
    points = points_of(page)
    assert len(points) == len(set(points)) == 24
    assert_shows(page)
    for kernel, name in KERNELS.items():
        page.get_by_role("radio", name=name, exact=True).check()
        assert_shows(page, kernel)
    page.get_by_role("button", name="Start again").click()
    assert points_of(page) == THREE


def test_of_many_points_one_is_a_tab_stop_and_page_keys_choose(open_figure):
    page = open_figure()
    page.get_by_role("button", name="24 noisy points").click()
    stops = '.kp-point[tabindex="0"]'
    assert page.locator(stops).count() == 1
    page.locator(stops).focus()
    before = points_of(page)
    for key in "PageUp", "PageUp", "PageDown", "ArrowLeft":
        page.keyboard.press(key)
    after = points_of(page)
    assert after[:23] == before[:23]
    assert after[23][0] == pytest.approx(before[23][0] - 0.05)
    assert page.locator(stops).count() == 1
    assert_shows(page)


def test_python_sets_the_start(open_figure):
    page = open_figure(
        KernelPlayground(
            torch.tensor([2.5, 5.0]), torch.tensor([1.0, -1.5]), query=3.0, bandwidth=0.5
        )
    )
    assert points_of(page) == [(2.5, 1.0), (5.0, -1.5)]
    assert query_of(page) == 3.0
    assert_shows(page, width=0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": torch.tensor([8.1])}, r"x must hold numbers from 0 to 8; got smallest=8\.1"),
        ({"x": torch.tensor([-0.1])}, r"x must hold numbers from 0 to 8; got smallest=-0\.1"),
        ({"x": torch.tensor([math.nan])}, "x must hold numbers from 0 to 8; got smallest=nan"),
        ({"y": torch.tensor([-4.1])}, r"y must hold numbers from -4 to 4; got largest=4\.09"),
        ({"y": torch.tensor([math.nan])}, "y must hold numbers from -4 to 4; got largest=nan"),
        ({"query": 8.5}, "query must be from 0 to 8; got query=8.5"),
        ({"query": math.nan}, "query must be from 0 to 8; got query=nan"),
        ({"bandwidth": 0.01}, "bandwidth must be from 0.05 to 20; got bandwidth=0.01"),
        ({"x": torch.zeros(7), "y": torch.zeros(7)}, r"1 to 6 numbers each; got x=\(7,\)"),
        ({"x": torch.zeros(0), "y": torch.zeros(0)}, r"1 to 6 numbers each; got x=\(0,\)"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        KernelPlayground(**{"x": torch.ones(1), "y": torch.ones(1), **options})


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.ones(2), r"1 to 6 numbers each; got x=\(2,\), y=\(1,\)"),
        (torch.ones(1, 1), r"1 to 6 numbers each; got x=\(1, 1\), y=\(1,\)"),
        (torch.ones(1, dtype=torch.long), "x must hold floating-point numbers"),
    ],
)
def test_points_are_pairs_of_numbers(x, message):
    with pytest.raises(ValueError, match=message):
        KernelPlayground(x, torch.ones(1))
