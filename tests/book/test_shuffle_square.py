"""The permutation square, used in Chromium as a reader would: its numbers are the library's."""

import itertools

import pytest
import torch

from softlookup.attention import attention, attention_weights
from softlookup.masks import causal_mask
from softlookup.show import ShuffleSquare

WORDS = ["only", "I", "<b>love</b>", "you"]


def normal(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


X, W_Q, W_K, W_V, CODES = normal(3, (4, 5), (5, 3), (5, 3), (5, 2), (4, 5))


def read(rows, causal):
    """The library's weights and outputs."""
    mask = causal_mask(len(rows)) if causal else None
    Q, K, V = rows @ W_Q, rows @ W_K, rows @ W_V
    return attention_weights(Q, K, mask), attention(Q, K, V, mask)


def expected(order, *, causal, coded, x=X):
    """Path 1 and path 2, and the sentence attended as it stands."""
    codes = CODES[: len(x)] if coded else torch.zeros_like(x)
    A, Z = read(x + codes, causal)
    return {
        "start": (A, Z),
        "shuffled": read(x[order] + codes, causal),
        "moved": (A[order][:, order], Z[order]),
    }


def example():
    return ShuffleSquare(WORDS, X, W_Q, W_K, W_V, positions=CODES)


@pytest.fixture(scope="module")
def maths(functions_of):
    return functions_of("figures/shuffle_square/maths.js")


@pytest.fixture
def open_figure(open_figures):
    def open_page(words=WORDS, x=X, positions=CODES, order=None, **options):
        figure = ShuffleSquare(words, x, W_Q, W_K, W_V, positions=positions, order=order)
        return open_figures(figure, ready=".sq-square", **options)

    return open_page


def choose(page, name, text):
    page.locator(f'input[name="{name}"]').locator("..").filter(has_text=text).click()


def order_of(page):
    return [WORDS.index(word) for word in page.locator(".sq-word").all_inner_texts()]


def number(text):
    return float(text.replace("−", "-"))


def assert_shows(page, *, causal=False, coded=False):
    """Three tables, their marks, the sign and the sentence are what the library says."""
    order = order_of(page)
    results = expected(order, causal=causal, coded=coded)
    other = {"shuffled": "moved", "moved": "shuffled"}
    for name, pair in results.items():
        table = page.locator(f".sq-{name} table")
        rows = [WORDS[k] for k in (range(4) if name == "start" else order)]
        assert table.locator("tbody th").all_inner_texts() == rows
        assert table.locator("thead th").all_inner_texts() == [*rows, "z0", "z1"]
        for k, kind in enumerate(("weight", "out")):
            cells = table.locator(f"td.sq-{kind}")
            shown = torch.tensor([number(text) for text in cells.all_inner_texts()]).double()
            assert (shown - pair[k].flatten()).abs().max() <= 0.5e-2 + 1e-9
            marks = cells.evaluate_all("(all) => all.map((c) => c.classList.contains('sq-off'))")
            gap = (pair[k] - results[other.get(name, name)][k]).abs().flatten()
            assert marks == (gap >= 0.005).tolist()
    gap = (results["shuffled"][1] - results["moved"][1]).abs().max().item()
    said, sign = page.inner_text(".sq-verdict"), page.inner_text(".sq-sign")
    if order == [0, 1, 2, 3]:
        assert said.startswith("The order is the sentence's own")
        assert sign == "="
    elif causal or coded:
        assert said.startswith("The square is broken: largest difference of the outputs")
        assert number(said.split("outputs ")[1].split(" ")[0].rstrip(".")) == pytest.approx(
            gap, 0.05
        )
        assert sign == "≠"
        assert ("the mask" in said, "the code" in said) == (causal, coded)
    else:
        assert said.startswith("The square closes: largest difference of the outputs")
        assert sign == "="


# The arithmetic


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("coded", [False, True])
def test_both_ways_equal_the_library_to_1e_12(maths, causal, coded):
    maps = dict(zip("QKV", (W_Q, W_K, W_V), strict=True))
    for order in itertools.permutations(range(4)):
        data = {
            "parts": {name: (X @ W).tolist() for name, W in maps.items()},
            "codes": {name: (CODES @ W).tolist() for name, W in maps.items()} if coded else None,
            "order": list(order),
            "causal": causal,
        }
        found = maths(
            "return maths.bothWays(data.parts, data.codes, data.order, data.causal)", data
        )
        wanted = expected(list(order), causal=causal, coded=coded)
        for name, pair in wanted.items():
            for got, right in zip((found[name]["weights"], found[name]["out"]), pair, strict=True):
                got = torch.tensor(got, dtype=torch.float64)
                torch.testing.assert_close(got, right, rtol=1e-12, atol=1e-12)
        gap = (wanted["shuffled"][1] - wanted["moved"][1]).abs().max().item()
        assert found["difference"] == pytest.approx(gap, abs=1e-12)
        if not (causal or coded):
            assert found["difference"] < 1e-12
        elif list(order) != [0, 1, 2, 3]:
            assert found["difference"] > 0.01


def test_large_scores_do_not_overflow(maths):
    parts = {"Q": [[90.0, -70.0]] * 2, "K": [[90.0, 1.0], [89.9, 1.0]], "V": [[1.0], [2.0]]}
    found = maths("return maths.attend(data, false)", parts)
    Q, K, V = (torch.tensor(parts[name], dtype=torch.float64) for name in "QKV")
    torch.testing.assert_close(torch.tensor(found["weights"]).double(), attention_weights(Q, K))
    torch.testing.assert_close(torch.tensor(found["out"]).double(), attention(Q, K, V))


def test_shuffling_reaches_every_order_and_never_stays(maths):
    seen, order, seed = set(), [0, 1, 2], 12
    for _ in range(60):
        before = order
        order, seed = maths(
            "const {order, seed} = maths.shuffle(...data); return [order, seed];", [order, seed]
        )
        assert sorted(order) == [0, 1, 2]
        assert order != before
        seen.add(tuple(order))
    assert len(seen) == 6


# What the page shows


def test_it_starts_with_two_words_exchanged(open_figure):
    page = open_figure()
    assert order_of(page) == [1, 0, 2, 3]
    assert_shows(page)


def test_it_starts_with_a_given_order(open_figure):
    page = open_figure(order=[3, 2, 0, 1])
    assert order_of(page) == [3, 2, 0, 1]
    assert_shows(page)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("coded", [False, True])
def test_shuffled_words_under_every_switch(open_figure, causal, coded):
    page = open_figure()
    if causal:
        choose(page, "mask", "only what came before")
    if coded:
        choose(page, "code", "added")
    for _ in range(4):
        before = order_of(page)
        page.get_by_role("button", name="Shuffle").click()
        assert order_of(page) != before
        assert_shows(page, causal=causal, coded=coded)
    page.get_by_role("button", name="Back in order").click()
    assert order_of(page) == [0, 1, 2, 3]
    assert_shows(page, causal=causal, coded=coded)
    choose(page, "mask", "all words")
    choose(page, "code", "none")
    page.get_by_role("button", name="Shuffle").click()
    assert_shows(page)


def test_words_move_by_their_buttons(open_figure):
    page = open_figure()
    page.get_by_role("button", name="Move you up").click()
    assert order_of(page) == [1, 0, 3, 2]
    page.get_by_role("button", name="Move I down").click()
    assert order_of(page) == [0, 1, 3, 2]
    assert_shows(page)
    assert page.get_by_role("button", name="Move only up").is_disabled()
    assert page.get_by_role("button", name="Move <b>love</b> down").is_disabled()


def test_the_keyboard_carries_a_word_all_the_way(open_figure):
    page = open_figure(order=[0, 1, 2, 3])
    choose(page, "mask", "only what came before")
    page.get_by_role("button", name="Move only down").focus()
    for place in range(1, 4):
        page.keyboard.press("ArrowDown")
        assert order_of(page).index(0) == place
        name = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert name in ("Move only down", "Move only up")
    assert_shows(page, causal=True)
    page.keyboard.press("ArrowDown")  # at the end: nothing moves
    assert order_of(page) == [1, 2, 3, 0]
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    assert order_of(page) == [0, 1, 2, 3]
    page.keyboard.press("Space")  # the button itself
    assert order_of(page) == [1, 0, 2, 3]


def test_without_codes_there_is_no_switch_for_them(open_figure):
    page = open_figure(positions=None)
    assert page.locator('input[name="code"]').count() == 0
    choose(page, "mask", "only what came before")
    assert_shows(page, causal=True)


def test_a_difference_too_small_to_print_still_breaks_the_square(open_figures):
    figure = ShuffleSquare(WORDS, X, W_Q, W_K, 1e-5 * W_V)
    page = open_figures(figure, ready=".sq-square")
    choose(page, "mask", "only what came before")
    gap = (read(X[[1, 0, 2, 3]], True)[1] - read(X, True)[1][[1, 0, 2, 3]]).abs().max().item()
    said = page.inner_text(".sq-verdict")
    assert said.startswith("The square is broken: largest difference of the outputs")
    shown = said.split("outputs ")[1].split(". ")[0]
    assert number(shown.replace("−", "-")) == pytest.approx(1e-5 * gap, 0.05)
    assert page.inner_text(".sq-sign") == "≠"
    assert page.locator("td.sq-out.sq-off").count() == 0


def test_five_words_fit_a_phone_without_scrolling_their_tables(open_figures):
    x, codes = normal(5, (5, 5), (5, 5))
    figure = ShuffleSquare([*WORDS[:2], "love", "you", "truly"], x, W_Q, W_K, W_V, positions=codes)
    page = open_figures(figure, ready=".sq-square", width=390)
    over = page.locator(".sq-square .sl-scroll").evaluate_all(
        "(all) => all.map((node) => node.scrollWidth - node.clientWidth)"
    )
    assert max(over) <= 0
