"""Every exercise: blank, solved by the book and otherwise, wrong in each known way, and absurd.

The checks are found by their names, their answers in ``answers``: a new exercise needs only its
check and its answers.
"""

import ast
import dis
import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType

import answers
import pytest
import torch

from softlookup import exercises
from softlookup.exercises.bugs import check_repairs
from softlookup.exercises.verdict import Verdict

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"
CHECKS = {
    f"{module.name}.{name}": check
    for module in pkgutil.iter_modules(exercises.__path__)
    for name, check in vars(importlib.import_module(f"softlookup.exercises.{module.name}")).items()
    if name.startswith("check_") and check.__module__ == f"softlookup.exercises.{module.name}"
}
MODULES = [
    importlib.import_module(f"answers.{module.name}")
    for module in pkgutil.iter_modules(answers.__path__)
]
RIGHT, WRONG = (
    {check: rows for module in MODULES for check, rows in getattr(module, kind).items()}
    for kind in ("RIGHT", "WRONG")
)
BLANK = "Nothing to check so far: "


def cases(table: dict) -> list:
    """A case for each row of the tables, under the names of the check and of the row."""
    return [
        pytest.param(check, row, id=f"{name}-{label}")
        for name, check in CHECKS.items()
        for label, row in (
            table[check].items() if isinstance(table[check], dict) else enumerate(table[check])
        )
    ]


def now(part: object) -> object:
    return part.make() if isinstance(part, answers.Later) else part


def asked(check: Callable[..., Verdict], row: tuple) -> tuple[Verdict, list[str]]:
    """The verdict on a row of answers, and the words that it must hold."""
    row = [now(part) for part in row]
    if check is check_repairs:
        return check(**row[0]), row[1:]
    n = len(inspect.signature(check).parameters)
    return check(*row[:n]), row[n:]


def test_each_check_has_right_and_wrong_answers():
    assert set(RIGHT) == set(WRONG) == set(CHECKS.values())
    assert all(RIGHT.values())
    assert min(map(len, WRONG.values())) >= 3


def is_function(answer: object) -> bool:
    return callable(answer) and not isinstance(answer, type)


def loud(answer: object) -> object:
    """A function that prints, and whose own draws from the reader's generator are undone."""
    if not is_function(answer):
        return answer

    def prints(*arguments):
        print("Here I am.")
        with torch.random.fork_rng(devices=[]):
            return answer(*arguments)

    return prints


@pytest.mark.parametrize(("check", "row"), cases(RIGHT))
def test_a_right_answer_passes(check, row, capsys):
    row = [now(part) for part in row]
    before = torch.get_rng_state()
    verdict, words = asked(check, tuple(map(loud, row)))
    assert verdict, verdict.message
    assert all(word in verdict.message for word in words), verdict.message
    assert torch.equal(torch.get_rng_state(), before)
    assert any(map(is_function, row)) == ("Here I am." in capsys.readouterr().out)


@pytest.mark.parametrize(("check", "row"), cases(WRONG))
def test_a_wrong_answer_is_told_what_is_wrong(check, row):
    verdict, words = asked(check, row)
    assert not verdict
    assert words, "a wrong answer needs the words that it must get"
    assert all(word in verdict.message for word in words), verdict.message


# What holds for all answers. The check of repairs takes its parts by name; its table holds these.


def answers_of(kind: Callable[[object], bool]) -> list:
    """A case for each place where a check takes an answer of this kind."""
    return [
        pytest.param(check, k, id=f"{name}-{parameter}")
        for name, check in CHECKS.items()
        if check is not check_repairs
        for k, parameter in enumerate(inspect.signature(check).parameters)
        if kind(RIGHT[check][0][k])
    ]


in_each_place = pytest.mark.parametrize(("check", "place"), answers_of(lambda answer: True))
in_each_function = pytest.mark.parametrize(("check", "place"), answers_of(is_function))
in_each_value = pytest.mark.parametrize(
    ("check", "place"), answers_of(lambda answer: not is_function(answer))
)


def given(check: Callable, place: int, answer: object) -> Verdict:
    """The verdict on right answers, but for one."""
    row = [now(part) for part in RIGHT[check][0][: len(inspect.signature(check).parameters)]]
    row[place] = answer
    return check(*row)


@pytest.mark.bad_input
@in_each_place
@pytest.mark.parametrize("blank", [None, ...])
def test_a_blank_answer_is_asked_to_start(check, place, blank):
    verdict = given(check, place, blank)
    assert not verdict
    assert verdict.message.startswith(BLANK)


