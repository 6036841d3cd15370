"""Chapter 1's exercises: blank, solved by the book, solved otherwise, and wrong in known ways."""

import json
import re
from fractions import Fraction

import numpy as np
import pytest
import torch

import registry
from softlookup.exercises import tasks as exercises
from softlookup.exercises.tasks import FAMILIES, NOTES, PATTERN_CASES, REPAIR_CASES, name_spans
from softlookup.words import MONEY, rule_filter, token_offsets, word_tokens

NOTEBOOK = registry.by_name()["tasks"].path
KEYS = ["families", "scores", "pattern", "repair", "names"]
CHECKS = [getattr(exercises, f"check_{key}") for key in KEYS]


def cell(key: str) -> str:
    """The code of one cell of the chapter."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return "".join(next(cell["source"] for cell in cells if cell["id"] == key))


@pytest.fixture(scope="module")
def chapter() -> dict:
    """What a reader has at hand: names of the imports, and the exercises' cells run in order."""
    return {"re": re, "exercises": exercises, "word_tokens": word_tokens,
            "token_offsets": token_offsets}  # fmt: skip


def verdict_of(key: str, namespace: dict) -> exercises.Verdict:
    """Run an exercise's cell in a namespace that keeps what it defines; the verdict is last."""
    *lines, check = cell(key).splitlines()
    exec("\n".join(lines), namespace)
    return eval(check, namespace)


def test_each_blank_exercise_asks_for_a_start_and_the_books_solution_passes(chapter):
    for key in KEYS:
        blank = verdict_of(f"ex-{key}-start", chapter)
        assert not blank
        assert "Nothing to check so far" in blank.message
        solved = verdict_of(f"ex-{key}-solution", chapter)
        assert solved, solved.message


@pytest.mark.bad_input
@pytest.mark.parametrize("check", CHECKS, ids=KEYS)
@pytest.mark.parametrize("blank", [None, ...])
def test_none_and_dots_are_a_blank_answer(check, blank):
    assert "Nothing to check so far" in check(blank).message


@pytest.mark.parametrize("check", CHECKS[3:], ids=KEYS[3:])
def test_an_error_in_the_learners_code_is_told(check):
    verdict = check(lambda text: 1 / 0)
    told = "Your code stopped with ZeroDivisionError: division by zero"
    assert verdict.message.startswith(told)  # and perhaps what it was given


@pytest.mark.parametrize("check", CHECKS[3:], ids=KEYS[3:])
def test_a_result_in_place_of_the_function_is_told(check):
    assert "wants the function itself" in check([True]).message


# Families


@pytest.mark.parametrize("spelling", ["{}", "{} ", "Document {}", "text {}"])
def test_families_in_other_spellings_pass(spelling):
    answer = {task: spelling.format(family).title() for task, family in FAMILIES.items()}
    assert exercises.check_families(answer)
    assert exercises.check_families(dict(reversed(answer.items())))


@pytest.mark.parametrize("task", FAMILIES)
@pytest.mark.parametrize("wrong", sorted(set(FAMILIES.values())))
def test_each_wrong_family_is_told_what_its_output_is(task, wrong):
    verdict = exercises.check_families({**FAMILIES, task: wrong})
    assert bool(verdict) == (FAMILIES[task] == wrong)
    if not verdict:
        assert f"“{task}” is not {wrong}. Ask what comes out" in verdict.message
        assert exercises.OUTPUTS[wrong] in verdict.message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: list(a.values()), "Answer with a dictionary"),
        (lambda a: {k: v for k, v in a.items() if "letter" not in k}, "is missing: leave the keys"),
        (lambda a: {**a, "Translate this letter into French.": ...}, "has no family yet"),
        (lambda a: {**a, "Translate this letter into French.": "translation"}, "not one of the"),
        (lambda a: {**a, "Translate this letter into French.": ""}, "not one of the five families"),
        (lambda a: {**a, "Translate this letter into French.": 2}, "2 is not one of the five"),
        (lambda a: dict.fromkeys(a, ...), "Nothing to check so far"),
        (lambda a: dict.fromkeys(a), "Nothing to check so far"),
    ],
)
def test_wrong_forms_of_families_are_told(change, message):
    verdict = exercises.check_families(change(FAMILIES))
    assert not verdict
    assert message in verdict.message


