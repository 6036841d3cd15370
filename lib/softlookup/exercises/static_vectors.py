"""Checks: averages, what moves and what pulls, search by meaning; tags, reach, a tagger, senses."""

import math
import random
from collections import Counter
from collections.abc import Callable
from functools import cache, partial

import torch
from torch import Tensor

from softlookup.attention import attention
from softlookup.data import TaggedSentence, planted_senses, planted_sentences, tagged_sentences
from softlookup.exercises.compare import close, compare, counted, draw, integers, numbers
from softlookup.exercises.verdict import Answer, Wrong, by_hand, exercise
from softlookup.masks import causal_mask, window_mask
from softlookup.words import (
    Span,
    adjusted_rand_index,
    bio_to_spans,
    conflicting_labels,
    contrastive_loss,
    recall_at_k,
    spans_to_bio,
    token_scores,
)
from softlookup.words.word2vec import train_word2vec

TAGS = ("O", "B-PERSON", "I-PERSON", "B-PLACE", "I-PLACE", "B-ORG", "I-ORG")
REQUIRED_F1 = 0.95
REQUIRED_RECALL = 0.95
REQUIRED_RAND = 0.9
FORMULA = 1e-13  # formulas come within 1e-15 of each other; central differences, 1e-10 at best
NEAR = 1e-3  # less than this off: no other formula, but too few digits
ZERO_ROW = 5
PAIRS = (((1.0, 0.0), (0.0, 1.0), (0.6, 0.8)), ((0.8, 0.6), (0.0, 1.0), (0.6, 0.8)))
LONG = 800  # tokens of which a product of probabilities is 0 in floating point
INVENTED = "blip"
PROBABILITIES = "A table of probabilities, a row for each token and a column for each tag,"
TRUTHS = ("True", "False", "tensor(True)", "tensor(False)")
CHANGED = "Your function changed X itself. Work on a copy: X.clone()."
KEPT = "Your function changed Q or D itself. Work on copies, as Q.clone()."
NEWS = (
    "In 2007 Sebastian Thrun began to build cars without drivers at Google . The heads of American "
    "car firms shook hands and turned away , Thrun recalled earlier this week ."
)
NEWS_SPANS = [
    (1, 2, "DATE"),
    (2, 4, "PERSON"),
    (11, 12, "ORG"),
    (16, 17, "NORP"),
    (25, 26, "GPE"),
    (27, 30, "DATE"),
]


@exercise("return one tag for each token.")
def check_bioes(answer: Answer) -> str:
    """Check a function that turns BIO tags into BIOES tags.

    Args:
        answer: The learner's function of (tags).

    Chapter: static_vectors#exercises
    """
    for spans, n in _span_cases():
        tags = spans_to_bio(spans, n)
        found = answer(tags, kept="Your function changed tags itself: return a new list.")
        _same_tags(found, _bioes(spans, n), tags)
    return "Single tokens, last tokens, neighbours with one label, and a span that ends the text."


@exercise("return the names that have two labels.")
def check_conflicts(answer: Answer) -> str:
    """Check a function of (tokens, spans) that returns the names with two labels.

    Args:
        answer: The learner's function; it returns a list or set of names, or a dictionary of them.

    Chapter: static_vectors#exercises
    """
    for text, spans in _CONFLICT_CASES:
        tokens = text.split()
        found = answer(tokens, spans)
        if isinstance(found, str) or not isinstance(found, list | tuple | set | frozenset | dict):
            raise Wrong(f"Return a list of names; you returned {found!r}.")
        given = sorted(map(_name, found))
        names, expected = set(given), set(conflicting_labels(tokens, spans))
        if given == sorted(expected):
            continue
        shown = ", ".join(f"{' '.join(tokens[a:b])} {label}" for a, b, label in spans)
        told = f"With the spans {shown} the answer is {sorted(expected)}; yours is {given}."
        raise Wrong(f"{told} {_conflict_hint(names, expected)}")
    return "Exactly one name in the slide's paragraph, and none where none is."


