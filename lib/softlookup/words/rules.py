"""A spam filter without learning: three rules that a person wrote, and where in a text they fire.

The rules are those of lecture 000: the name of a medicine, mostly capital letters, and
"make AMOUNT every PERIOD". A place in a text is a slice of characters, (start, end).
"""

import re
from collections.abc import Sequence
from itertools import groupby

from softlookup.checks import checked, require

MEDICINES = ("acetylcysteine", "apixaban", "ozempic", "sildenafil", "tadalafil", "viagra")
"""The names that the first rule looks for, in lower case."""

MONEY = (
    r"\bmake\s+[$€£]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?\s+"
    r"(?:per|for|an?|every|each)\s+(?:hour|day|week|month|year)\b"
)
"""The pattern of the third rule, for ``re.search``; case is ignored."""


@checked
def medicine_pattern(medicines: Sequence[str] = MEDICINES) -> str:
    r"""A regular expression for any of some names, as whole words.

    Args:
        medicines: Names with at least one letter each.

    Returns:
        A pattern for ``re.search``, with the longest names first.

    Raises:
        ValueError: There is no name, a name has no letter, or ``medicines`` is one string.

    Source: lecture 000, "Heuristics". Chapter: tasks#the-medicine-rule.

    Example:
        >>> medicine_pattern(["viagra", "apixaban"])
        '(?<!\\w)(?:apixaban|viagra)(?!\\w)'
    """
    named = all(any(map(str.isalpha, name)) for name in medicines)
    rule = "medicines must be names, each with a letter in it"
    require(named and len(medicines) > 0, rule, medicines=medicines)
    longest_first = sorted(medicines, key=len, reverse=True)
    return rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)"


@checked
def medicine_spans(text: str, medicines: Sequence[str] = MEDICINES) -> list[tuple[int, int]]:
    """Where a text names a medicine: whole words, in small letters or capitals.

    Args:
        text: Any text.
        medicines: The names to look for.

    Returns:
        One slice of characters a name, in order; no two overlap.

    Raises:
        ValueError: ``text`` is not a string, or as ``medicine_pattern``.

    Source: lecture 000, "Heuristics". Chapter: tasks#the-medicine-rule.

    Example:
        >>> medicine_spans("VIAGRA or apixaban?")
        [(0, 6), (10, 18)]
    """
    return _spans(medicine_pattern(medicines), text)


@checked
def capital_share(text: str) -> float:
    """Of the letters of a text, the share that are capitals.

    Args:
        text: Any text; what is no letter does not count.

    Returns:
        A number from 0 to 1; 0.0 where there is no letter.

    Raises:
        ValueError: ``text`` is not a string.

    Source: lecture 000, "Heuristics". Chapter: tasks#the-capitals-rule.

    Example:
        >>> capital_share("BUY it 4 me!"), capital_share("12345")
        (0.42857142857142855, 0.0)
    """
    letters = [character for character in text if character.isalpha()]
    return sum(letter.isupper() for letter in letters) / len(letters) if letters else 0.0


@checked
def capital_spans(text: str) -> list[tuple[int, int]]:
    """Where a text shouts: its runs of capitals, if more than half of its letters are capitals.

    Args:
        text: Any text.

    Returns:
        One slice of characters a run, in order; none where half of the letters or more are small.

    Raises:
        ValueError: ``text`` is not a string.

    Source: lecture 000, "Heuristics". Chapter: tasks#the-capitals-rule.

    Example:
        >>> capital_spans("BUY NOW ok"), capital_spans("Buy now")
        ([(0, 3), (4, 7)], [])
    """
    if capital_share(text) <= 0.5:
        return []
    runs = groupby(range(len(text)), key=lambda i: text[i].isalpha() and text[i].isupper())
    places = [list(run) for capitals, run in runs if capitals]
    return [(run[0], run[-1] + 1) for run in places]


@checked
def money_spans(text: str) -> list[tuple[int, int]]:
    """Where a text promises money: "make", an amount, "every" or its like, and a period of time.

    The sign of the currency may be missing, thousands may have commas, and it may stand anywhere.

    Args:
        text: Any text.

    Returns:
        One slice of characters a promise, in order; no two overlap.

    Raises:
        ValueError: ``text`` is not a string.

    Source: lecture 000, "Heuristics". Chapter: tasks#the-money-rule.

    Example:
        >>> money_spans("Hi! Make $1,000 every week"), money_spans("Make sure you attend class")
        ([(4, 26)], [])
    """
    return _spans(MONEY, text)


@checked
def rule_spans(text: str) -> dict[str, list[tuple[int, int]]]:
    """What each of the three rules finds in a text; a rule that finds nothing does not fire.

    Args:
        text: Any text.

    Returns:
        For "medicine", "capitals" and "money" the slices of characters, in order.

    Raises:
        ValueError: ``text`` is not a string.

    Source: lecture 000, "Heuristics". Chapter: tasks#optional-the-filter.

    Example:
        >>> rule_spans("Make 90 a day with viagra")
        {'medicine': [(19, 25)], 'capitals': [], 'money': [(0, 13)]}
    """
    return {
        "medicine": medicine_spans(text),
        "capitals": capital_spans(text),
        "money": money_spans(text),
    }


@checked
def rule_filter(text: str) -> bool:
    """Whether a message is spam by the rules: it is if at least one of the three fires.

    Args:
        text: Any text.

    Returns:
        True for spam, False for ham.

    Raises:
        ValueError: ``text`` is not a string.

    Source: lecture 000, "Heuristics". Chapter: tasks#optional-the-filter.

    Example:
        >>> rule_filter("BUY NOW cheap"), rule_filter("See you tomorrow... maybe")
        (True, False)
    """
    return any(rule_spans(text).values())


def _spans(pattern: str, text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