def test_the_chapters_cell_has_the_checks_tasks():
    assert re.findall(r'"(.+)": \.\.\.', cell("ex-families-start")) == list(FAMILIES)


# Scores

RIGHT = {"precision": 2 / 3, "recall": 1 / 2, "F1": 4 / 7}


def test_the_right_scores_come_from_the_text_of_the_exercise():
    source = NOTEBOOK.read_text(encoding="utf-8")
    labels, called = re.search(r"labels are ([01, ]+); it said ([01, ]+)\.", source).groups()
    truth, said = (torch.tensor(list(map(int, row.split(", ")))) for row in (labels, called))
    from softlookup.words import f1_score, precision, recall

    found = {"precision": precision(truth, said), "recall": recall(truth, said)}
    assert {**found, "F1": f1_score(truth, said)} == pytest.approx(RIGHT)
    assert pytest.approx(RIGHT) == exercises.SCORES
    assert len(truth) == len(said) == 8


@pytest.mark.parametrize(
    "kind",
    [
        float,
        lambda v: round(v, 2),
        lambda v: round(v, 3),
        torch.tensor,
        np.float32,
        Fraction,
        np.array,
        lambda v: np.array([v], dtype=np.float32),
        lambda v: torch.tensor([v]),
    ],
)
def test_scores_in_any_form_pass(kind):
    assert exercises.check_scores({name: kind(score) for name, score in RIGHT.items()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"precision": 1 / 2, "recall": 2 / 3}, "have changed places"),
        ({"F1": (2 / 3 + 1 / 2) / 2}, "plain mean"),
        ({"F1": 0.6}, "F1 is not 0.6."),
        ({"precision": 5 / 8}, "5/8 is the accuracy"),
        ({"F1": 5 / 8, "recall": 5 / 8}, "5/8 is the accuracy"),
        ({"precision": 0.4}, "The precision is not 0.4: 3 were called spam"),
        ({"precision": 0.4, "recall": 2 / 3}, "The precision is not 0.4"),
        ({"recall": 0.4}, "The recall is not 0.4: 4 are spam"),
        ({"precision": 0.66}, "The precision is not 0.66"),
        ({"precision": 66.7}, "is a share, from 0 to 1; you gave 66.7"),
        ({"precision": float("nan")}, "is a share"),
        ({"precision": "2/3"}, "should be a number; you gave '2/3'"),
        ({"recall": True}, "should be a number; you gave True"),
        ({"recall": np.array(True)}, "should be a number; you gave True"),
        ({"recall": np.array([0.5, 0.5])}, "should be a number; you gave array([0.5, 0.5])"),
        ({"F1": np.array(0.6)}, "F1 is not 0.6."),
        ({"recall": ...}, "Nothing to check so far"),
        ({"accuracy": 5 / 8}, "the keys"),
    ],
)
def test_wrong_scores_are_told_what_is_wrong(change, message):
    verdict = exercises.check_scores({**RIGHT, **change})
    assert not verdict
    assert message in verdict.message


@pytest.mark.parametrize("answer", [[2 / 3, 1 / 2, 4 / 7], {"precision": 2 / 3}, 0.5])
def test_scores_need_their_names(answer):
    assert "the keys" in exercises.check_scores(answer).message


# The pattern

BOOKS = r"(?i)\bmake\s+[$£€]?\d{1,3}(?:,?\d{3})*\s+(?:every|each|per|a)\s+(?:day|week|month|year)\b"


