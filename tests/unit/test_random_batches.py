"""Batches: rows that belong together, the same ones from a seed; passes that miss none."""

from itertools import islice

import pytest
import torch

from softlookup.training import random_batches, shuffled_rows


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


@pytest.mark.parametrize(("n", "size"), [(7, 3), (6, 3), (2, 5), (1, 1)])
def test_each_pass_has_every_row_once_in_an_order_of_its_own(generator, n, size):
    start = generator.get_state()
    batches = shuffled_rows(n, size, generator)
    passes = [[next(batches) for _ in range(-(-n // size))] for _ in range(5)]
    assert all(sorted(torch.cat(rows).tolist()) == list(range(n)) for rows in passes)
    assert all(len(rows) == size for one in passes for rows in one[:-1])
    generator.set_state(start)
    for one in passes:
        assert torch.equal(torch.cat(one), torch.randperm(n, generator=generator))


def test_without_a_generator_the_order_comes_from_pytorchs_own():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        rows = next(shuffled_rows(11, 11))
        torch.manual_seed(5)
        assert torch.equal(rows, torch.randperm(11))


def test_there_must_be_a_row_and_a_size():
    with pytest.raises(ValueError, match="n must be an integer of at least 1; got n=0"):
        shuffled_rows(0, 3)
    with pytest.raises(ValueError, match="batch_size must be an integer of at least 1; got batch"):
        shuffled_rows(3, 0)
