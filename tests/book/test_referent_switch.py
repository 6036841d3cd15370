"""The referent switch, used in Chromium as a reader would: its numbers are the library's."""

import pytest
import torch

from softlookup.attention import attention_weights
from softlookup.masks import causal_mask
from softlookup.show import ReferentSwitch

WORDS = ["a", "cat", "left", "the", "<i>mat</i>", "it"]
ENDINGS = ["tired", "wide", "dirty"]
CAT, MAT, IT = 1, 4, 5


def readings(x, steps, mask):
    """The library's weights of both steps, and the last X."""
    weights = []
    for W_Q, W_K, W_V in steps:
        A = attention_weights(x @ W_Q, x @ W_K, mask)
        weights.append(A)
        x = x + A @ (x @ W_V)
    return weights, x


def numbers(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]


def random_steps(seed, d=5, d_k=3):
    matrices = numbers(seed, *([(d, d_k), (d, d_k), (d, d)] * 2))
    return [tuple(matrices[:3]), tuple(matrices[3:])]


STEPS = random_steps(11)
(X,) = numbers(13, (6, 5))
(LAST,) = numbers(17, (3, 5))
MASKS = {"both": None, "causal": causal_mask(7)}


def example(x=X, last=LAST, steps=STEPS):
    endings = dict(zip(ENDINGS, last, strict=True))
    return ReferentSwitch(WORDS, x, endings, steps, pronoun=IT, referents=(CAT, MAT))


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/referent_switch/maths.js", "kit/matrices.js")


@pytest.fixture
def open_figure(open_figures):
    """Opens a switch with random vectors, so that nothing in it is symmetric."""

    def open_page(x=X, last=LAST, steps=STEPS, **options):
        return open_figures(example(x, last, steps), ready=".rs-switch", **options)

    return open_page


def expected(ending, mask, *, x=X, last=LAST, steps=STEPS):
    k = ENDINGS.index(ending)
    return readings(torch.cat([x, last[k : k + 1]]), steps, MASKS[mask])[0]


def choose(page, name, text):
    page.locator(f'input[name="{name}"]').locator("..").filter(has_text=text).click()


def read(page, what):
    """Both steps' numbers of the row that is shown, or widths, or places of the ticks."""
    script = {
        "numbers": "(m) => Number(m.querySelector('.rs-number').textContent)",
        "widths": "(m) => parseFloat(m.querySelector('.rs-fill').style.width) / 100",
        "ticks": "(m) => m.querySelector('.rs-tick').hidden ? null"
        " : parseFloat(m.querySelector('.rs-tick').style.left) / 100",
    }[what]
    found = page.locator(".rs-meter").evaluate_all(f"(all) => all.map({script})")
    return [found[0::2], found[1::2]]


def assert_shows(page, ending, mask, reader=IT, before=None):
    weights = [A[reader] for A in expected(ending, mask)]
    assert page.locator(".rs-word").all_inner_texts() == [*WORDS, ending]
    for shown, bar, row in zip(read(page, "numbers"), read(page, "widths"), weights, strict=True):
        assert (torch.tensor(shown).double() - row).abs().max() <= 0.5e-3 + 1e-9
        torch.testing.assert_close(torch.tensor(bar).double(), row, rtol=0, atol=1e-6)
    unread = page.locator(".rs-row").evaluate_all(
        "(rows) => rows.map((row) => row.classList.contains('rs-unread'))"
    )
    assert unread == [mask == "causal" and j > reader for j in range(7)]
    assert page.locator(".rs-arc").count() == int((weights[1] >= 0.005).sum())
    if before is None:  # nothing was answered before: no number of another ending is given away
        assert read(page, "ticks") == [[None] * 7] * 2
        assert page.locator(".rs-live").text_content() == ""
        return
    old = [A[reader] for A in expected(before, mask)]
    for ticks, row, then in zip(read(page, "ticks"), weights, old, strict=True):
        for tick, new, value in zip(ticks, row.tolist(), then.tolist(), strict=True):
            assert (tick is None) == (abs(new - value) < 5e-3)
            assert tick is None or abs(tick - value) < 1e-6
    moved = max((row - then).abs().max().item() for row, then in zip(weights, old, strict=True))
    said = page.inner_text(".rs-live")
    start = f"From “{before}” to “{ending}”, the weights of “{[*WORDS, ending][reader]}”"
    assert said.startswith(start)
    if moved == 0:
        assert said.endswith("did not change: largest difference 0.")
    else:
        assert f"changed by up to {moved:.3f};" in said


# The arithmetic


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_two_steps_equal_the_library_to_1e_12(maths, seed, causal):
    steps, (x,) = random_steps(seed), numbers(seed + 50, (7, 5))
    names = ("W_Q", "W_K", "W_V")
    data = {
        "x": x.tolist(),
        "steps": [dict(zip(names, [m.tolist() for m in step], strict=True)) for step in steps],
        "causal": causal,
    }
    found = maths("return maths.readings(data.x, data.steps, data.causal)", data)
    weights, out = readings(x, steps, causal_mask(7) if causal else None)
    for got, wanted in zip([*found["weights"], found["x"]], [*weights, out], strict=True):
        torch.testing.assert_close(
            torch.tensor(got, dtype=torch.float64), wanted, rtol=1e-12, atol=1e-12
        )


def test_large_scores_do_not_overflow(maths):
    Q, K = torch.tensor([[90.0, -70.0]]).double(), torch.tensor([[90.0, 1.0], [89.9, 1.0]]).double()
    found = maths("return maths.attentionWeights(data.Q, data.K, false)",
                  {"Q": Q.tolist(), "K": K.tolist()})  # fmt: skip
    wanted = attention_weights(Q, K)
    torch.testing.assert_close(
        torch.tensor(found, dtype=torch.float64), wanted, rtol=1e-12, atol=1e-12
    )


