"""What all language models share: perplexity, bits per byte, the words, the chain rule."""

import math

import pytest
import torch

from softlookup.language_models import LanguageModel, bits_per_byte, known_words, perplexity


class Alternating(LanguageModel):
    """Says yes after an even number of words and no after an odd one, mostly."""

    calls = 0

    def next_word_ids(self, ids):
        self.calls += 1
        row = [0.7, 0.1, 0.2] if len(ids) % 2 == 0 else [0.0, 0.75, 0.25]
        return torch.tensor(row, dtype=torch.float64)


@pytest.fixture
def model():
    return Alternating(["yes", "no"])


def test_the_chain_rule(model):
    assert model.words == ["yes", "no", "</s>"]
    assert model.log_probability(["yes", "no"]) == pytest.approx(math.log(0.7 * 0.75 * 0.2))
    assert model.log_probability([]) == pytest.approx(math.log(0.2))
    assert model.log_probability(["yes", "yes", "no"]) == -math.inf


def test_one_forward_pass_per_new_word(model):
    assert model.greedy(max_length=5) == ["yes", "no", "yes", "no", "yes"]
    assert model.calls == 5
    assert model.greedy(["yes"], max_length=2) == ["yes", "no", "yes"]


@pytest.mark.repeats
def test_sampling_stops_at_the_end(generator):
    model, n = Alternating(["yes", "no"]), 2000
    lengths = [len(model.sample(generator)) for _ in range(n)]
    assert abs(lengths.count(0) / n - 0.2) < 4 * math.sqrt(0.2 * 0.8 / n)
    assert abs(lengths.count(1) / n - 0.8 * 0.25) < 4 * math.sqrt(0.2 * 0.8 / n)


def test_temperature_near_zero_is_greedy(generator, model):
    drawn = model.sample(generator, max_length=7, temperature=0.01)
    assert drawn == model.greedy(max_length=7)


def test_perplexity_of_a_die():
    for size in (2, 7, 50_000):
        assert perplexity(11 * math.log(1 / size), 11) == pytest.approx(size)
    assert perplexity(-math.inf, 3) == math.inf
    assert perplexity(-1e6, 3) == math.inf
    assert perplexity(0.0, 3) == 1


def test_perplexity_per_word_and_per_piece():
    log_p, n_words, n_pieces = -420.0, 70, 110
    assert perplexity(log_p, n_words) == pytest.approx(
        perplexity(log_p, n_pieces) ** (n_pieces / n_words)
    )


def test_bits():
    assert bits_per_byte(12 * math.log(1 / 2), 3) == pytest.approx(4)
    assert bits_per_byte(-math.inf, 3) == math.inf


def test_known_words():
    texts = [["b", "a", "b"], ["c", "<unk>", "<unk>", "a"], []]
    assert known_words(texts) == ["a", "b", "c"]
    assert known_words(texts, 2) == ["a", "b"]
    assert known_words(texts, 3) == []


@pytest.mark.parametrize("value", [0.5, 1e-6])
def test_a_log_probability_is_at_most_zero(value):
    for measure in (perplexity, bits_per_byte):
        with pytest.raises(ValueError, match="at most 0; got log_probability"):
            measure(value, 3)


@pytest.mark.bad_input
@pytest.mark.parametrize("n", [0, -3, 2.5])
def test_there_must_be_tokens_and_bytes(n):
    with pytest.raises(ValueError, match="n_tokens must be an integer of at least 1"):
        perplexity(-1.0, n)
    with pytest.raises(ValueError, match="n_bytes must be an integer of at least 1"):
        bits_per_byte(-1.0, n)
    with pytest.raises(ValueError, match="min_count must be an integer of at least 1"):
        known_words([["a"]], n)


@pytest.mark.parametrize("words", [[], ["a", "a"], ["a", "<unk>"], ["</s>"]])
def test_words_must_be_words(words):
    with pytest.raises(ValueError, match=r"words must|must be distinct"):
        LanguageModel(words)


def test_no_texts_no_words():
    with pytest.raises(ValueError, match="at least one text"):
        known_words([])


@pytest.mark.bad_input
def test_a_text_is_a_list(model):
    with pytest.raises(ValueError, match="not one string"):
        model.next_word("yes")
    with pytest.raises(ValueError, match="max_length"):
        model.greedy(max_length=0)
