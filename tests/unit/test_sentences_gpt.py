"""The training of the page in Python: its text, its measure, and what the page may say of it."""

import math

import pytest
import torch

from softlookup.language_models import AddK
from softlookup.models import GPT, GPTConfig
from softlookup.recorded import recorded
from softlookup.recorded import sentences_gpt as experiment
from softlookup.training import Muon


def test_the_text_is_the_one_with_this_checksum():
    text = experiment.load()
    assert experiment.checksum(text) == experiment.SHA256
    assert text.count("\n") == 400
    assert text.startswith(experiment.sentences(30))


def test_each_letter_but_the_first_is_told_once():
    torch.manual_seed(0)
    model = GPT(GPTConfig(5, 4, 6, 3, 1)).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    ids = torch.tensor([0, 1, 4, 2, 3, 1, 0])
    logs = []
    for first in (0, 3):  # pieces of four share their ends
        scores = model(ids[None, first : first + 4])[0].log_softmax(-1)
        logs += [scores[k, ids[first + k + 1]].item() for k in range(3)]
    assert experiment.loss_on(model, ids) == pytest.approx(-sum(logs) / 6, rel=1e-12)


def test_the_surprise_of_counts_is_a_mean_of_logarithms():
    model = AddK([list("abab")], 2, 1.0, ["a", "b"])  # it also knows an end and the unknown
    assert experiment.surprise(model, "aba") == pytest.approx(-math.log(3 / 6 * 2 / 6) / 2)


def test_a_text_goes_on_beyond_the_context():
    torch.manual_seed(0)
    model = GPT(GPTConfig(5, 8, 6, 3, 1))
    written = experiment.write(model, [1, 2, 3], 30)
    assert len(written) == 30
    assert written == experiment.write(model, [1, 2, 3], 30)
    assert written[:5] == experiment.write(model, [1, 2, 3], 5)


def test_the_rates_are_those_of_the_page():
    model = GPT(GPTConfig(5, 8, 6, 3, 1))
    matrices, rest = experiment.optimizers_of(model, "Muon", 0.03)
    assert isinstance(matrices, Muon)
    assert [one.param_groups[0]["lr"] for one in (matrices, rest)] == [0.03, pytest.approx(0.01)]
    (alone,) = experiment.optimizers_of(model, "AdamW", 0.03)
    assert len(alone.param_groups[0]["params"]) == len(list(model.parameters()))


def test_both_runs_pass_the_bigram_and_kneser_ney_stays_ahead():
    found = recorded("sentences_gpt").results
    for run in found["runs"].values():
        losses = [look["held_out"] for look in run["looks"]]
        assert found["counted"]["Kneser–Ney"] < losses[-1] < found["counted"]["bigram"] < losses[0]
        assert [look["step"] for look in run["looks"]] == list(range(10, 251, 10))
        assert len(run["written"]) == 90
