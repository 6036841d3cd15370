"""The memory of a GPT: worked numbers, what hooks and meters count, bad input."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import nn

from softlookup.attention import peak_memory
from softlookup.models import GPT, GPTConfig
from softlookup.models.gpt import (
    TrainingMemory,
    WritingMemory,
    parameter_count,
    training_memory,
    writing_memory,
)

SMALL = GPTConfig(101, context=29, d_model=66, n_heads=3, n_layers=2, d_ff=211)
BATCH, N = 7, 23


def kept_bytes(loss_of, model, least=0):
    """What the way forward keeps for the way back, each storage once and no parameter.

    Storages of fewer than ``least`` bytes are left out: ids, and statistics of norms.
    """
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    found = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            found[storage.data_ptr()] = storage  # held, so that no other takes its place
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss_of()
    return sum(n for storage in found.values() if (n := storage.nbytes()) >= least)


def theirs(config, fused):
    """GPT-2 of the library transformers."""
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=config.vocab_size,
            n_positions=config.context,
            n_embd=config.d_model,
            n_layer=config.n_layers,
            n_head=config.n_heads,
            n_inner=config.d_ff,
            activation_function="gelu",
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=None,
            eos_token_id=None,
            attn_implementation="sdpa" if fused else "eager",
        )
    )


def loss_with(model, ids, *, mixed=False):
    def loss():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mixed):
            scores = model(ids, use_cache=False).logits
        return F.cross_entropy(scores.float().flatten(0, 1), ids.flatten())

    return loss


# by hand


def test_gpt_2_by_hand():
    """Eight texts of 1,024 tokens; 16 d numbers for each token in each of 12 blocks."""
    found = training_memory(GPTConfig.gpt2(), 8)
    n_tokens, weights = 8 * 1024, 124_439_808
    assert found.weights == found.gradients == 4 * weights
    assert found.optimizer == 8 * weights
    assert found.activations == 4 * n_tokens * (12 * 16 * 768 + 2 * 768)
    assert found.scores == 3 * 4 * n_tokens * 50_257
    assert found.total == 16 * weights + found.activations + found.scores


def test_attention_that_is_kept_takes_a_number_for_each_pair_and_head():
    fused, kept = (training_memory(SMALL, BATCH, N, fused=fused) for fused in (True, False))
    assert kept.activations - fused.activations == 4 * SMALL.n_layers * BATCH * 3 * N * N
    assert replace(kept, activations=0) == replace(fused, activations=0)


def test_bytes_of_each_precision():
    plain, mixed, half = (
        training_memory(SMALL, BATCH, N, precision=precision, fused=False)
        for precision in ("float32", "mixed", "bfloat16")
    )
    n, tokens, d = parameter_count(SMALL), BATCH * N, SMALL.d_model
    assert [m.weights for m in (plain, mixed, half)] == [4 * n, 6 * n, 2 * n]
    assert [m.gradients for m in (plain, mixed, half)] == [4 * n, 4 * n, 2 * n]
    assert [m.optimizer for m in (plain, mixed, half)] == [8 * n, 8 * n, 4 * n]
    assert plain.activations == 2 * half.activations
    assert plain.scores == mixed.scores == 2 * half.scores
    inside, pairs = 2 * (6 * d + 2 * 211) * 2, 6 * 2 * 3 * N
    assert mixed.activations == tokens * (2 * 2 * 4 * d + inside + pairs + (4 + 2) * d)


@pytest.mark.parametrize(("optimizer", "numbers"), [("sgd", 0), ("momentum", 1), ("adam", 2)])
def test_what_an_optimizer_remembers_is_what_torch_allocates(optimizer, numbers):
    model = nn.Linear(31, 37)
    made = {
        "sgd": torch.optim.SGD(model.parameters(), 0.1),
        "momentum": torch.optim.SGD(model.parameters(), 0.1, momentum=0.9),
        "adam": torch.optim.Adam(model.parameters(), 0.1),
    }[optimizer]
    model(torch.ones(3, 31)).sum().backward()
    made.step()
    states = [v for state in made.state.values() for v in state.values()]
    held = sum(v.nbytes for v in states if torch.is_tensor(v) and v.ndim > 0)
    assert held == numbers * 4 * (31 * 37 + 37)
    memory = training_memory(SMALL, 1, optimizer=optimizer)
    assert memory.optimizer == numbers * 4 * parameter_count(SMALL)


def test_checkpointing_keeps_entrances_and_one_block():
    plain, thrifty = (training_memory(SMALL, BATCH, N, checkpointing=c) for c in (False, True))
    block = 4 * BATCH * N * (8 * 66 + 2 * 211)
    last = 4 * BATCH * N * 2 * 66
    assert plain.activations == 2 * block + last
    assert thrifty.activations == block + 2 * 4 * BATCH * N * 66 + last


def test_a_gate_and_fewer_heads_of_keys_change_what_is_kept():
    tokens = 4 * BATCH * N * SMALL.n_layers
    plain = training_memory(SMALL, BATCH, N).activations
    gated = training_memory(replace(SMALL, gated=True), BATCH, N).activations
    shared = training_memory(replace(SMALL, n_kv_heads=1), BATCH, N).activations
    assert gated - plain == tokens * 2 * 211
    assert plain - shared == tokens * 2 * 2 * 22
    late = training_memory(replace(SMALL, norm_first=False), BATCH, N).activations
    assert plain - late == 4 * BATCH * N * 66  # no norm behind the last block


def test_writing_takes_weights_and_a_cache():
    """The table of GPT-2: 2 · 12 · 768 numbers for each of 1,024 tokens."""
    found = writing_memory(GPTConfig.gpt2(), 5)
    assert found == WritingMemory(2 * 124_439_808, 5 * 1024 * 2 * 12 * 768 * 2)
    assert found.total == found.weights + found.cache
    four = writing_memory(GPTConfig.gpt2(), 5, 100, dtype=torch.float32)
    assert four == WritingMemory(4 * 124_439_808, 5 * 100 * 2 * 12 * 768 * 4)
    for bits in (4, 8, 16):
        in_matrices = 12 * (4 + 8) * 768**2
        others = 124_439_808 - in_matrices
        fewer = writing_memory(GPTConfig.gpt2(), 5, weight_bits=bits)
        assert fewer == WritingMemory(bits * in_matrices // 8 + 2 * others, found.cache)
    slides = replace(SMALL, window=3, n_sinks=2, n_kv_heads=1)
    assert writing_memory(slides, 1, 20).cache == 2 * 2 * 22 * 5 * 2


def test_the_cache_is_as_large_as_the_library_s(generator):
    model = GPT(SMALL)
    ids = torch.randint(101, (BATCH, N), generator=generator)
    cache = model.start(ids)
    held = sum(rows.nbytes for layer in cache.layers for rows in (layer.key, layer.value))
    assert held == writing_memory(SMALL, BATCH, N, dtype=torch.float32).cache


# by a meter


@pytest.mark.parametrize("fused", [True, False])
def test_activations_are_those_that_autograd_keeps(fused, generator):
    """Of transformers' GPT-2, to the byte; statistics and ids besides are less than 2%."""
    model = theirs(SMALL, fused)
    ids = torch.randint(101, (BATCH, N), generator=generator)
    plan = training_memory(SMALL, BATCH, N, fused=fused)
    expected = plan.activations + plan.scores // 3
    assert kept_bytes(loss_with(model, ids), model, least=4 * BATCH * N * 22) == expected
    assert kept_bytes(loss_with(model, ids), model) <= 1.02 * expected


