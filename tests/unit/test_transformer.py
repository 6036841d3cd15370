"""The whole model: exact counts, tied tables, the start, one batch learnt by heart, bad input."""

import math
from dataclasses import FrozenInstanceError, asdict, replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from whole_models import count, survivors

from softlookup.analysis import capture
from softlookup.attention import MultiHeadAttention
from softlookup.attention.positions import sinusoidal
from softlookup.language_models import beam_search, greedy
from softlookup.models import Transformer, TransformerConfig
from softlookup.models.encoder_decoder import ParameterCounts, parameter_counts
from softlookup.ops import cross_entropy

SMALL = TransformerConfig(
    13, d_model=6, n_heads=3, d_ff=11, n_encoder_layers=2, n_decoder_layers=3, dropout=0.0
)
TIES = ("all", "output", "none")
ties = pytest.mark.parametrize("tie", TIES)
LENGTHS = [7, 3, 5]


@pytest.fixture(autouse=True)
def _seed():
    """The model draws its weights from the global generator."""
    torch.manual_seed(3)


@pytest.fixture
def source(generator):
    return torch.randint(13, (3, 7), generator=generator)


@pytest.fixture
def target(generator):
    return torch.randint(13, (3, 5), generator=generator)


def built(**options):
    return Transformer(replace(SMALL, **options)).double()


# counts


def test_parameters_of_the_base_model():
    """`base-big-param-counts`, E85: what the architecture gives, whatever is printed."""
    counts = parameter_counts(TransformerConfig.base(37_000))
    assert counts.encoder == 6 * 3_150_336 == 18_902_016
    assert counts.decoder == 6 * 4_199_936 == 25_199_616
    assert counts.core == 44_101_632
    assert counts.embeddings == 37_000 * 512 == 18_944_000
    assert counts.total == 63_045_632


def test_parameters_of_the_big_model():
    counts = parameter_counts(TransformerConfig.big(37_000))
    assert (counts.core, counts.total) == (176_283_648, 214_171_648)
    assert TransformerConfig.big(37_000).dropout == 0.3


def test_untied_tables():
    """`weight-sharing-embeddings`: three tables instead of one."""
    untied = replace(TransformerConfig.base(37_000), tie="none")
    assert parameter_counts(untied).total == 100_933_632
    assert parameter_counts(replace(untied, tie="output")).total == 44_101_632 + 2 * 18_944_000


@pytest.mark.parametrize("size", ["base", "big"])
def test_the_built_model_has_as_many(size):
    """Built without memory: on the device "meta" there are shapes alone."""
    config = getattr(TransformerConfig, size)(37_000)
    with torch.device("meta"):
        model = Transformer(config)
    counts = parameter_counts(config)
    assert count(model) == counts.total
    assert count(model.encoder) == counts.encoder
    assert count(model.decoder) == counts.decoder


@ties
@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize(("bias", "attention_bias"), [(True, True), (True, False), (False, False)])
def test_the_formula_counts_every_choice(tie, norm_first, norm, gated, bias, attention_bias):
    sizes = {"target_vocab_size": 13 if tie == "all" else 17}
    config = replace(
        SMALL, tie=tie, norm_first=norm_first, norm=norm, gated=gated, bias=bias,
        attention_bias=attention_bias, final_norm=None, **sizes,
    )  # fmt: skip
    for final_norm in (True, False, None):
        config = replace(config, final_norm=final_norm)
        model, counts = Transformer(config), parameter_counts(config)
        assert count(model) == counts.total
        assert count(model.encoder) + count(model.encoder_norm) == counts.encoder
        assert count(model.decoder) + count(model.decoder_norm) == counts.decoder


def test_counts_add_up():
    assert ParameterCounts(2, 3, 5).core == 8
    assert ParameterCounts(2, 3, 5).total == 10


# the ends of the model


@ties
def test_rows_are_scaled_embeddings_plus_positions(source, target, tie):
    """`token-embedding-layer`, `two-embeddings`: √d_model · E_w + PE(t)."""
    model = built(tie=tie)
    with capture(model, "source_rows", "target_rows") as seen:
        model(source, LENGTHS, target)
    table = model.embedding if tie == "all" else model.source_embedding
    codes = sinusoidal(7, 6, dtype=torch.float64)
    assert_close(seen["source_rows"], math.sqrt(6) * table.weight[source] + codes)
    expected = math.sqrt(6) * model.embedding.weight[target] + codes[:5]
    assert_close(seen["target_rows"], expected)