@pytest.mark.parametrize(
    "pattern",
    [
        BOOKS,
        re.compile(BOOKS),
        re.compile(MONEY, re.IGNORECASE),
        r"(?i)(?<!\w)make\s+[€£$]?[1-9]\d*(,\d{3})*\s+(every|each|per|a)\s+(day|week|month|year)(?!\w)",
        r"(?i)(^|\W)make\s+[€£$]?(\d+|\d+(,\d\d\d)+)\s+(every|each|per|a)\s+(day|week|month|year)(\W|$)",
    ],
)
def test_other_right_patterns_pass(pattern):
    verdict = exercises.check_pattern(pattern)
    assert verdict, verdict.message


WRONG_PATTERNS = {
    "the slide's": (
        r"([Mm]ake)\s+([\w]+\s+|\$\d+\s+((per|for|a)\s+(week|day|year)))",
        "'Make $500 every week' should be found",
    ),
    "at the start only": (BOOKS.replace(r"\b", "^", 1), "no ^ at the front"),
    "small letters only": (BOOKS.removeprefix("(?i)"), "'Make $500 every week' should be found"),
    "first letter only": (
        BOOKS.removeprefix("(?i)").replace("make", "[Mm]ake"),
        "(?i) at the front ignores case",
    ),
    "dollars only": (BOOKS.replace("[$£€]", r"\$"), "The pound is a currency"),
    "a sign at any price": (
        BOOKS.replace("[$£€]?", "[$£€]"),
        "sign of the currency may be missing",
    ),
    "no comma": (BOOKS.replace(r"\d{1,3}(?:,?\d{3})*", r"\d+"), "Thousands may have commas"),
    "one comma": (BOOKS.replace(r"{3})*", r"{3})?"), "more than one comma"),
    "always commas": (BOOKS.replace(",?", ","), "Large amounts may come without commas"),
    "no each": (BOOKS.replace("each|", ""), "“each” belongs to the rule"),
    "no month": (BOOKS.replace("month|", ""), "'make 10000 every month' should be found"),
    "one blank": (BOOKS.replace(r"\s+", " "), "more white space than one blank"),
    "to the end only": (BOOKS.replace(r"year)\b", "year)$"), "Something may follow"),
    "no edge in front": (BOOKS.replace(r"\bmake", "make"), "“remake” is another word"),
    "no edge behind": (BOOKS.removesuffix(r"\b"), "“weekend” is another word"),
    "any amount": (BOOKS.replace(r"[$£€]?\d{1,3}(?:,?\d{3})*", r"\S+"), "“money” is no amount"),
    "something with a digit": (
        BOOKS.replace(r"[$£€]?\d{1,3}(?:,?\d{3})*", r"\S*\d"),
        "'make x5 every week' is found, and should not be",
    ),
    "letters behind": (BOOKS.replace(r"{3})*", r"{3})*\w*"), "'make 5x every week' is found"),
    "signs": (BOOKS.replace("[$£€]?", "[$£€]*"), "One sign of a currency is enough"),
    "commas anywhere": (BOOKS.replace(r"\d{1,3}(?:,?\d{3})*", r"\d[\d,]*"), "Two commas"),
    "groups of any size": (
        BOOKS.replace(r"\d{1,3}(?:,?\d{3})*", r"\d+(?:,\d+)*"),
        "A comma at the thousands has three digits behind it",
    ),
    "the sign is enough": (BOOKS.replace(r"\d{1,3}(?:,?\d{3})*", r"[\d,]*"), "A sign alone"),
    "anything between": (BOOKS.replace(r"\s+(?:every", r".+(?:every"), "followed by “every”"),
    "any quantifier": (BOOKS.replace("(?:every|each|per|a)", r"\w+"), "“any” does not belong"),
    "everything": (r"(?i)make", "There is no amount in it"),
    "nothing": ("(?!)", "should be found"),
    "empty": ("", "There is no amount in it"),
}


