"""Chapter 2's exercises: blank, solved by the book, solved otherwise, and wrong in known ways."""

import json
import math

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

import registry
from softlookup.exercises import counting as exercises

NOTEBOOK = registry.by_name()["counting_words"].path


@pytest.fixture(scope="module")
def chapter() -> dict:
    """What a reader has at hand after the imports: the namespace in which solutions run."""
    from softlookup.words import classifiers, counting, text

    modules = {**vars(counting), **vars(classifiers), **vars(text)}
    return {**modules, "np": np, "torch": torch, "exercises": exercises}


def cell(key: str) -> str:
    """The code of one cell of the chapter."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return "".join(next(cell["source"] for cell in cells if cell["id"] == key))


def verdict_of(key: str, namespace: dict) -> exercises.Verdict:
    """Run an exercise's cell; the verdict is its last line."""
    *lines, check = cell(key).splitlines()
    names = dict(namespace)
    exec("\n".join(lines), names)
    return eval(check, names)


@pytest.mark.parametrize("exercise", ["tables", "negative", "ngrams", "zero", "filter"])
def test_the_blank_exercise_asks_for_a_start_and_the_books_solution_passes(exercise, chapter):
    blank = verdict_of(f"ex-{exercise}-start", chapter)
    assert not blank
    assert "Nothing to check so far" in blank.message
    solved = verdict_of(f"ex-{exercise}-solution", chapter)
    assert solved, solved.message


CHECKS = [
    exercises.check_tables,
    exercises.check_negative_idf,
    exercises.check_ngrams,
    exercises.check_zero_document,
    exercises.check_filter,
]


@pytest.mark.bad_input
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("blank", [None, ...])
def test_none_and_dots_are_a_blank_answer(check, blank):
    assert "Nothing to check so far" in check(blank).message


@pytest.mark.parametrize("check", [CHECKS[0], CHECKS[2], CHECKS[4]], ids=lambda c: c.__name__)
def test_an_error_in_the_learners_code_is_told(check):
    verdict = check(lambda *arguments: 1 / 0)
    assert not verdict
    told = "Your code stopped with ZeroDivisionError: division by zero"
    assert verdict.message.startswith(told)  # and perhaps what it was given


@pytest.mark.bad_input
@pytest.mark.parametrize("check", [CHECKS[0], CHECKS[2], CHECKS[4]], ids=lambda c: c.__name__)
def test_a_result_in_place_of_the_function_is_told(check):
    assert "wants the function itself" in check([1, 2]).message


def tables(documents, vocabulary, tf=None, idf=None, product=None):
    """Another right solution of the first exercise, with places to go wrong."""
    counts = [[document.count(word) for word in vocabulary] for document in documents]
    n = len(documents)
    n_j = [sum(word in document for document in documents) for word in vocabulary]
    used = [math.log10(n / k) for k in n_j] if idf is None else idf(n, n_j, counts)
    weights = [[c * w for c, w in zip(row, used, strict=True)] for row in counts]
    return (
        tf(counts) if tf else counts,
        used,
        product(counts, used) if product else torch.tensor(weights),
    )


def test_tables_by_plain_lists_pass():
    assert exercises.check_tables(tables)


def occurrences(counts: list[list[int]]) -> list[int]:
    """How often each word occurs in all documents: what N_j is mistaken for."""
    return [sum(column) for column in zip(*counts, strict=True)]


WRONG_TABLES = {
    "flags": ({"tf": lambda c: [[int(v > 0) for v in row] for row in c]}, "are flags"),
    "transposed": ({"tf": lambda c: np.array(c).T}, "counts should have shape (2, 7)"),
    "shares": (
        {"tf": lambda c: [[v / sum(row) for v in row] for row in c]},
        "The count of 'this' in document 0 is 2; yours is 0.25",
    ),
    "natural logarithm": ({"idf": lambda n, k, c: [math.log(n / j) for j in k]}, "base 10"),
    "base 2": ({"idf": lambda n, k, c: [math.log2(n / j) for j in k]}, "base 10"),
    "no logarithm": ({"idf": lambda n, k, c: [n / j for j in k]}, "left out the logarithm"),
    "plus one": ({"idf": lambda n, k, c: [math.log10(n / (j + 1)) for j in k]}, "added one"),
    "upside down": ({"idf": lambda n, k, c: [math.log10(j / n) for j in k]}, "upside down"),
    "occurrences for documents": (
        {"idf": lambda n, k, c: [math.log10(n / j) for j in occurrences(c)]},
        "number of documents that contain the word",
    ),
    "the slide's numbers typed in": (
        {"idf": lambda n, k, c: ([0] * 5 + [0.30103] * 9)[: len(k)]},
        "of 3 documents",
    ),
    "rounded": (
        {"idf": lambda n, k, c: [round(math.log10(n / j), 2) for j in k]},
        "The IDF of 'not', in 1 of 2 documents, is 0.3010; yours is 0.3000",
    ),
    "sum for product": (
        {"product": lambda c, w: np.array(c) + np.array(w)},
        "their product is not",
    ),
    "matrix product": ({"product": lambda c, w: np.array(c) @ np.array(w)}, "TF-IDF should have"),
}


