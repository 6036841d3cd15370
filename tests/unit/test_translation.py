"""The translator: padding, the loss, training on tasks that it must learn, what it refuses."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from softlookup.models import Transformer, TransformerConfig
from softlookup.translation import (
    BOS,
    EOS,
    PAD,
    Decoder,
    Encoder,
    Seq2Seq,
    Translator,
    batches_of_pairs,
    best_links,
    pad_batch,
    sequence_loss,
    train_transformer,
    train_translator,
    translation_loss,
)
from softlookup.words import Vocabulary

LETTERS = "abcdefg"
TINY = {"d_model": 16, "d_hidden": 32, "d_attention": 8}
SMALL = {"d_model": 16, "n_heads": 2, "n_layers": 2, "d_ff": 32}


def reversals(n, longest, generator):
    """Texts of letters, and the same from the end."""
    lengths = torch.randint(1, longest + 1, (n,), generator=generator).tolist()
    texts = [[LETTERS[k] for k in torch.randint(7, (length,), generator=generator).tolist()]
             for length in lengths]  # fmt: skip
    return [(text, text[::-1]) for text in texts]


@pytest.fixture(scope="module")
def pairs():
    return reversals(1009, 5, torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def trained(pairs):
    plan = {"n_steps": 300, **TINY}
    return train_translator(pairs, generator=torch.Generator().manual_seed(2), **plan)


@pytest.fixture(scope="module")
def transformer(pairs):
    plan = {"n_steps": 500, "learning_rate": 0.01, **SMALL}
    return train_transformer(pairs, generator=torch.Generator().manual_seed(3), **plan)


# padding and the loss


def test_padding_by_hand():
    ids, lengths = pad_batch([[5, 3], [], [7, 8, 9]], filler=1)
    assert ids.tolist() == [[5, 3, 1], [1, 1, 1], [7, 8, 9]]
    assert lengths.tolist() == [2, 0, 3]
    assert ids.dtype == lengths.dtype == torch.int64


def test_loss_is_the_mean_over_real_tokens(generator):
    """Of all together, as PyTorch's `ignore_index` has it; not a mean of means."""
    scores = torch.randn(3, 5, 7, dtype=torch.float64, generator=generator)
    targets = torch.randint(7, (3, 5), generator=generator)
    lengths = [5, 1, 2]
    ignored = targets.clone()
    for row, length in zip(ignored, lengths, strict=True):
        row[length:] = -100
    assert_close(sequence_loss(scores, targets, lengths), F.cross_entropy(scores.mT, ignored))
    each = [F.cross_entropy(scores[i, :n], targets[i, :n]) for i, n in enumerate(lengths)]
    assert not torch.isclose(sequence_loss(scores, targets, lengths), sum(each) / 3)


@pytest.mark.parametrize("filler", [math.nan, math.inf])
def test_loss_has_no_eye_for_filler(generator, filler):
    scores = torch.randn(2, 3, 5, generator=generator)
    clean = sequence_loss(scores, torch.ones(2, 3).long(), [3, 1])
    scores[1, 1:] = filler
    scores.requires_grad_()
    dirty = sequence_loss(scores, torch.ones(2, 3).long(), [3, 1])
    assert_close(dirty, clean, rtol=0, atol=0)
    dirty.backward()
    assert scores.grad[1, 1:].eq(0).all()


@pytest.mark.parametrize("kind", ["recurrent", "Transformer"])
def test_loss_of_pairs_is_that_of_all_words_and_ends_one_by_one(kind):
    torch.manual_seed(5)
    if kind == "recurrent":
        model = Seq2Seq(Encoder(11, 5, 4), Decoder(13, 5, 4)).double()
    else:
        config = TransformerConfig(11, 13, d_model=6, n_heads=3, d_ff=7, tie="output")
        model = Transformer(config).double().eval()
    pairs = [([3, 1, 4], [5, 9]), ([2], [6, 5, 3, 5]), ([8, 9], [])]
    each = []
    for source, target in pairs:
        rows = model(torch.tensor([source]), [len(source)], torch.tensor([[1, *target]]))[0]
        chances = rows.log_softmax(dim=-1)
        each += [-row[word] for row, word in zip(chances, [*target, 2], strict=True)]
    assert len(each) == 9
    assert_close(translation_loss(model, pairs, 1, 2), sum(each) / 9)
    with pytest.raises(ValueError, match="at least one pair; got n_pairs=0"):
        translation_loss(model, [], 1, 2)


# training


