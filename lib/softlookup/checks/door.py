"""The door: a decorator that refuses what the annotations of a function refuse."""

import functools
import inspect
import os
import sys
import typing
from collections.abc import Callable
from types import FrameType

import torch
from torch import nn

from softlookup.checks.rules import Call, Rule, rule_of

EVERYWHERE = bool(os.environ.get("SOFTLOOKUP_TYPECHECK"))
"""For the tests: check each call, also those from within the library, and what comes back."""

LIBRARY = os.path.dirname(os.path.dirname(__file__)) + os.sep
MACHINERY = tuple(LIBRARY + name for name in ("capstone", "data", "exercises", "show"))
TORCH = os.path.dirname(torch.__file__) + os.sep

Thing = typing.TypeVar("Thing", bound=Callable)


def checked(
    thing: Thing | None = None, *, not_empty: str = "", one_dtype: bool = True
) -> Thing | Callable[[Thing], Thing]:
    """Refuse bad input once, at the public door, by what the annotations say.

    It stands above a function, or above a class for its constructor and its public methods. A rule
    is checked when somebody outside the library calls; what the library's own functions hand each
    other has been checked at the door.

    Beside shapes, kinds and ranges, two rules hold for every call: all tensors are on one device,
    and all arguments annotated ``Float`` have one dtype, for a method that of the module's
    parameters.

    Args:
        thing: The function or class.
        not_empty: Names of axes, with spaces between them, that must have at least one entry.
        one_dtype: Whether the rule on the dtype holds.

    Returns:
        The function, wrapped; or the very class, with its methods wrapped.

    Raises:
        ValueError: When the function is called: a value, shape, dtype or range breaks its
            annotation. The error names the rule, the argument, and what came.
        TypeError: The same for what is no tensor where a tensor belongs, or of another class.

    Chapter: notation#shapes.

    Example:
        >>> from jaxtyping import Float
        >>> from torch import Tensor
        >>> @checked
        ... def dot(x: Float[Tensor, "n"], y: Float[Tensor, "n"]) -> Float[Tensor, ""]:
        ...     return x @ y
        >>> dot(torch.ones(2), torch.ones(3))
        Traceback (most recent call last):
        ValueError: x and y must have the same n, where y has the shape (n,); got x=(2,), y=(3,)
    """
    options = (frozenset(not_empty.split()), one_dtype)
    if thing is None:
        return functools.partial(checked, not_empty=not_empty, one_dtype=one_dtype)
    if not isinstance(thing, type):
        return _with_door(thing, options)
    for name, method in list(vars(thing).items()):
        public = name in ("__init__", "__call__") or not name.startswith("_")
        if isinstance(method, classmethod | staticmethod) and public:
            setattr(thing, name, type(method)(_with_door(method.__func__, options)))
        elif inspect.isfunction(method) and public:
            setattr(thing, name, _with_door(method, options))
    return thing


class Door:
    """The rules of one function, read from its annotations at the first call."""

    def __init__(self, function: Callable, options: tuple[frozenset[str], bool]) -> None:
        self.options = options
        parameters = inspect.signature(function).parameters.values()
        hints = _unpacked(typing.get_type_hints(function, include_extras=True))
        self.rules = {name: rule_of(hint) for name, hint in hints.items() if name != "return"}
        self.rules = {name: rule for name, rule in self.rules.items() if type(rule) is not Rule}
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.names = [p.name for p in parameters if p.kind in positional]
        self.rest = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), None)
        self.result = rule_of(hints.get("return", typing.Any)) if EVERYWHERE else Rule()

    def check(self, args: tuple, options: dict[str, object]) -> Call:
        """Raise an error where an argument breaks its rule."""
        given = dict(zip(self.names, args, strict=False)) | options
        call = Call(given, *self.options)
        if "self" in given and isinstance(given["self"], nn.Module):
            _start_from_parameters(call)
        for name, rule in self.rules.items():
            if name in given:
                rule.check(name, given[name], call)
        if self.rest in self.rules:
            for value in args[len(self.names) :]:
                self.rules[self.rest].check(self.rest, value, call)
        return call


def _unpacked(hints: dict[str, object]) -> dict[str, object]:
    """Named options that stand together in a TypedDict, ``**options: Unpack[T]``, one by one."""
    for name, hint in list(hints.items()):
        if typing.get_origin(hint) is typing.Unpack:
            (options,) = typing.get_args(hint)
            del hints[name]
            hints |= typing.get_type_hints(options, include_extras=True)
    return hints


def _with_door(function: Callable, options: tuple[frozenset[str], bool]) -> Callable:
    door = None

    @functools.wraps(function)
    def call(*args: object, **named: object) -> object:
        nonlocal door
        if torch.compiler.is_compiling() or not (EVERYWHERE or _from_outside(sys._getframe(1))):
            return function(*args, **named)
        if door is None:
            door = Door(function, options)
        checked_call = door.check(args, named)
        result = function(*args, **named)
        if EVERYWHERE:
            door.result.check("the result", result, checked_call)
        return result

    return call


def _from_outside(frame: FrameType | None) -> bool:
    """Whether the caller is not the library itself; PyTorch, which calls ``forward``, is passed."""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(TORCH):
            return not file.startswith(LIBRARY) or file.startswith(MACHINERY)
        frame = frame.f_back
    return True


def _start_from_parameters(call: Call) -> None:
    """A module's input has the dtype and the device of its parameters."""
    first = _first_parameter(call.given["self"])
    if first is not None:
        call.device = (first.device, "self")
        if first.is_floating_point():
            call.dtype = (first.dtype, "self")


def _first_parameter(module: nn.Module) -> nn.Parameter | None:
    """As ``next(module.parameters())``, without collecting names; None in a constructor."""
    state = vars(module)
    for parameter in state.get("_parameters", {}).values():
        if parameter is not None:
            return parameter
    children = filter(None, state.get("_modules", {}).values())
    return next(filter(lambda p: p is not None, map(_first_parameter, children)), None)
