"""The stepper and the spectral sliders in Chromium: their numbers are the library's."""

import re

import pytest
import torch
from conftest import in_each_look, target_faults
from site_checks import axe_faults, scroll_faults

from softlookup.bptt import hidden_gradients
from softlookup.recurrence import rnn_step
from softlookup.show import RnnStepper, SpectralSliders

PARTS = ("fromState", "fromInput", "a", "after", "products", "y")


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


EXAMPLE = {
    "x": tensor([1.0, 0.0]),
    "hidden": tensor([0.5, -0.5]),
    "W_hh": tensor([[0.1, 0.2], [-0.1, 0.3]]),
    "W_xh": tensor([[0.4, 0.5], [0.6, 0.7]]),
    "b": tensor([0.1, 0.2]),
    "W_hy": tensor([0.8, 0.9]),
}
PRINTED = {"a": [0.45, 0.6], "after": [0.4228, 0.537], "products": [0.3382, 0.4833], "y": [0.8215]}


def random(*shapes, seed=5):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]


def parts_of(given, tanh):
    """All parts of a step, by the library."""
    x, hidden, W_hh, W_xh, b, W_hy = given.values()
    after = rnn_step(x, hidden, W_xh, W_hh, b)
    a = after.atanh()
    after = after if tanh else a
    products = W_hy * after
    values = [W_hh @ hidden, W_xh @ x, a, after, products, products.sum()[None]]
    return dict(zip(PARTS, values, strict=True))


def lengths(W, start, radius, n, tanh):
    """The lengths of states and gradients by the library, from step 0 on."""
    W, states = radius * W, [start]
    zeros = torch.zeros_like(start)
    for _ in range(n):
        state = rnn_step(zeros, states[-1], torch.zeros_like(W), W, zeros)
        states.append(state if tanh else W @ states[-1])
    states, direct = torch.stack(states), torch.zeros(n + 1, len(start), dtype=torch.float64)
    direct[-1, 0] = 1
    slopes = 1 - states**2 if tanh else torch.ones_like(states)
    return states.norm(dim=1), hidden_gradients(direct, slopes, W).norm(dim=1)


def radius_one(W):
    return W / torch.linalg.eigvals(W).abs().max()


# The arithmetic


@pytest.fixture(scope="module")
def maths(functions_of):
    return functions_of("figures/rnn_stepper/maths.js", "figures/spectral_sliders/maths.js")


