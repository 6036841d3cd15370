"""The collapse cloud, used in Chromium as a reader would: its numbers are the library's."""

import math
import re
from itertools import combinations, pairwise, product

import pytest
import torch
from torch.testing import assert_close

from softlookup.analysis import ablated_streams, rank_residual, token_cosine
from softlookup.models import EncoderBlock
from softlookup.show import CollapseCloud

WORDS = ["Mina", "lost", "<b>the</b>", "keys", "today"]
NORMS = {"none": "none", "pre": "before (pre)", "post": "after (post)"}
DEPTH = 7
CHOICES = list(product(NORMS, (False, True), (False, True)))  # norm, feed-forward, skip
SMALL = DEPTH**-0.5  # shown as 0.4
READ_DOTS = """() => [...document.querySelectorAll(".cc-token")]
    .map((node) => node.style.transform.match(/-?[\\d.]+/g).map(Number))"""


def numbers(seed, *shape):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def random_blocks(n=DEPTH, seed=3):
    torch.manual_seed(seed)
    blocks = [EncoderBlock(6, 2, 11).double().requires_grad_(False) for _ in range(n)]
    for part in (part for block in blocks for part in block.modules()):
        if isinstance(part, torch.nn.Linear):
            torch.nn.init.normal_(part.weight, std=1.3 / part.in_features**0.5)
    return blocks


BLOCKS, X = random_blocks(), numbers(5, 5, 6)


def streams(norm, feed_forward, skip, size=1.0):
    return ablated_streams(BLOCKS, X, skip=skip, feed_forward=feed_forward, norm=norm, size=size)


def example():
    return CollapseCloud(BLOCKS, X, WORDS)


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/collapse_cloud/maths.js")


@pytest.fixture
def open_figure(open_figures):
    """Opens a cloud of random tokens in a random stack."""

    def open_page(*figures, **options):
        figures = figures or (CollapseCloud(BLOCKS, X, WORDS),)
        return open_figures(*figures, ready=".cc-form", **options)

    return open_page


def choose(page, depth, norm, feed_forward, skip, *, small=False):
    page.locator('input[name="norm"]').locator("..").filter(has_text=NORMS[norm]).first.click()
    page.get_by_role("checkbox", name="feed-forward").set_checked(feed_forward)
    page.get_by_role("checkbox", name="skip").set_checked(skip)
    page.get_by_role("checkbox", name="writes × 0.4").set_checked(small)
    page.get_by_role("slider").fill(str(depth))


def plane(rows):
    """The distances of all tokens in the plane of the two largest deviations, per length."""
    apart = (rows - rows.mean(dim=0)) / rows.square().sum(dim=1).mean().sqrt()
    U, S, _ = torch.linalg.svd(apart)
    return torch.cdist(flat := U[:, :2] * S[:2], flat)


def said(page):
    """Residual and cosine, as the page tells them."""
    found = re.search(r"Rank residual ([^,]+), mean cosine (.+?)\. ", page.inner_text(".cc-live"))
    return [float(text.replace("−", "-")) for text in found.groups()]


# The arithmetic


def test_each_choice_has_its_run(maths):
    data = [{"norm": n, "feedForward": f, "skip": s} for n, f, s in CHOICES]
    assert maths("return data.map(maths.runOf)", data) == list(range(12))
    small = [{**choice, "small": True} for choice in data]
    assert maths("return data.map(maths.runOf)", small) == list(range(12, 24))
    names = maths("return data.map(maths.nameOf)", [0, 1, 2, 3, 4, 7, 11, 12, 23])
    expected = ["attention", "skip", "FFN", "skip, FFN", "pre", "skip, FFN, pre"]
    assert names == [*expected, "skip, FFN, post", "attention", "skip, FFN, post"]


def test_a_logarithmic_axis_with_a_floor(maths):
    values = [1, 1e-4, 0.01, 0, 1e-30, 2]
    falls = maths("return data.map((value) => maths.fallOf(value))", values)
    assert falls == pytest.approx([0, 1, 0.5, 1, 1, 0])
    box = {"left": 10, "top": 5, "width": 20, "height": 100}
    points = maths("return maths.curveOf(...data)", [[1, 0.01, 0], box])
    assert [c for point in points for c in point] == pytest.approx([10, 5, 20, 55, 30, 105])


