"""Schedules, groups, gradients and the loop: worked numbers, laws of the loop, bad input."""

import math
import re
from functools import partial
from itertools import count as numbers

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from softlookup.attention.positions import LearnedPositions
from softlookup.masks import causal_mask, padding_mask
from softlookup.models import EncoderBlock, Transformer, TransformerConfig
from softlookup.ops import cross_entropy
from softlookup.training import (
    accumulate,
    clip_gradients,
    decay_groups,
    inverse_sqrt,
    matrices_and_rest,
    train_model,
    warmup_cosine,
    warmup_stable_decay,
)

VOCAB = 11


@pytest.fixture(autouse=True)
def _seed():
    """The layers draw their weights from the global generator."""
    torch.manual_seed(3)


class Reader(nn.Module):
    """A small language model of the library's parts, for texts of different lengths."""

    def __init__(self, *, dropout=0.0, tied=True):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, 6)
        self.block = EncoderBlock(6, 2, 13, dropout=dropout)
        self.unembedding = nn.Linear(6, VOCAB, bias=False)
        if tied:
            self.unembedding.weight = self.embedding.weight

    def forward(self, ids, lengths):
        mask = causal_mask(ids.shape[-1]) & padding_mask(lengths, ids.shape[-1])
        return self.unembedding(self.block(self.embedding(ids), mask))


def reader_loss(model, batch):
    """The mean over real tokens; each text predicts itself, shifted by one."""
    ids, lengths = batch
    real = torch.arange(ids.shape[1] - 1) < (torch.tensor(lengths) - 1).unsqueeze(-1)
    return cross_entropy(model(ids, lengths)[:, :-1][real], ids[:, 1:][real])


def predictions(batch):
    return sum(batch[1]) - len(batch[1])


@pytest.fixture
def ragged(generator):
    lengths = [7, 2, 5, 3, 7]
    return torch.randint(VOCAB, (5, 7), generator=generator), lengths


def split(batch, *sizes):
    ids, lengths = batch
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    pieces = [(ids[e - s : e], lengths[e - s : e]) for s, e in zip(sizes, ends, strict=True)]
    return [(ids[:, : max(lengths)], lengths) for ids, lengths in pieces]


def gradients(model):
    return {name: p.grad.clone() for name, p in model.named_parameters()}


# schedules


def test_warmup_cosine_by_hand():
    shares = [warmup_cosine(t, n_steps=8, n_warmup=4, last=0.2) for t in range(1, 9)]
    turn = 0.4 * math.sqrt(0.5)
    assert_close(shares, [0.25, 0.5, 0.75, 1.0, 0.6 + turn, 0.6, 0.6 - turn, 0.2])


def test_warmup_cosine_without_warm_up_falls_at_once():
    assert_close([warmup_cosine(t, n_steps=2) for t in (1, 2)], [0.5, 0.0])
    assert [warmup_cosine(t, n_steps=2, n_warmup=2) for t in (1, 2)] == [0.5, 1.0]


def test_inverse_sqrt_is_the_papers_rate():
    """`training-section-empty`: Vaswani's equation 3, with its peak at the end of warm-up."""
    d_model, n_warmup = 512, 4000
    peak = (d_model * n_warmup) ** -0.5
    for step in (1, 17, 3999, 4000, 4001, 100_000):
        paper = d_model**-0.5 * min(step**-0.5, step * n_warmup**-1.5)
        assert_close(inverse_sqrt(step, n_warmup=n_warmup) * peak, paper)
    shares = [inverse_sqrt(t, n_warmup=23) for t in range(1, 200)]
    assert max(shares) == shares[22] == 1.0
    assert_close(peak, 6.987712429686844e-4)


def test_warmup_stable_decay_by_hand():
    shares = partial(warmup_stable_decay, n_steps=10, n_warmup=3, n_decay=4, last=0.5)
    expected = [1 / 3, 2 / 3, 1.0, 1.0, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5]
    assert_close([shares(t) for t in range(1, 11)], expected)


