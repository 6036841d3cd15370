"""What the search looks through: sections, definitions, figures, exercises, slides and functions.

Each becomes an entry with its place, its title, other words for it and its text. The entries go
into a script, `_static/search-entries.js`, which `_static/search-find.js` loads on first use: a
page opened from a disk may load a script, but fetch nothing. The slides' titles lead to the section
whose cells settle them, as in the lecture map; words that mean the same are in `synonyms.yml`. A
class brings the names of its methods, attributes and parameters, which are found as code is: whole.
"""

import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml
from docutils import nodes
from sphinx.addnodes import glossary, pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx_exercise.nodes import is_exercise_node

import lecture_map
import reference_ledger
import registry

from . import plain_tex
from .figures import numbered_table
from .kept import Keeper
from .library import compared, import_path, page_of

SYNONYMS = Path(__file__).parent / "synonyms.yml"
SILENT = (  # what is no text to be searched, or is an entry of its own
    nodes.section,
    nodes.title,
    nodes.figure,
    nodes.literal_block,
    nodes.math_block,
    nodes.raw,
    nodes.comment,
    nodes.system_message,
    nodes.image,
    glossary,
)
SYMPTOMS = ["what you see", "entry"]
"""The head of a table that leads from a symptom to the entry on it."""
LEFT_OUT = re.compile(r"lecture_map|references|library_\w+")
"""Pages of lists: what they list is found where it stands, and a function by its name."""
NUMBERED = re.compile(r"(Figure|Table|Exercise|Equation) %s")
WORD = re.compile(r"[^\W\d_]\w*")
OTHERS = re.compile(r"(?<=\.)[A-Za-z_]\w{2,}(?=[(.])|(?<=[ (])[A-Za-z_]\w{2,}(?==[^=])")
"""What code takes from others: the functions that it calls, the options that it names."""
ATTRIBUTES = re.compile(r"^Attributes:\n((?:(?: {4}.*)?\n?)+)", re.MULTILINE)
"""The part of a class's docstring that says what it holds."""
WHOLE = 300
"""So many letters of a text are kept as they stand; of the rest its words, each once."""
FREQUENT = 1 / 25
"""A word that stands in more of the entries leads nowhere, and is left out of the rest."""


SELDOM = 6
"""A name that stands in the code of more sections leads nowhere."""
SHARED = 8
"""Another package's name that more of ours are compared with leads to none of them."""


class Entry(NamedTuple):
    """One thing that can be found.

    Attributes:
        kind: "chapter", "section", "definition", "figure", "table", "exercise", "slide" or
            "function".
        anchor: Its place on its page; empty for the page itself.
        title: What it is called.
        also: Other words for it: slides' titles, a function's package.
        text: What it says.
        terms: The words of the field that a section introduces: those that it links to the glossary
            or sets in italics.
        code: What its code calls, and the errors that it shows.
        members: The methods "mix()", properties ".d_model", attributes "mask" and parameters
            "dropout=" of a class; the names "LayerNorm~" of what others have in its place.
    """

    kind: str
    anchor: str
    title: str
    also: str
    text: str
    terms: str = ""
    code: str = ""
    members: str = ""


def plain(node: nodes.Node) -> str:
    """The words of a node in one line; formulas inside them without TeX's commands."""
    if isinstance(node, nodes.math):
        return plain_tex.read(node.astext())
    if isinstance(node, nodes.Text):
        return node.astext()
    if isinstance(node, SILENT) or is_exercise_node(node) or is_code(node) or is_citation(node):
        return ""
    gap = "" if isinstance(node, nodes.TextElement) else " "
    return re.sub(r"\s+", " ", gap.join(map(plain, node.children))).strip(" " if gap else "")


def is_section(node: nodes.Node) -> bool:
    """Whether it is a section of the text, not what sphinx-exercise puts around an exercise's."""
    return isinstance(node, nodes.section) and node["ids"] != ["exercise-content"]