@pytest.mark.parametrize("tanh", [True, False])
def test_step_equals_the_library(maths, tanh):
    shapes = [(3,), (2,), (2, 2), (2, 3), (2,), (2,)]
    small = [0.4 * part for part in random(*shapes)]
    for given in (EXAMPLE, dict(zip(EXAMPLE, small, strict=True))):
        data = {"given": {k: v.tolist() for k, v in given.items()}, "tanh": tanh}
        found = maths("return maths.stepParts(data.given, data.tanh)", data)
        for part, values in parts_of(given, tanh).items():
            torch.testing.assert_close(tensor(found[part]), values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("tanh", [True, False])
@pytest.mark.parametrize(("radius", "n"), [(0.9, 50), (1.0, 1), (1.3, 23)])
def test_waves_equal_the_library(maths, tanh, radius, n):
    W, start = random((3, 3), (3,))
    found = maths("return maths.waves(data.W, data.start, data.radius, data.n, data.tanh)",
                  {"W": W.tolist(), "start": start.tolist(), "radius": radius, "n": n,
                   "tanh": tanh})  # fmt: skip
    states, gradients = lengths(W, start, radius, n, tanh)
    torch.testing.assert_close(tensor(found["states"]), states, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(tensor(found["gradients"]), gradients, rtol=1e-9, atol=1e-12)


def test_a_printed_number_may_be_rounded_but_not_wrong(maths):
    call = "return maths.misprinted(data[0], data[1])"
    assert not maths(call, [[0.5370], [0.53705]])
    assert not maths(call, [[0.4833, 0.1], [0.483345, 0.1]])
    assert maths(call, [[0.4833, 0.4228], [0.483345, 0.421899]])
    assert maths(call, [[0.4835], [0.483345]])  # the fourth digit counts


# The stepper


@pytest.fixture
def open_stepper(open_figures):
    def open_page(printed=PRINTED, **options):
        return open_figures(RnnStepper(**EXAMPLE, printed=printed), ready=".rn-stepper", **options)

    return open_page


def numbers_in(text):
    return [float(v.replace("−", "-")) for v in re.findall(r"−?\d+\.\d+", text)]


@pytest.mark.parametrize("tanh", [True, False])
def test_next_and_back_show_part_after_part(open_stepper, tanh):
    page = open_stepper()
    if not tanh:
        page.get_by_role("radio", name="none").check()
    parts, values = parts_of(EXAMPLE, tanh), page.locator(".rn-value")
    for k, part in enumerate(PARTS):
        shown = values.all_inner_texts()
        assert shown[k + 1 :] == ["…"] * (5 - k)
        assert numbers_in(shown[k]) == [round(v, 4) + 0.0 for v in parts[part].tolist()]
        assert numbers_in(page.inner_text(".sl-live")) == numbers_in(shown[k])
        assert page.get_by_role("button", name="Back").is_disabled() == (k == 0)
        assert page.get_by_role("button", name="Next").is_disabled() == (k == 5)
        if k < 5:
            page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Back").click()
    assert values.all_inner_texts()[5] == "…"


def test_the_first_wrong_digit_of_the_slide_is_named(open_stepper):
    page = open_stepper()
    for _ in range(2):
        page.get_by_role("button", name="Next").click()
    assert "wrong" not in page.inner_text(".sl-live")
    for _ in range(3):
        page.get_by_role("button", name="Next").click()
        assert page.inner_text(".sl-live").endswith("The slide's first wrong digit is in h.")
    marks = [text[-1:] for text in page.locator(".rn-printed").all_inner_texts()]
    assert marks == ["", "", "✓", "✗", "✗", "✗"]
    page.get_by_role("radio", name="none").check()  # the slide has tanh
    assert page.locator(".rn-printed").all_inner_texts() == [""] * 6
    assert numbers_in(page.locator(".rn-value").all_inner_texts()[5]) == [0.9]


@pytest.mark.parametrize("tanh", [True, False])
def test_the_boxes_hold_what_has_been_reached(open_stepper, tanh):
    page = open_stepper()
    if not tanh:
        page.get_by_role("radio", name="none").check()
    for k in range(6):
        values = parts_of(EXAMPLE, tanh) | {"x": EXAMPLE["x"], "hidden": EXAMPLE["hidden"]}
        for part, numbers in values.items():
            texts = page.locator(f'.rn-box[data-part="{part}"] text').all_text_contents()[1:]
            if part in PARTS[k + 1 :]:
                assert texts == ["…"] * len(numbers)
            else:
                found = [float(text.replace("−", "-")) for text in texts]
                assert found == [round(v, 4) + 0.0 for v in numbers.tolist()]
        assert page.locator(".rn-here").get_attribute("data-part") == PARTS[k]
        wrong = page.locator(".rn-wrong").evaluate_all("all => all.map(b => b.dataset.part)")
        assert wrong == (list(PARTS[3 : k + 1]) if tanh else [])
        if k < 5:
            page.get_by_role("button", name="Next").click()


def test_without_a_slide_there_is_no_such_column(open_stepper):
    page = open_stepper(printed=None)
    assert page.locator(".rn-printed").count() == 0
    assert page.locator("thead th").all_inner_texts() == ["part", "value"]


def test_stepper_by_keyboard(open_stepper):
    page = open_stepper()
    page.get_by_role("button", name="Next").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert page.locator(".rn-value", has_text="…").count() == 3
    page.get_by_role("radio", name="tanh").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("radio", name="none").is_checked()


# The sliders

ROTATION, SKEWED = random((3, 3), (3, 3), seed=7)
START = tensor([0.5, -0.25, 0.125])


@pytest.fixture
def open_sliders(open_figures):
    def open_page(**options):
        figure = SpectralSliders({"one": ROTATION, "<b>other</b>": SKEWED}, START)
        return open_figures(figure, ready=".rn-chart", **options)

    return open_page


def drawn(page, name):
    """The lengths that a line of the chart shows, read back from its points."""
    points = page.locator(f"polyline.{name}").get_attribute("points").split()
    heights = tensor([float(point.split(",")[1]) for point in points])
    return 8 - (heights - 8) * 16 / (220 - 8 - 34)  # log10


def assert_shows(page, W, radius, n, tanh):
    states, gradients = lengths(radius_one(W), START, radius, n, tanh)
    for name, values in (("rn-forward", states), ("rn-backward", gradients)):
        expected = values.log10().clamp(-8, 8)
        torch.testing.assert_close(drawn(page, name), expected, rtol=0, atol=1e-3)
    said = page.inner_text(".sl-live")
    for value in (states[-1], states[0], gradients[0]):
        found = [float(text.replace("−", "-")) for text in re.findall(r"[\d.]+(?:e−?\d+)?", said)
                 for text in [text.rstrip(".")] if text]  # fmt: skip
        assert any(abs(number / value.item() - 1) < 6e-3 for number in found)
    outside = bool((torch.cat([states, gradients]).log10().abs() > 8).any())
    assert said.endswith("drawn at its edge.") == outside


def test_every_control_of_the_sliders(open_sliders):
    page = open_sliders()
    assert_shows(page, ROTATION, 1.0, 50, False)
    for radius in (0.5, 0.93, 1.5):
        page.locator('input[name="radius"]').fill(str(radius))
        assert_shows(page, ROTATION, radius, 50, False)
    page.get_by_role("radio", name="tanh").check()
    assert_shows(page, ROTATION, 1.5, 50, True)
    page.get_by_role("radio", name="<b>other</b>").check()
    assert_shows(page, SKEWED, 1.5, 50, True)
    page.locator('input[name="n"]').fill("1")
    assert_shows(page, SKEWED, 1.5, 1, True)
    page.locator('input[name="n"]').fill("100")
    page.get_by_role("radio", name="none").check()
    assert_shows(page, SKEWED, 1.5, 100, False)


def test_sliders_by_keyboard(open_sliders):
    page = open_sliders()
    page.locator('input[name="radius"]').focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("output").first.inner_text() == "1.01"
    assert_shows(page, ROTATION, 1.01, 50, False)


@in_each_look
def test_accessible_and_within_the_page(open_figures, style, width):
    figures = RnnStepper(**EXAMPLE, printed=PRINTED), SpectralSliders({"one": ROTATION}, START)
    page = open_figures(*figures, ready=".rn-chart", style=style, width=width)
    for _ in range(5):
        page.get_by_role("button", name="Next").click()
    assert axe_faults(page) == []
    assert scroll_faults(page) == []
    assert target_faults(page, ".sl-choice, .sl-button") == []
