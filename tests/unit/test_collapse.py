"""Rank collapse: worked numbers, a loop oracle, the stack with parts taken out, bad input."""

import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from softlookup.analysis import ablated_streams, rank_residual, token_cosine
from softlookup.blocks import EncoderBlock
from softlookup.masks import causal_mask
from softlookup.normalization import layer_norm


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
def test_each_part_taken_out_by_hand(generator, skip, feed_forward, norm, norm_first):
    blocks, x = random_blocks(2, norm_first=norm_first), normal(generator, 7, 6)
    mask = causal_mask(7)
    expected = [x]
    for block in blocks:
        for layer in (block.self_attention.layer, block.feed_forward.layer):
            if layer is block.feed_forward.layer and not feed_forward:
                continue
            options = {} if layer is block.feed_forward.layer else {"mask": mask}
            write = layer(layer_norm(x) if norm == "pre" else x, **options)
            x = x + write if skip else write
            x = layer_norm(x) if norm == "post" else x
        expected.append(x)
    options = {"skip": skip, "feed_forward": feed_forward, "norm": norm}
    assert_close(ablated_streams(blocks, expected[0], mask, **options), torch.stack(expected))


def random_stack(seed, scale=2**0.5, n_blocks=6):
    """Sixteen tokens and one-headed blocks 64 wide, whose matrices keep a length on average."""
    tokens, thoughts = (np.random.default_rng(seed + k) for k in (0, 100))
    x, blocks = torch.tensor(tokens.standard_normal((16, 64))), []
    for _ in range(n_blocks):
        block = EncoderBlock(64, 1, 256, bias=False).double().requires_grad_(False)
        read, think = block.self_attention.layer, block.feed_forward.layer
        for W in (read.W_Q, read.W_K, read.W_V, think.W_1, think.W_2):
            numbers = tokens if W.in_features == W.out_features else thoughts
            drawn = numbers.standard_normal((W.in_features, W.out_features)) / W.in_features**0.5
            W.weight.copy_(torch.tensor(drawn).mT)
        think.W_1.weight.mul_(scale)
        torch.nn.init.eye_(read.W_O.weight)
        blocks.append(block)
    return x, blocks


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_which_part_prevents_collapse(seed):
    """`rank-collapse`: after four blocks, without norms."""
    x, blocks = random_stack(seed, n_blocks=4)
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
    x, blocks = random_stack(seed, scale)
    assert rank_residual(ablated_streams(blocks, x, skip=False, norm=norm)[-1]) < 1e-9


def test_the_logarithm_at_least_doubles():
    """`rank-collapse-double-exponential`"""
    x, blocks = random_stack(0, n_blocks=4)
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
    for measure in (rank_residual, token_cosine):
        with pytest.raises(ValueError, match=r"x must have one row per token; got x=\(0, 3\)"):
            measure(torch.zeros(0, 3))
    with pytest.raises(ValueError, match=r"x must have at least two rows; got x=\(1, 3\)"):
        token_cosine(torch.zeros(1, 3))
    rule = "norm must be one of 'pre', 'post', 'none'; got norm='first'"
    with pytest.raises(ValueError, match=rule):
        ablated_streams(random_blocks(1), normal(generator, 7, 6), norm="first")
    with pytest.raises(ValueError, match="x must be a matrix with rows of length 6"):
        ablated_streams(random_blocks(1), normal(generator, 7, 5))


@pytest.mark.bad_input
def test_input_that_breaks_an_annotation():
    for measure in (rank_residual, token_cosine):
        with pytest.raises(ValueError, match="x must hold floating-point numbers"):
            measure(torch.ones(3, 3, dtype=torch.long))
        with pytest.raises(ValueError, match=r"x must have one row per token; got x=\(3,\)"):
            measure(torch.ones(3))
