"""Laws of training: schedules rise then fall, groups divide, directions survive, parts add up."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from softlookup.training import (
    accumulate,
    clip_gradients,
    inverse_sqrt,
    orthogonalize,
    warmup_cosine,
    warmup_stable_decay,
)

counts = st.integers(1, 60)
shares = st.floats(0, 1)


@given(counts, counts, counts, shares)
def test_schedules_rise_to_one_and_then_never_rise(n_warmup, n_decay, n_level, last):
    n_steps = n_warmup + n_level + n_decay
    steps = range(1, n_steps + 1)
    options = {"n_steps": n_steps, "n_warmup": n_warmup}
    for shares in (
        [warmup_cosine(t, **options, last=last) for t in steps],
        [warmup_stable_decay(t, **options, n_decay=n_decay, last=last) for t in steps],
        [inverse_sqrt(t, n_warmup=n_warmup) for t in steps],
    ):
        assert all(0 <= share <= 1 for share in shares)
        assert_close(shares[:n_warmup], [t / n_warmup for t in range(1, n_warmup + 1)])
        falls = zip(shares[n_warmup - 1 :], shares[n_warmup:], strict=False)
        assert all(a >= b for a, b in falls)


@given(counts, counts, counts, shares)
def test_schedules_end_where_they_say(n_warmup, n_decay, n_level, last):
    n_steps = n_warmup + n_level + n_decay
    options = {"n_steps": n_steps, "n_warmup": n_warmup, "last": last}
    assert warmup_cosine(n_steps, **options) == pytest.approx(last)
    assert warmup_stable_decay(n_steps, **options, n_decay=n_decay) == pytest.approx(last)
    level = [warmup_stable_decay(t, **options, n_decay=n_decay) for t in range(n_warmup, n_steps)]
    assert level[: n_level + 1] == [1.0] * (n_level + 1)


matrices = st.tuples(st.integers(1, 7), st.integers(1, 7), st.integers(0, 10_000))


def normal(shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


@given(matrices, st.floats(1e-6, 1e6))
def test_the_length_of_a_gradient_does_not_matter_to_muon(matrix, scale):
    rows, columns, seed = matrix
    x = normal((rows, columns), seed)
    assert_close(orthogonalize(scale * x), orthogonalize(x))


@given(matrices)
def test_turning_a_gradient_turns_the_step(matrix):
    """orth(Q X R) = Q orth(X) R, and orth of the transpose is the transpose."""
    rows, columns, seed = matrix
    x = normal((rows, columns), seed)
    Q = torch.linalg.qr(normal((rows, rows), seed + 1)).Q
    R = torch.linalg.qr(normal((columns, columns), seed + 2)).Q
    assert_close(orthogonalize(Q @ x @ R), Q @ orthogonalize(x) @ R)
    assert_close(orthogonalize(x.mT), orthogonalize(x).mT)


@given(matrices, st.floats(0.01, 100.0))
def test_a_clipped_gradient_keeps_its_direction(matrix, max_norm):
    rows, columns, seed = matrix
    layer = nn.Linear(columns, rows).double()
    layer.weight.grad, layer.bias.grad = normal((rows, columns), seed), normal((rows,), seed + 1)
    before = torch.cat([p.grad.flatten() for p in layer.parameters()])
    norm = clip_gradients(layer, max_norm)
    after = torch.cat([p.grad.flatten() for p in layer.parameters()])
    assert norm == pytest.approx(before.norm().item())
    assert_close(after, before * min(1.0, max_norm / norm))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any), st.integers(0, 10_000))
def test_however_a_batch_is_cut_the_gradient_is_the_same(sizes, seed):
    layer = nn.Linear(3, 1, bias=False).double()
    x = normal((sum(sizes), 3), seed)

    def loss(layer, rows):
        return layer(rows).square().mean()

    loss(layer, x).backward()
    whole = layer.weight.grad.clone()
    layer.weight.grad = None
    found = accumulate(loss, layer, x.split(sizes), count=len)
    assert found == pytest.approx(loss(layer, x).item(), rel=1e-12)
    assert_close(layer.weight.grad, whole, rtol=1e-12, atol=1e-12)
