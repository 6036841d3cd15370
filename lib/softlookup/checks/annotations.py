"""From an annotation to its rule: ``Size``, ``Float[Tensor, "n d"]``, ``Sequence[str] | None``."""

import collections.abc
import os
import types
import typing
from pathlib import Path

import torch
from torch import Tensor

from softlookup.checks.ranges import Ids, Range
from softlookup.checks.rules import (
    CONTAINERS,
    CallableRule,
    ChoiceRule,
    ContainerRule,
    DeviceRule,
    KindRule,
    NumberRule,
    RecordRule,
    Rule,
    SubclassRule,
    UnionRule,
    a,
)
from softlookup.checks.tensors import TensorRule

KINDS = {
    str: ("a string", ValueError),
    bool: ("True or False", ValueError),
    bytes: ("bytes", ValueError),
    os.PathLike: ("a path", TypeError),
    Path: ("a path", TypeError),
    Tensor: ("a tensor", TypeError),
    torch.Generator: ("a torch.Generator", TypeError),
    torch.dtype: ("a torch.dtype", ValueError),
    torch.device: ("a torch.device", TypeError),
    torch.nn.Module: ("a module (torch.nn.Module)", TypeError),
    types.NoneType: ("None", TypeError),
}
Entries = tuple[Range | Ids, ...]


def rule_of(hint: object, entries: Entries = ()) -> Rule:
    """The rule that an annotation states; the rule that allows anything, if it states none.

    Args:
        hint: An annotation, such as ``Float[Tensor, "n d"]`` or ``Size | None``.
        entries: What an annotation around it asks of the numbers inside.

    Returns:
        Its rule.

    Chapter: notation#shapes.

    Example:
        >>> from softlookup.checks import Size
        >>> rule_of(Size | None).words
        'an integer of at least 1 or None'
    """
    hint = getattr(hint, "__value__", hint)  # type Ids = ...
    if isinstance(hint, typing.TypeVar):
        hint = hint.__bound__ or typing.Any
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        found = tuple(part for part in inner[1:] if isinstance(part, Range | Ids))
        return rule_of(inner[0], entries + found)
    if hasattr(hint, "dim_str"):
        return TensorRule(hint, entries)
    if hint in (int, float):
        limits = next((entry for entry in entries if isinstance(entry, Range)), None)
        ids = next((entry for entry in entries if isinstance(entry, Ids)), None)
        return NumberRule(hint, limits, ids)
    if origin in (typing.Union, types.UnionType):
        return _rule_of_union(inner, entries)
    if origin is typing.Literal:
        return ChoiceRule(inner)
    return _rule_of_class(hint, origin or hint, inner, entries)


def _rule_of_union(inner: tuple[object, ...], entries: Entries) -> Rule:
    if int in inner and float in inner:  # an integer is a number
        inner = tuple(hint for hint in inner if hint is not int)
    first: tuple[Rule, ...] = ()
    if torch.device in inner and str in inner:
        first = (DeviceRule(),)
        inner = tuple(hint for hint in inner if hint not in (torch.device, str))
    options = first + tuple(rule_of(hint, entries) for hint in inner)
    return options[0] if len(options) == 1 else UnionRule(options)


def _rule_of_class(hint: object, kind: type, inner: tuple[object, ...], entries: Entries) -> Rule:
    if kind in (collections.abc.Callable, typing.Callable):
        return CallableRule()
    if kind is type and inner:
        parent = getattr(inner[0], "__bound__", None) or inner[0]
        return SubclassRule(parent) if isinstance(parent, type) else KindRule(type, "a class")
    if kind is tuple and inner and inner[-1] is not Ellipsis:
        return ContainerRule(tuple, tuple(rule_of(arg, entries) for arg in inner), fixed=True)
    if kind in CONTAINERS:
        rules = tuple(rule_of(arg, entries) for arg in inner if arg is not Ellipsis)
        return ContainerRule(kind, rules)
    if kind is None:
        kind = types.NoneType
    if kind in KINDS:
        return KindRule(kind, *KINDS[kind])
    if not isinstance(kind, type) or kind in (object, typing.Any):
        return Rule()
    if getattr(kind, "_is_protocol", False):
        return CallableRule() if "__call__" in vars(kind) else Rule()
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = typing.get_type_hints(kind, include_extras=True)
        return RecordRule(kind, {name: rule_of(hint) for name, hint in hints.items()})
    return KindRule(kind, a(kind.__name__))
