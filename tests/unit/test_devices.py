"""On another device than the CPU: nothing stays behind, and the numbers are the same."""

import copy
import re
from pathlib import Path

import pytest
import torch
from second_device import AWAY, Away, second_device
from torch.utils._pytree import tree_leaves

import softlookup
from softlookup import analysis, attention, ops, training, translation
from softlookup.attention import (
    AdditiveAttention,
    GraphAttention,
    MultiplicativeAttention,
    cache,
    efficient,
    multi_head,
    positions,
)
from softlookup.language_models import (
    FeedForwardLM,
    RecurrentLM,
    beam_search,
    greedy,
    mask_tokens,
    masked_loss,
    next_token_log_probabilities,
    next_token_loss,
    random_pieces,
    sample,
    smoothed_cross_entropy,
    smoothed_targets,
    train_lm,
)
from softlookup.layers import (
    FeedForward,
    GatedFeedForward,
    bptt,
    experts,
    normalization,
    recurrence,
)
from softlookup.masks import causal_mask, padding_mask
from softlookup.models import (
    BERT,
    GPT,
    BERTConfig,
    DecoderBlock,
    EncoderBlock,
    GPTConfig,
    Transformer,
    TransformerConfig,
    ViT,
    ViTConfig,
)
from softlookup.tokenization import patches
from softlookup.translation import Decoder, Encoder, Seq2Seq
from softlookup.words import (
    embeddings,
    fit_logistic,
    fit_softmax,
    principal_components,
    procrustes,
    quantization,
)

LIBRARY = Path(softlookup.__file__).parent


def seeded(seed=7):
    return torch.Generator().manual_seed(seed)


def drawn(*shape):
    return torch.randn(*shape, generator=seeded(sum(shape)))


X, Y, Q, K, V = (
    drawn(2, 5, 8),
    drawn(2, 7, 8),
    drawn(2, 3, 5, 4),
    drawn(2, 3, 7, 4),
    drawn(2, 3, 7, 6),
)
IDS = torch.randint(11, (2, 5), generator=seeded())
MASK = causal_mask(5)
WORDS = ["a", "b", "c"]
TEXTS = [["a", "b"], ["c", "a", "b"]]
TODAY = {"positions": "rotary", "norm": "rms", "qk_norm": True, "activation": "relu2"}


def gpt(**options):
    torch.manual_seed(1)
    return GPT(GPTConfig(11, 16, 8, 2, 2, **options)).eval()


def bert():
    torch.manual_seed(1)
    return BERT(BERTConfig(11, context=16, d_model=8, n_heads=2, n_layers=2)).eval()


def vit():
    torch.manual_seed(1)
    return ViT(ViTConfig(3, (4, 6), 2, d_model=8, n_heads=2)).eval()


def transformer(**options):
    torch.manual_seed(1)
    sizes = {"d_model": 8, "n_heads": 2, "d_ff": 7}
    layers = {"n_encoder_layers": 1, "n_decoder_layers": 1}
    return Transformer(TransformerConfig(11, **sizes, **layers, **options)).eval()


def pair(reads=True):
    torch.manual_seed(1)
    reader = AdditiveAttention(4, 9, 3) if reads else None
    return Seq2Seq(Encoder(11, 5, 4), Decoder(11, 5, 4, reader))


def made(kind, *sizes, **options):
    torch.manual_seed(1)
    return kind(*sizes, **options)


def hypotheses(found):
    return [(text.ids, round(text.log_probability, 3)) for text in found]


def sampled(on, model, **filters):
    model = on(model)
    start = model.start(on(IDS[:, :-1]))
    options = {"max_length": 4, "generator": seeded(), **filters}
    return hypotheses(sample(model.step, start, IDS[:, -1].tolist(), 0, **options))


def searched(on, model):
    model = on(model)
    start = model.start(on(IDS[:1]), [5])
    found = beam_search(model.step, start, 1, 2, 4, width=3)
    return hypotheses(found), hypotheses(greedy(model.step, start, 1, None, 3))


def from_nothing(on, model):
    model = on(model)
    return hypotheses(greedy(model.step, model.new_cache(), 1, None, 3))


def trained(on, model, optimizer, **options):
    """A few steps, with batches that are drawn on the CPU."""
    model = on(model)
    pieces = random_pieces(on(IDS.flatten()), 4, 3, generator=seeded())

    def loss_of_batch(model, ids):
        return next_token_loss(model(ids), ids)

    options = {"n_steps": 3, "clip": 0.5, **options}
    losses = training.train_model(
        model, loss_of_batch, pieces, optimizers=optimizer(model), **options
    )
    return losses, list(model.parameters())


