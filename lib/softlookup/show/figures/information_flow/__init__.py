"""The information flow: who reads whom, layer by layer in the encoder, then word by word."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.checks import require, require_float
from softlookup.show.interactive import Interactive
from softlookup.show.numbers import plain

_MOST, _LAYERS, _ROUNDING = 7, 4, 1e-4
_ALT = (
    "Dots in rows, one row for each layer, and lines that lead to what each dot reads. In the "
    "encoder all words read at once, one frame for each layer; the decoder then writes one word in "
    "each frame, from the source and from what it wrote before."
)
_CAPTION = (
    "One frame for each layer of the encoder, then one for each word of the target. Thick lines "
    "carry much weight. Blue: the encoder; orange: the decoder reads the source; green and dashed: "
    "it reads its own words."
)


class InformationFlow(Interactive):
    """The attention weights of an encoder and a decoder: a frame for each layer, then each word.

    Args:
        source: The source's words, 2 to 7.
        target: The words that the decoder writes, 1 to 7.
        encoder: The weights of each encoder layer, 1 to 4, over the source.
        cross: The weights of each target word over the source.
        own: The weights of each step of the decoder over what it has read before: the start, then
            the words written so far; 0 for what comes later.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: There are too few or too many words or layers, a shape does not fit, a row is
            no distribution, a step reads what comes later, or as ``Interactive``.

    Source: lecture 004, "Information Flow". Chapter: limits#information-flow.

    Example:
        >>> import torch
        >>> encoder, cross = torch.full((1, 2, 2), 0.5), torch.full((1, 2), 0.5)
        >>> InformationFlow(["a", "b"], ["c"], encoder, cross, torch.ones(1, 1)).name
        'fig-limits-flow'
    """

    def __init__(
        self,
        source: Sequence[str],
        target: Sequence[str],
        encoder: Float[Tensor, "layers n n"],
        cross: Float[Tensor, "m n"],
        own: Float[Tensor, "m m"],
        *,
        name: str = "fig-limits-flow",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        _require_words(2, source=source)
        _require_words(1, target=target)
        n, m = len(source), len(target)
        layers = encoder.ndim == 3 and 1 <= len(encoder) <= _LAYERS
        fits = layers and encoder.shape[1:] == (n, n)
        require(fits, f"encoder must hold 1 to {_LAYERS} matrices ({n}, {n})", encoder=encoder)
        require(cross.shape == (m, n), f"cross must have the shape ({m}, {n})", cross=cross)
        require(own.shape == (m, m), f"own must have the shape ({m}, {m})", own=own)
        given = {"encoder": encoder, "cross": cross, "own": own}
        for what, weights in given.items():
            _require_distributions(what, weights)
        later = own.detach().triu(1).abs().max().item()
        require(later == 0, "own must be 0 for what comes later", largest=later)
        data = {what: plain(weights) for what, weights in given.items()}
        super().__init__(
            name=name,
            data={"source": list(source), "target": list(target), **data},
            alt=alt,
            caption=caption,
        )


def _require_words(fewest: int, **lists: Sequence[str]) -> None:
    for name, words in lists.items():
        texts = not isinstance(words, str) and all(isinstance(w, str) and w.strip() for w in words)
        rule = f"{name} must be {fewest} to {_MOST} words"
        require(texts and fewest <= len(words) <= _MOST, rule, **{name: words})


def _require_distributions(name: str, weights: Tensor) -> None:
    require_float(**{name: weights})
    sums = weights.detach().double().sum(dim=-1)
    good = bool((weights >= 0).all()) and bool(((sums - 1).abs() <= _ROUNDING).all())
    rule = f"each row of {name} must be weights that sum to 1"
    require(good, rule, smallest=weights.min().item(), sums=torch.unique(sums).tolist())
