"""A mixture of experts: its router, its load, and parity with a loop over all experts."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.layers import GatedFeedForward, MixtureOfExperts, balance_loss, expert_load, route


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return MixtureOfExperts(5, 11, n_experts=7, k=3).double()


def dense(layer, x):
    """Every expert on every token, and a softmax over all, cut to the best k."""
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        shares = (layer.router.weight @ row).softmax(-1)
        best = sorted(range(len(shares)), key=lambda e: -shares[e])[: layer.k]
        total = sum(shares[e] for e in best)
        rows.append(sum(shares[e] / total * layer.experts[e](row) for e in best))
    return torch.stack(rows).reshape(x.shape)


# the router


def test_route_by_hand():
    experts, weights = route(tensor([[0, math.log(3), -9, 0.5 * math.log(3)]]), 2)
    assert experts.tolist() == [[1, 3]]
    root = math.sqrt(3)
    assert_close(weights, tensor([[3 / (3 + root), root / (3 + root)]]))


def test_one_expert_counts_fully_and_all_experts_are_the_softmax(generator):
    scores = torch.randn(2, 5, 7, dtype=torch.float64, generator=generator)
    assert_close(route(scores, 1).weights, torch.ones(2, 5, 1, dtype=torch.float64))
    experts, weights = route(scores, 7)
    assert_close(torch.zeros_like(scores).scatter(-1, experts, weights), scores.softmax(-1))


# parity with the dense loop


@pytest.mark.parametrize("shape", [(5,), (0, 5), (13, 5), (2, 3, 5)])
def test_the_layer_is_the_dense_loop(generator, layer, shape):
    x = torch.randn(shape, dtype=torch.float64, generator=generator)
    expected = dense(layer, x) if x.numel() else x
    assert_close(layer(x), expected, rtol=1e-12, atol=1e-12)


def test_gradients_are_those_of_the_dense_loop(generator, layer):
    x = torch.randn(13, 5, dtype=torch.float64, generator=generator, requires_grad=True)
    found, expected = [], []
    for kept, out in ((found, layer(x)), (expected, dense(layer, x))):
        loss = (out * torch.arange(5.0)).square().sum()
        kept += torch.autograd.grad(loss, [x, *layer.parameters()])
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b)


def test_gated_experts(generator):
    torch.manual_seed(0)
    options = {"n_experts": 3, "k": 2, "gated": True, "activation": "silu", "bias": False}
    layer = MixtureOfExperts(5, 7, **options).double()
    assert all(isinstance(expert, GatedFeedForward) for expert in layer.experts)
    x = torch.randn(11, 5, dtype=torch.float64, generator=generator)
    assert_close(layer(x), dense(layer, x), rtol=1e-12, atol=1e-12)


def test_a_token_has_no_influence_on_another_and_experts_see_their_own_alone(generator, layer):
    x = torch.randn(13, 5, dtype=torch.float64, generator=generator)
    seen = [0] * 7

    def count(number):
        def hook(module, args, output):
            seen[number] += len(args[0])

        return hook

    for number, expert in enumerate(layer.experts):
        expert.register_forward_hook(count(number))
    out = layer(x)
    assert sum(seen) == 13 * 3  # not 13 * 7
    chosen = route(layer.router(x), 3).experts
    assert_close(torch.tensor(seen) / 39, expert_load(chosen, 7))
    for i in range(13):
        assert_close(layer(x[i]), out[i])


def test_the_scores_are_a_probe(generator, layer):
    kept = []
    layer.scores.register_forward_hook(lambda module, args, output: kept.append(output))
    x = torch.randn(13, 5, dtype=torch.float64, generator=generator)
    layer(x)
    assert_close(kept[0], x @ layer.router.weight.mT)


def test_parameters_grow_with_the_experts():
    layer = MixtureOfExperts(5, 11, n_experts=7, k=3)
    expected = 7 * (2 * 5 * 11 + 11 + 5) + 5 * 7
    assert sum(p.numel() for p in layer.parameters()) == expected


# load and balance


def test_load_by_hand():
    assert_close(expert_load(torch.tensor([[0, 2], [0, 1]]), 4), torch.tensor([0.5, 0.25, 0.25, 0]))


def test_balance_by_hand():
    # three tokens, two experts, k = 1: loads 2/3 and 1/3
    scores = torch.log(tensor([[3, 1], [3, 1], [1, 3]]))
    mean = [(0.75 + 0.75 + 0.25) / 3, (0.25 + 0.25 + 0.75) / 3]
    expected = 2 * (2 / 3 * mean[0] + 1 / 3 * mean[1])
    assert_close(balance_loss(scores, 1), tensor(expected))


def test_balance_is_one_at_rest_and_n_at_worst():
    even = torch.zeros(8, 4, dtype=torch.float64)
    assert_close(balance_loss(even, 2), tensor(1.0))
    assert_close(balance_loss(50 * torch.eye(5, dtype=torch.float64), 1), tensor(1.0))
    one = torch.zeros(8, 4, dtype=torch.float64)
    one[:, 2] = 50
    assert_close(balance_loss(one, 1), tensor(4.0))


def test_descent_on_the_balance_loss_spreads_the_load(generator):
    x = torch.randn(300, 5, dtype=torch.float64, generator=generator) + 1
    router = torch.randn(7, 5, dtype=torch.float64, generator=generator).requires_grad_()
    optimizer = torch.optim.Adam([router], lr=0.05)
    before = expert_load(route(x @ router.mT, 2).experts, 7).max()
    for _ in range(150):
        optimizer.zero_grad()
        balance_loss(x @ router.mT, 2).backward()
        optimizer.step()
    after = expert_load(route(x @ router.mT, 2).experts, 7).max()
    assert after < 0.2 < 0.3 < before


# bad input

BAD = [
    (lambda: route(torch.zeros(2, 3), 0), "k=0"),
    (lambda: route(torch.zeros(2, 3), 4), "k must be at most the number of experts; got k=4"),
    (lambda: expert_load(torch.zeros(0, 2).long(), 3), "not empty"),
    (lambda: expert_load(torch.tensor([3]), 3), "from 0 to n_experts - 1"),
    (lambda: expert_load(torch.tensor([-1]), 3), "from 0 to n_experts - 1"),
    (lambda: expert_load(torch.tensor([0]), 0), "n_experts=0"),
    (lambda: balance_loss(torch.zeros(0, 3), 1), "at least one token"),
    (lambda: MixtureOfExperts(0, 2, n_experts=2, k=1), "d_model=0"),
    (lambda: MixtureOfExperts(2, 0, n_experts=2, k=1), "d_ff=0"),
    (lambda: MixtureOfExperts(2, 2, n_experts=2, k=3), "k must be at most n_experts; got k=3"),
    (lambda: MixtureOfExperts(2, 2, n_experts=2, k=0), "k=0"),
    (lambda: MixtureOfExperts(2, 2, n_experts=2, k=1, activation="step"), "activation"),
    (lambda: MixtureOfExperts(5, 2, n_experts=2, k=1)(torch.zeros(3, 4)), "rows of length 5"),
    (lambda: MixtureOfExperts(5, 2, n_experts=2, k=1)(torch.zeros(3, 5).half()), "dtype"),
]
UNTYPED = [  # these break an annotation, too
    (lambda: route(torch.zeros(2, 3).long(), 1), "floating-point"),
    (lambda: expert_load(torch.tensor([0.5]), 3), "experts must be integers"),
]
UNTYPED = [pytest.param(*case, marks=pytest.mark.bad_input) for case in UNTYPED]
