"""Laws of norms, feed-forward layers, blocks and the whole model: sizes, masks and seeds drawn."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from softlookup.layers import ACTIVATIONS, FeedForward, GatedFeedForward, layer_norm, rms_norm
from softlookup.masks import causal_mask, padding_mask
from softlookup.models import DecoderBlock, EncoderBlock, Transformer, TransformerConfig
from softlookup.models.encoder_decoder import DecoderState, parameter_counts

sizes = st.integers(1, 7)
seeds = st.integers(0, 2**32 - 1)
lengths = st.lists(st.integers(1, 7), min_size=1, max_size=3)
EXACT = {"rtol": 1e-11, "atol": 1e-11}
ANYTHING = st.sampled_from([math.nan, math.inf, -math.inf, 1e30])


def normal(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


def seeded(layer, seed):
    layer = layer.double().eval()
    with torch.no_grad():
        numbers = normal(seed, *(p.shape for p in layer.parameters()))
        for parameter, values in zip(layer.parameters(), numbers, strict=True):
            parameter.copy_(values / math.sqrt(parameter.shape[-1]))
    return layer


@st.composite
def block_options(draw):
    return {
        "norm_first": draw(st.booleans()),
        "norm": draw(st.sampled_from(["layer", "rms"])),
        "activation": draw(st.sampled_from(list(ACTIVATIONS))),
        "gated": draw(st.booleans()),
        "bias": draw(st.booleans()),
        "attention_bias": draw(st.sampled_from([True, False, None])),
    }


@st.composite
def problems(draw, kind):
    """What builds a block and its rows: type checks draw at random, and must not do it in here."""
    n_heads, d_k, d_ff, n, n_k = (draw(sizes) for _ in range(5))
    seed, d_model, options = draw(seeds), n_heads * d_k, draw(block_options())
    lead = draw(st.sampled_from([(), (2,), (3, 2)]))

    def build():
        block = seeded(kind(d_model, n_heads, d_ff, **options), seed)
        x, context = normal(seed, (*lead, n, d_model), (*lead, n_k, d_model))
        return (block, x) if kind is EncoderBlock else (block, x, context)

    return build


# norms


@given(sizes, sizes, st.sampled_from([1e-3, 1.0, 1e4]), seeds)
def test_rows_of_mean_0_and_variance_1(n, d, scale, seed):
    (x,) = normal(seed, (n, d))
    x = x * scale
    out, eps = layer_norm(x, eps=1e-9), 1e-9
    variance = x.var(-1, correction=0)
    assert_close(out.mean(-1), torch.zeros(n, dtype=torch.float64), rtol=0, atol=1e-9)
    assert_close(out.var(-1, correction=0), variance / (variance + eps), rtol=1e-9, atol=1e-9)
    square = x.square().mean(-1)
    assert_close(rms_norm(x, eps=eps).square().mean(-1), square / (square + eps), **EXACT)


@given(sizes, st.integers(2, 7), st.floats(-10, 10), st.floats(0.1, 10), seeds)
def test_what_the_norms_do_not_see(n, d, shift, scale, seed):
    """LayerNorm sees neither shift nor scale; RMSNorm sees the shift, and turns with the row."""
    (x,) = normal(seed, (n, d))
    moved = scale * x + shift
    assert_close(
        layer_norm(moved, eps=1e-12 * scale**2), layer_norm(x, eps=1e-12), rtol=1e-6, atol=1e-6
    )
    assert_close(rms_norm(-scale * x, eps=1e-12 * scale**2), -rms_norm(x, eps=1e-12), **EXACT)
    turn, _ = torch.linalg.qr(normal(seed + 1, (d, d))[0])
    assert_close(rms_norm(x @ turn), rms_norm(x) @ turn, **EXACT)


@given(sizes, sizes, st.integers(0, 6), ANYTHING, seeds)
def test_a_token_s_norm_knows_no_other_token(n, d, place, content, seed):
    """`layernorm-per-token`"""
    (x,) = normal(seed, (n, d))
    for norm in (layer_norm, rms_norm):
        expected = torch.stack([norm(row) for row in x])
        assert norm(x).equal(expected)
        dirty = x.clone()
        dirty[place % n] = content
        others = [i for i in range(n) if i != place % n]
        assert norm(dirty)[others].equal(expected[others])


# feed-forward


@given(sizes, sizes, sizes, st.sampled_from(list(ACTIVATIONS)), st.booleans(), seeds)
def test_the_order_of_the_tokens_does_not_matter(n, d_model, d_ff, activation, gated, seed):
    """`ffn-pointwise`: FFN(PX) = P FFN(X), and a token alone gets the same."""
    kind = GatedFeedForward if gated else FeedForward
    layer = seeded(kind(d_model, d_ff, activation=activation), seed)
    (x,) = normal(seed, (n, d_model))
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed % 2**31))
    assert_close(layer(x[order]), layer(x)[order], **EXACT)
    assert_close(layer(x), torch.stack([layer(row) for row in x]), **EXACT)


# blocks


@settings(max_examples=60)
@given(problems(EncoderBlock))
def test_a_batch_is_its_texts_one_by_one(problem):
    block, x = problem()
    flat = x.reshape(-1, *x.shape[-2:])
    expected = torch.stack([block(text) for text in flat]).reshape(x.shape)
    assert_close(block(x), expected, **EXACT)


@settings(max_examples=60)
@given(problems(DecoderBlock))
def test_a_batch_of_pairs_is_its_pairs_one_by_one(problem):
    block, x, context = problem()
    mask = causal_mask(x.shape[-2])
    pairs = zip(*(t.reshape(-1, *t.shape[-2:]) for t in (x, context)), strict=True)
    expected = torch.stack([block(*pair, mask) for pair in pairs]).reshape(x.shape)
    assert_close(block(x, context, mask), expected, **EXACT)


@settings(max_examples=60)
@given(problems(EncoderBlock), st.randoms(use_true_random=False))
def test_a_block_without_positions_knows_no_order(problem, random):
    block, x = problem()
    order = list(range(x.shape[-2]))
    random.shuffle(order)
    assert_close(block(x[..., order, :]), block(x)[..., order, :], **EXACT)


@settings(max_examples=60)
@given(problems(DecoderBlock), st.integers(0, 6), ANYTHING)
def test_nothing_comes_from_what_is_later(problem, place, content):
    """The rows up to a place are those of a text that ends there, whatever follows."""
    block, x, context = problem()
    n = x.shape[-2]
    place = place % n
    mask = causal_mask(n)
    out = block(x, context, mask)
    dirty = x.clone()
    dirty[..., place + 1 :, :] = content
    # what no row reads may be anything, so that here the later rows read the earlier ones alone
    upto = mask.clone()
    upto[place + 1 :] = False
    upto[place + 1 :, : place + 1] = True
    found = block(dirty, context, upto)
    assert_close(found[..., : place + 1, :], out[..., : place + 1, :], **EXACT)
    prefix = block(x[..., : place + 1, :], context, causal_mask(place + 1))
    assert_close(prefix, out[..., : place + 1, :], **EXACT)


@settings(max_examples=60)
@given(lengths, sizes, sizes, sizes, block_options(), ANYTHING, seeds)
def test_filler_has_no_influence_whatever_it_holds(
    lengths, n_heads, d_k, d_ff, options, content, seed
):
    """In the own text and in the other one: each text alone gives the same rows."""
    d_model, n = n_heads * d_k, max(lengths) + 2
    encoder = seeded(EncoderBlock(d_model, n_heads, d_ff, **options), seed)
    decoder = seeded(DecoderBlock(d_model, n_heads, d_ff, **options), seed)
    x, target = normal(seed, (len(lengths), n, d_model), (len(lengths), 5, d_model))
    mask = padding_mask(lengths, n)
    dirty = x.masked_fill(~mask.mT, content)
    own, other = encoder(dirty, mask), decoder(target, dirty, causal_mask(5), mask)
    for b, length in enumerate(lengths):
        assert_close(own[b, :length], encoder(x[b, :length]), **EXACT)
        expected = decoder(target[b], x[b, :length], causal_mask(5))
        assert_close(other[b], expected, **EXACT)


# the whole model


@st.composite
def models(draw):
    """What builds a model."""
    n_heads, half = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    tie = draw(st.sampled_from(["all", "output", "none"]))
    options = draw(block_options()) | {"attention_bias": draw(st.booleans())}
    options |= {
        "vocab_size": draw(st.integers(1, 13)),
        "target_vocab_size": None if tie == "all" else draw(st.integers(1, 13)),
        "d_model": 2 * half * n_heads,
        "n_heads": n_heads,
        "n_encoder_layers": draw(st.integers(1, 2)),
        "n_decoder_layers": draw(st.integers(1, 2)),
        "d_ff": draw(sizes),
        "tie": tie,
        "final_norm": draw(st.sampled_from([None, True, False])),
    }
    seed = draw(seeds)
    return lambda: seeded(Transformer(TransformerConfig(**options)), seed)


def texts(model, batch, n, side, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(model.config.vocab_sizes[side], (batch, n), generator=generator)


@settings(max_examples=40)
@given(models(), lengths, seeds)
def test_a_batch_of_texts_is_its_texts_one_by_one(build, lengths, seed):
    """Whatever the filler is; and the source's rows are read up to its length."""
    model = build()
    source = texts(model, len(lengths), max(lengths) + 2, 0, seed)
    target = texts(model, len(lengths), 5, 1, seed)
    scores = model(source, lengths, target)
    for b, length in enumerate(lengths):
        alone = model(source[b : b + 1, :length], [length], target[b : b + 1])
        assert_close(scores[b : b + 1], alone, **EXACT)


