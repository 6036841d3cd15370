"""The page of the lecture map: what its rows lead to, and its filter, in a real browser."""

import gzip
import json
import re
from functools import cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from docutils import nodes
from playwright.sync_api import Browser, Page
from site_checks import COLOURS, axe_faults, focus_faults, open_page, scroll_faults, watched

import lecture_map
import registry
from book_site import places
from book_site.assets import is_for_page

PAGE = "chapters/lecture_map.html"
ROWS = lecture_map.concepts()
N_SLIDES = sum(map(len, lecture_map.slides().values()))
LARGEST = 250_000  # bytes of the page, compressed
SEEN = """() => {
  const seen = (node) => node.checkVisibility();
  const rows = [...document.querySelectorAll(".map-rows > li")].filter(seen);
  const groups = [...document.querySelectorAll("section[id^=map-]")].filter(seen);
  return {
    told: document.querySelector(".map-filter output").innerText,
    rows: rows.map((row) => row.querySelector(".map-name").innerText),
    empty: groups.filter((group) => !rows.some((row) => group.contains(row))).length,
    dead: [...document.querySelectorAll(".bk-aside a[href^='#map-']")].filter(
      (link) => seen(link) && !seen(document.getElementById(link.hash.slice(1)))).length,
    query: location.search,
  };
}"""
CUT = """() => [...document.querySelectorAll(".map-rows a, .map-rows code")].filter((one) => {
  const {left, right} = one.getBoundingClientRect();
  return right > innerWidth || left < 0;
}).map((one) => one.outerHTML)"""


@cache
def soup(path: Path) -> BeautifulSoup:
    """A page of the site."""
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@cache
def anchors(path: Path) -> set[str]:
    """The places of a page that a link can lead to."""
    return set(re.findall(r'\bid="([^"]+)"', path.read_text(encoding="utf-8")))


def cells(page: registry.Page) -> list[tuple[str, list[str]]]:
    """The anchors of a chapter's cells that settle concepts, each with the concepts."""
    found = []
    for cell in json.loads(page.path.read_text(encoding="utf-8"))["cells"]:
        kind = "check" if "check" in cell["metadata"].get("tags", []) else "cell"
        if concepts := cell["metadata"].get("concepts", []):
            found.append((f"{kind}-{cell['id']}", concepts))
    return found


def dead_links(site: Path, row: Tag) -> list[str]:
    """Links of a row to places that do not exist."""
    found = []
    for link in row.find_all("a"):
        name, _, anchor = link["href"].partition("#")
        path = (site / PAGE).parent / name
        if not path.exists() or anchor not in anchors(path):
            found.append(link["href"])
    return found


@pytest.mark.parametrize("page", registry.chapters(), ids=lambda page: page.name)
def test_a_row_leads_to_each_cell_that_settles_it_and_to_nothing_that_is_not_there(site, page):
    address, settled = f"{page.path.stem}.html#", {}
    for anchor, concepts in cells(page):
        for concept in concepts:
            settled.setdefault(concept, set()).add(address + anchor)
    rows = {row["id"]: row for row in soup(site / PAGE).select(f"#map-chapter-{page.number} li")}
    assert list(rows) == [f"concept-{row['id']}" for row in ROWS if row["id"] in settled]
    for concept, targets in settled.items():
        row = rows[f"concept-{concept}"]
        assert targets <= {link["href"] for link in row.find_all("a")}
        assert row.select_one(".map-name a")["href"] in targets
        assert dead_links(site, row) == []


@pytest.mark.parametrize("lecture", lecture_map.LECTURES)
def test_the_slides_of_a_lecture_stand_in_their_order_with_all_their_concepts(site, lecture):
    rows = soup(site / PAGE).select(f"#map-lecture-{lecture} li")
    assert [row.select_one(".map-name").get_text() for row in rows] == lecture_map.slides()[lecture]
    for row, title in zip(rows, lecture_map.slides()[lecture], strict=True):
        expected = [
            lecture_map.name_of(concept)
            for concept in ROWS
            if title in [one for one, _ in lecture_map.titles(concept).get(lecture, ())]
        ]
        assert sorted(link.get_text() for link in row.find_all("a")) == sorted(expected)
        assert dead_links(site, row) == []


def test_the_page_is_light_and_its_script_is_on_no_other_page(site):
    assert len(gzip.compress((site / PAGE).read_bytes())) < LARGEST
    assert "lecture_map.js" in (site / PAGE).read_text(encoding="utf-8")
    assert "_static/lecture_map." not in (site / "intro.html").read_text(encoding="utf-8")
    assert not is_for_page("_static/lecture_map.css", "intro")


def test_a_dead_link_in_a_row_is_found(site):
    row = BeautifulSoup('<li><a href="lecture_map.html#nowhere">x</a></li>', "html.parser")
    assert dead_links(site, row) == ["lecture_map.html#nowhere"]