@pytest.mark.parametrize("wrong", WRONG_PATTERNS)
def test_wrong_patterns_are_told_what_is_wrong(wrong):
    pattern, message = WRONG_PATTERNS[wrong]
    verdict = exercises.check_pattern(pattern)
    assert not verdict
    assert message in verdict.message


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("(make", "Python cannot read the pattern: missing )"),
        (7, "The pattern should be a string; you gave 7"),
        (["make"], "The pattern should be a string"),
        (re.compile(b"make"), "for text, not for bytes"),
    ],
)
def test_what_is_no_pattern_is_told(answer, message):
    assert message in exercises.check_pattern(answer).message


def test_the_library_agrees_with_the_checks_texts():
    assert all(bool(re.search(MONEY, text, re.I)) == wanted for text, wanted, _ in PATTERN_CASES)
    assert all(rule_filter(text) == spam for text, spam, _ in REPAIR_CASES)
    assert len(REPAIR_CASES) == 12


# The repaired filter


def repaired(text, *, names=("acetylcysteine", "apixaban"), fold=True, search=re.search,
             share=0.5, guard=True, pattern=BOOKS, kind=bool):  # fmt: skip
    """Another right solution, with places to go wrong."""
    where = text.lower() if fold else text
    medicine = any(name in where for name in names)
    letters = [c for c in text if c.isalpha()]
    upper = len([c for c in letters if c.isupper()])
    capitals = upper > share * len(letters) if guard else upper >= share * len(letters)
    return kind(medicine or capitals or search(pattern, text) is not None)


WRONG_FILTERS = {
    "dots": ({"names": ("acetylcysteine", "apixaban", "...")}, "Three dots are no medicine"),
    "capitals of names": (
        {"names": ("Acetylcysteine", "Apixaban"), "fold": False},
        "The name of a medicine may be in capitals",
    ),
    "numbers": ({"kind": int}, "you returned 1: a function that says -> bool"),
    "words": ({"kind": str}, "you returned 'True'"),
    "no guard": ({"guard": False}, "There is no letter in it"),
    "all capitals": ({"share": 0.99}, "9 of its 14 letters are capitals"),
    "some capitals": ({"share": 0.2}, "4 of its 17 letters are capitals"),
    "at the start": ({"search": re.match}, "A promise may stand anywhere"),
    "the slide's pattern": (
        {"pattern": r"([Mm]ake)\s+([\w]+\s+|\$\d+\s+((per|for|a)\s+(week|day|year)))"},
        "“every” is the rule's own word",
    ),
    "any amount": (
        {"pattern": r"(?i)make.*(every|a) (day|month)"},
        "'Make your bed every day' spam",
    ),
    "cakes": (
        {"pattern": r"(?i)make\s+\S*\d\S*\s.*(every|a) (day|month|week)"},
        "followed by cakes",
    ),
    "make it": (
        {"pattern": r"(?i)make\s.*\d\S*\s(every|a) (day|month|week)"},
        "another word",
    ),
}


def test_another_right_filter_passes():
    assert exercises.check_repair(repaired)
    assert exercises.check_repair(rule_filter)
    assert exercises.check_repair(lambda text: np.bool_(repaired(text)))
    assert exercises.check_repair(lambda text: torch.tensor(repaired(text)))


@pytest.mark.parametrize("wrong", WRONG_FILTERS)
def test_wrong_filters_are_told_what_is_wrong(wrong):
    options, message = WRONG_FILTERS[wrong]
    verdict = exercises.check_repair(lambda text: repaired(text, **options))
    assert not verdict
    assert message in verdict.message


@pytest.mark.parametrize("answer", [True, False])
def test_one_answer_for_all_fails(answer):
    verdict = exercises.check_repair(lambda text: answer)
    assert not verdict
    assert f"{'spam' if answer else 'ham'}. " in verdict.message


