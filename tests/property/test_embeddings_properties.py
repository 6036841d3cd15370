"""What holds for all vectors, images and groups, tried on whatever hypothesis thinks of."""

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch.testing import assert_close

from softlookup.tokenization import patchify, unpatchify
from softlookup.words import (
    MEASURES,
    adjusted_rand_index,
    cooccurrence_matrix,
    dequantize,
    label_spreading,
    lookup,
    mean_vectors,
    nearest,
    one_hot,
    positive_pmi,
    principal_components,
    procrustes,
    project,
    quantize,
    similarity,
    similarity_graph,
)

F64 = torch.float64
SEED = st.integers(0, 2**31)
SIZE = st.integers(1, 7)
SENTENCES = st.lists(st.lists(st.sampled_from("abcd"), max_size=9), max_size=7)


def random(*shape, seed):
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def rotation(d, seed):
    return torch.linalg.qr(random(d, d, seed=seed))[0]


@given(st.lists(st.integers(0, 6), max_size=9), SEED)
def test_lookup_is_one_hot_times_table(ids, seed):
    ids, table = torch.tensor(ids, dtype=torch.long), random(7, 5, seed=seed)
    assert torch.equal(lookup(table, ids), one_hot(ids, 7, dtype=F64) @ table)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=9), SEED, st.randoms())
def test_a_mean_forgets_the_order(ids, seed, chance):
    table, shuffled = random(7, 5, seed=seed), list(ids)
    chance.shuffle(shuffled)
    rows = [one_hot(torch.tensor(w), 7, dtype=F64).sum(0)[None] for w in (ids, shuffled)]
    assert torch.equal(mean_vectors(rows[0], table), mean_vectors(rows[1], table))
    assert_close(mean_vectors(rows[0], table)[0], lookup(table, torch.tensor(ids)).mean(0))


@given(SIZE, SIZE, SEED)
def test_every_measure_survives_a_rotation(n, d, seed):
    x, y, R = random(n, d, seed=seed), random(3, d, seed=seed + 1), rotation(d, seed + 2)
    for measure in MEASURES:
        turned = similarity(x @ R, y @ R, measure=measure)
        assert_close(turned, similarity(x, y, measure=measure))


@given(SEED, st.floats(0.01, 100), st.floats(0.01, 100))
def test_the_cosine_alone_survives_stretching(seed, a, b):
    x, y = random(3, 5, seed=seed), random(2, 5, seed=seed + 1)
    cosine = similarity(x, y)
    assert_close(similarity(a * x, b * y), cosine)
    assert_close(similarity(-x, y), -cosine)
    assert (cosine.abs() <= 1 + 1e-12).all()
    dots = similarity(x, y, measure="dot")
    assert_close(similarity(a * x, b * y, measure="dot"), a * b * dots)


@given(SEED)
def test_the_distance_alone_survives_a_shift(seed):
    x, y, shift = (random(n, 5, seed=seed + n) for n in (3, 2, 1))
    moved = similarity(x + shift, y + shift, measure="euclidean")
    assert_close(moved, similarity(x, y, measure="euclidean"))


@given(SEED)
def test_on_unit_vectors_all_three_rank_alike(seed):
    x = torch.nn.functional.normalize(random(11, 5, seed=seed), dim=1)
    ranks = [nearest(x[:3], x, 11, measure=measure)[1] for measure in MEASURES]
    assert torch.equal(ranks[0], ranks[1])
    assert torch.equal(ranks[0], ranks[2])


@given(SEED, st.permutations(range(7)))
def test_permuting_the_table_permutes_the_answers(seed, order):
    table, query = random(7, 5, seed=seed), random(5, seed=seed + 1)
    _, ids = nearest(query, table, 4)
    _, moved = nearest(query, table[list(order)], 4)
    assert [order[i] for i in moved.tolist()] == ids.tolist()


@given(SIZE, SIZE, SIZE, SIZE)
def test_unpatchify_undoes_patchify(channels, rows, columns, size):
    height, width = rows * size, columns * size
    image = torch.arange(channels * height * width).reshape(channels, height, width)
    patches = patchify(image, size)
    assert patches.shape == (rows * columns, channels * size**2)
    assert torch.equal(unpatchify(patches, channels, height, width), image)


@given(st.integers(2, 13), SIZE, SEED)
def test_all_axes_together_lose_nothing(n, d, seed):
    x = random(n, d, seed=seed)
    found = principal_components(x, min(n, d))
    kept = project(x, found).square().sum()
    assert_close(kept, (x - x.mean(0)).square().sum())
    assert_close(found.shares.sum(), torch.ones((), dtype=F64))


@given(SIZE, SEED)
def test_a_rotation_is_undone(d, seed):
    x, R = random(13, d, seed=seed), rotation(d, seed + 1)
    assert_close(x @ R @ procrustes(x @ R, x), x)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9))
def test_a_quantised_number_is_off_by_half_a_step_at_most(values):
    x = torch.tensor(values, dtype=F64)
    codes, scale = quantize(x)
    largest = x.abs().max().item()
    assume(largest > 1e-300)
    error = (dequantize(codes, scale) - x).abs().max().item()
    assert error <= largest / 254 * (1 + 1e-9)


@given(SENTENCES, st.integers(1, 5))
def test_cooccurrence_is_symmetric_and_forgets_nothing(sentences, window):
    counts = cooccurrence_matrix(sentences, list("abcd"), window)
    assert torch.equal(counts, counts.mT)
    pairs = sum(max(len(s) - k, 0) for s in sentences for k in range(1, window + 1))
    assert counts.sum() == 2 * pairs


@given(SENTENCES)
def test_positive_pmi_is_finite_and_not_negative(sentences):
    counts = cooccurrence_matrix(sentences, list("abcd"), 2)
    assume(counts.sum() > 0)
    found = positive_pmi(counts)
    assert found.isfinite().all()
    assert (found >= 0).all()
    assert_close(found, found.mT)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=13), st.permutations(range(4)))
def test_groups_agree_with_themselves_under_other_names(groups, names):
    groups = torch.tensor(groups)
    assert adjusted_rand_index(groups, torch.tensor(names)[groups]) == 1.0


@given(SEED, st.floats(0.05, 0.95))
def test_spread_labels_are_shares(seed, alpha):
    x, labels = random(7, 2, seed=seed), torch.tensor([0, 1, -1, -1, 2, -1, -1])
    shares = label_spreading(similarity_graph(x, width=1.0), labels, alpha=alpha)
    assert (shares >= 0).all()
    assert_close(shares.sum(1), torch.ones(7, dtype=F64))


@pytest.mark.parametrize("d", [2, 3, 31])
def test_distinct_one_hots_are_at_right_angles_and_root_two_apart(d):
    rows = one_hot(torch.arange(d), d, dtype=F64)
    off = ~torch.eye(d, dtype=torch.bool)
    assert (similarity(rows, rows)[off] == 0).all()
    distances = -similarity(rows, rows, measure="euclidean")[off]
    assert_close(distances, torch.full_like(distances, math.sqrt(2)))
