"""The referent switch: change the last word of a sentence, and see whom "it" reads, if it can."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from softlookup.checks import require, require_int
from softlookup.show.interactive import Interactive
from softlookup.show.numbers import plain, require_range

_MOST_WORDS, _LARGEST = 15, 50
_ALT = (
    "A sentence from top to bottom; lines lead from the word it to the words that it reads, in two "
    "steps of attention. With all words in sight they move when the last word changes; with only "
    "the words before in sight they do not."
)
_CAPTION = (
    "The referent switch. Say what “it” is, once for each last word; then let words read only what "
    "came before. Any word can be made the reader."
)
Step = tuple[Tensor, Tensor, Tensor]


class ReferentSwitch(Interactive):
    r"""Two steps of self-attention, $X \leftarrow X + AV$, over a sentence with several endings.

    Args:
        words: The sentence without its last word: 2 to 14 words.
        x: Their vectors, one row for each word.
        endings: The last words to choose from, 2 to 5, each with its vector.
        steps: Two triples $(W^Q, W^K, W^V)$.
        pronoun: The place of the word that reads at first.
        referents: Two places of words that the pronoun may stand for.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: A size, a place or a number does not fit, or as ``Interactive``.

    Source: lecture 001, "Contextual Embeddings". Chapter: static_vectors#optional-two-steps.

    Example:
        >>> import torch
        >>> step = (torch.eye(2), torch.eye(2), torch.eye(2))
        >>> endings = {"a": torch.ones(2), "b": torch.zeros(2)}
        >>> words, x = ["x", "y", "z"], torch.zeros(3, 2)
        >>> ReferentSwitch(words, x, endings, [step, step], pronoun=2, referents=(0, 1)).name
        'fig-referent-switch'
    """

    def __init__(
        self,
        words: Sequence[str],
        x: Float[Tensor, "n d"],
        endings: Mapping[str, Float[Tensor, "d"]],
        steps: Sequence[Step],
        *,
        pronoun: int,
        referents: Sequence[int],
        name: str = "fig-referent-switch",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        _require_words(words, endings)
        _require_vectors(len(words), x, endings)
        _require_steps(x.shape[1], steps)
        _require_places(len(words), pronoun, referents)
        data = {
            "words": list(words),
            "x": plain(x),
            "endings": [{"word": word, "x": plain(row)} for word, row in endings.items()],
            "steps": [
                dict(zip(("W_Q", "W_K", "W_V"), map(plain, step), strict=True)) for step in steps
            ],
            "pronoun": pronoun,
            "referents": list(referents),
        }
        super().__init__(
            name=name,
            data=data,
            alt=alt,
            caption=caption,
        )


def _require_words(words: Sequence[str], endings: Mapping[str, Tensor]) -> None:
    several = not isinstance(words, str) and 2 <= len(words) < _MOST_WORDS
    require(several, f"words must be 2 to {_MOST_WORDS - 1} words", words=words)
    require(2 <= len(endings) <= 5, "endings must be 2 to 5 words", endings=list(endings))
    texts = all(isinstance(word, str) and word.strip() for word in [*words, *endings])
    require(texts, "a word must not be blank", words=words, endings=list(endings))


def _require_vectors(n: int, x: Tensor, endings: Mapping[str, Tensor]) -> None:
    fits = x.ndim == 2 and len(x) == n and x.shape[1] > 0
    require(fits, "x must have one row for each word", x=x, words=n)
    for word, row in endings.items():
        rule = "each ending must have a vector as long as a row of x"
        require(row.shape == x.shape[1:], rule, **{word: row}, x=x)
    for name, numbers in {"x": x, **endings}.items():
        require_range(_LARGEST, **{name: numbers})


def _require_steps(d: int, steps: Sequence[Step]) -> None:
    two = len(steps) == 2 and all(len(step) == 3 for step in steps)
    require(two, "steps must be two triples (W_Q, W_K, W_V)", n_steps=len(steps))
    for k, (W_Q, W_K, W_V) in enumerate(steps):
        same = W_Q.ndim == 2 and W_Q.shape == W_K.shape and len(W_Q) == d and W_Q.shape[1] > 0
        rule = f"W_Q and W_K of step {k} must have the same shape ({d}, d_k)"
        require(same, rule, W_Q=W_Q, W_K=W_K)
        rule = f"W_V of step {k} must have the shape ({d}, {d}): what is read is added to x"
        require(W_V.shape == (d, d), rule, W_V=W_V)
        for name, matrix in {"W_Q": W_Q, "W_K": W_K, "W_V": W_V}.items():
            require_range(_LARGEST, **{f"{name} of step {k}": matrix})


def _require_places(n: int, pronoun: int, referents: Sequence[int]) -> None:
    require(
        len(set(referents)) == len(referents) == 2,
        "referents must be two places",
        referents=list(referents),
    )
    require_int(0, pronoun=pronoun, **{"referents[0]": referents[0], "referents[1]": referents[1]})
    inside = max(pronoun, *referents) < n
    rule = "pronoun and referents must be places of words"
    require(inside, rule, pronoun=pronoun, referents=list(referents), words=n)
