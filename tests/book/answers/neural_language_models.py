"""Answers to the exercises of two chapters: right, and wrong with the words that they get."""

import math

import torch

from softlookup.exercises.neural_language_models import (
    check_autodiff,
    check_curves,
    check_direct,
    check_grammar,
    check_memory,
    check_new_word,
    check_pencil,
    check_seen,
    check_share,
    check_size,
    check_training,
)

RIGHT, WRONG = {}, {}


# How many numbers are learned


def book_size(vocab_size, n, d_model, d_hidden):
    table = (vocab_size + 1) * d_model
    hidden = (n - 1) * d_model * d_hidden + d_hidden
    return table + hidden + d_hidden * vocab_size + vocab_size


RIGHT[check_size] = [
    (book_size,),
    (lambda v, n, m, h: torch.tensor((v + 1) * m + h * ((n - 1) * m + 1) + v * (h + 1)),),
]
WRONG[check_size] = [
    (..., "Nothing to check"),
    (lambda v, n, m, h: book_size(v, n, m, h) - h - v, "biases"),
    (lambda v, n, m, h: book_size(v, n, m, h) - m, "one row more"),
    (lambda v, n, m, h: book_size(v, n + 1, m, h), "n − 1 words"),
    (lambda v, n, m, h: book_size(v, n, m, h) + (n - 2) * (v + 1) * m, "share one table"),
    (lambda v, n, m, h: book_size(v, n, m, h) - h - v - m, "biases, and the table one row more"),
    (lambda v, n, m, h: book_size(v, n, m, h) + h + 1, "and no score"),
    (lambda v, n, m, h: v, "yours is 30"),
]


# One pass with a pencil

P, ERROR, UNITS, SUMS = [0.25, 0.5, 0.25], [-0.75, 0.5, 0.25], [-1, 0.693], [-1, 0.52]
SLOPES = [[-1, 0, 0, -1], [0.52, 0, 0, 0.52]]

RIGHT[check_pencil] = [
    (P, ERROR, UNITS, SUMS, SLOPES),
    (torch.tensor(P), torch.tensor(ERROR), (-1, 0.69), (-1, 0.5198), torch.tensor(SLOPES)),
]
WRONG[check_pencil] = [
    (..., ..., ..., ..., ..., "Nothing to check"),
    (P, ..., ..., ..., ..., "my_delta_z"),
    ([0, 0.693, 0], ERROR, UNITS, SUMS, SLOPES, "These are the scores"),
    ([1, 2, 1], ERROR, UNITS, SUMS, SLOPES, "by their sum"),
    ([0.2416, 0.5168, 0.2416], ERROR, UNITS, SUMS, SLOPES, "after the tanh"),
    ([0.3, 0.4, 0.3], ERROR, UNITS, SUMS, SLOPES, "0, 0.693 and 0"),
    ([0.25, 0.5], ERROR, UNITS, SUMS, SLOPES, "shape"),
    (P, [0.75, -0.5, -0.25], UNITS, SUMS, SLOPES, "p − y"),
    (P, P, UNITS, SUMS, SLOPES, "Subtract the truth"),
    (P, [0.25, -0.5, 0.25], UNITS, SUMS, SLOPES, "1 at barks"),
    (P, ERROR, [-0.75, 0], SUMS, SLOPES, "all three scores"),
    (P, ERROR, [1, -0.693], SUMS, SLOPES, "turned"),
    (P, ERROR, [0, 1.386], SUMS, SLOPES, "before you add"),
    (P, ERROR, [-0.5, 0.693], SUMS, SLOPES, "column of U"),
    (P, ERROR, UNITS, UNITS, SLOPES, "multiplied by its slope"),
    (P, ERROR, UNITS, [0, 0.173], SLOPES, "not h²"),
    (P, ERROR, UNITS, [-1, 0.3466], SLOPES, "left out the square"),
    (P, ERROR, UNITS, [-1, 0.484], SLOPES, "not a"),
    (P, ERROR, UNITS, [1, 1], SLOPES, "its own unit"),
    (P, ERROR, UNITS, SUMS, [[-1, 0.52], [0, 0], [0, 0], [-1, 0.52]], "shape of H"),
    (P, ERROR, UNITS, SUMS, [[-1, 0, 0, -1], [0.693, 0, 0, 0.693]], "before the tanh"),
    (P, ERROR, UNITS, SUMS, [[1.0] * 4] * 2, "at that place"),
]


# Five pairs of curves

REMEDIES = [
    "larger learning rate",
    "smaller learning rate",
    "keep an earlier step",
    "find the leak",
    "go on training",
]


