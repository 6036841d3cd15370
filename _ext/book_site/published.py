"""What a site needs that lies under an address: a page for a wrong address, and a sitemap.

The address is `html.baseurl` in `_config.yml`, or that of the variable `SITE_URL`, which the
workflow sets to where it publishes. Without one the page for a wrong address is there all the same,
with links that hold at the site's root.
"""

from html import escape
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

import registry

from . import frame

NOT_FOUND = "404"


def name_the_book(app: Sphinx, config: Config) -> None:
    """Set the site's address, and what `objects.inv` tells others: whose names these are."""
    config.html_baseurl = config.html_baseurl or registry.site_address()
    config.project, config.version = config.html_title, frame.version()


def add_not_found(app: Sphinx, config: Config) -> None:
    """Ask Sphinx for the page that servers show for an address that does not exist."""
    config.html_additional_pages = {**config.html_additional_pages, NOT_FOUND: "404.html"}


def address_not_found(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """It is shown at any depth, so its links start from the site's address, not from there."""
    if pagename == NOT_FOUND:
        context["base"] = app.config.html_baseurl
        context["pageurl"] = None  # it is a copy of no page


def sitemap(base: str, docnames: list[str]) -> str:
    """The addresses of all pages, as search engines read them.

    Args:
        base: The site's address.
        docnames: The pages.
    """
    root = base.rstrip("/")
    lines = [f"<url><loc>{escape(f'{root}/{name}.html')}</loc></url>" for name in sorted(docnames)]
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return "\n".join([head, f'<urlset xmlns="{space}">', *lines, "</urlset>", ""])


def write_sitemap(app: Sphinx, exception: Exception | None) -> None:
    """Write `sitemap.xml`, if the site has an address."""
    base = app.config.html_baseurl
    if exception is None and app.builder.format == "html" and base:
        text = sitemap(base, list(app.env.found_docs))
        (Path(app.outdir) / "sitemap.xml").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register what is written beside the pages."""
    app.connect("config-inited", name_the_book, priority=400)
    app.connect("config-inited", add_not_found)
    app.connect("html-page-context", address_not_found)
    app.connect("build-finished", write_sitemap)