def test_warmup_stable_decay_without_a_level_is_a_triangle():
    shares = [warmup_stable_decay(t, n_steps=5, n_warmup=2, n_decay=3) for t in range(1, 6)]
    assert_close(shares, [1 / 2, 1.0, 2 / 3, 1 / 3, 0.0])


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (partial(warmup_cosine, 0, n_steps=5), "step must be an integer of at least 1; got step=0"),
        (partial(warmup_cosine, 6, n_steps=5), "step must be at most n_steps; got step=6, n_st"),
        (partial(warmup_cosine, 1, n_steps=5, n_warmup=6), "n_warmup must be at most n_steps"),
        (partial(warmup_cosine, 1, n_steps=5, n_warmup=-1), "n_warmup must be an integer of at"),
        (partial(inverse_sqrt, 0, n_warmup=5), "step must be an integer of at least 1"),
        (partial(inverse_sqrt, 1, n_warmup=0), "n_warmup must be an integer of at least 1"),
        (partial(warmup_stable_decay, 1, n_steps=5, n_decay=0), "n_decay must be an integer of"),
        (
            partial(warmup_stable_decay, 1, n_steps=5, n_warmup=2, n_decay=4),
            "n_warmup and n_decay together must be at most n_steps; got n_warmup=2, n_decay=4",
        ),
    ],
)
def test_schedules_refuse_bad_numbers(schedule, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        schedule()


# groups


def names_of(model, parameters):
    names = {id(p): name for name, p in model.named_parameters()}
    return [names[id(p)] for p in parameters]


def test_decay_groups_of_a_tied_model():
    """Bug 34: a tied weight decayed twice, or an embedding decayed as if it were a matrix."""
    model = Reader()
    groups = decay_groups(model, 0.1)
    assert [group["weight_decay"] for group in groups] == [0.1, 0.0]
    linear = [f"block.self_attention.layer.W_{letter}.weight" for letter in "QKVO"]
    linear += [f"block.feed_forward.layer.W_{i}.weight" for i in (1, 2)]
    assert names_of(model, groups[0]["params"]) == linear
    rest = names_of(model, groups[1]["params"])
    assert rest[0] == "embedding.weight"
    assert all(name.endswith(("bias", "norm.weight")) for name in rest[1:])


@pytest.mark.parametrize("tie", ["all", "output", "none"])
def test_every_parameter_is_in_exactly_one_group(tie):
    model = Transformer(TransformerConfig(7, d_model=4, n_heads=2, d_ff=5, tie=tie))
    params = [p for group in decay_groups(model, 0.1) for p in group["params"]]
    assert len(params) == len({id(p) for p in params})
    assert {id(p) for p in params} == {id(p) for p in model.parameters()}
    torch.optim.AdamW(decay_groups(model, 0.1))  # it refuses a parameter that comes twice


def test_an_untied_unembedding_is_a_table_if_one_says_so():
    model = Reader(tied=False)
    head = "unembedding.weight"
    matrices, rest = matrices_and_rest(model)
    assert head in names_of(model, matrices)
    assert head not in names_of(model, rest)
    matrices, rest = matrices_and_rest(model, tables=[model.unembedding])
    assert head not in names_of(model, matrices)
    assert {head, "embedding.weight"} <= set(names_of(model, rest))
    groups = decay_groups(model, 0.1, tables=[model.unembedding])
    assert head in names_of(model, groups[1]["params"])


def test_learned_positions_frozen_weights_and_other_shapes():
    model = nn.ModuleList([LearnedPositions(5, 3), nn.Linear(3, 2), nn.Conv1d(2, 3, 5)])
    model.register_parameter("token", nn.Parameter(torch.zeros(1, 1, 3)))
    model[1].bias.requires_grad_(False)
    matrices, rest = matrices_and_rest(model)
    assert names_of(model, matrices) == ["1.weight"]
    assert names_of(model, rest) == ["token", "0.embedding.weight", "2.weight", "2.bias"]


def test_groups_refuse_bad_input():
    with pytest.raises(
        ValueError, match="each of tables must be a part of the model; got table='L"
    ):
        matrices_and_rest(nn.Linear(2, 3), tables=[nn.Linear(2, 3)])


# clipping


def with_gradients(*rows):
    model = nn.ModuleList([nn.Linear(len(row), 1, bias=False).double() for row in rows])
    for layer, row in zip(model, rows, strict=True):
        layer.weight.grad = torch.tensor([row], dtype=torch.float64)
    return model


def test_one_norm_for_the_whole_model():
    """(2, 3, 6) has length 7, whichever parameter holds which part of it."""
    model = with_gradients([2.0, 3.0], [6.0])
    model.append(nn.Linear(3, 1))  # it has no gradient
    assert clip_gradients(model, 0.7) == pytest.approx(7.0)
    assert_close(model[0].weight.grad, torch.tensor([[0.2, 0.3]], dtype=torch.float64))
    assert_close(model[1].weight.grad, torch.tensor([[0.6]], dtype=torch.float64))


def test_a_short_gradient_is_left_bit_for_bit():
    model = with_gradients([0.1, 0.3])
    before = model[0].weight.grad.clone()
    assert clip_gradients(model, 0.4) == pytest.approx(math.sqrt(0.1))
    assert torch.equal(model[0].weight.grad, before)


def test_a_tied_weight_counts_once():
    model = Reader().double()
    model.embedding.weight.grad = torch.full_like(model.embedding.weight, 2.0)
    assert clip_gradients(model, 1.0) == pytest.approx(2 * math.sqrt(6 * VOCAB))


def test_half_precision_is_measured_in_float32():
    layer = nn.Linear(3, 1, bias=False).half()
    layer.weight.grad = torch.full((1, 3), 60000.0).half()
    assert clip_gradients(layer, 3**0.5) == pytest.approx(60000 * 3**0.5, rel=1e-3)
    assert_close(layer.weight.grad, torch.ones(1, 3).half())


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_gradient_that_is_not_finite_is_an_error_and_changes_nothing(wrong):
    model = with_gradients([2.0, 3.0], [wrong])
    with pytest.raises(ValueError, match=r"gradient must be finite; .*wrong=\['1.weight'\]"):
        clip_gradients(model, 0.7)
    assert model[0].weight.grad.tolist() == [[2.0, 3.0]]


def test_clipping_refuses_bad_input():
    with pytest.raises(ValueError, match=r"max_norm must be above 0; got max_norm=0\.0"):
        clip_gradients(with_gradients([1.0]), 0.0)
    with pytest.raises(ValueError, match="there must be a gradient: call backward first"):
        clip_gradients(nn.Linear(2, 3), 1.0)


# accumulation


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1), (2, 3), (4, 1), (5,)])
def test_parts_of_a_ragged_batch_give_the_gradient_of_the_whole(ragged, sizes):
    """Bug 33: the mean of the parts' means weights the tokens of short parts more."""
    model = Reader().double()
    loss = reader_loss(model, ragged)
    loss.backward()
    whole = gradients(model)
    model.zero_grad()
    found = accumulate(reader_loss, model, split(ragged, *sizes), count=predictions)
    assert found == pytest.approx(loss.item(), rel=1e-13)
    for name, grad in gradients(model).items():
        assert_close(grad, whole[name], rtol=1e-12, atol=1e-12)


