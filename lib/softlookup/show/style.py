"""Colours and figure style: one set of names, readable on light and on dark pages.

A figure is drawn once. Its named colours become CSS variables in the SVG, so that the page
chooses their light or dark values; INK becomes the page's own text colour. The hues are those of
Okabe and Ito, which readers with any colour vision can tell apart; the figures of the book
add markers or line styles all the same.
"""

from matplotlib.colors import LinearSegmentedColormap

INK = "#1b1b1c"  # text, axes: the colour of the page's text
STRONG = "#000001"  # the strongest ink: black on a light page, white on a dark one
PAPER = "#fdfdfc"  # the page itself
LINE = "#c9c9c6"  # hairlines, grids
GREY = "#6f6f6c"  # what stands back
BLUE = "#0072b2"
ORANGE = "#985900"  # Okabe-Ito's orange, dark enough for letters on a light page
GREEN = "#00805e"  # and so its bluish green and vermilion
RED = "#b5450b"
PURPLE = "#b14d8a"
SKY = "#2f87b5"

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, RED, SKY)
"""The order in which lines and groups take their colours."""

WEIGHTS = "cividis"
"""The colour map of attention weights and other shares, always from 0 to 1."""

_BELOW, _ABOVE = (0.13, 0.4, 0.67), (0.7, 0.09, 0.17)
SIGNED = LinearSegmentedColormap.from_list(
    "signed",
    [(0, (*_BELOW, 1)), (0.5, (*_BELOW, 0)), (0.5, (*_ABOVE, 0)), (1, (*_ABOVE, 1))],
    N=511,
)
"""The colours of signed values, always centred on 0, which is clear: the page shows through."""

CSS_COLOURS = {
    INK: "currentColor",
    STRONG: "var(--sl-strong, #000)",
    PAPER: "var(--sl-paper, #fdfdfc)",
    LINE: "var(--sl-line, #c9c9c6)",
    GREY: "var(--sl-grey, #6f6f6c)",
    BLUE: "var(--sl-blue, #0072b2)",
    ORANGE: "var(--sl-orange, #985900)",
    GREEN: "var(--sl-green, #00805e)",
    RED: "var(--sl-red, #b5450b)",
    PURPLE: "var(--sl-purple, #b14d8a)",
    SKY: "var(--sl-sky, #2f87b5)",
}
"""What each named colour becomes in a page; the fallback serves where no style sheet is loaded."""

TEXT, COLUMN, MARGIN = 568 / 96, 800 / 96, 200 / 96
"""Widths of a figure in inches: the text, the whole column, and the band between both edges."""

RC_PARAMS = {
    "figure.figsize": (TEXT, 3.4),
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.transparent": True,
    "axes.facecolor": "none",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.labelsize": 10.5,
    "axes.grid": False,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
    "font.size": 10,
    "font.family": ["Soft Lookup Sans", "DejaVu Sans"],  # the second for what the first lacks
    "font.monospace": ["Soft Lookup Mono", "DejaVu Sans Mono"],
    "mathtext.fontset": "custom",
    "mathtext.rm": "Soft Lookup Sans",
    "mathtext.it": "Soft Lookup Serif:italic",
    "mathtext.bf": "Soft Lookup Sans:bold",
    "mathtext.bfit": "Soft Lookup Serif:italic",
    "mathtext.cal": "Soft Lookup Serif:italic",
    "mathtext.sf": "Soft Lookup Sans",
    "mathtext.tt": "Soft Lookup Mono",
    "mathtext.fallback": "stix",
    "figure.constrained_layout.w_pad": 0.06,
    "figure.constrained_layout.h_pad": 0.06,
    "figure.constrained_layout.wspace": 0.04,
    "figure.constrained_layout.hspace": 0.05,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "image.cmap": WEIGHTS,
    "svg.fonttype": "path",  # of formulas: every reader sees the same letters
    "svg.hashsalt": "softlookup",  # and every run the same ids
}
