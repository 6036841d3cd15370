"""Checks: an empty text, many texts, beams, lengths, a die, the best text, heat."""

import math
import random
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from softlookup.exercises.compare import advised, counted, integers, one_number
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
    return "The most probable text is empty, and yet nine of ten samples have at least one word."


@exercise("return the tokens that each text writes.")
def check_greedy(answer: Answer) -> str:
    """Check a function of (model, ids, eos, max_length): greedy decoding of many texts at once.

    Args:
        answer: The learner's function; it returns a list with the new tokens of each text. The
            model takes ids of shape (n_texts, n) and returns scores of shape (n_texts, vocab_size).

    Chapter: decoding#exercises
    """
    cases = [_batch(seed, longest) for seed, longest in _BATCHES]
    rights = [_continued(*case) for case in cases]
    found, asked = [], []
    for case, (right, calls) in zip(cases, rights, strict=True):
        model = _Asked(case[0], sum(calls))
        found.append(_new_tokens(answer(model, *case[1:]), len(right)))
        asked.append(model.calls)
    wanted = [texts for texts, _ in rights]
    for advice, mistake in _GREEDY_MISTAKES.items():
        if found != wanted and found == [mistake(*case) for case in cases]:
            raise Wrong(advice)
    for own, right, case in zip(found, wanted, cases, strict=True):
        if own != right:
            raise Wrong(_advice_on_texts(own, right, *case[1:]))
    if asked != [calls for _, calls in rights]:
        raise Wrong(_advice_on_calls(asked, [calls for _, calls in rights]))
    return "Each text stops at its own end, and nobody pays for those that have ended."


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


@exercise("return the words that win, and whether the search may stop.")
def check_choice(answer: Answer) -> str:
    """Check a function of (ended, alive, max_length, alpha): the choice with a length penalty.

    Args:
        answer: The learner's function; it returns the words of the text that wins among those that
            have ended, and whether no beginning that is alive can become one that wins.

    Chapter: decoding#exercises
    """
    both = "Return two things: the words that win, and True or False."
    found = [answer.several(2, both, list(case[0]), list(case[1]), *case[2:]) for case in _LENGTHS]
    words = [_words(words, both) for words, _ in found]
    stops = [_truth(stops, both) for _, stops in found]
    _judge(words, _LENGTHS, _winner, _WINNER_MISTAKES, _told_of_choice)
    _judge(stops, _LENGTHS, _may_stop, _STOP_MISTAKES, _told_of_choice)
    return "The longer a beginning may still become, the longer the search must wait for it."


@exercise("return the word that is drawn.")
def check_die(answer: Answer) -> str:
    """Check a function of (row, p, u): a word of what top-p leaves, drawn by a number u.

    Args:
        answer: The learner's function; it returns a word of the row.

    Chapter: decoding#exercises
    """
    found = []
    for row, p, u in _THROWS:
        word = answer(dict(row), p, u)
        if not isinstance(word, str) or word not in row:
            raise Wrong(f"Return one of the words of the row; you returned {word!r}.")
        found.append(word)
    _judge(found, _THROWS, _drawn, _DIE_MISTAKES, _told_of_throw)
    return "One number chooses among all the words that are left, each as often as it should."


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


_Ended = list[tuple[Words, float]]
_Case = tuple[_Ended, _Ended, int, float]
_SHORT, _LONG = ("I", "was", "pied"), ("he", "hit", "me", "with", "a", "pie")
_LENGTHS: list[_Case] = [
    ([(_SHORT, 0.272)], [(_LONG[:5], 0.243)], 7, 0.0),
    ([(_SHORT, 0.272)], [(_LONG[:5], 0.243)], 7, 1.0),
    ([(_SHORT, 0.272), (_LONG, 0.243)], [], 7, 0.0),
    ([(_SHORT, 0.272), (_LONG, 0.243)], [], 7, 0.1),
    ([(_SHORT, 0.272), (_LONG, 0.243)], [(("he", "pied", "me"), 0.216)], 7, 1.0),
    ([(("a",), 0.3)], [(("b",), 0.25)], 10, 1.0),
    ([(("a",), 0.3)], [(("b",) * 6, 0.25)], 10, 1.0),
    ([(("a",), 0.3)], [(("b",) * 2, 0.4)], 10, 1.0),
    ([(("a",), 0.4), (("b",) * 3, 0.5)], [], 5, 1.0),
    ([(("a",), 0.3), (("b",) * 3, 0.1)], [(("c",) * 4, 0.01)], 10, 1.0),
    ([((), 0.35), (("a", "b"), 0.2373)], [(("c",), 0.05), (("d",), 0.001)], 6, 1.0),
    ([(_SHORT, 0.272), (("a",), 0.25)], [(("b",) * 3, 0.02)], 9, 1.0),
    ([(_SHORT, 0.272), (("a",), 0.25), (("b",) * 7, 0.01)], [(("c",) * 7, 0.02)], 9, 5.0),
    ([(("a",), 0.3)], [(("b",), 0.3)], 5, 0.0),
]
"""Texts that have ended, beginnings that are alive, the longest length, and the strength."""


