"""Checks of chapter 10: the French grid, reversal, paths, multiplications, additive scores."""

import torch
from torch import Tensor
from torch.autograd.functional import jacobian
from torch.utils.flop_counter import FlopCounterMode

from softlookup.attention import AdditiveAttention, MultiplicativeAttention, additive_scores
from softlookup.exercises.compare import (
    Mistakes,
    advised,
    compare,
    draws,
    one_number,
)
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.masks import window_mask
from softlookup.translation import PAD, Translator, alignment_matrix, best_links

_FRENCH, _ENGLISH = ["il", "m'", "a", "entarté"], ["he", "hit", "me", "with", "a", "pie"]
_LINKS = {(0, 0), (1, 2), (2, 1), (3, 1), (3, 3), (3, 4), (3, 5)}
_TEXTS, _LONGEST, _ENOUGH = 200, 5, 0.9
_T_X, _T_Y, _D = 30, 20, 64
TURNED = "A row for each query, a column for each row of the context: transpose."
PATH = (
    "The shape is right, the numbers are not: differentiate layer(query, c) by c, then take the "
    "norm over both widths."
)


@exercise(
    "draw the grid, a row for each French word.", "give two links that cross, or [] if none do."
)
def check_alignment_matrix(grid: Answer, crossing: Answer) -> str:
    """Check the slide's alignment in the order of French, and two of its links that cross.

    Args:
        grid: The learner's 4 by 6 numbers, 1 for a link; rows are "il m' a entarté", columns
            "he hit me with a pie".
        crossing: Two links that cross, [(i, j), (k, m)], or [] if the learner finds none.

    Chapter: seq2seq#exercises
    """
    expected = alignment_matrix(_LINKS, len(_FRENCH), len(_ENGLISH)).double()
    printed = [(expected[[0, 2, 1, 3]], "That is the slide's order. French puts m' before a.")]
    shapes = {(6, 4): "French words are rows here, as on the slide: transpose your grid."}
    compare(grid.value, expected, "The grid", printed, _wrong_link, shapes=shapes)
    _crossing(crossing.value)
    return "il, m', a read 0, 2, 1: not monotone. In the printed order they read 0, 1, 2."


@exercise(
    "return True or False for a matrix of weights.",
    "train a translator on texts and their reverse.",
)
def check_antidiagonal(answer: Answer, translator: Answer) -> str:
    """Check a test for anti-diagonal weights, and a translator that reverses texts.

    Args:
        answer: The learner's function of a weight matrix: True if the largest weight of each row
            stands on the anti-diagonal.
        translator: What ``train_translator`` made of the learner's pairs.

    Chapter: seq2seq#exercises
    """
    for rows, expected, advice in _MATRICES:
        weights = torch.tensor(rows, dtype=torch.float64)
        found = _truth(answer(weights))
        if found != expected:
            raise Wrong(f"For {rows} you say {found}. {advice}")
    translator = translator.value
    if not isinstance(translator, Translator):
        given = type(translator).__name__
        raise Wrong(f"The second thing should be what train_translator returns, not a {given}.")
    if translator.model.decoder.attention is None:
        raise Wrong("This translator has no attention: there are no weights to look at.")
    return _reversed(translator, _new_texts(translator))


@exercise("return a number for each query and context row.")
def check_direct_path(answer: Answer) -> str:
    """Check a function of (layer, query, context): how long each block of the Jacobian is.

    Args:
        answer: The learner's function; entry (i, j) is the Frobenius norm of the derivative of
            output i by context row j, the queries being fixed.

    Chapter: seq2seq#exercises
    """
    closed = "With a mask, some words may not be read. You find a path to them."
    generator = torch.Generator().manual_seed(9)
    for layer, d_query, d_context, is_open in _layers():
        query, context = (
            torch.randn(shape, generator=generator, dtype=torch.float64)
            for shape in ((3, d_query), (5, d_context))
        )
        blocks = jacobian(lambda rows, f=layer, q=query: f(q, rows), context)

        def otherwise(found: Tensor, right: Tensor, is_open: bool = is_open) -> str:
            return PATH if is_open or not (found[right == 0] != 0).any() else closed

        found, mistakes = answer(layer, query, context), _path_mistakes(blocks)
        expected = blocks.norm(dim=(1, 3))
        compare(found, expected, "Your matrix", mistakes, otherwise, shapes={(5, 3): TURNED})
    return "No block is zero, except where a mask closed the path: one step to every source word."