def muon_and_adam(model):
    matrices, rest = training.matrices_and_rest(model)
    return [training.Muon(matrices), torch.optim.AdamW(rest)]


def language_model(on, model):
    model = on(model)
    losses = train_lm(model, TEXTS, generator=seeded(), n_steps=3, batch_size=2)
    told = model.next_word(["a", "b"]), model.log_probability(["b", "c"])
    return losses, told, model.sample(seeded()), model.greedy(["c"])


def cached(on):
    kept = cache.KeyValueCache(1, window=3, n_sinks=1)
    places = kept.begin(on(torch.tensor([5, 2])), 5)
    kept.layers[0].extend(on(drawn(2, 1, 5, 3)), on(drawn(2, 1, 5, 3)))
    kept.forget()
    kept.renumber()
    kept = kept.rows(on(torch.tensor([1, 1, 0])))
    return places, kept.positions, kept.lengths, kept.layers[0].key


def gated(on):
    layer, gates = on(made(multi_head.MultiHeadAttention, 8, 2)), torch.tensor([0.5, 0.0])
    with analysis.head_gates(layer, gates), analysis.capture(layer, "weights") as seen:
        return layer(on(X)), seen["weights"]


def patched(on):
    model = on(gpt())
    score = lambda scores: scores[0, -1, 3]  # noqa: E731
    return analysis.patching_effects(model, on(IDS[:1]), on(IDS[1:]), score, ["rows"]).tolist()


def masked(on):
    generator, options = seeded(), {"mask_id": 0, "vocab_size": 11, "share": 0.5}
    gaps = mask_tokens(on(IDS), **options, lengths=[5, 3], generator=generator)
    return tuple(gaps), masked_loss(on(drawn(2, 5, 11)), gaps.targets, gaps.chosen)


def translated(on, model):
    model = on(model)
    return translation.translation_loss(model, [([3, 1, 6], [5]), ([2], [8, 9])], 1, 2)


TRAINERS = {
    "recurrent": (translation.train_translator, {"d_hidden": 6, "d_attention": 3}),
    "without attention": (translation.train_translator, {"d_hidden": 6, "attention": "none"}),
    "Transformer": (translation.train_transformer, {"n_heads": 2, "d_ff": 7, "dropout": 0.1}),
}


@pytest.mark.parametrize("name", TRAINERS)
def test_a_translator_learns_where_it_is_told_and_comes_back(name, monkeypatch):
    train, sizes = TRAINERS[name]
    pairs = [(["un", "roi"], ["a", "king"]), (["un", "bon", "ami"], ["a", "good", "friend"])]
    learned_on, loss = [], translation.training.translation_loss

    def watched(model, *rest):
        learned_on.extend(parameter.device for parameter in model.parameters())
        return loss(model, *rest)

    monkeypatch.setattr(translation.training, "translation_loss", watched)
    options = {"d_model": 4, "n_steps": 5, **sizes}
    expected = train(pairs, generator=seeded(), **options)
    assert set(learned_on) == {torch.device("cpu")}
    learned_on.clear()
    with second_device(torch.float64) as away:
        found = train(pairs, generator=seeded(), device=away, **options)
    assert set(learned_on) == {away}
    parameters, others = list(found.model.parameters()), list(expected.model.parameters())
    assert not any(isinstance(parameter, Away) for parameter in parameters)
    torch.testing.assert_close(parameters, others)
    sources = [source for source, _ in pairs]
    assert found.translate(sources) == expected.translate(sources)


