"""The band beside the text: where notes have room, and cards for terms and references."""

import re
from pathlib import Path

import pytest
from site_checks import watched

from book_site.markup import mend

STATIC = Path(__file__).resolve().parents[2] / "_static"
TEXT = "<p>" + "word " * 300 + "</p>"
NOTE = '<div class="erratum admonition"><p class="admonition-title">E01</p><p>A claim.</p></div>'
TERMS = {"term-key": "<b>key</b> What a query is compared with.", "term-other": "<b>other</b> No."}
LINK = '<p>Each <a href="glossary.html#term-key">key</a>, {}.</p>'
CITED = (
    '<span class="bibtex-citation">[<a href="references.html#id7" title="A &amp; B. A paper.">'
    "A, 2020</a>]</span>"
)


def cell(code="x = 1", inside=""):
    pre = f'<div class="highlight"><pre>{code}</pre></div>'
    return f'<div class="cell"><div class="cell_input">{pre}</div>{inside}</div>'


@pytest.mark.parametrize(
    ("before", "after", "moves"),
    [
        ("", TEXT, True),
        (TEXT, "", True),
        ("", cell("x = 1\n" * 20), True),
        ("", "", False),
        ("<p>Short.</p>", "", False),
        ("", cell("x" * 90) + TEXT, False),
        ("", cell(inside="<table></table>") + TEXT, False),
        ("", cell(inside='<div class="sl-body"></div>') + TEXT, False),
        ("", '<figure><svg style="width: 800px" viewBox="0 0 600 300"></svg></figure>', False),
        ("", cell(inside='<svg style="width: 500px" viewBox="0 0 375 375"></svg>'), True),
        ("", cell(inside='<svg style="width: 800px" viewBox="0 0 600 600"></svg>') + TEXT, False),
    ],
)
def test_a_note_moves_where_it_has_room(before, after, moves):
    assert ("bk-note" in mend(before + NOTE + after)) == moves


def test_a_note_goes_up_beside_the_text_above_by_what_it_lacks_below():
    shift = re.compile(r"--up: (-?[\d.]+)rem")
    assert float(shift.search(mend(NOTE + TEXT))[1]) == 0
    assert float(shift.search(mend(TEXT + NOTE))[1]) < -3


def test_two_notes_do_not_count_on_the_same_room():
    text = "<p>" + "word " * 40 + "</p>"
    assert mend(text + NOTE + NOTE).count("bk-note") == 1


def test_a_page_holds_the_cards_of_its_own_links():
    page = mend(LINK.format(CITED) + LINK.format("again"), TERMS)
    assert page.count('class="bk-card"') == 2
    assert page.count('data-card="card-term-key"') == 2
    assert "What a query is compared with." in page
    assert "term-other" not in page
    assert "A &amp; B. A paper." in page
    assert "title=" not in page
    for name in set(re.findall(r'aria-describedby="([^"]+)"', page)):
        assert page.count(f'id="{name}"') == 1


def test_a_page_without_links_has_no_cards():
    assert "bk-card" not in mend("<p>Nothing.</p>", TERMS)


def test_folded_imports_join_the_code_of_the_picture_which_stands_first():
    fold = (
        '<details class="hide above-input"><summary><span class="collapsed">a</span>'
        '<span class="expanded">b</span></summary><div class="cell_input">{}</div></details>'
    )
    imports = f'<div class="cell tag_hide-input">{fold.format("import torch")}</div>'
    output = '<div class="cell_output">picture</div>'
    drawing = f'<div class="cell tag_hide-input">{fold.format("draw()")}{output}</div>'
    page = mend(imports + drawing)
    assert page.count("<details") == 1
    assert page.index("picture") < page.index("import torch") < page.index("draw()")
    assert mend(imports + "<p>Text.</p>" + drawing).count("<details") == 2


PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Page</title>
<link rel="stylesheet" href="{static}/book.css"><link rel="stylesheet" href="{static}/margin.css">
<script src="{static}/margin.js"></script></head><body><div class="bk-page"><div></div>
<main class="bk-main"><article class="bk-article"><h1>Page</h1>{body}</article></main></div>
</body></html>"""


@pytest.fixture(params=[1280, 390])
def page(request, browser, tmp_path):
    """A page with a link to a term and a citation, wide and narrow."""
    file = tmp_path / "page.html"
    body = mend(LINK.format(CITED) + TEXT, TERMS)
    file.write_text(PAGE.format(static=STATIC.as_uri(), body=body), encoding="utf-8")
    with watched(browser, viewport={"width": request.param, "height": 800}) as (page, faults, _):
        page.goto(file.as_uri())
        yield page
        assert faults == []


@pytest.mark.browser
def test_a_card_opens_by_keyboard_and_closes_by_escape(page):
    card = page.locator("#card-term-key")
    assert not card.is_visible()
    page.keyboard.press("Tab")
    assert card.is_visible()
    page.keyboard.press("Escape")
    assert not card.is_visible()
    assert page.evaluate("document.activeElement.textContent") == "key"
    page.keyboard.press("Tab")
    assert page.locator("#card-id7").is_visible()
    assert page.locator(".bk-card:visible").count() == 1


@pytest.mark.browser
def test_a_card_opens_under_the_pointer_which_may_move_onto_it(page):
    card = page.locator("#card-term-key")
    page.get_by_text("key", exact=True).first.hover()
    card.wait_for(state="visible")
    card.hover()
    page.wait_for_timeout(1200)
    assert card.is_visible()
    page.locator("h1").hover()
    card.wait_for(state="hidden", timeout=20_000)


@pytest.mark.browser
def test_a_card_stands_in_the_band_or_within_the_page(page):
    page.keyboard.press("Tab")
    card, text = (page.locator(one).first.bounding_box() for one in ("#card-term-key", "article p"))
    wide = page.viewport_size["width"] == 1280
    assert (card["x"] >= text["x"] + text["width"]) == wide
    assert card["x"] >= 0
    assert card["x"] + card["width"] <= page.viewport_size["width"]
