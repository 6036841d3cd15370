"""The forward algorithm against the sum over all ways through the states."""

import itertools
import math

import pytest
import torch

from softlookup.language_models import forward_algorithm


@pytest.fixture(params=[(2, 3), (3, 5)], ids=str)
def model(request, generator):
    states, vocab = request.param

    def rows(*shape):
        return torch.rand(*shape, generator=generator, dtype=torch.float64) + 0.05

    given = rows(states), rows(states, states), rows(states, vocab)
    return tuple(table / table.sum(dim=-1, keepdim=True) for table in given)


def brute_force(observations, initial, transition, emission):
    """The joint probability with each last state: a sum over every way there."""
    totals = [0.0] * len(initial)
    for way in itertools.product(range(len(initial)), repeat=len(observations)):
        p = initial[way[0]].item()
        for t, (state, word) in enumerate(zip(way, observations, strict=True)):
            p *= transition[way[t - 1], state].item() if t else 1
            p *= emission[state, word].item()
        totals[way[-1]] += p
    return totals


@pytest.mark.parametrize("observations", [[0], [2, 0], [1, 1, 2, 0, 1, 2]])
def test_equals_brute_force(model, observations):
    totals = brute_force(observations, *model)
    belief, log_p = forward_algorithm(torch.tensor(observations), *model)
    assert math.exp(log_p) == pytest.approx(sum(totals), rel=1e-12)
    assert belief.tolist() == pytest.approx([p / sum(totals) for p in totals], rel=1e-12)


def test_all_texts_of_one_length_sum_to_one(model):
    vocab = model[2].shape[1]
    texts = itertools.product(range(vocab), repeat=4)
    logs = [forward_algorithm(torch.tensor(text), *model)[1] for text in texts]
    assert math.fsum(math.exp(log_p) for log_p in logs) == pytest.approx(1, abs=1e-12)


def test_the_first_word_matters_for_ever():
    """Two states that never change: no n-gram sees this, the belief does."""
    silent = torch.tensor([[0.5, 0.0, 0.5], [0.0, 0.5, 0.5]], dtype=torch.float64)
    half, stay = torch.full((2,), 0.5, dtype=torch.float64), torch.eye(2, dtype=torch.float64)
    for first in (0, 1):
        belief, _ = forward_algorithm(torch.tensor([first] + [2] * 30), half, stay, silent)
        assert belief.tolist() == stay[first].tolist()


def test_without_a_word_the_belief_is_the_first(model):
    belief, log_p = forward_algorithm(torch.tensor([], dtype=torch.long), *model)
    assert (belief.tolist(), log_p) == (model[0].tolist(), 0)


def test_long_texts_do_not_underflow(model):
    _, log_p = forward_algorithm(torch.zeros(5000, dtype=torch.long), *model)
    assert -math.inf < log_p < -1000


def test_impossible_words_are_refused():
    half, stay = torch.full((2,), 0.5), torch.eye(2)
    with pytest.raises(ValueError, match="possible in this model; got position=1, word=1"):
        forward_algorithm(torch.tensor([0, 1]), half, stay, torch.eye(2))


@pytest.mark.parametrize("part", [0, 1, 2])
@pytest.mark.parametrize("value", [0.9, -0.1, math.nan])
def test_rows_must_be_distributions(model, part, value):
    tables = [table.clone() for table in model]
    tables[part].view(-1)[0] = value
    name = ["initial", "transition", "emission"][part]
    with pytest.raises(ValueError, match=f"each row of {name} must sum to 1"):
        forward_algorithm(torch.tensor([0]), *tables)


@pytest.mark.parametrize("id_", [-1, 5])
def test_ids_must_be_words(model, id_):
    with pytest.raises(ValueError, match=r"observations must be from 0 to \d; got smallest="):
        forward_algorithm(torch.tensor([0, id_]), *model)
