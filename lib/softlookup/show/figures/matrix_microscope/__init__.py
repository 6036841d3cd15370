"""The matrix microscope: a small self-attention whose every number shows where it comes from."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from softlookup.checks import require, require_int
from softlookup.show.figures.matrix_microscope.live import LARGEST, live_view
from softlookup.show.interactive import Interactive
from softlookup.show.numbers import plain, require_range

_FEWEST, _MOST = 3, 8  # with two tokens, d_k × d_k scores would look like n × n ones
_ALT = (
    "Self-attention of a few tokens, computed as you move them: the tokens, queries, keys, values "
    "and outputs as points of the plane, the scores, the weights, and how each weight came about."
)
_CAPTION = (
    "The matrix microscope. Drag a token, and all that follows from it moves along. Choose a cell "
    "of the scores or of the weights to see the dot product that made it."
)


class MatrixMicroscope(Interactive):
    r"""Self-attention $A = \mathrm{softmax}(QK^\top/\sqrt{d_k})$, $Z = AV$, to take hold of.

    All widths are 2, so that every vector is a point of the plane. The reader moves tokens, edits
    the matrices, switches scale and masks, and sees for each weight the numbers that made it.

    Args:
        tokens: 3 to 8 words, one per row of ``x``.
        x: The tokens' vectors, 2 numbers a row, from -1000 to 1000 like all numbers here.
        W_Q: The matrix of $Q = XW^Q$; the weight of an ``nn.Linear`` is its transpose.
        W_K: The matrix of $K = XW^K$.
        W_V: The matrix of $V = XW^V$.
        scale: Whether it starts with the scores divided by $\sqrt{d_k}$.
        causal: Whether it starts with the causal mask.
        window: The width of the window mask it starts with; None starts without one.
        same: Whether it starts with $W^K$ taken to be $W^Q$.
        query: The query chosen first, counted from 0.
        key: The key chosen first.
        axes: What the two columns of ``x`` mean, as names of the tokens' axes.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: There are too few or too many tokens; a shape, a dtype or a number does not
            fit; ``window``, ``query`` or ``key`` is none of this text's positions; ``axes``
            are not two words; or as ``Interactive``.

    Source: Vaswani et al. 2017, section 3.2.1; lecture 004, "Attention in Transformers".
    Chapter: attention#optional-microscope.

    Example:
        >>> import torch
        >>> eye = torch.eye(2)
        >>> MatrixMicroscope(["to", "be", "or"], torch.ones(3, 2), eye, eye, eye).name
        'fig-matrix-microscope'
    """

    def __init__(
        self,
        tokens: Sequence[str],
        x: Float[Tensor, "n 2"],
        W_Q: Float[Tensor, "2 2"],
        W_K: Float[Tensor, "2 2"],
        W_V: Float[Tensor, "2 2"],
        *,
        scale: bool = True,
        causal: bool = False,
        window: int | None = None,
        same: bool = False,
        query: int = 0,
        key: int = 0,
        axes: Sequence[str] = ("x₀", "x₁"),
        name: str = "fig-matrix-microscope",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        tokens = list(tokens)
        width = 1 if window is None else window
        _require_tokens(tokens)
        _require_matrices(len(tokens), x=x, W_Q=W_Q, W_K=W_K, W_V=W_V)
        _require_positions(len(tokens), window=width, query=query, key=key)
        axes = list(axes)
        two = len(axes) == 2 and all(isinstance(axis, str) and axis.strip() for axis in axes)
        require(two, "axes must be two words", axes=axes)
        start = {"scale": scale, "causal": causal, "window": window is not None, "width": width}
        start |= {"same": same, "query": query, "key": key}
        matrices = {"x": x, "W_Q": W_Q, "W_K": W_K, "W_V": W_V}
        matrices = {name: plain(matrix) for name, matrix in matrices.items()}
        self.start = {"tokens": tokens, **matrices, "start": start}
        super().__init__(
            name=name,
            data={**self.start, "axes": axes},
            alt=alt,
            caption=caption,
        )

    def live(self):
        """The same in ``ipywidgets``, with every number computed by the library."""
        return live_view(**self.start)


def _require_tokens(tokens: list[str]) -> None:
    rule = f"tokens must be {_FEWEST} to {_MOST} words"
    words = all(isinstance(token, str) and token.strip() for token in tokens)
    require(words and _FEWEST <= len(tokens) <= _MOST, rule, tokens=tokens)


def _require_matrices(n: int, **matrices: Tensor) -> None:
    for name, matrix in matrices.items():
        rows = n if name == "x" else 2
        words = "one row of 2 numbers per token" if name == "x" else "2 rows of 2 numbers"
        require(matrix.shape == (rows, 2), f"{name} must have {words}", **{name: matrix}, n=n)
        require_range(LARGEST, **{name: matrix})


def _require_positions(n: int, **positions: int) -> None:
    require_int(0, **positions)
    for name, position in positions.items():
        require(
            position < n, f"{name} must be less than the number of tokens", **{name: position}, n=n
        )