def is_code(node: nodes.Node) -> bool:
    """Whether it is a notebook's code cell, with what it printed."""
    return isinstance(node, nodes.container) and "cell" in node.get("classes", [])


def is_citation(node: nodes.Node) -> bool:
    """Whether it names a work of the references, whose key nobody types."""
    return isinstance(node, pending_xref) and node.get("refdomain") == "cite"


def words_of(node: nodes.Element) -> str:
    """The text of all that a node holds."""
    text = re.sub(r"\s+", " ", " ".join(map(plain, node.children))).strip()
    return NUMBERED.sub(lambda found: f"the {found[1].lower()}", text)


def entries_of(document: nodes.document) -> Iterator[Entry]:
    """What can be found on a page; a heading over headings has the words of the first of them."""
    page, seen = next(document.findall(is_section), None), symptoms_of(document)
    for section in document.findall(is_section):
        slide = any(re.fullmatch(r"e\d\d", key) for key in section["ids"])
        kind = "chapter" if section is page else "slide" if slide else "section"
        title = plain_title(section.next_node(nodes.title))
        said = next(filter(None, map(words_of, section.findall(is_section))), "")
        anchor = "" if section is page else section["ids"][0]
        also = "; ".join(seen.get(anchor, []))
        yield Entry(kind, anchor, title, also, said, terms_of(section), code_of(section))
    for item in document.findall(nodes.definition_list_item):
        if isinstance(item.parent.parent, glossary):
            for term in item.findall(nodes.term):
                said = words_of(item.next_node(nodes.definition))
                yield Entry("definition", term["ids"][0], term.astext(), "", said)
    for figure in document.findall(nodes.figure):
        caption = figure.next_node(nodes.caption)
        if figure["ids"] and caption is not None:
            kind = "table" if isinstance(figure, numbered_table) else "figure"
            yield Entry(kind, figure["ids"][0], "", "", plain_title(caption))
    for exercise in document.findall(is_exercise_node):
        title = exercise.next_node(nodes.title)
        name = plain_title(title).removeprefix("Exercise").strip("() ") if title else ""
        said = " ".join(words_of(part) for part in exercise.findall(nodes.section))
        yield Entry("exercise", label_of(exercise), name, "", said)


def symptoms_of(document: nodes.document) -> dict[str, list[str]]:
    """What a table of symptoms says of each entry that it leads to: messages, or the whole cell."""
    found: dict[str, list[str]] = {}
    for table in document.findall(nodes.table):
        head = [plain(entry) for entry in table.next_node(nodes.row).children]
        if head != SYMPTOMS:
            continue
        for row in table.next_node(nodes.tbody).findall(nodes.row):
            symptom, entry = row.children
            messages = [plain(message) for message in symptom.findall(nodes.emphasis)]
            for link in entry.findall(nodes.reference):
                found.setdefault(link["refid"], []).extend(messages or [plain(symptom)])
    return found


def own(section: nodes.Element) -> Iterator[nodes.Node]:
    """What a section holds in its order, lower sections left out."""
    for child in section.children:
        if not is_section(child):
            yield child
            yield from own(child)


def terms_of(section: nodes.section) -> str:
    """The terms of the glossary that a section links, each once: that is what it speaks of."""
    links = (node for node in own(section) if isinstance(node, pending_xref))
    terms = (node["reftarget"] for node in links if node.get("reftype") == "term")
    return "; ".join(dict.fromkeys(terms))


def code_of(section: nodes.section) -> str:
    """What a section's code calls, and the errors that it catches and prints: readers copy them."""
    found: dict[str, None] = {}
    for cell in filter(is_code, own(section)):
        if "tag_hide-input" in cell["classes"]:  # it only draws
            continue
        code, *printed = (block.astext() for block in cell.findall(nodes.literal_block))
        found.update(dict.fromkeys(OTHERS.findall(code)))
        if "except " in code:
            found.update(dict.fromkeys(WORD.findall(" ".join(printed))))
    return " ".join(found)


