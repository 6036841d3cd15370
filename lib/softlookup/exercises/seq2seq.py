"""Checks: losses, reversal, paths, multiplications, alignments without a network."""

import itertools
import math
from collections import Counter

import torch
from torch import Tensor
from torch.autograd.functional import jacobian

from softlookup.attention import AdditiveAttention, MultiplicativeAttention
from softlookup.data import french_english
from softlookup.exercises.compare import (
    Mistakes,
    advised,
    compare,
    counted,
    integers,
    one_number,
)
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.masks import window_mask
from softlookup.translation import PAD, Translator, alignment_error_rate, best_links

_TEXTS, _LONGEST, _ENOUGH = 200, 5, 0.9
_T_X, _T_Y, _D, _D_A = 30, 20, 64, 32
TURNED = "A row for each query, a column for each row of the context: transpose."
PATH = (
    "The shape is right, the numbers are not: differentiate layer(query, c) by c, then take the "
    "norm over both widths."
)


@exercise("which probability does the translation get?", "which mean loss may it have?")
def check_loss(probability: Answer, loss: Answer) -> str:
    """Check the probability of 12 words at a mean loss of 0.3, and the loss of a probability 1/2.

    Args:
        probability: P(y | x) of a translation of 12 words.
        loss: The mean loss at which P(y | x) is a half.

    Chapter: seq2seq#exercises
    """
    found = one_number(probability.value, "The probability")
    mistakes = [
        (math.exp(-0.3 * 12), "Twelve words, and the end: how many tokens does it write?"),
        (math.exp(-0.3), "That is the probability of one token. There are more."),
        (0.3**13, "The loss is a logarithm. Which probability has the loss 0.3?"),
        (0.7**13, "The loss is a logarithm. Which probability has the loss 0.3?"),
        (2 ** (-0.3 * 13), "The logarithm is the natural one: its base is e."),
        (-0.3 * 13, "That is the logarithm of the probability."),
        (0.3 * 13, "That is minus the logarithm of the probability."),
        (math.exp(0.3 * 13), "A probability is at most 1: look at the sign."),
    ]
    if not math.isclose(found, math.exp(-0.3 * 13), rel_tol=0.02):
        hint = "The mean loss times the number of tokens is minus the logarithm of P."
        raise Wrong(advised(found, mistakes, f"Not {found:.4g}. {hint}", rel_tol=0.02))
    found = one_number(loss.value, "The loss")
    mistakes = [
        (math.log(2) / 12, "Twelve words, and the end: how many tokens does it write?"),
        (math.log(2), "That is the loss of the whole sentence. Which is the mean per token?"),
        (1 / 13, "That is one bit for each sentence; the loss is in natural logarithms."),
        (0.5 ** (1 / 13), "That is the mean probability of a token. Which loss does it have?"),
        (math.log(0.5) / 13, "A loss is minus a logarithm."),
    ]
    if not math.isclose(found, math.log(2) / 13, rel_tol=0.02):
        hint = "How many equal factors give a half? Take minus the logarithm of one."
        raise Wrong(advised(found, mistakes, f"Not {found:.4g}. {hint}", rel_tol=0.02))
    return "Two in a hundred; and at 0.053 each token has a probability of 0.95."


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
    "how many are there with additive scores?",
)
def check_multiplications(count: Answer, additive: Answer) -> str:
    """Check how many multiplications scores and contexts take for n_k = 30, n_q = 20, d = 64.

    Args:
        count: All multiplications in the dot products and in the weighted sums.
        additive: The same with additive scores of 32 hidden units, nothing computed twice.

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
        (2 * _T_X**2 * _D, "There is one row of scores per target word: n_q times n_k, not n_k²."),
        (2 * _T_Y**2 * _D, "Each target word has n_k scores: n_q times n_k, not n_q²."),
        (
            2 * (_T_X + _T_Y) * _D,
            "Every target word meets every source word: a product, not a sum.",
        ),
    ]
    found = one_number(count.value, "The count")
    if found != right:
        loops = "Write two loops, and add 64 for each score and for each row of a context."
        raise Wrong(advised(found, mistakes, f"{found:g} is not right. {loops}"))
    queries, keys, hidden = _T_Y * _D * _D_A, _T_X * _D * _D_A, pairs * _D_A
    right = queries + keys + hidden + pairs * _D
    mistakes = [
        (
            pairs * (2 * _D * _D_A + _D_A + _D),
            "W_k k_j is the same for every target word, and "
            "W_q h_t for every source row: compute each of them once.",
        ),
        (
            pairs * _D * _D_A + queries + hidden + pairs * _D,
            "W_k k_j is the same for every target word: compute it once.",
        ),
        (
            pairs * _D * _D_A + keys + hidden + pairs * _D,
            "W_q h_t is the same for every source row: compute it once.",
        ),
        (right - pairs * _D, "The contexts are still to be mixed."),
        (right - hidden, "v takes 32 multiplications for each score, too."),
        (hidden + pairs * _D, "The two matrices multiply, too."),
        (right + queries + keys, "Do not count additions."),
    ]
    found = one_number(additive.value, "The second count")
    if found != right:
        parts = "Count four parts: W_q h_t, W_k k_j, v with each hidden row, and the contexts."
        raise Wrong(advised(found, mistakes, f"{found:g} is not right. {parts}"))
    return (
        "Dot products: 2 · n_q · n_k · d. Additive: each pair costs only d_a more than its "
        "context, once both sides are projected."
    )


@exercise("return the sum over all alignments, and the best alignment.")
def check_forward(answer: Answer) -> str:
    """Check a function of p: the sum over alignments that never go back, and the best of them.

    Args:
        answer: The learner's function of a matrix of probabilities, a row per target word; it
            returns a number and a list with a column for each row.

    Chapter: seq2seq#exercises
    """
    two = "Return two things: the sum, and the best alignment as a list."
    generator = torch.Generator().manual_seed(9)
    for n_q, n_k in ((3, 4), (1, 3), (5, 3), (40, 40)):
        p = torch.rand(n_q, n_k, generator=generator, dtype=torch.float64)
        found, alignment = answer.several(
            2, two, p, kept="Your function changed p: work on a copy."
        )
        case = f"For {n_q} target words and {n_k} source words: "
        total, best = _forward(p)
        if _how_many(alignment) == 1 < _how_many(found):
            raise Wrong("Return the sum first, and then the alignment.")
        found = one_number(found, "The sum")
        if not math.isclose(found, total, rel_tol=1e-6):
            otherwise = f"{case}the sum should be {total:.6g}, not {found:.6g}."
            raise Wrong(advised(found, _forward_mistakes(p), otherwise))
        places = integers(alignment, f"{case}give one column for each row.", n=n_q)
        if places != best:
            raise Wrong(case + _wrong_alignment(p, places))
    return "A table of n_q times n_k instead of all alignments; attention needs no table at all."


@exercise("return a dictionary of probabilities t[e, f].")
def check_model1(answer: Answer) -> str:
    """Check a function of (pairs, rounds): the table of IBM's Model 1 after so many rounds.

    Args:
        answer: The learner's function; it returns a dictionary from (English, French) to the
            probability of the English word, given the French one.

    Chapter: seq2seq#exercises
    """
    for n_rounds in (1, 2, 5):
        _compare_tables(answer(_KITTENS, n_rounds), n_rounds)
    pairs = french_english(300, torch.Generator().manual_seed(9), max_clauses=2)
    texts = [(list(p.source), list(p.target)) for p in pairs]
    table, expected = answer(texts, 5), _model1(texts, 5)
    if not isinstance(table, dict) or table.keys() != expected.keys():
        raise Wrong("On 300 sentences of the grammar, keep each pair of words that meet.")
    if any(not math.isclose(table[key], expected[key], abs_tol=1e-6) for key in expected):
        raise Wrong("Small texts are right; on 300 sentences of the grammar some numbers differ.")
    links = [
        {(i, max(range(len(source)), key=lambda j: table[e, source[j]])) for i, e in enumerate(own)}
        for source, own in texts
    ]
    error = alignment_error_rate(links, [p.alignment for p in pairs], [p.possible for p in pairs])
    return (
        f"From 300 pairs, without a network: an alignment error rate of {error:.0%}. What it "
        "cannot know is the order: of two words le it takes the first for every the."
    )


def _truth(said: object) -> bool:
    try:
        truth = torch.as_tensor(said)
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(f"Return True or False; you returned {said!r}.") from None
    if truth.numel() != 1:
        raise Wrong("Return one True or False for the whole matrix, not one for each row.")
    return bool(truth)


def _forward(p: Tensor) -> tuple[float, list[int]]:
    """The sum over all alignments that never go back, and the best one."""
    total, best, places = p[0], p[0], []
    for row in p[1:]:
        total = row * total.cumsum(dim=0)
        highest = best.cummax(dim=0)
        places.append(highest.indices)
        best = row * highest.values
    alignment = [best.argmax().item()]
    for before in reversed(places):
        alignment.append(before[alignment[-1]].item())
    return total.sum().item(), alignment[::-1]


def _how_many(numbers: object) -> int:
    try:
        return torch.as_tensor(numbers).numel()
    except (TypeError, ValueError, RuntimeError):
        return 0


def _forward_mistakes(p: Tensor) -> list[tuple[float, str]]:
    """The sums that known mistakes give, each with what to say about it."""
    strict, near, first, best = p[0], p[0], torch.zeros_like(p[0]), p[0]
    first[0] = p[0, 0]
    for row in p[1:]:
        strict = row * (strict.cumsum(dim=0) - strict)
        near = row * (near + torch.cat((near.new_zeros(1), near[:-1])))
        first = row * first.cumsum(dim=0)
        best = row * best.cummax(dim=0).values
    return [
        (best.max().item(), "That is the largest product; the first thing is the sum of all."),
        (p.sum(dim=1).prod().item(), "Alignments must not go back."),
        (strict.sum().item(), "An alignment may also stay: j may be the same as before."),
        (near.sum().item(), "An alignment may also jump: j may grow by more than one."),
        (first.sum().item(), "The first word may be aligned with any column."),
        (torch.tensor(_last_of(p)).item(), "Add up all places where the last word may be aligned."),
    ]


def _last_of(p: Tensor) -> float:
    total = p[0]
    for row in p[1:]:
        total = row * total.cumsum(dim=0)
    return total[-1].item()


def _wrong_alignment(p: Tensor, places: list[int]) -> str:
    n_k = p.shape[1]
    if any(not 0 <= j < n_k for j in places):
        return f"columns are counted from 0 to {n_k - 1}; you gave {places}."
    if any(later < earlier for earlier, later in itertools.pairwise(places)):
        return f"your alignment {places} goes back."
    greedy, least = [], 0
    for row in p.tolist():
        least = max(range(least, n_k), key=lambda j, row=row: row[j])
        greedy.append(least)
    if places == greedy:
        return (
            "you took the best column at each step. A step too far closes all columns before it: "
            "keep the best beginning for every j, and go back from the end."
        )
    return f"another alignment than {places} has a larger product."


def _model1(
    pairs: list[tuple[list[str], list[str]]], n_rounds: int, *, mistake: str = ""
) -> dict[tuple[str, str], float]:
    """The table of Model 1; or what a known mistake makes of it."""
    t = {(e, f): 1.0 for source, target in pairs for e in target for f in source}
    for _ in range(n_rounds):
        received, given = dict.fromkeys(t, 0.0), Counter()
        for source, target in pairs:
            for e, f in itertools.product(target, source):
                others = [t[word, f] for word in target]
                if mistake != "target":
                    others = [t[e, word] for word in source]
                share = t[e, f] if mistake == "raw" else t[e, f] / sum(others)
                received[e, f] += share
                given[e if mistake == "english" else f] += share
        t = {
            (e, f): share / (1 if mistake == "sums" else given[e if mistake == "english" else f])
            for (e, f), share in received.items()
        }
    return t


_MODEL1_MISTAKES = {
    "english": "Divide by what the French word gave in all, not by what the English word received.",
    "target": "Each English word is shared out among the French words; you did it the other way.",
    "raw": "The shares of one English word in one sentence must sum to 1: divide by their sum.",
    "sums": "Divide at the end of a round: for each French word the entries sum to 1.",
}
_KITTENS = [
    (["le", "chat"], ["the", "cat"]),
    (["le", "roi"], ["the", "king"]),
    (["le", "roi", "aime", "le", "chat"], ["the", "king", "loves", "the", "cat"]),
    (["un", "chat", "dort"], ["a", "cat", "is", "sleeping"]),
]


def _compare_tables(table: object, n_rounds: int) -> None:
    """Raise Wrong unless a table is that of Model 1 on four sentences."""
    expected = _model1(_KITTENS, n_rounds)
    if not isinstance(table, dict):
        raise Wrong(f"Return a dictionary; you returned a {type(table).__name__}.")
    if ("chat", "cat") in table:
        raise Wrong("The keys are (English, French): first cat, then chat.")
    if missing := sorted(expected.keys() - table.keys()):
        e, f = missing[0]
        raise Wrong(f"{e} and {f} meet in a sentence: your table needs an entry for them.")
    if more := sorted(table.keys() - expected.keys(), key=str):
        raise Wrong(f"{more[0]} is no pair of an English and a French word that meet.")
    if _same_table(table, expected):
        return
    case = f"After {counted(n_rounds, 'round')}: "
    for mistake, advice in _MODEL1_MISTAKES.items():
        if _same_table(table, _model1(_KITTENS, n_rounds, mistake=mistake)):
            raise Wrong(case + advice)
    for other in (n_rounds - 1, n_rounds + 1):
        if _same_table(table, _model1(_KITTENS, other)):
            raise Wrong(f"{case}that is the table after {other}.")
    for (e, f), right in expected.items():
        found = one_number(table[e, f], f"t({e}|{f})")
        if not math.isclose(found, right, abs_tol=1e-6):
            raise Wrong(f"{case}t({e}|{f}) should be {right:.4f}; yours is {found:.4f}.")


def _same_table(table: dict, other: dict[tuple[str, str], float]) -> bool:
    try:
        return all(math.isclose(table[key], other[key], abs_tol=1e-9) for key in other)
    except TypeError:
        return False


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
