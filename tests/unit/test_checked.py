"""The annotation is the rule: what ``checked`` refuses, in which words, and what it passes."""

import collections
import doctest
import inspect
import math
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import FrozenInstanceError, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pytest
import torch
from jaxtyping import Bool, Float, Int, Int8, Real, Shaped
from second_device import second_device
from torch import Tensor, nn, ones

import softlookup
from softlookup.checks import (
    Count,
    Finite,
    Ids,
    NotNegative,
    Positive,
    Range,
    Rate,
    Share,
    Size,
    checked,
)

pytestmark = pytest.mark.bad_input


def one(hint: object, *values: object, **options: object) -> None:
    """Call a checked function whose one argument ``x`` has this annotation, with each value."""

    def function(x):
        return x

    function.__annotations__ = {"x": hint}
    function = checked(**options)(function)
    for value in values:
        function(value)


def refuses(error: type[Exception], message: str):
    """What ``pytest.raises`` asks for, by the whole message."""
    return pytest.raises(error, match=f"^{re.escape(message)}$")


@checked
def lookup(
    query: Float[Tensor, "*batch n_q d_k"],
    key: Float[Tensor, "*batch n_k d_k"],
    value: Float[Tensor, "*batch n_k d_v"],
    mask: Bool[Tensor, "*#batch #n_q n_k"] | None = None,
    *,
    scale: bool = True,
) -> Float[Tensor, "*batch n_q d_v"]:
    """Soft lookup."""
    scores = query @ key.mT / (3 if scale else 1)
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


def three(*batch: int) -> tuple[Tensor, Tensor, Tensor]:
    return ones(*batch, 2, 3), ones(*batch, 5, 3), ones(*batch, 5, 7)


@checked
class Layer(nn.Module):
    """A projection."""

    def __init__(self, d_model: Size, d_out: Size = 2, *, dropout: Rate = 0.0) -> None:
        super().__init__()
        self.d_model, self.dropout = d_model, dropout
        self.project = nn.Linear(d_model, d_out)

    def forward(
        self,
        x: Float[Tensor, "*batch n {self.d_model}"],
        lengths: Int[Tensor, "*batch"] | None = None,
    ) -> Float[Tensor, "*batch n d_out"]:
        """Project."""
        return self.project(x)

    def _private(self, x: Float[Tensor, "n"]) -> object:
        return x

    @classmethod
    def square(cls, d_model: Size) -> "Layer":
        """One with as many outputs.

        Example:
            >>> Layer.square(3).width
            3
        """
        return cls(d_model, d_model)

    @staticmethod
    def parameters_of(d_model: Size) -> int:
        """How many a square one has."""
        return d_model * (d_model + 1)

    @property
    def width(self) -> int:
        """The model's width."""
        return self.d_model


@checked
@dataclass(frozen=True)
class Config:
    """Widths of a model."""

    d_model: Size
    n_heads: Size = 1
    dropout: Rate = 0.0
    kind: Literal["pre", "post"] = "pre"

    def __post_init__(self) -> None:
        if self.d_model % self.n_heads:
            raise ValueError("n_heads must divide d_model")

    def wider(self, factor: Size) -> "Config":
        """The same, wider."""
        return replace(self, d_model=self.d_model * factor)


# shapes


def test_right_arguments_pass_and_the_result_comes_back():
    torch.testing.assert_close(lookup(*three(11)), ones(11, 2, 7))
    torch.testing.assert_close(lookup(*three(), ones(2, 5) > 0, scale=False), ones(2, 7))


@pytest.mark.parametrize("shape", [(), (3,)])
def test_too_few_axes(shape):
    _, key, value = three()
    with refuses(ValueError, f"query must have the shape (..., n_q, d_k); got query={shape}"):
        lookup(ones(shape), key, value)


@pytest.mark.parametrize(
    ("hint", "words", "shape"),
    [
        (Float[Tensor, "n d"], "(n, d)", (2, 3, 5)),
        (Float[Tensor, "n"], "(n,)", (2, 3)),
        (Float[Tensor, ""], "()", (1,)),
        (Float[Tensor, "n *targets"], "(n, ...)", ()),
    ],
)
def test_another_number_of_axes(hint, words, shape):
    with refuses(ValueError, f"x must have the shape {words}; got x={shape}"):
        one(hint, ones(shape))


def test_axes_of_one_name_agree():
    query, key, value = three()
    rule = "query and key must have the same d_k, where key has the shape (..., n_k, d_k)"
    with refuses(ValueError, f"{rule}; got query=(2, 3), key=(5, 7)"):
        lookup(query, value, key)
    rule = "key and value must have the same n_k, where value has the shape (..., n_k, d_v)"
    with refuses(ValueError, f"{rule}; got key=(5, 3), value=(2, 7)"):
        lookup(query, key, value[:2])


def test_axes_of_one_name_agree_within_one_argument():
    one(Float[Tensor, "n n"], ones(3, 3))
    with refuses(ValueError, "x must have the shape (n, n) with n = 3; got x=(3, 5)"):
        one(Float[Tensor, "n n"], ones(3, 5))


def test_axes_without_a_name_need_not_agree():
    one(Float[Tensor, "_ _ _rows _rows"], ones(2, 3, 5, 7))
    with refuses(ValueError, "x must have the shape (_, _); got x=(2,)"):
        one(Float[Tensor, "_ _"], ones(2))


def test_a_number_is_a_length():
    one(Int[Tensor, "questions 4"], ones(3, 4).int())
    with refuses(ValueError, "x must have the shape (questions, 4); got x=(4, 3)"):
        one(Int[Tensor, "questions 4"], ones(4, 3).int())


