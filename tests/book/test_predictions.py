"""Predict, then look: question and answer meet in the build; a reader guesses, then looks."""

import contextlib
import io
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup, Tag
from conftest import ROOT
from playwright.sync_api import Browser, Page
from site_checks import axe_faults, focus_faults, open_page, scroll_faults, watched

from book_site.predictions import plain, without_reveal
from softlookup.show import SoftLookup, prediction

pytestmark = pytest.mark.browser

NUMBER = """:::{prediction} stretch
If every vector is stretched threefold, by what factor does the *score* grow?
:::"""
STRETCH = """factor = 3.0 * 3.0
print(factor)
reveal("stretch", factor, wrong={3: "Both vectors are stretched: it counts `twice`."})"""
CHOICE = """:::{prediction} cosine
And the cosine of the angle?

- It grows, too.
- It stays $x^2$.
- It falls.
:::"""
COSINE = """print("0.95 -> 0.95")
reveal("cosine", "It stays x^2.", wrong={"It grows, too.": "The lengths cancel."})"""
ORDER = """:::{prediction} order
Order the words by their weight.

- dog
- cat
- the `a`
:::"""
WEIGHTS = (
    'reveal("order", ["cat", "the a", "dog"], wrong={("dog", "the a", "cat"): "Upside down."})'
)
SHAPE = """:::{prediction} shape
What shape has the product?
:::"""
PRODUCT = 'reveal("shape", (7, 4), wrong={(4, 7): "That is its transpose."})'
SHARE = """:::{prediction} share
What share does each of three get?
:::"""
THIRD = 'reveal("share", 1 / 3)'
BULK = """:::{prediction} bulk
How many?
:::"""
CLOSE = '1335: "Nearer.", 1336: "Near."'
MANY = f"""reveal("bulk", 1234, within=100, wrong={{1400: "That is for two.", {CLOSE}}})
show(SoftLookup())"""
PER_CENT = """:::{prediction} per-cent
What percentage of all weights is that?
:::"""
PART = 'reveal("per-cent", 57, within=0.2, wrong={50: "A half would be both alike."})'
NEXT = "## Next"
DEEP = "{#deep}\nThe score grows ninefold, as [a link](#stretch-it) says."
PRINTED = '# Checked: that it prints\nprint("checked")'
LONG = """:::{prediction} long
What shape have seven rows of sixteen numbers, one after the other?
:::"""
FLAT = 'reveal("long", (112,), wrong={(7, 16): "They stand in one row."})'
GUESSES = [
    "# Guesses\n\nA [link to what is covered](#deep).",
    NUMBER, ("", STRETCH), DEEP, ("check", PRINTED), ("hide-input", 'print("a curve")'),
    "So it is.", "## Stretch it",
    CHOICE, ("", COSINE), "It *stays*.", NEXT,
    ORDER, ("", WEIGHTS), "The cat wins.",
    SHAPE, ("", PRODUCT), "Rows are tokens.",
    "Now the columns:", ("", 'print("not covered")'), "Nor is this.",
    SHARE, ("", THIRD), "A third.",
    BULK, ("", MANY), "Many.",
    PER_CENT, ("", PART), "Most.",
    LONG, ("", FLAT), "Long.",
]  # fmt: skip

IN_A_ROW = [
    "# In a row",
    NUMBER, ("", STRETCH), "Nine.",
    f"::::{{admonition}} An aside\n{SHARE}\n::::", ("", THIRD), "A third.",
    CHOICE, ("", COSINE), "It stays.", "(a-mark)=",
    SHAPE, ("", PRODUCT), "Rows are tokens.", NEXT,
    PER_CENT, ("", PART), "The code is in sight.", ("", 'print("in sight")'), "So it is.",
    LONG, ("", FLAT), "Long.",
]  # fmt: skip


def outputs_of(source: str, names: dict) -> list[nbformat.NotebookNode]:
    """Run a cell: what it prints, and what it shows."""
    shown, printed = [], io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(prediction, "display", lambda data, raw: shown.append(data))
        exec(
            source,
            names
            | {
                "SoftLookup": SoftLookup,
                "show": lambda figure: shown.append(figure._repr_mimebundle_()),
            },
        )
    stream = nbformat.v4.new_output("stream", text=printed.getvalue())
    found = [stream] if printed.getvalue() else []
    return found + [nbformat.v4.new_output("display_data", data=data) for data in shown]


def cell_of(text: str | tuple[str, str], key: str) -> nbformat.NotebookNode:
    """A text cell, or a code cell with its outputs."""
    if isinstance(text, str):
        return nbformat.v4.new_markdown_cell(text, id=key)
    tags, source = text
    cell = nbformat.v4.new_code_cell(source, id=key, metadata={"tags": tags.split()})
    cell.outputs = outputs_of(source, {"reveal": prediction.reveal})
    cell.execution_count = 1
    return cell