@ties
def test_scores_are_products_with_the_output_s_table(source, target, tie):
    model = built(tie=tie)
    with capture(model, "decoder_norm") as seen:
        scores = model(source, LENGTHS, target)
    output = model.unembedding if tie == "none" else model.embedding
    assert_close(scores, seen["decoder_norm"] @ output.weight.mT)


def test_final_norms_only_in_pre_norm_unless_asked():
    kinds = [
        type(built(norm_first=norm_first, final_norm=final_norm).decoder_norm).__name__
        for norm_first in (True, False)
        for final_norm in (None, True, False)
    ]
    assert kinds == ["LayerNorm", "LayerNorm", "Identity", "Identity", "LayerNorm", "Identity"]


# tied tables


@ties
def test_how_many_tables_there_are(tie):
    model = built(tie=tie)
    tables = [m for m in model.modules() if isinstance(m, nn.Embedding)]
    assert len(tables) == 1 + TIES.index(tie)
    names = [name for name in model.state_dict() if "embedding" in name]
    assert len(names) == len(tables)


def test_the_tie_holds(source, target, tmp_path):
    """One row is changed: the source's rows, the target's rows and the scores all see it."""
    model = built(tie="all")
    expected = model(source, LENGTHS, target)
    for name, other in survivors(model, tmp_path):
        # float32 in between rounds the weights
        size = {"rtol": 1e-4, "atol": 1e-5} if name == "moved" else {"rtol": 0, "atol": 0}
        assert_close(other(source, LENGTHS, target), expected, **size, msg=name)
        assert count(other) == parameter_counts(model.config).total, name
        word = source[0, 0].item()
        with torch.no_grad():
            next(p for n, p in other.named_parameters() if "embedding" in n)[word] += 1.0
        with capture(other, "source_rows", "target_rows", "decoder_norm") as seen:
            scores = other(source, LENGTHS, torch.full((3, 5), word))
        row = math.sqrt(6) * other.embedding.weight[word]
        codes = sinusoidal(7, 6, dtype=torch.float64)
        assert_close(seen["source_rows"][0, 0], row + codes[0])
        assert_close(seen["target_rows"], (row + codes[:5]).expand(3, 5, 6))
        assert_close(scores[..., word], seen["decoder_norm"] @ other.embedding.weight[word])
        assert not other.embedding.weight[word].equal(model.embedding.weight[word])


def test_the_gradient_of_a_tied_table_is_the_sum_of_its_uses(source, target):
    """`weight-sharing-embeddings`: source, target and output each add their part."""
    tied, untied = built(tie="all"), built(tie="none")
    state = tied.state_dict()
    for name in ("source_embedding.weight", "unembedding.weight"):
        state[name] = state["embedding.weight"]
    untied.load_state_dict(state)
    for model in (tied, untied):
        cross_entropy(model(source, LENGTHS, target), target.roll(1, 1)).backward()
    parts = (untied.source_embedding, untied.embedding, untied.unembedding)
    assert_close(tied.embedding.weight.grad, sum(part.weight.grad for part in parts))
    unread = sorted(set(range(13)) - set(source.flatten().tolist()))
    assert untied.source_embedding.weight.grad[unread].eq(0).all()


# the start and the first steps


@ties
@pytest.mark.parametrize("norm_first", [True, False])
def test_loss_at_the_start(generator, tie, norm_first):
    """Scores of variance 1 cost ½ more than even ones: log|V| + ½, here 6.92 + 0.5."""
    config = TransformerConfig(
        1009, d_model=64, n_heads=4, d_ff=256, n_encoder_layers=2, n_decoder_layers=2,
        tie=tie, norm_first=norm_first,
    )  # fmt: skip
    model = Transformer(config).eval()
    source = torch.randint(1009, (8, 17), generator=generator)
    target = torch.randint(1009, (8, 20), generator=generator)
    with torch.no_grad():
        scores = model(source, [17] * 8, target[:, :-1])
    loss = cross_entropy(scores, target[:, 1:]).item()
    assert abs(loss - math.log(1009) - 0.5) < 0.2
    assert scores.var().item() == pytest.approx(1, abs=0.3)


def test_where_the_weights_start():
    """Tables of variance 1/d_model, matrices by Glorot, biases 0."""
    config = TransformerConfig(1009, d_model=64, n_heads=4, d_ff=256, tie="none", bias=True,
                               attention_bias=True)  # fmt: skip
    model = Transformer(config)
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            assert module.weight.std().item() == pytest.approx(1 / 8, rel=0.02)
        if isinstance(module, nn.Linear):
            limit = math.sqrt(6 / (module.in_features + module.out_features))
            assert 0.99 * limit < module.weight.abs().max().item() <= limit
            assert module.bias.eq(0).all()


