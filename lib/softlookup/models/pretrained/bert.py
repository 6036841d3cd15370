"""BERT's weights, in Hugging Face's names, as a BERT of ours."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from softlookup.checks import checked, require
from softlookup.models.bert import BERT, BERTConfig
from softlookup.models.pretrained.checkpoint import (
    Part,
    config_from,
    fill,
    known_activation,
    read_checkpoint,
    require_same,
    require_settings,
)

PREFIX = "bert."
TABLE, OUTPUT_TABLE = "embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"
BIAS, OUTPUT_BIAS = "cls.predictions.bias", "cls.predictions.decoder.bias"
NEXT_SENTENCE = ("cls.seq_relationship.weight", "cls.seq_relationship.bias")
NO_PARAMETERS = (
    "embeddings.position_ids",
    "embeddings.token_type_ids",
    "pooler.dense.weight",
    "pooler.dense.bias",
)
"""Buffers, and the layer of next-sentence prediction, which our BERT does not have."""

OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
"""The first checkpoints, which TensorFlow wrote, name gain and shift by their letters."""

EMBEDDINGS = {
    "embeddings.position_embeddings": "position_embedding.embedding",
    "embeddings.token_type_embeddings": "segment_embedding",
}
BLOCK = {
    "attention.self.query": "self_attention.layer.W_Q",
    "attention.self.key": "self_attention.layer.W_K",
    "attention.self.value": "self_attention.layer.W_V",
    "attention.output.dense": "self_attention.layer.W_O",
    "attention.output.LayerNorm": "self_attention.norm",
    "intermediate.dense": "feed_forward.layer.W_1",
    "output.dense": "feed_forward.layer.W_2",
    "output.LayerNorm": "feed_forward.norm",
}
HEAD = {
    "cls.predictions.transform.dense": "head.W",
    "cls.predictions.transform.LayerNorm": "head.norm",
}


@checked
def load_bert(
    source: str | os.PathLike | Mapping[str, Tensor], config: BERTConfig | None = None
) -> BERT:
    """Read a checkpoint of BERT: the same rows from our blocks, the same scores from our head.

    What served to predict the next sentence is left out.

    Args:
        source: A folder, a safetensors file, or tensors by name, as in ``read_checkpoint``. The
            names are Hugging Face's, with or without "bert." before those of the encoder.
        config: The model's choices; left out, those of the ``config.json`` in the folder, and a
            head where the checkpoint has one. No weight tells how many attention heads there are.

    Returns:
        The model, switched to evaluation, in the checkpoint's dtype.

    Raises:
        ValueError: The file is missing, cut short or damaged; there is neither a config nor a
            ``config.json``, or it describes another kind of model; names or shapes do not fit, and
            the message lists what is missing, extra and misshapen; or the head has a table or a
            bias of its own.

    Source: Devlin et al. 2019, section 3; the names are those of the package ``transformers``.
    Chapter: training#optional-real-weights.

    Example:
        >>> shapes = {"embeddings.word_embeddings": (5, 2), "embeddings.LayerNorm": (2,)}
        >>> shapes |= {"embeddings.position_embeddings": (3, 2)}
        >>> shapes |= {"embeddings.token_type_embeddings": (2, 2)}
        >>> for part in ("self.query", "self.key", "self.value", "output.dense"):
        ...     shapes[f"encoder.layer.0.attention.{part}"] = (2, 2)
        >>> shapes |= {"encoder.layer.0.attention.output.LayerNorm": (2,)}
        >>> shapes |= {"encoder.layer.0.intermediate.dense": (8, 2)}
        >>> shapes |= {"encoder.layer.0.output.dense": (2, 8)}
        >>> shapes |= {"encoder.layer.0.output.LayerNorm": (2,)}
        >>> tensors = {f"{name}.weight": torch.ones(shape) for name, shape in shapes.items()}
        >>> for name in (name for name in shapes if not name.endswith("_embeddings")):
        ...     tensors[f"{name}.bias"] = torch.zeros(shapes[name][0])
        >>> config = BERTConfig(5, 3, d_model=2, n_heads=1, n_layers=1, head=False)
        >>> load_bert(tensors, config)(torch.tensor([[4, 0, 1]])).shape
        torch.Size([1, 3, 2])
        >>> model = load_bert("folder-of-bert")  # doctest: +SKIP
    """
    tensors, settings = read_checkpoint(source)
    tensors = {_new_name(name): tensor for name, tensor in tensors.items()}
    require(config is not None or settings is not None, "without a config.json, give a config")
    if config is None:
        config = _config(settings, head=BIAS in tensors)
    prefix = PREFIX if any(name.startswith(PREFIX) for name in tensors) else ""
    require_same(tensors, prefix + TABLE, OUTPUT_TABLE)
    require_same(tensors, BIAS, OUTPUT_BIAS)
    ignored = {*NEXT_SENTENCE, *(prefix + name for name in NO_PARAMETERS)}
    ignored |= {OUTPUT_TABLE, OUTPUT_BIAS} if config.head else set()
    with torch.device("meta"):
        model = BERT(config)
    fill(model, _parts(config, prefix), tensors, ignored)
    return model.eval()


def _parts(config: BERTConfig, prefix: str) -> Iterator[Part]:
    yield Part(prefix + TABLE, ("embedding.weight",))
    for theirs, ours in EMBEDDINGS.items():
        yield Part(f"{prefix}{theirs}.weight", (f"{ours}.weight",))
    layers = {f"{prefix}embeddings.LayerNorm": "norm"}
    for i in range(config.n_layers):
        for theirs, ours in BLOCK.items():
            layers[f"{prefix}encoder.layer.{i}.{theirs}"] = f"blocks.{i}.{ours}"
    layers |= HEAD if config.head else {}
    for theirs, ours in layers.items():
        for kind in ("weight", "bias"):
            yield Part(f"{theirs}.{kind}", (f"{ours}.{kind}",))
    if config.head:
        yield Part(BIAS, ("head.bias",))


def _new_name(name: str) -> str:
    for old, new in OLD_NAMES.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def _config(settings: dict[str, Any], *, head: bool) -> BERTConfig:
    sizes = {
        "vocab_size": "vocab_size",
        "context": "max_position_embeddings",
        "d_model": "hidden_size",
        "n_heads": "num_attention_heads",
        "n_layers": "num_hidden_layers",
        "d_ff": "intermediate_size",
        "n_segments": "type_vocab_size",
    }
    known = {"model_type": "bert", "position_embedding_type": "absolute", "is_decoder": False}
    require_settings(settings, *sizes.values(), **known)
    return config_from(
        BERTConfig,
        **{ours: settings[theirs] for ours, theirs in sizes.items()},
        activation=known_activation(settings.get("hidden_act", "gelu")),
        dropout=settings.get("hidden_dropout_prob", 0.1),
        eps=settings.get("layer_norm_eps", 1e-12),
        head=head,
    )
