"""No exercise asks for what its page shows; each says how hard it is.

What a page shows are its cells, above and below the exercise, and the library's code in them. It is
compared in two ways: every function that is shown is handed to the exercise's check, which must not
accept it; and the solution is compared with the code, names and layout forgotten (see `same_code`).
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import nbformat
import pytest
import same_code
from test_exercises import RIGHT, now

import registry
from softlookup.exercises.bugs import check_repairs

LEAST = 3
"""A piece of code with fewer operations and calls stands on any page."""
MOST = Fraction(2, 3)
"""A solution of which so much stands on the page, piece by piece, is answered there."""


@dataclass(frozen=True)
class Exercise:
    """An exercise of the book.

    Attributes:
        label: Its label.
        path: Its notebook.
        text: Its directive.
        solutions: The book's solution, cell by cell.
    """

    label: str
    path: Path
    text: str
    solutions: tuple[str, ...]


@cache
def cells(path: Path) -> list[nbformat.NotebookNode]:
    """The cells of a notebook, without the one for Colab alone."""
    found = nbformat.read(path, as_version=4).cells
    return [cell for cell in found if "%pip" not in cell.source]


def is_solution(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell is a folded solution."""
    return cell.cell_type == "code" and "solution" in cell.metadata.get("tags", [])


@cache
def exercises_of(path: Path) -> list[Exercise]:
    """The exercises of a notebook: each directive, and the solutions up to the next one."""
    found = []
    for cell in cells(path):
        if cell.cell_type == "markdown" and ":::{exercise}" in cell.source:
            label = re.search(r":label: (ex-[\w-]+)", cell.source).group(1)
            found.append(Exercise(label, path, cell.source, ()))
        elif is_solution(cell) and found:
            last = found.pop()
            found.append(Exercise(last.label, path, last.text, (*last.solutions, cell.source)))
    return found


EXERCISES = [one for page in registry.notebooks() for one in exercises_of(page.path)]
in_each = pytest.mark.parametrize("one", EXERCISES, ids=[one.label for one in EXERCISES])


# What a page shows


@cache
def teaching_cells(path: Path) -> dict[str, ast.Module]:
    """The code cells that are neither solutions nor places to write them, by their ids."""
    return {
        cell.id: ast.parse(cell.source)
        for cell in cells(path)
        if cell.cell_type == "code" and not is_solution(cell) and not cell.id.startswith("ex-")
    }


@cache
def namespace(path: Path) -> dict[str, object]:
    """What a notebook imports, and the functions and classes that its teaching cells define."""
    names = {}
    trees = [ast.parse(cell.source) for cell in cells(path) if cell.cell_type == "code"]
    wanted = [node for tree in trees for node in ast.walk(tree)
              if isinstance(node, ast.Import | ast.ImportFrom)]  # fmt: skip
    for node in [*wanted, *definitions(path)]:
        with suppress(NameError):  # a default value that only the executed chapter has
            exec(compile(ast.Module([node], []), path.stem, "exec"), names)
    return names


def definitions(path: Path) -> list[ast.stmt]:
    """The functions and classes that the teaching cells define."""
    return [
        node
        for tree in teaching_cells(path).values()
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]


@cache
def shown_library(path: Path) -> dict[str, object]:
    """The library's functions and classes whose code a page shows, by the names it gives them."""
    calls = [
        node
        for tree in teaching_cells(path).values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "show_source"
    ]
    names = {ast.unparse(thing) for call in calls for thing in call.args}
    return {name: eval(name, dict(namespace(path))) for name in sorted(names)}


def shown_functions(path: Path) -> dict[str, object]:
    """All functions and classes whose code a page shows."""
    names = {node.name for node in definitions(path)} & namespace(path).keys()
    return shown_library(path) | {name: namespace(path)[name] for name in sorted(names)}


