"""Checks of chapter 7: bigram tables, edges, the forward algorithm, perplexity, a window."""

import itertools
import math

import torch

from softlookup.data import agreement_sentences
from softlookup.exercises.verdict import Verdict, Wrong, call, close, numbers, started, verdict
from softlookup.language_models import NGramModel, forward_algorithm, perplexity

LECTURE = ["the", "dog", "barks", "the", "dog", "runs"]
LINES = (LECTURE, ["a", "b", "a", "b", "b", "a"], ["no", "no", "no", "yes"])
CORPORA = (
    [["a", "b"], ["a", "a", "b"], ["b"]],
    [["the", "dog", "barks"], ["the", "dog"], []],
    [["no", "yes", "no"], ["yes"], ["maybe"]],
)


def check_table(my_table: object, my_word: object) -> Verdict:
    """Check a function of tokens that returns the bigram table, and the word with the odd row.

    Args:
        my_table: The learner's function: rows and columns are the distinct words, sorted; the
            entry is how often the column's word follows the row's, over how often that occurs.
        my_word: The word of the lecture's line whose row does not sum to one.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: language_models#exercises

    Example:
        >>> check_table(..., ...)
        Not yet. Nothing to check so far: return the table of count ratios.
    """
    return verdict(lambda: _table(my_table, my_word))


def check_edges(my_probability: object) -> Verdict:
    """Check a function of (texts, text): the bigram probability of a text with both its edges.

    Args:
        my_probability: The learner's function; both arguments hold lists of words.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: language_models#exercises

    Example:
        >>> check_edges(...)
        Not yet. Nothing to check so far: return the probability of the text.
    """
    return verdict(lambda: _edges(my_probability))


def check_forward(my_forward: object) -> Verdict:
    """Check a function of (words, initial, A, B): the probability of the words under an HMM.

    Args:
        my_forward: The learner's function; ``words`` is a list of ids, the rest are tensors.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: language_models#exercises

    Example:
        >>> check_forward(...)
        Not yet. Nothing to check so far: return the probability of the words.
    """
    return verdict(lambda: _forward(my_forward))


def check_perplexity(my_perplexity: object) -> Verdict:
    """Check a function of a list of probabilities, one for each token that came.

    Args:
        my_perplexity: The learner's function.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: language_models#exercises

    Example:
        >>> check_perplexity(...)
        Not yet. Nothing to check so far: return the perplexity.
    """
    return verdict(lambda: _perplexity(my_perplexity))


def check_window(my_window: object) -> Verdict:
    """Check a function of sentences that returns the smallest n whose window holds the subject.

    Args:
        my_window: The learner's function of a list of sentences, each a list of words whose second
            is the subject and whose last is the verb.

    Returns:
        Whether it is solved, and what to look at next.

    Chapter: language_models#exercises

    Example:
        >>> check_window(...)
        Not yet. Nothing to check so far: return the smallest n.
    """
    return verdict(lambda: _window(my_window))


def _table(my_table: object, my_word: object) -> str:
    for line in LINES:
        words = sorted(set(line))
        pairs = list(itertools.pairwise(line))
        rows = [[pairs.count((a, b)) / line.count(a) for b in words] for a in words]
        expected = torch.tensor(rows, dtype=torch.float64)
        answer = call(my_table, list(line), what="return the table of count ratios.")
        answer = numbers(answer, expected, "Your table")
        shown = " ".join(line)
        if close(answer, expected):
            continue
        if close(answer, expected.mT):
            raise Wrong("Rows and columns are exchanged: a row is the word before.")
        counts = torch.tensor([line.count(a) for a in words], dtype=torch.float64)
        if close(answer, expected * counts[:, None]):
            raise Wrong("These are counts: divide each row by how often its word occurs.")
        if close(answer, expected * counts[:, None] / len(line)):
            raise Wrong("You divided by the length of the text. Given the word before, divide by "
                        "how often *it* occurs.")  # fmt: skip
        sums = expected.sum(dim=1, keepdim=True)
        if close(answer, expected / sums.where(sums > 0, 1)):
            raise Wrong("You divided by what follows. That repairs the last word, but the lecture "
                        "divides by how often the word occurs.")  # fmt: skip
        i, j = torch.nonzero((answer - expected).abs() > 1e-6)[0].tolist()
        raise Wrong(f"In “{shown}”, {words[j]} after {words[i]}: yours is {answer[i, j]:.4g}.")
    started(my_word, "name the word whose row does not sum to one.")
    if str(my_word).strip().lower() != "runs":
        raise Wrong(f"The row of {my_word!r} is not the odd one: which word does nothing follow?")
    return "The text ends after *runs*: its row is all zeros."


def _edges(my_probability: object) -> str:
    for texts in CORPORA:
        model = NGramModel(texts, 2)
        for length in range(4):
            for text in itertools.product(model.words[:-1], repeat=length):
                _one_text(my_probability, texts, list(text), math.exp(model.log_probability(text)))
    return "All texts share one whole: with both edges, nothing is lost and nothing is made up."


