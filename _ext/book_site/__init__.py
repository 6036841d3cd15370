"""The site's own Sphinx extension: numbers, figures, markup and assets of the built pages."""

import zlib
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

from . import (
    assets,
    book_map,
    built,
    cards,
    chapters,
    checks,
    figures,
    frame,
    inventories,
    library,
    map_page,
    markup,
    met,
    optional,
    places,
    predictions,
    published,
    road,
    search,
    speed,
    stills,
    thumbnails,
)

TEMPLATES = Path(__file__).parent / "templates"


def use_own_templates(app: Sphinx, config: Config) -> None:
    """Put the book's page templates before those of the theme."""
    config.templates_path = [str(TEMPLATES), *config.templates_path]


def offer_addresses(app: Sphinx, config: Config) -> None:
    """Let pages link to the repository, whose address stands in `_config.yml` alone."""
    repository = config.html_theme_options["repository_url"]
    config.myst_substitutions = {
        "repository": f"[repository]({repository})",
        "issue": f"[issue]({repository}/issues/new)",
        **config.myst_substitutions,
    }


def sources_version() -> int:
    """A number that changes with the extension's code: Sphinx then reads every page anew."""
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    return zlib.crc32(b"".join(source.read_bytes() for source in sources))


def setup(app: Sphinx) -> dict[str, bool | int]:
    """Register the extension."""
    app.connect("config-inited", use_own_templates)
    app.connect("config-inited", offer_addresses)
    for module in (
        assets,
        thumbnails,
        chapters,
        checks,
        figures,
        frame,
        book_map,
        predictions,
        published,
        cards,
        road,
        inventories,
        library,
        markup,
        optional,
        search,
        speed,
        stills,
        places,
        map_page,
        met,
        built,
    ):
        module.setup(app)
    return {
        "env_version": sources_version(),
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
