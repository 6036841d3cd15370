"""The door: a decorator that refuses what the annotations of a function refuse."""

import functools
import inspect
import os
import sys
import typing
from collections.abc import Callable
from inspect import Parameter
from types import FrameType

import torch
from torch import nn

from softlookup.checks.annotations import rule_of
from softlookup.checks.rules import Call, Rule, check_part

EVERYWHERE = bool(os.environ.get("SOFTLOOKUP_TYPECHECK"))
"""For the tests: check each call, also those from within the library, and what comes back."""

LIBRARY = os.path.dirname(os.path.dirname(__file__)) + os.sep
CALLERS = "analysis", "capstone", "data", "exercises", "show"
MACHINERY = tuple(LIBRARY + name for name in CALLERS)  # they call models with what readers gave
TORCH = os.path.dirname(torch.__file__) + os.sep

BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)

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
        rules = {name: rule_of(hint) for name, hint in hints.items() if name != "return"}
        rules = {name: rule for name, rule in rules.items() if type(rule) is not Rule}
        kinds = {p.name: p.kind for p in parameters}
        self.known = frozenset(kinds)
        self.names = [name for name in kinds if kinds[name] in BY_PLACE]
        of_kind = {kinds.get(name): name for name in rules}
        self.rest = of_kind.get(Parameter.VAR_POSITIONAL)
        self.others = of_kind.get(Parameter.VAR_KEYWORD)
        self.many = {name: rules.pop(name) for name in (self.rest, self.others) if name}
        # The numbers first: the length of an axis may be worked out from them. Ids last: the table
        # whose rows they number may come behind them.
        order = {name: (rule.is_deep, rule.has_ids) for name, rule in rules.items()}
        self.rules = sorted(rules.items(), key=lambda pair: order[pair[0]])
        self.defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self.has_tensors = any(rule.is_deep for rule in (rules | self.many).values())
        self.result = rule_of(hints.get("return", typing.Any))

    def check(self, args: tuple, named: dict[str, object]) -> Call:
        """Raise an error where an argument breaks its rule."""
        given = dict(zip(self.names, args, strict=False)) | named
        call = Call(given, self.defaults, *self.options)
        if self.has_tensors and isinstance(given.get("self"), nn.Module):
            _start_from_parameters(call)
        for name, rule in self.rules:
            if name in given:
                rule.check(name, given[name], call)
        if self.many:
            self._check_many(args, named, call)
        return call

    def _check_many(self, args: tuple, named: dict[str, object], call: Call) -> None:
        """Those of ``*args`` and ``**kwargs``."""
        if self.rest:
            for k, value in enumerate(args[len(self.names) :]):
                check_part(f"{self.rest}[{k}]", self.many[self.rest], value, call)
        if self.others:
            for name in (name for name in named if name not in self.known):
                check_part(name, self.many[self.others], named[name], call)


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
            check_part("the result", door.result, result, checked_call)
        return result

    return call


def _from_outside(frame: FrameType | None) -> bool:
    """Whether the caller is not the library itself; PyTorch, which calls ``forward``, is passed."""
    while frame is not None:
        is_outside = _is_outside(frame.f_code.co_filename)
        if is_outside is not None:
            return is_outside
        frame = frame.f_back
    return True


@functools.cache
def _is_outside(file: str) -> bool | None:
    """Whether a file is outside of the library; None for PyTorch's, which do not matter."""
    if file.startswith(TORCH):
        return None
    return not file.startswith(LIBRARY) or file.startswith(MACHINERY)


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
    for child in state.get("_modules", {}).values():
        parameter = None if child is None else _first_parameter(child)
        if parameter is not None:
            return parameter
    return None
