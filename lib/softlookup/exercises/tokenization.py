"""Checks of chapter 6: texts glued together, fertility, costs, patches, and its merges."""

from collections import Counter

from softlookup.exercises.byte_pairs import check_encode, check_merge
from softlookup.exercises.verdict import Answer, Wrong, exercise

__all__ = [
    "check_encode",
    "check_fertility",
    "check_merge",
    "check_parameters",
    "check_patches",
    "check_rejoin",
]

GRADIENT = "The best gradient descent method is grad student descent"
_SECOND = "_The _best _grad i ent _desc ent _method _is _grad _stud ent _desc ent"
_FIRST = "_Hello , _y’ all ! _How _are _you [UNK] ?"
PRINTED = {"hello": _FIRST.split(), "gradient": _SECOND.split()}
LOST = Counter({" ": 2, "'": 1, "😁": 1})


@exercise(
    "return the text that the pieces make.", "say which example is broken, and what is missing."
)
def check_rejoin(function: Answer, answer: Answer) -> str:
    """Check a function that glues pieces together, and what the lecture's first example lost.

    Args:
        function: The learner's function of (pieces).
        answer: A dictionary with "broken", the name of an example, and "missing", characters.

    Chapter: tokenization#exercises
    """
    cases = [
        (PRINTED["gradient"], GRADIENT),
        (PRINTED["hello"], "Hello, y’all! How are you[UNK]?"),
        (["a", "_b"], "a b"),
        (["_", "_", "_a"], "  a"),
        (["_a", "_", "_b", "_"], "a  b "),
    ]
    for pieces, text in cases:
        yours = function(pieces)
        if yours != text:
            raise Wrong(_rejoin_advice(yours, text, pieces))
    given = dict(_values(answer, answer.value, ("broken", "missing"), quoted=True))
    if given["broken"] != "hello":
        raise Wrong(f'"broken" should be "hello" or "gradient"; {given["broken"]!r} comes back '
                    "or is no example. Compare both with the lecture's sentences.")  # fmt: skip
    _same_missing(answer, given["missing"])
    return "The gradient comes back; the greeting loses two spaces, an apostrophe and a smile."


@exercise("return the number of tokens per word.")
def check_fertility(answer: Answer) -> str:
    """Check a function of (pieces) that returns tokens per word.

    Args:
        answer: The learner's function; a piece that begins a word has "_" before it.

    Chapter: tokenization#exercises
    """
    cases = ["_a", "_un believ able", "_to _be", "_ken nel s _are _ken nel s"]
    for pieces in [PRINTED["gradient"], *(case.split(" ") for case in cases)]:
        words = sum(piece.startswith("_") for piece in pieces)
        expected = len(pieces) / words
        value = _number(answer(pieces), "The fertility")
        if not abs(value - expected) <= 1e-6:  # NaN is not close to anything
            raise Wrong(_fertility_advice(value, expected, pieces, words))
    return "14/9 = 1.556 on the lecture's sentence, and right on four others."


@exercise("fill in two numbers of parameters.")
def check_parameters(answer: Answer) -> str:
    """Check the parameters of three tables of words and of one table of sub-words.

    Args:
        answer: A dictionary with "three of words" and "one of sub-words", two numbers.

    Chapter: tokenization#exercises
    """
    keys = ("three of words", "one of sub-words")
    words, subwords = (_number(value, key) for key, value in _values(answer, answer.value, keys))
    known = {
        512_000_000: "That is one table of words; there are three.",
        3_000_000: "These are the rows. Each holds 512 numbers.",
        1_500_000_000: "That is rounded. What is it exactly?",
    }
    if words != 1_536_000_000:
        raise Wrong(
            known.get(words, f"Three tables of 10^6 rows of 512 numbers: not {words:,.0f}.")
        )
    known = {
        37_000: "These are the rows. Each holds 512 numbers.",
        56_832_000: "One table serves as all three: count it once.",
    }
    if subwords != 18_944_000:
        raise Wrong(known.get(subwords, f"37,000 rows of 512 numbers: not {subwords:,.0f}."))
    return "1,536,000,000 against 18,944,000: 81 times as many."


