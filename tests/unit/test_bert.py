"""BERT: exact counts, a loop oracle, filler, the head, one batch learnt by heart, bad input."""

import copy
import io
import math
from dataclasses import FrozenInstanceError, replace

import pytest
import torch
from loops import (
    added,
    attention_by_hand,
    feed_forward_by_hand,
    gelu_by_hand,
    layer_norm_by_hand,
    linear_by_hand,
)
from torch import nn
from torch.testing import assert_close
from whole_models import count, randomised

from softlookup.analysis import capture
from softlookup.attention import MultiHeadAttention
from softlookup.models import BERT, BERTConfig
from softlookup.models.bert import MaskedTokenHead, parameter_count
from softlookup.ops import cross_entropy

SMALL = BERTConfig(13, context=7, d_model=6, n_heads=3, n_layers=2, d_ff=11)
LENGTHS = [7, 2, 5]


@pytest.fixture(autouse=True)
def _seed():
    """The model draws its weights from the global generator."""
    torch.manual_seed(3)


@pytest.fixture
def ids(generator):
    return torch.randint(13, (3, 7), generator=generator)


@pytest.fixture
def segments(generator):
    return torch.randint(2, (3, 7), generator=generator)


def built(config=SMALL, **options):
    return randomised(BERT(replace(config, **options)).double())


# counts


def test_parameters_of_base_and_large():
    """110M and 340M in the paper, which counts another head and rounds."""
    block = 4 * (768**2 + 768) + 2 * 768 * 3072 + 3072 + 768 + 4 * 768
    blocks = 12 * block
    embeddings = (30_522 + 512 + 2) * 768 + 2 * 768
    head = 768**2 + 768 + 2 * 768 + 30_522
    assert parameter_count(BERTConfig.base()) == embeddings + blocks + head == 109_514_298
    assert parameter_count(replace(BERTConfig.base(), head=False)) == 108_891_648
    assert parameter_count(BERTConfig.large()) == 335_174_458


@pytest.mark.parametrize("size", ["base", "large"])
def test_the_built_model_has_as_many(size):
    config = getattr(BERTConfig, size)(28_996)
    with torch.device("meta"):
        assert count(BERT(config)) == parameter_count(config)


@pytest.mark.parametrize(
    "options",
    [{}, {"head": False}, {"d_ff": None}, {"n_segments": 1}, {"n_layers": 1}, {"context": 3}],
)
def test_the_formula_counts_every_choice(options):
    config = replace(SMALL, **options)
    assert count(BERT(config)) == parameter_count(config)


# what it computes


def bert_by_hand(model, ids, segments):
    """The same in loops over one text."""
    rows = []
    for place, (token, segment) in enumerate(zip(ids, segments, strict=True)):
        parts = (
            model.embedding.weight[token].tolist(),
            model.position_embedding.embedding.weight[place].tolist(),
            model.segment_embedding.weight[segment].tolist(),
        )
        rows.append(
            layer_norm_by_hand([sum(part) for part in zip(*parts, strict=True)], model.norm)
        )
    for block in model.blocks:
        read, thought = block.self_attention, block.feed_forward
        rows = added(rows, attention_by_hand(rows, read.layer))
        rows = [layer_norm_by_hand(row, read.norm) for row in rows]
        rows = added(rows, [feed_forward_by_hand(row, thought.layer) for row in rows])
        rows = [layer_norm_by_hand(row, thought.norm) for row in rows]
    return rows


def test_against_loops(ids, segments):
    model = built()
    out = model(ids, segments=segments)
    scores = model.mlm_scores(out)
    for b in range(3):
        rows = bert_by_hand(model, ids[b].tolist(), segments[b].tolist())
        assert_close(out[b], torch.tensor(rows, dtype=torch.float64))
        for i, row in enumerate(rows):
            ready = layer_norm_by_hand(
                gelu_by_hand(linear_by_hand(row, model.head.W)), model.head.norm
            )
            expected = [
                sum(a * b for a, b in zip(ready, vector, strict=True)) + bias
                for vector, bias in zip(
                    model.embedding.weight.tolist(), model.head.bias.tolist(), strict=True
                )
            ]
            assert_close(scores[b, i], torch.tensor(expected, dtype=torch.float64))


