"""Checks of chapter 7: bigram tables, edges, the forward algorithm, perplexity."""

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from softlookup.exercises.compare import advised, compare, scalar
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.language_models import NGramModel, forward_algorithm, perplexity

LECTURE = ["the", "dog", "barks", "the", "dog", "runs"]
LINES = (LECTURE, ["a", "b", "a", "b", "b", "a"], ["no", "no", "no", "yes"])
UNDERFLOW = (
    "Right for few tokens, wrong for 400: their product is too small for a float. Add logarithms."
)
CORPORA = (
    [["a", "b"], ["a", "a", "b"], ["b"]],
    [["the", "dog", "barks"], ["the", "dog"], []],
    [["no", "yes", "no"], ["yes"], ["maybe"]],
)


@exercise("return the table of count ratios.", "name the word whose row does not sum to one.")
def check_table(my_table: Answer, my_word: Answer) -> str:
    """Check a function of tokens that returns the bigram table, and the word with the odd row.

    Args:
        my_table: The learner's function: rows and columns are the distinct words, sorted; the
            entry is how often the column's word follows the row's, over how often that occurs.
        my_word: The word of the lecture's line whose row does not sum to one.

    Chapter: language_models#exercises
    """
    for line in LINES:
        words = sorted(set(line))
        pairs = list(itertools.pairwise(line))
        rows = [[pairs.count((a, b)) / line.count(a) for b in words] for a in words]
        expected = torch.tensor(rows, dtype=torch.float64)
        counts = torch.tensor([line.count(a) for a in words], dtype=torch.float64)[:, None]
        sums = expected.sum(dim=1, keepdim=True)
        mistakes = [
            (expected.mT, "Rows and columns are exchanged: a row is the word before."),
            (expected * counts, "These are counts: divide each row by how often its word occurs."),
            (expected * counts / len(line), "You divided by the length of the text. Given the "
             "word before, divide by how often *it* occurs."),
            (expected / sums.where(sums > 0, 1), "You divided by what follows. That repairs the "
             "last word, but the lecture divides by how often the word occurs."),
        ]  # fmt: skip

        def otherwise(found: Tensor, right: Tensor, line: list = line, words: list = words) -> str:
            i, j = torch.nonzero((found - right).abs() > 1e-6)[0].tolist()
            place = f"In “{' '.join(line)}”, {words[j]} after {words[i]}"
            return f"{place}: yours is {found[i, j]:.4g}."

        compare(my_table(line), expected, "Your table", mistakes, otherwise)
    word = my_word.value
    if str(word).strip().lower() != "runs":
        raise Wrong(f"The row of {word!r} is not the odd one: which word does nothing follow?")
    return "The text ends after *runs*: its row is all zeros."


@exercise("return the probability of the text.")
def check_edges(my_probability: Answer) -> str:
    """Check a function of (texts, text): the bigram probability of a text with both its edges.

    Args:
        my_probability: The learner's function; both arguments hold lists of words.

    Chapter: language_models#exercises
    """
    for texts in CORPORA:
        model = NGramModel(texts, 2)
        for length in range(4):
            for text in itertools.product(model.words[:-1], repeat=length):
                found = scalar(my_probability(texts, list(text)), "The probability")
                _same_probability(found, math.exp(model.log_probability(text)), text)
    return "All texts share one whole: with both edges, nothing is lost and nothing is made up."


@exercise("return the probability of the words.")
def check_forward(my_forward: Answer) -> str:
    """Check a function of (words, initial, A, B): the probability of the words under an HMM.

    Args:
        my_forward: The learner's function; ``words`` is a list of ids, the rest are tensors.

    Chapter: language_models#exercises
    """
    generator = torch.Generator().manual_seed(17)
    for n_states, n in ((2, 1), (2, 3), (3, 5), (2, 60)):
        shapes = (n_states,), (n_states, n_states), (n_states, 4)
        tables = [torch.rand(s, generator=generator, dtype=torch.float64) + 0.1 for s in shapes]
        tables = [table / table.sum(dim=-1, keepdim=True) for table in tables]
        words = torch.randint(4, (n,), generator=generator)
        expected = math.exp(forward_algorithm(words, *tables)[1])
        initial, A, B = tables
        found = scalar(my_forward(words.tolist(), initial, A, B), "The probability")
        if math.isclose(found, expected, rel_tol=1e-9):
            continue
        if n == 1:
            early = (initial @ A @ B)[words[0]]
            mistakes = [(early, "The first word comes before any change of state.")]
            aside = "Already one word is wrong: sum initial[s] · B[s, word] over the states."
        else:
            back = initial * B[:, words[0]]
            for word in words[1:]:
                back = (A @ back) * B[:, word]
            mistakes = [(back.sum(), "A is used the wrong way round: A[r, s] leads from r to s.")]
            size = f"{n} words, {n_states} states"
            aside = f"{size}: yours is {found:.6g}, it is {expected:.6g}."
        raise Wrong(advised(found, mistakes, aside, rel_tol=1e-9))
    return "Equal to the sum over all ways, without walking them: 60 words would have 2⁶⁰."


@exercise("return the perplexity.")
def check_perplexity(my_perplexity: Answer) -> str:
    """Check a function of a list of probabilities, one for each token that came.

    Args:
        my_perplexity: The learner's function.

    Chapter: language_models#exercises
    """
    for p in ([0.2] * 5, [0.5, 0.125], [1.0], [0.9, 0.01, 0.3, 0.3], [1e-3] * 400):
        expected = perplexity(sum(map(math.log, p)), len(p))
        try:
            found = scalar(my_perplexity(p), "The perplexity")
        except Wrong as wrong:
            if math.prod(p) > 0:
                raise
            raise Wrong(f"{UNDERFLOW} {wrong}") from wrong
        if math.isclose(found, expected, rel_tol=1e-6):
            continue
        mistakes = [
            (math.log(expected), "This is the mean of −log p. Undo the logarithm."),
            (math.exp(math.log2(expected)),
             "Logarithm and exponential must have one base: log₂ goes with 2 to the power."),
            (sum(1 / q for q in p) / len(p),
             "This is the mean of 1/p. Take the mean of the logarithms first."),
        ]  # fmt: skip
        aside = f"For {p} yours is {found:.6g}. Equal probabilities of 1/V must give V."
        aside = aside if math.prod(p) > 0 else UNDERFLOW
        raise Wrong(advised(found, mistakes, aside, abs_tol=1e-6))
    return "A model that is always equally unsure among V words has perplexity V."


def _same_probability(found: float, expected: float, text: Sequence[str]) -> None:
    if abs(found - expected) <= 1e-9:
        return
    shown = " ".join(text) or "the empty text"
    if not text:
        raise Wrong("The empty text is a text: it begins and ends at once. How often did a text "
                    "begin with its end?")  # fmt: skip
    if found > expected:
        raise Wrong(f"Too much for “{shown}”: {found:.4g}. Did you ask that the text begins with "
                    "its first word, and that it ends after the last?")  # fmt: skip
    raise Wrong(f"Too little for “{shown}”: {found:.4g}, and it is {expected:.4g}. Count the "
                "pairs within each text, never from one into the next.")  # fmt: skip
