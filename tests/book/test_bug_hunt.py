"""The bug hunt, used in Chromium as a reader would."""

import pytest

from softlookup.exercises.bugs import hunt
from softlookup.show import BugHunt

PLAIN = {
    "name": "f",
    "lines": ["def f(x):", "    y = x < 1 and '<b>'", "    return -y"],
    "wrong": 2,
    "right": "return y",
    "why": "The <i>sign</i>.",
    "where": "a/b #1",
    "tests": [["shapes", None], ["parity", "gives 1 for −1."]],
}
OTHER = PLAIN | {"name": "g", "wrong": 1, "right": "y = x", "where": ""}


def example():
    return BugHunt(hunt())


@pytest.fixture(scope="module")
def dozen():
    return hunt()


@pytest.fixture
def open_figure(open_figures):
    def open_page(*figures, **options):
        figures = figures or (BugHunt([PLAIN, OTHER]),)
        return open_figures(*figures, ready=".bh-line", **options)

    return open_page


def line(page, k, place=0):
    return page.locator(".bh-hunt").nth(place).locator(".bh-line").nth(k)


def said(page, place=0):
    return page.locator(".bh-live").nth(place).inner_text()


def score(page, place=0):
    return page.locator(".bh-score").nth(place).inner_text()


def shown_tests(page):
    return [row.inner_text().split("\n")[-2:] for row in page.locator(".bh-test:visible").all()]


def test_the_code_is_shown_as_it_is(open_figure):
    page = open_figure()
    assert page.locator(".bh-line code").all_text_contents() == PLAIN["lines"]
    assert said(page) == "One of these lines is wrong. Which?"
    assert score(page) == "0 of 2 found, with 0 right lines suspected."
    assert shown_tests(page) == []


def test_a_right_line_is_told_and_counted_once(open_figure):
    page = open_figure()
    for _ in range(2):
        line(page, 1).click()
        assert said(page) == "That line is right. Look on, or ask the tests."
        assert score(page) == "0 of 2 found, with 1 right line suspected."
    assert line(page, 1).locator(".bh-mark").text_content() == "✓"
    assert page.locator(".bh-right").count() == 0


def test_the_wrong_line_is_told_with_its_repair_and_the_tests(open_figure):
    page = open_figure()
    line(page, 2).click()
    assert said(page) == "Found. The <i>sign</i>. Seen in a/b #1."
    assert page.locator(".bh-right code").text_content() == "    return y"
    assert "bh-wrong" in line(page, 2).get_attribute("class")
    assert shown_tests(page) == [["shapes", "passes"], ["parity", "fails: gives 1 for −1."]]
    assert score(page) == "1 of 2 found, with 0 right lines suspected."
    line(page, 1).click()  # nothing more to find
    assert score(page) == "1 of 2 found, with 0 right lines suspected."
    assert page.locator(".bh-ask").is_disabled()


def test_the_tests_may_be_asked_first(open_figure):
    page = open_figure()
    page.locator(".bh-ask").click()
    assert [name for name, _ in shown_tests(page)] == ["shapes", "parity"]
    assert page.locator(".bh-ask").get_attribute("aria-pressed") == "true"
    page.locator(".bh-ask").click()
    assert shown_tests(page) == []


def test_each_function_keeps_its_own_state(open_figure):
    page = open_figure()
    line(page, 0).click()
    page.locator(".bh-next").click()
    assert said(page) == "One of these lines is wrong. Which?"
    line(page, 1).click()
    assert said(page) == "Found. The <i>sign</i>."
    assert score(page) == "1 of 2 found, with 1 right line suspected."
    names = page.locator(".sl-choice span")
    assert names.all_inner_texts() == ["f", "✓ g"]
    page.locator(".bh-next").click()
    assert page.locator('input[name="function"][value="0"]').is_checked()
    assert said(page) == "That line is right. Look on, or ask the tests."
    page.locator('input[name="function"][value="1"]').check(force=True)
    assert said(page) == "Found. The <i>sign</i>."


def test_the_books_dozen_can_all_be_found(open_figure, dozen):
    page = open_figure(BugHunt(dozen))
    for case in dozen:
        assert page.locator(".bh-line code").all_text_contents() == case["lines"]
        line(page, case["wrong"]).click()
        assert said(page).startswith(f"Found. {case['why']}")
        fails = [name for name, fault in case["tests"] if fault]
        assert page.locator(".bh-fails b").all_inner_texts() == fails
        page.locator(".bh-next").click()
    assert score(page) == "12 of 12 found, with 0 right lines suspected."


def tab_to(page, there):
    for _ in range(9):
        page.keyboard.press("Tab")
        if page.evaluate(there):
            return
    raise AssertionError(f"Tab never arrives where {there}")


def test_all_of_it_works_by_keyboard(open_figure):
    page = open_figure()
    tab_to(page, "document.activeElement.name === 'function'")
    page.keyboard.press("ArrowRight")
    tab_to(page, "document.activeElement === document.querySelectorAll('.bh-line')[1]")
    page.keyboard.press("Enter")
    assert said(page) == "Found. The <i>sign</i>."
    focused = page.evaluate("document.activeElement.className")
    assert "bh-line" in focused, "the focus stays on the line"


@pytest.mark.parametrize(
    ("bugs", "message"),
    [
        ([], "there must be at least one function; got n_bugs=0"),
        ([{"name": "f"}], "each function needs name, lines, wrong"),
        ([PLAIN | {"wrong": 3}], "wrong must be the index of a line; got wrong=3, n_lines=3"),
        ([PLAIN | {"wrong": -1}], "wrong must be the index of a line; got wrong=-1"),
    ],
)
def test_bad_input(bugs, message):
    with pytest.raises(ValueError, match=message):
        BugHunt(bugs)
