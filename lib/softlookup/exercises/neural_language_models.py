"""Checks of the networks by hand, backwards and in training; and of what was never read."""

import math
from collections.abc import Mapping, Sequence
from functools import cache

import torch
from torch import Tensor

from softlookup.data import agreement_sentences
from softlookup.data.agreement import AGREEMENT_VERBS, SUBJECTS
from softlookup.exercises.compare import advised, compare, counted, draws, numbers, scalar
from softlookup.exercises.verdict import Answer, Wrong, by_hand, exercise
from softlookup.language_models import FeedForwardLM, known_words, train_lm

KINDS = {
    ("dog", "cat", "boy", "girl"): ("sleeps", "waits", "sings"),
    ("car", "bus", "train", "boat"): ("stops", "turns", "starts"),
}
"""The nouns of the chapter's small world, and the verbs that follow them."""

PENCIL_X = torch.tensor([1.0, 0.0, 0.0, 1.0])
PENCIL_H = torch.tensor([[1.0, 3.0, -2.0, -1.0], [0.2, 1.0, 1.0, 0.3493]])
PENCIL_U = torch.tensor([[1.0, 0.0], [0.0, 1.386], [-1.0, 0.0]])
"""The network of the pencil exercise: its tanh is 0 and 1/2, its probabilities are quarters."""

TRAININGS = (
    (12, 4, 3, 0.05, 0.0, 0.0),
    (10, 4, 2, 0.08, 0.0, 0.0),
    (12, 4, 3, 0.05, 0.1, 0.0),
    (12, 4, 3, 0.05, 0.0, 0.5),
)
"""Of each training: its number of texts, the width of a batch, the patience, the learning rate; its
lowest loss, and what is added to each other one."""

RUNS = {
    "larger learning rate": "Run A: all the losses fall, but in 800 steps they have hardly moved.",
    "smaller learning rate": "Run B: after the first steps the loss is far above log 30, where "
    "a network that knows nothing begins. The steps were too long.",
    "keep an earlier step": "Run C: the training loss falls to the end. Where is the held-out "
    "loss lowest?",
    "find the leak": "Run D: compare its held-out loss with the entropy of the source, 0.91. Can "
    "text that is new to the network have such a loss?",
    "go on training": "Run E: both losses still fall, side by side, and both are above 0.91.",
}
"""What to do about each of the five runs, in their order, and what to look at in it."""

THROUGH = (
    "This is what comes through the hidden layer. x has a second way to the scores, and the "
    "contributions of the two ways are added."
)
AROUND = (
    "This is what comes along the direct connections alone. The way through the hidden layer is "
    "still there."
)
PAIRS_OF_TEXTS = (
    ("all three", "Pair 1: count back from the end. The subject is the fourth word from it."),
    (
        "n = 8 and the state",
        "Pair 2: the subject is the fifth word from the end. Which of the windows hold five words?",
    ),
    ("the state", "Pair 3: after the subject come seven words more."),
    (
        "all three",
        "Pair 4: the same words in another order. Are the rows added up, or do they stand side "
        "by side?",
    ),
    (
        "none of them",
        "Pair 5: to all three models both nouns are <unk>, and so the two texts are one text.",
    ),
)
"""Of each pair: which models can tell its two texts apart, and what to look at in it."""
CHOICES = "all three", "n = 8 and the state", "the state", "none of them"

PLACES = (
    "the article at the start",
    "the subject",
    "the first preposition",
    "the article of the first phrase",
    "the noun of the first phrase",
    "the second preposition",
    "the article of the second phrase",
    "the noun of the second phrase",
    "the verb",
    "the end",
)
"""What stands at the ten places of a sentence with two phrases."""

Step = tuple[str, ...]
"""A step of a formula: its name, its operation, and the names that it reads."""

FORMULAS = (
    ((("loss", "times", "x", "w"),), {"x": 2.0, "w": 3.0}),
    ((("a", "times", "x", "w"), ("loss", "tanh", "a")), {"x": 0.5, "w": 1.5}),
    ((("a", "add", "x", "y"), ("loss", "times", "a", "w")), {"x": 1.0, "y": 2.0, "w": -3.0}),
    ((("a", "times", "x", "w"), ("loss", "times", "a", "a")), {"x": 1.0, "w": 3.0}),
    (
        (("a", "times", "x", "w"), ("b", "tanh", "a"), ("loss", "add", "b", "x")),
        {"x": 0.5, "w": 1.0},
    ),
    ((("a", "tanh", "x"), ("b", "tanh", "y"), ("loss", "add", "b", "b")), {"x": 1.0, "y": 0.2}),
    (
        (
            ("a", "times", "x", "w"),
            ("b", "add", "a", "x"),
            ("c", "tanh", "b"),
            ("d", "times", "c", "a"),
            ("e", "add", "d", "c"),
            ("loss", "times", "e", "d"),
        ),
        {"x": 0.4, "w": -0.7},
    ),
)
"""Formulas to go back through, and the numbers that they begin with."""

