"""Pictures of the chapter on looking inside: arrows between tokens, maps side by side."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path
from torch import Tensor, nn

from softlookup.analysis import attention_maps, induction_scores
from softlookup.checks import require
from softlookup.show.draw import heatmap
from softlookup.show.style import BLUE, ORANGE


def token_arcs(ax: Axes, tokens: Sequence[str], arcs: Sequence[tuple[int, int]]) -> Axes:
    """Draw tokens in a row, and numbered arrows between them: back above, on below.

    Args:
        ax: Where to draw.
        tokens: Short ones, such as letters.
        arcs: The arrows, each (start, end), places counted from 0; they are numbered from 1.

    Raises:
        ValueError: There is no token, or an arrow has no token at an end, or goes nowhere.

    Chapter: looking_inside#looking-inside.
    """
    n, rule = len(tokens), "an arrow must lead from one token to another"
    require(n > 0, "there must be at least one token", tokens=list(tokens))
    for arc in arcs:
        fits = len(set(arc)) == 2 and all(0 <= end < n for end in arc)
        require(fits, rule, arc=arc, n=n)
    for place, token in enumerate(tokens):
        ax.text(place, 0, token, ha="center", va="center", fontsize=13, family="monospace")
    for k, (start, end) in enumerate(arcs):
        back = end < start
        colour, side = (BLUE, 1) if back else (ORANGE, -1)
        middle, height = (start + end) / 2, side * (0.75 + 0.16 * abs(end - start))
        ends = [(start, 0.42 * side), (end, 0.42 * side)]
        bows = [(x, 0.42 * side + 4 / 3 * (height - 0.42 * side)) for x, _ in ends]
        codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
        path = Path([ends[0], *bows, ends[1]], codes)
        ax.add_patch(FancyArrowPatch(path=path, arrowstyle="-|>", color=colour, mutation_scale=11))
        text = {"ha": "center", "va": "bottom" if back else "top", "color": colour}
        ax.text(middle, height + 0.1 * side, str(k + 1), fontsize=10, **text)
    tall = 1.4 + 0.16 * max((abs(end - start) for start, end in arcs), default=0)
    ax.set(xlim=(-0.7, n - 0.3), ylim=(-tall, tall))
    ax.axis("off")
    return ax


def map_grid(
    axes: np.ndarray,
    maps: Float[Tensor, "rows columns n_q n_k"],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    tokens: Sequence[str] | None = None,
) -> np.ndarray:
    """Draw attention maps side by side, all from 0 (dark) to 1 (bright), query 0 on top.

    Args:
        axes: Where to draw, (rows, columns), as from ``plt.subplots(..., squeeze=False)``.
        maps: The weights.
        rows: What stands before each row of maps.
        columns: What stands above each column.
        tokens: The tokens of a text, to stand at the sides; left out, the sides stay bare.

    Raises:
        ValueError: The sizes do not fit.

    Chapter: looking_inside#attention-maps.
    """
    fits = maps.ndim == 4 and maps.shape[:2] == (len(rows), len(columns)) == np.shape(axes)
    names = {"rows": len(rows), "columns": len(columns)}
    rule = "there must be a map and an axis for each row and column"
    require(fits, rule, maps=maps, axes=np.shape(axes), **names)
    down, across = (tokens or list(map(str, range(n))) for n in maps.shape[2:])
    for i, row in enumerate(axes):
        for j, ax in enumerate(row):
            heatmap(ax, maps[i, j], rows=down, columns=across, digits=None)
            ax.collections[0].set(linewidth=0.4, edgecolor="face")  # 0 leaves hairlines
            ax.tick_params(labelsize=6)
            ax.set_title(columns[j] if i == 0 else "", fontsize=9)
            if tokens is None:
                ax.set(xticks=[], yticks=[])
            if i == len(rows) - 1:
                ax.set_xlabel("key")
        row[0].set_ylabel(f"{rows[i]}\nquery".strip())
    return axes


def induction_panels(
    axes: np.ndarray, trained: nn.Module, untrained: nn.Module, ids: Int[Tensor, "n"]
) -> np.ndarray:
    """Draw the map of a model's best induction head, and the same head untrained as its control.

    Args:
        axes: Where to draw, (1, 2).
        trained: A model whose layers have as many heads each; the best is looked for in all.
        untrained: One of the same size.
        ids: A text, best of random tokens that come again.

    Returns:
        ``axes``, with the scores in the titles.

    Raises:
        ValueError: As in ``induction_scores`` and ``map_grid``.

    Chapter: looking_inside#optional-the-same-heads-in-gpt-2-and-bert.
    """
    maps = torch.stack([attention_maps(model, ids[None])[:, 0] for model in (trained, untrained)])
    scores = torch.stack([induction_scores(part.flatten(0, 1), ids) for part in maps])
    best = int(scores[0].argmax())
    layer, head = divmod(best, maps.shape[2])
    columns = [
        f"{name}: {score:.2f}"
        for name, score in zip(("trained", "untrained"), scores[:, best], strict=True)
    ]
    row = f"layer {layer}, head {head}"
    return map_grid(axes, maps[None, :, layer, head], rows=[row], columns=columns)
