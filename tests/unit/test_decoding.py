"""Decoding: greedy, beam and sampling on models small enough to list all that they can write."""

import itertools
import math
from typing import NamedTuple

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from softlookup.language_models import (
    Hypothesis,
    beam_search,
    greedy,
    min_p_filter,
    sample,
    sampling_weights,
    top_k_filter,
    top_p_filter,
)

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


# filters


def kept(scores):
    """The tokens that a filter left, row by row."""
    return [[j for j, score in enumerate(row) if score > -math.inf] for row in scores.tolist()]


SHARES = torch.tensor([[0.1, 0.4, 0.05, 0.4, 0.05], [0.02, 0.9, 0.03, 0.04, 0.01]])


@pytest.mark.parametrize(
    ("k", "tokens"),
    [
        (1, [[1], [1]]),
        (2, [[1, 3], [1, 3]]),
        (4, [[0, 1, 2, 3], [0, 1, 2, 3]]),  # of two equal ones, the first
        (9, [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]),
    ],
)
def test_top_k_by_hand(k, tokens):
    assert kept(top_k_filter(SHARES.log(), k)) == tokens


@pytest.mark.parametrize(
    ("p", "tokens"),
    [
        (1e-9, [[1], [1]]),
        (0.39, [[1], [1]]),
        (0.41, [[1, 3], [1]]),
        (0.79, [[1, 3], [1]]),
        (0.81, [[0, 1, 3], [1]]),
        (0.91, [[0, 1, 2, 3], [1, 3]]),
        (1.0, [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]),
    ],
)
def test_top_p_by_hand(p, tokens):
    assert kept(top_p_filter(SHARES.double().log(), p)) == tokens


@pytest.mark.parametrize(
    ("p", "tokens"),
    [
        (0.0, [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]),
        (0.02, [[0, 1, 2, 3, 4], [0, 1, 2, 3]]),
        (0.13, [[0, 1, 3], [1]]),
        (0.26, [[1, 3], [1]]),
        (1.0, [[1, 3], [1]]),
    ],
)
def test_min_p_by_hand(p, tokens):
    assert kept(min_p_filter(SHARES.double().log(), p)) == tokens


@pytest.mark.parametrize(
    ("cut", "limit"), [(top_k_filter, 3), (top_p_filter, 0.7), (min_p_filter, 0.2)]
)
def test_what_is_kept_keeps_its_score_and_the_input_stays(generator, cut, limit):
    scores = torch.randn(2, 7, 11, dtype=torch.float64, generator=generator)
    before = scores.clone()
    found = cut(scores, limit)
    assert torch.equal(scores, before)
    left = found > -math.inf
    assert left.any(dim=-1).all()
    assert not left.all()
    assert torch.equal(found[left], scores[left])
    assert (torch.softmax(found, dim=-1)[~left] == 0).all()  # exactly, not almost


def test_top_p_of_one_keeps_a_tail_that_rounding_would_cut():
    scores = torch.tensor([[0.0, -40.0, -41.0, -800.0]])
    assert kept(top_p_filter(scores, 1.0)) == [[0, 1, 2, 3]]


def test_filters_come_after_the_temperature_and_one_after_the_other(generator):
    """A loop draws from what is left; the crowd must come as often."""
    row = torch.tensor([0.30, 0.02, 0.28, 0.20, 0.15, 0.05], dtype=torch.float64)
    step = lambda tokens, state: (row.log().expand(len(tokens), -1), state)  # noqa: E731
    crowd = torch.zeros(20011, 1)
    cases = [
        ({"temperature": 0.5, "top_p": 0.6}, [0, 2]),  # hot: 0.3, 0.28, 0.2 would be needed
        ({"temperature": 0.5, "min_p": 0.5}, [0, 2]),  # hot: 0.2 and 0.15 as well
        ({"top_k": 4, "top_p": 0.6}, [0, 2]),  # of four: 0.32, 0.30; of all: 0.2 as well
        ({"top_k": 3, "min_p": 0.01}, [0, 2, 3]),
        ({"top_p": 1.0, "min_p": 0.0, "top_k": 6}, [0, 1, 2, 3, 4, 5]),
    ]
    for options, tokens in cases:
        found = sample(step, crowd, 0, None, 1, generator=generator, **options)
        counts = torch.bincount(torch.tensor([text.ids[0] for text in found]), minlength=6)
        heated = row ** (1 / options.get("temperature", 1.0))
        expected = torch.zeros_like(row).index_copy(0, torch.tensor(tokens), heated[tokens])
        assert counts.nonzero().squeeze(-1).tolist() == tokens
        assert_close(counts.double() / 20011, expected / expected.sum(), atol=0.015, rtol=0)
        for text in found[:5]:  # the probability that is told is the model's own
            assert text.log_probability == pytest.approx(math.log(row[text.ids[0]]))
        weights = sampling_weights(row.log(), **options)
        assert_close(weights, expected / expected.sum())
        assert (weights > 0).nonzero().squeeze(-1).tolist() == tokens


