"""Cells that need a real model: one line where it is absent, and what they show where it is there.

The models here are tiny and random, so nothing is said about what the real ones would show.
"""

import textwrap

import matplotlib.pyplot as plt
import nbformat
import pytest
import torch

import registry
from softlookup.data import PretrainedModel, load_pretrained
from softlookup.models import BERT, GPT, BERTConfig, GPTConfig, pretrained
from softlookup.models.pretrained.bert_tokenizer import SPECIAL_TOKENS
from softlookup.models.pretrained.gpt2_tokenizer import byte_characters
from softlookup.show.looking_inside import induction_panels

CELLS = {"training": "real-run", "looking_inside": "induction-gpt2"}


def run(chapter: str, load) -> list[tuple[plt.Axes, dict]]:
    """Run the chapter's cell with the names that it needs; the figures that it shows."""
    cells = nbformat.read(registry.by_name()[chapter].path, as_version=4).cells
    (source,) = [cell.source for cell in cells if cell.id == CELLS[chapter]]
    figures = []
    own = torch.Generator().manual_seed(0)
    names = {"torch": torch, "plt": plt, "textwrap": textwrap, "own": own, "GPT": GPT}
    names |= {"pretrained": pretrained, "induction_panels": induction_panels}
    exec(source, names | {"load_pretrained": load, "show_figure": lambda ax, **told:
                          figures.append((ax, told))})  # fmt: skip
    return figures


def load_tiny(name: str) -> PretrainedModel:
    torch.manual_seed(0)
    if name == "gpt2":
        ids = {character: byte for byte, character in enumerate(byte_characters())}
        tokenizer = pretrained.GPT2Tokenizer(ids | {"<|endoftext|>": 256}, [])
        return PretrainedModel(GPT(GPTConfig(257, 64, 12, 3, 2)).eval(), tokenizer)
    pieces = [*SPECIAL_TOKENS, "the", "capital", "of", "france", "is", "."]
    model = BERT(BERTConfig(len(pieces), 16, d_model=12, n_heads=3, n_layers=2)).eval()
    return PretrainedModel(model, pretrained.BERTTokenizer(pieces))


@pytest.mark.parametrize(("chapter", "n_lines"), [("training", 2), ("looking_inside", 1)])
def test_without_the_files_a_line_each(chapter, n_lines, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SOFTLOOKUP_DATA", str(tmp_path))
    assert run(chapter, load_pretrained) == []
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == n_lines
    assert all("not in the cache. load_pretrained(" in line for line in lines)


def test_the_training_chapter_cuts_writes_and_guesses(capsys):
    assert run("training", load_tiny) == []
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("A|n| |e|m|b|e|d|d|i|n|g| |i|s|")
    guesses = [line.split(maxsplit=1) for line in lines[-5:]]
    assert sorted((p for p, _ in guesses), reverse=True) == [p for p, _ in guesses]
    assert {piece for _, piece in guesses} < {*SPECIAL_TOKENS, "the", "capital", "of", "france",
                                              "is", "."}  # fmt: skip


def test_the_chapter_of_looking_inside_draws_two_maps():
    ((ax, told),) = run("looking_inside", load_tiny)
    place = plt.rcParams["axes.titlelocation"]
    titles = [panel.get_title(loc=place).split(":")[0] for panel in ax.figure.axes]
    assert titles == ["trained", "untrained"]
    assert ax.collections[0].get_array().shape == (24, 24)
    assert told["name"] == "fig-looking-inside-gpt2"
    plt.close(ax.figure)
