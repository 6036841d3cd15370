"""Checks of chapter 12: an empty text, beam search, a wider beam, the best text, heated texts."""

import math
import random
from collections.abc import Callable, Mapping

from softlookup.exercises.compare import advised, one_number
from softlookup.exercises.verdict import Answer, Wrong, exercise

END = "<eos>"
"""The token that ends a text."""

Words = tuple[str, ...]
Row = Mapping[str, float]
Following = Callable[[Words], Row]
"""From a beginning to the probabilities of the words that may follow."""

_ROWS = 40
_TWO = "Each text is a pair: its words, and its probability."


@exercise("how many words has the most probable text?", "how many words has a text on average?")
def check_empty(most_probable: Answer, mean: Answer) -> str:
    """Check two lengths of a model that ends at each step with probability 0.1.

    Args:
        most_probable: How many words the most probable text has.
        mean: How many words a sampled text has on average.

    Chapter: decoding#exercises
    """
    found = one_number(most_probable.value, "The number of words")
    if found != 0:
        mistakes = [
            (9, "That is the mean. Which single text has the largest probability?"),
            (10, "A text of ten words is one of very many. Which single text has the most?"),
            (1, "A text of one word has 0.9/50 times 0.1. Is there one that has more?"),
        ]
        hint = "Compare the text that ends at once with one that ends after a word."
        raise Wrong(advised(found, mistakes, f"Not {found:g}. {hint}"))
    found = one_number(mean.value, "The mean")
    mistakes = [
        (10, "The end is no word: ten tokens on average, one of which is the end."),
        (0, "Nine times of ten it goes on."),
        (0.9, "That is the probability of a first word. There may be a second."),
        (50, "That is the size of the vocabulary."),
    ]
    if not math.isclose(found, 9, rel_tol=1e-3):
        hint = "Add up the probabilities of a first word, a second, a third, and so on."
        raise Wrong(advised(found, mistakes, f"Not {found:g}. {hint}", abs_tol=1e-9))
    return "The most probable text is empty, and nearly nobody who samples will ever see it."


@exercise("return the texts that the beam finds, the best first.")
def check_beam(answer: Answer) -> str:
    """Check a function of (following, width, max_length): beam search.

    Args:
        answer: The learner's function; it returns pairs of words and probability.

    Chapter: decoding#exercises
    """
    models = [(_random_model(k), k, 6) for k in (1, 2, 3)]
    models += [(_random_model(4), 5, 6), (_random_model(5), 4, 3), (_early_end, 2, 3)]
    for following, width, longest in models:
        expected = _beam(following, width, longest)
        found = _texts(answer(following, width, longest))
        case = f"With width {width} and at most {longest} tokens: "
        if _same(found, expected):
            continue
        for advice, wrong in _BEAM_MISTAKES.items():
            if _same(found, wrong(following, width, longest)):
                raise Wrong(case + advice)
        raise Wrong(case + _beam_difference(found, expected))
    return "A width of 1 is greedy decoding; one that is wide enough finds every text."


@exercise("give a tree in which width 3 finds less than width 2.")
def check_wider(tree: Answer) -> str:
    """Check a tree in which a beam of width 3 finds a less probable text than one of width 2.

    Args:
        tree: The learner's dictionary, from each beginning to the words that follow.

    Chapter: decoding#exercises
    """
    rows = _checked_tree(tree.value)
    longest = 1 + max(map(len, rows))
    two, three = (_beam(rows.__getitem__, width, longest)[0] for width in (2, 3))
    if three[1] > two[1] * (1 + 1e-9):
        raise Wrong(
            f"Width 2 finds {_shown(two)}, width 3 finds {_shown(three)}, which is more: here the "
            "wider beam is the better one. Let the third beginning bring forth strong children."
        )
    if three[1] >= two[1] * (1 - 1e-9):
        raise Wrong(
            f"Both widths find {_shown(two)}. The best text must be in the narrow beam, and be "
            "pushed out of the wide one by children of the third beginning."
        )
    return (
        f"Width 2 finds {_shown(two)}, width 3 only {_shown(three)}: a beam is no promise, and a "
        "wider one is no better promise."
    )


