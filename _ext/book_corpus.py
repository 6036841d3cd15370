"""The book's own English corpus: the prose of its pages, frozen in one file of the library.

    make corpus     writes the file anew, and its checksum

The file is frozen: chapters that learn from it print numbers that hang on every letter, so it
does not follow each change of the book. Who writes it anew reads those chapters anew.
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.myst_role import myst_role_plugin

import registry

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
LOST = "\N{REPLACEMENT CHARACTER}"  # stands for what has no words: its sentence is left out
GAP = re.compile(r"\{\{.*?\}\}| \)|\bFigure\b")  # a substitution, a citation's place, a number's
SYMBOL = re.compile(r"[A-Za-z0-9_αβγδεθλσ.,'+<>=–-]{1,8}")
SENTENCE = re.compile(r"(?<=[.!?])[\"”’)]*\s+(?=[\"“‘(]*[A-Z0-9])")
STARTS_AND_ENDS = re.compile(r"[\"“‘(]*[A-Z0-9].*[.!?][\"”’)*]*")
OPTION = re.compile(r"^:[\w-]+:.*$", re.MULTILINE)
ROLE_TARGET = re.compile(r"\s*<[^<>]*>$")


def paragraphs(page: Path) -> Iterator[str]:
    """The paragraphs of a page's text, without headings, code, formulas and tables."""
    if page.suffix != ".ipynb":
        yield from prose(registry.numbered(page.read_text(encoding="utf-8")))
        return
    for cell in nbformat.read(page, as_version=4).cells:
        if cell.cell_type == "markdown":
            yield from prose(registry.numbered(cell.source))


def prose(markdown: str) -> Iterator[str]:
    """The paragraphs of a text in MyST, each as one line of whole sentences."""
    tokens = MARKDOWN.parse(markdown)
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "inline" and before.type == "paragraph_open":
            line = whole_sentences(words(token.children))
            if line:
                yield line
        elif token.type in ("colon_fence", "fence") and token.info == "{glossary}":
            yield from prose(re.sub(r"^(\S.*)?\n", "\n", token.content, flags=re.MULTILINE))
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
    """The text of all pages, a paragraph a line, each paragraph once."""
    lines = dict.fromkeys(line for page in registry.pages() for line in paragraphs(page.path))
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    text = corpus().encode()
    FILE.write_bytes(text)
    module = MODULE.read_text(encoding="utf-8")
    MODULE.write_text(CHECKSUM.sub(hashlib.sha256(text).hexdigest(), module), encoding="utf-8")
    print(
        f"{FILE.relative_to(ROOT)}: {len(text):,} bytes. Read chapters 5, 7, 8 and 20 to 22 again."
    )
