"""The decoder step in Python: what it hands to the page, and what it refuses."""

import base64
import json
import math
import re

import numpy as np
import pytest
import torch

from softlookup.attention import AdditiveAttention, MultiplicativeAttention
from softlookup.show import DecoderSteps
from softlookup.translation import BOS, EOS, PAD, Decoder, Encoder, Seq2Seq, Translator
from softlookup.words import Vocabulary

SOURCE, TARGET = ["un", "<b>roi</b>", "dort"], ["a", "king", "sleeps", "a"]


def translator(*, d_hidden=6, kind="additive", n_words=3):
    """A translator with weights as they come, large enough that no two words are alike."""
    source = Vocabulary([PAD, *SOURCE], unknown=None)
    words = ["a", "king", "sleeps"] + [f"word{k}" for k in range(n_words - 3)]
    target = Vocabulary([PAD, BOS, EOS, *words], unknown=None)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        encoder = Encoder(len(source), 5, d_hidden)
        attention = {
            "additive": lambda: AdditiveAttention(d_hidden, encoder.d_context, 7),
            "multiplicative": lambda: MultiplicativeAttention(d_hidden, encoder.d_context),
            "none": lambda: None,
        }[kind]()
        model = Seq2Seq(encoder, Decoder(len(target), 5, d_hidden, attention))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter *= 2
    return Translator(source, target, model)


def unpacked(data, name, width):
    flat = np.frombuffer(base64.b64decode(data[name]), dtype="<f4")
    return torch.tensor(flat.reshape(-1, width))


def same(x, y):
    torch.testing.assert_close(x, y)


@pytest.mark.parametrize("kind", ["additive", "multiplicative"])
def test_the_page_gets_the_models_numbers(kind):
    model = translator(kind=kind)
    data = json.loads(DecoderSteps(model, SOURCE, TARGET).data)
    decoder, state = model.model.decoder, model.model.start(torch.tensor([[1, 2, 3]]), [3])
    assert data["source"] == SOURCE
    assert data["before"] == ["⟨start⟩", *TARGET]
    assert data["target"] == [*TARGET, "⟨end⟩"]
    assert data["words"] == ["⟨filler⟩", "⟨start⟩", "⟨end⟩", "a", "king", "sleeps"]
    assert data["score"].startswith("v^⊤ tanh(" if kind == "additive" else "h_t^⊤ W")
    same(unpacked(data, "keys", 11), state.context[0].detach())
    same(unpacked(data, "W_out", 6), decoder.unembed.weight.detach())
    same(unpacked(data, "b_out", 6)[0], decoder.unembed.bias.detach())
    states = unpacked(data, "states", 6)
    with torch.no_grad():
        same(states[0], state.hidden[0])
        for t, word in enumerate([BOS, *TARGET]):
            _, state = decoder.step(torch.tensor(model.target.encode([word])), state)
            same(states[t + 1], state.hidden[0])
            scores = decoder.attention.scores(state.hidden.unsqueeze(1), state.context)
            same(torch.tensor(data["scores"][t]), scores[0, 0])
            joined = torch.cat((unpacked(data, "keys", 11)[2], states[t + 1]))
            parts = unpacked(data, "from_keys", 6)[2] + unpacked(data, "from_states", 6)[t]
            same(parts, decoder.combine(joined))
    assert len(data["scores"]) == len(TARGET) + 1
    assert max(abs(s) for row in data["scores"] for s in row) <= data["bound"] - 2


def test_the_sliders_reach_beyond_the_largest_score():
    model = translator(kind="multiplicative")
    with torch.no_grad():
        model.model.decoder.attention.W.weight *= 40
    data = json.loads(DecoderSteps(model, SOURCE, TARGET).data)
    largest = max(abs(score) for row in data["scores"] for score in row)
    assert largest > 6
    assert data["bound"] == math.ceil(largest) + 2


def test_the_html_is_small_and_asks_nobody():
    figure = DecoderSteps(translator(n_words=300, d_hidden=86), SOURCE, TARGET, name="fig-other")
    html = figure.html()
    assert len(html.encode()) < 200_000
    assert re.findall(r"https?://[^\"']*", html) == ["http://www.w3.org/2000/svg"]
    assert 'id="fig-other"' in html


def test_a_model_keeps_its_gradients_and_its_mode():
    model = translator()
    DecoderSteps(model, SOURCE, TARGET)
    assert all(parameter.requires_grad for parameter in model.model.parameters())
    assert all(parameter.grad is None for parameter in model.model.parameters())


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"translator": "a model"}, "translator must be a Translator; got translator='a model'"),
        ({"source_words": "un roi"}, "source_words must be a list of tokens, not one string"),
        ({"target_words": "a king"}, "target_words must be a list of tokens, not one string"),
        ({"source_words": []}, r"source_words must be 1 to 10 words; got source_words=\[\]"),
        ({"source_words": ["un"] * 11}, "source_words must be 1 to 10 words"),
        ({"target_words": []}, "target_words must be 1 to 12 words"),
        ({"target_words": ["a"] * 13}, "target_words must be 1 to 12 words"),
        ({"source_words": ["une"]}, r"every token must be known; got missing=\['une'\]"),
        ({"target_words": ["queen"]}, r"every token must be known; got missing=\['queen'\]"),
        ({"alt": ""}, "alt"),
        ({"name": "Figure 1"}, "name"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    given = {"source_words": SOURCE, "target_words": TARGET, **changes}
    model = given.pop("translator", None) or translator()
    with pytest.raises(ValueError, match=message):
        DecoderSteps(model, **given)


def test_the_model_must_suit_a_page():
    with pytest.raises(ValueError, match="the translator must have attention to show"):
        DecoderSteps(translator(kind="none"), SOURCE, TARGET)
    rule = "small enough for a page, at most 28000 numbers; got n_numbers="
    with pytest.raises(ValueError, match=rule):
        DecoderSteps(translator(n_words=300, d_hidden=100), SOURCE, TARGET)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_must_be_finite(value):
    model = translator()
    with torch.no_grad():
        model.model.decoder.unembed.weight[1, 2] = value
    with pytest.raises(ValueError, match="the model must compute finite W_out; got W_out="):
        DecoderSteps(model, SOURCE, TARGET)
    model = translator()
    with torch.no_grad():
        model.model.decoder.attention.v[0] = value
    with pytest.raises(ValueError, match=r"finite scores; got scores=\(5, 3\)"):
        DecoderSteps(model, SOURCE, TARGET)
