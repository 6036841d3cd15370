"""Checks: fertility, a table's share, ways to cut, the next character, and merges."""

from collections.abc import Mapping

from softlookup.exercises.byte_pairs import check_merge, check_pieces
from softlookup.exercises.compare import advised, scalar
from softlookup.exercises.verdict import Answer, Wrong, exercise

__all__ = [
    "check_fertility",
    "check_merge",
    "check_next_character",
    "check_pieces",
    "check_share",
    "check_ways",
]

SECOND = "_The _best _grad i ent _desc ent _method _is _grad _stud ent _desc ent"

MODELS = {
    "GPT-2, small": (50_257, 768, 124_439_808, True),
    "Llama 3 8B": (128_256, 4_096, 8_030_261_248, False),
    "a toy": (100, 7, 5_000, False),
}

WAYS = (
    ("abab", ("a", "b", "ab", "bab")),
    ("aaaa", ("a", "aa")),
    ("banana", ("b", "a", "n", "an", "na", "ana", "ban")),
    ("abc", ("ab", "bc")),
    ("a" * 50, ("a", "aa", "aaa")),
)

SPACED = {" ": 0.05, "a": 0.1, "c": 0.1, "t": 0.15, " cat": 0.2, " a": 0.25, "at": 0.15}
LETTERS = {"a": 0.2, "b": 0.3, "ab": 0.3, "abb": 0.2}
NEXT = (
    ("", LETTERS),
    ("a", LETTERS),
    ("bab", LETTERS),
    (" a ", SPACED),
    (" cat c", SPACED),
    ("ab" * 30, LETTERS),
)
CUT_AT_THE_END = (
    "You assume that a token ends where the prefix ends. It may also reach over that place, and "
    "then the prefix shows only its beginning."
)
CUT_AFTER = (
    "You count only texts in which a token ends right after the next character. It may go on."
)


@exercise("return the number of tokens per word.")
def check_fertility(answer: Answer) -> str:
    """Check a function of (pieces) that returns tokens per word.

    Args:
        answer: The learner's function; a piece that begins a word has "_" before it.

    Chapter: tokenization#exercises
    """
    cases = ["_a", "_un believ able", "_to _be", "_ken nel s _are _ken nel s"]
    for pieces in [case.split(" ") for case in [SECOND, *cases]]:
        words = sum(piece.startswith("_") for piece in pieces)
        expected = len(pieces) / words
        value = scalar(answer(pieces), "The fertility")
        if not abs(value - expected) <= 1e-6:
            raise Wrong(_fertility_advice(value, expected, pieces, words))
    return "14/9 = 1.556 on the lecture's sentence, and right on four others."


@exercise("return which share of the parameters stands in tables.")
def check_share(answer: Answer) -> str:
    """Check a function of (vocab_size, d_model, total, tied): the share of a model's tables.

    Args:
        answer: The learner's function.

    Chapter: tokenization#exercises
    """
    for name, (vocab_size, d_model, total, tied) in MODELS.items():
        one = vocab_size * d_model / total
        expected = one if tied else 2 * one
        value = scalar(answer(vocab_size, d_model, total, tied), "The share")
        if abs(value - expected) <= 1e-6:
            continue
        mistakes = [
            (one, "Without tying there are two tables, one at each end of the model."),
            (2 * one, "With tying one table serves at both ends: count it once."),
            (100 * expected, "That is in per cent; a share lies between 0 and 1."),
            (1 / expected, "Turn the fraction over."),
            (expected * total, "That is how many parameters the tables have. Which share is it?"),
        ]
        raise Wrong(f"For {name} yours is {value:.6g}. {advised(value, mistakes)}".rstrip())
    return "31 % of GPT-2 small, and 13 % of Llama 3 8B, which has two tables."


@exercise("return in how many ways the text can be cut.")
def check_ways(answer: Answer) -> str:
    """Check a function of (text, pieces) that counts the rows of tokens that join to the text.

    Args:
        answer: The learner's function.

    Chapter: tokenization#exercises
    """
    for text, pieces in WAYS:
        expected = count_ways(text, pieces)
        value = scalar(answer(text, list(pieces)), "The number of ways")
        if value == expected:
            continue
        shown = f"{text!r} with {', '.join(pieces)}" if len(text) < 20 else "50 letters a"
        told = f"For {shown} yours is {value:.0f}, and {expected} is right."
        if value == 2.0 ** (len(text) - 1):
            told += " Not every cut gives pieces that are in the list."
        elif value == 1:
            told += " Several rows of tokens can join to one text."
        elif value == expected - 1:
            told += " Is the text as a single piece, or as single letters, among them?"
        raise Wrong(told)
    return "Right on five texts, one of which has more ways than anybody could list."


