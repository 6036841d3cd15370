"""Answers to the exercises of chapter 5: right, and wrong with the words that they get."""

import numpy as np
import torch

from softlookup.exercises.static_vectors import (
    check_bio,
    check_conflicts,
    check_mean,
    check_reach,
    check_tagger,
)
from softlookup.words import (
    bio_to_spans,
    conflicting_labels,
    fit_softmax,
    softmax_probability,
    spans_to_bio,
    window_features,
)

RIGHT, WRONG = {}, {}


# There and back


def book_tags(spans, n):
    inside = {i: ("I-" if i > a else "B-") + label for a, b, label in spans for i in range(a, b)}
    return [inside.get(i, "O") for i in range(n)]


def book_spans(tags):
    spans = []
    for i, tag in enumerate(tags):
        if tag[0] == "B":
            spans.append([i, i + 1, tag[2:]])
        elif tag[0] == "I":
            spans[-1][1] = i + 1
    return spans


def inclusive_tags(spans, n):
    tags = ["O"] * (n + 1)
    for a, b, label in spans:
        tags[a] = f"B-{label}"
        for i in range(a + 1, b + 1):
            tags[i] = f"I-{label}"
    return tags[:n]


def merged_spans(tags):
    spans = []
    for i, tag in enumerate(tags):
        if tag != "O" and spans and spans[-1][1] == i and spans[-1][2] == tag[2:]:
            spans[-1][1] += 1
        elif tag != "O":
            spans.append([i, i + 1, tag[2:]])
    return spans


def closing_spans(tags):
    """Closes a span at the next tag, and so never the one at the end."""
    spans, start = [], None
    for i, tag in enumerate(tags):
        if start is not None and tag[0] != "I":
            spans.append((start, i, tags[start][2:]))
            start = None
        if tag[0] == "B":
            start = i
    return spans


def iter_of(spans):
    """Lists instead of tuples, the last span first."""
    return [[*np.array(span[:2]).tolist(), span[2]] for span in reversed(list(spans))]


RIGHT[check_bio] = [
    (book_tags, book_spans),
    (spans_to_bio, bio_to_spans),
    (lambda s, n: tuple(book_tags(s, n)), lambda tags: iter_of(book_spans(tags))),
    (lambda s, n: tuple(spans_to_bio(s, n)), lambda tags: iter_of(bio_to_spans(tags))),
]
WRONG[check_bio] = [
    (tags, book_spans, advice)
    for tags, advice in [
        (..., "Nothing to check so far: return one tag a token"),
        (lambda spans, n: None, "Nothing to check so far"),
        (lambda spans, n: "O" * n, "Return a list of tags"),
        (lambda spans, n: book_tags(spans, n)[:-1], "one a token"),
        (lambda spans, n: [t.replace("B-", "I-") for t in book_tags(spans, n)], "gets B-"),
        (lambda spans, n: [t.replace("I-", "B-") for t in book_tags(spans, n)], "Exactly the fir"),
        (lambda spans, n: [t[0] for t in book_tags(spans, n)], "with a hyphen and the label"),
        (lambda spans, n: [t.replace("-", "_") for t in book_tags(spans, n)], "with a hyphen"),
        (inclusive_tags, "(1, 3) covers the tokens 1 and 2"),
        (lambda spans, n: ["O"] * n, "the tags should be"),
        (lambda spans, n: spans.undefined, "AttributeError"),
    ]
]


WRONG[check_bio] += [
    (book_tags, spans, advice)
    for spans, advice in [
        (..., "Nothing to check so far: return the list of spans"),
        (lambda tags: 7, "Return a list of (start, end, label)"),
        (lambda tags: [(0, 1)] if "B-ORG" in tags else [], "Return a list of (start, end, label)"),
        (lambda tags: [(a, b - 1, c) for a, b, c in book_spans(tags)], "The end is not included"),
        (merged_spans, "even right after another one"),
        (closing_spans, "a span may also end with the text"),
        (lambda tags: [], "come the spans"),
    ]
]


# The name with two labels


def book_conflicts(tokens, spans):
    names = [(tokens[start:end], label) for start, end, label in spans]
    return {" ".join(a) for a, x in names for b, y in names if b[-len(a) :] == a and x != y}


def exact_conflicts(tokens, spans):
    names = [(" ".join(tokens[a:b]), label) for a, b, label in spans]
    return sorted({a for a, x in names for b, y in names if a == b and x != y})