@pytest.mark.parametrize("wrong", WRONG_TABLES)
def test_wrong_tables_are_told_what_is_wrong(wrong):
    changes, message = WRONG_TABLES[wrong]
    verdict = exercises.check_tables(lambda d, v: tables(d, v, **changes))
    assert not verdict
    assert message in verdict.message


def test_two_tables_are_not_three():
    verdict = exercises.check_tables(lambda d, v: tables(d, v)[:2])
    assert not verdict
    assert "Return three things" in verdict.message


def test_an_unfinished_table_is_a_blank_answer():
    verdict = exercises.check_tables(lambda d, v: (tables(d, v)[0], ..., ...))
    assert "Nothing to check so far" in verdict.message


@pytest.mark.parametrize(
    "corpus",
    [["a b", "b c", "b"], ("Yes, a dog", "A dog!", "dog"), [["x"], ["x", "y"], ["x"]]],
)
def test_any_corpus_with_a_word_in_all_three_sentences_passes(corpus):
    verdict = exercises.check_negative_idf(corpus)
    assert verdict
    assert "-0.288" in verdict.message


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        (["a b", "b c", "d"], "log(3/3) = 0"),
        (["b b b", "a", "c"], "log(3/2) is positive"),
        (["a", "a"], "should have three sentences; yours has 2"),
        (["a", "a", "a", "a"], "should have three sentences; yours has 4"),
        (["a", "a", "..."], "no word in it"),
        (["a", "a", 3], "should be a string; one is 3"),
        ("a a a", "should be a list of sentences; yours is a str"),
        (["a", "a", ...], "Nothing to check so far"),
    ],
)
def test_a_corpus_without_a_negative_idf_is_told_why(corpus, message):
    verdict = exercises.check_negative_idf(corpus)
    assert not verdict
    assert message in verdict.message


def windows(tokens, n):
    """Another right solution of the third exercise: tuples, from a loop that may not run."""
    found = []
    start = 0
    while start + n <= len(tokens):
        found.append(tuple(tokens[start : start + n]))
        start += 1
    return found


def test_ngrams_as_tuples_or_from_a_generator_pass():
    assert exercises.check_ngrams(windows)
    assert exercises.check_ngrams(lambda tokens, n: iter(windows(tokens, n)))


WRONG_NGRAMS = {
    "one too few": (lambda t, n: windows(t, n)[:-1], "Where does the last window start?"),
    "short ones at the end": (
        lambda t, n: [" ".join(t[i : i + n]) for i in range(len(t))],
        "has 2 n-grams for n = 2; you found 3",
    ),
    "no overlap": (
        lambda t, n: [" ".join(t[i : i + n]) for i in range(0, len(t) - n + 1, n)],
        "has 2 n-grams for n = 2; you found 1",
    ),
    "distinct only": (lambda t, n: list(dict.fromkeys(windows(t, n))), "you found"),
    "always bigrams": (lambda t, n: windows(t, 2), "for n = 1"),
    "sorted": (lambda t, n: sorted(windows(t, n)), "in the order of the text"),
    "from the end": (lambda t, n: windows(t, n)[::-1], "in the order of the text"),
    "glued": (lambda t, n: ["".join(w) for w in windows(t, n)], "is 'a b'; yours is 'ab'"),
    "one string": (lambda t, n: " ".join(t), "Return a list of n-grams"),
    "a number": (lambda t, n: max(len(t) - n + 1, 0), "Return a list of n-grams"),
    "positions": (lambda t, n: list(range(max(len(t) - n + 1, 0))), "should be a string"),
    "short text in one piece": (
        lambda t, n: windows(t, n) or [" ".join(t)],
        "has 0 n-grams for n = 3; you found 1",
    ),
}


@pytest.mark.parametrize("wrong", WRONG_NGRAMS)
def test_wrong_ngrams_are_told_what_is_wrong(wrong):
    function, message = WRONG_NGRAMS[wrong]
    verdict = exercises.check_ngrams(function)
    assert not verdict
    assert message in verdict.message


