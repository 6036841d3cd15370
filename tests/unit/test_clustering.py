"""k-means and the words of a class: small cases by hand, the best of all divisions, bad input."""

import math
from itertools import pairwise, product

import pytest
import torch
from torch.testing import assert_close

from softlookup.words import class_tf_idf, k_means, lloyd

F64 = torch.float64


def tensor(values):
    return torch.tensor(values, dtype=F64)


def blobs(generator, k=3, size=11, d=5, spread=0.1):
    """k round clouds of points around far corners, and the cloud of each point."""
    corners = 3 * torch.eye(d, dtype=F64)[:k]
    truth = torch.arange(k).repeat_interleave(size)
    return corners[truth] + spread * torch.randn(k * size, d, dtype=F64, generator=generator), truth


def inertia_by_loop(x, centres, labels):
    return sum(
        (a - b) ** 2
        for point, label in zip(x.tolist(), labels.tolist(), strict=True)
        for a, b in zip(point, centres[label].tolist(), strict=True)
    )


# lloyd


def test_two_steps_by_hand():
    x, start = tensor([[0.0], [1.0], [9.0], [10.0], [11.0]]), tensor([[0.0], [1.0]])
    once = lloyd(x, start, n_steps=1)  # centres move to 0 and 31/4, points are dealt anew
    assert_close(once.centres, tensor([[0.0], [31 / 4]]))
    assert once.labels.tolist() == [0, 0, 1, 1, 1]
    rest = lloyd(x, start)
    assert_close(rest.centres, tensor([[0.5], [10.0]]))
    assert rest.inertia == pytest.approx(2.5)


def test_at_rest_each_centre_is_a_mean_and_each_point_is_with_the_nearest(generator):
    x = torch.randn(31, 3, dtype=F64, generator=generator)
    found = lloyd(x, x[:5])
    for c in range(5):
        assert_close(found.centres[c], x[found.labels == c].mean(dim=0))
    distances = torch.cdist(x, found.centres)
    assert torch.equal(found.labels, distances.argmin(dim=1))
    assert found.inertia == pytest.approx(inertia_by_loop(x, found.centres, found.labels))


def test_no_step_makes_it_worse(generator):
    x = torch.randn(31, 3, dtype=F64, generator=generator)
    course = [lloyd(x, x[:5], n_steps=n).inertia for n in range(1, 12)]
    assert all(after <= before + 1e-12 for before, after in pairwise(course))
    assert course[-1] < course[0]


def test_a_centre_without_points_moves_to_the_farthest_point():
    x = tensor([[0.0], [1.0], [2.0], [50.0]])
    found = lloyd(x, tensor([[1.0], [1000.0]]))
    assert found.labels.tolist() == [0, 0, 0, 1]
    assert_close(found.centres, tensor([[1.0], [50.0]]))


def test_lloyd_leaves_its_input_as_it_was():
    x, start = tensor([[0.0], [1.0], [50.0]]), tensor([[0.0], [1.0]])
    lloyd(x, start)
    assert start.tolist() == [[0.0], [1.0]]
    assert x.tolist() == [[0.0], [1.0], [50.0]]


# k_means


def test_clouds_are_found(generator):
    x, truth = blobs(generator)
    found = k_means(x, 3, generator=generator)
    pairs = {(t, c) for t, c in zip(truth.tolist(), found.labels.tolist(), strict=True)}
    assert len(pairs) == 3


def test_the_best_of_all_divisions_of_seven_points_is_found(generator):
    x = torch.randn(7, 2, dtype=F64, generator=generator)
    least = min(
        sum(((x[mask] - x[mask].mean(0)) ** 2).sum().item() for mask in (side, ~side))
        for bits in product([False, True], repeat=7)
        if (side := torch.tensor(bits)).any() and (~side).any()
    )
    assert k_means(x, 2, generator=generator, n_starts=30).inertia == pytest.approx(least)


def test_more_starts_cannot_be_worse():
    x = torch.randn(61, 2, dtype=F64, generator=torch.Generator().manual_seed(1))
    found = [
        k_means(x, 7, generator=torch.Generator().manual_seed(5), n_starts=n).inertia
        for n in (1, 2, 5, 20)
    ]
    assert found == sorted(found, reverse=True)
    assert found[-1] < found[0]