def string_conflicts(tokens, spans):
    names = [(" ".join(tokens[a:b]), label) for a, b, label in spans]
    return sorted({a for a, x in names for b, y in names if b.endswith(a) and x != y})


def both_conflicts(tokens, spans):
    names = [(tokens[a:b], label) for a, b, label in spans]
    return {" ".join(c) for a, x in names for b, y in names
            if b[-len(a) :] == a and x != y for c in (a, b)}  # fmt: skip


def anywhere_conflicts(tokens, spans):
    names = [(tokens[a:b], label) for a, b, label in spans]
    return {" ".join(a) for a, x in names for b, y in names if set(a) <= set(b) and x != y}


def same_label_conflicts(tokens, spans):
    names = [tokens[a:b] for a, b, _ in spans]
    return {" ".join(a) for i, a in enumerate(names) for j, b in enumerate(names)
            if i != j and b[-len(a) :] == a}  # fmt: skip


RIGHT[check_conflicts] = [
    (book_conflicts,),
    (conflicting_labels,),
    (lambda tokens, spans: list(book_conflicts(tokens, spans)),),
    (lambda t, s: {tuple(name.split()) for name in book_conflicts(t, s)},),
]


WRONG[check_conflicts] = [
    (..., "Nothing to check so far"),
    (lambda tokens, spans: "Thrun", "Return a list of names; you returned 'Thrun'"),
    (lambda tokens, spans: ["Thrun"], "the answer is ['Low']"),
    (exact_conflicts, "The surname alone is the same as the full name"),
    (string_conflicts, "one's words are the other's last words"),
    (both_conflicts, "Only the name that itself carries both labels"),
    (anywhere_conflicts, "one's words are the other's last words"),
    (same_label_conflicts, "the labels differ"),
    (lambda t, s: [*book_conflicts(t, s), *book_conflicts(t, s)], "Name each of them once"),
    (lambda tokens: [], "TypeError"),
]


# What the average forgets

PAIR = ("the dog bites the man", "the man bites the dog")


def book_mean(E, ids):
    return E[ids].mean(dim=0)


def loop_mean(E, ids):
    return [sum(float(E[i][c]) for i in ids) / len(ids) for c in range(E.shape[1])]


RIGHT[check_mean] = [
    (book_mean, PAIR),
    (loop_mean, [PAIR[0].split(), tuple(PAIR[1].split())]),
    (lambda E, ids: E.numpy()[ids.numpy()].mean(axis=0), PAIR),
]


WRONG[check_mean] = [
    (mean, PAIR, advice)
    for mean, advice in [
        (..., "Nothing to check so far: return the mean"),
        (lambda E, ids: ..., "Nothing to check so far"),
        (lambda E, ids: E[ids].sum(dim=0), "That is the sum"),
        (lambda E, ids: E[ids].sum(dim=0) / len(E), "not in E"),
        (lambda E, ids: E[ids.unique()].mean(dim=0), "A word that comes twice counts twice"),
        (lambda E, ids: E[ids].mean(dim=1), "should have shape (3,)"),
        (lambda E, ids: E[ids].mean(), "should have shape (3,)"),
        (lambda E, ids: E[ids].median(dim=0).values, "look up each word's row"),
    ]
]


WRONG[check_mean] += [
    (book_mean, pair, advice)
    for pair, advice in [
        (..., "Nothing to check so far: write two texts"),
        ((..., ...), "Nothing to check so far"),
        ((PAIR[0], ...), "Nothing to check so far"),
        ((PAIR[0],), "Give two texts, as a pair"),
        (PAIR[0], "Give two texts, as a pair"),
        ((PAIR[0], PAIR[0]), "the same text"),
        (("the dog bites", "the cat bites"), "Their words differ (cat, dog)"),
        (("the dog bites the man", "man bites dog"), "Their words differ (the)"),
    ]
]


# Proof by poking


def pokes(change, sizes=(0.1, 1, 10, 100), tries=20, same=torch.equal):
    """A solution with one of its parts exchanged."""

    def reaches(model, X, source, target):
        before = model(X)[target]
        generator = torch.Generator().manual_seed(3)
        for size in sizes:
            for _ in range(tries):
                poked = X.clone()
                noise = torch.randn(X.shape[1], generator=generator, dtype=X.dtype)
                poked[source] = change(X[source], size * noise)
                if not same(model(poked)[target], before):
                    return True
        return False

    return reaches


