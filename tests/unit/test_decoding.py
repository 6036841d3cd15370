"""Decoding: greedy, beam and sampling on models small enough to list all that they can write."""

import itertools
import math
from typing import NamedTuple

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from softlookup.decoding import Hypothesis, beam_search, greedy, sample

BOS, EOS = 0, 1


class Table(NamedTuple):
    """A state: for each text its own table of scores, and what it has written so far."""

    scores: Tensor  # (texts, longest + 1, vocabulary, vocabulary): by place and last token
    place: Tensor


def table_step(tokens, state):
    """A model whose scores depend on the place, on the last token, and on the text."""
    rows = torch.arange(len(tokens))
    scores = state.scores[rows, state.place, tokens]
    return scores, Table(state.scores, state.place + 1)


def tables(n_texts, vocab_size, longest, *, generator, spread=2.0):
    shape = (n_texts, longest + 1, vocab_size, vocab_size)
    scores = spread * torch.randn(shape, dtype=torch.float64, generator=generator)
    return Table(scores, torch.zeros(n_texts, dtype=torch.long))


def log_probability(table, ids, text=0):
    """Of one row of tokens, the end included if it is there, by a loop."""
    total, last = 0.0, BOS
    for place, token in enumerate(ids):
        row = table.scores[text, place, last].tolist()
        total += row[token] - math.log(sum(math.exp(score) for score in row))
        last = token
    return total


def all_texts(table, max_length):
    """Every text that ends in time, and every beginning that is cut off, the best first."""
    vocab_size = table.scores.shape[-1]
    words = [token for token in range(vocab_size) if token != EOS]
    found = []
    for length in range(max_length):
        for ids in itertools.product(words, repeat=length):
            found.append(Hypothesis(list(ids), log_probability(table, [*ids, EOS]), True))
    for ids in itertools.product(words, repeat=max_length):
        found.append(Hypothesis(list(ids), log_probability(table, ids), False))
    return found


def best_first(texts, alpha=0.0):
    def rank(text):
        length = len(text.ids) + text.finished
        return not text.finished, -text.log_probability / ((5 + length) / 6) ** alpha

    return sorted(texts, key=rank)


def assert_same_texts(got, expected):
    assert [(t.ids, t.finished) for t in got] == [(t.ids, t.finished) for t in expected]
    first, second = ([text.log_probability for text in texts] for texts in (got, expected))
    assert first == pytest.approx(second, rel=1e-10)


@pytest.fixture
def table(generator):
    return tables(1, 4, 5, generator=generator)


@pytest.fixture
def many(generator):
    return tables(11, 5, 7, generator=generator)


# greedy


def test_greedy_is_a_loop_of_largest_scores(many):
    for text, found in enumerate(greedy(table_step, many, BOS, EOS, 7)):
        ids, last = [], BOS
        while len(ids) < 7 and (not ids or last != EOS):
            last = many.scores[text, len(ids), last].argmax().item()
            ids.append(last)
        assert found.finished == (ids[-1] == EOS)
        assert found.ids == [token for token in ids if token != EOS]
        assert found.log_probability == pytest.approx(log_probability(many, ids, text))


def test_batch_of_texts_is_each_text_alone(many):
    """Some end early: those that go on must keep their own rows."""
    together = greedy(table_step, many, BOS, EOS, 7)
    assert len({len(text.ids) for text in together}) > 2
    alone = [greedy(table_step, Table(many.scores[i : i + 1], many.place[i : i + 1]), BOS, EOS, 7)
             for i in range(11)]  # fmt: skip
    assert_same_texts(together, [text for texts in alone for text in texts])


def test_first_of_equal_tokens_is_written():
    def step(tokens, state):
        return torch.tensor([[0.0, -1.0, 2.0, 2.0]]).expand(len(tokens), -1), state

    assert greedy(step, None, BOS, EOS, 3)[0].ids == [2, 2, 2]
    assert beam_search(step, None, BOS, EOS, 3, width=1)[0].ids == [2, 2, 2]


def test_last_allowed_token_may_be_the_end():
    def step(tokens, state):
        ends = tokens == 2
        return torch.stack((ends * 0.0, ends * 9.0, ~ends * 9.0), dim=-1), state

    assert greedy(step, None, BOS, EOS, 2)[0].finished
    assert not greedy(step, None, BOS, EOS, 1)[0].finished
    assert greedy(step, None, BOS, EOS, 1)[0].ids == greedy(step, None, BOS, EOS, 2)[0].ids == [2]


def test_state_may_be_nested_and_hold_what_is_no_tensor(many):
    def step(tokens, state):
        (table, note), hidden = state
        scores, table = table_step(tokens, table)
        assert len(hidden) == len(tokens)
        return scores, ((table, note), hidden)

    state = ((many, "a note"), torch.arange(11))
    expected = greedy(table_step, many, BOS, EOS, 7)
    assert_same_texts(greedy(step, state, BOS, EOS, 7), expected)


