"""Answers to the exercises of chapter 8: right, and wrong with the words that they get."""

from softlookup.exercises.neural_language_models import check_window

RIGHT, WRONG = {}, {}


# The window


RIGHT[check_window] = [
    (lambda sentences: len(sentences[0]) - 1,),
    (lambda sentences: max(len(s) for s in sentences) - 2 + 1,),
]


WRONG[check_window] = [
    (..., "Nothing to check"),
    (lambda s: len(s[0]) - 2, "counts the predicted word"),
    (lambda s: len(s[0]), "One too many"),
    (lambda s: 5 if len(s[0]) == 6 else 4, "yours is 4"),
]
