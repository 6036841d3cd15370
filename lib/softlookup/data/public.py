"""Loaders of public data sets: SMS Spam Collection, tiny Shakespeare, Multi30k.

By default a loader reads the cache and leaves the network alone, so that a chapter runs the same
with and without it; ``download=True`` fetches what is missing. ``SOURCES`` holds the licences.
"""

import gzip

from softlookup.checks import require_choice
from softlookup.data.corpus import Message
from softlookup.data.downloads import fetch
from softlookup.data.sources import MULTI30K_LANGUAGES, MULTI30K_SPLITS, SOURCES


def sms_spam(*, download: bool = False) -> list[Message] | None:
    """The SMS Spam Collection: real text messages, 4,827 ham and 747 spam.

    Args:
        download: Whether to fetch the file if the cache lacks it.

    Returns:
        5,574 messages in the order of the file, as they were sent (with ``&amp;`` and the like),
        their ``kind`` empty; or None, after one printed line that says why.

    Source: Almeida, Gómez Hidalgo and Yamakami, "Contributions to the study of SMS spam
        filtering", 2011.
    Chapter: counting_words#optional-real-messages

    Example:
        >>> sms_spam()[0].spam  # doctest: +SKIP
        False
    """
    source = SOURCES["sms_spam"]
    content = fetch(source, source.files["all"], call="sms_spam(download=True)", download=download)
    if content is None:
        return None
    pairs = (line.split("\t", 1) for line in _lines(content))
    return [Message(text, spam=label == "spam") for label, text in pairs]


def tiny_shakespeare(*, download: bool = False) -> str | None:
    """Forty thousand lines of Shakespeare in one string of 1,115,394 characters.

    Args:
        download: Whether to fetch the file if the cache lacks it.

    Returns:
        The text, or None after one printed line that says why.

    Source: Karpathy, "The unreasonable effectiveness of recurrent neural networks", 2015.
    Chapter: data_card#public-data-sets

    Example:
        >>> tiny_shakespeare()[:14]  # doctest: +SKIP
        'First Citizen:'
    """
    source = SOURCES["tiny_shakespeare"]
    content = fetch(
        source, source.files["all"], call="tiny_shakespeare(download=True)", download=download
    )
    return None if content is None else content.decode("utf-8")


def multi30k(split: str, language: str, *, download: bool = False) -> list[str] | None:
    """One side of Multi30k: captions of photographs, line i of each language says the same.

    Args:
        split: "train" (29,000 lines), "val" (1,014) or "test" (the 1,000 of 2016).
        language: "en", "de" or "fr".
        download: Whether to fetch the file if the cache lacks it.

    Returns:
        The captions in the order of the file, or None after one printed line that says why.

    Raises:
        ValueError: ``split`` or ``language`` is none of those named above.

    Source: Elliott, Frank, Sima'an and Specia, "Multi30K: multilingual English-German image
        descriptions", 2016.
    Chapter: data_card#public-data-sets

    Example:
        >>> len(multi30k("val", "fr"))  # doctest: +SKIP
        1014
    """
    require_choice(tuple(MULTI30K_SPLITS), split=split)
    require_choice(MULTI30K_LANGUAGES, language=language)
    source = SOURCES["multi30k"]
    content = fetch(
        source,
        source.files[f"{split}.{language}"],
        call=f'multi30k("{split}", "{language}", download=True)',
        download=download,
    )
    return None if content is None else _lines(gzip.decompress(content))


def _lines(content: bytes) -> list[str]:
    """The lines of a text; only a line feed ends a line, odd spaces belong to the text."""
    return content.decode("utf-8").removesuffix("\n").split("\n")
