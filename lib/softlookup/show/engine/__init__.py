"""A small GPT in JavaScript, forward and backward, for pages where a model runs in the browser.

Its files are written to be read beside the library: a concept a file, the same names, each way back
below its way forward. ``engine.js`` says in which order; ``engine_source`` is all of it as one
expression, an object with one property ``engine``.
"""

from pathlib import Path

from softlookup.show.bundle import bundled


def engine_source() -> str:
    """The engine as one expression of JavaScript, which needs nothing else."""
    return bundled(Path(__file__).parent / "engine.js")
