"""The letter ladder, moved in Chromium as a reader would: it shows the record, row by row."""

import pytest

from softlookup.recorded import recorded
from softlookup.show import LetterLadder

RESULTS = recorded("ngram_shakespeare").results
ROWS = RESULTS["rows"]
BITS = ("bits_counted", "bits_add", "bits_kneser_ney")


def example(**options):
    settings = {"control": RESULTS["copied_by_held_out"], "n": 4}
    return LetterLadder(**{"rows": ROWS, **settings, **options})


@pytest.fixture
def open_figure(open_figures):
    """Opens one figure."""

    def open_page(**options):
        return open_figures(example(**options), ready=".sl-meter")

    return open_page


def assert_shows(page, row):
    """The sample, its marked run, the numbers, the bars and the sentence below are the row's."""
    assert page.locator(".ll-sample").evaluate("(one) => one.textContent") == row["sample"]
    marked = page.locator(".ll-mark").evaluate("(one) => one.textContent")
    assert marked == row["longest_copy"]
    numbers = [*(row[key] for key in BITS), row["copied"], RESULTS["copied_by_held_out"]]
    assert page.locator(".sl-meter .sl-number").all_inner_texts() == [
        f"{value:.2f}" for value in numbers
    ]
    widths = page.locator(".sl-meter").evaluate_all(
        "(rows) => rows.map((row) => row.querySelector('.sl-fill').getBoundingClientRect().width"
        " / row.querySelector('.sl-track').clientWidth)"
    )
    most = max(one[key] for one in ROWS for key in BITS)
    shares = [*(value / most for value in numbers[:3]), *numbers[3:]]
    assert widths == pytest.approx(shares, abs=0.01)
    said = page.locator(".sl-live").inner_text()
    assert said.startswith(f"n = {row['n']}: the longest copied run has {len(marked)} letters")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"n={row['n']}")
def test_the_slider_shows_the_row(open_figure, row):
    page = open_figure()
    assert_shows(page, ROWS[3])
    page.locator("input").fill(str(ROWS.index(row)))
    assert_shows(page, row)


def test_it_says_what_the_best_n_saves(open_figure):
    page = open_figure(n=6)
    assert "no other n needs fewer bits" in page.locator(".sl-live").inner_text()
    page.locator("input").press("End")
    said = page.locator(".sl-live").inner_text()
    assert "Kneser-Ney needs 0.09 bits more than with n = 6" in said


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"rows": ROWS[:1]}, "rows must be 2 to 12, n rising"),
        ({"rows": ROWS[::-1]}, "rows must be 2 to 12, n rising"),
        ({"n": 9}, "n must be that of a row"),
        ({"control": 1.5}, "control must be a share"),
        ({"rows": [ROWS[0], {**ROWS[3], "longest_copy": "xyz"}]}, "hold its longest copy"),
        ({"rows": [ROWS[0], {**ROWS[3], "sample": "e" * 401, "longest_copy": "e"}]}, "at most 400"),
        ({"rows": [ROWS[0], {**ROWS[3], "bits_add": -1.0}]}, "bits must be at least 0"),
        ({"rows": [ROWS[0], {**ROWS[3], "copied": 1.1}]}, "copied must be a share"),
    ],
)
def test_what_cannot_be_shown_is_refused(options, rule):
    with pytest.raises(ValueError, match=rule):
        example(**options)
