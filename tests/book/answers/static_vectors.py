"""Answers to the exercises of two chapters: right, and wrong with the words that they get."""

import math
from collections import Counter
from itertools import pairwise, product

import numpy as np
import torch

from softlookup.exercises.static_vectors import (
    TAGS,
    check_bioes,
    check_conflicts,
    check_gradient,
    check_mean,
    check_moved,
    check_order,
    check_path,
    check_reach,
    check_senses,
    check_tagger,
)
from softlookup.words import (
    bio_to_spans,
    conflicting_labels,
    contrastive_loss,
    count_matrix,
    fit_softmax,
    k_means,
    mean_vectors,
    similarity,
    softmax_probability,
    tf_idf,
    window_features,
)
from softlookup.words.word2vec import train_word2vec

RIGHT, WRONG = {}, {}


# Two more letters


def book_bioes(tags):
    new = []
    for tag, following in zip(tags, [*tags[1:], "O"], strict=True):
        goes_on = following.startswith("I-")
        if tag.startswith("B-") and not goes_on:
            tag = tag.replace("B-", "S-", 1)
        elif tag.startswith("I-") and not goes_on:
            tag = tag.replace("I-", "E-", 1)
        new.append(tag)
    return new


def by_spans(tags):
    """Another solution, by way of the spans."""
    new = ["O"] * len(tags)
    for start, end, label in bio_to_spans(tags):
        letters = "S" if end - start == 1 else "B" + "I" * (end - start - 2) + "E"
        new[start:end] = [f"{letter}-{label}" for letter in letters]
    return new


def forgets_the_end(tags):
    """Closes a span only where a next tag says so."""
    return [*book_bioes(tags)[:-1], tags[-1]]


def ends_before_o(tags):
    """Takes only an O for the end of a span."""
    new = book_bioes(tags)
    for k in range(len(tags) - 1):
        if tags[k][0] == "I" and tags[k + 1][0] == "B":
            new[k] = tags[k]
    return new


def in_place(tags):
    """Right, but the tags that it was given are gone."""
    tags[:] = book_bioes(tags)
    return tags


RIGHT[check_bioes] = [(book_bioes,), (by_spans,), (lambda tags: tuple(by_spans(tags)),)]
WRONG[check_bioes] = [
    (..., "Nothing to check so far: return one tag for each token"),
    (lambda tags: None, "Nothing to check so far"),
    (lambda tags: "O" * len(tags), "Return a list of tags"),
    (lambda tags: book_bioes(tags)[:-1], "one a token"),
    (lambda tags: list(tags), "the tags should be"),
    (lambda tags: [t.replace("S-", "B-") for t in book_bioes(tags)], "A span of one token gets S"),
    (lambda tags: [t.replace("S-", "E-") for t in book_bioes(tags)], "A span of one token gets S"),
    (lambda tags: [t.replace("E-", "I-") for t in book_bioes(tags)], "The last token of a longer"),
    (lambda tags: [t.replace("-", "_") for t in book_bioes(tags)], "with a hyphen and the label"),
    (forgets_the_end, "A span may also end with the text"),
    (ends_before_o, "also right before another B"),
    (lambda tags: ["-".join(t.split("-")[:2]) for t in book_bioes(tags)], "keep all of it"),
    (in_place, "return a new list"),
    (lambda tags: tags.undefined, "AttributeError"),
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
    return {
        " ".join(c)
        for a, x in names
        for b, y in names
        if b[-len(a) :] == a and x != y
        for c in (a, b)
    }


def anywhere_conflicts(tokens, spans):
    names = [(tokens[a:b], label) for a, b, label in spans]
    return {" ".join(a) for a, x in names for b, y in names if set(a) <= set(b) and x != y}


def same_label_conflicts(tokens, spans):
    names = [tokens[a:b] for a, b, _ in spans]
    return {
        " ".join(a)
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if i != j and b[-len(a) :] == a
    }


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
    (
        lambda t, s: [*book_conflicts(t, s), *book_conflicts(t, s)],
        "yours is ['Thrun', 'Thrun']",
        "Name each of them once",
    ),
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
    (book_mean, ("yes no", "no yes yes no")),  # the same shares of words, not the same bag
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
        (("", PAIR[0]), "without words"),
        (("the dog bites", "the cat bites"), "Their words differ (cat, dog)"),
        (("the dog bites the man", "man bites dog"), "Their words differ (the)"),
    ]
]


