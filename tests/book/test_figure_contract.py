"""What every figure that answers keeps to, whatever it shows.

The figures are found by their folders in `softlookup.show.figures`; `test_<folder>.py` beside this
file has a function `example` that makes one with words and numbers of a reader's kind. Chromium
opens it and moves every control that it has. What a figure teaches is tested in its own file.
"""

import importlib
import json
import re
from functools import cache
from pathlib import Path

import pytest
from conftest import DARK, LIGHT
from site_checks import COLOURS, axe_faults, scroll_faults

from softlookup import show
from softlookup.show.engine import engine_source
from softlookup.show.figures import FIGURES

SHOW = Path(show.__file__).parent
FOLDERS = sorted(kind.folder().name for kind in FIGURES.values())
each_figure = pytest.mark.parametrize("folder", FOLDERS)
LARGEST = 100_000  # bytes of HTML, and as many for the engine where a figure carries it
READY = ".sl-body > *:not(noscript)"
TOUR = """([nth, probe]) => {
  const body = document.querySelectorAll(".sl-body")[nth];
  const tell = (one, ...names) => names.forEach((name) =>
    one.dispatchEvent(new Event(name, {bubbles: true})));
  const look = new Function(`return (${probe})();`);
  const found = [];
  for (let k = 0; k < 400; k += 1) {
    const one = [...body.querySelectorAll(
        "button, input, select, textarea, summary, [role=slider]")]
      .filter((one) => one.checkVisibility({visibilityProperty: true}) && !one.disabled)[k];
    if (!one) return found;
    if (one.matches("button, summary, [type=radio], [type=checkbox]")) one.click();
    else if (one.type === "range") {
      one.value = k % 2 ? one.max : one.min;
      tell(one, "input", "change");
    } else if (one.matches("select")) {
      one.selectedIndex = one.options.length - 1;
      tell(one, "input", "change");
    } else if (one.matches("input, textarea")) {
      one.value = one.type !== "number" ? `${one.value} ${one.value}` : k % 2 ? "" : "1";
      tell(one, "input", "change");
    } else {
      const key = {key: "ArrowLeft", shiftKey: true, bubbles: true, cancelable: true};
      one.dispatchEvent(new KeyboardEvent("keydown", key));
    }
    found.push([one.outerHTML.slice(0, 120), look()]);
  }
  throw new Error("the controls have no end");
}"""
"""Moves every control of a figure, one after the other; a probe looks at the page after each."""
HEIGHT = "() => document.querySelector('figure').getBoundingClientRect().height"
HEIGHTS = """(leave) => {
  const body = document.querySelector(".sl-body");
  const found = [];
  const note = (one, value) => {
    const {height} = body.closest("figure").getBoundingClientRect();
    found.push([`${one.outerHTML.slice(0, 120)} at ${value}`, height]);
  };
  const put = (one, value) => {
    one.value = value;
    for (const name of ["input", "change"]) one.dispatchEvent(new Event(name, {bubbles: true}));
    note(one, value);
  };
  const press = (one, key) => {
    const event = {key, shiftKey: true, bubbles: true, cancelable: true};
    one.dispatchEvent(new KeyboardEvent("keydown", event));
  };
  for (let k = 0; k < 400; k += 1) {
    const one = [...body.querySelectorAll("button, input, select, [role=slider]")]
      .filter((one) => one.checkVisibility({visibilityProperty: true}) && !one.disabled)
      .filter((one) => !one.matches(leave))[k];
    if (!one) return found;
    if (one.matches("button, [type=radio], [type=checkbox]")) {
      for (let n = 0; n < 4 && one.isConnected && !one.disabled; n += 1) {
        one.click();
        note(one, `press ${n + 1}`);
      }
    } else if (one.type === "range") {
      const [low, high, home] = [Number(one.min || 0), Number(one.max || 100), one.value];
      for (const share of [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]) put(one, low + share * (high - low));
      for (const value of [home, k % 2 ? low : high]) put(one, value);
    } else if (one.matches("select")) {
      for (const {value} of one.options) put(one, value);
    } else if (one.type === "number") {
      for (const value of [one.min, one.max, "", 1]) put(one, value);
    } else {
      for (const key of ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"]) {
        for (let n = 0; n < 9 && one.isConnected; n += 1) press(one, key);
        note(one, key);
      }
    }
  }
  throw new Error("the controls have no end");
}"""
"""Moves every control of a figure to its ends and between; how tall the figure is after each."""
LINE = 8  # pixels, less than a line of text
OWN_WORDS = "textarea, [type=text]"  # the reader's own text is as long as it is
ANSWERS = {
    "bug_hunt": ".bh-ask, .bh-line",  # runs the tests, or names the bug, which runs them, too
    "workshop": "[name=bench]",  # each bench is a figure of its own
    "training_ground": "select[name=text]",  # "my own" shows a field for the reader's text
}
"""What shows more of a figure when the reader asks for it, and may be asked for at any time."""
OPENINGS = {
    "matrix_microscope": ".mm-open",  # its lower half
    "referent_switch": "[name=answer] >> nth=0",  # a guess, before the words are shown
    "workshop": ".wk-fetch",  # the model, which a reader asks for
}
"""What is pressed before there is all of a figure; from then on it is as tall as it is."""
STATE = """() => {
  const body = document.querySelectorAll(".sl-body")[%d];
  const values = [...body.querySelectorAll("input, select, textarea")].map((one) =>
    [one.value, one.checked, one.disabled]);
  return JSON.stringify([body.innerHTML, values]);
}"""
DRESS = "(style) => { document.querySelector('head > style').textContent = style; }"
WIDE = "() => document.documentElement.scrollWidth - innerWidth"
SPOKEN = """() => [...document.querySelectorAll("[aria-live=polite], [role=status]")]
    .map((one) => one.textContent.trim())"""