# beam search


@pytest.mark.parametrize("seed", range(7))
@pytest.mark.parametrize("max_length", [1, 2, 5])
def test_beam_of_width_one_is_greedy(seed, max_length):
    table = tables(1, 5, 5, generator=torch.Generator().manual_seed(seed))
    found = beam_search(table_step, table, BOS, EOS, max_length, width=1)
    assert_same_texts(found, greedy(table_step, table, BOS, EOS, max_length))


@pytest.mark.parametrize("max_length", [1, 2, 4])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_wide_beam_is_exhaustive_search(table, max_length, alpha):
    """With a place for every beginning, all texts are found, in the right order."""
    found = beam_search(table_step, table, BOS, EOS, max_length, width=1000, length_penalty=alpha)
    assert_same_texts(found, best_first(all_texts(table, max_length), alpha))


def test_probabilities_of_all_texts_sum_to_one(table):
    found = beam_search(table_step, table, BOS, EOS, 4, width=1000)
    assert sum(math.exp(text.log_probability) for text in found) == pytest.approx(1)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 6])
def test_beam_is_a_loop_over_beginnings(seed):
    """Width three: an independent search that writes every beginning out in full."""
    table = tables(1, 4, 5, generator=torch.Generator().manual_seed(seed))
    live, ended, width, early = [[]], [], 3, 0
    for _ in range(5):
        early = len(ended)
        grown = [[*ids, token] for ids in live for token in range(4)]
        grown.sort(key=lambda ids: -log_probability(table, ids))
        kept = grown[: width - len(ended)]
        ended += [ids for ids in kept if ids[-1] == EOS]
        live = [ids for ids in kept if ids[-1] != EOS]
    assert early > 0  # a text that ended leaves an empty place
    expected = [Hypothesis(ids[:-1], log_probability(table, ids), True) for ids in ended]
    expected += [Hypothesis(ids, log_probability(table, ids), False) for ids in live]
    found = beam_search(table_step, table, BOS, EOS, 5, width=3)
    assert_same_texts(found, best_first(expected))


def fork_step(tokens, state):
    """Greedy takes 2 (0.6), after which all is even; the best text starts with 3 (0.4)."""
    rows = {BOS: [0, 0, 0.6, 0.4], 2: [0.25, 0.25, 0.25, 0.25], 3: [0, 1, 0, 0]}
    return torch.tensor([rows[token] for token in tokens.tolist()]).log(), state


def test_beam_finds_what_greedy_misses():
    assert greedy(fork_step, None, BOS, EOS, 2)[0].ids[0] == 2
    best = beam_search(fork_step, None, BOS, EOS, 2, width=2)[0]
    assert best.ids == [3]
    assert math.exp(best.log_probability) == pytest.approx(0.4)


def test_texts_of_probability_zero_are_not_found():
    found = beam_search(fork_step, None, BOS, EOS, 2, width=1000)
    assert sorted(text.ids for text in found) == [[2], [2, 0], [2, 2], [2, 3], [3]]


def test_length_penalty_by_hand():
    """0.4 at once, or 0.6 · 0.6 in two tokens: the penalty turns the order round."""

    def step(tokens, state):
        row = [0.6, 0.4, 0.0]
        last = [0.0, 1.0, 0.0]
        rows = [row if place < 2 else last for place in state.tolist()]
        return torch.tensor(rows, dtype=torch.float64).log(), state + 1

    start = torch.zeros(1)
    plain = beam_search(step, start, BOS, EOS, 3, width=5)
    fair = beam_search(step, start, BOS, EOS, 3, width=5, length_penalty=1.0)
    assert [text.ids for text in plain] == [[], [0, 0], [0]]
    assert [text.ids for text in fair] == [[0, 0], [], [0]]
    scores = {0: math.log(0.4) / (6 / 6), 1: math.log(0.24) / (7 / 6), 2: math.log(0.36) / (8 / 6)}
    assert sorted(scores, key=scores.get, reverse=True) == [len(text.ids) for text in fair]


def test_texts_cut_off_come_last(generator):
    def step(tokens, state):
        return torch.tensor([[0.9, 0.1]]).log().expand(len(tokens), -1), state

    found = beam_search(step, None, BOS, EOS, 3, width=9)
    assert [text.finished for text in found] == [True, True, True, False]
    assert found[-1].log_probability > found[0].log_probability


# sampling