def instead(run, remedy):
    return [remedy if k == run else right for k, right in enumerate(REMEDIES)]


RIGHT[check_curves] = [(REMEDIES,), (tuple(REMEDIES),)]
WRONG[check_curves] = [
    (..., "Nothing to check"),
    ([...] * 5, "Nothing to check"),
    (REMEDIES[:4], "a list of 5"),
    ("go on training", "a list of 5"),
    (instead(0, "more coffee"), "none of the remedies"),
    (instead(0, "go on training"), "hardly moved"),
    (instead(1, "go on training"), "too long"),
    (instead(2, "go on training"), "lowest"),
    (instead(3, "go on training"), "0.91"),
    (instead(4, "find the leak"), "side by side"),
]


# Two ways


def forward(x, y, H, d, U, b, W):
    h = torch.tanh(H @ x + d)
    return h, torch.softmax(U @ h + b + W @ x, dim=0) - y


def book_direct(x, y, H, d, U, b, W):
    h, error = forward(x, y, H, d, U, b, W)
    return torch.outer(error, x), W.T @ error + H.T @ ((1 - h**2) * (U.T @ error))


def by_autograd(x, y, H, d, U, b, W):
    x, W = x.clone().requires_grad_(), W.clone().requires_grad_()
    scores = U @ torch.tanh(H @ x + d) + b + W @ x
    (-(y * scores.log_softmax(dim=0)).sum()).backward()
    return W.grad, x.grad


def one_way(part):
    def answer(x, y, H, d, U, b, W):
        h, error = forward(x, y, H, d, U, b, W)
        bend = 1 - h**2 if part == "through" else 1.0
        through, around = H.T @ (bend * (U.T @ error)), W.T @ error
        return torch.outer(error, x), {"through": through, "around": around}.get(
            part, through + around
        )

    return answer


def spoilt(*arguments):
    arguments[0].zero_()
    return arguments[0], arguments[0]


RIGHT[check_direct] = [(book_direct,)]
WRONG[check_direct] = [
    (..., "Nothing to check"),
    (one_way("through"), "second way"),
    (one_way("around"), "still there"),
    (one_way("no bend"), "1 − h²"),
    (lambda *a: (book_direct(*a)[0].T, book_direct(*a)[1]), "turned"),
    (lambda *a: (-book_direct(*a)[0], book_direct(*a)[1]), "p − y"),
    (lambda *a: (book_direct(*a)[0] + 1, book_direct(*a)[1]), "where the connection ends"),
    (lambda *a: (book_direct(*a)[0], book_direct(*a)[1] + 1), "both ways"),
    (lambda x, y, H, d, U, b, W: book_direct(x, y, H, d, U, b, 0 * W), "leave W x out"),
    (lambda *a: book_direct(*a)[0], "Return two tensors"),
    (spoilt, "changes a tensor"),
    (by_autograd, "automatic differentiation did that"),
]


# A loop that stops


def trainer(
    *,
    best=True,
    copied=True,
    shuffled=True,
    late=0,
    redrawn=False,
    size=0,
    short=False,
    tie=False,
    in_a_row=True,
    up=False,
    moves=True,
    own_rate=None,
    fresh=True,
):
    def answer(weights, n, batch_size, slopes_of, held_out_loss, rate, patience):
        weights = weights.clone()
        rate = (own_rate or rate) * (-1 if up else moves)
        lowest, since, stored = float("inf"), 0, weights
        order = list(range(n))
        while since < patience + late:
            if shuffled:
                order = torch.randperm(n).tolist()
            if redrawn:
                order = torch.randint(n, (n,)).tolist()
            width = batch_size + size
            begun = weights.clone()
            for i in range(0, n - (width if short else 0), width):
                here = weights if fresh else begun
                weights -= rate * slopes_of(here, order[i : i + width])
            loss = held_out_loss(weights)
            since += 1
            if loss < lowest or (tie and loss == lowest):
                lowest, since = loss, 0 if in_a_row else since - 1
                stored = weights.clone() if copied else weights
        return stored if best else weights

    return answer


def once_an_epoch(weights, n, batch_size, slopes_of, held_out_loss, rate, patience):
    lowest, since, best = float("inf"), 0, weights
    while since < patience:
        order = torch.randperm(n).tolist()
        batches = [order[i : i + batch_size] for i in range(0, n, batch_size)]
        weights = weights - rate * sum(slopes_of(weights, batch) for batch in batches)
        loss = held_out_loss(weights)
        since += 1
        if loss < lowest:
            lowest, since, best = loss, 0, weights
    return best