@exercise("return the most probable text and its probability.")
def check_best(answer: Answer) -> str:
    """Check a function of following: the most probable text, with as few rows as can be.

    Args:
        answer: The learner's function of a model whose texts may be of any length.

    Chapter: decoding#exercises
    """
    asked = 0
    for seed in range(11, 17):
        following = _random_model(seed, deep=True)
        words, probability, needed = _best_text(following)
        counted = _Counted(following, needed)
        found = answer.several(2, "Return two things: the words, and the probability.", counted)
        (own, own_probability), case = _text(found), "On one of the models: "
        if own != words:
            if own == _greedy(following)[0]:
                raise Wrong(f"{case}that is what greedy decoding writes. There is a better text.")
            raise Wrong(f"{case}{' '.join(own) or 'the empty text'} is not the most probable text.")
        if not math.isclose(own_probability, probability, rel_tol=1e-6):
            raise Wrong(f"{case}the text is right; its probability should be {probability:.6g}.")
        asked += len(counted.seen)
    return f"Exact, with {asked} rows for six models that have texts without end."


@exercise("return a tree that writes texts at a temperature.")
def check_heat(answer: Answer) -> str:
    """Check a function of (tree, temperature): a tree whose texts have the heated probabilities.

    Args:
        answer: The learner's function; it returns a tree with the same beginnings, in which each
            text has a probability in proportion to its old one to the power of 1/temperature.

    Chapter: decoding#exercises
    """
    for seed, temperature in ((21, 1.0), (22, 0.5), (23, 2.0), (24, 0.2)):
        tree = _random_tree(seed)
        found = answer({key: dict(row) for key, row in tree.items()}, temperature)
        case = f"At the temperature {temperature:g}: "
        heated = _checked_tree(found, case)
        if heated.keys() != tree.keys():
            raise Wrong(f"{case}keep all beginnings of the tree, and no others.")
        if any(heated[key].keys() != tree[key].keys() for key in tree):
            raise Wrong(f"{case}the same words must follow each beginning as before.")
        powers = {w: p ** (1 / temperature) for w, p in _all_texts(tree).items()}
        total, own = sum(powers.values()), _all_texts(heated)
        wrong = [w for w in powers if not math.isclose(own[w], powers[w] / total, abs_tol=1e-6)]
        if not wrong:
            continue
        mistakes = {
            "That heats each row on its own; whole texts come out otherwise.": 1 / temperature,
            "You took the power of the temperature; it should be of 1/temperature.": temperature,
        }
        for advice, power in mistakes.items():
            local = _all_texts({key: _powered(row, power) for key, row in tree.items()})
            if all(math.isclose(own[w], local[w], abs_tol=1e-9) for w in local):
                raise Wrong(case + advice)
        text = " ".join(wrong[0]) or "the empty text"
        right = powers[wrong[0]] / total
        raise Wrong(f"{case}{text} should have {right:.4f}; yours has {own[wrong[0]]:.4f}.")
    return "Each fork must know what lies behind it: a row alone is not enough."


def _random_model(seed: int, *, deep: bool = False) -> Following:
    """A model whose rows are made when they are asked for; its texts may be of any length.

    With ``deep`` it seldom ends before the fourth word, and often after it.
    """

    def following(beginning: Words) -> dict[str, float]:
        generator = random.Random(f"{seed} {' '.join(beginning)}")
        shares = {word: generator.random() ** 2 + 0.01 for word in "abcd"}
        end = 0.1 + 0.6 * generator.random()
        if deep:
            end = 0.1 * end if len(beginning) < 3 else 0.4 + 0.6 * end
        total = sum(shares.values())
        return {**{word: (1 - end) * s / total for word, s in shares.items()}, END: end}

    return following


