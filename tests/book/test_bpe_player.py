"""The BPE player, used in Chromium as a reader would: its chunks, merges and ids are the library's.

The page is built from the object's text/html alone and opened as a file, so nothing else serves it.
"""

import random
import sys
from itertools import pairwise

import pytest
import regex
from site_checks import scroll_faults

from softlookup.data import messages
from softlookup.show import BpePlayer
from softlookup.show.figures.bpe_player import _EXAMPLES, SENTENCE
from softlookup.tokenization import (
    GPT4_PATTERN,
    BytePairTokenizer,
    count_pairs,
    merge_pair,
    split_chunks,
)

WEIRD = {
    "nothing": "",
    "one letter": "a",
    "spaces": "   a  b \t c   ",
    "only spaces": "      ",
    "line feeds": "a\n\n  b\n \n\t\nc  \n   ",
    "carriage returns": "a\r\nb\r\r\n  \r",
    "equal letters": "aaaa aaa aa a aaaaaaa aaa",
    "apostrophes": "It's IT'S i'M they'RE y'all's 'tis we'LL d'x 'ſ 'lL'vE",
    "digits": "1 12 123 1234 12345678 3.14 ١٢٣٤٥ ४५६७ ²³ Ⅻ 1a2b",
    "next line": "a\x85b \x85 c\x85\x85",
    "odd spaces": "a\u00a0b\u2003\u2003c\ufeffd\u200be\u3000f\x1cg\x1f h",
    "emoji": "😁 😁😁 👩‍👩‍👧 👩‍👩‍👧 3️⃣ 🇩🇪🇩🇪 ok😁?",
    "arabic": "صبح بخیر، صبح بخیر! ٣ كتاب",
    "hindi": "नमस्ते नमस्ते दुनिया",
    "japanese": "おはようございます、おはよう。東京東京",
    "marks": "e\u0301e\u0301 naïve nai\u0308ve Z͑ͫ̓a\u0300\u0301",
    "code": "def f(x):\n    return x ** 2  # square\n\n\nprint(f(3))\n",
    "markup": "<b>bold</b> &amp; <script>alert(1)</script> </script>",
    "prototype": "constructor __proto__ toString constructor __proto__",
    "edges": "\x00\x00\x7f\x80\x80\u07ff\u0800\uffff\U00010000\U0010ffff",
    "ties": "abcd cdab bcda dabc abcd",
}
LETTERS = "aab  \n\r\t'ſsté😁१٣1२.,¶\x85\u00a0字"


def example():
    merges = BytePairTokenizer.train([message.text for message in messages()], 300).merges
    return BpePlayer(merges=merges, source="the messages")


@pytest.fixture(scope="module")
def merges():
    """The merges of a tokenizer trained on the book's messages."""
    return BytePairTokenizer.train([message.text for message in messages()], 556).merges


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/bpe_player/maths.js")


@pytest.fixture
def open_figure(open_figures):
    """Opens players in one page, one in its first state if none is given."""

    def open_page(*figures, **options):
        return open_figures(*(figures or (BpePlayer(),)), ready=".bp-player", **options)

    return open_page


def texts() -> list[str]:
    """Odd texts, plain ones, and 300 made of letters that patterns care about."""
    draw = random.Random(6)
    made = ["".join(draw.choices(LETTERS, k=draw.randrange(60))) for _ in range(300)]
    return [*WEIRD.values(), SENTENCE, *(m.text for m in messages()[:40]), *made]


def learned(text: str, most: int) -> list[tuple[tuple[int, int], int]]:
    """The library's merges of one text and how often each pair occurs, while it occurs twice."""
    trained = BytePairTokenizer.train([text], 256 + most).merges if text else []
    chunks = [list(chunk.encode()) for chunk in split_chunks(text)]
    found = []
    for m, pair in enumerate(trained):
        count = sum(count_pairs(chunk).get(pair, 0) for chunk in chunks)
        if count < 2:
            break
        found.append((pair, count))
        chunks = [merge_pair(chunk, pair, 256 + m) for chunk in chunks]
    return found


# The arithmetic


