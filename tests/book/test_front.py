"""The front page: its paths through the book can be walked, and its figures work in the site."""

import re

import pytest
from conftest import ROOT
from site_checks import open_page, watched

import registry
from softlookup.show.book_map import NODES

TEXT = (ROOT / "intro.md").read_text(encoding="utf-8")
CHAPTER = re.compile(r"\[\{number\}\]\((\w+)\)")
CHAPTERS = {page.name: page for page in registry.chapters()}
EXERCISE = re.compile(r"\[Exercise\]\(#(ex-[\w-]+)\)")
WEEK = re.compile(r"^\d+\. (.*?)(?=^\d+\. |\n\n|\Z)", re.M | re.S)


def weeks(heading):
    """The weeks of a path for teachers, each as one line of text."""
    part = TEXT.split(f"### {heading} weeks\n")[1].split("\n#")[0]
    return [" ".join(week.split()) for week in WEEK.findall(part)]


PATHS = {"Four": 4, "Ten": 10}


@pytest.mark.parametrize("path", PATHS)
def test_a_path_has_its_weeks_and_each_has_exercises(path):
    assert len(weeks(path)) == PATHS[path]
    assert all(len(EXERCISE.findall(week)) >= 2 for week in weeks(path))


@pytest.mark.parametrize("path", PATHS)
def test_what_a_chapter_needs_is_read_before(path):
    order = [name for week in weeks(path) for name in CHAPTER.findall(week)]
    assert len(set(order)) == len(order)
    for place, name in enumerate(order):
        needs = {need for node in NODES if node.chapter == name for need in node.needs}
        assert needs <= set(order[:place]), name
    four = ["word2vec", "document_vectors", "static_vectors", "generalization", "depth"]
    left_out = {*four, "modern_attention", "beyond_text"} if path == "Four" else set()
    assert CHAPTERS.keys() - set(order) == left_out


@pytest.mark.parametrize("path", PATHS)
def test_an_exercise_belongs_to_a_chapter_of_its_week(path):
    for week in weeks(path):
        text = "".join(CHAPTERS[name].markdown() for name in CHAPTER.findall(week))
        for name in EXERCISE.findall(week):
            assert f":label: {name}\n" in text, name


def test_the_sections_that_a_week_names_stand_in_the_chapter_named_before():
    for week in weeks("Four"):
        parts = CHAPTER.split(week)
        for name, part in zip(parts[1::2], parts[2::2], strict=True):
            heads = set(re.findall(r"^#{2,3} (.+)$", CHAPTERS[name].markdown(), re.M))
            named = set(re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", part))
            assert named <= heads, (name, named - heads)


def test_the_sections_to_pass_over_stand_in_their_chapters():
    part = " ".join(TEXT.split("### Ten weeks\n")[1].split("1. ")[0].split())
    names = re.findall(r"\{number\}`(\w+)`", part)
    text = "".join(CHAPTERS[name].markdown() for name in names)
    for head in re.findall(r"\*([^*]+)\*", part):
        assert f"\n## {head}\n" in f"\n{text}\n" or f"\n### {head}\n" in f"\n{text}\n", head


LISTS = ["lecture_map", "glossary", "library"]


@pytest.mark.parametrize("height", [900, 768])
def test_one_begins_or_looks_something_up_at_most_half_a_screen_below_the_first(
    browser, site, height
):
    with watched(browser, viewport={"width": 1280, "height": height}) as (page, _, _loaded):
        open_page(page, site / "intro.html")
        links = page.locator(":is(.bk-start, .bk-look) a")
        names = links.evaluate_all("(all) => all.map((one) => one.href.split('/').at(-1))")
        pages = [registry.by_name()[name] for name in ("tasks", *LISTS)]
        assert names == [f"{one.docname.split('/')[-1]}.html" for one in pages]
        for link in links.all():
            box = link.bounding_box()
            assert box["y"] + box["height"] < 1.5 * height
        figure = page.locator("#fig-soft-lookup").bounding_box()
        assert figure["y"] < links.first.bounding_box()["y"]


def test_in_the_site_the_lookup_answers_and_the_map_leads_on(browser, site):
    with watched(browser, viewport={"width": 390, "height": 900}) as (page, faults, _):
        open_page(page, site / "intro.html")
        page.get_by_role("button", name="Hard: one key").click()
        said = page.locator(".so-live").inner_text()
        assert said == "kitten takes all of cat, nothing else: softness 9."
        links = page.locator("a.bm-node").evaluate_all(
            "(all) => all.map((one) => [Number(one.dataset.chapter), one.getAttribute('href')])"
        )
        pages = [CHAPTERS[node.chapter] for node in NODES]
        assert sorted(links) == sorted([page.number, f"{page.docname}.html"] for page in pages)
        assert faults == []
