"""A GPT in a file, which the pages that train one in the browser write and read, too."""

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors.torch import save
from torch import Tensor

from softlookup.checks import checked, require, require_choice, require_distinct
from softlookup.files import replace_file, tensors_and_texts
from softlookup.models.gpt.configuration import GPTConfig
from softlookup.models.gpt.model import GPT
from softlookup.tokenization import BytePairTokenizer

KIND = {"softlookup": "gpt"}
TOKENS = ("letters", "tokenizer", "without")
"""What else ``load_gpt`` reads of a file, where it is there."""


@checked
def save_gpt(
    path: str | os.PathLike,
    model: GPT,
    tokens: Sequence[str] | BytePairTokenizer,
    *,
    dtype: torch.dtype = torch.float32,
    texts: Mapping[str, str] | None = None,
) -> None:
    """Write a model to a safetensors file: its weights, its config and what its ids stand for.

    The tensors have their names in ``model.state_dict()``; config and tokens stand in the metadata
    as JSON.

    Args:
        path: The file. One that exists is replaced, by a whole one or not at all.
        model: Its weights must be finite.
        tokens: The token of each id, or a tokenizer, with ``vocab_size`` of them.
        dtype: Of the numbers in the file: single precision, in which the browser computes, or
            half, for a small file.
        texts: What else the file shall say of itself, by name.

    Raises:
        ValueError: The folder does not exist, there are more or fewer tokens than the model
            knows, one comes twice, ``dtype`` is another, a weight is not finite in it, or one of
            ``texts`` has a name that the file uses itself.

    Chapter: training#optional-checkpoints.

    Example:
        >>> from tempfile import mkdtemp
        >>> model = GPT(GPTConfig(vocab_size=2, context=8, d_model=6, n_heads=3, n_layers=1))
        >>> path = Path(mkdtemp()) / "small.safetensors"
        >>> save_gpt(path, model, ["a", "b"])
        >>> tensors_and_texts(path, "a GPT")[1]["letters"]
        '["a", "b"]'
    """
    path = Path(path)
    require(path.parent.is_dir(), "the folder of the file must exist", folder=str(path.parent))
    _require_one_each(tokens, model.config)
    require_choice((torch.float32, torch.float16), dtype=dtype)
    tensors = {name: part.cpu().to(dtype).clone() for name, part in model.state_dict().items()}
    _require_finite(tensors)
    ours = {**KIND, "config": json.dumps(dataclasses.asdict(model.config))}
    if isinstance(tokens, BytePairTokenizer):
        ours["tokenizer"] = json.dumps(tokens.description())
    else:
        ours["letters"] = json.dumps(list(tokens), ensure_ascii=False)
    texts = dict(texts or {})
    taken = sorted(set(texts) & {*ours, *TOKENS})
    require(not taken, "texts must have names of their own", taken=taken)
    replace_file(path, save(tensors, {**texts, **ours}))


@checked
def load_gpt(path: str | os.PathLike) -> tuple[GPT, list[str] | BytePairTokenizer]:
    """Read a model that ``save_gpt`` or a page of this book wrote; nothing in it is executed.

    Args:
        path: The file. Its numbers may have single or half precision.

    Returns:
        The model, in single precision, and the token of each id, or its tokenizer.

    Raises:
        ValueError: There is no such file, it is cut short or damaged, it holds no GPT or one that
            a page trained without its mask, say, or its config, weights and tokens do not fit each
            other.

    Chapter: training#optional-checkpoints.

    Example:
        >>> from tempfile import mkdtemp
        >>> model = GPT(GPTConfig(vocab_size=2, context=8, d_model=6, n_heads=3, n_layers=1))
        >>> path = Path(mkdtemp()) / "small.safetensors"
        >>> save_gpt(path, model, ["a", "b"])
        >>> again, tokens = load_gpt(path)
        >>> again.config == model.config, tokens
        (True, ['a', 'b'])
        >>> load_gpt("nowhere.safetensors")
        Traceback (most recent call last):
        ValueError: there must be a file of a GPT; got path='nowhere.safetensors'
    """
    tensors, texts = _read(path)
    without = _json_in({"without": "[]", **texts}, "without", list)
    require(not without, "the library's GPT has all its parts", without=without)
    config = _config_in(texts)
    tokens = _tokens_in(texts)
    _require_one_each(tokens, config)
    with torch.device("meta"):
        shapes = {name: tensor.shape for name, tensor in GPT(config).state_dict().items()}
    _require_weights(tensors, shapes)
    with torch.random.fork_rng(devices=[]):
        model = GPT(config)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            tensor.copy_(tensors[name])
    return model, tokens


def _read(path: str | os.PathLike) -> tuple[dict[str, Tensor], dict[str, str]]:
    tensors, texts = tensors_and_texts(path, "a GPT")
    kind = {name: texts.get(name) for name in KIND}
    require(kind == KIND, "the file must hold a GPT of softlookup", **kind)
    return tensors, texts


def _config_in(texts: dict[str, str]) -> GPTConfig:
    options = _json_in(texts, "config", dict)
    known = {field.name for field in dataclasses.fields(GPTConfig)}
    unknown = sorted(set(options) - known)
    require(not unknown, "the file's config must be that of a GPT", unknown=unknown)
    try:
        return GPTConfig(**options)
    except TypeError as error:  # a size is missing, or of another type
        raise ValueError(f"the file's config must be that of a GPT; got {error}") from error


def _tokens_in(texts: dict[str, str]) -> list[str] | BytePairTokenizer:
    if "tokenizer" not in texts:
        letters = _json_in(texts, "letters", list)
        strings = all(isinstance(letter, str) for letter in letters)
        require(strings, "the file's letters must be strings", letters=letters)
        return letters
    described = _json_in(texts, "tokenizer", dict)
    return BytePairTokenizer.described(described, "the file's tokenizer")


def _json_in(texts: dict[str, str], name: str, kind: type) -> dict | list:
    try:
        found = json.loads(texts.get(name, ""))
    except ValueError:
        found = None
    rule = f"the file must say its {name} as JSON"
    require(isinstance(found, kind), rule, **{name: texts.get(name, "")[:80]})
    return found


def _require_one_each(tokens: Sequence[str] | BytePairTokenizer, config: GPTConfig) -> None:
    n, size = len(tokens), config.vocab_size
    rule = "there must be one token for each id of the model"
    require(n == size, rule, n_tokens=n, vocab_size=size)
    if not isinstance(tokens, BytePairTokenizer):
        require_distinct(tokens=list(tokens))


def _require_weights(tensors: dict[str, Tensor], shapes: dict[str, torch.Size]) -> None:
    """Those of the config, no other, and finite numbers."""
    missing, extra = sorted(set(shapes) - set(tensors)), sorted(set(tensors) - set(shapes))
    rule = "the file's weights must be those of its config"
    require(not missing and not extra, rule, missing=missing, extra=extra)
    wrong = [
        f"{name}: {tuple(tensors[name].shape)} instead of {tuple(shape)}"
        for name, shape in shapes.items()
        if tensors[name].shape != shape
    ]
    require(not wrong, "the file's weights must have the shapes of its config", wrong=wrong)
    floats = all(tensor.is_floating_point() for tensor in tensors.values())
    require(floats, "the file's weights must be floating-point numbers")
    _require_finite(tensors)


def _require_finite(tensors: dict[str, Tensor]) -> None:
    wrong = [name for name, tensor in tensors.items() if not torch.isfinite(tensor).all()]
    require(not wrong, "all weights must be finite", wrong=wrong)
