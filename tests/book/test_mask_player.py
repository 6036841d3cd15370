"""The mask player, used in Chromium as a reader would: its gaps are the library's."""

import json

import pytest
import torch

from softlookup.language_models import mask_tokens, next_token_pairs
from softlookup.masks import causal_mask
from softlookup.show import MaskPlayer

TEXT = "the <b>value</b> of the last expression is kept"
WORDS = TEXT.split()
OTHERS = ["cat", "dog", "<i>x</i>", "sat", "mat"]
MASK_ID = len(OTHERS)
KINDS = ("free", "hidden", "replaced", "kept")


def example():
    return MaskPlayer(TEXT, OTHERS, share=0.6, hidden=0.4)


@pytest.fixture(scope="module")
def maths(functions_of):
    return functions_of("figures/mask_player/maths.js", "kit/maths.js")


@pytest.fixture
def open_figure(open_figures):
    def open_page(text=TEXT, shares=None, **options):
        figure = MaskPlayer(text, OTHERS, **(shares or {}))
        return open_figures(figure, ready=".mp-card", **options)

    return open_page


def choose(page, name, text):
    page.locator(f'label.sl-choice:has(input[name="{name}"])', has_text=text).click()


def cards(page):
    """What each card reads, what became of it, and what it should say."""
    return [
        (
            card.locator(".mp-reads").inner_text(),
            card.get_attribute("class").split()[1].removeprefix("mp-"),
            card.locator(".mp-says").inner_text().replace("\n", " "),
            "mp-unseen" in card.get_attribute("class"),
        )
        for card in page.locator(".mp-card").all()
    ]


# The arithmetic


@pytest.mark.parametrize(
    "shares", [(0.15, 0.8, 0.1), (0.5, 0.3, 0.3), (1.0, 0.0, 1.0), (1.0, 1.0, 0.0), (0.0, 0.8, 0.1)]
)
def test_gaps_are_those_of_the_library(maths, shares):
    """The same chances, drawn as mask_tokens draws them, give the same text with gaps."""
    options = dict(zip(("share", "hidden", "replaced"), shares, strict=True))
    ids = torch.randint(MASK_ID, (200,), generator=torch.Generator().manual_seed(5))
    seeded = [torch.Generator().manual_seed(11) for _ in range(2)]
    expected = mask_tokens(
        ids, mask_id=MASK_ID, vocab_size=MASK_ID + 1, generator=seeded[0], **options
    )
    chances = [torch.rand(200, generator=seeded[1]).tolist() for _ in range(2)]
    which = torch.randint(MASK_ID, (200,), generator=seeded[1])
    draws = list(zip(*chances, ((which + 0.5) / MASK_ID).tolist(), strict=True))
    code = """return maths.corrupted(data.words, data.draws, data.shares, data.others, "[MASK]")"""
    words = [OTHERS[i] for i in ids]
    found = maths(code, {"words": words, "draws": draws, "shares": options, "others": OTHERS})
    names = [*OTHERS, "[MASK]"]
    assert [part["reads"] for part in found] == [names[i] for i in expected.inputs]
    assert [part["kind"] != "free" for part in found] == expected.chosen.tolist()


def test_the_long_run(maths):
    code = "return maths.expectedShares({share: 0.15, hidden: 0.8, replaced: 0.1})"
    wanted = {"free": 0.85, "hidden": 0.12, "replaced": 0.015, "kept": 0.015}
    assert maths(code) == pytest.approx(wanted)


def test_chances_are_even(maths):
    """20,000 draws fall on each kind as often as it is probable."""
    code = """const next = maths.random(7); const n = {free: 0, hidden: 0, replaced: 0, kept: 0};
        for (let i = 0; i < data; i += 1) n[maths.fate(next(), next(),
            {share: 0.4, hidden: 0.5, replaced: 0.3})] += 1;
        return n"""
    found, n = maths(code, 20_000), 20_000
    for kind, p in {"free": 0.6, "hidden": 0.2, "replaced": 0.12, "kept": 0.08}.items():
        assert abs(found[kind] / n - p) < 4 * (p * (1 - p) / n) ** 0.5


