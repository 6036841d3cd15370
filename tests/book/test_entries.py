"""The two fields above "Slides under test" leave the entries of one lecture, of one severity."""

import re
from itertools import product

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser
from site_checks import axe_faults, open_page, scroll_faults, watched

import lecture_map
import registry
from book_site.entries import LECTURES, SEVERITIES, lectures_of, mark_entries

PAGE = "chapters/slides_under_test.html"
N_ENTRIES = len(
    re.findall(r"^### E\d\d\. ", registry.by_name()["slides_under_test"].markdown(), re.M)
)
ENTRY = '<section id="x"><span id="e{k:02}"></span><h3>T</h3><p>{line}</p></section>'


def marked(*lines: str) -> BeautifulSoup:
    """A page with one entry for each line, marked."""
    body = "".join(ENTRY.format(k=k, line=line) for k, line in enumerate(lines, start=1))
    soup = BeautifulSoup(f'<section id="part"><h2>P</h2>{body}</section>', "html.parser")
    mark_entries(soup)
    return soup


def test_an_entry_carries_its_lectures_and_its_severity():
    soup = marked(
        "<em>Toronto, “UvA” · A · chapter 1</em>", "Sharif, “P”, and UvA · D · chapter 18"
    )
    found = [(s["data-lecture"], s["data-severity"]) for s in soup.select("[data-severity]")]
    assert found == [("Toronto", "A"), ("Sharif|UvA", "D")]
    assert soup.form.find_next_sibling()["id"] == "part"
    assert soup.output.get_text() == "2 entries"


@pytest.mark.parametrize("line", ["Toronto, “S” · E · chapter 1", "“Toronto” · A · chapter 1", "x"])
def test_an_entry_that_says_neither_stops_the_build(line):
    with pytest.raises(ValueError, match="an entry must name its lecture"):
        marked(line)


def test_a_page_without_entries_gets_no_fields():
    soup = BeautifulSoup("<section><h2>P</h2><p>Toronto</p></section>", "html.parser")
    mark_entries(soup)
    assert soup.form is None


def test_the_lectures_are_those_of_the_lecture_map():
    names = [words.split(":")[0] for words in lecture_map.LECTURES.values()]
    assert [lectures_of(f"{name}, “Slide”") for name in LECTURES] == [[name] for name in LECTURES]
    assert [name.replace("Introduction to large language models", "Introduction to LLMs")
            for name in names] == list(LECTURES)  # fmt: skip


CHOOSE = """(choices) => choices.map(([lecture, severity]) => {
  const form = document.querySelector('.bk-entries');
  Object.entries({lecture, severity}).forEach(([name, value]) => {
    form.elements[name].value = value;
    form.elements[name].dispatchEvent(new Event('input', {bubbles: true}));
  });
  const seen = (node) => node.checkVisibility();
  const parts = [...document.querySelectorAll('section:has(> h2)')].filter(seen);
  const entries = [...document.querySelectorAll('[data-severity]')].filter(seen);
  return {
    told: form.querySelector('output').innerText,
    entries: entries.map((one) => [one.dataset.lecture, one.dataset.severity]),
    empty: parts.filter((part) => !entries.some((one) => part.contains(one))).length,
  };
})"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_fields_leave_what_fits_and_count_it(browser: Browser, site, width):
    html = (site / PAGE).read_text(encoding="utf-8")
    entries = re.findall(r'data-lecture="([^"]+)" data-severity="(.)"', html)
    assert len(entries) == N_ENTRIES
    choices = list(product(("", *LECTURES), ("", *SEVERITIES)))
    with watched(browser, viewport={"width": width, "height": 900}) as (page, faults, _):
        open_page(page, site / PAGE)
        found = page.evaluate(CHOOSE, choices)
        for (lecture, severity), shown in zip(choices, found, strict=True):
            left = [
                [names, kind]
                for names, kind in entries
                if lecture in ("", *names.split("|")) and severity in ("", kind)
            ]
            assert shown["entries"] == left
            assert shown["told"] == f"{len(left)} entries"
            assert shown["empty"] == (0 if lecture or severity else 1)  # where slides are right
        lecture, severity = choices[-1]
        page.get_by_label("Lecture").select_option(lecture)  # as a reader chooses
        page.get_by_label("Severity").select_option(severity)
        assert page.locator(".bk-entries output").inner_text() == found[-1]["told"]
        assert page.locator("[data-severity]:visible").count() == len(found[-1]["entries"])
        assert [*faults, *scroll_faults(page)] == []


@pytest.mark.browser
def test_a_link_to_an_entry_that_was_left_out_brings_all_back(browser: Browser, site):
    with watched(browser) as (page, faults, _):
        open_page(page, site / PAGE)
        page.get_by_label("Severity").select_option("D")
        page.evaluate("location.hash = '#e02'")
        page.wait_for_function("document.getElementById('e02').getBoundingClientRect().top < 200")
        assert page.get_by_label("Severity").input_value() == ""
        assert page.locator("[data-severity]:visible").count() == N_ENTRIES
        assert not faults


@pytest.mark.browser
def test_the_fields_are_accessible(browser: Browser, site):
    with watched(browser) as (page, _, _):
        open_page(page, site / PAGE)
        page.get_by_label("Lecture").select_option("Notes")
        assert axe_faults(page) == []
