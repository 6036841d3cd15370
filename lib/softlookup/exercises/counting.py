"""Checks of chapter 2: the slide's tables, n-grams, variants that break, a spam filter."""

import math
import random
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from softlookup.data import LECTURE_SENTENCES, messages, split
from softlookup.exercises.compare import Mistakes, compare, numbers
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.words import (
    count_matrix,
    document_frequency,
    f1_score,
    inverse_document_frequency,
    ngrams,
    precision,
    recall,
    tf_idf,
    word_tokens,
)

SLIDE = LECTURE_SENTENCES
MORE = (
    "No rain. No rain at all, no wind.",
    "Rain at six",
    "Wind at six, wind at seven, rain at eight",
)
REQUIRED_F1 = 0.9
TEST_EVERY = 5  # another division than the one that the chapter looked at
DOUBLED = 12  # test messages that the filter's check says twice

TABLES = "Return three things: the counts, the IDF and the TF-IDF."
FLAGS = "Your counts are flags: they say that a word occurs, not how often."
PRODUCT = (
    "Counts and IDF are right, their product is not: each column of the counts is to be "
    "multiplied by the IDF of its word."
)


@exercise("return the counts, the IDF and their product.")
def check_tables(answer: Answer) -> str:
    """Check a function of (documents, vocabulary) that returns counts, IDF and TF-IDF.

    Args:
        answer: The learner's function; the logarithm of the IDF has base 10.

    Chapter: counting_words#exercises
    """
    for texts in SLIDE, MORE:
        documents = [word_tokens(text) for text in texts]
        vocabulary = list(dict.fromkeys(token for tokens in documents for token in tokens))
        counts = count_matrix(documents, vocabulary)
        idf = inverse_document_frequency(document_frequency(counts), len(documents), "log", base=10)
        mine = answer.several(3, TABLES, documents, vocabulary)
        mistakes = [((counts > 0).double(), FLAGS)]
        compare(mine[0], counts, "The table of counts", mistakes, _wrong_count(vocabulary))
        n_j = document_frequency(counts)
        aside = _wrong_idf(n_j, len(documents), vocabulary)
        compare(mine[1], idf, "The IDF", _idf_mistakes(counts), aside)
        compare(mine[2], tf_idf(counts, base=10), "The TF-IDF", otherwise=PRODUCT)
    return "All three tables, on the lecture's sentences and on three others."


@exercise("put three short sentences into a list.")
def check_negative_idf(answer: Answer) -> str:
    """Check three sentences: with log(N / (N_j + 1)), some word's IDF must be negative.

    Args:
        answer: A list of three texts, or of three lists of tokens.

    Chapter: counting_words#exercises
    """
    texts = answer.value
    if not isinstance(texts, list | tuple):
        raise Wrong(f"The corpus should be a list of sentences; yours is a {type(texts).__name__}.")
    texts = [answer.started(text) for text in texts]
    if len(texts) != 3:
        raise Wrong(f"The corpus should have three sentences; yours has {len(texts)}.")
    documents = [_tokens_of(text) for text in texts]
    in_documents = {word: sum(word in tokens for tokens in documents)
                    for tokens in documents for word in tokens}  # fmt: skip
    most = max(in_documents, key=in_documents.get)
    if in_documents[most] == 3:
        value = math.log(3 / 4)
        return f"{most!r} is in all three: log(3/4) = {value:.3f}, less than nothing."
    if in_documents[most] == 2:
        raise Wrong(f"{most!r} is in two sentences, and log(3/3) = 0: that is not yet negative. "
                    "How many must it be in?")  # fmt: skip
    raise Wrong("Every word is in one sentence only, and log(3/2) is positive. "
                "A negative IDF needs a common word.")  # fmt: skip