@pytest.fixture
def page(browser: Browser, site: Path):
    """The map; nothing may go wrong on it."""
    with watched(browser, viewport={"width": 1280, "height": 900}) as (page, faults, _):
        open_page(page, site / PAGE)
        yield page
        assert not faults


def asked(page: Page, words: str = "", lecture: str = "", order: str = "chapter") -> dict:
    """What is left when a reader fills in the filter."""
    page.get_by_role("searchbox", name="Find").fill(words)
    page.locator(".map-filter [name=lecture]").select_option(lecture)
    page.locator(".map-filter [name=order]").select_option(order)
    return page.evaluate(SEEN)


@pytest.mark.browser
def test_at_first_all_concepts_are_there_and_no_slide_list(page):
    found = page.evaluate(SEEN)
    assert found["told"] == f"{len(ROWS)} of {len(ROWS)} concepts"
    assert len(found["rows"]) == len(ROWS)
    assert (found["empty"], found["dead"], found["query"]) == (0, 0, "")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("words", "concept"),
    [
        ("scaled dot", "scaled dot-product attention"),  # the concept's name
        ("SCALED-DOT", "scaled dot-product attention"),
        ("bptt", "backpropagation through time, unrolled"),  # its id
        ("some cool properties", "word analogies"),  # its slide
        ("layer_norm", "layer normalization"),  # the library
        ("Nadaraya Watson", "Nadaraya–Watson regression"),
        ("entarte", 'alignment matrix of "entarté"'),
        ("a3", "calculating a₃"),
    ],
)
def test_a_concept_is_found_by_what_its_row_says(page, words, concept):
    found = asked(page, words)
    assert concept in found["rows"]
    assert found["told"] == f"{len(found['rows'])} of {len(ROWS)} concepts"
    assert len(found["rows"]) < 30
    assert (found["empty"], found["dead"]) == (0, 0)


@pytest.mark.browser
@pytest.mark.parametrize(
    "title",
    ["Positional Encoding (5)", "Attention is all you need", "Skip Gram Continued", "NLP Tasks"],
)
def test_the_slide_that_is_called_so_stands_first(page, title):
    before = page.evaluate(SEEN)["rows"]
    found = asked(page, title, order="lecture")["rows"]
    assert found[0].lower() == title.lower()
    first = asked(page, title)["rows"][0]
    called = [
        lecture_map.name_of(row)
        for row in ROWS
        for titles in lecture_map.titles(row).values()
        if title.lower() in [one.lower() for one, _ in titles]
    ]
    assert first in called
    assert asked(page)["rows"] == before  # and the order is back


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_what_was_asked_for_stands_in_sight(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    asked(page, "Positional Encoding (5)")
    row = page.locator(".map-rows > li .map-name:visible").first.bounding_box()
    field = page.get_by_role("searchbox", name="Find").bounding_box()
    assert row["y"] + row["height"] < 800
    assert row["y"] - field["y"] < 400  # half a screen


@pytest.mark.browser
def test_a_section_is_found_and_a_test_is_not(page):
    first = (
        page.locator(f"#map-chapter-{registry.by_name()['attention'].number} li a")
        .nth(1)
        .inner_text()
    )
    assert asked(page, first)["rows"]
    test = page.locator(".map-tests").first.inner_text()
    assert asked(page, test)["rows"] == []


@pytest.mark.browser
@pytest.mark.parametrize("lecture", ["", *lecture_map.LECTURES])
def test_a_lecture_leaves_its_concepts_or_its_slides(page, lecture):
    found = asked(page, lecture=lecture)
    chosen = [row for row in ROWS if not lecture or lecture in row["slides"]]
    assert sorted(found["rows"]) == sorted(map(lecture_map.name_of, chosen))
    assert (found["empty"], found["dead"]) == (0, 0)
    found = asked(page, lecture=lecture, order="lecture")
    slides = lecture_map.slides()
    titles = (
        slides[lecture] if lecture else [title for listed in slides.values() for title in listed]
    )
    assert found["rows"] == titles
    assert found["told"] == f"{len(titles)} of {N_SLIDES} slides"
    assert (found["empty"], found["dead"]) == (0, 0)


@pytest.mark.browser
def test_an_address_may_ask_and_may_be_wrong(browser, site):
    with watched(browser) as (page, faults, _):
        open_page(page, site / PAGE, "?words=softmax&lecture=003&order=lecture")
        found = page.evaluate(SEEN)
        assert found["told"].endswith(f"of {N_SLIDES} slides")
        assert set(found["rows"]) < set(lecture_map.slides()["003"])
        open_page(page, site / PAGE, "?words=&lecture=9&order=wrong&other=x")
        assert len(page.evaluate(SEEN)["rows"]) == len(ROWS)
        assert not faults


@pytest.mark.browser
def test_nothing_found_is_said_and_clear_brings_all_back(page):
    found = asked(page, "zzzz", "003", "lecture")
    assert found["rows"] == []
    assert found["told"].startswith(f"0 of {N_SLIDES} slides: try")
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function("document.activeElement.name === 'words'")
    found = page.evaluate(SEEN)
    assert len(found["rows"]) == len(ROWS)
    assert (found["query"], found["told"]) == ("", f"{len(ROWS)} of {len(ROWS)} concepts")


@pytest.mark.browser
def test_by_keyboard_alone_from_the_front_page_to_a_cell(browser, site):
    with watched(browser, viewport={"width": 1280, "height": 900}) as (page, faults, _):
        open_page(page, site / "intro.html")
        page.locator("article a[href$='lecture_map.html']").first.press("Enter")
        page.wait_for_url("**/lecture_map.html")
        page.get_by_role("searchbox", name="Find").focus()
        page.keyboard.type("calculating a3")
        for _ in range(8):  # lecture, order, clear, the headings' own links
            page.keyboard.press("Tab")
            if page.evaluate("Boolean(document.activeElement.closest('.map-name'))"):
                break
        box = page.evaluate("document.activeElement.getBoundingClientRect().top")
        assert 0 < box < 900 - 50  # in sight, without scrolling
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(r"/\d\d_attention\.html#(check|cell)-"))
        anchor = page.url.partition("#")[2]
        assert page.locator(f"#{anchor}").is_visible()
        page.go_back()
        page.wait_for_selector(".map-filter")
        assert page.get_by_role("searchbox", name="Find").input_value() == "calculating a3"
        assert page.evaluate(SEEN)["rows"] == ["calculating a₃"]
        assert not faults


