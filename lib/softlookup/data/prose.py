"""Longer text: the prose of this book itself, and the code that comes with Python."""

import hashlib
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from softlookup.checks import require

SHA256 = "cb84f13d022e22891e00302eb69151dd4e6088837a945fc9ffffce133dca47d1"
"""The checksum of ``book.txt``; whoever freezes the prose anew changes it."""

CODE_MODULES = (
    "argparse", "collections", "csv", "dataclasses", "fractions", "functools", "heapq",
    "json.decoder", "random", "statistics", "textwrap",
)  # fmt: skip
"""Modules of the standard library whose source is ``python_code``."""


@cache
def book_prose() -> str:
    """The English prose of this book: what its chapters say, without formulas, code and tables.

    Returns:
        Some 420,000 characters: about two thousand paragraphs in the book's order, none twice,
        each of them whole sentences in one line, with a line feed at its end.

    Raises:
        ValueError: If the file beside this module is not the frozen one.

    Source: the chapters of the book, frozen. Chapter: data_card#prose-and-code

    Example:
        >>> "An embedding is a hard lookup, and attention is a soft one." in book_prose()
        True
    """
    text = files("softlookup.data").joinpath("book.txt").read_text(encoding="utf-8")
    checksum = hashlib.sha256(text.encode()).hexdigest()
    require(checksum == SHA256, "book.txt must be the frozen prose", sha256=checksum)
    return text


def tenth_out(texts: list) -> tuple[list, list]:
    """The texts to learn from, and those held out: the first of every ten."""
    return [text for i, text in enumerate(texts) if i % 10], texts[::10]


@cache
def python_code() -> str:
    """Python source code, comments and docstrings included, from the standard library.

    Returns:
        The source of ``CODE_MODULES``, one after the other, with line feeds at the ends of lines.
        Another version of Python gives a slightly different text.

    Source: the standard library of Python. Chapter: data_card#prose-and-code

    Example:
        >>> "def heappush(heap, item):" in python_code()
        True
    """
    paths = (Path(find_spec(name).origin) for name in CODE_MODULES)
    return "".join(path.read_text(encoding="utf-8") for path in paths)