@cache
def shown_forms(path: Path) -> frozenset[str]:
    """The normal forms of all code that a page shows."""
    found = set()
    for tree in teaching_cells(path).values():
        found.update(same_code.forms(tree.body, kept_names(path), LEAST))
    for thing in shown_library(path).values():
        module = ast.parse(inspect.getsource(inspect.getmodule(thing)))
        body = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
        found.update(same_code.forms(body, same_code.names_kept([module]), LEAST))
    return frozenset(found)


@cache
def kept_names(path: Path) -> frozenset[str]:
    """The names that are no variables in a chapter."""
    return same_code.names_kept(teaching_cells(path).values())


# Whether it answers


def accepted(one: Exercise) -> list[str]:
    """The functions shown on the page that the exercise's check accepts, all else being right."""
    found = []
    for check in checks_of(one):
        row = RIGHT[check][0][: len(inspect.signature(check).parameters)]
        places = [
            k for k, part in enumerate(row) if inspect.isfunction(part) or inspect.isclass(part)
        ]
        right = [now(part) for part in row] if places else []
        for place in places:
            for name, function in shown_functions(one.path).items():
                if check(*right[:place], function, *right[place + 1 :]):
                    found.append(name)
    return found


def checks_of(one: Exercise) -> list[Callable]:
    """The checks that a solution calls; not that of the repairs, which takes its parts by name."""
    calls = [
        ast.unparse(node.func)
        for source in one.solutions
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and "check_" in ast.unparse(node.func)
    ]
    found = [eval(call, dict(namespace(one.path))) for call in calls]
    return [check for check in found if check is not check_repairs]


def copied(one: Exercise) -> list[str]:
    """The parts of the solution that stand on the page: functions, or what is no function."""
    found = []
    for source in one.solutions:
        body = ast.parse(source).body
        parts = {
            node.name: node.body
            for node in ast.walk(ast.Module(body, []))
            if isinstance(node, ast.FunctionDef)
        }
        parts["its statements"] = [
            node
            for node in body
            if not isinstance(node, ast.FunctionDef | ast.ClassDef)
            and "check_" not in ast.unparse(node)
        ]
        for name, statements in parts.items():
            share = same_code.share_found(
                statements, shown_forms(one.path), kept_names(one.path), LEAST
            )
            if share >= MOST:
                found.append(name)
    return found


@in_each
def test_the_page_does_not_answer_the_exercise(one):
    names = [f"{name} passes the check" for name in accepted(one)]
    names += [f"{name} of the solution stands on the page" for name in copied(one)]
    assert not names, "ask for something that the page does not show"


# How hard it is


LEVEL = re.compile(r"^\*Difficulty ([123]) of 3, about (\d+) (minutes|hours)\.\*$", re.MULTILINE)


@in_each
def test_an_exercise_says_how_hard_it_is_and_how_long_it_takes(one):
    """1: minutes after reading; 2: an idea is combined; 3: an afternoon, and nobody printed it."""
    assert len(LEVEL.findall(one.text)) == 1


@pytest.mark.parametrize("page", registry.chapters(), ids=lambda page: page.name)
def test_a_chapter_has_two_exercises_of_level_3(page):
    levels = [LEVEL.search(one.text).group(1) for one in exercises_of(page.path)]
    assert levels.count("3") >= 2


# The comparison itself