def test_learns_to_reverse_with_an_antidiagonal_alignment(trained, generator):
    """`bahdanau-alignment`."""
    fresh = [(s, t) for s, t in reversals(211, 5, generator) if len(set(s)) == len(s)]
    sources, targets = zip(*fresh, strict=True)
    assert len(fresh) > 50
    right = [out == target for out, target in zip(trained.translate(sources), targets, strict=True)]
    assert sum(right) / len(right) >= 0.98
    for weights in trained.align(sources, targets):
        assert_close(weights.sum(dim=-1), torch.ones(len(weights)))
    mirrored = [j == len(source) - 1 - i
                for weights, source in zip(trained.align(sources, targets), sources, strict=True)
                for i, j in best_links(weights)]  # fmt: skip
    assert sum(mirrored) / len(mirrored) >= 0.9


def test_beam_of_width_one_translates_like_greedy(trained, pairs):
    sources = [source for source, _ in pairs[:11]]
    assert trained.translate(sources, width=1) == trained.translate(sources)
    assert trained.translate(sources, width=3) == [target for _, target in pairs[:11]]


def test_a_sentence_translates_alone_as_in_a_batch(trained, pairs):
    sources = [source for source, _ in pairs[:31]]
    together = trained.translate(sources)
    assert [trained.translate([source])[0] for source in sources] == together
    alone = [trained.align([s], [t])[0] for s, t in pairs[:31]]
    for one, many in zip(alone, trained.align(*zip(*pairs[:31], strict=True)), strict=True):
        assert_close(one, many, rtol=0, atol=1e-5)


def test_translations_are_cut_at_max_length(trained):
    long = [list("abcde")]
    assert trained.translate(long) == [list("edcba")]
    assert trained.translate(long, max_length=3) == [list("edc")]
    assert trained.translate(long, max_length=3, width=2) == [list("edc")]


def test_without_attention_there_is_nothing_to_align(pairs):
    generator = torch.Generator().manual_seed(2)
    plain = train_translator(pairs, generator=generator, attention="none", n_steps=2, **TINY)
    assert plain.model.decoder.attention is None
    assert len(plain.translate([["a"]])) == 1
    with pytest.raises(ValueError, match="the model must have attention to show"):
        plain.align([["a"]], [["a"]])


@pytest.mark.parametrize("shortcut", [True, False])
def test_the_shortcut_is_the_encoders(pairs, shortcut):
    generator = torch.Generator().manual_seed(2)
    plan = {"n_steps": 2, "shortcut": shortcut, **TINY}
    encoder = train_translator(pairs, generator=generator, **plan).model.encoder
    assert encoder.shortcut == shortcut
    assert encoder.d_context == TINY["d_hidden"] + shortcut * TINY["d_model"]


def test_same_generator_same_translator_and_the_global_one_stays(pairs):
    before = torch.get_rng_state()
    runs = [train_translator(pairs, generator=torch.Generator().manual_seed(s), n_steps=3, **TINY)
            for s in (5, 5, 6)]  # fmt: skip
    assert torch.get_rng_state().equal(before)
    states = [run.model.state_dict() for run in runs]
    assert all(states[0][name].equal(states[1][name]) for name in states[0])
    assert not all(states[0][name].equal(states[2][name]) for name in states[0])


def test_batches_hold_every_pair_once_a_round(generator):
    """61 pairs make three batches of 16 and one of 13; each holds sources of about one length."""
    coded = [([k] * (1 + k % 7), [k]) for k in range(61)]
    rounds = list(itertools.islice(batches_of_pairs(coded, 16, generator), 8))
    for batches in (rounds[:4], rounds[4:]):
        assert sorted(len(batch) for batch in batches) == [13, 16, 16, 16]
        assert sorted(pair for batch in batches for pair in batch) == sorted(coded)
        lengths = [[len(source) for source, _ in batch] for batch in batches]
        assert all(max(some) - min(some) <= 3 for some in lengths)
    assert rounds[:4] != rounds[4:]


def test_batches_of_equal_sources_hold_targets_of_about_one_length(generator):
    coded = [([k], [k] * (1 + k % 7)) for k in range(61)]
    for batch in itertools.islice(batches_of_pairs(coded, 16, generator), 4):
        lengths = [len(target) for _, target in batch]
        assert max(lengths) - min(lengths) <= 3


def test_vocabularies_hold_all_words_and_the_marks(trained):
    assert trained.source.tokens == [PAD, *LETTERS]
    assert trained.target.tokens == [PAD, BOS, EOS, *LETTERS]


def test_aligning_leaves_no_hook_behind(trained):
    for _ in range(2):
        trained.align([["a"]], [["a"]])
    assert not trained.model.decoder.attention.weights._forward_hooks
    with pytest.raises(ValueError, match="every token must be known"):
        trained.align([["?"]], [["a"]])
    assert not trained.model.decoder.attention.weights._forward_hooks


# a Transformer


