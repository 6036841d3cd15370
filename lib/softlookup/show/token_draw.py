"""Pictures of tokens: a text cut in several ways, and who merged with whom."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from softlookup.checks import require
from softlookup.show.style import BLUE, GREY, ORANGE


def token_rows(
    ax: Axes, rows: Mapping[str, Sequence[bytes]], *, lost: Sequence[tuple[str, int]] = ()
) -> Axes:
    """Draw one text cut in several ways, a row of boxes each; a box is as wide as its bytes.

    Args:
        ax: Where to draw.
        rows: The parts of the text, by the name of the unit. A part that is no whole character is
            shown in hexadecimal digits, a space as "_".
        lost: Parts that this unit throws away, as (name, place): grey and dotted.

    Raises:
        ValueError: There is no row, a part is empty, or the rows are not the same text.

    Chapter: tokenization#units.
    """
    texts = {name: b"".join(parts) for name, parts in rows.items()}
    require(len(set(texts.values())) == 1, "rows must be one text, cut in several ways", **texts)
    full = all(len(part) > 0 for parts in rows.values() for part in parts)
    require(full, "a part must hold at least one byte")
    for y, (name, parts) in enumerate(rows.items()):
        x = 0
        for k, part in enumerate(parts):
            gone = (name, k) in lost
            colour = GREY if gone else (BLUE, ORANGE)[k % 2]
            line = {"ec": colour, "fc": "none", "lw": 1.3, "ls": ":" if gone else "-"}
            ax.add_patch(plt.Rectangle((x + 0.06, y - 0.36), len(part) - 0.12, 0.72, **line))
            middle = (x + len(part) / 2, y)
            ax.text(*middle, _label(part), ha="center", va="center", color=colour, fontsize=9)
            x += len(part)
    ax.set(xlim=(0, x), ylim=(len(rows) - 0.5, -0.5), xticks=[])
    ax.set_yticks(range(len(rows)), list(rows))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def merge_tree(ax: Axes, chunk: str, merges: Sequence[tuple[str, str]]) -> Axes:
    """Draw the tree of merges over one chunk: characters below, a join as high as its rank.

    Args:
        ax: Where to draw.
        chunk: The characters to start from.
        merges: Pairs of tokens in the order learned; the first one is drawn at height 1.

    Raises:
        ValueError: ``chunk`` is empty.

    Chapter: tokenization#byte-pair-encoding.
    """
    require(len(chunk) > 0, "chunk must hold at least one character", chunk=chunk)
    nodes = [(character, float(x), 0) for x, character in enumerate(chunk)]
    for rank, pair in enumerate(merges, start=1):
        k = 0
        while k < len(nodes) - 1:
            (left, x0, y0), (right, x1, y1) = nodes[k : k + 2]
            if (left, right) == pair:
                ax.plot([x0, x0, x1, x1], [y0, rank, rank, y1], color=BLUE, lw=1.3)
                nodes[k : k + 2] = [(left + right, (x0 + x1) / 2, rank)]
            k += 1
    for token, x, y in nodes:
        ax.plot(x, y, "o", color=ORANGE if len(token) > 1 else GREY, ms=4)
    ax.set_xticks(range(len(chunk)), list(chunk.replace(" ", "_")), fontsize=11)
    ax.tick_params(axis="x", length=0)
    ax.spines["bottom"].set_visible(False)
    ax.set(xlim=(-0.6, len(chunk) - 0.4), ylim=(-0.6, len(merges) + 0.6))
    return ax


def _label(part: bytes) -> str:
    try:
        return part.decode().replace(" ", "_")
    except UnicodeDecodeError:
        return part.hex(" ").upper()
