"""fastText: the pieces of a word, so that a word which was never seen has a vector too."""

from softlookup.checks import Size, checked, require


@checked
def character_ngrams(word: str, shortest: Size = 3, longest: Size = 6) -> list[str]:
    """All pieces of a word between two marks, ``<`` and ``>``, and the marked word itself.

    Args:
        word: At least one character.
        shortest: Characters of the shortest pieces, marks included, at least 1.
        longest: Characters of the longest pieces.

    Returns:
        The pieces from left to right, shorter ones first where two begin at one place, then the
        whole word with its marks if it is not among them. A piece that occurs twice stands there
        twice.

    Raises:
        ValueError: The word is empty, or ``longest`` is below ``shortest``.

    Source: Bojanowski, Grave, Joulin and Mikolov 2017, section 3.2.
    Chapter: word2vec#optional-fasttext-reads-the-spelling.

    Example:
        >>> character_ngrams("mice", 3, 4)
        ['<mi', '<mic', 'mic', 'mice', 'ice', 'ice>', 'ce>', '<mice>']
    """
    require(word != "", "the word must have at least one character", word=word)
    sizes = {"shortest": shortest, "longest": longest}
    require(longest >= shortest, "longest must be at least shortest", **sizes)
    marked = f"<{word}>"
    pieces = [
        marked[start:end]
        for start in range(len(marked))
        for end in range(start + shortest, start + longest + 1)
        if end <= len(marked)
    ]
    return pieces if marked in pieces else [*pieces, marked]