def _early_end(beginning: Words) -> dict[str, float]:
    """A model whose most probable text is empty; two longer beginnings have more at first."""
    rows = {(): {END: 0.3, "a": 0.7}, ("a",): {"b": 0.51, "c": 0.49}}
    return rows.get(beginning, {"d": 0.6, "e": 0.4} if len(beginning) < 3 else {END: 1.0})


def _random_tree(seed: int) -> dict[Words, dict[str, float]]:
    """A tree of texts of up to three words."""
    following, tree, level = _random_model(seed), {}, [()]
    while level:
        beginning = level.pop()
        row = following(beginning) if len(beginning) < 3 else {END: 1.0}
        tree[beginning] = row
        level += [(*beginning, word) for word in row if word != END]
    return tree


def _beam(
    following: Following, width: int, longest: int, *, mistake: str = ""
) -> list[tuple[Words, float]]:
    """The ended texts that a beam finds, the best first; or what a known mistake finds."""
    beam, ended = [((), 1.0)], []
    for _ in range(longest):
        grown = []
        for words, p in beam:
            row = sorted(following(words).items(), key=lambda pair: -pair[1])
            grown += [((*words, w), p * q) for w, q in row[: width if mistake == "each" else None]]
        if mistake != "each":
            room = width if mistake == "room" else width - len(ended)
            grown = sorted(grown, key=lambda text: -text[1])[:room]
        ended += [(words[:-1], p) for words, p in grown if words[-1] == END]
        beam = [text for text in grown if text[0][-1] != END]
        if mistake == "first" and ended:
            break
    return sorted(ended, key=lambda text: -text[1])


def _crowded_beam(following: Following, width: int, longest: int) -> list[tuple[Words, float]]:
    """What a beam finds in which texts that have ended must hold out against those that go on."""
    beam = [((), 1.0)]
    for _ in range(longest):
        grown = [text for text in beam if text[0][-1:] == (END,)]
        for words, p in beam:
            if words[-1:] != (END,):
                grown += [((*words, w), p * q) for w, q in following(words).items()]
        beam = sorted(grown, key=lambda text: -text[1])[:width]
    return [(words[:-1], p) for words, p in beam if words[-1] == END]


_BEAM_MISTAKES: dict[str, Callable[[Following, int, int], list[tuple[Words, float]]]] = {
    "a text that has ended keeps its place; your beam fills it again.": lambda f, b, n: _beam(
        f, b, n, mistake="room"
    ),
    "a text that has ended stays; in your beam longer ones push it out.": _crowded_beam,
    "keep so many beginnings in all, not of each parent.": lambda f, b, n: _beam(
        f, b, n, mistake="each"
    ),
    "do not stop at the first text that ends; the others may be better.": lambda f, b, n: _beam(
        f, b, n, mistake="first"
    ),
    "the best text comes first.": lambda f, b, n: _beam(f, b, n)[::-1],
    "return all texts that have ended, not only the best.": lambda f, b, n: _beam(f, b, n)[:1],
    "leave the end out of the words.": lambda f, b, n: [
        ((*words, END), p) for words, p in _beam(f, b, n)
    ],
    "return probabilities, not their logarithms.": lambda f, b, n: [
        (words, math.log(p)) for words, p in _beam(f, b, n)
    ],
}


def _beam_difference(found: list, expected: list) -> str:
    if len(found) != len(expected):
        return f"there should be {len(expected)} texts that have ended; you have {len(found)}."
    for own, right in zip(found, expected, strict=True):
        if own[0] != right[0]:
            return f"{_shown(right)} should stand where you have {_shown(own)}."
    return "the texts are right, and the probabilities are not: multiply along the branch."


def _text(pair: object) -> tuple[Words, float]:
    if not isinstance(pair, tuple | list) or len(pair) != 2 or isinstance(pair[0], str):
        raise Wrong(f"{_TWO} You gave {pair!r}.")
    try:
        return tuple(pair[0]), float(pair[1])
    except (TypeError, ValueError):
        raise Wrong(f"{_TWO} You gave {pair!r}.") from None


