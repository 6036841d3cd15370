"""The models of the workshop: their files are those of their records, loaded as they were kept."""

import hashlib
import json

import pytest
import torch
from safetensors import safe_open

from softlookup.models import GPT, load_gpt
from softlookup.models.gpt import parameter_count
from softlookup.recorded import capstone, capstone_model, capstone_prose, recorded
from softlookup.recorded.record import data_checksums
from softlookup.tokenization import BytePairTokenizer

TEXT = "\n\n".join(f"A:\nline {i}" for i in range(20))
EXPERIMENTS = {"capstone": capstone, "capstone_prose": capstone_prose}
each = pytest.mark.parametrize("name", EXPERIMENTS)


@each
def test_the_file_is_the_one_that_was_recorded(name):
    found, content = recorded(name).results, EXPERIMENTS[name].WEIGHTS.read_bytes()
    assert hashlib.sha256(content).hexdigest() == found["sha256"]
    assert len(content) == found["n_bytes"] < 2_000_000


@each
def test_the_file_says_where_it_comes_from(name):
    record, experiment = recorded(name), EXPERIMENTS[name]
    with safe_open(experiment.WEIGHTS, framework="pt") as file:
        texts = file.metadata()
        kinds = {file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
    assert kinds == {"F16"}
    assert json.loads(texts["data"]) == data_checksums(experiment) == record.data
    assert (texts["seed"], texts["code"]) == (str(record.seed), record.code)
    found = record.results
    looks = found["runs"][found["kind"]]["looks"] if "runs" in found else found["looks"]
    assert texts["step"] == str(min(looks, key=lambda look: look["bits"])["step"])
    assert texts["command"] == f"make record NAME={name}"


@pytest.mark.parametrize(
    ("read", "name"), [("shakespeare", "capstone"), ("book", "capstone_prose")]
)
def test_a_model_is_loaded_and_writes_what_was_recorded(read, name):
    model, tokenizer = capstone_model(read)
    found = recorded(name).results
    assert isinstance(model, GPT)
    assert model.config.dropout == 0
    assert parameter_count(model.config) == found["parameters"]
    prompt, text = next(iter(found["samples"].items()))
    assert text.startswith(capstone.drawn_text(model, tokenizer, prompt, 30))
    assert len(text) == len(prompt) + 300


def test_a_model_that_was_never_trained_is_refused():
    with pytest.raises(ValueError, match="read must be one of 'shakespeare', 'book'; got read='x'"):
        capstone_model("x")


def test_the_kind_of_token_is_kept_that_told_the_judging_speeches_best():
    found = recorded("capstone").results
    runs = {kind: min(look["bits"] for look in run["looks"]) for kind, run in found["runs"].items()}
    assert found["kind"] == min(runs, key=runs.get)
    assert found["bits_before_rounding"] == found["runs"][found["kind"]]["bits"]
    _, tokenizer = capstone_model()
    assert len(tokenizer) == found["runs"][found["kind"]]["tokens"]


def test_weights_are_kept_at_the_step_that_was_judged_best():
    tokens = BytePairTokenizer([])
    model = capstone.new_model(tokens, window=8, d_model=8, n_heads=2, n_layers=1, dropout=0.5)
    said, weights = iter([3.0, 1.0, 2.0]), []

    def told(plain):
        assert plain.config.dropout == 0
        weights.append(plain.embedding.weight.detach().clone())
        return next(said)

    ids = capstone.ids_of(TEXT, tokens)
    sizes = {"length": 16, "batch_size": 2}
    losses, looks = capstone.train_and_choose(model, ids, 6, 2, told, **sizes)
    assert len(losses) == 6
    assert looks == [{"step": 2, "bits": 3.0}, {"step": 4, "bits": 1.0}, {"step": 6, "bits": 2.0}]
    assert torch.equal(model.embedding.weight, weights[1])
    assert not torch.equal(weights[1], weights[2])


def test_a_text_of_paragraphs_is_cut_into_three():
    lines = [f"line {i}\n" for i in range(20)]
    learn, judge, held_out = capstone_prose.parts_of("".join(lines))
    assert (held_out, judge) == (lines[0] + lines[10], lines[1] + lines[11])
    assert learn == "".join(lines[2:10] + lines[12:])


def test_a_text_is_cut_into_three_between_speeches():
    learn, judge, held_out = capstone.parts_of(TEXT)
    found = [part.split("\n\n") for part in (learn, judge, held_out)]
    assert [part.pop() for part in found] == ["", "", ""]
    speeches = TEXT.split("\n\n")
    assert found == [speeches[:9] + speeches[10:18], speeches[9:10], speeches[18:]]
    judging = capstone.parts_of("\n\n".join(map(str, range(100))))[1]
    assert judging == "5\n\n45\n\n85\n\n"


def test_even_scores_cost_the_logarithm_of_the_tokens():
    tokens = BytePairTokenizer([])
    even = lambda ids: torch.zeros(*ids.shape, len(tokens))  # noqa: E731
    bits = capstone.held_out_bits(even, tokens, "abcdabcda", 4)
    assert bits == pytest.approx(8 * 8 / 9)  # eight of the nine bytes are foretold, of 256


def test_rounding_to_half_precision_is_what_is_kept(tmp_path):
    found = recorded("capstone").small
    assert found["bits"] != found["bits_before_rounding"]
    assert found["bits"] == pytest.approx(found["bits_before_rounding"], abs=0.01)
    tokens = BytePairTokenizer([])
    model = capstone.new_model(tokens, window=8, d_model=8, n_heads=2, n_layers=1)
    capstone.keep(tmp_path / "m.safetensors", model, tokens, [{"step": 3, "bits": 1.0}], capstone)
    kept, _ = load_gpt(tmp_path / "m.safetensors")
    for part, whole in zip(kept.parameters(), model.parameters(), strict=True):
        assert torch.equal(part, whole.half().float())
