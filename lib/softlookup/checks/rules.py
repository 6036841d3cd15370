"""What may be asked of a value, and the words that refuse what breaks it.

A rule ``takes`` a value of the right kind; ``check`` raises an error in words where a value is of
another kind, or is of the right kind and breaks the rule inside. The rule for tensors stands in
``tensors``, and ``annotations`` reads rules from what is written behind an argument's colon.
"""

import collections.abc
import math
import operator
import types
from itertools import chain, islice

import torch
from torch import Tensor

from softlookup.checks.ranges import Ids, Range

ELEMENTS_SHOWN = 5
LETTERS_SHOWN = 80
MOST = 10**12
"""No list, table or loop on any computer of a reader is longer."""


class Call:
    """What is known while the arguments of one call are checked, one after the other.

    Attributes:
        given: All arguments, by name.
        defaults: What stands for the arguments that are not given.
        sizes: The length of each named axis, and the argument that fixed it.
        leading: The leading axes ``*batch``, the argument that fixed them, and whether they may
            yet be stretched.
        dtype: The dtype of the real numbers, and the argument that fixed it.
        device: Where the tensors are, and the argument that fixed it.
        not_empty: Axes that must have at least one entry.
        one_dtype: Whether all arguments of real numbers must have one dtype.
    """

    __slots__ = (
        "defaults",
        "device",
        "dtype",
        "given",
        "leading",
        "not_empty",
        "one_dtype",
        "sizes",
    )

    def __init__(
        self,
        given: dict[str, object],
        defaults: dict[str, object],
        not_empty: frozenset[str],
        one_dtype: bool,
    ) -> None:
        self.given, self.defaults = given, defaults
        self.not_empty, self.one_dtype = not_empty, one_dtype
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
            return eval(self.code, {"__builtins__": {}}, call.defaults | call.given | names)
        except NameError:
            return None


