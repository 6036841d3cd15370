"""The recorded GPT: what is held out, what a byte costs, and what is written."""

import math

import pytest
import torch

from softlookup.language_models import KneserNey, known_words
from softlookup.models import GPT, GPTConfig
from softlookup.recorded import recorded
from softlookup.recorded import shakespeare_gpt as run

TEXT = "\n\n".join(["A:\nto be", *["B:\nor not"] * 8, "A:\nor be"])


def test_the_last_tenth_of_the_speeches_is_held_out():
    learn, held_out = run.speeches_of(TEXT)
    assert (len(learn), held_out) == (9, ["A:\nor be"])


def test_a_stream_has_a_token_before_each_speech_and_after_the_last():
    assert run.stream(["ab", "b"], ["a", "b", run.BETWEEN]).tolist() == [2, 0, 1, 2, 1, 2]
    assert run.n_bytes(["ab", "ü"]) == 4 + 4


def test_even_scores_cost_the_logarithm_of_the_letters_for_each_token():
    ids = run.stream(["ab", "b"], ["a", "b", run.BETWEEN])
    even = lambda ids: torch.zeros(*ids.shape, 3)  # noqa: E731
    bits = run.held_out_bits(even, ids, context=4, n_bytes=run.n_bytes(["ab", "b"]))
    assert math.isclose(bits, 5 * math.log2(3) / 7)


def test_counts_are_those_of_kneser_and_ney():
    parts = run.speeches_of(TEXT)
    learn = [list(speech) for speech in parts[0]]
    model = KneserNey(learn, 2, known_words(learn))
    expected = -model.log_probability(list(parts[1][0])) / math.log(2) / (len(parts[1][0]) + 2)
    assert math.isclose(run.counted_bits(parts, 2), expected)


def test_it_writes_as_long_as_it_is_asked_and_always_the_same():
    torch.manual_seed(0)
    letters = ["a", "b", run.BETWEEN]
    model = GPT(GPTConfig.quick(3, 8, d_model=8, n_heads=2, n_layers=1))
    text = run.write(model, letters, 40)
    assert len(text) == 40
    assert text == run.write(model, letters, 40)
    assert set(text) <= set("ab\n")


@pytest.mark.parametrize("name", ["results", "small"])
def test_a_record_has_a_look_at_the_start_and_at_the_end(name):
    found = getattr(recorded("shakespeare_gpt"), name)
    steps = [look["step"] for look in found["looks"]]
    assert steps[0] == 0
    assert len(found["losses"]) == math.ceil(steps[-1] / 10)
    bits = [look["bits"] for look in found["looks"]]
    assert bits == sorted(bits, reverse=True)
