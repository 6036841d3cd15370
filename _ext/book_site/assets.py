"""What a page loads: MathJax from an installed package, and nothing from any other host."""

import json
import re
import shutil
from base64 import b64encode
from collections.abc import Mapping
from html import escape
from importlib.metadata import files
from pathlib import Path

from sphinx.application import Sphinx

import registry

# Scripts of extensions that the book's pages do not use. Thebe asks another host for its code and
# fails without it; the toggle button's work is done by native <details> elements (see markup.py).
DROPPED_SCRIPTS = (
    "sphinx-thebe.js",
    "togglebutton.js",
    "scripts/",
    "search-find.js",  # search.js loads it on first use, and with it
    "minisearch/",
    "design-tabs.js",
    "doctools.js",
    "sphinx_highlight.js",
)
DROPPED_CODE = ("THEBE", "thebe", "toggleHint", "toggleOpenOnPrint", "togglebuttonSelector")
DROPPED_STYLES = (
    "sphinx-design.min.css",
    "sphinx-thebe.css",
    "togglebutton.css",
    "pygments.css",
    "styles/",
    "basic.css",
    "exercise.css",
    "proof.css",
    "mystnb.",
)
# Needed by one page alone.
ONE_PAGE = {"lecture_map.": "chapters/lecture_map"}
# Written by theme and extensions, used by no page of ours.
UNUSED_FILES = (
    "locales",
    "images",
    "scripts",
    "styles",
    "vendor",
    "webpack-macros.html",
    "sbt-webpack-macros.html",
    "sphinx-design.min.css",
    "sphinx-thebe.css",
    "sphinx-thebe.js",
    "togglebutton.css",
    "togglebutton.js",
    "searchtools.js",
    "language_data.js",
    "design-tabs.js",
    "doctools.js",
    "sphinx_highlight.js",
)
INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
MATHJAX = "mathjax"  # the folder, in the package and in the site
MATHJAX_PARTS = (
    "startup",
    "core",
    "input/tex",
    "output/chtml",
    "output/chtml/fonts/tex",
    "a11y/assistive-mml",
)
# What these parts bring along, by the names under which others ask for it.
MATHJAX_INSIDE = {"output/chtml/fonts/tex": ("output/chtml/fonts/tex.js",)}
FONTS = {
    ("Source Serif 4", "normal"): "fonts/source-serif-4.woff2",
    ("Source Serif 4", "italic"): "fonts/source-serif-4-italic.woff2",
    ("Source Sans 3", "normal"): "fonts/source-sans-3.woff2",
}


def asset_name(asset) -> str:
    """The asset's path below `_static`; empty for code written into the page."""
    return str(getattr(asset, "filename", asset) or "").removeprefix("_static/")


def is_wanted_script(script) -> bool:
    """Whether a page of the book needs the script."""
    name = asset_name(script)
    body = getattr(script, "attributes", {}).get("body") or ""
    if "://" in name or name.startswith(DROPPED_SCRIPTS):
        return False
    return not any(word in body for word in DROPPED_CODE)


def is_wanted_style(style) -> bool:
    """Whether a page of the book needs the style sheet."""
    return not asset_name(style).startswith(DROPPED_STYLES)


def is_for_page(asset, pagename: str) -> bool:
    """Whether an asset belongs to all pages, or to this one."""
    name = asset_name(asset)
    return all(not name.startswith(key) or pagename == page for key, page in ONE_PAGE.items())