def test_what_enters_the_first_block(ids, segments):
    model = built()
    with capture(model, "rows") as seen:
        model(ids, segments=segments)
    total = (
        model.embedding.weight[ids]
        + model.position_embedding.embedding.weight[:7]
        + model.segment_embedding.weight[segments]
    )
    assert_close(
        seen["rows"], nn.functional.layer_norm(total, (6,), *model.norm.parameters(), 1e-12)
    )


def test_without_segments_all_are_the_first(ids):
    model = built()
    assert_close(model(ids), model(ids, segments=torch.zeros_like(ids)))
    assert not torch.allclose(model(ids), model(ids, segments=torch.ones_like(ids)))


def test_scores_of_some_rows_alone(ids):
    model = built()
    rows = model(ids)
    chosen = torch.tensor([[1, 0, 0, 1, 0, 0, 0], [0] * 7, [0, 0, 0, 0, 0, 0, 1]]).bool()
    assert_close(model.mlm_scores(rows[chosen]), model.mlm_scores(rows)[chosen])


# filler


def test_a_ragged_batch_is_its_texts_one_by_one(ids, segments):
    model = built()
    out = model(ids, LENGTHS, segments)
    for b, n in enumerate(LENGTHS):
        alone = model(ids[b : b + 1, :n], segments=segments[b : b + 1, :n])
        assert_close(out[b : b + 1, :n], alone)
    whole = model(ids, torch.tensor([7, 7, 7]), segments)
    assert_close(whole, model(ids, segments=segments))


def test_nan_in_filler_reaches_nothing(ids):
    """Neither the rows nor any gradient, whether the filler's embedding or the place's holds it."""
    clean, dirty = built(), built()
    dirty.load_state_dict(clean.state_dict())
    ids = ids.clamp(max=11)
    for b, n in enumerate(LENGTHS):
        ids[b, n:] = 12
    ids = ids[:, :6]
    lengths = [5, 2, 4]
    with torch.no_grad():
        dirty.embedding.weight[12] = torch.nan
        dirty.position_embedding.embedding.weight[5:] = torch.nan
    gradients = []
    for model in (clean, dirty):
        out = model(ids, lengths)
        kept = torch.cat([out[b, :n] for b, n in enumerate(lengths)])
        gradients.append(torch.autograd.grad(kept.square().sum(), list(model.blocks.parameters())))
        if model is clean:
            expected = kept
    assert_close(kept, expected)
    assert_close(gradients[1], gradients[0])


def test_what_stands_in_filler_s_rows_is_read_by_no_block(ids):
    model = built()
    out = model(ids, LENGTHS)

    def spoil(module, args, rows):
        rows = rows.clone()
        for b, n in enumerate(LENGTHS):
            rows[b, n:] = torch.nan
        return rows

    with model.rows.register_forward_hook(spoil):
        dirty = model(ids, LENGTHS)
    for b, n in enumerate(LENGTHS):
        assert_close(dirty[b, :n], out[b, :n])


def test_every_token_reads_the_whole_text(ids):
    """Both sides of it: the Jacobian of each row by each has something everywhere."""
    model = built()
    with capture(model, "rows") as seen:
        out = model(ids[:1], [5])
    for i in range(5):
        (grad,) = torch.autograd.grad(
            out[0, i].sum() + out[0, i, 0], seen["rows"], retain_graph=True
        )
        assert (grad[0, :5] != 0).any(-1).all()
        assert grad[0, 5:].eq(0).all()


# the tied table


