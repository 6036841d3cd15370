"""The instruments: maps, rollout, the lens, patching, induction, by hand and by loops."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from softlookup.analysis import (
    attention_maps,
    attention_rollout,
    capture,
    induction_pattern,
    induction_scores,
    logit_lens,
    patch,
    patching_effects,
    probes_of,
    repeating_texts,
    residual_stream,
)
from softlookup.attention import GroupedQueryAttention, MultiHeadAttention
from softlookup.masks import causal_mask
from softlookup.models import GPT, GPTConfig

f64 = torch.float64


@pytest.fixture(autouse=True)
def _seed():
    """The layers draw their weights from the global generator."""
    torch.manual_seed(3)


def random_weights(generator, *shape):
    return torch.rand(shape, dtype=f64, generator=generator).add(0.1).pow(3).tril().softmax(dim=-1)


def small_gpt(**options):
    """Three layers of two heads, with weights that are not small."""
    model = GPT(GPTConfig(11, 13, 12, 2, 3, 7, **options)).double()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.3 * torch.randn_like(p))
    return model.eval()


IDS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])


# maps


def test_maps_are_those_of_every_layer_in_order():
    model = small_gpt()
    maps = attention_maps(model, IDS)
    assert maps.shape == (3, 2, 2, 5, 5)
    assert not maps.requires_grad
    x = model.embedding(IDS) + model.position_embedding(torch.arange(5))
    for k, block in enumerate(model.blocks):
        with capture(block, "weights") as seen:
            x = block(x, causal_mask(5))
        assert_close(maps[k], seen["self_attention.layer.weights"])
    assert_close(maps.sum(dim=-1), torch.ones(3, 2, 2, 5, dtype=f64))


def test_maps_of_layers_that_differ_are_refused():
    model = nn.Sequential(MultiHeadAttention(6, 2), MultiHeadAttention(6, 3))
    with pytest.raises(
        ValueError, match=r"maps of one shape; got .*weights=\(2, 5, 5\).*\(3, 5, 5\)"
    ):
        attention_maps(model, torch.zeros(5, 6))
    with pytest.raises(ValueError, match="no probe of the name 'weights'"):
        attention_maps(nn.Sequential(nn.Identity()), torch.zeros(5, 6))


# rollout


def rollout_by_hand(weights, residual):
    """Loops over layers, rows and columns."""
    layers, heads, n, _ = weights.shape
    reached = [[float(i == j) for j in range(n)] for i in range(n)]
    for layer in range(layers):
        step = [
            [residual * (i == j)
             + (1 - residual) * sum(weights[layer, h, i, j].item() for h in range(heads)) / heads
             for j in range(n)]
            for i in range(n)
        ]  # fmt: skip
        reached = [
            [sum(step[i][k] * reached[k][j] for k in range(n)) for j in range(n)] for i in range(n)
        ]
    return torch.tensor(reached, dtype=f64)


@pytest.mark.parametrize("residual", [0.5, 0.0, 0.2, 1.0])
def test_rollout_equals_loops(generator, residual):
    weights = random_weights(generator, 3, 2, 5, 5)
    found = attention_rollout(weights, residual=residual)
    for layer in range(3):
        assert_close(found[layer], rollout_by_hand(weights[: layer + 1], residual))


def test_rollout_of_a_batch_is_that_of_each_text(generator):
    weights = random_weights(generator, 3, 7, 2, 5, 5)
    found = attention_rollout(weights)
    assert found.shape == (3, 7, 5, 5)
    for text in range(7):
        assert_close(found[:, text], attention_rollout(weights[:, text]))


def test_rollout_keeps_the_dtype():
    weights = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]]]], dtype=torch.bfloat16)
    assert attention_rollout(weights).dtype == torch.bfloat16


def test_an_empty_row_keeps_its_own():
    weights = torch.tensor([[[[0.0, 0.0], [0.75, 0.25]]]], dtype=f64)
    assert_close(attention_rollout(weights)[0], torch.tensor([[1, 0], [0.375, 0.625]], dtype=f64))


@pytest.mark.parametrize(
    ("weights", "options", "message"),
    [
        (torch.zeros(0, 3, 5, 5), {}, r"got weights=\(0, 3, 5, 5\)"),
    ],
)  # fmt: skip
def test_rollout_refuses(weights, options, message):
    with pytest.raises(ValueError, match=message):
        attention_rollout(weights, **options)


# the lens


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_the_lens_reads_each_stream_as_the_model_reads_its_last(tie, norm_first):
    model = small_gpt(tie=tie, norm_first=norm_first, positions="rotary")
    streams, lens = residual_stream(model, IDS), logit_lens(model, IDS)
    assert streams.shape == (4, 2, 5, 12)
    assert_close(streams[0], model.embedding(IDS))
    x = streams[0]
    for k, block in enumerate(model.blocks):
        x = block(x, causal_mask(5), rotary=model.rotary)
        assert_close(streams[k + 1], x)
    assert_close(lens[-1], model(IDS))
    table = model.embedding.weight if tie else model.unembedding.weight
    norm = (lambda x: x) if not norm_first else lambda x: F.layer_norm(
        x, (12,), model.norm.weight, model.norm.bias, model.config.eps
    )  # fmt: skip
    for k in range(4):
        assert_close(lens[k], norm(streams[k]) @ table.mT)


def test_the_lens_leaves_no_hook():
    model = small_gpt()
    logit_lens(model, IDS)
    assert not any(part._forward_hooks for part in model.modules())


# patching


def test_a_patched_head_equals_a_layer_with_other_numbers(generator):
    layer = MultiHeadAttention(6, 3).double()
    x = torch.randn(5, 6, dtype=f64, generator=generator)
    heads = torch.randn(3, 5, 2, dtype=f64, generator=generator)
    with patch(layer, {"heads": heads}):
        found = layer(x)
    assert_close(found, layer.W_O(torch.cat(heads.unbind(), dim=-1)))
    with patch(layer, {"heads": lambda seen: 2 * seen}):
        doubled = layer(x)
    assert_close(doubled - layer.W_O.bias, 2 * (layer(x) - layer.W_O.bias))


def test_patched_weights_are_used_although_the_layer_is_fused(generator):
    layer = GroupedQueryAttention(6, 3).double()
    assert layer.fused
    x = torch.randn(5, 6, dtype=f64, generator=generator)
    own = torch.eye(5, dtype=f64).expand(3, 5, 5)
    with patch(layer, {"weights": own}):
        found = layer(x)
        assert not layer.fused
    assert_close(found, layer.W_O(layer.W_V(x)))
    assert layer.fused
    assert not layer.weights._forward_hooks


def test_patching_with_what_was_there_changes_nothing():
    model = small_gpt()
    with capture(model) as seen:
        expected = model(IDS)
    with patch(model, dict(seen)):
        assert_close(model(IDS), expected)


def test_after_an_error_all_is_as_before():
    model = small_gpt()

    def fail(seen):
        raise KeyError(seen.shape)

    with pytest.raises(KeyError), patch(model, {"rows": fail}):
        model(IDS)
    assert not any(part._forward_hooks for part in model.modules())
    assert all(block.self_attention.layer.fused for block in model.blocks)


def test_another_map_with_the_same_output_changes_nothing():
    """In layer 0, without places in the rows, equal tokens have equal values."""
    model = small_gpt(positions="rotary")
    ids = torch.tensor([[3, 1, 4, 3, 1, 4]])
    name = "blocks.0.self_attention.layer.weights"
    maps = attention_maps(model, ids)[0]
    other = maps.clone()
    other[..., 5, [0, 3]] = maps[..., 5, [3, 0]]  # tokens 0 and 3 are the same
    with patch(model, {name: other}):
        found = model(ids)
    assert (found - model(ids)).abs().max() < 1e-10
    assert (other - maps).abs().max() > 0.05


@pytest.mark.parametrize(
    ("replacements", "message"),
    [
        ({"weights": torch.zeros(2, 2, 5, 5)}, r"'weights' must fit one probe, not several"),
        ({"no": torch.zeros(1)}, "no probe of the name 'no'"),
    ],
)
def test_patch_refuses_names(replacements, message):
    with pytest.raises(ValueError, match=message), patch(small_gpt(), replacements):
        pass


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (torch.zeros(2, 5, 9).double(), r"keep its shape and dtype; got seen=\(2, 5, 12\)"),
        (torch.zeros(2, 5, 12), r"keep its shape and dtype.*float32"),
    ],
)
def test_patch_refuses_other_shapes(new, message):
    model = small_gpt()
    with patch(model, {"rows": new}), pytest.raises(ValueError, match=message):
        model(IDS)
    with patch(model, {"rows": lambda seen: new}), pytest.raises(ValueError, match=message):
        model(IDS)


class Weighted(nn.Module):
    """Two probes in a row; what a place counts is known."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Identity(), nn.Identity()

    def forward(self, x):
        rows = self.first(x)
        return self.second(2 * rows.flip(-2))