def _one_text(my_probability: object, texts: list, text: list, expected: float) -> None:
    given = [list(one) for one in texts], list(text)
    answer = call(my_probability, *given, what="return the probability of the text.")
    answer = numbers(answer, torch.tensor(0.0), "The probability").item()
    if abs(answer - expected) <= 1e-9:
        return
    shown = " ".join(text) or "the empty text"
    if not text:
        raise Wrong("The empty text is a text: it begins and ends at once. How often did a text "
                    "begin with its end?")  # fmt: skip
    if answer > expected:
        raise Wrong(f"Too much for “{shown}”: {answer:.4g}. Did you ask that the text begins with "
                    "its first word, and that it ends after the last?")  # fmt: skip
    raise Wrong(f"Too little for “{shown}”: {answer:.4g}, and it is {expected:.4g}. Count the "
                "pairs within each text, never from one into the next.")  # fmt: skip


def _forward(my_forward: object) -> str:
    generator = torch.Generator().manual_seed(17)
    for n_states, n in ((2, 1), (2, 3), (3, 5), (2, 60)):
        shapes = (n_states,), (n_states, n_states), (n_states, 4)
        tables = [torch.rand(s, generator=generator, dtype=torch.float64) + 0.1 for s in shapes]
        tables = [table / table.sum(dim=-1, keepdim=True) for table in tables]
        words = torch.randint(4, (n,), generator=generator)
        expected = math.exp(forward_algorithm(words, *tables)[1])
        given = words.tolist(), *(table.clone() for table in tables)
        answer = call(my_forward, *given, what="return the probability of the words.")
        answer = numbers(answer, torch.tensor(0.0), "The probability").item()
        if abs(answer - expected) <= 1e-9 * expected:
            continue
        initial, A, B = tables
        if n == 1:
            if abs(answer - (initial @ A @ B)[words[0]].item()) < 1e-12:
                raise Wrong("The first word comes before any change of state.")
            raise Wrong("Already one word is wrong: sum initial[s] · B[s, word] over the states.")
        back = initial * B[:, words[0]]
        for word in words[1:].tolist():
            back = (A @ back) * B[:, word]
        if abs(answer - back.sum().item()) <= 1e-9 * abs(answer):
            raise Wrong("A is used the wrong way round: A[r, s] leads from r to s.")
        raise Wrong(f"{n} words, {n_states} states: yours is {answer:.6g}, it is {expected:.6g}.")
    return "Equal to the sum over all ways, without walking them: 60 words would have 2⁶⁰."


def _perplexity(my_perplexity: object) -> str:
    for p in ([0.2] * 5, [0.5, 0.125], [1.0], [0.9, 0.01, 0.3, 0.3], [1e-3] * 400):
        expected = perplexity(sum(map(math.log, p)), len(p))
        answer = call(my_perplexity, list(p), what="return the perplexity.")
        answer = numbers(answer, torch.tensor(0.0), "The perplexity").item()
        if abs(answer - expected) <= 1e-6 * expected:
            continue
        if abs(answer - math.log(expected)) < 1e-6:
            raise Wrong("This is the mean of −log p. Undo the logarithm.")
        if abs(answer - math.exp(math.log(expected) / math.log(2))) < 1e-6 * answer:
            raise Wrong("Logarithm and exponential must have one base: log₂ goes with 2 to the "
                        "power.")  # fmt: skip
        if abs(answer - sum(1 / q for q in p) / len(p)) < 1e-6 * answer:
            raise Wrong("This is the mean of 1/p. Take the mean of the logarithms first.")
        if len(p) == 400:
            raise Wrong("Right for few tokens, wrong for 400: their product is too small for a "
                        "float. Add logarithms.")  # fmt: skip
        raise Wrong(f"For {p} yours is {answer:.6g}. Equal probabilities of 1/V must give V.")
    return "A model that is always equally unsure among V words has perplexity V."


def _window(my_window: object) -> str:
    generator = torch.Generator().manual_seed(11)
    for n_phrases in (1, 0, 2, 4):
        tokens = [s.tokens for s in agreement_sentences(20, n_phrases, generator)]
        expected = 3 * n_phrases + 2
        answer = call(my_window, [list(t) for t in tokens], what="return the smallest n.")
        answer = numbers(answer, torch.tensor(0.0), "n").item()
        if answer == expected:
            continue
        if answer == expected - 1:
            raise Wrong("An n-gram holds the verb, too: n counts the predicted word.")
        if answer == expected + 1:
            raise Wrong("One too many: the article before the subject is not needed.")
        raise Wrong(f"For “{' '.join(tokens[0])}” yours is {answer:g}.")
    return "One word more for every word in between: three for each phrase."
