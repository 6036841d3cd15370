"""Drawings of architectures, measured in Chromium: letters, boxes and wires, narrow and wide."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import DARK, FIGURE_PAGE, LIGHT, ROOT, in_each_look
from drawings import DRAWINGS
from playwright.sync_api import Page
from site_checks import axe_faults, scroll_faults, watched

from book_site.assets import FONTS, fonts_script
from book_site.figures import figure_node, number_title
from softlookup.show import drawing

SITE_STYLE = (ROOT / "_static" / "book.css").as_uri()
SITE_FONTS = fonts_script({key: ROOT / "_static" / file for key, file in FONTS.items()})
FAULTS = """() => [...document.querySelectorAll('svg.sl-drawing')].flatMap((svg) => {
  const faults = [], say = (what) => faults.push(`${svg.closest('figure').id}: ${what}`);
  const rect = (one) => one.getBoundingClientRect();
  const ink = (text) => {  // the letters themselves: a line's box has room above and below them
    const {left, right} = rect(text), size = parseFloat(text.getAttribute('font-size')) * scale;
    const line = rect(svg).top + (text.getAttribute('y') - svg.viewBox.baseVal.y) * scale;
    return {left, right, top: line - 0.8 * size, bottom: line + 0.3 * size};
  };
  const meet = (a, b, by = 0) => a.left < b.right - by && b.left < a.right - by
    && a.top < b.bottom - by && b.top < a.bottom - by;
  const holds = (a, b) => a.left <= b.left && a.top <= b.top
    && a.right >= b.right && a.bottom >= b.bottom;
  const scale = rect(svg).width / svg.viewBox.baseVal.width;
  const boxes = [...svg.querySelectorAll('[data-box]')].map((group) => ({
    name: group.dataset.box, words: group.dataset.kind === 'words', place: rect(group),
    shape: [...group.querySelectorAll('rect')].map(rect)[0],
    texts: [...group.querySelectorAll('text')].map(ink),
  }));
  boxes.forEach((one, k) => boxes.slice(k + 1).forEach((other) =>
    meet(one.place, other.place) && say(`${one.name} on ${other.name}`)));
  for (const {name, words, shape, texts} of boxes)
    texts.forEach((text) => words || holds(shape, text) || say(`a text leaves ${name}`));
  const free = [...svg.querySelectorAll('[data-label] text, [data-frame] text')].map(ink);
  free.forEach((one, k) => {
    boxes.forEach(({name, place}) => meet(one, place) && say(`a text on ${name}`));
    free.slice(k + 1).forEach((other) => meet(one, other, 2) && say('a text on a text'));
    holds(rect(svg), one) || say('a text is cut off');
  });
  for (const group of svg.querySelectorAll('[data-wire]')) {
    const line = group.querySelector('path'), head = group.querySelector('[data-head]');
    const ends = group.dataset.wire.split(' -> ');
    for (let at = 0; at <= line.getTotalLength(); at += 2) {
      const {x, y} = line.getPointAtLength(at).matrixTransform(svg.getScreenCTM());
      const point = {left: x - 0.5, right: x + 0.5, top: y - 0.5, bottom: y + 0.5};
      boxes.forEach(({name, place}) => meet(point, place, ends.includes(name) ? 1.6 : 0)
        && say(`${group.dataset.wire} runs through ${name}`));
      free.forEach((text) => meet(point, text) && say(`a text touches ${group.dataset.wire}`));
    }
    const end = boxes.find(({name}) => name === ends[1]);
    if (head && end) {
      const [x, y] = head.getAttribute('d').slice(1).split('L')[0].split(' ').map(Number);
      const tip = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
      const {left, right, top, bottom} = end.place;
      const far = Math.min(...[left - tip.x, tip.x - right, top - tip.y, tip.y - bottom]
        .map(Math.abs));
      far <= 1.2 || say(`the head of ${group.dataset.wire} is ${far} from ${ends[1]}`);
    }
  }
  for (const text of svg.querySelectorAll('text, tspan')) {
    const size = parseFloat(getComputedStyle(text).fontSize) * scale;
    size >= 10 || say(`letters of ${size.toFixed(1)} pixels: ${text.textContent}`);
  }
  return [...new Set(faults)];
})"""


@pytest.fixture(scope="module")
def figures() -> str:
    """All drawings, as HTML."""
    bundles = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "display", lambda bundle, raw: bundles.append(bundle))
        for draw in DRAWINGS:
            draw()
    return "\n".join(bundle["text/html"] for bundle in bundles)


@pytest.fixture
def open_drawings(browser, tmp_path: Path, figures: str) -> Iterator[Callable[..., Page]]:
    """Opens all drawings in one page, in the site's letters or in those of another place."""
    opened = []

    def open_page(width: int, style: str, site: bool = True) -> Page:
        path = tmp_path / "drawings.html"
        html = FIGURE_PAGE.format(style=style, figures=figures)
        look = f'<link rel="stylesheet" href="{SITE_STYLE}"><script>{SITE_FONTS}</script>'
        path.write_text(html.replace("<style>", f"{look}<style>") if site else html, "utf-8")
        context = watched(browser, viewport={"width": width, "height": 900})
        opened.append(context)
        page, _, _ = context.__enter__()
        page.goto(path.as_uri())
        page.evaluate("() => document.fonts.ready")
        return page

    yield open_page
    for context in opened:
        context.__exit__(None, None, None)


