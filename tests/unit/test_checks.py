"""The checks: each rule holds its tongue when kept, and names every value when broken."""

import re

import pytest
import torch

from softlookup.checks import (
    require,
    require_choice,
    require_distinct,
    require_dtype,
    require_float,
    require_ids,
    require_int,
    require_known_ids,
    require_mask,
    require_pair_mask,
    require_rows,
    require_same_dtype,
    require_text,
    require_tokens,
)


def test_require_is_silent_when_the_rule_holds():
    require(True, "n must be at least 1", n=1)


def test_require_names_the_rule_and_every_value():
    with pytest.raises(ValueError, match=r"^n must be less than m; got n=5, m='three'$"):
        require(False, "n must be less than m", n=5, m="three")


def test_require_shows_a_tensor_by_its_shape():
    with pytest.raises(ValueError, match=r"^shapes must fit; got x=\(2, 3\), y=\(5,\)$"):
        require(False, "shapes must fit", x=torch.zeros(2, 3), y=torch.zeros(5))


def test_require_without_values_states_the_rule_alone():
    with pytest.raises(ValueError, match=r"^there must be a corpus$"):
        require(False, "there must be a corpus")


@pytest.mark.parametrize("value", [2, 3, 10**12])
def test_require_int_takes_integers_from_the_minimum_on(value):
    require_int(2, n=value)


@pytest.mark.parametrize("value", [1, -2, 2.0, "2", None, True])
def test_require_int_refuses_smaller_numbers_and_other_types(value):
    with pytest.raises(ValueError, match=rf"^n must be an integer of at least 2; got n={value!r}$"):
        require_int(2, n=value)


def test_require_int_refuses_a_bool_that_would_be_large_enough():
    with pytest.raises(ValueError, match=r"got n=True$"):
        require_int(0, n=True)


def test_require_int_looks_at_every_value():
    with pytest.raises(ValueError, match=r"^d_v must be .* got d_v=0$"):
        require_int(1, d_k=1, d_v=0)


def test_require_choice_takes_each_name():
    require_choice(("log", "count"), tf="log", idf="count")


def test_require_choice_lists_what_is_allowed():
    message = r"^idf must be one of 'log', 'count'; got idf='lag'$"
    with pytest.raises(ValueError, match=message):
        require_choice(("log", "count"), tf="log", idf="lag")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_require_float_takes_every_floating_point_dtype(dtype):
    require_float(x=torch.zeros(2, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_require_float_refuses_other_dtypes(dtype):
    with pytest.raises(
        ValueError, match=rf"^y must hold floating-point numbers; got dtype={dtype}"
    ):
        require_float(x=torch.zeros(2), y=torch.zeros(2, dtype=dtype))


@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 1, 5), (2, 1, 5), (3, 5), (1, 5), (5,)])
def test_require_mask_takes_what_can_be_laid_over_the_scores(shape):
    require_mask(torch.ones(shape, dtype=torch.bool), (2, 3, 5))


@pytest.mark.parametrize("shape", [(3, 1), (1,), (), (5, 3), (3, 3, 5), (1, 2, 3, 5), (0, 5)])
def test_require_mask_refuses_what_cannot(shape):
    with pytest.raises(ValueError, match=r"^mask must fit scores of shape \(2, 3, 5\); got mask="):
        require_mask(torch.ones(shape, dtype=torch.bool), (2, 3, 5))


@pytest.mark.bad_input
@pytest.mark.parametrize("mask", [[[True, False]], True, "causal"])
def test_require_mask_refuses_what_is_no_tensor(mask):
    kind = type(mask).__name__
    with pytest.raises(ValueError, match=rf"^mask must be a boolean tensor .*; got type='{kind}'$"):
        require_mask(mask, (1, 2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8, torch.int64])
