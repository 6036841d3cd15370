"""Latent attention: by a loop over heads, its two forms, its cache, its parameters, bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.attention.efficient import LatentAttention
from softlookup.masks import causal_mask

EXACT = {"rtol": 1e-12, "atol": 1e-12}
FORMS = ["unfolded", "absorbed"]


def layer_and_rows(generator, *lead):
    layer = LatentAttention(d_model=7, n_heads=3, d_head=5, d_latent=2).double()
    for weight in layer.parameters():
        weight.data = torch.randn(weight.shape, dtype=torch.float64, generator=generator)
    return layer.requires_grad_(False), torch.randn(
        *lead, 11, 7, dtype=torch.float64, generator=generator
    )


def by_hand(layer, x, mask):
    """One head and one query after the other; rows 5h to 5h + 4 of a weight are head h's."""
    latent, heads = x @ layer.W_DKV.weight.mT, []
    for h in range(3):
        own = slice(5 * h, 5 * h + 5)
        query = x @ layer.W_Q.weight[own].mT
        key, value = (latent @ W.weight[own].mT for W in (layer.W_UK, layer.W_UV))
        rows = []
        for i in range(len(x)):
            seen = [j for j in range(len(x)) if mask[i, j]]
            powers = [math.exp(query[i] @ key[j] / math.sqrt(5)) for j in seen]
            mixed = sum(p * value[j] for p, j in zip(powers, seen, strict=True))
            rows.append(mixed / sum(powers))
        heads.append(torch.stack(rows))
    return torch.cat(heads, dim=1) @ layer.W_O.weight.mT


@pytest.mark.parametrize("form", FORMS)
def test_both_forms_are_a_loop_over_heads_and_queries(generator, form):
    layer, x = layer_and_rows(generator)
    mask = causal_mask(11)
    assert_close(layer(x, mask=mask, form=form), by_hand(layer, x, mask), **EXACT)
    every = torch.ones(11, 11, dtype=torch.bool)
    assert_close(layer(x, form=form), by_hand(layer, x, every), **EXACT)


@pytest.mark.parametrize("form", FORMS)
def test_a_stream_needs_nothing_but_what_is_kept(generator, form):
    layer, x = layer_and_rows(generator, 2)
    whole = layer(x, mask=causal_mask(11))
    kept = layer.compress(x[:, :0])
    for t in range(11):
        token = x[:, t : t + 1]
        kept = torch.cat([kept, layer.compress(token)], dim=1)
        assert_close(layer(token, kept, form=form), whole[:, t : t + 1], **EXACT)
    assert kept.shape == (2, 11, 2)


@pytest.mark.parametrize("form", FORMS)
def test_the_probe_sees_the_weights_of_all_heads(generator, form):
    layer, x = layer_and_rows(generator)
    seen = []
    layer.weights.register_forward_hook(lambda module, given, out: seen.append(out))
    layer(x, mask=causal_mask(11), form=form)
    assert seen[0].shape == (3, 11, 11)
    assert_close(seen[0].sum(dim=-1), torch.ones(3, 11).double(), **EXACT)


def test_parameters_are_those_of_five_matrices():
    layer = LatentAttention(d_model=7, n_heads=3, d_head=5, d_latent=2)
    sizes = {name: tuple(weight.shape) for name, weight in layer.named_parameters()}
    assert sizes == {
        "W_Q.weight": (15, 7),
        "W_DKV.weight": (2, 7),
        "W_UK.weight": (15, 2),
        "W_UV.weight": (15, 2),
        "W_O.weight": (7, 15),
    }
