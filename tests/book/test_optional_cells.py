"""Cells that need a real model: one line where it is absent, and what they show where it is there.

The models here are tiny and random, so nothing is said about what the real ones would show.
"""

import re
import textwrap

import matplotlib.pyplot as plt
import nbformat
import pytest
import torch

import registry
from softlookup import analysis
from softlookup.data import PretrainedModel, pretrained_at_hand
from softlookup.models import BERT, GPT, BERTConfig, GPTConfig, pretrained
from softlookup.models.pretrained.bert_tokenizer import SPECIAL_TOKENS
from softlookup.models.pretrained.gpt2_tokenizer import byte_characters
from softlookup.show.looking_inside import induction_panels

CELLS = {
    "training": ("real-run",),
    "looking_inside": ("induction-gpt2", "neighbours-bert"),
}


def run(chapter: str, at_hand) -> list[tuple[plt.Axes, dict]]:
    """Run the chapter's cells with the names that they need; the figures that they show."""
    cells = nbformat.read(registry.by_name()[chapter].path, as_version=4).cells
    sources = {cell.id: cell.source for cell in cells}
    figures = []
    own = torch.Generator().manual_seed(0)
    names = {"torch": torch, "plt": plt, "textwrap": textwrap, "own": own, "GPT": GPT}
    names |= {"pretrained": pretrained, "induction_panels": induction_panels, "analysis": analysis}
    names |= {"pretrained_at_hand": at_hand}
    names["show_figure"] = lambda ax, **told: figures.append((ax, told))
    for cell in CELLS[chapter]:
        exec(sources[cell], names)
    return figures


def tiny_at_hand(*names: str) -> dict[str, PretrainedModel]:
    return {name: load_tiny(name) for name in names}


def load_tiny(name: str) -> PretrainedModel:
    torch.manual_seed(0)
    if name == "gpt2":
        ids = {character: byte for byte, character in enumerate(byte_characters())}
        tokenizer = pretrained.GPT2Tokenizer(ids | {"<|endoftext|>": 256}, [])
        return PretrainedModel(GPT(GPTConfig(257, 64, 12, 3, 2)).eval(), tokenizer)
    pieces = [*SPECIAL_TOKENS, "the", "capital", "of", "france", "is", "."]
    model = BERT(BERTConfig(len(pieces), 16, d_model=12, n_heads=3, n_layers=2)).eval()
    return PretrainedModel(model, pretrained.BERTTokenizer(pieces))


@pytest.mark.parametrize("chapter", CELLS)
def test_without_the_files_one_line_says_how_to_fetch_them(chapter, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SOFTLOOKUP_DATA", str(tmp_path))
    assert run(chapter, pretrained_at_hand) == []
    (line,) = capsys.readouterr().out.splitlines()
    for name in ("gpt2", "bert-base-uncased"):
        assert f'load_pretrained("{name}", download=True)' in line


@pytest.mark.parametrize("chapter", CELLS)
def test_one_model_alone_is_shown_alone(chapter, capsys):
    """Neither cell needs the other's model."""
    shown = {}
    for name in ("gpt2", "bert-base-uncased"):
        figures = run(chapter, lambda *_, name=name: {name: load_tiny(name)})
        shown[name] = len(figures), len(capsys.readouterr().out.splitlines())
    plt.close("all")
    n_figures, n_lines = shown["bert-base-uncased"]
    assert n_figures == 0
    assert n_lines == {"training": 5, "looking_inside": 2}[chapter]
    assert shown["gpt2"][0] == {"training": 0, "looking_inside": 1}[chapter]


def test_the_training_chapter_cuts_writes_and_guesses(capsys):
    assert run("training", tiny_at_hand) == []
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("A|n| |e|m|b|e|d|d|i|n|g| |i|s|")
    guesses = [line.split(maxsplit=1) for line in lines[-5:]]
    assert sorted((p for p, _ in guesses), reverse=True) == [p for p, _ in guesses]
    assert {piece for _, piece in guesses} < {*SPECIAL_TOKENS, "the", "capital", "of", "france",
                                              "is", "."}  # fmt: skip


def test_the_chapter_of_looking_inside_draws_two_maps():
    ((ax, told),) = run("looking_inside", tiny_at_hand)
    place = plt.rcParams["axes.titlelocation"]
    titles = [panel.get_title(loc=place).split(":")[0] for panel in ax.figure.axes]
    assert titles == ["trained", "untrained"]
    assert ax.collections[0].get_array().shape == (24, 24)
    assert told["name"] == "fig-looking-inside-gpt2"
    plt.close(ax.figure)


def test_the_chapter_of_looking_inside_names_two_heads_of_bert(capsys):
    """One that always reads the token before is found, whatever the others do."""
    real = load_tiny("bert-base-uncased")
    probes = [part for name, part in real.model.named_modules() if name.endswith(".weights")]

    def read_the_token_before(probe, inputs, weights):
        planted = weights.clone()
        planted[:, 2] = torch.eye(weights.shape[-1]).roll(-1, dims=1)
        return planted

    probes[1].register_forward_hook(read_the_token_before)
    run("looking_inside", lambda *_: {"bert-base-uncased": real})
    before, after = capsys.readouterr().out.splitlines()
    assert before == "Head 1.2 gives 1.00 to the token before."
    assert re.fullmatch(r"Head [01]\.[012] gives 0\.\d\d to the token after\.", after)