def test_activations_in_mixed_precision(generator):
    """The rounded copies of the matrices are counted with the weights."""
    model = theirs(SMALL, fused=True)
    ids = torch.randint(101, (BATCH, N), generator=generator)
    found = kept_bytes(loss_with(model, ids, mixed=True), model)
    plan = training_memory(SMALL, BATCH, N, precision="mixed")
    copies = 2 * sum(
        p.numel() for name, p in model.named_parameters() if p.ndim == 2 and "wpe" not in name
    )
    expected = plan.activations + plan.scores // 3 + copies
    assert expected <= found <= 1.02 * expected


def test_the_library_keeps_a_row_more_for_each_of_its_norms(generator):
    """They are written out step by step; all else is as in the formula."""
    torch.manual_seed(0)
    model = GPT(SMALL)
    ids = torch.randint(101, (BATCH, N), generator=generator)
    found = kept_bytes(lambda: F.cross_entropy(model(ids).flatten(0, 1), ids.flatten()), model)
    plan = training_memory(SMALL, BATCH, N)
    rows = 4 * BATCH * N * 66 * (2 * SMALL.n_layers + 1)
    expected = plan.activations + plan.scores // 3 + rows
    assert expected <= found <= 1.02 * expected


@pytest.mark.parametrize("fused", [True, False])
def test_a_step_stays_below_the_plan(fused, generator):
    """The peak of a second step, with what the optimizer has remembered from the first."""
    model = theirs(SMALL, fused)
    ids = torch.randint(101, (BATCH, N), generator=generator)
    loss, adam = loss_with(model, ids), torch.optim.Adam(model.parameters(), foreach=False)

    def step():
        adam.zero_grad()
        loss().backward()
        adam.step()

    step()
    model.zero_grad()
    peak = peak_memory(step)
    plan = training_memory(SMALL, BATCH, N, fused=fused)
    held = plan.weights + plan.optimizer + peak
    assert 0.8 * plan.total < held < 1.02 * plan.total


# bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 30}, r"n must be at most the context; got n=30, context=29"),
        ({"batch_size": 0}, "batch_size"),
        ({"precision": "float16"}, "precision"),
        ({"optimizer": "lion"}, "optimizer"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        training_memory(SMALL, **({"batch_size": 1} | options))


def test_writing_refuses_no_text():
    with pytest.raises(ValueError, match="batch_size"):
        writing_memory(SMALL, 0)
    with pytest.raises(ValueError, match="weight_bits"):
        writing_memory(SMALL, weight_bits=3)


def test_the_parts_are_told_by_name():
    assert TrainingMemory(1, 2, 4, 8, 16).total == 31
