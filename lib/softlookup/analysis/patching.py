"""Activation patching: put what one run computed into another, and see what comes back."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Real
from torch import Tensor, nn

from softlookup.analysis.probes import capture, hooked, probes_of
from softlookup.checks import checked, require

Replacement = Tensor | Callable[[Tensor], Tensor]


@contextmanager
@checked
def patch(model: nn.Module, replacements: Mapping[str, Replacement]) -> Iterator[nn.Module]:
    """Let probes pass on other numbers than they see; all that follows is computed from those.

    While the block runs, every part of the model with a switch ``fused`` takes the path that can
    be looked into, so that weights, too, can be replaced. Afterwards all is as before.

    Args:
        model: Any model with probes.
        replacements: For a probe, by its full name or its end, what it shall pass on: a tensor, or
            a function of the tensor that it saw. The shape must stay.

    Yields:
        The model.

    Raises:
        ValueError: A name fits no probe, or several. When the model is run: a replacement has
            another shape or dtype.

    Source: Vig et al. 2020; Meng et al. 2022. Chapter: looking_inside#patching.

    Example:
        >>> from softlookup.attention import MultiHeadAttention
        >>> layer = MultiHeadAttention(4, 2)
        >>> with patch(layer, {"heads": torch.zeros_like}):
        ...     silent = layer(torch.ones(3, 4))
        >>> torch.equal(silent, layer.W_O.bias.expand(3, 4))
        True
    """
    hooks = {_only_name(model, name): _replacer(name, new) for name, new in replacements.items()}
    with hooked(model, hooks):
        yield model


@checked
def patching_effects(
    model: nn.Module,
    clean: Real[Tensor, "*shape"],
    corrupted: Real[Tensor, "*shape"],
    score: Callable[[Tensor], Tensor | float],
    probes: Sequence[str],
    *,
    axis: int = -2,
) -> Tensor:
    r"""Where is what the model needs? Give it back at one place of a spoilt run, and see.

    The model reads a clean input and a corrupted one. Then it reads the corrupted one again, and
    one slice of one probe is what it was in the clean run. The effect is the share of the lost
    score that this brings back:
    $(s_\text{patched} - s_\text{corrupted})/(s_\text{clean} - s_\text{corrupted})$.

    Args:
        model: Any model of one input, with probes.
        clean: An input that it answers right.
        corrupted: One of the same shape that differs where it matters.
        score: How good an output is, as one number; say, the score of the right answer.
        probes: Where to put back, by full name or its end; all must be of one size along ``axis``.
        axis: Along which axis the slices are cut. Of rows (..., n, d) and of heads
            (..., heads, n, d), -2 are the tokens; -3 are the heads.

    Returns:
        For each probe (a row) and slice, on the CPU: 0 where nothing came back and 1 where all
        did. Other numbers are possible, below 0 and above 1.

    Raises:
        ValueError: The inputs differ in shape, the two scores are equal, a name fits no probe or
            several, or the probes differ in size.

    Source: Vig et al. 2020; Meng et al. 2022, "Causal Tracing"; Heimersheim and Nanda 2024 on how
    to read it. Chapter: looking_inside#patching.

    Example:
        >>> model = nn.Sequential(nn.Identity())
        >>> clean, corrupted = torch.tensor([[3.0], [1.0]]), torch.tensor([[0.0], [0.0]])
        >>> patching_effects(model, clean, corrupted, torch.sum, ["0"])
        tensor([[0.7500, 0.2500]], dtype=torch.float64)
    """
    require(len(probes) > 0, "there must be at least one probe", probes=list(probes))
    names = [_only_name(model, name) for name in probes]
    with torch.no_grad():
        with capture(model, *names) as right:
            best = float(score(model(clean)))
        with capture(model, *names) as wrong:
            worst = float(score(model(corrupted)))
        rule = "the two inputs must differ in score, or nothing can come back"
        require(best != worst, rule, clean=best, corrupted=worst)
        n_axes = min(right[name].ndim for name in names)
        require(-n_axes <= axis < n_axes, "each probe must have this axis", axis=axis)
        sizes = {name: right[name].shape[axis] for name in names}
        require(len(set(sizes.values())) == 1, "the probes must be of one size", **sizes)
        effects = torch.zeros(len(names), sizes[names[0]], dtype=torch.float64)
        for k, name in enumerate(names):
            for place in range(sizes[name]):
                mixed = wrong[name].clone()
                mixed.select(axis, place).copy_(right[name].select(axis, place))
                with patch(model, {name: mixed}):
                    effects[k, place] = float(score(model(corrupted)))
    return (effects - worst) / (best - worst)


def _only_name(model: nn.Module, name: str) -> str:
    found = list(probes_of(model, name))
    require(len(found) == 1, f"the name {name!r} must fit one probe, not several", probes=found)
    return found[0]


def _replacer(name: str, replacement: Replacement) -> Callable[..., Tensor]:
    def replace(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        new = replacement if isinstance(replacement, Tensor) else replacement(output)
        fits = new.shape == output.shape and new.dtype == output.dtype
        rule = f"what {name!r} passes on must keep its shape and dtype"
        require(fits, rule, seen=output, replacement=new, dtype=new.dtype)
        return new

    return replace
