"""The forward algorithm against the sum over all ways through the states."""

import itertools
import math

import pytest
import torch

from softlookup.language_models import forward_algorithm, next_observation


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


@pytest.mark.parametrize("observations", [[], [1], [2, 0, 1]])
def test_the_next_word_is_a_ratio_of_texts(model, observations):
    row = next_observation(torch.tensor(observations, dtype=torch.long), *model)
    _, before = forward_algorithm(torch.tensor(observations, dtype=torch.long), *model)
    for word, p in enumerate(row.tolist()):
        _, after = forward_algorithm(torch.tensor([*observations, word]), *model)
        assert p == pytest.approx(math.exp(after - before), rel=1e-12)


def test_the_first_word_matters_for_ever():
    """Two states that never change: no n-gram sees this, the belief does."""
    silent = torch.tensor([[0.5, 0.0, 0.5], [0.0, 0.5, 0.5]], dtype=torch.float64)
    half, stay = torch.full((2,), 0.5, dtype=torch.float64), torch.eye(2, dtype=torch.float64)
    for first in (0, 1):
        row = next_observation(torch.tensor([first] + [2] * 30), half, stay, silent)
        assert row.tolist() == silent[first].tolist()


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


@pytest.mark.bad_input
def test_shapes_and_types_must_fit(model):
    initial, transition, emission = model
    one = torch.tensor([0])
    with pytest.raises(ValueError, match="must be"):
        forward_algorithm(one, initial[:1], transition, emission)
    with pytest.raises(ValueError, match="must be"):
        forward_algorithm(one, initial, transition[:1], emission)
    with pytest.raises(ValueError, match="must be"):
        forward_algorithm(one, initial, transition, emission[:1])
    with pytest.raises(ValueError, match="same dtype"):
        forward_algorithm(one, initial.float(), transition, emission)
    with pytest.raises(ValueError, match="floating"):
        forward_algorithm(one, initial.long(), transition, emission)
    with pytest.raises(ValueError, match="one row of ids"):
        forward_algorithm(one.float(), initial, transition, emission)


@pytest.mark.parametrize("id_", [-1, 5])
def test_ids_must_be_words(model, id_):
    with pytest.raises(ValueError, match=r"ids must be from 0 to \d; got wrong="):
        next_observation(torch.tensor([0, id_]), *model)
