"""What an annotation asks of an argument, and the words that refuse what breaks it.

``rule_of`` makes a rule of an annotation: ``Float[Tensor, "*batch n d"]``, ``Size``,
``Literal["layer", "rms"]``, ``Sequence[str] | None``. A rule ``takes`` a value that is of the right
kind, and ``check`` raises an error in words where a value of the right kind breaks it.
"""

import collections.abc
import math
import operator
import types
import typing
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from softlookup.checks.ranges import Ids, Range

NUMBERS = {
    "Float": ("real numbers", lambda dtype: dtype.is_floating_point),
    "Int": ("whole numbers", lambda dtype: dtype in WHOLE),
    "Int8": ("8-bit whole numbers", lambda dtype: dtype == torch.int8),
    "Bool": ("booleans", lambda dtype: dtype == torch.bool),
    "Real": ("numbers", lambda dtype: dtype.is_floating_point or dtype in WHOLE),
    "Shaped": ("numbers or booleans", lambda dtype: True),
}
"""What jaxtyping's names ask of a tensor's dtype, in words and as a question."""

WHOLE = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
ELEMENTS_SHOWN = 5


class Call:
    """What is known while the arguments of one call are checked, one after the other.

    Attributes:
        given: All arguments, by name.
        sizes: The length of each named axis, and the argument that fixed it.
        leading: The leading axes ``*batch``, the argument that fixed them, and whether they may
            yet be stretched.
        dtype: The dtype of the real numbers, and the argument that fixed it.
        device: Where the tensors are, and the argument that fixed it.
        not_empty: Axes that must have at least one entry.
        one_dtype: Whether all arguments of real numbers must have one dtype.
    """

    __slots__ = ("device", "dtype", "given", "leading", "not_empty", "one_dtype", "sizes")

    def __init__(
        self, given: dict[str, object], not_empty: frozenset[str], one_dtype: bool
    ) -> None:
        self.given, self.not_empty, self.one_dtype = given, not_empty, one_dtype
        self.sizes: dict[str, tuple[int, str]] = {}
        self.leading: dict[str, tuple[tuple[int, ...], str, bool]] = {}
        self.dtype: tuple[torch.dtype, str] | None = None
        self.device: tuple[torch.device, str] | None = None


class Length:
    """A length that is worked out, such as ``self.d_model`` or ``d_v+1``."""

    def __init__(self, expression: str) -> None:
        self.attribute = None
        if expression.startswith("self.") and expression.replace(".", "").isidentifier():
            self.attribute = operator.attrgetter(expression.removeprefix("self."))
        self.code = compile(expression, "<length>", "eval")

    def within(self, call: Call) -> int | None:
        """Its value in a call; None where it depends on an axis that no argument has fixed."""
        if self.attribute is not None:
            return self.attribute(call.given["self"])
        names = {name: size for name, (size, _) in call.sizes.items()}
        try:
            return eval(self.code, {"__builtins__": {}}, call.given | names)
        except NameError:
            return None


def shown(value: object) -> str:
    """A value as an error shows it: a tensor by its shape, anything long cut."""
    if isinstance(value, Tensor):
        return str(tuple(value.shape))
    if isinstance(value, torch.nn.Module) or hasattr(value, "__array__"):
        return f"a {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


class Rule:
    """Anything is allowed. The rules below say what they take instead."""

    error: type[Exception] = ValueError
    words = "anything"

    def takes(self, value: object) -> bool:
        """Whether the value is of the right kind."""
        return True

    def check(self, name: str, value: object, call: Call) -> None:
        """Raise an error where the value is of another kind, or breaks the rule."""
        if not self.takes(value):
            raise self.error(f"{name} must be {self.words}; got {name}={shown(value)}")


class NumberRule(Rule):
    """An integer, or any real number; never True or False, never NaN."""

    def __init__(self, kind: type, limits: Range | None) -> None:
        self.kinds, self.limits = (int,) if kind is int else (int, float), limits
        what = "an integer" if kind is int else "a number"
        if limits is None:
            self.words = what
        elif kind is int:
            self.words = f"{what} of {limits.words.removesuffix(' and finite')}"
            if limits.high < math.inf:
                self.words = f"{what} from {limits.low} to {limits.high}"
        else:
            self.words = limits.words

    def takes(self, value: object) -> bool:
        if not isinstance(value, self.kinds) or isinstance(value, bool) or value != value:
            return False
        return self.limits is None or self.limits.allows(value, value)


class ChoiceRule(Rule):
    """One of a few names."""

    def __init__(self, choices: tuple[object, ...]) -> None:
        self.choices = choices
        self.words = f"one of {', '.join(map(repr, choices))}"

    def takes(self, value: object) -> bool:
        return any(type(value) is type(choice) and value == choice for choice in self.choices)