@exercise(
    "return the mean of the rows, one vector.",
    "write two texts that the mean cannot tell apart.",
)
def check_mean(mean: Answer, pair: Answer) -> str:
    """Check a function of (E, ids), the mean of rows, and two texts that it cannot tell apart.

    Args:
        mean: The learner's function.
        pair: Two different texts, as lists of words or as strings.

    Chapter: document_vectors#exercises
    """
    E = draw(7, 3, seed=5)
    aside = "The shape is right, the numbers are not: look up each word's row, average."
    for ids in [4], [1, 5], [2, 2, 6, 0]:
        total = E[ids].sum(dim=0)
        mistakes = [
            (total, "That is the sum; divide by the number of words."),
            (total / len(E), "Divide by the number of words in the text, not in E."),
            (E[sorted(set(ids))].mean(dim=0), "A word that comes twice counts twice."),
        ]
        found = mean(E, torch.tensor(ids))
        compare(found, E[ids].mean(dim=0), "Your mean", mistakes, aside)
    _one_mean(pair)
    return "Two texts, each word with one share in both, one vector."


@exercise("give the two numbers of message 0.")
def check_moved(answer: Answer) -> str:
    """Check the new place of message 0 in the chapter's three pairs.

    Args:
        answer: Two numbers, a vector of length 1.

    Chapter: document_vectors#exercises
    """
    queries, messages = (torch.tensor(rows, dtype=torch.float64) for rows in PAIRS)
    moved = messages.clone()
    moved[0] = numbers(answer.value, messages[0], "Message 0")
    length, cosine = moved[0].norm().item(), (moved[0] @ queries[0]).item()
    if abs(length - 1) > NEAR:
        raise Wrong(f"Its length is {length:.3g}; it should be 1, as that of all the others.")
    if abs(cosine - messages[0, 0]) > NEAR:
        raise Wrong(f"Its cosine with question 0 is {cosine:.3g}; it should stay 0.8.")
    before, after = (contrastive_loss(queries, rows, 0.2).item() for rows in (messages, moved))
    if after >= before - NEAR:
        raise Wrong("That is where it stands already. Another vector has this cosine, too.")
    return (
        f"The mean loss falls from {before:.3f} to {after:.3f}. No message came nearer to its own "
        "question: a wrong one went away from question 2, and from question 1, too."
    )


@exercise(
    "answer True or False.",
    "write my_reaches(model, X, source, target), which returns True or False.",
)
def check_reach(answer: Answer, function: Answer) -> str:
    """Check whether two steps of neighbours reach three places, and a function that finds out.

    Args:
        answer: True or False.
        function: The learner's function of (model, X, source, target).

    Chapter: static_vectors#exercises
    """
    if str(answer.value) not in TRUTHS:
        raise Wrong(f"Answer True or False; you gave {answer.value!r}.")
    for name, model, source, target, expected in _reach_cases():
        X = draw(7, 3, seed=7)
        X[ZERO_ROW] = 0.0  # a factor would not change this row
        found = function(model, X, source, target, kept=CHANGED)
        if str(found) not in TRUTHS:
            raise Wrong(f"Return True or False; you returned {found!r}.")
        if bool(found) != expected:
            can = "does" if expected else "cannot"
            raise Wrong(
                f"In {name}, word {source} {can} reach the vector of word {target}; you "
                f"say {bool(found)}. {_reach_hint(name, source, expected)}"
            )
    if bool(answer.value):
        raise Wrong(
            "Your function is right, your answer is not: try it on such a model, applied twice, "
            "with a source three places away."
        )
    return (
        "It cannot. One change that is felt proves True. No number of trials proves False; a rule "
        "that says who may read whom does."
    )


