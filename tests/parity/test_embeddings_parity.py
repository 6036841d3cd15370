"""The same numbers from PyTorch, SciPy and scikit-learn: vectors, maps of them, groups of them."""

import numpy as np
import pytest
import torch
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, top_k_accuracy_score
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.semi_supervised import LabelSpreading
from torch.nn import functional as F
from torch.testing import assert_close

from softlookup.tokenization import patchify, unpatchify
from softlookup.words import (
    adjusted_rand_index,
    contrastive_loss,
    cooccurrence_matrix,
    count_matrix,
    dequantize,
    label_spreading,
    lloyd,
    lookup,
    mean_vectors,
    nearest,
    ngrams,
    one_hot,
    principal_components,
    procrustes,
    project,
    quantize,
    recall_at_k,
    reconstruct,
    similarity,
    similarity_graph,
)

F64 = torch.float64


def random(*shape, generator):
    return torch.randn(*shape, dtype=F64, generator=generator)


def to_tensor(array):
    return torch.tensor(np.asarray(array), dtype=F64)


def test_one_hot_and_lookup_are_pytorchs(generator):
    ids = torch.randint(0, 7, (2, 3), generator=generator)
    table = random(7, 5, generator=generator)
    assert torch.equal(one_hot(ids, 7, dtype=F64), F.one_hot(ids, 7).double())
    assert torch.equal(lookup(table, ids), F.embedding(ids, table))


def test_the_gradient_of_lookup_is_pytorchs(generator):
    ids = torch.tensor([2, 5, 2, 0])
    table, weight = random(7, 5, generator=generator), random(4, 5, generator=generator)
    grads = []
    for read in lookup, lambda table, ids: F.embedding(ids, table):
        leaf = table.clone().requires_grad_()
        (read(leaf, ids) * weight).sum().backward()
        grads.append(leaf.grad)
    assert_close(*grads)


def test_mean_vectors_are_pytorchs_bag(generator):
    table = random(7, 5, generator=generator)
    documents = [[0, 3, 3], [6], [1, 2, 4, 4, 5]]
    flat = torch.tensor([w for document in documents for w in document])
    starts = torch.tensor([0, 3, 4])
    counts = torch.stack([F.one_hot(torch.tensor(d), 7).sum(0) for d in documents])
    assert_close(mean_vectors(counts, table), F.embedding_bag(flat, table, starts, mode="mean"))


def test_similarities_are_those_of_scikit_learn_and_scipy(generator):
    x, y = random(7, 5, generator=generator), random(3, 5, generator=generator)
    x[2] = 0
    a, b = x.numpy(), y.numpy()
    assert_close(similarity(x, y), to_tensor(cosine_similarity(a, b)))
    assert_close(similarity(x, y, measure="dot"), to_tensor(a @ b.T))
    distances = -similarity(x, y, measure="euclidean")
    assert_close(distances, to_tensor(cdist(a, b)))
    assert_close(distances, to_tensor(euclidean_distances(a, b)))
    assert_close(similarity(x, y)[0, 1], F.cosine_similarity(x[0], y[1], dim=0))


def test_search_is_scikit_learns(generator):
    table, query = random(31, 5, generator=generator), random(7, 5, generator=generator)
    for measure, metric in ("cosine", "cosine"), ("euclidean", "euclidean"):
        theirs = NearestNeighbors(metric=metric).fit(table.numpy())
        far, ids = theirs.kneighbors(query.numpy(), 4)
        scores, found = nearest(query, table, 4, measure=measure)
        assert found.tolist() == ids.tolist()
        assert_close(scores, to_tensor(1 - far if measure == "cosine" else -far))


@pytest.mark.parametrize("temperature", [0.05, 1.0])
def test_the_contrastive_loss_is_pytorchs_cross_entropy_of_cosines(temperature, generator):
    queries, documents = random(2, 7, 5, generator=generator)
    cosines = F.cosine_similarity(queries[:, None], documents[None], dim=-1)
    theirs = F.cross_entropy(cosines / temperature, torch.arange(7))
    assert_close(contrastive_loss(queries, documents, temperature), theirs)


def test_recall_at_k_is_scikit_learns_top_k(generator):
    scores = random(13, 13, generator=generator)
    for k in (1, 3, 5, 12):
        theirs = top_k_accuracy_score(range(13), scores.numpy(), k=k)
        assert_close(to_tensor(recall_at_k(scores, k)), to_tensor(theirs))