def test_a_transformer_learns_to_reverse_and_looks_where_it_must(transformer, generator):
    """One of its layers reads the letter that it writes; which, nobody told it."""
    fresh = [(s, t) for s, t in reversals(211, 5, generator) if len(set(s)) == len(s)]
    sources, targets = zip(*fresh, strict=True)
    right = [out == target for out, target in
             zip(transformer.translate(sources), targets, strict=True)]  # fmt: skip
    assert sum(right) / len(right) >= 0.95
    shares = []
    for layer in (0, 1):
        seen = transformer.align(sources, targets, layer=layer)
        for weights in seen:
            assert_close(weights.sum(dim=-1), torch.ones(len(weights)))
        mirrored = [j == len(source) - 1 - i
                    for weights, source in zip(seen, sources, strict=True)
                    for i, j in best_links(weights)]  # fmt: skip
        shares.append(sum(mirrored) / len(mirrored))
    assert max(shares) >= 0.8


def test_transformer_alone_as_in_a_batch_and_beam_of_one_as_greedy(transformer, pairs):
    sources = [source for source, _ in pairs[:31]]
    together = transformer.translate(sources)
    assert [transformer.translate([source])[0] for source in sources] == together
    assert transformer.translate(sources[:11], width=1) == together[:11]
    assert transformer.translate([list("abcde")], max_length=3) == [list("edc")]
    alone = [transformer.align([s], [t])[0] for s, t in pairs[:31]]
    for one, many in zip(alone, transformer.align(*zip(*pairs[:31], strict=True)), strict=True):
        assert_close(one, many, rtol=0, atol=1e-5)


def test_alignment_of_a_transformer_is_the_mean_of_a_layer_s_heads(transformer, pairs):
    """Read through the probe by hand; row i belongs to the step that writes word i."""
    (source, target), model = pairs[1], transformer.model
    for layer in (0, 1, -1, -2):
        attention, seen = model.decoder[layer].cross_attention.layer, []
        attention.fused = False
        handle = attention.weights.register_forward_hook(lambda *call, s=seen: s.append(call[-1]))
        ids = torch.tensor([transformer.target.encode([BOS, *target])])
        model(torch.tensor([transformer.source.encode(source)]), [len(source)], ids)
        handle.remove()
        attention.fused = True
        (found,) = transformer.align([source], [target], layer=layer)
        assert found.shape == (len(target), len(source))
        assert_close(found, seen[0][0].mean(dim=0)[: len(target)])
    first, last = (transformer.align([source], [target], layer=k)[0] for k in (0, 1))
    assert not torch.allclose(first, last, atol=0.01)
    assert transformer.align([source], [target])[0].equal(last)


def test_aligning_leaves_a_transformer_as_it_was(transformer):
    transformer.align([["a"]], [["a"]])
    for block in transformer.model.decoder:
        assert block.cross_attention.layer.fused
        assert not block.cross_attention.layer.weights._forward_hooks


def test_one_vocabulary_makes_one_matrix(pairs):
    generator = torch.Generator().manual_seed(2)
    both = train_transformer(
        pairs, vocabulary=list(LETTERS), n_steps=1, generator=generator, **SMALL
    )
    assert both.source is both.target
    assert both.source.tokens == [PAD, BOS, EOS, *LETTERS]
    assert both.model.config.tie == "all"
    two = train_transformer(pairs, n_steps=1, generator=generator, **SMALL)
    assert (two.source.tokens, two.target.tokens) == ([PAD, *LETTERS], both.target.tokens)
    assert two.model.config.tie == "output"


def test_choices_reach_the_transformer_and_dropout_ends_with_training(pairs):
    plan = {"d_model": 8, "n_heads": 4, "n_layers": 3, "d_ff": 5, "dropout": 0.5}
    generator = torch.Generator().manual_seed(2)
    run = train_transformer(pairs, n_steps=2, norm_first=False, generator=generator, **plan)
    wanted = TransformerConfig(
        8, 10, n_encoder_layers=3, n_decoder_layers=3, tie="output",
        **{k: v for k, v in plan.items() if k != "n_layers"},
    )  # fmt: skip
    assert run.model.config == wanted
    assert not run.model.training
    again = train_transformer(pairs, n_steps=2, norm_first=False,
                              generator=torch.Generator().manual_seed(2), **plan)  # fmt: skip
    states = run.model.state_dict(), again.model.state_dict()
    assert all(states[0][name].equal(states[1][name]) for name in states[0])


def test_the_rate_rises_and_falls_in_straight_lines(pairs, monkeypatch):
    """Up as k/4, down as 1 − (k − 1)/8 at step k, whichever is less; here half of it."""
    rates, step = [], torch.optim.Adam.step

    def spy(self, *args):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args)

    monkeypatch.setattr(torch.optim.Adam, "step", spy)
    plan = {"n_steps": 8, "n_warmup": 4, "learning_rate": 0.5}
    train_transformer(pairs, generator=torch.Generator(), **plan, **SMALL)
    assert rates == [0.125, 0.25, 0.375, 0.3125, 0.25, 0.1875, 0.125, 0.0625]


# bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pairs": []}, "at least one pair; got n_pairs=0"),
        ({"vocabulary": ["b"]}, r"must be known; got missing=\['a'\]"),
        ({"vocabulary": ["a", "a"]}, r"must be distinct; got repeated=\['a'\]"),
        ({"n_heads": 3}, "n_heads must divide d_model; got d_model=16, n_heads=3"),
        ({"n_steps": 0}, "n_steps must be an integer of at least 1; got n_steps=0"),
        ({"n_warmup": 0}, "n_warmup must be an integer of at least 1; got n_warmup=0"),
        ({"dropout": 1.0}, "dropout must be at least 0 and less than 1; got dropout=1.0"),
        ({"learning_rate": math.inf}, "learning_rate must be positive and finite; got .*inf"),
    ],
)
def test_training_a_transformer_refuses(change, message):
    given = {"pairs": [(["a"], ["a"])], "generator": torch.Generator(), **SMALL} | change
    with pytest.raises(ValueError, match=message):
        train_transformer(**given)


def test_a_layer_that_is_not_there_is_refused(transformer, trained):
    for layer in (2, -3):
        with pytest.raises(ValueError, match=f"got layer={layer}, n_layers=2"):
            transformer.align([["a"]], [["a"]], layer=layer)
    with pytest.raises(ValueError, match="layer must be one of the model's layers; got layer=1"):
        trained.align([["a"]], [["a"]], layer=1)


def test_translator_refuses_a_transformer_of_another_size():
    words = Vocabulary([PAD, "a"], unknown=None)
    model = Transformer(TransformerConfig(3, 2, d_model=2, n_heads=1, d_ff=1, tie="none"))
    with pytest.raises(ValueError, match=r"one embedding for each word .* got model=\(3, 2\), voc"):
        Translator(words, words, model)


def test_padding_refuses():
    with pytest.raises(ValueError, match="at least one text that is not empty; got n_texts=0"):
        pad_batch([])
    with pytest.raises(ValueError, match="at least one text that is not empty; got n_texts=2"):
        pad_batch([[], []])


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("scores", "targets", "lengths", "message"),
    [
        ((3, 5, 7), (3, 5), [5, 5], "one length for each text; got n_lengths=2, n_texts=3"),
        ((3, 5, 7), (3, 5), [5, 5, 6], "length.* must be .*n=5"),
        ((3, 5, 7), (3, 5), [0, 0, 0], "at least one"),
    ],
)
def test_loss_refuses(scores, targets, lengths, message):
    with pytest.raises(ValueError, match=message):
        sequence_loss(torch.zeros(scores), torch.zeros(targets).long(), lengths)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pairs": []}, "at least one pair; got n_pairs=0"),
        (
            {"pairs": [(["a"], [])]},
            r"target\[0\] must have at least one word; got target\[0\]=\[\]",
        ),
        (
            {"pairs": [([], ["a"])]},
            r"source\[0\] must have at least one word; got source\[0\]=\[\]",
        ),
        (
            {"attention": "both"},
            "attention must be one of 'additive', 'none'; got attention='both'",
        ),
        ({"n_steps": 0}, "n_steps must be an integer of at least 1; got n_steps=0"),
        ({"batch_size": 0}, "batch_size must be an integer of at least 1; got batch_size=0"),
        ({"learning_rate": 0.0}, r"learning_rate must be positive and finite; got learning_rate=0"),
        ({"learning_rate": math.nan}, "learning_rate must be positive and finite; got .*nan"),
        ({"d_hidden": 7}, "d_hidden must be even, half for each way; got d_hidden=7"),
    ],
)
def test_training_refuses(change, message):
    given = {"pairs": [(["a"], ["a"])], "generator": torch.Generator(), **TINY} | change
    with pytest.raises(ValueError, match=message):
        train_translator(**given)


@pytest.mark.bad_input
def test_translator_refuses(trained):
    with pytest.raises(ValueError, match=r"must be known; got missing=\['\?'\]"):
        trained.translate([["a", "?"]])
    with pytest.raises(ValueError, match=r"sentences\[0\] must have at least one word"):
        trained.translate([[]])
    with pytest.raises(ValueError, match="one target for each source; got sources=1, targets=2"):
        trained.align([["a"]], [["a"], ["b"]])


def test_translator_refuses_a_model_of_another_size():
    words = Vocabulary([PAD, "a"], unknown=None)
    model = Seq2Seq(Encoder(3, 2, 2), Decoder(2, 2, 2))
    with pytest.raises(ValueError, match=r"one embedding for each word .* got model=\(3, 2\), voc"):
        Translator(words, words, model)
