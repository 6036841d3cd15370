"""The cost sliders, moved in Chromium as a reader would: their numbers are the library's."""

import itertools

import pytest
import torch

from softlookup.attention import (
    attention_multiplications,
    projection_multiplications,
    recurrent_multiplications,
    softmax_exponentials,
    weights_bytes,
)
from softlookup.show import CostSliders

LENGTHS, WIDTHS = [2**k for k in range(4, 15)], [2**k for k in range(6, 13)]
UNITS = {"million": 1e6, "billion": 1e9, "trillion": 1e12}


def expected(n, d):
    return {
        "projections": projection_multiplications(n, n, d),
        "core": attention_multiplications(n, n, d, d),
        "softmax": softmax_exponentials(n, n),
        "recurrent": recurrent_multiplications(n, d, d),
    }


def example():
    return CostSliders()


@pytest.fixture(scope="module")
def maths(functions_of):
    return functions_of("figures/cost_sliders/maths.js")


@pytest.fixture
def open_figure(open_figures):
    def open_page(n=64, d=512, **options):
        return open_figures(CostSliders(n=n, d=d), ready=".cs-sliders", **options)

    return open_page


def number(text):
    """1,024 or 1.07 billion."""
    digits, _, unit = text.partition(" ")
    return float(digits.replace(",", "")) * UNITS.get(unit, 1)


def assert_shows(page, n, d):
    costs = expected(n, d)
    most = max(costs.values())
    for key, cost in costs.items():
        row = page.locator(f".cs-{key}")
        shown = number(row.locator(".cs-count").inner_text())
        assert shown == (cost if cost < 1e6 else pytest.approx(cost, rel=5e-3))
        width = row.locator(".cs-fill").evaluate("(node) => parseFloat(node.style.width)")
        assert width == pytest.approx(100 * cost / most, abs=1e-3)
    said = page.inner_text(".cs-live")
    assert said.startswith(f"n {'<' if n < d else '>' if n > d else '='} d: the core costs ")
    first, second = said.split("the core costs ")[1].rstrip(".").split(", and ")
    for part, rival in ((first, costs["recurrent"]), (second, costs["projections"])):
        ratio = costs["core"] / rival
        if ratio == 1:
            assert part.startswith("as much as")
        elif ratio > 1:
            assert part.startswith(f"{ratio:,.0f} times as much as")
        else:
            assert part.startswith(f"1/{1 / ratio:,.0f} of")
    values = page.locator("input").evaluate_all("(all) => all.map((i) => i.ariaValueText)")
    assert values == page.locator(".sl-number").all_inner_texts() == [f"{n:,}", f"{d:,}"]
    assert f"takes {n:,}, each waiting" in page.inner_text(".cs-kept")


# The arithmetic


def test_counts_are_the_librarys_at_every_place_of_both_sliders(maths):
    for n, d in itertools.product(LENGTHS, WIDTHS):
        found = maths("return maths.costs(...data)", [n, d])
        kept = {
            "weights": weights_bytes(n, n),
            "states": 4 * torch.empty(n, d, device="meta").numel(),
        }
        assert found == {**expected(n, d), **kept}


def test_numbers_are_shortened_from_a_million_on(maths):
    counts = [0, 999, 1000, 262_144, 999_999, 1_000_000, 1_073_741_824, 2_199_023_255_552]
    wanted = ["0", "999", "1,000", "262,144", "999,999", "1 million", "1.07 billion"]
    found = maths("return data.map(maths.counted)", counts)
    assert found == [*wanted, "2.2 trillion"]
    found = maths("return data.map(maths.bytes)", [0, 1, 1023, 1024, 1536, 2**20, 2**30])
    assert found == ["0 B", "1 B", "1020 B", "1 KiB", "1.5 KiB", "1 MiB", "1 GiB"]


# What the page shows


@pytest.mark.parametrize(
    ("n", "d"), [(64, 512), (512, 512), (1024, 512), (16384, 64), (16, 4096), (2048, 256)]
)
def test_the_bars_follow_the_sliders(open_figure, n, d):
    page = open_figure()
    assert_shows(page, 64, 512)
    page.locator('input[name="n"]').fill(str(LENGTHS.index(n)))
    page.locator('input[name="d"]').fill(str(WIDTHS.index(d)))
    assert_shows(page, n, d)
    assert_shows(open_figure(n=n, d=d), n, d)


def test_memory_is_told_in_bytes(open_figure):
    said = open_figure(n=1024, d=512).inner_text(".cs-kept")
    assert "weights take 4 MiB, the n states of the recurrence 2 MiB" in said


def test_the_keyboard_moves_a_slider(open_figure):
    page = open_figure()
    page.locator('input[name="n"]').focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert_shows(page, 512, 512)
    page.keyboard.press("End")
    assert_shows(page, 16384, 512)
