"""The same numbers from SciPy, scikit-learn, NetworkX and PyTorch's own kernels."""

import networkx
import pytest
import scipy.spatial.distance
import sklearn.metrics.pairwise
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern
from torch.testing import assert_close

from softlookup.attention import (
    attend,
    bilinear_scores,
    cosine_scores,
    gaussian_process_weights,
    gaussian_scores,
    laplace_scores,
    nadaraya_watson,
)
from softlookup.data import KARATE_EDGES, KARATE_INSTRUCTOR_SIDE

EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture
def points(generator):
    shapes = [(5, 3), (7, 3), (7, 2)]
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


def test_distance_scores_are_scipy_s_distances(points):
    query, key, _ = points
    distance = torch.from_numpy(scipy.spatial.distance.cdist(query, key))
    assert_close(laplace_scores(query, key, bandwidth=0.7), -distance / 0.7, **EXACT)
    expected = torch.from_numpy(sklearn.metrics.pairwise.rbf_kernel(query, key, gamma=0.5 / 0.49))
    assert_close(gaussian_scores(query, key, bandwidth=0.7).exp(), expected, **EXACT)


def test_distances_and_their_gradients_are_pytorch_s(points):
    ours = [x.clone().requires_grad_() for x in points[:2]]
    theirs = [x.clone().requires_grad_() for x in points[:2]]
    laplace_scores(*ours).sin().sum().backward()
    torch.cdist(*theirs).neg().sin().sum().backward()
    for a, b in zip(ours, theirs, strict=True):
        assert_close(a.grad, b.grad, **EXACT)


def test_cosine_scores_are_scikit_learn_s(points):
    query, key, _ = points
    expected = torch.from_numpy(sklearn.metrics.pairwise.cosine_similarity(query, key))
    assert_close(cosine_scores(query, key), expected, **EXACT)


def test_bilinear_scores_are_pytorch_s_bilinear(points, generator):
    query, key, _ = points
    W = torch.randn(3, 3, dtype=torch.float64, generator=generator)
    pairs = query[:, None].expand(5, 7, 3).contiguous(), key[None].expand(5, 7, 3).contiguous()
    expected = torch.nn.functional.bilinear(*pairs, W[None]).squeeze(-1)
    assert_close(bilinear_scores(query, key, W), expected, **EXACT)


def test_attend_is_pytorch_s_softmax_and_product(points):
    query, key, value = points
    scores = laplace_scores(query, key)
    assert_close(attend(scores, value), torch.softmax(scores, dim=-1) @ value, **EXACT)


def test_nadaraya_watson_is_numpy_s_weighted_average(points):
    query, x, y = points
    kernel = sklearn.metrics.pairwise.rbf_kernel(query, x, gamma=0.5)
    expected = torch.from_numpy((kernel / kernel.sum(axis=1, keepdims=True)) @ y.numpy())
    assert_close(nadaraya_watson(query, x, y, gaussian_scores), expected, **EXACT)


@pytest.mark.parametrize(
    ("scores", "kernel"), [(gaussian_scores, RBF()), (laplace_scores, Matern(nu=0.5))]
)
@pytest.mark.parametrize("noise", [0.01, 0.5])
def test_gaussian_process_is_scikit_learn_s(points, scores, kernel, noise):
    query, x, y = points
    peer = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(x, y)
    expected = torch.from_numpy(peer.predict(query))
    found = gaussian_process_weights(query, x, scores, noise=noise) @ y
    assert_close(found, expected, rtol=1e-9, atol=1e-11)


def test_the_karate_club_is_networkx_s():
    graph = networkx.karate_club_graph()
    assert {tuple(sorted(edge)) for edge in graph.edges} == set(KARATE_EDGES)
    followed = {node for node, club in graph.nodes(data="club") if club == "Mr. Hi"}
    assert followed == set(KARATE_INSTRUCTOR_SIDE)