def test_shift_and_sight_are_the_librarys(maths):
    ids = torch.arange(7)
    _, after = next_token_pairs(ids)
    assert maths("return maths.targets([0, 1, 2, 3, 4, 5, 6], 1)") == [*after.tolist(), None]
    code = "return data.map((i) => maths.visible(i, 7, true))"
    assert torch.equal(torch.tensor(maths(code, list(range(7)))), causal_mask(7))
    assert maths("return maths.visible(3, 5, false)") == [True] * 5


@pytest.mark.parametrize(
    ("shift", "causal", "seen"),
    [(0, True, 7), (1, True, 0), (2, True, 0), (0, False, 7), (1, False, 6), (2, False, 5)],
)
def test_answers_in_sight(maths, shift, causal, seen):
    assert maths("return maths.leaks(7, ...data)", [shift, causal]) == seen


# What the page shows


def test_gaps_on_the_page(open_figure):
    page = open_figure(shares={"share": 0.6, "hidden": 0.4, "replaced": 0.3})
    kinds = set()
    for _ in range(12):
        page.locator(".mp-draw").click()
        found = cards(page)
        chosen = [kind for _, kind, _, _ in found if kind != "free"]
        kinds.update(chosen)
        for word, (reads, kind, says, unseen) in zip(WORDS, found, strict=True):
            assert not unseen
            assert says == ("–" if kind == "free" else f"says {word}")
            assert kind != "hidden" or reads == "[MASK]"
            assert kind != "replaced" or reads in OTHERS
            assert kind not in ("free", "kept") or reads == word
        said = page.inner_text(".mp-live")
        if not chosen:
            assert said.startswith("No word was chosen")
            continue
        assert said.startswith(f"{len(chosen)} of {len(WORDS)} words ")
        shown = [reads == word for word, (reads, _, _, _) in zip(WORDS, found, strict=True)]
        n_seen = sum(a and kind != "free" for a, (_, kind, _, _) in zip(shown, found, strict=True))
        end = "None of the answers" if n_seen == 0 else f"{n_seen} of the answers can be seen; the"
        assert f"every word is read. {end}" in said
    assert kinds == {"hidden", "replaced", "kept"}


def test_a_replacement_that_is_the_word_itself_can_be_seen(open_figures):
    """Whatever is drawn for them, words that are all alike are replaced by what they were."""
    figure = MaskPlayer("cat cat cat", ["cat"], share=1.0, hidden=0.0, replaced=1.0)
    page = open_figures(figure, ready=".mp-card")
    assert {kind for _, kind, _, _ in cards(page)} == {"replaced"}
    assert "3 of the answers can be seen" in page.inner_text(".mp-live")


def counts(page):
    rows = page.locator(".mp-counts tbody tr").all()
    return [[cell.inner_text() for cell in row.locator("th, td").all()] for row in rows]


def test_counts_approach_berts_shares(open_figure):
    page = open_figure()
    for _ in range(3):
        page.locator(".mp-many").click()
    table = counts(page)
    assert [row[0] for row in table] == ["left alone", "hidden", "replaced", "kept"]
    assert [row[3] for row in table] == ["85.0%", "12.0%", "1.5%", "1.5%"]
    drawn = [int(row[1]) for row in table]
    assert sum(drawn) == 3001 * len(WORDS)
    for row, count, share in zip(table, drawn, (0.85, 0.12, 0.015, 0.015), strict=True):
        assert row[2] == f"{100 * count / sum(drawn):.1f}%"
        assert abs(count / sum(drawn) - share) < 4 * (share * (1 - share) / sum(drawn)) ** 0.5


