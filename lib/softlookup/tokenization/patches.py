"""An image as a row of vectors: cut into square patches, and put together again."""

from jaxtyping import Shaped
from torch import Tensor

from softlookup.checks import Size, checked, require


@checked(not_empty="channels height width")
def patchify(
    image: Shaped[Tensor, "channels height width"], size: Size
) -> Shaped[Tensor, "patches dim"]:
    """Cut an image into square patches and write out the pixels of each as one row.

    Args:
        image: The pixels, colour channels first.
        size: The side of a patch in pixels; it must divide height and width.

    Returns:
        One row for each patch, in the order of reading: left to right, then top to bottom. A row
        holds channels * size**2 numbers: the first channel's pixels, in the order of reading, then
        the next channel's.

    Raises:
        ValueError: The image has not three axes or no pixel, or ``size`` does not divide it.

    Source: Dosovitskiy et al. 2021, section 3.1; lecture 000, "Embeddings", "Modern tokenizers".
    Chapter: vector_search#optional-images.

    Example:
        >>> import torch
        >>> patchify(torch.arange(8).reshape(1, 2, 4), 2)
        tensor([[0, 1, 4, 5],
                [2, 3, 6, 7]])
    """
    channels, height, width = image.shape
    divides = height % size == 0 and width % size == 0
    require(divides, "size must divide height and width", size=size, image=image)
    grid = image.reshape(channels, height // size, size, width // size, size)
    return grid.permute(1, 3, 0, 2, 4).reshape(-1, channels * size**2)


@checked
def unpatchify(
    patches: Shaped[Tensor, "patches dim"], channels: Size, height: Size, width: Size
) -> Shaped[Tensor, "{channels} {height} {width}"]:
    """Put the patches of an image together again: undoes ``patchify``.

    Args:
        patches: The rows that ``patchify`` made, all of them, in its order.
        channels: Colour channels of the image.
        height: Pixels from top to bottom.
        width: Pixels from left to right.

    Returns:
        The image. The side of a patch follows from the length of a row.

    Raises:
        ValueError: The rows are no square patches of an image of this size.

    Source: Dosovitskiy et al. 2021, section 3.1. Chapter: vector_search#optional-images.

    Example:
        >>> import torch
        >>> image = torch.rand(3, 4, 6)
        >>> bool((unpatchify(patchify(image, 2), 3, 4, 6) == image).all())
        True
    """
    size = round((patches.shape[1] / channels) ** 0.5)
    is_square = size > 0 and channels * size**2 == patches.shape[1]
    rule = "a row of patches must hold channels * size**2 numbers"
    require(is_square, rule, patches=patches, channels=channels)
    rows, columns = height // size, width // size
    fits = height % size == 0 and width % size == 0 and rows * columns == len(patches)
    rule = f"patches of side {size} must fill the image"
    require(fits, rule, patches=patches, height=height, width=width)
    grid = patches.reshape(rows, columns, channels, size, size)
    return grid.permute(2, 0, 3, 1, 4).reshape(channels, height, width)
