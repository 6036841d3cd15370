"""On paper: a chapter's PDF has all that its page says, and nothing that asks for a mouse."""

import re

import pytest
from conftest import SITE
from lxml import html as pages
from pypdf import PdfReader

import pdf
import registry
from paper.document import chapter, contents, head_of, linked
from paper.snapshot import FIND, TAKE, TELLING, UNFOLD, Still, take

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
        "limits--memory": '<a class="x" href="https://a.b/chapters/15_limits.html#memory">masks</a>',
        "elsewhere--x": "masks",
    }.items():
        assert linked(inside + to.format(place), book, "https://a.b/") == inside + found
    assert linked(inside + to.format("limits--memory"), book, "") == inside + "masks"
    out = '<a href="https://a.b/#c">out</a>'
    assert linked(out, book, "") == out


def test_words_above_the_sheets_may_hold_quotes():
    assert head_of("a", 'a "b" \\') == '@page pp-a { @top-left { content: "a \\"b\\" \\\\"; } }'


PLANTED = """<article class="bk-article"><h1>A page</h1>
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
def test_a_heading_is_held_to_a_short_text_alone(planted):
    kept = planted.find_class("pp-heading")
    assert [one.text_content() for one in kept] == ["ShortA line."]


def test_the_contents_have_the_parts_and_the_core_of_each_chapter():
    text = '<h1>A</h1><h2 id="x">Masks</h2><h2>Optional: <em>x</em></h2><h2>Summary</h2>'
    known = registry.by_name()
    names = ("intro", "attention", "glossary")
    stills = [Still(known[name], name, text, "", *[()] * 4) for name in names]
    lines = [one.text_content() for one in pages.fromstring(contents(stills)).iter("li")]
    found = {page.name: part for part, listed in registry.parts() for page in listed}
    before, behind = found["attention"], found["glossary"]
    assert lines == ["intro", before, "attentionMasks", behind, "glossary", "Solutions"]


PRESS = """(control, isLast) => {
  if (!control) return "there is no such control";
  const seen = control.closest(":is(label, .sl-body)");
  if (control.disabled || !seen.checkVisibility()) return "it cannot be pressed";
  if (!isLast) control.click();
}"""


@needs_browser
@pytest.mark.parametrize("figure", TELLING)
def test_a_figure_has_what_is_pressed_before_it_is_printed(browser, site, figure):
    """Their controls change with the chapters: what is called otherwise cannot be found."""
    name = next(one for one in registry.pages() if f'id="{figure}"' in html_of(site, one))
    tab = browser.new_page()
    tab.goto((site / f"{name.docname}.html").as_uri())
    tab.evaluate(UNFOLD)
    tab.wait_for_selector(f"#{figure} .sl-body > :not(noscript)", state="attached")
    steps = TELLING[figure]
    for number, (words, _) in enumerate(steps, 1):
        control = tab.locator(f"#{figure} .sl-body").evaluate_handle(FIND, words)
        assert control.evaluate(PRESS, number == len(steps)) is None, (words, number)
    tab.close()


def html_of(site, page):
    """A page of the site."""
    return (site / f"{page.docname}.html").read_text(encoding="utf-8")
