"""Each public name of the library says where its chapter teaches it, and that place exists."""

import inspect
import re
from functools import cache
from itertools import pairwise

import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.anchors.index import slugify

import registry
from reference_ledger import public_things

PUBLIC = list(public_things().items())
NO_CONCEPT = ("checks", "show", "exercises", "data", "recorded")  # nothing to teach


@cache
def anchors(page: str) -> set[str] | None:
    """The anchors of a page's headings, or None if there is no such page."""
    if page not in registry.by_name():
        return None
    tokens = MarkdownIt().parse(registry.by_name()[page].markdown())
    heads = [after.content for token, after in pairwise(tokens)
             if token.type == "heading_open"]  # fmt: skip
    return {slugify(re.sub(r"[`*$]", "", head)) for head in heads}


@pytest.mark.parametrize(("name", "thing"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_docstring_opens_with_one_sentence(name, thing):
    text = inspect.getdoc(thing)
    assert text, "a public name needs a docstring"
    assert re.match(r".+?[.!?:](\s|$)", text.split("\n\n")[0], re.DOTALL)


CONCEPTS = [(name, thing) for name, thing in PUBLIC if name.split(".")[0] not in NO_CONCEPT]


@pytest.mark.parametrize(("name", "thing"), CONCEPTS, ids=[name for name, _ in CONCEPTS])
def test_docstring_tells_the_place_that_teaches_it(name, thing):
    places = re.findall(r"Chapter: ([\w-]+)#([\w-]+)", inspect.getdoc(thing))
    assert places, 'write "Chapter: page#section"'
    for page, section in places:
        known = anchors(page)
        assert known is not None, f"no page is called {page}"
        assert section in known, f"{page} has no section {section}"
