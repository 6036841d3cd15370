"""What makes a page light and still: formulas in their time, fonts at once, small pictures."""

import re
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup
from conftest import ROOT
from docutils import nodes
from PIL import Image
from site_checks import load_page, open_page, page_file, watched

import registry
from book_site import assets, cards, formula_room, frame, pictures, thumbnails
from book_site.mathml import add_mathml, mathml
from softlookup.show.book_map import NODES

# Pictures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("M 0 324 \nL 426 324 \nL 426 0 \nz\n", "M0 324h426v-324z"),
        ("M 1.000001 2.349 L 3.5 2.0", "M1 2.35l2.5 -0.35"),
        ("M 0 0 L 1 1 z M 5 5 L 6 5", "M0 0l1 1zM5 5h1"),
        ("M 1.23456 0 C 1 2 3.33333 4 5 6", "M1.23 0C1 2 3.33 4 5 6"),
    ],
)
def test_a_path_is_written_in_steps(path, steps):
    assert pictures.steps(path) == steps


def test_a_picture_stays_where_it_was():
    path = "M 9.472593 24.03 L 60.998519 142.29 L 60.998519 24.03 L 9.472593 24.03 z"
    for old, new in zip(points(path), points(pictures.steps(path)), strict=True):
        assert old == pytest.approx(new, abs=0.006)


def points(path):
    return [place for _, part in cards.points(path) for place in part]


def test_a_picture_of_coarse_units_keeps_its_digits():
    svg = '<svg viewBox="0 0 1 1"><path d="M 0.12345 0 L 1 1"/></svg>'
    assert pictures.lightened(svg) == svg


def test_scales_of_letters_are_kept():
    glyph = '<use href="#a" transform="translate(3.14159 2) scale(0.015625)"/>'
    light = pictures.lightened(f'<svg viewBox="0 0 400 300">{glyph}</svg>')
    assert 'transform="translate(3.14 2) scale(0.015625)"' in light


def test_what_each_page_loads_has_no_comments(site):
    for name in ("search.js", "book.css"):
        source = (ROOT / "_static" / name).read_text(encoding="utf-8")
        loaded = (site / "_static" / name).read_text(encoding="utf-8")
        comment = re.compile(r"^\s*(?://|/\*)", re.MULTILINE)
        assert comment.search(source), name
        assert not comment.search(loaded), name


# The front page ---------------------------------------------------------------------------------


BOX = re.compile(
    r'<a class="bm-node[^>]* id="map-([\w-]+)"[^>]* href="([^"]*)">'
    r'<span class="bk-stamp">(.*?)</span>',
    re.S,
)


def test_each_box_of_the_map_has_a_picture_of_its_own(site):
    chapters = {page.name: page for page in registry.chapters()}
    assert set(thumbnails.BEST) == set(chapters)
    boxes = BOX.findall((site / "intro.html").read_text(encoding="utf-8"))
    assert [box for box, _, _ in boxes] == [node.id for node in NODES]
    assert [address for _, address, _ in boxes] == [
        f"{chapters[node.chapter].docname}.html" for node in NODES
    ]
    drawn = [picture for _, _, picture in boxes]
    assert all(
        picture.startswith('<svg class="bk-picture" aria-hidden="true"') for picture in drawn
    )
    assert "aria-label" not in "".join(drawn)
    assert len(set(drawn)) == len(NODES)


def test_the_map_has_pictures_on_the_front_page_alone(site):
    page = registry.by_name()["tasks"]
    html = (site / f"{page.docname}.html").read_text(encoding="utf-8")
    assert "bm-node" in html
    assert "bk-stamp" not in html


def test_a_box_whose_chapter_has_two_shows_its_own_picture():
    env = SimpleNamespace(book_pictures={"a": {"fig-best": "BEST", thumbnails.SECOND["norm"]: "2"}})
    for box, picture in {"norm": "2", "feed-forward": "BEST"}.items():
        written = []
        translator = SimpleNamespace(body=written, builder=SimpleNamespace(env=env))
        thumbnails.visit_picture(translator, thumbnails.map_picture(box=box, page="a"))
        assert written == [f'<span class="bk-stamp">{picture}</span>']


def test_a_card_shows_title_and_figure(tmp_path):
    box = '<rect x="10" y="10" width="80" height="80" style="fill: var(--sl-blue, #ff0000)"/>'
    svg = f'<svg viewBox="0 0 100 100">{box}</svg>'
    cards.draw_card(tmp_path / "a.png", "A title", 7, svg)
    with Image.open(tmp_path / "a.png") as card:
        assert card.size == (1200, 630)
        assert card.convert("RGB").getpixel((900, 315)) == (255, 0, 0)


def test_a_page_is_described_by_the_first_sentences_of_its_text():
    raw = nodes.raw("", "<nav>You are here</nav>", format="html")
    text = nodes.paragraph("", "", nodes.Text("What is a\nkey? It is asked for. " + "word " * 99))
    page = nodes.section("", nodes.title("", "Title"), raw, text)
    assert frame.description(page) == "What is a key? It is asked for."


