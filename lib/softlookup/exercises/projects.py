"""The three projects, one for each part of the book: each is scored against a plain method."""

import math
from collections.abc import Sequence
from functools import cache
from itertools import chain

import torch
from torch import Tensor

from softlookup.attention import attention_weights
from softlookup.data import book_prose
from softlookup.data.prose import tenth_out
from softlookup.exercises.compare import matrix, numbers
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.language_models import KneserNey, known_words, perplexity
from softlookup.masks import causal_mask
from softlookup.words import word_tokens

N_KEYS, D_KEY = 16, 8
"""How many pairs the second project keeps, and how many numbers a key or a question has."""
N_TOKENS, LONGEST = 16, 32
"""How many tokens the third project knows, and how long its texts are at most."""

_BETTER_BY, _SHARE_ENOUGH, _LOSS_ENOUGH = 0.05, 0.8, 0.1


@exercise("return a function that gives a probability to every next word.")
def check_book_model(my_model: Answer) -> str:
    """Score a model of the book's prose: its perplexity beside that of Kneser and Ney's counts.

    The counts are tuned, with the n and the discount that the book chose on a development text:
    to turn these two again gains next to nothing.

    Args:
        my_model: The learner's function of (texts, words). It returns a function of a history that
            gives one probability for each of ``words``.

    Chapter: generalization#project-the-next-word-of-this-book
    """
    words, texts, held_out, baseline = _book()
    next_word = _function(my_model(texts, words), "my_model", "of a history")
    place = {word: k for k, word in enumerate(words)}
    total, n_tokens = 0.0, 0
    for text in held_out:
        for i, word in enumerate([*text, "</s>"]):
            p = _distribution(next_word(text[:i]), words, text[:i])
            if p[place[word]] == 0:
                raise Wrong(f"After “{_end_of(text[:i])}” came “{word}”; you call it impossible.")
            total += math.log(p[place[word]])
            n_tokens += 1
    found = perplexity(min(total, 0.0), n_tokens)
    gain = 1 - found / baseline
    said = f"Perplexity {found:.1f}; the tuned counts of Kneser and Ney have {baseline:.1f}."
    if gain < _BETTER_BY:
        hint = "What can a whole passage tell you that the last three words cannot?"
        aim = f"{_BETTER_BY:.0%} less, {(1 - _BETTER_BY) * baseline:.1f}, is the aim."
        raise Wrong(f"{said} {aim} {hint}")
    return f"{said} That is {gain:.1%} less."


@exercise("return a function that answers new questions.")
def check_two_questions(my_lookup: Answer) -> str:
    """Score a lookup of two noisy questions at once: its error on questions that it never saw.

    Args:
        my_lookup: The learner's function of (queries, keys, values, answers), from
            ``two_questions``. It returns a function of (queries, keys, values).

    Chapter: many_heads#project-two-questions-at-once
    """
    given = two_questions(4000, torch.Generator().manual_seed(14))
    lookup = _function(my_lookup(*given), "my_lookup", "of (queries, keys, values)")
    *asked, answers = two_questions(2000, torch.Generator().manual_seed(41))
    found = numbers(lookup(*asked), answers, "The answers")
    error, plain, best = (
        (guess - answers).square().mean().item()
        for guess in (found, asked[2].mean(dim=1), _best_answers(*asked))
    )
    share = (plain - error) / (plain - best)
    said = (
        f"Mean squared error {error:.3f}. The mean of all values has {plain:.3f}, and the best "
        f"answer of one who knows the noise {best:.3f}: you went {share:.0%} of the way."
    )
    if share < _SHARE_ENOUGH:
        raise Wrong(f"{said} {_SHARE_ENOUGH:.0%} is the aim. {_hint(error, plain, share)}")
    return said