NO_TANGENT = "The way through the hidden layer passes tanh, whose slope is 1 − h²."


@exercise("return how many numbers the network learns.")
def check_size(my_size: Answer) -> str:
    """Check a function of (vocab_size, n, d_model, d_hidden): how many numbers are learned.

    Args:
        my_size: The learner's function.

    Chapter: neural_language_models#exercises
    """
    for sizes in ((30, 8, 16, 32), (3, 3, 2, 2), (1000, 2, 5, 7)):
        vocab, n, d_model, d_hidden = sizes
        table, hidden = (vocab + 1) * d_model, (n - 1) * d_model * d_hidden
        output, biases = d_hidden * vocab, d_hidden + vocab
        expected = table + hidden + output + biases
        found = scalar(my_size(*sizes), "The number of weights")
        if found == expected:
            continue
        mistakes = [
            (expected - biases, "The two layers have biases: one for each unit and each score."),
            (expected + d_hidden + 1, "BOS is never predicted: it has a row of E, and no score."),
            (expected - d_model, "The table has one row more, for the place before a text."),
            (
                expected - biases - d_model,
                "The two layers have biases, and the table one row more, for the place before "
                "a text.",
            ),
            (expected + d_model * d_hidden, "The window holds n − 1 words, not n."),
            (expected + (n - 2) * table, "All words of the window share one table."),
        ]
        names = "vocab_size={}, n={}, d_model={}, d_hidden={}".format(*sizes)
        raise Wrong(advised(found, mistakes, f"For {names} yours is {found:g}."))
    return "Table and output layer grow with the vocabulary, the hidden layer with the window."


@exercise(
    "give my_p, three probabilities.",
    "give my_delta_z, three errors.",
    "give my_delta_h, two errors.",
    "give my_delta_a, two errors.",
    "give my_slopes, two rows of four slopes.",
)
def check_pencil(
    my_p: Answer, my_delta_z: Answer, my_delta_h: Answer, my_delta_a: Answer, my_slopes: Answer
) -> str:
    """Check one pass forward and backward by hand, with the numbers of the exercise.

    Args:
        my_p: The probabilities of barks, dog and the.
        my_delta_z: The errors of the three scores; the target is barks.
        my_delta_h: The errors of the two hidden units.
        my_delta_a: The errors before the tanh.
        my_slopes: The slopes of H.

    Chapter: neural_language_models#exercises
    """
    x, H, U = PENCIL_X, PENCIL_H, PENCIL_U
    a = H @ x
    h, y = torch.tanh(a), torch.tensor([1.0, 0.0, 0.0])
    p = (U @ h).softmax(dim=0)
    delta_z = p - y
    delta_h = U.T @ delta_z
    delta_a = (1 - h**2) * delta_h
    near = {"tolerance": 0.01}
    mistakes = [
        ((U @ a).softmax(dim=0), "The output layer reads h, which comes after the tanh, not a."),
        (U @ h, "These are the scores. The softmax makes probabilities of them."),
        ((U @ h).exp(), "Divide the three exponentials by their sum."),
    ]
    otherwise = "The probabilities are not right. The scores are 0, 0.693 and 0: why?"
    compare(my_p.value, p, "my_p", mistakes, otherwise, **near)
    mistakes = [
        (y - p, "The sign is turned: the error is p − y."),
        (p, "These are the probabilities. Subtract the truth, which is 1 at barks."),
    ]
    otherwise = "The error of the scores is p − y, and y is 1 at barks and 0 elsewhere."
    compare(my_delta_z.value, delta_z, "my_delta_z", mistakes, otherwise, **near)
    mistakes = [
        (U[0] * delta_z[0], "A unit reaches all three scores, not only that of the target."),
        (-delta_h, "The sign is turned."),
        (U.sum(dim=0), "Multiply each weight by the error of its score before you add."),
    ]
    otherwise = "For each unit take its column of U, multiply it by the three errors, and add."
    compare(my_delta_h.value, delta_h, "my_delta_h", mistakes, otherwise, **near)
    mistakes = [
        (delta_h, "On the way through tanh each error is multiplied by its slope, 1 − h²."),
        (h**2 * delta_h, "The slope of tanh is 1 − h², not h²."),
        ((1 - h) * delta_h, "The slope of tanh is 1 − h²: you left out the square."),
        ((1 - a**2) * delta_h, "The slope is 1 − h², with h and not a."),
    ]
    otherwise = "Multiply each error of my_delta_h by 1 − h² of its own unit."
    compare(my_delta_a.value, delta_a, "my_delta_a", mistakes, otherwise, **near)
    turned = {(4, 2): "The slopes of H have the shape of H: a row for each unit."}
    mistakes = [(delta_h[:, None] * x, "Use the errors before the tanh, my_delta_a.")]
    otherwise = "A slope of H is the error of the unit times the number of x at that place."
    expected = delta_a[:, None] * x
    compare(my_slopes.value, expected, "my_slopes", mistakes, otherwise, shapes=turned, **near)
    return "Forward and backward. Where x is 0, no weight of H has a slope: it was not used."