RIGHT[check_training] = [(trainer(),)]
WRONG[check_training] = [
    (..., "Nothing to check"),
    (trainer(up=True), "Your steps go up"),
    (trainer(moves=False), "the weights were what they had been"),
    (trainer(fresh=False), "the weights were what they had been"),
    (once_an_epoch, "the weights were what they had been"),
    (trainer(own_rate=0.05), "with learning rate 0.08"),
    (trainer(best=False), "the last weights"),
    (trainer(copied=False), "keep a copy"),
    (trainer(shuffled=False), "the same batches"),
    (trainer(tie=True), "only equals the lowest is not new"),
    (trainer(in_a_row=False), "after 1 measurement without a new lowest held-out loss; a new"),
    (trainer(late=1), "you stopped after 4"),
    (trainer(late=-1), "you stopped after 2"),
    (trainer(redrawn=True), "read once"),
    (trainer(short=True), "read once"),
    (trainer(size=1), "more than 4 texts"),
    (trainer(size=-2), "more batches than it needs"),
    (lambda weights, *rest: weights, "never measured"),
]


# A word seen once


def verbs_of(E, H, d, U, b):
    return torch.softmax(torch.tanh(E @ H.T + d) @ U.T + b, dim=1)


def book_vector(E, H, d, U, b, seen):
    trust = verbs_of(E, H, d, U, b)[:, seen]
    return trust / trust.sum() @ E


def mean_of_some(E, H, d, U, b, seen):
    return E[verbs_of(E, H, d, U, b)[:, seen] > 0.1].mean(dim=0)


def fitted(E, H, d, U, b, seen):
    vector = torch.zeros(E.shape[1], requires_grad=True)
    for _ in range(300):
        loss = -(U @ torch.tanh(H @ vector + d) + b).log_softmax(dim=0)[seen]
        (slope,) = torch.autograd.grad(loss, vector)
        vector = (vector - 0.5 * slope).detach().requires_grad_()
    return vector


def best_row(E, H, d, U, b, seen):
    return E[verbs_of(E, H, d, U, b)[:, seen].argmax()]


def overwrites(E, H, d, U, b, seen):
    E[0] = 0
    return E[1]


RIGHT[check_new_word] = [(book_vector,), (mean_of_some,)]
WRONG[check_new_word] = [
    (..., "Nothing to check"),
    (fitted, "too well"),
    (best_row, "too well"),
    (lambda E, *rest: E.mean(dim=0), "of their kind"),
    (lambda E, *rest: E, "shape"),
    (overwrites, "as they are"),
]


# A state by hand


def by_hand(words, push=3.0, hold=2.0):
    W_x = torch.zeros(len(words), 1)
    for noun in ("dog", "cat", "boy", "girl", "king", "singer"):
        W_x[words.index(noun)] = -push
        W_x[words.index(noun + "s")] = push
    return W_x, torch.tensor([[hold]]), torch.tensor([1.0])


def two_units(words):
    W_x, W_h, _ = by_hand(words)
    return torch.cat([W_x, -W_x], dim=1), W_h * torch.eye(2), torch.tensor([1.0, -1.0])


def forgets_one(words):
    W_x, W_h, w = by_hand(words)
    W_x[words.index("dog")] = 3
    return W_x, W_h, w


def every_plural(words):
    _, W_h, w = by_hand(words)
    return torch.tensor([[3.0 if word.endswith("s") else -3.0] for word in words]), W_h, w


def phrases_push(words):
    _, W_h, w = by_hand(words)
    pushes = [0.0 if word == "the" else 1.0 if word.endswith("s") else -1.0 for word in words]
    return torch.tensor(pushes)[:, None], W_h, w


RIGHT[check_memory] = [(by_hand,), (two_units,)]
WRONG[check_memory] = [
    (..., "Nothing to check"),
    (lambda words: by_hand(words, hold=0.9), "fades"),
    (lambda words: by_hand(words, hold=1.0), "fades"),
    (lambda words: by_hand(words, hold=0.0), "Wrong over 1 phrase"),
    (lambda words: by_hand(words, hold=-2.0), "what W_h makes of the state"),
    (lambda words: by_hand(words, push=-3.0), "Turn a sign"),
    (forgets_one, "right after the subject"),
    (every_plural, "may write"),
    (phrases_push, "have written over it"),
    (lambda words: by_hand(words)[:2], "Return three tensors"),
    (lambda words: ("a", "b", "c"), "Return three tensors"),
    (lambda words: (by_hand(words)[0].T, *by_hand(words)[1:]), "yours are"),
]


