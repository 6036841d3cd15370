"""LayerNorm and RMSNorm: the worked rows, loops, equal rows, half precision, bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.layers import LayerNorm, RMSNorm, layer_norm, rms_norm

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


def loop(x, eps, weight=None, bias=None, *, centre=True):
    """One row at a time, in Python's own numbers."""
    d = x.shape[-1]
    weight = [1.0] * d if weight is None else weight.tolist()
    bias = [0.0] * d if bias is None else bias.tolist()
    rows = []
    for row in x.reshape(-1, d).tolist():
        mean = math.fsum(row) / d if centre else 0.0
        size = math.sqrt(math.fsum((a - mean) ** 2 for a in row) / d + eps)
        rows.append([g * (a - mean) / size + b for a, g, b in zip(row, weight, bias, strict=True)])
    return torch.tensor(rows, dtype=torch.float64).reshape(x.shape)


def test_the_worked_row():
    """`layer-norm`: (1, 2, 3, 4) has mean 2.5 and variance 1.25."""
    out = layer_norm(torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64), eps=1e-12)
    size = math.sqrt(1.25)
    expected = [-1.5 / size, -0.5 / size, 0.5 / size, 1.5 / size]
    assert_close(out.tolist(), expected, rtol=1e-11, atol=0)
    assert [round(a, 4) for a in out.tolist()] == [-1.3416, -0.4472, 0.4472, 1.3416]


def test_the_worked_row_of_rms_norm():
    """(1, 7) has mean square 25, (3, 4) has 12.5."""
    x = torch.tensor([[1.0, 7.0], [3.0, 4.0]], dtype=torch.float64)
    size = math.sqrt(12.5)
    expected = torch.tensor([[0.2, 1.4], [3 / size, 4 / size]], dtype=torch.float64)
    assert_close(rms_norm(x, eps=1e-14), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("eps", [1e-5, 0.3])
def test_against_the_loop(generator, eps):
    x = torch.randn(2, 3, 7, dtype=torch.float64, generator=generator) * 3 + 2
    weight, bias = torch.randn(2, 7, dtype=torch.float64, generator=generator)
    assert_close(layer_norm(x, eps=eps), loop(x, eps))
    assert_close(layer_norm(x, weight, bias, eps), loop(x, eps, weight, bias))
    assert_close(rms_norm(x, eps=eps), loop(x, eps, centre=False))
    assert_close(rms_norm(x, weight, eps), loop(x, eps, weight, centre=False))


def test_epsilon_stands_inside_the_root():
    """(-1, 1) with ε = 3 is divided by 2; outside the root it would be by 4 or by 1 + √3."""
    x = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    assert_close(layer_norm(x, eps=3.0).tolist(), [-0.5, 0.5])
    assert_close(rms_norm(x, eps=3.0).tolist(), [-0.5, 0.5])


def test_the_usual_epsilon():
    x = torch.tensor([-1e-3, 1e-3], dtype=torch.float64)
    expected = [-1e-3 / math.sqrt(1e-6 + 1e-5), 1e-3 / math.sqrt(1e-6 + 1e-5)]
    for norm in (layer_norm, rms_norm, LayerNorm(2).double(), RMSNorm(2).double()):
        assert_close(norm(x).tolist(), expected)


@pytest.mark.parametrize("number", [0.1, 7.0, -1e6, 1e30])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("n", [1, 3, 7])
def test_equal_numbers_become_zeros(number, dtype, n):
    """The mean of three times 1e6 + 0.1 is not that number: it is rounded."""
    x = torch.full((2, n), number, dtype=dtype)
    bias = torch.arange(float(n)).to(dtype)
    assert layer_norm(x).eq(0).all()
    assert layer_norm(x, bias=bias).equal(bias.expand(2, n))


def test_zeros_stay_zeros_and_pass_a_finite_gradient():
    for norm in (layer_norm, rms_norm):
        x = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True)
        out = norm(x)
        assert out.eq(0).all()
        out.sum().backward()
        assert x.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32_and_rounded_once(generator, dtype):
    """The square of 300 is beyond float16, and 300 + 0.5 is not a bfloat16."""
    x = (torch.randn(3, 7, generator=generator) * 300).to(dtype)
    weight, bias = torch.randn(2, 7, generator=generator).to(dtype)
    wanted = layer_norm(x.float(), weight.float(), bias.float())
    assert layer_norm(x, weight, bias).equal(wanted.to(dtype))
    assert rms_norm(x, weight).equal(rms_norm(x.float(), weight.float()).to(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_dtype_and_the_shape_stay(dtype):
    for shape in [(5,), (2, 5), (2, 3, 5), (0, 5)]:
        for norm in (layer_norm, rms_norm, LayerNorm(5).to(dtype), RMSNorm(5).to(dtype)):
            out = norm(torch.ones(shape, dtype=dtype))
            assert (out.dtype, out.shape) == (dtype, shape)


def test_layers_start_with_gain_one_and_shift_zero_and_use_both(generator):
    """E79: the slide's formula has no gain, no shift and no ε."""
    x = torch.randn(2, 7, dtype=torch.float64, generator=generator)
    norm, rms = LayerNorm(7, eps=0.1).double(), RMSNorm(7, eps=0.1).double()
    assert_close(norm(x), layer_norm(x, eps=0.1))
    assert_close(rms(x), rms_norm(x, eps=0.1))
    with torch.no_grad():
        norm.weight.copy_(torch.arange(7) + 1)
        norm.bias.copy_(torch.arange(7) - 3)
        rms.weight.copy_(torch.arange(7) + 1)
    assert_close(norm(x), layer_norm(x, norm.weight, norm.bias, 0.1))
    assert_close(rms(x), rms_norm(x, rms.weight, 0.1))
    assert not torch.allclose(norm(x), layer_norm(x, eps=0.1))


def test_parameters_by_formula():
    assert {n: tuple(p.shape) for n, p in LayerNorm(7).named_parameters()} == {
        "weight": (7,), "bias": (7,)
    }  # fmt: skip
    assert [n for n, _ in LayerNorm(7, bias=False).named_parameters()] == ["weight"]
    assert {n: tuple(p.shape) for n, p in RMSNorm(7).named_parameters()} == {"weight": (7,)}




@pytest.mark.parametrize("layer", [LayerNorm, RMSNorm])
def test_bad_layers(layer):
    with pytest.raises(ValueError, match="d_model must be an integer of at least 1; got d_model=0"):
        layer(0)
    with pytest.raises(ValueError, match="eps must be positive and finite"):
        layer(3, eps=0.0)
