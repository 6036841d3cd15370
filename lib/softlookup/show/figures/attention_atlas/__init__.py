"""The attention atlas: every head of several models, on several texts, with its scores."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.checks import require, require_float, require_tokens
from softlookup.show.interactive import Interactive

_MOST_TOKENS, _MOST_LAYERS, _MOST_HEADS, _MOST_NUMBERS = 32, 4, 8, 60_000
_UNIT = 10_000
_ALT = (
    "An atlas of attention: choose a model, a text, a head and a token. In the trained copier one "
    "head of layer 0 reads the token before, and a head of layer 1 reads what followed the same "
    "letter; in the untrained one all heads read nearly evenly."
)
_CAPTION = (
    "The attention atlas. Small maps: the heads, a row for each layer, and the rollout of all "
    "layers. Large map: the chosen head; the token of a row reads the tokens of the columns. "
    "Choose a token of the text to see what it reads. Below: how far the head follows four "
    "patterns, and how far a head would that reads evenly."
)


class AttentionAtlas(Interactive):
    """Maps of attention to leaf through: model, text, layer and head, token.

    The page computes the rollout and the scores from the maps.

    Args:
        models: For each model, by name, some texts: the tokens, and the weights of all layers and
            heads. All texts of a model have the same layers and heads.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: A size or a number does not fit, or as ``Interactive``.

    Source: lecture 002, "Understanding the Model". Chapter: looking_inside#attention-maps.

    Example:
        >>> weights = torch.eye(2).expand(1, 1, 2, 2)
        >>> AttentionAtlas({"a model": [(["so", "on"], weights)]}).name
        'fig-looking-inside-atlas'
    """

    def __init__(
        self,
        models: Mapping[str, Sequence[tuple[Sequence[str], Float[Tensor, "layers heads n n"]]]],
        *,
        name: str = "fig-looking-inside-atlas",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        require(len(models) > 0, "there must be at least one model", models=list(models))
        data = [_model(label, texts) for label, texts in models.items()]
        n_numbers = sum(w.numel() for texts in models.values() for _, w in texts)
        rule = f"the page can hold {_MOST_NUMBERS} weights"
        require(n_numbers <= _MOST_NUMBERS, rule, weights=n_numbers)
        super().__init__(
            name=name,
            data={"models": data, "unit": _UNIT},
            alt=alt,
            caption=caption,
        )


def _model(label: str, texts: Sequence[tuple[Sequence[str], Tensor]]) -> dict:
    require(bool(label.strip()), "a model must have a name", name=label)
    require(len(texts) > 0, f"{label} must have at least one text", texts=len(texts))
    for tokens, weights in texts:
        _require_text(label, tokens, weights)
    shapes = {tuple(weights.shape[:2]) for _, weights in texts}
    require(len(shapes) == 1, f"all texts of {label} must have its layers and heads", shapes=shapes)
    causal = not any(weights.triu(1).any() for _, weights in texts)
    return {
        "name": label,
        "causal": causal,
        "texts": [{"tokens": list(t), "maps": _whole_numbers(w)} for t, w in texts],
    }


def _require_text(label: str, tokens: Sequence[str], weights: Tensor) -> None:
    require_tokens(tokens=tokens)
    require_float(weights=weights)
    n = len(tokens)
    require(2 <= n <= _MOST_TOKENS, f"a text must have 2 to {_MOST_TOKENS} tokens", n=n)
    fits = weights.ndim == 4 and weights.shape[2:] == (n, n)
    rule = f"the weights of {label} must have the axes (layers, heads, n, n), n its tokens"
    require(fits, rule, weights=weights, n=n)
    few = 1 <= weights.shape[0] <= _MOST_LAYERS and 1 <= weights.shape[1] <= _MOST_HEADS
    rule = f"there must be 1 to {_MOST_LAYERS} layers of 1 to {_MOST_HEADS} heads"
    require(few, rule, weights=weights)
    sums = weights.detach().double().sum(dim=-1)
    are_rows = bool(((sums - 1).abs() < 1e-4).all()) and weights.min().item() >= 0
    require(are_rows, f"each row of {label} must be weights that sum to 1", smallest=sums.min())


def _whole_numbers(weights: Tensor) -> list:
    """Weights in units of 1/10000: short to write, and exact to what a reader can see."""
    return (weights.detach().double() * _UNIT).round().to(torch.int64).tolist()
