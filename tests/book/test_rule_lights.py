"""The rule lights, used in Chromium as a reader would: what they find is what Python finds.

Two things are compared: the arithmetic of the page, on all messages and on texts made to tell the
two languages apart, and the controls, which a reader moves.
"""

import random
import re
import unicodedata
from itertools import product

import pytest
import torch

from softlookup.data import messages, split
from softlookup.show import RuleLights
from softlookup.show.figures.rule_lights import _EXAMPLES, _START, PRINTED_MEDICINES, PRINTED_MONEY
from softlookup.words import (
    MONEY,
    capital_share,
    f1_score,
    medicine_pattern,
    precision,
    recall,
    rule_spans,
)

PATTERNS = {
    "repaired": {"medicine": medicine_pattern(), "money": MONEY},
    "printed": {"medicines": PRINTED_MEDICINES, "money": PRINTED_MONEY},
}
SETTINGS = [
    {"version": version, "call": call}
    for version, call in product(["repaired", "printed"], ["search", "match"])
]
ODD = [
    "",
    " ",
    "12345",
    "2026-03-17",
    "Make $500 per week",
    "MAKE $500 per week",
    "Hi! Make $500 per week",
    "\nMake $500 per week",
    "Make sure you attend class",
    "make sure",
    "make  sure ",
    "Remake sure you do",
    "makeMake  it  so",
    "Make\u00a0$5\u2003per\u3000week",
    "Make\x1csure\x1fof",
    "Make\x85it\x0bso",
    "Make\ufeffit so",  # white space to JavaScript, not to Python
    "Make étude maké \u0301a",
    "Make x² ½ ٣",
    "Make $٣٣ per day",
    "make ٣,٣٣٣ every week",
    "MA\u212aE 5 A WEE\u212a",  # the Kelvin sign is a k
    "mae 5 a day",
    "V\u0130AGRA v\u0131agra viagra VIAGRA",  # Turkish letters are an i
    "tadalafil\u0301 \u0345viagra viagra\u0345",  # marks are no letters
    "\u017fildenafil \U0001d4ea \U0001d400",  # the long s is an s
    "Acetylcysteine apixaban Apixaban...... .. ...",
    "See you tomorrow... maybe",
    "... Apixaban, Acetylcysteine",
    "apixaban\nAPIXABAN",
    "straße STRASSE ŉ ﬁ ǆ ǅ Ǆ",
    "ẞ ß",
    "ſ K Å",
    "\U00010400\U00010428 \U0001d400B c",
    "ⅣⅳⒶⓐ",
    "東京タワー",
    "🙂🙂 → ∞ 👩‍👩‍👧",
    "BUY NOW cheap",
    "BUY NOW cheap pills",
    "aB",
    "DON'T X2Y É\u0301É",
    "Make " * 40 + "$5 per week",
    "</script><!-- <b>Make it bold</b> &amp; \u2028\u2029",
]


def python_finds(text, version, call):
    """For each rule, whether it fires and where, by Python's own re."""
    how = {"search": re.finditer, "match": re.match}[call]

    def places(pattern, flags=0):
        found = how(pattern, text, flags)
        return [match.span() for match in ([found] if call == "match" and found else found or [])]

    if version == "repaired":
        spans = rule_spans(text)
        assert spans["money"] == [match.span() for match in re.finditer(MONEY, text, re.I)]
        spans["money"] = places(MONEY, re.I)
        return {rule: {"fires": bool(found), "spans": found} for rule, found in spans.items()}
    names = sorted(
        m.span() for name in PRINTED_MEDICINES for m in re.finditer(re.escape(name), text)
    )
    money = places(PRINTED_MONEY)
    return {
        "medicine": {"fires": any(name in text for name in PRINTED_MEDICINES), "spans": names},
        "capitals": {"fires": text.upper() == text, "spans": []},
        "money": {"fires": bool(money), "spans": money},
    }


