"""The map of the book: it holds every chapter, and every link of it leads to a page that exists."""

import re

import pytest
from conftest import DARK, FIGURE_PAGE, LIGHT
from site_checks import axe_faults, scroll_faults, watched

import lecture_map
import registry
from book_site.book_map import linked
from softlookup.show.book_map import BANDS, MODULES, NODES, map_html, map_text, show_book_map
from softlookup.show.figure import figure_html

HTML = map_html("the map of the book")
ANCHOR = re.compile(r'<a class="[^"]*" id="map-([^"]*)" data-chapter="(\w+)"[^>]* href="([^"]*)">')
CHAPTERS = {page.name: page for page in registry.chapters()}
NUMBERS = {name: page.number for name, page in CHAPTERS.items()}
PAGES = {name: f"{name}.html" for name in CHAPTERS}


def links(html: str) -> dict[str, tuple[str, str]]:
    """For each node its chapter and its address."""
    return {node: (chapter, target) for node, chapter, target in ANCHOR.findall(html)}


def test_the_map_holds_all_chapters_all_modules_and_each_node_once():
    assert {node.chapter for node in NODES} == CHAPTERS.keys()
    assert len({node.id for node in NODES}) == len({node.label for node in NODES}) == len(NODES)
    assert [band for band in BANDS if band in MODULES] == list(MODULES)
    assert {node.band for node in NODES} == set(BANDS)
    assert links(HTML).keys() == {node.id for node in NODES}
    assert all(node.label in map_text() for node in NODES)


def test_the_modules_are_those_of_lecture_004():
    rows = {row["id"]: row for row in lecture_map.concepts()}
    assert "Breaking the Transformer into modules" in rows["lecture-map"]["slides"]["004"]
    assert MODULES == ("Tokenization", "Embedding", "Attention blocks", "Output")


def test_what_flows_passes_the_steps_in_order():
    path = ["tokenize", "embed", "attend", "feed-forward", "norm", "output"]
    steps = [node.id for node in NODES if node.step]
    assert [step for step in steps if step in path] == path
    assert set(steps) - set(path) == {"positions"}
    bands = [list(BANDS).index(node.band) for node in NODES]
    assert bands == sorted(bands)


def test_a_chapter_needs_only_chapters_before_it():
    for node in NODES:
        assert all(NUMBERS[need] < NUMBERS[node.chapter] for need in node.needs)
        assert bool(node.needs) == (NUMBERS[node.chapter] > 1)


def test_a_node_leads_to_its_chapter():
    found = links(linked(HTML, NUMBERS, PAGES))
    for node in NODES:
        assert found[node.id] == (str(NUMBERS[node.chapter]), PAGES[node.chapter])


def test_a_node_says_the_numbers_of_its_chapter_and_of_those_before():
    found = re.findall(r'<span class="bm-where">(.*?)</span>', linked(HTML, NUMBERS, PAGES))
    assert len(found) == len(NODES)
    assert f"chapter {NUMBERS['attention']}, after {NUMBERS['soft_lookup']}" in found
    before = sorted([NUMBERS["transformer"], NUMBERS["training"]])
    assert f"chapter {NUMBERS['looking_inside']}, after {before[0]} and {before[1]}" in found


@pytest.mark.parametrize("name", ["language_models", "transformer"])
def test_a_chapter_that_is_missing_stops_the_build(name):
    known = {key: number for key, number in NUMBERS.items() if key != name}
    with pytest.raises(ValueError, match=f"names no chapter: {name}"):
        linked(HTML, known, PAGES)


def test_leading_on_changes_the_links_and_nothing_else():
    def without_links(html):
        bare = re.sub(r' (data-\w+|href)="[^"]*"', "", html)
        return re.sub(r'(?<=<span class="bm-where">)[^<]*', "", bare)

    assert without_links(linked(HTML, NUMBERS, PAGES)) == without_links(HTML)


def test_in_the_built_site_every_node_leads_to_a_page_and_a_place(site):
    page = site / f"{CHAPTERS['tasks'].docname}.html"
    found = links(page.read_text(encoding="utf-8"))
    assert found.keys() == {node.id for node in NODES}
    chapters = {node.id: CHAPTERS[node.chapter] for node in NODES}
    for node, (number, target) in found.items():
        path, _, place = target.partition("#")
        file = page.parent / path if path else page
        assert file.is_file(), node
        assert (int(number), file.stem, place) == (
            chapters[node].number,
            chapters[node].path.stem,
            "",
        )


def test_it_is_shown_as_a_figure_with_words_for_other_readers(capsys):
    show_book_map()
    assert "Attention blocks: Recurrence (recurrence)" in capsys.readouterr().out


@pytest.mark.parametrize("options", [{"alt": "map.png"}, {"caption": " "}, {"name": "map"}])
def test_bad_input(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        show_book_map(**options)


@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_accessible_and_within_the_page(browser, tmp_path, style, width):
    html = figure_html(linked(HTML, NUMBERS, PAGES), caption="The map.", name="fig-map")
    path = tmp_path / "map.html"
    path.write_text(FIGURE_PAGE.format(style=style, figures=html), encoding="utf-8")
    with watched(browser, viewport={"width": width, "height": 900}) as (page, faults, _):
        page.goto(path.as_uri())
        assert axe_faults(page) == []
        assert scroll_faults(page) == []
        boxes = [link.bounding_box() for link in page.locator("a.bm-node").all()]
        assert min(box["height"] for box in boxes) >= 44
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
        page.keyboard.press("Tab")  # the box around the figure, which may scroll
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "map-rules"
        assert faults == []