def test_the_tie_holds(ids):
    """After copying, moving, saving and loading: one table embeds and scores."""
    model = built()
    expected = model.mlm_scores(model(ids))
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    loaded = BERT(SMALL).double()
    loaded.load_state_dict(torch.load(file))
    with torch.device("meta"):
        empty = BERT(SMALL).double()
    empty.to_empty(device="cpu").load_state_dict(model.state_dict())
    for other in (copy.deepcopy(model), loaded, empty, copy.deepcopy(model).to("cpu").double()):
        assert count(other) == parameter_count(SMALL)
        assert other.mlm_scores(other(ids)).equal(expected)
        with torch.no_grad():
            other.embedding.weight[4] *= -1.0
        rows = torch.randn(5, 6, dtype=torch.float64)
        moved, before = other.mlm_scores(rows), model.mlm_scores(rows)
        assert moved[:, :4].equal(before[:, :4])
        assert not torch.isclose(moved[:, 4], before[:, 4]).any()
        assert not torch.allclose(other(torch.tensor([[4]])), model(torch.tensor([[4]])))


# the start and the first steps


def test_loss_at_the_start(generator):
    """Scores of about √64 · 0.02 cost next to nothing beside log|V|."""
    config = BERTConfig(1009, context=17, d_model=64, n_heads=4, n_layers=2)
    model = BERT(config)
    ids = torch.randint(1009, (31, 17), generator=generator)
    hidden = torch.randint(1009, (31, 17), generator=generator)
    loss = cross_entropy(model.mlm_scores(model(ids)), hidden).item()
    assert abs(loss - math.log(1009)) < 0.05


def test_where_the_weights_start():
    model = BERT(BERTConfig(1009, context=97, d_model=64, n_heads=4, n_layers=2, n_segments=89))
    for module in model.modules():
        if isinstance(module, nn.Embedding | nn.Linear):
            assert module.weight.std().item() == pytest.approx(0.02, rel=0.05)
        if isinstance(module, nn.Linear):
            assert module.bias.eq(0).all()


def test_every_parameter_gets_a_gradient(ids, segments):
    model = built()
    cross_entropy(model.mlm_scores(model(ids, LENGTHS, segments)), ids.roll(1, 1)).backward()
    without = [n for n, p in model.named_parameters() if p.grad is None or p.grad.eq(0).all()]
    # a bias of the keys adds the same to all scores of a query: the softmax does not see it
    assert [name for name in without if not name.endswith("W_K.bias")] == []


def test_one_batch_is_learnt_by_heart(ids, segments):
    """Each token is to be told from a text whose every third is hidden."""
    model = BERT(replace(SMALL, d_model=16, n_heads=4, d_ff=32))
    hidden = ids.clone()
    hidden[:, ::3] = 12
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(150):
        optimizer.zero_grad()
        cross_entropy(model.mlm_scores(model(hidden, segments=segments)), ids).backward()
        optimizer.step()
    scores = model.mlm_scores(model(hidden, segments=segments))
    assert cross_entropy(scores, ids).item() < 0.05
    assert scores.argmax(-1).equal(ids)


def test_evaluation_switches_every_dropout_off(ids):
    dropped = built(dropout=0.4)
    same = built()
    same.load_state_dict(dropped.state_dict())
    rates = [m.p for m in dropped.modules() if isinstance(m, nn.Dropout)]
    assert rates == [0.4] * (1 + 2 * 4)
    assert not torch.allclose(dropped(ids, LENGTHS), dropped(ids, LENGTHS))
    dropped.eval()
    for fused in (True, False):
        for layer in dropped.modules():
            if isinstance(layer, MultiHeadAttention):
                layer.fused = fused
        assert dropped(ids, LENGTHS).equal(dropped(ids, LENGTHS))
        assert_close(dropped(ids, LENGTHS), same(ids, LENGTHS))


def test_dropout_behind_the_embeddings(ids):
    model = built(dropout=0.75, d_model=96)
    with capture(model, "rows") as seen:
        model(ids)
    assert 0.2 < (seen["rows"] != 0).double().mean() < 0.3


