"""Checks: the slide's tables, rarity, softmax, bags of pairs, two spam filters."""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from softlookup.data import LECTURE_SENTENCES, messages, split
from softlookup.exercises.compare import Mistakes, compare, numbers
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.ops import cosine_similarity
from softlookup.words import (
    count_matrix,
    document_frequency,
    f1_score,
    inverse_document_frequency,
    logistic_probability,
    ngrams,
    precision,
    recall,
    tf_idf,
    top_words,
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


@exercise("fill in the three probabilities and the slopes of both rows.")
def check_error(answer: Answer) -> str:
    """Check a softmax over three classes, and the slopes of the weights of two words.

    Args:
        answer: A dictionary with "probabilities", three numbers, and "slopes", two rows of three.

    Chapter: counting_words#exercises
    """
    given = answer.named(("probabilities", "slopes"))
    h, y = torch.tensor([1.0, 3.0]).double(), torch.tensor([0.0, 0.0, 1.0]).double()
    powers = torch.tensor([1.0, 2.0, 5.0]).double()  # e to the scores 0, ln 2 and ln 5
    p = powers / powers.sum()
    mistakes = [
        (powers, "You have the powers; divide each by their sum."),
        (powers.log(), "These are the scores. Raise e to each, and divide by the sum."),
        (powers.log() / powers.log().sum(), "You divided the scores themselves by their sum."),
    ]
    compare(given["probabilities"], p, "The list of probabilities", mistakes, _not_these_shares)
    slopes = [
        (torch.outer(h, y - p), "The sign is turned: the error is p minus y."),
        (torch.outer(h, p), "The 1 of the true class is missing in the error p minus y."),
        (torch.outer(p - y, h), "Rows belong to words and columns to classes; yours are turned."),
        (torch.stack([p - y, p - y]), "These are the errors. Multiply each row by its count."),
        (torch.outer(h, p - torch.tensor([1.0, 0, 0])), "The true class is the third."),
        (torch.outer(h, p - y) / 2, "You took a mean over two words; there is one message."),
    ]
    shapes = {(3, 2): "Rows belong to words and columns to classes; yours are turned."}
    expected = torch.outer(h, p - y)
    told = "Each slope is an error, p minus y, times a count: once for class, three times for call."
    compare(given["slopes"], expected, "The table of slopes", slopes, told, shapes=shapes)
    return (
        "The weights of the true class are to grow, the others to fall: three times as fast "
        "for the word that occurs three times."
    )


@exercise("write a third sentence.")
def check_third(answer: Answer) -> str:
    """Check a third sentence that makes the TF-IDF cosine of the lecture's two that of counts.

    Args:
        answer: A text.

    Chapter: counting_words#exercises
    """
    tokens = _tokens_of(answer.value)
    documents = [*(word_tokens(text) for text in SLIDE), tokens]
    vocabulary = list(dict.fromkeys(token for document in documents for token in document))
    counts = count_matrix(documents, vocabulary)
    found = tf_idf(counts)
    if not found[0].any():
        raise Wrong("To TF-IDF, x1 is still an empty page: each of its words is in all three.")
    cosine = cosine_similarity(found[0], found[1]).item()
    wanted = cosine_similarity(counts[0], counts[1]).item()
    if math.isclose(cosine, wanted, rel_tol=1e-9):
        return f"The cosine is {cosine:.3f}: all words of the two are equally rare now."
    said = f"With yours the cosine is {cosine:.3f}, and {wanted:.3f} is asked for."
    shared = sorted(set(documents[0]) & set(tokens))
    if shared:
        raise Wrong(f"{said} {shared[0]!r} is now in all three documents, and weighs nothing.")
    rare = [word for word in ("not", "yet") if word not in tokens]
    raise Wrong(f"{said} {rare[0]!r} is in one document of three, the words of x1 are in two.")


@exercise("write two texts.")
def check_twins(answer: Answer) -> str:
    """Check two different texts with the same words and the same pairs of neighbours.

    Args:
        answer: A list of two texts.

    Chapter: counting_words#exercises
    """
    texts = answer.value
    if isinstance(texts, str) or not isinstance(texts, list | tuple) or len(texts) != 2:
        raise Wrong("Give a list of two texts.")
    first, second = (_tokens_of(answer.started(text)) for text in texts)
    if first == second:
        raise Wrong("To our tokens, these two are the same text.")
    if Counter(first) != Counter(second):
        odd = sorted((Counter(first) - Counter(second)) + (Counter(second) - Counter(first)))
        raise Wrong(f"Their bags of words differ: {odd[0]!r} does not occur equally often.")
    pairs, others = Counter(ngrams(first, 2)), Counter(ngrams(second, 2))
    if pairs != others:
        odd = sorted((pairs - others) + (others - pairs))
        raise Wrong(f"Their bags of pairs differ: {odd[0]!r} does not occur equally often.")
    if Counter(ngrams(first, 3)) == Counter(ngrams(second, 3)):
        return "Even their bags of three words are the same!"
    return "No bag of words and no bag of pairs tells them apart; runs of three words do."


@exercise("return the list of all texts.")
def check_rebuild(answer: Answer) -> str:
    """Check a function that finds all texts with a given bag of pairs.

    Args:
        answer: The learner's function of a list of pairs; it returns a list of lists of tokens.

    Chapter: counting_words#exercises
    """
    draw = random.Random(2)
    cases = [["a", "b"], ["a", "a", "a"], list("abab"), list("abcab"), list("abcabdab")]
    for length in (4, 5, 6, 7, 7, 8, 8):
        cases.append([draw.choice("abc") for _ in range(length)])
    for text in cases:
        pairs = list(pairwise(text))
        draw.shuffle(pairs)
        _all_texts(answer(pairs), pairs)
    apart = [("a", "b"), ("c", "d")]
    if any(True for _ in answer(apart)):
        raise Wrong("No text has the pairs a b and c d and no others, but you found one.")
    return f"All texts of {len(cases)} bags of pairs, and none for a bag that no text has."


@exercise("return the weight of each word and the bias.")
def check_bayes(answer: Answer) -> str:
    """Check naive Bayes as a linear model: weights and bias from counts alone.

    Args:
        answer: The learner's function of (counts, y); it returns the weights and the bias.

    Chapter: counting_words#exercises
    """
    counts = torch.tensor([[2, 1, 0], [1, 0, 0], [0, 1, 3], [0, 2, 1], [1, 0, 4]]).double()
    many = torch.randint(0, 4, (11, 7), generator=torch.Generator().manual_seed(2)).double()
    for rows in counts, many:
        y = torch.tensor([float(i % 3 == 0) for i in range(len(rows))]).double()
        weight, bias = answer.several(2, "Return two things: the weights and the bias.", rows, y)
        right_weight, right_bias = _bayes(rows, y)
        compare(weight, right_weight, "The weights", _bayes_mistakes(rows, y), _not_this_weight)
        tokens = torch.log(rows[y == 1].sum() / rows[y == 0].sum())
        of_messages = "The bias is the logarithm of P(1)/P(0), from numbers of messages."
        no_prior = "The bias says which class is more frequent; yours says that neither is."
        compare(bias, right_bias, "The bias", [
            (torch.zeros(()), no_prior),
            (-right_bias, "Your bias has the wrong sign: it is to be above 0 if spam is frequent."),
            (tokens, "You compared numbers of words; the bias compares numbers of messages."),
            (y.mean(), "That is the share of spam, P(1). The bias is the logarithm of P(1)/P(0)."),
        ], of_messages)  # fmt: skip
    train, test = split(messages())
    old, new = ([word_tokens(message.text) for message in part] for part in (train, test))
    words = top_words(old, 1000)
    y = torch.tensor([int(message.spam) for message in train])
    weight, bias = _bayes(count_matrix(old, words), y)
    truth = torch.tensor([message.spam for message in test])
    score = f1_score(truth, logistic_probability(weight, bias, count_matrix(new, words)) > 0.5)
    return f"On the book's test messages these weights reach F1 = {score:.3f}, without descent."


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


def _all_texts(found: object, pairs: list[tuple[str, str]]) -> None:
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise Wrong(f"Return a list of texts; you returned {found!r}.")
    given = " and ".join(f"{a} {b}" for a, b in pairs)
    yours = []
    for text in found:
        if not isinstance(text, str | list | tuple):
            raise Wrong(f"Each text should be a list of words; one of yours is {text!r}.")
        yours.append(tuple(text.split() if isinstance(text, str) else map(str, text)))
    for text in yours:
        if Counter(pairwise(text)) != Counter(pairs):
            raise Wrong(f"{' '.join(text)!r} does not have the pairs {given}, each as "
                        "often as given.")  # fmt: skip
    if len(set(yours)) < len(yours):
        twice = next(text for text in yours if yours.count(text) > 1)
        raise Wrong(f"You list {' '.join(twice)!r} twice. Two equal pairs may change places "
                    "without making another text.")  # fmt: skip
    missing = sorted(_texts_of(pairs) - set(yours))
    if missing:
        raise Wrong(f"For the pairs {given} the text {' '.join(missing[0])!r} is missing.")


def _texts_of(pairs: Sequence[tuple[str, str]]) -> set[tuple[str, ...]]:
    """All texts by trying every order of the pairs: slow, and plainly right."""
    orders = [[order] for order in sorted(set(pairs))]
    for _ in range(len(pairs) - 1):
        orders = [
            [*order, pair]
            for order in orders
            for pair in sorted(set(pairs))
            if pair[0] == order[-1][1] and order.count(pair) < pairs.count(pair)
        ]
    return {(order[0][0], *(after for _, after in order)) for order in orders}


def _bayes(counts: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    one, zero = (counts[y == k].sum(dim=0) + 1 for k in (1, 0))
    weight = torch.log(one / one.sum()) - torch.log(zero / zero.sum())
    return weight, torch.log((y == 1).sum() / (y == 0).sum()).double()


def _not_these_shares(yours: Tensor, shares: Tensor) -> str:
    if abs(yours.sum().item() - 1) > 1e-6:
        return f"Probabilities sum to 1; yours sum to {yours.sum():.4g}."
    k = int(((yours - shares).abs() > 1e-6).nonzero()[0])
    return (
        f"Raise e to each score, and divide each of the three powers by their sum: the probability "
        f"of class {k}, counted from 0, is not {yours[k]:.4g}."
    )


def _not_this_weight(yours: Tensor, weights: Tensor) -> str:
    j = int(((yours - weights).abs() > 1e-6).nonzero()[0])
    return (
        f"The weight of word {j}, counted from 0, is not {yours[j]:.4g}. It is the logarithm of "
        "P(j | 1) / P(j | 0); do the shares P(j | k) of all words sum to 1 in each class?"
    )


def _bayes_mistakes(counts: Tensor, y: Tensor) -> Mistakes:
    one, zero = (counts[y == k].sum(dim=0) for k in (1, 0))
    weight, _ = _bayes(counts, y)
    n_one, n_zero = (y == 1).sum(), (y == 0).sum()
    in_one, in_zero = ((counts[y == k] > 0).sum(dim=0) for k in (1, 0))
    raw = torch.log(one / one.sum()) - torch.log(zero / zero.sum())
    no_m = torch.log((one + 1) / one.sum()) - torch.log((zero + 1) / zero.sum())
    no_share = torch.log((one + 1) / (zero + 1))
    flags = torch.log((in_one + 1) / (n_one + 2)) - torch.log((in_zero + 1) / (n_zero + 2))
    flag_shares = torch.log((in_one + 1) / (in_one + 1).sum())
    flag_shares = flag_shares - torch.log((in_zero + 1) / (in_zero + 1).sum())
    plus_one = torch.log((one + 1) / (one.sum() + 1)) - torch.log((zero + 1) / (zero.sum() + 1))
    return [
        (raw, "A word that one class never has gets an infinite weight: add 1 to each count."),
        (-weight, "Your weights have the wrong sign: a word of spam is to have a positive one."),
        (no_m, "The shares of a class do not sum to 1: if each word gets 1 more, the sum of all "
               "words grows by how many there are."),
        (plus_one, "The shares of a class do not sum to 1: each word got 1 more, but the sum of "
                   "all words grew by 1 in all."),
        (no_share, "You compared counts, not shares: the class with more words wins always."),
        (flags, "You counted messages with the word. Here each occurrence counts."),
        (flag_shares, "You counted messages with the word. Here each occurrence counts."),
        (weight / math.log(10), "Take the natural logarithm."),
    ]  # fmt: skip


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