def test_a_linear_axis_from_1_to_0(maths):
    falls = maths("return data.map((value) => maths.fallOf(value, true))", [1, 0.75, 0.1, 0, 2])
    assert falls == pytest.approx([0, 0.25, 0.9, 1, 0])
    box = {"left": 10, "top": 5, "width": 20, "height": 100}
    points = maths("return maths.curveOf(...data, true)", [[1, 0.5], box])
    assert [c for point in points for c in point] == pytest.approx([10, 5, 30, 55])
    names = maths("return maths.namesOf(...data, true)", [[[1, k / 12] for k in range(12)], box])
    assert names[3]["end"] == pytest.approx(5 + 100 * (1 - 8 / 12))


def test_each_line_has_a_name_near_its_end_and_those_at_the_floor_share_one(maths):
    box = {"top": 10, "height": 200}
    ends = [0, 0.5, 1e-9, 0.49, 0, 0.01, 0, 0.48, 1e-5, 0.4, 0, 0.39]
    names = maths("return maths.namesOf(...data)", [[[1, end] for end in ends], box])
    called = {name["words"]: name["runs"] for name in names}
    assert called == {
        **{"skip": [1], "skip, FFN": [3], "skip, FFN, pre": [7], "skip, post": [9]},
        **{"skip, FFN, post": [11], "skip, pre": [5], "without skip": [0, 2, 4, 6, 8, 10]},
    }
    places = [name["at"] for name in names]
    assert all(below - above >= 13 for above, below in pairwise(places))
    assert 10 <= min(places) <= max(places) <= 210
    alone = next(name for name in names if name["words"] == "skip, pre")
    assert alone["at"] == alone["end"] == pytest.approx(10 + 200 * 0.5)
    crowd = maths("return maths.namesOf(...data)", [[[1, 2e-4 + k * 1e-6] for k in range(12)], box])
    places = [name["at"] for name in crowd]
    assert all(below - above >= 13 for above, below in pairwise(places))
    assert max(places) == 210
    mixed = maths("return maths.namesOf(...data)", [[[1, 1e-5]] * 3 + [[1, 0.5]] * 9, box])
    assert mixed[-1]["words"] == "3 choices"
    single = maths("return maths.namesOf(...data)", [[[1, 1e-5]] + [[1, 0.5]] * 11, box])
    assert single[-1]["words"] == "attention"


def test_the_reach_is_the_farthest_point(maths):
    runs = [{"points": [[[0, 1], [3, 4]], [[1, 1]]]}, {"points": [[[-6, 0]]]}]
    assert maths("return maths.reachOf(data)", runs) == 6


def test_what_a_residual_means(maths):
    values = [0, 9e-15, 2e-14, 0.049, 0.051, 1]
    expected = ["one"] * 2 + ["nearly one"] * 2 + ["apart"] * 2
    assert maths("return data.map(maths.stateOf)", values) == expected


def test_words_go_where_there_is_room(maths):
    place = "return maths.placeWords(data.dots, data.widths)"
    alone = maths(place, {"dots": [[0, 0]], "widths": [30]})
    assert alone == [[6, -4]]
    pair = maths(place, {"dots": [[0, 0], [0, 3]], "widths": [30, 30]})
    assert pair[0] != pair[1]
    beside = maths(place, {"dots": [[0, 0], [20, -6]], "widths": [30, 30]})
    assert beside[0] != [6, -4]  # there the other dot is
    crowd = maths(place, {"dots": [[0, 0]] * 20, "widths": [30] * 20})
    placed = [corner is not None for corner in crowd]
    assert 6 <= sum(placed) < 20
    assert placed == sorted(placed, reverse=True)


def test_only_words_that_stand_far_off_have_a_line(maths):
    places = [[6, -4], [0, 16], [20, -20], [0, 32]]
    assert maths("return data.map(maths.isFar)", places) == [False, False, True, True]


def test_where_there_is_a_choice_words_keep_off_the_ring(maths):
    place = "return maths.placeWords(data.dots, data.widths, data.ring)"
    assert maths(place, {"dots": [[60, 0]], "widths": [30], "ring": 0}) == [[6, -4]]
    assert maths(place, {"dots": [[60, 0]], "widths": [30], "ring": 70}) == [[-6, -4]]
    assert maths(place, {"dots": [[60, 0]], "widths": [30], "ring": 40}) == [[6, -4]]