@pytest.mark.browser
@pytest.mark.parametrize(
    ("target", "words"),
    [("concept-tf-idf", ""), ("map-lecture-002", ""), ("by-lecture", "calculating a3")],
)
def test_a_link_to_what_is_left_out_brings_it_back(page, target, words):
    asked(page, "calculating a3")
    page.evaluate("(target) => (location.hash = target)", target)
    in_sight = """(target) => {
      const row = document.getElementById(target);
      const {top} = row.getBoundingClientRect();
      return row.checkVisibility() && top > -10 && top < 900;
    }"""
    page.wait_for_function(in_sight, arg=target)
    assert page.get_by_role("searchbox", name="Find").input_value() == words


LEFT_OUT = """() => document.querySelectorAll(".map-rows > li")
  .forEach((row) => row.checkVisibility() || row.remove())"""
"""Axe passes over what is hidden, but needs seconds for it."""


@pytest.mark.browser
@pytest.mark.parametrize("order", ["chapter", "lecture"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_filtered_map_is_sound_and_cuts_no_link(browser, site, width, order):
    with watched(browser, viewport={"width": width, "height": 900}) as (page, faults, _):
        open_page(page, site / PAGE)
        assert page.evaluate(CUT) == []
        asked(page, "softmax", order=order)
        assert [*scroll_faults(page), *focus_faults(page, 4), *page.evaluate(CUT)] == []
        page.evaluate(LEFT_OUT)
        assert axe_faults(page) == []
        page.emulate_media(color_scheme="dark")
        assert axe_faults(page, rules=COLOURS) == []
        assert not faults


@pytest.mark.browser
def test_without_the_script_the_whole_map_stands_there(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / PAGE).as_uri())
    assert not page.locator(".map-filter").is_visible()
    assert page.locator(".map-rows > li:visible").count() == len(ROWS) + N_SLIDES
    context.close()


def test_an_exercise_belongs_to_a_row_by_link_by_cell_or_by_a_rare_name():
    def exercise(label: str, links=(), names=()) -> places.Exercise:
        return places.Exercise(label, frozenset(links), frozenset(names))

    place = places.Place(("x",), "check-x", True, "masks", "Masks", "", (), ("ex-own",))
    exercises = [
        exercise("ex-own"),
        exercise("ex-link", links=["masks"]),
        exercise("ex-name", names=["causal_mask", "softmax"]),
        *(exercise(f"ex-{k}", links=["other"], names=["softmax"]) for k in range(3)),
    ]
    row = {"id": "x", "names": ["masks.causal_mask", "ops.softmax"]}
    found = places.exercises_for(row, [place], exercises)
    assert [one.label for one in found] == ["ex-own", "ex-link", "ex-name"]


def test_the_nearest_figure_of_a_section_is_taken():
    def figure(name: str) -> nodes.figure:
        return nodes.figure("", nodes.caption("", name), ids=[name])

    near, far = figure("near"), figure("far")
    cell, own = nodes.container(), figure("own")
    section = nodes.section("", far, nodes.paragraph(), nodes.paragraph(), cell, near)
    section += nodes.section("", figure("lower"))
    assert places.nearest_figure(list(places.own(section)), cell) == "near"
    cell += own
    assert places.nearest_figure(list(places.own(section)), cell) == "own"
    empty = nodes.section("", nodes.container(), nodes.section("", figure("lower")))
    assert places.nearest_figure(list(places.own(empty)), empty[0]) == ""
