"""Checks of chapter 5: BIO tags, labels that clash, averages, what reaches what, a tagger."""

import random
from collections import Counter
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from softlookup.attention import attention
from softlookup.data import TaggedSentence, tagged_sentences
from softlookup.exercises.compare import compare, draw, numbers
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.masks import causal_mask, window_mask
from softlookup.words import Span, bio_to_spans, conflicting_labels, spans_to_bio, token_scores
from softlookup.words.word2vec import train_word2vec

TAGS = ("O", "B-PERSON", "I-PERSON", "B-PLACE", "I-PLACE", "B-ORG", "I-ORG")
REQUIRED_F1 = 0.95
TRUTHS = ("True", "False", "tensor(True)", "tensor(False)")
CHANGED = "Your function changed X itself. Work on a copy: X.clone()."
NEWS = (
    "In 2007 Sebastian Thrun began to build cars without drivers at Google . The heads of American "
    "car firms shook hands and turned away , Thrun recalled earlier this week ."
)
NEWS_SPANS = [(1, 2, "DATE"), (2, 4, "PERSON"), (11, 12, "ORG"), (16, 17, "NORP"), (25, 26, "GPE"),
              (27, 30, "DATE")]  # fmt: skip


@exercise("return one tag a token.", "return the list of spans.")
def check_bio(to_tags: Answer, to_spans: Answer) -> str:
    """Check a function from spans to BIO tags, and one from tags to spans.

    Args:
        to_tags: The learner's function of (spans, n).
        to_spans: The learner's function of (tags).

    Chapter: static_vectors#exercises
    """
    for spans, n in _span_cases():
        expected = spans_to_bio(spans, n)
        _same_tags(to_tags(spans, n), expected, spans)
    for spans, n in _span_cases():
        tags = spans_to_bio(spans, n)
        _same_spans(to_spans(tags), sorted(spans), tags)
    return "There and back, neighbours with one label and names at the very end included."


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
        names = {_name(name) for name in found}
        expected = set(conflicting_labels(tokens, spans))
        if names == expected and len(names) == len(found):
            continue
        shown = ", ".join(f"{' '.join(tokens[a:b])} {label}" for a, b, label in spans)
        told = f"With the spans {shown} the answer is {sorted(expected)}; yours is {sorted(names)}."
        raise Wrong(f"{told} {_conflict_hint(names, expected, found)}")
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

    Chapter: static_vectors#exercises
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
    _only_reordered(pair)
    return "Two texts, one bag of words, one vector."


@exercise(
    "answer True or False.",
    "write my_reaches(model, X, source, target), which returns True or False.",
)
def check_reach(answer: Answer, function: Answer) -> str:
    """Check whether a causal model can put a later word into "it", and a function that finds out.

    Args:
        answer: True or False.
        function: The learner's function of (model, X, source, target).

    Chapter: static_vectors#exercises
    """
    if str(answer.value) not in TRUTHS:
        raise Wrong(f"Answer True or False; you gave {answer.value!r}.")
    for name, model, source, target, expected in _reach_cases():
        X = draw(7, 3, seed=7)
        X[5] = 0.0  # a factor would not change this row
        found = function(model, X, source, target, kept=CHANGED)
        if str(found) not in TRUTHS:
            raise Wrong(f"Return True or False; you returned {found!r}.")
        if bool(found) != expected:
            can = "does" if expected else "cannot"
            raise Wrong(f"In {name}, word {source} {can} reach the vector of word {target}; you "
                        f"say {bool(found)}. {_reach_hint(name, expected)}")  # fmt: skip
    if bool(answer.value):
        raise Wrong("Your function is right, your answer is not: try it on a causal model, with a "
                    "source after the target.")  # fmt: skip
    return "It cannot. One change that is felt proves True; False is proved by the mask alone."


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
        raise Wrong(f"Token F1 on the sentences that you learned from is {score:.3f}; reach 1. "
                    f"{_tagger_hint(tags[:n], score)}")  # fmt: skip
    score = token_scores(gold[n:], tags[n:]).f1
    if score < REQUIRED_F1:
        raise Wrong(f"Token F1 is 1 on what you learned from, but {score:.3f} on new names; reach "
                    f"{REQUIRED_F1}. Learn from the vectors, not from the words.")  # fmt: skip
    spans = [bio_to_spans(row, stray="begin") for row in tags[n:]]
    perfect = sum(a == s.spans for a, s in zip(spans, test, strict=True))
    slips = f"{perfect} of {len(test)} new ones without a slip"
    return f"Token F1 = 1 on the labelled sentences, and {slips}."