def test_the_split_pattern_is_gpt4s_on_many_texts(maths):
    all_texts = texts()
    found = maths("return data.map(window.maths.splitChunks);", all_texts)
    for text, chunks in zip(all_texts, found, strict=True):
        assert chunks == split_chunks(text, GPT4_PATTERN), repr(text)
        assert "".join(chunks) == text


def test_every_character_is_of_the_kind_that_the_library_takes_it_for(maths):
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    assigned = "".join(regex.findall(r"[^\p{Cn}\p{Cs}]", every))
    kinds = [r"\p{L}", r"\p{N}", r"\s", r"(?i:[sdmt])", r"(?i:[lver])"]
    known, *browser = maths(  # whole texts: to hand over a million values takes Playwright a minute
        """const known = [...data].filter((c) => !/\\p{Cn}/u.test(c));
           const kinds = [/\\p{L}/u, /\\p{N}/u, /\\p{White_Space}/u, /[sSſdDmMtT]/u, /[lLvVeErR]/u];
           return [known, ...kinds.map((kind) => known.filter((c) => kind.test(c)))]
             .map((all) => all.join(""));""",
        assigned,
    )
    assert len(known) > 0.9 * len(assigned)  # the two may know different versions of Unicode
    for kind, found in zip(kinds, browser, strict=True):
        assert sorted({*found} ^ {*regex.findall(kind, known)}) == [], kind


def test_each_character_between_two_letters_is_cut_alike(maths):
    codes = [*range(0x3000), *range(0xFE00, 0xFFFE), *range(0x1F300, 0x1FB00)]
    codes = [c for c in codes if not 0xD800 <= c < 0xE000]
    known = "return data.filter((code) => !/\\p{Cn}/u.test(String.fromCodePoint(code)));"
    codes = [c for c in maths(known, codes) if not regex.match(r"\p{Cn}", chr(c))]
    assert len(codes) > 10_000
    made = [f"a{chr(c)}b {chr(c)}{chr(c)}'{chr(c)} \n{chr(c)}1" for c in codes]
    found = maths("return data.map(window.maths.splitChunks);", made)
    assert found == [split_chunks(text) for text in made]


def test_learned_merges_are_the_librarys(maths):
    for text in texts():
        course = maths("return window.maths.learn(data, 60);", text)
        expected = learned(text, 60)
        pairs = [tuple(pair) for pair in course["merges"]]
        assert list(zip(pairs, course["counts"], strict=True)) == expected, repr(text)
        lengths = course["lengths"]
        assert lengths[0] == len(text.encode())
        saved = [before - after for before, after in pairwise(lengths)]
        assert saved == course["counts"]  # each join saves one token


def test_ids_are_the_librarys_at_every_vocabulary_size(maths, merges):
    trained = [message.text for message in messages()]
    sample = [*WEIRD.values(), SENTENCE, trained[3], trained[77]]
    for k in 0, 1, 7, 50, 300:
        tokenizer = BytePairTokenizer.train(trained, 256 + k)
        assert tokenizer.merges == merges[:k]
        found = maths(
            "return data[0].map((text) => window.maths.encode(text, data[1], data[2]).flat());",
            [sample, merges, k],
        )
        assert found == [tokenizer.encode(text) for text in sample]


def test_replayed_lengths_are_those_of_encoding(maths, merges):
    for text in [*WEIRD.values(), SENTENCE]:
        lengths = maths("return window.maths.replay(data[0], data[1]);", [text, merges])
        encoded = maths(
            "return data[2].map((k) => window.maths.encode(data[0], data[1], k).flat().length);",
            [text, merges, [0, 5, 100, 300]],
        )
        assert [lengths[k] for k in (0, 5, 100, 300)] == encoded
        assert len(lengths) == 301


def test_token_bytes_are_the_librarys(maths, merges):
    tokenizer = BytePairTokenizer.train([message.text for message in messages()], 556)
    found = maths("return window.maths.tokenBytes(data);", merges)
    assert [bytes(token) for token in found] == tokenizer.token_bytes


