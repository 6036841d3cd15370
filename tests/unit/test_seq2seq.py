"""Encoder and decoder: steps against all steps at once, ragged batches, direct paths, bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.attention import AdditiveAttention, MultiplicativeAttention
from softlookup.language_models import beam_search, greedy
from softlookup.layers import unroll
from softlookup.ops import softmax
from softlookup.translation import Decoder, DecoderState, Encoder, Seq2Seq

BOS, EOS = 1, 2
KINDS = {
    "additive": lambda: AdditiveAttention(6, 11, 7),
    "multiplicative": lambda: MultiplicativeAttention(6, 11),
    "none": lambda: None,
}


def build(kind="additive"):
    """13 source words, 17 target words, embeddings of width 5, states of width 6."""
    torch.manual_seed(3)
    return Seq2Seq(Encoder(13, 5, 6), Decoder(17, 5, 6, KINDS[kind]())).double()


@pytest.fixture(params=list(KINDS))
def model(request):
    return build(request.param)


@pytest.fixture
def source(generator):
    return torch.randint(13, (3, 7), generator=generator)


@pytest.fixture
def target(generator):
    return torch.randint(17, (3, 5), generator=generator)


LENGTHS = [4, 7, 1]


# the encoder


def test_encoder_puts_three_things_side_by_side(source):
    encoder = build().encoder
    context, summary, mask = encoder(source, LENGTHS)
    x = encoder.embedding(source)
    right, _ = unroll(encoder.rightward, x, lengths=LENGTHS)
    left, _ = unroll(encoder.leftward, x, lengths=LENGTHS, reverse=True)
    for text, length in enumerate(LENGTHS):
        expected = torch.cat((right[text], left[text], x[text]), dim=-1)[:length]
        assert_close(context[text, :length], expected)
        assert_close(summary[text], torch.cat((right[text, length - 1], left[text, 0])))
    assert context[0, 4:].eq(0).all()
    assert mask.int().tolist() == [[[1] * n + [0] * (7 - n)] for n in LENGTHS]


def test_without_the_shortcut_a_row_holds_the_two_states_alone(source):
    with_it = build().encoder
    bare = Encoder(13, 5, 6, shortcut=False).double()
    bare.load_state_dict(with_it.state_dict())
    assert (with_it.d_context, bare.d_context) == (11, 6)
    assert_close(bare(source, LENGTHS).context, with_it(source, LENGTHS).context[..., :6])
    assert_close(bare(source, LENGTHS).summary, with_it(source, LENGTHS).summary)


def test_encoder_alone_sees_both_sides_of_a_word(source):
    """A change of the first word reaches the last row and the other way round."""
    encoder = build().encoder
    before = encoder(source, [7, 7, 7]).context
    source[:, 0] = (source[:, 0] + 1) % 13
    after = encoder(source, [7, 7, 7]).context
    assert (before[:, -1, :3] != after[:, -1, :3]).all()
    assert before[:, -1, 3:].equal(after[:, -1, 3:])


# the decoder


def test_step_by_step_is_all_steps_at_once(model, source, target):
    """`seq2seq-attention-steps`: step k equals row k."""
    state = model.start(source, LENGTHS)
    scores = model(source, LENGTHS, target)
    for t in range(5):
        row, state = model.step(target[:, t], state)
        assert_close(row, scores[:, t])


def test_one_step_written_out(source):
    """h = GRU(E y, h); weights from h; context; scores of tanh of both, side by side."""
    model = build("additive")
    encoded, decoder = model.encoder(source, LENGTHS), model.decoder
    hidden = torch.tanh(encoded.summary @ decoder.bridge.weight.mT + decoder.bridge.bias)
    hidden = decoder.cell(decoder.embedding(torch.tensor([BOS] * 3)), hidden)
    scores, state = model.step(torch.tensor([BOS] * 3), model.start(source, LENGTHS))
    assert_close(state.hidden, hidden)
    attention = decoder.attention
    for text, length in enumerate(LENGTHS):
        rows = encoded.context[text, :length]
        weights = softmax(
            torch.tanh(attention.W_q(hidden[text]) + attention.W_k(rows)) @ attention.v
        )
        both = torch.cat((weights @ rows, hidden[text]))
        assert_close(scores[text], decoder.unembed(torch.tanh(decoder.combine(both))))


def test_without_attention_every_step_reads_the_summary(source, target):
    model = build("none")
    state = model.start(source, LENGTHS)
    summary = model.encoder(source, LENGTHS).summary
    assert_close(state.context, summary.unsqueeze(1))
    hidden, _ = unroll(model.decoder.cell, model.decoder.embedding(target), state.hidden)
    both = torch.cat((summary.unsqueeze(1).expand(-1, 5, -1), hidden), dim=-1)
    expected = model.decoder.unembed(torch.tanh(model.decoder.combine(both)))
    assert_close(model(source, LENGTHS, target), expected)


def test_alignment_is_a_matrix_of_target_by_source(source, target):
    """`token-mismatch-translation`."""
    model, seen = build(), []
    model.decoder.attention.weights.register_forward_hook(lambda *call: seen.append(call[-1]))
    model(source, LENGTHS, target)
    assert seen[0].shape == (3, 5, 7)
    assert_close(seen[0].sum(dim=-1), torch.ones(3, 5).double())
    assert seen[0][0, :, 4:].eq(0).all()


def test_with_attention_every_step_has_a_direct_path_to_every_word(source, target):
    """`attention-core-idea-direct-connection`: the Jacobian past both recurrences."""
    model = build()
    state = model.start(source, [7, 7, 7])
    hidden, _ = unroll(model.decoder.cell, model.decoder.embedding(target), state.hidden)
    jacobian = torch.autograd.functional.jacobian(
        lambda context: model.decoder.predict(hidden, state._replace(context=context))[0],
        state.context.detach(),
    )
    assert (jacobian[:, :, 0].abs().sum(dim=(1, 3)) > 0).all()
    assert jacobian[:, :, 1:].eq(0).all()


# ragged batches


@pytest.mark.parametrize("filler", [0, 12])
def test_ragged_batch_is_each_sentence_alone(model, source, target, filler):
    lengths, steps = LENGTHS, [5, 2, 3]
    for text in range(3):
        source[text, lengths[text] :] = filler
        target[text, steps[text] :] = filler
    together = model(source, lengths, target, steps)
    for text in range(3):
        alone = source[text : text + 1, : lengths[text]], target[text : text + 1, : steps[text]]
        expected = model(alone[0], [lengths[text]], alone[1])
        assert_close(together[text, : steps[text]], expected[0])


def test_nan_in_the_filler_s_embedding_reaches_nothing(model, source, target):
    source, target = source.clamp(min=1), target.clamp(min=1)
    source[0, 4:], source[2, 1:], target[1, 2:] = 0, 0, 0
    is_real = torch.arange(5) < torch.tensor([5, 2, 5]).unsqueeze(-1)
    results = []
    for content in (0.0, math.nan):
        with torch.no_grad():
            model.encoder.embedding.weight[0] = content
            model.decoder.embedding.weight[0] = content
        scores = model(source, LENGTHS, target, [5, 2, 5])[is_real]
        gradients = torch.autograd.grad(scores.sin().sum(), list(model.parameters()),
                                        allow_unused=True)  # fmt: skip
        results.append((scores, gradients))
    assert_close(results[1], results[0], rtol=0, atol=0)
    assert all(g is None or g.isfinite().all() for g in results[1][1])


def test_empty_source_gives_finite_scores(model, source, target):
    scores = model(source, [0, 7, 3], target)
    assert scores.isfinite().all()
    assert_close(scores[0], model(source.flip(1), [0, 7, 3], target)[0])


def test_every_parameter_gets_a_gradient(model, source, target):
    model(source, LENGTHS, target).sin().sum().backward()
    for name, parameter in model.named_parameters():
        assert (parameter.grad != 0).any(), name


# with a search


def test_greedy_translations_of_a_batch_are_those_one_by_one(model, source):
    together = greedy(model.step, model.start(source, LENGTHS), BOS, EOS, 11)
    for text, length in enumerate(LENGTHS):
        state = model.start(source[text : text + 1, :length], [length])
        alone = greedy(model.step, state, BOS, EOS, 11)[0]
        assert alone.ids == together[text].ids
        assert alone.log_probability == pytest.approx(together[text].log_probability)
        beam = beam_search(model.step, state, BOS, EOS, 11, width=1)[0]
        assert beam.ids == alone.ids


def test_beam_search_finds_what_teacher_forcing_scores(source):
    model = build()
    state = model.start(source[:1], [7])
    for text in beam_search(model.step, state, BOS, EOS, 4, width=5):
        written = [*text.ids, EOS] if text.finished else text.ids
        before = torch.tensor([[BOS, *written[:-1]]])
        log_p = torch.log_softmax(model(source[:1], [7], before), dim=-1)[0]
        total = sum(log_p[t, token].item() for t, token in enumerate(written))
        assert text.log_probability == pytest.approx(total)


# bad input


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (torch.tensor([[13]]), "ids must be from 0 to 12; got smallest=13, largest=13"),
        (torch.tensor([[-1]]), "ids must be from 0 to 12; got smallest=-1, largest=-1"),
    ],
)
def test_encoder_refuses_ids(ids, message):
    with pytest.raises(ValueError, match=message):
        build().encoder(ids, [1])


def test_decoder_refuses_ids(source, target):
    model = build()
    state = model.start(source, LENGTHS)
    message = "ids must be from 0 to 16; got smallest=17, largest=17"
    with pytest.raises(ValueError, match=message):
        model.step(torch.tensor([17] * 3), state)
    message = r"target must be from 0 to 16; got smallest=-\d+, largest=-2"
    with pytest.raises(ValueError, match=message):
        model(source, LENGTHS, target - 2 - target.max())


@pytest.mark.bad_input
def test_lengths_must_fit(source, target):
    model = build()
    with pytest.raises(ValueError, match=r"lengths must be from 0 to n; got wrong=\[8\], n=7"):
        model(source, [8, 7, 1], target)
    with pytest.raises(ValueError, match=r"with one length each; got .*n_lengths=2"):
        model(source, [7, 1], target)
    with pytest.raises(ValueError, match=r"lengths must be from 0 to n; got wrong=\[6\], n=5"):
        model(source, LENGTHS, target, [6, 1, 1])


@pytest.mark.parametrize("name", ["vocab_size", "d_model", "d_hidden"])
@pytest.mark.parametrize("kind", [Encoder, Decoder])
def test_sizes_must_be_positive(kind, name):
    sizes = {"vocab_size": 13, "d_model": 5, "d_hidden": 6, name: 0}
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1; got {name}=0"):
        kind(**sizes)


def test_parts_must_fit_together():
    with pytest.raises(ValueError, match=r"d_hidden must be even.* got d_hidden=7"):
        Encoder(13, 5, 7)
    with pytest.raises(ValueError, match="queries of width d_hidden; got d_query=6, d_hidden=8"):
        Decoder(17, 5, 8, AdditiveAttention(6, 11, 7))
    with pytest.raises(ValueError, match="the same d_hidden; got encoder=6, decoder=8"):
        Seq2Seq(Encoder(13, 5, 6), Decoder(17, 5, 8))
    with pytest.raises(ValueError, match="the same d_context; got encoder=11, decoder=12"):
        Seq2Seq(Encoder(13, 5, 6), Decoder(17, 5, 6, AdditiveAttention(6, 12, 7)))


def test_state_is_what_a_search_can_pick_rows_of(source):
    state = build().start(source, LENGTHS)
    assert isinstance(state, DecoderState)
    assert {len(part) for part in state} == {3}