def test_effects_by_hand():
    clean = torch.tensor([[3.0, 1.0], [2.0, 2.0], [0.0, 1.0]])
    corrupted = torch.tensor([[0.0, 1.0], [1.0, 2.0], [0.0, 1.0]])
    found = patching_effects(Weighted(), clean, corrupted, torch.sum, ["first", "second"])
    assert_close(found, torch.tensor([[0.75, 0.25, 0], [0, 0.25, 0.75]], dtype=f64))
    found = patching_effects(
        Weighted(), clean, corrupted, lambda y: y.sum().item(), ["first"], axis=-1
    )
    assert_close(found, torch.tensor([[1.0, 0.0]], dtype=f64))


class Branch(nn.Module):
    """What the probe sees is only a part of the output; the rest goes around it."""

    def __init__(self):
        super().__init__()
        self.probe = nn.Identity()

    def forward(self, x):
        return x + self.probe(2 * x)


def test_what_goes_around_the_probe_stays_corrupted():
    clean, corrupted = torch.tensor([[3.0], [1.0]]), torch.tensor([[0.0], [1.0]])
    found = patching_effects(Branch(), clean, corrupted, torch.sum, ["probe"])
    assert_close(found, torch.tensor([[2 / 3, 0]], dtype=f64))


def test_patching_all_of_a_stream_brings_all_back():
    """The effects of the last stream add up where the score reads one place; the others are 0."""
    model = small_gpt()
    clean, corrupted = IDS[:1], IDS[1:]
    found = patching_effects(
        model, clean, corrupted, lambda scores: scores[0, 3, 7], ["blocks.2.feed_forward.stream"]
    )
    assert_close(found, torch.tensor([[0, 0, 0, 1, 0]], dtype=f64))


