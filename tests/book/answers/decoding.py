"""Answers to the exercises of chapter 12: right, and wrong with the words that they get."""

import heapq
import itertools
import math

import numpy as np
import torch

from softlookup.exercises.decoding import (
    END,
    check_beam,
    check_best,
    check_empty,
    check_heat,
    check_wider,
)

RIGHT, WRONG = {}, {}


# The most probable text

RIGHT[check_empty] = [(0, 9), (torch.tensor(0), np.float64(9))]
WRONG[check_empty] = [
    (..., ..., "Nothing to check so far: how many words has the most"),
    (0, ..., "Nothing to check so far: how many words has a text"),
    (9, 9, "That is the mean"),
    (10, 9, "one of very many"),
    (1, 9, "0.9/50 times 0.1"),
    (3, 9, "Not 3. Compare"),
    ("none", 9, "should be one number"),
    (0, 10, "The end is no word"),
    (0, 0, "it goes on"),
    (0, 0.9, "There may be a second"),
    (0, 50, "the size of the vocabulary"),
    (0, 7, "Not 7. Add up"),
]


# The beam


def beam(following, width, longest, *, each=False, refill=False, first=False, local=False):
    alive, ended = {(): 1.0}, {}
    for _ in range(longest):
        grown = {}
        for words, p in alive.items():
            row = following(words)
            best = heapq.nlargest(width, row, key=row.get) if each else row
            for word in best:
                grown[*words, word] = row[word] if local else p * row[word]
        room = len(grown) if each else width if refill else width - len(ended)
        kept = heapq.nlargest(room, grown, key=grown.get)
        ended |= {words[:-1]: grown[words] for words in kept if words[-1] == END}
        alive = {words: grown[words] for words in kept if words[-1] != END}
        if first and ended:
            break
    return sorted(ended.items(), key=lambda text: -text[1])


def beam_as_lists(following, width, longest):
    return [[list(words), torch.tensor(p)] for words, p in beam(following, width, longest)]


def crowded(following, width, longest):
    """A beam in which a text that has ended may be pushed out by beginnings that have more."""
    beam = {(): 1.0}
    for _ in range(longest):
        grown = {}
        for words, p in beam.items():
            if words[-1:] == (END,):
                grown[words] = p
            else:
                grown |= {(*words, word): p * q for word, q in following(words).items()}
        beam = dict(heapq.nlargest(width, grown.items(), key=lambda text: text[1]))
    ended = [(words[:-1], p) for words, p in beam.items() if words[-1:] == (END,)]
    return sorted(ended, key=lambda text: -text[1])


RIGHT[check_beam] = [(beam,), (beam_as_lists,)]
WRONG[check_beam] = [
    (..., "Nothing to check so far"),
    (lambda *given: None, "Nothing to check so far"),
    (lambda *given: dict(beam(*given)), "Return a list of texts"),
    (lambda *given: [words for words, _ in beam(*given)], "Each text is a pair"),
    (lambda *given: [("a", 0.5)], "Each text is a pair"),
    (lambda *given: [(("a",), "much")], "Each text is a pair"),
    (lambda *given: beam(*given, refill=True), "your beam fills it again"),
    (crowded, "longer ones push it out"),
    (lambda *given: beam(*given, each=True), "not of each parent"),
    (lambda *given: beam(*given, first=True), "do not stop at the first text"),
    (lambda *given: beam(*given)[::-1], "the best text comes first"),
    (lambda *given: beam(*given)[:1], "not only the best"),
    (lambda *given: [((*w, END), p) for w, p in beam(*given)], "leave the end out"),
    (lambda *given: [(w, math.log(p)) for w, p in beam(*given)], "not their logarithms"),
    (lambda *given: [(w, p / 2) for w, p in beam(*given)], "multiply along the branch"),
    (lambda *given: beam(*given, local=True), "With width "),
    (lambda *given: beam(*given) * 2, "texts that have ended; you have"),
    (lambda following, *given: following(()).nothing, "AttributeError"),
]


# A wider beam


def forked(a=0.36, b=0.33, second=0.44, fan=4):
    """Three beginnings; the child b a is certain to end, and those of a and c split up."""
    tree = {
        (): {"a": a, "b": b, "c": 1 - a - b},
        ("a",): {"a": 0.5, "b": 0.25, "c": 0.25},
        ("b",): {"a": second, "b": (1 - second) / 2, "c": (1 - second) / 2},
        ("c",): {"a": 0.5, "b": 0.5},
    }
    for beginning in [("a", "a"), ("c", "a"), ("c", "b")]:
        tree[beginning] = {str(n): 1 / fan for n in range(fan)}
        for n in range(fan):
            tree[(*beginning, str(n))] = {END: 1}
    for beginning in itertools.product("ab", "abc"):
        tree.setdefault(beginning, {END: 1.0})
    return tree


