"""The parameter calculator: a model's choices, where its parameters are, what the paper prints."""

from softlookup.checks import require
from softlookup.show.interactive import Interactive

PRINTED_MILLIONS = (
    ("base", 6, 512, 2048, 8, 65),
    ("big", 6, 1024, 4096, 16, 213),
    ("N = 2", 2, 512, 2048, 8, 36),
    ("N = 4", 4, 512, 2048, 8, 50),
    ("N = 8", 8, 512, 2048, 8, 80),
    ("d = 256", 6, 256, 2048, 8, 28),
    ("d = 1024", 6, 1024, 2048, 8, 168),
    ("inner 1024", 6, 512, 1024, 8, 53),
    ("inner 4096", 6, 512, 4096, 8, 90),
)
"""Rows of table 3 of Vaswani et al. 2017: name, N, d_model, d_ff, heads, millions printed."""
_VOCABULARIES = range(1000, 60_001, 100)
_KEYS = ("name", "N", "d", "dff", "heads", "printed")
_ALT = (
    "An encoder and a decoder as stacks of boxes, each with its share of the parameters. With "
    "37,000 shared tokens the base model has 63,045,632, the paper prints 65 million; the big one "
    "has 214,171,648, the paper prints 213 million. No vocabulary makes both true."
)
_CAPTION = (
    "Where the parameters are. Choose a box to see how it is counted. Find a vocabulary that makes "
    "base right, then look at big."
)


class ParameterCalculator(Interactive):
    """Choices of an encoder-decoder, the count of every part, and the size that was printed.

    Args:
        vocab_size: The vocabulary at first: from 1,000 to 60,000, a multiple of 100.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: ``vocab_size`` is not on its slider, or as ``Interactive``.

    Source: lecture 004, "Vocabulary Size" (table). Chapter: transformer#parameters.

    Example:
        >>> ParameterCalculator(vocab_size=37_000).name
        'fig-transformer-parameters'
    """

    def __init__(
        self,
        *,
        vocab_size: int = 37_000,
        name: str = "fig-transformer-parameters",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        rule = "vocab_size must be a multiple of 100 from 1,000 to 60,000"
        require(vocab_size in _VOCABULARIES, rule, vocab_size=vocab_size)
        models = [dict(zip(_KEYS, row, strict=True)) for row in PRINTED_MILLIONS]
        super().__init__(
            name=name,
            data={"models": models, "vocab": vocab_size},
            alt=alt,
            caption=caption,
        )
