"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import heapq
import itertools
import math
from fractions import Fraction

import numpy as np
import torch

from softlookup.exercises.decoding import (
    END,
    check_beam,
    check_best,
    check_choice,
    check_die,
    check_empty,
    check_greedy,
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


# Many texts at once


def many(model, ids, eos, longest, *, drop=True, at="new", cut=True, stop=all, more=0, axis=-1):
    """One row for each text that has not ended; their places in the batch are kept beside them."""
    n, rows, texts = ids.shape[1], dict(enumerate(ids.tolist())), {}
    live = list(rows)
    for _ in range(longest + more):
        asked = live if drop else list(rows)
        tokens = model(torch.tensor([rows[j] for j in asked])).argmax(axis).tolist()
        for j, token in zip(asked, tokens, strict=True):
            rows[j].append(token)
        live = [j for j in live if rows[j][-1] != eos]
        if stop(rows[j][-1] == eos for j in rows) or not live:
            break
    for j, row in rows.items():
        text = row[n:]
        end = text.index(eos) if cut and eos in text else len(text)
        texts[j] = row if at == "all" else text[: end + (at == "end")]
    return [texts[j] for j in range(len(ids))]


def in_the_first_rows(model, ids, eos, longest):
    """Row j of what is left is taken for text j."""
    new = [[] for _ in ids]
    for _ in range(longest):
        tokens = model(ids).argmax(dim=1)
        for j, token in enumerate(tokens.tolist()):
            if token != eos:
                new[j].append(token)
        ids = torch.cat([ids, tokens[:, None]], dim=1)[tokens != eos]
        if not len(ids):
            break
    return new


def one_by_one(model, ids, eos, longest):
    return [many(model, row[None], eos, longest)[0] for row in ids]


RIGHT[check_greedy] = [
    (many,),
    (lambda *given: [torch.tensor(text) for text in many(*given)],),
    (lambda *given: tuple(map(np.array, many(*given))),),
]
WRONG[check_greedy] = [
    (..., "Nothing to check so far"),
    (lambda *given: None, "Nothing to check so far"),
    (lambda *given: 5, "Return a list of 5 lists"),
    (lambda *given: many(*given)[:2], "Return a list of 5 lists"),
    (lambda *given: ["a b"] * 5, "A text is a list of integers"),
    (lambda *given: many(*given, stop=any), "all stop when the first of them ends"),
    (
        lambda *given: many(*given, drop=False, cut=False),
        "A text that has ended writes no more: its end was 5",
    ),
    (in_the_first_rows, "row j of the scores is no longer that of text j"),
    (lambda *given: many(*given, at="end"), "Leave the end, 5, out"),
    (lambda *given: many(*given, at="all", cut=False), "without those that were given"),
    (lambda *given: many(*given, more=1), "yours writes one more"),
    (lambda m, ids, eos, n: many(m, ids, eos, n, more=-3), "not those that were given"),
    (lambda *given: many(*given)[::-1], "With 5 texts and max_length 9: text 0 should write"),
    (lambda m, *given: many(lambda ids: -m(ids), *given), "text 0 should write"),
    (one_by_one, "hand the model all of them at once"),
    (lambda *given: many(*given, drop=False), "A text that has ended needs no score"),
    (lambda m, ids, *given: many(m, ids, *given, axis=0), "ValueError"),
    (lambda m, ids, *given: m(ids[0]), "the model wants ids of shape (n_texts, n)"),
    (lambda m, ids, eos, n: [m(ids) for _ in range(999)], "stop after max_length tokens"),
    (lambda model, *given: model.nothing, "AttributeError"),
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
    (lambda *given: beam(*given) * 2, "should have ended; you have"),
    (lambda following, *given: following(()).nothing, "AttributeError"),
]


# The choice by length


def choice(ended, alive, max_length, alpha, *, rate=None, stop=None):
    """The text of the best rate, and whether the search may stop."""
    rate = rate or (lambda p, n: 6**alpha * math.log(p) / (5 + n) ** alpha)
    rated = sorted((rate(p, len(words) + 1), words) for words, p in ended)
    highest = max(6**alpha * math.log(p) / (6 + len(words)) ** alpha for words, p in ended)
    reach = [6**alpha * math.log(p) / (5 + max_length) ** alpha for _, p in alive]
    sure = not any(one > highest for one in reach)
    return rated[-1][1], sure if stop is None else stop(ended, alive, max_length, alpha, highest)


def by_rate(rate):
    return lambda e, a, n, alpha: choice(e, a, n, alpha, rate=lambda p, k: rate(p, k, alpha))


def by_stop(stop):
    return lambda *given: choice(*given, stop=stop)


def reach_of(length):
    return by_stop(
        lambda e, alive, n, alpha, best: all(
            math.log(p) / ((5 + length(words, n)) / 6) ** alpha <= best for words, p in alive
        )
    )


RIGHT[check_choice] = [
    (choice,),
    (lambda *given: [list(choice(*given)[0]), torch.tensor(choice(*given)[1])],),
]
WRONG[check_choice] = [
    (..., "Nothing to check so far"),
    (lambda *given: (..., ...), "Nothing to check so far"),
    (lambda *given: choice(*given)[0], "Return two things"),
    (lambda *given: ("I was pied", True), "You returned 'I was pied'"),
    (lambda *given: (choice(*given)[0], "yes"), "You returned 'yes'"),
    (by_rate(lambda p, n, alpha: p), "That is the most probable text"),
    (by_rate(lambda p, n, alpha: math.log(p) / ((4 + n) / 6) ** alpha), "The end is a token, too"),
    (by_rate(lambda p, n, alpha: math.log(p) / n**alpha), "You divide by the length itself"),
    (by_rate(lambda p, n, alpha: math.log(p) * ((5 + n) / 6) ** alpha), "You multiply"),
    (by_rate(lambda p, n, alpha: p / ((5 + n) / 6) ** alpha), "Divide the logarithm"),
    (by_rate(lambda p, n, alpha: -math.log(p) / ((5 + n) / 6) ** alpha), "the smallest score"),
    (by_rate(lambda p, n, alpha: n), "it should be I was pied"),
    (by_stop(lambda *given: False), "it should be True; you have False"),
    (by_stop(lambda *given: True), "What is alive may still become"),
    (
        by_stop(lambda e, a, *rest: max((p for _, p in a), default=0) <= max(p for _, p in e)),
        "You compare the probabilities",
    ),
    (reach_of(lambda words, n: len(words) + 1), "at its present length"),
    (reach_of(lambda words, n: n + 1), "counts the end already"),
    (by_stop(lambda e, a, *rest: len(a) < 1), "the search need not go on"),
    (
        by_stop(
            lambda e, a, n, alpha, best: all(
                math.log(p) / ((5 + n) / 6) ** alpha < best for _, p in a
            )
        ),
        "at a tie the search may stop",
    ),
    (lambda ended, *given: ended.nothing, "AttributeError"),
]


# The die


def draw(row, p, u, *, enough=None, scaled=True, key=None, on_line=None, edge=False):
    """Cut by top-p, stretch what is left to the whole line, and go along it to u."""
    words = sorted(row, key=key or (lambda word: -row[word]))
    enough = enough or (lambda before, q: before >= p)
    kept = {}
    for word in words:
        if kept and enough(sum(kept.values()), row[word]):
            break
        kept[word] = row[word]
    edges = np.cumsum([kept[word] for word in on_line(row, kept)] if on_line else [*kept.values()])
    edges = edges / edges[-1] if scaled else edges
    place = np.searchsorted(edges, u, side="left" if edge else "right")
    return list(on_line(row, kept) if on_line else kept)[min(place, len(kept) - 1)]


def draw_by_interval(row, p, u):
    """The interval of each word, in exact fractions."""
    left, total = [], Fraction(0)
    for word, q in sorted(row.items(), key=lambda pair: -pair[1]):
        if total < Fraction(p):
            left.append((word, total, total := total + Fraction(q)))
    (word,) = [w for w, start, end in left if start <= Fraction(u) * total < end]
    return word


RIGHT[check_die] = [(draw,), (draw_by_interval,)]
WRONG[check_die] = [
    (..., "Nothing to check so far"),
    (lambda *given: None, "Nothing to check so far"),
    (lambda *given: 0.5, "Return one of the words of the row; you returned 0.5"),
    (lambda *given: "soup", "you returned 'soup'"),
    (lambda row, p, u: max(row, key=row.get), "greedy decoding. What does u choose?"),
    (lambda row, p, u: draw(row, 1.0, u), "You draw from the whole row"),
    (lambda row, p, u: draw(row, p, u, enough=lambda s, q: s + q > p), "top-p keeps it, too"),
    (lambda row, p, u: draw(row, p, u, enough=lambda s, q: s > p), "You keep a word too many"),
    (lambda row, p, u: draw(row, p, u, enough=lambda s, q: q < p), "at least p each"),
    (lambda *given: draw(*given, scaled=False), "Divide by the new sum"),
    (
        lambda *given: draw(*given, on_line=lambda row, kept: [w for w in row if w in kept]),
        "not the first of the row",
    ),
    (
        lambda row, *given: draw(row, *given, key=lambda w: (-row[w], -list(row).index(w))),
        "the first of the row comes first",
    ),
    (lambda *given: draw(*given, edge=True), "the next has it"),
    (lambda row, p, u: min(row, key=row.get), "it is pie, not tart"),
    (lambda row, p, u: row[u], "KeyError"),
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
