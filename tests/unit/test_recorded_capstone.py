"""The model of the workshop: its file is that of its record, and is loaded as it was kept."""

import hashlib
import json

import pytest
import torch
from safetensors import safe_open

from softlookup.language_models import known_words
from softlookup.models import GPT, load_gpt
from softlookup.models.gpt import parameter_count
from softlookup.recorded import capstone, capstone_model, recorded
from softlookup.recorded.record import checksums
from softlookup.tokenization import BytePairTokenizer

TEXT = "\n\n".join(f"A:\nline {i}" for i in range(20))


def test_the_file_is_the_one_that_was_recorded():
    found, content = recorded("capstone").results, capstone.WEIGHTS.read_bytes()
    assert hashlib.sha256(content).hexdigest() == found["sha256"]
    assert len(content) == found["n_bytes"] < 2_000_000


def test_the_file_says_where_it_comes_from():
    record = recorded("capstone")
    with safe_open(capstone.WEIGHTS, framework="pt") as file:
        texts = file.metadata()
        kinds = {file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
    assert kinds == {"F16"}
    assert json.loads(texts["data"]) == checksums(capstone.DATA) == record.data
    assert (texts["seed"], texts["code"]) == (str(record.seed), record.code)
    best = min(record.results["looks"], key=lambda look: look["bits"])
    assert texts["step"] == str(best["step"])
    assert texts["command"] == "make record NAME=capstone"


def test_the_model_is_loaded_and_writes_what_was_recorded():
    model, tokenizer = capstone_model()
    found = recorded("capstone").results
    assert isinstance(model, GPT)
    assert parameter_count(model.config) == found["parameters"]
    assert len(tokenizer) == found["tokens"]
    prompt, text = next(iter(found["samples"].items()))
    assert text.startswith(capstone.greedy_text(model, tokenizer, prompt, 30))


def test_a_text_is_cut_into_three_between_speeches():
    learn, judge, held_out = capstone.parts_of(TEXT)
    assert learn + judge + held_out == TEXT + "\n\n"
    assert [part.count("A:") for part in (learn, judge, held_out)] == [17, 1, 2]


@pytest.mark.parametrize("tokens", [known_words([list(TEXT)]), BytePairTokenizer([(65, 58)])])
def test_ids_give_the_text_back(tokens):
    ids = capstone.ids_of(TEXT, tokens)
    assert capstone.text_of(ids.tolist(), tokens) == TEXT


def test_even_scores_cost_the_logarithm_of_the_tokens():
    letters = known_words([list("abcd")])
    even = lambda ids: torch.zeros(*ids.shape, len(letters))  # noqa: E731
    bits = capstone.held_out_bits(even, letters, "abcdabcda", 4)
    assert bits == pytest.approx(8 * torch.tensor(len(letters)).log2().item() / 9)


def test_rounding_to_half_precision_is_what_is_kept(tmp_path):
    found = capstone.run_small()
    small = recorded("capstone").small
    assert found["bits"] == pytest.approx(small["bits"], rel=1e-6)
    assert found["bits"] != found["bits_before_rounding"]
    assert found["bits"] == pytest.approx(found["bits_before_rounding"], abs=0.01)
    tokens = BytePairTokenizer([])
    model = capstone.new_model(tokens, window=8, d_model=8, n_heads=2, n_layers=1)
    capstone.keep(tmp_path / "m.safetensors", model, tokens, 3)
    kept, _ = load_gpt(tmp_path / "m.safetensors")
    for part, whole in zip(kept.parameters(), model.parameters(), strict=True):
        assert torch.equal(part, whole.half().float())