@exercise("give my_remedies, a list of five.")
def check_curves(my_remedies: Answer) -> str:
    """Check what to do about five training runs, in their order.

    Args:
        my_remedies: A list of five remedies, one for each run.

    Chapter: neural_language_models#exercises
    """
    remedies = my_remedies.value
    if not isinstance(remedies, list | tuple) or len(remedies) != len(RUNS):
        raise Wrong(f"Give a list of {len(RUNS)} remedies, one for each run.")
    for given, (right, clue) in zip(remedies, RUNS.items(), strict=True):
        if my_remedies.started(given) not in RUNS:
            known = ", ".join(RUNS)
            raise Wrong(f"{given!r} is none of the remedies: {known}.")
        if given != right:
            raise Wrong(clue)
    return "All five. Two of them look alike until the held-out loss is compared with the entropy."


@exercise("return the slopes of W, and those of x.")
def check_direct(my_gradients: Answer) -> str:
    """Check a function of (x, y, H, d, U, b, W): gradients in a net with direct connections.

    Args:
        my_gradients: The learner's function. Its scores are U tanh(H x + d) + b + W x, its loss is
            the cross-entropy with the one-hot ``y``; it returns the gradients with respect to W and
            to x.

    Chapter: neural_language_models#exercises
    """
    for seed, (n_in, n_hidden, vocab) in enumerate(((4, 2, 3), (5, 7, 3))):
        shapes = (n_in,), (n_hidden, n_in), (n_hidden,), (vocab, n_hidden), (vocab,), (vocab, n_in)
        x, H, d, U, b, W = draws(*shapes, seed=seed)
        y = torch.zeros(vocab, dtype=torch.float64)
        y[seed] = 1
        h = torch.tanh(H @ x + d)
        error = (U @ h + b + W @ x).softmax(dim=0) - y
        around, through = W.T @ error, H.T @ ((1 - h**2) * (U.T @ error))
        words = "Return two tensors: the gradients with respect to W and with respect to x."
        kept = "Your function changes a tensor that it was given."
        with by_hand():
            by_W, by_x = my_gradients.several(2, words, x, y, H, d, U, b, W, kept=kept)
        turned = {(n_in, vocab): "The gradient with respect to W is turned: it has the shape of W."}
        outer = error[:, None] * x
        straight = (U @ h + b).softmax(dim=0) - y
        mistakes = [
            (-outer, "The sign of the error is turned: it is p − y."),
            (straight[:, None] * x, "Your scores leave W x out."),
        ]
        compare(
            by_W,
            outer,
            "The gradient with respect to W",
            mistakes,
            _error_times_number,
            shapes=turned,
        )
        mistakes = [
            (through, THROUGH),
            (around, AROUND),
            (around + H.T @ (U.T @ error), NO_TANGENT),
        ]
        otherwise = (
            "The gradient with respect to x is wrong: write down both ways from x to the scores."
        )
        compare(by_x, around + through, "The gradient with respect to x", mistakes, otherwise)
    return "Two ways lead from x to the scores, and their gradients add up."


