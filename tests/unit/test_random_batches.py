"""Batches by chance: the same rows of each tensor, the same batches from the same seed."""

from itertools import islice

import pytest
import torch

from softlookup.training import random_batches


def test_rows_that_belong_together(generator):
    x = torch.randn(11, 3, dtype=torch.float64, generator=generator)
    batches = [*islice(random_batches(x, x.sum(dim=1), torch.arange(11), size=7), 5)]
    for rows, sums, places in batches:
        assert rows.shape == (7, 3)
        torch.testing.assert_close(rows.sum(dim=1), sums)
        assert torch.equal(x[places], rows)
    assert {i for _, _, places in batches for i in places.tolist()} == set(range(11))


def test_the_seed_draws_the_batches():
    x = torch.arange(101)
    (first,), (again,), (other,) = (next(random_batches(x, seed=seed)) for seed in (0, 0, 1))
    assert first.equal(again)
    assert not first.equal(other)
    assert len(first) == 32
    here = torch.Generator().manual_seed(0)
    wanted = [torch.randint(101, (32,), generator=here) for _ in range(3)]
    assert all(a.equal(b) for (a,), b in zip(random_batches(x), wanted, strict=False))


@pytest.mark.parametrize(("shapes", "told"), [([], r"\[\]"), ([(0, 3)], r"\[\(0, 3\)\]")])
def test_there_must_be_rows(shapes, told):
    rule = f"there must be tensors with at least one row; got shapes={told}"
    with pytest.raises(ValueError, match=rule):
        random_batches(*map(torch.zeros, shapes))


def test_sizes_that_are_none():
    with pytest.raises(ValueError, match="size must be an integer of at least 1; got size=0"):
        random_batches(torch.zeros(3), size=0)
    with pytest.raises(ValueError, match="seed must be an integer of at least 0; got seed=-1"):
        random_batches(torch.zeros(3), seed=-1)