@exercise(
    "count the multiplications.",
    "by which factor does it grow with a source twice as long?",
    "by which factor does it grow when both are twice as long?",
)
def check_multiplications(count: Answer, longer: Answer, both: Answer) -> str:
    """Check how many multiplications scores and contexts take for n_k = 30, n_q = 20, d = 64.

    Args:
        count: All multiplications in the dot products and in the weighted sums.
        longer: The factor by which they grow when the source is twice as long.
        both: The factor when source and target are.

    Chapter: seq2seq#exercises
    """
    right, pairs = 2 * _T_X * _T_Y * _D, _T_X * _T_Y
    mistakes = [
        (pairs, "That is the number of scores. Each is a sum of 64 products."),
        (2 * pairs, "One score takes 64 multiplications, and so does one row on its way."),
        (pairs * _D, "That is the scores alone, or the contexts alone. Add the other."),
        (pairs * (_D + 1), "In a context each weight multiplies 64 numbers."),
        (right + pairs, "Neither softmax nor scale is counted."),
        (2 * right, "Do not count additions."),
        (2 * (_T_X + _T_Y) ** 2 * _D, "Target words read source words, not each other."),
        (2 * _T_X**2 * _D,
         "There is one row of scores per target word: n_q times n_k, not n_k²."),
        (2 * _T_Y**2 * _D, "Each target word has n_k scores: n_q times n_k, not n_q²."),
        (2 * (_T_X + _T_Y) * _D,
         "Every target word meets every source word: a product, not a sum."),
    ]  # fmt: skip
    found = one_number(count.value, "The count")
    if found != right:
        loops = "Write two loops, and add 64 for each score and for each row of a context."
        raise Wrong(advised(found, mistakes, f"{found:g} is not right. {loops}"))
    factor = one_number(longer.value, "The factor")
    if factor == 4:
        raise Wrong("Four times would be quadratic. The target has not grown: look at E43.")
    if factor != 2:
        raise Wrong(f"With n_k = 60 count again, and divide: not {factor:g}.")
    factor = one_number(both.value, "The factor")
    if factor != 4:
        raise Wrong(f"Twice for the source, and twice again for the target: not {factor:g}.")
    return "2 · n_q · n_k · d: a product of two lengths, quadratic only when both grow."


@exercise("return one score for each query and key.")
def check_additive(answer: Answer) -> str:
    """Check a function of (query, key, W_q, W_k, v): additive scores, each word projected once.

    Args:
        answer: The learner's function; one row per query, one column per key.

    Chapter: seq2seq#exercises
    """
    n_q, n_k, d_q, d_k, a = 11, 13, 5, 7, 3
    shapes = [(n_q, d_q), (n_k, d_k), (a, d_q), (a, d_k), (a,)]
    query, key, W_q, W_k, v = given = draws(*shapes, seed=9)
    expected = additive_scores(*given)
    left, right = (query @ W_q.mT)[:, None], (key @ W_k.mT)[None]
    mistakes = [
        ((left + right) @ v, "The tanh is missing: that is a sum of two scores."),
        (torch.tanh((left + right) @ v), "tanh belongs inside, before v."),
        ((left.tanh() + right.tanh()) @ v, "Add first, then tanh: query and key must meet in it."),
        (torch.tanh(left * right) @ v, "The hidden layer adds the two projections."),
        ((left * right) @ v, "That is a product of query and key; the additive score adds."),
        (torch.tanh(left + right).sum(dim=-1), "v is missing: each hidden unit counts its own."),
        (expected.softmax(dim=-1), "Those are the weights. Return the scores."),
    ]
    with FlopCounterMode(display=False, custom_mapping=_COUNTED) as counter:
        found = answer(*given)
    aside = "The shape is right, the numbers are not: v · tanh(W_q q + W_k k)."
    transposed = {(n_k, n_q): "One row per query, one column per key: transpose."}
    compare(found, expected, "The scores", mistakes, aside, shapes=transposed)
    used, split = counter.get_total_flops() // 2, a * (n_q * d_q + n_k * d_k + n_q * n_k)
    if used > split:
        raise Wrong(
            f"The scores are right, but took {used:,} multiplications; {split:,} are enough. "
            "Project each word once, before it meets the others."
        )
    pairs = a * n_q * n_k * (d_q + d_k + 1)
    return f"{split:,} multiplications are enough; pair by pair it would be {pairs:,}."


def _truth(said: object) -> bool:
    try:
        truth = torch.as_tensor(said)
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(f"Return True or False; you returned {said!r}.") from None
    if truth.numel() != 1:
        raise Wrong("Return one True or False for the whole matrix, not one for each row.")
    return bool(truth)


def _wrong_link(found: Tensor, expected: Tensor) -> str:
    i, j = (found != expected).nonzero()[0].tolist()
    pair = f"{_FRENCH[i]} (row {i}) and {_ENGLISH[j]} (column {j})"
    if found[i, j] not in (0, 1):
        return f"{pair}: write 1 or 0, not {found[i, j].item():g}."
    told = "belong together on the slide" if expected[i, j] else "do not belong together"
    return f"{pair} {told}."