def test_the_same_seed_gives_the_same_clusters():
    x = torch.randn(23, 2, dtype=F64, generator=torch.Generator().manual_seed(1))
    first, again = (k_means(x, 5, generator=torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(first.labels, again.labels)


def test_starts_are_spread_out():
    """One far point among a thousand: k-means++ takes it as a centre, a plain draw would not."""
    x = torch.zeros(1001, 1, dtype=F64)
    x[-1] = 100.0
    for seed in range(5):
        found = k_means(x, 2, generator=torch.Generator().manual_seed(seed), n_starts=1, n_steps=1)
        assert found.inertia == 0


def test_one_cluster_and_one_for_each_point(generator):
    x = torch.randn(5, 3, dtype=F64, generator=generator)
    assert_close(k_means(x, 1, generator=generator).centres[0], x.mean(0))
    assert k_means(x, 5, generator=generator).inertia == pytest.approx(0, abs=1e-24)


def test_points_that_coincide_do_not_disturb():
    found = k_means(torch.ones(5, 2), 3, generator=torch.Generator().manual_seed(0))
    assert found.inertia == 0
    assert found.centres.isfinite().all()


def test_k_means_refuses_what_cannot_be_clustered(generator):
    x = torch.ones(3, 2)
    with pytest.raises(ValueError, match="k must be at most the number of points; got k=4, n=3"):
        k_means(x, 4, generator=generator)
    with pytest.raises(ValueError, match="k must be an integer of at least 1; got k=0"):
        k_means(x, 0, generator=generator)
    with pytest.raises(ValueError, match="n_starts must be an integer of at least 1"):
        k_means(x, 1, generator=generator, n_starts=0)
    with pytest.raises(ValueError, match="n_steps must be an integer of at least 1"):
        k_means(x, 1, generator=generator, n_steps=0)
    for wrong in math.nan, math.inf:
        with pytest.raises(ValueError, match="x must hold finite numbers"):
            k_means(torch.tensor([[wrong], [1.0]]), 1, generator=generator)


@pytest.mark.bad_input
@pytest.mark.parametrize("centres", [torch.ones(2, 3), torch.ones(4, 2)])
def test_lloyd_refuses_centres_that_do_not_fit(centres):
    with pytest.raises(ValueError, match="centres must be of the points' dimension"):
        lloyd(torch.ones(3, 2), centres)


@pytest.mark.bad_input
@pytest.mark.parametrize("x", [torch.ones(3), torch.ones(0, 2), torch.ones(1, 2, 3)])
def test_points_are_a_matrix(x, generator):
    with pytest.raises(ValueError, match="x must be a matrix with one point a row"):
        k_means(x, 1, generator=generator)


# class_tf_idf


def test_class_tf_idf_equals_a_loop(generator):
    counts = torch.randint(0, 4, (7, 5), generator=generator).double()
    labels = torch.tensor([2, 0, 1, 1, 0, 2, 2])
    found = class_tf_idf(counts, labels)
    rows = counts.tolist()
    mean_tokens = sum(map(sum, rows)) / 3
    for c in range(3):
        own = [row for row, label in zip(rows, labels.tolist(), strict=True) if label == c]
        for j in range(5):
            frequency = sum(row[j] for row in own) / sum(map(sum, own))
            total = sum(row[j] for row in rows)
            expected = frequency * math.log(1 + mean_tokens / total)
            assert found[c, j].item() == pytest.approx(expected)


def test_a_word_of_one_class_beats_an_equally_frequent_word_of_all():
    counts = tensor([[2, 2, 0, 0], [0, 2, 2, 0]])
    found = class_tf_idf(counts, torch.tensor([0, 1]))
    assert found[0, 0] > found[0, 1] > 0
    assert found[:, 3].tolist() == [0.0, 0.0]
    assert found.isfinite().all()


def test_class_tf_idf_refuses_what_is_no_division_of_counts():
    counts = torch.ones(2, 3)
    rule = r"each class must have at least one token; got empty=\[1\]"
    with pytest.raises(ValueError, match=rule):
        class_tf_idf(counts, torch.tensor([0, 2]))
    with pytest.raises(ValueError, match="labels must be 0 or above; got smallest=-1"):
        class_tf_idf(counts, torch.tensor([0, -1]))
    for wrong in -1.0, math.nan, math.inf:
        with pytest.raises(ValueError, match="counts must be finite and not negative"):
            class_tf_idf(torch.tensor([[1.0, wrong]]), torch.tensor([0]))


@pytest.mark.bad_input
def test_class_tf_idf_wants_one_label_a_document():
    with pytest.raises(ValueError, match="counts must have one row for each label"):
        class_tf_idf(torch.ones(2, 3), torch.tensor([0]))
