"""Word vectors that somebody else has trained, if the reader has put them where data sets lie."""

from jaxtyping import Float
from torch import Tensor

from softlookup.data.downloads import cache_folder
from softlookup.words import Vocabulary
from softlookup.words.word2vec import load_word2vec_text

PRETRAINED_FILE = "word2vec.txt"
"""The name under which the file is looked for, in word2vec's text format."""


def pretrained_vectors(
    *, limit: int | None = None
) -> tuple[Vocabulary, Float[Tensor, "vocab d_model"]] | None:
    """The vectors in the file ``word2vec.txt`` of the data folder, if it is there.

    The book needs no such file and never fetches one. It looks in the folder of ``SOFTLOOKUP_DATA``
    or, without that, in your system's cache folder for the book.

    Args:
        limit: Read at most this many words.

    Returns:
        The words and their vectors; or None, after one printed line that says so.

    Raises:
        ValueError: The file is there but is not in word2vec's text format.

    Source: lecture 000, "Some Cool properties of W2V". Chapter: word2vec#pretrained-vectors.

    Example:
        >>> vocabulary, table = pretrained_vectors(limit=10_000)  # doctest: +SKIP
    """
    path = cache_folder() / PRETRAINED_FILE
    if not path.is_file():
        print(f"Pretrained vectors: there is no {PRETRAINED_FILE} in the data folder.")
        return None
    return load_word2vec_text(path, limit=limit)