@settings(max_examples=40)
@given(models(), st.integers(1, 5), seeds)
def test_scores_know_nothing_of_later_targets(build, place, seed):
    """The leakage test, and that filler behind a target changes none of its scores."""
    model = build()
    source, target = texts(model, 2, 3, 0, seed), texts(model, 2, 5, 1, seed)
    scores = model(source, [3, 2], target)
    other = torch.cat((target[:, :place], texts(model, 2, 5 - place, 1, seed ^ 1)), dim=1)
    found = model(source, [3, 2], other)[:, :place]
    assert_close(found, scores[:, :place], **EXACT)
    filled = model(source, [3, 2], target, [place, 5])
    assert_close(filled[0, :place], scores[0, :place], **EXACT)
    assert_close(filled[1], scores[1], **EXACT)


@settings(max_examples=40)
@given(models(), lengths, st.lists(st.integers(0, 2), max_size=4), ANYTHING, seeds)
def test_steps_with_the_caches_give_the_rows_of_the_whole(build, lengths, index, content, seed):
    """From a ragged batch whose filler is broken; and a state's rows go on as those texts would."""
    model = build()
    source = texts(model, len(lengths), max(lengths) + 2, 0, seed)
    target = texts(model, len(lengths), 5, 1, seed)
    expected = model(source, lengths, target)
    index = torch.tensor([i % len(lengths) for i in index], dtype=torch.int64)
    real = torch.arange(source.shape[1]) < torch.tensor(lengths).unsqueeze(-1)
    model.encoder_norm.register_forward_hook(
        lambda module, args, rows: rows.masked_fill(~real.unsqueeze(-1), content)
    )
    state = model.start(source, lengths)
    for t in range(2):
        scores, state = model.step(target[:, t], state)
        assert_close(scores, expected[:, t], **EXACT)
    state = DecoderState(state.written.rows(index), state.context.rows(index), state.mask[index])
    for t in range(2, 5):
        scores, state = model.step(target[index, t], state)
        assert_close(scores, expected[index, t], **EXACT)


@settings(max_examples=60)
@given(models())
def test_the_formula_counts_exactly(build):
    model = build()
    count = sum(p.numel() for p in model.parameters())
    assert parameter_counts(model.config).total == count


@pytest.mark.parametrize("norm_first", [True, False])
def test_another_source_gives_other_scores(norm_first):
    """`encoder-decoder-attention`, `context-enriched-output`: each row depends on every token."""
    config = TransformerConfig(13, d_model=6, n_heads=3, d_ff=11, n_encoder_layers=1,
                               n_decoder_layers=1, norm_first=norm_first)  # fmt: skip
    model = seeded(Transformer(config), 5)
    source, target = texts(model, 1, 7, 0, 5), texts(model, 1, 5, 1, 5)
    scores = model(source, [7], target)
    for i in range(7):
        other = source.clone()
        other[0, i] = (other[0, i] + 1) % 13
        assert (model(other, [7], target) != scores).any(-1).all()
