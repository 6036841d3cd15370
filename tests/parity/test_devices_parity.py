"""On a GPU the numbers are those of the CPU: float64 to 1e-10, float32 to 1e-4 of the largest."""

import copy

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

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
TODAY = {"positions": "rotary", "norm": "rms", "qk_norm": True, "activation": "relu2"}
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4}
# Sums are added up in another order on a GPU, so the last digits differ, and AdamW divides small
# differences by small numbers: the tolerance after training is wider.


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
def test_scores_and_gradients_agree(name, dtype):
    model, given = models()[name]
    found = []
    for device in ("cpu", "cuda"):
        twin = copy.deepcopy(model).eval().to(device, dtype)
        out = twin(*(on(device, dtype, part) for part in given))
        (out[0] if isinstance(out, tuple) else out).square().mean().backward()
        found.append([out, *(p.grad for p in twin.parameters() if p.grad is not None)])
    for here, there in zip(*found, strict=True):
        size = here.detach().abs().max().clamp(min=1).item()
        assert there.device.type == "cuda"
        assert_close(there.cpu(), here, rtol=0, atol=size * TOLERANCE[dtype])


@pytest.mark.parametrize("kind", ["adam", "muon"])
def test_training_takes_the_same_way(kind):
    torch.manual_seed(11)
    model = GPT(GPTConfig(13, 32, 24, 3, 2, **TODAY, tie=False)).double()
    stream, ends = torch.randint(13, (500,), generator=seeded()), []
    for device in ("cpu", "cuda"):
        twin = copy.deepcopy(model).to(device)
        matrices, rest = training.matrices_and_rest(twin)
        adam = torch.optim.AdamW(training.decay_groups(twin, 0.1), lr=0.01)
        both = [training.Muon(matrices), torch.optim.AdamW(rest, lr=0.01)]
        pieces = objectives.random_pieces(stream.to(device), 16, 8, generator=seeded())
        losses = training.train_model(
            twin, lambda model, ids: objectives.next_token_loss(model(ids), ids), pieces,
            optimizers=adam if kind == "adam" else both, n_steps=20, clip=1.0)  # fmt: skip
        ends.append([torch.tensor(losses), *(p.detach().cpu() for p in twin.parameters())])
    assert_close(ends[0], ends[1], rtol=0, atol=1e-7)


def test_sampling_with_a_generator_of_the_cpu_writes_the_same():
    model = models()["GPT today"][0].double().eval()
    texts = []
    for device in ("cpu", "cuda"):
        twin = copy.deepcopy(model).to(device)
        options = {"max_length": 20, "generator": seeded(), "top_p": 0.9}
        texts.append(decoding.sample(twin.step, twin.new_cache(), [1, 2, 3], None, **options))
    assert [text.ids for text in texts[0]] == [text.ids for text in texts[1]]


def test_sampling_with_a_generator_of_the_gpu():
    model = models()["GPT"][0].cuda().eval()
    generator = torch.Generator("cuda").manual_seed(1)
    (text,) = decoding.sample(model.step, model.new_cache(), 1, None, 9, generator=generator)
    assert len(text.ids) == 9