def test_effects_do_not_touch_the_model_or_the_inputs():
    model = small_gpt()
    clean, corrupted = IDS[:1].clone(), IDS[1:].clone()
    before = {name: p.clone() for name, p in model.named_parameters()}
    patching_effects(model, clean, corrupted, torch.sum, ["rows"])
    assert_close(clean, IDS[:1])
    assert_close(corrupted, IDS[1:])
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())
    assert not any(part._forward_hooks for part in model.modules())


@pytest.mark.parametrize(
    ("corrupted", "probes", "message"),
    [
        (torch.zeros(3, 2), [], r"at least one probe; got probes=\[\]"),
        (torch.zeros(3, 2), ["third"], "no probe of the name 'third'"),
        (torch.ones(3, 2), ["first"], "must differ in score.*clean=12.0, corrupted=12.0"),
    ],
)
def test_effects_refuse(corrupted, probes, message):
    with pytest.raises(ValueError, match=message):
        patching_effects(Weighted(), torch.ones(3, 2), corrupted, torch.sum, probes)


def test_effects_refuse_probes_of_two_sizes():
    model = nn.Sequential(nn.Identity(), nn.Flatten(0), nn.Identity())
    with pytest.raises(ValueError, match=r"of one size; got 0=3, 2=6"):
        patching_effects(model, torch.ones(3, 2), torch.zeros(3, 2), torch.sum, ["0", "2"], axis=0)


