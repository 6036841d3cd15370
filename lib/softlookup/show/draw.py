"""Pictures that recur: each takes arrays and an axis, and returns the axis."""

from collections.abc import Sequence

import matplotlib
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from torch import Tensor

from softlookup.checks import require, require_choice
from softlookup.show.style import BLUE, GREY, INK, LINE, PAPER, SIGNED, STRONG, WEIGHTS
from softlookup.show.table import format_number


def heatmap(
    ax: Axes,
    values: Tensor | np.ndarray,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    scale: str = "weights",
    digits: int | None = 2,
) -> Axes:
    """Draw a matrix as coloured cells with their numbers, row 0 on top.

    Args:
        ax: Where to draw.
        values: One row per name in ``rows``, one column per name in ``columns``.
        rows: The rows' names (in attention: the queries).
        columns: The columns' names (in attention: the keys).
        scale: "weights" colours from 0 to 1, "signed" is centred on 0, "counts" starts at 0.
        digits: Digits after the point, where not all are whole; None leaves the numbers out.

    Raises:
        ValueError: The shape does not fit the names, or ``scale`` is unknown.
    """
    values = torch.as_tensor(values).detach().double()
    require_choice(("weights", "signed", "counts"), scale=scale)
    require(
        values.shape == (len(rows), len(columns)),
        "values must have one row per row name and one column per column name",
        values=values,
        rows=len(rows),
        columns=len(columns),
    )
    low, high, colours = _colours(values, scale)
    ax.pcolormesh(values.numpy(), vmin=low, vmax=high, cmap=colours, edgecolors=LINE, lw=0.6)
    ax.set_xticks(np.arange(len(columns)) + 0.5, columns)
    ax.set_yticks(np.arange(len(rows)) + 0.5, rows)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_ylim(len(rows), 0)  # also where panels share the axis
    if digits is not None:
        _write_numbers(ax, values, low, high, colours, digits)
    return ax


def bars(ax: Axes, values: Tensor | Sequence[float], labels: Sequence[str]) -> Axes:
    """Draw horizontal bars with their numbers, the first on top; negative ones in grey.

    Args:
        ax: Where to draw.
        values: One number per bar.
        labels: One name per bar.

    Raises:
        ValueError: There is not one label per value.
    """
    values = torch.as_tensor(values).detach().double()
    require(
        values.shape == (len(labels),),
        "bars needs one label per value",
        values=values,
        labels=len(labels),
    )
    drawn = ax.barh(
        range(len(labels)),
        values.numpy(),
        height=0.7,
        color=[GREY if value < 0 else BLUE for value in values],
    )
    ax.bar_label(drawn, [format_number(value, 2) for value in values], padding=3, fontsize=8.5)
    ax.set_yticks(range(len(labels)), labels)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.axvline(0, color=LINE, lw=0.8, zorder=0)
    ax.margins(x=0.12)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    return ax


def share_colour(share: float) -> str:
    """The colour of an attention weight, or another share from 0 to 1, in all figures.

    Args:
        share: From 0 to 1; what lies beyond takes the colour of the end.

    Example:
        >>> share_colour(0), share_colour(1)
        ('#00224e', '#fee838')
    """
    return matplotlib.colors.to_hex(matplotlib.colormaps[WEIGHTS](float(share)))


def ink_on(colour: str | Sequence[float]) -> str:
    """Black or white, whichever is easier to read on a colour: its contrast is at least 4.5:1.

    Args:
        colour: What matplotlib knows as a colour. Through one that is not opaque the page shows, a
            light or a dark one; then black becomes ``STRONG``, which is white on a dark page.

    Source: WCAG 2.2, "contrast ratio" and "relative luminance".

    Example:
        >>> ink_on("#0072b2"), ink_on("#e69f00")
        ('#ffffff', '#000000')
    """
    *channels, alpha = matplotlib.colors.to_rgba(colour)
    paper = np.array(matplotlib.colors.to_rgb(PAPER))
    channels = alpha * np.array(channels) + (1 - alpha) * paper
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    luminance = linear @ (0.2126, 0.7152, 0.0722)
    if (luminance + 0.05) / 0.05 <= 1.05 / (luminance + 0.05):
        return "#ffffff"
    return "#000000" if alpha == 1 else STRONG


def _colours(values: Tensor, scale: str) -> tuple[float, float, Colormap]:
    finite = values[values.isfinite()].abs()
    largest = float(finite.max()) if finite.numel() and finite.max() > 0 else 1.0
    if scale == "signed":
        return -largest, largest, SIGNED
    shades = matplotlib.colormaps[WEIGHTS]
    return (0.0, 1.0, shades) if scale == "weights" else (0.0, largest, shades)


def _write_numbers(
    ax: Axes, values: Tensor, low: float, high: float, shade: Colormap, digits: int
) -> None:
    digits = 0 if bool((values == values.round()).all()) else digits
    for i, row in enumerate(values.tolist()):
        for j, value in enumerate(row):
            position = np.clip((value - low) / (high - low), 0, 1) if np.isfinite(value) else 0
            colour = ink_on(shade(position)) if np.isfinite(value) else INK  # the cell is empty
            text = f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−").replace("inf", "∞")
            ax.text(j + 0.5, i + 0.5, text, ha="center", va="center", color=colour, fontsize=9)
