"""The head mixer, used in Chromium as a reader would: its numbers are the library's."""

import itertools
import json

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from softlookup.analysis import capture, head_gates
from softlookup.attention import MultiHeadAttention
from softlookup.masks import causal_mask
from softlookup.show import HeadMixer

QUESTIONS, ANSWERS = ["who", "<i>where</i>"], ["x", "y", "z"]
EXACT = {"rtol": 1e-11, "atol": 1e-11}


class Case:
    """A random layer with its readout: 11 texts of 5 words, 3 heads, 2 questions of 3 answers."""

    def __init__(self, seed=5, mask=None):
        torch.manual_seed(seed)
        self.layer = MultiHeadAttention(7, 3, d_k=2, d_v=5).double()
        self.readout = nn.Linear(7, 6).double()
        with torch.no_grad():
            for p in [*self.layer.parameters(), *self.readout.parameters()]:
                p.copy_(torch.randn_like(p))
        self.x, self.mask = torch.randn(11, 5, 7, dtype=torch.float64), mask
        self.targets = torch.randint(-1, 3, (11, 5, 2))
        self.texts = [["a", "<b>", "c", "dd", str(t)] for t in range(11)]

    def figure(self, **options):
        return HeadMixer(
            self.layer, self.readout, self.texts, self.x, self.targets,
            questions=QUESTIONS, answers=ANSWERS, mask=self.mask, **options,
        )  # fmt: skip

    def scores(self, speaks):
        with torch.no_grad(), head_gates(self.layer, [float(s) for s in speaks]):
            return self.readout(self.layer(self.x, mask=self.mask))

    def judged(self, speaks):
        """The share of right answers to each question, and the loss."""
        scores = self.scores(speaks).unflatten(-1, (2, 3))
        asked = self.targets >= 0
        right = (scores.argmax(dim=-1) == self.targets) & asked
        loss = F.cross_entropy(scores[asked], self.targets[asked]).item()
        return (right.sum(dim=(0, 1)) / asked.sum(dim=(0, 1))).tolist(), loss

    def weights(self):
        with torch.no_grad(), capture(self.layer, "weights") as seen:
            self.layer(self.x, mask=self.mask)
        return seen["weights"]


CASE = Case(mask=causal_mask(5))
ALL, COMBINATIONS = (True,) * 3, list(itertools.product([True, False], repeat=3))


def example():
    return CASE.figure()


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/head_mixer/maths.js")


@pytest.fixture
def open_figure(open_figures):
    def open_page(case=CASE, figure=None, **options):
        return open_figures(figure or case.figure(), ready=".hm-mixer", **options)

    return open_page


