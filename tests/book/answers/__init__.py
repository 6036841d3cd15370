"""Answers to the exercises, a module per chapter, and nothing else.

Each module has two tables by check. ``RIGHT`` holds rows of answers that must pass, ``WRONG`` rows
of answers that must fail; what stands behind the answers in a row are words that the verdict must
hold. ``test_exercises`` runs them all.
"""

from collections.abc import Callable


class Later:
    """An answer that takes too long to make when the table is read."""

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make
