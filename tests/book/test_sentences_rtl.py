"""Sentences as figures in Chromium: Persian runs from right to left, every label can be read."""

import pytest
import torch
from conftest import in_each_look
from site_checks import axe_faults, scroll_faults

from softlookup.show import sentences, show_readings, show_spans

TOKENS = ["یک", "لیوان", "شیر", "نوشیدم"]
GLOSSES = ["one", "glass", "shir", "I-drank"]
WEIGHTS = torch.tensor([[0.1, 0.4, 0.3, 0.2]])
TEXTS = {"alt": "Shir reads the glass most", "caption": "A row.", "name": "fig-test-rtl"}


class Shown:
    """A figure that was displayed, as the fixture of the pages wants it."""

    def __init__(self, page: str) -> None:
        self.page = page

    def html(self) -> str:
        return self.page


@pytest.fixture
def drawn(monkeypatch):
    """Runs a function of ``show`` and returns what it displayed."""
    bundles = []
    monkeypatch.setattr(sentences, "display", lambda bundle, raw: bundles.append(bundle))

    def draw(function, *args, **options):
        function(*args, **options)
        return Shown(bundles[-1]["text/html"])

    return draw


@pytest.fixture
def open_readings(open_figures, drawn):
    def open_page(direction, **options):
        figure = drawn(show_readings, TOKENS, WEIGHTS, [2], glosses=GLOSSES, lang="fa",
                       direction=direction, **TEXTS)  # fmt: skip
        return open_figures(figure, ready=".ss-row", **options)

    return open_page


def lefts(page, selector):
    return [box.bounding_box()["x"] for box in page.locator(selector).all()]


def test_persian_runs_from_right_to_left(open_readings):
    page = open_readings("rtl")
    places = lefts(page, ".ss-row > li")
    assert len(places) == 4
    assert places == sorted(places, reverse=True)
    assert page.locator(".ss-number").all_inner_texts() == ["0.10", "0.40", "0.30", "0.20"]
    assert page.locator(".ss-own .ss-number").inner_text() == "0.30"


def test_a_narrow_page_breaks_the_sentence_and_starts_each_line_at_the_right(open_readings):
    page = open_readings("rtl", width=160)
    boxes = [box.bounding_box() for box in page.locator(".ss-row > li").all()]
    lines = sorted({round(box["y"]) for box in boxes})
    assert len(lines) > 1
    starts = [next(box for box in boxes if round(box["y"]) == line) for line in lines]
    right = [box["x"] + box["width"] for box in starts]
    assert max(right) - min(right) < 1
    assert min(box["x"] for box in boxes) >= 0


def test_english_runs_from_left_to_right(open_readings):
    places = lefts(open_readings("ltr"), ".ss-row > li")
    assert places == sorted(places)


def test_letters_join(open_readings):
    page = open_readings("rtl")
    widths = page.evaluate(
        """() => { const bdi = document.querySelector('li bdi[lang=fa]');
          const width = (text) => { bdi.textContent = text;
            return bdi.getBoundingClientRect().width; };
          return [width('شیر'), width('ش\\u200cی\\u200cر')]; }"""
    )
    assert widths[0] < 0.9 * widths[1]  # joined letters are narrower than letters kept apart


@in_each_look
def test_accessible_and_within_the_page(open_figures, open_readings, drawn, style, width):
    page = open_readings("rtl", style=style, width=width)
    assert axe_faults(page) == []
    assert scroll_faults(page) == []
    tokens = ["Ada", "Low", "met", "Low", "in", "May", ",", "in", "Rome"]
    spans = [(0, 2, "PERSON"), (3, 4, "PLACE"), (5, 6, "DATE"), (8, 9, "GPE")]
    figure = drawn(show_spans, tokens, spans, **TEXTS)
    page = open_figures(figure, ready=".ss-text", style=style, width=width)
    assert axe_faults(page) == []
    assert scroll_faults(page) == []
    assert page.locator(".ss-flag").count() == 2
