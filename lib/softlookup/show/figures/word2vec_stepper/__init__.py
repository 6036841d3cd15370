"""The word2vec stepper: a vocabulary of a dozen words, trained one step at a time by the reader."""

from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor

from softlookup.checks import require, require_int
from softlookup.show.interactive import Interactive
from softlookup.show.numbers import plain, require_range

_FEWEST, _MOST, _LARGEST = 4, 16, 100
_MOST_NUMBERS = 10_000
_ALT = (
    "A dozen words in the plane and a bar for each word's chance to stand beside a chosen one; "
    "each step of training pulls the word that was chosen and pushes others away."
)
_CAPTION = (
    "One step of skip-gram at a time. Choose a centre word, and a word to pull towards it; "
    "a dashed line marks where a bar stood before the step."
)


class Word2VecStepper(Interactive):
    r"""Skip-gram in the plane, one step at a time: $u \leftarrow u - \eta \sum_r \epsilon_r v_r$.

    Args:
        words: The vocabulary, 4 to 16 words.
        centre: The table U to start with: one row of 2 numbers a word, from -100 to 100.
        context: The table U' to start with, alike.
        pairs: (centre, context) ids of a text, in the order in which it is to be read.
        negatives: Ids drawn from the noise, used one after the other, and again from the first.
        n_negatives: How many noise words there are for each true one, from 1 to 5.
        rate: The learning rate to start with, from 0.1 to 3.
        start: The pair (centre, context) that is chosen first.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: There are too few or too many words; a shape, a dtype, an id or a number does
            not fit; ``negatives`` hold fewer than two words; or as ``Interactive``.

    Source: Mikolov et al. 2013; lecture 000, "Word2Vec".
    Chapter: word2vec#negative-sampling.

    Example:
        >>> import torch
        >>> ids = torch.tensor([[0, 1], [2, 3]])
        >>> table = torch.zeros(4, 2)
        >>> Word2VecStepper(["a", "b", "c", "d"], table, table, ids, ids.flatten()).name
        'fig-word2vec-stepper'
    """

    def __init__(
        self,
        words: Sequence[str],
        centre: Float[Tensor, "vocab 2"],
        context: Float[Tensor, "vocab 2"],
        pairs: Int[Tensor, "pairs 2"],
        negatives: Int[Tensor, "draws"],
        *,
        n_negatives: int = 2,
        rate: int | float = 1.0,
        start: tuple[int, int] = (0, 1),
        name: str = "fig-word2vec-stepper",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        _require_words(words)
        for what, table in {"centre": centre, "context": context}.items():
            _require_table(what, table, len(words))
        _require_ids(len(words), pairs, negatives, start)
        require_int(1, n_negatives=n_negatives)
        require(n_negatives <= 5, "n_negatives must be at most 5", n_negatives=n_negatives)
        require(0.1 <= rate <= 3, "rate must be from 0.1 to 3", rate=rate)
        data = {
            "words": list(words),
            "U": plain(centre),
            "V": plain(context),
            "pairs": pairs.tolist(),
            "draws": negatives.tolist(),
            "k": n_negatives,
            "rate": rate,
            "centre": start[0],
            "context": start[1],
        }
        super().__init__(
            name=name,
            data=data,
            alt=alt,
            caption=caption,
        )


def _require_words(words: Sequence[str]) -> None:
    texts = not isinstance(words, str) and all(isinstance(w, str) and w.strip() for w in words)
    rule = f"words must be {_FEWEST} to {_MOST} distinct words"
    fits = texts and _FEWEST <= len(words) <= _MOST and len(set(words)) == len(words)
    require(fits, rule, words=words)


def _require_table(name: str, table: Tensor, n: int) -> None:
    rule = f"{name} must have one row of 2 numbers per word"
    require(table.shape == (n, 2), rule, **{name: table}, words=n)
    require_range(_LARGEST, **{name: table})


def _require_ids(n: int, pairs: Tensor, negatives: Tensor, start: tuple[int, int]) -> None:
    is_pairs = pairs.ndim == 2 and pairs.shape[-1] == 2 and 0 < len(pairs) <= _MOST_NUMBERS
    require(is_pairs, "pairs must be rows of two ids, at least one", pairs=pairs)
    is_list = negatives.ndim == 1 and 0 < len(negatives) <= _MOST_NUMBERS
    require(is_list, "negatives must be a list of ids", negatives=negatives)
    for name, ids in {"pairs": pairs, "negatives": negatives}.items():
        whole = not (ids.is_floating_point() or ids.is_complex())
        require(whole, f"{name} must be integers", dtype=ids.dtype)
        low, high = ids.min().item(), ids.max().item()
        rule = f"{name} must be ids from 0 to {n - 1}"
        require(low >= 0 and high < n, rule, smallest=low, largest=high)
    rule = "negatives must hold at least two different words"  # one of them may be the true one
    require(len(negatives.unique()) >= 2, rule, different=len(negatives.unique()))
    two = len(start) == 2 and all(isinstance(i, int) and 0 <= i < n for i in start)
    require(two, f"start must be two ids from 0 to {n - 1}", start=start)
