"""GPT: exact counts, the tied table, the start, one batch learnt by heart, bad input."""

import math
from dataclasses import FrozenInstanceError, replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from whole_models import count, survivors

from softlookup.analysis import capture
from softlookup.attention import KeyValueCache, MultiHeadAttention
from softlookup.attention.positions import Rotary
from softlookup.layers import LayerNorm, RMSNorm
from softlookup.models import GPT, GPTConfig
from softlookup.models.gpt import parameter_count
from softlookup.ops import cross_entropy

SMALL = GPTConfig(13, context=11, d_model=12, n_heads=6, n_layers=3, d_ff=17)
KINDS = {
    "small": SMALL,
    "untied": replace(SMALL, tie=False),
    "rotary": replace(SMALL, positions="rotary"),
    "no positions, no biases": replace(SMALL, positions="none", bias=False),
    "post-norm": replace(SMALL, norm_first=False, bias=False),
    "grouped": replace(SMALL, n_kv_heads=2, norm="rms", d_ff=None),
    "window": replace(SMALL, window=3, n_sinks=1, gated=True, activation="silu"),
    "today": GPTConfig.modern(13, 11, 12, 6, 3),
    "quick": GPTConfig.quick(13, 11, 12, 6, 3),
}
kinds = pytest.mark.parametrize("kind", list(KINDS))


@pytest.fixture(autouse=True)
def _seed():
    """The model draws its weights from the global generator."""
    torch.manual_seed(3)


@pytest.fixture
def ids(generator):
    return torch.randint(13, (5, 7), generator=generator)


def built(**options):
    return GPT(replace(SMALL, **options)).double()


def loss_of(model, ids):
    """Each token's loss from those before it."""
    return cross_entropy(model(ids)[:, :-1], ids[:, 1:])


# counts


def test_gpt_1_has_as_many_parameters_as_it_should():
    """`gpt1-forward`: tokens, places, blocks; there is no norm behind the last one."""
    block = 4 * 768**2 + 4 * 768 + 2 * 768 * 3072 + 3072 + 768 + 4 * 768
    assert parameter_count(GPTConfig.gpt1()) == 40_478 * 768 + 512 * 768 + 12 * block
    assert parameter_count(GPTConfig.gpt1()) == 116_534_784


def test_gpt_2_in_four_sizes():
    """124 million in the small one, where the paper's table prints 117."""
    counts = [parameter_count(GPTConfig.gpt2(size)) for size in ("small", "medium", "large", "xl")]
    assert counts == [124_439_808, 354_823_168, 774_030_080, 1_557_611_200]


@kinds
def test_the_formula_counts_exactly(kind):
    assert parameter_count(KINDS[kind]) == count(GPT(KINDS[kind]))


def test_the_big_ones_without_their_memory():
    with torch.device("meta"):
        assert count(GPT(GPTConfig.gpt1())) == 116_534_784
        assert count(GPT(GPTConfig.gpt2())) == 124_439_808


# the parts


def test_rows_are_tokens_plus_places(ids):
    """`gpt1-forward`: h_0 = U W_e + W_p; the one-hot form is the lookup."""
    model = built()
    with capture(model, "rows") as seen:
        model(ids)
    one_hot = nn.functional.one_hot(ids, 13).double()
    places = model.position_embedding.embedding.weight[:7]
    assert_close(seen["rows"], one_hot @ model.embedding.weight + places)


@pytest.mark.parametrize("positions", ["rotary", "none"])
def test_rows_without_learned_places_are_tokens(ids, positions):
    model = built(positions=positions)
    with capture(model, "rows") as seen:
        model(ids)
    assert_close(seen["rows"], model.embedding.weight[ids])
    assert model.position_embedding is None
    assert isinstance(model.rotary, Rotary) == (positions == "rotary")


@pytest.mark.parametrize("tie", [True, False])
def test_scores_are_products_with_a_table(ids, tie):
    model = built(tie=tie)
    with capture(model, "blocks.2.feed_forward.stream") as seen:
        scores = model(ids)
    table = model.embedding if tie else model.unembedding
    assert_close(scores, model.norm(seen["blocks.2.feed_forward.stream"]) @ table.weight.mT)