def test_the_mean_of_means_is_another_gradient(ragged):
    model = Reader().double()
    reader_loss(model, ragged).backward()
    whole = gradients(model)["embedding.weight"]
    model.zero_grad()
    torch.stack([reader_loss(model, part) for part in split(ragged, 2, 3)]).mean().backward()
    assert (gradients(model)["embedding.weight"] - whole).abs().max() > 1e-3


def test_a_part_without_real_tokens_is_left_out(ragged):
    """Its mean would be 0/0."""
    model = Reader().double()
    parts = [*split(ragged, 2, 3), (torch.zeros(1, 1, dtype=torch.long), [1])]
    found = accumulate(reader_loss, model, parts, count=predictions)
    assert found == pytest.approx(reader_loss(model, ragged).item())
    assert all(grad.isfinite().all() for grad in gradients(model).values())


def test_gradients_are_added_to_those_that_are_there(ragged):
    model = Reader().double()
    accumulate(reader_loss, model, split(ragged, 2, 3), count=predictions)
    once = gradients(model)
    accumulate(reader_loss, model, split(ragged, 4, 1), count=predictions)
    for name, grad in gradients(model).items():
        assert_close(grad, 2 * once[name])


@pytest.mark.parametrize("counts", [[0, 0], [3, -1], []])
def test_accumulation_refuses_counts(counts):
    rule = f"each count must be at least 0, and one at least 1; got counts={counts}"
    with pytest.raises(ValueError, match=re.escape(rule)):
        accumulate(reader_loss, Reader(), counts, count=lambda part: part)