class KindRule(Rule):
    """An instance of a class."""

    def __init__(self, kind: type, words: str, error: type[Exception] = TypeError) -> None:
        self.kind, self.words, self.error = kind, words, error

    def takes(self, value: object) -> bool:
        return isinstance(value, self.kind)


class CallableRule(Rule):
    """A function, or anything else that can be called."""

    error = TypeError
    words = "a function"

    def takes(self, value: object) -> bool:
        return callable(value)


class ContainerRule(Rule):
    """A list, tuple, set or mapping, and what its elements must be; never one string."""

    error = TypeError

    def __init__(self, kind: type, elements: tuple[Rule, ...], *, fixed: bool = False) -> None:
        self.kind, self.elements, self.fixed = kind, elements, fixed
        self.words = f"{_a(CONTAINERS.get(kind, kind.__name__))}"

    def takes(self, value: object) -> bool:
        is_one_text = isinstance(value, str | bytes) and not issubclass(self.kind, str | bytes)
        return isinstance(value, self.kind) and not is_one_text and not isinstance(value, Tensor)

    def check(self, name: str, value: object, call: Call) -> None:
        if isinstance(value, str) and not self.takes(value):
            rule = f"{name} must be {self.words}, not one string"
            raise ValueError(f"{rule}; got {name}={shown(value)}")
        super().check(name, value, call)
        if self.fixed:
            self._check_fixed(name, value, call)
        elif isinstance(value, collections.abc.Mapping):
            for rule, part in zip(self.elements, ("keys", "values"), strict=False):
                self._check_all(f"the {part} of {name}", rule, getattr(value, part)(), call)
        elif self.elements and isinstance(value, collections.abc.Collection):
            self._check_all(f"the elements of {name}", self.elements[0], value, call)

    def _check_fixed(self, name: str, value: tuple, call: Call) -> None:
        if len(value) != len(self.elements):
            rule = f"{name} must be {self.words} of {len(self.elements)}"
            raise ValueError(f"{rule}; got {name}={shown(value)}")
        for k, (rule, element) in enumerate(zip(self.elements, value, strict=True)):
            rule.check(f"{name}[{k}]", element, call)

    def _check_all(self, what: str, rule: Rule, values: typing.Iterable, call: Call) -> None:
        """Refuse elements of a wrong kind, showing the first few; then look into each of them."""
        if type(rule) is Rule:
            return
        wrong = list(islice((v for v in values if not rule.takes(v)), ELEMENTS_SHOWN))
        if wrong:
            raise rule.error(f"{what} must each be {rule.words}; got wrong={shown(wrong)}")
        if isinstance(rule, TensorRule | ContainerRule | UnionRule):
            for value in values:
                rule.check(what, value, call)


class UnionRule(Rule):
    """One of several kinds, None among them perhaps."""

    def __init__(self, options: tuple[Rule, ...]) -> None:
        self.options = options
        *first, last = (option.words for option in options)
        self.words = f"{', '.join(first)} or {last}"
        self.error = TypeError if any(o.error is TypeError for o in options[:1]) else ValueError

    def takes(self, value: object) -> bool:
        return any(option.takes(value) for option in self.options)

    def check(self, name: str, value: object, call: Call) -> None:
        option = next((option for option in self.options if option.takes(value)), None)
        if option is not None:
            option.check(name, value, call)
            return
        near = [option for option in self.options if _near(option, value)]
        if near:
            near[0].check(name, value, call)
        super().check(name, value, call)


@dataclass(frozen=True)
class Axis:
    """One axis of an annotation.

    Attributes:
        name: What an error calls it.
        length: What it must be long, where that is no free name.
        stretches: Whether the length 1 fits, too.
    """

    name: str
    length: Length | None
    stretches: bool


