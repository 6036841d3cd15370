"""The similarity plane: two vectors to drag, every similarity read off, a map to try them under."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from softlookup.checks import require
from softlookup.show.interactive import Interactive
from softlookup.show.numbers import plain, require_range

_REACH = 4
_ALT = (
    "Two vectors of the plane to drag, with their cosine, dot product and distance, before and "
    "after a map that turns, stretches and shifts the plane."
)
_CAPTION = (
    "Two vectors and three measures. The dashed line is the distance, the arc the angle. Which "
    "measure survives which map?"
)


class SimilarityPlane(Interactive):
    """Cosine, dot product and distance of two vectors, and what a map of the plane does to them.

    Args:
        x: The first vector at the start, 2 numbers from -4 to 4.
        y: The second.
        names: What the two are called.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: A vector has not two numbers from -4 to 4, ``names`` are not two words, or as
            ``Interactive``.

    Source: lecture 000, "Similarity". Chapter: embeddings#optional-try-it-yourself.

    Example:
        >>> import torch
        >>> SimilarityPlane(torch.tensor([2.0, 1.0]), torch.tensor([1.0, 2.0])).name
        'fig-similarity-plane'
    """

    def __init__(
        self,
        x: Float[Tensor, "2"],
        y: Float[Tensor, "2"],
        *,
        names: Sequence[str] = ("x", "y"),
        name: str = "fig-similarity-plane",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        for which, vector in {"x": x, "y": y}.items():
            require(vector.shape == (2,), f"{which} must have 2 numbers", **{which: vector})
            require_range(_REACH, **{which: vector})
        two = not isinstance(names, str) and len(names) == 2
        two = two and all(isinstance(word, str) and word.strip() for word in names)
        require(two, "names must be 2 words", names=names)
        start = [plain(vector) for vector in (x, y)]
        super().__init__(
            name=name,
            data={"names": list(names), "start": start},
            alt=alt,
            caption=caption,
        )