def _penalized(p: float, n_tokens: int, alpha: float) -> float:
    return math.log(p) / ((5 + n_tokens) / 6) ** alpha


def _winner(ended: _Ended, alive: _Ended, longest: int, alpha: float, mistake: str = "") -> Words:
    """The words that win, or those of a known mistake."""
    score: dict[str, Callable[[float, int], float]] = {
        "": lambda p, n: _penalized(p, n, alpha),
        "none": lambda p, n: p,
        "end": lambda p, n: _penalized(p, n - 1, alpha),
        "mean": lambda p, n: math.log(p) / n**alpha,
        "times": lambda p, n: math.log(p) * ((5 + n) / 6) ** alpha,
        "plain": lambda p, n: p / ((5 + n) / 6) ** alpha,
        "least": lambda p, n: -_penalized(p, n, alpha),
    }
    return max(ended, key=lambda text: score[mistake](text[1], len(text[0]) + 1))[0]


def _may_stop(ended: _Ended, alive: _Ended, longest: int, alpha: float, mistake: str = "") -> bool:
    """Whether no beginning can still win, or what a known mistake says."""
    best = max(_penalized(p, len(words) + 1, alpha) for words, p in ended)
    most = max(p for _, p in ended)
    loses: dict[str, Callable[[Words, float], bool]] = {
        "": lambda words, p: _penalized(p, longest, alpha) <= best,
        "never": lambda words, p: False,
        "always": lambda words, p: True,
        "none": lambda words, p: p <= most,
        "now": lambda words, p: _penalized(p, len(words) + 1, alpha) <= best,
        "end": lambda words, p: _penalized(p, longest + 1, alpha) <= best,
        "tie": lambda words, p: _penalized(p, longest, alpha) < best,
    }
    return all(loses[mistake](words, p) for words, p in alive)


_WINNER_MISTAKES = {
    "That is the most probable text, whatever alpha says. Divide the logarithm first.": "none",
    "The end is a token, too: the length is one more than the number of words.": "end",
    "You divide by the length itself; the penalty divides by a power of (5 + length)/6.": "mean",
    "You multiply by the penalty. A logarithm is negative: multiplied, long texts lose.": "times",
    "Divide the logarithm of the probability, not the probability.": "plain",
    "You return the text with the smallest score.": "least",
}
_STOP_MISTAKES = {
    "A beginning can still lose against what has ended; then the search need not go on.": "never",
    "What is alive may still become a text that wins; look at its probability.": "always",
    "You compare the probabilities. Which score can a beginning still reach?": "none",
    "You take a beginning at its present length. It may become longer, and its score rises.": "now",
    "max_length counts the end already.": "end",
    "A score that is just as large is not larger: at a tie the search may stop.": "tie",
}


def _judge(
    found: list, cases: list, right: Callable, mistakes: Mapping[str, str], tell: Callable[..., str]
) -> None:
    """Raise ``Wrong`` unless the answers are right in all cases; with a known mistake's advice.

    Args:
        found: The learner's answer in each case.
        cases: The arguments of ``right``.
        right: What gives the right answer; with a mistake's name behind its arguments, that one's.
        mistakes: Under each advice the mistake's name.
        tell: Says of the learner's answer and of the right one, in a case, that they differ.
    """
    expected = [right(*case) for case in cases]
    for advice, mistake in mistakes.items():
        if found != expected and found == [right(*case, mistake) for case in cases]:
            raise Wrong(advice)
    for own, wanted, case in zip(found, expected, cases, strict=True):
        if own != wanted:
            raise Wrong(tell(own, wanted, *case))


