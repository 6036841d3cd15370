"""Pictures of the chapter beyond text: images and their patches."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from softlookup.checks import require
from softlookup.show.style import LINE, WEIGHTS


def patch_panels(
    axes: np.ndarray,
    images: Float[Tensor, "images height width"],
    values: Sequence[Float[Tensor, "images patches"]],
    *,
    size: int,
    rows: Sequence[str],
    columns: Sequence[str],
    most: Sequence[float] = (),
) -> np.ndarray:
    """Draw images cut into patches, and below each a number of each patch as a colour.

    Args:
        axes: Where to draw, (1 + len(values), images).
        images: Grey images.
        values: What to show of the patches, in the order of reading. The panels of a row have one
            scale, from 0, dark, to the largest in the row; less than 0 is as dark.
        size: The side of a patch in pixels.
        rows: What stands before the images, and before each of ``values``.
        columns: What stands above each image.
        most: What is brightest in each row of values, if it is not the largest of this row.

    Raises:
        ValueError: The sizes do not fit.

    Chapter: beyond_text#images.
    """
    height, width = images.shape[1:]
    down, across = height // size, width // size
    fits = np.shape(axes) == (len(rows), len(columns)) == (1 + len(values), len(images))
    fits = fits and all(part.shape == (len(images), down * across) for part in values)
    fits = fits and len(most) in (0, len(values))
    rule = "there must be an axis for each image and each row of values, a value for each patch"
    found = {"axes": np.shape(axes), "images": images, "rows": len(rows), "columns": len(columns)}
    require(fits, rule, **found, values=[tuple(part.shape) for part in values])
    most = most or [float(part.clamp(min=0).max()) for part in values]
    for j, image in enumerate(images):
        axes[0, j].pcolormesh(image.numpy(), cmap="gray", vmin=0, vmax=1)
        for part, top, row in zip(values, most, axes[1:], strict=True):
            shares = part[j].clamp(min=0).view(down, across)
            row[j].pcolormesh(shares.numpy(), cmap=WEIGHTS, vmin=0, vmax=top)
        axes[0, j].set_title(columns[j], fontsize=9, loc="center")
    for name, row in zip(rows, axes, strict=True):
        row[0].set_ylabel(name, fontsize=9)
    for k, ax in enumerate(axes.flat):
        side = size if k < len(images) else 1  # of a patch, in cells of this panel
        ax.set(xticks=[], yticks=[], aspect="equal")
        ax.invert_yaxis()
        for step in range(1, across):
            ax.axvline(step * side, color=LINE, lw=0.6)
        for step in range(1, down):
            ax.axhline(step * side, color=LINE, lw=0.6)
        ax.spines[:].set_visible(False)
    return axes