class TensorRule(Rule):
    """A tensor of some kind of numbers and some shape, such as ``Float[Tensor, "*batch n d"]``."""

    error = TypeError

    def __init__(self, hint: type, entries: tuple[Range | Ids, ...]) -> None:
        kind = hint.__name__.split("[")[0]
        self.numbers, self.fits = NUMBERS[kind]
        self.is_float, self.entries = kind == "Float", entries
        parts = hint.dim_str.split()
        star = next((k for k, part in enumerate(parts) if _is_star(part)), None)
        self.first = _axes(parts if star is None else parts[:star])
        self.last = () if star is None else _axes(parts[star + 1 :])
        self.star = None if star is None else parts[star].strip("*#") or None
        self.has_star = star is not None
        self.star_stretches = self.has_star and "#" in parts[star]
        names = [axis.name for axis in self.first] + ["..."] * self.has_star
        names += [axis.name for axis in self.last]
        self.shape = f"({', '.join(names)}{',' if len(names) == 1 and names != ['...'] else ''})"
        self.words = f"a tensor of {self.numbers} with the shape {self.shape}"

    def takes(self, value: object) -> bool:
        return isinstance(value, Tensor) and self.fits(value.dtype)

    def check(self, name: str, value: object, call: Call) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"{name} must be {self.words}; {_instead(name, value)}")
        if not self.fits(value.dtype):
            meaning = " (True = may read)" if name.endswith("mask") else ""
            rule = f"{name} must hold {self.numbers}{meaning}"
            raise ValueError(f"{rule}; got dtype={value.dtype}")
        self._check_shape(name, value, call)
        self._check_place(name, value, call)
        for rule in self.entries:
            _check_entries(name, value, rule, call)

    def _check_shape(self, name: str, value: Tensor, call: Call) -> None:
        shape, n_first, n_last = value.shape, len(self.first), len(self.last)
        rest = len(shape) - n_first - n_last
        if rest < 0 or (rest and not self.has_star):
            raise ValueError(f"{name} must have the shape {self.shape}; got {_shapes(name, call)}")
        for axis, size in zip(self.first, shape, strict=False):
            self._check_axis(name, axis, size, call)
        if self.star is not None:
            self._check_leading(name, tuple(shape[n_first : n_first + rest]), call)
        for axis, size in zip(self.last, shape[n_first + rest :], strict=True):
            self._check_axis(name, axis, size, call)

    def _check_axis(self, name: str, axis: Axis, size: int, call: Call) -> None:
        if size == 0 and axis.name in call.not_empty:
            rule = f"{name} must have at least one entry on its axis {axis.name}"
            raise ValueError(f"{rule}: shape {self.shape}; got {_shapes(name, call)}")
        if axis.length is not None:
            wanted, by = axis.length.within(call), None
        elif axis.name in call.sizes:
            wanted, by = call.sizes[axis.name]
        elif axis.stretches and size == 1:
            return
        else:
            call.sizes[axis.name] = (size, name)
            return
        if wanted is None or size == wanted or (axis.stretches and size == 1):
            return
        if by is None or by == name:
            reason = "" if axis.name == str(wanted) else f" with {axis.name} = {wanted}"
            raise ValueError(
                f"{name} must have the shape {self.shape}{reason}; got {_shapes(name, call)}"
            )
        rule = f"{by} and {name} must have the same {axis.name}"
        raise ValueError(
            f"{rule}, where {name} has the shape {self.shape}; got {_shapes(by, call, name)}"
        )

    def _check_leading(self, name: str, axes: tuple[int, ...], call: Call) -> None:
        """Leading axes of one name are equal; one that stretches may leave some out or have 1."""
        if self.star not in call.leading:
            call.leading[self.star] = (axes, name, self.star_stretches)
            return
        known, by, known_stretches = call.leading[self.star]
        if self.star_stretches and known_stretches:
            together = _together(known, axes)
            fits = together is not None
            call.leading[self.star] = (together, by, True)
        elif self.star_stretches:
            fits = _stretches(axes, known)
        elif known_stretches:
            fits = _stretches(known, axes)
            call.leading[self.star] = (axes, name, False)
        else:
            fits = axes == known
        if not fits:
            rule = f"{by} and {name} must have leading axes that fit"
            if not (self.star_stretches or known_stretches):
                rule = f"{by} and {name} must have the same leading axes"
            raise ValueError(f"{rule}; got {_shapes(by, call, name)}")

    def _check_place(self, name: str, value: Tensor, call: Call) -> None:
        """All tensors on one device, and all real numbers of one dtype."""
        if call.device is None:
            call.device = (value.device, name)
        elif value.device != call.device[0]:
            _refuse_two("device", value.device, name, call.device)
        if not (self.is_float and call.one_dtype):
            return
        if call.dtype is None:
            call.dtype = (value.dtype, name)
        elif value.dtype != call.dtype[0] and not torch.is_autocast_enabled(value.device.type):
            _refuse_two("dtype", value.dtype, name, call.dtype)


CONTAINERS = {
    collections.abc.Sequence: "list",
    collections.abc.Iterable: "list or other iterable",
    collections.abc.Iterator: "iterator",
    collections.abc.Collection: "collection",
    collections.abc.Mapping: "dictionary",
    dict: "dictionary",
    list: "list",
    tuple: "tuple",
    set: "set",
    frozenset: "set",
}
KINDS = {
    str: ("a string", ValueError),
    bool: ("True or False", ValueError),
    bytes: ("bytes", ValueError),
    Tensor: ("a tensor", TypeError),
    torch.Generator: ("a torch.Generator", TypeError),
    torch.dtype: ("a torch.dtype", ValueError),
    torch.device: ("a torch.device", TypeError),
    torch.nn.Module: ("a module (torch.nn.Module)", TypeError),
    types.NoneType: ("None", TypeError),
}