@pytest.mark.parametrize("shape", [(13, 5), (5, 13)])
def test_principal_components_are_scikit_learns_sign_and_all(shape, generator):
    x = random(*shape, generator=generator) * torch.arange(1, shape[1] + 1) + 3
    theirs = PCA(3, svd_solver="full").fit(x.numpy())
    ours = principal_components(x, 3)
    assert_close(ours.mean, to_tensor(theirs.mean_))
    assert_close(ours.axes, to_tensor(theirs.components_))
    assert_close(ours.variances, to_tensor(theirs.explained_variance_))
    assert_close(ours.shares, to_tensor(theirs.explained_variance_ratio_))
    new = random(7, shape[1], generator=generator)
    assert_close(project(new, ours), to_tensor(theirs.transform(new.numpy())))
    back = theirs.inverse_transform(theirs.transform(new.numpy()))
    assert_close(reconstruct(project(new, ours), ours), to_tensor(back))


def test_the_best_rotation_is_scipys(generator):
    x, y = random(11, 5, generator=generator), random(11, 5, generator=generator)
    assert_close(procrustes(x, y), to_tensor(orthogonal_procrustes(x.numpy(), y.numpy())[0]))


@pytest.mark.parametrize("size", [2, 7])
def test_patches_are_pytorchs_unfold(size, generator):
    image = random(3, 14, 28, generator=generator)
    theirs = F.unfold(image[None], size, stride=size)[0].mT
    assert torch.equal(patchify(image, size), theirs)
    back = F.fold(theirs.mT[None], (14, 28), size, stride=size)[0]
    assert torch.equal(unpatchify(theirs, 3, 14, 28), back)


def test_patches_times_a_matrix_are_a_convolution(generator):
    """What a vision transformer does first, and why it is usually written as a convolution."""
    image, filters = random(3, 14, 28, generator=generator), random(5, 3, 7, 7, generator=generator)
    by_patches = patchify(image, 7) @ filters.flatten(1).mT
    by_convolution = F.conv2d(image[None], filters, stride=7)[0].flatten(1).mT
    assert_close(by_patches, by_convolution)


def test_lloyd_is_scikit_learns_from_the_same_start(generator):
    x = random(101, 3, generator=generator)
    start = x[:5]
    theirs = KMeans(5, init=start.numpy(), n_init=1, max_iter=300, tol=0).fit(x.numpy())
    ours = lloyd(x, start, n_steps=300)
    assert ours.labels.tolist() == theirs.labels_.tolist()
    assert_close(ours.centres, to_tensor(theirs.cluster_centers_))
    assert ours.inertia == pytest.approx(theirs.inertia_)


@pytest.mark.parametrize("alpha", [0.2, 0.9])
def test_label_spreading_is_scikit_learns(alpha, generator):
    x, width = random(23, 2, generator=generator), 0.7
    labels = torch.full((23,), -1)
    labels[:3] = torch.tensor([0, 1, 2])
    gamma = 1 / (2 * width**2)
    theirs = LabelSpreading(kernel="rbf", gamma=gamma, alpha=alpha, max_iter=3000, tol=1e-15)
    theirs.fit(x.numpy(), labels.numpy())
    ours = label_spreading(similarity_graph(x, width=width), labels, alpha=alpha)
    assert_close(ours, to_tensor(theirs.label_distributions_), rtol=1e-6, atol=1e-9)


def test_adjusted_rand_index_is_scikit_learns(generator):
    for n_groups in 1, 2, 5, 31:
        truth, found = torch.randint(n_groups, (2, 31), generator=generator)
        theirs = adjusted_rand_score(truth.numpy(), found.numpy())
        assert adjusted_rand_index(truth, found) == pytest.approx(theirs)


def test_cooccurrence_at_distance_one_is_counted_bigrams():
    sentence = ["a", "rose", "is", "a", "rose", "is", "a", "rose"]
    words = sorted(set(sentence))
    pairs = [f"{one} {other}" for one in words for other in words]
    grams = count_matrix([ngrams(sentence, 2)], pairs).reshape(3, 3)
    assert torch.equal(cooccurrence_matrix([sentence], words, 1), grams + grams.mT)


def test_codes_are_those_of_pytorchs_quantizer(generator):
    x = random(5, 7, generator=generator).float()
    codes, scales = quantize(x)
    zeros = torch.zeros(5, dtype=torch.int32)
    theirs = torch.fake_quantize_per_channel_affine(x, scales, zeros, 0, -127, 127)
    assert_close(dequantize(codes, scales), theirs)
