"""What the tests of GPT, BERT, the ViT and the Transformer all do with a model."""

import copy
import io
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn

from softlookup.training import load_checkpoint, save_checkpoint


def count(model: nn.Module) -> int:
    """How many parameters it has."""
    return sum(p.numel() for p in model.parameters())


def randomised(model: nn.Module) -> nn.Module:
    """The model, its every parameter a random number: nothing is hidden by a 0 or a 1."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape) / parameter.shape[-1] ** 0.5)
    return model


def survivors(model: nn.Module, folder: Path) -> Iterator[tuple[str, nn.Module]]:
    """The model after each thing that might cut the tie between its tables."""
    new = type(model)

    def stored(what: object) -> io.BytesIO:
        torch.save(what, file := io.BytesIO())
        file.seek(0)
        return file

    yield "copied", copy.deepcopy(model)
    yield "moved", copy.deepcopy(model).to(torch.float32).to("cpu").double()
    loaded = new(model.config).double()
    loaded.load_state_dict(torch.load(stored(model.state_dict())))
    yield "loaded", loaded
    yield "loaded whole", torch.load(stored(model), weights_only=False)
    save_checkpoint(folder / "run.safetensors", model)
    load_checkpoint(folder / "run.safetensors", again := new(model.config).double())
    yield "from a checkpoint", again
    with torch.device("meta"):
        empty = new(model.config).double()
    empty.to_empty(device="cpu").load_state_dict(model.state_dict())
    yield "from meta", empty
