"""The rule for a tensor: ``Float[Tensor, "*batch n d"]``, and how several of them agree."""

import typing
from dataclasses import dataclass

import torch
from torch import Tensor

from softlookup.checks.ranges import Ids, Range
from softlookup.checks.rules import Call, Length, Rule, shown

DTYPES = {value for value in vars(torch).values() if isinstance(value, torch.dtype)}
REAL = frozenset(dtype for dtype in DTYPES if dtype.is_floating_point)
WHOLE = frozenset({torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64})
NUMBERS = {
    "Float": ("real numbers", REAL),
    "Int": ("whole numbers", WHOLE),
    "Int8": ("8-bit whole numbers", frozenset({torch.int8})),
    "Bool": ("booleans", frozenset({torch.bool})),
    "Real": ("numbers", REAL | WHOLE),
    "Shaped": ("numbers or booleans", frozenset(DTYPES)),
}
"""What jaxtyping's names ask of a tensor: in words, and as dtypes."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of an annotation.

    Attributes:
        name: What an error calls it; None for ``_``, which may be anything.
        length: What it must be long, where that is no free name.
        stretches: Whether the length 1 fits, too.
    """

    name: str | None
    length: Length | None
    stretches: bool


class TensorRule(Rule):
    """A tensor of some kind of numbers and some shape."""

    error = TypeError
    is_deep = True

    def __init__(self, hint: type, entries: tuple[Range | Ids, ...]) -> None:
        kind = hint.__name__.split("[")[0]
        self.numbers, self.dtypes = NUMBERS[kind]
        self.is_float, self.entries = kind == "Float", entries
        self.has_ids = any(isinstance(entry, Ids) for entry in entries)
        parts = hint.dim_str.split()
        star = next((k for k, part in enumerate(parts) if _is_star(part)), None)
        self.first = tuple(map(_axis, parts if star is None else parts[:star]))
        self.last = () if star is None else tuple(map(_axis, parts[star + 1 :]))
        self.has_star = star is not None
        self.star = parts[star].strip("*#.") if self.has_star else ""
        self.star_stretches = self.has_star and "#" in parts[star]
        names = [axis.name or "_" for axis in self.first] + ["..."] * self.has_star
        names += [axis.name or "_" for axis in self.last]
        self.shape = f"({', '.join(names)}{',' if len(names) == 1 and names != ['...'] else ''})"
        self.words = f"a tensor of {self.numbers} with the shape {self.shape}"

    def takes(self, value: object) -> bool:
        return isinstance(value, Tensor) and value.dtype in self.dtypes

    def is_meant(self, value: object) -> bool:
        return isinstance(value, Tensor | list | tuple) or hasattr(value, "__array__")

    def check(self, name: str, value: object, call: Call) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"{name} must be {self.words}; {_instead(name, value)}")
        if value.dtype not in self.dtypes:
            meaning = " (True = may read)" if name.endswith("mask") else ""
            rule = f"{name} must hold {self.numbers}{meaning}"
            raise ValueError(f"{rule}; got dtype={value.dtype}")
        self._check_shape(name, tuple(value.shape), call)
        self._check_place(name, value, call)
        for rule in self.entries:
            _check_entries(name, value, rule, call)

    def _check_shape(self, name: str, shape: tuple[int, ...], call: Call) -> None:
        n_first, n_last = len(self.first), len(self.last)
        rest = len(shape) - n_first - n_last
        if rest < 0 or (rest and not self.has_star):
            raise ValueError(f"{name} must have the shape {self.shape}; got {_shapes(call, name)}")
        if self.first:
            self._check_axes(name, self.first, shape[:n_first], call)
        if self.star:
            self._check_leading(name, shape[n_first : n_first + rest], call)
        if self.last:
            self._check_axes(name, self.last, shape[n_first + rest :], call)

    def _check_axes(
        self, name: str, axes: tuple[Axis, ...], shape: tuple[int, ...], call: Call
    ) -> None:
        sizes, not_empty = call.sizes, call.not_empty
        for axis, size in zip(axes, shape, strict=True):
            if size == 0 and axis.name in not_empty:
                rule = f"{name} must have at least one entry on its axis {axis.name}"
                raise ValueError(f"{rule}: shape {self.shape}; got {_shapes(call, name)}")
            if (axis.stretches and size == 1) or axis.name is None:
                continue
            if axis.length is not None:
                wanted, by = axis.length.within(call), name
                fits = wanted is None or size == wanted
            else:
                wanted, by = sizes.setdefault(axis.name, (size, name))
                fits = size == wanted
            if not fits:
                self._refuse_axis(name, axis, wanted, by, call)

    def _refuse_axis(
        self, name: str, axis: Axis, wanted: int, by: str, call: Call
    ) -> typing.NoReturn:
        if by == name:
            reason = "" if axis.name == str(wanted) else f" with {axis.name} = {wanted}"
            rule = f"{name} must have the shape {self.shape}{reason}"
            raise ValueError(f"{rule}; got {_shapes(call, name)}")
        rule = f"{by} and {name} must have the same {axis.name}"
        where = f"where {name} has the shape {self.shape}"
        raise ValueError(f"{rule}, {where}; got {_shapes(call, by, name)}")

    def _check_leading(self, name: str, axes: tuple[int, ...], call: Call) -> None:
        """Leading axes of one name are equal; one that stretches may leave some out or have 1."""
        stretches = self.star_stretches
        known, by, known_stretches = call.leading.setdefault(self.star, (axes, name, stretches))
        if axes == known and stretches == known_stretches:
            return
        if stretches and known_stretches:
            together = _together(known, axes)
            fits = together is not None
            call.leading[self.star] = (together, by, True)
        elif stretches:
            fits = _stretches(axes, known)
        elif known_stretches:
            fits = _stretches(known, axes)
            call.leading[self.star] = (axes, name, False)
        else:
            fits = False
        if not fits:
            rule = f"{by} and {name} must have leading axes that fit"
            if not (stretches or known_stretches):
                rule = f"{by} and {name} must have the same leading axes"
            raise ValueError(f"{rule}; got {_shapes(call, by, name)}")

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
        elif value.dtype != call.dtype[0] and not _mixes_dtypes(value.device):
            _refuse_two("dtype", value.dtype, name, call.dtype)