@exercise("return the list of n-grams.")
def check_ngrams(answer: Answer) -> str:
    """Check a function of (tokens, n) that returns the n-grams in order.

    Args:
        answer: The learner's function; an n-gram is a string or a sequence of n tokens.

    Chapter: counting_words#exercises
    """
    draw = random.Random(2)
    cases = [(["a", "b", "c"], 2), (["a", "b", "c"], 1), (["a", "b"], 3), ([], 1), (["a"], 1)]
    for _ in range(40):
        tokens = [draw.choice(["a", "rose", "is", "not"]) for _ in range(draw.randrange(13))]
        cases.append((tokens, draw.randrange(1, 6)))
    for tokens, n in cases:
        _same_ngrams(answer(tokens, n), tokens, n)
    return "The windows are right, and there are max(T − n + 1, 0) of them for 45 texts."


@exercise("fill in the words and the cosine.")
def check_zero_document(answer: Answer) -> str:
    """Check which words of the lecture's first sentence keep a TF-IDF, and its cosine.

    Args:
        answer: A dictionary with "words", a list, and "cosine", a number or "undefined".

    Chapter: counting_words#exercises
    """
    given = answer.value
    if not isinstance(given, dict) or set(given) != {"words", "cosine"}:
        raise Wrong('Answer with a dictionary that has the keys "words" and "cosine".')
    words, cosine = answer.started(given["words"]), answer.started(given["cosine"])
    if isinstance(words, str) or not isinstance(words, list | tuple | set):
        raise Wrong(f"The words should be a list; you gave {words!r}.")
    shared = sorted({str(word).lower() for word in words} & set(word_tokens(SLIDE[1])))
    if shared:
        raise Wrong(f"{shared[0]!r} is in x2. If it is in x1 too, it is in both documents, and "
                    "log(2/2) = 0; if not, its count in x1 is 0.")  # fmt: skip
    if words:
        raise Wrong(f"{min(map(str, words))!r} is not a word of x1.")
    _require_undefined(cosine)
    return "No word keeps a weight, so x1 has length 0, and the cosine is 0/0: not defined."


@exercise("return 1 or 0 for each message.")
def check_filter(answer: Answer) -> str:
    """Check a spam filter of (texts, labels, new_texts) on binary bags of words.

    Args:
        answer: The learner's function; it returns 1 (spam) or 0 for each of the new texts.

    Chapter: counting_words#exercises
    """
    train, test = split(messages(), test_every=TEST_EVERY)
    texts, labels = [m.text for m in train], [int(m.spam) for m in train]
    new, truth = [m.text for m in test], torch.tensor([m.spam for m in test])
    doubled = [f"{text} {text}" for text in new[:DOUBLED]]
    verdicts = answer(texts, labels, new + doubled)
    answers = _labels(verdicts, len(new) + len(doubled))
    if not torch.equal(answers[:DOUBLED], answers[len(new) :]):
        raise Wrong("A message said twice got another verdict. In a binary bag the second time "
                    "changes nothing: use flags, not counts.")  # fmt: skip
    answers = answers[: len(new)]
    score = f1_score(truth, answers)
    if score < REQUIRED_F1:
        raise Wrong(_advice(truth, answers, score))
    return f"F1 = {score:.3f} on {len(new)} test messages."


def _wrong_count(vocabulary: list[str]) -> Callable[[Tensor, Tensor], str]:
    def told(yours: Tensor, counts: Tensor) -> str:
        i, j = ((yours - counts).abs() > 1e-6).nonzero()[0].tolist()
        said = f"The count of {vocabulary[j]!r} in document {i} is {counts[i, j]:.0f};"
        return f"{said} yours is {yours[i, j]:.4g}."

    return told


def _idf_mistakes(counts: Tensor) -> Mistakes:
    n, n_j, occurrences = len(counts), document_frequency(counts), counts.sum(dim=0)
    base = "Your logarithm has another base: the lecture's table uses base 10."
    documents = "You counted occurrences: N_j is the number of documents that contain the word."
    return [
        (torch.log(n / n_j), base),
        (torch.log2(n / n_j), base),
        (n / n_j, "You left out the logarithm: that is the variant N/N_j."),
        (torch.log10(n / (n_j + 1)),
         "You added one below the fraction line: the table uses N/N_j."),
        (torch.log10(n_j / n),
         "Your fraction is upside down: a word in every document weighs 0, a rare one more."),
        (torch.log10(n / occurrences), documents),
        (torch.log10(occurrences.sum() / occurrences), documents),
    ]  # fmt: skip


