"""What seven years bought: two recipes for one small GPT, to the same loss, in CPU seconds.

The model of both has 4 layers of width 128 with 4 heads and reads 64 characters of tiny
Shakespeare. ``--ledger`` takes one idea at a time out of the new recipe, and says what it bought.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import cross_entropy
from torch.optim import AdamW, Optimizer

from softlookup.attention.positions import Rotary
from softlookup.data import tiny_shakespeare
from softlookup.models import GPT, GPTConfig
from softlookup.training import (
    recipe_optimizers,
    recipe_rate,
    train_model,
    warmup_cosine,
)
from softlookup.words import Vocabulary

CONTEXT, D_MODEL, N_HEADS, N_LAYERS = 64, 128, 4, 4
SEEDS = (1, 2, 3)
GOAL = 15
"""Ours may take a fifteenth of the seconds of 2019."""
RECIPE_HEADS = ["recipe", "steps", "characters read", "loss, nats a character", "share of the time"]
LEDGER_HEADS = ["ours, but", "loss, nats a character", "it bought, nats", "time, to ours"]


Schedule = Callable[[int, int], float]
"""From the number of the step and that of the last step to the share of the peak rates."""


@dataclass(frozen=True)
class Recipe:
    """How a model is made and trained.

    Attributes:
        optimizers: Makes them for a model.
        schedule: The share of their peak rates at each step.
        model: From the size of the vocabulary to the choices.
        n_steps: How many steps.
        batch: How many texts a step reads.
        clip: The longest gradient.
        half: Whether products of matrices are computed in bfloat16, where the processor can.
    """

    optimizers: Callable[[GPT], list[Optimizer]]
    schedule: Schedule
    model: Callable[[int], GPTConfig]
    n_steps: int
    batch: int
    clip: float | None = 1.0
    half: bool = False

    @property
    def n_characters(self) -> int:
        """How many characters training reads."""
        return self.n_steps * self.batch * CONTEXT


def adam_of_2019(model: GPT) -> list[Optimizer]:
    """AdamW for all parameters; matrices and tables decay."""
    both = [[p for p in model.parameters() if (p.ndim == 2) == wide] for wide in (True, False)]
    groups = [{"params": p, "weight_decay": d} for p, d in zip(both, (0.1, 0.0), strict=True)]
    return [AdamW(groups, lr=1e-3, betas=(0.9, 0.99), fused=True)]


def cosine(step: int, n_steps: int) -> float:
    """Up for a twentieth of the steps, then down along a cosine to a tenth of the peak."""
    return warmup_cosine(step, n_steps=n_steps, n_warmup=n_steps // 20, last=0.1)


def adam_for_all(model: GPT) -> list[Optimizer]:
    """Our AdamW for the matrices too, at a rate for which nothing was tuned."""
    return [AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.0, fused=True)]


def ours(model: GPT) -> list[Optimizer]:
    """Those of the book's recipe."""
    return recipe_optimizers(model, precision=torch.bfloat16 if has_bfloat16() else None)


def our_rate(step: int, n_steps: int) -> float:
    """That of the book's recipe."""
    return recipe_rate(step, n_steps=n_steps)


def has_bfloat16() -> bool:
    """Whether the processor multiplies matrices in bfloat16, not only stores such numbers."""
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def model_of_2019(vocab_size: int) -> GPTConfig:
    """GPT-2 without biases."""
    return GPTConfig(vocab_size, CONTEXT, D_MODEL, N_HEADS, N_LAYERS, bias=False)


def our_model(vocab_size: int, **options: Any) -> GPTConfig:
    """That of the book's recipe, or one with other options."""
    config = GPTConfig.quick(vocab_size, CONTEXT, D_MODEL, N_HEADS, N_LAYERS)
    return replace(config, **options)


OLD = Recipe(adam_of_2019, cosine, model_of_2019, n_steps=2000, batch=12)
"""What the README of nanoGPT gives for a processor without a GPU, but for the run's evaluations."""
NEW = Recipe(ours, our_rate, our_model, n_steps=88, batch=24, half=True)
"""The book's recipe. It was found on the training text alone: learning from its first nine tenths,
with one seed, and judged on the last, by one change at a time; how many steps, with two seeds."""


