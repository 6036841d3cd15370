"""Figures that answer: computed by the browser in the page, by Python where there is a kernel."""

import hashlib
import html
import json
import os
import re
import sys
from importlib.resources import files

from softlookup.show.figure import check_texts, figure_html

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_IMPORT = re.compile(r"^import\b[^;]*;\n", re.MULTILINE)


class Interactive:
    """A figure with two homes: HTML that computes by itself, and a live view that calls Python.

    The HTML holds all it needs: controls, style, its ES modules and its data. It makes no request
    and needs no kernel. A subclass names its modules, prepares its data, and overrides
    ``live`` where recomputing with the library adds something.

    Args:
        name: The figure's name in links, as in ``show_figure``.
        scripts: The ES modules, beside this file; the last one exports ``mount(root, data)``.
        data: What ``mount`` is given; anything that JSON can hold, finite numbers only.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.
        styles: Style sheets of its own, beside this file, after the one that all share.

    Raises:
        ValueError: As ``show_figure``; or ``data`` holds NaN or an infinity.
    """

    def __init__(
        self,
        *,
        name: str,
        scripts: list[str],
        data: dict,
        alt: str,
        caption: str,
        styles: tuple[str, ...] = (),
    ) -> None:
        check_texts(alt, caption, name)
        self.name = name
        self.alt = alt
        self.caption = caption
        self.data = json.dumps(data, allow_nan=False, ensure_ascii=False).replace("<", "\\u003c")
        self.scripts = ["interactive.js", *scripts]
        self.styles = ["interactive.css", *styles]

    def html(self) -> str:
        """The figure as one piece of HTML for a page without a kernel."""
        code = "\n".join(map(code_of, self.scripts))
        style = "\n".join(_file(sheet) for sheet in self.styles)
        key = f"{self.name}-{hashlib.sha256((code + self.data).encode()).hexdigest()[:10]}"
        picture = (
            f"<style>{style}</style>\n"
            f'<div class="sl-body" role="group" aria-label="{html.escape(self.alt)}" '
            f'data-sl="{key}"><noscript>{html.escape(self.alt)}</noscript></div>\n'
            f'<script type="module">\n{code}\n'
            f"const slRoot = document.querySelector('[data-sl=\"{key}\"]:not([data-mounted])');\n"
            f'slRoot.dataset.mounted = "";\nmount(slRoot, {self.data});\n</script>'
        )
        return figure_html(picture, caption=self.caption, name=self.name, kind="sl-interactive")

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


def code_of(script: str) -> str:
    """A module's code without its imports: what it imports stands before it in the same piece."""
    return _IMPORT.sub("", _file(script))


def _file(name: str) -> str:
    return (files("softlookup.show") / name).read_text(encoding="utf-8")
