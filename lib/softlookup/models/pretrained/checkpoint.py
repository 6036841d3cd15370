"""Reading a checkpoint of other makers, and fitting its tensors into one of our models."""

import json
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_type_hints

import safetensors
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from softlookup.checks import checked, require
from softlookup.checks.annotations import rule_of
from softlookup.models.configuration import ModelConfig

WEIGHTS_FILE, CONFIG_FILE = "model.safetensors", "config.json"
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
"""Our name of each activation, by the name in a ``config.json``."""


Config = TypeVar("Config", bound=ModelConfig)


class Checkpoint(NamedTuple):
    """What a folder of weights holds.

    Attributes:
        tensors: The tensors by the names that their makers gave them.
        settings: What stands in ``config.json``; None where there is none.

    Chapter: training#optional-real-weights.

    Example:
        >>> read_checkpoint({"wte.weight": torch.zeros(11, 6)}).settings is None
        True
    """

    tensors: Mapping[str, Tensor]
    settings: dict[str, Any] | None


class Part(NamedTuple):
    """One tensor of a checkpoint, and the parameters of our model that it becomes.

    Attributes:
        theirs: The tensor's name in the checkpoint.
        ours: The names of our parameters, which stand side by side in it.
        transposed: Whether it is the transpose of what a linear map of PyTorch holds.

    Chapter: training#optional-real-weights.

    Example:
        >>> Part("h.0.attn.c_proj.weight", ("blocks.0.self_attention.layer.W_O.weight",), True)[2]
        True
    """

    theirs: str
    ours: tuple[str, ...]
    transposed: bool = False


@checked
def read_checkpoint(source: str | os.PathLike | Mapping[str, Tensor]) -> Checkpoint:
    """Read the tensors of a checkpoint, and the settings beside them; nothing is unpickled.

    Args:
        source: A folder with ``model.safetensors`` and ``config.json``, as ``save_pretrained``
            writes it; or a safetensors file, with a ``config.json`` beside it or not; or the
            tensors themselves, by their names.

    Returns:
        The tensors and, where there is a ``config.json``, the settings in it.

    Raises:
        ValueError: There is no such file, it is cut short or damaged, or what is given by name is
            no tensor.

    Chapter: training#optional-real-weights.

    Example:
        >>> tensors, settings = read_checkpoint({"wte.weight": torch.zeros(11, 6)})
        >>> tensors["wte.weight"].shape, settings
        (torch.Size([11, 6]), None)
        >>> read_checkpoint("nowhere.safetensors")
        Traceback (most recent call last):
        ValueError: there must be a safetensors file; got file='nowhere.safetensors'
    """
    if isinstance(source, Mapping):
        return Checkpoint(source, None)
    path = Path(source)
    path = path / WEIGHTS_FILE if path.is_dir() else path
    require(path.is_file(), "there must be a safetensors file", file=path.name)
    try:
        tensors = load_file(path)
    except safetensors.SafetensorError as error:
        rule = f"{path.name} must be a whole safetensors file"
        raise ValueError(f"{rule}; got {error}") from None
    return Checkpoint(tensors, _settings(path.with_name(CONFIG_FILE)))


@checked
def require_settings(settings: dict[str, Any], *wanted: str, **fixed: object) -> None:
    """Raise a ``ValueError`` unless the settings are complete and of the kind that we know.

    Args:
        settings: What stands in ``config.json``.
        wanted: The settings that must be there.
        fixed: The only value that we know of some others, which are left out in old files.

    Raises:
        ValueError: A setting is missing, or has another value.

    Chapter: training#optional-real-weights.

    Example:
        >>> require_settings({"n_layer": 12}, "n_layer", "n_head")
        Traceback (most recent call last):
        ValueError: config.json must be complete; got missing=['n_head']
    """
    missing = [name for name in wanted if settings.get(name) is None]
    require(not missing, f"{CONFIG_FILE} must be complete", missing=missing)
    for name, value in fixed.items():
        found = settings.get(name, value)
        require(found == value, f"{name} must be {value!r} in {CONFIG_FILE}", **{name: found})


@checked
def config_from(kind: type[Config], **fields: object) -> Config:
    """A config whose fields come from a file: they are checked as if the reader had written them.

    Args:
        kind: The class of the config.
        fields: Its fields.

    Returns:
        The config.

    Raises:
        ValueError: A field is not what the config's annotations ask for.

    Chapter: training#optional-real-weights.

    Example:
        >>> from softlookup.models import GPTConfig
        >>> sizes = {"vocab_size": 11, "d_model": 6, "n_heads": 2, "n_layers": 1}
        >>> config_from(GPTConfig, context=7, **sizes).width_inside
        24
        >>> config_from(GPTConfig, context="7", **sizes)
        Traceback (most recent call last):
        ValueError: context must be an integer of at least 1; got context='7'
    """
    hints = get_type_hints(kind, include_extras=True)
    for name, value in fields.items():
        rule = rule_of(hints.get(name, Any))
        require(rule.takes(value), f"{name} must be {rule.words}", **{name: value})
    return kind(**fields)


