"""The lecture map points at what exists, and no finished chapter leaves a row out.

What its page shows and how it is filtered is tested in `test_map_page.py`.
"""

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
    names = [lecture_map.name_of(row) for row in ROWS]
    assert len(set(names)) == len(names)
    assert set(lecture_map.slides()) == set(lecture_map.LECTURES)


def slide_faults(rows: list[dict], slides: dict, nothing: dict) -> list[str]:
    """Titles that stand under the wrong lecture, twice or out of order; slides that none names."""
    found, named = [], set()
    for row in rows:
        for lecture, told in lecture_map.titles(row).items():
            titles = [title for title, _ in told]
            listed = slides.get(lecture, [])
            named |= {(lecture, title) for title in titles}
            found += [f"{row['id']}: {lecture} has no {t}" for t in titles if t not in listed]
            places = [listed.index(title) for title in titles if title in listed]
            if not titles or places != sorted(set(places)):
                found.append(f"{row['id']}: not in the order of {lecture}")
    for lecture, listed in slides.items():
        for title in listed:
            if ((lecture, title) in named) == (title in nothing[lecture]):
                found.append(f"{lecture}: {title} settles something, or nothing?")
        found += [f"{lecture}: no slide {t}" for t in nothing[lecture] if t not in listed]
    return found


def order_faults(listed: list[str]) -> list[str]:
    """Titles that stand twice, and numbers that do not follow the one before."""
    found = [title for title, n in Counter(listed).items() if n > 1]
    for k, title in enumerate(listed):
        base, _, number = title.removesuffix(")").rpartition(" (")
        if number.isdecimal() and len(number) == 1:
            before = base if number == "2" else f"{base} ({int(number) - 1})"
            found += [] if before in listed[:k] else [title]
    return found


def test_each_title_stands_under_the_lecture_that_has_it_and_each_slide_in_a_row():
    slides, nothing = lecture_map.slides(), lecture_map.without_concept()
    assert slide_faults(ROWS, slides, nothing) == []
    assert [title for listed in slides.values() for title in order_faults(listed)] == []


@pytest.mark.parametrize(
    ("slides", "fault"),
    [
        ({"001": ["Modules"]}, "x: 001 has no Modules"),
        ({"000": ["TF", "NLP Tasks"]}, "x: not in the order of 000"),
        ({"000": ["NLP Tasks", "NLP Tasks"]}, "x: not in the order of 000"),
        ({"000": []}, "x: not in the order of 000"),
        ({"000": ["NLP Tasks"]}, "000: TF settles something, or nothing?"),
        ({"000": ["Hello", "NLP Tasks", "TF"]}, "000: Hello settles something, or nothing?"),
        ({"000": ["NLP Tasks | table", "TF"], "001": ["N-Grams"]}, None),
    ],
)
def test_a_planted_fault_in_a_title_is_found(slides, fault):
    listed = {"000": ["Hello", "NLP Tasks", "TF"], "001": ["N-Grams"]}
    nothing = {"000": ["Hello"], "001": []}
    found = slide_faults([{"id": "x", "slides": slides}], listed, nothing)
    assert fault in found if fault else found == []


@pytest.mark.parametrize(
    ("listed", "faults"),
    [
        (["A", "B", "A (2)", "A (3)", "GPT (Part 1)"], []),
        (["A", "A"], ["A"]),
        (["A (2)", "A"], ["A (2)"]),
        (["A", "A (3)"], ["A (3)"]),
    ],
)
def test_a_planted_fault_in_a_number_is_found(listed, faults):
    assert order_faults(listed) == faults


def test_a_title_is_searched_for_as_it_stands_on_the_slide():
    spoken = ["NLP Tasks (2)", "(Vanilla) Recurrent Neural Network", "[no title]", "Part (Part 1)"]
    expected = ["NLP Tasks", "(Vanilla) Recurrent Neural Network", "", "Part (Part 1)"]
    assert [lecture_map.spoken(title) for title in spoken] == expected


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
