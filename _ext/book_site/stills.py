"""Figures that move, as photographs: a reader without JavaScript sees them where else stand words.

To take them, every page is opened in Chromium, and some figures train for a minute: no build of the
site waits for that. `make epub` takes them, and here each is kept under the code and the data of
its figure. A later build shows those whose figures are still the same.
"""

import hashlib
import json
import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

import registry

KEPT = registry.ROOT / "_build" / "stills"
SHOWN = "_static/stills"
FIGURE = re.compile(
    r'<figure[^>]*\bsl-interactive\b[^>]*\bid="([^"]+)"[^>]*>.*?</figure>', re.DOTALL
)
CODE = re.compile(r"<(style|script)\b[^>]*>(.*?)</\1>", re.DOTALL)
SILENT = re.compile(r"(?<=<noscript>).*?(?=</noscript>)", re.DOTALL)


def key_of(figure: re.Match) -> str:
    """The name under which the photograph of a figure is kept.

    Args:
        figure: What `FIGURE` found; its style, its code and its data count, not its caption.
    """
    code = "".join(match[2] for match in CODE.finditer(SILENT.sub("", figure[0])))
    return f"{figure[1]}-{hashlib.sha256(code.encode()).hexdigest()[:12]}"


def keep(figure: re.Match, words: str, width: str, picture: bytes, folder: Path = KEPT) -> None:
    """Keep the photograph of a figure, in place of any that was taken of it before.

    Args:
        figure: What `FIGURE` found.
        words: What the figure shows, as HTML.
        width: The CSS that says how wide the photograph is.
        picture: A PNG.
        folder: Where it is kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{figure[1]}-{'?' * 12}.*"):
        old.unlink()
    path = folder / key_of(figure)
    path.with_suffix(".png").write_bytes(picture)
    path.with_suffix(".json").write_text(json.dumps({"words": words, "width": width}))


def shown(html: str, docname: str, site: Path, folder: Path = KEPT) -> str:
    """A page whose figures are their photographs where no script runs, as far as they are kept.

    Args:
        html: The page.
        docname: Its name.
        site: The site into which the photographs are laid.
        folder: Where they are kept.
    """

    def show(figure: re.Match) -> str:
        path = folder / key_of(figure)
        if not path.with_suffix(".json").exists():
            return figure[0]
        (site / SHOWN).mkdir(parents=True, exist_ok=True)
        shutil.copy(path.with_suffix(".png"), site / SHOWN / f"{figure[1]}.png")
        told = json.loads(path.with_suffix(".json").read_text())
        address = f"{'../' * docname.count('/')}{SHOWN}/{figure[1]}.png"
        style = f"{told['width'].rstrip(';')}; max-width: 100%"  # the file has more pixels
        still = f'<img class="sl-still" src="{address}" alt="{told["words"]}" style="{style}"/>'
        return SILENT.sub(lambda _: still, figure[0], count=1)

    return FIGURE.sub(show, html)


def show_stills(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Show the photographs on a page that is written."""
    if context.get("body") and "sl-interactive" in context["body"]:
        context["body"] = shown(context["body"], pagename, Path(app.outdir), KEPT)


def setup(app: Sphinx) -> None:
    """Show them when all else of a page is done."""
    app.connect("html-page-context", show_stills, priority=900)
