"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import re
from fractions import Fraction

import numpy as np
import torch

from softlookup.exercises.tasks import (
    FAMILIES,
    OUTPUTS,
    check_families,
    check_names,
    check_pattern,
    check_rules,
    check_scores,
    check_tests,
)
from softlookup.words import MONEY, rule_filter, token_offsets

RIGHT, WRONG = {}, {}


# Families


SPELLINGS = ["{}", "{} ", "Document {}", "text {}"]
RIGHT[check_families] = [
    ({task: spelling.format(family).title() for task, family in tasks},)
    for spelling in SPELLINGS
    for tasks in [list(FAMILIES.items()), list(FAMILIES.items())[::-1]]
]
WRONG[check_families] = [
    ({**FAMILIES, task: wrong}, f"“{task}” is not {wrong}. Ask what comes out", OUTPUTS[wrong])
    for task, family in FAMILIES.items()
    for wrong in sorted(set(FAMILIES.values()) - {family})
]
WRONG[check_families] += [
    (change(FAMILIES), message)
    for change, message in [
        (lambda a: list(a.values()), "Answer with a dictionary"),
        (lambda a: {k: v for k, v in a.items() if "letter" not in k}, "is missing: leave the keys"),
        (lambda a: {**a, "Translate this letter into French.": ...}, "has no family yet"),
        (lambda a: {**a, "Translate this letter into French.": "translation"}, "not one of the"),
        (lambda a: {**a, "Translate this letter into French.": ""}, "not one of the five families"),
        (lambda a: {**a, "Translate this letter into French.": 2}, "2 is not one of the five"),
        (lambda a: dict.fromkeys(a, ...), "Nothing to check so far"),
        (lambda a: dict.fromkeys(a), "Nothing to check so far"),
    ]
]


# Scores

SCORES_RIGHT = {"precision": 2 / 3, "recall": 1 / 2, "F1": 4 / 7}


RIGHT[check_scores] = [
    ({name: kind(score) for name, score in SCORES_RIGHT.items()},)
    for kind in [
        float,
        lambda v: round(v, 2),
        lambda v: round(v, 3),
        torch.tensor,
        np.float32,
        Fraction,
        np.array,
        lambda v: np.array([v], dtype=np.float32),
        lambda v: torch.tensor([v]),
    ]
]


WRONG[check_scores] = [
    ({**SCORES_RIGHT, **change}, message)
    for change, message in [
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
    ]
]


WRONG[check_scores] += [
    (answer, "the keys") for answer in [[2 / 3, 1 / 2, 4 / 7], {"precision": 2 / 3}, 0.5]
]


# The pattern

NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
BOOKS = (
    rf"(?i)\bmake\s+[$£€]?{NUMBER}\s+"
    r"(?:every|each|per|a)\s+(?:day|week|month|year)\b"
)


AFTER_NO_WORD = (
    r"(?i)(?<!\w)make\s+[€£$]?[1-9](\d*|\d{0,2}(,\d{3})*)\s+"
    r"(every|each|per|a)\s+(day|week|month|year)(?!\w)"
)
BETWEEN_NO_WORDS = (
    r"(?i)(^|\W)make\s+[€£$]?(\d+|\d\d?\d?(,\d\d\d)+)\s+"
    r"(every|each|per|a)\s+(day|week|month|year)(\W|$)"
)
RIGHT[check_pattern] = [
    (BOOKS,),
    (re.compile(BOOKS),),
    (AFTER_NO_WORD,),
    (BETWEEN_NO_WORDS,),
]