def test_a_last_norm_only_in_pre_norm():
    kinds = [type(built(norm_first=first, norm=norm).norm)
             for first in (True, False) for norm in ("layer", "rms")]  # fmt: skip
    assert kinds == [LayerNorm, RMSNorm, nn.Identity, nn.Identity]


def test_all_options_reach_the_blocks():
    model = built(norm="rms", gated=True, activation="relu2", n_kv_heads=3, qk_norm=True, eps=0.1,
                  bias=False, norm_first=False, dropout=0.3)  # fmt: skip
    assert len(model.blocks) == 3
    for block in model.blocks:
        attention, think = block.self_attention.layer, block.feed_forward.layer
        assert (attention.n_heads, attention.n_kv_heads) == (6, 3)
        assert attention.query_norm.weight.shape == (2,)
        assert attention.W_Q.bias is None
        assert think.W_1.out_features == 17
        assert (think.activation, think.W_gate.bias) == ("relu2", None)
        assert block.feed_forward.norm.eps == 0.1
        assert not block.self_attention.norm_first
    assert built(d_ff=None).blocks[0].feed_forward.layer.W_1.out_features == 48
    assert built(eps=0.1).norm.eps == 0.1
    assert built(bias=False).norm.bias is None


# what a token sees


@kinds
def test_scores_know_nothing_of_later_tokens(kind, ids):
    """By other tokens, bit by bit, and by gradient, exactly 0."""
    model = GPT(KINDS[kind]).double().eval()
    changed = torch.cat((ids[:, :4], (ids[:, 4:] + 1) % 13), dim=1)
    assert_close(model(changed)[:, :4], model(ids)[:, :4], rtol=0, atol=0)
    assert (model(changed)[:, 4] != model(ids)[:, 4]).any(-1).all()
    with capture(model, "rows") as seen:
        model(ids)
    leaf = seen["rows"].detach().requires_grad_()
    model.rows.register_forward_hook(lambda module, args, rows: leaf)
    (gradient,) = torch.autograd.grad(model(ids)[:, 3].square().sum(), leaf)
    assert gradient[:, 4:].eq(0).all()
    assert gradient[:, 3].ne(0).any(-1).all()


def test_a_window_is_as_far_as_one_block_sees(ids):
    """`gpt1-objective`: with one block the last k tokens count, sinks aside; with L it is more."""
    for n_sinks, seen in [(0, [4, 5, 6]), (1, [0, 4, 5, 6])]:
        model = built(n_layers=1, window=3, n_sinks=n_sinks)
        before = model(ids)[:, 6]
        for place in range(7):
            other = ids.clone()
            other[:, place] = (other[:, place] + 1) % 13
            assert (model(other)[:, 6] != before).any(-1).all() == (place in seen)


def test_places_matter(ids):
    """The same tokens in another order give other scores, with every kind of positions."""
    for positions in ("learned", "rotary", "none"):
        model = built(positions=positions)
        swapped = ids[:, [1, 0, 2, 3, 4, 5, 6]]
        moved = (model(swapped)[:, -1] - model(ids)[:, -1]).abs().amax(-1)
        first = built(positions=positions, n_layers=1)
        same = (first(swapped)[:, -1] - first(ids)[:, -1]).abs().amax(-1)
        differs = ids[:, 0] != ids[:, 1]
        assert (moved[differs] > 1e-12).all()
        # without positions one block reads a set; only the second sees who read what
        assert (same[differs] > 1e-12).all() == (positions != "none")


# the tied table


