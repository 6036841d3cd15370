"""What surrounds a page: how long it takes to read, which edition it is of, letters to jump to."""

import datetime
import re
import subprocess
import tomllib
from functools import cache
from html import escape
from itertools import groupby

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import registry

from .optional import optional_rest

VIEWPORT = re.compile(r'\s*<meta name="viewport"[^>]*>')
"""What docutils says of the width; the layout says it for all pages."""
WORDS_A_MINUTE = 180
DESCRIBED = 200  # letters of what is said of a page elsewhere
SECONDS = {nodes.literal_block: 15, nodes.math_block: 12, nodes.figure: 30}
"""What it takes to take in a piece of code or an output, a displayed formula, a figure."""
FOLDED = {"dropdown", "tag_hide-input", "tag_remove-cell", "exercise", "solution"}
"""The classes of what is folded, or done rather than read."""


def minutes(document: nodes.Node) -> tuple[float, float]:
    """How long a page takes to read: its core, and its optional sections.

    What is folded and the exercises are not counted.
    """
    core, optional = _seconds(document)
    return core / 60, optional / 60


def _seconds(node: nodes.Node, is_optional: bool = False) -> tuple[float, float]:
    own = _own_seconds(node)
    if own is not None:
        return (0.0, own) if is_optional else (own, 0.0)
    parts = [
        _seconds(child, is_optional or isinstance(node, optional_rest)) for child in node.children
    ]
    return sum(part[0] for part in parts), sum(part[1] for part in parts)


def _own_seconds(node: nodes.Node) -> float | None:
    """The seconds of a node as a whole; None if its children are to be asked."""
    if isinstance(node, nodes.Text):
        return len(node.split()) * 60 / WORDS_A_MINUTE
    if FOLDED.intersection(node.get("classes", ())) or isinstance(node, nodes.comment | nodes.raw):
        return 0.0
    return next((float(SECONDS[kind]) for kind in SECONDS if isinstance(node, kind)), None)


def in_words(core: float, optional: float) -> str:
    """In steps of five minutes: "About 40 minutes to read, and 15 more for what is optional".

    The exercises are not counted, and this is said.
    """
    first, more = (5 * max(1, round(part / 5)) for part in (core, optional))
    rest = f", and {more} more for what is optional" if optional >= 2.5 else ""
    return f"About {first} minutes to read{rest}; exercises not counted"


@cache
def version() -> str:
    """The library's; empty in a book without one, as the tests build some."""
    file = registry.ROOT / "pyproject.toml"
    return tomllib.loads(file.read_text("utf-8"))["project"]["version"] if file.exists() else ""


@cache
def edition() -> str:
    """The version and the day of its last change: "Version 0.1.0 of 22 November 2026".

    A book without a library, as the tests build some, has no version: then there is nothing to say.
    """
    if not version():
        return ""
    told = f"Version {version()}"
    command = ["git", "log", "-1", "--format=%cs"]
    try:
        done = subprocess.run(
            command, cwd=registry.ROOT, capture_output=True, text=True, check=True
        )
        day = datetime.date.fromisoformat(done.stdout.strip())
    except (OSError, subprocess.CalledProcessError, ValueError):
        return told  # a copy without its history
    return f"{told} of {day.day} {day:%B %Y}"


def description(document: nodes.document) -> str:
    """What a page is about, for who finds its address elsewhere: the first words of its text.

    Whole sentences, as many as fit `DESCRIBED` letters, or the beginning of the first.
    """
    for paragraph in document.findall(nodes.paragraph):
        if not isinstance(paragraph.parent, nodes.section) or any(paragraph.findall(nodes.math)):
            continue
        sentences = re.split(r"(?<=[.?!]) ", " ".join(paragraph.astext().split()))
        said = sentences[0]
        for sentence in sentences[1:]:
            if len(said) + len(sentence) >= DESCRIBED:
                break
            said += f" {sentence}"
        return said if len(said) <= DESCRIBED else said[:DESCRIBED].rpartition(" ")[0] + " …"
    return ""


def add_frame(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Give the page template what it prints around the text."""
    context["edition"] = edition()
    context["metatags"] = VIEWPORT.sub("", context.get("metatags", ""))
    if doctree is not None:
        context["page_description"] = description(doctree)
    chapter = next((page for page in registry.chapters() if page.docname == pagename), None)
    if chapter is not None and doctree is not None:
        context["chapter_number"] = chapter.number
        context["reading_time"] = in_words(*minutes(doctree))


def initial(term: str) -> str:
    """The letter under which a term is looked up; # for what begins with none."""
    found = re.match(r"[A-Za-z]", term)
    return found[0].upper() if found else "#"


class GlossaryLetters(SphinxTransform):
    """Puts an A to Z before a glossary."""

    default_priority = 950

    def apply(self) -> None:
        """Each letter leads to its first term."""
        for glossary in list(self.document.findall(addnodes.glossary)):
            terms = list(glossary.findall(nodes.term))
            firsts = [
                (letter, next(group)["ids"][0])
                for letter, group in groupby(terms, key=lambda term: initial(term.astext()))
            ]
            links = "".join(f'<a href="#{key}">{escape(letter)}</a>' for letter, key in firsts)
            html = f'<nav class="bk-letters" aria-label="Terms by letter">{links}</nav>'
            place = glossary.parent.index(glossary)
            glossary.parent.insert(place, nodes.raw("", html, format="html"))


def setup(app: Sphinx) -> None:
    """Register the transform, and fill the template."""
    app.add_transform(GlossaryLetters)
    app.connect("html-page-context", add_frame, priority=600)  # the theme has its own description