@exercise("return the weights of the epoch with the lowest held-out loss.")
def check_training(my_training: Answer) -> str:
    """Check a function that trains in epochs of batches and stops early.

    Args:
        my_training: The learner's function of (weights, n_texts, batch_size, slopes_of,
            held_out_loss, learning_rate, patience). ``slopes_of(weights, batch)`` is the gradient
            on the texts with the indices in ``batch``, ``held_out_loss(weights)`` a number. After
            each epoch it measures, and it stops after ``patience`` measurements without a new
            lowest; it returns the best weights.

    Chapter: neural_language_models#exercises
    """
    for n_texts, batch_size, patience, rate, flat, bump in TRAININGS:
        log = _Training(n_texts, rate, flat, bump)
        start = torch.zeros(2, dtype=torch.float64)
        found = my_training(
            start, n_texts, batch_size, log.slopes_of, log.held_out_loss, rate, patience
        )
        found = numbers(found, start, "The weights")
        log.judge_batches(batch_size)
        log.judge_steps()
        best = min(range(len(log.losses)), key=log.losses.__getitem__)
        after = len(log.losses) - 1 - best
        if after != patience:
            when = f"after {counted(after, 'measurement')} without a new lowest held-out loss"
            if flat and after > patience:
                when += "; one that only equals the lowest is not new"
            if bump and after < patience:
                when += "; a new lowest starts the count anew"
            raise Wrong(f"With patience {patience} you stopped {when}.")
        lowest = [k for k, loss in enumerate(log.losses) if loss == log.losses[best]]
        if any(torch.allclose(found, log.measured[k]) for k in lowest):
            continue
        if torch.allclose(found, log.measured[-1]):
            why = "Did you keep a copy? A name for a tensor that is changed in place changes too."
            raise Wrong(f"You returned the last weights, not the best ones. {why}")
        raise Wrong("The weights that you return are not those with the lowest held-out loss.")
    return "Every text once an epoch, and the weights from the best moment, not from the last."


@exercise("return the slope of each number that the formula begins with.")
def check_autodiff(my_slopes: Answer) -> str:
    """Check a function of (steps, values): the slopes of the last step, for any formula.

    Args:
        my_slopes: The learner's function. ``steps`` are tuples of a name, an operation (add, times
            or tanh) and the names that it reads; ``values`` are the numbers that the formula begins
            with, by their names. It returns a slope for each of these names.

    Chapter: neural_language_models#exercises
    """
    for formula, begun in FORMULAS:
        steps, values = [tuple(step) for step in formula], dict(begun)
        with by_hand():
            found = my_slopes(steps, values)
        if values != begun:
            raise Wrong("Your function changes `values`: keep what it computes in a dictionary.")
        if not isinstance(found, Mapping) or set(found) != set(begun):
            wanted = ", ".join(map(repr, begun))
            raise Wrong(f"Return a dictionary with the keys of `values`, here {wanted}.")
        right = _slopes_of(formula, begun)
        shown = "; ".join(map(_in_words, formula))
        for name, slope in right.items():
            of_name = scalar(my_slopes.started(found[name]), f"The slope of {name}")
            if abs(of_name - slope) < 1e-12 * max(1, abs(slope)):
                continue
            if abs(of_name - slope) < 1e-3:
                raise Wrong(
                    f"Close, but tried: for “{shown}” the slope of {name} is {slope:.15g}, and "
                    f"yours is {of_name:.15g}. Multiply along the paths instead."
                )
            mistakes = [
                (_slopes_of(formula, begun, mistake)[name], told)
                for mistake, told in _MISTAKES.items()
            ]
            numbers_here = ", ".join(f"{key} = {value:g}" for key, value in begun.items())
            where = f"For “{shown}” with {numbers_here}, your slope of {name} is {of_name:.4g}."
            told = advised(of_name, mistakes, "Multiply along each path, and add over the paths.")
            raise Wrong(f"{where} {told}")
    return "Any formula of these three operations, in one run back. That is what backward() does."


