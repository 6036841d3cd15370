"""The chapter on training's GPT of letters, in one process or many.

    python -m softlookup.capstone run.safetensors
    torchrun --nproc-per-node=2 -m softlookup.capstone run.safetensors --kind fsdp

Killed and started again, it goes on from the last checkpoint.
"""

import argparse
import os
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor, nn

from softlookup.checks import require_choice, require_int
from softlookup.data import book_prose
from softlookup.data.prose import tenth_out
from softlookup.language_models import known_words, next_token_loss, random_pieces
from softlookup.models import GPT, GPTConfig
from softlookup.training import (
    TIERS,
    choose_tier,
    distribute,
    join,
    recipe_optimizers,
    recipe_rate,
    resume,
    save_checkpoint,
    share_of,
    shared_loss,
    train_model,
)
from softlookup.training.distributed import KINDS

SIZES: Mapping[str, Mapping[str, int]] = {
    "cpu": {"n_steps": 250, "d_model": 64, "n_heads": 4, "n_layers": 2,
            "n_context": 64, "batch_size": 16},
    "gpu": {"n_steps": 600, "d_model": 128, "n_heads": 4, "n_layers": 4,
            "n_context": 128, "batch_size": 16},
    "big": {"n_steps": 400, "d_model": 384, "n_heads": 6, "n_layers": 6,
            "n_context": 128, "batch_size": 32},
}  # fmt: skip
"""How large the run is in each tier; the chapter on training takes its sizes from here."""


def train_capstone(
    path: str | os.PathLike,
    *,
    kind: str = "ddp",
    tier: str | None = None,
    n_steps: int | None = None,
    n_parts: int = 1,
    every: int = 50,
    dtype: torch.dtype = torch.float32,
    after_step: Callable[[int, float], None] | None = None,
) -> list[float]:
    """Train the GPT of letters: under ``torchrun`` all processes together, otherwise alone.

    Args:
        path: Where its checkpoint is kept. If there is one, it goes on from there.
        kind: As in ``distribute``: "ddp" or "fsdp".
        tier: Its sizes, and what it computes on, as in ``choose_tier``. With CUDA each process has
            the GPU that ``torchrun`` assigns to it.
        n_steps: The number of the last step; that of ``SIZES`` if left out.
        n_parts: In how many parts a process reads its share of a batch: the more, the less memory.
        every: After how many steps a checkpoint is written. One is written at the end too.
        dtype: That of the weights.
        after_step: Called with the number of each step and its loss, when it may be saved.

    Returns:
        The loss of each step that was taken: in every process that of the whole batch.

    Raises:
        ValueError: A number is out of range, ``kind`` is unknown, the machine cannot run the tier,
            or the checkpoint does not fit.

    Source: Li et al. 2020; Zhao et al. 2023. Chapter: larger_machines#many-processes.

    Example:
        >>> train_capstone("nowhere", kind="dp")
        Traceback (most recent call last):
        ValueError: kind must be one of 'ddp', 'fsdp'; got kind='dp'
    """
    require_choice(KINDS, kind=kind)
    chosen = choose_tier(tier)
    sizes = SIZES[chosen.name]
    n_steps = sizes["n_steps"] if n_steps is None else n_steps
    require_int(1, n_steps=n_steps, n_parts=n_parts, every=every)
    stream, n_letters = _letters()
    with join(chosen.device) as place:
        torch.manual_seed(17)
        shape = [sizes[name] for name in ("n_context", "d_model", "n_heads", "n_layers")]
        model = GPT(GPTConfig.quick(n_letters, *shape))
        model = model.to(place.device, dtype)
        together = distribute(model, kind)
        optimizers = recipe_optimizers(model)
        chance = torch.Generator().manual_seed(17)
        run = {"optimizers": optimizers, "generators": {"pieces": chance}}
        n_done = resume(path, model, **run)

        def save(step: int, loss: float) -> None:
            if step % every == 0 or step == n_steps:
                save_checkpoint(path, model, step=step, **run)
            if after_step is not None:
                after_step(step, loss)

        whole = stream.to(place.device), sizes["n_context"], sizes["batch_size"]
        return train_model(
            together,
            shared_loss(_next_loss),
            _parts(random_pieces(*whole, generator=chance), n_parts),
            optimizers=optimizers,
            n_steps=n_steps,
            n_parts=n_parts,
            count=len,
            n_done=n_done,
            dtype=chosen.dtype,
            schedule=lambda step: recipe_rate(step, n_steps=n_steps),
            after_step=save,
        )


def _parts(batches: Iterator[Tensor], n_parts: int) -> Iterator[Tensor]:
    """Each batch as so many parts, one after the other."""
    for batch in batches:
        yield from (share_of(batch, i, n_parts) for i in range(n_parts))


def _next_loss(model: nn.Module, ids: Tensor) -> Tensor:
    return next_token_loss(model(ids), ids)


def _letters() -> tuple[Tensor, int]:
    """Nine of ten paragraphs as one text of letters, and how many kinds of them there are."""
    lines, _ = tenth_out(book_prose().splitlines())
    letters = [*known_words([list(line) for line in lines], min_count=2), "\n"]
    number = {letter: i for i, letter in enumerate(letters)}
    text = (letter for line in lines for letter in line + "\n")
    return torch.tensor([number[letter] for letter in text if letter in number]), len(letters)


def _main() -> None:
    parser = argparse.ArgumentParser(description="Train the GPT of letters.")
    parser.add_argument("path", help="where the checkpoint is kept")
    parser.add_argument("--kind", choices=KINDS, default="ddp")
    parser.add_argument("--tier", choices=TIERS, help="how large; what fits, if left out")
    parser.add_argument("--steps", type=int, help="the last step; the tier's if left out")
    parser.add_argument("--parts", type=int, default=1, help="in which a process reads its share")
    parser.add_argument("--every", type=int, default=50, help="steps from checkpoint to checkpoint")
    chosen = parser.parse_args()
    first = int(os.environ.get("RANK", 0)) == 0

    def tell(step: int, loss: float) -> None:
        if first and step % chosen.every == 0:
            print(f"step {step}: loss {loss:.3f}", flush=True)

    options = {"kind": chosen.kind, "tier": chosen.tier, "every": chosen.every}
    options |= {"n_steps": chosen.steps, "n_parts": chosen.parts}
    train_capstone(chosen.path, **options, after_step=tell)


if __name__ == "__main__":
    _main()
