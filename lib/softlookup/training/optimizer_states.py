"""Optimizers as tensors with names and plain numbers, and back: what checkpoints hold of them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from softlookup.checks import checked, require
from softlookup.training.shards import cut_like


@checked
def tensors_of(optimizer: Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The tensors that an optimizer remembers, by key and parameter: "exp_avg.block.weight".

    Args:
        optimizer: It updates parameters of the model.
        model: It gives the parameters their names.

    Returns:
        The optimizer's own tensors; none before its first step.

    Raises:
        ValueError: A parameter is not the model's.

    Chapter: training#optional-checkpoints.

    Example:
        >>> import torch
        >>> layer = nn.Linear(2, 3, bias=False)
        >>> adam = torch.optim.Adam(layer.parameters())
        >>> layer(torch.ones(2)).sum().backward()
        >>> adam.step()
        >>> {name: tuple(tensor.shape) for name, tensor in tensors_of(adam, layer).items()}
        {'step.weight': (), 'exp_avg.weight': (3, 2), 'exp_avg_sq.weight': (3, 2)}
    """
    kept = _state(optimizer, model)
    return {f"{key}.{name}": value for name, key, value in kept if isinstance(value, Tensor)}


@checked
def describe(optimizer: Optimizer, model: nn.Module) -> dict[str, Any]:
    """An optimizer without its tensors, as plain JSON.

    Args:
        optimizer: It updates parameters of the model.
        model: It gives the parameters their names.

    Returns:
        The optimizer's "kind"; "params", the names of those of each group; "groups", the options of
        each; and "plain", what it remembers beside tensors.

    Raises:
        ValueError: A parameter is not the model's, or an option is no plain number.

    Chapter: training#optional-checkpoints.

    Example:
        >>> import torch
        >>> layer = nn.Linear(2, 3)
        >>> about = describe(torch.optim.SGD(layer.parameters(), lr=0.5), layer)
        >>> about["kind"], about["params"], about["groups"][0]["lr"]
        ('SGD', [['weight', 'bias']], 0.5)
    """
    plain = [
        [name, key, _plain(key, value)]
        for name, key, value in _state(optimizer, model)
        if not isinstance(value, Tensor)
    ]
    groups = [
        {key: _plain(key, value) for key, value in group.items() if key != "params"}
        for group in optimizer.param_groups
    ]
    kind, params = type(optimizer).__name__, _params(optimizer, model)
    return {"kind": kind, "params": params, "groups": groups, "plain": plain}


@checked
def restored_state(
    optimizer: Optimizer, model: nn.Module, saved: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> dict[str, Any]:
    """What ``load_state_dict`` takes, once all of it is known to fit.

    Args:
        optimizer: Made as the saved one was.
        model: Its parameters have the names of the saved one's.
        saved: What ``describe`` gave of the saved one.
        tensors: What ``tensors_of`` gave of it.

    Returns:
        The saved optimizer's state, with this one's parameters.

    Raises:
        ValueError: The optimizers differ in kind, parameters, groups or options, or a tensor does
            not fit its parameter.

    Chapter: training#optional-checkpoints.

    Example:
        >>> import torch
        >>> layer = nn.Linear(2, 3)
        >>> saved = torch.optim.SGD(layer.parameters(), lr=0.5)
        >>> fresh = torch.optim.SGD(layer.parameters(), lr=0.1)
        >>> state = restored_state(fresh, layer, describe(saved, layer), tensors_of(saved, layer))
        >>> fresh.load_state_dict(state)
        >>> fresh.param_groups[0]["lr"]
        0.5
    """
    ours = describe(optimizer, model)
    require_names(ours, saved, "an optimizer must be described as describe does")
    _require_same_optimizer(ours, saved)
    order = [name for group in saved["params"] for name in group]
    number, shapes = {name: i for i, name in enumerate(order)}, dict(model.named_parameters())
    state: dict[int, dict[str, Any]] = {}
    for full_name, tensor in tensors.items():
        key, _, name = full_name.partition(".")
        rule = "what the optimizer remembers must fit its parameter"
        fits = name in number and tensor.shape in ((), shapes[name].shape)
        require(fits, rule, name=full_name, kept=tensor, parameter=shapes.get(name))
        part = cut_like(tensor, shapes[name]) if tensor.ndim else tensor
        state.setdefault(number[name], {})[key] = part
    for name, key, value in saved["plain"]:
        state.setdefault(number[name], {})[key] = value
    groups, first = [], 0
    for names, options, ours in zip(
        saved["params"], saved["groups"], optimizer.param_groups, strict=True
    ):
        tuples = {k: tuple(v) for k, v in options.items() if isinstance(ours.get(k), tuple)}
        groups.append(options | tuples | {"params": list(range(first, first + len(names)))})
        first += len(names)
    return {"state": state, "param_groups": groups}


def _require_same_optimizer(ours: dict[str, Any], saved: dict[str, Any]) -> None:
    rule = "the optimizer must be of the kind in the checkpoint"
    require(ours["kind"] == saved["kind"], rule, checkpoint=saved["kind"], given=ours["kind"])
    names, others = ([name for group in one["params"] for name in group] for one in (ours, saved))
    require_names(names, others, "the optimizer must have the parameters of the checkpoint")
    rule = "the optimizer's groups must be those of the checkpoint"
    sizes = [[len(group) for group in one["params"]] for one in (saved, ours)]
    require(ours["params"] == saved["params"], rule, checkpoint=sizes[0], given=sizes[1])
    given, kept = (
        [sorted({*group} - {"initial_lr"}) for group in one["groups"]] for one in (ours, saved)
    )
    rule = "the optimizer's options must have the names of the checkpoint"
    require(given == kept, rule, checkpoint=kept, given=given)


def _params(optimizer: Optimizer, model: nn.Module) -> list[list[str]]:
    """The names of the parameters of each group."""
    names = _names(optimizer, model)
    return [[names[id(p)] for p in group["params"]] for group in optimizer.param_groups]


def require_names(expected: Iterable[str], found: Iterable[str], rule: str) -> None:
    """Refuse names that are missing, and names that nobody expects."""
    missing, extra = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
    require(not missing and not extra, rule, missing=missing, extra=extra)


def _state(optimizer: Optimizer, model: nn.Module) -> Iterator[tuple[str, str, Any]]:
    """What an optimizer remembers: the parameter's name, the key, the value."""
    names = _names(optimizer, model)
    for parameter, kept in optimizer.state.items():
        for key, value in kept.items():
            yield names[id(parameter)], key, value


def _names(optimizer: Optimizer, model: nn.Module) -> dict[int, str]:
    """The model's name of each parameter that the optimizer updates or remembers."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    updated = [p for group in optimizer.param_groups for p in group["params"]]
    strange = {id(p): tuple(p.shape) for p in (*updated, *optimizer.state) if id(p) not in names}
    rule = "an optimizer's parameters must be those of the model"
    require(not strange, rule, strange=list(strange.values()))
    return names


def _plain(key: str, value: Any) -> Any:
    """A number, a string, None, or a list of them: what JSON gives back as it was."""
    value = list(value) if isinstance(value, tuple) else value
    parts = value if isinstance(value, list) else [value]
    is_plain = all(part is None or isinstance(part, bool | int | float | str) for part in parts)
    require(is_plain, "an optimizer's options must be plain numbers", **{key: value})
    return value