# What the page shows


@pytest.mark.parametrize("norm", NORMS)
def test_every_choice_at_several_depths_is_the_librarys(open_figure, norm):
    page = open_figure(reduced_motion="reduce")
    scale = None
    for feed_forward, skip, small in product((False, True), (False, True), (False, True)):
        expected = streams(norm, feed_forward, skip, SMALL if small else 1.0)
        residual, cosine = rank_residual(expected), token_cosine(expected)
        for depth in (0, 1, 3, DEPTH):
            choose(page, depth, norm, feed_forward, skip, small=small)
            found = said(page)
            assert found[0] == pytest.approx(residual[depth].item(), rel=6e-3, abs=1e-15)
            assert found[1] == pytest.approx(cosine[depth].item(), rel=6e-3, abs=6e-4)
            dots = torch.tensor(page.evaluate(READ_DOTS), dtype=torch.float64)
            wanted, shown = plane(expected[depth]), torch.cdist(dots, dots)
            scale = scale or shown.max() / wanted.max()
            assert_close(shown / scale, wanted, rtol=0, atol=4e-3)
            ring = float(page.locator(".cc-ring").get_attribute("r"))
            assert ring / scale == pytest.approx(residual[depth].item(), abs=4e-3)


def test_the_curve_and_its_mark(open_figure):
    page = open_figure()
    choose(page, 3, "pre", True, False)
    residual = rank_residual(streams("pre", True, False)).tolist()
    points = page.locator(".cc-curve").get_attribute("points").split()
    assert len(points) == DEPTH + 1
    x, y = map(float, points[3].split(","))
    mark = page.locator(".cc-mark")
    assert [float(mark.get_attribute(name)) for name in ("cx", "cy")] == [x, y]
    for value, point in zip(residual, points, strict=True):
        share = min(1, math.log10(max(value, 1e-4)) / -4)
        assert float(point.split(",")[1]) == pytest.approx(12 + 236 * share, abs=0.1)
    assert page.locator(".cc-other").count() == 12
    ticks = page.locator(".cc-tick").all_text_contents()
    assert ticks == ["1", "0.1", "0.01", "10⁻³", "10⁻⁴", *"02457", "depth, in blocks"]


def test_small_writes_have_a_scale_of_their_own(open_figure):
    page = open_figure()
    choose(page, 3, "pre", True, True, small=True)
    residual = rank_residual(streams("pre", True, True, SMALL)).tolist()
    points = page.locator(".cc-curve").get_attribute("points").split()
    for value, point in zip(residual, points, strict=True):
        assert float(point.split(",")[1]) == pytest.approx(12 + 236 * (1 - value), abs=0.1)
    mark = page.locator(".cc-mark")
    assert [float(mark.get_attribute(k)) for k in ("cx", "cy")] == pytest.approx(
        list(map(float, points[3].split(",")))
    )
    assert page.locator(".cc-tick").all_text_contents()[:5] == ["1", "0.75", "0.5", "0.25", "0"]
    choose(page, 3, "pre", True, True)
    assert page.locator(".cc-tick").all_text_contents()[:5] == ["1", "0.1", "0.01", "10⁻³", "10⁻⁴"]


def test_the_chosen_line_has_the_blue_name_and_all_lie_in_the_picture(open_figure):
    page = open_figure()
    for small in (False, True):
        choose(page, 3, "pre", True, True, small=small)
        assert page.locator(".cc-now").all_text_contents() == ["skip, FFN, pre"]
        chart = page.locator(".cc-chart").bounding_box()
        for name in page.locator(".cc-name").all():
            box = name.bounding_box()
            assert box["x"] + box["width"] <= chart["x"] + chart["width"]
            assert chart["y"] <= box["y"] + 3


def test_words_give_way_when_all_tokens_are_one(open_figure):
    page = open_figure()
    for skip, text in (
        (False, "All tokens have become identical, up to rounding."),
        (True, "The tokens are still apart."),
    ):
        choose(page, DEPTH, "pre", False, skip)
        said = "(text) => document.querySelector('.cc-live').innerText.trim().endsWith(text)"
        page.wait_for_function(said, arg=text)
        assert page.locator(".cc-all").is_visible() == (not skip)
        assert page.locator(".cc-token text").first.is_visible() == skip
    assert page.locator(".cc-token text").all_text_contents() == WORDS
    assert page.locator(".cc-all").text_content() == "all 5 words"


