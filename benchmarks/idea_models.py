"""The rows of the idea ledger: models put together from parts of the library, one change a row."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.optim import AdamW, Optimizer

from softlookup.attention import Attention, GroupedQueryAttention
from softlookup.attention.efficient import cache_bytes
from softlookup.attention.positions import LearnedPositions
from softlookup.language_models import AddK, FeedForwardLM, KneserNey
from softlookup.layers import GRUCell, RNNCell, unroll
from softlookup.masks import causal_mask
from softlookup.models import GPT, GPTConfig
from softlookup.training import Muon, decay_groups, matrices_and_rest, warmup_cosine

BYTES, CONTEXT, D_MODEL, D_STATE, N_HEADS, N_LAYERS = 256, 64, 64, 128, 4, 2
N_STEPS = 800
N_BEFORE = 8
"""How many bytes the neural model of a fixed window reads."""
LETTERS = [chr(byte) for byte in range(BYTES)]
"""A name for each byte, for models that know words."""


# models: parts of the library, put together


class ByteModel(nn.Module):
    """A table of bytes, places if wanted, something that reads the rows, and scores."""

    def __init__(self, reader: nn.Module, width: int, *, places: bool = False) -> None:
        super().__init__()
        std = D_MODEL**-0.5
        self.embedding = nn.Embedding(BYTES, D_MODEL)
        nn.init.normal_(self.embedding.weight, std=std)
        self.places = LearnedPositions(CONTEXT, D_MODEL, std=std) if places else None
        self.reader, self.output = reader, nn.Linear(width, BYTES)

    def forward(self, ids: Tensor) -> Tensor:
        """The scores of the next byte after each byte."""
        x = self.embedding(ids)
        if self.places is not None:
            x = x + self.places(torch.arange(ids.shape[-1]))
        return self.output(self.reader(x))


class Unrolled(nn.Module):
    """A recurrent cell, step after step."""

    def __init__(self, cell: RNNCell | GRUCell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Tensor) -> Tensor:
        """The state after each step."""
        return unroll(self.cell, x)[0]


class Backwards(nn.Module):
    """A layer of attention that reads itself and what came before."""

    def __init__(self, layer: Attention | GroupedQueryAttention) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        """What each row read."""
        return self.layer(x, mask=causal_mask(x.shape[-2]))


class Window(nn.Module):
    """Bengio's model, at each place of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.model = FeedForwardLM(LETTERS, N_BEFORE + 1, D_MODEL, D_STATE)

    def forward(self, ids: Tensor) -> Tensor:
        """The scores of the next byte after each byte."""
        padded = pad(ids, (N_BEFORE, 0), value=self.model.bos)
        return self.model(padded.unfold(1, N_BEFORE, 1)[:, 1:])


def recurrent(cell: type[RNNCell | GRUCell]) -> nn.Module:
    """A model with a state."""
    return ByteModel(Unrolled(cell(D_MODEL, D_STATE)), D_STATE)


def one_head(*, places: bool) -> nn.Module:
    """A model that is one head of attention and nothing else."""
    return ByteModel(Backwards(Attention(D_MODEL, D_MODEL, D_MODEL)), D_MODEL, places=places)


def many_heads() -> nn.Module:
    """A model that is one layer of heads."""
    layer = GroupedQueryAttention(D_MODEL, N_HEADS, bias=False)
    return ByteModel(Backwards(layer), D_MODEL, places=True)


# ideas