# the loop


def line():
    """A weight that begins at 0, and pulls towards the batch."""
    layer = nn.Linear(1, 1, bias=False).double()
    nn.init.zeros_(layer.weight)
    return layer


def pull(layer, target):
    return (layer.weight - target).square().sum() / 2


def sgd(model, lr=0.5):
    return torch.optim.SGD(model.parameters(), lr=lr)


def test_the_loop_by_hand():
    """w = 0, 4, 6, 5: half of the way to 8, to 8, to 4."""
    layer = line()
    losses = train_model(layer, pull, [8.0, 8.0, 4.0], optimizers=sgd(layer), n_steps=3)
    assert losses == [32.0, 8.0, 2.0]
    assert layer.weight.item() == 5.0


def test_the_schedule_gives_a_share_of_each_groups_rate():
    """Steps count from 1; 8 is pulled by a half, then by a quarter of that."""
    layer, seen = line(), []
    optimizer = sgd(layer)
    optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(1))], "lr": 0.1})

    def schedule(step):
        seen.append(step)
        return 1 / step**2

    train_model(layer, pull, [8.0, 8.0], optimizers=[optimizer], n_steps=2, schedule=schedule)
    assert seen == [1, 2]
    assert layer.weight.item() == 4.5
    assert_close([group["lr"] for group in optimizer.param_groups], [0.125, 0.025])
    train_model(layer, pull, [4.5], optimizers=optimizer, n_steps=1)
    assert_close([group["lr"] for group in optimizer.param_groups], [0.5, 0.1])


def test_the_loop_clips():
    layer = line()
    train_model(layer, pull, [8.0, 8.0], optimizers=sgd(layer), n_steps=2, clip=2.0)
    assert layer.weight.item() == 2.0


def test_parts_of_a_step_are_the_large_batch(ragged):
    model = Reader().double()
    weights = [p.clone() for p in model.parameters()]
    loss = train_model(model, reader_loss, [ragged], optimizers=sgd(model), n_steps=1)
    after = [p.clone() for p in model.parameters()]
    with torch.no_grad():
        for p, before in zip(model.parameters(), weights, strict=True):
            p.copy_(before)
    options = {"n_steps": 1, "n_parts": 2, "count": predictions}
    again = train_model(model, reader_loss, split(ragged, 2, 3), optimizers=sgd(model), **options)
    assert_close(again, loss)
    for p, expected in zip(model.parameters(), after, strict=True):
        assert_close(p.detach(), expected.detach(), rtol=1e-12, atol=1e-12)


def test_no_batch_is_drawn_before_its_step():
    layer, drawn = line(), numbers()
    train_model(layer, pull, drawn, optimizers=sgd(layer), n_steps=3)
    assert next(drawn) == 3


def test_a_run_that_goes_on_knows_its_step():
    layer, seen = line(), []
    train_model(
        layer,
        pull,
        [8.0, 8.0],
        optimizers=sgd(layer),
        n_steps=5,
        n_done=3,
        schedule=lambda step: 1 / step,
        after_step=lambda step, loss: seen.append((step, loss)),
    )
    assert seen == [(4, 32.0), (5, 24.5)]  # an eighth of the way, then a tenth


