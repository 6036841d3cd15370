"""The stepper of a recurrent network in Chromium: its numbers are the library's."""

import re

import pytest
import torch

from softlookup.layers import rnn_step
from softlookup.show import RnnStepper

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


def example(printed=PRINTED):
    return RnnStepper(**EXAMPLE, printed=printed)


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


# The arithmetic


@pytest.fixture(scope="module")
def maths(functions_of):
    return functions_of("figures/rnn_stepper/maths.js")


@pytest.mark.parametrize("tanh", [True, False])
def test_step_equals_the_library(maths, tanh):
    shapes = [(3,), (2,), (2, 2), (2, 3), (2,), (2,)]
    small = [0.4 * part for part in random(*shapes)]
    for given in (EXAMPLE, dict(zip(EXAMPLE, small, strict=True))):
        data = {"given": {k: v.tolist() for k, v in given.items()}, "tanh": tanh}
        found = maths("return maths.stepParts(data.given, data.tanh)", data)
        for part, values in parts_of(given, tanh).items():
            torch.testing.assert_close(tensor(found[part]), values, rtol=1e-9, atol=1e-9)


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
        return open_figures(example(printed), ready=".rn-stepper", **options)

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
