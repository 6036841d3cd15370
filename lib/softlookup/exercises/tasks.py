"""Checks: families, scores by hand, a pattern, tests that catch, rules, names."""

import math
import random
import re
from collections.abc import Callable
from numbers import Integral, Real
from textwrap import shorten

import numpy as np
import torch
from torch import Tensor

from softlookup.data import messages, split
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.words import (
    MEDICINES,
    MONEY,
    capital_spans,
    f1_score,
    medicine_spans,
    money_spans,
    precision,
    recall,
    rule_filter,
    rule_spans,
    token_offsets,
    word_tokens,
)

FAMILIES = {
    "What price will this flat fetch?": "regression",
    "Is this review friendly or hostile?": "classification",
    "Which companies does this article name?": "extraction",
    "Translate this letter into French.": "generation",
    "Find the court rulings that bear on this case.": "retrieval",
    "Which drugs and doses does this report mention?": "extraction",
    "How many minutes will it take to read this?": "regression",
    "Which questions of the forum are like this one?": "retrieval",
    "In which of twelve languages is this written?": "classification",
    "Write the next chapter of this story.": "generation",
}
"""Ten tasks, each with the family that its output gives it."""

OUTPUTS = {
    "classification": "one of some classes that are fixed beforehand",
    "generation": "new text",
    "regression": "a number",
    "extraction": "pieces of the text itself",
    "retrieval": "documents of a collection, the fitting ones first",
}
MOST_TESTS = 6
REQUIRED_F1 = 0.7
LOOKS_LIKE = {"a": "4@", "e": "3", "i": "1", "l": "1", "o": "0", "s": "5$"}
"""What a spammer writes for a letter."""
N_DISGUISES = 3
SCORES = {"precision": 2 / 3, "recall": 2 / 4, "F1": 4 / 7}
PATTERN_CASES = (
    ("Make $500 every week", True, "That is the rule's plainest case."),
    ("Hi! You can make $500 every week", True, "It may stand anywhere: no ^ at the front."),
    ("MAKE $500 EVERY WEEK", True, "Capitals or not: (?i) at the front ignores case."),
    ("make 500 every week", True, "The sign of the currency may be missing."),
    ("make £500 every week", True, "The pound is a currency, too."),
    ("make €500 every week", True, "The euro is a currency, too."),
    ("make $1,000 every week", True, "Thousands may have commas."),
    ("make $2,000,000 every year", True, "Thousands may have more than one comma."),
    ("make 10000 every month", True, "Large amounts may come without commas."),
    ("make 5 each day", True, "“each” belongs to the rule."),
    ("make $90 per month", True, "“per” belongs to the rule."),
    ("make $90 a year", True, "“a” belongs to the rule."),
    ("make  $90\ta day", True, "There may be more white space than one blank."),
    ("make $90 a day, and more", True, "Something may follow."),
    ("Make sure you attend class", False, "There is no amount in it."),
    ("make money every week", False, "“money” is no amount."),
    ("make every week count", False, "There is no amount in it."),
    ("make $ every week", False, "A sign alone is no amount."),
    ("make 500 cakes every week", False, "The amount must be followed by “every” or its like."),
    ("make 500 days a week", False, "The amount must be followed by “every” or its like."),
    ("make x5 every week", False, "“x5” is no number: there is more in it than digits."),
    ("make 5x every week", False, "“5x” is no number: there is more in it than digits."),
    ("make $$5 a day", False, "One sign of a currency is enough."),
    ("make 1,,00 every week", False, "Two commas never stand next to each other in a number."),
    ("make 1,00 every week", False, "A comma at the thousands has three digits behind it."),
    ("make 1000,000 a week", False, "Before the first comma there are at most three digits."),
    ("make 1,000000 a week", False, "Where one comma stands, none is left out."),
    ("make 5.50 a week", False, "An amount has digits and commas, and no decimal point."),
    ("remake 500 every week", False, "“remake” is another word: what marks the edge of a word?"),
    ("make 500 every weekend", False, "“weekend” is another word: mark the edge of a word."),
    ("make 500 any week", False, "“any” does not belong to the rule."),
    ("make 500 for week", False, "“for” does not belong to the rule."),
    ("make 500 an week", False, "“an” does not belong to the rule."),
    ("make 500 an hour", False, "“an” does not belong to the rule, nor does “hour”."),
    ("make 500 every hour", False, "“hour” does not belong to the rule."),
    ("make 500 every", False, "The period is missing."),
)
NOTES = (
    "we met Ada Lovelace on Monday",
    "Yesterday Ada Lovelace met Charles Babbage.",
    "Ask Ada, Grace and Alan Turing about it.",
    "Is Ada here? Grace asked it. No one but Mary Anne O'Brien knew!",
    "Tell Zoë\nÅngström (from Oslo), please",
    "nobody came",
    "Ada",
    "",
)


