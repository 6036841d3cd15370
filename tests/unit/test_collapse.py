"""Rank collapse: worked numbers, a loop oracle, the stack with parts taken out, bad input."""

import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from softlookup.analysis import ablated_streams, random_stack, rank_residual, token_cosine
from softlookup.layers import layer_norm
from softlookup.masks import causal_mask
from softlookup.models import EncoderBlock


def normal(generator, *shape):
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def random_blocks(n, *, seed=3, **options):
    torch.manual_seed(seed)
    return [EncoderBlock(6, 3, 5, **options).double() for _ in range(n)]


def residual_by_hand(x):
    mean = [sum(column) / len(x) for column in zip(*x, strict=True)]
    apart = [(a - m) ** 2 for row in x for a, m in zip(row, mean, strict=True)]
    return math.sqrt(sum(apart) / sum(a**2 for row in x for a in row))


# how alike the tokens are


def test_residual_by_hand(generator):
    x = normal(generator, 2, 7, 5)
    expected = torch.tensor([residual_by_hand(rows.tolist()) for rows in x], dtype=torch.float64)
    assert_close(rank_residual(x), expected)
    assert_close(rank_residual(torch.tensor([[2.0, 1.0], [0.0, 1.0]])), torch.tensor(3**-0.5))


def test_a_residual_that_cannot_fail_to_be_0_or_1():
    row = torch.tensor([0.1, 0.3, 1e-3], dtype=torch.float64)
    assert rank_residual(row.expand(7, 3)) == 0  # a mean of seven may be rounded
    assert rank_residual(torch.zeros(4, 3)) == 0
    assert rank_residual(torch.tensor([[1.0, -2.0], [-1.0, 2.0]])) == 1


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1e200])
def test_the_size_of_the_tokens_does_not_matter(generator, scale):
    x = normal(generator, 7, 5)
    assert_close(rank_residual(scale * x), rank_residual(x))
    assert_close(token_cosine(scale * x), token_cosine(x))


def test_cosine_by_hand(generator):
    x = normal(generator, 2, 7, 5)
    for rows, found in zip(x, token_cosine(x), strict=True):
        pairs = [
            torch.dot(a, b) / (a.norm() * b.norm())
            for i, a in enumerate(rows)
            for j, b in enumerate(rows)
            if i != j
        ]
        assert_close(found, torch.stack(pairs).mean())
    assert_close(token_cosine(torch.tensor([[1.0, 0.0], [-2.0, 0.0]])), torch.tensor(-1.0))
    assert token_cosine(torch.tensor([[1.0, 0.0], [0.0, 0.0]])) == 0


# the stack with parts taken out


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_with_all_its_parts_it_is_the_stack(generator, norm_first, norm):
    blocks, x = random_blocks(3, norm_first=norm_first, norm=norm), normal(generator, 2, 7, 6)
    mask = causal_mask(7)
    found = ablated_streams(blocks, x, mask)
    for stream in found:
        assert torch.equal(stream, x)
        x = blocks[0](x, mask) if blocks else x
        blocks = blocks[1:]
    assert found.shape == (4, 2, 7, 6)


@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("feed_forward", [True, False])
@pytest.mark.parametrize("norm", ["pre", "post", "none"])
@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("size", [1.0, 0.3])
def test_each_part_taken_out_by_hand(generator, skip, feed_forward, norm, norm_first, size):
    blocks, x = random_blocks(2, norm_first=norm_first), normal(generator, 7, 6)
    mask = causal_mask(7)
    expected = [x]
    for block in blocks:
        for layer in (block.self_attention.layer, block.feed_forward.layer):
            if layer is block.feed_forward.layer and not feed_forward:
                continue
            options = {} if layer is block.feed_forward.layer else {"mask": mask}
            write = size * layer(layer_norm(x) if norm == "pre" else x, **options)
            x = x + write if skip else write
            x = layer_norm(x) if norm == "post" else x
        expected.append(x)
    options = {"skip": skip, "feed_forward": feed_forward, "norm": norm, "size": size}
    assert_close(ablated_streams(blocks, expected[0], mask, **options), torch.stack(expected))


def attention_by_hand(seed, n_layers, n=16, d=64):
    """Attention alone, its matrices drawn one after the other."""
    draw = np.random.default_rng(seed).standard_normal
    x = [draw((n, d))]
    for _ in range(n_layers):
        W_Q, W_K, W_V = (draw((d, d)) / d**0.5 for _ in range(3))
        scores = np.exp(x[-1] @ W_Q @ (x[-1] @ W_K).T / d**0.5)
        x.append(scores / scores.sum(axis=1, keepdims=True) @ x[-1] @ W_V)
    return torch.tensor(np.stack(x))


