"""What surrounds the text: the line above it, reading time, letters, what was read, a lost page."""

import xml.etree.ElementTree as ET

import pytest
from conftest import ROOT
from docutils import nodes
from site_checks import axe_faults, open_page, page_file, scroll_faults, watched

from book_site import frame, published
from book_site.optional import optional_rest


def words(n):
    return nodes.paragraph("", "", nodes.Text("word " * n))


# Time -------------------------------------------------------------------------------------------


def test_words_code_formulas_and_figures_take_their_time():
    page = nodes.section(
        "",
        words(360),
        nodes.literal_block("", "a = 1\n" * 40),
        nodes.math_block("", "a + b"),
        nodes.figure("", nodes.caption("", "not counted twice")),
    )
    assert frame.minutes(page) == pytest.approx((2 + (15 + 12 + 30) / 60, 0))


def test_what_is_folded_or_done_takes_no_time():
    folded = [nodes.container("", words(900), classes=[name]) for name in frame.FOLDED]
    page = nodes.section("", *folded, nodes.comment("", "word " * 900), words(180))
    assert frame.minutes(page) == pytest.approx((1, 0))


def test_optional_sections_are_counted_apart():
    page = nodes.section(
        "", words(180), nodes.section("", words(90), optional_rest("", words(540)))
    )
    assert frame.minutes(page) == pytest.approx((1.5, 3))


@pytest.mark.parametrize(
    ("core", "optional", "said"),
    [
        (37.6, 0, "About 40 minutes to read"),
        (37.4, 2.4, "About 35 minutes to read"),
        (1, 0, "About 5 minutes to read"),
        (41, 13, "About 40 minutes to read, and 15 more for what is optional"),
    ],
)
def test_the_time_is_said_in_steps_of_five_minutes(core, optional, said):
    assert frame.in_words(core, optional) == f"{said}; exercises not counted"


# Edition, letters, addresses --------------------------------------------------------------------


def test_the_edition_names_the_version_of_the_project():
    version = frame.edition()
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{version.split()[1]}"' in text


@pytest.mark.parametrize(
    ("term", "letter"), [("ablation", "A"), ("Ångström", "#"), ("χ²", "#"), ("t-SNE", "T")]
)
def test_a_term_is_looked_up_under_its_letter(term, letter):
    assert frame.initial(term) == letter


def test_letters_lead_to_the_first_term_of_each(site):
    page = (site / "chapters" / "glossary.html").read_text(encoding="utf-8")
    line = page.split('aria-label="Terms by letter">')[1].split("</nav>")[0]
    found = dict(part.split('">') for part in line.replace('<a href="#', "").split("</a>")[:-1])
    assert len(found) > 20
    assert found["term-ablation"] == "A"
    assert list(found.values()) == sorted(set(found.values()))
    assert all(f'id="{key}"' in page for key in found)


