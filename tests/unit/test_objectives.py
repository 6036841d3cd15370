"""Objectives: worked numbers, oracles with loops, what must have no influence, bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.language_models import (
    mask_tokens,
    masked_loss,
    next_token_log_probabilities,
    next_token_loss,
    next_token_pairs,
    random_pieces,
    smoothed_cross_entropy,
    smoothed_targets,
)
from softlookup.ops import cross_entropy

MASK, VOCAB = 3, 11


def log_p(row, token):
    """Of one token, from a row of scores, with plain floats."""
    row = row.tolist()
    return row[token] - math.log(sum(map(math.exp, row)))


def random_scores(generator, *shape):
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def random_ids(generator, *shape, vocab_size=VOCAB):
    return torch.randint(vocab_size, shape, generator=generator)


# the next token


def test_pairs_are_the_text_and_what_follows():
    inputs, targets = next_token_pairs(torch.tensor([[4, 8, 1, 9], [2, 2, 7, 0]]))
    assert inputs.tolist() == [[4, 8, 1], [2, 2, 7]]
    assert targets.tolist() == [[8, 1, 9], [2, 7, 0]]


def test_next_token_loss_is_a_loop(generator):
    scores, ids = random_scores(generator, 3, 5, VOCAB), random_ids(generator, 3, 5)
    terms = [-log_p(scores[b, i], ids[b, i + 1]) for b in range(3) for i in range(4)]
    expected = torch.tensor(sum(terms) / 12, dtype=torch.float64)
    assert_close(next_token_loss(scores, ids), expected)


def test_next_token_loss_counts_tokens_and_not_texts(generator):
    scores, ids, lengths = (
        random_scores(generator, 4, 5, VOCAB),
        random_ids(generator, 4, 5),
        [5, 2, 1, 0],
    )
    terms = [-log_p(scores[0, i], ids[0, i + 1]) for i in range(4)]
    terms.append(-log_p(scores[1, 0], ids[1, 1]))  # the other two have nothing to predict
    expected = torch.tensor(sum(terms) / 5, dtype=torch.float64)
    assert_close(next_token_loss(scores, ids, lengths), expected)
    assert_close(next_token_loss(scores, ids, torch.tensor(lengths)), expected)


def test_last_row_and_filler_have_no_influence(generator):
    scores, ids, lengths = (
        random_scores(generator, 2, 5, VOCAB),
        random_ids(generator, 2, 5),
        [5, 3],
    )
    expected = next_token_loss(scores, ids, lengths)
    scores[0, 4] = scores[1, 2:] = math.nan
    scores.requires_grad_(True)
    found = next_token_loss(scores, ids, lengths)
    assert_close(found, expected)
    found.backward()
    assert (scores.grad[0, 4] == 0).all()
    assert (scores.grad[1, 2:] == 0).all()
    assert (scores.grad[1, :2] != 0).all()


def test_even_scores_cost_the_logarithm_of_the_vocabulary():
    loss = next_token_loss(torch.zeros(2, 3, 7), torch.tensor([[5, 2, 6], [1, 0, 0]]))
    assert_close(loss, torch.tensor(math.log(7)))


# pieces of a text


def test_pieces_begin_at_every_place_as_often(generator):
    """Each of the eight places gets its share of 40,000 draws, within four deviations."""
    batch = next(random_pieces(torch.arange(12), 5, 40_000, generator=generator))
    assert torch.equal(batch - batch[:, :1], torch.arange(5).expand(40_000, -1))
    shares = torch.bincount(batch[:, 0], minlength=9) / 40_000
    assert shares[8] == 0
    assert (shares[:8] - 1 / 8).abs().max() < 4 * (1 / 8 * 7 / 8 / 40_000) ** 0.5


def test_pieces_go_on_without_end_and_the_seed_decides():
    text = torch.arange(100)
    runs = []
    for seed in (5, 5, 6):
        pieces = random_pieces(text, 7, 3, generator=torch.Generator().manual_seed(seed))
        runs.append(torch.stack([next(pieces) for _ in range(4)]))
    assert runs[0].shape == (4, 3, 7)
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])
    assert not torch.equal(runs[0][0], runs[0][1])


def test_one_piece_may_be_the_whole_text(generator):
    batch = next(random_pieces(torch.arange(7), 7, 2, generator=generator))
    assert batch.tolist() == [list(range(7))] * 2


# a window of k


class Pairs:
    """A model that reads all it is given: its scores depend on every token up to the place."""

    def __init__(self, generator, vocab_size=VOCAB):
        self.table = random_scores(generator, 29, vocab_size, vocab_size)
        self.widest = 0

    def __call__(self, ids):
        self.widest = max(self.widest, ids.shape[-1])
        rows = [[self.row(text[: i + 1]) for i in range(len(text))] for text in ids.tolist()]
        return torch.stack([torch.stack(row) for row in rows])

    def row(self, history):
        return sum(self.table[back, token] for back, token in enumerate(reversed(history)))


@pytest.mark.parametrize("window", [1, 2, 5, 12, 13, 20])
@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_every_token_is_predicted_from_the_k_before_it(generator, window, batch_size):
    model, ids = Pairs(generator), random_ids(generator, 13)
    found = next_token_log_probabilities(model, ids, window, batch_size=batch_size)
    text = ids.tolist()
    expected = [log_p(model.row(text[max(0, i - window) : i]), text[i]) for i in range(1, 13)]
    assert_close(found, torch.tensor(expected, dtype=torch.float64))
    assert model.widest <= window


@pytest.mark.parametrize("n", [2, 3, 7, 12, 13])
@pytest.mark.parametrize(("window", "stride"), [(4, 1), (4, 2), (4, 4), (5, 3), (12, 5), (20, 20)])
def test_with_a_stride_every_token_counts_once_and_reads_enough(generator, n, window, stride):
    model, ids = Pairs(generator), random_ids(generator, n)
    found = next_token_log_probabilities(model, ids, window, stride=stride)
    assert found.shape == (n - 1,)
    text = ids.tolist()
    for i in range(1, n):  # equal to one of the histories that are long enough
        least, most = min(i, window - stride + 1), min(i, window)
        allowed = [log_p(model.row(text[i - k : i]), text[i]) for k in range(least, most + 1)]
        assert min(abs(found[i - 1].item() - value) for value in allowed) < 1e-10


def test_a_larger_stride_asks_less(generator):
    calls = []

    def model(ids):
        calls.append(len(ids))
        return torch.zeros(*ids.shape, VOCAB)

    for stride, n_windows in (1, 97), (2, 49), (3, 33), (4, 25):
        calls.clear()
        next_token_log_probabilities(model, random_ids(generator, 101), 4, stride=stride)
        assert sum(calls) == n_windows


def test_log_probabilities_build_no_graph_and_are_precise():
    weight = torch.ones(VOCAB, requires_grad=True)
    model = lambda ids: weight.expand(*ids.shape, VOCAB)  # noqa: E731
    found = next_token_log_probabilities(model, torch.arange(5), 3)
    assert not found.requires_grad
    assert found.dtype == torch.float64


# gaps


def corrupt(generator, ids, **options):
    return mask_tokens(ids, mask_id=MASK, vocab_size=VOCAB, generator=generator, **options)


def ordinary_ids(generator, *shape):
    ids = random_ids(generator, *shape, vocab_size=VOCAB - 1)
    return ids + (ids >= MASK)  # no masks


def test_shares_are_berts(generator):
    """15% chosen; of all tokens 12% masked, 1.5% replaced, 1.5% kept: within four deviations."""
    n = 200_003
    ids = ordinary_ids(generator, n)
    inputs, targets, chosen = corrupt(generator, ids)
    assert targets is ids
    assert (inputs == ids)[~chosen].all()
    kinds = {
        0.15: chosen,
        0.12: inputs == MASK,
        0.015 * 9 / 10: chosen & (inputs != MASK) & (inputs != ids),  # a tenth draws itself
        0.015 * 11 / 10: chosen & (inputs == ids),
    }
    for share, found in kinds.items():
        assert abs(found.double().mean().item() - share) < 4 * (share * (1 - share) / n) ** 0.5


def test_drawn_tokens_are_even_over_all_but_the_special(generator):
    ids = torch.full((50_021,), 5)
    drawn = corrupt(generator, ids, share=1.0, hidden=0.0, replaced=1.0, special=[7, 0]).inputs
    counts = torch.bincount(drawn, minlength=VOCAB)
    assert counts[[MASK, 7, 0]].tolist() == [0, 0, 0]
    others = [i for i in range(VOCAB) if i not in (MASK, 7, 0)]
    assert (counts[others] / len(ids) - 1 / 8).abs().max() < 0.007


def test_special_tokens_and_filler_are_never_chosen(generator):
    ids, lengths = random_ids(generator, 211, 13), torch.randint(14, (211,), generator=generator)
    chosen = corrupt(generator, ids, share=1.0, special=[7], lengths=lengths).chosen
    real = torch.arange(13) < lengths[:, None]
    assert_close(chosen, real & (ids != 7) & (ids != MASK))


@pytest.mark.parametrize(
    ("hidden", "replaced", "is_right"),
    [
        (1.0, 0.0, lambda inputs, ids: inputs == MASK),
        (0.0, 0.0, lambda inputs, ids: inputs == ids),
        (0.0, 1.0, lambda inputs, ids: inputs != MASK),
        (0.3, 0.7, lambda inputs, ids: torch.ones_like(ids, dtype=torch.bool)),
    ],
)
def test_extreme_shares(generator, hidden, replaced, is_right):
    ids = ordinary_ids(generator, 17, 19)
    inputs, _, chosen = corrupt(generator, ids, share=1.0, hidden=hidden, replaced=replaced)
    assert chosen.all()
    assert is_right(inputs, ids).all()
    assert not corrupt(generator, ids, share=0.0).chosen.any()


def test_the_text_stays_and_the_seed_decides(generator):
    ids = ordinary_ids(generator, 7, 23)
    before = ids.clone()
    runs = [corrupt(torch.Generator().manual_seed(seed), ids) for seed in (5, 5, 6)]
    assert torch.equal(ids, before)
    assert torch.equal(runs[0].inputs, runs[1].inputs)
    assert not torch.equal(runs[0].chosen, runs[2].chosen)


def test_ids_keep_their_dtype(generator):
    assert corrupt(generator, torch.arange(4, 9, dtype=torch.int32)).inputs.dtype == torch.int32


def test_masked_loss_is_a_loop_over_the_chosen(generator):
    scores, ids = random_scores(generator, 2, 5, VOCAB), random_ids(generator, 2, 5)
    chosen = torch.tensor([[True, False, True, False, False], [False] * 4 + [True]])
    places = [(0, 0), (0, 2), (1, 4)]
    expected = -sum(log_p(scores[place], ids[place]) for place in places) / 3
    assert_close(masked_loss(scores, ids, chosen), torch.tensor(expected, dtype=torch.float64))


def test_places_that_are_not_chosen_have_no_influence(generator):
    scores, ids = random_scores(generator, 2, 5, VOCAB), random_ids(generator, 2, 5)
    chosen = torch.rand(2, 5, generator=generator) < 0.4
    expected = masked_loss(scores, ids, chosen)
    scores[~chosen] = math.nan
    scores.requires_grad_(True)
    loss = masked_loss(scores, ids, chosen)
    loss.backward()
    assert_close(loss, expected)
    assert (scores.grad[~chosen] == 0).all()
    assert (scores.grad[chosen] != 0).any(dim=-1).all()


# softened targets


def test_softened_targets_by_hand():
    found = smoothed_targets(torch.tensor([[1], [4]]), vocab_size=5, smoothing=0.1)
    rows = [[0.02, 0.92, 0.02, 0.02, 0.02], [0.02, 0.02, 0.02, 0.02, 0.92]]
    assert_close(found, torch.tensor(rows)[:, None])


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_softened_targets_sum_to_one(generator, smoothing):
    ids = random_ids(generator, 3, 7)
    rows = smoothed_targets(ids, VOCAB, smoothing).double()
    assert_close(rows.sum(dim=-1), torch.ones(3, 7, dtype=torch.float64))
    assert torch.equal(rows.argmax(dim=-1), ids)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_smoothed_loss_is_cross_entropy_with_the_softened_targets(generator, smoothing):
    scores, ids = random_scores(generator, 3, 5, VOCAB), random_ids(generator, 3, 5)
    targets = smoothed_targets(ids, VOCAB, smoothing).double()
    expected = -(targets * torch.log_softmax(scores, dim=-1)).sum(dim=-1).mean()
    assert_close(smoothed_cross_entropy(scores, ids, smoothing), expected, rtol=1e-6, atol=0)


def test_least_smoothed_loss_is_the_entropy_of_the_targets(generator):
    ids = torch.tensor([2])
    targets = smoothed_targets(ids, VOCAB, 0.1).double()
    entropy = -(targets * targets.log()).sum()
    assert_close(smoothed_cross_entropy(targets.log(), ids, 0.1), entropy, rtol=1e-6, atol=0)
    for change in random_scores(generator, 7, VOCAB):
        assert smoothed_cross_entropy(targets.log() + 0.1 * change, ids, 0.1) > entropy


def test_no_smoothing_is_cross_entropy(generator):
    scores, ids = random_scores(generator, 5, VOCAB), random_ids(generator, 5)
    assert torch.equal(smoothed_cross_entropy(scores, ids, 0.0), cross_entropy(scores, ids))
    scores[0, (ids[0] + 1) % VOCAB] = -math.inf  # impossible tokens are no harm without smoothing
    assert smoothed_cross_entropy(scores, ids, 0.0).isfinite()


# bad input

SCORES, IDS = torch.zeros(2, 3, VOCAB), torch.zeros(2, 3, dtype=torch.long)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (torch.tensor([1]), r"at least two tokens.*; got ids=\(1,\)"),
        (torch.zeros(5, 1).long(), r"at least two tokens.*; got ids=\(5, 1\)"),
    ],
)
def test_a_text_needs_two_tokens(ids, message):
    with pytest.raises(ValueError, match=message):
        next_token_pairs(ids)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((SCORES[:, :1], IDS[:, :1]), "at least two tokens"),
        ((SCORES, IDS + VOCAB), "ids must be from 0 to 10; got smallest=11"),
        ((SCORES, IDS, [3]), r"lengths one number for each; got ids=\(2, 3\), lengths=\(1,\)"),
        ((SCORES[0], IDS[0], [3]), r"ids must be one row per text"),
        ((SCORES, IDS, [3, 4]), "lengths must be from 0 to 3; got smallest=3, largest=4"),
        ((SCORES, IDS, [1, 0]), r"one text must have two real tokens; got lengths=\[1, 0\]"),
    ],
)
def test_next_token_loss_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        next_token_loss(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "window must be an integer of at least 1; got window=0"),
        ({"window": 3, "stride": 0}, "stride must be an integer of at least 1; got stride=0"),
        ({"window": 3, "stride": 4}, "stride must be at most window; got stride=4, window=3"),
        ({"window": 3, "batch_size": 0}, "batch_size must be an integer of at least 1"),
    ],
)
def test_log_probabilities_refuse(options, message):
    model = lambda ids: torch.zeros(*ids.shape, VOCAB)  # noqa: E731
    with pytest.raises(ValueError, match=message):
        next_token_log_probabilities(model, torch.arange(5), **options)


@pytest.mark.bad_input
def test_log_probabilities_refuse_texts_and_scores():
    model = lambda ids: torch.zeros(*ids.shape, 4)  # noqa: E731
    with pytest.raises(ValueError, match="at least two tokens"):
        next_token_log_probabilities(model, torch.tensor([1]), 2)
    with pytest.raises(ValueError, match="ids must be from 0 to 3; got smallest=0, largest=4"):
        next_token_log_probabilities(model, torch.arange(5), 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replaced": 0.3}, r"sum to at most 1; got hidden=0\.8, replaced=0\.3"),
        ({"special": range(VOCAB)}, "some token must not be special"),
        ({"vocab_size": 5}, "ids must be from 0 to 4; got smallest=0, largest=6"),
        ({"vocab_size": 0}, "vocab_size must be an integer of at least 1"),
        ({"lengths": [7]}, "ids must be one row per text"),
    ],
)
def test_mask_tokens_refuses(generator, options, message):
    given = {"mask_id": MASK, "vocab_size": VOCAB, **options}
    with pytest.raises(ValueError, match=message):
        mask_tokens(torch.arange(7), generator=generator, **given)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (torch.zeros(2, 3).bool(), "at least one token must be chosen"),
    ],
)
def test_masked_loss_refuses(chosen, message):
    with pytest.raises(ValueError, match=message):
        masked_loss(SCORES, IDS, chosen)


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, math.nan])
def test_smoothing_must_be_a_share(smoothing):
    message = "smoothing must be at least 0 and less than 1"
    with pytest.raises(ValueError, match=message):
        smoothed_cross_entropy(SCORES, IDS, smoothing)
    with pytest.raises(ValueError, match=message):
        smoothed_targets(IDS, VOCAB, smoothing)


def test_smoothing_refuses_targets_and_scores():
    with pytest.raises(ValueError, match="targets must be from 0 to 4; got smallest=5, largest=5"):
        smoothed_targets(torch.tensor([5]), 5, 0.1)
    scores = SCORES.clone()
    scores[0, 0, 1] = -math.inf
    with pytest.raises(ValueError, match="scores must be finite: smoothing asks"):
        smoothed_cross_entropy(scores, IDS, 0.1)


@pytest.mark.parametrize(
    ("ids", "length", "batch_size", "message"),
    [
        (torch.arange(4), 5, 1, r"at least length tokens; got ids=\(4,\), length=5"),
        (torch.arange(4), 0, 1, "length must be an integer of at least 1; got length=0"),
        (torch.arange(4), 2, 0, "batch_size must be an integer of at least 1; got batch_size=0"),
    ],
)
def test_pieces_refuse(generator, ids, length, batch_size, message):
    with pytest.raises(ValueError, match=message):
        next(random_pieces(ids, length, batch_size, generator=generator))
