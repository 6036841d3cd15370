"""Each public name of the library says where its chapter teaches it, and that place exists."""

import importlib
import inspect
import pkgutil
import re
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.anchors.index import slugify

import lecture_map
import softlookup

ROOT = Path(__file__).resolve().parents[2]
CHECKS = "softlookup.checks"  # no concept: nothing to teach


def public() -> list[object]:
    """The public functions and classes of the library, private helpers aside."""
    found = {}
    for module_info in pkgutil.walk_packages(softlookup.__path__, "softlookup."):
        module = importlib.import_module(module_info.name)
        for name, thing in vars(module).items():
            own = getattr(thing, "__module__", "") == module_info.name
            if (
                own
                and not name.startswith("_")
                and inspect.isroutine(thing) | inspect.isclass(thing)
            ):
                found[f"{module_info.name}.{name}"] = thing
    return list(found.items())


def anchors(page: str) -> set[str] | None:
    """The anchors of a page's headings, or None if there is no such page."""
    notebooks = {path.stem[3:]: path for path in lecture_map.chapter_files().values()}
    if page in notebooks:
        cells = lecture_map.json.loads(notebooks[page].read_text(encoding="utf-8"))["cells"]
        sources = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
    elif (ROOT / "chapters" / f"{page}.md").exists():
        sources = [(ROOT / "chapters" / f"{page}.md").read_text(encoding="utf-8")]
    else:
        return None
    tokens = [token for source in sources for token in MarkdownIt().parse(source)]
    heads = [after.content for token, after in pairwise(tokens)
             if token.type == "heading_open"]  # fmt: skip
    return {slugify(re.sub(r"[`*$]", "", head)) for head in heads}


@pytest.mark.parametrize(("name", "thing"), public(), ids=[name for name, _ in public()])
def test_docstring_opens_with_one_sentence(name, thing):
    text = inspect.getdoc(thing)
    assert text, "a public name needs a docstring"
    assert re.match(r".+?[.!?:](\s|$)", text.split("\n\n")[0], re.DOTALL)


CONCEPTS = [
    (name, thing)
    for name, thing in public()
    if not name.startswith((CHECKS, "softlookup.show", "softlookup.exercises", "softlookup.data"))
]


@pytest.mark.parametrize(("name", "thing"), CONCEPTS, ids=[name for name, _ in CONCEPTS])
def test_docstring_tells_the_place_that_teaches_it(name, thing):
    places = re.findall(r"Chapter: ([\w-]+)#([\w-]+)", inspect.getdoc(thing))
    assert places, 'write "Chapter: page#section"'
    for page, section in places:
        known = anchors(page)
        assert known is not None, f"no page is called {page}"
        assert section in known, f"{page} has no section {section}"