SMALL = {(): {"a": 0.5, "b": 0.5}, ("a",): {END: 1.0}, ("b",): {END: 1.0}}
BETTER = {
    (): {"a": 0.4, "b": 0.35, "c": 0.25},
    ("a",): {"x": 0.5, "y": 0.5},
    ("b",): {"x": 0.5, "y": 0.5},
    ("c",): {END: 1.0},
    **{(first, second): {END: 1.0} for first in "ab" for second in "xy"},
}
LARGE = {("w",) * n: {"w": 0.9, END: 0.1} for n in range(45)} | {("w",) * 45: {END: 1.0}}
RIGHT[check_wider] = [(forked(),), (forked(fan=3),)]
WRONG[check_wider] = [
    (..., "Nothing to check so far"),
    ([], "a row for the empty beginning"),
    ({("a",): {END: 1.0}}, "a row for the empty beginning"),
    ({(): {"a": 0.5, "b": 0.5}}, "there must be a row: what may follow?"),
    ({(): {"a": 0.5, END: 0.4}, ("a",): {END: 1.0}}, "that sum to 1"),
    ({(): {"a": 1.5, END: -0.5}, ("a",): {END: 1.0}}, "that sum to 1"),
    ({(): {END: "all"}}, "should be one number"),
    (SMALL, "Both widths find a (0.5)"),
    (forked(fan=1), "Both widths find"),
    (BETTER, "here the wider beam is the better one"),
    (LARGE, "40 are more than enough"),
]


# The best text


def by_heap(following):
    waiting, words, best = [(-1.0, ())], (), 0.0
    while -waiting[0][0] > best:
        p, beginning = heapq.heappop(waiting)
        for word, q in following(beginning).items():
            if word != END:
                heapq.heappush(waiting, (p * q, (*beginning, word)))
            elif -p * q > best:
                words, best = beginning, -p * q
    return words, best


def by_ends_too(following):
    """The end of a text waits in the queue like a beginning: the first to come out is the best."""
    waiting = [(-1.0, ())]
    while True:
        p, words = heapq.heappop(waiting)
        if words[-1:] == (END,):
            return list(words[:-1]), -p
        for word, q in following(words).items():
            heapq.heappush(waiting, (p * q, (*words, word)))


def by_depth(following):
    best = [(), 0.0]

    def visit(beginning, p):
        for word, q in following(beginning).items():
            if word == END and p * q > best[1]:
                best[:] = beginning, p * q
            elif word != END and p * q > best[1]:
                visit((*beginning, word), p * q)

    visit((), 1.0)
    return tuple(best)


def by_greed(following):
    words, p = (), 1.0
    while True:
        row = following(words)
        word = max(row, key=row.get)
        p *= row[word]
        if word == END:
            return words, p
        words = (*words, word)


RIGHT[check_best] = [(by_heap,), (by_ends_too,)]
WRONG[check_best] = [
    (..., "Nothing to check so far"),
    (lambda f: (..., ...), "Nothing to check so far"),
    (lambda f: "a b", "Return two things"),
    (lambda f: ("a b", 0.1), "Each text is a pair"),
    (by_greed, "greedy decoding"),
    (lambda f: ((), f(())[END]), "is not the most probable text"),
    (lambda f: (by_heap(f)[0], 0.5), "its probability should be"),
    (by_depth, "TooManyRowsError", "rows of this model are enough"),
    (lambda f: f(()).nothing, "AttributeError"),
]


# Heated texts


def heated(tree, temperature, power=None):
    power = 1 / temperature if power is None else power

    def total(beginning):
        row = tree[beginning]
        return sum(p**power * (w == END or total((*beginning, w))) for w, p in row.items())

    return {
        words: {
            w: p**power * (w == END or total((*words, w))) / total(words) for w, p in row.items()
        }
        for words, row in tree.items()
    }


def row_by_row(tree, power):
    return {
        words: {w: p**power / sum(q**power for q in row.values()) for w, p in row.items()}
        for words, row in tree.items()
    }


def without_a_word(tree, temperature):
    found = heated(tree, temperature)
    found[()] = {w: p / (1 - found[()]["a"]) for w, p in found[()].items() if w != "a"}
    return {key: row for key, row in found.items() if key[:1] != ("a",)}


RIGHT[check_heat] = [(heated,)]
WRONG[check_heat] = [
    (..., "Nothing to check so far"),
    (lambda tree, t: None, "Nothing to check so far"),
    (lambda tree, t: row_by_row(tree, 1 / t), "heats each row on its own"),
    (lambda tree, t: row_by_row(tree, t), "it should be of 1/temperature"),
    (lambda tree, t: tree, "yours has"),
    (lambda tree, t: list(tree), "a row for the empty beginning"),
    (lambda tree, t: {(): {END: 1.0}}, "keep all beginnings"),
    (without_a_word, "keep all beginnings"),
    (lambda tree, t: {**heated(tree, t), ("a",): {END: 2.0}}, "that sum to 1"),
    (lambda tree, t: {**heated(tree, t), ("a", "a", "a"): {"b": 0.0, END: 1.0}}, "the same words"),
    (lambda tree, t: tree[9], "KeyError"),
]