@dataclass(frozen=True)
class Idea:
    """A row: the row before it with one thing changed.

    Attributes:
        key: Its name in the record.
        says: Its name on the page.
        place: Where the book tells it.
        make: Makes the model; for a model that counts, from the text.
        rate: The peak rate of AdamW; None for a model that counts.
        matrix_rate: The peak rate of Muon, which takes the matrices; None leaves all to AdamW.
        cosine: Whether the rate warms up and falls along a cosine; otherwise it is constant.
        gpt: Options of ``GPTConfig``; then ``make`` is not asked.
        vocab_size: How many subwords there are; 256 reads bytes.
        n_steps: How many steps it trains.
        kept_bytes: What the model keeps of the text that it has read, where it is no GPT.
    """

    key: str
    says: str
    place: str
    make: Callable[..., Any] | None = None
    rate: float | None = None
    matrix_rate: float | None = None
    cosine: bool = False
    gpt: dict[str, Any] = field(default_factory=dict)
    vocab_size: int = BYTES
    n_steps: int = N_STEPS
    kept_bytes: int = 0

    @property
    def settings(self) -> str:
        """All that its numbers hang on, in one line."""
        told = {"key", "says", "place"}
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in told}
        return re.sub(r" at 0x\w+", "", str(given))

    def share(self, step: int) -> float:
        """The share of the peak rate at a step."""
        if not self.cosine:
            return 1.0
        return warmup_cosine(step, n_steps=self.n_steps, n_warmup=self.n_steps // 20, last=0.05)

    def model(self) -> nn.Module:
        """A new model."""
        if self.make is not None:
            return self.make()
        sizes = {"d_model": D_MODEL, "n_heads": N_HEADS, "context": CONTEXT, "tie": False}
        return GPT(GPTConfig(self.vocab_size, **sizes, **self.gpt))

    def optimizers(self, model: nn.Module) -> list[Optimizer]:
        """AdamW, or Muon for the matrices and AdamW for the rest."""
        options = {"lr": self.rate, "betas": (0.9, 0.99), "fused": True}
        if self.matrix_rate is None:
            return [AdamW(decay_groups(model, 0.1), **options)]
        matrices, rest = matrices_and_rest(model)
        muon = Muon(matrices, self.matrix_rate, momentum=0.9)
        return [muon, AdamW(rest, weight_decay=0.0, **options)]


def attention_bytes() -> int:
    """Keys and values of one layer, for a whole context."""
    sizes = {"n_layers": 1, "n_kv_heads": N_HEADS, "d_head": D_MODEL // N_HEADS}
    return cache_bytes(CONTEXT, **sizes, dtype=torch.float32)


def ideas() -> list[Idea]:
    """The rows, in the book's order."""
    state, seen = 4 * D_STATE, attention_bytes()
    modern = {"norm": "rms", "activation": "silu", "gated": True, "d_ff": 176, "bias": False}
    before = [
        Idea("bytes", "count the bytes", "counting_words#bag-of-words",
             partial(AddK, n=1, k=1)),
        Idea("pairs", "count pairs", "language_models#count-ratios",
             partial(AddK, n=2, k=0.03), kept_bytes=1),
        Idea("kneser-ney", "count up to twelve, Kneser–Ney", "language_models#smoothing",
             partial(KneserNey, n=12, discount=0.95), kept_bytes=11),
        Idea("window", "vectors of the last eight bytes",
             "neural_language_models#a-window-of-vectors", Window, 1e-2, kept_bytes=N_BEFORE),
        Idea("state", "a state instead of the eight", "recurrence#the-recurrent-layer",
             partial(recurrent, RNNCell), 1e-2, kept_bytes=state),
        Idea("gates", "gates", "recurrence#gates",
             partial(recurrent, GRUCell), 1e-2, kept_bytes=state),
        Idea("head", "one head of attention instead", "attention#projections",
             partial(one_head, places=False), 1e-2, kept_bytes=seen),
        Idea("places", "learned positions", "positions#learned-positions",
             partial(one_head, places=True), 3e-3, kept_bytes=seen),
        Idea("heads", "four heads", "many_heads#the-heads-axis",
             many_heads, 1e-2, kept_bytes=seen),
    ]  # fmt: skip
    gpt = {"n_layers": 1}
    rows = [Idea("block", "a block: skip, norm, feed-forward", "block#the-whole-block",
                 rate=4e-3, gpt=gpt)]  # fmt: skip

    def then(key: str, says: str, place: str, *, gpt: dict | None = None, **changes: Any) -> None:
        options = rows[-1].gpt | (gpt or {})
        rows.append(replace(rows[-1], key=key, says=says, place=place, gpt=options, **changes))

    then("depth", "two blocks", "block#the-stream", gpt={"n_layers": N_LAYERS})
    then("cosine", "warm-up and cosine", "training#learning-rates", cosine=True, rate=8e-3)
    then("rotary", "rotary positions", "positions#rotary-positions",
         gpt={"positions": "rotary"})  # fmt: skip
    then("modern", "RMSNorm, SwiGLU, no biases", "block#the-block-of-today", gpt=modern,
         rate=4e-3)  # fmt: skip
    then("muon", "Muon for the matrices", "training#optional-muon", matrix_rate=0.02)
    then("shared", "one head of keys and values", "modern_attention#the-size-of-the-cache",
         gpt={"n_kv_heads": 1})  # fmt: skip
    then("near", "attention to the last 16", "modern_attention#sliding-windows",
         gpt={"window": 16})  # fmt: skip
    then("subwords", "subwords instead of bytes", "tokenization#byte-pair-encoding",
         vocab_size=1024)  # fmt: skip
    then("longer", "eight times the steps", "training#the-training-loop",
         n_steps=8 * N_STEPS)  # fmt: skip
    return [*before, *rows]
