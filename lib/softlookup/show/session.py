"""What a chapter does first: make its run repeatable and its figures alike."""

import os
import random

import matplotlib
import numpy as np
import torch
from cycler import cycler

from softlookup.checks import require_int
from softlookup.show.style import COLOURS, RC_PARAMS
from softlookup.show.svg import load_fonts


def setup(seed: int = 0) -> None:
    """Make a session repeatable: seeds, one thread, deterministic algorithms, number format.

    Two runs after the same ``setup`` print the same text. Tensors and arrays print at four
    significant digits.

    Args:
        seed: Seeds python, numpy and torch; at least 0.

    Raises:
        ValueError: ``seed`` is no integer, or is negative.

    Example:
        >>> setup(11)
        >>> torch.rand(2)
        tensor([0.1490, 0.4866])
    """
    require_int(0, seed=seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS is repeatable only so
    # Where CUDA has no such algorithm, PyTorch warns and goes on; the CPU has them all.
    torch.use_deterministic_algorithms(True, warn_only=torch.cuda.is_available())
    torch.set_printoptions(precision=4, sci_mode=False, linewidth=88)
    np.set_printoptions(precision=4, suppress=True, linewidth=88)
    load_fonts()
    matplotlib.rcParams.update(RC_PARAMS)
    matplotlib.rcParams["axes.prop_cycle"] = cycler(color=COLOURS)
