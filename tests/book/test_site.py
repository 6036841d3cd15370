"""The built site, in a real browser: on every page, wide and narrow, light and dark.

The second half plants each fault on a small page of its own and asks the same check to find it.
"""

import re
from functools import partial
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from conftest import ROOT, site_pages
from playwright.sync_api import Browser
from site_checks import (
    COLOURS,
    PASSED,
    PLACES,
    SETTLED,
    axe_faults,
    check_faults,
    drawing_faults,
    figure_faults,
    focus_faults,
    fold_faults,
    formula_faults,
    guess_faults,
    head_faults,
    id_faults,
    link_faults,
    load_page,
    note_seen,
    open_page,
    page_file,
    scroll_faults,
    seen_alone_faults,
    shift_faults,
    task_faults,
    thin_out,
    transfer_size,
    unfold,
    watched,
    weight_faults,
)
from test_cells import checks_of
from test_optional_sections import FOLDED

import registry
from book_site.optional import OPENING

WIDTHS = (1280, 390)
NARROWEST = 320  # nothing but the page's own scrolling is asked here: text enlarged four times
STATES = [  # width, colours, whether the whole page or what surrounds the article; axe's rules: all
    (WIDTHS[0], "light", True, ()),
    (WIDTHS[1], "dark", True, (*COLOURS, *PLACES)),
    (WIDTHS[1], "light", False, ()),
    (WIDTHS[0], "dark", False, tuple(COLOURS)),
]
EMPTY = """() => {
  const article = document.querySelector("article");
  article.replaceChildren(...article.querySelectorAll("h1"));
}"""
"""Leaves what surrounds an article, and its title."""
CHECKS = {f"{page.docname}.html": checks_of(page) for page in registry.notebooks()}
OPTIONAL = {f"{page.docname}.html" for page in FOLDED}
BUDGET = 600_000  # bytes of a page's first load


@pytest.mark.browser
def test_page_is_sound(browser: Browser, site: Path, page_name: str) -> None:
    """No foreign request, script error, axe violation, sideways scroll or nameless figure; light.

    Each check cell passed, and is one closed line; each prediction answers every choice; each
    optional section is folded, and drawn when it opens.

    What surrounds the article folds on a narrow screen, so axe sees it four times. The article's
    colours change with the mode and not with the width, its places with the width alone: axe sees
    it in each mode once, and a phone shows nothing of it that a screen does not. Before that the
    page is loaded on a phone and on a screen: little moves, little is fetched, and formulas that
    are not set yet have no more room than a phone.
    """
    found, checks = [], CHECKS.get(page_name, [])
    with watched(browser, viewport={"width": WIDTHS[1], "height": 844}) as (page, faults, loaded):
        load_page(page, site / page_name)
        before = [*shift_faults(page), *scroll_faults(page)]  # most formulas have only their room
        found += [f"{WIDTHS[1]} px, just loaded: {fault}" for fault in before]
        loaded.clear()
        page.set_viewport_size({"width": WIDTHS[0], "height": 900})
        load_page(page, site / page_name)
        found += [*shift_faults(page), *weight_faults(loaded, BUDGET)]
        found += fold_faults(page, OPENING, expected=page_name in OPTIONAL)
        unfold(page)
        found += [*drawing_faults(page), *formula_faults(page), *figure_faults(page)]
        found += [*id_faults(page), *check_faults(page, checks), *guess_faults(page)]
        page.evaluate("() => document.querySelectorAll('details').forEach((d) => (d.open = true))")
        for width in (*WIDTHS, NARROWEST):
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate(SETTLED)
            found += [f"{width} px: {fault}" for fault in scroll_faults(page)]
        thin_out(page)
        for width, mode, whole, rules in STATES:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=mode, reduced_motion="reduce")
            page.evaluate(SETTLED)
            if not whole:
                page.evaluate(EMPTY)
            here = axe_faults(page, best_practice=True, rules=rules)
            if whole and rules:
                here += seen_alone_faults(page)
            elif whole:
                note_seen(page)
            found += [f"{width} px, {mode}: {fault}" for fault in here]
        assert not [*faults, *found]


