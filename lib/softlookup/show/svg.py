"""The site's fonts in still figures: words stay text, and formulas are drawn.

matplotlib measures words with the fonts beside this file, which have the widths of the site's own.
In the SVG words are real text: the page sets them in its own font, and each says how long it is, so
that another font, in Colab for example, is squeezed into the same room. Formulas are outlines.

``svg_of`` in ``figure.py`` names this module as matplotlib's backend.
"""

import codecs
from functools import cache
from pathlib import Path

import matplotlib
from matplotlib import cbook, font_manager
from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG

ROOT_STYLE = (
    "white-space: pre; font-family: var(--sl-sans, 'Source Sans 3', 'Segoe UI', sans-serif)"
)
"""What the ``<svg>`` element says about all words in it."""

_MONO = "font-family: var(--sl-mono, 'Source Code Pro', monospace)"
_BOLD = 600


@cache
def load_fonts() -> None:
    """Tell matplotlib about the fonts of the book; what they lack comes from its own."""
    for file in sorted((Path(__file__).parent / "fonts").glob("*.ttf")):
        font_manager.fontManager.addfont(file)


class _Renderer(RendererSVG):
    """As matplotlib's, but that words are text of a known length."""

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        """Write words as a ``<text>`` element; draw formulas, and what is cut off, as outlines."""
        if ismath or gc.get_clip_rectangle() or gc.get_clip_path()[0] or not s.strip():
            super().draw_text(gc, x, y, s, prop, angle, ismath, mtext)
            return
        width, _, _ = self.get_text_width_height_descent(s, prop, ismath)
        place = {"x": f"{x:.2f}", "y": f"{y:.2f}"}
        if angle:
            place["transform"] = f"rotate({-angle:g} {x:.2f} {y:.2f})"
        look = {"fill": matplotlib.colors.to_hex(gc.get_rgb()), "font-size": f"{prop.get_size():g}"}
        alpha = gc.get_alpha() if gc.get_forced_alpha() else gc.get_rgb()[3]
        if alpha != 1:
            look["opacity"] = f"{alpha:g}"
        if _is_bold(prop):
            look["font-weight"] = str(_BOLD)
        if prop.get_style() != "normal":
            look["font-style"] = prop.get_style()
        if prop.get_family()[0] == "monospace":
            look["style"] = _MONO
        length = {"textLength": f"{width:.2f}", "lengthAdjust": "spacingAndGlyphs"}
        self.writer.element("text", s, attrib=place | look | length)


class FigureCanvas(FigureCanvasSVG):
    """The canvas that writes with the renderer above."""

    def print_svg(self, filename, *, bbox_inches_restore=None, metadata=None, **options):
        """Write the figure as SVG into a file that is open; matplotlib gives other options, too."""
        figure = self.figure
        if not cbook.file_requires_unicode(filename):  # matplotlib asks for a renderer alone
            filename = codecs.getwriter("utf-8")(filename)
        dpi, figure.dpi = figure.dpi, 72
        width, height = figure.get_size_inches()
        svg = _Renderer(72 * width, 72 * height, filename, image_dpi=dpi, metadata=metadata)
        mixed = MixedModeRenderer(
            figure, width, height, dpi, svg, bbox_inches_restore=bbox_inches_restore
        )
        figure.draw(mixed)
        mixed.finalize()


def _is_bold(prop: font_manager.FontProperties) -> bool:
    weight = prop.get_weight()
    return font_manager.weight_dict.get(weight, weight) >= _BOLD