def _wrong_idf(n_j: Tensor, n: int, vocabulary: list[str]) -> Callable[[Tensor, Tensor], str]:
    def told(yours: Tensor, idf: Tensor) -> str:
        j = int(((yours - idf).abs() > 1e-6).nonzero()[0])
        said = f"The IDF of {vocabulary[j]!r}, in {n_j[j]:.0f} of {n} documents, is"
        return f"{said} {idf[j]:.4f}; yours is {yours[j]:.4f}."

    return told


def _tokens_of(text: object) -> list[str]:
    if isinstance(text, str):
        tokens = word_tokens(text)
    elif isinstance(text, list | tuple) and all(isinstance(token, str) for token in text):
        tokens = list(text)
    else:
        raise Wrong(f"Each sentence should be a string; one is {text!r}.")
    if not tokens:
        raise Wrong("One of your sentences has no word in it.")
    return tokens


def _same_ngrams(found: object, tokens: list[str], n: int) -> None:
    expected = ngrams(tokens, n)
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise Wrong(f"Return a list of n-grams; you returned {found!r}.")
    yours = [_joined(gram) for gram in found]
    case = f"of {tokens} with n = {n}"
    if len(yours) != len(expected):
        raise Wrong(f"A text of {len(tokens)} tokens has {len(expected)} n-grams for n = {n}; "
                    f"you found {len(yours)}. Where does the last window start?")  # fmt: skip
    if sorted(yours) == sorted(expected) and yours != expected:
        raise Wrong(f"Keep the n-grams in the order of the text; {case} yours are {yours}.")
    if yours != expected:
        wrong = next(pair for pair in zip(yours, expected, strict=True) if pair[0] != pair[1])
        raise Wrong(f"One n-gram {case} is {wrong[1]!r}; yours is {wrong[0]!r}.")


def _joined(gram: object) -> str:
    if isinstance(gram, list | tuple):
        gram = " ".join(map(str, gram))
    if not isinstance(gram, str):
        raise Wrong(f"Each n-gram should be a string; one of yours is {gram!r}.")
    return gram


def _require_undefined(cosine: object) -> None:
    if isinstance(cosine, str):
        if cosine.strip().lower() not in ("undefined", "nan", "0/0", "not defined"):
            raise Wrong(f'The cosine should be a number or "undefined"; you gave {cosine!r}.')
        return
    try:
        value = float(cosine)
    except (TypeError, ValueError):
        raise Wrong(f'The cosine should be a number or "undefined"; you gave {cosine!r}.') from None
    if value == 0:
        raise Wrong("The words are right. The library calls the cosine 0, by a rule; but what "
                    "does the formula itself give, with a norm of 0 below the line?")  # fmt: skip
    if not math.isnan(value):
        raise Wrong(f"The words are right. The cosine cannot be {value:.4g}: "
                    "put the length of x1 into the formula.")  # fmt: skip


def _labels(verdicts: object, length: int) -> Tensor:
    values = numbers(verdicts, torch.zeros(length), "The list of verdicts")
    if not ((values == 0) | (values == 1)).all():
        raise Wrong("Each verdict should be 1 or 0; a probability must be compared with 0.5.")
    return values.long()


def _advice(truth: Tensor, answers: Tensor, score: float) -> str:
    if f1_score(truth, 1 - answers) > max(score, 0.8):
        return "You call spam ham and ham spam: label 1 is spam."
    if answers.unique().numel() == 1:
        return f"Every message got the same verdict, {answers[0]}: was anything trained?"
    return (
        f"F1 = {score:.3f}, with precision {precision(truth, answers):.3f} and recall "
        f"{recall(truth, answers):.3f}; {REQUIRED_F1} is possible. Do all words of the training "
        "texts have a column? Is l2 small enough?"
    )