def _filter(
    medicine: Callable[[str], bool] = lambda text: bool(medicine_spans(text)),
    capitals: Callable[[str], bool] = lambda text: bool(capital_spans(text)),
    money: Callable[[str], bool] = lambda text: bool(money_spans(text)),
) -> Callable[[str], bool]:
    """The repaired filter, with other rules in some places."""
    return lambda text: medicine(text) or capitals(text) or money(text)


def _names_in(text: str) -> bool:
    return any(name in text.lower() for name in MEDICINES)


def _share_of_all(text: str) -> bool:
    return sum(character.isupper() for character in text) > len(text) / 2


def _half(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    return len(letters) > 0 and 2 * sum(map(str.isupper, letters)) >= len(letters)


def _searched(pattern: str, flags: int = re.IGNORECASE) -> Callable[[str], bool]:
    return lambda text: re.search(pattern, text, flags) is not None


FAULTY = {
    "its medicines must be written in small letters": _filter(
        medicine=lambda text: any(
            token in MEDICINES for token in word_tokens(text, lowercase=False)
        )
    ),
    "it finds a medicine's name inside a longer word": _filter(medicine=_names_in),
    "it asks whether a message has no small letter": _filter(
        capitals=lambda text: text.upper() == text
    ),
    "half of the letters in capitals are enough for it": _filter(capitals=_half),
    "it takes the share of capitals among all characters": _filter(capitals=_share_of_all),
    "its money rule looks at the start of the message only": _filter(
        money=lambda text: re.match(MONEY, text, re.IGNORECASE) is not None
    ),
    "its money rule wants small letters": _filter(money=_searched(MONEY, 0)),
    "its money rule does not know the word every": _filter(
        money=_searched(MONEY.replace("every|", "").replace("|every", ""))
    ),
    "its amounts have no commas": _filter(
        money=lambda text: any("," not in text[start:end] for start, end in money_spans(text))
    ),
    "its money rule wants no period behind the amount": _filter(
        money=_searched(r"\bmake\s+[$€£]?\d")
    ),
    "its money rule takes remake for make": _filter(money=_searched(MONEY.removeprefix(r"\b"))),
}
"""Filters with one fault each, by the fault."""


@exercise("give each task its family.")
def check_families(answer: Answer) -> str:
    """Check a dictionary from ten tasks to their families.

    Args:
        answer: The family of each task, by the task's words.

    Chapter: tasks#exercises
    """
    given = answer.value
    if not isinstance(given, dict):
        raise Wrong("Answer with a dictionary from each task to its family.")
    if all(family is ... or family is None for family in given.values()):
        answer.started(None)
    for task, family in FAMILIES.items():
        if task not in given:
            raise Wrong(f"The task “{task}” is missing: leave the keys as they are.")
        yours = given[task]
        if yours is ... or yours is None:
            raise Wrong(f"“{task}” has no family yet.")
        words = yours.lower().split() if isinstance(yours, str) else [""]
        if not words or words[-1] not in OUTPUTS:
            names = ", ".join(OUTPUTS)
            raise Wrong(f"{yours!r} is not one of the five families: {names}.")
        if words[-1] != family:
            raise Wrong(f"“{task}” is not {words[-1]}. Ask what comes out: "
                        f"{words[-1]} gives {OUTPUTS[words[-1]]}.")  # fmt: skip
    return "All ten: the output names the family."


@exercise("fill in the three scores.")
def check_scores(answer: Answer) -> str:
    """Check precision, recall and F1 of eight verdicts.

    Args:
        answer: A dictionary with "precision", "recall" and "F1"; two digits are enough.

    Chapter: tasks#exercises
    """
    found = {name: _share(name, value) for name, value in answer.named(SCORES).items()}
    right = {name: abs(found[name] - score) <= 0.005 for name, score in SCORES.items()}
    if all(right.values()):
        return "TP = 2, FP = 1, FN = 2; the three true negatives appear in no score."
    if not right["precision"] and abs(found["precision"] - found["recall"]) > 0.01:
        swapped = abs(found["precision"] - SCORES["recall"]) <= 0.005
        if swapped and abs(found["recall"] - SCORES["precision"]) <= 0.005:
            raise Wrong("Precision and recall have changed places: precision asks about what was "
                        "called spam, recall about what is spam.")  # fmt: skip
    if right["precision"] and right["recall"]:
        mean = (SCORES["precision"] + SCORES["recall"]) / 2
        plain = " That is the plain mean of the two." if abs(found["F1"] - mean) <= 0.005 else ""
        raise Wrong(f"Precision and recall are right, F1 is not {found['F1']:.4g}.{plain}")
    if any(abs(value - 5 / 8) <= 0.004 for name, value in found.items() if not right[name]):
        raise Wrong("5/8 is the accuracy, the share of right verdicts. True negatives count in "
                    "no other score.")  # fmt: skip
    wrong = next(name for name in SCORES if not right[name])
    asks = {"precision": "3 were called spam; how many of them are?",
            "recall": "4 are spam; how many of them were called so?",
            "F1": "2 TP / (2 TP + FP + FN)."}  # fmt: skip
    raise Wrong(f"The {wrong} is not {found[wrong]:.4g}: {asks[wrong]}")


@exercise("write the pattern as a string.")
def check_pattern(answer: Answer) -> str:
    """Check a pattern for "make AMOUNT every PERIOD", used with ``re.search``.

    Args:
        answer: A string, or a compiled pattern.

    Chapter: tasks#exercises
    """
    if not isinstance(answer.value, str | re.Pattern):
        raise Wrong(f"The pattern should be a string; you gave {answer.value!r}.")
    try:
        pattern = re.compile(answer.value)
    except re.error as error:
        raise Wrong(f"Python cannot read the pattern: {error}.") from None
    if not isinstance(pattern.pattern, str):
        raise Wrong("The pattern should be for text, not for bytes.")
    for text, wanted, advice in PATTERN_CASES:
        if (pattern.search(text) is not None) != wanted:
            verb = "should be found, and is not" if wanted else "is found, and should not be"
            raise Wrong(f"{text!r} {verb}. {advice}")
    return f"It finds what it should in {len(PATTERN_CASES)} texts, and nothing else."


@exercise("give six messages, each with its verdict.")
def check_tests(answer: Answer) -> str:
    """Check a few tests of the spam filter: each of eleven faulty filters must fail one of them.

    Args:
        answer: A dictionary from messages to verdicts, True for spam.

    Chapter: tasks#exercises
    """
    tests = answer.value
    if not isinstance(tests, dict) or not all(isinstance(text, str) for text in tests):
        raise Wrong("Give a dictionary from messages to verdicts.")
    if len(tests) > MOST_TESTS:
        raise Wrong(f"You have {len(tests)} tests; {MOST_TESTS} are enough.")
    for text, spam in tests.items():
        if not isinstance(answer.started(spam), bool):
            raise Wrong(f"The verdict on {text!r} should be True or False; yours is {spam!r}.")
        if rule_filter(text) != spam:
            said = [rule for rule, spans in rule_spans(text).items() if spans]
            fires = f"{' and '.join(said)} fires" if said else "no rule fires"
            raise Wrong(f"Even the repaired filter fails your test {text!r}: there {fires}.")
    missed = [
        fault
        for fault, faulty in FAULTY.items()
        if all(faulty(text) == spam for text, spam in tests.items())
    ]
    if missed:
        found = len(FAULTY) - len(missed)
        raise Wrong(f"Your tests find {found} of {len(FAULTY)} faulty filters. One that passes "
                    f"them all: {missed[0]}.")  # fmt: skip
    return f"With {len(tests)} tests you find all {len(FAULTY)} faulty filters."


@exercise("return True or False for a message.")
def check_rules(answer: Answer) -> str:
    """Check a filter of hand-made rules: its F1 on the test messages, and then in disguise.

    A disguise may change no verdict, on spam or on ham: so a filter that learns to see disguises,
    and not through them, does not pass.

    Args:
        answer: The learner's function of a text; it returns True for spam, else False.

    Chapter: tasks#exercises
    """
    test = split(messages())[1]
    truth = torch.tensor([message.spam for message in test])
    called = torch.tensor([_verdict(answer(message.text), message.text) for message in test])
    rules = torch.tensor([rule_filter(message.text) for message in test])
    score, baseline = f1_score(truth, called), f1_score(truth, rules)
    said = f"F1 = {score:.3f} on {len(test)} test messages; the three rules have {baseline:.3f}"
    if score >= REQUIRED_F1:
        for message, written in zip(test, called.tolist(), strict=True):
            for seed in range(N_DISGUISES):
                _same_in_disguise(answer, message.text, written, seed)
        return f"{said}. {N_DISGUISES * len(test)} disguises do not change a single verdict."
    if called.all() or not called.any():
        raise Wrong(f"{said}. Yours says the same of every message.")
    if f1_score(truth, ~called) >= REQUIRED_F1:
        raise Wrong(f"{said}. Have you exchanged True and False?")
    shares = f"precision {precision(truth, called):.3f}, recall {recall(truth, called):.3f}"
    low = "it accuses too much ham" if called.sum() > truth.sum() else "it misses too much spam"
    raise Wrong(f"{said}, and {REQUIRED_F1} is asked for. Yours has {shares}: {low}.")


@exercise("return a list of (start, end) spans.")
def check_names(answer: Answer) -> str:
    """Check a function that returns the token spans of all names in a text.

    Args:
        answer: The learner's function of a text; it returns pairs (start, end).

    Chapter: tasks#exercises
    """
    rng = random.Random(1)
    words = ["Ada", "Lovelace", "Zoë", "met", "the", "in", "Rome", "O'Brien", "we"]
    joints = [" ", " ", " ", " ", ", ", ". ", "? ", "\n", "! ", "-"]
    made = ["".join(rng.choice(words) + rng.choice(joints) for _ in range(rng.randrange(2, 13)))
            for _ in range(40)]  # fmt: skip
    for text in [*NOTES, *made]:
        _same_names(_pairs(answer(text)), name_spans(text), text)
    return f"All names in {len(NOTES) + len(made)} notes."


def _same_in_disguise(answer: Answer, text: str, written: bool, seed: int) -> None:
    hidden = disguised(text, seed)
    if _verdict(answer(hidden), hidden) != written:
        names = {True: "spam", False: "ham"}
        raise Wrong(f"A disguise changes your verdict: {shorten(text, 70)!r} is {names[written]} "
                    f"as it was written, and {names[not written]} as {shorten(hidden, 70)!r}."
                    )  # fmt: skip


def disguised(text: str, seed: int) -> str:
    """A message in the hands of somebody who knows the rules: the eye still reads the same.

    All is in lower case; in some words letters give way to signs that look like them, and some
    have a full stop or a hyphen between all their letters.

    Args:
        text: Any text.
        seed: Which of the disguises.

    Returns:
        The text, with each of its words in disguise, or at least in lower case.

    Chapter: tasks#exercises

    Example:
        >>> disguised("Claim your FREE prize!", 3)
        'c1@1m y0ur f.r.e.e prize!'
    """
    rng = random.Random(seed)

    def hide(match: re.Match) -> str:
        word = match[0].lower()
        if rng.random() < 1 / 2:
            word = "".join(rng.choice(LOOKS_LIKE.get(letter, letter)) for letter in word)
        return rng.choice(".-").join(word) if rng.random() < 1 / 3 else word

    return re.sub(r"[^\W\d_]+", hide, text)


def _verdict(found: object, text: str) -> bool:
    if isinstance(found, Tensor):
        found = found.tolist()
    if not isinstance(found, bool | np.bool_):
        raise Wrong(f"For {text!r} you returned {found!r}: return True or False.")
    return bool(found)


def _share(name: str, value: object) -> float:
    if isinstance(value, Tensor | np.ndarray) and math.prod(value.shape) == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real):
        raise Wrong(f"The {name} should be a number; you gave {value!r}.")
    if not 0 <= value <= 1:
        raise Wrong(f"The {name} is a share, from 0 to 1; you gave {float(value):.4g}.")
    return float(value)


