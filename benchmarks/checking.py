"""What it costs to refuse bad input: a call and a training step, with the checks and without.

The library is imported a second time with a decorator that leaves each function as it is written.
Both copies run in one process, in turns; what is compared is processor time.
"""

import importlib
import sys
from collections.abc import Callable
from types import SimpleNamespace

import torch
from timing import ratio
from torch import Tensor

CHECKING_HEADS = ["what runs", "time, to the same without checks"]
NAMES = ("attention", "capstone", "language_models.objectives", "models.gpt", "training")
VOCABULARY = 65
CALLS = 200


def without_checks() -> SimpleNamespace:
    """A second copy of the library, whose functions check nothing by their annotations."""

    def unchecked(thing: Callable | None = None, **options: object) -> Callable:
        return thing if thing is not None else unchecked

    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_library(name)}
    try:
        importlib.import_module("softlookup.checks").checked = unchecked
        return library()
    finally:
        for name in [name for name in sys.modules if _is_library(name)]:
            del sys.modules[name]
        sys.modules.update(kept)


def _is_library(name: str) -> bool:
    return name.split(".")[0] == "softlookup"


def library() -> SimpleNamespace:
    """The parts of the library that are measured."""
    modules = {name: importlib.import_module(f"softlookup.{name}") for name in NAMES}
    return SimpleNamespace(**{name.split(".")[-1]: module for name, module in modules.items()})


def call_of(parts: SimpleNamespace, n: int, d_k: int) -> Callable[[], None]:
    """Many calls of ``attention`` on a short text."""
    generator = torch.Generator().manual_seed(n)
    query, key, value = (torch.randn(n, d_k, generator=generator) for _ in range(3))
    attention = parts.attention.attention

    def calls() -> None:
        for _ in range(CALLS):
            attention(query, key, value)

    return calls


def step_of(parts: SimpleNamespace) -> Callable[[], None]:
    """One training step of the book's GPT: forward, backward, and its two optimizers."""
    sizes = parts.capstone.SIZES["cpu"]
    shape = [sizes[name] for name in ("n_context", "d_model", "n_heads", "n_layers")]
    torch.manual_seed(17)
    model = parts.gpt.GPT(parts.gpt.GPTConfig.quick(VOCABULARY, *shape))
    optimizers = parts.training.recipe_optimizers(model)
    generator = torch.Generator().manual_seed(17)
    stream = torch.randint(VOCABULARY, (10_000,), generator=generator)
    pieces = parts.objectives.random_pieces(
        stream, sizes["n_context"], sizes["batch_size"], generator=generator
    )

    def loss_of_batch(model: torch.nn.Module, ids: Tensor) -> Tensor:
        return parts.objectives.next_token_loss(model(ids), ids)

    def step() -> None:
        parts.training.train_model(model, loss_of_batch, pieces, optimizers=optimizers, n_steps=1)

    return step


def checking_rows() -> list[list[str]]:
    """One row per thing measured: its time over the time without checks."""
    copies = library(), without_checks()
    calls = {
        "a call of attention, n = 7": [call_of(parts, 7, 5) for parts in copies],
        "a call of attention, n = 512": [call_of(parts, 512, 64) for parts in copies],
        "a training step of the book's GPT": [step_of(parts) for parts in copies],
    }
    rows = []
    for name, (checked, bare) in calls.items():
        share = ratio(checked, bare, budget=5.0, least=20)
        print(f"checking | {name} | {share:.3f} of the time without")
        rows.append([name, f"{share:.3f}"])
    return rows


if __name__ == "__main__":
    torch.set_num_threads(1)
    checking_rows()