def test_leading_axes_agree():
    query, key, value = three(11)
    rule = "query and key must have the same leading axes"
    with refuses(ValueError, f"{rule}; got query=(2, 3), key=(11, 5, 3)"):
        lookup(query[0], key, value)
    rule = "query and value must have the same leading axes"
    with refuses(ValueError, f"{rule}; got query=(11, 2, 3), value=(1, 5, 7)"):
        lookup(query, key, value[:1])


@pytest.mark.parametrize("shape", [(1, 5), (2, 5), (13, 2, 5), (1, 1, 5), (11, 1, 2, 5)])
def test_axes_that_stretch_may_be_one_or_left_out(shape):
    lookup(*three(11, 13), ones(shape) > 0)


@pytest.mark.parametrize("shape", [(7, 2, 5), (3, 11, 13, 2, 5), (11, 2, 5)])
def test_axes_that_stretch_must_fit(shape):
    rule = "query and mask must have leading axes that fit"
    with refuses(ValueError, f"{rule}; got query=(11, 13, 2, 3), mask={shape}"):
        lookup(*three(11, 13), ones(shape) > 0)


def test_an_axis_that_stretches_agrees_or_is_one():
    where = "where mask has the shape (..., n_q, n_k)"
    rule = f"query and mask must have the same n_q, {where}"
    with refuses(ValueError, f"{rule}; got query=(2, 3), mask=(3, 5)"):
        lookup(*three(), ones(3, 5) > 0)
    rule = f"key and mask must have the same n_k, {where}"
    with refuses(ValueError, f"{rule}; got key=(5, 3), mask=(2, 1)"):
        lookup(*three(), ones(2, 1) > 0)


def test_two_that_stretch_must_fit_each_other_and_the_third():
    @checked
    def distance(
        x: Float[Tensor, "*#batch d"], y: Float[Tensor, "*#batch d"], z: Float[Tensor, "*batch d"]
    ):
        return x, y, z

    distance(ones(3), ones(1, 3), ones(5, 2, 3))
    distance(ones(2, 1, 3), ones(5, 3), ones(2, 5, 3))
    with refuses(ValueError, "x and y must have leading axes that fit; got x=(2, 3), y=(5, 3)"):
        distance(ones(2, 3), ones(5, 3), ones(5, 3))
    with refuses(ValueError, "x and z must have leading axes that fit; got x=(2, 1, 3), z=(5, 3)"):
        distance(ones(2, 1, 3), ones(5, 3), ones(5, 3))


def test_dots_are_any_axes_and_need_not_agree():
    @checked
    def read(mask: Bool[Tensor, "... n"], bias: Float[Tensor, "... n"]):
        return mask, bias

    read(ones(2, 3, 5) > 0, ones(7, 5))
    rule = "mask and bias must have the same n, where bias has the shape (..., n)"
    with refuses(ValueError, f"{rule}; got mask=(2, 5), bias=(2, 3)"):
        read(ones(2, 5) > 0, ones(2, 3))


@checked
def features(
    x: Float[Tensor, "n d_v"],
    state: Float[Tensor, "d_v+1"] | None = None,
    cut: Float[Tensor, "n {width}*2"] | None = None,
    width: Size = 3,
):
    """Lengths that are worked out from other arguments."""
    return x, state, cut, width


def test_lengths_are_worked_out_from_axes():
    features(ones(2, 5), ones(6))
    with refuses(ValueError, "state must have the shape (d_v+1,) with d_v+1 = 6; got state=(5,)"):
        features(ones(2, 5), ones(5))


def test_lengths_are_worked_out_from_numbers_and_their_defaults():
    features(ones(2, 5), cut=ones(2, 6))
    features(ones(2, 5), cut=ones(2, 10), width=5)
    message = "cut must have the shape (n, width*2) with width*2 = 6; got cut=(2, 10)"
    with refuses(ValueError, message):
        features(ones(2, 5), cut=ones(2, 10))


def test_a_number_is_refused_before_a_length_is_worked_out_from_it():
    with refuses(ValueError, "width must be an integer of at least 1; got width='a'"):
        features(ones(2, 5), cut=ones(2, 6), width="a")


def test_a_length_that_nothing_has_fixed_is_free():
    @checked
    def f(state: Float[Tensor, "d_v+1"], x: Float[Tensor, "d_v"]):
        return state, x

    f(ones(2), ones(7))


def test_not_empty():
    hint = Float[Tensor, "n d"]
    one(hint, ones(0, 3), ones(3, 0))
    message = "x must have at least one entry on its axis d: shape (n, d); got x=(3, 0)"
    with refuses(ValueError, message):
        one(hint, ones(0, 3), ones(3, 0), not_empty="d")
    with pytest.raises(ValueError, match=r"^x must have at least one entry on its axis n"):
        one(hint, ones(0, 3), not_empty="n d")


# numbers, dtypes, devices


DTYPES = {
    torch.float64: "Float Real Shaped",
    torch.float16: "Float Real Shaped",
    torch.bfloat16: "Float Real Shaped",
    torch.uint8: "Real Shaped",
    torch.int8: "Int Int8 Real Shaped",
    torch.int64: "Int Real Shaped",
    torch.bool: "Bool Shaped",
    torch.complex64: "Shaped",
}
NUMBERS = {
    Float: "real numbers",
    Int: "whole numbers",
    Int8: "8-bit whole numbers",
    Bool: "booleans",
    Real: "numbers",
    Shaped: "numbers or booleans",
}