@exercise("return E, P, two layers, and U.")
def check_by_hand(my_transformer: Answer) -> str:
    """Score a Transformer whose weights were written by hand: its loss on texts that repeat.

    Args:
        my_transformer: The learner's function of nothing. It returns ``E`` (16, d), ``P`` (32, d),
            a list of two layers, each (W_Q, W_K, W_V, W_O), and ``U`` (d, 16).

    Chapter: beyond_text#project-a-transformer-by-hand
    """
    complaint = "Return four things: E, P, a list of two layers, and U."
    E, P, layers, U = _weights(my_transformer.several(4, complaint))
    generator = torch.Generator().manual_seed(20)
    losses, shares = [], []
    for period in (5, 9, 16):
        once = torch.stack([torch.randperm(N_TOKENS, generator=generator) for _ in range(40)])
        ids = once[:, :period].repeat(1, 2)
        rows, maps = _run(E[ids] + P[: 2 * period], layers)
        scores = (rows @ U)[:, period:-1]  # from a token that was read before, the next is known
        target = ids[:, period + 1 :]
        losses.append(torch.nn.functional.cross_entropy(scores.flatten(0, 1), target.flatten()))
        at = torch.arange(period, 2 * period - 1)
        shares.append((maps[0][:, at, at - 1].mean(), maps[1][:, at, at - period + 1].mean()))
    loss, guess = torch.stack(losses).mean().item(), math.log(N_TOKENS)
    before, after = torch.tensor(shares).mean(dim=0).tolist()
    said = f"Loss {loss:.3f} nats on what came before; guessing has {guess:.3f}."
    if not loss < _LOSS_ENOUGH:
        seen = (
            f"Your first layer gives {before:.0%} of its weights to the token before, your second "
            f"{after:.0%} to the token that followed last time. Look at the maps row by row."
        )
        raise Wrong(f"{said} Below {_LOSS_ENOUGH} is the aim. {seen}")
    return f"{said} Two soft lookups, one on top of the other, and nothing was trained."