def test_bytes_are_shown_as_characters_only_where_they_are_whole(maths):
    draw = random.Random(7)
    rows = [list("é😁字a".encode()[i:j]) for i in range(10) for j in range(i, 11)]
    rows += [[draw.choice([0x41, 0x80, 0xC3, 0xA9, 0xE2, 0x82, 0xF0, 0x9F, 0xFF, 0xED])
              for _ in range(draw.randrange(9))] for _ in range(400)]  # fmt: skip
    rows += [[0xEF, 0xBB, 0xBF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]]
    found = maths("return data.map(window.maths.pieces);", rows)
    for row, parts in zip(rows, found, strict=True):
        said = "".join(p["text"] if "text" in p else f"\\x{p['byte']:02x}" for p in parts)
        assert said == bytes(row).decode(errors="backslashreplace"), row


# The figure


def shown(page) -> list[int]:
    """The ids on the page."""
    return [int(i) for i in page.locator(".bp-tokens .bp-token").evaluate_all(
        "(all) => all.map((one) => one.dataset.id)")]  # fmt: skip


def slide(page, k: int) -> None:
    """Move the slider as a reader does."""
    page.locator(".sl-slider").evaluate(
        "(one, k) => { one.value = k; one.dispatchEvent(new Event('input', {bubbles: true})); }", k
    )


def press(page, name: str) -> None:
    """Press a button by its whole name."""
    page.get_by_role("button", name=name, exact=True).click()


def test_steps_follow_the_librarys_merges(open_figure):
    page = open_figure()
    expected = learned(SENTENCE, 100)
    for k in range(len(expected) + 1):
        tokenizer = BytePairTokenizer.train([SENTENCE], 256 + k)
        assert shown(page) == tokenizer.encode(SENTENCE)
        assert page.locator(".bp-main dd").inner_text() == str(len(tokenizer.encode(SENTENCE)))
        assert f"{k} of {len(expected)}" in page.locator(".bp-field .sl-number").inner_text()
        if k < len(expected):
            press(page, "Step")
    assert page.get_by_role("button", name="Step").is_disabled()
    assert "No pair occurs twice any more." in page.inner_text(".bp-line")
    assert "Ids: 258" not in page.inner_text(".bp-ids")
    press(page, "Back")
    assert f"{len(expected) - 1} of" in page.locator(".bp-field .sl-number").inner_text()
    press(page, "Start")
    assert shown(page) == list(SENTENCE.encode())
    assert page.get_by_role("button", name="Back").is_disabled()


def test_the_line_tells_the_merge_its_count_and_the_next(open_figure):
    page = open_figure()
    assert page.inner_text(".bp-line") == "Next: e + n, 4 times."
    press(page, "Step")
    press(page, "Step")
    assert page.inner_text(".bp-line") == (
        "en + t becomes ent, id 257; saves 4 tokens. Next: e + s, 3 times."
    )
    first = page.locator(".bp-list").first.locator("li").first.inner_text()
    assert first.split() == ["e", "+", "s", "3", "times"]
    page.locator("textarea").fill("aaa aaa")
    press(page, "Step")
    assert "a + a becomes aa, id 256; saves 2 tokens." in page.inner_text(".bp-line")


def test_a_readers_text_is_learned_from(open_figure):
    page = open_figure(width=390)
    for text in WEIRD.values():
        page.locator("textarea").fill(text)
        typed = page.locator("textarea").input_value()  # a text area knows one kind of line feed
        expected = learned(typed, 300)
        slide(page, len(expected))
        merges = [pair for pair, _ in expected]
        tokenizer = BytePairTokenizer.train([typed], 256 + len(expected))
        assert tokenizer.merges == merges
        assert shown(page) == tokenizer.encode(typed), repr(text)
        assert scroll_faults(page) == []
        assert page.locator(".bp-player script, .bp-player b").count() == 0


def test_the_trained_merges_follow_the_slider(open_figure, merges):
    trained = [message.text for message in messages()]
    page = open_figure(BpePlayer(merges=merges, source="the messages"))
    page.get_by_label("learned from the messages").check()
    assert "vocabulary: 556" in page.locator(".bp-field .sl-number").inner_text()
    text = "Hello, y'all! How are you 😁 ?"
    page.locator("textarea").fill(text)
    for k in 300, 120, 0:
        slide(page, k)
        tokenizer = BytePairTokenizer.train(trained, 256 + k)
        assert shown(page) == tokenizer.encode(text)
    hexes = page.locator(".bp-tokens .bp-byte").all_inner_texts()
    assert hexes == ["F0", "9F", "98", "81"]
    page.get_by_label("learned from this text").check()
    assert shown(page) == list(text.encode())