def label_of(exercise: nodes.Element) -> str:
    """An exercise's anchor."""
    return exercise.get("label") or next(iter(exercise["ids"]), "")


def plain_title(node: nodes.Element) -> str:
    """The words of a title or a caption."""
    return re.sub(r"\s+", " ", "".join(map(plain, node.children))).strip()


class Entries(Keeper):
    """Keeps each page's entries from one build to the next."""

    attribute = "softlookup_entries"

    def read(self, env: BuildEnvironment, document: nodes.document) -> list[Entry] | None:
        """The entries of a page; none of a page of lists."""
        is_list = LEFT_OUT.fullmatch(env.docname.rpartition("/")[2])
        return None if is_list else list(entries_of(document))


def slide_titles(env: BuildEnvironment) -> dict[tuple[str, str], str]:
    """The titles of the slides that a section settles, by page and anchor."""
    titles: dict[tuple[str, str], dict[str, None]] = {}
    for row in lecture_map.concepts():
        page = lecture_map.homes().get(row["id"])
        if page is not None:
            for slug, _ in lecture_map.sections(page.path)[row["id"]]:
                place = page.docname, anchor_of(env, page.docname, slug)
                told = titles.setdefault(place, {})
                told[lecture_map.name_of(row)] = None
                for found in lecture_map.titles(row).values():
                    told.update({lecture_map.spoken(title): None for title, _ in found})
    return {place: "; ".join(filter(None, told)) for place, told in titles.items()}


def anchor_of(env: BuildEnvironment, docname: str, slug: str) -> str:
    """The id in the page of a section that Markdown calls by its title's slug."""
    slugs = env.metadata.get(docname, {}).get("myst_slugs", {})
    return slugs[slug][1] if slug in slugs else slug


def members(thing: object) -> list[str]:
    """What a class has, each by its name, and by a sign of what it is.

    Its own methods and properties have entries in the library's reference if they have a docstring;
    attributes and parameters stand in the entry of the class.
    """
    if not inspect.isclass(thing):
        return []
    own = {
        name: part
        for name, part in vars(thing).items()
        if not name.startswith("_") and inspect.getdoc(getattr(thing, name))
    }
    methods = [f"{name}()" for name, part in own.items() if inspect.isroutine(part)]
    properties = [f".{name}" for name, part in own.items() if isinstance(part, property)]
    told = ATTRIBUTES.search(inspect.getdoc(thing) or "")
    attributes = re.findall(r"^ {4}(\w+):", told[1], re.MULTILINE) if told else []
    passed = inspect.signature(thing).parameters
    parameters = [f"{name}=" for name in passed if name not in attributes]
    return [*methods, *properties, *attributes, *parameters]


def counterparts() -> dict[str, list[str]]:
    """For each public name what other packages call what the tests compare it with.

    What many are compared with, such as `gradcheck`, is no name for any of them.
    """
    found = {
        name: sorted({row["peer"].rpartition(".")[2] for row in rows if "." in row["peer"]})
        for name, rows in compared().items()
    }
    shared = Counter(peer for peers in found.values() for peer in peers)
    return {name: [p for p in peers if shared[p] <= SHARED] for name, peers in found.items()}


def functions() -> Iterator[tuple[str, Entry]]:
    """The library's public names, each with the page of its entry."""
    things, peers = reference_ledger.public_things(), counterparts()
    for name, text in reference_ledger.public_names().items():
        package, _, own = name.rpartition(".")
        first = re.sub(r"\s+", " ", text.split("\n\n")[0].replace("``", ""))
        first = re.sub(r"\$([^$]+)\$", lambda found: plain_tex.read(found[1]), first)
        spelled = re.sub(r"_|(?<=[a-z])(?=[A-Z])", " ", own)
        entry = Entry("function", import_path(name), own, f"{spelled}; {package}", first)
        names = [*members(things[name]), *(f"{peer}~" for peer in peers.get(name, []))]
        yield page_of(name), entry._replace(members=" ".join(names))