@exercise("return the five tensors E, H, d, U and b.")
def check_grammar(my_network: Answer) -> str:
    """Check a function of words: weights, set by hand, of a window network that knows a grammar.

    Args:
        my_network: The learner's function. From the list of words it returns E (a row for each
            word, one for the end and one for BOS), H, d, U and b (rows for the words and the end)
            of a network with a window of seven words.

    Chapter: neural_language_models#exercises
    """
    sentences = agreement_sentences(300, 2, torch.Generator().manual_seed(31))
    texts = [sentence.tokens for sentence in sentences]
    words = known_words(texts)
    complaint = "Return five tensors: E, H, d, U and b."
    parts = my_network.several(5, complaint, words)
    E, H, d, U, b = (_weights(part, complaint) for part in parts)
    n_words, k = len(words), len(d) if d.ndim else 0
    m = E.shape[-1] if E.ndim else 0
    wanted = (n_words + 2, m), (k, 7 * m), (k,), (n_words + 1, k), (n_words + 1,)
    if tuple(part.shape for part in (E, H, d, U, b)) != wanted or not m * k:
        shapes = ", ".join(str(tuple(part.shape)) for part in (E, H, d, U, b))
        rule = f"({n_words + 2}, m), (k, 7m), (k,), ({n_words + 1}, k) and ({n_words + 1},)"
        raise Wrong(f"With rows of m numbers and k units the shapes are {rule}; yours: {shapes}.")
    if not all(part.isfinite().all() for part in (E, H, d, U, b)):
        raise Wrong("Every weight must be a finite number.")
    ids = torch.tensor([[words.index(word) for word in text] for text in texts])
    n_texts, end, bos = len(texts), n_words, n_words + 1
    padded = torch.cat([torch.full((n_texts, 7), bos), ids], dim=1)
    targets = torch.cat([ids, torch.full((n_texts, 1), end)], dim=1)
    windows = padded.unfold(1, 7, 1)  # (text, place, word)
    log_p = (torch.tanh(E[windows].flatten(start_dim=-2) @ H.T + d) @ U.T + b).log_softmax(dim=-1)
    losses = -log_p.gather(-1, targets[..., None])[..., 0].mean(dim=0)
    verbs = torch.tensor([[words.index(word) for word in form] for form in _forms()])
    plural = torch.tensor([text[1].endswith("s") for text in texts]).long()
    for place, name in enumerate(PLACES):
        if name == "the verb":
            allowed, which = verbs[plural], "the verbs of the right number"
        else:
            allowed = targets[:, place].unique().expand(n_texts, -1)
            which = "the words that can stand there"
        got = log_p[:, place].gather(-1, allowed).exp().sum(dim=-1).mean().item()
        best = math.log(allowed.shape[1])
        if losses[place] <= best + 1e-3:
            continue
        where = f"At place {place}, {name}, the mean loss is {losses[place]:.3f}, and"
        where += f" {best:.3f} can be reached."
        if got < 0.999:
            raise Wrong(f"{where} There {which} get only {got:.3f} together.")
        raise Wrong(f"{where} There {which} get everything, but they do not share it equally.")
    return f"As good as any network can be on these sentences, with {k} units and not one step."


@exercise("give my_answers, a list of five.")
def check_seen(my_answers: Answer) -> str:
    """Check which of three models can tell the two texts of each pair apart.

    Args:
        my_answers: A list of five, each one of "all three", "n = 8 and the state", "the state" and
            "none of them".

    Chapter: generalization#exercises
    """
    given = my_answers.value
    if not isinstance(given, list | tuple) or len(given) != len(PAIRS_OF_TEXTS):
        raise Wrong(f"Give a list of {len(PAIRS_OF_TEXTS)}, one for each pair.")
    for answer, (right, clue) in zip(given, PAIRS_OF_TEXTS, strict=True):
        if my_answers.started(answer) not in CHOICES:
            raise Wrong(f"{answer!r} is none of the choices: {'; '.join(CHOICES)}.")
        if answer != right:
            raise Wrong(clue)
    return "All five. “Can” is not “will”: what training makes of the difference is another matter."


@exercise("return the best share, a number from 0 to 1.")
def check_share(my_share: Answer) -> str:
    """Check a function of (p, q): the share of the first model in the best mixture of two.

    Args:
        my_share: The learner's function. ``p`` and ``q`` are the probabilities that two models gave
            to the words that came; it returns the share of the first with which the mixture has the
            lowest perplexity.

    Chapter: generalization#exercises
    """
    shares = torch.linspace(0, 1, 1001, dtype=torch.float64)[:, None]
    for p, q in _pairs_of_models():
        losses = -(shares * p + (1 - shares) * q).log().mean(dim=1)
        best = losses.argmin().item() / 1000
        kept = "Your function changes a tensor that it was given."
        found = scalar(my_share(p, q, kept=kept), "The share")
        if abs(found - best) < 0.006:
            continue
        if not 0 <= found <= 1:
            raise Wrong(f"A share lies between 0 and 1; yours is {found:.4g}.")
        means = (p.mean() / (p.mean() + q.mean())).item()
        mistakes = [
            (1 - best, "That is the share of the second model."),
            (
                float(p.mean() > q.mean()),
                "The perplexity is the exponential of the mean of the "
                "negative *logarithms*; the mean of the probabilities themselves always takes "
                "one model alone.",
            ),
            (
                means,
                "How large the probabilities are on average does not decide it: look at "
                "the words where the two models differ.",
            ),
        ]
        near = [(value, told) for value, told in mistakes if abs(found - value) < 0.006]
        told = near[0][1] if near else "Try the mixture with other shares, and compare."
        at = -(found * p + (1 - found) * q).log().mean()
        had = f"perplexity {at.exp():.3f}" if at.isfinite() else "an infinite perplexity"
        raise Wrong(
            f"On {len(p)} words a share of {found:.3f} has {had}, and {best:.3f} has "
            f"{losses.min().exp():.3f}. {told}"
        )
    return "The better model gets more, and the other one still has its say where it knows more."