def test_the_tie_holds(ids, tmp_path):
    """`gpt1-weight-tying`: one row is changed, and what enters and the scores both see it."""
    model = built()
    expected = model(ids)
    for name, other in survivors(model, tmp_path):
        # float32 in between rounds the weights
        size = {"rtol": 1e-4, "atol": 1e-5} if name == "moved" else {"rtol": 0, "atol": 0}
        assert_close(other(ids), expected, **size, msg=name)
        assert count(other) == parameter_count(model.config), name
        assert sum("embedding" in key for key in other.state_dict()) == 2  # tokens and places
        word = ids[0, 0].item()
        with torch.no_grad():
            other.embedding.weight[word] += 1.0
        with capture(other, "rows", "blocks.2.feed_forward.stream") as seen:
            scores = other(ids)
        row = other.embedding.weight[word]
        assert_close(seen["rows"][0, 0], row + other.position_embedding.embedding.weight[0])
        last = other.norm(seen["blocks.2.feed_forward.stream"])
        assert_close(scores[..., word], last @ row)
        assert not row.equal(model.embedding.weight[word])


def test_the_gradient_of_the_tied_table_is_the_sum_of_its_uses(ids):
    tied, untied = built(), built(tie=False)
    state = tied.state_dict()
    untied.load_state_dict(state | {"unembedding.weight": state["embedding.weight"]})
    for model in (tied, untied):
        loss_of(model, ids).backward()
    both = untied.embedding.weight.grad + untied.unembedding.weight.grad
    assert_close(tied.embedding.weight.grad, both)


# the start and the first steps


def test_where_the_weights_start():
    """As in GPT-2: 0.02; what writes to the stream divided by √(2L); biases 0, gains 1."""
    model = GPT(GPTConfig(257, context=211, d_model=64, n_heads=4, n_layers=8, tie=False))
    for name, parameter in model.named_parameters():
        if name.endswith(("W_O.weight", "W_2.weight")):
            assert parameter.std().item() == pytest.approx(0.02 / 4, rel=0.05), name
        elif parameter.ndim == 2:
            assert parameter.std().item() == pytest.approx(0.02, rel=0.05), name
        else:
            assert parameter.eq(0.0 if name.endswith("bias") else 1.0).all(), name


@pytest.mark.parametrize("gated", [False, True])
def test_with_zero_writes_each_block_begins_as_the_identity(ids, gated):
    """What leaves the last block is what entered the first; one step, and it is not."""
    torch.manual_seed(3)
    model = built(zero_writes=True, tie=False, gated=gated)
    torch.manual_seed(3)
    usual = built(tie=False, gated=gated)
    for (name, weight), other in zip(model.named_parameters(), usual.parameters(), strict=True):
        if name.endswith(("W_O.weight", "W_2.weight")):
            assert weight.eq(0.0).all(), name
        else:  # the others start as ever
            assert_close(weight, other, rtol=0, atol=0, msg=name)
    for taken in (False, True):
        with capture(model, "rows", "blocks.2.feed_forward.stream") as seen:
            loss_of(model, ids).backward()
        assert seen["rows"].equal(seen["blocks.2.feed_forward.stream"]) != taken
        torch.optim.SGD(model.parameters(), lr=0.1).step()


@pytest.mark.parametrize("options", [{}, {"tie": False}, {"norm_first": False}])
@pytest.mark.parametrize("modern", [True, False])
def test_loss_at_the_start(generator, options, modern):
    """`log |V|`, since all scores are small: 6.92 for 1,009 tokens."""
    sizes = (1009, 32, 64, 4, 3)
    config = GPTConfig.modern(*sizes) if modern else GPTConfig(*sizes)
    model = GPT(replace(config, **options)).eval()
    ids = torch.randint(1009, (16, 32), generator=generator)
    with torch.no_grad():
        loss, scores = loss_of(model, ids), model(ids)
    assert loss.item() == pytest.approx(math.log(1009) + scores.var().item() / 2, abs=0.02)
    assert abs(loss.item() - math.log(1009)) < (0.05 if options != {"norm_first": False} else 0.2)


