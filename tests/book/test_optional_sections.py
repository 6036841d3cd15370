"""Optional sections: what stands there is in sight, the rest is folded and opens in every way."""

from pathlib import Path

import pytest
from docutils import nodes
from playwright.sync_api import Browser
from site_checks import open_page, watched

import registry
from book_site.optional import OPENING, fold, is_optional, optional_rest

FOLDED = [page for page in registry.notebooks() if f"# {OPENING}" in page.markdown()]
"""`test_page_is_sound` looks whether all of them are folded, and drawn when they open."""
IN_SIGHT = "(box) => [...box.children].slice(1).map((part) => part.checkVisibility())"


def section(title: str, *parts: nodes.Node) -> nodes.section:
    return nodes.section("", nodes.title("", title), *parts)


def test_the_title_and_a_paragraph_stay_in_sight():
    first, second = nodes.paragraph("", "What."), nodes.paragraph("", "How.")
    inner = section("Optional: more", nodes.paragraph("", "Yet more."))
    whole = section("Optional: six opinions", first, second, inner)
    assert is_optional(whole)
    assert fold(whole)
    title, seen, rest = whole
    assert (title.astext(), seen) == ("Optional: six opinions", first)
    assert isinstance(rest, optional_rest)
    assert list(rest) == [second, inner]
    assert not is_optional(inner)  # what lies in a fold needs none of its own


def test_other_sections_stay_as_they_are():
    assert not is_optional(section("An optional cell", nodes.paragraph("", "What.")))


@pytest.mark.parametrize("parts", [[], [nodes.literal_block("", "x = 1")]])
def test_a_section_that_does_not_say_what_stands_there_is_not_folded(parts):
    assert not fold(section("Optional: six opinions", *parts))


def test_it_opens_by_key_by_link_and_on_paper(site: Path, browser: Browser):
    page = site / f"{FOLDED[0].docname}.html"
    with watched(browser) as (tab, _, _):
        tab.goto(page.as_uri())
        box = tab.locator("details.optional-rest").first
        target = box.locator("[id]").first.get_attribute("id")
        assert not any(box.evaluate(IN_SIGHT))
        box.locator("summary").first.press("Enter")
        assert all(box.evaluate(IN_SIGHT))
        whole = tab.locator("section.optional").first.get_attribute("id")
        for place in (target, whole):
            tab.goto("about:blank")
            tab.goto(f"{page.as_uri()}#{place}")
            assert all(box.evaluate(IN_SIGHT))
        tab.goto("about:blank")
        tab.goto(page.as_uri())
        tab.evaluate("() => dispatchEvent(new Event('beforeprint'))")
        assert all(box.evaluate(IN_SIGHT))


def test_open_pages_of_the_other_tests_show_all(site: Path, browser: Browser):
    with watched(browser) as (tab, _, _):
        open_page(tab, site / f"{FOLDED[0].docname}.html")
        assert all(tab.locator("details.optional-rest").first.evaluate(IN_SIGHT))