def test_a_sitemap_lists_every_page_under_the_address():
    tree = ET.fromstring(published.sitemap("https://a.org/b&c/", ["intro", "chapters/01_x"]))
    found = [place.text for place in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert found == ["https://a.org/b&c/chapters/01_x.html", "https://a.org/b&c/intro.html"]


# In the browser ---------------------------------------------------------------------------------


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_a_lost_reader_is_led_back(browser, site, width):
    with watched(browser, viewport={"width": width, "height": 800}) as (page, faults, _):
        open_page(page, site / "404.html")
        assert not [*faults, *axe_faults(page), *scroll_faults(page)]
        page.get_by_role("main").get_by_role("link", name="front page").click()
        page.wait_for_url("**/intro.html")


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_one_turns_the_page_at_its_top(browser, site, width):
    with watched(browser, viewport={"width": width, "height": 800}) as (page, _, _loaded):
        open_page(page, page_file(site, "attention"))
        line = page.get_by_role("navigation", name="This page and its neighbours")
        assert line.bounding_box()["y"] < 200
        assert "minutes" in line.inner_text()
        assert "colab" in line.get_by_role("link", name="Open in Colab").get_attribute("href")
        line.get_by_role("link", name="Next").click()
        page.wait_for_url("**/*_limits.html")
        line.get_by_role("link", name="Previous").click()
        page.wait_for_url("**/*_attention.html")


@pytest.mark.browser
@pytest.mark.parametrize("name", ["tasks", "attention", "glossary"])
@pytest.mark.parametrize(("width", "height"), [(1280, 600), (390, 844)])
def test_the_contents_open_where_one_is(browser, site, name, width, height):
    """On a phone they open below the bar."""
    inside = """() => {
      const box = document.querySelector(".bk-contents").getBoundingClientRect();
      const here = document.querySelector(".bk-contents li.current > a").getBoundingClientRect();
      const mode = document.getElementById("bk-mode").getBoundingClientRect();
      const bar = document.querySelector(".bk-bar").getBoundingClientRect();
      return mode.top > bar.bottom && mode.bottom < 200 && box.bottom <= innerHeight
        && here.top >= box.top && here.bottom <= box.bottom;
    }"""
    with watched(browser, viewport={"width": width, "height": height}) as (page, _, _loaded):
        open_page(page, page_file(site, name))
        if width == 390:
            page.click("#bk-menu")
        assert page.evaluate(inside)


READ = """() => [...document.querySelectorAll(".bk-contents a:has(.bk-was-read)")]
  .map((link) => link.pathname.split("/").pop())"""
TO_THE_END = "() => scrollTo({ top: document.body.scrollHeight, behavior: 'instant' })"


@pytest.mark.browser
def test_what_was_read_is_remembered_and_can_be_forgotten(browser, site):
    with watched(browser, viewport={"width": 1280, "height": 800}) as (page, faults, _):
        page.clock.install()
        open_page(page, site / "intro.html")
        assert page.locator(".bk-go-on").count() == 0
        open_page(page, site / "chapters" / "01_tasks.html")
        page.clock.fast_forward(60_000)
        page.evaluate(TO_THE_END)
        page.wait_for_selector(".bk-contents .bk-was-read")
        open_page(page, site / "chapters" / "02_counting_words.html")
        page.evaluate(TO_THE_END)
        open_page(page, site / "intro.html")
        page.wait_for_selector(".bk-contents .bk-was-read")
        assert page.evaluate(READ) == ["01_tasks.html"]
        go_on = page.get_by_role("link", name="Go on: ")
        assert go_on.inner_text().startswith("Go on: 2")
        go_on.click()
        page.wait_for_url("**/02_counting_words.html#*")
        open_page(page, site / "intro.html")
        page.get_by_role("button", name="Forget what I have read").click()
        assert page.evaluate(READ) == []
        page.reload()
        assert page.locator(".bk-go-on").count() == 0
        assert not faults


@pytest.mark.browser
def test_who_only_looked_has_not_read(browser, site):
    with watched(browser, viewport={"width": 1280, "height": 800}) as (page, _, _loaded):
        open_page(page, site / "chapters" / "01_tasks.html")
        page.evaluate(TO_THE_END)
        page.wait_for_timeout(300)
        assert page.evaluate(READ) == []


@pytest.mark.browser
@pytest.mark.parametrize(
    "kept", ["{", "null", "3", '{"page": 4}', '{"page": "javascript:x", "title": "t"}']
)
def test_what_others_wrote_there_harms_nothing(browser, site, kept):
    with watched(browser) as (page, faults, _):
        open_page(page, site / "intro.html")
        for key in ("soft-lookup-read", "soft-lookup-place"):
            page.evaluate("([key, text]) => localStorage.setItem(key, text)", [key, kept])
        page.reload()
        assert page.get_by_role("link", name="Go on: ").count() == 0
        assert page.evaluate(READ) == []
        assert not faults


@pytest.mark.browser
def test_a_page_that_is_left_does_not_undo_what_another_tab_noted(browser, site):
    with watched(browser) as (page, _, _loaded):
        open_page(page, site / "chapters" / "02_counting_words.html")
        other = page.context.new_page()
        other.goto((site / "intro.html").as_uri())
        other.evaluate("localStorage.setItem('soft-lookup-read', '[\"chapters/01_tasks\"]')")
        page.wait_for_selector(".bk-contents .bk-was-read", state="attached")
        other.close()
        open_page(page, site / "intro.html")
        assert page.evaluate(READ) == ["01_tasks.html"]
        assert page.get_by_role("link", name="Go on: ").count() == 1