@exercise("return one table of probabilities a text.")
def check_tagger(answer: Answer) -> str:
    """Check a tagger of (texts, classes, embed, new_texts) that returns probabilities.

    Args:
        answer: The learner's function; for each new text it returns a table of seven
            probabilities a token.

    Chapter: static_vectors#exercises
    """
    train, test, embed = _task()
    gold = [spans_to_bio(s.spans, len(s.tokens)) for s in train + test]
    texts = [list(s.tokens) for s in train + test]
    classes = [[TAGS.index(tag) for tag in tags] for tags in gold[: len(train)]]
    found = answer(texts[: len(train)], classes, embed, texts)
    if not isinstance(found, list | tuple) or len(found) != len(texts):
        raise Wrong(f"Return a list of {len(texts)} tables, one for each new text.")
    tables = [_probabilities(table, tokens) for table, tokens in zip(found, texts, strict=True)]
    tags = [[TAGS[k] for k in table.argmax(dim=1).tolist()] for table in tables]
    n = len(train)
    score = token_scores(gold[:n], tags[:n]).f1
    if score < 1:
        raise Wrong(
            f"Token F1 on the sentences that you learned from is {score:.3f}; reach 1. "
            f"{_tagger_hint(texts[:n], tags[:n], score)}"
        )
    score = token_scores(gold[n:], tags[n:]).f1
    if score < REQUIRED_F1:
        raise Wrong(
            f"Token F1 is 1 on what you learned from, but {score:.3f} on new names; reach "
            f"{REQUIRED_F1}. Learn from the vectors, not from the words."
        )
    spans = [bio_to_spans(row, stray="begin") for row in tags[n:]]
    perfect = sum(a == s.spans for a, s in zip(spans, test, strict=True))
    slips = f"{perfect} of {len(test)} new ones without a slip"
    return f"Token F1 = 1 on the labelled sentences, and {slips}."


@exercise("return a table as large as Q.")
def check_gradient(answer: Answer) -> str:
    """Check a function of (Q, D, temperature) that returns the gradient with respect to Q.

    Args:
        answer: The learner's function.

    Chapter: document_vectors#exercises
    """
    aside = "The shape is right, the numbers are not. Check it with 0.001 more in one number of Q."
    short = "Where a row of Q is very short, your numbers are wrong: divide by its own length."
    for n, d, temperature in ((3, 2, 1.0), (5, 7, 0.3), (4, 3, 0.5)):
        Q, D = draw(n, d, seed=n), 2 * draw(n, d, seed=n + 1)
        if n == 4:
            Q[0], aside = 1e-7 * Q[0], short
        expected, mistakes = _contrastive_gradients(Q, D, temperature)
        with by_hand():
            given = answer(Q, D, temperature, kept=KEPT)
        found = numbers(given, expected, "Your gradient")
        largest = expected.abs().amax(dim=1, keepdim=True)
        found, right = found / largest, expected / largest
        known = [(mistaken / largest, advice) for mistaken, advice in mistakes]
        known = [(mistaken, advice) for mistaken, advice in known if not close(mistaken, right)]
        told = partial(_too_few_digits, otherwise=aside)
        compare(found, right, "Your gradient", known, told, tolerance=FORMULA)
    return "The right document pulls, each other one pushes, the near ones most."


@exercise("return a table of scores, a row for each query.")
def check_order(answer: Answer) -> str:
    """Check a search of (train_queries, train_messages, queries, messages) that knows order.

    Args:
        answer: The learner's function; it returns the scores of each query with each message.

    Chapter: document_vectors#exercises
    """
    worst = 1.0
    for town in _TOWNS:
        train, test = _who_paid_whom(town)
        queries, messages = zip(*test, strict=True)
        order = torch.randperm(len(test), generator=torch.Generator().manual_seed(6)).tolist()
        given = (*zip(*train, strict=True), queries, [messages[i] for i in order])
        shape = torch.zeros(len(test), len(test))
        found = numbers(answer(*map(list, given)), shape, "The table of scores").double()
        scores = found[:, torch.tensor(order).argsort()]  # message i belongs to query i again
        score = recall_at_k(scores, 1)
        if score < REQUIRED_RECALL:
            where = "" if town is _TOWNS[0] else " in another town, with other people and deeds"
            hint = _order_hint(scores, found, test)
            raise Wrong(f"recall@1 is {score:.2f}{where}; reach {REQUIRED_RECALL}. {hint}")
        worst = min(worst, score)
    return f"recall@1 is {worst:.2f} in the harder of two towns, whoever is named first."