def test_the_slides_own_function_is_told_that_it_crashes():
    verdict = exercises.check_repair(lambda text: text.contains("Apixaban"))
    assert "AttributeError: 'str' object has no attribute 'contains'" in verdict.message


# Names


def names(text, *, opens=r"[.?!]", joins=str.isspace, first=True):
    """Another right solution: flags for each word, then a walk over them."""
    offsets = token_offsets(text)
    spans, run = [], None
    for i, (start, _) in enumerate(offsets):
        gap = text[offsets[i - 1][1] : start] if i else text[:start]
        opening = bool(re.search(opens, gap)) or (first and i == 0)
        capital = text[start] != text[start].lower() and not opening
        if run is not None and not (capital and joins(gap)):
            spans.append((run, i))
            run = None
        if capital and run is None:
            run = i
    return spans if run is None else [*spans, (run, len(offsets))]


def test_names_by_another_right_solution_pass():
    assert exercises.check_names(names)
    assert exercises.check_names(lambda text: [list(span) for span in names(text)])
    assert exercises.check_names(lambda text: (span for span in names(text)))
    assert exercises.check_names(lambda text: np.array(names(text)))
    assert exercises.check_names(lambda text: torch.tensor(names(text)))


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("we met Ada Lovelace on Monday", [(2, 4), (5, 6)]),
        ("Yesterday Ada Lovelace met Charles Babbage.", [(1, 3), (4, 6)]),
        ("Ask Ada, Grace and Alan Turing about it.", [(1, 2), (2, 3), (4, 6)]),
        ("Is Ada here? Grace asked it. No one but Mary Anne O'Brien knew!", [(1, 2), (9, 12)]),
        ("Tell Zoë\nÅngström (from Oslo), please", [(1, 3), (4, 5)]),
        ("nobody came", []),
        ("Ada", []),
        ("", []),
    ],
)
def test_the_spans_that_the_check_wants(text, spans):
    assert name_spans(text) == names(text) == spans
    assert text in NOTES


def characters(text):
    offsets = token_offsets(text)
    return [(offsets[i][0], offsets[j - 1][1]) for i, j in names(text)]


def one_by_one(text):
    return [(i, i + 1) for start, end in names(text) for i in range(start, end)]


WRONG_NAMES = {
    "characters": (characters, "you counted characters; count tokens"),
    "end included": (lambda t: [(i, j - 1) for i, j in names(t)], "the end is not included"),
    "backwards": (lambda t: names(t)[::-1], "in the order of the text"),
    "word by word": (one_by_one, "two words of one name belong into one span"),
    "across commas": (lambda t: names(t, joins=lambda gap: True), "run on across a sign"),
    "with the first word": (lambda t: names(t, first=False), "'Yesterday Ada Lovelace', is not"),
    "full stops only": (lambda t: names(t, opens=r"\."), "'Grace', is not a name by the rule"),
    "every word": (lambda t: [(i, i + 1) for i in range(len(token_offsets(t)))], "not a name"),
    "the first only": (lambda t: names(t)[:1], "the name 'Monday', span (5, 6), is missing"),
    "nothing": (lambda t: [], "is missing"),
    "words": (lambda t: [t[i:j] for i, j in names(t)] or ["x"], "a pair of token numbers"),
    "one string": (lambda t: "Ada", "Return a list of (start, end) spans; you returned 'Ada'"),
    "a number": (lambda t: 3, "Return a list of (start, end) spans; you returned 3"),
    "triples": (lambda t: [(i, j, "PER") for i, j in names(t)], "a pair of token numbers"),
    "floats": (lambda t: [(float(i), float(j)) for i, j in names(t)], "a pair of token numbers"),
}


@pytest.mark.parametrize("wrong", WRONG_NAMES)
def test_wrong_names_are_told_what_is_wrong(wrong):
    function, message = WRONG_NAMES[wrong]
    verdict = exercises.check_names(function)
    assert not verdict
    assert message in verdict.message
