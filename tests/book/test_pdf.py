"""On paper: a chapter's PDF has all that its page says, and nothing that asks for a mouse."""

import io
import re
from base64 import b64encode

import pytest
from conftest import ROOT, SITE
from lxml import html as pages
from PIL import Image
from pypdf import PdfReader
from site_checks import words_by_sheet

import pdf
import registry
from paper import ebook
from paper.document import book, chapter, contents, document, head_of, linked, opened
from paper.snapshot import READY, TAKE, TELLING, UNFOLD, WIDTH, Still, do, take
from softlookup.show.book_map import NODES, map_html
from softlookup.show.figure import figure_html

LIMITS = registry.by_name()["limits"].docname

NAME = "objectives"  # a short chapter with a figure that moves, and predictions
CONTROLS = [
    "Show the code",
    "Hide the code",
    "Show the solution",
    "Hide the solution",
    "Read this section",
    "Check my guess",
    "Show me",
    "Predict first",
    "Reset",
    "Link to this state",
    "Not yet.",
]
needs_browser = pytest.mark.browser


def squeezed(text):
    """A text without spaces: where a PDF breaks its words is not the point."""
    return re.sub(r"\s", "", text).replace("ﬁ", "fi").replace("ﬂ", "fl")


def article():
    """The chapter as the site has it, without what is not read."""
    page = registry.by_name()[NAME]
    found = pages.parse(SITE / f"{page.docname}.html").getroot().find(".//article")
    for one in found.xpath(".//script | .//style | .//a[@class='headerlink']"):
        one.drop_tree()
    return found


@pytest.fixture(scope="module")
def printed(browser, site, tmp_path_factory):
    """The chapter on paper."""
    still = take(browser, site, registry.by_name()[NAME])
    folder = tmp_path_factory.mktemp("pdf")
    return PdfReader(pdf.write(browser, NAME, chapter(still, pdf.about()), [still], folder))


@pytest.fixture(scope="module")
def sheets(printed):
    """The text of each sheet."""
    return [page.extract_text() for page in printed.pages]


def titles(outline):
    """What an outline lists, at any depth."""
    for entry in outline:
        yield from titles(entry) if isinstance(entry, list) else [entry.title]


@needs_browser
def test_it_is_tagged_and_in_english(printed):
    root = printed.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]
    assert "/StructTreeRoot" in root
    assert root["/Lang"] == "en"
    assert registry.by_name()[NAME].title in printed.metadata.title


@needs_browser
def test_its_first_line_names_the_version_that_has_its_tags(printed):
    assert printed.pdf_header == "%PDF-1.7"


@needs_browser
def test_nothing_is_amiss_with_a_pdf_of_several_pictures(browser, tmp_path, caplog):
    """Each picture has its own profile of colours, which a copy must not hold twice."""
    html = document("x", "".join(map(picture_of, range(1, 5))), [])
    copied = PdfReader(io.BytesIO(pdf.titled(pdf.printed(browser, html, tmp_path), html)))
    assert caplog.messages == []
    assert len(copied.pages[0].images) == 4
    assert copied.metadata.author == pdf.config()["author"]


def picture_of(size):
    """A picture, as HTML."""
    file = io.BytesIO()
    Image.new("RGB", (size, size), "red").save(file, "PNG")
    return f'<img src="data:image/png;base64,{b64encode(file.getvalue()).decode()}">'


@needs_browser
def test_the_outline_lists_every_heading(printed):
    listed = set(titles(printed.outline))
    plain = [one for one in article().xpath(".//h2 | .//h3") if not one.xpath(".//*[@class]")]
    assert len(plain) > 8
    assert {" ".join(one.text_content().split()) for one in plain} <= listed
    page = registry.by_name()[NAME]
    assert {f"{page.number} {page.title}", "Solutions"} <= listed  # its title takes two lines


@needs_browser
def test_each_sheet_has_its_number_and_the_running_head(sheets):
    for number, sheet in enumerate(sheets, 1):
        assert re.search(rf"(^|\n)\s*{number}\s*(\n|$)", sheet), number
        assert squeezed(registry.by_name()[NAME].title) in squeezed(sheet), number


@needs_browser
def test_each_figure_has_its_caption(sheets):
    text = squeezed("".join(sheets))
    captions = article().xpath(".//figure[contains(@class, 'sl-figure')]/figcaption")
    assert len(captions) > 3
    for caption in captions:
        for one in caption.xpath(".//*[contains(@class, 'math')]"):
            one.drop_tree()
        words = squeezed(caption.text_content())
        assert words[:30] in text


