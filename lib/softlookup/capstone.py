"""Chapter 17's GPT of letters, in one process or many.

    python -m softlookup.capstone run.safetensors
    torchrun --nproc-per-node=2 -m softlookup.capstone run.safetensors --kind fsdp

Killed and started again, it goes on from the last checkpoint.
"""

import argparse
import os
from collections.abc import Callable

import torch
from torch import Tensor, nn

from softlookup.checks import require_choice, require_int
from softlookup.data import book_prose
from softlookup.data.prose import _tenth_out
from softlookup.gpt import GPT, GPTConfig
from softlookup.language_model import known_words
from softlookup.objectives import next_token_loss, random_pieces
from softlookup.training import (
    Muon,
    distribute,
    join,
    matrices_and_rest,
    resume,
    save_checkpoint,
    shared_loss,
    train_model,
    warmup_stable_decay,
)
from softlookup.training.distributed import KINDS

TODAY = {"positions": "rotary", "norm": "rms", "qk_norm": True, "activation": "relu2",
         "bias": False, "tie": False}  # fmt: skip


def train_capstone(
    path: str | os.PathLike,
    *,
    kind: str = "ddp",
    n_steps: int = 250,
    every: int = 50,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
    after_step: Callable[[int, float], None] | None = None,
) -> list[float]:
    """Train the GPT of letters: under ``torchrun`` all processes together, otherwise alone.

    Args:
        path: Where its checkpoint is kept. If there is one, it goes on from there.
        kind: As in ``distribute``: "ddp" or "fsdp".
        n_steps: The number of the last step.
        every: After how many steps a checkpoint is written. One is written at the end too.
        dtype: That of the weights.
        device: As in ``join``.
        after_step: Called with the number of each step and its loss, when it may be saved.

    Returns:
        The loss of each step that was taken: in every process that of the whole batch.

    Raises:
        ValueError: A number is out of range, ``kind`` is unknown, or the checkpoint does not fit.

    Source: Li et al. 2020; Zhao et al. 2023. Chapter: training#a-gpt-on-real-prose.

    Example:
        >>> train_capstone("nowhere", kind="dp")
        Traceback (most recent call last):
        ValueError: kind must be one of 'ddp', 'fsdp'; got kind='dp'
    """
    require_choice(KINDS, kind=kind)
    require_int(1, n_steps=n_steps, every=every)
    stream, n_letters = _letters()
    with join(device) as place:
        torch.manual_seed(17)
        model = GPT(GPTConfig(n_letters, 64, d_model=64, n_heads=4, n_layers=2, **TODAY))
        model = model.to(place.device, dtype)
        together = distribute(model, kind)
        matrices, rest = matrices_and_rest(model)
        adam = torch.optim.AdamW(rest, lr=0.01, betas=(0.8, 0.95), weight_decay=0.0)
        optimizers = [Muon(matrices, lr=0.03, momentum=0.9), adam]
        chance = torch.Generator().manual_seed(17)
        run = {"optimizers": optimizers, "generators": {"pieces": chance}}
        n_done = resume(path, model, **run)

        def save(step: int, loss: float) -> None:
            if step % every == 0 or step == n_steps:
                save_checkpoint(path, model, step=step, **run)
            if after_step is not None:
                after_step(step, loss)

        n_decay = max(1, int(0.6 * n_steps))
        down = {"n_warmup": min(10, n_steps - n_decay), "n_decay": n_decay}
        return train_model(
            together,
            shared_loss(_next_loss),
            random_pieces(stream.to(place.device), 64, 16, generator=chance),
            optimizers=optimizers,
            n_steps=n_steps,
            n_done=n_done,
            schedule=lambda step: warmup_stable_decay(step, n_steps=n_steps, **down),
            after_step=save,
        )


def _next_loss(model: nn.Module, ids: Tensor) -> Tensor:
    return next_token_loss(model(ids), ids)


def _letters() -> tuple[Tensor, int]:
    """Nine of ten paragraphs as one text of letters, and how many kinds of them there are."""
    lines, _ = _tenth_out(book_prose().splitlines())
    letters = [*known_words([list(line) for line in lines], min_count=2), "\n"]
    number = {letter: i for i, letter in enumerate(letters)}
    text = (letter for line in lines for letter in line + "\n")
    return torch.tensor([number[letter] for letter in text if letter in number]), len(letters)


def _main() -> None:
    parser = argparse.ArgumentParser(description="Train chapter 17's GPT of letters.")
    parser.add_argument("path", help="where the checkpoint is kept")
    parser.add_argument("--kind", choices=KINDS, default="ddp")
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--every", type=int, default=50, help="steps from checkpoint to checkpoint")
    chosen = parser.parse_args()
    first = int(os.environ.get("RANK", 0)) == 0

    def tell(step: int, loss: float) -> None:
        if first and step % chosen.every == 0:
            print(f"step {step} of {chosen.steps}: loss {loss:.3f}", flush=True)

    options = {"kind": chosen.kind, "n_steps": chosen.steps, "every": chosen.every}
    train_capstone(chosen.path, **options, after_step=tell)


if __name__ == "__main__":
    _main()