def test_cold_samples_are_greedy(many, generator):
    found = sample(table_step, many, BOS, EOS, 7, generator=generator, temperature=1e-4)
    assert_same_texts(found, greedy(table_step, many, BOS, EOS, 7))


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_texts_come_as_often_as_the_model_says(generator, temperature):
    one = tables(1, 3, 2, generator=generator, spread=1.0)
    crowd = Table(one.scores.expand(20011, -1, -1, -1), one.place.expand(20011))
    found = sample(table_step, crowd, BOS, EOS, 2, generator=generator, temperature=temperature)
    hot = Table(one.scores / temperature, one.place)
    for text in all_texts(hot, 2):
        same = [other for other in found if other[::2] == text[::2]]
        share = len(same) / len(found)
        assert share == pytest.approx(math.exp(text.log_probability), abs=0.015)
        ids = text.ids + [EOS] * text.finished
        assert same[0].log_probability == pytest.approx(log_probability(one, ids))


def test_same_seed_same_sample(many):
    runs = [sample(table_step, many, BOS, EOS, 7, generator=torch.Generator().manual_seed(s))
            for s in (5, 5, 6)]  # fmt: skip
    assert runs[0] == runs[1] != runs[2]


def test_decoding_builds_no_graph(generator):
    weight = torch.ones(1, 3, requires_grad=True)
    seen = []

    def step(tokens, state):
        scores = weight * state
        seen.append(scores.requires_grad)
        return scores, state

    start = torch.ones(1, 3)
    greedy(step, start, BOS, EOS, 2)
    beam_search(step, start, BOS, EOS, 2, width=2)
    sample(step, start, BOS, EOS, 2, generator=generator)
    assert not any(seen)


# bad input


def any_search(name, step, state, *, bos=BOS, eos=EOS, max_length=3):
    options = {"sample": {"generator": torch.Generator()}, "beam": {"width": 2}, "greedy": {}}
    search = {"sample": sample, "beam": beam_search, "greedy": greedy}[name]
    return search(step, state, bos, eos, max_length, **options[name])


@pytest.mark.parametrize("name", ["greedy", "beam", "sample"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_length": 0}, "max_length must be an integer of at least 1; got max_length=0"),
        ({"bos": -1}, "bos must be an integer of at least 0; got bos=-1"),
        ({"eos": -2}, "eos must be an integer of at least 0; got eos=-2"),
        ({"eos": 4}, "eos must be a token of the vocabulary; got eos=4, vocab_size=4"),
    ],
)
def test_all_refuse_limits_and_tokens(name, change, message):
    def step(tokens, state):
        return torch.zeros(len(tokens), 4), state

    with pytest.raises(ValueError, match=message):
        any_search(name, step, None, **change)


@pytest.mark.parametrize("name", ["greedy", "beam", "sample"])
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (torch.full((1, 4), math.nan), "must be numbers, and not all -inf; got n_nan=4"),
        (torch.full((1, 4), -math.inf), "must be numbers, and not all -inf; got n_nan=4"),
        (torch.zeros(4), r"one row per text; got scores=\(4,\), n_texts=1"),
        (torch.zeros(2, 4), r"one row per text; got scores=\(2, 4\), n_texts=1"),
        (torch.zeros(1, 4).long(), "scores must hold floating-point numbers"),
    ],
)
def test_all_refuse_scores(name, scores, message):
    with pytest.raises(ValueError, match=message):
        any_search(name, lambda tokens, state: (scores, state), None)


@pytest.mark.parametrize("name", ["greedy", "beam", "sample"])
def test_all_refuse_states_that_do_not_agree(name):
    state = (torch.zeros(2, 3), torch.zeros(1))
    with pytest.raises(ValueError, match=r"must have as many rows; got n_rows=\[1, 2\]"):
        any_search(name, table_step, state)
    with pytest.raises(ValueError, match=r"state must have an axis of texts; got state=\(\)"):
        any_search(name, table_step, torch.tensor(1.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "width must be an integer of at least 1; got width=0"),
        ({"width": 2, "length_penalty": -0.1}, r"at least 0 and finite; got length_penalty=-0\.1"),
        ({"width": 2, "length_penalty": math.nan}, "and finite; got length_penalty=nan"),
    ],
)
def test_beam_refuses(table, options, message):
    with pytest.raises(ValueError, match=message):
        beam_search(table_step, table, BOS, EOS, 3, **options)


def test_beam_refuses_several_texts(many):
    with pytest.raises(ValueError, match="the state of one text; got n_texts=11"):
        beam_search(table_step, many, BOS, EOS, 3, width=2)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_sample_refuses_a_temperature(table, generator, temperature):
    with pytest.raises(ValueError, match="temperature must be positive and finite"):
        sample(table_step, table, BOS, EOS, 3, generator=generator, temperature=temperature)


def test_log_probabilities_and_logits_are_the_same_to_a_search(many):
    def step(tokens, state):
        scores, state = table_step(tokens, state)
        return torch.log_softmax(scores + 3, dim=-1), state

    first, second = (greedy(s, many, BOS, EOS, 7) for s in (step, table_step))
    assert_same_texts(first, second)
    assert_close(*[torch.tensor([t.log_probability for t in texts]) for texts in (first, second)])