@needs_browser
def test_each_solution_stands_behind_the_last_section(sheets):
    text = squeezed("".join(sheets))
    exercises = article().xpath(".//div[contains(@class, 'exercise')]")
    assert len(exercises) > 3
    end = text.rindex(squeezed(article().xpath(".//h2")[-1].text_content()))
    for exercise in exercises:
        number = exercise.find(".//span[@class='caption-number']").text_content().strip()
        solution = squeezed(number.replace("Exercise", "Solution"))
        assert text.rindex(solution) > end, number
        assert text.count(solution) == 1, number
    assert len(re.findall(r"Solution:page\d+", text)) == len(exercises)
    assert "page000" not in text


@needs_browser
def test_it_has_the_sites_fonts_and_all_formulas_are_set(printed, sheets):
    fonts = [font for page in printed.pages for font in page["/Resources"]["/Font"].values()]
    described = [one.get_object().get("/FontDescriptor", one).get_object() for one in fonts]
    names = " ".join(str(one.get("/FontName") or one.get("/BaseFont")) for one in described)
    for family in ("SourceSerif4", "SourceSans3", "SourceCodePro", "MathJax_Main"):
        assert family in names, names
    assert not re.search(r"\\[(\[]|\\(?:frac|text|mathrm)\b", "".join(sheets))


@needs_browser
def test_nothing_asks_for_a_mouse(sheets):
    text = squeezed("".join(sheets))
    assert [words for words in CONTROLS if squeezed(words) in text] == []


def test_a_link_leads_inside_to_the_site_or_nowhere():
    book = registry.by_name()
    inside = '<h1 id="attention--">A</h1><h2 id="attention--masks">M</h2>'
    to = '<a class="x" href="#{}">masks</a>'
    for place, found in {
        "attention--masks": to.format("attention--masks"),
        "attention--folded": to.format("attention--"),  # what is gone: to its page
        "limits--memory": f'<a class="x" href="https://a.b/{LIMITS}.html#memory">masks</a>',
        "elsewhere--x": "masks",
    }.items():
        assert linked(inside + to.format(place), book, "https://a.b/") == inside + found
    assert linked(inside + to.format("limits--memory"), book, "") == inside + "masks"
    out = '<a href="https://a.b/#c">out</a>'
    assert linked(out, book, "") == out


def test_words_above_the_sheets_may_hold_quotes():
    assert head_of("a", 'a "b" \\') == '@page pp-a { @top-left { content: "a \\"b\\" \\\\"; } }'


PLANTED = """<article class="bk-article"><h1>A page</h1>
<p class="bk-start"><a href="#a">Start</a></p><p class="bk-look"><a href="#a">A word</a></p>
<p class="bk-paper">On paper: <a href="#a">the whole book</a></p>
<details class="sl-reveal"><summary>Answer</summary><p>3</p><ul><li>Not 1: too few.</li>
<li>Not 2: too few.</li><li>Not 7: many: no.</li></ul></details>
<section id="a"><h2>Short</h2><p>A line.</p></section>
<section id="b"><h2>Long</h2><p>{}</p></section></article>"""


@pytest.fixture
def planted(browser):
    """The still of a small page."""
    tab = browser.new_page()
    tab.set_content(PLANTED.format("many words " * 50))
    yield pages.fromstring(tab.evaluate(TAKE, {"name": "x", "root": "/"})["html"])
    tab.close()


@needs_browser
def test_guesses_that_are_wrong_for_one_reason_stand_in_one_line(planted):
    found = [one.text_content() for one in planted.iter("li")]
    assert found == ["Not 1, 2: too few.", "Not 7: many: no."]


@needs_browser
def test_what_leads_on_through_the_site_or_to_this_very_book_is_left_out(planted):
    names = ("bk-start", "bk-look", "bk-paper")
    assert [name for name in names if planted.find_class(name)] == []


@needs_browser
def test_a_heading_is_held_to_a_short_text_alone(planted):
    kept = planted.find_class("pp-heading")
    assert [one.text_content() for one in kept] == ["ShortA line."]


@needs_browser
def test_of_a_choice_what_was_chosen_stands_on_paper(browser):
    chip = '<label class="sl-choice"><input type="radio" name="c" {0}/><span>{0}</span></label>'
    chips = chip.format("") + chip.format("checked")
    body = f'<div class="sl-body">{chips}</div>'
    figure = f'<article class="bk-article"><h1>A page</h1>{body}</article>'
    style = f"<style>{(ROOT / '_static/book.css').read_text(encoding='utf-8')}</style>"
    tab = browser.new_page()
    tab.emulate_media(media="print")
    tab.set_content(style + figure)
    seen = ".sl-choice:visible"
    as_the_site_prints_it = tab.locator(seen).all_text_contents()
    tab.set_content(style + tab.evaluate(TAKE, {"name": "x", "root": "/"})["html"])
    assert as_the_site_prints_it == tab.locator(seen).all_text_contents() == ["checked"]
    tab.close()