def _crossing(crossing: object) -> None:
    try:
        links = torch.as_tensor(crossing).tolist()
    except (TypeError, ValueError, RuntimeError):
        links = None
    if links == []:
        raise Wrong("Two links do cross. Look for a word of French that goes back in English.")
    if links is None or torch.as_tensor(links).shape != (2, 2):
        raise Wrong(f"Give two links, like [(0, 0), (3, 5)]; you gave {crossing!r}.")
    for i, j in links:
        if (i, j) not in _LINKS:
            raise Wrong(f"({i}, {j}) is no link of your grid. Count rows and columns from 0.")
    (i, j), (k, m) = links
    if (i - k) * (j - m) >= 0:
        raise Wrong(f"({i}, {j}) and ({k}, {m}) do not cross: they go the same way.")


_HALF = "Ask for the largest weight of a row, however small it is."
_MATRICES = (
    ([[0.1, 0.9], [0.8, 0.2]], True, "Row i meets the anti-diagonal in column n − 1 − i."),
    ([[0.9, 0.1], [0.2, 0.8]], False, "That is the main diagonal."),
    ([[0.3, 0.3, 0.4], [0.3, 0.4, 0.3], [0.4, 0.35, 0.25]], True, _HALF),
    ([[0, 0.1, 0.9], [0, 0.9, 0.1], [0, 0.6, 0.4]], False, "One row elsewhere is enough for no."),
    ([[0, 0.1, 0.9], [0.6, 0.4, 0], [0.55, 0.45, 0]], False, "One row elsewhere is enough for no."),
    ([[0.46, 0.04, 0.5], [0.1, 0.8, 0.1], [0.4, 0.3, 0.3]], True, "Compare along each row."),
    ([[0.5, 0.1, 0.4], [0.3, 0.4, 0.3], [0.6, 0.1, 0.3]], False, "Compare along each row."),
    ([[0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]], True, "It has four rows."),
)


def _new_texts(translator: Translator) -> list[list[str]]:
    """Texts of different letters, of those that the translator knows on both sides."""
    letters = set(translator.source.tokens) & set(translator.target.tokens) - {PAD}
    if len(letters) < _LONGEST:
        raise Wrong(f"It knows {len(letters)} letters on both sides; train with at least five.")
    letters, generator = sorted(letters), torch.Generator().manual_seed(9)
    lengths = torch.randint(2, _LONGEST + 1, (_TEXTS,), generator=generator).tolist()
    orders = [torch.randperm(len(letters), generator=generator)[:n].tolist() for n in lengths]
    return [[letters[k] for k in order] for order in orders]


def _reversed(translator: Translator, texts: list[list[str]]) -> str:
    targets = [text[::-1] for text in texts]
    written = translator.translate(texts)
    share = sum(map(list.__eq__, written, targets)) / len(texts)
    if sum(map(list.__eq__, written, texts)) > len(texts) / 2:
        raise Wrong("It copies. The second half of each pair is the text from its end.")
    if share < _ENOUGH:
        raise Wrong(f"It reverses {share:.0%} of {len(texts)} new texts. Train for more steps.")
    pairs = zip(translator.align(texts, targets), texts, strict=True)
    hits = [i + j == len(text) - 1 for weights, text in pairs for i, j in best_links(weights)]
    share = sum(hits) / len(hits)
    if share < _ENOUGH:
        raise Wrong(
            f"It reverses, but {share:.0%} of the largest weights stand on the anti-diagonal: a "
            "neighbour's state knows the letter, too. Train longer, or from another seed."
        )
    return "New texts come out reversed, anti-diagonal, and no alignment was ever shown to it."


def _layers() -> list[tuple[object, int, int, bool]]:
    """Attentions with the widths of query and context, and whether every path is open."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(9)
        additive = AdditiveAttention(7, 2, 11).double()
        product = MultiplicativeAttention(2, 7).double()
    for parameter in (*additive.parameters(), *product.parameters()):
        parameter.requires_grad_(False)
    mask = window_mask(5, 1)[:3]
    return [
        (additive, 7, 2, True),
        (product, 2, 7, True),
        (lambda query, context: additive(query, context, mask), 7, 2, False),
    ]


def _path_mistakes(blocks: Tensor) -> Mistakes:
    """Known wrong measures of the blocks, with what to say about each."""
    sums, squares = blocks.sum(dim=(1, 3)), blocks.square().sum(dim=(1, 3))
    return [
        (squares, "Those are the sums of squares: take the root."),
        (sums, "A sum may cancel to zero where the block is not. Take the root of the squares."),
        (sums.abs(), "A sum may cancel to zero where the block is not. Square, then add."),
        (blocks.abs().sum(dim=(1, 3)), "Those are sums of sizes; take the root of the squares."),
        (blocks.abs().amax(dim=(1, 3)), "Those are the largest entries; take all of them."),
        (blocks.sum(dim=1).norm(dim=-1), "You added each output's numbers before you measured."),
    ]


def _product_flops(first: torch.Size, second: torch.Size, **_: object) -> int:
    """Two operations, a product and a sum, for each number of the first factor."""
    return 2 * first.numel()


_COUNTED = {torch.ops.aten.mv: _product_flops, torch.ops.aten.dot: _product_flops}