@pytest.mark.browser
def test_no_task_is_long_while_a_page_loads(browser: Browser, site: Path, page_name: str) -> None:
    """Formulas, figures and the lists of the page are made in small parts."""
    assert not task_faults(browser, site / page_name)


def test_no_colour_of_a_figure_depends_on_the_width() -> None:
    """So that what axe saw of an article at one width holds at the other."""
    for path in (ROOT / "lib" / "softlookup" / "show").glob("*.css"):
        code = path.read_text(encoding="utf-8")
        narrow = re.findall(r"@(?:media|container)[^{]*-width[^{]*\{((?:[^{}]*\{[^}]*\})*)", code)
        assert len(narrow) == len(re.findall(r"@(?:media|container).*-width", code)), path.name
        assert not re.search(r"color|background|fill|stroke|opacity", "".join(narrow)), path.name


NUMBERED = re.compile(r"(Figure|Table) (?:(\d+)\.)?(\d+)")


def numbers_shown(html: str) -> dict[tuple[str, str | None], list[int]]:
    """Of each kind of figure on a page, with the chapter before the point, the numbers in order."""
    found: dict[tuple[str, str | None], list[int]] = {}
    for shown in BeautifulSoup(html, "lxml").select(".caption-number"):
        if match := NUMBERED.fullmatch(shown.get_text(strip=True)):
            kind, chapter, number = match.groups()
            found.setdefault((kind, chapter), []).append(int(number))
    return found


def test_each_page_counts_its_figures_from_one(site: Path) -> None:
    """In a chapter behind its number, beside the chapters without one."""
    counted = set()
    for page in registry.pages():
        chapter = str(page.number) if page.number else None
        html = (site / f"{page.docname}.html").read_text(encoding="utf-8")
        for (kind, before), numbers in numbers_shown(html).items():
            assert before == chapter, page.name
            assert numbers == list(range(1, len(numbers) + 1)), f"{page.name}: {kind}"
            counted.add(page.name)
    assert {"attention", "bugs", "idea_ledger", "my_numbers_differ", "workshop"} <= counted


@pytest.mark.browser
def test_menu_opens_on_a_narrow_screen(browser: Browser, site: Path) -> None:
    """The folded contents open, are sound, and close on Escape with the focus back."""
    with watched(browser, viewport={"width": 390, "height": 800}) as (page, faults, _):
        open_page(page, site / "intro.html")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.locator("#bk-sidebar").is_visible()
        assert not [*faults, *axe_faults(page), *scroll_faults(page)]
        page.keyboard.press("Escape")
        assert not page.locator("#bk-sidebar").is_visible()
        assert page.evaluate("() => document.activeElement.id") == "bk-menu"


@pytest.mark.browser
def test_colour_mode_is_kept(browser: Browser, site: Path) -> None:
    """The button changes the colours, and the next page remembers."""
    paper = "() => getComputedStyle(document.body).backgroundColor"
    with watched(browser, color_scheme="light") as (page, faults, _):
        open_page(page, site / "intro.html")
        light = page.evaluate(paper)
        page.locator("#bk-mode").click()
        page.locator("#bk-mode").click()
        assert page.locator("#bk-mode-name").inner_text() == "dark"
        dark = page.evaluate(paper)
        open_page(page, site / "chapters" / "notation.html")
        page.wait_for_selector('html[data-theme="dark"]')
        assert page.evaluate(paper) == dark != light
        assert not faults


@pytest.mark.browser
def test_colour_mode_chosen_while_a_page_opens_holds_there(browser: Browser, site: Path) -> None:
    """A page has read the mode and does not listen yet; what is chosen just then is not lost."""
    late = """document.addEventListener("readystatechange", () => {
        if (document.readyState === "interactive") localStorage.setItem("mode", "dark");
    });"""
    page = browser.new_context(color_scheme="light").new_page()
    page.add_init_script(late)
    page.goto((site / "intro.html").as_uri())
    page.wait_for_selector('html[data-mode="dark"][data-theme="dark"]')
    assert page.locator("#bk-mode-name").inner_text() == "dark"
    page.context.close()


