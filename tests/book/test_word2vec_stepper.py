"""The word2vec stepper, used in Chromium as a reader would: its steps are the library's."""

import math

import pytest
import torch

from softlookup.ops import sigmoid, softmax
from softlookup.show import Word2VecStepper
from softlookup.words.word2vec import (
    negative_sampling_gradient,
    negative_sampling_loss,
    skip_gram_gradient,
    skip_gram_loss,
)

WORDS = ["ants", "eat", "<b>nests</b>", "bees", "car", "fuel", "bus"]
M = len(WORDS)
PAIRS = torch.tensor([[0, 1], [1, 0], [3, 2], [4, 5], [5, 4], [6, 5], [2, 3], [4, 6]])
DRAWS = torch.tensor([5, 1, 6, 5, 5, 0, 1, 3, 2, 6, 4])
RATE = 0.5


def example():
    tables = torch.randn(2, M, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return Word2VecStepper(WORDS, *tables, PAIRS, DRAWS, rate=RATE)


@pytest.fixture
def tables(generator):
    """Two tables of two numbers a word."""
    return torch.randn(2, M, 2, generator=generator, dtype=torch.float64)


@pytest.fixture(scope="module")
def maths(functions_of):
    """Calls the figure's own arithmetic in the browser."""
    return functions_of("figures/word2vec_stepper/maths.js")


@pytest.fixture
def open_figure(open_figures, tables):
    """Opens one stepper that begins with the pair (ants, eat)."""

    def open_page(n_negatives=2, **options):
        figure = Word2VecStepper(
            WORDS, *tables, PAIRS, DRAWS, n_negatives=n_negatives, rate=RATE, start=(0, 1)
        )
        return open_figures(figure, ready=".ws-row", **options)

    return open_page


class Mirror:
    """What the figure should hold, by the library alone."""

    def __init__(self, tables, negatives=0):
        self.U, self.V = tables
        self.k, self.place, self.reader = negatives, 0, 0
        self.steps = self.multiplications = 0

    def pair(self, centre, context):
        """The pair as the library takes it, with the negatives that come next."""
        ids = torch.tensor([centre]), torch.tensor([context])
        if not self.k:
            return ids
        found, place = [], self.place
        while len(found) < self.k:
            word = DRAWS[place % len(DRAWS)].item()
            place += 1
            if word != context:
                found.append(word)
        self.next_place = place
        return (*ids, torch.tensor([found]))

    def loss(self, pair):
        """Of one pair, at the present tables."""
        loss = negative_sampling_loss if len(pair) == 3 else skip_gram_loss
        return loss(self.U, self.V, *pair).item()

    def train(self, centre, context, rate=RATE):
        """One step of the library's gradient."""
        pair = self.pair(centre, context)
        gradient = negative_sampling_gradient if self.k else skip_gram_gradient
        dU, dV = gradient(self.U, self.V, *pair)
        self.U, self.V = self.U - rate * dU, self.V - rate * dV
        if self.k:
            self.place = self.next_place
        self.steps += 1
        self.multiplications += 3 * (self.k + 1 if self.k else M) * 2
        return pair

    def read(self, n):
        """Train on the next pairs of the text."""
        for _ in range(n):
            self.train(*PAIRS[self.reader % len(PAIRS)].tolist())
            self.reader += 1

    def bars(self, centre, pair):
        """What each bar says: a chance, or nothing for a word that is not read."""
        scores = self.V @ self.U[centre]
        if len(pair) == 2:
            return softmax(scores).tolist()
        read = {pair[1].item(), *pair[2].flatten().tolist()}
        return [sigmoid(scores)[r].item() if r in read else None for r in range(M)]


def shown(page):
    """The numbers beside the bars; None where a word is not read."""
    texts = page.locator(".ws-value").all_inner_texts()
    return [None if text == "not read" else float(text) for text in texts]


def assert_bars(page, wanted):
    """Numbers and widths of the bars."""
    widths = page.locator(".ws-row").evaluate_all(
        "(rows) => rows.map((row) => row.querySelector('.ws-fill').getBoundingClientRect().width"
        " / row.querySelector('.ws-track').clientWidth)"
    )
    for text, width, value in zip(shown(page), widths, wanted, strict=True):
        assert (text is None) == (value is None)
        assert abs((text or 0) - (value or 0)) <= 0.5e-4 + 1e-9
        assert abs(width - (value or 0)) <= 5e-3


def assert_counts(page, mirror):
    """Steps and multiplications."""
    counter = page.locator(".ws-counter").inner_text().replace(",", "")
    unit = "step" if mirror.steps == 1 else "steps"
    assert counter.startswith(f"{mirror.steps} {unit} {mirror.multiplications} multiplications")


# The arithmetic


@pytest.mark.parametrize("negatives", [None, [5, 6], [2, 2, 0]])
@pytest.mark.parametrize(("centre", "context"), [(0, 1), (3, 3), (6, 4)])
@pytest.mark.parametrize("scale", [1, 30])
def test_a_step_and_its_loss_are_the_librarys(maths, tables, negatives, centre, context, scale):
    U, V = scale * tables
    pair = {"centre": centre, "context": context, "negatives": negatives}
    data = {"pair": pair, "U": U.tolist(), "V": V.tolist(), "rate": 0.7}
    found = maths(
        """return {...maths.step(data.pair, data.U, data.V, data.rate),
                   loss: maths.lossOf(data.pair, data.U, data.V)};""",
        data,
    )
    ids = torch.tensor([centre]), torch.tensor([context])
    if negatives is None:
        loss, gradient = skip_gram_loss(U, V, *ids), skip_gram_gradient(U, V, *ids)
    else:
        ids = (*ids, torch.tensor([negatives]))
        loss = negative_sampling_loss(U, V, *ids)
        gradient = negative_sampling_gradient(U, V, *ids)
    assert math.isclose(found["loss"], loss.item(), rel_tol=1e-12, abs_tol=1e-12)
    for name, table, slope in zip("UV", (U, V), gradient, strict=True):
        got = torch.tensor(found[name], dtype=torch.float64)
        torch.testing.assert_close(got, table - 0.7 * slope, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("k", [0, 1, 2, 5])
def test_a_step_costs_three_products_a_row_and_a_number(maths, tables, k):
    negatives = None if k == 0 else [2, 3, 4, 5, 6][:k]
    pair = {"centre": 0, "context": 1, "negatives": negatives}
    code = "return maths.step(data.pair, data.U, data.V, 1).multiplications"
    U, V = tables.tolist()
    rows = M if k == 0 else k + 1
    assert maths(code, {"pair": pair, "U": U, "V": V}) == 3 * rows * 2


def test_a_step_leaves_its_tables_alone(maths, tables):
    U, V = tables.tolist()
    data = {"pair": {"centre": 0, "context": 1}, "U": U, "V": V}
    after = maths("maths.step(data.pair, data.U, data.V, 1); return [data.U, data.V]", data)
    assert after == [U, V]


def test_negatives_come_in_order_and_pass_over_the_true_word(maths):
    data = {"draws": DRAWS.tolist(), "context": 5}
    found = maths("return maths.nextNegatives(data.draws, 2, 4, data.context)", data)
    assert found == {"negatives": [6, 0, 1, 3], "place": 8}
    again = maths("return maths.nextNegatives(data.draws, 9, 3, data.context)", data)
    assert again == {"negatives": [6, 4, 1], "place": 13}  # from the first draw again


def test_the_mean_loss_is_the_librarys(maths, tables):
    data = {"pairs": PAIRS.tolist(), "U": tables[0].tolist(), "V": tables[1].tolist()}
    found = maths("return maths.meanLoss(data.pairs, data.U, data.V)", data)
    assert math.isclose(found, skip_gram_loss(*tables, *PAIRS.T).item(), rel_tol=1e-12)


# What the page shows


def test_it_starts_with_the_softmax(open_figure, tables):
    page, mirror = open_figure(), Mirror(tables)
    assert page.locator(".ws-word").all_inner_texts() == WORDS
    assert_bars(page, mirror.bars(0, mirror.pair(0, 1)))
    assert page.locator('.ws-word[aria-pressed="true"]').inner_text() == "eat"
    assert_counts(page, mirror)


@pytest.mark.parametrize("negatives", [0, 2, 3])
def test_steps_on_chosen_pairs(open_figure, tables, negatives):
    page, mirror = open_figure(n_negatives=negatives or 2), Mirror(tables, negatives)
    if negatives:
        page.get_by_label("Negative sampling").check()
        assert_bars(page, mirror.bars(0, mirror.pair(0, 1)))
    for centre, context in (0, 1), (0, 1), (4, 5), (6, 5), (3, 3):
        page.locator("select").select_option(str(centre))
        page.locator(".ws-word").nth(context).click()
        before = mirror.bars(centre, mirror.pair(centre, context))
        assert_bars(page, before)
        first_loss = mirror.loss(mirror.pair(centre, context))
        page.get_by_role("button", name="One step").click()
        pair = mirror.train(centre, context)
        assert_bars(page, mirror.bars(centre, pair))
        told = page.locator(".ws-line").inner_text()
        assert told.startswith(f"Pulled {WORDS[context]}, pushed ")
        numbers = [float(t.rstrip(".")) for t in told.split(" from ")[1].split(" to ")]
        assert numbers == pytest.approx([first_loss, mirror.loss(pair)], rel=1e-3)
        ghosts = page.locator(".ws-ghost:visible").count()
        assert ghosts == sum(value is not None for value in before)
        assert_counts(page, mirror)


def test_the_words_pushed_are_named(open_figure, tables):
    page = open_figure()
    page.get_by_label("Negative sampling").check()
    page.get_by_role("button", name="One step").click()
    names = [WORDS[r] for r in Mirror(tables, 2).pair(0, 1)[2][0].tolist()]
    assert f"pushed {', '.join(names)}." in page.locator(".ws-line").inner_text()
    assert page.locator(".ws-square.ws-pushed").count() == len(set(names))


@pytest.mark.parametrize("negatives", [0, 2])
def test_a_hundred_steps_through_the_text_and_reset(open_figure, tables, negatives):
    page, mirror = open_figure(), Mirror(tables, negatives)
    if negatives:
        page.get_by_label("Negative sampling").check()
    for _ in range(2):
        page.get_by_role("button", name="100 steps").click()
        mirror.read(100)
    assert_bars(page, mirror.bars(0, mirror.pair(0, 1)))
    assert_counts(page, mirror)
    loss = skip_gram_loss(mirror.U, mirror.V, *PAIRS.T).item()
    told = page.locator(".ws-line").inner_text().split(" to ")[-1]
    assert float(told.rstrip(".")) == pytest.approx(loss, rel=1e-3)
    page.get_by_role("button", name="Reset").click()
    fresh = Mirror(tables, negatives)
    assert_bars(page, fresh.bars(0, fresh.pair(0, 1)))
    assert_counts(page, fresh)
    page.get_by_role("button", name="One step").click()  # and the same again from there
    assert_bars(page, fresh.bars(0, fresh.train(0, 1)))


def test_the_learning_rate_is_the_step(open_figure, tables):
    page, mirror = open_figure(), Mirror(tables)
    page.locator('input[type="range"]').fill("2.3")
    assert "2.3" in page.locator(".sl-controls").first.inner_text()
    page.get_by_role("button", name="One step").click()
    assert_bars(page, mirror.bars(0, mirror.train(0, 1, rate=2.3)))


def test_a_method_may_change_on_the_way(open_figure, tables):
    page, mirror = open_figure(), Mirror(tables)
    page.get_by_role("button", name="One step").click()
    mirror.train(0, 1)
    page.get_by_label("Negative sampling").check()
    mirror.k = 2
    assert_bars(page, mirror.bars(0, mirror.pair(0, 1)))
    page.get_by_role("button", name="One step").click()
    mirror.train(0, 1)
    page.get_by_label("Full softmax").check()
    mirror.k = 0
    assert_bars(page, mirror.bars(0, mirror.pair(0, 1)))
    assert_counts(page, mirror)


def test_the_plane_shows_the_tables_to_scale(open_figure, tables):
    page = open_figure()
    discs = page.locator("circle.ws-disc").evaluate_all(
        "(all) => all.filter((c) => c.closest('.ws-plane'))"
        ".map((c) => [c.cx.baseVal.value, c.cy.baseVal.value])"
    )
    places = torch.tensor(discs).double()
    centred = (places - 150) * torch.tensor([1.0, -1.0]).double()
    limit = 150 * tables[0].norm() / centred.norm()
    torch.testing.assert_close(centred * limit / 150, tables[0], atol=1e-3, rtol=0)
    assert tables.abs().max() < limit


def test_by_keyboard(open_figure, tables):
    page, mirror = open_figure(), Mirror(tables)
    page.locator(".ws-word").nth(4).focus()
    page.keyboard.press("Enter")
    assert_bars(page, mirror.bars(0, mirror.pair(0, 4)))
    page.get_by_role("button", name="One step").focus()
    page.keyboard.press("Space")
    assert_bars(page, mirror.bars(0, mirror.train(0, 4)))
    page.get_by_label("Full softmax").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_label("Negative sampling").is_checked()