# In the browser ---------------------------------------------------------------------------------

SET = """() => [...document.querySelectorAll(".math")].map((one) => [
  one.querySelector("mjx-container") !== null,
  one.checkVisibility() && one.getBoundingClientRect().top < innerHeight,
])"""


@pytest.mark.browser
def test_formulas_are_set_as_they_come_into_view(browser, site):
    with watched(browser, viewport={"width": 1280, "height": 800}) as (page, faults, loaded):
        load_page(page, page_file(site, "attention"))
        found = page.evaluate(SET)
        assert all(is_set for is_set, in_view in found if in_view)
        assert sum(is_set for is_set, _ in found) < len(found) / 4
        assert not [file for file in loaded if "AMS" in file.name]
        page.keyboard.press("PageDown")
        page.wait_for_function("() => [...document.querySelectorAll('.math')]"
                               ".every((one) => one.querySelector('mjx-container'))")  # fmt: skip
        assert not faults


@pytest.mark.browser
def test_formulas_are_set_where_none_was_in_view_at_first(browser, site):
    with watched(browser, viewport={"width": 605, "height": 300}) as (page, _, _loaded):
        load_page(page, page_file(site, "objectives"))
        assert not any(is_set for is_set, _ in page.evaluate(SET))
        page.keyboard.press("PageDown")
        page.wait_for_function("() => [...document.querySelectorAll('.math')]"
                               ".every((one) => one.querySelector('mjx-container'))")  # fmt: skip


@pytest.mark.browser
def test_paper_has_all_formulas_at_once(browser, site):
    with watched(browser) as (page, faults, _):
        load_page(page, page_file(site, "attention"))
        page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
        assert all(is_set for is_set, _ in page.evaluate(SET))
        assert not faults


@pytest.mark.browser
def test_the_fonts_of_the_text_are_there_before_it_is_drawn(browser, site):
    with watched(browser) as (page, _, loaded):
        open_page(page, site / "chapters" / "notation.html")
        names = {file.name for file in loaded}
        assert not names & {font.rpartition("/")[2] for font in assets.FONTS.values()}
        for family, style in assets.FONTS:
            assert page.evaluate(f"() => document.fonts.check('{style} 1rem \"{family}\"')")


# The room of a formula ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tex", "measured"),  # by MathJax, in units of the letters' size
    [("X", 0.92), ("n = 7", 2.62), (r"d_\text{model} = 4", 4.51), (r"P(y \mid x)", 3.68)],
)
def test_a_formula_has_about_its_room(tex, measured):
    assert formula_room.width(tex) == pytest.approx(measured, abs=0.2)


def test_what_stands_below_a_line_makes_a_formula_taller():
    assert formula_room.height(r"a \\ b") == 2 * formula_room.height("a")
    assert formula_room.height(r"\frac{a}{b}") > formula_room.height("a")


def test_each_formula_of_a_page_keeps_its_room():
    page = '<p><span class="math">\\(x\\)</span></p><div class="math">\\[y\\]</div>'
    soup = BeautifulSoup(page, "html.parser")
    formula_room.keep_room(soup)
    assert all("--room: " in one["style"] for one in soup.select(".math"))


# Formulas without a script ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tex", "parts"),
    [
        (r"\tfrac12", ["<mfrac", "<mn>1</mn>", "<mn>2</mn>"]),
        (r"x_1, \dots, x_n", ["<msub>", "…"]),
        (r"\big(A\big)", ["<mi>A</mi>"]),
        (r"\begin{split}\begin{gathered}a\\[4pt]b\end{gathered}\end{split}", ["<mtable", "<mtr>"]),
        (r"\frac{1}{\sqrt{d_k}}", ["<mfrac>", "<msqrt>", "<msub>"]),
    ],
)
def test_a_formula_has_its_mathml(tex, parts):
    told = mathml(tex, block=False)
    assert [part for part in parts if part not in told] == []


def test_what_cannot_be_translated_stays_as_it_is():
    page = '<span class="math">\\(\\nosuch\\)</span>'
    soup = BeautifulSoup(page, "html.parser")
    add_mathml(soup)
    assert str(soup) == page


READABLE = """() => [
  ...document.querySelectorAll(".bk-article .math:not(.bk-card *)"),
].map((one) => {
  const formula = one.querySelector("math");
  if (!formula) return `no MathML: ${one.textContent}`;
  const tex = document.createRange();
  tex.selectNode(one.firstChild);
  if (tex.getBoundingClientRect().height > 1) return `its TeX shows: ${one.textContent}`;
  const seen = formula.checkVisibility() && formula.getBoundingClientRect().height < 4;
  return seen ? `too small: ${one.textContent}` : "";
}).filter(Boolean)"""


@pytest.mark.browser
def test_without_a_script_each_formula_is_read_as_mathml(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    for one in registry.pages():
        page.goto((site / f"{one.docname}.html").as_uri())
        assert page.evaluate(READABLE) == [], one.name
    context.close()