@exercise("return the number of a tag for each token.")
def check_path(answer: Answer) -> str:
    """Check a function of (log_p) that returns the most probable row of tags without a stray one.

    Args:
        answer: The learner's function; it returns a number from 0 to 6 for each token.

    Chapter: static_vectors#exercises
    """
    for log_p in _path_cases():
        n = len(log_p)
        wanted = f"Return {counted(n, 'number')} from 0 to 6, the tag of each token."
        found = integers(answer(log_p, kept="Your function changed log_p itself."), wanted, n=n)
        if not set(found) <= set(range(len(TAGS))):
            raise Wrong(wanted)
        for before, tag in zip([0, *found], found, strict=False):
            if not _may_follow(TAGS[before], TAGS[tag]):
                after = "at the beginning of a text" if tag == found[0] else f"after {TAGS[before]}"
                raise Wrong(f"You return {TAGS[tag]} {after}, where it continues nothing.")
        best = _best_path(log_p)
        ours, yours = (log_p[range(n), row].sum().item() for row in (best, found))
        if yours < ours - 1e-9 * abs(ours):
            told = f"The sum of your {counted(n, 'logarithm')} is {yours:.3f}, and {ours:.3f} is"
            raise Wrong(f"{told} possible. {_path_hint(log_p, found)}")
    return f"The best legal row each time, for one token as for {LONG}."


@exercise("return one number for each sentence with the word.")
def check_senses(answer: Answer) -> str:
    """Check a function of (texts, word, n) that tells the senses of a word apart.

    Args:
        answer: The learner's function; it returns the number of a sense for each text that holds
            the word.

    Chapter: static_vectors#exercises
    """
    worst = 1.0
    for texts, word, senses in _sense_cases():
        n = len(set(senses))
        places = [i for i, text in enumerate(texts) if word in text]
        wanted = f"Return {len(places)} whole numbers, one for each sentence with {word!r}."
        found = integers(answer(texts, word, n), wanted, n=len(places))
        if not set(found) <= set(range(n)):
            raise Wrong(f"The numbers of {n} senses go from 0 to {n - 1}; yours are others.")
        score = adjusted_rand_index(torch.tensor(senses), torch.tensor(found))
        if score < REQUIRED_RAND:
            sentences = [" ".join(texts[i]) for i in places]
            told = f"With the {n} senses of {word!r} the adjusted Rand index is {score:.2f}; reach"
            raise Wrong(f"{told} {REQUIRED_RAND}. {_sense_hint(sentences, senses, found)}")
        worst = min(worst, score)
    return f"An adjusted Rand index of at least {worst:.2f}, with up to four senses and no label."


def _span_cases() -> list[tuple[list[Span], int]]:
    rng = random.Random(5)
    cases = [
        ([], 2),
        ([(1, 2, "ORG")], 3),
        ([(0, 3, "ORG")], 5),
        ([(1, 3, "ORG"), (3, 5, "ORG")], 6),
        ([(0, 1, "WORK-OF-ART"), (2, 4, "WORK-OF-ART")], 4),
    ]
    for _ in range(20):
        edges = sorted(rng.sample(range(14), 6))
        pairs = zip(edges[::2], edges[1::2], strict=True)
        cases.append(([(start, end, rng.choice(("ORG", "PLACE"))) for start, end in pairs], 13))
    return cases


def _bioes(spans: list[Span], n: int) -> list[str]:
    tags = ["O"] * n
    for start, end, label in spans:
        tags[start:end] = [f"I-{label}"] * (end - start)
        tags[start], tags[end - 1] = f"B-{label}", f"E-{label}"
        if end - start == 1:
            tags[start] = f"S-{label}"
    return tags


def _same_tags(found: object, expected: list[str], given: list[str]) -> None:
    if isinstance(found, str) or not isinstance(found, list | tuple):
        raise Wrong(f"Return a list of tags; you returned {found!r}.")
    found = list(found)
    if len(found) != len(expected):
        raise Wrong(f"There should be {len(expected)} tags, one a token; yours are {len(found)}.")
    if found == expected:
        return
    told = f"For {given} the tags should be {expected}; yours are {found}."
    wrong = [(new, own) for new, own in zip(expected, found, strict=True) if new != own]
    if all(str(own) == "-".join(new.split("-")[:2]) for new, own in wrong):
        told += " A label may hold hyphens of its own: keep all of it."
    elif [str(tag)[:1] for tag in found] == [tag[:1] for tag in expected]:
        told += " The letters are right; write them as E-ORG, with a hyphen and the label."
    elif all(new[0] == "S" for new, _ in wrong):
        told += " A span of one token gets S alone."
    elif found[:-1] == expected[:-1]:
        told += " A span may also end with the text."
    elif all(new[0] == "E" for new, _ in wrong):
        told += " The last token of a longer span gets E, also right before another B."
    raise Wrong(told)