@pytest.mark.parametrize("kind", NUMBERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_kinds_of_numbers(kind, dtype):
    x = torch.zeros(3, dtype=dtype)
    if kind.__name__ in DTYPES[dtype].split():
        one(kind[Tensor, "n"], x)
        return
    with refuses(ValueError, f"x must hold {NUMBERS[kind]}; got dtype={dtype}"):
        one(kind[Tensor, "n"], x)


def test_a_mask_says_what_true_means():
    with refuses(ValueError, "mask must hold booleans (True = may read); got dtype=torch.float32"):
        lookup(*three(), ones(2, 5))


def test_real_numbers_have_one_dtype():
    query, key, value = three()
    message = "query and key must have the same dtype; got query=torch.float32, key=torch.float64"
    with refuses(ValueError, message):
        lookup(query, key.double(), value)


def test_whole_numbers_need_not_have_the_dtype_of_real_ones():
    @checked
    def gather(x: Float[Tensor, "n"], ids: Int[Tensor, "m"], more: Int[Tensor, "k"]):
        return x, ids, more

    gather(ones(2), ones(3).long(), ones(5).int())


def test_the_rule_on_the_dtype_can_be_left_out():
    @checked(one_dtype=False)
    def cast(x: Float[Tensor, "n"], y: Float[Tensor, "n"]):
        return x, y

    cast(ones(2), ones(2).half())


def test_a_layer_wants_its_own_dtype():
    layer = Layer(3)
    message = "x must have the layer's dtype torch.float32; got dtype=torch.float64"
    with refuses(ValueError, message):
        layer(ones(5, 3).double())
    layer.double()(ones(5, 3).double())


def test_autocast_brings_dtypes_together():
    layer = Layer(3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(ones(5, 3).bfloat16()).dtype == torch.bfloat16
        lookup(ones(2, 3), ones(5, 3).bfloat16(), ones(5, 7))


def test_tensors_are_on_one_device():
    query, key, value = three()
    with second_device() as away:
        lookup(query.to(away), key.to(away), value.to(away))
        with refuses(
            ValueError, "query and key must have the same device; got query=meta, key=cpu"
        ):
            lookup(query.to(away), key, value)


def test_a_layer_wants_tensors_of_its_own_device():
    with second_device() as away:
        layer = Layer(3).to(away)
        layer(ones(5, 3).to(away))
        with refuses(ValueError, "x must have the layer's device meta; got device=cpu"):
            layer(ones(5, 3))
        message = "lengths must have the layer's device meta; got device=cpu"
        with refuses(ValueError, message):
            layer(ones(2, 5, 3).to(away), ones(2).long())


# what is no tensor


@pytest.mark.parametrize(
    ("value", "came"),
    [
        ([1.0], "got a list: write torch.tensor(x)"),
        ((1.0,), "got a tuple: write torch.tensor(x)"),
        (np.ones(3), "got a NumPy array: write torch.as_tensor(x)"),
        (None, "got x=None"),
        ("text", "got x='text'"),
        (2.5, "got x=2.5"),
        (len, "got x=a builtin_function_or_method len"),
        (nn.Linear(2, 3), "got x=a Linear"),
    ],
)
def test_what_is_no_tensor(value, came):
    message = f"x must be a tensor of real numbers with the shape (n,); {came}"
    with refuses(TypeError, message):
        one(Float[Tensor, "n"], value)


@pytest.mark.parametrize("value", [[True], np.ones((2, 5)) > 0])
def test_what_is_no_tensor_where_none_is_allowed(value):
    with pytest.raises(TypeError, match=r"^mask must be a tensor of booleans .* got a .*: write"):
        lookup(*three(), value)


def test_a_tensor_of_any_kind():
    one(Tensor, ones(2, 3), ones(()).bool())
    with refuses(TypeError, "x must be a tensor; got x=[1.0]"):
        one(Tensor, [1.0])


# ids and ranges


def embed(table: Float[Tensor, "vocab d"], ids: Annotated[Int[Tensor, "n"], Ids("vocab")]):
    """Rows of a table.

    Example:
        >>> embed(ones(5, 3), torch.tensor([4])).shape
        torch.Size([1, 3])
    """
    return table[ids]


@pytest.mark.parametrize(
    ("wrong", "smallest", "largest"), [(-1, -1, 2), (5, 2, 5), (10**12, 2, 10**12)]
)
def test_ids_number_the_rows_of_a_table(wrong, smallest, largest):
    rows = checked(embed)
    rows(ones(5, 3), torch.tensor([0, 4]))
    rows(ones(5, 3), torch.tensor([], dtype=torch.int64))
    message = f"ids must be from 0 to 4; got smallest={smallest}, largest={largest}"
    with refuses(ValueError, message):
        rows(ones(5, 3), torch.tensor([2, wrong]))


@checked
class Vocabulary:
    """Words by their numbers."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)

    @property
    def size(self) -> int:
        return len(self.words)

    def decode(self, ids: Annotated[Int[Tensor, "n"] | Sequence[int], Ids("self.size")]):
        """The words."""
        return [self.words[int(k)] for k in ids]

    def word(self, id_: Annotated[int, Ids("self.size")]):
        """One word."""
        return self.words[id_]


def test_ids_of_an_attribute():
    vocabulary = Vocabulary(["not", "yet"])
    assert vocabulary.decode(torch.tensor([1, 0])) == vocabulary.decode([1, 0]) == ["yet", "not"]
    with refuses(ValueError, "ids must be from 0 to 1; got smallest=0, largest=2"):
        vocabulary.decode(torch.tensor([2, 0]))
    with refuses(ValueError, "ids[1] must be an integer from 0 to 1; got ids[1]=-1"):
        vocabulary.decode([0, -1])
    with refuses(
        ValueError, "the elements of ids must each be an integer; got ids[1]=True, ids[2]='a'"
    ):
        vocabulary.decode([0, True, "a"])
    with refuses(ValueError, "id_ must be an integer from 0 to 1; got id_=2"):
        vocabulary.word(2)


@pytest.mark.parametrize("value", [0, -1, 2.0, 2.5, "2", None, True, float("nan"), [3], 10**13])
def test_size(value):
    one(Size, 1, 2, 10**12)
    rule = "x must be an integer of at least 1"
    rule += " and at most 1000000000000" if value == 10**13 else ""
    with refuses(ValueError, f"{rule}; got x={value!r}"):
        one(Size, value)


@pytest.mark.parametrize(
    ("value", "came"),
    [
        (np.int64(3), "np.int64(3): write int(x)"),
        (torch.tensor(3), "a tensor of shape (): write int(x)"),
        (torch.ones(2), "a tensor of shape (2,)"),
        (np.ones(2), "a NumPy array of shape (2,)"),
    ],
)
def test_a_number_that_is_wrapped_is_unwrapped_by_the_caller(value, came):
    with refuses(ValueError, f"x must be an integer of at least 1; got x={came}"):
        one(Size, value)


def test_numbers_of_numpy_and_torch():
    one(Positive, np.float64(0.5))  # a float, says Python
    with refuses(
        ValueError, "x must be positive and finite; got x=np.float32(0.5): write float(x)"
    ):
        one(Positive, np.float32(0.5))


RANGES = [
    (Count, "an integer of at least 0", [0, 7], [-1, 0.0, False]),
    (Positive, "positive and finite", [1e-9, 3, 10**18], [0, -0.0, -1, True, None]),
    (NotNegative, "at least 0 and finite", [0, 0.0, 2.5], [-1e-9, "0"]),
    (Rate, "at least 0 and less than 1", [0, 0.5], [1, 1.0, -0.1, False, None]),
    (Share, "from 0 to 1", [0, 1, 0.5], [1.001, -1]),
    (Annotated[float, Finite], "finite", [-3, 0.5], [None]),
    (Annotated[float, Range(2, 5, above=True)], "more than 2 and at most 5", [3, 5], [2, 6]),
    (Annotated[int, Range(2, 5)], "an integer from 2 to 5", [2, 5], [1, 6, 2.5]),
    (
        Annotated[int, Range(2, 5, above=True)],
        "an integer of more than 2 and at most 5",
        [3, 5],
        [2, 6, 2.5],
    ),
    (Annotated[float, Range(high=5)], "at most 5 and finite", [-3, 5], [5.1]),
    (int | float, "a number", [2, 2.5, float("inf")], ["2", True]),
    (float, "a number", [2, -2.5], [None, b"2"]),
    (int, "an integer", [-2, 10**18], [2.0, True]),
]


@pytest.mark.parametrize(("hint", "words", "right", "wrong"), RANGES)
def test_ranges_of_numbers(hint, words, right, wrong):
    one(hint, *right)
    not_finite = [] if hint in (float, int | float) else [float("inf"), float("-inf")]
    for value in [*wrong, *not_finite, float("nan")]:
        with refuses(ValueError, f"x must be {words}; got x={value!r}"):
            one(hint, value)


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf")])
def test_ranges_of_tensors(wrong):
    hint = Annotated[Float[Tensor, "n"], Range(0)]
    one(hint, ones(3), ones(0))
    smallest, largest = sorted([1.0, wrong])
    if wrong != wrong:
        smallest = largest = wrong
    message = f"x must be at least 0 and finite; got smallest={smallest}, largest={largest}"
    with refuses(ValueError, message):
        one(hint, torch.tensor([1.0, wrong]))


# other kinds


def test_names():
    one(Literal["layer", "rms", 3], "layer", "rms", 3)
    for wrong in ("lag", None, 3.0, True, ["layer"]):
        with refuses(ValueError, f"x must be one of 'layer', 'rms', 3; got x={wrong!r}"):
            one(Literal["layer", "rms", 3], wrong)


@pytest.mark.parametrize(
    ("hint", "right", "wrong", "error", "words"),
    [
        (str, "a", 2, ValueError, "a string; got x=2"),
        (bool, True, 1, ValueError, "True or False; got x=1"),
        (bool, False, np.True_, ValueError, "True or False; got x=np.True_"),
        (bytes, b"a", "a", ValueError, "bytes; got x='a'"),
        (Path, Path("a"), "a", TypeError, "a path; got x='a'"),
        (str | os.PathLike, Path("a"), 2, ValueError, "a string or a path; got x=2"),
        (
            nn.Module,
            nn.ReLU(),
            len,
            TypeError,
            "a module (torch.nn.Module); got x=a builtin_function_or_method len",
        ),
        (nn.Linear, nn.Linear(2, 3), nn.ReLU(), TypeError, "a Linear; got x=a ReLU"),
        (torch.dtype, torch.int8, int, ValueError, "a torch.dtype; got x=a type int"),
        (torch.Generator, torch.Generator(), 3, TypeError, "a torch.Generator; got x=3"),
        (
            torch.optim.Optimizer,
            torch.optim.SGD([ones(2)]),
            None,
            TypeError,
            "an Optimizer; got x=None",
        ),
        (collections.Counter[str], collections.Counter("a"), {}, TypeError, "a Counter; got x={}"),
        (None, None, 0, TypeError, "None; got x=0"),
    ],
)
def test_instances_of_a_class(hint, right, wrong, error, words):
    one(hint, right)
    with refuses(error, f"x must be {words}"):
        one(hint, wrong)


def test_devices():
    hint = torch.device | str | None
    one(hint, None, "cpu", "cuda:1", torch.device("meta"))
    words = "a torch.device or its name, such as 'cpu' or 'cuda:0'"
    for wrong in ("nowhere", "", 0, b"cpu"):
        with refuses(ValueError, f"x must be {words} or None; got x={wrong!r}"):
            one(hint, wrong)


class Steps(typing.Protocol):
    """What can be called, and what cannot."""

    def __call__(self, x: int) -> int: ...


class Sized(typing.Protocol):
    """Something of a size."""

    size: int


@pytest.mark.parametrize("hint", [Callable, Callable[[int], int], typing.Callable, Steps])
def test_functions(hint):
    one(hint, len, int, nn.ReLU(), lambda: 0)
    with refuses(TypeError, "x must be a function; got x=3"):
        one(hint, 3)


Element = typing.TypeVar("Element")
Width = typing.TypeVar("Width", bound=Size)


SomeModule = typing.TypeVar("SomeModule", bound=nn.Module)


@pytest.mark.parametrize("hint", [type[nn.Module], type[SomeModule]])
def test_classes(hint):
    one(hint, nn.Module, nn.Linear)
    for wrong, came in ((int, "a type int"), (3, "3"), (nn.ReLU(), "a ReLU")):
        with refuses(TypeError, f"x must be a Module class; got x={came}"):
            one(hint, wrong)


def test_classes_of_any_kind():
    one(type[Element], int, nn.Module)
    with refuses(TypeError, "x must be a class; got x=3"):
        one(type[Element], 3)


def test_annotations_that_ask_nothing():
    for hint in (Any, object, Element, Sized):
        one(hint, None, 3, ones(2), "a")
    with refuses(ValueError, "x must be an integer of at least 1; got x=0"):
        one(Width, 0)


# unions


def test_one_of_several_kinds():
    hint = Int[Tensor, "batch"] | Sequence[int] | None
    one(hint, None, torch.tensor([1]), [1, 2], (), range(3))
    words = "x must be a tensor of whole numbers with the shape (batch,), a list or None"
    with refuses(TypeError, f"{words}; got x=3"):
        one(hint, 3)
    with refuses(ValueError, "x must hold whole numbers; got dtype=torch.float32"):
        one(hint, ones(2))
    with refuses(ValueError, "x must have the shape (batch,); got x=(2, 3)"):
        one(hint, ones(2, 3).int())
    with refuses(ValueError, "the elements of x must each be an integer; got x[0]=None, x[2]=2.5"):
        one(hint, [None, 2, 2.5])
    with refuses(ValueError, "x must be a list, not one string; got x='12'"):
        one(hint, "12")


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Finite, "a finite number"),
        (Range(0), "a finite number of at least 0"),
        (Range(0, above=True), "a finite number of more than 0"),
        (Range(0, 1), "a number from 0 to 1"),
        (Range(0, 1, below=True), "a number of at least 0 and less than 1"),
    ],
)
def test_a_number_beside_another_kind(limits, words):
    hint = Annotated[float | Float[Tensor, "*#batch"], limits]
    one(hint, 0.5, ones(3, 2) / 2)
    words += " or a tensor of real numbers with the shape (...)"
    with refuses(ValueError, f"x must be {words}; got x=inf"):
        one(hint, math.inf)
    with refuses(ValueError, f"x must be {limits.words}; got smallest=inf, largest=inf"):
        one(hint, torch.tensor(math.inf))


def test_a_range_or_none():
    one(Size | None, None, 3)
    for wrong in (0, "a"):
        message = f"x must be an integer of at least 1 or None; got x={wrong!r}"
        with refuses(ValueError, message):
            one(Size | None, wrong)
    with refuses(ValueError, "x must be a number or None; got x='a'"):
        one(int | float | None, "a")


def test_lists_of_several_depths():
    hint = Int[Tensor, "*batch n"] | Sequence[int] | Sequence[Sequence[int]]
    one(hint, [1, 2], [[1], [2, 3]], torch.tensor([[1]]))
    with refuses(ValueError, "the elements of x[1] must each be an integer; got x[1][0]='a'"):
        one(hint, [[1], ["a"]])


def test_an_option_that_does_not_fit_fixes_no_axis():
    @checked
    def f(
        x: Bool[Tensor, "*batch n_q n_k"] | Bool[Tensor, "n_k n_q"],
        y: Float[Tensor, "*batch n_q n_k n_q"],
    ):
        return x, y

    f(ones(7, 2, 3) > 0, ones(7, 2, 3, 2))
    rule = "x and y must have the same n_q, where y has the shape (..., n_q, n_k, n_q)"
    with refuses(ValueError, f"{rule}; got x=(7, 2, 3), y=(7, 3, 3, 3)"):
        f(ones(7, 2, 3) > 0, ones(7, 3, 3, 3))


# lists and other containers


def test_lists_of_words():
    one(Sequence[str], ["a"], ("a", "b"), [])
    with refuses(ValueError, "x must be a list, not one string; got x='not yet'"):
        one(Sequence[str], "not yet")
    for wrong, text in ((None, "None"), ({"a"}, "{'a'}"), (ones(2), "a tensor of shape (2,)")):
        with refuses(TypeError, f"x must be a list; got x={text}"):
            one(Sequence[str], wrong)
    five = "x[1]=0, x[2]=1, x[3]=2, x[4]=3, x[5]=4"
    with refuses(ValueError, f"the elements of x must each be a string; got {five}"):
        one(Sequence[str], ["a", *range(9)])


def test_elements_of_a_set_have_no_place():
    one(Collection[str], {"a"}, frozenset(), ["a"])
    with refuses(ValueError, "the elements of x must each be a string; got wrong=[2]"):
        one(Collection[str], {2})
    with refuses(ValueError, "the elements of x must each be a string; got x[1]=2"):
        one(Collection[str], ("a", 2))


def test_lists_in_lists_are_told_by_their_place():
    one(Sequence[Sequence[str]], [["a"], []])
    with refuses(ValueError, "x[1] must be a list, not one string; got x[1]='b'"):
        one(Sequence[Sequence[str]], [["a"], "b"])
    with refuses(ValueError, "the elements of x[1] must each be a string; got x[1][0]=None"):
        one(Sequence[Sequence[str]], [["a"], [None]])


def test_lists_of_tensors_agree():
    one(Sequence[Float[Tensor, "n d"]], [ones(2, 3), ones(2, 3)])
    rule = "x[0] and x[1] must have the same n, where x[1] has the shape (n, d)"
    with refuses(ValueError, f"{rule}; got x[0]=(2, 3), x[1]=(5, 3)"):
        one(Sequence[Float[Tensor, "n d"]], [ones(2, 3), ones(5, 3)])
    words = "a tensor of real numbers with the shape (n,)"
    with refuses(TypeError, f"the elements of x must each be {words}; got x[0]=None, x[2]=[1.0]"):
        one(Sequence[Float[Tensor, "n"]], [None, ones(2), [1.0]])


def test_ranges_of_elements():
    one(Sequence[Size], [1, 2])
    rule = "the elements of x must each be an integer of at least 1"
    with refuses(ValueError, f"{rule}; got x[1]=0, x[2]=True"):
        one(Sequence[Size], [1, 0, True])


@pytest.mark.parametrize(
    ("hint", "right", "wrong", "words"),
    [
        (list[int], [1], (1,), "a list; got x=(1,)"),
        (tuple[int, ...], (1, 2, 3), [1], "a tuple; got x=[1]"),
        (set[str], {"a"}, ["a"], "a set; got x=['a']"),
        (Mapping[str, int], {"a": 1}, [("a", 1)], "a dictionary; got x=[('a', 1)]"),
        (Iterable[int], range(3), 3, "a list or other iterable; got x=3"),
        (Iterator[int], iter([1]), [1], "an iterator; got x=[1]"),
        (tuple, (), [], "a tuple; got x=[]"),
    ],
)
def test_containers(hint, right, wrong, words):
    one(hint, right)
    with refuses(TypeError, f"x must be {words}"):
        one(hint, wrong)


def test_tuples_of_a_length():
    one(tuple[int, str], (1, "a"))
    with refuses(ValueError, "x must be a tuple of 2; got x=(1,)"):
        one(tuple[int, str], (1,))
    with refuses(ValueError, "x[1] must be a string; got x[1]=2"):
        one(tuple[int, str], (1, 2))
    rule = "x[0] and x[1] must have the same n, where x[1] has the shape (n,)"
    with refuses(ValueError, f"{rule}; got x[0]=(2,), x[1]=(3,)"):
        one(tuple[Float[Tensor, "n"], Float[Tensor, "n"]], (ones(2), ones(3)))


@pytest.mark.parametrize(
    ("hint", "right", "wrong", "words"),
    [
        (tuple[int, int], (1, 2), (1, True), "x[500][1] must be an integer; got x[500][1]=True"),
        (tuple[int, int], (1, 2), (1, 2, 3), "x[500] must be a tuple of 2; got x[500]=(1, 2, 3)"),
        (tuple[int, ...], (1,), [1], "the elements of x must each be a tuple; got x[500]=[1]"),
        (
            tuple[int, ...],
            (),
            ("a",),
            "the elements of x[500] must each be an integer; got x[500][0]='a'",
        ),
        (
            list[Size],
            [1],
            [2, 0],
            "the elements of x[500] must each be an integer of at least 1; got x[500][1]=0",
        ),
        (
            Rate,
            0.5,
            1.0,
            "the elements of x must each be at least 0 and less than 1; got x[500]=1.0",
        ),
        (float, 1, math.nan, "the elements of x must each be a number; got x[500]=nan"),
        (float, 1.5, True, "the elements of x must each be a number; got x[500]=True"),
    ],
)
def test_one_wrong_in_a_thousand(hint, right, wrong, words):
    one(Sequence[hint], [right] * 1000)
    with refuses((TypeError, ValueError), words):
        one(Sequence[hint], [right] * 500 + [wrong] + [right] * 499)


def test_mappings():
    hint = Mapping[str, Float[Tensor, "n"]]
    one(hint, {}, {"a": ones(2)}, {"a": ones(2), "b": ones(2)})
    with refuses(ValueError, "the keys of x must each be a string; got wrong=[1]"):
        one(hint, {1: ones(2)})
    words = "a tensor of real numbers with the shape (n,)"
    with refuses(TypeError, f"the values of x must each be {words}; got x['b']=None"):
        one(hint, {"a": ones(2), "b": None})
    rule = "x['a'] and x['b'] must have the same n, where x['b'] has the shape (n,)"
    with refuses(ValueError, f"{rule}; got x['a']=(2,), x['b']=(3,)"):
        one(hint, {"a": ones(2), "b": ones(3)})


class State(NamedTuple):
    """Of a recurrent layer."""

    hidden: Float[Tensor, "*batch d"]
    cell: Float[Tensor, "*batch d"] | None = None


def test_named_tuples():
    one(State, State(ones(3)), State(ones(3), ones(3)))
    with refuses(TypeError, "x must be a State; got x=(1,)"):
        one(State, (1,))
    words = "a tensor of real numbers with the shape (..., d)"
    with refuses(TypeError, f"x.hidden must be {words}; got x.hidden=None"):
        one(State, State(None))
    rule = "x.hidden and x.cell must have the same d, where x.cell has the shape (..., d)"
    with refuses(ValueError, f"{rule}; got x.hidden=(3,), x.cell=(2,)"):
        one(State, State(ones(3), ones(2)))


def test_an_iterator_is_not_used_up():
    @checked
    def read(words: Iterable[str]) -> list[str]:
        return list(words)

    assert read(word for word in ("not", "yet")) == ["not", "yet"]
    assert read(iter(["not"])) == ["not"]


# functions of every kind


def test_many_arguments():
    @checked
    def rows(*tensors: Float[Tensor, "n ..."], **named: Size):
        return len(tensors), named

    assert rows() == (0, {})
    assert rows(ones(2), ones(2, 3), size=3, named=5) == (2, {"size": 3, "named": 5})
    rule = "tensors[0] and tensors[1] must have the same n, where tensors[1] has the shape (n, ...)"
    with refuses(ValueError, f"{rule}; got tensors[0]=(2,), tensors[1]=(3,)"):
        rows(ones(2), ones(3))
    with pytest.raises(TypeError, match=r"^tensors\[1\] must be a tensor .*; got tensors\[1\]=0$"):
        rows(ones(2), 0)
    with refuses(ValueError, "size must be an integer of at least 1; got size=0"):
        rows(size=0)


def test_arguments_by_keyword_and_by_place():
    @checked
    def f(a: Size, /, b: Size = 0, *, c: Size = 0):
        return a, b, c

    assert f(1) == (1, 0, 0)  # a default is the author's business
    assert f(1, b=2, c=3) == (1, 2, 3)
    for name, call in {
        "a": lambda: f(0),
        "b": lambda: f(1, 0),
        "c": lambda: f(1, c=0),
    }.items():
        with refuses(ValueError, f"{name} must be an integer of at least 1; got {name}=0"):
            call()


def test_a_missing_or_unknown_argument_is_pythons_own_error():
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'value'$"):
        lookup(ones(2, 3), ones(5, 3))
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'masks'$"):
        lookup(*three(), masks=None)


def test_classes_check_constructors_and_public_methods():
    with refuses(ValueError, "d_model must be an integer of at least 1; got d_model=0"):
        Layer(0)
    with refuses(ValueError, "dropout must be at least 0 and less than 1; got dropout=1"):
        Layer(3, dropout=1)
    rule = "x must have the shape (..., n, d_model) with d_model = 3"
    with refuses(ValueError, f"{rule}; got x=(5, 2)"):
        Layer(3)(ones(5, 2))
    with refuses(ValueError, f"{rule}; got x=(5, 2)"):
        Layer(3).forward(x=ones(5, 2))
    assert Layer(3)._private(None) is None
    assert Layer(3).width == 3


def test_class_methods_and_static_methods():
    assert Layer.square(3)(ones(2, 3)).shape == (2, 3)
    assert Layer.parameters_of(3) == 12
    for function in (Layer.square, Layer.parameters_of, Layer(3).square):
        with refuses(ValueError, "d_model must be an integer of at least 1; got d_model='a'"):
            function("a")


def test_a_subclass_inherits_the_checks():
    class Deep(Layer):
        def __init__(self, width):
            super().__init__(width)

        def forward(self, x):
            return super().forward(x) + 1

    with refuses(ValueError, "d_model must be an integer of at least 1; got d_model=0"):
        Deep(0)
    with pytest.raises(ValueError, match=r"^x must have the shape"):
        Deep(3)(ones(5, 2))
    assert Deep(3)(ones(5, 3)).shape == (5, 2)


def test_dataclasses():
    assert Config(6, n_heads=2) == Config(d_model=6, n_heads=2)
    with refuses(ValueError, "d_model must be an integer of at least 1; got d_model=2.5"):
        Config(2.5)
    with refuses(ValueError, "kind must be one of 'pre', 'post'; got kind='mid'"):
        Config(6, kind="mid")
    with refuses(ValueError, "n_heads must divide d_model"):
        Config(5, 2)
    with refuses(ValueError, "dropout must be at least 0 and less than 1; got dropout=1.0"):
        replace(Config(6), dropout=1.0)
    with refuses(ValueError, "factor must be an integer of at least 1; got factor=0"):
        Config(6).wider(0)
    with pytest.raises(FrozenInstanceError):
        Config(6).d_model = 7


def test_generators_are_refused_at_the_call():
    @checked
    def count(n: Size) -> Iterator[int]:
        yield from range(n)

    assert list(count(2)) == [0, 1]
    with refuses(ValueError, "n must be an integer of at least 1; got n=0"):
        count(0)


def test_contexts_are_refused_at_the_call():
    @contextmanager
    @checked
    def counted(n: Size) -> Iterator[int]:
        yield n

    with counted(3) as n:
        assert n == 3
    with refuses(ValueError, "n must be an integer of at least 1; got n=0"):
        counted(0)


# PyTorch's transformations


def test_vmap_sees_the_shapes_inside():
    query, key, value = three(11)
    mapped = torch.func.vmap(lookup)
    torch.testing.assert_close(mapped(query, key, value), lookup(query, key, value))
    message = r"^query must have the shape \(\.\.\., n_q, d_k\); got query=\(2,\)$"
    with pytest.raises(ValueError, match=message):
        mapped(query[..., 0], key, value)


def test_vmap_has_no_single_numbers_to_look_at():
    ids = torch.tensor([[0, 1], [2, 3]])
    rows = torch.func.vmap(checked(embed), in_dims=(None, 0))(ones(5, 3), ids)
    assert rows.shape == (2, 2, 3)


def test_gradients_flow():
    x = ones(2, 3, requires_grad=True)
    torch.func.grad(lambda x: lookup(x, *three()[1:]).sum())(ones(2, 3))
    one(Annotated[Float[Tensor, "n d"], Finite], x, x * 2)


def test_compiled_code_is_not_checked():
    compiled = torch.compile(lookup, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(*three(11)), lookup(*three(11)))
    layer = Layer(3)
    x = ones(2, 5, 3)
    torch.testing.assert_close(torch.compile(layer, backend="eager", fullgraph=True)(x), layer(x))


# what a reader and Python's tools see


def test_signature_source_and_documentation_are_the_functions_own():
    assert list(inspect.signature(lookup).parameters) == ["query", "key", "value", "mask", "scale"]
    assert inspect.getsource(lookup).startswith("@checked\ndef lookup(")
    assert inspect.getdoc(lookup) == "Soft lookup."
    assert inspect.getsource(Layer).startswith("@checked\nclass Layer(nn.Module):")
    assert "self.project(x)" in inspect.getsource(Layer.forward)
    assert lookup.__name__ == "lookup"
    assert typing.get_type_hints(Layer.forward)["return"].dim_str == "*batch n d_out"


def test_examples_of_checked_functions_are_found():
    found = doctest.DocTestFinder().find(sys.modules[__name__])
    names = [test.name.split(".")[-1] for test in found if test.examples]
    assert names == ["square", "embed"]


def test_pickled_and_back():
    assert pickle.loads(pickle.dumps(lookup)) is lookup
    assert pickle.loads(pickle.dumps(Config(6, 2))) == Config(6, 2)
    layer = pickle.loads(pickle.dumps(Layer(3)))
    assert layer(ones(5, 3)).shape == (5, 2)


def test_in_another_process():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(Layer.parameters_of, [3]) == [12]
        with refuses(ValueError, "d_model must be an integer of at least 1; got d_model=0"):
            pool.map(Layer.parameters_of, [0])


# the door


LIBRARY = Path(softlookup.__file__).parent


def call_from(file: Path, *arguments: object) -> object:
    """Call ``lookup`` from code that stands in a file."""
    space = {"lookup": lookup, "arguments": arguments}
    exec(compile("result = lookup(*arguments)", str(file), "exec"), space)
    return space["result"]


@pytest.mark.parametrize("name", ["somewhere.py", "attention/somewhere.py"])
def test_the_library_is_not_checked(name):
    if os.environ.get("SOFTLOOKUP_TYPECHECK"):
        pytest.skip("then every call is")
    query, key, value = three()
    result = call_from(LIBRARY / name, query[0], key, value)  # a vector where rows belong
    assert result.shape == (7,)


@pytest.mark.parametrize(
    "file", [LIBRARY / "show" / "rows.py", LIBRARY.parent / "notebook.py", Path("<stdin>")]
)
def test_everybody_else_is(file):
    query, key, value = three()
    with pytest.raises(ValueError, match=r"^query must have the shape"):
        call_from(file, query[0], key, value)


def test_a_layer_that_the_library_calls_through_pytorch_is_not_checked():
    if os.environ.get("SOFTLOOKUP_TYPECHECK"):
        pytest.skip("then every call is")
    layer = Layer(3)
    space = {"layer": layer, "x": ones(3)}
    exec(compile("result = layer(x)", str(LIBRARY / "somewhere.py"), "exec"), space)
    assert space["result"].shape == (2,)
    with pytest.raises(ValueError, match=r"^x must have the shape"):
        layer(ones(3))


EVERYWHERE = """
import torch
from jaxtyping import Float
from torch import Tensor
from softlookup.checks import checked

@checked
def mean(x: Float[Tensor, "n d"], keep: bool = False) -> Float[Tensor, "d"]:
    return x.mean(0, keepdim=keep)

for file, arguments in [(FILE, [torch.ones(3)]), (FILE, [torch.ones(2, 3), True]),
                        (FILE, [torch.ones(2, 3)])]:
    try:
        exec(compile("mean(*arguments)", file, "exec"))
        print("fine")
    except ValueError as error:
        print(error)
"""


@pytest.mark.parametrize("is_on", [True, False])
def test_with_run_time_checks_every_call_and_what_comes_back(is_on):
    environment = os.environ | {"PYTHONPATH": str(LIBRARY.parent)}
    environment["SOFTLOOKUP_TYPECHECK"] = "1" if is_on else ""
    source = EVERYWHERE.replace("FILE", repr(str(LIBRARY / "somewhere.py")))
    command = [sys.executable, "-c", source]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    refused = ["x must have the shape (n, d); got x=(3,)"]
    refused += ["the result must have the shape (d,); got the result=(1, 3)"]
    assert run.stdout.splitlines() == ([*refused, "fine"] if is_on else ["fine"] * 3)


def test_annotations_are_read_at_the_first_call():
    @checked
    def later(x: "Later") -> object:
        return x

    globals()["Later"] = Size
    try:
        with refuses(ValueError, "x must be an integer of at least 1; got x=0"):
            later(0)
    finally:
        del globals()["Later"]


def test_a_long_value_is_cut():
    with pytest.raises(ValueError, match=r"; got x='a{76}\.\.\.$"):
        one(Size, "a" * 500)


def test_leading_axes_that_stretched_are_fixed_by_the_first_that_do_not():
    @checked
    def f(
        a: Float[Tensor, "*#batch d"], x: Float[Tensor, "*batch d"], y: Float[Tensor, "*batch d"]
    ):
        return a, x, y

    f(ones(1, 3), ones(5, 3), ones(5, 3))
    with refuses(ValueError, "x and y must have the same leading axes; got x=(5, 3), y=(7, 3)"):
        f(ones(1, 3), ones(5, 3), ones(7, 3))


def test_a_failed_option_forgets_the_axes_it_had_fixed():
    one(Bool[Tensor, "n_q 4"] | Bool[Tensor, "n_k n_q"], ones(2, 3) > 0)