def _told_of_choice(
    own: Words | bool,
    wanted: Words | bool,
    ended: _Ended,
    alive: _Ended,
    longest: int,
    alpha: float,
) -> str:
    texts, living = (", ".join(map(_shown, some)) or "none" for some in (ended, alive))
    case = f"Ended: {texts}; alive: {living}; max_length {longest}, alpha {alpha:g}: "
    return f"{case}it should be {_told(wanted)}; you have {_told(own)}."


def _told_of_throw(own: str, wanted: str, row: Row, p: float, u: float) -> str:
    return f"With the row {row}, p = {p:g} and u = {u:g} it is {wanted}, not {own}."


def _told(answer: Words | bool) -> str:
    if isinstance(answer, bool):
        return str(answer)
    return " ".join(map(str, answer)) or "the empty text"


def _words(words: object, todo: str) -> Words:
    if not isinstance(words, tuple | list):
        raise Wrong(f"{todo} You returned {words!r}.")
    return tuple(words)


def _truth(stops: object, todo: str) -> bool:
    if str(stops) not in ("True", "False", "tensor(True)", "tensor(False)"):
        raise Wrong(f"{todo} You returned {stops!r}.")
    return bool(stops)


def _beam_difference(found: list, expected: list) -> str:
    if len(found) != len(expected):
        return f"{counted(len(expected), 'text')} should have ended; you have {len(found)}."
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


_Model = Callable[[Tensor], Tensor]
_Batch = tuple[_Model, Tensor, int, int]
_BATCHES = ((36, 9), (39, 9), (34, 4), (48, 1))
"""The seeds of the models that continue many texts, and how many tokens they may write at most."""


def _batch(seed: int, longest: int) -> _Batch:
    """A model, beginnings of three tokens, the end, and the most tokens.

    What follows depends on the last token and on the sum of all; the end wins now and then.
    """
    vocab_size, eos = 7, 5
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(vocab_size, vocab_size, vocab_size, generator=generator)
    ids = torch.tensor([[4, 2, 0], [0, 3, 6], [6, 0, 1], [2, 4, 4], [3, 6, 2]])

    def model(ids: Tensor) -> Tensor:
        return table[ids.sum(dim=1) % vocab_size, ids[:, -1]]

    return model, ids, eos, longest


def _continued(
    model: _Model, ids: Tensor, eos: int, longest: int, *, mistake: str = ""
) -> tuple[list[list[int]], list[int]]:
    """What each text writes, and for how many texts the model is asked in each step.

    With a mistake, what a known mistake writes: "first" stops with the first text that ends,
    "rows" takes the rows that are left for the first texts.
    """
    written, calls, alive = [[] for _ in ids], [], list(range(len(ids)))
    for _ in range(longest):
        tokens = model(ids).argmax(dim=-1)
        calls.append(len(ids))
        for place, token in enumerate(tokens.tolist()):
            written[place if mistake == "rows" else alive[place]].append(token)
        goes_on = tokens != eos
        if mistake == "first" and not goes_on.all():
            break
        ids = torch.cat([ids, tokens[:, None]], dim=1)[goes_on]
        alive = [text for text, more in zip(alive, goes_on.tolist(), strict=True) if more]
        if not alive:
            break
    return [[token for token in text if token != eos] for text in written], calls


_GREEDY_MISTAKES: dict[str, Callable[[_Model, Tensor, int, int], list[list[int]]]] = {
    "Your texts all stop when the first of them ends; the others should go on.": lambda *case: (
        _continued(*case, mistake="first")[0]
    ),
    "When a text has ended, row j of the scores is no longer that of text j.": lambda *case: (
        _continued(*case, mistake="rows")[0]
    ),
    "max_length counts the end, too: where none has come, a text has max_length tokens; yours "
    "writes one more.": lambda m, ids, e, n: _continued(m, ids, e, n + 1)[0],
    "max_length counts the new tokens, and not those that were given.": lambda m, ids, e, n: (
        _continued(m, ids, e, max(0, n - ids.shape[1]))[0]
    ),
}


def _new_tokens(found: object, n_texts: int) -> list[list[int]]:
    """The learner's texts, as lists of integers."""
    if not isinstance(found, tuple | list | Tensor) or len(found) != n_texts:
        raise Wrong(f"Return a list of {n_texts} lists, one for each text; you returned {found!r}.")
    return [integers(text, f"A text is a list of integers; yours is {text!r}.") for text in found]


