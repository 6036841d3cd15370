"""Attention seen as lookup and as kernel smoothing: any score, softmax, a mix of the values."""

from softlookup.kernels.lookup import (
    attend,
    hard_lookup,
    lookup_error_bound,
    lookup_weights,
    soft_lookup,
)
from softlookup.kernels.scores import (
    bilinear_scores,
    cosine_scores,
    gaussian_scores,
    laplace_scores,
)
from softlookup.kernels.smoothing import (
    gaussian_process_mean,
    gaussian_process_weights,
    nadaraya_watson,
)

__all__ = [
    "attend",
    "bilinear_scores",
    "cosine_scores",
    "gaussian_process_mean",
    "gaussian_process_weights",
    "gaussian_scores",
    "hard_lookup",
    "laplace_scores",
    "lookup_error_bound",
    "lookup_weights",
    "nadaraya_watson",
    "soft_lookup",
]