@exercise("return a vector for the new noun.")
def check_new_word(my_vector: Answer) -> str:
    """Check a function of (E, H, d, U, b, seen): a vector for a noun that was seen once.

    Args:
        my_vector: The learner's function. The first five are the weights of a trained network with
            n = 2, ``seen`` is the id of the one verb that followed the new noun; it returns the
            noun's vector.

    Chapter: generalization#exercises
    """
    network = _trained_on_pairs()
    weights = [part.detach().clone() for part in network.parameters()]
    E, H, d, U, b = weights
    for verbs in KINDS.values():
        ids = network.vocabulary.encode(list(verbs))
        for verb, seen in zip(verbs, ids, strict=True):
            vector = my_vector(*weights, seen, kept="Leave the network's weights as they are.")
            vector = numbers(vector, torch.zeros(E.shape[1]), "The vector").float()
            p = (U @ torch.tanh(H @ vector + d) + b).softmax(dim=0)
            _judge_new_word(p, ids, verbs, verb)
    return "From one verb the network knows what kind of thing it is, and so the other verbs."


@exercise("return the weights of a network that remembers.")
def check_memory(my_memory: Answer) -> str:
    """Check a function of words: the weights of a recurrent net that holds the subject's number.

    Args:
        my_memory: The learner's function. From the list of words it returns W_x with a row for
            each word, W_h, and w; the state is h = tanh(W_h h + W_x[word]), and w · h at the verb
            is above 0 for many, below 0 for one.

    Chapter: generalization#exercises
    """
    generator = torch.Generator().manual_seed(23)
    tests = {k: [s.tokens for s in agreement_sentences(40, k, generator)] for k in (0, 1, 3, 60)}
    words = known_words([text for texts in tests.values() for text in texts])
    complaint = "Return three tensors: W_x with a row for each word, W_h, and w."
    parts = my_memory.several(3, complaint, words)
    W_x, W_h, w = (_weights(part, complaint) for part in parts)
    k = W_h.shape[0] if W_h.ndim else 0
    if (W_x.shape, W_h.shape, w.shape) != ((len(words), k), (k, k), (k,)):
        shapes = ", ".join(str(tuple(part.shape)) for part in (W_x, W_h, w))
        wanted = f"W_x is ({len(words)}, k), W_h (k, k) and w (k,)"
        raise Wrong(f"With k numbers in the state {wanted}; yours are {shapes}.")
    first = None
    for n_phrases, texts in tests.items():
        scores = []
        for text in texts:
            h = torch.zeros(k, dtype=torch.float64)
            for word in text[:-1]:
                h = torch.tanh(W_h @ h + W_x[words.index(word)])
            many = 1 if text[1].endswith("s") else -1
            scores.append(many * (w @ h).item())
        if n_phrases == 0 and max(scores) < 0:
            every = "in every sentence w · h is on the wrong side"
            raise Wrong(f"Right after the subject, {every}: above 0 means plural. Turn a sign.")
        subjects = {noun for forms in SUBJECTS for noun in forms}
        others = [i for i, word in enumerate(words) if word not in subjects]
        writes = bool(W_x[others].any())
        for score, text in zip(scores, texts, strict=True):
            first = _judge_memory(score, n_phrases, text, first, others_write=writes)
    return "What the subject wrote lasts over sixty phrases, 180 words."