def name_spans(text: str) -> list[tuple[int, int]]:
    """The spans that ``check_names`` wants: runs of capitalised words, sentence openers left out.

    Args:
        text: Any text.

    Returns:
        Slices of word tokens, in order.

    Chapter: tasks#exercises

    Example:
        >>> name_spans("Ask Ada Lovelace. Grace knows Alan.")
        [(1, 3), (5, 6)]
    """
    offsets = token_offsets(text)
    ends = [0, *(end for _, end in offsets)]
    gaps = [text[ends[i] : start] for i, (start, _) in enumerate(offsets)]
    is_name = [
        text[start].isupper() and i > 0 and not re.search(r"[.?!]", gaps[i])
        for i, (start, _) in enumerate(offsets)
    ]
    starts = [
        i for i, name in enumerate(is_name) if name and not (is_name[i - 1] and gaps[i].isspace())
    ]
    spans = []
    for start in starts:
        end = start + 1
        while end < len(offsets) and is_name[end] and end not in starts:
            end += 1
        spans.append((start, end))
    return spans


def _pairs(found: object) -> list[tuple[int, int]]:
    if isinstance(found, Tensor | np.ndarray):
        found = found.tolist()
    if isinstance(found, str | dict) or not hasattr(found, "__iter__"):
        raise Wrong(f"Return a list of (start, end) spans; you returned {found!r}.")
    pairs = []
    for span in found:
        whole = isinstance(span, tuple | list) and all(isinstance(i, Integral) for i in span)
        if not whole or len(span) != 2:
            raise Wrong(f"Each span should be a pair of token numbers; one of yours is {span!r}.")
        pairs.append((int(span[0]), int(span[1])))
    return pairs