# the config


def test_the_config_is_frozen_and_fills_in_what_follows():
    with pytest.raises(FrozenInstanceError):
        SMALL.d_model = 8
    assert SMALL.width_inside == 11
    assert replace(SMALL, d_ff=None).width_inside == 24
    base, large = BERTConfig.base(), BERTConfig.large(28_996)
    assert (base.vocab_size, base.context, base.width_inside) == (30_522, 512, 3072)
    assert (base.n_layers, base.n_heads, base.dropout) == (12, 12, 0.1)
    assert (large.d_model, large.n_heads, large.n_layers) == (1024, 16, 24)
    assert large.vocab_size == 28_996


def test_all_options_reach_the_parts():
    model = BERT(replace(SMALL, activation="relu", eps=0.1))
    assert model.head.activation == "relu"
    norms = [model.norm, model.head.norm]
    for block in model.blocks:
        assert block.feed_forward.layer.activation == "relu"
        assert not block.self_attention.norm_first
        norms += [block.self_attention.norm, block.feed_forward.norm]
    assert [norm.eps for norm in norms] == [0.1] * 6
    assert BERT(replace(SMALL, head=False)).head is None


@pytest.mark.parametrize(
    "name", ["vocab_size", "context", "d_model", "n_heads", "n_layers", "n_segments"]
)
def test_sizes_are_checked(name):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1; got {name}=0"):
        replace(SMALL, **{name: 0})


def test_bad_choices():
    with pytest.raises(ValueError, match="n_heads must divide d_model; got d_model=6, n_heads=4"):
        replace(SMALL, n_heads=4)
    rule = r"dropout must be at least 0 and less than 1; got dropout=1\.0"
    with pytest.raises(ValueError, match=rule):
        replace(SMALL, dropout=1.0)
    with pytest.raises(ValueError, match=r"eps must be positive and finite; got eps=0\.0"):
        replace(SMALL, eps=0.0)
    with pytest.raises(ValueError, match=r"activation must be one of .*; got activation='swish'"):
        replace(SMALL, activation="swish")
    with pytest.raises(ValueError, match=r"activation must be one of .*; got activation='swish'"):
        MaskedTokenHead(13, 6, activation="swish")
    with pytest.raises(ValueError, match="vocab_size must be an integer of at least 1"):
        MaskedTokenHead(0, 6)


# bad input


@pytest.mark.parametrize("wrong", [-1, 13])
def test_an_id_outside_the_vocabulary(ids, wrong):
    ids[1, 2] = wrong
    with pytest.raises(ValueError, match=f"ids must be from 0 to 12; got .*={wrong}"):
        BERT(SMALL)(ids)


@pytest.mark.parametrize("wrong", [-1, 2])
def test_a_segment_that_is_none(ids, segments, wrong):
    segments[1, 2] = wrong
    with pytest.raises(ValueError, match=f"segments must be from 0 to 1; got .*={wrong}"):
        BERT(SMALL)(ids, segments=segments)


def test_a_text_longer_than_the_context(generator):
    ids = torch.randint(13, (3, 8), generator=generator)
    with pytest.raises(
        ValueError, match="a text must not be longer than the context; got n=8, context=7"
    ):
        BERT(SMALL)(ids)


def test_lengths_that_do_not_fit(ids):
    with pytest.raises(ValueError, match="there must be one length for each text; got n_lengths=2"):
        BERT(SMALL)(ids, [7, 3])
    with pytest.raises(ValueError, match=r"lengths must be from 0 to n; got wrong=\[8\], n=7"):
        BERT(SMALL)(ids, [7, 8, 1])


def test_a_model_without_a_head_scores_nothing(ids):
    model = BERT(replace(SMALL, head=False))
    with pytest.raises(ValueError, match="a BERT without a head scores no tokens; got head=False"):
        model.mlm_scores(model(ids))
