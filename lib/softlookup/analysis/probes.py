"""Look into a model while it runs: its probes, read through forward hooks."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from torch import Tensor, nn

from softlookup.checks import checked, require


@contextmanager
@checked
def capture(model: nn.Module, *names: str) -> Iterator[dict[str, Tensor]]:
    """Read the probes of a model: each ``nn.Identity`` that says its name sees what passes by.

    While the block runs, every part of the model with a switch ``fused`` takes the path that can
    be looked into; afterwards the switches stand as before, and no hook is left. The results of
    the model are the same.

    Args:
        model: Any model with probes; it is run by the caller, inside the block.
        names: The probes wanted: a full name such as ``"layers.1.attention.weights"``, or its
            end: ``"weights"`` means the weights of every layer. None given: all probes.

    Yields:
        What each probe saw last, by its full name: empty before the model is run. The tensors are
        the model's own, with their gradients.

    Raises:
        ValueError: The model has no probe of such a name.

    Source: lecture 002, "Understanding the Model". Chapter: many_heads#the-probes.

    Example:
        >>> import torch
        >>> from softlookup.attention import MultiHeadAttention
        >>> layer = MultiHeadAttention(4, 2)
        >>> with capture(layer, "weights") as seen:
        ...     out = layer(torch.zeros(3, 4))
        >>> seen["weights"].shape
        torch.Size([2, 3, 3])
    """
    wanted = probes_of(model, *names)
    seen: dict[str, Tensor] = {}
    with hooked(model, {name: _keeper(seen, name) for name in wanted}):
        yield seen


@contextmanager
@checked
def hooked(model: nn.Module, hooks: Mapping[str, Callable[..., object]]) -> Iterator[None]:
    """Put forward hooks on parts of a model, on the path that can be looked into.

    While the block runs, every part with a switch ``fused`` has it off, since PyTorch's kernel
    passes no probe. Afterwards the switches stand as before, and no hook is left.

    Args:
        model: Any model; it is run by the caller, inside the block.
        hooks: For the full name of a part, what it calls with itself, its inputs and its output;
            what this returns, unless None, is passed on in the output's place.

    Yields:
        Nothing.

    Raises:
        ValueError: The model has no part of such a name.

    Source: lecture 002, "Understanding the Model". Chapter: many_heads#the-probes.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Identity())
        >>> with hooked(model, {"0": lambda part, inputs, output: 2 * output}):
        ...     model(torch.tensor([3.0]))
        tensor([6.])
    """
    parts = dict(model.named_modules())
    for name in hooks:
        require(name in parts, f"the model has no part of the name {name!r}", parts=list(parts))
    with ExitStack() as afterwards:
        for name, hook in hooks.items():
            afterwards.callback(parts[name].register_forward_hook(hook).remove)
        for part in parts.values():
            if isinstance(getattr(part, "fused", None), bool):
                afterwards.callback(setattr, part, "fused", part.fused)
                part.fused = False
        yield


@checked
def probes_of(model: nn.Module, *names: str) -> dict[str, nn.Module]:
    """The probes of a model: its parts of class ``nn.Identity``.

    Args:
        model: Any model with probes.
        names: The probes wanted, as in ``capture``. None given: all.

    Returns:
        The probes by their full names, in the model's order.

    Raises:
        ValueError: The model has no probe, or none of such a name.

    Source: lecture 002, "Understanding the Model". Chapter: many_heads#the-probes.

    Example:
        >>> from softlookup.attention import MultiHeadAttention
        >>> list(probes_of(MultiHeadAttention(4, 2)))
        ['weights', 'heads']
    """
    probes = {n: part for n, part in model.named_modules() if isinstance(part, nn.Identity)}
    for name in names:
        rule = f"the model has no probe of the name {name!r}"
        require(any(_ends(probe, name) for probe in probes), rule, probes=list(probes))
    require(bool(probes), "the model has no probe", model=type(model).__name__)
    return {n: p for n, p in probes.items() if not names or any(_ends(n, name) for name in names)}


def _ends(probe: str, name: str) -> bool:
    """Whether ``name`` is the probe's full name, or its end from a dot on."""
    return f".{probe}".endswith(f".{name}")


def _keeper(seen: dict[str, Tensor], name: str) -> Callable[..., None]:
    def keep(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        seen[name] = output

    return keep
