"""What several experiments read: the captions of Multi30k in more than one language."""

from collections.abc import Iterable

from softlookup.data import multi30k


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