_CONFLICT_CASES = (
    (NEWS, NEWS_SPANS),
    ("Low met Low", [(0, 1, "PERSON"), (2, 3, "PLACE")]),
    ("Low met Low", [(0, 1, "PERSON"), (2, 3, "PERSON")]),
    ("Low met Ada Low", [(2, 4, "PERSON"), (0, 1, "PLACE")]),
    ("Barlow met low", [(0, 1, "PERSON"), (2, 3, "PLACE")]),
    ("Ada Low met Ada", [(0, 2, "PERSON"), (3, 4, "PLACE")]),
    ("Ada Low of Fort Low", [(0, 2, "PERSON"), (3, 5, "PLACE")]),
    ("Low Low Low Low", [(0, 1, "A"), (1, 2, "B"), (2, 3, "C"), (3, 4, "A")]),
)


def _name(name: object) -> str:
    if isinstance(name, list | tuple):
        name = " ".join(map(str, name))
    if not isinstance(name, str):
        raise Wrong(f"Each name should be a string; one of yours is {name!r}.")
    return name


def _conflict_hint(names: set[str], expected: set[str]) -> str:
    if names == expected:
        return "Name each of them once."
    if not names:
        return "The surname alone is the same as the full name: compare with its last words."
    if names > expected and any(
        other.endswith(name) for name in expected for other in names - {name}
    ):
        return "Only the name that itself carries both labels; the full name has one label."
    return "Two spans clash if one's words are the other's last words, and the labels differ."


def _one_mean(pair: Answer) -> None:
    texts = pair.value
    if not isinstance(texts, list | tuple) or len(texts) != 2:
        raise Wrong("Give two texts, as a pair.")
    texts = [pair.started(text) for text in texts]
    words = [text.split() if isinstance(text, str) else list(text) for text in texts]
    if words[0] == words[1]:
        raise Wrong("These are the same text. Change something that matters to a reader.")
    if not all(words):
        raise Wrong("A text without words has no mean.")
    one, other = map(Counter, words)
    # what counts is the share of each word: "no" and "no no" have one mean
    if any(one[w] * other.total() != other[w] * one.total() for w in one | other):
        differ = sorted(map(str, (one - other) + (other - one)))
        raise Wrong(
            f"Their words differ ({', '.join(differ)}), so their means do too. Only reorder. (A "
            "capital letter or a full stop makes another word.)"
        )


def _reach_hint(name: str, source: int, expected: bool) -> str:
    hints = {
        "a model with a very small output": "Compare exactly, not with a tolerance.",
        "a model that subtracts each row's first number": "It does not feel a constant added to "
        "all numbers of a row: change them differently.",
        "a model that feels only large numbers": "Here small changes do nothing, and a slope is "
        "zero: try many, of several sizes.",
        "a model that first scales each row to length 1": "Do not just multiply the row.",
    }
    if name == "a causal model" and source == ZERO_ROW:
        return (
            "The row of this word is all zeros, and no factor changes it: put other numbers there."
        )
    default = "Poke, and compare the vector of the target before and after."
    return hints.get(name, default if expected else "Compare the target's row alone.")


def _reach_cases() -> list[tuple[str, Callable[[Tensor], Tensor], int, int, bool]]:
    causal, near = causal_mask(7), window_mask(7, 1)

    def once(x: Tensor) -> Tensor:
        return attention(x, x, x, near)

    def relative(x: Tensor) -> Tensor:
        return attention(*[x - x[:, :1]] * 3)

    def unit(x: Tensor) -> Tensor:
        return attention(*[x / (x.norm(dim=1, keepdim=True) + 1e-300)] * 3)

    def gated(x: Tensor) -> Tensor:
        return (x[:, :1] - 4).clamp(min=0).sum().expand(7, 3) + 0 * x

    masked = "a causal model"
    return [
        (masked, lambda x: attention(x, x, x, causal), 6, 4, False),
        (masked, lambda x: attention(x, x, x, causal), 2, 4, True),
        (masked, lambda x: attention(x, x, x, causal), 5, 6, True),
        ("a model that reads everything", lambda x: attention(x, x, x), 6, 0, True),
        ("a model that reads one word to each side", once, 6, 4, False),
        ("the same model, applied twice", lambda x: once(once(x)), 6, 4, True),
        ("the same model, applied twice", lambda x: once(once(x)), 6, 3, False),
        ("a model with a very small output", lambda x: 1e-12 * attention(x, x, x), 5, 2, True),
        ("a model that subtracts each row's first number", relative, 5, 1, True),
        ("a model that first scales each row to length 1", unit, 2, 1, True),
        ("a model that feels only large numbers", gated, 3, 1, True),
    ]


