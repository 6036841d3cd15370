"""What several experiments read: the captions of Multi30k, in English or in several languages."""

from collections.abc import Iterable

from softlookup.data import multi30k

SMALL_CAPTIONS = (
    "a man in a hat rides his bike",
    "a woman in a hat rides her bike",
    "two dogs in a park chase their ball",
    "a dog in a park has its ball",
    "a man in a park holds his hat",
    "a woman on a bike holds her hat",
    "two dogs in the snow want their ball",
    "a dog in the snow wants its ball",
)
"""Captions of our own, for a run that takes seconds."""


def english_captions() -> tuple[list[str], list[str]] | None:
    """The captions to train on and those to test on, or None after one printed line."""
    parts = multi30k("train", "en"), multi30k("val", "en"), multi30k("test", "en")
    return None if None in parts else (parts[0], parts[1] + parts[2])


def parallel_captions(
    splits: Iterable[str], languages: Iterable[str]
) -> dict[str, dict[str, list[str]]] | None:
    """The captions of each split in each language; line i says the same in all languages.

    Args:
        splits: Such as "train" and "test".
        languages: Such as "en" and "fr".

    Returns:
        The captions by split and language, or None after one printed line that says why.
    """
    languages, parts = list(languages), {}
    for split in splits:
        parts[split] = {language: multi30k(split, language) for language in languages}
        if None in parts[split].values():
            return None
    return parts
