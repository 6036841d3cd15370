"""Checks of chapter 8: how wide a window must be."""

import torch

from softlookup.data import agreement_sentences
from softlookup.exercises.compare import advised, scalar
from softlookup.exercises.verdict import Answer, Wrong, exercise


@exercise("return the smallest n.")
def check_window(my_window: Answer) -> str:
    """Check a function of sentences that returns the smallest n whose window holds the subject.

    Args:
        my_window: The learner's function of a list of sentences, each a list of words whose second
            is the subject and whose last is the verb.

    Chapter: neural_language_models#exercises
    """
    generator = torch.Generator().manual_seed(11)
    for n_phrases in (1, 0, 2, 4):
        tokens = [list(s.tokens) for s in agreement_sentences(20, n_phrases, generator)]
        expected = 3 * n_phrases + 2
        found = scalar(my_window(tokens), "n")
        if found != expected:
            mistakes = [
                (expected - 1, "An n-gram holds the verb, too: n counts the predicted word."),
                (expected + 1, "One too many: the article before the subject is not needed."),
            ]
            raise Wrong(
                advised(found, mistakes, f"For “{' '.join(tokens[0])}” yours is {found:g}.")
            )
    return "One word more for every word in between: three for each phrase."