# Backwards through any formula


def run(steps, values):
    values = dict(values)
    for name, operation, *read in steps:
        of = [values[key] for key in read]
        values[name] = sum(of) if operation == "add" else math.prod(of)
        if operation == "tanh":
            values[name] = math.tanh(of[0])
    return values


def along_all_ways(steps, values):
    """The slope of each name, step by step forwards: the other order of the same products."""
    value = run(steps, values)
    found = {}
    for start in values:
        slope = {key: float(key == start) for key in values}
        for name, operation, *read in steps:
            if operation == "add":
                slope[name] = sum(slope[key] for key in read)
            elif operation == "times":
                slope[name] = slope[read[0]] * value[read[1]] + slope[read[1]] * value[read[0]]
            else:
                slope[name] = (1 - value[name] ** 2) * slope[read[0]]
        found[start] = slope[steps[-1][0]]
    return found


def backwards(*, added=True, other=True, tanh="out", reverse=True):
    def answer(steps, values):
        value = run(steps, values)
        error = dict.fromkeys(value, 0.0)
        error[steps[-1][0]] = 1.0
        for name, operation, *read in reversed(steps) if reverse else steps:
            for k in range(len(read)):
                slope = 1.0
                if operation == "times":
                    slope = value[read[1 - k] if other else read[k]]
                if operation == "tanh" and tanh:
                    slope = 1 - value[name if tanh == "out" else read[k]] ** 2
                error[read[k]] = error[name] * slope + (error[read[k]] if added else 0)
        return {key: error[key] for key in values}

    return answer


def by_trying(steps, values, h=1e-6):
    last, found = steps[-1][0], {}
    for key in values:
        more = run(steps, values | {key: values[key] + h})[last]
        found[key] = (more - run(steps, values)[last]) / h
    return found


def by_both_sides(h):
    def answer(steps, values):
        last, found = steps[-1][0], {}
        for key in values:
            more, less = (run(steps, values | {key: values[key] + e})[last] for e in (h, -h))
            found[key] = (more - less) / (2 * h)
        return found

    return answer


def by_torch(steps, values):
    leaves = {key: torch.tensor(value, requires_grad=True) for key, value in values.items()}
    value = dict(leaves)
    for name, operation, *read in steps:
        of = [value[key] for key in read]
        value[name] = of[0].tanh() if operation == "tanh" else sum(of)
        if operation == "times":
            value[name] = of[0] * of[1]
    value[steps[-1][0]].backward()
    return {key: leaf.grad.item() for key, leaf in leaves.items()}


def writes_into(steps, values):
    found = backwards()(steps, values)
    values["loss"] = 0.0
    return found


RIGHT[check_autodiff] = [(backwards(),), (along_all_ways,)]
WRONG[check_autodiff] = [
    (..., "Nothing to check"),
    (backwards(added=False), "has two ways to the loss"),
    (backwards(other=False), "grows by *b* times"),
    (backwards(tanh="in"), "comes *out* of the tanh"),
    (backwards(tanh=""), "The way passes tanh"),
    (backwards(reverse=False), "Go through the steps backwards"),
    (by_trying, "Close, but tried"),
    *((by_both_sides(h), "Close, but tried") for h in (1e-4, 3e-5, 1e-5, 2e-6, 1e-7)),
    (by_torch, "automatic differentiation did that"),
    (writes_into, "changes `values`"),
    (lambda steps, values: {"loss": 1.0}, "a dictionary with the keys"),
    (lambda steps, values: dict.fromkeys(values, 0.25), "Multiply along each path"),
]


# A network that nobody trained

NOUNS = "dog", "cat", "boy", "girl", "king", "singer"


def kind_of(word):
    if word.removesuffix("s") in NOUNS:
        return "plural" if word.endswith("s") else "singular"
    if word in ("near", "behind"):
        return "preposition"
    if word in ("sing", "sleep", "wait"):
        return "verb-of-many"
    if word in ("sings", "sleeps", "waits"):
        return "verb-of-one"
    return "the" if word == "the" else "noun"


RULES = [
    ({7: "BOS"}, "the"),
    ({7: "preposition"}, "the"),
    ({6: "BOS", 7: "the"}, "singular plural"),
    ({6: "preposition", 7: "the"}, "noun"),
    ({7: "singular"}, "preposition"),
    ({7: "plural"}, "preposition"),
    ({4: "singular", 7: "noun"}, "preposition"),
    ({4: "plural", 7: "noun"}, "preposition"),
    ({1: "singular", 7: "noun"}, "verb-of-one"),
    ({1: "plural", 7: "noun"}, "verb-of-many"),
    ({7: "verb-of-one"}, "end"),
    ({7: "verb-of-many"}, "end"),
]


