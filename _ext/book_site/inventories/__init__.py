"""Where PyTorch and NumPy document what the library is compared with: for Sphinx's intersphinx.

A build asks no other host, so the part of their inventories that the ledger names stands beside
this file, a line an object as in Sphinx's format. Each build packs the lines as intersphinx reads
them. A name that the ledger compares with and that is missing here fails a test; whether the
addresses hold is looked at every week with all other links of the book.
"""

import zlib
from functools import cache
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

HERE = Path(__file__).parent
PROJECTS = {
    "torch": "https://docs.pytorch.org/docs/stable/",
    "numpy": "https://numpy.org/doc/stable/",
}
HEAD = "# Sphinx inventory version 2\n# Project: {}\n# Version: \n# zlib\n"


def text_of(project: str) -> str:
    """The lines of a project's inventory."""
    return (HERE / f"{project}.txt").read_text(encoding="utf-8")


@cache
def documented() -> frozenset[str]:
    """The names of all objects that can be linked to."""
    return frozenset(
        line.split()[0] for project in PROJECTS for line in text_of(project).splitlines()
    )


def offer(app: Sphinx, config: Config) -> None:
    """Pack the inventories and tell intersphinx of them."""
    folder = Path(app.doctreedir)
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for project, address in PROJECTS.items():
        path = folder / f"{project}.inv"
        lines = zlib.compress(text_of(project).encode())
        path.write_bytes(HEAD.format(project).encode() + lines)
        mapping[project] = (address, str(path))
    config.intersphinx_mapping = {**config.intersphinx_mapping, **mapping}


def setup(app: Sphinx) -> None:
    """Register intersphinx with what it is to know."""
    app.setup_extension("sphinx.ext.intersphinx")
    app.connect("config-inited", offer)
