"""The patch cutter: an image, a slider for the side of its patches, a walk along the sequence."""

from jaxtyping import Float
from torch import Tensor

from softlookup.checks import require, require_float, require_int
from softlookup.show.interactive import Interactive

_MOST_PIXELS = 64
_ALT = (
    "An image cut into square patches; a slider sets their side, another walks along them in "
    "reading order, and the number of tokens and of numbers in each follows."
)
_CAPTION = (
    "The patch cutter. Halve the side of a patch: four times as many tokens. "
    "The second slider walks along the sequence that a model gets."
)


class PatchCutter(Interactive):
    """An image as a sequence of patches, as ``softlookup.tokenization.patchify`` cuts it.

    Args:
        image: One channel or three, red, green, blue, from 0 to 1; at most 64 by 64 pixels.
        size: The side of a patch that it starts with; it must divide height and width.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: The image's shape, dtype or numbers do not fit, ``size`` does not divide it;
            or as ``Interactive``.

    Source: lecture 000, "Modern tokenizers". Chapter: tokenization#image-patches.

    Example:
        >>> import torch
        >>> PatchCutter(torch.zeros(3, 8, 8), 4).name
        'fig-patch-cutter'
    """

    def __init__(
        self,
        image: Float[Tensor, "channels height width"],
        size: int,
        *,
        name: str = "fig-patch-cutter",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        _require_image(image, size)
        super().__init__(
            name=name,
            data={"image": (255 * image.detach()).round().int().tolist(), "size": size},
            alt=alt,
            caption=caption,
        )


def _require_image(image: Tensor, size: int) -> None:
    shape = image.ndim == 3 and image.shape[0] in (1, 3) and image.numel() > 0
    require(shape, "image must have the axes channels (1 or 3), height, width", image=image)
    height, width = image.shape[1:]
    small = max(height, width) <= _MOST_PIXELS
    require(small, f"image must have at most {_MOST_PIXELS} pixels a side", image=image)
    require_float(image=image)
    low, high = image.detach().min().item(), image.detach().max().item()  # NaN is in no range
    require(low >= 0 and high <= 1, "image must hold numbers from 0 to 1", low=low, high=high)
    require_int(1, size=size)
    divides = height % size == 0 and width % size == 0
    require(divides, "size must divide height and width", size=size, image=image)
