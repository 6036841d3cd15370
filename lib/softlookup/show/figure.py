"""Still figures: one SVG that sits on a light and on a dark page, with alt text and caption."""

import hashlib
import html
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib
import matplotlib.pyplot as plt
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softlookup.checks import require, require_choice
from softlookup.show.style import COLUMN, CSS_COLOURS, MARGIN, RC_PARAMS, TEXT
from softlookup.show.svg import ROOT_STYLE, load_fonts

_IMAGE_FILE = re.compile(r"\.(png|jpe?g|svg|gif|webp)\s*$", re.IGNORECASE)
_NAME = re.compile(r"fig-[a-z0-9]+(-[a-z0-9]+)*")


_WIDTHS = {"text": TEXT, "column": COLUMN, "margin": MARGIN}
_SMALLEST = 0.6  # on a phone; what is then too wide scrolls
_NEARLY = 0.82, 1.18  # shares of the text's width: a figure between them was drawn for it


def show_figure(
    figure: Figure | Axes, *, alt: str, caption: str, name: str, width: str | None = None
) -> None:
    """Show a figure in the page and close it.

    The site numbers it by chapter; ``[Figure](#fig-...)`` in the text becomes "Figure 2.3".

    Args:
        figure: The figure, or one of its axes.
        alt: The finding in words, for who cannot see the picture: not "a plot of ...".
        caption: What stands below the figure.
        name: The figure's name in links, "fig-" and lower-case words joined by hyphens.
        width: As wide as the "text", as the whole "column", text and margin, or a small figure for
            the "margin" itself; the height stays. Left out, a figure that was drawn about as wide
            as the text becomes just so wide, a wider one as wide as the column, and a smaller one
            stays as it is.

    Raises:
        ValueError: ``alt`` or ``caption`` is empty, ``alt`` is a file name or only repeats
            the caption, ``name`` is not of that form, or ``width`` is unknown.
    """
    figure = figure.figure if isinstance(figure, Axes) else figure
    check_texts(alt, caption, name)
    if width is not None:
        require_choice(tuple(_WIDTHS), width=width)
    figure.set_figwidth(_width(figure.get_figwidth(), width))
    svg = svg_of(figure, alt)
    plt.close(figure)
    page = figure_html(
        svg, caption=caption, name=name, kind="sl-margin" if width == "margin" else ""
    )
    display({"text/html": page, "text/plain": f"Figure: {alt}"}, raw=True)


def check_texts(alt: str, caption: str, name: str) -> None:
    """Raise a ``ValueError`` unless the texts of a figure serve a reader; see ``show_figure``."""
    require(len(alt.split()) >= 3, "alt must tell the finding in words", alt=alt)
    require(not _IMAGE_FILE.search(alt), "alt must be words, not a file name", alt=alt)
    require(bool(caption.strip()), "caption must not be empty", caption=caption)
    require(alt.strip() != caption.strip(), "alt must not only repeat the caption", alt=alt)
    require(
        bool(_NAME.fullmatch(name)),
        "name must be 'fig-' and lower-case words joined by hyphens",
        name=name,
    )


@contextmanager
def styled() -> Iterator[None]:
    """The style of the book's figures, where no chapter has set it up."""
    load_fonts()
    with matplotlib.rc_context(RC_PARAMS):
        yield


def svg_of(figure: Figure, alt: str) -> str:
    """The figure as one ``<svg>`` element that takes its colours from the page.

    Args:
        figure: What to draw.
        alt: The picture's text alternative.

    Returns:
        The element: no prolog, no date, ids that no other figure of a page has.
    """
    buffer = io.StringIO()
    nothing = {"Date": None, "Creator": None}
    backend = "module://softlookup.show.svg"
    figure.savefig(buffer, format="svg", backend=backend, metadata=nothing)
    svg = buffer.getvalue()
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.S)
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, count=1, flags=re.S)
    width = round(figure.get_figwidth() * 96)  # in pixels
    view = re.search(r'viewBox="[^"]*"', svg).group()
    opening = (
        f'<svg role="img" aria-label="{html.escape(alt)}" style="width: '
        f"{width}px; max-width: 100%; min-width: {_SMALLEST * width:.0f}px; height: auto; "
        f'stroke-linejoin: round; {ROOT_STYLE}" {view}>'
    )
    svg = opening + svg[svg.index(">") + 1 :]
    return _own_ids(_page_colours(re.sub(r"\n\s*", "\n", svg).replace("xlink:href", "href")))


def figure_html(picture: str, *, caption: str, name: str, kind: str = "") -> str:
    """A ``<figure>`` around ``picture``: what the site numbers, and what Colab shows as it is."""
    return (
        f'<figure class="sl-figure {kind}" id="{name}" data-sl-figure style="margin: 1em 0">\n'
        f'<div class="sl-picture" style="overflow-x: auto" tabindex="0" role="group" '
        f'aria-label="Figure">\n{picture}\n</div>\n'
        f"<figcaption>{html.escape(caption, quote=False)}</figcaption>\n</figure>"
    )


def _width(drawn: float, width: str | None) -> float:
    """The width of a figure in inches: as named, or the next of those that it was drawn for."""
    if width is not None:
        return _WIDTHS[width]
    least, most = (share * TEXT for share in _NEARLY)
    return drawn if drawn < least else TEXT if drawn <= most else COLUMN


def _page_colours(svg: str) -> str:
    for colour, css in CSS_COLOURS.items():
        svg = svg.replace(colour, css)
    return svg


def _own_ids(svg: str) -> str:
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', svg))
    prefix = "sl" + hashlib.sha256(svg.encode()).hexdigest()[:10]

    def renamed(match: re.Match) -> str:
        return f' id="{prefix}-{match.group(1)}"' if match.group(1) in used else ""

    svg = re.sub(r' id="([^"]+)"', renamed, svg)
    return re.sub(r'(url\(|href=")#([^")]+)', rf"\1#{prefix}-\2", svg)