def _may_follow(before: str, tag: str) -> bool:
    """Whether a tag may stand behind another one; before a text stands O."""
    return not tag.startswith("I-") or before[2:] == tag[2:]


@cache
def _barred() -> Tensor:
    """What is added to a sum for each pair of tags: 0, or minus infinity where it is not legal."""
    rows = [[0.0 if _may_follow(a, b) else -math.inf for b in TAGS] for a in TAGS]
    return torch.tensor(rows, dtype=torch.float64)


def _best_path(log_p: Tensor) -> list[int]:
    best, back = log_p[0] + _barred()[0], []
    for row in log_p[1:]:
        top = (best[:, None] + _barred()).max(dim=0)
        back.append(top.indices.tolist())
        best = top.values + row
    path = [int(best.argmax())]
    for came_from in reversed(back):
        path.append(came_from[path[-1]])
    return path[::-1]


def _greedy_path(log_p: Tensor) -> list[int]:
    path = [0]
    for row in log_p:
        path.append(int((row + _barred()[path[-1]]).argmax()))
    return path[1:]


def _repaired_path(log_p: Tensor, to_b: bool) -> list[int]:
    """The best tag of each place; a stray I becomes the B of its label, or O."""
    path = [0]
    for tag in log_p.argmax(dim=1).tolist():
        stray = not _may_follow(TAGS[path[-1]], TAGS[tag])
        path.append((tag - 1 if to_b else 0) if stray else tag)
    return path[1:]


def _path_cases() -> list[Tensor]:
    def table(*rows: dict[str, float]) -> Tensor:
        rest = [(1 - sum(row.values())) / (len(TAGS) - len(row)) for row in rows]
        shares = [[row.get(t, part) for t in TAGS] for row, part in zip(rows, rest, strict=True)]
        return torch.tensor(shares, dtype=torch.float64).log()

    planted = [
        table({"I-ORG": 0.6, "B-ORG": 0.2}),
        table({"O": 0.5, "B-ORG": 0.4}, {"I-ORG": 0.9}),
        table({"B-PERSON": 0.5, "B-ORG": 0.3}, {"I-ORG": 0.8, "I-PERSON": 0.1}, {"I-ORG": 0.9}),
    ]
    sizes = (2, 3, 5, 13, LONG)
    drawn = [torch.log_softmax(draw(n, len(TAGS), seed=n), dim=1) for n in sizes]
    return planted + drawn


def _path_hint(log_p: Tensor, found: list[int]) -> str:
    if found == _greedy_path(log_p):
        return (
            "You go from left to right and never go back. A tag that is a little worse at its own "
            "place may allow a much better one behind it."
        )
    if found in (_repaired_path(log_p, to_b=True), _repaired_path(log_p, to_b=False)):
        return (
            "You repair the stray tag where it stands. It may be the tag before it that should "
            "change."
        )
    if len(log_p) == LONG:
        return (
            f"Your short rows are right. A product of {LONG} probabilities is 0 in floating point: "
            "add the logarithms."
        )
    return "Compare all legal rows for a text of three tokens with what your function returns."


@cache
def _sense_cases() -> list[tuple[list[list[str]], str, list[int]]]:
    """Sentences, a word of several senses, and its sense in each sentence that holds it."""
    generator = torch.Generator().manual_seed(8)
    sense_of = {
        tuple(e.tokens): (e.word, e.sense) for e in planted_senses(600, generator)
    }  # the grammar's twelve sentences with a word of two senses, each many times
    joined = {"doctor": 0, "physician": 0, "flower": 1, "concert": 2}
    both = {kind: k for k, kind in enumerate(sorted(set(sense_of.values())))}
    cases: list[tuple[list[list[str]], str, list[int]]] = [([], "bank", [])]
    cases += [([], INVENTED, []), ([], INVENTED, [])]
    for tokens in planted_sentences(1500, generator):
        kind = sense_of.get(tuple(tokens))
        cases[0][0].append(tokens)
        if kind is not None and kind[0] == "bank":
            cases[0][2].append(both[kind])
        cases[1][0].append([INVENTED if word in joined else word for word in tokens])
        cases[1][2].extend(joined[word] for word in tokens if word in joined)
        cases[2][0].append([INVENTED if kind and word == kind[0] else word for word in tokens])
        if kind is not None:
            cases[2][2].append(both[kind])
    return cases