def _span_cases() -> list[tuple[list[Span], int]]:
    rng = random.Random(5)
    cases = [
        ([], 2),
        ([(1, 2, "ORG")], 3),
        ([(0, 3, "ORG")], 5),
        ([(1, 3, "ORG"), (3, 5, "ORG")], 6),
    ]
    for _ in range(20):
        edges = sorted(rng.sample(range(14), 6))
        pairs = zip(edges[::2], edges[1::2], strict=True)
        cases.append(([(start, end, rng.choice(("ORG", "PLACE"))) for start, end in pairs], 13))
    return cases


def _same_tags(found: object, expected: list[str], spans: list[Span]) -> None:
    if isinstance(found, str) or not isinstance(found, list | tuple):
        raise Wrong(f"Return a list of tags; you returned {found!r}.")
    found = list(found)
    if len(found) != len(expected):
        raise Wrong(f"There should be {len(expected)} tags, one a token; yours are {len(found)}.")
    if found == expected:
        return
    told = f"For {spans} the tags should be {expected}; yours are {found}."
    if [str(tag)[:1] for tag in found] == [tag[:1] for tag in expected]:
        told += " The letters are right; write them as B-ORG, with a hyphen and the label."
    elif found == [tag.replace("B-", "I-") for tag in expected]:
        told += " The first token of a span gets B-."
    elif [tag == "O" for tag in found] == [tag == "O" for tag in expected]:
        told += " Exactly the first token of each span gets B-, the others I-."
    else:
        told += " A span ends before its end: (1, 3) covers the tokens 1 and 2."
    raise Wrong(told)


def _same_spans(found: object, expected: list[Span], tags: list[str]) -> None:
    try:
        spans = sorted((int(start), int(end), str(label)) for start, end, label in found)
    except (TypeError, ValueError):
        raise Wrong(f"Return a list of (start, end, label); you returned {found!r}.") from None
    if spans == expected:
        return
    told = f"From {tags} come the spans {expected}; yours are {spans}."
    if spans == [(start, end - 1, label) for start, end, label in expected]:
        told += " The end is not included: it is one more than the last token."
    elif spans == expected[:-1]:
        told += " The last one is missing: a span may also end with the text."
    elif len(spans) < len(expected) and len(tags) > 3:
        told += " A B- begins a new span, even right after another one."
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


def _conflict_hint(names: set[str], expected: set[str], found: object) -> str:
    if names == expected:
        return "Name each of them once."
    if not names:
        return "The surname alone is the same as the full name: compare with its last words."
    if names > expected and any(
        other.endswith(name) for name in expected for other in names - {name}
    ):
        return "Only the name that itself carries both labels; the full name has one label."
    return "Two spans clash if one's words are the other's last words, and the labels differ."


def _only_reordered(pair: Answer) -> None:
    texts = pair.value
    if not isinstance(texts, list | tuple) or len(texts) != 2:
        raise Wrong("Give two texts, as a pair.")
    texts = [pair.started(text) for text in texts]
    words = [text.split() if isinstance(text, str) else list(text) for text in texts]
    if words[0] == words[1]:
        raise Wrong("These are the same text. Change something that matters to a reader.")
    if Counter(words[0]) != Counter(words[1]):
        one, other = map(Counter, words)
        differ = sorted(map(str, (one - other) + (other - one)))
        raise Wrong(
            f"Their words differ ({', '.join(differ)}), so their means do too. Only reorder."
        )


def _reach_hint(name: str, expected: bool) -> str:
    hints = {
        "a model with a very small output": "Compare exactly, not with a tolerance.",
        "a model that subtracts each row's first number": "It does not feel a constant added to "
        "all numbers of a row: change them differently.",
        "a model that feels only large numbers": "A single poke may be too small: try many, of "
        "several sizes.",
        "a model that first scales each row to length 1": "Do not just multiply the row.",
    }
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
    values = numbers(table, torch.zeros(len(tokens), len(TAGS)), "A table of probabilities")
    if values.min() < -1e-9 or values.max() > 1 + 1e-9:
        raise Wrong(f"A probability is between 0 and 1; yours go from {values.min():.3g} to "
                    f"{values.max():.3g}. Which head promises probabilities?")  # fmt: skip
    if (values.sum(dim=1) - 1).abs().max() > 1e-5:
        raise Wrong("The seven probabilities of a token should sum to 1.")
    return values


def _tagger_hint(tags: list[list[str]], score: float) -> str:
    if all(tag == "O" for row in tags for tag in row):
        return "You call every token O."
    if score > 0.6:
        return "A word alone does not settle its tag: give the head the neighbours, too."
    return "Are the classes numbered as they came, and the tokens in their order?"
