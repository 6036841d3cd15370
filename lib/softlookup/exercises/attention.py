"""Checks: scaled dot-product self-attention."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from softlookup.attention import attention, attention_weights
from softlookup.exercises.compare import (
    Mistakes,
    advised,
    compare,
    draw,
    integers,
    numbers,
    one_number,
)
from softlookup.exercises.soft_lookup import OVER_QUERIES
from softlookup.exercises.verdict import Answer, Wrong, by_hand, exercise
from softlookup.masks import causal_mask, window_mask
from softlookup.ops import masked_softmax

FLIPPED = (
    "Your mask is read the other way round: true means that the query may read the key. Where the "
    "mask is False the weight must be 0."
)
ADDED = (
    "You add the mask's 0 and 1 to the scores: that only nudges them. A forbidden score must "
    "become −∞."
)
TOO_LATE = (
    "You set weights to 0 after the softmax, so the rest no longer sums to 1. Set the scores to "
    "−∞ before it."
)
ZERO_SCORE = "You set forbidden scores to 0, but e to the 0 is 1, not 0. Set them to −∞."
EMPTY_NAN = (
    "A query that may read nothing gets NaN from you: the softmax of a row of −∞ is 0/0. Such a "
    "row should be zeros."
)
HIDDEN_NAN = (
    "A query of NaN, which may read some keys, gets numbers from you: the NaN of the input is "
    "hidden. Repair only the weights that the mask forbids."
)
EMPTY_MEAN = (
    "A query that may read nothing gets the plain average of all keys, the forbidden ones: that "
    "is what a large finite number such as −1e9 does. Such a row should be zeros."
)

SHAPES = {
    (3, 3): "That is what one would want, a score per pair of words. But what comes out?",
    (5, 5): "5 is the width of a word before the projection.",
    (2, 3): "That is the shape of each factor.",
}
CHANGED = "Your function changed X itself. Work on a copy: X.clone()."
BAD_START = "At the start, both heads must have the same scores for every text."

WORDS = ("the", "chicken", "crossed", "the", "road", "because", "it")
CHICKEN, CROSSED, IT = 1, 2, 6
SENTENCE = torch.tensor(
    [
        [0.1, 0.0, 0.2, 1.0],
        [1.0, 0.3, 0.0, 0.1],
        [0.1, 1.0, 0.0, 0.2],
        [0.1, 0.0, 0.2, 1.0],
        [0.9, 0.0, 0.1, 0.1],
        [0.0, 0.2, 0.1, 0.9],
        [0.3, 0.0, 1.0, 0.2],
    ],
    dtype=torch.float64,
)
"""The chapter's X."""
KEYS = torch.tensor([[2.0, 0.0], [0.0, 2.0], [0.0, 0.0], [-1.0, -1.0]], dtype=torch.float64)
"""The chapter's W^K."""
QUERIES = torch.tensor([[0.0, 1.0], [2.0, 0.0], [3.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
"""The chapter's W^Q; its W^V hands over the first two columns."""

PENCIL_QUERIES = torch.tensor([[1, 0, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]], dtype=torch.float64)
PENCIL_KEYS = torch.tensor([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]], dtype=torch.float64)
PENCIL_VALUES = torch.tensor([[8, 0], [0, 4], [4, 4]], dtype=torch.float64)
"""The three words of the pencil exercise; the keys still lack their factor, 2 log 2."""

CROSS_SHAPES = {"W^Q": (16, 8), "W^K": (24, 8), "W^V": (24, 10), "S": (5, 9), "Z": (5, 10)}
"""The shapes of cross-attention from 5 words of width 16 to 9 of width 24."""
CROSS_HINTS = {
    "W^Q": "Queries are made of the words that read, whose width is 16, and have the width d_k.",
    "W^K": "Keys are made of the words that are read, whose width is 24, and have the width d_k.",
    "W^V": "Values are made of the words that are read, whose width is 24, and have the width d_v.",
    "S": "There is one score for each pair of a query and a key.",
    "Z": "There is one output for each query, and it is a mixture of values.",
}
TURNED = "Rows and columns have changed places: in this chapter words are rows, and Q = X W^Q."

SHOWS = {
    "axis": "With the softmax over queries, the columns of A sum to 1 instead of the rows.",
    "columns": "Words as columns in the formula of rows: features are compared with features.",
    "empty row": "An empty row breaks only the rows of queries that may read nothing: NaN.",
    "flipped mask": "With the mask flipped, a word reads exactly what it must not read.",
    "large number": "A large number instead of −∞ gives averages where there should be nothing.",
    "leak": "A leak shows as a loss that is too good in training and bad in use.",
    "no root": "Without the root the softmax of a wide head is saturated before its first step.",
}
"""What each cause shows, for the exercise on symptoms."""
CAUSES = ("empty row", "no root", "axis", "flipped mask", "large number", "leak", "columns")
"""The causes in the order of the symptoms."""

SEEN_TWICE = {
    (4, "empty row"): "The last row is empty, but only because something else is wrong: why do the "
    "first five outputs move when the fifth word changes?",
    (5, "empty row"): "The rows are empty, but then they would be NaN, as in symptom 1.",
}
"""What to say of a cause that explains a part of a symptom."""

REMAINS = {
    "self": "Whom does “it” read, if rows of X are compared with each other as they are?",
    "negative": "Can a weight be negative after a softmax? And before it?",
    "longer": "When does a text twice as long make the changes twice as large?",
    "glue": "How many columns has a change, and what do they hold, if the rows of X are mixed?",
    "forgets": "Which of the six heads hands on the change alone, without what was there before?",
    "sharper": "Who turns the temperature down and changes nothing else?",
    "even": "Weights are all equal only where all scores of a row are.",
    "nothing": "No piece is idle: each of the six changes at least one number.",
}
"""What may become of a head that lacks a piece, and a question about each answer."""
ABLATED = {
    "W^Q and W^K": "self",
    "the exponential and the division": "negative",
    "the division": "longer",
    "W^V": "glue",
    "the sum X + Z": "forgets",
    "the root": "sharper",
}
"""What becomes of the chapter's head without each of its pieces, in the order of the exercise."""
HALVED = {
    (2, "longer"): "Here the division is missing, too. But there is something that only the "
    "exponential prevents: look at the score of “because” in the row of “it”.",
    (3, "negative"): "Here the exponentials are still taken, so no weight is negative. But they "
    "are not divided by their sum.",
    (3, "sharper"): "All weights of a row become larger by the same factor, so the choice is as "
    "sharp as before.",
    (6, "self"): "The projections are still there, so “it” still looks for a thing.",
}
"""What to say of an outcome that explains a part."""

PENCIL = "give my_out, three rows of two numbers, and my_causal_row, two numbers."
COLUMNS = "give the shape as a pair of numbers, and write my_columns(W_Q, W_K, W_V, X)."


@exercise("write my_attention(Q, K, V, mask=None), one output row per query.")
def check_attention(answer: Answer) -> str:
    """Check ``my_attention(Q, K, V, mask=None)``: square, not square, masked, with an empty row."""
    Q, K, V = draw(5, 3, seed=0), draw(5, 3, seed=1), draw(5, 7, seed=2)
    _same(answer(Q, K, V), attention(Q, K, V), _attention_mistakes(Q, K, V))
    Q, K, V = draw(3, 5, seed=0), draw(7, 5, seed=1), draw(7, 2, seed=2)
    try:
        out = answer(Q, K, V)
    except Wrong as wrong:
        raise Wrong(
            f"It works when there are as many queries as keys, but not for 3 queries and 7 keys. "
            f"Is something transposed? {wrong}"
        ) from wrong
    _same(out, attention(Q, K, V), _attention_mistakes(Q, K, V))
    mask = draw(3, 7, seed=3) > 0
    mask[:, 4] = True
    mistakes = _mask_mistakes(Q @ K.mT / math.sqrt(5), mask, V)
    _same(answer(Q, K, V, mask), attention(Q, K, V, mask), mistakes)
    mask[1] = False
    expected = attention(Q, K, V, mask)
    _same(answer(Q, K, V, mask), expected, _empty_row_mistakes(expected, 1, V.mean(dim=0)))
    Q[0] = math.nan
    out = torch.as_tensor(answer(Q, K, V, mask))
    if not out[0].isnan().all():
        raise Wrong(HIDDEN_NAN)
    return (
        "The same numbers as the library, for any mask; an empty row gives zeros, and a NaN of the "
        "input stays visible."
    )


@exercise(COLUMNS, COLUMNS)
def check_columns(shape: Answer, answer: Answer) -> str:
    """Check the predicted shape of $(W^QX)(W^KX)^T$, and attention for words in columns."""
    if not isinstance(shape.value, tuple | list | torch.Size) or len(shape.value) != 2:
        raise Wrong(f"The shape should be a pair such as (7, 4); you gave {shape.value!r}.")
    told = f"The shape should be a pair such as (7, 4); you gave {shape.value!r}."
    pair = tuple(integers(map(shape.started, shape.value), told))
    if pair != (2, 2):
        hint = SHAPES.get(pair, "W^Q X is 2 × 3; now write down its product with a 3 × 2.")
        raise Wrong(f"(W^Q X)(W^K X)ᵀ does not have the shape {pair}. {hint}")
    for d_model, d_k, d_v, n in (5, 2, 4, 3), (7, 3, 2, 5):
        W_Q, W_K, W_V = (draw(d, d_model, seed=d) for d in (d_k, d_k + 10, d_v))
        W_K, X = W_K[:d_k], draw(d_model, n, seed=5)
        expected = attention(X.mT @ W_Q.mT, X.mT @ W_K.mT, X.mT @ W_V.mT).mT
        mistakes = _column_mistakes(W_Q @ X, W_K @ X, W_V @ X, d_model)
        _same(answer(W_Q, W_K, W_V, X), expected, mistakes)
    return "Features × features it was; QᵀK compares words, and every column is a word again."


@exercise("write my_changed_outputs(layer, X, j), which returns a list of positions.")
def check_causality(answer: Answer) -> str:
    """Check ``my_changed_outputs(layer, X, j)`` on layers that read the past, more, and less."""
    n, masks = 6, _layer_masks(6)
    for name, (mask, volume) in masks.items():
        layer, X = (
            _layer(mask, volume, normalizes="layer normalization" in name),
            draw(n, 3, seed=7),
        )
        for j in 3, 0, 5:
            X[3] = 0.0  # a factor would not change this row
            found = answer(layer, X, j, kept=CHANGED)
            expected = mask[:, j].nonzero().flatten().tolist()
            _same_positions(found, expected, f"In a layer {name}", n, j)
    return "Nothing before j moves in the causal layer, and your test catches the layers that leak."


@exercise(PENCIL, PENCIL)
def check_pencil(answer: Answer, causal: Answer) -> str:
    """Check the output of three words, and its row 1 under a causal mask."""
    Q, K, V = PENCIL_QUERIES, 2 * math.log(2) * PENCIL_KEYS, PENCIL_VALUES
    products = Q @ K.mT
    A = (products / 2).softmax(dim=1)
    mistakes = [
        (products.softmax(dim=1) @ V, "The root is missing: d_k is 4, so divide by 2."),
        ((products / 4).softmax(dim=1) @ V, "You divide by d_k itself; it should be √d_k."),
        ((products / math.sqrt(2)).softmax(dim=1) @ V, "The keys have four entries, so d_k is 4."),
        ((products / 2).softmax(dim=0) @ V, OVER_QUERIES),
        (products / 2 @ V, "The softmax is missing: your weights do not sum to 1."),
        ((products / 2).exp() @ V, "Divide the exponentials of each row by their sum."),
        (attention(Q, K, V, causal_mask(3)), "No mask here: in my_out every word reads all three."),
        (A, "These are the weights. Now let them mix the values."),
        ((A @ V).mT, "Your output is transposed: return one row per query."),
    ]

    def otherwise(values: Tensor, expected: Tensor) -> str:
        row = int((values - expected).abs().amax(dim=1).argmax())
        return (
            f"Row {row} is not right. Write down its three scores, then their exponentials: each "
            f"of those is 1, 2 or 4."
        )

    compare(answer.value, A @ V, "Z", mistakes, otherwise, tolerance=0.02)
    row = attention(Q, K, V, causal_mask(3))[1]
    hidden = A[1] * torch.tensor([1.0, 1.0, 0.0])
    mistakes = [
        ((A @ V)[1], "That is row 1 with full reading. The mask hides word 2 from word 1."),
        (hidden @ V, "The weights that stay sum to 3/4. Divide each by that: they must sum to 1."),
        (V[0], "Word 1 reads word 0 and itself: the causal mask allows j ≤ i."),
        (V[:2].mean(dim=0), "The two words that stay keep their proportions, 2 to 1."),
        (hidden[:2] / hidden.sum(), "These are the weights. Now let them mix the values."),
    ]
    told = "Row 1 under the mask is not right: which exponentials stay, and what is their sum?"
    compare(causal.value, row, "Row 1 under the mask", mistakes, told, tolerance=0.02)
    return (
        "All of them. The scores of rows 0 and 1 differ by a shift, and a softmax ignores it; the "
        "words that a mask leaves keep their proportions."
    )


@exercise("give my_shapes, a list of five shapes: of W^Q, W^K, W^V, S and Z.")
def check_shapes(answer: Answer) -> str:
    """Check ``my_shapes``: five pairs of numbers, for cross-attention of 5 words with 9."""
    shapes, told = answer.value, "Give a list of five pairs, such as (7, 4): W^Q, W^K, W^V, S, Z."
    if not isinstance(shapes, list | tuple) or len(shapes) != len(CROSS_SHAPES):
        raise Wrong(told)
    for given, (name, right) in zip(shapes, CROSS_SHAPES.items(), strict=True):
        if not isinstance(answer.started(given), list | tuple | torch.Size) or len(given) != 2:
            raise Wrong(f"{told} For {name} you gave {given!r}.")
        pair = tuple(integers(map(answer.started, given), told))
        if pair != right:
            hint = TURNED if pair == right[::-1] else CROSS_HINTS[name]
            raise Wrong(f"{name} does not have the shape {pair}. {hint}")
    return "All five. Only d_k is shared by the two sides: there queries meet keys."


@exercise("give my_causes, a list of seven causes.")
def check_symptoms(answer: Answer) -> str:
    """Check ``my_causes``: for each of seven symptoms the cause, in their order."""
    causes, told = answer.value, f"Give a list of {len(CAUSES)} causes, one for each symptom."
    if not isinstance(causes, list | tuple) or len(causes) != len(CAUSES):
        raise Wrong(told)
    for number, (cause, right) in enumerate(zip(causes, CAUSES, strict=True), start=1):
        if answer.started(cause) not in CAUSES:
            known = ", ".join(SHOWS)
            raise Wrong(f"For symptom {number} you say {cause!r}; the causes are: {known}.")
        if cause != right:
            told = SEEN_TWICE.get((number, cause), SHOWS[cause])
            raise Wrong(f"Symptom {number} has another cause than “{cause}”. {told}")
    return "All seven. Each of them runs without an error: only the numbers tell."


@exercise(
    "give my_outcomes, a list of six outcomes.",
    "give my_text, three words as rows of four numbers.",
)
def check_ablation(answer: Answer, text: Answer) -> str:
    """Check what becomes of six heads that lack a piece, and a text that needs no root."""
    outcomes, told = answer.value, f"Give a list of {len(ABLATED)} outcomes, one for each head."
    if not isinstance(outcomes, list | tuple) or len(outcomes) != len(ABLATED):
        raise Wrong(told)
    pairs = zip(outcomes, ABLATED.items(), strict=True)
    for number, (outcome, (piece, right)) in enumerate(pairs, start=1):
        if not isinstance(answer.started(outcome), str) or outcome not in REMAINS:
            known = ", ".join(REMAINS)
            raise Wrong(f"For head {number} you say {outcome!r}; the outcomes are: {known}.")
        if outcome != right:
            told = HALVED.get((number, outcome), REMAINS[outcome])
            raise Wrong(f"Without {piece} it is not “{outcome}” that happens. {told}")
    return _judge_text(numbers(text.value, torch.zeros(3, 4), "my_text"))


def _judge_text(X: Tensor) -> str:
    """Praise a text of three words for which the root makes no difference, or tell what is wrong.

    The three values must differ: a mixture of equal values is that value, whatever the weights.
    """
    if not X.isfinite().all():
        raise Wrong("my_text holds an infinity.")
    Q, K, V = X @ QUERIES, X @ KEYS, X[:, :2]
    for i, j in (0, 1), (0, 2), (1, 2):
        if (V[i] - V[j]).abs().max() < 1e-3:
            raise Wrong(
                f"Words {i} and {j} hand over the same value, so it does not matter how the weight "
                f"is shared out between them. Make all three values differ."
            )
    whole, rootless = attention_weights(Q, K), attention_weights(Q, K, scale=False)
    i = int((whole @ V - rootless @ V).abs().amax(dim=1).argmax())
    if not torch.allclose(whole @ V, rootless @ V, rtol=0, atol=1e-6):
        scores = ", ".join(f"{score:.3g}" for score in (Q[i] @ K.mT / math.sqrt(2)).tolist())
        raise Wrong(
            f"For my_text the root matters: word {i} scores the three words with ({scores}). "
            f"Without the root these scores are √2 times as large. Which three scores give the "
            f"same weights then?"
        )
    if whole.amax() > 1 - 1e-6:
        return "All six. And your text needs no root, because its softmax is saturated already."
    return "All six. And the root stretches differences between scores: your text has none."


@exercise("give my_matrix, a query matrix of 4 rows and 2 columns.")
def check_taste(answer: Answer) -> str:
    """Check ``my_matrix``: *it* should read *crossed*, and *crossed* still read *chicken*."""
    W_Q = numbers(answer.value, torch.zeros(4, 2), "W^Q")
    if not W_Q.isfinite().all():
        raise Wrong("W^Q holds an infinity.")
    weights = attention_weights(SENTENCE @ W_Q, SENTENCE @ KEYS)
    best, from_crossed = int(weights[IT].argmax()), weights[IT, CROSSED].item()
    if best != CROSSED:
        query = ", ".join(f"{entry:.3g}" for entry in (SENTENCE[IT] @ W_Q).tolist())
        raise Wrong(
            f"“it” takes most from “{WORDS[best]}”, and {from_crossed:.2g} from “crossed”. Its "
            f"query is ({query}); the key of “crossed” is (0, 1.8)."
        )
    if from_crossed <= 0.9:
        raise Wrong(
            f"The direction is right, but “it” takes only {from_crossed:.2g} from “crossed”. A "
            f"longer query makes a clearer choice."
        )
    best = int(weights[CROSSED].argmax())
    if best != CHICKEN:
        raise Wrong(
            f"“it” is right, but now “crossed” takes most from “{WORDS[best]}”. Leave the rows "
            f"that make its query as they are: an action has nothing in the column “points”."
        )
    return f"“it” takes {from_crossed:.2g} from “crossed”, and a verb still looks for its noun."


@exercise("write my_rootless(W_Q, lr), which returns a matrix and a learning rate.")
def check_rootless(answer: Answer) -> str:
    """Check ``my_rootless(W_Q, lr)``: the start and the learning rate without the root."""
    pair = "Return two things: the matrix that takes the place of W_Q, and its learning rate."
    for d_k, lr in (4, 0.1), (9, 0.6):
        W_Q, root = draw(11, d_k, seed=d_k), math.sqrt(d_k)
        start, rate = answer.several(2, pair, W_Q, lr, kept="Your function changed W_Q itself.")
        compare(start, W_Q / root, "Your matrix", _start_mistakes(W_Q, root), BAD_START)
        rate = one_number(rate, "Your learning rate")
        if not math.isclose(rate, lr / d_k, rel_tol=1e-6):
            raise Wrong(_rate_hint(rate, lr, d_k))
    return "The same start and the same steps: dividing the matrix by c asks for lr / c²."


@exercise("write my_backward(Q, K, V, mask, dZ), which returns three gradients.")
def check_backward(answer: Answer) -> str:
    """Check ``my_backward(Q, K, V, mask, dZ)`` against autograd, with an empty row and without."""
    Q, K, V, dZ = draw(3, 5, seed=0), draw(7, 5, seed=1), draw(7, 2, seed=2), draw(3, 2, seed=4)
    mask = draw(3, 7, seed=3) > 0
    mask[:, 4] = True
    some = mask.clone()
    some[1] = False
    three = "Return three gradients: with respect to Q, to K and to V."
    cases = (
        (torch.ones_like(mask), "Without a mask: "),
        (mask, "With a mask: "),
        (some, "With a query that may read nothing: "),
    )
    for allowed, case in cases:
        with by_hand():
            found = answer.several(3, three, Q, K, V, allowed, dZ)
        inputs = [matrix.clone().requires_grad_() for matrix in (Q, K, V)]
        expected = torch.autograd.grad(attention(*inputs, allowed), inputs, dZ)
        mistakes = _backward_mistakes(Q, K, V, allowed, dZ)
        for name in "VQK":  # the easiest first
            k = "QKV".index(name)
            what = f"{case}the gradient of {name}"
            compare(found[k], expected[k], what, mistakes[name], f"{what} is wrong.", case=case)
    return "The same gradients as autograd, zeros for the empty row, and no Jacobian was built."


def _attention_mistakes(Q: Tensor, K: Tensor, V: Tensor) -> Mistakes:
    raw, d_k = Q @ K.mT, Q.shape[1]
    scaled = raw / math.sqrt(d_k)
    mistakes = [
        ((scaled.softmax(dim=-1) @ V).mT, "Your output is transposed: return one row per query."),
        (scaled.softmax(dim=0) @ V, OVER_QUERIES),
        (raw.softmax(dim=-1) @ V, "The scale is missing: divide the scores by √d_k."),
        (scaled @ V, "The softmax is missing: your weights do not sum to 1."),
        (scaled.softmax(dim=-1), "These are the weights. The output is the weights times V."),
    ]
    widths = {"d_k itself": d_k, "√d_v": math.sqrt(V.shape[1]), "√n_k": math.sqrt(len(K)),
              "√n_q": math.sqrt(len(Q)), "1/√d_k": 1 / math.sqrt(d_k)}  # fmt: skip
    for name, width in widths.items():
        advice = f"You divide the scores by {name}; it should be √d_k, the width of a key."
        mistakes.append(((raw / width).softmax(dim=-1) @ V, advice))
    if len(Q) == len(K):
        advice = "Queries and keys have changed places: row i of the scores belongs to query i."
        mistakes.append((scaled.mT.softmax(dim=-1) @ V, advice))
    return mistakes


def _mask_mistakes(scores: Tensor, mask: Tensor, V: Tensor) -> Mistakes:
    def softmax(scores: Tensor) -> Tensor:
        return scores.softmax(dim=-1)

    return [
        (softmax(scores) @ V, "You ignore the mask: all keys are still read."),
        (masked_softmax(scores, ~mask) @ V, FLIPPED),
        (softmax(scores + mask.double()) @ V, ADDED),
        ((softmax(scores) * mask) @ V, TOO_LATE),
        (softmax(scores * mask) @ V, ZERO_SCORE),
        (scores.masked_fill(~mask, -math.inf).softmax(dim=0).nan_to_num() @ V, OVER_QUERIES),
        (masked_softmax(scores * math.sqrt(5), mask) @ V, "With a mask, the scale is missing."),
    ]


def _column_mistakes(Q: Tensor, K: Tensor, V: Tensor, d_model: int) -> Mistakes:
    raw = Q.mT @ K
    weights = (raw / math.sqrt(len(Q))).softmax(dim=1)
    wide = (raw / math.sqrt(d_model)).softmax(dim=1)
    over_queries = (raw / math.sqrt(len(Q))).softmax(dim=0)
    return [
        ((V @ weights.mT).mT, "Your output has words in rows: return one column per word."),
        (V @ weights, "The weights must be transposed before V meets them: V Aᵀ, not V A."),
        (V @ over_queries.mT, OVER_QUERIES),
        (V @ over_queries, "Row i of QᵀK belongs to query i: take the softmax along each row, "
                           "and multiply V by the transpose."),
        (V @ wide.mT, "You divide the scores by √d_model; it should be √d_k, the width of a key."),
        (V @ raw.softmax(dim=1).mT, "The scale is missing: divide the scores by √d_k."),
        (V @ (raw / len(Q)).softmax(dim=1).mT, "You divide by d_k itself; it should be √d_k."),
        (V @ (raw / math.sqrt(Q.shape[1])).softmax(dim=1).mT, "You divide by √n. In columns d_k is "
                                                              "the number of rows of Q."),
        (V @ (raw / math.sqrt(2)).softmax(dim=1).mT, "You always divide by √2, and here d_k is "
                                                     "3: take d_k from the number of rows of Q."),
    ]  # fmt: skip


def _start_mistakes(W_Q: Tensor, root: float) -> Mistakes:
    return [
        (W_Q, "With this matrix the scores are √d_k times too large before the first step."),
        (W_Q / root**2, "You divide by d_k itself; the scores should shrink by √d_k only."),
        (W_Q * root, "Without the root the scores are too large; you make them larger still."),
        (W_Q / math.sqrt(root), "That would be right if W_K were divided by as much; it is not."),
        (W_Q / 2, "You always divide by 2: take d_k from the shape of W_Q."),
    ]


def _rate_hint(rate: float, lr: float, d_k: int) -> str:
    root, told = math.sqrt(d_k), f"The start is right. For d_k = {d_k} and lr = {lr} your learning "
    return f"{told}rate is {rate:.4g}. " + advised(
        rate,
        [
            (lr, "With W = c W′, the gradient of W′ is c times that of W: its steps are too long."),
            (lr / root, "So the steps of W′ are as long as those of W. But W′ is √d_k times "
                        "smaller than W: its steps must be so, too."),
            (lr * root, "The gradient of W′ is larger than that of W, not smaller."),
            (lr * d_k, "The gradient of W′ is larger than that of W, not smaller."),
            (lr / 4, "Does it depend on d_k?"),
        ],
        "After one step, W must again be √d_k times W′.",
    )  # fmt: skip


def _backward_mistakes(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor, dZ: Tensor
) -> dict[str, Mistakes]:
    root = math.sqrt(Q.shape[1])
    A, all_read = attention_weights(Q, K, mask), attention_weights(Q, K)
    dA = dZ @ V.mT
    products = A * dA
    dS = products - A * products.sum(dim=1, keepdim=True)
    over_queries = products - A * products.sum(dim=0, keepdim=True)
    slips = [
        (dS * root, "The factor 1/√d_k of the scores belongs in the gradient, too."),
        (dS / root, "The factor 1/√d_k counts once, not twice."),
        (dA, "You skip the softmax: between A and S stands its Jacobian."),
        (products, "Of the Jacobian diag(p) − pp⊤ you took only the first part."),
        (over_queries, "The sum in the Jacobian runs along a row, over the keys."),
    ]
    return {
        "V": [
            (all_read.mT @ dZ, "the gradient of V ignores the mask."),
            (V * 0, "the gradient of V is not 0: Z = AV depends on V."),
        ],
        "Q": [(slip @ K / root, told) for slip, told in slips],
        "K": [
            *[(slip.mT @ Q / root, told) for slip, told in slips],
            ((dS @ K / root), "That is the gradient of Q."),
        ],
    }


def _layer_masks(n: int) -> dict[str, tuple[Tensor, float]]:
    return {
        "that reads only the past": (causal_mask(n), 1.0),
        "that reads everything": (torch.ones(n, n, dtype=torch.bool), 1.0),
        "with a window of one word to each side": (window_mask(n, 1), 1.0),
        "that looks ahead": (causal_mask(n).mT, 1.0),
        "with a very small output": (causal_mask(n), 1e-10),
        "that begins with layer normalization": (causal_mask(n), 1.0),
    }


def _layer(mask: Tensor, volume: float, *, normalizes: bool) -> Callable[[Tensor], Tensor]:
    W_Q, W_K, W_V = (draw(3, 3, seed=seed) for seed in (8, 9, 10))

    def layer(x: Tensor) -> Tensor:
        x = torch.nn.functional.layer_norm(x, (3,)) if normalizes else x
        return volume * attention(x @ W_Q, x @ W_K, x @ W_V, mask)

    return layer


def _same_positions(found: object, expected: list[int], where: str, n: int, j: int) -> None:
    found = found.tolist() if isinstance(found, Tensor) else found
    if not isinstance(found, list | tuple | set | range):
        raise Wrong(f"Return a list of positions, such as [2, 3]; you returned {found!r}.")
    if len(found) == n and all(isinstance(entry, bool) for entry in found):
        raise Wrong("Return the positions that changed, such as [2, 3], not a flag for each.")
    told = f"Return a list of positions, such as [2, 3]; you returned {found!r}."
    positions = sorted(integers(found, told))
    if positions == expected:
        return
    told = f"{where}, word {j} moves the outputs {expected}; your list is {positions}."
    if not positions and where.endswith("small output"):
        told += " A small change is a change: compare exactly, not with a tolerance."
    elif not positions and where.endswith("normalization"):
        told += " It does not notice if all entries of a row grow by the same amount: add noise."
    elif not positions:
        told += " Row j may be zero, and a factor leaves it so: add something instead."
    elif positions == [position + 1 for position in expected]:
        told += " Count positions from 0."
    elif positions == [i for i in range(n) if i not in expected]:
        told += " You list the outputs that stayed the same."
    elif positions == list(range(j, n)):
        told += " You assume a causal layer: run it twice, and compare."
    raise Wrong(told)


def _empty_row_mistakes(expected: Tensor, row: int, mean: Tensor) -> Mistakes:
    """What becomes of a row without keys: NaN, or a plain average."""
    return [
        (expected.index_fill(0, torch.tensor(row), math.nan), EMPTY_NAN),
        (expected.index_copy(0, torch.tensor([row]), mean[None]), EMPTY_MEAN),
    ]


def _same(out: object, expected: Tensor, mistakes: Mistakes) -> Tensor:
    def otherwise(values: Tensor, expected: Tensor) -> str:
        i, j = divmod(int((values - expected).abs().argmax()), expected.shape[1])
        return (
            f"The shape is right, the numbers are not: in row {i}, column {j} you have "
            f"{values[i, j]:.4g}, and it should be {expected[i, j]:.4g}."
        )

    return compare(out, expected, "Your result", mistakes, otherwise)
