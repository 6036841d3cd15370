"""The training loop: the same few lines for every model and every objective."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from softlookup.checks import Count, Size, checked, require
from softlookup.training.gradients import accumulate, clip_gradients


@checked
def train_model(
    model: nn.Module,
    loss_of_batch: Callable[[nn.Module, Any], Tensor],
    batches: Iterable[Any],
    *,
    optimizers: Optimizer | Sequence[Optimizer],
    n_steps: Size,
    schedule: Callable[[int], float] | None = None,
    clip: float | None = None,
    n_parts: Size = 1,
    count: Callable[[Any], int] | None = None,
    dtype: torch.dtype | None = None,
    n_done: Count = 0,
    after_step: Callable[[int, float], None] | None = None,
    progress: Count = 0,
) -> list[float]:
    """Take ``n_steps`` steps down the gradient of the loss, one batch for each step.

    The model is in training mode while it learns, and afterwards in the mode it came in.

    Args:
        model: It is changed.
        loss_of_batch: From the model and a batch to the loss, one number.
        batches: One batch after the other; none is asked for before its step. An iterator that
            draws each batch from a ``torch.Generator`` can be taken up again after a checkpoint.
        optimizers: One, or several that share the parameters among them.
        n_steps: The number of the last step.
        schedule: From the number of the step, the first of which is 1, to a share of each group's
            rate: ``lambda step: warmup_cosine(step, n_steps=500, n_warmup=20)``. None: always 1.
        clip: The largest norm of the gradient; see ``clip_gradients``. None: never clipped.
        n_parts: How many batches one step reads, as parts of a larger one; see ``accumulate``.
        count: How many real tokens a batch has; needed where ``n_parts`` is above 1.
        dtype: What products of matrices are rounded to on the way to the loss: ``torch.bfloat16``.
            The weights, and what the optimizer remembers, keep their own. None: no rounding.
        n_done: How many steps were taken before: what ``load_checkpoint`` returns.
        after_step: Called with the number of the step and its loss, to evaluate or to save.
        progress: How many lines to print in all, each with the mean loss since the line before;
            0 for silence.

    Returns:
        The loss of each step that was taken, from before the step.

    Raises:
        ValueError: A number is out of range, ``dtype`` is not bfloat16, ``count`` is missing, the
            batches end too early, or the loss or, with ``clip``, the gradient is not finite. Then
            the step is not taken.

    Source: lecture 004, "Training Transformers". Chapter: training#the-training-loop.

    Example:
        >>> import torch
        >>> layer = nn.Linear(1, 1, bias=False)
        >>> sgd = torch.optim.SGD(layer.parameters(), lr=0.5)
        >>> x = torch.ones(1, 1)
        >>> loss_of_batch = lambda layer, x: (layer(x) - 3).square().mean()
        >>> losses = train_model(layer, loss_of_batch, [x, x], optimizers=sgd, n_steps=2)
        >>> layer.weight.item(), losses[1]
        (3.0, 0.0)
    """
    optimizers = [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)
    require(n_done <= n_steps, "n_done must be at most n_steps", n_done=n_done, n_steps=n_steps)
    rule = "a step of more than one part needs count, the real tokens of a batch"
    require(n_parts == 1 or count is not None, rule, n_parts=n_parts, count=count)
    require(clip is None or clip > 0, "clip must be above 0", clip=clip)
    rounded = loss_of_batch if dtype is None else _rounded(loss_of_batch, dtype)
    losses, batches, was_training = [], iter(batches), model.training
    shown = {n_done + round((n_steps - n_done) * (i + 1) / progress) for i in range(progress)}
    model.train()
    try:
        for step in range(n_done + 1, n_steps + 1):
            _set_rates(optimizers, 1.0 if schedule is None else schedule(step))
            model.zero_grad()
            loss = _backward(model, rounded, _next(batches, n_parts, step), count)
            require(math.isfinite(loss), "the loss must be finite", step=step, loss=loss)
            if clip is not None:
                clip_gradients(model, clip)
            for optimizer in optimizers:
                optimizer.step()
            losses.append(loss)
            if after_step is not None:
                after_step(step, loss)
            _report(step, n_steps, losses, shown)
    finally:
        model.train(was_training)
    return losses


def _rounded(
    loss_of_batch: Callable[[nn.Module, Any], Tensor], dtype: torch.dtype
) -> Callable[[nn.Module, Any], Tensor]:
    """The same loss, with products of matrices in ``dtype``.

    float16 is refused: its smallest numbers lose small gradients unless the loss is scaled up.
    """
    require(dtype is torch.bfloat16, "dtype must be torch.bfloat16 or None", dtype=dtype)

    def loss(model: nn.Module, batch: Any) -> Tensor:
        with torch.autocast(next(model.parameters()).device.type, dtype=dtype):
            return loss_of_batch(model, batch)

    return loss


def _backward(
    model: nn.Module,
    loss_of_batch: Callable[[nn.Module, Any], Tensor],
    parts: list[Any],
    count: Callable[[Any], int] | None,
) -> float:
    if len(parts) > 1:
        return accumulate(loss_of_batch, model, parts, count=count)
    loss = loss_of_batch(model, parts[0])
    loss.backward()
    return loss.item()


def _next(batches: Iterator[Any], n_parts: int, step: int) -> list[Any]:
    parts = list(islice(batches, n_parts))
    rule = "there must be enough batches for each step"
    require(len(parts) == n_parts, rule, step=step, n_parts=n_parts, n_batches=len(parts))
    return parts


def _set_rates(optimizers: list[Optimizer], share: float) -> None:
    """Each group's rate as a share of the one it began with, which PyTorch calls initial_lr."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group.setdefault("initial_lr", group["lr"]) * share


def _report(step: int, n_steps: int, losses: list[float], shown: set[int]) -> None:
    if step in shown:
        since = step - max((s for s in shown if s < step), default=step - len(losses))
        recent = losses[-since:]
        print(f"step {step} of {n_steps}: loss {sum(recent) / len(recent):.3f}")
