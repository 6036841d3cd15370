"""What the functions of this package check first."""

import torch
from torch import Tensor

from softlookup.checks import require, require_float


def require_tables(U: Tensor, U_context: Tensor) -> None:
    """Two tables of one shape, with a finite vector for every word."""
    require_float(U=U, U_context=U_context)
    fits = U.ndim == 2 and U.shape == U_context.shape and U.numel() > 0
    rule = "U and U_context must both have the shape (vocab, d_model)"
    require(fits, rule, U=U, U_context=U_context)
    finite = bool(torch.isfinite(U).all() and torch.isfinite(U_context).all())
    require(finite, "U and U_context must hold finite numbers", U=U, U_context=U_context)


def require_table(table: Tensor) -> None:
    """One table with a finite vector for every word."""
    require_float(table=table)
    fits = table.ndim == 2 and table.numel() > 0
    require(fits, "table must have the shape (vocab, d_model)", table=table)
    finite = bool(torch.isfinite(table).all())
    require(finite, "table must hold finite numbers", table=table)


def require_ids(vocab_size: int, **ids: Tensor) -> None:
    """Whole numbers from 0 to ``vocab_size`` - 1."""
    require_integers(**ids)
    for name, tensor in ids.items():
        wrong = tensor[(tensor < 0) | (tensor >= vocab_size)].flatten().tolist()
        rule = f"{name} must be word ids from 0 to {vocab_size - 1}"
        require(not wrong, rule, wrong=wrong[:5])


def require_integers(**tensors: Tensor) -> None:
    """Whole numbers, no truth values among them."""
    for name, tensor in tensors.items():
        is_integer = not (tensor.is_floating_point() or tensor.dtype == torch.bool)
        require(is_integer, f"{name} must hold integers", dtype=tensor.dtype)


def require_pairs(vocab_size: int, centres: Tensor, contexts: Tensor) -> None:
    """As many centres as contexts, and at least one."""
    fits = centres.ndim == 1 and centres.shape == contexts.shape and len(centres) > 0
    rule = "centres and contexts must be equally many, and at least one"
    require(fits, rule, centres=centres, contexts=contexts)
    require_ids(vocab_size, centres=centres, contexts=contexts)