@exercise("return a probability for each next character.")
def check_next_character(answer: Answer) -> str:
    """Check a function of (prefix, p): how a text goes on, over all ways to cut its beginning.

    Args:
        answer: The learner's function. ``p`` has the probability of each piece; an endless text is
            drawn piece by piece. It returns a dictionary with the probability of each character to
            be the next one after the prefix.

    Chapter: tokenization#exercises
    """
    for prefix, p in NEXT:
        expected = next_character(prefix, p)
        found = _distribution(answer(prefix, dict(p)), expected)
        if _same(found, expected):
            continue
        shown = repr(prefix) if len(prefix) < 20 else "'ab' thirty times"
        letter = max(expected, key=lambda one: abs(found[one] - expected[one]))
        told = f"After {shown}, {letter!r} has probability {expected[letter]:.4f}; yours is "
        told += f"{found[letter]:.4f}. "
        raise Wrong(told + _next_advice(found, prefix, p))
    return "Exact on six prefixes, wherever their last token may end."


def count_ways(text: str, pieces: tuple[str, ...]) -> int:
    """In how many ways a text can be cut into these pieces."""
    ways = [1]
    for end in range(1, len(text) + 1):
        ways.append(sum(ways[end - len(p)] for p in pieces if text[:end].endswith(p)))
    return ways[-1]


def cut_probabilities(text: str, p: Mapping[str, float]) -> list[float]:
    """For each place: the probability that a text begins so, and that a token ends there."""
    cut = [1.0]
    for end in range(1, len(text) + 1):
        cut.append(sum(cut[start] * p.get(text[start:end], 0.0) for start in range(end)))
    return cut


def begins(text: str, p: Mapping[str, float]) -> float:
    """The probability that an endless text of independent pieces begins with these characters."""
    if not text:
        return 1.0
    cut = cut_probabilities(text[:-1], p)
    return sum(
        cut[start] * share
        for start in range(len(text))
        for piece, share in p.items()
        if piece.startswith(text[start:])
    )


def next_character(prefix: str, p: Mapping[str, float]) -> dict[str, float]:
    """The probability of each character after a prefix."""
    whole = begins(prefix, p)
    return {letter: begins(prefix + letter, p) / whole for letter in _letters(p)}


def _letters(p: Mapping[str, float]) -> list[str]:
    return sorted(set("".join(p)))


def _distribution(found: object, expected: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(found, dict):
        raise Wrong("Return a dictionary: each character with its probability.")
    odd = [key for key in found if key not in expected]
    if odd:
        raise Wrong(f"{odd[0]!r} is no character of the pieces.")
    return {one: scalar(found.get(one, 0.0), f"The probability of {one!r}") for one in expected}


def _same(found: Mapping[str, float], other: Mapping[str, float]) -> bool:
    return all(abs(found[one] - other[one]) <= 1e-9 for one in other)


def _next_advice(found: Mapping[str, float], prefix: str, p: Mapping[str, float]) -> str:
    letters = _letters(p)
    first = {one: sum(q for piece, q in p.items() if piece[0] == one) for one in letters}
    if _same(found, first):
        return CUT_AT_THE_END
    ended = {one: cut_probabilities(prefix + one, p)[-1] for one in letters}
    total = sum(ended.values())
    if _same(found, ended) or (total and _same(found, {k: v / total for k, v in ended.items()})):
        return CUT_AFTER
    if _same(found, {one: begins(prefix + one, p) for one in letters}):
        return "Divide by the probability of the prefix itself, so that they sum to 1."
    if abs(sum(found.values()) - 1) > 1e-6:
        return f"Your probabilities sum to {sum(found.values()):.4g}, not to 1."
    return "Which token covers the last character of the prefix, and where may it have begun?"


def _fertility_advice(value: float, expected: float, pieces: list[str], words: int) -> str:
    if abs(value * expected - 1) < 1e-6:
        return "That is words per token: turn the fraction over."
    if abs(value - expected) < 0.051:
        return f"Do not round: {len(pieces)}/{words} is {expected:.6f}, yours is {value:.6f}."
    if value == len(pieces):
        return f"{value:.0f} is the number of tokens; divide it by the number of words."
    return f"{pieces} are {len(pieces)} tokens and {words} words; yours is {value:.4g}."
