"""Drawings of architectures: boxes, arrows and shapes from a short description.

Read ``description`` first, what an author writes; then ``layout``, where each thing stands, with
``routes``, the ways of the arrows; then ``svg``. ``text`` sets the letters, ``geometry`` measures.
"""

from collections.abc import Mapping

from IPython.display import display

from softlookup.show.drawing.description import read
from softlookup.show.drawing.layout import DENSE, USUAL, laid_out
from softlookup.show.drawing.svg import drawn
from softlookup.show.figure import check_texts, figure_html

_NONE: Mapping[str, str] = {}


def show_drawing(
    grid: str,
    *,
    data: Mapping[str, str] = _NONE,
    learned: Mapping[str, str] = _NONE,
    fixed: Mapping[str, str] = _NONE,
    circles: Mapping[str, str] = _NONE,
    gates: Mapping[str, str] = _NONE,
    stacks: Mapping[str, str] = _NONE,
    words: Mapping[str, str] = _NONE,
    joints: str = "",
    frames: Mapping[str, str] = _NONE,
    arrows: str,
    name: str,
    alt: str,
    caption: str,
    dense: bool = False,
    close: bool = False,
) -> None:
    """Draw an architecture, as the grid says and as the arrows lead.

    The site numbers it by chapter, as ``show_figure``'s. In labels a single letter is a variable,
    ``_`` lowers and ``^`` raises what follows: ``h_{t−1}``, ``W^Q``, ``d_model``; what stands
    after " | " is a smaller line, for a shape: ``x | n × d_model``.

    Args:
        grid: A row a line, a name a cell, "." for an empty one. Cells with one name are one box.
        data: What flows: a tensor, a token, a vector; the label of each name, as in all kinds.
        learned: Layers with weights that training finds.
        fixed: Operations without weights.
        circles: Small operations: "+", "×", "σ", "tanh".
        gates: Layers whose numbers from 0 to 1 let something through.
        stacks: Several layers or heads of one kind, one behind the other.
        words: Text alone, for what comes in at the side.
        joints: Names of cells where wires bend, meet or fork.
        frames: A title, and the names it goes around.
        arrows: Chains, one a line: "x -> norm -> ffn". ``x -(n × d_model)-> norm`` writes beside
            the arrow; "x -> add by left" arrives at that side, around what is between.
        name: The figure's name in links, "fig-" and lower-case words joined by hyphens.
        alt: The finding in words, for who cannot see the picture.
        caption: What stands below it.
        dense: With less room between rows and in boxes: a high drawing still fits a screen.
        close: With less room between columns and beside the text of boxes: a drawing of many
            columns still fits a phone.

    Raises:
        ValueError: A name is unknown or twice there, a row too short, an arrow has no free way, a
            text has no room, or a text as in ``show_figure``.
    """
    check_texts(alt, caption, name)
    kinds = {
        "data": data,
        "learned": learned,
        "fixed": fixed,
        "circle": circles,
        "gate": gates,
        "stack": stacks,
        "words": words,
        "joint": dict.fromkeys(joints.split(), ""),
    }
    described = read(grid, kinds, arrows, frames)
    spacing = DENSE if dense else USUAL
    svg = drawn(laid_out(described, spacing.close if close else spacing), alt)
    page = figure_html(svg, caption=caption, name=name)
    display({"text/html": page, "text/plain": f"Figure: {alt}"}, raw=True)