def texts() -> tuple[int, Tensor, Tensor] | None:
    """The size of the vocabulary; the first nine tenths of the text, and the rest, as ids."""
    with redirect_stdout(StringIO()):  # its line speaks of a stand-in, and here there is none
        text = tiny_shakespeare()
    if text is None:
        print("Tiny Shakespeare is not in the cache: what seven years bought is not measured.")
        return None
    vocabulary = Vocabulary(sorted(set(text)), unknown=None)
    ids = torch.tensor(vocabulary.encode(list(text)))
    return (len(vocabulary), *ids.split([len(ids) * 9 // 10, len(ids) - len(ids) * 9 // 10]))


def batches(ids: Tensor, batch: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Pieces of the text, drawn by chance: what is read, and one character more."""
    while True:
        first = torch.randint(len(ids) - CONTEXT, (batch, 1), generator=generator)
        yield ids[first + torch.arange(CONTEXT + 1)]


def loss_of_batch(model: GPT, batch: Tensor) -> Tensor:
    """The mean loss per character."""
    scores = model(batch[:, :-1])
    return cross_entropy(scores.flatten(0, 1).float(), batch[:, 1:].flatten())


def half_loss(model: GPT, batch: Tensor) -> Tensor:
    """The same with products in bfloat16. Autocast ends with each batch: it remembers weights.

    The fused way back of attention is slow in half precision on a processor, so attention goes
    step by step; it is told, by a switch named after another kind of processor, to stay in half.
    """
    torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)
    with torch.autocast("cpu", torch.bfloat16), sdpa_kernel(SDPBackend.MATH):
        return loss_of_batch(model, batch)


@torch.no_grad()
def whole_loss(model: GPT, ids: Tensor) -> float:
    """The mean loss over a whole text, in float32, piece after piece, the last one shorter."""
    total, last = 0.0, len(ids) - 1
    for first in range(0, last, 128 * CONTEXT):
        piece = ids[first : min(first + 128 * CONTEXT, last) + 1]
        whole = (len(piece) - 1) // CONTEXT * CONTEXT
        parts = [piece[: whole + 1].unfold(0, CONTEXT + 1, CONTEXT)] if whole else []
        parts += [piece[None, whole:]] if len(piece) > whole + 1 else []
        total += sum(loss_of_batch(model, part).item() * part[:, 1:].numel() for part in parts)
    return total / last


def run(recipe: Recipe, seed: int, data: tuple[int, Tensor, Tensor]) -> tuple[float, float]:
    """Train once: the loss on the whole validation text, and the CPU seconds of training."""
    vocab_size, learn, validate = data
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    start = time.process_time()
    model = GPT(recipe.model(vocab_size))
    if model.rotary is not None:  # before training each pairing is as good, and halves are faster
        model.rotary = Rotary(D_MODEL // N_HEADS, pairing="halves")
    train_model(
        model,
        half_loss if recipe.half and has_bfloat16() else loss_of_batch,
        batches(learn, recipe.batch, generator),
        optimizers=recipe.optimizers(model),
        n_steps=recipe.n_steps,
        schedule=lambda step: recipe.schedule(step, recipe.n_steps),
        clip=recipe.clip,
    )
    spent = time.process_time() - start
    return whole_loss(model, validate), spent


def recipe_rows() -> list[list[str]]:
    """Both recipes: what they read, where they end, and the share of the CPU seconds of 2019."""
    data = texts()
    if data is None:
        return []
    if not has_bfloat16():
        print("This processor does not multiply in bfloat16: both recipes compute in float32.")
    pairs = []
    for seed in SEEDS:  # side by side, so that a busy hour hits both
        pairs.append((run(OLD, seed, data), run(NEW, seed, data)))
        (before, slow), (after, fast) = pairs[-1]
        print(
            f"seed {seed}: {before:.3f} nats in 2019, {after:.3f} in 1/{slow / fast:.1f}",
            flush=True,
        )
    share = statistics.median(new[1] / old[1] for old, new in pairs)
    rows = []
    for k, (name, recipe) in enumerate((("2019", OLD), ("ours", NEW))):
        loss = statistics.median(pair[k][0] for pair in pairs)
        shown = f"{share:.3f}" if k else "1"
        sizes = [f"{recipe.n_steps:,}", f"{recipe.n_characters:,}"]
        rows.append([name, *sizes, f"{loss:.3f}", shown])
    reached = sum(new[0] <= old[0] for old, new in pairs)
    print(
        f"What seven years bought: {rows[0][3]} nats in 2019, {rows[1][3]} by our recipe in",
        end=" ",
    )
    print(
        f"{share:.3f} of the CPU seconds, 1/{1 / share:.1f}; at least as low in {reached} of 3 runs"
    )
    return rows


def ledger() -> dict[str, Recipe]:
    """Our recipe with one idea of 2019 in the place of one of ours, and 2019 as it was."""

    def but(**options: Any) -> Recipe:
        return replace(NEW, model=partial(our_model, **options))

    longer = NEW.n_characters // (OLD.batch * CONTEXT)
    return {
        "AdamW for the matrices too": replace(NEW, optimizers=adam_for_all),
        "learned positions for RoPE": but(positions="learned"),
        "all of the past, not the last four": but(window=None),
        "keys and values for each head": but(n_kv_heads=None),
        "LayerNorm for RMSNorm": but(norm="layer"),
        "no norm of queries and keys": but(qk_norm=False),
        "GELU without a gate for SwiGLU": but(activation="gelu", gated=False, d_ff=None),
        "squared ReLU without a gate": but(activation="relu2", gated=False, d_ff=None),
        "one table to read and to score": but(tie=True),
        "blocks that begin as the identity": but(zero_writes=True),
        "the cosine of 2019": replace(NEW, schedule=cosine),
        "float32 for bfloat16": replace(NEW, optimizers=recipe_optimizers, half=False),
        "2019, as many characters": replace(OLD, n_steps=longer),
    }


def ledger_rows() -> list[list[str]]:
    """What the loss and the time would be without each idea, each with the first seed."""
    data = texts()
    if data is None:
        return []
    loss, spent = run(NEW, SEEDS[0], data)
    rows = [["nothing else", f"{loss:.3f}", "", "1"]]
    print("ledger |", " | ".join(rows[0]), flush=True)
    for name, recipe in ledger().items():
        worse, longer = run(recipe, SEEDS[0], data)
        rows.append([name, f"{worse:.3f}", f"{worse - loss:+.3f}", f"{longer / spent:.2f}"])
        print("ledger |", " | ".join(rows[-1]), flush=True)
    return rows


if __name__ == "__main__":
    torch.set_num_threads(1)
    if "--ledger" in sys.argv[1:]:
        ledger_rows()
    else:
        recipe_rows()