def choose_assets(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Keep only what the page uses."""
    scripts, styles = context["script_files"], context["css_files"]
    scripts = [s for s in scripts if is_wanted_script(s) and is_for_page(s, pagename)]
    styles = [s for s in styles if is_wanted_style(s) and is_for_page(s, pagename)]
    context["script_files"], context["css_files"] = scripts, styles


def mathjax_files() -> dict[str, Path]:
    """The files of the package with MathJax, by their path below its folder."""
    found = files("sphinx-mathjax-offline") or []
    paths = (Path(str(file.locate())) for file in found)
    return {
        "/".join(p.parts[p.parts.index("mathjax") + 1 :]): p for p in paths if MATHJAX in p.parts
    }


def formulas_script(parts: Mapping[str, str]) -> str:
    """MathJax in one file, without its menu, which is almost half of all that MathJax ships.

    Args:
        parts: The code of each of `MATHJAX_PARTS`.
    """
    first, *others = MATHJAX_PARTS
    names = [name for part in others for name in (part, *MATHJAX_INSIDE.get(part, ()))]
    known = f"MathJax.loader.preLoad({', '.join(map(repr, names))});"
    return "\n".join([parts[first], known, *(parts[part] for part in others)])


def copy_mathjax(static: Path) -> None:
    """Put MathJax into the site: one script, its fonts, the TeX extensions it loads on demand."""
    found = mathjax_files()
    code = {part: found[f"{part}.js"].read_text(encoding="utf-8") for part in MATHJAX_PARTS}
    folder = static / MATHJAX
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "formulas.js").write_text(formulas_script(code), encoding="utf-8")
    for name, source in found.items():
        target = folder / name
        if ("/woff-v2/" in name or "tex/extensions/" in name) and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def fonts_script(fonts: Mapping[tuple[str, str], Path]) -> str:
    """A script that brings the fonts of text and headings with it.

    They are there before anything is laid out, so that no line moves when they arrive. A style
    sheet cannot do that: what it names arrives later, even if it holds it.

    Args:
        fonts: The file of each family and style.
    """
    found = [(*key, b64encode(file.read_bytes()).decode()) for key, file in fonts.items()]
    return f"""for (const [family, style, data] of {json.dumps(found)}) {{
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  document.fonts.add(new FontFace(family, bytes, {{ style, weight: "200 900" }}));
}}
"""


def write_fonts(app: Sphinx) -> None:
    """Write the script before pages are; they name its checksum."""
    if app.builder.format != "html":
        return
    fonts = {key: Path(app.srcdir) / "_static" / file for key, file in FONTS.items()}
    if not all(file.exists() for file in fonts.values()):
        return  # a small book of the tests has none
    static = Path(app.outdir) / "_static"
    static.mkdir(parents=True, exist_ok=True)
    (static / "fonts.js").write_text(fonts_script(fonts), encoding="utf-8")
    app.add_js_file("fonts.js", priority=100)


def remove_unused(static: Path) -> None:
    """Delete the files of theme and extensions that no page refers to."""
    for name in UNUSED_FILES:
        path = static / name
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()


def without_words(static: Path) -> None:
    """Leave out the comments and the indents of the book's own scripts and sheets: each page loads
    them. (No text of theirs goes on in a line whose indent says something.)
    """
    from softlookup.show.bundle import without_comments

    for source in (registry.ROOT / "_static").glob("*.[cj]s*"):
        code = without_comments(source.read_text(encoding="utf-8"))
        (static / source.name).write_text(INDENT.sub("", code), encoding="utf-8")


def write_entrance(app: Sphinx) -> None:
    """Write `index.html`, which leads to the front page."""
    page = app.config.root_doc + ".html"
    html = (
        f'<!DOCTYPE html>\n<html lang="{app.config.language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="refresh" content="0; url={page}">\n'
        f"<title>{escape(app.config.html_title)}</title>\n</head>\n"
        f'<body><main><h1><a href="{page}">{escape(app.config.html_title)}</a></h1></main></body>\n'
        "</html>\n"
    )
    (Path(app.outdir) / "index.html").write_text(html, encoding="utf-8")


def write_models(static: Path) -> None:
    """Write each recorded model as a script, which a page loads when its reader asks for it."""
    from softlookup.recorded.experiment import FOLDER  # only a build imports the library
    from softlookup.show.figures.workshop import as_script

    folder = static / "models"
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(FOLDER.glob("*.safetensors")):
        (folder / f"{path.stem}.js").write_text(as_script(path), encoding="utf-8")


def finish_assets(app: Sphinx, exception: Exception | None) -> None:
    """Complete the site once every page is written."""
    if exception is None and app.builder.format == "html":
        write_entrance(app)
        copy_mathjax(Path(app.outdir) / "_static")
        write_models(Path(app.outdir) / "_static")
        without_words(Path(app.outdir) / "_static")
        remove_unused(Path(app.outdir) / "_static")


def setup(app: Sphinx) -> None:
    """Run after the other extensions have added their scripts to the page."""
    app.connect("builder-inited", write_fonts)
    app.connect("html-page-context", choose_assets, priority=900)
    app.connect("build-finished", finish_assets, priority=100)
