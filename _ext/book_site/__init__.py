"""The site's own Sphinx extension: numbers, figures, markup and assets of the built pages."""

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

from . import assets, chapters, figures, markup

TEMPLATES = Path(__file__).parent / "templates"


def use_own_templates(app: Sphinx, config: Config) -> None:
    """Put the book's page templates before those of the theme."""
    config.templates_path = [str(TEMPLATES), *config.templates_path]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("config-inited", use_own_templates)
    for module in (assets, chapters, figures, markup):
        module.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