@pytest.mark.parametrize("cosine", ["undefined", "NaN", " 0/0 ", math.nan, torch.tensor(math.nan)])
@pytest.mark.parametrize("words", [[], (), set()])
def test_no_word_and_no_cosine_pass_in_any_spelling(words, cosine):
    assert exercises.check_zero_document({"words": words, "cosine": cosine})


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"words": ["not"], "cosine": "undefined"}, "'not' is in x2"),
        ({"words": ["This", "is"], "cosine": "undefined"}, "log(2/2) = 0"),
        ({"words": ["rain"], "cosine": "undefined"}, "'rain' is not a word of x1"),
        ({"words": "none", "cosine": "undefined"}, "should be a list"),
        ({"words": [], "cosine": 0}, "by a rule"),
        ({"words": [], "cosine": 1.0}, "cannot be 1"),
        ({"words": [], "cosine": 0.734968}, "cannot be 0.735"),
        ({"words": [], "cosine": "zero"}, 'a number or "undefined"'),
        ({"words": [], "cosine": [0]}, 'a number or "undefined"'),
        ({"words": []}, "the keys"),
        ([[], "undefined"], "dictionary"),
        ({"words": ..., "cosine": ...}, "Nothing to check so far"),
        ({"words": [], "cosine": None}, "Nothing to check so far"),
    ],
)
def test_wrong_answers_about_the_zero_document_are_told_why(answer, message):
    verdict = exercises.check_zero_document(answer)
    assert not verdict
    assert message in verdict.message


def scikit_filter(texts, labels, new_texts, binary=True):
    """Another right solution of the last exercise: scikit-learn's parts."""
    vectorizer = CountVectorizer(binary=binary)
    rows = vectorizer.fit_transform(texts)
    model = LogisticRegression(C=5, max_iter=2000).fit(rows, labels)
    return model.predict(vectorizer.transform(new_texts))


@pytest.fixture(scope="module")
def right_answers() -> dict[str, int]:
    """The label of each message, for filters that cheat or fail in a planned way."""
    from softlookup.data import messages

    return {message.text: int(message.spam) for message in messages()}


def test_a_filter_of_scikit_learn_passes():
    verdict = exercises.check_filter(scikit_filter)
    assert verdict, verdict.message


def probabilities(texts, labels, new_texts):
    """Forgets to compare with 0.5."""
    return [0.2 + 0.6 * label for label in scikit_filter(texts, labels, new_texts)]


WRONG_FILTERS = {
    "all ham": (lambda t, y, new: [0] * len(new), "the same verdict, 0"),
    "all spam": (lambda t, y, new: [1] * len(new), "the same verdict, 1"),
    "upside down": (lambda t, y, new: 1 - scikit_filter(t, y, new), "label 1 is spam"),
    "probabilities": (probabilities, "compared with 0.5"),
    "too few verdicts": (lambda t, y, new: scikit_filter(t, y, new)[:-1], "should have shape"),
    "verdicts on the old texts": (lambda t, y, new: scikit_filter(t, y, t), "should have shape"),
    "words": (lambda t, y, new: ["spam"] * len(new), "should be numbers"),
    "length of the text": (
        lambda t, y, new: [int(len(text) > 120) for text in new],
        "use flags, not counts",
    ),
    "capitals": (
        lambda t, y, new: [int(sum(c.isupper() for c in s) > len(s) / 4) for s in new],
        "F1 = ",
    ),
}


@pytest.mark.parametrize("wrong", WRONG_FILTERS)
def test_wrong_filters_are_told_what_is_wrong(wrong):
    function, message = WRONG_FILTERS[wrong]
    verdict = exercises.check_filter(function)
    assert not verdict
    assert message in verdict.message


def test_a_filter_on_counts_is_told_to_use_flags():
    verdict = exercises.check_filter(lambda t, y, new: scikit_filter(t, y, new, binary=False))
    assert not verdict
    assert "use flags, not counts" in verdict.message


def test_a_filter_just_below_the_mark_fails_and_one_above_it_passes(right_answers):
    def mistaken_about(n_missed):
        def answer(texts, labels, new_texts):
            known = {text: right_answers.get(text) for text in new_texts}
            spam = [text for text, label in known.items() if label]
            missed = set(spam[-n_missed:])
            firsts = [text for text in new_texts if text in right_answers]
            verdicts = [int(known[text] and text not in missed) for text in firsts]
            return verdicts + verdicts[: len(new_texts) - len(firsts)]

        return answer

    assert exercises.check_filter(mistaken_about(3))
    assert "0.9 is possible" in exercises.check_filter(mistaken_about(12)).message