def test_probes_by_name():
    model = small_gpt()
    assert list(probes_of(model, "rows")) == ["rows"]
    assert list(probes_of(model, "blocks.1.feed_forward.write")) == ["blocks.1.feed_forward.write"]
    assert len(probes_of(model, "weights")) == 3


# induction


def test_texts_begin_anew_after_their_period(generator):
    texts = repeating_texts(200, 17, 50, periods=(3, 5), generator=generator)
    assert texts.shape == (200, 17)
    periods = set()
    for row in texts.tolist():
        fits = [p for p in (3, 4, 5) if all(row[k] == row[k - p] for k in range(p, 17))]
        assert fits
        periods.add(fits[0])
    assert periods == {3, 4, 5}
    counts = texts[:, :3].flatten().bincount(minlength=50)
    assert counts.min() > 0
    assert counts.max() < 40


def test_texts_are_those_of_their_generator():
    def draw():
        g = torch.Generator().manual_seed(5)
        return repeating_texts(3, 11, 7, periods=(2, 5), generator=g)

    assert torch.equal(draw(), draw())


@pytest.mark.parametrize(
    ("arguments", "periods", "message"),
    [
        ((0, 5, 7), (2, 3), "n_texts must be an integer of at least 1"),
        ((3, 0, 7), (2, 3), "n must be an integer of at least 1"),
        pytest.param(
            (3, 5, 2.5), (2, 3), "vocab_size must be an integer", marks=pytest.mark.bad_input
        ),
        ((3, 5, 7), (3, 2), r"at most n; got periods=\(3, 2\), n=5"),
        ((3, 5, 7), (2, 6), r"at most n; got periods=\(2, 6\), n=5"),
    ],
)
def test_texts_refuse(arguments, periods, message, generator):
    with pytest.raises(ValueError, match=message):
        repeating_texts(*arguments, periods=periods, generator=generator)


def test_the_pattern_equals_loops(generator):
    ids = torch.randint(3, (5, 7), generator=generator)
    found = induction_pattern(ids)
    for text, row in enumerate(ids.tolist()):
        for i in range(7):
            for j in range(7):
                wanted = 1 <= j <= i and row[j - 1] == row[i]
                assert found[text, i, j].item() == wanted


def test_a_planted_induction_head_scores_1_and_the_others_less():
    ids = torch.tensor([[3, 1, 4, 3, 1, 4, 3]])
    pattern = induction_pattern(ids)[0]
    idle = ~pattern.any(dim=-1, keepdim=True) & torch.eye(7, dtype=torch.bool)
    planted = (pattern | idle).double()
    planted = planted / planted.sum(dim=-1, keepdim=True)
    before = torch.eye(7, dtype=f64).roll(-1, 1).mT.tril()
    before[0, 0] = 1
    even = causal_mask(7).double() / torch.arange(1, 8)[:, None]
    found = induction_scores(torch.stack([planted, before, even])[None], ids)
    # four rows have a twin before them: 3, 4 and 5 with one key, 6 with two
    assert_close(found, torch.tensor([1, 0, (1 / 4 + 1 / 5 + 1 / 6 + 2 / 7) / 4], dtype=f64))


def test_induction_refuses():
    with pytest.raises(ValueError, match="no row can follow the pattern"):
        induction_scores(torch.eye(3)[None], torch.tensor([0, 1, 2]))