def _sense_hint(sentences: list[str], senses: list[int], found: list[int]) -> str:
    if len(set(found)) == 1:
        return "You put all sentences into one group."
    kinds = Counter(zip(sentences, senses, found, strict=True)).most_common()
    pairs = [(one, other) for one, _ in kinds for other, _ in kinds if one[0] < other[0]]
    together = [(a[0], b[0]) for a, b in pairs if a[1] != b[1] and a[2] == b[2]]
    apart = [(a[0], b[0]) for a, b in pairs if a[1] == b[1] and a[2] != b[2]]
    split = [one[0] for one, _ in kinds if sum(one[0] == other[0] for other, _ in kinds) > 1]
    if split:
        return f"You give the same sentence several senses: “{split[0]}”. Look at its words alone."
    (one, other), told = (together[0], "two senses") if together else (apart[0], "one sense")
    what = "together" if together else "apart"
    return (
        f"You put these {what}, and they have {told}: “{one}” and “{other}”. Which of their words "
        "say something, and do you use all of these? If another seed gives other groups, more "
        "starts are needed."
    )


@cache
def _task() -> tuple[list[TaggedSentence], list[TaggedSentence], Callable[[list[str]], Tensor]]:
    """Labelled sentences, sentences with other names, and word vectors that know all of them."""
    generator = torch.Generator().manual_seed(55)
    text = [sentence.tokens for sentence in tagged_sentences(3000, generator)]
    model = train_word2vec(text, d_model=16, window=2, generator=generator)
    table, words = model.centre.weight.detach().double(), model.vocabulary
    train = tagged_sentences(200, generator, names="seen")
    test = tagged_sentences(100, generator, names="unseen")
    return train, test, lambda tokens: table[words.encode(list(tokens))]


def _probabilities(table: object, tokens: list[str]) -> Tensor:
    values = numbers(table, torch.zeros(len(tokens), len(TAGS)), PROBABILITIES)
    if values.min() < -1e-9 or values.max() > 1 + 1e-9:
        raise Wrong(
            f"A probability is between 0 and 1; yours go from {values.min():.3g} to "
            f"{values.max():.3g}. Which head promises probabilities?"
        )
    if (values.sum(dim=1) - 1).abs().max() > 1e-5:
        raise Wrong("The seven probabilities of a token should sum to 1.")
    return values


def _tagger_hint(texts: list[list[str]], tags: list[list[str]], score: float) -> str:
    if all(tag == "O" for row in tags for tag in row):
        return "You call every token O, the most frequent tag. Does the training loss still fall?"
    if score <= 0.6:
        return (
            "Does the training loss still fall? If not: are the classes numbered as they came, and "
            "the tokens in their order?"
        )
    tags_of_word: dict[str, set[str]] = {}
    for tokens, row in zip(texts, tags, strict=True):
        for token, tag in zip(tokens, row, strict=True):
            tags_of_word.setdefault(token, set()).add(tag)
    if all(len(given) == 1 for given in tags_of_word.values()):
        return "A word alone does not settle its tag: give the head the neighbours, too."
    return (
        "Your head can give one word two tags, so it has the neighbours. Go on until the training "
        "loss no longer falls: take more steps, or larger ones."
    )


def _too_few_digits(found: Tensor, expected: Tensor, otherwise: str) -> str:
    """What to say about a gradient that is nearly right; its rows are shares of their largest."""
    off = (found - expected).abs().max().item()
    if off > NEAR:
        return otherwise
    return (
        f"Your numbers are right to {-math.ceil(math.log10(off))} digits; a formula in Q's float64 "
        "reaches thirteen. Differences do not, whatever their step. Neither does float32, which "
        "torch.zeros makes, nor a length to which something small is added."
    )


