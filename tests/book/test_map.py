"""The lecture map points at what exists, and no finished chapter leaves a row out."""

import ast
import importlib
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import lecture_map
import registry

ROOT = Path(__file__).resolve().parents[2]


ROWS = lecture_map.concepts()
PAGES = registry.chapters()
N_CONCEPTS = 393
"""How many concepts the lectures have. It stands only here, so that no row is lost."""


def cells(path: Path) -> list[dict]:
    """The cells of a notebook."""
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


@cache
def functions(file: str) -> set[str]:
    """The names of a test file's functions."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def tree(source: str) -> ast.Module:
    """The syntax tree of a cell, IPython's lines left out."""
    return ast.parse(re.sub(r"^(\s*)[%!].*", r"\1pass", source, flags=re.MULTILINE))


def asserts(source: str) -> bool:
    """Whether a cell checks something: an assert, or a call of a function such as assert_equal."""
    return any(isinstance(node, ast.Assert) or _asserts(node) for node in ast.walk(tree(source)))


def _asserts(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    name = getattr(called, "attr", getattr(called, "id", ""))
    return name.startswith("assert_")


def test_the_contract_is_whole():
    ids = [row["id"] for row in ROWS]
    assert len(ids) == len(set(ids)) == N_CONCEPTS
    assert all(set(row["lectures"]) <= set(lecture_map.LECTURES) for row in ROWS)


def test_each_row_is_settled_by_one_chapter_and_none_claims_another():
    claimed = Counter(key for page in PAGES for key in lecture_map.sections(page.path))
    assert claimed == Counter(row["id"] for row in ROWS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_cell_that_claims_a_row_is_executed_and_checks_something(page):
    checked = set()
    for cell in cells(page.path):
        for concept in cell["metadata"].get("concepts", []):
            assert cell["cell_type"] == "code", f"{concept}: only a code cell settles a row"
            if asserts("".join(cell["source"])):
                checked.add(concept)
    assert checked == set(lecture_map.sections(page.path))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_row_that_check_cells_settle_leads_to_each_of_them(page):
    bound = {
        (concept, f"check-{cell['id']}")
        for cell in cells(page.path)
        if "check" in cell["metadata"].get("tags", [])
        for concept in cell["metadata"].get("concepts", [])
    }
    linked = lecture_map.checks(page.path)
    assert {(concept, name) for concept, names in linked.items() for name in names} == bound
    if not bound:
        return
    built = ROOT / "_build" / "html" / "chapters" / "lecture_map.html"
    if not built.exists():
        pytest.skip("the site is not built: run `make book`")
    text = built.read_text(encoding="utf-8")
    assert not [name for _, name in bound if f'href="{page.path.stem}.html#{name}"' not in text]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_row_points_at_code_and_tests_that_exist(row):
    for name in row.get("names", []):
        module, attribute = name.rsplit(".", 1)
        assert hasattr(importlib.import_module(f"softlookup.{module}"), attribute), name
    for test in row.get("tests", []):
        file, function = test.split("::")
        assert function in functions(file), test


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_row_names_a_test_or_the_code_it_is_about(row):
    assert row.get("tests") or row.get("names"), "name what settles the row"


def test_the_page_links_every_row():
    page = ROOT / "_build" / "html" / "chapters" / "lecture_map.html"
    if not page.exists():
        pytest.skip("the site is not built: run `make book`")
    text = page.read_text(encoding="utf-8")
    missing = [row["id"] for row in ROWS if row["id"].replace("-", " ") not in text]
    assert not missing
