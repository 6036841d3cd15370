"""Numbers in words, French and English: a small language whose translations are all known."""

from softlookup.checks import require, require_int

_FRENCH = [
    "zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix",
    "onze", "douze", "treize", "quatorze", "quinze", "seize",
]  # fmt: skip
_ENGLISH = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
]  # fmt: skip
_FRENCH_TENS = [
    "-", "-", "vingt", "trente", "quarante", "cinquante", "soixante",
]  # fmt: skip
_ENGLISH_TENS = [
    "-", "-", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
]  # fmt: skip
LARGEST = 999


def french_number(n: int) -> list[str]:
    """A number in French, word by word, without hyphens.

    Args:
        n: From 1 to 999.

    Returns:
        The words. From 70 on French counts in twenties: 97 is four twenties and seventeen.

    Raises:
        ValueError: ``n`` is no integer from 1 to 999.

    Source: the spelling in use before the reform of 1990. Chapter: data_card#numbers-in-words.

    Example:
        >>> " ".join(french_number(297))
        'deux cent quatre vingt dix sept'
    """
    _require_number(n)
    hundreds, rest = divmod(n, 100)
    words = [] if hundreds == 0 else ["cent"] if hundreds == 1 else [_FRENCH[hundreds], "cent"]
    if rest == 0:
        return [*words[:-1], "cents"] if hundreds > 1 else words
    return words + _french_below_100(rest)


def english_number(n: int) -> list[str]:
    """A number in English, word by word, without hyphens and without "and".

    Args:
        n: From 1 to 999.

    Returns:
        The words.

    Raises:
        ValueError: ``n`` is no integer from 1 to 999.

    Source: common spelling. Chapter: data_card#numbers-in-words.

    Example:
        >>> " ".join(english_number(297))
        'two hundred ninety seven'
    """
    _require_number(n)
    hundreds, rest = divmod(n, 100)
    words = [_ENGLISH[hundreds], "hundred"] if hundreds else []
    if rest >= 20:
        words.append(_ENGLISH_TENS[rest // 10])
        rest %= 10
    return [*words, _ENGLISH[rest]] if rest else words


def _french_below_100(n: int) -> list[str]:
    if n <= 16:
        return [_FRENCH[n]]
    if n < 20:
        return ["dix", _FRENCH[n - 10]]
    if n < 80:
        tens = min(n // 10, 6)
        rest = n - 10 * tens
        joint = ["et"] if rest in (1, 11) else []
        return [_FRENCH_TENS[tens], *joint, *(_french_below_100(rest) if rest else [])]
    if n == 80:
        return ["quatre", "vingts"]
    return ["quatre", "vingt", *_french_below_100(n - 80)]


def _require_number(n: int) -> None:
    require_int(1, n=n)
    require(n <= LARGEST, f"n must be at most {LARGEST}", n=n)