def test_one_token_is_always_left(generator):
    step = lambda tokens, state: (torch.zeros(len(tokens), 5), state)  # noqa: E731
    options = {"top_k": 1, "top_p": 1e-9, "min_p": 1.0, "temperature": 1e-3}
    assert sample(step, None, 0, None, 2, generator=generator, **options)[0].ids == [0, 0]


# beginnings and states


def test_each_text_goes_on_from_its_own_token(many):
    first = [0, 3, 2, 4, 0, 1, 2, 3, 4, 0, 2]
    together = greedy(table_step, many, first, EOS, 7)
    for i, token in enumerate(first):
        own = Table(many.scores[i : i + 1], many.place[i : i + 1])
        assert_same_texts(together[i : i + 1], greedy(table_step, own, token, EOS, 7))
    assert_same_texts(greedy(table_step, many, torch.tensor(first), EOS, 7), together)
    assert together[0] != greedy(table_step, many, 3, EOS, 7)[0]


def test_without_an_end_texts_are_cut_off(many, generator):
    found = greedy(table_step, many, BOS, None, 6)
    found += sample(table_step, many, BOS, None, 6, generator=generator)
    assert {len(text.ids) for text in found} == {6}
    assert not any(text.finished for text in found)
    assert any(EOS in text.ids for text in found)


def test_beam_without_an_end_is_exhaustive(table):
    found = beam_search(table_step, table, [BOS], None, 3, width=1000)
    every = [Hypothesis(list(ids), log_probability(table, ids), False)
             for ids in itertools.product(range(4), repeat=3)]  # fmt: skip
    assert_same_texts(found, best_first(every))


class Notes:
    """A state that is no tensor: it selects texts itself, as a cache does."""

    def __init__(self, table, n_texts=None):
        self.table = table
        self.n_texts = len(table.place) if n_texts is None else n_texts

    def rows(self, index):
        return Notes(Table(self.table.scores[index], self.table.place[index]))


def notes_step(tokens, state):
    scores, table = table_step(tokens, state.table)
    return scores, Notes(table)


def test_a_state_may_select_its_texts_itself(many, table, generator):
    expected = greedy(table_step, many, BOS, EOS, 7)
    assert_same_texts(greedy(notes_step, Notes(many), BOS, EOS, 7), expected)
    nested = lambda tokens, state: (lambda s, n: (s, (n, None)))(*notes_step(tokens, state[0]))  # noqa: E731
    assert_same_texts(greedy(nested, (Notes(many), None), BOS, EOS, 7), expected)
    wide = beam_search(table_step, table, BOS, EOS, 4, width=3)
    assert_same_texts(beam_search(notes_step, Notes(table), BOS, EOS, 4, width=3), wide)


def test_a_cache_that_has_read_nothing_takes_its_number_from_the_tokens(many):
    expected = greedy(table_step, many, [BOS] * 11, EOS, 7)
    assert_same_texts(greedy(notes_step, Notes(many, n_texts=0), [BOS] * 11, EOS, 7), expected)