def by_rules(words, rules=RULES, sure=20.0, kind=kind_of):
    kinds = [*map(kind, words), "end", "BOS"]
    names = sorted(set(kinds))
    m = len(names)
    E = torch.eye(m)[[names.index(name) for name in kinds]]
    H, d = torch.zeros(len(rules), 7 * m), torch.zeros(len(rules))
    U, b = torch.zeros(len(words) + 1, len(rules)), torch.zeros(len(words) + 1)
    for i, (places, following) in enumerate(rules):
        for place, name in places.items():
            H[i, (place - 1) * m + names.index(name)] = 20
        d[i] = 10 - 20 * len(places)
        for row, name in enumerate(kinds[:-1]):
            if name in following.split():
                U[row, i] = sure
                b[row] += sure
    return E, H, d, U, b


def unsure(words):
    return by_rules(words, sure=2.0)


def always_many(words):
    rules = [({4: "noun", 7: "noun"}, "verb-of-one verb-of-many"), *RULES[:8], *RULES[10:]]
    return by_rules(words, rules)


def likes_tree(words):
    E, H, d, U, b = by_rules(words)
    b[words.index("tree")] += 2
    return E, H, d, U, b


def other_scale(words):
    E, H, d, U, b = by_rules(words)
    return E * 2, H / 2, d, U, b - 3


RIGHT[check_grammar] = [(by_rules,), (other_scale,)]
WRONG[check_grammar] = [
    (..., "Nothing to check"),
    (unsure, "the article at the start"),
    (lambda words: by_rules(words, RULES[1:]), "place 0, the article at the start"),
    (lambda words: by_rules(words, RULES[:6] + RULES[8:]), "the second preposition"),
    (always_many, "the verbs of the right number get only"),
    (likes_tree, "the noun of the first phrase"),
    (likes_tree, "do not share it equally"),
    (lambda words: by_rules(words)[:4], "Return five tensors"),
    (lambda words: ("a",) * 5, "Return five tensors"),
    (lambda words: (by_rules(words)[0][:-1], *by_rules(words)[1:]), "the shapes are (31, m)"),
    (lambda words: (by_rules(words)[0] / 0, *by_rules(words)[1:]), "a finite number"),
]


# Who can tell them apart

SEEN = ["all three", "n = 8 and the state", "the state", "all three", "none of them"]


def seen_but(k, answer):
    return [answer if i == k else right for i, right in enumerate(SEEN)]


RIGHT[check_seen] = [(SEEN,), (tuple(SEEN),)]
WRONG[check_seen] = [
    (..., "Nothing to check"),
    ([...] * 5, "Nothing to check"),
    (SEEN[:4], "a list of 5"),
    ("all three", "a list of 5"),
    (seen_but(0, "everybody"), "none of the choices"),
    (seen_but(0, "n = 8 and the state"), "count back from the end"),
    (seen_but(1, "all three"), "hold five words"),
    (seen_but(2, "n = 8 and the state"), "seven words more"),
    (seen_but(3, "none of them"), "side by side"),
    (seen_but(4, "the state"), "one text"),
]


# How much each may say


def on_a_grid(p, q):
    shares = torch.linspace(0, 1, 1001, dtype=torch.float64)
    return shares[torch.stack([(s * p + (1 - s) * q).log().mean() for s in shares]).argmax()]


def by_blame(p, q):
    """Each word asks which model it came from, and the share becomes the mean of the answers."""
    share = 0.5
    for _ in range(5000):
        share = (share * p / (share * p + (1 - share) * q)).mean().item()
    return share


def most_probable(p, q):
    shares = torch.linspace(0, 1, 1001, dtype=torch.float64)
    return shares[torch.stack([(s * p + (1 - s) * q).mean() for s in shares]).argmax()]


def zeroes(p, q):
    p.zero_()
    return 0.5


RIGHT[check_share] = [(on_a_grid,), (by_blame,)]
WRONG[check_share] = [
    (..., "Nothing to check"),
    (lambda p, q: 1 - on_a_grid(p, q), "the share of the second model"),
    (most_probable, "takes one model alone"),
    (lambda p, q: p.mean() / (p.mean() + q.mean()), "where the two models differ"),
    (lambda p, q: 0.5, "Try the mixture with other shares"),
    (lambda p, q: 1.5, "between 0 and 1"),
    (zeroes, "changes a tensor"),
]