def _contrastive_gradients(
    Q: Tensor, D: Tensor, temperature: float
) -> tuple[Tensor, list[tuple[Tensor, str]]]:
    """The gradient of the loss with respect to Q, and what known mistakes make of it."""
    n, length = len(Q), Q.norm(dim=1, keepdim=True)
    q, d = Q / length, D / D.norm(dim=1, keepdim=True)
    p = torch.softmax(q @ d.mT / temperature, dim=1)
    truth = torch.eye(n, dtype=Q.dtype)

    def through(scores: Tensor, documents: Tensor = d) -> Tensor:
        by_q = scores @ documents / (n * temperature)
        return (by_q - (by_q * q).sum(dim=1, keepdim=True) * q) / length

    by_q = (p - truth) @ d / (n * temperature)
    right = through(p - truth)
    return right, [
        (-right, "The sign is turned: that is the direction of descent."),
        (n * right, "The loss is the mean over the queries: divide by n."),
        (temperature * right, "The scores are cosines divided by the temperature: so is this."),
        (right * temperature**2, "Divide by the temperature, do not multiply by it."),
        (by_q, "That is the gradient with respect to the rows of length 1; Q comes before them."),
        (by_q / length, "What lies along Q cannot change its direction: take that part off."),
        (right * length, "A long row turns less: divide by its length at the end."),
        (through(p), "Take off the truth: 1 for the right document."),
        (
            through((p - truth).mT),
            "The softmax runs over the documents of a query, not the queries "
            "of a document: a transpose is in the wrong place.",
        ),
        (through(p - truth, D), "The documents are divided by their lengths, too."),
        (
            through(torch.softmax(q @ D.mT / temperature, dim=1) - truth, D),
            "The scores are cosines: divide the documents by their lengths, too.",
        ),
        (
            through(torch.softmax(q @ d.mT / temperature, dim=0) - truth),
            "The softmax runs over the documents of a query: one row sums to 1.",
        ),
    ]


_TOWNS = (
    (
        ("mina", "leila", "jonas", "freya", "samir", "wei", "noor", "pavel"),
        {
            "did {a} pay {b}": (
                "{a} gave the money back to {b}",
                "{b} got the money back from {a}",
            ),
            "did {a} visit {b}": (
                "{a} spent sunday at the house of {b}",
                "{b} opened the door on sunday for {a}",
            ),
            "did {a} invite {b}": ("{a} asked {b} to come over", "{b} was asked over by {a}"),
        },
    ),
    (
        ("ada", "boris", "chen", "dilan", "elif", "femi", "gita", "hugo"),
        {
            "has {a} taught {b}": ("{a} was the teacher of {b}", "{b} took lessons from {a}"),
            "has {a} thanked {b}": (
                "{a} wrote a kind letter to {b}",
                "{b} found kind words from {a}",
            ),
            "has {a} warned {b}": (
                "{a} told {b} of the danger",
                "{b} learned of the danger from {a}",
            ),
        },
    ),
)
"""The people of two towns; what they do to each other, and how it is told from either side."""


def _who_paid_whom(town: tuple) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Queries with their messages; in the test are people who never met in the training."""
    people, deeds = town
    rng = random.Random(6)
    train, test = [], []
    for i, a in enumerate(people):
        for j, b in enumerate(people):
            if i == j:
                continue
            for query, tellings in deeds.items():
                told = [(query.format(a=a, b=b), telling.format(a=a, b=b)) for telling in tellings]
                if (i + j) % 4 == 0:
                    test.append(rng.choice(told))
                else:
                    train.extend(told)
    return train, test


def _order_hint(scores: Tensor, found: Tensor, test: list[tuple[str, str]]) -> str:
    if torch.equal(found.argmax(dim=1), torch.arange(len(test))):
        return "The new messages stand in another order than their queries."
    best = scores.argmax(dim=1).tolist()
    people = {word for query, _ in test for word in query.split()[1::2]}
    who = [people & set(message.split()) for _, message in test]
    deeds = [query.split()[2] for query, _ in test]
    if sum((who[i], deeds[i]) == (who[j], deeds[j]) for i, j in enumerate(best)) >= 0.8 * len(best):
        return (
            "You find the right people and the deed, but not always who did it. A message may name "
            "either of the two first."
        )
    return "Are the rows queries and the columns messages, and did the training loss fall?"
