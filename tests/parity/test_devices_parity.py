"""On a GPU the numbers are those of the CPU: float64 to 1e-10, float32 to 1e-4 of the largest.

Each test runs on the fake second device, too, so that a machine without a card reads every line.
"""

import copy
import sys
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from softlookup import training
from softlookup.language_models import decoding, objectives
from softlookup.models import (
    BERT,
    GPT,
    BERTConfig,
    GPTConfig,
    Transformer,
    TransformerConfig,
    ViT,
    ViTConfig,
)

sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))
from second_device import second_device

TODAY = {"positions": "rotary", "norm": "rms", "qk_norm": True, "activation": "relu2"}
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4}
# Sums are added up in another order on a GPU, so the last digits differ, and AdamW divides small
# differences by small numbers: the tolerance after training is wider.


@pytest.fixture(params=["fake", "cuda"])
def device(request):
    """The card, or the fake second device, which is there while a test runs."""
    if request.param == "cuda":
        if not torch.cuda.is_available():
            pytest.skip("no CUDA device")
        yield torch.device("cuda")
        return
    with second_device() as away:
        yield away


def seeded():
    return torch.Generator().manual_seed(11)


def models():
    torch.manual_seed(11)
    sizes = {"context": 32, "d_model": 24, "n_heads": 3, "n_layers": 2}
    ids, lengths = torch.randint(13, (5, 17), generator=seeded()), [17, 11, 7, 1, 3]
    small = {"d_model": 24, "n_heads": 3, "d_ff": 31}
    images = torch.randn(3, 1, 8, 12, generator=seeded())
    return {
        "GPT": (GPT(GPTConfig(13, **sizes)), (ids, lengths)),
        "GPT today": (GPT(GPTConfig(13, **sizes, **TODAY)), (ids,)),
        "GPT window": (GPT(GPTConfig(13, **sizes, **TODAY, window=5, n_sinks=1)), (ids,)),
        "BERT": (BERT(BERTConfig(13, **sizes)), (ids, lengths)),
        "Transformer": (Transformer(TransformerConfig(13, **small)), (ids, lengths, ids)),
        "ViT": (ViT(ViTConfig(7, (8, 12), 4, d_model=24, n_heads=3)), (images,)),
    }


def on(device, dtype, given):
    if not isinstance(given, torch.Tensor):
        return given
    return given.to(device, dtype) if given.is_floating_point() else given.to(device)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", models())
def test_scores_and_gradients_agree(name, dtype, device):
    model, given = models()[name]
    found = []
    for place in (torch.device("cpu"), device):
        twin = copy.deepcopy(model).eval().to(place, dtype)
        out = twin(*(on(place, dtype, part) for part in given))
        (out[0] if isinstance(out, tuple) else out).square().mean().backward()
        found.append([out, *(p.grad for p in twin.parameters() if p.grad is not None)])
    for here, there in zip(*found, strict=True):
        size = here.detach().abs().max().clamp(min=1).item()
        assert there.device.type == device.type
        assert_close(there.cpu(), here, rtol=0, atol=size * TOLERANCE[dtype])


@pytest.mark.parametrize("kind", ["adam", "muon"])
def test_training_takes_the_same_way(kind, device):
    torch.manual_seed(11)
    model = GPT(GPTConfig(13, 32, 24, 3, 2, **TODAY, tie=False)).double()
    stream, ends = torch.randint(13, (500,), generator=seeded()), []
    for place in (torch.device("cpu"), device):
        twin = copy.deepcopy(model).to(place)
        matrices, rest = training.matrices_and_rest(twin)
        adam = torch.optim.AdamW(training.decay_groups(twin, 0.1), lr=0.01)
        both = [training.Muon(matrices), torch.optim.AdamW(rest, lr=0.01)]
        pieces = objectives.random_pieces(stream.to(place), 16, 8, generator=seeded())
        losses = training.train_model(
            twin, lambda model, ids: objectives.next_token_loss(model(ids), ids), pieces,
            optimizers=adam if kind == "adam" else both, n_steps=20, clip=1.0)  # fmt: skip
        ends.append([torch.tensor(losses), *(p.detach().cpu() for p in twin.parameters())])
    assert_close(ends[0], ends[1], rtol=0, atol=1e-7)


def test_sampling_with_a_generator_of_the_cpu_writes_the_same(device):
    model = models()["GPT today"][0].double().eval()
    texts = []
    for place in (torch.device("cpu"), device):
        twin = copy.deepcopy(model).to(place)
        options = {"max_length": 20, "generator": seeded(), "top_p": 0.9}
        texts.append(decoding.sample(twin.step, twin.new_cache(), [1, 2, 3], None, **options))
    assert [text.ids for text in texts[0]] == [text.ids for text in texts[1]]


def test_sampling_with_a_generator_of_the_gpu(device):
    model = models()["GPT"][0].to(device).eval()
    own = device if device.type == "cuda" else "cpu"  # the fake device has no generator
    generator = torch.Generator(own).manual_seed(1)
    (text,) = decoding.sample(model.step, model.new_cache(), 1, None, 9, generator=generator)
    assert len(text.ids) == 9