def build(folder: Path, **pages: list) -> tuple[int, str]:
    """Build a book of these pages with the real machinery: the status, and what was said."""
    leave_out = shutil.ignore_patterns("__pycache__")
    for part in ("_ext", "_static"):
        shutil.copytree(ROOT / part, folder / part, ignore=leave_out)
    (folder / "chapters").mkdir()
    for name, texts in pages.items():
        cells = [cell_of(text, f"cell-{k}") for k, text in enumerate(texts)]
        language = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
        notebook = nbformat.v4.new_notebook(cells=cells, metadata=language)
        nbformat.write(notebook, folder / "chapters" / f"{name}.ipynb")
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    config["execute"] = {"execute_notebooks": "off"}
    for extension in ("lecture_map", "reference_ledger", "execute"):
        config["sphinx"]["local_extensions"].pop(extension)
    (folder / "_config.yml").write_text(yaml.safe_dump(config))
    (folder / "references.bib").write_text("")
    shutil.copy(ROOT / "chapters" / "concepts.yml", folder / "chapters")  # the search reads it
    (folder / "intro.md").write_text("# A book\n\nNothing to guess.\n")
    toc = "".join(f"  - file: chapters/{name}\n" for name in pages)
    (folder / "_toc.yml").write_text(f"format: jb-book\nroot: intro\nchapters:\n{toc}")
    book = Path(sys.executable).with_name("jupyter-book")
    command = [book, "build", ".", "-q", "-W", "-n", "--keep-going"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


@pytest.fixture(scope="module")
def guesses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with predictions of each kind."""
    folder = tmp_path_factory.mktemp("book")
    more = ["# More", NUMBER, ("", STRETCH), "Nine."]
    pages = {"01_guesses": GUESSES, "02_more": more, "03_in_a_row": IN_A_ROW}
    status, said = build(folder, **pages)
    assert status == 0, said
    return folder / "_build" / "html" / "chapters" / "01_guesses.html"


@pytest.fixture
def page(browser: Browser, guesses: Path) -> Iterator[Page]:
    """The page, opened; at the end it must have reported no fault."""
    with watched(browser) as (page, faults, _):
        page.set_default_timeout(20_000)
        open_page(page, guesses)
        yield page
        assert faults == []


def field(page: Page, name: str) -> str:
    """The selector of a prediction."""
    return f"#prediction-{name}"


def guess(page: Page, name: str, text: str) -> str:
    """Write a guess, press Enter; what is said of it."""
    page.fill(f"#prediction-{name}-guess", text)
    page.press(f"#prediction-{name}-guess", "Enter")
    return told(page, name)


def told(page: Page, name: str) -> str:
    """What the page says below a field."""
    return page.inner_text(f"#prediction-{name} [role=status]")


COVERS = """() => Object.fromEntries([...document.querySelectorAll(".bk-covered")].map((box) => {
  const under = box.querySelector(".bk-under");
  const seen = [...under.querySelectorAll("p, pre, figure")].some((one) =>
    one.checkVisibility({visibilityProperty: true}));
  const cover = box.querySelector(".bk-cover");
  const state = {inert: under.inert, seen, cover: cover.checkVisibility(), line: cover.innerText};
  return [box.dataset.prediction, state];
}))"""
COVERED = {"inert": True, "seen": False, "cover": True, "line": "Predict first"}


def open_ones(page: Page) -> set[str]:
    """The predictions whose answers can be seen; the others are covered in every respect."""
    found = page.evaluate(COVERS)
    opened = {name for name, state in found.items() if state["seen"]}
    assert all(state == COVERED for name, state in found.items() if name not in opened)
    assert not any(found[name]["inert"] or found[name]["cover"] for name in opened)
    return opened


ALL = {"stretch", "cosine", "order", "shape", "share", "bulk", "per-cent", "long"}


def test_what_follows_a_prediction_is_covered_up_to_code_prediction_or_heading(page):
    assert open_ones(page) == set()
    under = page.evaluate("""() => [...document.querySelectorAll(".bk-under")].map((one) =>
        one.textContent.replaceAll("Copy to clipboard", "").replace(/\\s+/g, " ").trim())""")
    assert under[0].startswith("9.0 Answer to the prediction9Not 3: Both ")
    assert "The score grows ninefold, as a link says." in under[0]
    assert "Checked: that it prints" in under[0]
    assert under[0].endswith('print("a curve") So it is.')
    assert under[2].endswith("The cat wins.")
    assert under[3].endswith("Rows are tokens.")
    for seen in ("Now the columns:", "not covered", "Nor is this."):
        assert page.get_by_text(seen).last.is_visible()


def test_the_code_that_the_page_shows_does_not_give_the_answer_away(page):
    codes = page.locator(".cell_input:not(.bk-under *)").all_inner_texts()
    assert "factor = 3.0 * 3.0\nprint(factor)" in [code.strip() for code in codes]
    assert "reveal" not in "".join(codes)
    assert all(code.strip() for code in codes)


NUMBERS = {
    "9": "Right: 9.",
    "9.0": "Right: 9.",
    "3²": "Please write a number, such as 12, 0.5, 1/3 or 40 %.",
    "": "Please write a number, such as 12, 0.5, 1/3 or 40 %.",
    "1/0": "Please write a number, such as 12, 0.5, 1/3 or 40 %.",
    "3^2": "Right: 9.",
    "9x": "Right: 9.",
    "900 %": "Right: 9.",
    "9 %": "Right: 9.",
    "sqrt(81)": "Right: 9.",
    "0.009 thousand": "Right: 9.",
    "18/2": "Right: 9.",
    "3": "You said 3; it is 9: 6 too small. Both vectors are stretched: it counts twice.",
    "27": "You said 27; it is 9: off by a factor of 3.",
    "10": "You said 10; it is 9: 1 too large.",
    "8,5": "You said 8.5; it is 9: 5.6 % too small.",
    "−9": "You said −9; it is 9: the other sign.",
    "−8.6": "You said −8.6; it is 9: the other sign.",
    "-10": "You said −10; it is 9: the other sign.",
    "-3": "You said −3; it is 9: the other sign, and off by a factor of 3.",
    "0": "You said 0; it is 9: off by 9.",
    "two": "You said 2; it is 9: 7 too small.",
    "nine": "Right: 9.",
    "9 times": "Right: 9.",
    "9 of them": "Right: 9.",
    "times": "Please write a number, such as 12, 0.5, 1/3 or 40 %.",
    "constructor": "Please write a number, such as 12, 0.5, 1/3 or 40 %.",
    "ln 0": "Please write a number, such as 12, 0.5, 1/3 or 40 %.",
    "1,000": "You said 1000; it is 9: off by a factor of about 110.",
    "1e3": "You said 1000; it is 9: off by a factor of about 110.",
    "10 000": "You said 10,000; it is 9: off by a factor of about 1100.",
}
PER_CENTS = {
    "57": "Right: 57 %.",
    "57 %": "Right: 57 %.",
    "0.57": "Right: 57 %.",
    "4/7": "Right: 57.14 % is close enough to 57 %.",
    "2/3": "You said 66.67 %; it is 57 %: 9.7 points too high.",
    "50": "You said 50 %; it is 57 %: 7 points too low. A half would be both alike.",
    "56": "You said 56 %; it is 57 %: 1 point too low.",
}
SHARES = {
    "1/3": "Right: 0.3333.",
    "0,33": "Right: 0.33 is close enough to 0.3333.",
    "33 %": "Right: 0.33 is close enough to 0.3333.",
    ".3": "You said 0.3; it is 0.3333: 10 % too small.",
    "33": "You said 33; it is 0.3333: off by a factor of about 99.",
}
BULKS = {
    "1,300": "Right: 1300 is close enough to 1234.",
    "1.2k": "Right: 1200 is close enough to 1234.",
    "1.2 thousand": "Right: 1200 is close enough to 1234.",
    "1399": "You said 1399; it is 1234: 165 too large. That is for two.",
    "1,335": "You said 1335; it is 1234: 101 too large. Nearer.",
    "1,336": "You said 1336; it is 1234: 102 too large. Near.",
}
SHAPES = {
    "7, 4": "Right: (7, 4).",
    "7×4": "Right: (7, 4).",
    "7 x 4": "Right: (7, 4).",
    "7 by 4": "Right: (7, 4).",
    "(7, 4)": "Right: (7, 4).",
    "[7 4]": "Right: (7, 4).",
    "torch.Size([7, 4])": "Right: (7, 4).",
    "4,7": "You said (4, 7); it is (7, 4): the right lengths, on the wrong axes. That is its "
    "transpose.",
    "7,5": "You said (7, 5); it is (7, 4): axis 1 has length 4, not 5.",
    "(7,)": "You said (7,); it is (7, 4): it has 2 axes, not 1.",
    "()": "You said (); it is (7, 4): it has 2 axes, not 0.",
    "7.5": "Please write the length of each axis, such as 7, 4.",
    "": "Please write the length of each axis, such as 7, 4.",
}

ONE_LENGTH = {
    "112": "Right: (112,).",
    "(112,)": "Right: (112,).",
    "7*16": "Right: (112,).",
    "7 · 16": "Right: (112,).",
    "(7·16,)": "Right: (112,).",
    "7*15": "You said (105,); it is (112,): axis 0 has length 112, not 105.",
    "7×16": "You said (7, 16); it is (112,): it has 1 axis, not 2. They stand in one row.",
    "7, 16": "You said (7, 16); it is (112,): it has 1 axis, not 2. They stand in one row.",
}


WRITTEN = {
    "stretch": NUMBERS,
    "share": SHARES,
    "bulk": BULKS,
    "per-cent": PER_CENTS,
    "long": ONE_LENGTH,
    "shape": SHAPES,
}


@pytest.mark.parametrize(("name", "expected"), WRITTEN.items())
def test_a_guess_is_read_and_it_says_how_far_off_it_was_and_why(page, name, expected):
    said, opened = {}, {}
    for text in expected:
        said[text] = guess(page, name, text)
        opened[text] = open_ones(page)
        page.click("#bk-forget")
        assert open_ones(page) == set()
    assert said == expected
    assert opened == {text: set() if words.startswith("Please") else {name}
                      for text, words in expected.items()}  # fmt: skip


def test_choices_are_radio_buttons_and_a_known_wrong_one_is_explained(page):
    box = page.locator("#prediction-cosine")
    box.locator("[type=submit]").click()
    assert told(page, "cosine") == "Please choose one of the lines."
    box.get_by_role("radio", name="It grows, too.").check()
    box.locator("[type=submit]").click()
    words = told(page, "cosine").replace("\n", "")
    assert words.startswith("You said “It grows, too”; the answer is “It stays ")
    assert words.endswith(" The lengths cancel.")
    assert box.locator("[role=status] mjx-container").count() == 1  # the formula is set there, too
    page.click("#bk-forget")
    box.get_by_role("radio").nth(1).check()
    page.keyboard.press("Enter")
    assert told(page, "cosine").startswith("Right: It stays ")
    assert open_ones(page) == {"cosine"}


def lines(page: Page) -> list[str]:
    """The lines to order, as they stand."""
    return page.locator("#prediction-order .bk-item").all_inner_texts()


def test_an_order_is_made_by_keyboard_and_the_button_keeps_the_focus(page):
    assert lines(page) == ["dog", "cat", "the a"]
    page.get_by_role("button", name="Move down: dog").focus()
    page.keyboard.press("Enter")
    assert told(page, "order") == "dog: place 2 of 3."
    page.keyboard.press("Enter")
    assert lines(page) == ["cat", "the a", "dog"]
    page.keyboard.press("Enter")
    assert lines(page) == ["cat", "the a", "dog"]
    focused = "() => document.activeElement.ariaLabel"
    assert page.evaluate(focused) == "Move down: dog"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert (page.evaluate(focused), lines(page)) == ("Move up: dog", ["cat", "dog", "the a"])
    page.click("#prediction-order [type=submit]")
    assert told(page, "order") == "2 of 3 comparisons are right. The order is: cat, the a, dog."
    page.get_by_role("button", name="Move down: dog").click(force=True)  # it is too late
    assert lines(page) == ["cat", "dog", "the a"]
    page.click("#bk-forget")
    assert lines(page) == ["dog", "cat", "the a"]


def test_a_right_order_is_praised_and_a_known_wrong_one_explained(page):
    page.get_by_role("button", name="Move up: the a").click()
    page.click("#prediction-order [type=submit]")
    expected = "0 of 3 comparisons are right. The order is: cat, the a, dog. Upside down."
    assert told(page, "order") == expected
    page.click("#bk-forget")
    for _ in range(2):
        page.get_by_role("button", name="Move down: dog").click()
    page.click("#prediction-order [type=submit]")
    assert told(page, "order") == "Right: cat, the a, dog."


def test_show_me_lifts_the_cover_without_a_guess(page):
    page.click("#prediction-shape [data-show]")
    assert told(page, "shape") == "The answer: (7, 4)."
    assert open_ones(page) == {"shape"}


def test_what_is_said_is_announced_and_the_focus_stays(page):
    assert page.get_attribute("#prediction-stretch [role=status]", "aria-live") in (None, "polite")
    page.fill("#prediction-stretch-guess", "4")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert told(page, "stretch")
    assert page.evaluate("() => document.activeElement.textContent") == "Check my guess"
    page.keyboard.press("Enter")  # a second time it changes nothing
    assert told(page, "stretch").startswith("You said 4;")


def tab_stops(page: Page, n: int) -> list[str]:
    """What the tab key reaches, from the article's first link on."""
    page.focus("article a[href]:not(.headerlink)")
    names = []
    for _ in range(n):
        page.keyboard.press("Tab")
        names.append(
            page.evaluate("""() => document.activeElement.ariaLabel
            || document.activeElement.innerText || document.activeElement.id""")
        )
    return names


def test_nothing_covered_is_reached_by_keyboard(page):
    before = ["prediction-stretch-guess", "Check my guess", "Show me", "Predict first"]
    # The buttons that copy code have no words of their own.
    stops = [stop for stop in tab_stops(page, 7) if stop]
    assert stops[:4] == before
    assert "a link" not in stops
    page.click("#prediction-stretch [data-show]")
    assert "a link" in tab_stops(page, 7)


def test_nothing_covered_is_read_out(page):
    tree = page.locator("article").aria_snapshot()
    assert "Predict first" in tree
    assert "ninefold" not in tree
    page.click("#prediction-stretch [data-show]")
    assert "ninefold" in page.locator("article").aria_snapshot()


def test_the_line_on_the_cover_leads_to_the_field(page):
    page.get_by_role("link", name="Predict first").nth(3).click()
    assert page.evaluate("() => document.activeElement.id") == "prediction-shape-guess"


PLACES = """() => {
  const all = [...document.querySelectorAll(".bk-covered, h2, .bk-prediction, footer")];
  return all.map((one) => {
  const {top, height} = one.getBoundingClientRect();
  return [top + scrollY, height];
})}"""
HEIGHTS = """() => Object.fromEntries([...document.querySelectorAll(".bk-covered")].map((box) =>
  [box.dataset.prediction, box.getBoundingClientRect().height]))"""
GLANCE = 150  # pixels: what a covered result may take at most


@pytest.mark.parametrize("width", [390, 1280])
def test_lifting_the_cover_of_a_short_result_moves_nothing(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    before = page.evaluate(PLACES)
    page.click("#prediction-shape [data-show]")
    page.click("#prediction-share [data-show]")
    assert open_ones(page) == {"shape", "share"}
    assert page.evaluate(PLACES) == before
    assert not page.locator(".sl-reveal:visible").count()  # the field says the same


@pytest.mark.parametrize("width", [390, 1280])
def test_a_long_result_takes_a_glance_until_it_is_seen_and_then_all_it_needs(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    covered, before = page.evaluate(HEIGHTS), page.evaluate(PLACES)
    page.check("#bk-show-every-result")
    whole = page.evaluate(HEIGHTS)
    page.uncheck("#bk-show-every-result")
    assert covered == {name: min(GLANCE, height) for name, height in whole.items()}
    assert whole["bulk"] > 2 * GLANCE > 2 * whole["shape"]
    page.locator("#prediction-bulk").scroll_into_view_if_needed()
    field_at = "() => document.querySelector('#prediction-bulk').getBoundingClientRect().top"
    seen_at = page.evaluate(field_at)
    page.click("#prediction-bulk [data-show]")
    assert page.evaluate(field_at) == seen_at  # the reader's place stays
    assert page.evaluate(HEIGHTS) == {**covered, "bulk": whole["bulk"]}
    after = page.evaluate(PLACES)
    k = next(k for k, place in enumerate(after) if place != before[k])
    assert [before[k][1], after[k][1]] == [GLANCE, whole["bulk"]]
    grown = whole["bulk"] - GLANCE  # by this the rest moves, and no further
    assert after[k + 1 :] == [[top + grown, height] for top, height in before[k + 1 :]]
    page.click("#bk-forget")
    assert page.evaluate(HEIGHTS) == covered


@pytest.mark.parametrize("control", ["#bk-forget", "#bk-show-every-result"])
def test_who_opens_or_closes_all_keeps_the_place(page, control):
    page.click("#prediction-bulk [data-show]")
    at = f"() => document.querySelector('{control}').getBoundingClientRect().top"
    page.locator(control).scroll_into_view_if_needed()
    seen_at = page.evaluate(at)
    page.click(control)
    page.wait_for_timeout(100)
    assert page.evaluate(at) == pytest.approx(seen_at, abs=1)


def test_on_paper_a_long_result_has_all_its_height(page):
    cut_off = """() => [...document.querySelectorAll(".bk-under")].filter((under) =>
        under.getBoundingClientRect().bottom > under.parentNode.getBoundingClientRect().bottom + 1)
        .map((under) => under.parentNode.dataset.prediction)"""
    assert "bulk" in page.evaluate(cut_off)
    page.emulate_media(media="print")
    assert page.evaluate(cut_off) == []
    page.emulate_media(media="screen")


def test_guesses_are_remembered_and_forgotten_page_by_page(page, guesses):
    guess(page, "stretch", "27")
    page.get_by_role("button", name="Move down: dog").click()
    page.click("#prediction-order [type=submit]")
    page.click("#prediction-share [data-show]")
    said = [told(page, name) for name in ("stretch", "order", "share")]
    open_page(page, guesses.with_name("02_more.html"))
    assert open_ones(page) == set()  # the same name on another page
    assert guess(page, "stretch", "9") == "Right: 9."
    open_page(page, guesses)
    assert [told(page, name) for name in ("stretch", "order", "share")] == said
    assert page.input_value("#prediction-stretch-guess") == "27"
    assert lines(page) == ["cat", "dog", "the a"]
    assert open_ones(page) == {"stretch", "order", "share"}
    page.click("#bk-forget")
    assert page.inner_text(".bk-predictions > [role=status]") == "Forgotten."
    assert open_ones(page) == set()
    assert page.input_value("#prediction-stretch-guess") == ""
    open_page(page, guesses)
    assert open_ones(page) == set()
    open_page(page, guesses.with_name("02_more.html"))
    assert open_ones(page) == {"stretch"}


def test_a_guess_at_another_question_is_none(page, guesses):
    guess(page, "stretch", "27")
    page.evaluate("""() => {
      const [key] = Object.keys(localStorage).filter((one) => one.startsWith("guesses "));
      const kept = JSON.parse(localStorage.getItem(key));
      kept.stretch.question = "of last year";
      localStorage.setItem(key, JSON.stringify(kept));
    }""")
    open_page(page, guesses)
    assert open_ones(page) == set()
    assert page.input_value("#prediction-stretch-guess") == ""


def test_where_a_browser_may_remember_nothing_all_else_works(browser, guesses):
    context = browser.new_context()
    context.add_init_script("""Object.defineProperty(window, "localStorage",
        {get() { throw new DOMException("forbidden", "SecurityError"); }})""")
    page = context.new_page()
    page.goto(guesses.as_uri())
    assert open_ones(page) == set()
    assert guess(page, "stretch", "9") == "Right: 9."
    page.check("#bk-show-every-result")
    assert open_ones(page) == ALL
    page.uncheck("#bk-show-every-result")
    page.click("#bk-forget")
    assert open_ones(page) == set()
    context.close()


def test_one_switch_shows_every_result_on_every_page(page, guesses):
    page.get_by_role("switch", name="Show every result").check()
    assert open_ones(page) == ALL
    open_page(page, guesses.with_name("02_more.html"))
    page.wait_for_selector("#bk-show-every-result:checked")
    assert open_ones(page) == {"stretch"}
    page.uncheck("#bk-show-every-result")
    assert open_ones(page) == set()
    open_page(page, guesses)
    page.wait_for_selector("#bk-show-every-result:not(:checked)")
    assert open_ones(page) == set()


def test_the_switch_is_the_same_in_every_tab(page, guesses):
    other = page.context.new_page()
    open_page(other, guesses.with_name("02_more.html"))
    page.check("#bk-show-every-result")
    other.wait_for_selector("#bk-show-every-result:checked")
    assert open_ones(other) == {"stretch"}
    other.close()


def test_who_follows_a_link_to_what_is_covered_sees_it(page, guesses):
    page.click("text=link to what is covered")
    page.wait_for_selector("#deep", state="visible")
    assert open_ones(page) == {"stretch"}
    page.click("#bk-forget")
    assert open_ones(page) == set()
    page.click("text=link to what is covered")  # the address is the same
    assert open_ones(page) == {"stretch"}
    page.goto("about:blank")
    page.goto(f"{guesses.as_uri()}#deep")
    assert open_ones(page) == {"stretch"}
    assert (
        0
        <= page.evaluate("() => document.getElementById('deep').getBoundingClientRect().top")
        < 720
    )


def test_paper_shows_everything_and_no_controls(page):
    page.emulate_media(media="print")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert page.locator("text=ninefold").is_visible()
    assert page.locator("figure").is_visible()
    assert page.locator(".sl-reveal li:has-text('Not 3')").is_visible()
    controls = ".bk-prediction :is(input, button), .bk-cover, .bk-predictions, .bk-verdict"
    assert page.locator(controls).count() > 20
    seen = [one.inner_html() for one in page.locator(controls).all() if one.is_visible()]
    page.emulate_media(media="screen")
    assert seen == []


def test_without_javascript_nothing_is_covered_and_the_question_is_plain_text(browser, guesses):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(guesses.as_uri())
    for words in ("by what factor", "It falls.", "ninefold", "Rows are tokens."):
        assert page.locator(f"text={words}").first.is_visible()
    controls = ".bk-prediction :is(input, button), .bk-cover, .bk-predictions, .bk-verdict"
    assert not [one for one in page.locator(controls).all() if one.is_visible()]
    assert page.locator(".sl-reveal summary").first.is_visible()
    context.close()


def test_without_the_script_that_lifts_the_covers_there_are_none(browser, guesses):
    context = browser.new_context()
    context.route("**/predictions.js*", lambda route: route.abort())
    page = context.new_page()
    page.goto(guesses.as_uri())
    assert page.locator("text=ninefold").is_visible()
    assert not page.locator(".bk-cover").first.is_visible()
    context.close()


FRAMES = """(() => {
  window.flashes = 0; window.shifts = [];
  new PerformanceObserver((list) => list.getEntries().forEach((one) => shifts.push(one.value)))
    .observe({type: "layout-shift", buffered: true});
  const look = () => {
    const under = [...document.querySelectorAll(".bk-under")];
    flashes += under.some((one) => getComputedStyle(one).visibility !== "hidden");
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})()"""


def test_nothing_covered_flashes_and_nothing_moves_while_the_page_loads(browser, guesses):
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(FRAMES)
    # Every script but those in the head comes late: what they do is not what covers.
    late = lambda route: (page.wait_for_timeout(150), route.continue_())  # noqa: E731
    page.route("**/predictions.js*", late)
    page.goto(guesses.as_uri())
    page.wait_for_timeout(100)
    assert page.evaluate("() => flashes") == 0
    places = (
        "() => [...document.querySelectorAll('form, .bk-covered')].map((one) => one.offsetHeight)"
    )
    with_script = page.evaluate(places)
    page.evaluate(
        "() => document.querySelectorAll('.bk-under').forEach((one) => one.inert = false)"
    )
    assert page.evaluate(places) == with_script
    context.close()


def test_a_figure_that_was_covered_answers_as_ever(page):
    size = """() => {
        const {width, height} = document.querySelector("figure svg").getBoundingClientRect();
        return [width, height];
    }"""
    covered = page.evaluate(size)
    guess(page, "bulk", "1")
    assert page.evaluate(size) == covered
    assert min(covered) > 50
    slider = page.locator("figure input[type=range]").first
    text = "() => document.querySelector('figure').innerText"
    before = page.evaluate(text)
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(text) != before


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_state_is_accessible_at_every_width(browser, guesses, width, scheme):
    with watched(browser, viewport={"width": width, "height": 900}, color_scheme=scheme) as (
        page, faults, _,
    ):  # fmt: skip
        open_page(page, guesses)
        assert axe_faults(page) + scroll_faults(page) == []
        guess(page, "stretch", "x")
        guess(page, "shape", "4,7")
        page.click("#prediction-cosine [data-show]")
        page.click("#prediction-order [type=submit]")
        assert axe_faults(page) + scroll_faults(page) + focus_faults(page, 12) == []
        assert faults == []


def test_every_target_is_large_enough(page):
    page.set_viewport_size({"width": 390, "height": 900})
    poor = page.evaluate("""() => [...document.querySelectorAll(".bk-prediction :is(button, label, "
        + "[type=text]), .bk-cover a, .bk-predictions :is(label, button)")]
        .filter((one) => { const {height} = one.getBoundingClientRect(); return height < 24; })
        .filter((one) => !one.matches(".bk-guess > label")).map((one) => one.outerHTML)""")
    assert poor == []


def test_a_page_without_predictions_has_neither_switch_nor_cover(guesses):
    html = (guesses.parents[1] / "intro.html").read_text(encoding="utf-8")
    assert "bk-covers" not in html
    assert "bk-show-every-result" not in html
    assert "bk-show-every-result" in guesses.read_text(encoding="utf-8")


def test_the_search_finds_question_and_answer(guesses):
    path = guesses.parents[1] / "_static" / "search-entries.js"
    entries = path.read_text(encoding="utf-8")
    for word in ("threefold", "ninefold"):
        assert word in entries


# One question after the other ---------------------------------------------------------------------

SAY_ALL = {
    "static-temperature",
    "nlm-overfit-verbs",
    "soft-tie",
    "transformer-source",
    "objectives-place",
}
"""The book's questions that stand right below the cover of another one. What leads over to them
lies under that cover, so each must say by itself all that a guess needs, and nothing that answers
the other one. Somebody has to read that before a name is added; a heading of its own spares a
question the list.
"""


@lru_cache(maxsize=1)  # two rules are asked of each page
def questions(html: str) -> list[Tag]:
    """The predictions of a page."""
    return BeautifulSoup(html, "lxml").select(".bk-prediction")


def name_of(question: Tag) -> str:
    """The name of a prediction."""
    return question["id"].removeprefix("prediction-")


def below_a_cover(html: str) -> set[str]:
    """The predictions that follow right on what another one covers."""

    def is_seen(tag: Tag) -> bool:
        return tag.name != "span" or tag.get_text() != ""  # a mark for links is empty

    found = set()
    for question in questions(html):
        before = question.find_previous_sibling(is_seen)
        if before is not None and "bk-covered" in before.get("class", []):
            found.add(name_of(question))
    return found


def under_a_cover(html: str) -> set[str]:
    """The predictions that lie under what another one covers."""
    return {name_of(one) for one in questions(html) if one.find_parent(class_="bk-covered")}


def test_no_question_lies_under_a_cover_and_one_right_below_is_found(guesses):
    html = guesses.with_name("03_in_a_row.html").read_text(encoding="utf-8")
    assert len(questions(html)) == 6
    assert under_a_cover(html) == set()  # not the one in an aside, either
    assert below_a_cover(html) == {"cosine", "shape"}


def test_the_question_in_an_aside_can_be_answered_first(browser, guesses):
    with watched(browser) as (page, faults, _):
        open_page(page, guesses.with_name("03_in_a_row.html"))
        assert guess(page, "share", "1/3") == "Right: 0.3333."
        assert open_ones(page) == {"share"}
        assert faults == []


def test_what_a_guess_needs_lies_under_no_cover(site: Path):
    below = set()
    for path in sorted((site / "chapters").glob("*.html")):
        html = path.read_text(encoding="utf-8")
        if "bk-prediction" in html:
            assert under_a_cover(html) == set(), path.name
            below |= below_a_cover(html)
    assert below == SAY_ALL


# Pairing, when the book is built ------------------------------------------------------------------

LIST = ":::{prediction} stretch\nWhich?\n\n- more\n- less\n:::"
FAULTS = {
    "no reveal": ([NUMBER, "Nothing."], "no code cell after the prediction 'stretch' reveals it"),
    "a reveal before": (
        [("", STRETCH), NUMBER],
        "reveal('stretch'): no prediction before it has this name",
    ),
    "no question": (["Text.", ("", STRETCH)], "reveal('stretch'): no prediction before it"),
    "two of a name": (
        [NUMBER, NUMBER, ("", STRETCH)],
        "two predictions have the name 'stretch'",
    ),
    "revealed twice": (
        [NUMBER, ("", STRETCH), ("", STRETCH)],
        "the prediction 'stretch' is revealed twice",
    ),
    "no such choice": (
        [LIST, ("", 'reveal("stretch", "equal")')],
        "the prediction 'stretch': 'equal' is none of its choices: ['more', 'less']",
    ),
    "no such wrong choice": (
        [LIST, ("", 'reveal("stretch", "more", wrong={"equal": "No."})')],
        "the prediction 'stretch': 'equal' is none of its choices: ['more', 'less']",
    ),
    "other things to order": (
        [LIST, ("", 'reveal("stretch", ["more", "equal"])')],
        "['more', 'equal'] orders other things than its list: ['more', 'less']",
    ),
    "in order already": (
        [LIST, ("", 'reveal("stretch", ["more", "less"])')],
        "its list stands in the right order already",
    ),
    "no choices": (
        [NUMBER, ("", 'reveal("stretch", "more")')],
        "its answer needs a list of choices at the end of the question",
    ),
    "choices for a number": (
        [LIST, ("", STRETCH)],
        "it ends with a list, but its answer is a number",
    ),
    "an item twice": (
        [LIST.replace("less", "more"), ("", 'reveal("stretch", "more")')],
        "an item stands twice in its list: ['more', 'more']",
    ),
    "a hidden reveal": (
        [NUMBER, ("remove-output", STRETCH)],
        "no code cell after the prediction 'stretch' reveals it",
    ),
    "a name with spaces": (
        [":::{prediction} My-guess\nWhat?\n:::"],
        "a prediction's name is lower-case words and hyphens; got 'My-guess'",
    ),
    "no words": ([":::{prediction} stretch\n:::", ("", STRETCH)], "prediction"),
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str]:
    """A book with a page for each fault: how its build ends, and what is said."""
    names = {fault: f"{k:02}_{fault.replace(' ', '_')}" for k, fault in enumerate(FAULTS, start=1)}
    pages = {names[fault]: [f"# {fault}", *texts] for fault, (texts, _) in FAULTS.items()}
    return build(tmp_path_factory.mktemp("faulty"), **pages)


@pytest.mark.parametrize("fault", FAULTS)
def test_what_does_not_fit_together_fails_the_build_in_words(faulty, fault):
    status, said = faulty
    assert status != 0
    told = [line for line in said.splitlines() if f"_{fault.replace(' ', '_')}" in line]
    assert any(FAULTS[fault][1] in line for line in told), said


def test_the_markup_of_choices_does_not_matter():
    assert plain("It “stays” at  `x` and $y$, *here*") == 'It "stays" at x and y, here'


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        (STRETCH, "factor = 3.0 * 3.0\nprint(factor)"),
        ('reveal(\n    "a",\n    1,\n)\nx = 1', "x = 1"),
        ('%time x = 1\nreveal("a", x)', "%time x = 1"),
        ('reveal("a", 1)', ""),
        ("print(reveal)", "print(reveal)"),
        (
            'x = 1\nprint(x)\nlow = x < 2\nsaid = {True: "low"}\nreveal("a", said[low])',
            "x = 1\nprint(x)",
        ),
        ('x = 1\nprint(2)\nreveal("a", x)', "x = 1\nprint(2)"),
        ('x, y = 1, 2\nreveal("a", x)\nprint(y)', "x, y = 1, 2\nprint(y)"),
        ('f(x)\nx[0] = 1\nreveal("a", x)', "f(x)\nx[0] = 1"),
    ],
)
def test_the_call_of_reveal_is_left_out_of_the_code(code, shown):
    assert without_reveal(code) == shown