RULE_SPANS = """return data.texts.map((text) => {
    const found = maths.ruleSpans(text, data.patterns, data.settings);
    const characters = (end) => [...text.slice(0, end)].length;
    return Object.fromEntries(Object.entries(found).map(([rule, {fires, spans}]) =>
      [rule, {fires, spans: spans.map((span) => span.map(characters))}]));
})"""


def example():
    return RuleLights("BUY VIAGRA, MAKE $1,000 EVERY DAY " + "W" * 300)


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/rule_lights/maths.js")


def assert_same(maths, texts, settings):
    data = {"texts": texts, "patterns": PATTERNS, "settings": settings}
    found = maths(RULE_SPANS, data)
    for text, theirs in zip(texts, found, strict=True):
        for rule in theirs.values():
            rule["spans"] = [tuple(span) for span in rule["spans"]]
        assert theirs == python_finds(text, **settings), text


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(s.values()))
def test_all_messages_and_odd_texts_give_what_python_gives(maths, settings):
    assert_same(maths, [message.text for message in messages()], settings)
    assert_same(maths, ODD, settings)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(s.values()))
def test_random_texts_near_the_patterns_give_what_python_gives(maths, settings):
    rng = random.Random(20260317)
    pieces = [
        "make", "Make", "MAKE", " ", " ", "  ", "\u00a0", "\ufeff", "\n", "$", "£", "€", "¥", "5",
        "90", "1,000", ",", ".5", "٣", " every ", " per ", " a ", " AN ", "each", "for", "week",
        "day", "Year", "hour", "é", "_", "\u0301", "viagra", "ApIxAban", "Apixaban", "...", "ſ",
        "\u212a", "\u0131", "\u0130", "🙂", "X", "ABC",
    ]  # fmt: skip
    texts = ["".join(rng.choices(pieces, k=rng.randrange(1, 17))) for _ in range(3000)]
    assert_same(maths, texts, settings)


ASSIGNED = [
    chr(code)
    for code in range(0x110000)
    if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")
]
"""Every character that Python's Unicode knows; the browser's may know more."""


def in_browser(maths, source, regex="null"):
    """The characters that a JavaScript expression of `one` and `regex` holds for."""
    code = f"""const regex = {regex};
        return [...data].map((one, i) => ({source}) ? i : -1).filter((i) => i >= 0)"""
    return [ASSIGNED[i] for i in maths(code, "".join(ASSIGNED))]


@pytest.mark.parametrize("pattern", [r"\w", r"\d", r"\s", r"[\w]", r"[\d,]", r"a\b", r"\ba"])
def test_classes_mean_the_same_for_every_character(maths, pattern):
    """The edge of a word is tested beside each character, the classes on it."""
    texts = {r"a\b": "a{}", r"\ba": "{}a"}
    frame = texts.get(pattern, "{}")
    ours = [one for one in ASSIGNED if re.search(pattern, frame.format(one))]
    before, after = frame.split("{}")
    regex = f"new RegExp(maths.translated(String.raw`{pattern}`, false), 'u')"
    assert in_browser(maths, f"regex.test('{before}' + one + '{after}')", regex) == ours


@pytest.mark.parametrize("letter", "abcdefghijklmnopqrstuvwxyz")
def test_ignoring_case_means_the_same_for_every_character(maths, letter):
    ours = [one for one in ASSIGNED if re.fullmatch(letter, one, re.IGNORECASE)]
    regex = f"new RegExp('^' + maths.translated('{letter}', true) + '$', 'u')"
    assert in_browser(maths, "regex.test(one)", regex) == ours
    assert len(ours) >= 2


def test_letters_and_capitals_mean_the_same_for_every_character(maths):
    letters = [one for one in ASSIGNED if one.isalpha()]
    capitals = [one for one in letters if one.isupper()]
    assert in_browser(maths, "maths.letterCounts(one).letters === 1") == letters
    assert in_browser(maths, "maths.letterCounts(one).capitals === 1") == capitals