def test_a_choice_needs_a_winner(maths):
    call = "return maths.chosen(data, [0, 2])"
    assert maths(call, [0.2, 0.7, 0.1]) == 0
    assert maths(call, [0.1, 0.7, 0.2]) == 2
    assert maths(call, [0.2, 0.6, 0.2]) is None
    assert maths("return maths.largestDifference([1, 2, 3], [1, 2.5, 2])") == 1


# What the page shows


def test_it_asks_before_it_answers(open_figure):
    page = open_figure()
    assert page.locator(".rs-board").is_hidden()
    assert page.inner_text(".rs-verdict").startswith("Answer first")
    choose(page, "ending", "wide")
    assert page.locator(".rs-board").is_hidden()
    choose(page, "answer", "the cat")
    assert page.locator(".rs-board").is_visible()
    assert_shows(page, "wide", "both")


def test_only_answered_endings_are_compared(open_figure):
    page = open_figure()
    choose(page, "answer", "the cat")
    assert_shows(page, "tired", "both")
    choose(page, "ending", "wide")  # looked at, and left without an answer
    choose(page, "ending", "dirty")
    choose(page, "answer", "cannot tell")
    assert_shows(page, "dirty", "both", before="tired")
    choose(page, "ending", "wide")
    choose(page, "ending", "dirty")
    choose(page, "answer", "the cat")
    assert_shows(page, "dirty", "both")


def assert_asks(page):
    """Nothing of the head is to be seen or heard, and no answer stands."""
    assert page.locator(".rs-board").is_hidden()
    assert page.locator(".rs-live").is_hidden()
    assert page.locator(".rs-live").text_content() == ""
    assert page.inner_text(".rs-verdict").startswith("Answer first")
    assert page.locator('input[name="answer"]:checked').count() == 0


def test_a_new_ending_asks_again(open_figure):
    page = open_figure()
    assert_asks(page)
    before = None
    for ending in ("wide", "dirty", "tired", "dirty"):
        choose(page, "ending", ending)
        assert_asks(page)
        choose(page, "mask", "only what came before")
        assert_asks(page)
        choose(page, "answer", "the cat")
        assert_shows(page, ending, "causal", before=before)
        choose(page, "mask", "all words")  # the sentence is the same: the answer stands
        assert page.inner_text(".rs-verdict").startswith("You: the cat. The head: ")
        assert_shows(page, ending, "both", before=before)
        choose(page, "ending", ending)  # no change, no new question
        assert page.locator(".rs-board").is_visible()
        before = ending


@pytest.mark.parametrize("mask", ["both", "causal"])
def test_every_ending_and_every_reader(open_figure, mask):
    page = open_figure()
    if mask == "causal":
        choose(page, "mask", "only what came before")
    before = None
    for ending in ["tired", "dirty", "wide", "tired"]:
        choose(page, "ending", ending)
        choose(page, "answer", "cannot tell")
        for reader in range(7):
            page.locator(".rs-word").nth(reader).click()
            pressed = page.locator('.rs-word[aria-pressed="true"]')
            assert pressed.count() == 1
            assert pressed.inner_text() == [*WORDS, ending][reader]
            assert_shows(page, ending, mask, reader, before)
            if before is not None:
                unmoved = page.inner_text(".rs-live").endswith("largest difference 0.")
                assert unmoved == (mask == "causal" and reader < 6)
        before = ending


@pytest.mark.parametrize("mask", ["both", "causal"])
def test_the_readers_answer_is_compared_with_the_heads(open_figure, mask):
    page = open_figure()
    if mask == "causal":
        choose(page, "mask", "only what came before")
    for ending in ENDINGS[::-1]:
        choose(page, "ending", ending)
        row = expected(ending, mask)[1][IT]
        head = CAT if row[CAT] > row[MAT] else MAT
        for text, place in ("the cat", CAT), ("the <i>mat</i>", MAT), ("cannot tell", None):
            choose(page, "answer", text)
            said = page.inner_text(".rs-verdict")
            assert said.startswith(f"You: {text}. The head: the {WORDS[head]} (cat {row[CAT]:.3f}")
            assert said.endswith("You agree." if place == head else "You differ.")
        choose(page, "ending", ENDINGS[ENDINGS.index(ending) - 1])
        assert_asks(page)


def test_a_tie_is_told(open_figure):
    x = X.clone()
    x[MAT] = x[CAT]
    page = open_figure(x=x)
    choose(page, "answer", "cannot tell")
    said = page.inner_text(".rs-verdict")
    assert "The head: cannot tell (cat " in said
    assert said.endswith("You agree.")


def test_the_keyboard_does_it_all(open_figure):
    page = open_figure()
    page.locator('input[name="answer"]').first.focus()
    page.keyboard.press("Space")
    assert page.locator(".rs-board").is_visible()
    page.locator('input[name="ending"]').first.focus()
    page.keyboard.press("ArrowRight")
    assert_asks(page)
    page.locator('input[name="answer"]').first.focus()
    page.keyboard.press("Space")
    assert_shows(page, "wide", "both", before="tired")
    page.locator('input[name="mask"]').first.focus()
    page.keyboard.press("ArrowDown")
    assert_shows(page, "wide", "causal", before="tired")
    page.locator(".rs-word").nth(6).focus()
    page.keyboard.press("Enter")
    assert_shows(page, "wide", "causal", reader=6, before="tired")
