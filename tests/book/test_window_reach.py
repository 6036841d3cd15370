"""The window's reach, moved in Chromium as a reader would: the words of n-grams, and no others."""

import pytest

from softlookup.language_models import follower_counts
from softlookup.show import WindowReach

PHRASES = [
    ["near", "the", "tree"],
    ["behind", "the", "bridge"],
    ["near", "the", "<b>houses</b>"],
]


def example(**options):
    return WindowReach(**{"subject": "dogs", "phrases": PHRASES, "verb": "wait", "n_phrases": 2,
                          "n": 5, **options})  # fmt: skip


@pytest.fixture
def open_figure(open_figures):
    """Opens one figure."""

    def open_page(**options):
        return open_figures(example(**options), ready=".wr-word")

    return open_page


def assert_shows(page, n_phrases, n):
    """The marked words are the history that an n-gram model counts before the verb."""
    words = ["the", "dogs", *(word for phrase in PHRASES[:n_phrases] for word in phrase)]
    assert page.locator(".wr-word").all_inner_texts() == [*words, "wait?"]
    padded = ["<s>"] * (n - 1) + words + ["wait"]
    history = next(h for h, after in follower_counts([padded], n).items() if "wait" in after)
    read = [word for word in history if word != "<s>"]
    assert page.locator(".wr-inside").all_inner_texts() == read
    said = page.locator(".sl-live").inner_text()
    assert f"with n = {n} the model reads {n - 1}." in said
    is_seen = "dogs" in history
    assert said.endswith("It sees “dogs”.") == is_seen
    assert ("outside" in said) != is_seen


def test_it_starts_where_it_is_told(open_figure):
    assert_shows(open_figure(), 2, 5)


@pytest.mark.parametrize(("n_phrases", "n"), [(0, 2), (0, 3), (1, 4), (1, 5), (2, 8), (3, 8)])
def test_the_sliders_move_the_phrases_and_the_window(open_figure, n_phrases, n):
    page = open_figure()
    for slider, value in zip(page.locator("input").all(), (n_phrases, n), strict=True):
        slider.fill(str(value))
    assert_shows(page, n_phrases, n)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"phrases": []}, "1 to 12 lists of words"),
        ({"phrases": ["near the tree"]}, "1 to 12 lists of words"),
        ({"phrases": [["near", " "]]}, "must be words"),
        ({"verb": ""}, "must be words"),
        ({"n_phrases": 4}, "not more than there are phrases"),
        ({"n": 13}, "n must be 2 to 12"),
    ],
)
def test_what_cannot_be_shown_is_refused(options, rule):
    with pytest.raises(ValueError, match=rule):
        example(**options)