def _advice_on_texts(own: list, right: list, ids: Tensor, eos: int, longest: int) -> str:
    """What to say about the first text that is wrong."""
    j = next(j for j in range(len(right)) if own[j] != right[j])
    told = f"text {j} should write {right[j]}; yours writes {own[j]}."
    case = f"With {len(ids)} texts and max_length {longest}: {told}"
    n, n_given, given = len(right[j]), ids.shape[1], ids[j].tolist()
    if own[j][:n_given] == given and own[j][n_given:][:n] == right[j]:
        return f"{case} Return the new tokens alone, without those that were given."
    if n < longest and own[j] == [*right[j], eos]:
        return f"{case} Leave the end, {eos}, out."
    if n < longest and own[j][:n] == right[j]:
        return f"{case} A text that has ended writes no more: its end was {eos}."
    return case


def _advice_on_calls(asked: list[list[int]], wanted: list[list[int]]) -> str:
    """What to say when the texts are right and the model was asked otherwise than it should be."""
    if any(max(calls, default=0) < max(right) for calls, right in zip(asked, wanted, strict=True)):
        return "Right texts, but hand the model all of them at once, not one after the other."
    own, right = next(pair for pair in zip(asked, wanted, strict=True) if pair[0] != pair[1])
    return (
        f"Right texts, but the model should be asked for {right} texts, step by step; you asked "
        f"for {own}. A text that has ended needs no score."
    )


class _Asked:
    """A model of many texts that remembers for how many it was asked each time."""

    def __init__(self, model: _Model, n_needed: int) -> None:
        self.model, self.most, self.calls = model, 10 * n_needed, []

    def __call__(self, ids: Tensor) -> Tensor:
        if not isinstance(ids, Tensor) or ids.ndim != 2 or ids.shape[1] < 3 or not len(ids):
            shape = tuple(getattr(ids, "shape", ()))
            raise ValueError(f"the model wants ids of shape (n_texts, n); it got {shape}")
        self.calls.append(len(ids))
        if sum(self.calls) > self.most:
            raise TooManyRowsError("there is no end to it: stop after max_length tokens")
        return self.model(ids)


_HALVES = {"tart": 0.125, "pie": 0.5, "fish": 0.125, "cake": 0.25}
"""A row whose sums are exact; two of its words are equally probable, and it is not sorted."""
_THROWS = [
    *((_HALVES, 1.0, u) for u in (0.0, 0.25, 0.5, 0.625, 0.75, 0.8, 0.875, 0.96875)),
    *((_HALVES, 0.8, u) for u in (0.0, 0.5, 0.6, 0.8, 0.9, 0.99)),
    *((_HALVES, 0.75, u) for u in (0.1, 0.6, 0.7, 0.9, 0.99)),
    *((_HALVES, 0.6, u) for u in (0.3, 0.65, 0.7, 0.99)),
    *((_HALVES, 0.5, u) for u in (0.1, 0.6, 0.99)),
    *((_HALVES, 0.1, u) for u in (0.1, 0.6, 0.99)),
]
"""Rows, the p of top-p, and the number that is thrown."""


def _drawn(row: Row, p: float, u: float, mistake: str = "") -> str:
    """The word on which ``u`` falls, or the one of a known mistake."""
    words = sorted(row, key=lambda word: -row[word])
    if mistake == "ties":
        words = sorted(row, key=row.get)[::-1]
    kept, total = [], 0.0
    for word in words:
        enough = {
            "more": total > p,
            "fewer": total + row[word] > p and kept != [],
            "each": row[word] < p and kept != [],
            "all": False,
        }
        if enough.get(mistake, total >= p):
            break
        kept.append(word)
        total += row[word]
    if mistake == "best":
        return kept[0]
    if mistake == "row":
        kept = [word for word in row if word in kept]
    end = 0.0
    for word in kept:
        end += row[word] / (1 if mistake == "sum" else total)
        if u < end or (mistake == "edge" and u == end):
            break
    return word


_DIE_MISTAKES = {
    "That is always the most probable word: greedy decoding. What does u choose?": "best",
    "You draw from the whole row; top-p comes first.": "all",
    "You leave out the word with which the sum reaches p; top-p keeps it, too.": "fewer",
    "You keep a word too many: a sum of exactly p is enough.": "more",
    "You keep the words that have at least p each. It is their sum that counts.": "each",
    "Divide by the new sum: what is left must fill the line from 0 to 1.": "sum",
    "On the line the most probable word comes first, not the first of the row.": "row",
    "Of equally probable words, the first of the row comes first.": "ties",
    "Where one word ends and the next begins, the next has it.": "edge",
}


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