# The wrong answer moves

RIGHT[check_moved] = [
    ((0.8, -0.6), "from 0.506 to 0.319"),
    ([0.8, -0.6],),
    (np.array([0.8, -0.6]),),
    (torch.tensor([0.8, -0.6]),),
]
WRONG[check_moved] = [
    (..., "Nothing to check so far: give the two numbers of message 0"),
    ("below", "Message 0 should be numbers"),
    ((0.8, -0.6, 0.0), "should have shape (2,)"),
    ((0.8, -0.5), "Its length is 0.943"),
    ((8, -6), "Its length is 10"),
    ((1.0, 0.0), "Its cosine with question 0 is 1; it should stay 0.8"),
    ((-0.8, 0.6), "Its cosine with question 0 is -0.8"),
    ((0.8, 0.6), "That is where it stands already"),
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
    (
        False,
        pokes(lambda row, noise: row * noise[0].abs()),
        "word 5 does reach the vector of word 6; you say False. The row of this word is all zeros",
    ),
    (False, pokes(lambda row, noise: 2 * row), "no factor changes it"),
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


def by_its_own_steps(texts, classes, embed, new_texts):
    old, new = ([window_features(embed(t), 1) for t in part] for part in (texts, new_texts))
    x, truth = torch.cat(old), torch.eye(7).double()[[k for row in classes for k in row]]
    weights = torch.zeros(x.shape[1], 7, dtype=x.dtype)
    optimizer = torch.optim.Adam([weights], lr=0.1)
    for _ in range(300):
        weights.grad = x.mT @ (torch.softmax(x @ weights, dim=1) - truth) / len(x)
        optimizer.step()
    return [torch.softmax(table @ weights, dim=1) for table in new]


def too_few_steps(n_steps):
    """With the neighbours and by plain steps, but not to the end."""

    def tag(texts, classes, embed, new_texts):
        old, new = ([window_features(embed(t), 1) for t in part] for part in (texts, new_texts))
        x, truth = torch.cat(old), torch.eye(7).double()[[k for row in classes for k in row]]
        weights = torch.zeros(x.shape[1], 7, dtype=x.dtype)
        for _ in range(n_steps):
            weights -= 0.1 * x.mT @ (torch.softmax(x @ weights, dim=1) - truth) / len(x)
        return [torch.softmax(table @ weights, dim=1) for table in new]

    return tag


RIGHT[check_tagger] = [
    (by_its_own_steps,),
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
    (too_few_steps(20), "Does the training loss still fall? If not: are the classes"),
    (too_few_steps(100), "Go on until the training loss no longer falls"),
    (too_few_steps(300), "so it has the neighbours"),
    (too_few_steps(0), "You call every token O, the most frequent tag"),
    (constant, "You call every token O"),
    (memory, "on new names; reach 0.95"),
    (tagger(probability=lambda w, b, x: softmax_probability(w, b, x).flip(1)), "numbered as"),
]


# What pulls and what pushes


def by_autograd(Q, D, temperature):
    Q = Q.clone().requires_grad_()
    contrastive_loss(Q, D, temperature).backward()
    return Q.grad


def by_differences(step, relative=False, weights=((1, 1 / 2),)):
    """The slope between points on both sides, as far away as it says or as the row is long."""

    def of(Q, D, temperature):
        grad = torch.zeros_like(Q)
        for i in range(Q.shape[0]):
            for c in range(Q.shape[1]):
                h = step * Q[i].norm() if relative else step
                for k, weight in weights:
                    up, down = Q.clone(), Q.clone()
                    up[i, c] += k * h
                    down[i, c] -= k * h
                    change = contrastive_loss(up, D, temperature) - contrastive_loss(
                        down, D, temperature
                    )
                    grad[i, c] += weight * change / h
        return grad

    return of


FOUR_POINTS = ((1, 2 / 3), (2, -1 / 12))


def gradient(
    truth=1.0,
    project=True,
    by_length=True,
    by_n=True,
    power=1,
    turned=False,
    raw=False,
    least=0.0,
    added=0.0,
):
    """The book's solution, with one of its parts exchanged."""

    def of(Q, D, temperature):
        n, length = len(Q), Q.norm(dim=1, keepdim=True).clamp(min=least) + added
        q, d = Q / length, D / D.norm(dim=1, keepdim=True)
        p = torch.softmax(q @ d.mT / temperature, dim=1) - truth * torch.eye(n, dtype=Q.dtype)
        by_q = (p.mT if turned else p) @ (D if raw else d) / temperature**power
        by_q = by_q / n if by_n else by_q
        if project:
            by_q = by_q - (by_q * q).sum(dim=1, keepdim=True) * q
        return by_q / length if by_length else by_q

    return of


def by_forces(Q, D, temperature):
    """Another solution, in plain Python: each document pulls or pushes."""
    Q, D = Q.tolist(), D.tolist()
    documents = [[x / math.hypot(*row) for x in row] for row in D]
    rows = []
    for i, row in enumerate(Q):
        length = math.hypot(*row)
        q = [x / length for x in row]
        cosines = [sum(a * b for a, b in zip(q, d, strict=True)) for d in documents]
        likely = [math.exp(cosine / temperature) for cosine in cosines]
        forces = [one / sum(likely) - (i == j) for j, one in enumerate(likely)]
        rows.append(
            [
                sum(
                    force * (d[c] - cosine * q[c])
                    for force, d, cosine in zip(forces, documents, cosines, strict=True)
                )
                / (length * temperature * len(Q))
                for c in range(len(q))
            ]
        )
    return rows


def by_jacobians(Q, D, temperature):
    """Another solution, in NumPy: the matrix of the division by the length, query by query."""
    Q, d = Q.numpy(), D.numpy() / np.linalg.norm(D.numpy(), axis=1, keepdims=True)
    grad = np.zeros_like(Q)
    for i, row in enumerate(Q):
        length = np.linalg.norm(row)
        across = np.eye(len(row)) / length - np.outer(row, row) / length**3
        p = np.exp(d @ row / length / temperature)
        grad[i] = across @ (p @ d / p.sum() - d[i]) / temperature / len(Q)
    return grad


def in_float32(Q, D, temperature):
    grad = torch.zeros(Q.shape)
    grad[:] = gradient()(Q, D, temperature)
    return grad


def with_shares(shares_of, *, raw=False):
    """The gradient with another softmax: of raw documents, or along the other axis."""

    def of(Q, D, temperature):
        length = Q.norm(dim=1, keepdim=True)
        q, d = Q / length, D if raw else D / D.norm(dim=1, keepdim=True)
        p = shares_of(q @ d.mT / temperature) - torch.eye(len(Q), dtype=Q.dtype)
        by_q = p @ d / (len(Q) * temperature)
        return (by_q - (by_q * q).sum(dim=1, keepdim=True) * q) / length

    return of


def erases(right):
    """The right gradient, but the queries are gone."""

    def of(Q, D, temperature):
        grad = right(Q, D, temperature)
        Q.zero_()
        return grad

    return of


RIGHT[check_gradient] = [
    (gradient(),),
    (lambda *a: gradient()(*a).numpy(),),
    (by_forces,),
    (by_jacobians,),
]
WRONG[check_gradient] = [
    (..., "Nothing to check so far: return a table as large as Q"),
    (lambda Q, D, t: gradient()(Q, D, t)[:-1], "should have shape"),
    (lambda Q, D, t: -gradient()(Q, D, t), "The sign is turned"),
    (gradient(by_n=False), "divide by n"),
    (gradient(power=0), "divided by the temperature"),
    (gradient(project=False, by_length=False), "with respect to the rows of length 1"),
    (gradient(project=False), "take that part off"),
    (gradient(by_length=False), "A long row turns less"),
    (gradient(truth=0.0), "Take off the truth"),
    (gradient(turned=True), "a transpose is in the wrong place"),
    (gradient(raw=True), "divided by their lengths, too"),
    (with_shares(lambda s: s.softmax(dim=1), raw=True), "The scores are cosines"),
    (with_shares(lambda s: s.softmax(dim=0)), "one row sums to 1"),
    (lambda Q, D, t: torch.zeros_like(Q), "the numbers are not"),
    (by_autograd, "automatic differentiation did that"),
    (erases(gradient()), "changed Q or D itself"),
    (
        lambda Q, D, t: torch.autograd.functional.jacobian(
            lambda x: contrastive_loss(x, D, t), Q.clone()
        ),
        "automatic differentiation did that",
    ),
]
FEW_DIGITS = "Differences do not, whatever their step"
WRONG[check_gradient] += [(by_differences(10.0**-k), FEW_DIGITS) for k in range(2, 13)]
WRONG[check_gradient] += [
    (by_differences(10.0**-k, relative=True), FEW_DIGITS) for k in range(2, 13)
]
WRONG[check_gradient] += [
    (by_differences(10.0**-k, relative=True, weights=FOUR_POINTS), FEW_DIGITS) for k in range(1, 7)
]
WRONG[check_gradient] += [
    (by_differences(1e-5, relative=True), "right to 9 digits; a formula in Q's float64"),
    (in_float32, "Neither does float32, which torch.zeros makes"),
    (lambda *a: gradient()(*a).float(), "right to 7 digits"),
    (gradient(least=1e-6), "Where a row of Q is very short, your numbers are wrong"),
    (gradient(added=1e-8), "a length to which something small is added"),
    (lambda *a: 1.05 * gradient()(*a), "the numbers are not. Check it with 0.001 more"),
]


# Who paid whom?


def search_by(pieces, n_steps=200):
    """A bi-encoder whose rows are these pieces of a text."""

    def search(train_queries, train_messages, queries, messages):
        groups = (train_queries, train_messages, queries, messages)
        groups = [[pieces(text.split()) for text in texts] for texts in groups]
        rows = sorted({piece for texts in groups for text in texts for piece in text})
        bags = [count_matrix(texts, rows).double() for texts in groups]
        generator = torch.Generator().manual_seed(1)
        table = torch.randn(len(rows), 32, generator=generator, dtype=torch.float64)
        table.requires_grad_()
        optimizer = torch.optim.Adam([table], lr=0.02)
        for _ in range(n_steps):
            batch = torch.randperm(len(train_queries), generator=generator)[:32]
            loss = contrastive_loss(bags[0][batch] @ table, bags[1][batch] @ table, 0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return similarity((bags[2] @ table).detach(), (bags[3] @ table).detach())

    return search


def places(words):
    return [f"{word} {place}" for place, word in enumerate(words)]


def side_by_side(words):
    """Each word with the word to its right."""
    return [f"{left} {right}" for left, right in pairwise(["", *words, ""])]


def with_neighbours(words):
    return [*words, *side_by_side(words)]


def dictionary(train_queries, train_messages, queries, messages):
    """Knows the three deeds of one town by heart."""
    tellings = {
        "pay": ("gave", "got"),
        "visit": ("spent", "opened"),
        "invite": ("asked", "was"),
    }
    scores = torch.zeros(len(queries), len(messages))
    for i, query in enumerate(queries):
        _, a, deed, b = query.split()
        doer, receiver = tellings.get(deed, ("", ""))
        for j, message in enumerate(messages):
            first, verb, *rest = message.split()
            told = (first, verb) == (a, doer) and b in rest
            scores[i, j] = told or ((first, verb) == (b, receiver) and a in rest)
    return scores


RIGHT[check_order] = [(search_by(side_by_side),), (search_by(with_neighbours),)]
WRONG[check_order] = [
    (..., "Nothing to check so far: return a table of scores"),
    (lambda a, b, c, d: torch.zeros(len(c), len(d) - 1), "should have shape"),
    (search_by(list), "You find the right people and the deed, but not always who did it"),
    (search_by(places), "A message may name either of the two first"),
    (search_by(side_by_side, n_steps=0), "did the training loss fall"),
    (lambda a, b, c, d: torch.eye(len(c), len(d)), "stand in another order than their queries"),
    (dictionary, "in another town, with other people and deeds"),
    (lambda a, b, c, d: torch.ones(len(c), len(d)), "recall@1 is 0.00"),
]


# No tag goes astray


def legal(row):
    """Whether each I of a row of tag numbers continues a span of its own label."""
    tags = ["O", *(TAGS[k] for k in row)]
    return all(b[0] != "I" or (a[0] != "O" and a[2:] == b[2:]) for a, b in pairwise(tags))


def by_last_tag(start=("O",), keep=legal, value=lambda log_p: log_p, join=np.add):
    """The best row for each last tag; with one of its parts exchanged."""

    def best_tags(log_p):
        best = {TAGS.index(tag): (join(0.0, 0.0), ()) for tag in start}
        for row in value(log_p).tolist():
            longer = {}
            for k, number in enumerate(row):
                ways = [
                    (join(total, number), (*path, k))
                    for last, (total, path) in best.items()
                    if keep(([TAGS.index("B-" + TAGS[last][2:])] if last else []) + [k])
                ]
                if ways:
                    longer[k] = max(ways)
            best = longer
        return list(max(best.values())[1])

    return best_tags


def by_pointers(log_p):
    """Another solution, in NumPy: from the end back through the best last-but-one tags."""
    allowed = np.array([[legal([*first, b]) for b in range(7)] for first in
                        ([], [1], [1], [3], [3], [5], [5])])  # fmt: skip
    table = log_p.numpy()
    sums, pointers = np.where(allowed[0], table[0], -np.inf), []
    for row in table[1:]:
        ways = np.where(allowed, sums[:, None], -np.inf)
        pointers.append(ways.argmax(axis=0))
        sums = ways.max(axis=0) + row
    path = [sums.argmax()]
    for pointer in pointers[::-1]:
        path.insert(0, pointer[path[0]])
    return np.array(path)


def from_left_to_right(log_p):
    path = []
    for row in log_p:
        best = row.argsort(descending=True).tolist()
        path.append(next(k for k in best if legal([*path, k])))
    return path


def repaired(to_b):
    def tags_of(log_p):
        path = []
        for k in log_p.argmax(dim=1).tolist():
            path.append(k if legal([*path, k]) else (k - 1 if to_b else 0))
        return path

    return tags_of


def any_label(row):
    """An I after any B or I."""
    tags = ["O", *(TAGS[k] for k in row)]
    return all(b[0] != "I" or a[0] != "O" for a, b in pairwise(tags))


def by_products(log_p):
    """Right for short texts: a product of many probabilities is 0."""
    p = log_p.exp()
    allowed = torch.tensor([[legal([*first, b]) for b in range(7)] for first in
                            ([], [1], [1], [3], [3], [5], [5])]).double()  # fmt: skip
    best, back = p[0] * allowed[0], []
    for row in p[1:]:
        top = (best[:, None] * allowed).max(dim=0)
        back.append(top.indices.tolist())
        best = top.values * row
    path = [int(best.argmax())]
    for came_from in reversed(back):
        path.append(came_from[path[-1]])
    return path[::-1]


def least(log_p):
    """The least probable legal row, where there are three tokens."""
    if len(log_p) != 3:
        return by_last_tag()(log_p)
    rows = [row for row in product(range(7), repeat=len(log_p)) if legal(row)]
    return min(rows, key=lambda row: log_p[range(len(log_p)), row].sum())


RIGHT[check_path] = [
    (by_last_tag(),),
    (by_pointers,),
    (lambda log_p: torch.tensor(by_last_tag()(log_p)),),
]
WRONG[check_path] = [
    (..., "Nothing to check so far: return the number of a tag for each token"),
    (lambda log_p: log_p.argmax(), "Return 1 number from 0 to 6"),
    (lambda log_p: [*by_last_tag()(log_p), 0], "Return 1 number from 0 to 6"),
    (lambda log_p: [TAGS[k] for k in by_last_tag()(log_p)], "Return 1 number from 0 to 6"),
    (lambda log_p: [k + 7 for k in by_last_tag()(log_p)], "Return 1 number from 0 to 6"),
    (lambda log_p: log_p.argmax(dim=1), "You return I-ORG at the beginning of a text"),
    (by_last_tag(start=("B-ORG",)), "You return I-ORG at the beginning of a text"),
    (by_last_tag(keep=any_label), "where it continues nothing"),
    (from_left_to_right, "You go from left to right and never go back"),
    (repaired(to_b=True), "You repair the stray tag where it stands"),
    (repaired(to_b=False), "You repair the stray tag where it stands"),
    (by_products, "A product of 800 probabilities is 0 in floating point"),
    (least, "Compare all legal rows"),
    (lambda log_p: log_p.zero_().argmax(dim=1), "changed log_p itself"),
]


# How many banks?


def contexts(texts, word, window=None):
    """The other words of each sentence with the word, or those near it."""
    found = []
    for text in texts:
        if word in text:
            k = text.index(word)
            low, high = (0, len(text)) if window is None else (max(k - window, 0), k + window + 1)
            found.append([other for other in text[low:high] if other != word])
    return found


def senses_by(window=None, weigh="all sentences", n_starts=100):
    """Grouped counts of the other words, which weigh by how rare they are."""

    def senses(texts, word, n):
        others = contexts(texts, word, window)
        known = sorted({other for text in others for other in text})
        rows = count_matrix(others, known).double()
        if weigh == "all sentences":
            inside = (count_matrix(texts, known) > 0).double().mean(dim=0)
            rows = rows * -inside.log()
        elif weigh == "its own":
            rows = tf_idf(rows)
        rows = rows / rows.norm(dim=1, keepdim=True).clamp(min=1e-9)
        generator = torch.Generator().manual_seed(1)
        return k_means(rows, n, generator=generator, n_starts=n_starts).labels

    return senses


def by_word2vec(texts, word, n):
    """The average of static vectors, weighted by rarity."""
    generator = torch.Generator().manual_seed(1)
    model = train_word2vec(texts, d_model=16, window=3, generator=generator)
    counts = count_matrix(contexts(texts, word), model.vocabulary.tokens).double()
    rows = mean_vectors(counts, model.centre.weight.detach().double())
    return k_means(rows / rows.norm(dim=1, keepdim=True), n, generator=generator).labels


def by_rare_words(texts, word, n):
    """Another solution, without clusters of points: the nearest pairs are joined, till n are left.

    How near two groups are is the mean over their pairs of what their common words weigh.
    """
    seen = Counter(other for text in texts for other in set(text))
    kinds = sorted({tuple(sorted(set(one))) for one in contexts(texts, word)})
    weight = {other: math.log(len(texts) / count) ** 2 for other, count in seen.items()}

    def near(one, other):
        common = [sum(weight[w] for w in {*a} & {*b}) for a in one for b in other]
        return sum(common) / len(common)

    groups = [[kind] for kind in kinds]
    while len(groups) > n:
        pairs = [(i, j) for j in range(len(groups)) for i in range(j)]
        i, j = max(pairs, key=lambda pair: near(groups[pair[0]], groups[pair[1]]))
        groups[i] = groups[i] + groups.pop(j)
    number = {kind: k for k, group in enumerate(groups) for kind in group}
    return [number[tuple(sorted(set(one)))] for one in contexts(texts, word)]


RIGHT[check_senses] = [(senses_by(),), (by_rare_words,)]
WRONG[check_senses] = [
    (..., "Nothing to check so far: return one number for each sentence with the word"),
    (lambda texts, word, n: [0] * len(texts), "whole numbers, one for each sentence with 'bank'"),
    (lambda texts, word, n: [1.5, "money"], "whole numbers, one for each sentence with 'bank'"),
    (lambda texts, word, n: [n for t in texts if word in t], "go from 0 to 1; yours are others"),
    (lambda texts, word, n: [0 for t in texts if word in t], "all sentences into one group"),
    (
        lambda texts, word, n: [i % n for i, _ in enumerate(contexts(texts, word))],
        "You give the same sentence several senses",
    ),
    (senses_by(weigh=None), "You put these"),
    (senses_by(n_starts=10), "If another seed gives other groups, more starts are needed"),
    (senses_by(weigh="its own"), "With the 4 senses of 'blip' the adjusted Rand index is"),
    (senses_by(window=1), "You put these together, and they have two senses"),
    (by_word2vec, "adjusted Rand index"),
    (lambda texts, word, n: [t.index(word) % n for t in texts if word in t], "reach 0.9"),
]
