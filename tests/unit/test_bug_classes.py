"""Bugs of public projects that other tests do not name: a mask in half precision, a log of 0."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from softlookup.language_models import smoothed_cross_entropy
from softlookup.ops import masked_softmax


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_mask_needs_no_number_that_half_precision_has_not(dtype):
    scores = torch.randn(5, 7, generator=torch.Generator().manual_seed(0)).to(dtype)
    mask = torch.ones(5, 7, dtype=torch.bool).tril(1)
    weights = masked_softmax(scores, mask)
    assert weights.dtype == dtype
    assert torch.equal(weights == 0, ~mask)
    assert_close(weights, masked_softmax(scores.float(), mask).to(dtype))


def test_smoothing_stays_finite_where_a_token_has_probability_0():
    scores, target = torch.tensor([[0.0, -2000.0, 3.0]], dtype=torch.float64), torch.tensor([2])
    expected = F.cross_entropy(scores, target, label_smoothing=0.1)
    assert expected.isfinite()
    assert_close(smoothed_cross_entropy(scores, target, 0.1), expected)
