"""Whoever skips the optional sections can run all the others: none of their names is missing."""

import builtins
import re
import symtable

import pytest
from test_map import cells

import registry
from book_site.optional import OPENING

HEADING = re.compile(r"^(#+) +(.*)$", re.MULTILINE)
EXERCISE = re.compile(r"^:{3,}\{exercise\} *(.*)$", re.MULTILINE)
SENT = "(#optional-"
"""In an exercise: it sends its reader to an optional section, and may use what that makes."""

MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)


def referenced(table: symtable.SymbolTable) -> set[str]:
    """The names of the notebook that a cell, or a function in it, reads."""
    outermost = table.get_type() == "module"
    found = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (outermost or symbol.is_global())
    }
    return found.union(*map(referenced, table.get_children()))


def bound(table: symtable.SymbolTable) -> set[str]:
    """The names that a cell gives to the notebook."""
    return {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
    }


def optional_levels(source: str, level: int | None) -> int | None:
    """The level of the optional section that a text ends in, when it began in one of `level`."""
    for marks, title in HEADING.findall(re.sub(r"(?s)```.*?```", "", source)):
        if level is not None and len(marks) <= level:
            level = None
        if level is None and title.startswith(OPENING):
            level = len(marks)
    return level


def missing(notebook: list[dict]) -> dict[str, set[str]]:
    """For each cell that all shall run, the names that only an optional section has made."""
    always, skipped = set(dir(builtins)), set()
    found, level, of_exercise = {}, None, False
    for cell in notebook:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            level = optional_levels(source, level)
            for title in EXERCISE.findall(source):
                of_exercise = title.startswith(OPENING) or SENT in source
            continue
        table = symtable.symtable(MAGIC.sub(r"\1pass", source), "cell", "exec")
        if level is not None:
            skipped |= bound(table)
            continue
        lacking = (referenced(table) - bound(table) - always) & skipped
        if lacking and not of_exercise:
            found[cell["id"]] = lacking
        always |= bound(table)
    return found


@pytest.mark.parametrize("page", registry.notebooks(), ids=lambda page: page.name)
def test_what_is_not_optional_needs_no_optional_name(page):
    assert missing(cells(page.path)) == {}


def text(source: str) -> dict:
    return {"cell_type": "markdown", "source": source}


def code(source: str) -> dict:
    return {"cell_type": "code", "id": source, "source": source}


OPTIONAL = [text("## Optional: more\n\nWhat."), code("a = 1"), text("### Lower"), code("b = 2")]


@pytest.mark.parametrize(
    "after",
    [
        [code("print(a, b)")],  # still in it
        [text("## Next"), code("a = 3\nprint(a)")],
        [text("## Next"), code("for b in (1, 2):\n    print(b)")],
        [text("## Next"), code("print([a for a in (1, 2)])\ndef f(b):\n    return b")],
        [text("## Next"), code("from elsewhere import a, b"), code("print(a, b)")],
        [text("::::{exercise} Optional: one\n::::\n## Next"), code("print(a)")],
        [text("::::{exercise} One\nTake [a](#optional-more).\n::::\n## Next"), code("print(a)")],
    ],
)
def test_what_is_sound_passes(after):
    assert missing([*OPTIONAL, *after]) == {}


@pytest.mark.parametrize(
    ("after", "names"),
    [
        ([text("## Next"), code("print(a)")], {"a"}),
        ([text("# Next"), code("assert b == 2")], {"b"}),
        ([text("## Next"), code("def f(x):\n    return x + a")], {"a"}),
        ([text("## Next"), code("print([x + b for x in (1, 2)])")], {"b"}),
        ([text("## Next"), code("%time 1\nprint(a, b)")], {"a", "b"}),
        ([text("::::{exercise} One\n::::\n## Next"), code("print(a)")], {"a"}),
        (
            [text("::::{exercise} Optional: one\n::::\n## N"), text(":::{exercise} B"), code("a")],
            {"a"},
        ),
    ],
)
def test_a_missing_name_is_told(after, names):
    assert list(missing([*OPTIONAL, *after]).values()) == [names]