@checked
def known_activation(name: str) -> str:
    """Our name of an activation in ``config.json``.

    Args:
        name: Their name, "gelu_new".

    Returns:
        A name that ``FeedForward`` knows, "gelu_tanh".

    Raises:
        ValueError: We do not have it.

    Chapter: training#optional-real-weights.

    Example:
        >>> known_activation("gelu_new")
        'gelu_tanh'
    """
    known = ", ".join(ACTIVATIONS)
    require(name in ACTIVATIONS, f"the activation must be one of {known}", activation=name)
    return ACTIVATIONS[name]


@checked
def fill(
    model: nn.Module,
    parts: Iterable[Part],
    tensors: Mapping[str, Tensor],
    ignored: Collection[str] = (),
) -> None:
    """Give each parameter of a model its numbers out of a checkpoint, all of them or none.

    Args:
        model: A model that may be on the device "meta", which has shapes alone. It gets copies, in
            the checkpoint's dtype.
        parts: Which tensor becomes which parameters; together they name all of the model's.
        tensors: Those of the checkpoint, of one floating-point dtype.
        ignored: Names in the checkpoint that belong to no parameter, and may be there.

    Raises:
        ValueError: A tensor is missing, is of another shape, or belongs to nothing, or they differ
            in dtype. One message lists all of them, and the model stays as it was.

    Chapter: training#optional-real-weights.

    Example:
        >>> layer, parts = nn.Linear(2, 3, bias=False), [Part("w", ("weight",), True)]
        >>> fill(layer, parts, {"w": torch.ones(2, 3)})
        >>> layer.weight.sum().item()
        6.0
        >>> fill(layer, parts, {"v": torch.zeros(2, 3)})
        Traceback (most recent call last):
        ValueError: the checkpoint must fit the model; got missing=['w'], extra=['v'], misshapen=[]
    """
    parts = list(parts)
    shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
    named = sorted(name for part in parts for name in part.ours)
    rule = "parts must name each parameter of the model once"
    require(named == sorted(shapes), rule, parts=named, model=sorted(shapes))
    wanted = {part.theirs: _their_shape(part, shapes) for part in parts}
    missing = [name for name in wanted if name not in tensors]
    extra = [name for name in tensors if name not in wanted and name not in ignored]
    misshapen = [
        f"{name}: {tuple(tensors[name].shape)} instead of {shape}"
        for name, shape in wanted.items()
        if name in tensors and tensors[name].shape != shape
    ]
    fits = not (missing or extra or misshapen)
    faults = {"missing": missing, "extra": extra, "misshapen": misshapen}
    require(fits, "the checkpoint must fit the model", **faults)
    _require_one_dtype({name: tensors[name] for name in wanted})
    state = {}
    for part in parts:
        tensor = tensors[part.theirs].detach()
        pieces = (tensor.mT if part.transposed else tensor).chunk(len(part.ours))
        state |= {name: _own(piece) for name, piece in zip(part.ours, pieces, strict=True)}
    model.load_state_dict(state, assign=True)


@checked
def require_same(tensors: Mapping[str, Tensor], first: str, second: str) -> None:
    """Raise a ``ValueError`` if a checkpoint holds a tied table twice, and not the same one.

    Args:
        tensors: Those of the checkpoint.
        first: The name of the table.
        second: The name of its second use, which need not be there.

    Raises:
        ValueError: Both are there and differ.

    Chapter: training#optional-real-weights.

    Example:
        >>> require_same({"a": torch.zeros(2), "b": torch.ones(2)}, "a", "b")
        Traceback (most recent call last):
        ValueError: a and b must be equal, since they are one parameter here
    """
    if first in tensors and second in tensors:
        same = torch.equal(tensors[first], tensors[second])
        require(same, f"{first} and {second} must be equal, since they are one parameter here")


def _settings(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # no JSON, or no UTF-8
        raise ValueError(f"{path.name} must be a whole JSON file; got {error}") from None
    require(isinstance(settings, dict), f"{path.name} must hold names and values")
    return settings


def _their_shape(part: Part, shapes: Mapping[str, torch.Size]) -> tuple[int, ...]:
    first, *rest = shapes[part.ours[0]]
    shape = (first * len(part.ours), *rest)
    return shape[::-1] if part.transposed else shape


def _require_one_dtype(tensors: Mapping[str, Tensor]) -> None:
    dtypes = {tensor.dtype for tensor in tensors.values()}
    is_one = len(dtypes) == 1 and all(dtype.is_floating_point for dtype in dtypes)
    rule = "the tensors of a checkpoint must have one floating-point dtype"
    require(is_one, rule, dtypes=sorted(map(str, dtypes)))


def _own(tensor: Tensor) -> nn.Parameter:
    """A copy that shares no memory with the checkpoint, nor with another parameter."""
    return nn.Parameter(tensor.clone(memory_format=torch.contiguous_format))