@ties
@pytest.mark.parametrize("norm_first", [True, False])
def test_every_parameter_gets_a_gradient(source, target, tie, norm_first):
    model = built(tie=tie, norm_first=norm_first, attention_bias=True)
    cross_entropy(model(source, LENGTHS, target), target.roll(1, 1)).backward()
    without = [n for n, p in model.named_parameters() if p.grad is None or p.grad.eq(0).all()]
    # a bias of the keys adds the same to all scores of a query: the softmax does not see it
    keys = [n for n, p in model.named_parameters() if n.endswith("W_K.bias")]
    assert [n for n in without if n not in keys] == []
    assert all(model.get_parameter(n).grad.abs().max() < 1e-12 for n in keys)


@pytest.mark.parametrize(
    "options",
    [{}, {"norm_first": True}, {"tie": "none"},
     {"norm_first": True, "norm": "rms", "gated": True, "activation": "silu", "bias": False}],
    ids=["post-norm", "pre-norm", "untied", "today"],
)  # fmt: skip
def test_one_batch_is_learnt_by_heart(source, target, options):
    config = replace(SMALL, d_model=16, n_heads=4, d_ff=32, n_decoder_layers=2, **options)
    model = Transformer(config)
    before = torch.cat((torch.zeros(3, 1, dtype=torch.int64), target[:, :-1]), dim=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(120):
        optimizer.zero_grad()
        cross_entropy(model(source, LENGTHS, before), target).backward()
        optimizer.step()
    scores = model(source, LENGTHS, before)
    assert cross_entropy(scores, target).item() < 0.05
    assert scores.argmax(-1).equal(target)


# dropout


def test_evaluation_switches_every_dropout_off(source, target):
    dropped, same = built(dropout=0.4), built()
    same.load_state_dict(dropped.state_dict())
    rates = [m.p for m in dropped.modules() if isinstance(m, nn.Dropout)]
    assert rates == [0.4] * (1 + 2 * 4 + 3 * 6)
    out = [dropped(source, LENGTHS, target) for _ in range(2)]
    assert not torch.allclose(*out)
    dropped.eval()
    for fused in (True, False):
        for layer in dropped.modules():
            if isinstance(layer, MultiHeadAttention):
                layer.fused = fused
        out = [dropped(source, LENGTHS, target) for _ in range(2)]
        assert out[0].equal(out[1])
        assert_close(out[0], same(source, LENGTHS, target))


def test_dropout_behind_the_embeddings(source, target):
    model = built(dropout=0.75, d_model=96)
    with capture(model, "source_rows", "target_rows") as seen:
        model(source, LENGTHS, target)
    for rows in seen.values():
        assert 0.2 < (rows != 0).double().mean() < 0.3


# writing


def test_steps_give_the_rows_of_the_whole(source, target):
    """What is written one token at a time has the scores of what is known at once."""
    model = built().eval()
    whole = model(source, LENGTHS, target)
    state = model.start(source, LENGTHS)
    for t in range(5):
        scores, state = model.step(target[:, t], state)
        assert_close(scores, whole[:, t])
        assert state.written.lengths.tolist() == [t + 1] * 3
    assert state.context.lengths.tolist() == LENGTHS


def test_a_step_projects_one_token_and_nothing_of_the_source(source, target):
    """`encoder-decoder-attention`: the source's keys and values are made once, by `start`."""
    model, seen = built().eval(), []
    for block in model.decoder:
        for name in ("self_attention", "cross_attention"):
            for w in (getattr(block, name).layer.W_K, getattr(block, name).layer.W_V):
                w.register_forward_hook(lambda m, args, out: seen.append(out.shape[-2]))
    state = model.start(source, LENGTHS)
    assert seen == [7] * 6
    for t in range(3):
        seen.clear()
        _, state = model.step(target[:, t], state)
        assert seen == [1, 1, 0, 0] * 3


def test_a_step_leaves_the_state_before_as_it_was(source, target):
    model = built().eval()
    _, state = model.step(target[:, 0], model.start(source, LENGTHS))
    first, _ = model.step(target[:, 1], state)
    model.step(target[:, 2], state)
    again, after = model.step(target[:, 1], state)
    assert again.equal(first)
    assert (state.written.n_slots, after.written.n_slots) == (1, 2)


def test_greedy_and_beam_search_write_with_it(source):
    model = built().eval()
    with torch.no_grad():
        texts = greedy(model.step, model.start(source, LENGTHS), bos=0, eos=1, max_length=6)
        for i, text in enumerate(texts):
            alone = source[i : i + 1, : LENGTHS[i]]
            state = model.start(alone, LENGTHS[i : i + 1])
            found = beam_search(model.step, state, bos=0, eos=1, max_length=6, width=1)
            assert found[0].ids == text.ids
            before = torch.tensor([[0, *text.ids]])
            scores = model(alone, LENGTHS[i : i + 1], before).log_softmax(-1)[0]
            wanted = [*text.ids, 1] if text.finished else text.ids
            total = sum(scores[t, w].item() for t, w in enumerate(wanted))
            assert total == pytest.approx(text.log_probability)


def test_encode_and_decode_are_the_whole(source, target):
    model = built()
    encoded = model.encode(source, torch.tensor(LENGTHS))
    assert encoded.context.shape == (3, 7, 6)
    assert encoded.mask.sum(-1).flatten().tolist() == LENGTHS
    assert_close(model.decode(target, *encoded), model(source, LENGTHS, target))


# the config


def test_the_config_is_frozen_and_fills_in_what_follows():
    with pytest.raises(FrozenInstanceError):
        SMALL.d_model = 8
    assert TransformerConfig(13).vocab_sizes == (13, 13)
    assert TransformerConfig(13, 17, tie="none").vocab_sizes == (13, 17)
    assert replace(TransformerConfig(13), vocab_size=17).vocab_sizes == (17, 17)
    assert replace(SMALL, norm_first=True).ends_with_norm
    assert asdict(TransformerConfig.base(37_000)) == asdict(TransformerConfig(37_000))
    big = TransformerConfig.big(37_000)
    assert (big.d_model, big.n_heads, big.d_ff, big.n_encoder_layers) == (1024, 16, 4096, 6)


def test_all_options_reach_the_blocks():
    model = built(norm_first=True, norm="rms", gated=True, activation="gelu", eps=0.1,
                  attention_bias=True, bias=False)  # fmt: skip
    blocks = [*model.encoder, *model.decoder]
    assert [len(model.encoder), len(model.decoder)] == [2, 3]
    for block in blocks:
        assert block.feed_forward.norm_first
        assert block.feed_forward.norm.eps == model.decoder_norm.eps == 0.1
        assert block.feed_forward.layer.activation == "gelu"
        assert block.feed_forward.layer.W_gate.bias is None
        assert block.self_attention.layer.W_Q.bias is not None


@pytest.mark.parametrize("name", ["vocab_size", "d_model", "n_heads",
                                  "n_encoder_layers", "n_decoder_layers", "d_ff"])  # fmt: skip
def test_sizes_are_checked(name):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1; got {name}=0"):
        replace(SMALL, **{name: 0})


def test_bad_choices():
    with pytest.raises(ValueError, match="n_heads must divide d_model; got d_model=6, n_heads=4"):
        replace(SMALL, n_heads=4)
    with pytest.raises(ValueError, match=r"d_model must be even.*; got d_model=9"):
        replace(SMALL, d_model=9)
    with pytest.raises(
        ValueError, match="dropout must be at least 0 and less than 1; got dropout=1"
    ):
        replace(SMALL, dropout=1.0)
    with pytest.raises(ValueError, match=r"eps must be positive and finite; got eps=0\.0"):
        replace(SMALL, eps=0.0)
    with pytest.raises(
        ValueError, match="tie must be one of 'all', 'output', 'none'; got tie='yes'"
    ):
        replace(SMALL, tie="yes")
    with pytest.raises(ValueError, match="norm must be one of 'layer', 'rms'; got norm='batch'"):
        replace(SMALL, norm="batch")
    with pytest.raises(ValueError, match=r"activation must be one of .*; got activation='swish'"):
        replace(SMALL, activation="swish")
    rule = 'tie="all" needs one vocabulary.*; got vocab_size=13, target_vocab_size=17'
    with pytest.raises(ValueError, match=rule):
        replace(SMALL, target_vocab_size=17)


# bad input


def test_lengths_that_do_not_fit(source, target):
    model = Transformer(SMALL)
    with pytest.raises(ValueError, match="there must be one length for each text; got n_lengths=2"):
        model(source, [7, 3], target)
    with pytest.raises(ValueError, match=r"lengths must be from 0 to n; got wrong=\[8\], n=7"):
        model(source, [7, 8, 1], target)
    with pytest.raises(ValueError, match="there must be one length for each text; got n_lengths=1"):
        model(source, LENGTHS, target, [5])