def test_small_letters_are_the_same_but_for_capitals_that_python_does_not_know_yet(maths):
    ours = [one for one in ASSIGNED if one.upper() == one]
    theirs = in_browser(maths, "one.toUpperCase() === one")
    newer = sorted(set(ours) - set(theirs))
    capitals = maths("return data.map((one) => one.toUpperCase())", newer)
    assert {unicodedata.category(capital) for capital in capitals} <= {"Cn"}
    assert set(theirs) <= set(ours)
    assert len(newer) < 20


def test_the_pieces_put_together_are_the_text(maths):
    texts = [*ODD, "BUY VIAGRA, MAKE $1,000 EVERY DAY, make 5 a day"]
    code = """return data.texts.map((text) => maths.pieces(text, maths.ruleSpans(text,
        data.patterns, {version: "repaired", call: "search"})))"""
    for text, pieces in zip(
        texts, maths(code, {"texts": texts, "patterns": PATTERNS}), strict=True
    ):
        assert "".join(piece["text"] for piece in pieces) == text
        place = 0
        for piece in pieces:
            end = place + len(piece["text"])
            holds = [rule for rule, spans in rule_spans(text).items()
                     if any(a <= place and end <= b for a, b in spans)]  # fmt: skip
            assert piece["rules"] == holds
            place = end


# The controls


@pytest.fixture
def open_figure(open_figures):
    """Opens one figure, or several in one page."""

    def open_page(*figures, **options):
        return open_figures(*(figures or (RuleLights(),)), ready=".rl-lights", **options)

    return open_page


def choose(page, version, call):
    for name, value in {"version": version, "call": call}.items():
        page.locator(f'input[name="{name}"][value="{value}"]').first.check(force=True)


def expected_scores(settings):
    train = split(messages())[0]
    called = [
        any(rule["fires"] for rule in python_finds(m.text, **settings).values()) for m in train
    ]
    truth, called = torch.tensor([m.spam for m in train]), torch.tensor(called)
    pairs = list(zip(truth.tolist(), called.tolist(), strict=True))
    return (
        pairs.count((True, True)),
        sum(truth.tolist()),
        pairs.count((False, True)),
        precision(truth, called),
        recall(truth, called),
        f1_score(truth, called),
    )


def assert_shows(page, text, settings, place=0):
    """Lamps, underlined text, verdict and scores are what Python finds."""
    figure = page.locator(".rl-lights").nth(place)
    found = python_finds(text, **settings)
    for rule, result in found.items():
        row = figure.locator(f'[data-rule="{rule}"]')
        assert ("rl-on" in row.get_attribute("class")) == result["fires"]
        assert row.locator(".rl-state").inner_text() == ("fires" if result["fires"] else "rests")
        marks = figure.locator(f".rl-reading mark.rl-{rule}").evaluate_all(
            "(all) => all.map((mark) => mark.textContent).join('')"
        )
        assert marks == "".join(text[start:end] for start, end in result["spans"])
    reading = figure.locator(".rl-reading")
    assert reading.evaluate("(node) => node.textContent") == text
    said = figure.locator(".rl-verdict").inner_text()
    fired = [rule.capitalize() for rule, result in found.items() if result["fires"]]
    assert said.startswith(f"Spam, says {' and '.join(fired)}." if fired else "Ham: no rule fires.")
    tp, n_spam, fp, *shares = expected_scores(settings)
    line = figure.locator(".rl-score").inner_text()
    assert f"{tp} of {n_spam} spam found, {fp} ham called spam" in line
    printed = re.search(r"precision ([\d.]+), recall ([\d.]+), F1 ([\d.]+)\.$", line).groups()
    for text_, share in zip(printed, shares, strict=True):
        assert float(text_) == pytest.approx(share, rel=5e-3)


