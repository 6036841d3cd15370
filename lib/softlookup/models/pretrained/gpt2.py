"""GPT-2's weights, in Hugging Face's names, as a GPT of ours."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from softlookup.checks import checked, require
from softlookup.models.gpt import GPT, GPTConfig
from softlookup.models.gpt.configuration import GPT2_SIZES
from softlookup.models.pretrained.checkpoint import (
    Part,
    config_from,
    fill,
    known_activation,
    read_checkpoint,
    require_same,
    require_settings,
)

PREFIX = "transformer."
TABLE, HEAD = "wte.weight", "lm_head.weight"
BUFFER = re.compile(r"h\.\d+\.attn\.(bias|masked_bias)")
"""The causal mask, which old checkpoints hold too."""

BLOCK = (
    Part("ln_1.weight", ("self_attention.norm.weight",)),
    Part("ln_1.bias", ("self_attention.norm.bias",)),
    *(
        Part(
            f"attn.c_attn.{kind}",
            tuple(f"self_attention.layer.W_{letter}.{kind}" for letter in "QKV"),
            kind == "weight",
        )
        for kind in ("weight", "bias")
    ),
    Part("attn.c_proj.weight", ("self_attention.layer.W_O.weight",), True),
    Part("attn.c_proj.bias", ("self_attention.layer.W_O.bias",)),
    Part("ln_2.weight", ("feed_forward.norm.weight",)),
    Part("ln_2.bias", ("feed_forward.norm.bias",)),
    Part("mlp.c_fc.weight", ("feed_forward.layer.W_1.weight",), True),
    Part("mlp.c_fc.bias", ("feed_forward.layer.W_1.bias",)),
    Part("mlp.c_proj.weight", ("feed_forward.layer.W_2.weight",), True),
    Part("mlp.c_proj.bias", ("feed_forward.layer.W_2.bias",)),
)
"""One block. GPT-2 stores its matrices as W, not as the transpose that ``nn.Linear`` keeps."""


@checked
def load_gpt2(
    source: str | os.PathLike | Mapping[str, Tensor], config: GPTConfig | None = None
) -> GPT:
    """Read a checkpoint of GPT-2: the same scores from our blocks.

    Args:
        source: A folder, a safetensors file, or tensors by name, as in ``read_checkpoint``. The
            names are Hugging Face's, with or without "transformer." before them.
        config: The model's choices; left out, those of the ``config.json`` in the folder, or of
            the published model whose table has that shape. No weight tells how many heads there
            are.

    Returns:
        The model, switched to evaluation, in the checkpoint's dtype.

    Raises:
        ValueError: The file is missing, cut short or damaged; nothing tells the config, or it
            describes another kind of model; names or shapes do not fit, and the message lists what
            is missing, extra and misshapen; or the model ties its tables and the checkpoint does
            not.

    Source: Radford et al. 2019, section 2.3; the names are those of the package ``transformers``.
    Chapter: training#optional-real-weights.

    Example:
        >>> shapes = {"wte": (5, 2), "wpe": (3, 2), "ln_f": (2,), "h.0.ln_1": (2,)}
        >>> shapes |= {"h.0.attn.c_attn": (2, 6), "h.0.attn.c_proj": (2, 2), "h.0.ln_2": (2,)}
        >>> shapes |= {"h.0.mlp.c_fc": (2, 8), "h.0.mlp.c_proj": (8, 2)}
        >>> tensors = {f"{name}.weight": torch.ones(shape) for name, shape in shapes.items()}
        >>> for name in list(shapes)[2:]:  # the tables have no bias
        ...     tensors[f"{name}.bias"] = torch.zeros(shapes[name][-1])
        >>> config = GPTConfig(5, 3, d_model=2, n_heads=1, n_layers=1)
        >>> load_gpt2(tensors, config)(torch.tensor([[4, 0]])).shape
        torch.Size([1, 2, 5])
        >>> model = load_gpt2("folder-of-gpt2")  # doctest: +SKIP
    """
    tensors, settings = read_checkpoint(source)
    prefix = PREFIX if any(name.startswith(PREFIX) for name in tensors) else ""
    if config is None:
        table = tensors.get(prefix + TABLE)
        config = _published(table) if settings is None else _config(settings)
    _require_gpt2(config)
    ignored = {name for name in tensors if BUFFER.fullmatch(name.removeprefix(prefix))}
    if config.tie:
        require_same(tensors, prefix + TABLE, HEAD)
        ignored.add(HEAD)
    with torch.device("meta"):
        model = GPT(config)
    fill(model, _parts(config, prefix), tensors, ignored)
    return model.eval()


def _parts(config: GPTConfig, prefix: str) -> Iterator[Part]:
    yield Part(prefix + TABLE, ("embedding.weight",))
    yield Part(f"{prefix}wpe.weight", ("position_embedding.embedding.weight",))
    for i in range(config.n_layers):
        for theirs, ours, transposed in BLOCK:
            names = tuple(f"blocks.{i}.{name}" for name in ours)
            yield Part(f"{prefix}h.{i}.{theirs}", names, transposed)
    for kind in ("weight", "bias"):
        yield Part(f"{prefix}ln_f.{kind}", (f"norm.{kind}",))
    if not config.tie:
        yield Part(HEAD, ("unembedding.weight",))


def _published(table: Tensor | None) -> GPTConfig:
    """The published model that has a table of tokens of this shape."""
    for config in map(GPTConfig.gpt2, GPT2_SIZES):
        if table is not None and table.shape == (config.vocab_size, config.d_model):
            return config
    raise ValueError("without a config.json, give a config: this is no published GPT-2")


def _config(settings: dict[str, Any]) -> GPTConfig:
    sizes = {
        "vocab_size": "vocab_size",
        "context": "n_positions",
        "d_model": "n_embd",
        "n_heads": "n_head",
        "n_layers": "n_layer",
    }
    known = {
        "model_type": "gpt2",
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "add_cross_attention": False,
    }
    require_settings(settings, *sizes.values(), **known)
    return config_from(
        GPTConfig,
        **{ours: settings[theirs] for ours, theirs in sizes.items()},
        d_ff=settings.get("n_inner"),
        activation=known_activation(settings.get("activation_function", "gelu_new")),
        dropout=settings.get("resid_pdrop", 0.1),
        tie=settings.get("tie_word_embeddings", True),
        eps=settings.get("layer_norm_epsilon", 1e-5),
    )


def _require_gpt2(config: GPTConfig) -> None:
    """A window is no matter of weights: it may be there."""
    known = {
        "positions": "learned",
        "norm_first": True,
        "norm": "layer",
        "gated": False,
        "bias": True,
        "qk_norm": False,
        "kv_heads": config.n_heads,
    }
    for name, value in known.items():
        found = getattr(config, name)
        require(found == value, f"{name} must be {value!r} in a GPT-2", **{name: found})