def number_of(env: BuildEnvironment, docname: str, kind: str, anchor: str) -> str:
    """What a figure, a table or an exercise is called in the page: "Figure 14.3"."""
    numbers = env.toc_fignumbers.get(docname, {})
    for numbered in numbers.values():
        if anchor in numbered:
            return f"{kind.capitalize()} {'.'.join(map(str, numbered[anchor]))}"
    return kind.capitalize()


def columns(entries: list[tuple[int, Entry]]) -> dict[str, list]:
    """What is told of each entry, kind by kind: what is alike stands together and weighs less.

    Of long texts the first sentences are kept, and "more" has the other words.
    """
    told = [entry for _, entry in entries]
    said = Counter(word for one in told for word in set(WORD.findall(one.text.lower())))
    frequent = {word for word, n in said.items() if n > FREQUENT * len(told)}
    called = Counter(name for one in told for name in set(one.code.split()))
    texts = [shorter(one.text, frequent) for one in told]
    return {
        **{field: [getattr(one, field) for one in told] for field in Entry._fields},
        "page": [page for page, _ in entries],
        "text": [text for text, _ in texts],
        "more": [more for _, more in texts],
        "code": [" ".join(n for n in one.code.split() if called[n] <= SELDOM) for one in told],
    }


def shorter(text: str, frequent: set[str]) -> tuple[str, str]:
    """The first sentences, and the other words, each once, from A to Z: so they weigh less."""
    if len(text) <= WHOLE:
        return text, ""
    end = text.rfind(". ", 0, WHOLE) + 1 or WHOLE
    known = frequent | set(WORD.findall(text[:end].lower()))
    return text[:end], " ".join(sorted(set(WORD.findall(text[end:].lower())) - known))


def everything(env: BuildEnvironment) -> dict:
    """What the script gets."""
    slides = slide_titles(env)
    pages, entries = [], []
    by_docname = {page.docname: page for page in registry.pages()}
    entered: dict[str, list[Entry]] = {}
    for docname, function in functions():
        entered.setdefault(docname, []).append(function)
    for docname in [name for name in by_docname if name in env.found_docs]:
        page = by_docname[docname]
        pages.append([docname, env.titles[docname].astext(), page.number or 0])
        for entry in [*Entries.kept(env).get(docname, []), *entered.get(docname, [])]:
            title, also = entry.title, entry.also
            if entry.kind in ("figure", "table", "exercise"):
                number = number_of(env, docname, entry.kind, entry.anchor)
                title = f"{number}. {title}" if title else number
            if entry.kind in ("section", "slide"):
                also = "; ".join(filter(None, [also, slides.get((docname, entry.anchor), "")]))
            entries.append((len(pages) - 1, entry._replace(title=title, also=also)))
    groups = yaml.safe_load(SYNONYMS.read_text(encoding="utf-8"))
    return {"pages": pages, "entries": columns(entries), "synonyms": groups}


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the script once every page is written."""
    if exception is None and app.builder.format == "html":
        told = json.dumps(everything(app.env), ensure_ascii=False, separators=(",", ":"))
        path = Path(app.outdir) / "_static" / "search-entries.js"
        path.write_text(f"window.bookEntries = {told};\n", encoding="utf-8")


def no_stock_search(app: Sphinx) -> None:
    """Sphinx's own index of words is not written."""
    app.builder.search = False


def search_page(app: Sphinx) -> Iterator[tuple[str, dict, str]]:
    """The page for who searches without the dialog, or comes with a link."""
    yield "search", {}, "search.html"


def setup(app: Sphinx) -> None:
    """Take the place of the stock search."""
    app.add_env_collector(Entries)
    app.connect("builder-inited", no_stock_search)
    app.connect("html-collect-pages", search_page)
    app.connect("build-finished", write, priority=50)
