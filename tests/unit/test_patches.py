"""Patches: an image cut by loops, put together again, and cuts that do not fit."""

import pytest
import torch

from softlookup.tokenization import patchify, unpatchify


def image(channels=3, height=6, width=10):
    """An image in which no two pixels are equal."""
    return torch.arange(channels * height * width).reshape(channels, height, width)


@pytest.mark.parametrize("size", [1, 2])
def test_patches_equal_a_loop_over_pixels(size):
    picture = image()
    patches = patchify(picture, size)
    assert patches.shape == (60 // size**2, 3 * size**2)
    for row in range(6 // size):
        for column in range(10 // size):
            pixels = [
                picture[c, row * size + y, column * size + x].item()
                for c in range(3)
                for y in range(size)
                for x in range(size)
            ]
            assert patches[row * (10 // size) + column].tolist() == pixels


@pytest.mark.parametrize(("shape", "size"), [((1, 1, 1), 1), ((3, 6, 10), 2), ((5, 21, 14), 7)])
def test_unpatchify_undoes_patchify(shape, size):
    picture = image(*shape)
    assert torch.equal(unpatchify(patchify(picture, size), *shape), picture)


def test_patchify_undoes_unpatchify():
    patches = torch.arange(15 * 12).reshape(15, 12)
    assert torch.equal(patchify(unpatchify(patches, 3, 6, 10), 2), patches)


def test_one_patch_may_be_the_whole_image():
    assert torch.equal(patchify(image(2, 3, 3), 3), torch.arange(18)[None])


@pytest.mark.parametrize("size", [4, 5, 7])
def test_a_size_that_does_not_divide_is_refused(size):
    rule = rf"size must divide height and width; got size={size}, image=\(3, 6, 10\)"
    with pytest.raises(ValueError, match=rule):
        patchify(image(), size)


@pytest.mark.parametrize(
    ("shape", "sizes", "rule"),
    [
        ((15, 12), (2, 6, 10), "a row of patches must hold channels"),  # 6 is no square
        ((15, 11), (3, 6, 10), "a row of patches must hold channels"),
        ((15, 0), (3, 6, 10), "a row of patches must hold channels"),
        ((14, 12), (3, 6, 10), "patches of side 2 must fill the image"),
        ((15, 12), (3, 5, 12), "patches of side 2 must fill the image"),
    ],
)
def test_patches_that_are_no_image_are_refused(shape, sizes, rule):
    with pytest.raises(ValueError, match=rule):
        unpatchify(torch.ones(shape), *sizes)