@kinds
def test_every_parameter_gets_a_gradient(ids, kind):
    """But a bias of the keys, unless they are turned: it adds the same to all scores of a query."""
    model = GPT(KINDS[kind]).double()
    loss_of(model, ids).backward()
    without = {n for n, p in model.named_parameters() if p.grad is None or p.grad.eq(0).all()}
    turned = model.rotary is not None
    keys = {n for n, _ in model.named_parameters() if n.endswith("W_K.bias") and not turned}
    assert without <= keys
    assert all(model.get_parameter(n).grad.abs().max() < 1e-12 for n in keys)


@kinds
def test_one_batch_is_learnt_by_heart(ids, kind):
    config = replace(KINDS[kind], d_model=24, d_ff=48)
    model = GPT(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    ids[:, 0], ids[:, 1] = torch.arange(5), torch.arange(5, 10)
    # texts that begin alike could not be told apart, nor "a" and "a a" without absolute places
    for _ in range(150):
        optimizer.zero_grad()
        loss_of(model, ids).backward()
        optimizer.step()
    assert loss_of(model, ids).item() < 0.05
    assert model(ids)[:, :-1].argmax(-1).equal(ids[:, 1:])


# dropout


def test_evaluation_switches_every_dropout_off(ids):
    dropped, same = built(dropout=0.4), built()
    same.load_state_dict(dropped.state_dict())
    rates = [m.p for m in dropped.modules() if isinstance(m, nn.Dropout)]
    assert rates == [0.4] * (1 + 3 * 4)
    assert not torch.allclose(dropped(ids), dropped(ids))
    dropped.eval()
    for fused in (True, False):
        for layer in dropped.modules():
            if isinstance(layer, MultiHeadAttention):
                layer.fused = fused
        out = [dropped(ids) for _ in range(2)]
        assert out[0].equal(out[1])
        assert_close(out[0], same(ids))


def test_dropout_behind_the_embeddings(ids):
    model = built(dropout=0.75, d_model=96)
    with capture(model, "rows") as seen:
        model(ids)
    assert 0.2 < (seen["rows"] != 0).double().mean() < 0.3


# cache, start, step


def test_a_cache_of_grouped_heads_is_smaller(ids):
    sizes = [built(n_kv_heads=n).start(ids).n_bytes for n in (6, 3, 1)]
    assert sizes[0] == 2 * 3 * 5 * 7 * 12 * 8  # keys and values, layers, texts, tokens, columns
    assert [sizes[0] // size for size in sizes] == [1, 2, 6]


def test_generation_keeps_no_gradient(ids):
    model = built()
    cache = model.start(ids)
    scores, cache = model.step(ids[:, 0], cache)
    assert not scores.requires_grad
    assert not cache.layers[0].key.requires_grad
    assert model(ids, cache=model.new_cache()).requires_grad


def test_the_new_cache_knows_the_window():
    cache = built(window=3, n_sinks=2).new_cache()
    assert (len(cache.layers), cache.window, cache.n_sinks) == (3, 3, 2)


# the config


def test_the_config_is_frozen_and_fills_in_what_follows():
    with pytest.raises(FrozenInstanceError):
        SMALL.d_model = 8
    assert (SMALL.width_inside, replace(SMALL, d_ff=None).width_inside) == (17, 48)
    assert (SMALL.kv_heads, replace(SMALL, n_kv_heads=2).kv_heads) == (6, 2)


def test_configs_by_name():
    gpt1 = GPTConfig.gpt1()
    assert (gpt1.vocab_size, gpt1.context, gpt1.n_layers, gpt1.n_heads) == (40_478, 512, 12, 12)
    assert not gpt1.norm_first
    gpt2 = GPTConfig.gpt2("medium")
    assert (gpt2.vocab_size, gpt2.context, gpt2.d_model, gpt2.n_heads) == (50_257, 1024, 1024, 16)
    assert gpt1.activation == gpt2.activation == "gelu_tanh"
    modern = GPTConfig.modern(13, 11, 128, 4, 2)
    assert (modern.width_inside, modern.positions) == (344, "rotary")
    assert (modern.norm, modern.bias) == ("rms", False)
    quick = GPTConfig.quick(13, 11, 128, 4, 2)
    assert replace(quick, window=None, n_kv_heads=None, tie=True) == modern
    assert (quick.window, quick.kv_heads, quick.tie) == (4, 1, False)
    with pytest.raises(ValueError, match=r"size must be one of 'small', .*; got size='huge'"):
        GPTConfig.gpt2("huge")


@pytest.mark.parametrize("name", ["vocab_size", "context", "d_model", "n_heads", "n_layers"])
def test_sizes_are_checked(name):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1; got {name}=0"):
        replace(SMALL, **{name: 0})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_model": 10}, "n_heads must divide d_model; got d_model=10, n_heads=6"),
        ({"n_kv_heads": 4}, "n_kv_heads must divide n_heads; got n_heads=6, n_kv_heads=4"),
        (
            {"d_model": 18, "positions": "rotary"},
            "the width of a head must be even; got d_model=18",
        ),
        ({"positions": "sinus"}, "positions must be one of 'learned', 'rotary', 'none'; got pos"),
        ({"n_sinks": 1}, "sinks need a window: .*; got n_sinks=1"),
        ({"n_sinks": -1}, "n_sinks must be an integer of at least 0; got n_sinks=-1"),
        ({"norm": "batch"}, "norm must be one of 'layer', 'rms'; got norm='batch'"),
        ({"activation": "swish"}, "activation must be one of .*; got activation='swish'"),
        ({"zero_writes": 1}, "zero_writes must be True or False; got zero_writes=1"),
        ({"dropout": 1.0}, "dropout must be at least 0 and less than 1; got dropout=1"),
        ({"eps": 0.0}, r"eps must be positive and finite; got eps=0\.0"),
    ],
)
def test_bad_choices(options, message):
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **options)


