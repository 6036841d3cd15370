"""How large the book's trainings are: for a processor, for one small GPU, for one large GPU."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import torch
from torch import nn

from softlookup.checks import checked, require, require_choice

TIERS = ("cpu", "gpu", "big")
TIER_VARIABLE = "SOFTLOOKUP_TIER"
BIG_MEMORY = 38 * 2**30
"""Bytes of memory from which a card counts as big: an A100 has 40 GB or 80, a T4 has 16."""

Size = TypeVar("Size")


class Tier(NamedTuple):
    """How large trainings are, and what computes them.

    Attributes:
        name: "cpu", "gpu" or "big".
        device: What a model learns on.
        dtype: What products of matrices are rounded to while it learns; None: its own dtype.

    Chapter: larger_machines#three-sizes

    Example:
        >>> Tier("cpu", torch.device("cpu"), None).pick(cpu=250, gpu=3000, big=20_000)
        250
    """

    name: str
    device: torch.device
    dtype: torch.dtype | None

    def pick(self, *, cpu: Size, gpu: Size, big: Size) -> Size:
        """The one of three sizes that belongs to this tier."""
        return {"cpu": cpu, "gpu": gpu, "big": big}[self.name]

    @contextmanager
    def holding(self, *models: nn.Module) -> Iterator[None]:
        """Within the block the models are on the tier's device; afterwards on the CPU again.

        Make optimizers inside it: what they remember of a parameter is where the parameter is.
        """
        for model in models:
            model.to(self.device)
        try:
            yield
        finally:
            for model in models:
                model.to("cpu")


@checked
def choose_tier(name: str | None = None) -> Tier:
    """The tier that fits this machine, or the one that is asked for.

    With no name it is that of the environment variable ``SOFTLOOKUP_TIER``; without that, "big"
    on a CUDA card of at least 38 GiB that computes in bfloat16, "gpu" on any other CUDA card, and
    "cpu" everywhere else.

    Args:
        name: "cpu"; "gpu", which needs a CUDA card or an Apple GPU; or "big".

    Returns:
        The tier. Its ``dtype`` is bfloat16 where the card itself computes in it. A T4 does not,
        and so keeps to float32.

    Raises:
        ValueError: The tier is unknown, or this machine cannot run it.

    Chapter: larger_machines#three-sizes

    Example:
        >>> choose_tier("cpu")
        Tier(name='cpu', device=device(type='cpu'), dtype=None)
    """
    name = name or os.environ.get(TIER_VARIABLE) or _fitting()
    require_choice(TIERS, tier=name)
    if name == "cpu":
        return Tier(name, torch.device("cpu"), None)
    has_gpu = torch.cuda.is_available() or torch.backends.mps.is_available()
    require(has_gpu, "this tier needs a GPU, and PyTorch finds none", tier=name)
    rule = f"this tier needs a CUDA card with bfloat16 and {BIG_MEMORY // 2**30} GiB of memory"
    require(name != "big" or _fitting() == "big", rule, tier=name)
    if not torch.cuda.is_available():
        return Tier(name, torch.device("mps"), None)
    return Tier(name, torch.device("cuda"), torch.bfloat16 if _has_bfloat16() else None)


def _fitting() -> str:
    if not torch.cuda.is_available():
        return "cpu"
    memory = torch.cuda.get_device_properties(0).total_memory
    return "big" if memory >= BIG_MEMORY and _has_bfloat16() else "gpu"


def _has_bfloat16() -> bool:
    """Whether the card has it; PyTorch also says yes where it only emulates it, as on a T4."""
    return torch.cuda.is_bf16_supported(including_emulation=False)