def test_it_starts_with_the_repaired_rules_on_the_first_message(open_figure):
    page = open_figure()
    assert_shows(page, _START, SETTINGS[0])
    why = page.locator('[data-rule="money"] .rl-why').inner_text()
    assert why == "“Make $1,000 every week”"
    assert page.locator('[data-rule="medicine"] .rl-why').inner_text() == "“viagra”"
    assert page.locator('[data-rule="capitals"] .rl-why').inner_text() == (
        "2 of 30 letters, a share of 0.067"
    )
    assert capital_share(_START) == 2 / 30


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(s.values()))
def test_what_the_reader_writes_lights_the_lamps(open_figure, settings):
    page = open_figure()
    choose(page, **settings)
    for text in [
        "Hi! Make $500 per week",
        "MAKE 5 a day, APIXABAN",
        "",
        "12345",
        "<b>Make it so</b>",
        "See you... maybe",
        "V\u0130AGRA\nMake $5 per week",
    ]:
        page.locator("textarea").fill(text)
        assert_shows(page, text, settings)


def test_the_examples_and_the_switches(open_figure):
    page = open_figure()
    for example in _EXAMPLES:
        page.get_by_role("button", name=example["label"], exact=True).click()
        for settings in SETTINGS:
            choose(page, **settings)
            assert_shows(page, example["text"], settings)


def test_the_slides_pattern_and_its_repair_tell_two_messages_apart(open_figure):
    page = open_figure()
    lit = {}
    for text, settings in product([m["text"] for m in _EXAMPLES[:2]], SETTINGS):
        page.locator("textarea").fill(text)
        choose(page, **settings)
        lit[text[:4], *settings.values()] = page.locator('[data-rule="money"].rl-on').count()
        assert lit[text[:4], *settings.values()] == python_finds(text, **settings)["money"]["fires"]
    assert lit == {
        ("Hi! ", "repaired", "search"): 1,
        ("Hi! ", "repaired", "match"): 0,
        ("Hi! ", "printed", "search"): 1,
        ("Hi! ", "printed", "match"): 0,
        ("Make", "repaired", "search"): 0,
        ("Make", "repaired", "match"): 0,
        ("Make", "printed", "search"): 1,
        ("Make", "printed", "match"): 1,
    }


def test_training_messages_come_in_order_with_their_label(open_figure):
    page = open_figure()
    train = split(messages())[0]
    button = page.get_by_role("button", name="A training message")
    for message in [*train[:5], train[5]]:
        button.click()
        assert page.locator("textarea").input_value() == message.text
        assert_shows(page, message.text, SETTINGS[0])
        said = page.locator(".rl-verdict").inner_text()
        spam = any(rule["fires"] for rule in python_finds(message.text, **SETTINGS[0]).values())
        label, right = ("spam" if message.spam else "ham"), spam == message.spam
        assert said.endswith(f"The label is {label}: {'right' if right else 'wrong'}.")
    page.locator("textarea").press("End")
    page.keyboard.type("x")
    assert "label" not in page.locator(".rl-verdict").inner_text()


def test_nothing_and_too_much_are_no_fault(open_figure):
    page = open_figure()
    page.locator("textarea").fill("")
    assert page.locator(".rl-verdict").inner_text() == (
        "Ham: no rule fires. Nothing is written yet."
    )
    choose(page, "printed", "match")
    assert page.locator(".rl-verdict").inner_text() == (
        "Spam, says Capitals. Nothing is written yet."
    )
    page.locator("textarea").fill("m" * 1990)
    page.locator("textarea").press("End")
    page.keyboard.type("ake 500 every week")
    assert len(page.locator("textarea").input_value()) == 2000


def test_all_of_it_works_by_keyboard(open_figure):
    page = open_figure()
    names = []
    for _ in range(20):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.name || document.activeElement.tagName"))
        if names[-1] == "version":
            page.keyboard.press("ArrowLeft")
        if names[-1] == "call":
            page.keyboard.press("ArrowLeft")
            break
    assert names.count("BUTTON") == len(_EXAMPLES) + 1
    assert "TEXTAREA" in names
    assert_shows(page, _START, {"version": "printed", "call": "match"})


def test_bad_input():
    with pytest.raises(ValueError, match=r"text must have at most 2000 characters; got .*2001"):
        RuleLights("m" * 2001)


@pytest.mark.bad_input
def test_the_text_must_be_a_string():
    with pytest.raises(ValueError, match="text must be a string; got text=7"):
        RuleLights(7)