@pytest.mark.browser
def test_colour_mode_is_the_same_in_every_tab(browser: Browser, site: Path) -> None:
    """What is chosen in one tab holds in another, and opening a page chooses nothing."""
    kept = "() => localStorage.getItem('mode')"
    with watched(browser, color_scheme="light") as (page, faults, _):
        open_page(page, site / "intro.html")
        assert page.evaluate(kept) is None
        other = page.context.new_page()
        open_page(other, site / "chapters" / "notation.html")
        page.locator("#bk-mode").click()
        page.locator("#bk-mode").click()
        other.wait_for_selector('html[data-mode="dark"][data-theme="dark"]')
        assert other.locator("#bk-mode-name").inner_text() == "dark"
        assert other.evaluate(kept) == "dark"
        other.close()
        assert not faults


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS)
def test_focus_is_visible(browser: Browser, site: Path, width: int) -> None:
    """The tab key leads through visible places."""
    with watched(browser, viewport={"width": width, "height": 900}) as (page, _, _loaded):
        open_page(page, site / "intro.html")
        assert not focus_faults(page, stops=25)


@pytest.mark.browser
def test_wide_things_scroll_by_keyboard(browser: Browser, site: Path) -> None:
    """Boxes that are wider than the screen can be focused, and have a name and a role."""
    boxes = """() => [...document.querySelectorAll('.bk-scroll, .sl-picture, pre')]
      .filter((b) => b.scrollWidth > b.clientWidth + 1)
      .map((b) => [b.tabIndex, b.getAttribute('role'), b.getAttribute('aria-label')])"""
    with watched(browser, viewport={"width": 390, "height": 900}) as (page, _, _loaded):
        open_page(page, site / "chapters" / "notation.html")
        page.wait_for_timeout(300)
        found = page.evaluate(boxes)
    assert found
    assert all(stop == 0 and role == "group" and label for stop, role, label in found)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("neural_language_models", "section > h2"),
        ("positions", "section > h2"),
        ("library_words", "dt[id]"),
        ("glossary", "dt[id]"),
    ],
)
def test_a_link_into_a_page_leads_to_its_place(browser: Browser, site: Path, name, places) -> None:
    """On a phone, when the page is new: right below the bar, and at once."""
    path = page_file(site, name)
    found = BeautifulSoup(path.read_text("utf-8"), "lxml").select(places)
    for k in (len(found) // 3, 2 * len(found) // 3):
        place = found[k].get("id") or found[k].parent["id"]
        top = """(id) => {
          const one = document.getElementById(id);
          const { bottom } = document.querySelector(".bk-bar").getBoundingClientRect();
          return (one.querySelector("h2") ?? one).getBoundingClientRect().top - bottom; }"""
        with watched(browser, viewport={"width": 390, "height": 844}) as (page, _, _loaded):
            load_page(page, path, f"#{place}")
            for _ in range(2):  # at once, and when all around it is drawn
                page.evaluate(SETTLED)
                assert 0 <= page.evaluate(top, place) < 30, place


@pytest.mark.browser
def test_a_drawing_stands_on_a_phone_without_scrolling(browser: Browser, site: Path) -> None:
    """Each drawing of an architecture, in folded sections too, has room on a page of 390 pixels."""
    too_wide = """() => [...document.querySelectorAll('figure svg.sl-drawing')].map((svg) => {
      for (let fold = svg.closest('details'); fold; fold = fold.parentElement.closest('details'))
        fold.open = true;
      const {scrollWidth, clientWidth} = svg.parentElement;
      return [svg.closest('figure').id, scrollWidth, clientWidth];
    }).filter(([, drawn, room]) => drawn > room || room === 0)"""
    drawn = [name for name in site_pages() if "sl-drawing" in (site / name).read_text("utf-8")]
    assert len(drawn) > 15
    found, phone = {}, {"width": 390, "height": 900}
    with watched(browser, viewport=phone, java_script_enabled=False) as (page, _, _loaded):
        for name in drawn:
            page.goto((site / name).as_uri())
            found[name] = page.evaluate(too_wide)
    assert {name: figures for name, figures in found.items() if figures} == {}


@pytest.mark.browser
def test_without_a_script_a_phone_has_the_contents_on_the_page(
    browser: Browser, site: Path
) -> None:
    """The button that opens them needs one; they stand below the text."""
    phone = {"width": 390, "height": 844}
    with watched(browser, viewport=phone, java_script_enabled=False) as (page, _, _loaded):
        page.goto(page_file(site, "limits").as_uri())
        assert not page.locator("#bk-menu").is_visible()
        assert not scroll_faults(page)
        link = (
            page.get_by_role("navigation", name="Contents of the book").get_by_role("link").nth(2)
        )
        assert link.bounding_box()["y"] > page.locator("article").bounding_box()["height"]
        link.click()
        page.wait_for_url("**/chapters/*")


@pytest.mark.browser
def test_printed_from_the_browser_no_answer_stands_beside_its_exercise(
    browser: Browser, site: Path
) -> None:
    shown = """(what) => [...document.querySelectorAll(what)]
      .filter((one) => one.checkVisibility()).length"""
    with watched(browser) as (page, _, _loaded):
        open_page(page, page_file(site, "attention"))
        page.emulate_media(media="print")
        page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate(shown, ".exercise, .optional-rest > *")
        assert page.evaluate(shown, ".tag_solution, .hint, .sl-body select") == 0


@pytest.mark.browser
def test_entrance_leads_to_the_front_page(browser: Browser, site: Path) -> None:
    """`index.html` sends the reader on."""
    with watched(browser) as (page, faults, _):
        page.goto((site / "index.html").as_uri())
        page.wait_for_url("**/intro.html")
        assert not faults


def test_a_head_says_nothing_twice(site: Path) -> None:
    """Of its width, its title, what it is about."""
    found = {name: head_faults((site / name).read_text(encoding="utf-8")) for name in site_pages()}
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize(
    ("head", "faults"),
    [
        ('<meta name="viewport" content="a"><meta name="viewport" content="b">', ["viewport"]),
        ('<meta property="og:title" content="a"><meta property="og:title" />', ["og:title"]),
        ("<title>A</title><title>B</title>", ["title"]),
        ('<title>A</title><meta name="viewport"></head><svg><title>B</title></svg>', []),
    ],
)
def test_planted_head_that_repeats_itself_is_found(head: str, faults: list[str]) -> None:
    """Two metas of one name, two titles; a drawing's title is none of the page's."""
    assert head_faults(f"<head>{head}</head>") == faults


def test_links_lead_somewhere(site: Path) -> None:
    """Every internal link of every page, anchors included."""
    assert not link_faults(site, site_pages())


# Planted faults --------------------------------------------------------------------------------

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width"></head>
<body><main><h1>A page</h1><article>{body}</article></main></body></html>"""

REST = '<details class="optional-rest"{}><summary>Read</summary><p>More.</p></details>'
FOLD = f"<h2>{OPENING}more</h2>{{}}"
FIGURE = REST.format("").replace("More.", "<figure><img width=0 height=0></figure>")
DEAF = """<button id=bk-forget>Forget</button><div class=bk-prediction id=deaf data-reveal="{}">
<input type=radio aria-label=a><button type=submit>Check</button><button data-show>Show</button>
<p role=status></p></div>"""
CHECK = '<details class="check" id="check-a"{}><summary>{}</summary></details>'


@pytest.fixture
def plant(tmp_path: Path):
    """Write a page with the given body; the function returns its path."""

    def write(body: str) -> Path:
        path = tmp_path / "page.html"
        path.write_text(PAGE.format(body=body), encoding="utf-8")
        return path

    return write


@pytest.mark.browser
@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<script src="https://example.org/x.js"></script>', "asks another host"),
        ('<script src="missing.js"></script>', "does not load"),
        ("<script>undefinedFunction()</script>", "script error"),
        ("<script>console.error('oh')</script>", "console: oh"),
    ],
)
def test_planted_fault_is_reported(browser: Browser, plant, body: str, fault: str) -> None:
    """Foreign requests, missing files, script errors, errors on the console."""
    with watched(browser) as (page, faults, _):
        open_page(page, plant(body))
        page.wait_for_timeout(100)
    assert any(fault in line for line in faults)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("body", "check", "fault"),
    [
        ('<p style="color: #999; background: #fff">pale</p>', axe_faults, "color-contrast"),
        ("<p>dark</p>" * 9 + '<p style="color: #777">pale</p>', axe_faults, "color-contrast"),
        (
            "<p>dark</p>" * 9 + '<div style="background: #555"><div><p>dark</p></div></div>',
            axe_faults,
            "color-contrast",
        ),
        (
            "<p>dark</p>" * 9 + '<div style="opacity: 0.4"><p>dark</p></div>',
            axe_faults,
            "color-contrast",
        ),
        (
            '<p>a few words <a href="#a" style="color: #333; text-decoration: none">b c</a></p>',
            axe_faults,
            "link-in-text-block",
        ),
        ('<label>x</label><input type="text">', axe_faults, "axe label"),
        ("<button></button>", axe_faults, "button-name"),
        ("<h4>deep</h4>", partial(axe_faults, best_practice=True), "heading-order"),
        ('<div style="width: 3000px">wide</div>', scroll_faults, "sideways"),
        (
            '<figure class="sl-figure"><svg viewBox="0 0 1 1"></svg></figure>',
            figure_faults,
            "no alt",
        ),
        ('<img src="a.png" alt="../a_long name.png">', figure_faults, "no alternative"),
        ('<img src="a.png">', figure_faults, "no alternative"),
        (FIGURE, drawing_faults, "is not drawn"),
        (CHECK.format(" open", PASSED), partial(check_faults, expected=["a"]), "a is open"),
        (CHECK.format("", "assert"), partial(check_faults, expected=["a"]), "does not say"),
        (CHECK.format("", PASSED), partial(check_faults, expected=["a", "b"]), "'check-b'"),
        (CHECK.format("", PASSED), partial(check_faults, expected=[]), "expected []"),
        (DEAF, guess_faults, "guess 1 does nothing"),
        (DEAF, guess_faults, "Show me does nothing"),
        ('<p id="a">x</p><svg><g id="a"></g></svg>', id_faults, "an id stands twice: a"),
    ],
)
def test_planted_fault_is_found(browser: Browser, plant, body: str, check, fault: str) -> None:
    """Accessibility, sideways scroll, alternative texts, ids."""
    with watched(browser) as (page, _, _loaded):
        open_page(page, plant(body))
        assert any(fault in line for line in check(page))


@pytest.mark.browser
@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (FOLD.format(""), "0 folds for 1"),
        (FOLD.format(""), "is not folded"),
        (FOLD.format(REST.format(" open")), "is not closed"),
        (REST.format(""), "1 folds for 0"),
        ("<h2>Other</h2>", "has no optional"),
        (FOLD.format(REST.format("")), None),
    ],
)
def test_planted_fault_of_a_fold_is_found(browser: Browser, plant, body: str, fault: str) -> None:
    """An optional section that is not folded or not closed, a fold that is none's, no section."""
    with watched(browser) as (page, _, _loaded):
        load_page(page, plant(body))
        found = fold_faults(page, OPENING, expected=True)
    assert any(fault in line for line in found) if fault else not found


@pytest.mark.browser
def test_planted_words_for_a_phone_alone_are_found(browser: Browser, plant) -> None:
    """Axe would not see them, as it asks most of its rules on a screen."""
    sheet = "<style>@media (width < 500px) { p { display: block !important; } }</style>"
    with watched(browser) as (page, _, _loaded):
        load_page(page, plant(f'{sheet}<p style="display: none">few</p><b>many</b>'))
        note_seen(page)
        assert seen_alone_faults(page) == []
        page.set_viewport_size({"width": 390, "height": 800})
        (told,) = seen_alone_faults(page)
        assert ">few</p>" in told


@pytest.mark.browser
def test_planted_shift_is_found(browser: Browser, plant) -> None:
    """A script that pushes a text down; one that only fills its own room."""
    late = """<div id="a" style="{style}"></div><p>{text}</p><script>requestAnimationFrame(() =>
      setTimeout(() => document.getElementById("a").append(document.createElement("hr")), 50));
      </script>"""
    text = "many words " * 300
    with watched(browser) as (page, _, _loaded):
        for style, is_fault in (("zoom: 9", True), ("height: 200px", False)):
            load_page(page, plant(late.format(style=style, text=text)))
            page.wait_for_selector("hr", state="attached")
            page.evaluate(SETTLED)
            assert bool(shift_faults(page)) == is_fault, style


@pytest.mark.browser
def test_planted_long_task_is_found(browser: Browser, plant) -> None:
    """A script that computes for a while, however busy the machine is; one that only waits."""
    busy = "<script>let sum = 0; for (let k = 0; k < 1e9; k += 1) sum += k % 7;</script>"
    waits = "<script>setTimeout(() => {}, 900)</script>"
    assert task_faults(browser, plant(busy))
    assert not task_faults(browser, plant(waits))


@pytest.mark.browser
def test_planted_invisible_focus_is_found(browser: Browser, plant) -> None:
    """A button that hides its ring."""
    with watched(browser) as (page, _, _loaded):
        open_page(page, plant('<button style="outline: none">x</button>'))
        assert focus_faults(page, stops=1)


WORDS = '<td class="sl-word">few words</td>'
TABLE = f"""<link rel="stylesheet" href="{(ROOT / "_static" / "book.css").as_uri()}">
<div class="bk-article"><div class="sl-table"><table>
<thead><tr><th>name</th><th>words</th><th>numbers</th><th>both</th></tr></thead>
<tbody><tr><th>a</th>{WORDS}<td>7</td><td>7</td></tr>
<tr><th>b</th>{WORDS}<td>12</td>{WORDS}</tr></tbody>
</table></div></div>"""


@pytest.mark.browser
def test_the_head_of_a_column_of_words_stands_above_their_beginnings(browser, plant):
    """Numbers stand on the right, and their head too, even if a word is among them."""
    sides = (
        "() => [...document.querySelectorAll('thead th')].map((h) => getComputedStyle(h).textAlign)"
    )
    with watched(browser) as (page, _, _loaded):
        open_page(page, plant(TABLE))
        assert page.evaluate(sides) == ["left", "left", "right", "right"]


@pytest.mark.parametrize("target", ["nowhere.html", "#nowhere", "page.html#nowhere", "no.svg"])
def test_planted_dead_link_is_found(plant, target: str) -> None:
    """A missing file, a missing place here and on a named page."""
    path = plant(f'<a href="{target}">x</a> <a href="#here" id="here">y</a>')
    faults = link_faults(path.parent, [path.name])
    assert len(faults) == 1
    assert target in faults[0]


def test_planted_weight_is_measured(tmp_path: Path) -> None:
    """Text counts compressed, a font as it is, a file asked for twice once."""
    text, font = tmp_path / "a.css", tmp_path / "b.woff2"
    text.write_text("a" * 100_000)
    font.write_bytes(b"a" * 100_000)
    assert 100_000 < transfer_size([text, font, font]) < 101_000
    assert weight_faults([text, font, font], 101_000) == []
    assert weight_faults([text, font], 100_000)