CALLS = {
    "softmax": lambda on: ops.softmax(on(X)),
    "masked_softmax": lambda on: ops.masked_softmax(on(drawn(2, 5, 5)), on(MASK)),
    "softmax_jacobian": lambda on: ops.softmax_jacobian(on(X).softmax(-1)),
    "cosine_similarity": lambda on: ops.cosine_similarity(on(X), on(X)),
    "entropy": lambda on: ops.entropy(on(X).softmax(-1)),
    "cross_entropy": lambda on: ops.cross_entropy(on(drawn(2, 5, 11)), on(IDS)),
    "one_hot": lambda on: embeddings.one_hot(on(IDS), 11),
    "lookup": lambda on: embeddings.lookup(on(drawn(11, 3)), on(IDS)),
    "nearest": lambda on: embeddings.nearest(on(X[0, 0]), on(X[0]), 2, exclude=[1]),
    "logistic": lambda on: fit_logistic(on(X[0]), on(torch.tensor([0, 1, 1, 0, 1])), n_steps=20),
    "softmax_regression": lambda on: fit_softmax(
        on(X[0]), on(torch.tensor([0, 1, 2, 0, 1])), n_steps=20
    ),
    "principal_components": lambda on: tuple(principal_components(on(X[0]), 2)),
    "procrustes": lambda on: procrustes(on(X[0]), on(Y[0, :5])),
    "patchify": lambda on: patches.unpatchify(patches.patchify(on(drawn(1, 4, 6)), 2), 1, 4, 6),
    "quantize": lambda on: quantization.quantize(on(X)),
    "attention": lambda on: attention.attention(on(Q), on(K), on(V)),
    "attention_mask": lambda on: attention.attention_weights(on(X), on(X), on(MASK)),
    "Attention": lambda on: on(made(attention.Attention, 8, 4, 6))(on(X), mask=on(MASK)),
    "heads": lambda on: on(made(multi_head.MultiHeadAttention, 8, 2))(on(X), on(Y)),
    "heads_step_by_step": lambda on: on(made(attention.GroupedQueryAttention, 8, 2, fused=False))(
        on(X), mask=on(MASK)
    ),
    "gated": gated,
    "EncoderBlock": lambda on: on(made(EncoderBlock, 8, 2, 7))(on(X), on(MASK)),
    "DecoderBlock": lambda on: on(made(DecoderBlock, 8, 2, 7))(on(X), on(Y), on(MASK)),
    "FeedForward": lambda on: on(made(FeedForward, 8, 7))(on(X)),
    "GatedFeedForward": lambda on: on(made(GatedFeedForward, 8, 7))(on(X)),
    "LayerNorm": lambda on: on(normalization.LayerNorm(8))(on(X)),
    "RMSNorm": lambda on: on(normalization.RMSNorm(8))(on(X)),
    "experts": lambda on: on(made(experts.MixtureOfExperts, 8, 7, n_experts=4, k=2))(on(X)),
    "balance_loss": lambda on: experts.balance_loss(on(X), 2),
    "graph": lambda on: on(made(GraphAttention, 8, 4, n_heads=2))(on(X[0]), on(MASK)),
    "additive": lambda on: on(made(AdditiveAttention, 8, 8, 3))(on(X), on(Y)),
    "multiplicative": lambda on: on(made(MultiplicativeAttention, 8, 8))(on(X), on(Y)),
    "sinusoidal_at": lambda on: positions.sinusoidal_at(on(IDS), 8),
    "Rotary": lambda on: positions.Rotary(8)(on(X)),
    "Rotary_places": lambda on: positions.Rotary(8, pairing="halves")(
        on(X), on(torch.arange(2, 7))
    ),
    "LearnedPositions": lambda on: on(made(positions.LearnedPositions, 11, 3))(on(IDS)),
    "padding_mask": lambda on: padding_mask(on(torch.tensor([5, 3])), 5),
    "window_attention": lambda on: efficient.window_attention(on(Q), on(Q), on(Q), 2),
    "tiled_attention": lambda on: efficient.tiled_attention(
        on(Q), on(Q), on(Q), tile=2, causal=True
    ),
    "linear_attention": lambda on: efficient.linear_attention(on(Q), on(K), on(V)),
    "stream_attention": lambda on: efficient.stream_attention(on(Q), on(Q), on(Q), 2, n_sinks=1),
    "softmax_plus_one": lambda on: efficient.softmax_plus_one(on(X)),
    "hard_lookup": lambda on: attention.hard_lookup(on(X[0]), on(Y[0]), on(Y[0])),
    "soft_lookup": lambda on: attention.soft_lookup(on(X[0]), on(Y[0]), on(Y[0])),
    "nadaraya_watson": lambda on: attention.nadaraya_watson(
        on(X[0]), on(Y[0]), on(Y[0]), attention.gaussian_scores
    ),
    "gaussian_process": lambda on: attention.gaussian_process_weights(
        on(X[0]), on(Y[0]), attention.gaussian_scores, noise=0.1
    ),
    "bptt": lambda on: bptt(
        *map(on, (X[0], IDS[0], X[0, 0, :4], drawn(4, 8), drawn(4, 4), drawn(4), drawn(11, 4)))
    ),
    "cache": cached,
    "RNNCell": lambda on: recurrence.unroll(on(made(recurrence.RNNCell, 8, 3)), on(X)),
    "GRUCell": lambda on: recurrence.unroll(
        on(made(recurrence.GRUCell, 8, 3)), on(X), lengths=[5, 2]
    ),
    "LSTMCell": lambda on: recurrence.unroll(
        on(made(recurrence.LSTMCell, 8, 3)), on(X), lengths=on(torch.tensor([5, 2])), reverse=True
    ),
    "GPT": lambda on: on(gpt())(on(IDS)),
    "GPT_today": lambda on: on(gpt(**TODAY))(on(IDS), [5, 3]),
    "GPT_lengths": lambda on: on(gpt())(on(IDS), on(torch.tensor([5, 3]))),
    "BERT": lambda on: on(bert())(on(IDS), [5, 3]),
    "ViT": lambda on: on(vit())(on(drawn(2, 1, 4, 6))),
    "Transformer": lambda on: on(transformer())(on(IDS), [5, 3], on(IDS), [4, 5]),
    "Seq2Seq": lambda on: on(pair())(on(IDS), [5, 3], on(IDS), [4, 5]),
    "Seq2Seq_summary": lambda on: on(pair(reads=False))(on(IDS), on(torch.tensor([5, 3])), on(IDS)),
    "sample": lambda on: sampled(on, gpt(**TODAY), top_k=5, top_p=0.9, min_p=0.01),
    "sample_sinks": lambda on: sampled(on, gpt(**TODAY, window=3, n_sinks=1)),
    "write_from_nothing": lambda on: from_nothing(on, gpt()),
    "beam_Transformer": lambda on: searched(on, transformer()),
    "beam_summary": lambda on: searched(on, pair(reads=False)),
    "beam_Seq2Seq": lambda on: searched(on, pair()),
    "next_token_loss": lambda on: next_token_loss(on(drawn(2, 5, 11)), on(IDS)),
    "next_token_lengths": lambda on: next_token_loss(on(drawn(2, 5, 11)), on(IDS), [5, 3]),
    "log_probabilities": lambda on: next_token_log_probabilities(
        on(gpt()), on(IDS.flatten()), 4, stride=2
    ),
    "mask_tokens": masked,
    "smoothed": lambda on: smoothed_cross_entropy(on(drawn(2, 5, 11)), on(IDS), 0.1),
    "smoothed_targets": lambda on: smoothed_targets(on(IDS), 11, 0.1),
    "train_adam": lambda on: trained(
        on, gpt(), lambda model: torch.optim.AdamW(training.decay_groups(model, 0.1))
    ),
    "train_muon": lambda on: trained(on, gpt(**TODAY, tie=False), muon_and_adam),
    "train_parts": lambda on: trained(
        on,
        gpt(),
        lambda model: torch.optim.SGD(model.parameters(), 0.1),
        n_parts=2,
        count=torch.Tensor.numel,
    ),
    "FeedForwardLM": lambda on: language_model(on, made(FeedForwardLM, WORDS, 3, 5, 7)),
    "RecurrentLM": lambda on: language_model(on, made(RecurrentLM, WORDS, 5, 7)),
    "translation_loss": lambda on: translated(on, transformer()),
    "translation_loss_seq2seq": lambda on: translated(on, pair()),
    "sequence_loss": lambda on: translation.sequence_loss(on(drawn(2, 5, 11)), on(IDS), [5, 3]),
    "rank_residual": lambda on: (analysis.rank_residual(on(X)), analysis.token_cosine(on(X))),
    "ablated_streams": lambda on: analysis.ablated_streams(on(gpt()).blocks, on(X)),
    "head_distance": lambda on: analysis.head_distance(on(X).softmax(-1)),
    "induction": lambda on: analysis.induction_scores(on(drawn(2, 3, 5, 5).softmax(-1)), on(IDS)),
    "patching": patched,
    "patterns": lambda on: analysis.pattern_scores(
        on(drawn(2, 3, 5, 5).softmax(-1)), analysis.offset_pattern(5, -1)
    ),
    "label_heads": lambda on: analysis.label_heads(
        on(drawn(3, 5, 5).softmax(-1)), {"last": analysis.offset_pattern(5, -1)}
    ),
    "rollout": lambda on: analysis.attention_rollout(on(drawn(2, 3, 5, 5).softmax(-1))),
    "captured_variance": lambda on: analysis.captured_variance(on(X)),
    "score_matrices": lambda on: analysis.score_matrices(
        on(made(multi_head.MultiHeadAttention, 8, 2))
    ),
    "logit_lens": lambda on: analysis.logit_lens(on(gpt()), on(IDS)),
}