UNQUIET = """() => [...document.querySelectorAll(
      ".sl-body :is(button, input, select, textarea, [role=slider])")]
    .filter((one) => one.dataset.lmSuppressShortcuts !== "true")
    .map((one) => one.outerHTML.slice(0, 100))"""
MOVING = """() => [...document.querySelectorAll(".sl-body *")].filter((one) => {
    const {transitionDuration, animationName} = getComputedStyle(one);
    return /[1-9]/.test(transitionDuration) || animationName !== "none";
  }).map((one) => one.outerHTML.slice(0, 100))"""
HELD = """() => {
  const one = document.activeElement;
  const place = [...document.querySelectorAll("input")].indexOf(one);  // of a radio button
  return [one.value, one.checked, one.ariaValueText, one.ariaValueNow, place].join();
}"""
FOCUSED = """() => document.activeElement.closest(".sl-body")
    ? [...document.querySelectorAll(".sl-body *")].indexOf(document.activeElement) : null"""
STOPS = """() => {
  const all = [...document.querySelectorAll(".sl-body *")];
  return all.map((one, place) => [one, place]).filter(([one]) => {
    if (!one.matches("button, input, select, textarea, summary, [role=slider]")) return false;
    if (!one.checkVisibility({visibilityProperty: true}) || one.disabled) return false;
    const roves = one.matches("button, [role=slider]") && all.some((other) =>
      other.tabIndex === 0 && other.classList[0] === one.classList[0]);
    if (one.tabIndex < 0 && roves) return false;  // arrow keys lead to it from another
    if (one.type !== "radio") return true;
    const group = all.filter((other) =>
      other.type === "radio" && other.name === one.name && other.form === one.form);
    const stop = group.find((other) => other.checked && !other.disabled) ?? group[0];
    return one === stop;
  }).map(([one, place]) => [place, one.outerHTML.slice(0, 120), one.tagName, one.type ?? "",
    one.matches("[role=slider], [type=range]")]);
}"""
HARD_TO_HIT = """() => {
  const scrolls = (one) => one && (["auto", "scroll"].includes(getComputedStyle(one).overflowX)
    && one.scrollWidth > one.clientWidth || scrolls(one.parentElement.closest(".sl-body *")));
  const targets = document.querySelectorAll(`.sl-body :is(button, select, textarea, summary,
    label:has(> input[type=radio]), label:has(> input[type=checkbox]), .sl-reach,
    input:not([type=radio], [type=checkbox]))`);
  return [...targets].filter((one) => one.checkVisibility({visibilityProperty: true}))
    .filter((one) => {
      const {left, right, width, height} = one.getBoundingClientRect();
      return width < 24 || height < 24 || (!scrolls(one) && (left < 0 || right > innerWidth));
    }).map((one) => one.outerHTML.slice(0, 100));
}"""
"""What a finger is to hit with less than 24 by 24 pixels, or out of reach."""
UNSEEN = """() => {
  const one = document.activeElement;
  if (!one.closest(".sl-body")) return [];
  const parts = () => [one, ...one.querySelectorAll("circle"), one.nextElementSibling];
  const rings = () => parts().filter((part) => part).map((part) => {
    const {outlineStyle, outlineWidth, stroke, strokeWidth} = getComputedStyle(part);
    const outline = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
    return outline || (part.matches("circle") && stroke !== "none" && parseFloat(strokeWidth) >= 2);
  }).filter(Boolean).length;
  const focused = rings();
  one.blur();
  const blurred = rings();
  one.focus();
  return focused > blurred ? [] : [one.outerHTML.slice(0, 120)];
}"""
"""What has the focus without a ring: around it, around its handle, or around its chip."""
TEXTS = """() => [...document.querySelectorAll("figure :is(.sl-body, figcaption)")]
    .map((one) => one.innerText)"""