PAGE = """
import torch
from softlookup.ops import softmax

def attention_by_hand(query, key, value):
    scores = query @ key.mT / key.shape[-1] ** 0.5
    weights = softmax(scores)
    return weights @ value

noise = counts**0.75 / (counts**0.75).sum()
errors = softmax(V @ U[w])
errors[x] -= 1
total = 0
for word in words:
    total += counts[word] * weights[word]
centred = rows - rows.mean(dim=1, keepdim=True)
normal = centred / torch.sqrt((centred**2).mean(dim=1, keepdim=True) + 1e-5)
"""
SAME = {
    "other names": """def mine(q, k, v):
        s = q @ k.mT / k.shape[-1] ** 0.5
        return softmax(s) @ v""",
    "in one line": "def mine(q, k, v):\n    return softmax(q @ k.mT / math.sqrt(k.shape[-1])) @ v",
    "in more lines": """def mine(q, k, v):
        width = k.shape[-1]
        products = q @ k.T
        scores = products / width**0.5
        table = softmax(scores)
        return table @ v""",
    "a number that became an argument": "def mine(n, p):\n    return n**p / (n**p).sum()",
    "a value": "my_noise = c**0.5 / sum(c**0.5)",
    "a loop": """def mine(texts, n, w):
        result = 0
        for text in texts:
            result += w[text] * n[text]
        return result""",
    "functions for methods": """def mine(x):
        c = x - torch.mean(x, axis=1, keepdims=True)
        return c / (c.square().mean(1, keepdim=True) + 1e-6).sqrt()""",
    "with words": '''def mine(n: list, power: float = 0.5) -> list:
        """Noise."""
        assert power > 0
        return n**power / (n**power).sum()  # one row''',
}
OTHER = {
    "another operation": "def mine(n, power):\n    return n**power * (n**power).sum()",
    "another sum": "def mine(n, power):\n    return n**power / (n**power).sum(dim=1)",
    "two values for one": "def mine(n, m, power):\n    return n**power / (m**power).sum()",
    "another function": "def mine(q, k, v):\n    return torch.tanh(q - k).sigmoid() * v.cumsum(0)",
    "the idea combined with another": """def mine(n, k):
        kept = [c for c in sorted(n) if c > k]
        return {i: math.log(c / sum(kept)) for i, c in enumerate(kept)}""",
    "too little to be a copy": "def mine(x):\n    return x - x.mean(dim=1)",
}
KEPT = same_code.names_kept([ast.parse(PAGE), ast.parse("import math")])


def share_on_the_page(source: str) -> Fraction:
    """How much of an answer stands on the page above."""
    statements = ast.parse(textwrap.dedent(source)).body
    statements = getattr(statements[0], "body", statements)
    known = set(same_code.forms(ast.parse(PAGE).body, KEPT, LEAST))
    return same_code.share_found(statements, known, KEPT, LEAST)


@pytest.mark.parametrize("source", SAME.values(), ids=SAME)
def test_what_is_the_same_but_for_names_is_found(source):
    assert share_on_the_page(source) == 1


@pytest.mark.parametrize("source", OTHER.values(), ids=OTHER)
def test_what_is_something_else_is_not_found(source):
    assert share_on_the_page(source) < MOST


def test_a_half_that_stands_on_the_page_is_a_half():
    half = "def mine(n, p, x):\n    return n**p / (n**p).sum() + torch.tanh(x).cumsum(0) @ x[2:]"
    assert share_on_the_page(half) == Fraction(4, 9)


def test_a_page_that_shows_the_answer_is_told(tmp_path):
    """The same exercise on a page that shows its answer, and on one that does not."""
    tables = "def by_hand(documents, words):\n"
    tables += "    counts = [[tokens.count(word) for word in words] for tokens in documents]\n"
    tables += "    n_j = [sum(word in tokens for tokens in documents) for word in words]\n"
    tables += "    idf = [math.log10(len(documents) / n) for n in n_j]\n"
    tables += "    return counts, idf, [[c * w for c, w in zip(row, idf)] for row in counts]"
    imports = "import math\nfrom softlookup.exercises.counting import check_tables"
    found = []
    for teaching in tables, "tokens = text.split()":
        path = tmp_path / f"{len(found)}.ipynb"
        text = "::::{exercise} Tables\n:label: ex-tables\n::::"
        solution = tables.replace("by_hand", "mine") + "\n\n\ncheck_tables(mine)"
        notebook = nbformat.v4.new_notebook(cells=[
            nbformat.v4.new_code_cell(imports),
            nbformat.v4.new_code_cell(teaching, id="teaching"),
            nbformat.v4.new_markdown_cell(text),
            nbformat.v4.new_code_cell(solution, metadata={"tags": ["solution"]}),
        ])  # fmt: skip
        nbformat.write(notebook, path)
        (one,) = exercises_of(path)
        found.append((accepted(one), copied(one)))
    assert found == [(["by_hand"], ["mine"]), ([], [])]
