"""Learning rates as pure functions of the step: each gives a share of the peak, from 0 to 1."""

import math

from softlookup.checks import Count, Share, Size, checked, require


@checked
def warmup_cosine(step: Size, *, n_steps: Size, n_warmup: Count = 0, last: Share = 0.0) -> float:
    r"""Up in a straight line, then down along half a cosine: $\frac12(1 + \cos \pi s)$.

    In warm-up the share is $t / n_{warmup}$ at step $t$. Then $s$ goes from 0 at step $n_{warmup}$,
    where the share is 1, to 1 at step $n_{steps}$, where it is ``last``.

    Args:
        step: The number $t$ of the step; the first is 1.
        n_steps: The number of the last step.
        n_warmup: The step of the peak; 0 for no warm-up.
        last: The share of the peak at the last step.

    Returns:
        The share of the peak, from 0 to 1.

    Raises:
        ValueError: A number is no integer or out of range, or ``last`` is not in [0, 1].

    Source: Loshchilov and Hutter 2017, equation 5; Radford et al. 2018, section 4.1.
    Chapter: training#learning-rates.

    Example:
        >>> [round(warmup_cosine(t, n_steps=6, n_warmup=2), 3) for t in range(1, 7)]
        [0.5, 1.0, 0.854, 0.5, 0.146, 0.0]
    """
    _check_order(step, n_steps, n_warmup)
    if step < n_warmup:
        return step / n_warmup
    done = _share_done(step, n_warmup, n_steps)
    return last + (1 - last) * (1 + math.cos(math.pi * done)) / 2


@checked
def inverse_sqrt(step: Size, *, n_warmup: Size) -> float:
    r"""Up in a straight line, then down as $1/\sqrt{t}$: the schedule of the first Transformer.

    The paper's rate $d_{model}^{-1/2} \min(t^{-1/2},\, t\, n_{warmup}^{-3/2})$ is this share times
    its peak $(d_{model}\, n_{warmup})^{-1/2}$, which it has at step $n_{warmup}$. It knows no end.

    Args:
        step: The number $t$ of the step; the first is 1.
        n_warmup: The step of the peak.

    Returns:
        The share of the peak, above 0 and at most 1.

    Raises:
        ValueError: A number is no integer of at least 1.

    Source: Vaswani et al. 2017, equation 3; lecture 004, "Training Transformers".
    Chapter: training#learning-rates.

    Example:
        >>> [inverse_sqrt(t, n_warmup=4) for t in (1, 2, 4, 16)]
        [0.25, 0.5, 1.0, 0.5]
    """
    return min(step / n_warmup, math.sqrt(n_warmup / step))


@checked
def warmup_stable_decay(
    step: Size, *, n_steps: Size, n_warmup: Count = 0, n_decay: Size, last: Share = 0.0
) -> float:
    """Up in a straight line, level, then down in a straight line.

    Where the level ends is all that depends on the length of the run: one can go on from there.
    With ``n_decay = n_steps - n_warmup`` nothing is level: up, then down.

    Args:
        step: The number of the step; the first is 1.
        n_steps: The number of the last step.
        n_warmup: The step at which the share reaches 1; 0 for no warm-up.
        n_decay: How many steps the way down takes.
        last: The share of the peak at the last step.

    Returns:
        The share of the peak, from 0 to 1.

    Raises:
        ValueError: A number is no integer or out of range, ``last`` is not in [0, 1], or there are
            not enough steps for the way up and the way down.

    Source: Hu et al. 2024, section 4; Hägele et al. 2024. Chapter: training#learning-rates.

    Example:
        >>> [warmup_stable_decay(t, n_steps=8, n_warmup=2, n_decay=4) for t in range(1, 9)]
        [0.5, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]
    """
    _check_order(step, n_steps, n_warmup)
    rule = "n_warmup and n_decay together must be at most n_steps"
    fits = n_warmup + n_decay <= n_steps
    require(fits, rule, n_warmup=n_warmup, n_decay=n_decay, n_steps=n_steps)
    if step < n_warmup:
        return step / n_warmup
    return 1 - (1 - last) * _share_done(step, n_steps - n_decay, n_steps)


def _share_done(step: int, first: int, last: int) -> float:
    """How far ``step`` is on the way from ``first`` to ``last``, from 0 to 1."""
    return max(step - first, 0) / max(last - first, 1)


def _check_order(step: int, n_steps: int, n_warmup: int) -> None:
    require(step <= n_steps, "step must be at most n_steps", step=step, n_steps=n_steps)
    rule = "n_warmup must be at most n_steps"
    require(n_warmup <= n_steps, rule, n_warmup=n_warmup, n_steps=n_steps)