class _Training:
    """A training run that writes down what it is asked; its held-out loss falls, then rises.

    Losses below ``flat`` count as ``flat``, so that some of them are equal. ``bump`` is added to
    every second one, so that between two new lowest ones there is one that is none.
    """

    def __init__(self, n_texts: int, rate: float, flat: float, bump: float) -> None:
        self.n_texts, self.rate, self.flat, self.bump = n_texts, rate, flat, bump
        self.batches, self.measured, self.losses = [], [], []
        self.epochs, self.steps, self.asked = [], [], None

    def slopes_of(self, weights: Tensor, batch: object) -> Tensor:
        ids = [int(i) for i in batch]
        self.batches.append(ids)
        slopes = (
            weights - torch.tensor([2.0, -1.0]) + 0.01 * (sum(ids) / len(ids) - self.n_texts / 2)
        )
        self._note_step(weights)
        self.asked = weights.detach().clone(), slopes.detach().clone()
        return slopes

    def held_out_loss(self, weights: Tensor) -> float:
        self._note_step(weights)
        self.measured.append(weights.detach().clone())
        loss = (weights - torch.tensor([1.0, -0.5])).square().sum().item()
        self.losses.append(max(loss, self.flat) + self.bump * (len(self.losses) % 2))
        self.epochs.append(self.batches)
        self.batches = []
        return self.losses[-1]

    def _note_step(self, weights: Tensor) -> None:
        """Keep where the last step began, its slopes, and where it has led."""
        if self.asked:
            self.steps.append((*self.asked, weights.detach().clone()))
        self.asked = None

    def judge_steps(self) -> None:
        for before, slopes, after in self.steps:
            if torch.allclose(after, before - self.rate * slopes):
                continue
            if torch.allclose(after, before + self.rate * slopes):
                raise Wrong("Your steps go up: the slopes are to be subtracted.")
            if torch.allclose(after, before):
                why = "Each step starts from the weights that the one before has left."
                raise Wrong(f"After a batch the weights were what they had been. {why}")
            rule = "weights − learning_rate · slopes_of(weights, batch)"
            raise Wrong(f"After a batch with learning rate {self.rate} they should be {rule}.")

    def judge_batches(self, batch_size: int) -> None:
        epochs = [epoch for epoch in self.epochs if epoch]
        if not epochs:
            raise Wrong("You never measured the held-out loss after a step.")
        for epoch in epochs:
            if max(map(len, epoch)) > batch_size:
                raise Wrong(f"A batch has more than {batch_size} texts.")
            if sorted(i for ids in epoch for i in ids) != list(range(self.n_texts)):
                seen = f"the batches were {epoch}"
                raise Wrong(f"Between two measurements each text should be read once; {seen}.")
            if len(epoch) > -(-self.n_texts // batch_size):
                raise Wrong("An epoch has more batches than it needs: only the last may be short.")
        if len(epochs) > 1 and all(epoch == epochs[0] for epoch in epochs):
            raise Wrong("Every epoch has the same batches: draw a new order for each.")


def _error_times_number(found: Tensor, right: Tensor) -> str:
    i, j = torch.nonzero((found - right).abs() > 1e-6)[0].tolist()
    rule = "A slope is the error where the connection ends times the number where it begins."
    return f"The gradient with respect to W is wrong at [{i}, {j}]: {found[i, j]:.4g}. {rule}"


def _judge_new_word(p: Tensor, ids: list[int], verbs: tuple[str, ...], seen: str) -> None:
    of_kind = p[ids].sum().item()
    if of_kind < 0.8:
        got = f"After “{seen}”, the verbs {', '.join(verbs)} get {of_kind:.2f} together."
        raise Wrong(f"{got} The new noun is of their kind: they should get at least 0.8.")
    for verb, id_ in zip(verbs, ids, strict=True):
        if p[id_] < 0.1:
            got = f"After “{seen}”, “{verb}” gets only {p[id_].item():.4f}."
            why = "Fitted to one verb or copied from one noun, it fits too well: they do all three."
            raise Wrong(f"{got} {why}")


def _judge_memory(
    score: float, n_phrases: int, text: list[str], first: float | None, *, others_write: bool
) -> float:
    """Whether one sentence is judged right; the smallest score directly after the subject."""
    shown = " ".join(text[:5]) + (" ..." if len(text) > 6 else "")
    if score <= 0:
        where = f"over {counted(n_phrases, 'phrase')}" if n_phrases else "right after the subject"
        number = "plural" if text[1].endswith("s") else "singular"
        other = "singular" if number == "plural" else "plural"
        side = f"and w · h is {abs(score):.3g} on the side of the {other}"
        why = (
            "Which words may write into the state?"
            if others_write or not n_phrases
            else "The phrases write nothing, so look at what W_h makes of the state at each word."
        )
        raise Wrong(f"Wrong {where}: “{shown}” is {number}, {side}. {why}")
    if n_phrases == 0:
        return score if first is None else min(first, score)
    if score < first / 2:
        share = f"{score / first:.2g} of what it was after the subject"
        why = (
            "the words of the phrases have written over it. Which words may write?"
            if others_write
            else "the state fades. What must h do to itself to stay?"
        )
        raise Wrong(f"Over {counted(n_phrases, 'phrase')} w · h is only {share}: {why}")
    return first


def _weights(part: object, complaint: str) -> Tensor:
    try:
        return torch.as_tensor(part, dtype=torch.float64).detach()
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(complaint) from None


@cache
def _trained_on_pairs() -> FeedForwardLM:
    """The chapter's network: every fourth pair is new to it, so no two verbs are quite alike."""
    pairs = [[noun, verb] for nouns, verbs in KINDS.items() for noun in nouns for verb in verbs]
    kept = [pair for i, pair in enumerate(pairs) if i % 4]
    with torch.random.fork_rng():
        torch.manual_seed(2)
        network = FeedForwardLM(known_words(pairs), n=2, d_model=5, d_hidden=8)
    chance = torch.Generator().manual_seed(2)
    train_lm(network, kept, generator=chance, n_steps=400, learning_rate=2e-2)
    return network


_MISTAKES = {
    "one way": "A number that is used twice has two ways to the loss. What comes back along the "
    "second is added to what came along the first; it does not replace it.",
    "own factor": "If c = a times b, c grows by *b* times as much as a does, not by a times.",
    "slope of sum": "The slope of tanh is 1 − h², where h is what comes *out* of the tanh.",
    "no tanh": "The way passes tanh, and is multiplied by its slope there.",
    "forward": "Go through the steps backwards: the error of a step must be complete before it "
    "is passed on.",
}
"""What the known ways of going wrong on the way back are told."""


def _in_words(step: Step) -> str:
    name, operation, *read = step
    between = {"add": " + ", "times": " · "}.get(operation)
    return f"{name} = " + (between.join(read) if between else f"{operation} {read[0]}")


def _slopes_of(
    steps: Sequence[Step], begun: Mapping[str, float], mistake: str = ""
) -> dict[str, float]:
    """The slope of the last step for each number that the formula begins with."""
    value = dict(begun)
    for name, operation, *read in steps:
        of = [value[key] for key in read]
        value[name] = {"add": sum, "times": math.prod, "tanh": lambda x: math.tanh(x[0])}[
            operation
        ](of)
    error = dict.fromkeys(value, 0.0)
    error[steps[-1][0]] = 1.0
    for name, operation, *read in steps if mistake == "forward" else reversed(steps):
        for place, key in enumerate(read):
            slope = 1.0
            if operation == "times":
                slope = value[read[place if mistake == "own factor" else 1 - place]]
            elif operation == "tanh" and mistake != "no tanh":
                slope = 1 - value[key if mistake == "slope of sum" else name] ** 2
            kept = 0.0 if mistake == "one way" else error[key]
            error[key] = kept + slope * error[name]
    return {key: error[key] for key in begun}


def _forms() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The verbs for one, and those for many."""
    singular, plural = zip(*AGREEMENT_VERBS, strict=True)
    return singular, plural


def _pairs_of_models() -> list[tuple[Tensor, Tensor]]:
    """What two models gave to the words that came: on a few words, then on many."""
    few = torch.tensor([0.5, 0.4, 0.01, 0.3]), torch.tensor([0.1, 0.2, 0.3, 0.1])
    pairs = [tuple(part.double() for part in few)]
    for seed, (lead, spread) in enumerate(((0.8, 1.5), (-0.4, 1.0), (0.1, 2.0))):
        one, other = draws((400,), (400,), seed=seed)
        pairs.append(((spread * one + lead - 3).sigmoid(), (spread * other - 3).sigmoid()))
    (better,) = draws((50,), seed=7)
    pairs.append((better.sigmoid(), 0.5 * better.sigmoid()))  # the first is always better
    gap = pairs[1][0].clone()
    gap[3] = 0.0  # the first model rules out a word that came
    pairs.append((gap, pairs[1][1]))
    return pairs