def example_of(folder):
    return importlib.import_module(f"test_{folder}").example()


@cache
def html_of(folder):
    return example_of(folder).html()


class Example:
    """The HTML of a figure's example, which is made but once."""

    def __init__(self, folder):
        self.folder = folder

    def html(self):
        return html_of(self.folder)


@pytest.fixture
def open_example(open_figures):
    """Opens a figure's example, some times on one page."""

    def open_page(folder, n=1, **options):
        page = open_figures(*[Example(folder)] * n, ready=READY, **options)
        page.wait_for_function(
            "n => [...document.querySelectorAll('.sl-body[data-mounted]')].length === n", arg=n
        )
        return page

    return open_page


def tour(page, probe="() => null", nth=0):
    """Moves one control after the other; after each, what it was and what the probe found."""
    return page.evaluate(TOUR, [nth, probe])


def names(page):
    """The role and the name of everything that takes the focus, as a screen reader gets them."""
    found = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    properties = [{p["name"]: p["value"].get("value") for p in one.get("properties", [])}
                  for one in found]  # fmt: skip
    return [
        (one["role"]["value"], one.get("name", {}).get("value", "").strip())
        for one, own in zip(found, properties, strict=True)
        if not one["ignored"] and own.get("focusable") and one["role"]["value"] != "RootWebArea"
    ]


@each_figure
def test_a_folder_is_all_that_a_figure_is(folder):
    """Its files, its class by the folder's name, and an example in the tests."""
    here = SHOW / "figures" / folder
    assert {"__init__.py", "figure.js", "style.css"} <= {file.name for file in here.iterdir()}
    kind = FIGURES[folder.title().replace("_", "")]
    assert kind.__module__ == f"softlookup.show.figures.{folder}"
    assert isinstance(example_of(folder), kind)


def prefixes(sheet):
    """The beginnings of the names of the classes that a style sheet speaks of."""
    rules = re.sub(
        r"/\*.*?\*/|\{[^{}]*\}|\d*\.\d+", "", sheet.read_text(encoding="utf-8"), flags=re.S
    )
    return {name.split("-")[0] for name in re.findall(r"\.([a-z][\w-]*)", rules)} - {"sl"}