def taken(browser, figure):
    """The still of a page with this figure."""
    tab = browser.new_page()
    tab.set_content(f'<article class="bk-article"><h1>A page</h1>{figure}</article>')
    still = tab.evaluate(TAKE, {"name": "x", "root": "/"})["html"]
    tab.close()
    return pages.fromstring(still)


@needs_browser
def test_of_choices_that_are_pictures_all_stand_on_paper_and_the_chosen_one_is_marked(browser):
    chip = '<label class="sl-choice"><input type="radio" {}/><span>{}<svg/></span></label>'
    maps = chip.format("", "0.0") + chip.format("checked", "0.1")
    found = taken(browser, f'<div class="sl-body">{maps}</div>').find_class("sl-choice")
    assert [one.text_content() for one in found] == ["0.0", "0.1"]
    assert ["pp-chosen" in one.get("class") for one in found] == [False, True]


@needs_browser
def test_nothing_in_a_figure_sticks_or_holds_a_place_for_what_a_reader_may_do(browser):
    parts = (
        '<p style="position: sticky; bottom: 0">It writes.</p>'
        '<form style="min-height: 900px">A table</form><p style="min-height: 2em">A row</p>'
    )
    found = taken(browser, f'<div class="sl-body">{parts}</div>')
    [body] = found.find_class("sl-body")
    assert [one.get("style") for one in body] == [
        "position: relative; inset: auto;", "min-height: 0px;", "min-height: 2em",
    ]  # fmt: skip


@needs_browser
def test_what_a_figure_prints_until_it_is_used_takes_the_place_of_what_it_shows(browser):
    waiting = '<div class="sl-body"><p>The model waits.</p></div>'
    recorded = '<div class="sl-printed"><svg></svg><p>Its maps.</p></div>'
    found = taken(browser, f'<div class="sl-picture">{waiting}{recorded}</div>')
    assert [one.text_content() for one in found.find_class("sl-picture")] == ["Its maps."]
    [body] = found.find_class("sl-body")
    assert body.find("svg") is not None


ROWS = "".join(f"<tr><td>row{k}</td></tr>" for k in range(1, 21))
LONG = f"<table><thead><tr><th>head</th></tr></thead><tbody>{ROWS}</tbody></table>"
SHORT = LONG.replace(ROWS, ROWS[: ROWS.index("<tr><td>row6")])
LIST = "<ul><li>one</li><li>two</li></ul>"


@needs_browser
@pytest.mark.parametrize(
    ("piece", "together"),
    [
        (SHORT, {"head", "row1", "row5"}),
        (LONG, {"head", "row1", "row2"}),
        (f'<p style="height: 5mm; margin: 0">these</p>{LIST}', {"these", "one"}),
        (f'<div class="pp-heading" style="height: 5mm">these</div>{LIST}', {"these", "one"}),
    ],
    ids=["a short table", "the head of a table", "words and a list", "a heading and a list"],
)
@pytest.mark.parametrize("room", [7, 10, 13, 17, 20])
def test_a_sheets_end_leaves_together_what_is_read_together(
    browser, tmp_path, piece, together, room
):
    html = document("x", f'<div style="height: {256 - room}mm"></div>{piece}', [])
    on = words_by_sheet(pdf.printed(browser, html, tmp_path))
    assert any(together <= words for words in on), on


@needs_browser
@pytest.mark.parametrize("room", [20, 60, 100, 140, 180])
def test_the_map_fills_the_sheets_and_parts_no_box(browser, tmp_path, room):
    """It is longer than most of what is left: whole, it would leave half a sheet empty."""
    boxes = re.compile(r'<span class="bm-label">(.*?)</span>')
    lines = iter(f"l{k}" for k in range(1, 99))
    stamp = '<span class="bk-stamp">p{0}</span><span class="bm-label">{0}</span>'
    shown = boxes.sub(lambda _: stamp.format(next(lines)), map_html("the map of the book"))
    sheets = "".join(
        (ROOT / "_static" / name).read_text(encoding="utf-8") for name in ("book.css", "frame.css")
    )
    figure = figure_html(shown, caption="The map.", name="fig-map")
    html = document(
        "x",
        f'<style>{sheets}</style><article class="bk-article pp-article">'
        f'<div style="height: {256 - room}mm"></div>{figure}</article>',
        [],
    )
    on = words_by_sheet(pdf.printed(browser, html, tmp_path))
    for k in range(1, len(NODES) + 1):
        assert any({f"pl{k}", f"l{k}"} <= words for words in on), (k, on)
    assert len(on) <= (4 if room < 100 else 3)  # it takes more than two sheets and a half
    assert room < 60 or "l1" in on[0]