def test_every_example_is_worth_a_press(open_figure, merges):
    page = open_figure(BpePlayer(merges=merges, source="the messages"))
    for example in _EXAMPLES:
        press(page, example["label"])
        assert page.locator("textarea").input_value() == example["text"]
        assert page.inner_text(".bp-player > .sl-note >> nth=0") == example["hint"]
    press(page, "A protein")
    slide(page, 1000)
    names = "".join(page.locator(".bp-tokens").inner_text().split())
    assert names
    tokens = page.locator(".bp-tokens .bp-token").all_inner_texts()
    for motif in "KDEL", "DEAD", "RGD":
        assert any(motif in token for token in tokens), motif


def test_play_runs_to_the_end_and_can_be_stopped(open_figure):
    page = open_figure(reduced_motion="reduce")
    page.locator("textarea").fill("so so so")
    press(page, "Play")
    page.wait_for_function("document.querySelector('.bp-line').textContent.includes('No pair')")
    assert page.get_by_role("button", name="Play").is_disabled()
    page.locator("textarea").fill(SENTENCE)
    press(page, "Play")
    press(page, "Pause")
    told = page.inner_text(".bp-field .sl-number")
    page.wait_for_timeout(1000)
    assert page.inner_text(".bp-field .sl-number") == told
    assert page.evaluate("document.getAnimations().length") == 0


def test_a_long_text_is_cut_with_a_word_about_it(open_figure):
    page = open_figure()
    page.locator("textarea").fill("😁 " * 1500)
    assert page.inner_text(".bp-warning") == "Only the first 2,000 characters are used."
    assert "2,000" in page.inner_text(".bp-counter")
    page.locator("textarea").fill("")
    assert page.inner_text(".bp-line") == "No text yet: type some."
    assert page.locator(".bp-warning").is_hidden()


def test_it_works_by_keyboard(open_figure):
    page = open_figure()
    page.locator(".sl-slider").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "2 of" in page.locator(".bp-field .sl-number").inner_text()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert "3 of" in page.locator(".bp-field .sl-number").inner_text()
    fields = page.locator("textarea, input")
    shortcuts = fields.evaluate_all("(all) => all.map((one) => one.dataset.lmSuppressShortcuts)")
    assert set(shortcuts) == {"true"}


def test_without_trained_merges_there_is_one_mode(open_figure):
    page = open_figure(BpePlayer("to be or not to be"), BpePlayer())
    assert page.locator(".bp-modes").first.is_hidden()
    assert page.get_by_role("button", name="Four scripts").count() == 0
    first = page.locator(".bp-player").nth(0)
    first.get_by_role("button", name="Step").click()
    assert page.locator(".bp-field .sl-label").nth(1).inner_text().startswith("Merges: 0")


# The Python side


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "a" * 2001}, "at most 2000 characters; got characters=2001"),
        ({"merges": [(97, 256)], "source": "x"}, "merge 0 must be two ids from 0 to 255"),
        ({"merges": [(97, 98), (256, -1)], "source": "x"}, "merge 1 must be two ids from 0 to 256"),
        ({"merges": [(97, 98, 99)], "source": "x"}, "merge 0 must be two ids"),
        ({"merges": [(97, 98)]}, "source must say what the merges were learned from; got source="),
        ({"merges": [(1, 1)] * 2001, "source": "x"}, "merges must be at most 2000; got n_merges"),
        ({"alt": "x.png"}, "alt"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        BpePlayer(**options)


@pytest.mark.bad_input
def test_text_must_be_a_string():
    with pytest.raises(ValueError, match="text must be a string; got text=3"):
        BpePlayer(3)


def test_the_largest_is_small():
    merges = [(i % 256, 97) for i in range(2000)]
    assert len(BpePlayer("ü" * 2000, merges=merges, source="a test").html().encode()) < 200_000
