"""Pictures with words, planted: scenes that tell a story, and digits whose captions may lie."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from softlookup.checks import require, require_int
from softlookup.ops import unit_vectors
from softlookup.tokenization import unpatchify

SCENE_WORDS = ("sun", "moon", "tree", "house", "boat", "bird")
"""What a scene may show: one sign each, always in the same patch."""

_ROWS_OF_PIXELS = ("6FF6", "6CC6", "6F66", "6FF9", "26F6", "9F60")  # one hexadecimal digit a row
_MOST = 4 ** len(SCENE_WORDS)
_CAPTIONS = (
    ("this is a zero", "a nought", "here you see zero"),
    ("this is a one", "a single one", "here you see one"),
)


def planted_scenes(
    n: int, generator: torch.Generator, *, noise: float = 0.05
) -> tuple[Float[Tensor, "{n} words"], Float[Tensor, "{n} 1 8 12"]]:
    """Stories of six words, each word said 0 to 3 times, and a picture of each story.

    The signs of a picture do not overlap, and a sign is as bright as its word is frequent. So two
    pictures are as far apart as their stories, but for the noise.

    Args:
        n: How many pairs; no two stories are equal, and there are 4096.
        generator: The only source of chance.
        noise: The standard deviation that is added to each pixel, at least 0.

    Returns:
        The counts of ``SCENE_WORDS`` in each story, and its picture of 8 × 12 pixels.

    Raises:
        ValueError: ``n`` is no integer from 1 to 4096, or ``noise`` is negative or NaN.

    Chapter: data_card#pictures-with-words

    Example:
        >>> stories, scenes = planted_scenes(3, torch.Generator().manual_seed(0), noise=0.0)
        >>> stories[0].tolist(), scenes[0].square().sum().round(decimals=3).item()
        ([0.0, 3.0, 2.0, 2.0, 2.0, 2.0], 25.0)
    """
    require_int(1, n=n)
    require(n <= _MOST, f"n must be at most {_MOST}, the number of stories", n=n)
    require(noise >= 0, "noise must not be negative or NaN", noise=noise)
    chosen = torch.randperm(_MOST, generator=generator)[:n]
    stories = torch.stack([chosen // 4**k % 4 for k in range(len(SCENE_WORDS))], dim=1).double()
    bits = [[float(bit) for bit in f"{int(rows, 16):016b}"] for rows in _ROWS_OF_PIXELS]
    signs = unit_vectors(torch.tensor(bits, dtype=torch.float64))
    scenes = torch.stack([unpatchify(story[:, None] * signs, 1, 8, 12) for story in stories])
    return stories, scenes + noise * torch.randn(scenes.shape, generator=generator).double()


def captioned_digits(
    generator: torch.Generator,
) -> tuple[list[list[str]], Float[Tensor, "n 1 8 8"], Bool[Tensor, "n"]]:
    """Handwritten zeros and ones, each with a caption that says zero or one by the toss of a coin.

    Whether a caption lies is the exclusive or of what it says and what the picture shows: neither
    half knows anything about it.

    Args:
        generator: The only source of chance.

    Returns:
        The words of each caption, the pictures with values from 0 to 1, and whether each caption
        lies.

    Chapter: data_card#pictures-with-words

    Example:
        >>> captions, pictures, lies = captioned_digits(torch.Generator().manual_seed(1))
        >>> captions[0], lies[0].item(), pictures.shape
        (['here', 'you', 'see', 'one'], True, torch.Size([360, 1, 8, 8]))
    """
    from sklearn.datasets import load_digits  # slow to import, and rarely needed

    digits = load_digits()
    pictures, drawn = torch.tensor(digits.images) / 16, torch.tensor(digits.target)
    pictures, drawn = pictures[drawn < 2].unsqueeze(1), drawn[drawn < 2]
    says = torch.randint(2, drawn.shape, generator=generator)
    forms = torch.randint(3, drawn.shape, generator=generator)
    captions = [_CAPTIONS[k][form].split() for k, form in zip(says, forms, strict=True)]
    return captions, pictures, says != drawn