def shown(value: object) -> str:
    """A value as an error shows it: a tensor by its shape, anything long cut."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, torch.nn.Module):
        return a(type(value).__name__)
    if hasattr(value, "__array__") and getattr(value, "shape", ()):
        return f"a NumPy array of shape {value.shape}"
    if isinstance(value, list) and any(isinstance(element, Tensor) for element in value):
        return f"[{', '.join(map(shown, value))}]"
    text = " ".join(repr(value).split())
    if text.startswith("<"):  # a machine's address or path says nothing
        name = getattr(value, "__name__", "")
        return f"{a(type(value).__name__)} {name}".rstrip()
    return text if len(text) <= LETTERS_SHOWN else f"{text[: LETTERS_SHOWN - 3]}..."


def a(word: str) -> str:
    """The word behind its article."""
    return f"{'an' if word[0] in 'aeioAEIO' else 'a'} {word}"


class Rule:
    """Anything is allowed. The rules below say what they take instead.

    Attributes:
        error: What a value of another kind raises.
        words: What it takes, to stand behind "must be".
        is_deep: Whether ``check`` asks more than ``takes``.
        has_ids: Whether it numbers the rows of a table, which may be another argument.
        kind: The class whose very instances are all taken, if there is one.
    """

    error: type[Exception] = ValueError
    words = "anything"
    is_deep = False
    has_ids = False
    kind: type | None = None

    @property
    def noun(self) -> str:
        """What it takes, to stand beside other kinds of things."""
        return self.words

    def takes(self, value: object) -> bool:
        """Whether the value is of the right kind."""
        return True

    def is_meant(self, value: object) -> bool:
        """Whether a value that fits none of several kinds was meant as this one."""
        return False

    def takes_all(self, values: collections.abc.Collection) -> bool:
        """Whether many values are plainly right, told at once; if not, look at each of them."""
        if self.kind is None:
            return type(self) is Rule
        return not self.is_deep and set(map(type, values)) <= {self.kind}

    def check(self, name: str, value: object, call: Call) -> None:
        """Raise an error where the value is of another kind, or breaks the rule."""
        if not self.takes(value):
            raise self.error(f"{name} must be {self.words}; got {name}={shown(value)}")


class NumberRule(Rule):
    """An integer, or any real number; never True or False, never NaN."""

    def __init__(self, kind: type, limits: Range | None, ids: Ids | None = None) -> None:
        self.type, self.limits, self.is_deep = kind, limits, ids is not None
        self.length = ids and Length(ids.length)
        self.kinds = (int,) if kind is int else (int, float)
        self.kind = int if kind is int and limits is None else None
        self.words = self.noun if kind is int or limits is None else limits.words

    @property
    def noun(self) -> str:
        """Such as "an integer of at least 1", "a finite number" or "a number from 0 to 1"."""
        what, limits = "an integer" if self.type is int else "a number", self.limits
        if limits is None:
            return what
        if self.type is not int and limits.is_open:
            what = "a finite number"
        between = " " if limits.span.startswith("from") else " of "
        return f"{what}{between}{limits.span}" if limits.span else what

    def takes(self, value: object) -> bool:
        if not isinstance(value, self.kinds) or isinstance(value, bool) or value != value:
            return False
        if self.limits is None:
            return True
        return self.limits.allows(value, value) and (value <= MOST or self.type is not int)

    def takes_all(self, values: collections.abc.Collection) -> bool:
        if self.kind or self.is_deep or not set(map(type, values)) <= {*self.kinds}:
            return super().takes_all(values)
        if any(map(operator.ne, values, values)):  # NaN
            return False
        return not values or (self.takes(min(values)) and self.takes(max(values)))

    def check(self, name: str, value: object, call: Call) -> None:
        if not self.takes(value):
            rule = f"{name} must be {self.words}"
            if isinstance(value, int) and value > MOST and self.limits.high == math.inf:
                rule += f" and at most {MOST}"
            raise ValueError(f"{rule}; got {self._what_came(name, value)}")
        length = None if self.length is None else self.length.within(call)
        if length is not None and not 0 <= value < length:
            rule = f"{name} must be an integer from 0 to {length - 1}"
            raise ValueError(f"{rule}; got {name}={value}")

    def _what_came(self, name: str, value: object) -> str:
        """What came, and how to write a number that is wrapped."""
        came = f"{name}={shown(value)}"
        is_wrapped = hasattr(value, "__array__") and getattr(value, "shape", None) == ()
        return f"{came}: write {self.type.__name__}({name})" if is_wrapped else came


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


class SubclassRule(Rule):
    """A class that is another one, or is made from it."""

    error = TypeError

    def __init__(self, parent: type) -> None:
        self.parent = parent
        self.words = f"{a(parent.__name__)} class"

    def takes(self, value: object) -> bool:
        return isinstance(value, type) and issubclass(value, self.parent)


class DeviceRule(Rule):
    """A device, or a name that PyTorch knows."""

    words = "a torch.device or its name, such as 'cpu' or 'cuda:0'"

    def takes(self, value: object) -> bool:
        try:
            return isinstance(value, str | torch.device) and bool(torch.device(value))
        except RuntimeError:
            return False


class CallableRule(Rule):
    """A function, or anything else that can be called."""

    error = TypeError
    words = "a function"

    def takes(self, value: object) -> bool:
        return callable(value)


class RecordRule(KindRule):
    """A named tuple, each field of which has a rule."""

    is_deep = True

    def __init__(self, kind: type, fields: dict[str, Rule]) -> None:
        super().__init__(kind, a(kind.__name__))
        self.fields = fields

    def check(self, name: str, value: object, call: Call) -> None:
        super().check(name, value, call)
        for field, rule in self.fields.items():
            check_part(f"{name}.{field}", rule, getattr(value, field), call)


CONTAINERS = {
    collections.abc.Sequence: "list",
    collections.abc.Iterable: "list or other iterable",
    collections.abc.Iterator: "iterator",
    collections.abc.Collection: "collection",
    collections.abc.Set: "set",
    collections.abc.Mapping: "dictionary",
    dict: "dictionary",
    list: "list",
    tuple: "tuple",
    set: "set",
    frozenset: "set",
}


class ContainerRule(Rule):
    """A list, tuple, set or mapping, and what its elements must be; never one string.

    An iterator is taken as it is: to look at its elements would use them up.
    """

    error = TypeError
    is_deep = True

    def __init__(self, kind: type, elements: tuple[Rule, ...], *, fixed: bool = False) -> None:
        self.kind, self.elements, self.fixed = kind, elements, fixed
        self.words = a(CONTAINERS[kind])

    def takes(self, value: object) -> bool:
        return isinstance(value, self.kind) and not isinstance(value, str | bytes | Tensor)

    def is_meant(self, value: object) -> bool:
        return isinstance(value, str)

    def takes_all(self, values: collections.abc.Collection) -> bool:
        """A table of pairs is one column of first and one of second elements."""
        if not set(map(type, values)) <= {self.kind} & {list, tuple, set, frozenset}:
            return False
        if not self.fixed:
            return all(rule.takes_all([*chain.from_iterable(values)]) for rule in self.elements)
        if not set(map(len, values)) <= {len(self.elements)}:
            return False
        columns = zip(self.elements, zip(*values, strict=True), strict=False)  # none of no values
        return all(rule.takes_all(column) for rule, column in columns)

    def check(self, name: str, value: object, call: Call) -> None:
        if isinstance(value, str):
            rule = f"{name} must be {self.words}, not one string"
            raise ValueError(f"{rule}; got {name}={shown(value)}")
        super().check(name, value, call)
        if self.fixed:
            self._check_fixed(name, value, call)
        elif isinstance(value, collections.abc.Mapping):
            keys = value.keys()
            for rule, part in zip(self.elements, ("keys", "values"), strict=False):
                elements = keys if part == "keys" else value.values()
                _check_all(f"the {part} of {name}", name, rule, elements, keys, call)
        elif self.elements and isinstance(value, collections.abc.Collection):
            places = value if isinstance(value, collections.abc.Set) else range(len(value))
            _check_all(f"the elements of {name}", name, self.elements[0], value, places, call)

    def _check_fixed(self, name: str, value: tuple, call: Call) -> None:
        if len(value) != len(self.elements):
            rule = f"{name} must be {self.words} of {len(self.elements)}"
            raise ValueError(f"{rule}; got {name}={shown(value)}")
        for k, (rule, element) in enumerate(zip(self.elements, value, strict=True)):
            check_part(f"{name}[{k}]", rule, element, call)


def _check_all(
    what: str,
    name: str,
    rule: Rule,
    values: collections.abc.Collection,
    places: collections.abc.Iterable,
    call: Call,
) -> None:
    """Refuse elements of a wrong kind, showing the first few; then look into each of them.

    A table of a tokenizer's merges has thousands of pairs: if all are plainly right, that is all.

    The elements of a set and the keys of a mapping are their own places.
    """
    if rule.takes_all(values):
        return
    pairs = zip(places, values, strict=True)
    wrong = list(islice(((p, v) for p, v in pairs if not rule.takes(v)), ELEMENTS_SHOWN))
    if wrong and isinstance(wrong[0][1], str) and isinstance(rule, ContainerRule):
        place, text = wrong[0]  # one string where a list of strings belongs, the commonest slip
        check_part(f"{name}[{place!r}]", rule, text, call)
    if wrong:
        came = ", ".join(f"{name}[{place!r}]={shown(value)}" for place, value in wrong)
        if places is values:
            came = f"wrong={shown([value for _, value in wrong])}"
        raise rule.error(f"{what} must each be {rule.words}; got {came}")
    if rule.is_deep:
        for place, value in zip(places, values, strict=True):
            check_part(f"{name}[{place!r}]", rule, value, call)


def check_part(name: str, rule: Rule, value: object, call: Call) -> None:
    """Check what stands inside an argument; errors look its shape up by its name."""
    call.given[name] = value
    rule.check(name, value, call)


class UnionRule(Rule):
    """One of several kinds, None among them perhaps."""

    def __init__(self, options: tuple[Rule, ...]) -> None:
        self.options = options
        kinds = [option for option in options if option.kind is not types.NoneType]
        *first, last = (option.words if len(kinds) == 1 else option.noun for option in options)
        self.words = f"{', '.join(first)} or {last}" if first else last
        self.error = options[0].error
        self.is_deep = any(option.is_deep for option in options)
        self.has_ids = any(option.has_ids for option in options)

    def takes(self, value: object) -> bool:
        return any(option.takes(value) for option in self.options)

    def check(self, name: str, value: object, call: Call) -> None:
        fitting = [option for option in self.options if option.takes(value)]
        if not fitting:
            fitting = [option for option in self.options if option.is_meant(value)]
        if not fitting:
            super().check(name, value, call)
        for option in fitting[:-1]:
            sizes, leading = call.sizes.copy(), call.leading.copy()
            try:
                return option.check(name, value, call)
            except (TypeError, ValueError):
                call.sizes, call.leading = sizes, leading
        return fitting[-1].check(name, value, call)
