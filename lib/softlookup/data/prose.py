"""Longer text that is on every machine: Python's own manual, and Python's own code.

Both come with Python and differ a little between its versions, so no exact number may depend on
them. The data card in the book tells how they are prepared.
"""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from pydoc_data.topics import topics

CODE_MODULES = (
    "argparse", "collections", "csv", "dataclasses", "fractions", "functools", "heapq",
    "json.decoder", "random", "statistics", "textwrap",
)  # fmt: skip
"""Modules of the standard library whose source is ``python_code``."""

LIST_MARK = re.compile(r"^(?:[*+-]|\d+\.|\[\d+\])\s+")
SENTENCE_END = re.compile(r"[.!?:;][)\"'”’*]*$")
WORD = re.compile(r"[\"“‘'(*]*[A-Za-z’-]+[\"”’')*.,;:!?]*")


@cache
def english_prose() -> str:
    """English prose from the Python language reference, which is part of Python itself.

    Each paragraph is one line, taken once however often the manual repeats it; headings, grammar,
    program examples and tables are left out.

    Returns:
        A few hundred thousand characters: paragraphs with a line feed after each. Another version
        of Python gives a slightly different text.

    Source: the Python language reference. Chapter: data_card#prose-and-code

    Example:
        >>> 'The "while" statement is used for repeated execution' in english_prose()
        True
    """
    blocks = re.split(r"\n\s*\n", "\n\n".join(topics.values()))
    paragraphs = dict.fromkeys(_one_line(block) for block in blocks)
    return "".join(f"{line}\n" for line in paragraphs if _is_prose(line))


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


def _one_line(block: str) -> str:
    """A paragraph without its line breaks, its indentation and its mark in a list."""
    text = re.sub(r"(?<=\w)-\n\s*(?=\w)", "-", block.strip())  # "non-" at the end of a line
    return LIST_MARK.sub("", re.sub(r"\s+", " ", text))


def _is_prose(line: str) -> bool:
    """Whether a line ends as a sentence does and consists mostly of words."""
    words = line.split()
    n_plain = sum(WORD.fullmatch(word) is not None for word in words)
    mostly_words = n_plain >= 5 and n_plain > 2 / 3 * len(words)
    return mostly_words and SENTENCE_END.search(line) is not None