def _texts(found: object) -> list[tuple[Words, float]]:
    if not isinstance(found, tuple | list):
        raise Wrong(f"Return a list of texts; you returned a {type(found).__name__}.")
    return [_text(pair) for pair in found]


def _same(found: list, other: list) -> bool:
    return len(found) == len(other) and all(
        own == words and math.isclose(p, q, rel_tol=1e-6)
        for (own, p), (words, q) in zip(found, other, strict=True)
    )


def _shown(text: tuple[Words, float]) -> str:
    return f"{' '.join(text[0]) or 'the empty text'} ({text[1]:.4g})"


def _checked_tree(tree: object, case: str = "") -> dict[Words, dict[str, float]]:
    """A tree in which every beginning that may occur has a row that sums to 1."""
    if not isinstance(tree, dict) or () not in tree:
        raise Wrong(f"{case}give a dictionary with a row for the empty beginning, ().")
    rows, level = {}, [()]
    while level:
        beginning = level.pop()
        name = " ".join(beginning) or "(nothing)"
        if len(rows) >= 20 * _ROWS:
            raise Wrong(f"{case}the tree is too large.")
        row = tree.get(beginning)
        if not isinstance(row, dict) or not row:
            raise Wrong(f"{case}after {name} there must be a row: what may follow?")
        numbers = [one_number(p, f"{case}a probability after {name}") for p in row.values()]
        if min(numbers) < 0 or not math.isclose(sum(numbers), 1, abs_tol=1e-6):
            raise Wrong(f"{case}the row after {name} must be probabilities that sum to 1.")
        rows[beginning] = dict(zip(row, numbers, strict=True))
        level += [
            (*beginning, word) for word, p in rows[beginning].items() if word != END and p > 0
        ]
    if not case and len(rows) > _ROWS:
        raise Wrong(f"The tree has {len(rows)} rows; {_ROWS} are more than enough.")
    return rows


def _all_texts(tree: Mapping[Words, Row]) -> dict[Words, float]:
    found, level = {}, [((), 1.0)]
    while level:
        words, p = level.pop()
        for word, q in tree[words].items():
            if word == END:
                found[words] = p * q
            elif (*words, word) in tree:
                level.append(((*words, word), p * q))
    return found


def _powered(row: Row, power: float) -> dict[str, float]:
    total = sum(p**power for p in row.values())
    return {word: p**power / total for word, p in row.items()}


def _greedy(following: Following) -> tuple[Words, float]:
    words, p = (), 1.0
    while True:
        row = following(words)
        word = max(row, key=row.get)
        p *= row[word]
        if word == END or len(words) > 50:
            return words, p
        words = (*words, word)


def _best_text(following: Following) -> tuple[Words, float, int]:
    """The most probable text, and how many rows whoever is sure of it must have seen.

    A beginning that is more probable than the best text may hide a better one.
    """
    waiting, best, needed = [((), 1.0)], ((), 0.0), 0
    while waiting:
        waiting.sort(key=lambda text: text[1])
        words, p = waiting.pop()
        if p <= best[1]:
            break
        needed += 1
        for word, q in following(words).items():
            if word != END:
                waiting.append(((*words, word), p * q))
            elif p * q > best[1]:
                best = words, p * q
    return *best, needed


class TooManyRowsError(Exception):
    """Raised when a search asks for more rows than it needs."""


class _Counted:
    """A model that counts which rows it was asked for, and gives no more than are needed."""

    def __init__(self, following: Following, allowed: int) -> None:
        self.following, self.allowed, self.seen = following, allowed, set()

    def __call__(self, beginning: Words) -> Row:
        self.seen.add(tuple(beginning))
        if len(self.seen) > self.allowed:
            raise TooManyRowsError(
                f"{self.allowed} rows of this model are enough. Always ask for the beginning that "
                "is the most probable so far; which need no row any more?"
            )
        return self.following(tuple(beginning))