def test_require_mask_refuses_what_is_not_boolean(dtype):
    message = rf"^mask must be boolean \(True = may read\); got dtype={dtype}$"
    with pytest.raises(ValueError, match=message):
        require_mask(torch.ones(3, 5, dtype=dtype), (3, 5))


def test_require_pair_mask_wants_both_axes():
    require_pair_mask(torch.ones(1, 5, dtype=torch.bool), (3, 5))
    message = r"^mask must have an axis of queries and one of keys; got mask=\(5,\)$"
    with pytest.raises(ValueError, match=message):
        require_pair_mask(torch.ones(5, dtype=torch.bool), (3, 5))
    with pytest.raises(ValueError, match=r"^mask must fit scores of shape \(3, 5\)"):
        require_pair_mask(torch.ones(3, 3, dtype=torch.bool), (3, 5))


def test_require_same_dtype_names_all_of_them():
    x = torch.zeros(2)
    require_same_dtype(x=x, y=x, z=x)
    message = r"^x, y and z must have the same dtype; got x=.*32, y=.*32, z=torch.float64$"
    with pytest.raises(ValueError, match=message):
        require_same_dtype(x=x, y=x, z=x.double())


@pytest.mark.parametrize("shape", [(5,), (5, 3), (2, 3, 7)])
def test_require_rows_refuses_other_rows(shape):
    require_rows(5, x=torch.zeros(3, 5), y=torch.zeros(2, 0, 5))
    with pytest.raises(ValueError, match=r"^y must be a matrix with rows of length 5; got y="):
        require_rows(5, x=torch.zeros(3, 5), y=torch.zeros(shape))


def test_require_dtype_refuses_another_dtype():
    require_dtype(torch.float32, x=torch.zeros(1))
    message = r"^y must have the layer's dtype torch.float32; got dtype=torch.float64$"
    with pytest.raises(ValueError, match=message):
        require_dtype(torch.float32, x=torch.zeros(1), y=torch.zeros(1).double())


@pytest.mark.parametrize("wrong", [-1, 5])
def test_require_ids_refuses_what_no_row_has(wrong):
    require_ids(5, ids=torch.tensor([[0, 4]]), more=torch.zeros(0, dtype=torch.int32))
    ids = torch.tensor([2, wrong])
    message = rf"^y must be from 0 to 4; got smallest={min(2, wrong)}, largest={max(2, wrong)}$"
    with pytest.raises(ValueError, match=message):
        require_ids(5, x=ids[:1], y=ids)


@pytest.mark.bad_input
@pytest.mark.parametrize("wrong", [-1, 5, 1.0, True, "a", None])
def test_require_known_ids_refuses_what_is_no_token(wrong):
    require_known_ids(5, [4, 0])
    require_known_ids(0, [])
    message = f"ids must be integers from 0 to 4; got wrong=[{wrong!r}]"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        require_known_ids(5, [4, wrong, 0])


def test_require_known_ids_shows_the_first_five():
    with pytest.raises(ValueError, match=r"wrong=\[9, 8, 7, 6, 5\]$"):
        require_known_ids(1, [9, 8, 0, 7, 6, 5, 4])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.complex64])
def test_require_ids_refuses_what_is_no_integer(dtype):
    with pytest.raises(ValueError, match=rf"^y must be integers; got dtype={dtype}$"):
        require_ids(5, y=torch.zeros(1, dtype=dtype))


@pytest.mark.bad_input
def test_texts_tokens_and_words_are_told():
    require_text(text="yes")
    require_tokens(tokens=["not", "yet"])
    require_distinct(vocabulary=["not", "yet"])
    with pytest.raises(ValueError, match="text must be a string; got text=None"):
        require_text(text=None)
    with pytest.raises(ValueError, match="a list of tokens, not one string; got tokens='not yet'"):
        require_tokens(tokens="not yet")
    with pytest.raises(ValueError, match=r"must be distinct; got repeated=\['not'\]"):
        require_distinct(vocabulary=["not", "yet", "not"])
