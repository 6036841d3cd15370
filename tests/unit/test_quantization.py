"""One byte a number: codes by hand, the bound on every entry, zeros and extremes, bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.words import dequantize, quantize

F64 = torch.float64


def test_codes_by_hand():
    codes, scales = quantize(torch.tensor([[1.27, -0.634, 0.0], [0.0, 0.0, 0.0]], dtype=F64))
    assert codes.dtype == torch.int8
    assert codes.tolist() == [[127, -63, 0], [0, 0, 0]]
    assert_close(scales, torch.tensor([0.01, 0.0], dtype=F64))


def test_no_entry_is_off_by_more_than_half_a_scale(generator):
    x = torch.randn(3, 11, 5, dtype=F64, generator=generator) * torch.logspace(-6, 6, 11)[:, None]
    codes, scales = quantize(x)
    off = (dequantize(codes, scales) - x).abs()
    assert (off <= scales.unsqueeze(-1) / 2 * (1 + 1e-12)).all()
    assert off.max() > 0


def test_each_row_has_a_scale_of_its_own(generator):
    x = torch.randn(7, 5, dtype=F64, generator=generator)
    x[3] *= 1e6
    codes, scales = quantize(x)
    for i in range(7):
        alone, scale = quantize(x[i])
        assert torch.equal(codes[i], alone)
        assert scales[i] == scale
    assert (codes.abs().amax(dim=1) == 127).all()


def test_a_vector_and_its_opposite_get_opposite_codes(generator):
    x = torch.randn(7, 5, dtype=F64, generator=generator)
    assert torch.equal(quantize(-x)[0], -quantize(x)[0])


def test_whole_numbers_within_the_levels_come_back_exactly():
    x = torch.tensor([[-127.0, 3.0, 64.0, 127.0]])
    assert torch.equal(dequantize(*quantize(x)), x)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_extremes_do_not_overflow(size):
    x = torch.tensor([size, -size, size / 2], dtype=F64)
    codes, scales = quantize(x)
    assert codes.tolist() == [127, -127, 64]
    assert_close(dequantize(codes, scales), x, rtol=0.01, atol=0)


def test_quantize_refuses_what_has_no_scale():
    for wrong in math.nan, math.inf:
        with pytest.raises(ValueError, match="x must hold finite numbers"):
            quantize(torch.tensor([1.0, wrong]))
    with pytest.raises(ValueError, match="a row of x must have at least one entry"):
        quantize(torch.ones(3, 0))


@pytest.mark.bad_input
def test_types_and_shapes_are_checked():
    with pytest.raises(ValueError, match="x must hold floating-point numbers"):
        quantize(torch.tensor([1, 2]))
    codes = torch.ones(2, 3, dtype=torch.int8)
    with pytest.raises(ValueError, match=r"codes must be of type int8; got dtype=torch\.int64"):
        dequantize(codes.long(), torch.ones(2))
    with pytest.raises(ValueError, match="scales must hold one number for each row of codes"):
        dequantize(codes, torch.ones(3))