@needs_browser
def test_nothing_fades_at_the_edge_of_a_picture_that_nobody_can_scroll(browser, tmp_path):
    faded = (
        '<div class="sl-picture" style="mask: linear-gradient(to right, #000, transparent)"></div>'
    )
    with opened(browser, document("x", faded, []), tmp_path) as tab:
        found = tab.evaluate("getComputedStyle(document.querySelector('.sl-picture')).maskImage")
    assert found == "none"


@needs_browser
def test_a_column_of_links_is_as_wide_as_its_longest_word(browser, tmp_path):
    style = (ROOT / "_static/book.css").read_text(encoding="utf-8")
    link = '<td><a class="external" href="https://a.b/">Collection</a></td>'
    table = f"<table><tr>{link}<td>{'many words ' * 60}</td></tr></table>"
    html = document("x", f'<style>{style}</style><div class="bk-article">{table}</div>', [])
    assert "Collection" in words_by_sheet(pdf.printed(browser, html, tmp_path))[0]


def test_the_contents_have_the_parts_and_the_core_of_each_chapter():
    text = '<h1>A</h1><h2 id="x">Masks</h2><h2>Optional: <em>x</em></h2><h2>Summary</h2>'
    known = registry.by_name()
    names = ("intro", "attention", "glossary")
    stills = [Still(known[name], name, text, "", *[()] * 4) for name in names]
    lines = [one.text_content() for one in pages.fromstring(contents(stills)).iter("li")]
    found = {page.name: part for part, listed in registry.parts() for page in listed}
    before, behind = found["attention"], found["glossary"]
    assert lines == ["intro", before, "attentionMasks", behind, "glossary", "Solutions"]


def test_the_librarys_reference_is_an_appendix_behind_the_solutions():
    known = registry.by_name()
    names = ("attention", "library", "library_words", "glossary")
    stills = [Still(known[name], f"{name}!", "<h1>A</h1>", "", *[()] * 4) for name in names]
    listed = [one.text_content() for one in pages.fromstring(contents(stills)).iter("li")]
    end = ["glossary!", "Solutions", "Appendix", "library!", "library_words!"]
    assert listed[-5:] == end
    _, _, *articles = book(stills, "<p>Title</p>")
    order = [pages.fromstring(part).get("id") for part in articles]
    assert order == ["attention--", "glossary--", "solutions--", "library--", "library_words--"]


COLOURLESS = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size < 2;
}"""
"""Whether a canvas is one empty plane."""
CHANGED = "({ root, before }) => root.innerHTML !== before"
FULL = 100  # pixels: a figure with less height than this has nothing to show


@pytest.fixture(scope="module", params=[WIDTH, ebook.WIDTH], ids=["pdf", "epub"])
def figure_at_width(request, browser, site):
    """Finds the body of a figure on its page, open as wide as an edition has it: each page once."""
    texts = {page: html_of(site, page) for page in registry.pages()}
    tabs = {}

    def find(figure):
        page = next(page for page, text in texts.items() if f'id="{figure}"' in text)
        if page not in tabs:
            tabs[page] = browser.new_page(viewport={"width": request.param, "height": 900})
            tabs[page].goto((site / f"{page.docname}.html").as_uri())
            tabs[page].evaluate(UNFOLD)
            tabs[page].evaluate(READY)
        return tabs[page].locator(f"#{figure} .sl-body")

    yield find
    for tab in tabs.values():
        tab.close()


@needs_browser
@pytest.mark.parametrize("figure", TELLING)
def test_a_figure_that_is_told_what_to_show_shows_something_at_each_width(figure_at_width, figure):
    """Controls change with chapters and widths. What a figure computes last is not waited for."""
    root = figure_at_width(figure)
    before = root.inner_html()
    for step in TELLING[figure]:
        do(root, *step)
    there = {"root": root.element_handle(), "before": before}
    root.page.wait_for_function(CHANGED, arg=there)
    assert root.bounding_box()["height"] > FULL
    assert root.inner_text().strip()
    shown = [one for one in root.locator("canvas").all() if one.is_visible()]
    assert [one.get_attribute("class") for one in shown if one.evaluate(COLOURLESS)] == []


def html_of(site, page):
    """A page of the site."""
    return (site / f"{page.docname}.html").read_text(encoding="utf-8")