def test_where_there_is_no_room_a_dot_stands_alone(open_figure):
    crowd = X[:1] + 1e-1 * X.repeat(4, 1)
    letters_alone = ".cc-token text { stroke: none !important }"
    never_there = ".cc-token { transition-duration: 1h !important }"  # nothing may move at first
    page = open_figure(
        CollapseCloud(BLOCKS, crowd, ["somebody"] * 20), style=letters_alone + never_there
    )
    assert page.locator(".cc-dot").count() == 20
    assert 0 < page.locator(".cc-token text:visible").count() < 20
    kept = [box.bounding_box() for box in page.locator(".cc-token text:visible").all()]
    for a, b in combinations(kept, 2):
        wide = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
        high = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
        assert min(wide, high) < 6


def test_what_is_said(open_figure):
    page = open_figure()
    assert page.inner_text(".cc-live").startswith("0 blocks: attention alone. Rank residual ")
    choose(page, 1, "post", True, True)
    start = "1 block: attention, skip, feed-forward, post-norm. Rank residual "
    assert page.inner_text(".cc-live").startswith(start)
    choose(page, 2, "pre", False, False)
    assert page.inner_text(".cc-live").startswith("2 blocks: attention, pre-norm. ")
    choose(page, 2, "none", False, True, small=True)
    assert page.inner_text(".cc-live").startswith("2 blocks: attention, skip, writes × 0.4. ")


def test_each_control_answers_by_itself(open_figure):
    page = open_figure()
    for control, what in (
        (page.get_by_role("checkbox", name="skip"), "attention, skip"),
        (page.get_by_role("checkbox", name="feed-forward"), "attention, skip, feed-forward"),
        (page.locator('input[value="post"]').locator(".."), "skip, feed-forward, post-norm"),
    ):
        control.click()
        assert f"{what}. Rank residual" in page.inner_text(".cc-live")
    page.get_by_role("slider").fill("5")
    assert page.inner_text(".cc-live").startswith("5 blocks: ")


def test_the_keyboard_does_it_all(open_figure):
    page = open_figure()
    page.get_by_role("slider").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    start = "2 blocks: attention, skip, pre-norm. Rank residual "
    assert page.inner_text(".cc-live").startswith(start)
    assert page.get_by_role("slider").get_attribute("aria-valuetext") == f"2 of {DEPTH} blocks"


def test_it_is_small_even_at_its_largest():
    torch.manual_seed(1)
    blocks = [EncoderBlock(32, 1, 8) for _ in range(24)]
    figure = CollapseCloud(blocks, torch.randn(24, 32), ["word"] * 24)
    assert len(figure.html().encode()) < 200_000


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"blocks": []}, "blocks must be 1 to 24 blocks; got blocks=0"),
        ({"blocks": BLOCKS[:1] * 25}, "blocks must be 1 to 24 blocks; got blocks=25"),
        ({"x": X[:1], "words": ["a"]}, r"x must have 2 to 24 rows, .*; got x=\(1, 6\)"),
        ({"x": X.repeat(5, 1), "words": ["a"] * 25}, "x must have 2 to 24 rows"),
        ({"words": WORDS[:4]}, "words must be one word per row of x"),
        ({"words": [*WORDS[:4], " "]}, "words must be one word per row of x"),
        ({"words": "abcde"}, "words must be one word per row of x"),
        ({"x": X * math.inf}, "the tokens must stay finite at every depth; got skip=False"),
        ({"name": "cloud"}, "name must be 'fig-'"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        CollapseCloud(**{"blocks": BLOCKS, "x": X, "words": WORDS, **options})


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.ones(5, 6, dtype=torch.long), "x must hold floating-point numbers"),
        (torch.ones(5, 6, 1), r"x must have 2 to 24 rows, .*; got x=\(5, 6, 1\)"),
    ],
)
def test_tokens_are_a_matrix(x, message):
    with pytest.raises(ValueError, match=message):
        CollapseCloud(BLOCKS, x, WORDS)