WRONG[check_pattern] = {
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
    "no comma": (BOOKS.replace(NUMBER, r"\d+"), "Thousands may have commas"),
    "one comma": (BOOKS.replace("{3})+", "{3})?"), "more than one comma"),
    "always commas": (
        BOOKS.replace(NUMBER, r"\d{1,3}(?:,\d{3})*"),
        "Large amounts may come without commas",
    ),
    "a comma anywhere or nowhere": (
        BOOKS.replace(NUMBER, r"\d+(?:,\d{3})*"),
        "'make 1000,000 a week' is found, and should not be. Before the first comma",
    ),
    "each comma may be missing": (
        BOOKS.replace(NUMBER, r"\d{1,3}(?:,?\d{3})*"),
        "'make 1000,000 a week' is found",
    ),
    "commas left out behind the first": (
        BOOKS.replace(NUMBER, r"(?:\d+|\d{1,3},\d{3}(?:,?\d{3})*)"),
        "'make 1,000000 a week' is found",
    ),
    "the chapter's": (re.compile(MONEY, re.IGNORECASE), "and no decimal point"),
    "for": (BOOKS.replace("per|", "per|for|"), "“for” does not belong to the rule"),
    "an": (BOOKS.replace("|a)", "|an?)"), "“an” does not belong to the rule."),
    "hour": (BOOKS.replace("(?:day", "(?:hour|day"), "“hour” does not belong to the rule."),
    "no each": (BOOKS.replace("each|", ""), "“each” belongs to the rule"),
    "no month": (BOOKS.replace("month|", ""), "'make 10000 every month' should be found"),
    "one blank": (BOOKS.replace(r"\s+", " "), "more white space than one blank"),
    "to the end only": (BOOKS.replace(r"year)\b", "year)$"), "Something may follow"),
    "no edge in front": (BOOKS.replace(r"\bmake", "make"), "“remake” is another word"),
    "no edge behind": (BOOKS.removesuffix(r"\b"), "“weekend” is another word"),
    "any amount": (BOOKS.replace("[$£€]?" + NUMBER, r"\S+"), "“money” is no amount"),
    "something with a digit": (
        BOOKS.replace("[$£€]?" + NUMBER, r"\S*\d"),
        "'make x5 every week' is found, and should not be",
    ),
    "letters behind": (BOOKS.replace(NUMBER, NUMBER + r"\w*"), "'make 5x every week' is found"),
    "signs": (BOOKS.replace("[$£€]?", "[$£€]*"), "One sign of a currency is enough"),
    "commas anywhere": (BOOKS.replace(NUMBER, r"\d[\d,]*"), "Two commas"),
    "groups of any size": (
        BOOKS.replace(NUMBER, r"\d+(?:,\d+)*"),
        "A comma at the thousands has three digits behind it",
    ),
    "the sign is enough": (BOOKS.replace(NUMBER, r"[\d,]*"), "A sign alone"),
    "anything between": (BOOKS.replace(r"\s+(?:every", r".+(?:every"), "followed by “every”"),
    "any quantifier": (BOOKS.replace("(?:every|each|per|a)", r"\w+"), "“any” does not belong"),
    "everything": (r"(?i)make", "There is no amount in it"),
    "nothing": ("(?!)", "should be found"),
    "empty": ("", "There is no amount in it"),
}


WRONG[check_pattern] |= {
    "a bracket open": ("(make", "Python cannot read the pattern: missing )"),
    "a number": (7, "The pattern should be a string; you gave 7"),
    "a list": (["make"], "The pattern should be a string"),
    "bytes": (re.compile(b"make"), "for text, not for bytes"),
}


# Tests that catch


SIX = {
    "hi! Make $1,000 every week": True,
    "an APIXABAN tablet for the night": True,
    "BUY NOW!!! 12345": True,
    "12345": False,
    "AB cd": False,
    "remake 500 every week, make 500 cakes, say viagrant": False,
}
OTHER_SIX = {
    "You could Make £2,500.50 EVERY week": True,
    "my Tadalafil has not come": True,
    "HELP? 999 999 999": True,
    "...": False,
    "Aa": False,
    "unviagra, remake 5 a day, make 5 of them": False,
}


def without(k):
    return {text: spam for i, (text, spam) in enumerate(SIX.items()) if i != k}