def _is_star(part: str) -> bool:
    return part == "..." or "*" in part[:2]


def _axis(part: str) -> Axis:
    stretches, part = part.startswith("#"), part.lstrip("#")
    if part.startswith("_"):
        return Axis(None, None, stretches)
    if part.isidentifier():
        return Axis(part, None, stretches)
    expression = part.replace("{", "").replace("}", "")
    name = expression.removeprefix("self.")
    if name.replace(".", "").isidentifier():
        name = name.rsplit(".", 1)[-1]
    return Axis(name, Length(expression), stretches)


def _together(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return tuple(torch.broadcast_shapes(x, y))
    except RuntimeError:
        return None


def _stretches(axes: tuple[int, ...], over: tuple[int, ...]) -> bool:
    pairs = zip(reversed(axes), reversed(over), strict=False)
    return len(axes) <= len(over) and all(x in (1, y) for x, y in pairs)


def _mixes_dtypes(device: torch.device) -> bool:
    """Whether autocast is on, which brings dtypes together."""
    return torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type)


def _shapes(call: Call, *names: str) -> str:
    return ", ".join(f"{name}={tuple(call.given[name].shape)}" for name in names)


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
    try:
        smallest, largest = (end.item() for end in value.detach().aminmax())
    except RuntimeError:  # within vmap there are no single numbers
        return
    if isinstance(rule, Ids):
        length = Length(rule.length).within(call)
        fits = length is None or 0 <= smallest <= largest < length
        words = "numbers of rows" if length is None else f"from 0 to {length - 1}"
    else:
        fits, words = rule.allows(smallest, largest), rule.words
    if not fits:
        raise ValueError(f"{name} must be {words}; got smallest={smallest}, largest={largest}")


def _instead(name: str, value: object) -> str:
    """What came where a tensor belongs, and what to write."""
    if hasattr(value, "__array__"):
        return f"got a NumPy array: write torch.as_tensor({name})"
    if isinstance(value, list | tuple):
        return f"got a {type(value).__name__}: write torch.tensor({name})"
    return f"got {name}={shown(value)}"
