"""How the book trains a small GPT in few steps: two optimizers, and their rates."""

import torch
from torch import nn
from torch.optim import AdamW, Optimizer

from softlookup.checks import Size, checked
from softlookup.training.groups import matrices_and_rest
from softlookup.training.muon import Muon
from softlookup.training.schedules import warmup_stable_decay


@checked
def recipe_optimizers(model: nn.Module, *, precision: torch.dtype | None = None) -> list[Optimizer]:
    """Muon for the matrices; AdamW for the tables and the norms; no weight decay.

    The model that goes with it is ``GPTConfig.quick``. The rates were tuned on a piece of the
    training text, for four blocks of width 128 and some eighty steps.

    Args:
        model: Its parameters that are trained are divided, as ``matrices_and_rest`` does.
        precision: As in ``Muon``.

    Returns:
        The two optimizers, at their peak rates.

    Source: Jordan 2024. Chapter: training#optional-what-seven-years-bought.

    Example:
        >>> muon, adam = recipe_optimizers(nn.Sequential(nn.Embedding(7, 5), nn.Linear(5, 3)))
        >>> muon.param_groups[0]["lr"], adam.param_groups[0]["lr"]
        (0.03, 0.01)
    """
    matrices, rest = matrices_and_rest(model)
    return [
        Muon(matrices, lr=0.03, momentum=0.75, precision=precision),
        AdamW(rest, lr=0.01, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
    ]


@checked
def recipe_rate(step: Size, *, n_steps: Size) -> float:
    """Up within a fifteenth of the steps, level to the third tenth, then down in a line to 0.

    Args:
        step: The number of the step; the first is 1.
        n_steps: The number of the last step.

    Returns:
        The share of the peak rates, from 0 to 1.

    Raises:
        ValueError: A number is no integer of at least 1, or ``step`` is above ``n_steps``.

    Source: Hägele et al. 2024. Chapter: training#optional-what-seven-years-bought.

    Example:
        >>> [round(recipe_rate(step, n_steps=30), 3) for step in (1, 2, 9, 30)]
        [0.5, 1.0, 1.0, 0.0]
    """
    n_decay = max(1, round(0.7 * n_steps))
    n_warmup = min(n_steps // 15, n_steps - n_decay)
    return warmup_stable_decay(step, n_steps=n_steps, n_warmup=n_warmup, n_decay=n_decay)