# bad input


def test_a_text_longer_than_the_context(generator):
    ids = torch.randint(13, (2, 12), generator=generator)
    rule = "at most as many tokens as the context; got n=12, context=11"
    for options in ({}, {"positions": "rotary"}, {"positions": "none", "window": 3}):
        with pytest.raises(ValueError, match=rule):
            built(**options)(ids)
    for options in ({}, {"positions": "rotary"}, {"window": 3}):
        model = built(**options)
        cache = model.start(ids[:, :11])
        with pytest.raises(ValueError, match=rule):
            model.step(ids[:, 11], cache)
        with pytest.raises(ValueError, match=rule):
            model.start(ids)
    model = built(positions="rotary", window=3)
    assert model.start(ids).lengths.tolist() == [12, 12]


def test_filler_may_stand_past_the_context(generator):
    """What counts is how long the texts are."""
    ids, model = torch.randint(13, (2, 12), generator=generator), built()
    assert_close(model(ids, [11, 3])[0, :11], model(ids[:1, :11])[0])
    with pytest.raises(ValueError, match="got n=12, context=11"):
        model(ids, [3, 12])


def test_lengths_that_do_not_fit(ids):
    model = built()
    with pytest.raises(ValueError, match="there must be one length for each text; got n_lengths=2"):
        model(ids, [7, 3])
    with pytest.raises(ValueError, match=r"lengths must be from 0 to n; got wrong=\[8\], n=7"):
        model(ids, [7, 8, 1, 1, 1])
    with pytest.raises(ValueError, match=r"lengths must be from 0 to n; got wrong=\[-1\], n=7"):
        model(ids, torch.tensor([7, -1, 1, 1, 1]))


def test_a_cache_that_does_not_fit(ids):
    model = built()
    with pytest.raises(ValueError, match="a layer for each block; got cache=2, model=3"):
        model(ids, cache=KeyValueCache(2))
    cache = model.start(ids)
    with pytest.raises(ValueError, match="as many texts as the cache holds; got n_texts=2, held=5"):
        model.step(ids[:2, 0], cache)
    with pytest.raises(ValueError, match="a new key must have the shape of those in the cache"):
        built(n_kv_heads=3)(ids[:, :1], cache=cache)
