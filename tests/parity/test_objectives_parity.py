"""Objectives and filters against PyTorch's losses and the filters of transformers."""

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close
from transformers.generation.logits_process import (
    LogitsProcessorList,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from softlookup.language_models import (
    masked_loss,
    min_p_filter,
    next_token_log_probabilities,
    next_token_loss,
    sampling_weights,
    smoothed_cross_entropy,
    top_k_filter,
    top_p_filter,
)

IGNORED = -100


@pytest.fixture
def batch(generator):
    scores = 3 * torch.randn(5, 7, 11, dtype=torch.float64, generator=generator)
    return scores, torch.randint(11, (5, 7), generator=generator)


def test_next_token_loss_is_pytorchs(batch):
    scores, ids = batch
    lengths = torch.tensor([7, 3, 2, 1, 5])
    labels = ids.masked_fill(torch.arange(7) >= lengths[:, None], IGNORED)
    expected = F.cross_entropy(scores[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
    assert_close(next_token_loss(scores, ids, lengths), expected)


def test_masked_loss_is_pytorchs(batch, generator):
    scores, ids = batch
    chosen = torch.rand(5, 7, generator=generator) < 0.3
    labels = ids.masked_fill(~chosen, IGNORED)
    expected = F.cross_entropy(scores.flatten(0, 1), labels.flatten())
    assert_close(masked_loss(scores, ids, chosen), expected)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
def test_smoothed_loss_and_its_gradient_are_pytorchs(batch, smoothing):
    scores, ids = batch
    ours, theirs = (scores.clone().requires_grad_(True) for _ in range(2))
    loss = smoothed_cross_entropy(ours, ids, smoothing)
    flat = theirs.flatten(0, 1), ids.flatten()
    expected = F.cross_entropy(*flat, label_smoothing=smoothing)
    assert_close(loss, expected)
    loss.backward()
    expected.backward()
    assert_close(ours.grad, theirs.grad)


def test_a_window_as_long_as_the_text_is_one_pass(batch):
    scores, ids = batch
    found = next_token_log_probabilities(lambda _: scores[:1, :-1], ids[0], window=7)
    expected = -F.cross_entropy(scores[0, :-1], ids[0, 1:], reduction="none")
    assert_close(found, expected)


@pytest.mark.parametrize("k", [1, 3, 10, 11])
def test_top_k_is_that_of_transformers(batch, k):
    scores = batch[0].flatten(0, 1)
    assert_close(top_k_filter(scores, k), TopKLogitsWarper(top_k=k)(None, scores))


@pytest.mark.parametrize("p", [0.01, 0.3, 0.8, 0.99])
def test_top_p_is_that_of_transformers(batch, p):
    scores = batch[0].flatten(0, 1)
    assert_close(top_p_filter(scores, p), TopPLogitsWarper(top_p=p)(None, scores))


@pytest.mark.parametrize("p", [0.01, 0.1, 0.5, 1.0])
def test_min_p_is_that_of_transformers(batch, p):
    scores = batch[0].flatten(0, 1)
    assert_close(min_p_filter(scores, p), MinPLogitsWarper(min_p=p)(None, scores))


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5])
@pytest.mark.parametrize(("k", "p", "least"), [(5, 0.7, 0.02), (8, 0.95, 0.3), (2, 0.4, 0.5)])
def test_all_filters_together_leave_what_transformers_leaves(batch, temperature, k, p, least):
    rows = batch[0].flatten(0, 1)
    chain = LogitsProcessorList([
        TemperatureLogitsWarper(temperature), TopKLogitsWarper(k), TopPLogitsWarper(p),
        MinPLogitsWarper(least),
    ])  # fmt: skip
    expected = torch.softmax(chain(None, rows), dim=-1)
    found = sampling_weights(rows, temperature=temperature, top_k=k, top_p=p, min_p=least)
    assert_close(found, expected)
    assert torch.equal(found == 0, expected == 0)
