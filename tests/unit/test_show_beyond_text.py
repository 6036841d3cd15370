"""The pictures of the chapter beyond text: what is drawn where, and what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from softlookup.show.beyond_text import patch_panels


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def cells(ax):
    return ax.collections[0].get_array()


def test_a_patch_and_its_number_stand_at_the_same_place(generator):
    images = torch.rand(3, 4, 6, generator=generator)
    values = [torch.rand(3, 6, generator=generator) - 0.2 for _ in range(2)]
    axes = plt.subplots(3, 3, squeeze=False)[1]
    rows, columns = ["image", "a", "b"], list("uvw")
    assert patch_panels(axes, images, values, size=2, rows=rows, columns=columns) is axes
    for j in range(3):
        np.testing.assert_array_equal(cells(axes[0, j]), images[j].numpy())
        for part, ax in zip(values, axes[1:, j], strict=True):
            np.testing.assert_array_equal(cells(ax), part[j].clamp(min=0).view(2, 3).numpy())
            assert ax.collections[0].get_clim() == (0, part.max().item())
        assert axes[0, j].get_title() == "uvw"[j]
        assert axes[0, j].get_ylim() == (4, 0)
        assert axes[1, j].get_ylim() == (2, 0)
        lines = [line.get_xydata()[0].tolist() for line in axes[0, j].lines]
        assert lines == [[2, 0], [4, 0], [0, 2]]
    assert [row[0].get_ylabel() for row in axes] == rows


def test_two_rows_of_values_may_share_a_scale(generator):
    images = torch.rand(2, 4, 4, generator=generator)
    values = [torch.rand(2, 4, generator=generator), torch.zeros(2, 4)]
    axes = plt.subplots(3, 2, squeeze=False)[1]
    options = {"rows": list("iab"), "columns": list("uv"), "most": [1.5, 1.5]}
    patch_panels(axes, images, values, size=2, **options)
    assert {ax.collections[0].get_clim() for ax in axes[1:].flat} == {(0, 1.5)}


@pytest.mark.parametrize(
    ("n_values", "rows", "columns"),
    [
        ((3, 6), "ia", "uv"),
        ((3, 6), "iab", "uvw"),
        ((3, 5), "ia", "uvw"),
        pytest.param((2, 6), "ia", "uvw", marks=pytest.mark.bad_input),
    ],
)
def test_patches_refuse(n_values, rows, columns):
    axes, images = plt.subplots(2, 3, squeeze=False)[1], torch.zeros(3, 4, 6)
    with pytest.raises(ValueError, match="an axis for each image and each row of values"):
        patch_panels(
            axes, images, [torch.zeros(n_values)], size=2, rows=list(rows), columns=list(columns)
        )