def test_nothing_is_selected_before_a_text_ends(many):
    """A cache is copied by a selection: that must cost nothing while all texts go on."""
    asked = []

    class Watched(Notes):
        def rows(self, index):
            asked.append(len(index))
            return Watched(super().rows(index).table)

    def step(tokens, state):
        scores, table = table_step(tokens, state.table)
        return scores, Watched(table)

    greedy(step, Watched(many), BOS, None, 7)
    assert asked == []
    greedy(step, Watched(many), BOS, EOS, 7)
    assert asked == sorted(asked, reverse=True) != []


# bad input


def any_search(name, step, state, *, bos=BOS, eos=EOS, max_length=3):
    options = {"sample": {"generator": torch.Generator()}, "beam": {"width": 2}, "greedy": {}}
    search = {"sample": sample, "beam": beam_search, "greedy": greedy}[name]
    return search(step, state, bos, eos, max_length, **options[name])


@pytest.mark.parametrize("name", ["greedy", "beam", "sample"])
def test_all_refuse_an_end_that_is_no_token(name):
    step = lambda tokens, state: (torch.zeros(len(tokens), 4), state)  # noqa: E731
    rule = "eos must be a token of the vocabulary; got eos=4, vocab_size=4"
    with pytest.raises(ValueError, match=rule):
        any_search(name, step, None, eos=4)


@pytest.mark.parametrize("name", ["greedy", "beam", "sample"])
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (torch.full((1, 4), math.nan), "must be numbers, and not all -inf; got n_nan=4"),
        (torch.full((1, 4), -math.inf), "must be numbers, and not all -inf; got n_nan=4"),
        (torch.zeros(4), r"one row per text; got scores=\(4,\), n_texts=1"),
        (torch.zeros(2, 4), r"one row per text; got scores=\(2, 4\), n_texts=1"),
        (torch.zeros(1, 4).long(), "step must return scores, a tensor of real numbers"),
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


def test_beam_refuses_several_texts(many):
    with pytest.raises(ValueError, match="the state of one text; got n_texts=11"):
        beam_search(table_step, many, BOS, EOS, 3, width=2)


@pytest.mark.parametrize("option", [{}, {"top_k": 1}, {"top_p": 0.9}, {"min_p": 0.5}])
def test_nearly_no_temperature_leaves_the_most_probable(option):
    scores = torch.tensor([0.0, 1.0, 3.0], dtype=torch.float64)
    weights = sampling_weights(scores, temperature=1e-308, **option)
    assert weights.tolist() == [0, 0, 1]


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_sample_refuses_a_temperature(table, generator, temperature):
    with pytest.raises(ValueError, match="temperature must be positive and finite"):
        sampling_weights(torch.zeros(3), temperature=temperature)
    with pytest.raises(ValueError, match="temperature must be positive and finite"):
        sample(table_step, table, BOS, EOS, 3, generator=generator, temperature=temperature)


def test_log_probabilities_and_logits_are_the_same_to_a_search(many):
    def step(tokens, state):
        scores, state = table_step(tokens, state)
        return torch.log_softmax(scores + 3, dim=-1), state

    first, second = (greedy(s, many, BOS, EOS, 7) for s in (step, table_step))
    assert_same_texts(first, second)
    assert_close(*[torch.tensor([t.log_probability for t in texts]) for texts in (first, second)])


@pytest.mark.parametrize("name", ["greedy", "beam", "sample"])
@pytest.mark.parametrize("bos", [[0, 1], []])
def test_all_refuse_other_numbers_of_beginnings(name, bos):
    step = lambda tokens, state: (torch.zeros(len(tokens), 4), state)  # noqa: E731
    rule = f"there must be one bos for each text; got n_bos={len(bos)}, n_texts=1"
    with pytest.raises(ValueError, match=rule):
        any_search(name, step, torch.zeros(1), bos=bos)


@pytest.mark.parametrize(
    ("cut", "limit"), [(top_k_filter, 2), (top_p_filter, 0.5), (min_p_filter, 0.5)]
)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_filters_refuse_scores(cut, limit, value):
    with pytest.raises(ValueError, match="scores must be numbers or -inf"):
        cut(torch.tensor([1.0, value]), limit)