IN_FLOAT64 = ("sinusoidal_at", "Rotary", "GPT_today", "log_probabilities", "RecurrentLM")


@pytest.mark.parametrize("name", CALLS)
def test_nothing_stays_on_the_cpu_and_nothing_needs_float64(name, monkeypatch):
    """Stricter than any GPU: as CUDA, and as MPS, which has no float64."""
    monkeypatch.setattr("softlookup.ops.WITHOUT_FLOAT64", {AWAY.type})
    compare(CALLS[name], torch.float64)


@pytest.mark.parametrize("name", IN_FLOAT64)
def test_what_is_computed_in_float64_stays_on_a_device_that_has_it(name):
    compare(CALLS[name])


@pytest.mark.parametrize("tie", [True, False])
def test_a_checkpoint_goes_from_one_device_to_the_other_and_back(tie, tmp_path):
    path = tmp_path / "run"
    with second_device() as away:
        model, other, last = (gpt(tie=tie), gpt(tie=tie).to(away), gpt(tie=tie))
        adam, again, end = (torch.optim.AdamW(m.parameters()) for m in (model, other, last))
        next_token_loss(model(IDS), IDS).backward()
        adam.step()
        training.save_checkpoint(path, model, optimizers=adam, step=1)
        assert training.load_checkpoint(path, other, optimizers=again) == 1
        kept = [moment for state in again.state.values() for moment in state.values()]
        assert all(isinstance(moment, Away) for moment in kept if moment.ndim > 0)
        training.save_checkpoint(path, other, optimizers=again, step=2)
        assert training.load_checkpoint(path, last, optimizers=end) == 2
    torch.testing.assert_close(last.state_dict(), model.state_dict(), rtol=0, atol=0)
    torch.testing.assert_close(end.state_dict(), adam.state_dict(), rtol=0, atol=0)


