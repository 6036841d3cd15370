"""Derivatives of BERT and ViT against finite differences."""

import pytest
import torch
from torch.autograd import gradcheck
from torch.func import functional_call

from softlookup.masks import padding_mask
from softlookup.models import BERT, BERTConfig, ViT, ViTConfig


@pytest.fixture(autouse=True)
def _seed():
    """The models draw their weights from the global generator."""
    torch.manual_seed(3)


def randomised(model):
    with torch.no_grad():
        for parameter in model.double().parameters():
            parameter.copy_(torch.randn(parameter.shape) / parameter.shape[-1] ** 0.5)
    return model


def test_bert_with_respect_to_every_parameter(generator):
    """The table too, which embeds and scores: its gradient is the sum of both uses."""
    config = BERTConfig(5, context=3, d_model=4, n_heads=2, n_layers=1, d_ff=3, eps=1e-5)
    model = randomised(BERT(config))
    ids = torch.randint(5, (2, 3), generator=generator)
    lengths = [3, 2]
    real = padding_mask(lengths, 3).squeeze(1)
    names = [name for name, _ in model.named_parameters()]

    class Scores(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self):
            return model.mlm_scores(model(ids, lengths)[real])

    scores = Scores()

    def forward(*tensors):
        given = {f"model.{name}": t for name, t in zip(names, tensors, strict=True)}
        return functional_call(scores, given, ())

    assert gradcheck(forward, tuple(model.parameters()))


def test_vit_with_respect_to_the_image_and_every_parameter(generator):
    config = ViTConfig(3, (2, 4), 2, d_model=4, n_heads=2, n_layers=1, d_ff=3)
    model = randomised(ViT(config))
    images = torch.randn(2, 2, 4, dtype=torch.float64, generator=generator, requires_grad=True)
    names = [name for name, _ in model.named_parameters()]

    def forward(images, *tensors):
        return functional_call(model, dict(zip(names, tensors, strict=True)), (images,))

    assert gradcheck(forward, (images, *model.parameters()))