def _same_names(yours: list[tuple[int, int]], wanted: list[tuple[int, int]], text: str) -> None:
    if yours == wanted:
        return
    offsets = token_offsets(text)
    case = f"In {text!r}"
    if yours == [(offsets[i][0], offsets[j - 1][1]) for i, j in wanted]:
        raise Wrong(f"{case} you counted characters; count tokens.")
    if yours == [(i, j - 1) for i, j in wanted]:
        raise Wrong(f"{case} your ends are one too small: the end is not included.")
    if sorted(yours) == wanted:
        raise Wrong(f"{case} give the spans in the order of the text.")
    inside = [i for start, end in yours for i in range(start, end)]
    if yours == [(i, i + 1) for start, end in wanted for i in range(start, end)]:
        raise Wrong(f"{case} two words of one name belong into one span.")
    if inside == [i for start, end in wanted for i in range(start, end)]:
        raise Wrong(f"{case} your spans run on across a sign: only white space joins two names.")
    words = [text[start:end] for start, end in offsets]
    for span in yours:
        if span not in wanted:
            said = " ".join(words[span[0] : span[1]])
            raise Wrong(f"{case} the span {span}, {said!r}, is not a name by the rule. Does it "
                        "open a sentence? Does every word begin with a capital?")  # fmt: skip
    missing = next(span for span in wanted if span not in yours)
    raise Wrong(f"{case} the name {' '.join(words[missing[0] : missing[1]])!r}, span {missing}, "
                "is missing.")  # fmt: skip