def test_no_two_style_sheets_speak_of_the_same_classes():
    """They stand side by side on a page, and each reaches all of it."""
    owners = {}
    for sheet in sorted(SHOW.rglob("*.css")):
        for prefix in prefixes(sheet):
            owners.setdefault(prefix, []).append(sheet.relative_to(SHOW).as_posix())
    assert {prefix: found for prefix, found in owners.items() if len(found) > 1} == {}


@each_figure
def test_each_rule_keeps_to_the_figure(folder):
    """Every selector names a class: none is for all paragraphs or all tables of a page."""
    text = (SHOW / "figures" / folder / "style.css").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    selectors = re.findall(r"(?:^|[{}])\s*([^{}@;]+?)\s*\{", text)
    (prefix,) = prefixes(SHOW / "figures" / folder / "style.css")
    loose = [one for one in selectors if not re.search(rf"\.{prefix}\b", one)]
    assert loose == []


@each_figure
def test_it_is_small_always_the_same_and_asks_nobody(folder):
    html = html_of(folder)
    engine = json.dumps(engine_source(), ensure_ascii=False).replace("<", "\\u003c")
    weights = json.loads(example_of(folder).data).get("weights") or ""  # only in a notebook
    assert len(html.replace(engine, "").replace(weights, "").encode()) < LARGEST
    assert len(engine.encode()) < LARGEST
    assert example_of(folder).html() == html
    code = html.replace(example_of(folder).data, "")
    assert set(re.findall(r"https?://[^\"'\s]*", code)) <= {"http://www.w3.org/2000/svg"}
    assert html.count("</script>") == 1


@each_figure
def test_a_notebook_without_a_page_reads_what_it_shows(folder, monkeypatch):
    monkeypatch.setenv("SOFTLOOKUP_STATIC", "1")
    figure = example_of(folder)
    assert figure._repr_mimebundle_() == {
        "text/html": html_of(folder),
        "text/plain": f"Interactive figure: {figure.alt}",
    }


def look_faults(page):
    """What a reader stumbles over by day, and by night, when the colours alone are others."""
    found = [*scroll_faults(page), *axe_faults(page)]
    found += [f"hard to hit: {html}" for html in page.evaluate(HARD_TO_HIT)]
    found += [f"moves although asked not to: {html}" for html in page.evaluate(MOVING)]
    page.evaluate(DRESS, DARK)
    found += [f"by night: {fault}" for fault in axe_faults(page, rules=COLOURS)]
    page.evaluate(DRESS, LIGHT)
    if page.evaluate("document.getAnimations().length"):
        found.append("an animation runs although asked not to")
    return found


@each_figure
@pytest.mark.parametrize("width", [390, 1280], ids=["narrow", "wide"])
def test_accessible_still_and_within_the_page(open_example, folder, width):
    """As it is opened, and when every control was moved; a reader asks it to hold still."""
    page = open_example(folder, width=width, reduced_motion="reduce")
    found = look_faults(page)
    found += [f"too wide after: {moved}" for moved, wide in tour(page, WIDE) if wide > 0]
    found += [f"when all was moved: {fault}" for fault in look_faults(page)]
    assert found == []


def control_faults(page):
    """Controls without a name, and those whose keys a notebook would take."""
    found = [f"a {role} without a name" for role, name in names(page) if not name]
    return found + [f"a notebook takes the keys of {html}" for html in page.evaluate(UNQUIET)]


@each_figure
@pytest.mark.parametrize("width", [390, 1280], ids=["narrow", "wide"])
def test_its_height_does_not_jump(open_example, folder, width):
    """What stands below a figure stays where it is, whatever a reader moves in it."""
    page = open_example(folder, width=width, reduced_motion="reduce")
    left = [OWN_WORDS, *filter(None, [ANSWERS.get(folder)])]
    first = page.evaluate(HEIGHT)
    if folder in OPENINGS:
        opening = page.locator(OPENINGS[folder])
        if opening.is_visible():  # a phone shows all of the microscope, part by part
            opening.dispatch_event("click")
            opened = settled(page, HEIGHT)
            assert opened > first + LINE, "it does not open anything"
            first = opened
        left.append(OPENINGS[folder].split(" ")[0])
    found = page.evaluate(HEIGHTS, ", ".join(left))
    jumps = [f"{height:.0f} after {moved}" for moved, height in found if abs(height - first) > LINE]
    assert jumps == [], f"{first:.0f} at first"


