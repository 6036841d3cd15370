"""Figures that answer: computed by the browser in the page, by Python where there is a kernel."""

import hashlib
import html
import inspect
import json
import os
import sys
from pathlib import Path

from softlookup.show.bundle import bundled, without_comments
from softlookup.show.figure import check_texts, figure_html

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_KIT = Path(__file__).parent / "kit"


class Interactive:
    """A figure with two homes: HTML that computes by itself, and a live view that calls Python.

    The HTML holds all it needs: controls, style, its ES modules and its data. It makes no request
    and needs no kernel. A subclass stands in a folder of its own, beside ``figure.js``, which
    exports ``mount(root, data)``, and ``style.css``. It prepares its data, and overrides ``live``
    where recomputing with the library adds something.

    Args:
        name: The figure's name in links, as in ``show_figure``.
        data: What ``mount`` is given; anything that JSON can hold, finite numbers only.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.
        still: A text that the figure has computed before, for a browser that runs no scripts.
        picture: The same as an SVG, as ``svg_of`` gives it, above that text.

    Raises:
        ValueError: As ``show_figure``; or ``data`` holds NaN or an infinity.
    """

    def __init__(
        self,
        *,
        name: str,
        data: dict,
        alt: str,
        caption: str,
        still: str = "",
        picture: str = "",
    ) -> None:
        check_texts(alt, caption, name)
        self.still = still
        self.picture = picture
        self.name = name
        self.alt = alt
        self.caption = caption
        self.data = json.dumps(data, allow_nan=False, ensure_ascii=False).replace("<", "\\u003c")

    @classmethod
    def folder(cls) -> Path:
        """Where the figure's files are."""
        return Path(inspect.getfile(cls)).parent

    def html(self) -> str:
        """The figure as one piece of HTML for a page without a kernel."""
        code = bundled(self.folder() / "figure.js")
        frame = bundled(_KIT / "frame.js")
        sheets = (_KIT / "style.css", self.folder() / "style.css")
        style = without_comments("\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets))
        key = f"{self.name}-{hashlib.sha256((code + self.data).encode()).hexdigest()[:10]}"
        picture = (
            f"<style>{style}</style>\n"
            f'<div class="sl-body" role="group" aria-label="{html.escape(self.alt)}" '
            f'data-sl="{key}"><noscript>{html.escape(self.alt)}{self._still()}</noscript></div>\n'
            f'<script type="module">\nconst figure = {code};\nconst frame = {frame};\n'
            f"const slRoot = document.querySelector('[data-sl=\"{key}\"]:not([data-mounted])');\n"
            'slRoot.dataset.mounted = "";\n'
            f"frame.open(slRoot, (root) => figure.mount(root, {self.data}));\n</script>"
        )
        return figure_html(picture, caption=self.caption, name=self.name, kind="sl-interactive")

    def _still(self) -> str:
        """The picture and the text as HTML."""
        text = f'<p style="white-space: pre-wrap">{html.escape(self.still)}</p>'
        return self.picture + (text if self.still else "")

    def live(self):
        """The ``ipywidgets`` view that calls the library, or None: the HTML serves everywhere."""
        return None

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        bundle = {"text/html": self.html(), "text/plain": f"Interactive figure: {self.alt}"}
        # Colab prefers the HTML, and a page built from this run has no kernel to answer.
        static = "google.colab" in sys.modules or os.environ.get("SOFTLOOKUP_STATIC")
        widget = None if static else self.live()
        if widget is not None:
            # Written out, as ipywidgets 7 has no method that would return it.
            view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
            bundle[WIDGET_VIEW] = view
        return bundle
