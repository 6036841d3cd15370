"""The pictures of the chapter on looking inside: what is drawn where, and what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.patches import FancyArrowPatch

from softlookup import analysis
from softlookup.models import GPT, GPTConfig
from softlookup.show.looking_inside import induction_panels, map_grid, token_arcs


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def cells(ax):
    return ax.collections[0].get_array()


# arrows between tokens


def test_arrows_back_stand_above_and_arrows_on_below():
    ax = token_arcs(plt.subplots()[1], "abcdefg", [(5, 2), (2, 6)])
    letters, numbers = ax.texts[:7], ax.texts[7:]
    assert [(text.get_text(), text.get_position()) for text in letters] == [
        (letter, (k, 0)) for k, letter in enumerate("abcdefg")
    ]
    assert [text.get_text() for text in numbers] == ["1", "2"]
    (x, above), (also_x, below) = (text.get_position() for text in numbers)
    assert (x, also_x) == (3.5, 4)
    assert above > 0.5
    assert below < -0.5
    arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    ends = [patch._path_original.vertices[[0, -1]].tolist() for patch in arrows]
    assert [[start[0], end[0]] for start, end in ends] == [[5, 2], [2, 6]]
    assert [start[1] > 0 for start, _ in ends] == [True, False]
    assert arrows[0].get_edgecolor() != arrows[1].get_edgecolor()
    low, high = ax.get_ylim()
    assert low < below < above < high


@pytest.mark.parametrize(
    ("tokens", "arcs", "message"),
    [
        ("", [], "at least one token"),
        ("abc", [(0, 3)], r"from one token to another; got arc=\(0, 3\), n=3"),
        ("abc", [(-1, 1)], r"got arc=\(-1, 1\)"),
        ("abc", [(1, 1)], r"got arc=\(1, 1\)"),
    ],
)
def test_arrows_refuse(tokens, arcs, message):
    with pytest.raises(ValueError, match=message):
        token_arcs(plt.subplots()[1], tokens, arcs)


# maps side by side


def test_each_map_stands_in_its_row_and_column(generator):
    maps = torch.rand(2, 3, 5, 5, dtype=torch.float64, generator=generator)
    axes = plt.subplots(2, 3, squeeze=False)[1]
    assert map_grid(axes, maps, rows=["r", "s"], columns=list("uvw")) is axes
    for i in range(2):
        for j in range(3):
            np.testing.assert_array_equal(cells(axes[i, j]), maps[i, j].numpy())
            assert axes[i, j].get_ylim() == (5, 0)
            assert axes[i, j].collections[0].get_clim() == (0, 1)
            place = plt.rcParams["axes.titlelocation"]  # another test may have set it
            assert axes[i, j].get_title(loc=place) == ("uvw"[j] if i == 0 else "")
            assert axes[i, j].get_xlabel() == ("key" if i == 1 else "")
            assert len(axes[i, j].get_xticks()) == 0
    assert [row[0].get_ylabel() for row in axes] == ["r\nquery", "s\nquery"]


def test_the_tokens_stand_at_the_sides(generator):
    axes = plt.subplots(1, 1, squeeze=False)[1]
    maps = torch.rand(1, 1, 3, 3, generator=generator)
    map_grid(axes, maps, rows=[""], columns=["m"], tokens="pqr")
    for labels in (axes[0, 0].get_xticklabels(), axes[0, 0].get_yticklabels()):
        assert [label.get_text() for label in labels] == list("pqr")
    assert axes[0, 0].get_ylabel() == "query"


@pytest.mark.parametrize(
    ("shape", "rows", "columns"),
    [((2, 3, 5, 5), "r", "uvw"), ((2, 3, 5, 5), "rs", "uv"), ((3, 2, 5, 5), "rst", "uv")],
)
def test_maps_refuse(shape, rows, columns):
    axes = plt.subplots(2, 3, squeeze=False)[1]
    with pytest.raises(ValueError, match="a map and an axis for each row and column; got maps="):
        map_grid(axes, torch.zeros(shape), rows=list(rows), columns=list(columns))


def test_the_best_head_stands_beside_its_control(generator):
    config = GPTConfig(19, 13, 10, 5, 3, positions="rotary")
    trained, untrained = GPT(config).double().eval(), GPT(config).double().eval()
    with torch.no_grad():
        for p in trained.parameters():
            p.copy_(torch.randn(p.shape, dtype=p.dtype, generator=generator))
    ids = torch.tensor([1, 18, 0, 5, 1, 18, 0, 5, 1, 18, 0])
    axes = plt.subplots(1, 2, squeeze=False)[1]
    assert induction_panels(axes, trained, untrained, ids) is axes
    maps = [analysis.attention_maps(model, ids[None])[:, 0] for model in (trained, untrained)]
    shares = {}  # by hand: what follows an earlier place with the same token, from the second round
    for layer in range(3):
        for head in range(5):
            rows = [
                sum(
                    maps[0][layer, head, i, j].item()
                    for j in range(1, i + 1)
                    if ids[j - 1] == ids[i]
                )
                for i in range(4, 11)
            ]
            shares[layer, head] = sum(rows) / 7
    best = max(shares, key=shares.get)
    assert best == (1, 3)
    assert sorted(shares.values())[-2] < shares[best] - 0.01
    for ax, part in zip(axes[0], maps, strict=True):
        np.testing.assert_array_equal(cells(ax), part[best].numpy())
    place = plt.rcParams["axes.titlelocation"]
    titles = [ax.get_title(loc=place) for ax in axes[0]]
    assert titles[0] == f"trained: {shares[best]:.2f}"
    assert titles[1].startswith("untrained: 0.")
    assert axes[0, 0].get_ylabel() == f"layer {best[0]}, head {best[1]}\nquery"