@in_each_function
@pytest.mark.parametrize("blank", [None, ...])
def test_a_function_that_returns_nothing_is_asked_to_start(check, place, blank):
    assert given(check, place, lambda *a: blank).message.startswith(BLANK)


@in_each_function
def test_a_function_that_is_not_written_is_asked_to_start(check, place):
    def unwritten(*arguments):
        raise NotImplementedError

    assert given(check, place, unwritten).message.startswith(BLANK)


@pytest.mark.parametrize("name", CHECKS)
def test_a_docstring_shows_the_verdict_on_a_blank_answer(name):
    check = CHECKS[name]
    if check is not check_repairs:
        blanks = [...] * len(inspect.signature(check).parameters)
        assert repr(check(*blanks)) in inspect.getdoc(check)


@in_each_function
def test_an_error_in_the_learners_code_is_told(check, place):
    verdict = given(check, place, lambda *arguments: 1 / 0)
    assert not verdict
    told = "Your code stopped with ZeroDivisionError: division by zero"
    assert verdict.message.startswith(told)  # and perhaps what it was given


@pytest.mark.bad_input
@in_each_function
def test_a_result_in_place_of_the_function_is_told(check, place):
    verdict = given(check, place, [1, 2])
    assert verdict.message == "The check wants the function itself; it got [1, 2]."


ABSURD = ["words", 7, [object()], {}, object(), [[1, 2], [3]], float("nan"), True, (), b"bytes"]


@pytest.mark.bad_input
@in_each_function
def test_a_result_of_another_kind_is_told_and_never_raised(check, place):
    for absurd in ABSURD:
        verdict = given(check, place, lambda *arguments, absurd=absurd: absurd)
        assert not verdict
        assert "Your code stopped" not in verdict.message
        assert not verdict.message.startswith(BLANK)


@pytest.mark.bad_input
@in_each_value
def test_a_value_of_another_kind_is_told_and_never_raised(check, place):
    for absurd in [*ABSURD, lambda: 1]:
        assert not given(check, place, absurd)


# The book's own cells


@cache
def cells(path: Path) -> list[dict]:
    """The code cells of a chapter, each with its parsed source; not what only Colab runs."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sources = [("".join(cell["source"]), cell) for cell in found if cell["cell_type"] == "code"]
    return [
        {**cell, "source": source, "statements": ast.parse(source).body}
        for source, cell in sources
        if "%pip" not in source
    ]


def is_solution(cell: dict) -> bool:
    return "solution" in cell["metadata"].get("tags", [])


EXERCISES = [
    pytest.param(path, cell["id"], id=f"{path.stem}-{cell['id']}")
    for path in sorted(CHAPTERS.glob("*.ipynb"))
    for cell in cells(path)
    if cell["id"].startswith("ex-") and "check_" in cell["source"]
]


def names_of(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """The global names that a statement needs from before, and those that it gives a meaning."""
    top = compile(ast.Module([statement], []), "cell", "exec")
    needs, stores, codes = set(), set(), [top]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        for instruction in dis.get_instructions(code):
            if instruction.opname == "STORE_NAME" and code is top:
                stores.add(instruction.argval)
            elif instruction.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
                needs |= {instruction.argval} - stores
    return needs, stores


def needed(path: Path, key: str) -> list[ast.stmt]:
    """The statements of a cell, after those of the chapter that give its names a meaning."""
    before, own = [], next(cell for cell in cells(path) if cell["id"] == key)
    for cell in cells(path)[: cells(path).index(own)]:
        if is_solution(own) or not is_solution(cell):
            before += cell["statements"]
    wanted, kept = set(), []
    for statement in reversed(before + own["statements"]):
        needs, stores = names_of(statement)
        if stores & wanted or statement in own["statements"]:
            wanted = (wanted - stores) | needs
            kept.append(statement)
    return kept[::-1]


@pytest.mark.parametrize(("path", "key"), EXERCISES)
def test_the_books_cell_is_blank_and_its_solution_right(path, key):
    *statements, check = needed(path, key)
    names = {}
    exec(compile(ast.Module(statements, []), key, "exec"), names)
    verdict = eval(compile(ast.Expression(check.value), key, "eval"), names)
    solution = is_solution(next(cell for cell in cells(path) if cell["id"] == key))
    assert bool(verdict) == solution, verdict.message
    assert solution or BLANK in verdict.message
