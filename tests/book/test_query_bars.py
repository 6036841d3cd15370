"""The query bars, moved in Chromium as a reader would: their numbers are the library's."""

import pytest
import torch

from softlookup.attention import attention_weights
from softlookup.show import QueryBars

WORDS = ["she", "went", "<b>to</b>", "Stanford", "learned"]
KEYS = torch.tensor([[0.5, 0.3], [0.3, -0.5], [0.0, 0.0], [2.0, 0.2], [1.5, 2.5]]).double()


def expected(query):
    return attention_weights(torch.tensor([query]).double(), KEYS)[0]


def example(query=(2.0, 0.2)):
    names = ["what", "how"]
    return QueryBars(WORDS, KEYS, torch.tensor(query), names=names, reader="learned")


@pytest.fixture
def open_figure(open_figures):
    """Opens one figure, with a query of its own."""

    def open_page(query=(2.0, 0.2), **options):
        return open_figures(example(query), ready=".sl-meter", **options)

    return open_page


def assert_shows(page, query):
    """Bars, numbers and the sentence below are the library's."""
    weights = expected(query)
    assert page.locator(".sl-meter-name").all_inner_texts() == WORDS
    read = torch.tensor(
        [float(text) for text in page.locator(".sl-meter .sl-number").all_inner_texts()]
    )
    assert (read.double() - weights).abs().max() <= 0.5e-4 + 1e-9
    widths = page.locator(".sl-meter").evaluate_all(
        "(rows) => rows.map((row) => row.querySelector('.sl-fill').getBoundingClientRect().width"
        " / row.querySelector('.sl-track').clientWidth)"
    )
    torch.testing.assert_close(torch.tensor(widths).double(), weights, rtol=0, atol=5e-3)
    first, second = weights.argsort(descending=True, stable=True)[:2].tolist()
    said = page.locator(".sl-live").inner_text()
    if weights[first] == weights[second]:
        assert said.startswith(f"learned takes as much from {WORDS[first]} as from {WORDS[second]}")
    else:
        assert said.startswith(f"learned takes most from {WORDS[first]} (")
        assert f", then from {WORDS[second]} (" in said
    assert said.endswith("sum to 1.")


def test_it_starts_with_the_librarys_weights(open_figure):
    assert_shows(open_figure(), [2.0, 0.2])


@pytest.mark.parametrize("query", [[0.0, 0.0], [-4.0, 4.0], [4.0, 4.0], [0.3, 2.1]])
def test_the_bars_follow_the_sliders(open_figure, query):
    page = open_figure()
    for slider, value in zip(page.locator("input").all(), query, strict=True):
        slider.fill(f"{value:g}")
    assert_shows(page, query)


def test_the_keyboard_moves_a_slider(open_figure):
    page = open_figure()
    slider = page.locator("input").first
    for _ in range(3):  # what stands before it, the box that scrolls, may take the focus too
        page.keyboard.press("Tab")
        if slider.evaluate("(node) => node === document.activeElement"):
            break
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("document.querySelector('.sl-number').textContent === '1.9'")
    assert_shows(page, [1.9, 0.2])