@pytest.mark.parametrize("mode", [True, False])
def test_the_model_learns_in_training_mode_and_comes_back_in_its_own(mode):
    model, modes = Reader(dropout=0.5).train(mode), []

    def loss(model, batch):
        modes.append(model.block.training)
        if len(modes) == 3:
            raise KeyError("a fault in the loss")
        return next(model.parameters()).square().sum()

    train_model(model, loss, [0, 0], optimizers=sgd(model, 0.1), n_steps=2)
    assert model.training == mode
    with pytest.raises(KeyError, match="a fault"):
        train_model(model, loss, [0], optimizers=sgd(model), n_steps=1)
    assert modes == [True] * 3
    assert model.training == model.block.training == mode


@pytest.mark.parametrize("n_parts", [1, 2])
def test_products_are_rounded_where_asked_and_weights_are_not(n_parts):
    layer, x = nn.Linear(5, 7, bias=False), torch.rand(3, 5)
    rounded = x.bfloat16() @ layer.weight.detach().bfloat16().mT
    means = []

    def loss_of_batch(layer, x):
        means.append(layer(x))
        return means[-1].float().mean()

    options = {"n_steps": 1, "dtype": torch.bfloat16, "n_parts": n_parts, "count": len}
    train_model(layer, loss_of_batch, [x] * n_parts, optimizers=sgd(layer), **options)
    assert len(means) == n_parts
    assert_close(means, [rounded] * n_parts)
    assert not torch.equal(means[0].float(), x @ layer.weight.mT)
    assert layer.weight.dtype == layer.weight.grad.dtype == torch.float32


def test_float16_is_refused_without_a_scaler():
    layer = line()
    with pytest.raises(ValueError, match="got dtype=torch"):
        train_model(layer, pull, [1.0], optimizers=sgd(layer), n_steps=1, dtype=torch.float16)


def test_the_loop_is_silent_unless_asked(capsys):
    layer = line()
    train_model(layer, pull, [8.0] * 5, optimizers=sgd(layer), n_steps=5)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("n_done", "lines"), [(0, ["2", "4", "6"]), (3, ["4", "5", "6"])])
def test_progress_prints_as_many_lines_as_asked(capsys, n_done, lines):
    layer = line()
    still = torch.optim.SGD(layer.parameters(), lr=0.0)
    options = {"n_steps": 6, "n_done": n_done, "progress": 3}
    batches = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0][n_done:]
    losses = train_model(layer, pull, batches, optimizers=still, **options)
    size = len(losses) // 3
    means = [sum(losses[i : i + size]) / size for i in range(0, len(losses), size)]
    out, err = capsys.readouterr()
    pairs = zip(lines, means, strict=True)
    assert out.splitlines() == [f"step {n} of 6: loss {mean:.3f}" for n, mean in pairs]
    assert err == ""


def test_progress_of_a_run_shorter_than_its_lines(capsys):
    layer = line()
    train_model(layer, pull, [1.0, 2.0], optimizers=sgd(layer), n_steps=2, progress=5)
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_before_the_step(wrong):
    layer = line()
    with pytest.raises(ValueError, match="the loss must be finite; got step=2, loss="):
        train_model(layer, pull, [8.0, wrong], optimizers=sgd(layer), n_steps=2)
    assert layer.weight.item() == 4.0


def test_too_few_batches():
    layer = line()
    with pytest.raises(
        ValueError, match=re.escape("enough batches for each step; got step=2, n_p")
    ):
        train_model(layer, pull, [8.0], optimizers=sgd(layer), n_steps=2)
    options = {"n_steps": 2, "n_parts": 2, "count": lambda batch: 1}
    with pytest.raises(ValueError, match="got step=2, n_parts=2, n_batches=1"):
        train_model(layer, pull, [8.0] * 3, optimizers=sgd(layer), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_steps": 2, "n_parts": 2}, "a step of more than one part needs count"),
        ({"n_steps": 2, "n_done": 3}, "n_done must be at most n_steps; got n_done=3, n_steps=2"),
        ({"n_steps": 2, "clip": 0.0}, "clip must be above 0; got clip=0.0"),
    ],
)
def test_the_loop_refuses_bad_numbers(options, message):
    layer = line()
    with pytest.raises(ValueError, match=re.escape(message)):
        train_model(layer, pull, [8.0] * 4, optimizers=sgd(layer), **options)