def two_questions(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Noisy questions to small stores of keys and values; each question asks two things at once.

    A query is made from two keys of its store, and noise is added. The first two numbers of the
    answer are those of the first key's value, the last two those of the second's.

    Args:
        n: How many questions, each with a store of its own.
        generator: The source of chance.

    Returns:
        The queries (n, 8), keys (n, 16, 8), values (n, 16, 4) and answers (n, 4).

    Chapter: many_heads#project-two-questions-at-once

    Example:
        >>> [tuple(x.shape) for x in two_questions(3, torch.Generator())]
        [(3, 8), (3, 16, 8), (3, 16, 4), (3, 4)]
    """

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    turn, noise = _hidden()
    keys, values, rows = normal(n, N_KEYS, D_KEY), normal(n, N_KEYS, 4), torch.arange(n)
    first, second = torch.randint(N_KEYS, (2, n), generator=generator)
    half = D_KEY // 2
    clean = torch.cat([keys[rows, first, :half], keys[rows, second, half:]], dim=-1)
    answers = torch.cat([values[rows, first, :2], values[rows, second, 2:]], dim=-1)
    return (clean + noise * normal(n, D_KEY)) @ turn.T, keys @ turn.T, values, answers


def _function(found: object, name: str, what: str) -> Answer:
    """What the learner's function returned, if it is a function itself."""
    if not callable(found):
        raise Wrong(f"{name} should return a function {what}; yours returned {found!r}.")
    return Answer(found, f"the function that {name} returns should return something.")


def _distribution(answer: object, words: list[str], history: list[str]) -> list[float]:
    p = numbers(answer, torch.zeros(len(words)), "The probabilities")
    if p.min() < 0 or abs(p.sum().item() - 1) > 1e-6:
        worst = f"sum to {p.sum().item():.6g}, the smallest is {p.min().item():.3g}"
        raise Wrong(f"After “{_end_of(history)}” your probabilities {worst}.")
    return p.tolist()


def _end_of(history: list[str]) -> str:
    return " ".join(["…", *history[-4:]])


@cache
def _book() -> tuple[list[str], list[list[str]], list[list[str]], float]:
    """What can come next; the texts to learn from, those to be judged by; the tuned counts' score.

    A text is a passage of ten paragraphs, so that it has something to say about itself.
    """
    paragraphs = [word_tokens(line) for line in book_prose().splitlines()]
    passages = [list(chain(*paragraphs[i : i + 10])) for i in range(0, len(paragraphs), 10)]
    learned, held_out = tenth_out(passages)
    words = known_words(learned, min_count=2)
    known = set(words)
    learned, held_out = (
        [[word if word in known else "<unk>" for word in text] for text in texts]
        for texts in (learned, held_out[::2])
    )
    model = KneserNey(learned, n=4, words=words, discount=0.9)  # as the book chose them
    total = sum(model.log_probability(text) for text in held_out)
    n_tokens = sum(len(text) + 1 for text in held_out)
    return model.words, learned, held_out, perplexity(total, n_tokens)


@cache
def _hidden() -> tuple[Tensor, Tensor]:
    """How the second project turns its vectors, and how noisy each number is before the turn."""
    generator = torch.Generator().manual_seed(5)
    turn = torch.linalg.qr(torch.randn(D_KEY, D_KEY, generator=generator, dtype=torch.float64))[0]
    return turn, torch.tensor([0.3, 0.3, 2.0, 2.0] * 2, dtype=torch.float64)


def _best_answers(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """The mean of the answers that are still possible: a soft lookup for each half."""
    turn, noise = _hidden()
    squares = (((queries[:, None] - keys) @ turn) / noise).square()
    halves = [
        (-squares[..., k : k + 4].sum(dim=-1) / 2).softmax(dim=-1)[:, None] @ values for k in (0, 4)
    ]
    return torch.cat([halves[0][:, 0, :2], halves[1][:, 0, 2:]], dim=-1)


def _hint(error: float, plain: float, share: float) -> str:
    if error > plain:
        return "To bet on one value alone costs more than to hedge: look softly."
    if share < 0.3:
        return (
            "One lookup cannot ask two things. How many heads does a question with two parts need?"
        )
    return (
        "Two things are usual here. One head cannot ask two things: do you have two? And a dot "
        "product also likes long keys: which score falls with the distance, and with which numbers "
        "of it should it fall fast?"
    )


def _weights(parts: list[object]) -> tuple[Tensor, Tensor, list[list[Tensor]], Tensor]:
    """The learner's weights as float64 tensors; what does not fit together is told."""
    E, P, layers, U = parts
    d = matrix(E, "E").shape[1]
    E = numbers(E, torch.zeros(N_TOKENS, d), "E")
    P = numbers(P, torch.zeros(LONGEST, d), "P")
    U = numbers(U, torch.zeros(d, N_TOKENS), "U")
    is_list = isinstance(layers, list | tuple)
    if not is_list or [_length(layer) for layer in layers] != [4, 4]:
        raise Wrong("The layers should be a list of two, each (W_Q, W_K, W_V, W_O).")
    return E, P, [_layer(layer, d, k) for k, layer in enumerate(layers)], U


def _length(layer: object) -> int:
    return len(layer) if isinstance(layer, list | tuple) else 0


def _layer(layer: Sequence[object], d: int, k: int) -> list[Tensor]:
    """The four matrices of layer k."""
    matrices = [matrix(one, f"A matrix of layer {k}") for one in layer]
    shapes = [tuple(W.shape) for W in matrices]
    d_k, d_v = shapes[0][1], shapes[2][1]
    if d_k == 0 or shapes != [(d, d_k), (d, d_k), (d, d_v), (d_v, d)]:
        rule = f"(d, k), (d, k), (d, v) and (v, d) with d = {d}"
        yours = ", ".join(map(str, shapes))
        raise Wrong(f"The matrices of layer {k} should be {rule}; yours are {yours}.")
    return matrices


def _run(rows: Tensor, layers: list[list[Tensor]]) -> tuple[Tensor, list[Tensor]]:
    """Two layers of attention with a residual connection each; the rows, and the weights' maps."""
    maps, may_read = [], causal_mask(rows.shape[1])
    for W_Q, W_K, W_V, W_O in layers:
        maps.append(attention_weights(rows @ W_Q, rows @ W_K, may_read))
        rows = rows + maps[-1] @ (rows @ W_V) @ W_O
    return rows, maps