RIGHT[check_tests] = [(SIX,), (OTHER_SIX,)]
WRONG[check_tests] = {
    "no promise": (without(0), "find 7 of 11 faulty filters"),
    "no medicine": (without(1), "its medicines must be written in small letters"),
    "no shout": (without(2), "among all characters"),
    "no number": (without(3), "no small letter"),
    "no half": (without(4), "half of the letters"),
    "no twin": (without(5), "inside a longer word"),
    "a wrong verdict": ({"Make 5 a day": False}, "there money fires"),
    "another wrong verdict": ({"Cheap pills": True}, "there no rule fires"),
    "seven": ({**SIX, "hello": False}, "6 are enough"),
    "a list": (list(SIX), "a dictionary"),
    "numbers": ({"12345": 0}, "should be True or False"),
    "half done": ({"12345": ...}, "Nothing to check so far"),
    "none": ({}, "find 0 of 11"),
}


# Rules by hand


HINTS = (
    r"(?i)https?://|\b(claim|winner|won|prize|free|cash|loan|urgent|confirm|verify|dear|reply"
    r"|deposit|fee|shipping|guaranteed|investment|prescription|gift cards?|www)\b"
)
WORDS = [
    "http",
    "https",
    "claim",
    "won",
    "prize",
    "free",
    "cash",
    "loan",
    "urgent",
    "confirm",
    "verify",
    "dear",
    "reply",
]
MAY_BE = {"a": "[a4@]", "e": "[e3]", "i": "[i1]", "l": "[l1]", "o": "[o0]", "s": "[s5$]"}


def plain(text):
    """Words that sound like spam, as they are written."""
    return re.search(HINTS, text) is not None


def by_hand(text):
    """Another right solution: words that sound like spam, each in all its disguises."""
    words = ("[.-]?".join(MAY_BE.get(letter, letter) for letter in word) for word in WORDS)
    return re.search("|".join(words), text.lower()) is not None


def undone(text, signs):
    """A wrong solution: what is in disguise is turned back, in one of the ways it can be read."""
    text = text.lower().translate(str.maketrans(signs))
    return plain(re.sub(r"(?<=[a-z])[.-](?=[a-z])", "", text))


def caught(text):
    """A wrong solution: who is in disguise has something to hide."""
    return plain(text) or re.search(r"(?i)[a-z][0134@$][a-z]|[a-z]\.[a-z]\.", text) is not None


AS_I = {"4": "a", "@": "a", "3": "e", "1": "i", "0": "o", "5": "s", "$": "s"}
RIGHT[check_rules] = [
    (by_hand,),
    (lambda text: np.bool_(by_hand(text)),),
    (lambda text: torch.tensor(by_hand(text)),),
]
WRONG[check_rules] = {
    "the chapter's": (rule_filter, "it misses too much spam"),
    "links alone": (lambda text: "http" in text, "it misses too much spam"),
    "every long message": (lambda text: len(text) > 60, "it accuses too much ham"),
    "always spam": (lambda text: True, "says the same of every message"),
    "always ham": (lambda text: False, "says the same of every message"),
    "turned": (lambda text: not by_hand(text), "exchanged True and False"),
    "a list of words": (plain, "A disguise changes your verdict", "is spam as it was written"),
    "six words": (
        lambda text: re.search("(?i)http|won|free|claim|pay|reply", text) is not None,
        "A disguise changes your verdict",
    ),
    "a one is an i": (lambda text: undone(text, AS_I), "A disguise changes your verdict"),
    "a one is an l": (lambda text: undone(text, AS_I | {"1": "l"}), "changes your verdict"),
    "capitals count": (lambda text: by_hand(text) or text.isupper(), "changes your verdict"),
    "a disguise is spam": (caught, "is ham as it was written, and spam as"),
    "numbers": (lambda text: int(by_hand(text)), "return True or False"),
    "an error": (lambda text: text.contains("prize"), "has no attribute 'contains'"),
}


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


RIGHT[check_names] = [
    (names,),
    (lambda text: [list(span) for span in names(text)],),
    (lambda text: (span for span in names(text)),),
    (lambda text: np.array(names(text)),),
    (lambda text: torch.tensor(names(text)),),
]


def characters(text):
    offsets = token_offsets(text)
    return [(offsets[i][0], offsets[j - 1][1]) for i, j in names(text)]


def one_by_one(text):
    return [(i, i + 1) for start, end in names(text) for i in range(start, end)]


WRONG[check_names] = {
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