def click(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def shown_shares(page):
    return [float(text.rstrip("%")) / 100 for text in page.locator(".hm-number").all_inner_texts()]


def assert_shows(page, speaks, text=0, case=CASE):
    shares, loss = case.judged(speaks)
    assert shown_shares(page) == pytest.approx(shares, abs=0.5e-3 + 1e-9)
    bars = page.locator(".hm-fill").evaluate_all(
        "(all) => all.map((b) => parseFloat(b.style.width))"
    )
    assert bars == pytest.approx([100 * share for share in shares], abs=1e-4)
    ticks = page.locator(".hm-tick").evaluate_all(
        "(all) => all.map((b) => parseFloat(b.style.left))"
    )
    assert ticks == pytest.approx([100 * share for share in case.judged(ALL)[0]], abs=1e-4)
    assert float(page.inner_text(".hm-loss b")) == pytest.approx(loss, rel=5.1e-3)
    pressed = [
        [button.get_attribute("aria-pressed") == "true" for button in strip.locator("button").all()]
        for strip in page.locator(".hm-strip").all()
    ]
    only = sum(speaks) == 1
    assert pressed == [[not s, bool(s and only)] for s in speaks]
    muted = page.locator(".hm-strip").evaluate_all(
        "(all) => all.map((strip) => strip.classList.contains('hm-muted'))"
    )
    assert muted == [not s for s in speaks]
    assert_sheet(page, case.scores(speaks)[text], case.targets[text], case.texts[text])


def assert_sheet(page, scores, targets, words):
    table = page.locator(".hm-sheet tr")
    assert table.nth(0).locator("th").all_inner_texts() == ["word", *words]
    for q in range(2):
        found = scores[:, 3 * q : 3 * q + 3].argmax(dim=-1).tolist()
        expected = []
        for answer, target in zip(found, targets[:, q].tolist(), strict=True):
            right = " right" if answer == target else f", not {ANSWERS[target]}"
            mark = "✓" if answer == target else "✗"
            expected.append("·" if target < 0 else f"{ANSWERS[answer]}{mark}{right}")
        assert table.nth(q + 1).locator("th").inner_text() == QUESTIONS[q]
        assert table.nth(q + 1).locator("td").all_text_contents() == expected


# The arithmetic


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("mask", [None, causal_mask(5), torch.eye(5).bool().roll(1, 0)[:, [0] * 5]])
def test_heads_and_scores_equal_the_library_to_1e_11(maths, seed, mask):
    """The last mask leaves four of five words nothing to read."""
    case = Case(seed, mask)
    data = {**json.loads(case.figure().data), "all": COMBINATIONS}
    found = maths(
        "const heads = data.x.map((X) => maths.readText(X, data.model, data.mask));"
        "return {weights: heads.map((text) => text.map((head) => head.weights)),"
        "  scores: data.all.map((speaks) =>"
        "    heads.map((text) => maths.scoresOf(text, data.model, speaks)))}",
        data,
    )
    weights = torch.tensor(found["weights"], dtype=torch.float64)
    torch.testing.assert_close(weights, case.weights(), **EXACT)
    for scores, speaks in zip(found["scores"], COMBINATIONS, strict=True):
        scores = torch.tensor(scores, dtype=torch.float64)
        torch.testing.assert_close(scores, case.scores(speaks), **EXACT)


@pytest.mark.parametrize("speaks", COMBINATIONS)
def test_shares_and_loss_equal_pytorchs(maths, speaks):
    data = {"scores": CASE.scores(speaks).tolist(), "targets": CASE.targets.tolist()}
    found = maths("return maths.judge(data.scores, data.targets, 3)", data)
    shares, loss = CASE.judged(speaks)
    assert found["shares"] == pytest.approx(shares, abs=1e-6)
    assert found["loss"] == pytest.approx(loss, abs=1e-12)


def test_large_scores_do_not_overflow(maths):
    data = {"scores": [[[900.0, -800.0, 0.0]]], "targets": [[[2]]]}
    found = maths("return maths.judge(data.scores, data.targets, 3)", data)
    assert found == {"shares": [0], "loss": 900}


def test_the_split_of_the_width_is_the_library_s(maths):
    for h in maths("return maths.divisors(12)"):
        layer = MultiHeadAttention(12, h, bias=False)
        expected = sum(p.numel() for p in layer.parameters())
        assert maths("return maths.parametersOf(12, data)", h) == expected == 4 * 12**2
    assert maths("return maths.divisors(12)") == [1, 2, 3, 4, 6, 12]


# What the page shows


def test_it_starts_with_all_heads(open_figure):
    page = open_figure()
    assert_shows(page, ALL)
    shares = " and ".join(f"{q} {100 * s:.1f}%" for q, s in zip(QUESTIONS, CASE.judged(ALL)[0],
                          strict=True))  # fmt: skip
    assert page.inner_text(".hm-live") == f"All heads speak. Right in 11 texts: {shares}."


@pytest.mark.parametrize("speaks", COMBINATIONS)
def test_every_choice_of_heads_by_muting(open_figure, speaks):
    page = open_figure()
    for h in range(3):
        if not speaks[h]:
            click(page, f"Mute head {h}")
    assert_shows(page, speaks)
    heads = [str(h) for h in range(3) if speaks[h]]
    start = {
        0: "No head speaks. ", 1: f"Only head {heads[0] if heads else ''} speaks. ",
        2: f"Heads {' and '.join(heads)} speak. ", 3: "All heads speak. ",
    }  # fmt: skip
    assert page.inner_text(".hm-live").startswith(start[len(heads)])
    click(page, "All heads speak")
    assert_shows(page, ALL)


def test_solo_and_back(open_figure):
    page = open_figure()
    for h in (1, 2, 0):
        click(page, f"Only head {h}")
        assert_shows(page, [other == h for other in range(3)])
    click(page, "Mute head 1")
    assert_shows(page, (True, True, False))
    click(page, "Only head 1")
    assert_shows(page, (False, True, False))
    click(page, "Only head 1")
    assert_shows(page, ALL)


def test_the_maps_are_the_weights_of_the_chosen_text(open_figure):
    page, weights = open_figure(), CASE.weights()
    for text in (3, 0):
        page.locator('input[name="text"]').nth(text).locator("..").click()
        assert_sheet(page, CASE.scores(ALL)[text], CASE.targets[text], CASE.texts[text])
        for h, strip in enumerate(page.locator(".hm-strip").all()):
            opacity = strip.locator("rect").evaluate_all(
                "(all) => all.map((cell) => Number(cell.dataset.weight))"
            )
            found = torch.tensor(opacity, dtype=torch.float64).reshape(5, 5)
            torch.testing.assert_close(found, weights[text, h], rtol=0, atol=0.51e-4)
            assert strip.locator(".hm-hidden").count() == 10
            places = strip.locator("rect").evaluate_all(
                "(all) => all.map((cell) => ['y', 'x'].map((axis) => (cell.getAttribute(axis)"
                " - all[0].getAttribute(axis)) / cell.getAttribute('width')))"
            )
            assert places == [[i, j] for i in range(5) for j in range(5)]  # queries down
            i = 4
            j = weights[text, h, i].argmax().item()
            said = strip.locator("svg").get_attribute("aria-label")
            word = [*CASE.texts[text]]
            assert said.startswith(f"Head {h}: a reads a at place 0 (1.00); ")
            assert said.endswith(f"{word[i]} reads {word[j]} at place {j} "
                                 f"({weights[text, h, i, j]:.2f})")  # fmt: skip
            assert strip.locator("text").all_text_contents()[0::2] == [w[:2] for w in word]


def test_a_label_stands_beside_its_head(open_figure):
    page = open_figure(figure=CASE.figure(labels=["previous", "<b>first</b>", ""]))
    assert page.locator(".hm-label").all_inner_texts() == ["previous", "<b>first</b>"]


def test_the_width_is_split_and_the_parameters_stay(open_figure):
    page = open_figure()
    assert page.inner_text(".hm-cost") == "8 heads of width 512 / 8 = 64: 1,048,576 parameters."
    page.locator('input[type="range"]').focus()
    for h in (16, 32, 64):
        page.keyboard.press("ArrowRight")
        said = page.inner_text(".hm-cost")
        assert said == f"{h} heads of width 512 / {h} = {512 // h}: 1,048,576 parameters."
        assert page.locator(".hm-bar rect").count() == h
        assert page.get_attribute('input[type="range"]', "aria-valuetext") == f"{h} heads"
    page.keyboard.press("Home")
    assert page.inner_text(".hm-cost") == "1 head of width 512 / 1 = 512: 1,048,576 parameters."


def test_the_keyboard_does_it_all(open_figure):
    page = open_figure()
    page.locator('input[name="text"]').first.focus()
    page.keyboard.press("ArrowRight")
    assert_sheet(page, CASE.scores(ALL)[1], CASE.targets[1], CASE.texts[1])
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert_shows(page, (False, True, True), text=1)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert_shows(page, (True, False, False), text=1)
