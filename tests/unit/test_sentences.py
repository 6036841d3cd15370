"""Sentences as figures: labels in words, flags for conflicts, right-to-left tables, bad input."""

import math
import re

import pytest
import torch

from softlookup.show import sentences, show_readings, show_spans
from softlookup.show.draw import ink_on, share_colour

ALT = "Low is a person, then a place"
TEXTS = {"alt": ALT, "caption": "A text.", "name": "fig-test-sentence"}
TOKENS = ["Ada", "Low", "<b>", "met", "Low", ",", "a", "Nation", "."]
SPANS = [(4, 5, "PLACE"), (0, 2, "PERSON"), (7, 8, "ORG")]


@pytest.fixture
def shown(monkeypatch):
    """What ``display`` is given."""
    bundles = []
    monkeypatch.setattr(sentences, "display", lambda bundle, raw: bundles.append(bundle))
    return bundles


def test_each_span_says_its_label_and_a_conflict_says_so(shown):
    show_spans(TOKENS, SPANS, **TEXTS)
    page, plain = shown[0]["text/html"], shown[0]["text/plain"]
    marks = re.findall(r"<mark[^>]*>(.*?)</mark>", page)
    assert [re.sub(r"<[^>]*>", "", mark) for mark in marks] == [
        "Ada Low PERSON two labels",
        "Low PLACE two labels",
        "Nation ORG",
    ]
    assert plain == (
        f"Figure: {ALT}\nAda Low [PERSON] two labels!; Low [PLACE] two labels!; Nation [ORG]"
    )
    assert 'id="fig-test-sentence"' in page
    assert len(set(re.findall(r'class="ss-span (ss-\w+)"', page))) == 3


def test_the_text_is_whole_and_escaped(shown):
    show_spans(TOKENS, [], **TEXTS)
    text = re.search(r'<p class="ss-text">(.*?)</p>', shown[0]["text/html"]).group(1)
    assert text == "Ada Low &lt;b&gt; met Low, a Nation."


def test_spans_must_fit(shown):
    with pytest.raises(ValueError, match="span must end within the text"):
        show_spans(TOKENS, [(8, 10, "ORG")], **TEXTS)
    with pytest.raises(ValueError, match="must not overlap"):
        show_spans(TOKENS, [(0, 2, "ORG"), (1, 3, "ORG")], **TEXTS)
    with pytest.raises(ValueError, match="alt must tell the finding in words"):
        show_spans(TOKENS, SPANS, **{**TEXTS, "alt": "spans"})
    assert not shown


WORDS = ["شیر", "آب", "را"]
GLOSSES = ["tap", "water", "(object)"]
WEIGHTS = torch.tensor([[0.25, 0.75, 0.0], [1.0, 0.0, 0.0]])


def readings(weights=WEIGHTS, readers=(1, 0), glosses=GLOSSES, **options):
    options = {"lang": "fa", "direction": "rtl", **TEXTS, **options}
    show_readings(WORDS, weights, readers, glosses=glosses, **options)


def test_a_right_to_left_sentence_says_so_and_isolates_its_words(shown):
    readings()
    page = shown[0]["text/html"]
    assert page.count('<ol class="ss-row" dir="rtl">') == 2
    words = re.findall(r'<bdi lang="fa">(.*?)</bdi>', page)
    assert words == ["آب", *WORDS, "شیر", *WORDS]
    assert re.findall(r'<small lang="en" dir="ltr">(.*?)</small>', page) == GLOSSES * 2
    numbers = re.findall(r'<span class="ss-number" dir="ltr"[^>]*>(.*?)</span>', page)
    assert numbers == ["0.25", "0.75", "0.00", "1.00", "0.00", "0.00"]
    kinds = re.findall(r'<li class="ss-word( ss-own)?">', page)
    assert kinds == ["", " ss-own", "", " ss-own", "", ""]
    assert "</bdi>, word 1, reads</p>" in page
    assert shown[0]["text/plain"].splitlines()[1:] == [
        "tap water (object)",
        "water: 0.25 0.75 0.00",
        "tap: 1.00 0.00 0.00",
    ]


def test_an_english_sentence_needs_no_glosses(shown):
    show_readings(["so", "it"], torch.tensor([[0.25, 0.75]]), [1], **TEXTS)
    page = shown[0]["text/html"]
    assert "<small" not in page
    assert re.findall(r'<bdi lang="en">(.*?)</bdi>', page) == ["it", "so", "it"]
    assert shown[0]["text/plain"].splitlines()[1:] == ["so it", "it: 0.25 0.75"]


def test_no_number_stands_below_a_word_that_nobody_may_read(shown):
    show_readings(["so", "it"], torch.tensor([[1.0, 0.0]]), [1], unread=[1], **TEXTS)
    page = shown[0]["text/html"]
    assert re.findall(r'<span class="ss-number"[^>]*>(.*?)</span>', page) == ["1.00"]
    assert re.findall(r'<bdi lang="en">(.*?)</bdi>', page) == ["it", "so", "it"]
    assert shown[0]["text/plain"].splitlines()[1:] == ["so it", "it: 1.00"]


def test_each_number_stands_on_the_one_colour_of_its_share(shown):
    readings(weights=WEIGHTS[:1] / 3, readers=[1])
    found = re.findall(r"background: (#\w+); color: (#\w+)", shown[0]["text/html"])
    colours = [share_colour(share) for share in (0.25 / 3, 0.25, 0.0)]
    assert found == [(colour, ink_on(colour)) for colour in colours]


def test_a_title_tells_apart_two_lines_of_one_reader(shown):
    weights = torch.tensor([[0.25, 0.75], [1.0, 0.0]])
    show_readings(["so", "it"], weights, [1, 1], titles=["head 0", "<b>"], **TEXTS)
    above = re.findall(r'<p class="ss-who">(.*?)<bdi', shown[0]["text/html"])
    assert above == ["head 0: ", "&lt;b&gt;: "]
    lines = shown[0]["text/plain"].splitlines()[2:]
    assert lines == ["head 0: it: 0.25 0.75", "<b>: it: 1.00 0.00"]


def test_readings_run_from_left_to_right_unless_told(shown):
    show_readings(["a", "<b>"], WEIGHTS[:1, :2], [0], glosses=["one", "t&o"], **TEXTS)
    page = shown[0]["text/html"]
    assert '<ol class="ss-row" dir="ltr">' in page
    assert '<bdi lang="en">&lt;b&gt;</bdi><small lang="en" dir="ltr">t&amp;o</small>' in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"glosses": ["tap"]}, "one gloss for each word; got words=3, glosses=1"),
        ({"titles": ["head 0"]}, "one title for each reader, or none; got readers=2, titles=1"),
        (
            {"readers": [0]},
            r"one row for each reader and one column for each word; got weights=\(2, 3\)",
        ),
        ({"weights": WEIGHTS[:, :2]}, "one row for each reader and one column for each word"),
        ({"readers": [0, 3]}, r"readers must be places of words; got readers=\[0, 3\]"),
        ({"readers": [-1, 0]}, "readers must be places of words"),
        ({"weights": WEIGHTS * 2}, "weights must be numbers from 0 to 1"),
        ({"weights": -WEIGHTS}, "weights must be numbers from 0 to 1"),
        ({"weights": WEIGHTS * math.nan}, "weights must be numbers from 0 to 1"),
        ({"direction": "up"}, "direction must be one of 'ltr', 'rtl'"),
        ({"caption": " "}, "caption must not be empty"),
    ],
)
def test_readings_of_bad_input(changes, message, shown):
    with pytest.raises(ValueError, match=message):
        readings(**changes)
    assert not shown