def test_a_random_stack_by_hand():
    x, blocks = random_stack(3, 4, n=7, d_model=20)
    found = ablated_streams(blocks, x, skip=False, feed_forward=False, norm="none")
    assert_close(found, attention_by_hand(3, 4, 7, 20))
    draw = np.random.default_rng(103).standard_normal
    W_1, W_2 = draw((20, 80)) / 20**0.5 * 2**0.5, draw((80, 20)) / 80**0.5
    rows = np.maximum(x.numpy() @ W_1, 0) @ W_2
    layer = blocks[0].feed_forward.layer
    assert_close(layer.W_1.weight.mT, torch.tensor(W_1))
    assert_close(layer(x), torch.tensor(rows))
    assert len(blocks) == 4
    assert not [p for block in blocks for p in block.parameters() if p.requires_grad]


def test_a_random_stack_has_twenty_four_blocks():
    assert len(random_stack(0, n=2, d_model=2)[1]) == 24


def test_a_random_stack_keeps_lengths():
    x, blocks = random_stack(5, 3, n=50, d_model=100)
    for block in blocks:
        for layer in (block.self_attention.layer.W_V, block.feed_forward.layer):
            ratio = layer(x).square().mean() / x.square().mean()
            assert 0.9 < ratio < 1.1
    twice = random_stack(5, 3, n=50, d_model=100, scale=2 * 2**0.5)[1]
    assert_close(twice[2].feed_forward.layer(x), 2 * blocks[2].feed_forward.layer(x))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_which_part_prevents_collapse(seed):
    """`rank-collapse`: after four blocks, without norms."""
    x, blocks = random_stack(seed, 4)
    for feed_forward, most in (False, 2.3e-16), (True, 3.5e-16):
        lost = ablated_streams(blocks, x, skip=False, feed_forward=feed_forward, norm="none")
        assert rank_residual(lost[-1]) <= most
        assert token_cosine(lost[-1]) > 1 - 1e-12
    kept = rank_residual(ablated_streams(blocks, x, feed_forward=False, norm="none"))
    assert_close(kept[-1], torch.tensor([0.725, 0.779, 0.771][seed]).double(), rtol=0, atol=5e-4)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("scale", [0.2, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("norm", ["pre", "post", "none"])
def test_no_scale_of_the_feed_forward_layer_prevents_it(seed, scale, norm):
    x, blocks = random_stack(seed, 6, scale=scale)
    assert rank_residual(ablated_streams(blocks, x, skip=False, norm=norm)[-1]) < 1e-9


def test_the_logarithm_at_least_doubles():
    """`rank-collapse-double-exponential`"""
    x, blocks = random_stack(0, 4)
    found = rank_residual(ablated_streams(blocks, x, skip=False, feed_forward=False, norm="none"))
    expected = torch.tensor([7.23e-1, 2.91e-2, 7.67e-7], dtype=torch.float64)
    assert_close(found[1:4], expected, rtol=2e-3, atol=0)
    logs = -found[1:].log()
    assert bool((logs[1:] >= 2 * logs[:-1]).all())


def test_in_training_dropout_takes_part(generator):
    x = normal(generator, 7, 6)
    (block,) = random_blocks(1, dropout=0.5)
    torch.manual_seed(5)
    found = ablated_streams([block], x)[-1]
    torch.manual_seed(5)
    assert_close(found, block(x))
    assert not torch.equal(found, block.eval()(x))


# bad input


def test_bad_input(generator):
    with pytest.raises(ValueError, match=r"x must have at least two rows; got x=\(1, 3\)"):
        token_cosine(torch.zeros(1, 3))
    with pytest.raises(ValueError, match=r"the width and the dtype of the blocks; got x=\(7, 5\)"):
        ablated_streams(random_blocks(1), normal(generator, 7, 5))
    with pytest.raises(ValueError, match="seed must be an integer of at least 0; got seed=-1"):
        random_stack(-1)
    with pytest.raises(ValueError, match=r"scale must be positive and finite; got scale=0\.0"):
        random_stack(0, scale=0.0)
    for name in ("n_layers", "n", "d_model"):
        with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1"):
            random_stack(**{"seed": 0, name: 0})