@in_each_look
def test_texts_stand_in_their_boxes_and_wires_run_between(open_drawings, width, style):
    page = open_drawings(width, style)
    assert page.locator("svg.sl-drawing").count() == len(DRAWINGS)
    assert page.evaluate(
        "() => [...document.fonts].some((font) => font.family === 'Source Sans 3')"
    )
    assert page.evaluate(FAULTS) == []
    assert scroll_faults(page) == []


def test_they_stand_as_well_in_other_letters(open_drawings):
    assert open_drawings(1280, LIGHT, site=False).evaluate(FAULTS) == []


def test_where_there_is_no_room_they_scroll_and_stay_readable(open_drawings):
    page = open_drawings(280, LIGHT)
    assert page.evaluate(FAULTS) == []
    assert scroll_faults(page) == []


@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
def test_they_are_read_and_told(open_drawings, style):
    page = open_drawings(390, style)
    assert axe_faults(page) == []
    names = page.eval_on_selector_all(
        "svg.sl-drawing", "all => all.map((svg) => [svg.role, svg.ariaLabel])"
    )
    assert all(role == "img" and len(name.split()) > 3 for role, name in names)
    ids = page.eval_on_selector_all("[id]", "all => all.map((one) => one.id)")
    assert len(set(ids)) == len(ids) == len(DRAWINGS)


def test_the_site_numbers_it_by_its_caption(figures):
    first, _, _ = figures.partition("</figure>")
    node = figure_node(f"{first}</figure>")
    assert node["names"] == ["fig-residual-block"]
    assert number_title(node).startswith("A residual block.")


@pytest.mark.parametrize(
    ("planted", "fault"),
    [
        ("[data-box=y]').setAttribute('transform', 'translate(0 40)'", "y on add"),
        ("[data-box=layer] text').setAttribute('x', 100", "a text leaves layer"),
        ("[data-label] text').setAttribute('x', 46", "a text touches layer -> add"),
        ("[data-box=x]').setAttribute('transform', 'translate(0 -8)'", "runs through x"),
        (
            "[data-box=add]').setAttribute('transform', 'translate(0 -3)'",
            "the head of layer -> add",
        ),
        ("[data-label] text').setAttribute('font-size', 9", "letters of 9.0 pixels"),
        ("[data-label] text').setAttribute('x', 200", "a text is cut off"),
    ],
)
def test_the_measure_finds_what_is_planted(open_drawings, planted, fault):
    page = open_drawings(1280, LIGHT)
    page.evaluate(f"() => document.querySelector('#fig-residual-block {planted})")
    assert any(fault in found for found in page.evaluate(FAULTS))