def test_sliders_change_the_chances_and_begin_anew(open_figure):
    page = open_figure()
    page.locator(".mp-many").click()
    page.locator('input[name="share"]').fill("40")
    page.locator('input[name="hidden"]').fill("50")
    table = counts(page)
    assert [row[3] for row in table] == ["60.0%", "20.0%", "4.0%", "16.0%"]
    assert sum(int(row[1]) for row in table) == len(WORDS)
    page.locator('input[name="replaced"]').fill("75")  # no room: less is hidden
    assert [row[3] for row in counts(page)] == ["60.0%", "10.0%", "30.0%", "0.0%"]
    assert page.locator('input[name="hidden"]').input_value() == "25"
    values = page.locator(".sl-slider").evaluate_all("(all) => all.map((i) => i.ariaValueText)")
    assert values == page.locator(".sl-number").all_inner_texts() == ["40%", "25%", "75%"]
    page.locator('input[name="share"]').fill("0")
    assert page.inner_text(".mp-live").startswith("No word was chosen")


@pytest.mark.parametrize("reader", [0, 3, 7])
def test_the_shift(open_figure, reader):
    page = open_figure()
    choose(page, "task", "say the next")
    page.locator(".mp-reads").nth(reader).click()
    assert not page.locator(".mp-counts").is_visible()
    for shift, name in enumerate(("at its place", "one on", "two on")):
        choose(page, "shift", name)
        for sight in ("itself and the past", "all words"):
            choose(page, "reads", sight)
            found = cards(page)
            assert [reads for reads, *_ in found] == WORDS
            wanted = [*WORDS[shift:], *[None] * shift]
            assert [says for _, _, says, _ in found] == [
                "–" if word is None else f"says {word}" for word in wanted
            ]
            past = sight != "all words"
            assert [unseen for *_, unseen in found] == [past and j > reader for j in range(8)]
            said, n = page.inner_text(".mp-live"), 8 - shift
            assert f"“{WORDS[reader]}” reads {reader + 1 if past else 8} of 8 words" in said
            answer = wanted[reader]
            assert ("nothing to say" if answer is None else f"should say “{answer}”") in said
            assert f"{n} words are in the loss" in said
            leak = 0 if past and shift else n
            assert ("no answer can be seen" if leak == 0 else f"{leak} of the answers") in said


def test_other_texts(open_figure):
    page = open_figure()
    page.locator(".mp-line").fill("  to be\tor not ")
    choose(page, "task", "say the next")
    assert [reads for reads, *_ in cards(page)] == ["to", "be", "or", "not"]
    for text, fault in ("one", "Two words at least"), ("w " * 25, "At most 24 words"):
        page.locator(".mp-line").fill(text)
        assert page.inner_text(".mp-live").startswith(fault)
        assert page.locator(".mp-line").get_attribute("aria-invalid") == "true"
        assert page.locator(".mp-draw").is_disabled()
    page.locator(".mp-line").fill("w " * 24)
    assert len(cards(page)) == 24
    choose(page, "task", "fill the gaps")
    assert len(cards(page)) == 24


def test_the_keyboard_does_it_all(open_figure):
    page = open_figure()
    page.locator('input[name="task"]').first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".mp-shifts").is_visible()
    page.locator(".mp-reads").nth(2).focus()
    page.keyboard.press("Enter")
    assert page.locator(".mp-unseen").count() == 5
    focused = page.evaluate("document.activeElement.textContent")
    assert focused == WORDS[2]  # the card was drawn anew, and keeps the focus
    page.locator('input[name="task"]').nth(1).focus()
    page.keyboard.press("ArrowLeft")
    page.locator('input[name="share"]').focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".sl-number").first.inner_text() == "16%"


def test_the_html_is_small():
    figure = MaskPlayer(TEXT, OTHERS)
    assert len(figure.html().encode()) < 200_000
    assert json.loads(figure.data)["vocabulary"] == OTHERS
