"""The same Vision Transformer from PyTorch's parts, and transformers' own, with our weights."""

import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import nn
from torch.testing import assert_close

from softlookup.models import ViT, ViTConfig

CONFIG = ViTConfig(
    11, image_size=(4, 6), patch_size=2, channels=3, d_model=10, n_heads=5, n_layers=2, d_ff=7
)
EXACT = {"rtol": 1e-10, "atol": 1e-10}


@pytest.fixture
def model(generator):
    model = ViT(CONFIG).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            numbers = torch.randn(parameter.shape, dtype=torch.float64, generator=generator)
            parameter.copy_(numbers / parameter.shape[-1] ** 0.5)
    return model


@pytest.fixture
def images(generator):
    return torch.randn(13, 3, 4, 6, dtype=torch.float64, generator=generator)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor:UserWarning")
def test_from_pytorch_s_parts(model, images):
    """A convolution whose step is its width cuts the patches; the rest is nn.TransformerEncoder."""
    layer = nn.TransformerEncoderLayer(
        10, 5, 7, 0.0, "gelu", layer_norm_eps=1e-6, batch_first=True, norm_first=True
    )
    encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(10, eps=1e-6)).double().eval()
    state = {f"norm.{name}": value for name, value in model.norm.state_dict().items()}
    for i, block in enumerate(model.blocks):
        attention, thought = block.self_attention, block.feed_forward
        projections = (attention.layer.W_Q, attention.layer.W_K, attention.layer.W_V)
        for kind in ("weight", "bias"):
            stacked = torch.cat([getattr(part, kind) for part in projections])
            state[f"layers.{i}.self_attn.in_proj_{kind}"] = stacked
        parts = {"self_attn.out_proj": attention.layer.W_O, "linear1": thought.layer.W_1,
                 "linear2": thought.layer.W_2, "norm1": attention.norm,
                 "norm2": thought.norm}  # fmt: skip
        for name, part in parts.items():
            state |= {f"layers.{i}.{name}.{k}": v for k, v in part.state_dict().items()}
    encoder.load_state_dict(state)
    kernel = model.patch_embedding.weight.reshape(10, 3, 2, 2)
    patches = F.conv2d(images, kernel, model.patch_embedding.bias, stride=2).flatten(2).mT
    rows = torch.cat((model.class_token.expand(13, 1, 10), patches), dim=1)
    expected = encoder(rows + model.position_embedding.embedding.weight)
    assert_close(model.read(images), expected, **EXACT)
    assert_close(model(images), F.linear(expected[:, 0], model.head.weight, model.head.bias))


def test_transformers_own(model, images):
    config = transformers.ViTConfig(
        image_size=(4, 6), patch_size=2, num_channels=3, hidden_size=10, num_hidden_layers=2,
        num_attention_heads=5, intermediate_size=7, num_labels=11, layer_norm_eps=1e-6,
    )  # fmt: skip
    peer = transformers.ViTForImageClassification(config).double().eval()
    state = {
        "vit.embeddings.cls_token": model.class_token.reshape(1, 1, 10),
        "vit.embeddings.position_embeddings": model.position_embedding.embedding.weight[None],
    }
    kernel = model.patch_embedding.weight.reshape(10, 3, 2, 2)
    state["vit.embeddings.patch_embeddings.projection.weight"] = kernel
    state["vit.embeddings.patch_embeddings.projection.bias"] = model.patch_embedding.bias
    parts = {"vit.layernorm": model.norm, "classifier": model.head}
    for i, block in enumerate(model.blocks):
        attention, thought = block.self_attention, block.feed_forward
        named = {f"attention.{x.lower()}_proj": getattr(attention.layer, f"W_{x}") for x in "QKVO"}
        named |= {"layernorm_before": attention.norm, "layernorm_after": thought.norm,
                  "mlp.fc1": thought.layer.W_1, "mlp.fc2": thought.layer.W_2}  # fmt: skip
        parts |= {f"vit.layers.{i}.{name}": part for name, part in named.items()}
    for name, part in parts.items():
        state |= {f"{name}.{kind}": value for kind, value in part.state_dict().items()}
    peer.load_state_dict(state)
    with torch.no_grad():
        assert_close(model(images), peer(images).logits, **EXACT)
