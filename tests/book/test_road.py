"""You are here: every chapter has its place on the road, and its page shows it, with links."""

import re

import pytest
import yaml
from conftest import DARK, FIGURE_PAGE, LIGHT, ROOT
from site_checks import axe_faults, scroll_faults, watched

import registry
from book_site.road import ROAD, WHOLE, parts_of, road_html

CHAPTERS = registry.chapters()
NUMBERS = {page.name: page.number for page in CHAPTERS}
PAGES = {page.name: f"{page.path.stem}.html" for page in CHAPTERS}
PARTS = ["text", "tokens", "vectors", "positions", "blocks", "logits", "next word"]


def lit_parts(html: str) -> list[str]:
    """The names of the parts that the page marks."""
    return re.findall(r'<a class="road-name"[^>]* aria-current="step">([^<]*)</a>', html)


def test_every_chapter_of_the_first_three_parts_has_its_place():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [chapter["file"] for part in toc["parts"][:3] for chapter in part["chapters"]]
    names = {registry.NUMBER.sub("", file.split("/")[1]) for file in files}
    assert names == set(NUMBERS)
    assert {name for name in names if not parts_of(name)} == set()
    assert {name for chapters in ROAD.values() for name in chapters} | set(WHOLE) == names


def test_the_road_leads_from_the_text_to_the_next_word():
    assert list(ROAD) == PARTS
    assert all(ROAD.values())
    html = road_html("attention", NUMBERS, PAGES)
    assert re.findall(r'class="road-name"[^>]*>([^<]*)<', html) == PARTS


@pytest.mark.parametrize("page", CHAPTERS, ids=lambda page: page.name)
def test_a_chapter_is_marked_once_and_its_parts_are_lit(page):
    html = road_html(page.name, NUMBERS, PAGES)
    expected = PARTS if page.name in WHOLE else [p for p in PARTS if page.name in ROAD[p]]
    assert lit_parts(html) == expected
    assert html.count('class="road-part road-lit"') == len(expected)
    here = re.findall(r'aria-current="page"><span [^>]*>chapter </span>(\d+)</a>', html)
    assert set(here) == ({str(page.number)} if page.name not in WHOLE else set())
    for name in {name for chapters in ROAD.values() for name in chapters}:
        assert re.search(rf'href="{PAGES[name]}"[^>]*>[^/]*/span>{NUMBERS[name]}</a>', html)


def test_the_numbers_are_those_of_the_registry():
    moved = {name: number + 30 for name, number in NUMBERS.items()}
    assert f"</span>{moved['positions']}</a>" in road_html("tasks", moved, PAGES)


def test_a_book_of_a_few_chapters_links_what_it_has():
    numbers = {name: NUMBERS[name] for name in ("tasks", "attention")}
    html = road_html("attention", numbers, PAGES)
    assert re.findall(r'class="road-name"[^>]*>([^<]*)<', html) == PARTS
    assert {PAGES[name] for name in numbers} == set(re.findall(r'href="([^"]*)"', html))


@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 760, 1280])
@pytest.mark.parametrize("here", ["attention", "transformer"])
def test_a_slim_strip_within_the_page(browser, tmp_path, here, width, style):
    sheets = "".join(
        f'<link rel="stylesheet" href="{(ROOT / "_static" / name).as_uri()}">'
        for name in ("book.css", "road.css")
    )
    road = f'<article class="bk-article">{road_html(here, NUMBERS, PAGES)}</article>'
    html = FIGURE_PAGE.format(style=style, figures=road).replace("<style>", f"{sheets}<style>")
    path = tmp_path / "road.html"
    path.write_text(html, encoding="utf-8")
    with watched(browser, viewport={"width": width, "height": 900}) as (page, _, _):
        page.goto(path.as_uri())
        page.evaluate("() => document.fonts.ready")
        assert scroll_faults(page) == []
        assert axe_faults(page) == []
        assert page.locator(".road").bounding_box()["height"] <= 130
        boxes = [link.bounding_box() for link in page.locator(".road a:visible").all()]
        assert len(boxes) >= len(PARTS)
        assert min(min(box["width"], box["height"]) for box in boxes) >= 24
        parts = [part.bounding_box() for part in page.locator(".road-part").all()]
        assert all(p["x"] >= 0 and p["x"] + p["width"] <= width for p in parts)


def test_in_the_built_site_it_stands_under_every_title(site):
    for page in CHAPTERS:
        html = (site / f"{page.docname}.html").read_text(encoding="utf-8")
        assert html.count('<nav class="road"') == 1, page.name
        after = html[html.index("</h1>") + 5 :].lstrip()
        assert after.startswith('<nav class="road"'), page.name
        for target in re.findall(r'href="([^"#]*)', after[: after.index("</nav>")]):
            assert not target or (site / page.docname).parent.joinpath(target).is_file()
        assert lit_parts(html) == parts_of(page.name)