def rule_of(hint: object) -> Rule:
    """The rule that an annotation states; the rule that allows anything, if it states none.

    Args:
        hint: An annotation, such as ``Float[Tensor, "n d"]`` or ``Size | None``.

    Returns:
        Its rule.

    Chapter: notation#shapes.

    Example:
        >>> from softlookup.checks import Size
        >>> rule_of(Size | None).words
        'an integer of at least 1 or None'
    """
    if isinstance(hint, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
        hint = hint.__value__
    entries: tuple[object, ...] = ()
    if typing.get_origin(hint) is typing.Annotated:
        hint, *metadata = typing.get_args(hint)
        entries = tuple(part for part in metadata if isinstance(part, Range | Ids))
    if hasattr(hint, "dim_str"):
        return TensorRule(hint, entries)
    if hint in (int, float):
        return NumberRule(hint, next(iter(entries), None))
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if set(inner) == {int, float}:
            return NumberRule(float, next(iter(entries), None))
        return UnionRule(tuple(map(rule_of, inner)))
    if origin is typing.Literal:
        return ChoiceRule(inner)
    if origin is collections.abc.Callable or hint in (collections.abc.Callable, typing.Callable):
        return CallableRule()
    return _rule_of_class(hint, origin, inner)


def _rule_of_class(hint: object, origin: type | None, inner: tuple[object, ...]) -> Rule:
    if origin is tuple and inner and inner[-1] is not Ellipsis:
        return ContainerRule(tuple, tuple(map(rule_of, inner)), fixed=True)
    kind = origin or hint
    if kind in CONTAINERS:
        return ContainerRule(kind, tuple(rule_of(arg) for arg in inner if arg is not Ellipsis))
    if kind is None:
        kind = types.NoneType
    if kind in KINDS:
        return KindRule(kind, *KINDS[kind])
    if isinstance(kind, type) and kind is not object and not getattr(kind, "_is_protocol", False):
        return KindRule(kind, _a(kind.__name__))
    return Rule()


def _axes(parts: list[str]) -> tuple[Axis, ...]:
    axes = []
    for part in parts:
        stretches, part = part.startswith("#"), part.lstrip("#")
        free = part.isidentifier()
        expression = None if free else part.strip("{}")
        name = part if free else expression.removeprefix("self.").rsplit(".", 1)[-1]
        axes.append(Axis(name, expression and Length(expression), stretches))
    return tuple(axes)


def _is_star(part: str) -> bool:
    return part == "..." or "*" in part[:2]


def _together(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return tuple(torch.broadcast_shapes(a, b))
    except RuntimeError:
        return None


def _stretches(axes: tuple[int, ...], over: tuple[int, ...]) -> bool:
    pairs = zip(reversed(axes), reversed(over), strict=False)
    return len(axes) <= len(over) and all(a in (1, b) for a, b in pairs)


def _shapes(*parts: object) -> str:
    """The shapes of the arguments that are named, and of the call they stand in."""
    call = next(part for part in parts if isinstance(part, Call))
    names = [part for part in parts if isinstance(part, str)]
    return ", ".join(f"{name}={shown(call.given.get(name))}" for name in names)


def _refuse_two(what: str, value: object, name: str, known: tuple[object, str]) -> typing.NoReturn:
    first, by = known
    if by == "self":
        raise ValueError(f"{name} must have the layer's {what} {first}; got {what}={value}")
    rule = f"{by} and {name} must have the same {what}"
    raise ValueError(f"{rule}; got {by}={first}, {name}={value}")


def _check_entries(name: str, value: Tensor, rule: Range | Ids, call: Call) -> None:
    """Each number of a tensor in its range; an empty tensor has none that could be out of it."""
    if value.numel() == 0 or value.is_meta:
        return
    smallest, largest = (end.item() for end in value.detach().aminmax())
    if isinstance(rule, Ids):
        length = Length(rule.length).within(call)
        fits = length is None or 0 <= smallest <= largest < length
        words = "numbers of rows" if length is None else f"from 0 to {length - 1}"
    else:
        fits, words = rule.allows(smallest, largest), rule.words
    if not fits:
        raise ValueError(f"{name} must be {words}; got smallest={smallest}, largest={largest}")


def _near(rule: Rule, value: object) -> bool:
    """Whether a value that fits none of several kinds was meant as this one."""
    if isinstance(rule, TensorRule):
        return isinstance(value, Tensor)
    return isinstance(rule, ContainerRule) and isinstance(value, str)


def _instead(name: str, value: object) -> str:
    """What came where a tensor belongs, and what to write."""
    if hasattr(value, "__array__"):
        return f"got a NumPy array: write torch.as_tensor({name})"
    if isinstance(value, list | tuple):
        return f"got a {type(value).__name__}: write torch.tensor({name})"
    return f"got {name}={shown(value)}"


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeioAEIO' else 'a'} {word}"
