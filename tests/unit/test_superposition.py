"""Superposition and sparse autoencoders: formulas by loops, and what small trainings find."""

import pytest
import torch
from torch.testing import assert_close

from softlookup.analysis import (
    Bottleneck,
    SparseAutoencoder,
    best_cosines,
    importance_loss,
    sparse_features,
    sparse_loss,
)

f64 = torch.float64


@pytest.fixture(autouse=True)
def _seed():
    """The models draw their weights from the global generator."""
    torch.manual_seed(3)


def test_features_are_there_as_often_as_asked(generator):
    x = sparse_features(20_000, 3, 0.2, generator=generator)
    assert_close((x > 0).double().mean(0), torch.full((3,), 0.2, dtype=f64), atol=0.015, rtol=0)
    there = x[x > 0]
    assert abs(there.mean() - 0.5) < 0.02
    assert there.max() < 1
    both = (x[:, 0] > 0) & (x[:, 1] > 0)
    assert abs(both.double().mean() - 0.04) < 0.01  # each for itself
    assert (sparse_features(50, 3, 1.0, generator=generator) > 0).all()


def test_the_bottleneck_equals_loops():
    model = Bottleneck(5, 2).double()
    with torch.no_grad():
        model.b.copy_(torch.randn(5))
    x = torch.rand(3, 5, dtype=f64)
    found = model(x)
    for k in range(3):
        small = [sum(x[k, i] * model.W[i, c] for i in range(5)) for c in range(2)]
        for i in range(5):
            back = sum(small[c] * model.W[i, c] for c in range(2)) + model.b[i]
            assert_close(found[k, i], back.clamp(min=0))


def test_the_importance_loss_equals_loops():
    found, wanted, weight = torch.rand(3, 5), torch.rand(3, 5), torch.rand(5)
    total = sum(weight[i] * (wanted[k, i] - found[k, i]) ** 2 for k in range(3) for i in range(5))
    assert_close(importance_loss(found, wanted, weight), total / 15)


def test_five_rare_features_in_two_dimensions_become_a_pentagon(generator):
    model, importance = Bottleneck(5, 2), 0.9 ** torch.arange(5)
    adam = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(800):
        x = sparse_features(256, 5, 0.05, generator=generator)
        adam.zero_grad()
        importance_loss(model(x), x, importance).backward()
        adam.step()
    angles = torch.atan2(*model.W.detach().mT).sort().values
    gaps = torch.cat([angles.diff(), angles[:1] + 2 * torch.pi - angles[-1:]])
    assert_close(gaps.rad2deg(), torch.full((5,), 72.0), atol=8, rtol=0)


def test_the_autoencoder_equals_loops():
    model = SparseAutoencoder(3, 5).double()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p))
    x = torch.randn(2, 3, dtype=f64)
    for k in range(2):
        f = [
            (sum(x[k, c] * model.W[c, i] for c in range(3)) + model.b[i]).clamp(min=0)
            for i in range(5)
        ]
        assert_close(model.strengths(x)[k], torch.stack(f))
        lengths = [sum(model.D[i, c] ** 2 for c in range(3)) ** 0.5 for i in range(5)]
        back = [
            sum(f[i] * model.D[i, c] / lengths[i] for i in range(5)) + model.c[c] for c in range(3)
        ]
        assert_close(model(x)[k], torch.stack(back))
    assert_close(model.directions.norm(dim=-1), torch.ones(5, dtype=f64))
    assert_close(model.decode(model.strengths(x)), model(x))


def test_the_sparse_loss_equals_loops():
    rows, rebuilt, strengths = torch.randn(2, 3), torch.randn(2, 3), torch.rand(2, 5)
    total = 0
    for k in range(2):
        total += sum((rows[k, c] - rebuilt[k, c]) ** 2 for c in range(3))
        total += 0.3 * sum(strengths[k, i] for i in range(5))
    assert_close(sparse_loss(rows, rebuilt, strengths, 0.3), total / 2)


def test_best_cosines_equal_loops():
    planted, found = torch.randn(3, 4, dtype=f64), torch.randn(5, 4, dtype=f64)
    for k, row in enumerate(planted):
        cosines = [row @ other / (row.norm() * other.norm()) for other in found]
        assert_close(best_cosines(planted, found)[k], max(cosines))
    assert_close(best_cosines(planted, 7 * planted.flip(0)), torch.ones(3, dtype=f64))
    opposite = best_cosines(planted[:1], -planted[:1])
    assert_close(opposite, -torch.ones(1, dtype=f64))  # a direction, not a line
    with pytest.raises(ValueError, match="found"):
        best_cosines(planted, torch.zeros(0, 4, dtype=f64))