@each_figure
def test_it_is_heard_and_its_controls_have_names_and_keys(open_example, folder):
    """A screen reader hears what comes out, and a notebook leaves the keys to the controls."""
    page = open_example(folder)
    found = control_faults(page)
    heard = [page.evaluate(SPOKEN), *(regions for _, regions in tour(page, SPOKEN))]
    found += [f"when all was moved: {fault}" for fault in control_faults(page)]
    assert found == []
    assert len(names(page)) >= 2
    assert all(heard), "each state of a figure must be spoken by a liveRegion"
    n_heard = len(set(map(tuple, heard)))
    assert n_heard > min(2, len(heard) - 1), "what is said must change with what is moved"


@each_figure
def test_the_keyboard_reaches_and_moves_all_of_it(open_example, folder):
    """Tab comes to each control, with a ring that can be seen; arrow keys move what slides."""
    page = open_example(folder)
    stops = page.evaluate(STOPS)
    reached, fixed = set(), []
    for _ in range(3 * len(stops) + 20):
        page.keyboard.press("Tab")
        place = page.evaluate(FOCUSED)
        if place is None or place in reached:
            continue
        reached.add(place)
        if reached >= {place for place, *_ in stops}:
            break
    missed = [html for place, html, *_ in stops if place not in reached]
    assert missed == []
    for place, html, _, kind, slides in stops:
        if not slides and kind != "radio":
            continue
        page.evaluate("(k) => document.querySelectorAll('.sl-body *')[k].focus()", place)
        before = page.evaluate(HELD)
        page.keyboard.press("ArrowRight")
        if page.evaluate(HELD) == before:
            page.keyboard.press("ArrowLeft")  # it stood at its end
        if page.evaluate(HELD) == before:
            fixed.append(html)
        if page.evaluate(STOPS) != stops:
            break
    assert fixed == []


@each_figure
def test_the_focus_can_be_seen(open_example, folder):
    page = open_example(folder, reduced_motion="reduce")
    unseen = []
    for _ in page.evaluate(STOPS):
        page.keyboard.press("Tab")
        unseen += page.evaluate(UNSEEN)
    assert unseen == []


def settled(page, question):
    """The answer when it has stood for half a second: what is said after a pause has been said."""
    before = page.evaluate(question)
    for _ in range(20):
        page.wait_for_timeout(500)
        now = page.evaluate(question)
        if now == before:
            return now
        before = now
    pytest.fail("after ten seconds it still changes by itself")


@each_figure
def test_two_on_a_page_do_not_share_anything(open_example, folder):
    page = open_example(folder, n=2)
    first = settled(page, STATE % 0)
    assert [moved for moved, state in tour(page, STATE % 0, nth=1) if state != first] == []
    for playing in page.get_by_role("button", name="Pause", exact=True).all():
        playing.click()  # the tour has pressed Play
    second = settled(page, STATE % 1)
    assert second != first
    assert [moved for moved, state in tour(page, STATE % 1) if state != second] == []
    ids = page.evaluate("[...document.querySelectorAll('.sl-body [id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))


@each_figure
def test_it_can_be_printed(open_example, folder):
    """On paper as wide as a letter all of it is there, and nothing beyond the edge."""
    page = open_example(folder, width=720)
    shown = page.evaluate(TEXTS)
    page.emulate_media(media="print")
    assert page.evaluate(TEXTS) == shown
    assert scroll_faults(page) == []
    assert page.pdf(width="190mm").startswith(b"%PDF")
