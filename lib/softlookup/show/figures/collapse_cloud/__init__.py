"""The collapse cloud: tokens sink through a stack, and switches say which parts its blocks have."""

from collections.abc import Sequence
from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.analysis import ablated_streams, rank_residual, token_cosine
from softlookup.checks import require, require_float
from softlookup.models import EncoderBlock
from softlookup.show.interactive import Interactive

_NORMS = ("none", "pre", "post")
_MOST_BLOCKS, _MOST_TOKENS = 24, 24
_ALT = (
    "A cloud of words and a curve of how far apart they are at each depth. With attention alone "
    "the cloud is one point after four blocks; with skips it shrinks slowly; with skips, "
    "feed-forward layers and norms before them it is still a cloud at the deepest block, and so "
    "it is with skips and small writes, wherever the norm stands."
)
_CAPTION = (
    "Left: the tokens after each block, in the two directions in which they differ most. The "
    "centre is their mean, and distances are measured in lengths of a token. The ring’s radius is "
    "the rank residual, which counts the differences in all directions. Labels that would overlap "
    "are omitted. Right: the rank residual at each depth, blue for this choice of parts and grey "
    "for the other eleven, at the same size of the writes; FFN is the feed-forward layer. Values "
    "below 10⁻⁴ are drawn at the bottom. The last switch divides all writes by the root of the "
    "number of blocks; the scale is then no longer logarithmic, but goes evenly from 0 to 1."
)


class CollapseCloud(Interactive):
    r"""Tokens at every depth of a stack of blocks, for each choice of skip, feed-forward and norm.

    A token stands at its deviation from the mean token, in the plane of the two largest singular
    values of all deviations; the plane is turned so as to fit the depth before. A last switch
    multiplies what each layer adds by one over the root of the number of blocks.

    Args:
        blocks: The stack, from the bottom up: 1 to 24 blocks, in evaluation or without dropout.
        x: The tokens, one a row: 2 to 24.
        words: What they are called, one word a row.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: There are too few or too many blocks, tokens or words, a number is not finite,
            or as ``Interactive``.

    Source: lecture 004, "Necessity of Feed Forward Nets". Chapter: depth#do-tokens-collapse.

    Example:
        >>> stack = [EncoderBlock(6, 2, 8) for _ in range(3)]
        >>> CollapseCloud(stack, torch.eye(4, 6), ["to", "be", "or", "not"]).name
        'fig-collapse-cloud'
    """

    def __init__(
        self,
        blocks: Sequence[EncoderBlock],
        x: Float[Tensor, "n d_model"],
        words: Sequence[str],
        *,
        name: str = "fig-collapse-cloud",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        fits = 1 <= len(blocks) <= _MOST_BLOCKS
        require(fits, f"blocks must be 1 to {_MOST_BLOCKS} blocks", blocks=len(blocks))
        _require_tokens(x, words)
        with torch.no_grad():
            small = len(blocks) ** -0.5
            runs = [
                _run(blocks, x, skip, feed_forward, norm, size)
                for size, norm, feed_forward, skip in product(
                    (1.0, small), _NORMS, (False, True), (False, True)
                )
            ]
        super().__init__(
            name=name,
            data={"words": list(words), "runs": runs, "small": f"{small:.1g}"},
            alt=alt,
            caption=caption,
        )


def _run(
    blocks: Sequence[EncoderBlock],
    x: Tensor,
    skip: bool,
    feed_forward: bool,
    norm: str,
    size: float,
) -> dict:
    """One choice of parts: where the tokens stand at each depth, and how far apart they are.

    Places are in thousandths of a token's length: short to write down.
    """
    streams = ablated_streams(
        blocks, x, skip=skip, feed_forward=feed_forward, norm=norm, size=size
    ).double()
    rule = "the tokens must stay finite at every depth"
    require(bool(streams.isfinite().all()), rule, skip=skip, feed_forward=feed_forward, norm=norm)
    return {
        "points": [[[round(1000 * c) for c in p] for p in rows] for rows in _places(streams)],
        "residual": [float(f"{r:.4g}") for r in rank_residual(streams).tolist()],
        "cosine": [round(c, 4) + 0.0 for c in token_cosine(streams).tolist()],
    }


def _places(streams: Float[Tensor, "depths n d_model"]) -> list:
    """Two numbers a token: its deviation from the mean, in the plane of the largest deviations."""
    lengths = streams.norm(dim=-1, keepdim=True).amax(dim=-2, keepdim=True)
    streams = streams / torch.where(lengths > 0, lengths, 1.0)  # first: squares may overflow
    size = streams.square().sum(dim=-1).mean(dim=-1).sqrt()[:, None, None]
    apart = (streams - streams.mean(dim=-2, keepdim=True)) / torch.where(size > 0, size, 1.0)
    places = []
    for rows in apart:
        U, S, _ = torch.linalg.svd(rows, full_matrices=False)
        flat = torch.zeros(len(rows), 2, dtype=rows.dtype)
        flat[:, : min(2, len(S))] = (U * S)[:, :2]
        if places:
            left, _, right = torch.linalg.svd(flat.mT @ places[-1])
            flat = flat @ (left @ right)  # the nearest turn, as in the Procrustes problem
        places.append(flat)
    return torch.stack(places).tolist()


def _require_tokens(x: Tensor, words: Sequence[str]) -> None:
    require_float(x=x)
    fits = x.ndim == 2 and 2 <= len(x) <= _MOST_TOKENS
    require(fits, f"x must have 2 to {_MOST_TOKENS} rows, one per token", x=x)
    named = not isinstance(words, str) and len(words) == len(x)
    named = named and all(isinstance(word, str) and word.strip() for word in words)
    require(named, "words must be one word per row of x", words=words, x=x)