@exercise("fill in tokens and numbers for both sides.")
def check_patches(answer: Answer) -> str:
    """Check how many tokens an image of 448 by 448 pixels gives, and how many numbers are in each.

    Args:
        answer: For the patch sides 14 and 28, a dictionary with "tokens" and "numbers".

    Chapter: tokenization#exercises
    """
    for side, parts in _values(answer, answer.value, (14, 28)):
        pair = _values(answer, parts, ("tokens", "numbers"))
        tokens, numbers = (_number(value, key) for key, value in pair)
        across = 448 // side
        known = {
            across: f"{across} patches fit side by side, in each of {across} rows of them.",
            448 * 448: "These are the pixels; a token is a whole patch.",
            3 * across**2: "One token holds all three colours of its patch.",
        }
        if tokens != across**2:
            advice = f"With patches of {side}, {tokens:,.0f} tokens is not right."
            raise Wrong(known.get(tokens, advice))
        known = {
            side**2: f"{side}² pixels, right; and each has three colours.",
            side: f"A patch is {side} pixels wide and as high, and each has three colours.",
        }
        if numbers != 3 * side**2:
            advice = f"With patches of {side}, {numbers:,.0f} numbers is not right."
            raise Wrong(known.get(numbers, advice))
    return "1024 tokens of 588 numbers; with twice the side 256 of 2352: the pixels stay as many."


def _rejoin_advice(yours: object, text: str, pieces: list[str]) -> str:
    if not isinstance(yours, str):
        return f"Return a string; you returned a {type(yours).__name__}."
    if yours == f" {text}":
        return f"{pieces} gives a space at the very start: that one falls away."
    if yours.split() == text.split():
        return f"{pieces} is {text!r}, with all its spaces; yours is {yours!r}."
    if yours.replace(" ", "") == text.replace(" ", ""):
        return f"Only _ is a space, nothing else parts the pieces: {text!r}; yours is {yours!r}."
    return f"{pieces} is {text!r}; yours is {yours!r}."


def _same_missing(answer: Answer, missing: object) -> None:
    if isinstance(missing, dict):
        missing = list(Counter(missing).elements())
    if isinstance(missing, set | frozenset):
        raise Wrong("A set cannot say how often a character is missing: give a list.")
    if not isinstance(missing, list | tuple | str):
        raise Wrong(f'"missing" should be a list of characters; yours is {missing!r}.')
    yours = Counter(answer.started(character) for character in missing)
    if yours == LOST:
        return
    for character in {**yours, **LOST}:
        n, wanted = yours[character], LOST[character]
        if n and not wanted:
            raise Wrong(f"{character!r} is not missing: list what the input has and the output "
                        "lacks.")  # fmt: skip
        if n != wanted:
            raise Wrong(f"{character!r} is missing another number of times than {n}: count it in "
                        "the input and in the output.")  # fmt: skip


def _fertility_advice(value: float, expected: float, pieces: list[str], words: int) -> str:
    if abs(value * expected - 1) < 1e-6:
        return "That is words per token: turn the fraction over."
    if abs(value - expected) < 0.051:
        return f"Do not round: {len(pieces)}/{words} is {expected:.6f}, yours is {value:.6f}."
    if value == len(pieces):
        return f"{value:.0f} is the number of tokens; divide it by the number of words."
    return f"{pieces} are {len(pieces)} tokens and {words} words; yours is {value:.4g}."


def _values(answer: Answer, part: object, keys: tuple, *, quoted: bool = False) -> list[tuple]:
    """The values of a dictionary, the answer or a part of it, with exactly these keys."""
    if not isinstance(part, dict) or set(part) != set(keys):
        named = " and ".join(f'"{key}"' for key in keys) if quoted else ", ".join(map(repr, keys))
        raise Wrong(f"Answer with a dictionary that has the keys {named}.")
    return [(key, answer.started(part[key])) for key in keys]


def _number(value: object, what: object) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise Wrong(f"{what} should be a number; yours is {value!r}.") from None