def by_gradient(model, X, source, target):
    """Another solution: the slope at many places."""
    for seed in range(40):
        generator = torch.Generator().manual_seed(seed)
        x = X.clone()
        x[source] = 30 * torch.randn(X.shape[1], generator=generator, dtype=X.dtype) * (seed / 40)
        x.requires_grad_()
        (slope,) = torch.autograd.grad(model(x)[target].sum(), x)
        if slope[source].abs().sum() > 0:
            return True
    return False


def changed_in_place(model, X, source, target):
    before = model(X)[target]
    X[source] += 100
    return not torch.equal(model(X)[target], before)


def whole_output(model, X, source, target):
    poked = X.clone()
    poked[source] = 100 * torch.randn(X.shape[1], dtype=X.dtype)
    return not torch.equal(model(poked), model(X))


REPLACED = pokes(lambda row, noise: noise)


RIGHT[check_reach] = [
    (False, REPLACED),
    (np.bool_(False), pokes(lambda row, noise: row + noise)),
    (False, lambda *a: torch.tensor(REPLACED(*a))),
    (torch.tensor(False), REPLACED),
    (False, by_gradient),
]
WRONG[check_reach] = [
    (..., REPLACED, "Nothing to check so far: answer True or False"),
    (False, ..., "Nothing to check so far: write my_reaches"),
    ("no", REPLACED, "Answer True or False; you gave 'no'"),
    (True, REPLACED, "Your function is right, your answer is not"),
    (False, lambda m, X, s, t: 1.5, "Return True or False; you returned 1.5"),
    (False, changed_in_place, "changed X itself"),
    (False, lambda m, X, s, t: s <= t, "word 6 does reach the vector of word 0"),
    (False, lambda m, X, s, t: True, "word 6 cannot reach the vector of word 4"),
    (False, lambda m, X, s, t: False, "word 2 does reach"),
    (False, whole_output, "Compare the target's row alone"),
    (False, pokes(lambda row, noise: noise, same=torch.allclose), "not with a tolerance"),
    (False, pokes(lambda row, noise: row + noise[0]), "a constant added to all numbers"),
    (False, pokes(lambda row, noise: row * noise[0].abs()), "word 5 does reach"),
    (False, pokes(lambda row, noise: noise, sizes=[0.1]), "try many, of several sizes"),
    (False, pokes(lambda row, noise: row + 1 + row * noise[0], tries=1), "does reach"),
]


# A head that fits


def tagger(r=1, probability=softmax_probability, **options):
    options = {"l2": 1e-4, "n_steps": 300, **options}

    def tag(texts, classes, embed, new_texts):
        old, new = ([window_features(embed(t), r) for t in part] for part in (texts, new_texts))
        y = torch.tensor([k for row in classes for k in row])
        head = fit_softmax(torch.cat(old), y, n_classes=7, **options)
        return [probability(*head, x) for x in new]

    return tag


def least_squares(texts, classes, embed, new_texts):
    old, new = ([window_features(embed(t), 1) for t in part] for part in (texts, new_texts))
    y = torch.tensor([k for row in classes for k in row])
    solution = torch.linalg.lstsq(torch.cat(old), torch.eye(7).double()[y]).solution
    return [x @ solution for x in new]


def memory(texts, classes, embed, new_texts):
    known = {tuple(t): row for t, row in zip(texts, classes, strict=True)}
    return [np.eye(7)[known.get(tuple(t), [0] * len(t))] for t in new_texts]


def constant(texts, classes, embed, new_texts):
    return [[[1, 0, 0, 0, 0, 0, 0]] * len(t) for t in new_texts]


RIGHT[check_tagger] = [
    (tagger(),),
    (lambda *a: [table.numpy() for table in tagger(r=2)(*a)],),
]


WRONG[check_tagger] = [
    (..., "Nothing to check so far"),
    (lambda a, b, c, d: None, "Nothing to check so far"),
    (lambda a, b, c, d: tagger()(a, b, c, d)[:-1], "one for each new text"),
    (lambda a, b, c, d: [t[:, :6] for t in tagger()(a, b, c, d)], "should have shape"),
    (least_squares, "Which head promises probabilities?"),
    (tagger(probability=lambda w, b, x: x @ w + b), "Which head promises probabilities?"),
    (tagger(probability=lambda w, b, x: (x @ w + b).sigmoid()), "should sum to 1"),
    (tagger(r=0), "give the head the neighbours"),
    (constant, "You call every token O"),
    (memory, "on new names; reach 0.95"),
    (tagger(probability=lambda w, b, x: softmax_probability(w, b, x).flip(1)), "numbered as"),
]