MIXED = {
    "an operation": lambda away: X.to(away) + X,
    "a product": lambda away: X.to(away) @ X.mT,
    "a mask": lambda away: X.to(away).masked_fill(X > 0, 0.0),
    "a choice": lambda away: X.to(away).where(X > 0, 0.0),
    "an embedding": lambda away: made(torch.nn.Embedding, 11, 3).to(away)(IDS),
    "something new": lambda away: X.to(away) + torch.zeros(8),
    "a boolean of the second on the first": lambda away: X[(X > 0).to(away)],
    "a generator": lambda away: torch.rand(3, generator=seeded(), device=away),
}


@pytest.mark.parametrize("mix", MIXED.values(), ids=MIXED)
def test_the_second_device_refuses_what_a_gpu_refuses(mix):
    with (
        second_device() as away,
        pytest.raises(RuntimeError, match=r"mixes devices|generator is on"),
    ):
        mix(away)


def test_the_second_device_can_lack_float64():
    with (
        second_device(torch.float64) as away,
        pytest.raises(TypeError, match=r"has no torch\.float64"),
    ):
        X.double().to(away)


def test_no_device_is_named_in_the_library():
    """The caller chooses, with the tiers; Apple's device also stands where it lacks something."""
    texts = {path: path.read_text(encoding="utf-8") for path in LIBRARY.rglob("*.py")}
    named = re.compile(r"""\.cuda\(|\.to\(["']|device=["']|["'](cuda|mps)["']""")
    found = {path.name for path, text in texts.items() if named.search(text)}
    assert found <= {"ops.py", "distributed.py", "tiers.py"}


def compare(call, *lacking):
    """The same call on the CPU and on the second device, forward and backward."""
    expected = tree_leaves(call(lambda thing: thing))
    with second_device(*lacking) as away:
        found = tree_leaves(call(lambda thing: copy.deepcopy(thing).to(away)))
        for tensor in found:
            if isinstance(tensor, torch.Tensor) and tensor.grad_fn is not None:
                tensor.sum().backward(retain_graph=True)
    for ours, theirs in zip(found, expected, strict=True):
        if isinstance(theirs, torch.Tensor):
            assert isinstance(ours, Away) != (ours.dtype in lacking), "a result stays on the CPU"
            torch.testing.assert_close(ours.here if isinstance(ours, Away) else ours, theirs)
        elif isinstance(theirs, float):
            assert ours == pytest.approx(theirs, rel=1e-5)
        else:
            assert ours == theirs
