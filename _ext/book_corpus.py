"""The book's own English corpus: the prose of its lectures, frozen in one file of the library.

    make corpus     writes the file anew, and its checksum

It is what everyone reads who reads the chapters from the first to the last: no optional section, no
exercise, no list of references, no appendix.

The file is frozen: chapters that learn from it print numbers that hang on every letter, so it
does not follow each change of the book. Who writes it anew reads those chapters anew.
"""

import hashlib
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import nbformat
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.myst_role import myst_role_plugin

import registry
from book_site.optional import OPENING

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "lib" / "softlookup" / "data" / "book.txt"
MODULE = ROOT / "lib" / "softlookup" / "data" / "prose.py"
CHECKSUM = re.compile(r'(?<=SHA256 = ")[0-9a-f]{64}(?=")')

MARKDOWN = (
    MarkdownIt("commonmark")
    .enable("table")
    .use(dollarmath_plugin)
    .use(colon_fence_plugin)
    .use(myst_role_plugin)
)
PASSED_OVER = (OPENING, "Exercises", "References")
LOST = "\N{REPLACEMENT CHARACTER}"  # stands for what has no words: its sentence is left out
GAP = re.compile(r"\{\{.*?\}\}| \)|\bFigure\b")  # a substitution, a citation's place, a number's
SYMBOL = re.compile(r"[A-Za-z0-9_αβγδεθλσ.,'+<>=–-]{1,8}")
SENTENCE = re.compile(r"(?<=[.!?])[\"”’)]*\s+(?=[\"“‘(]*[A-Z0-9])")
STARTS_AND_ENDS = re.compile(r"[\"“‘(]*[A-Z0-9].*[.!?][\"”’)*]*")
OPTION = re.compile(r"^:[\w-]+:.*$", re.MULTILINE)
ROLE_TARGET = re.compile(r"\s*<[^<>]*>$")


def paragraphs(chapter: Path) -> Iterator[str]:
    """The paragraphs of a chapter's text, without headings, code, formulas and tables."""
    cells = nbformat.read(chapter, as_version=4).cells
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    yield from prose(core(registry.numbered(text)))


def core(markdown: str) -> str:
    """A chapter's text without what a reader may pass over, from its heading to the next one of
    the same rank or a higher one.
    """
    lines, tokens = markdown.splitlines(keepends=True), MARKDOWN.parse(markdown)
    heads = [
        (head.map[0], int(head.tag[1]), title.content)
        for head, title in pairwise(tokens)
        if head.type == "heading_open" and head.level == 0
    ]
    kept, passed_over = lines[: heads[0][0] if heads else None], None  # the rank of its heading
    for (first, rank, title), (last, *_) in pairwise([*heads, (len(lines),)]):
        if passed_over is None or rank <= passed_over:
            passed_over = rank if title.startswith(PASSED_OVER) else None
        if passed_over is None:
            kept += lines[first:last]
    return "".join(kept)


def prose(markdown: str) -> Iterator[str]:
    """The paragraphs of a text in MyST, each as one line of whole sentences."""
    tokens = MARKDOWN.parse(markdown)
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "inline" and before.type == "paragraph_open":
            line = whole_sentences(words(token.children))
            if line:
                yield line
        elif token.type in ("colon_fence", "fence") and token.info.startswith("{"):
            yield from prose(OPTION.sub("", token.content))


def words(tokens: list[Token]) -> str:
    """The plain text of a paragraph; ``LOST`` where it shows what plain text cannot."""
    text = "".join(_plain(token) for token in tokens)
    return GAP.sub(LOST, re.sub(r"\s+", " ", text)).strip()


def _plain(token: Token) -> str:
    if token.type == "myst_role":
        name = token.meta["name"]
        return "" if name.startswith("cite") else ROLE_TARGET.sub("", token.content)
    if token.type in ("math_inline", "code_inline"):
        return token.content if SYMBOL.fullmatch(token.content) else LOST
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type in ("image", "html_inline", "math_inline_double"):
        return LOST
    return token.content


def whole_sentences(paragraph: str) -> str:
    """The sentences of a paragraph that lost nothing, and start and end as sentences do."""
    sentences = SENTENCE.split(paragraph)
    kept = [s for s in sentences if LOST not in s and STARTS_AND_ENDS.fullmatch(s)]
    line = re.sub(r"\s+([.,;:])", r"\1", " ".join(kept))
    return line if len(line.split()) >= 5 else ""


def corpus() -> str:
    """The text of all chapters, a paragraph a line, each paragraph once."""
    lines = dict.fromkeys(line for page in registry.chapters() for line in paragraphs(page.path))
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    text = corpus().encode()
    FILE.write_bytes(text)
    module = MODULE.read_text(encoding="utf-8")
    MODULE.write_text(CHECKSUM.sub(hashlib.sha256(text).hexdigest(), module), encoding="utf-8")
    print(f"{FILE.relative_to(ROOT)}: {len(text):,} bytes.")
    print("Read chapters 5, 7, 8, 9, 12, 20, 21 and 24 again.")
