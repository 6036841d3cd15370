"""Each term of the glossary is linked where a chapter first uses it."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from bs4 import BeautifulSoup

import registry
from book_site.met import Section, places_of

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = (ROOT / "chapters" / "glossary.md").read_text(encoding="utf-8")
BESIDE = [registry.by_name()[name] for name in ("bugs", "larger_machines", "my_numbers_differ")]
PAGES = [page.path for page in (*registry.chapters(), *BESIDE)]
TERMS = re.findall(r"^(\S.*)\n  \S", GLOSSARY, re.MULTILINE)
NO_PROSE = re.compile(
    r"(?P<link>\{term\}`[^`]*`)"  # stays
    r"|```.*?```|\$\$.*?\$\$|\$[^$\n]+\$"  # listings and formulas
    r"|^(?:#|:::|:\w|\||>|\([\w-]+\)=)[^\n]*$"  # headings, fences, options, tables, quotations
    r"|\{[\w:-]+\}`[^`]*`|(?P<ticks>`+)[^`\n]+(?P=ticks)"  # other roles, code
    r"|!?\[[^\]]*\]\([^)]*\)|<[a-z/][^>\n]*>"  # links
    r"|“[^”\n]*”|(?<![\w`])\"[^\"\n]*\"",  # what somebody else said
    re.DOTALL | re.MULTILINE,
)
# What else a term is called.
ALSO = {
    "batch normalization": ["BatchNorm"],
    "byte-pair encoding": ["BPE"],
    "cosine similarity": ["cosine"],
    "gated feed-forward layer": ["SwiGLU"],
    "layer normalization": ["LayerNorm"],
    "metamorphic test": ["metamorphic testing"],
    "min-p sampling": ["min-p"],
    "Nadaraya-Watson regression": ["Nadaraya-Watson"],
    "out of vocabulary": ["OOV"],
    "pointwise mutual information": ["PPMI"],
    "pre-training": ["pretraining", "pre-train", "pre-trained", "pretrained"],
    "principal component analysis": ["PCA"],
    "rotary positions": ["RoPE"],
    "scaled dot-product attention": ["scaled dot-product self-attention"],
    "self-supervised learning": ["self-supervised"],
    "singular value decomposition": ["SVD"],
    "stochastic gradient descent": ["SGD"],
    "stop words": ["stop word"],
    "top-k sampling": ["top-k"],
    "top-p sampling": ["top-p"],
    "Zipf’s law": ["Zipf"],
}
# Phrases in which a word of the glossary is no term: there it means something else.
OTHERWISE = {
    "bottleneck": ["mixture is a bottleneck"],
    "byte": ["byte pairs"],
    "chunk": ["inside a chunk"],
    "context": ["similar contexts", "all the contexts", "into one context"],
    "cosine similarity": [
        "sines? and cosine",
        "sine or cosine",
        "and all cosine",
        "sum of cosine",
        "shows in its cosine",
        "may give. The cosine",
        r"half a \*cosine",
        "(of|for) a cosine",
        r"\| a cosine",
    ],
    "decoder": ["the decoder can only"],
    "document": ["document that runs", "here a document ends"],
    "key": ["keys that (Mina|she)", r"\*keys\*", "no key equals"],
    "loss": ["be some loss", "so no loss"],
    "lookup": [r"\*soft\* lookup", "two lookups", "the lookups must"],
    "merge": [r"\*Case folding\* merges"],
    "patch": ["Patch place"],
    "period": ["amount with its period"],
    "perplexity": [r"called its \*?perplexity"],
    "precision": [
        "dimension and a precision",
        r"\*precision\*, the lecture's",
    ],
    "projection": [r"projection \*back from"],
    "query": ["database query"],
    "recall": ["Recall the", "task of recall"],
    "regression": ["softmax`? regression"],
    "score": [
        r"\*score\* (it|a|for)",
        "scores compare",
        "such a score",
        "to score",
        "head` scores",
        "and scores every",
        "must score",
        "reading scores",
        "both scores",
        "scores of each head",
    ],
    "smoothing": ["(kernel|Gaussian) smoothing"],
    "span": ["may not span"],
    "transformer": [r"\*Illustrated Transformer"],
    "unigram": ["unigram pieces"],
    "value": [r"singular\s\*?values?"],
}


class Use(NamedTuple):
    """A place where a page uses a term, and whether a link to the glossary stands there."""

    start: int
    term: str
    text: str
    linked: bool


def prose(markdown: str) -> str:
    """The text with all that is not prose blotted out, place by place; links to terms stay."""
    return NO_PROSE.sub(lambda found: found["link"] or re.sub(r"[^\n]", "\0", found[0]), markdown)


def form(term: str) -> str:
    """A pattern for the term: one or many, at the start of a sentence or inside it."""
    head, last = term[:-1], term[-1]
    if re.search(r"[^aeiou]y$", term):
        ending = "(?:y|ies)"
    elif term.endswith(("sis", "rix", "pus")):
        ending = {"sis": "(?:is|es)", "rix": "(?:ix|ices)", "pus": "(?:us|ora)"}[term[-3:]]
        head = term[:-2]
    else:
        ending = re.escape(last) + "(?:e?s)?"
    first = f"[{head[0]}{head[0].upper()}]"
    return first + re.escape(head[1:]).replace(r"\ ", r"\s") + ending


NAMES = {name: term for term in TERMS for name in (term, *ALSO.get(term, ()))}
LONGEST_FIRST = sorted(NAMES, key=len, reverse=True)
USE = re.compile(
    r"\{term\}`(?:[^`<]*<(?P<target>[^`>]+)>|(?P<own>[^`<>]+))`|(?<![\w\0-])(?:"
    + "|".join(f"({form(name)})" for name in LONGEST_FIRST)
    + r")(?![\w\0]|-\w)"
)


def means_otherwise(markdown: str, use: Use) -> bool:
    """Whether the word stands in one of the phrases in which it is no term."""
    return any(
        found.start() <= use.start < found.end()
        for phrase in OTHERWISE.get(use.term, ())
        for found in re.finditer(phrase, markdown)
    )


def uses(markdown: str) -> Iterator[Use]:
    """The uses of terms in a text, in order; the longest term counts where several fit."""
    for found in USE.finditer(prose(markdown)):
        target = found["target"] or found["own"]
        term = (target or NAMES[LONGEST_FIRST[found.lastindex - 3]]).lower()
        use = Use(found.start(), term, found[0], bool(target))
        if target or not means_otherwise(markdown, use):
            yield use


def page_text(path: Path) -> str:
    """The prose of a notebook, cell after cell."""
    cells = nbformat.read(path, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def first_uses(text: str) -> dict[str, Use]:
    """Each term that a text uses, with its first use."""
    found: dict[str, Use] = {}
    for use in uses(text):
        found.setdefault(use.term, use)
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_first_use_of_each_term_is_a_link_to_the_glossary(path):
    text = page_text(path)
    bare = {
        use.term: text[max(0, use.start - 40) : use.start + 40]
        for use in first_uses(text).values()
        if not use.linked
    }
    assert not bare, "write {term}`...`, or list the phrase in OTHERWISE if it means something else"


def test_each_term_is_linked_from_a_chapter():
    linked = {use.term for path in PAGES for use in uses(page_text(path)) if use.linked}
    assert {term.lower() for term in TERMS} == linked


def test_glossary_is_in_order_and_explains_each_term_once():
    plain = [re.sub(r"[^\w@ ]", "", term.lower()) for term in TERMS]
    assert len(TERMS) > 200
    assert plain == sorted(set(plain))


@pytest.mark.parametrize("term", OTHERWISE)
def test_phrases_of_another_meaning_stand_in_the_book(term):
    names = [form(name) for name, known in NAMES.items() if known.lower() == term]
    assert names, "the glossary has no such term"
    book = "\n".join(map(page_text, PAGES))
    for phrase in OTHERWISE[term]:
        found = re.search(phrase, book)
        assert found, f"no chapter says {phrase} any more"
        assert re.search("|".join(names), found[0]), f"{phrase} does not hold the word"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A query asks.", {"query": False}),
        ("Queries ask; a {term}`query` does.", {"query": False}),
        ("{term}`Queries <query>` ask; a query does.", {"query": True}),
        ("A causal mask, a {term}`mask`.", {"causal mask": False, "mask": True}),
        ("Two corpora, two vocabularies.", {"corpus": False, "vocabulary": False}),
        ("A key-value cache.", {"key-value cache": False}),
        ("## Query\n\n`query`, $q$, [the query](#query) and “a query”", {}),
        ("```\nquery\n```\n$$\nquery\n$$\n| query |\n> query\n:::{exercise} Query", {}),
        (
            "{term}`mask` and {term}`key`, then a query.",
            {"mask": True, "key": True, "query": False},
        ),
        ("The singular values of the prequery.", {}),
    ],
)
def test_uses_of_terms_are_found(text, expected):
    assert {term: use.linked for term, use in first_uses(text).items()} == expected


def test_a_term_leads_to_the_section_that_is_called_so_and_to_each_chapter_that_links_it():
    first, second, third = registry.chapters()[:3]
    found = [
        Section(first, "", "Tasks", frozenset({"beam search"})),
        Section(second, "sums", "Beams and sums", frozenset({"greedy decoding"})),
        Section(second, "wide", "Beam searches", frozenset()),
        Section(second, "late", "A width", frozenset({"beam search"})),
        Section(third, "again", "Sampling", frozenset({"beam search", "top-p sampling"})),
        Section(third, "more", "More", frozenset({"beam search"})),
        Section(third, "rest", "Optional: sampling again", frozenset({"perplexity"})),
        Section(BESIDE[0], "law", "A law", frozenset({"perplexity", "parity test"})),
    ]

    def places(*names):
        return [(one.page, one.anchor) for one in places_of(list(names), found)]

    assert places("beam search") == [(second, "wide"), (first, ""), (third, "again")]
    assert places("Top-p sampling", "nucleus sampling") == [(third, "again")]
    assert places("greedy decoding") == [(second, "sums")]
    assert places("sampling") == [(third, "again")]
    assert places("perplexity") == [(third, "rest")]
    assert places("parity test") == [(BESIDE[0], "law")]
    assert places("earch") == []


@pytest.mark.browser
def test_each_entry_of_the_glossary_leads_to_sections_that_speak_of_it(site):
    @cache
    def page(path):
        return BeautifulSoup((site / "chapters" / path).read_text(encoding="utf-8"), "lxml")

    @cache
    def by_id(path):
        return {part["id"]: part for part in page(path).find_all(id=True)}

    entries = page("glossary.html").select("dl.glossary > dd")
    for entry in entries:
        terms = [entry.find_previous_sibling("dt")]
        while getattr(before := terms[-1].find_previous_sibling(), "name", "") == "dt":
            terms.append(before)
        anchors = {f"#{term['id']}" for term in terms}
        names = [term.find(string=True).strip().lower() for term in terms]
        links = entry.select(".bk-met a")
        assert links, names
        for link in links:
            path, _, anchor = link["href"].partition("#")
            part = by_id(path)[anchor] if anchor else page(path).article
            part = part if part.name in ("section", "article") else part.find_parent("section")
            title = part.find(["h1", "h2", "h3", "h4"]).get_text().lower()
            uses = {
                f"#{one['href'].rpartition('#')[2]}" for one in part.select("a[href*='#term-']")
            }
            assert uses & anchors or any(name in title for name in names), (names, link["href"])
