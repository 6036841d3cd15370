"""The recipe for a small GPT: who trains which parameter, and the rate by hand."""

import pytest
import torch
from torch.optim import AdamW
from torch.testing import assert_close

from softlookup.models import GPT, GPTConfig
from softlookup.training import Muon, recipe_optimizers, recipe_rate


def small():
    torch.manual_seed(3)
    return GPT(GPTConfig.quick(13, 11, 24, 2, 3))


def test_each_parameter_has_one_optimizer():
    """Muon has the matrices of the blocks; AdamW the two tables and all gains."""
    model = small()
    muon, adam = recipe_optimizers(model, precision=torch.bfloat16)
    assert isinstance(muon, Muon)
    assert isinstance(adam, AdamW)
    assert muon.precision is torch.bfloat16
    name_of = {id(parameter): name for name, parameter in model.named_parameters()}
    with_muon, with_adam = (
        {name_of[id(p)] for group in o.param_groups for p in group["params"]} for o in (muon, adam)
    )
    wide = {name for name, p in model.named_parameters() if p.ndim == 2}
    tables = {"embedding.weight", "unembedding.weight"}
    assert with_muon == wide - tables
    assert with_adam == set(name_of.values()) - with_muon
    assert all(group["weight_decay"] == 0.0 for o in (muon, adam) for group in o.param_groups)


def test_the_rate_by_hand():
    """Of 60 steps four go up, the line down begins after step 18 and ends at 0."""
    up = [recipe_rate(step, n_steps=60) for step in (1, 2, 3, 4)]
    assert_close(up, [0.25, 0.5, 0.75, 1.0])
    level = [recipe_rate(step, n_steps=60) for step in range(4, 19)]
    assert level == [1.0] * 15
    down = [recipe_rate(step, n_steps=60) for step in range(18, 61)]
    assert_close(down, [1 - k / 42 for k in range(43)])


@pytest.mark.parametrize("n_steps", [1, 2, 3, 5])
def test_very_short_runs_have_a_rate_too(n_steps):
    shares = [recipe_rate(step, n_steps=n_steps) for step in range(1, n_steps + 1)]
    assert all(0 <= share <= 1 for share in shares)
    assert shares[-1] == 0.0


def test_steps_that_are_none():
    with pytest.raises(ValueError, match="step must be at most n_steps; got step=8, n_steps=7"):
        recipe_rate(8, n_steps=7)
