"""The query bars, moved in Chromium as a reader would: their numbers are the library's."""

import pytest
import torch
from site_checks import axe_faults, scroll_faults, watched
from test_tfidf_bench import DARK, LIGHT, PAGE

from softlookup.attention import attention_weights
from softlookup.show import QueryBars

WORDS = ["she", "went", "<b>to</b>", "Stanford", "learned"]
KEYS = torch.tensor([[0.5, 0.3], [0.3, -0.5], [0.0, 0.0], [2.0, 0.2], [1.5, 2.5]]).double()


def expected(query):
    return attention_weights(torch.tensor([query]).double(), KEYS)[0]


@pytest.fixture
def open_figure(browser, tmp_path):
    """Opens one figure; at the end, no request and no script error may have occurred."""
    opened = []

    def open_page(query=(2.0, 0.2), *, style=LIGHT, width=1280):
        names = ["what", "how"]
        figure = QueryBars(WORDS, KEYS, torch.tensor(query), names=names, reader="learned")
        path = tmp_path / "page.html"
        path.write_text(PAGE.format(style=style, figures=figure.html()), encoding="utf-8")
        context = watched(browser, viewport={"width": width, "height": 900})
        page, faults, _ = context.__enter__()
        opened.append((context, faults))
        page.goto(path.as_uri())
        page.wait_for_selector(".qb-row")
        return page

    yield open_page
    for context, faults in opened:
        context.__exit__(None, None, None)
        assert faults == []


def assert_shows(page, query):
    """Bars, numbers and the sentence below are the library's."""
    weights = expected(query)
    assert page.locator(".qb-word").all_inner_texts() == WORDS
    read = torch.tensor([float(text) for text in page.locator(".qb-value").all_inner_texts()])
    assert (read.double() - weights).abs().max() <= 0.5e-4 + 1e-9
    widths = page.locator(".qb-row").evaluate_all(
        "(rows) => rows.map((row) => row.querySelector('.qb-fill').getBoundingClientRect().width"
        " / row.querySelector('.qb-track').clientWidth)"
    )
    torch.testing.assert_close(torch.tensor(widths).double(), weights, rtol=0, atol=5e-3)
    first, second = weights.topk(2).indices.tolist()
    said = page.locator(".sl-live").inner_text()
    assert said.startswith(f"learned takes most from {WORDS[first]} (")
    assert f", then from {WORDS[second]} (" in said
    assert said.endswith("sum to 1.")


def test_it_starts_with_the_librarys_weights(open_figure):
    assert_shows(open_figure(), [2.0, 0.2])


@pytest.mark.parametrize("query", [[0.0, 0.0], [-4.0, 4.0], [4.0, 4.0], [0.3, 2.1]])
def test_the_bars_follow_the_sliders(open_figure, query):
    page = open_figure()
    for slider, value in zip(page.locator("input").all(), query, strict=True):
        slider.fill(str(value))
    assert_shows(page, query)


def test_the_keyboard_moves_a_slider(open_figure):
    page = open_figure()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    assert page.locator(".qb-number").all_inner_texts() == ["1.9", "0.2"]
    assert_shows(page, [1.9, 0.2])


@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_accessible_and_within_the_page(open_figure, style, width):
    page = open_figure(style=style, width=width)
    assert axe_faults(page) == []
    assert scroll_faults(page) == []
    assert min(box["height"] for box in map(lambda s: s.bounding_box(),
                                            page.locator("input").all())) >= 24  # fmt: skip
