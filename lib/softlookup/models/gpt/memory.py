"""How many bytes a GPT takes while it learns and while it writes, before it is built."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch

from softlookup.attention.efficient import cache_bytes
from softlookup.checks import Size, checked, require
from softlookup.models.gpt.configuration import GPTConfig, parameter_count

Precision = Literal["float32", "mixed", "bfloat16"]
Optimizer = Literal["sgd", "momentum", "adam"]

OPTIMIZER_NUMBERS = {"sgd": 0, "momentum": 1, "adam": 2}
"""How many numbers an optimizer remembers of each parameter."""


class Bytes(NamedTuple):
    """How many bytes each kind of number takes.

    Attributes:
        weight: A parameter; in mixed precision with the rounded copy that the products read.
        gradient: The slope of the loss by a parameter.
        state: What the optimizer remembers.
        stream: What enters a norm: a row of the residual stream.
        inner: What enters a product of matrices.
        score: A score of a token of the vocabulary, and its gradient.
    """

    weight: int
    gradient: int
    state: int
    stream: int
    inner: int
    score: int


PRECISIONS = {
    "float32": Bytes(4, 4, 4, 4, 4, 4),
    "mixed": Bytes(6, 4, 4, 4, 2, 4),
    "bfloat16": Bytes(2, 2, 2, 2, 2, 2),
}
"""Mixed is ``torch.autocast``: products in bfloat16, sums, norms and the loss in float32."""


@checked
@dataclass(frozen=True)
class TrainingMemory:
    """What one training step holds, in bytes.

    Attributes:
        weights: The parameters.
        gradients: A number for each of them.
        optimizer: What the optimizer remembers of each of them.
        activations: What the way forward keeps for the way back.
        scores: Those of the vocabulary, for every token: with their logarithms and their gradient.

    Chapter: my_numbers_differ#out-of-memory.
    """

    weights: int
    gradients: int
    optimizer: int
    activations: int
    scores: int

    @property
    def total(self) -> int:
        """All five together."""
        return self.weights + self.gradients + self.optimizer + self.activations + self.scores


@checked
@dataclass(frozen=True)
class WritingMemory:
    """What a model holds that writes, in bytes.

    Attributes:
        weights: The parameters.
        cache: Keys and values of all tokens that were read.

    Chapter: my_numbers_differ#out-of-memory.
    """

    weights: int
    cache: int

    @property
    def total(self) -> int:
        """Both together."""
        return self.weights + self.cache


@checked
def training_memory(
    config: GPTConfig,
    batch_size: Size,
    n: Size | None = None,
    *,
    precision: Precision = "float32",
    optimizer: Optimizer = "adam",
    fused: bool = True,
    checkpointing: bool = False,
) -> TrainingMemory:
    r"""The memory of one training step, by formula: nothing is built.

    A block keeps, for each token, $4d$ numbers around its two norms, $2d + 2H_{kv}d_k$ of queries,
    keys, values and what they read, and $2d_\text{ff}$ around the nonlinearity, $4d_\text{ff}$ if
    it is gated: $16d$ in GPT-2. Without a fused kernel it keeps all weights of attention as well,
    $Hn$ for each token. The last norm keeps $2d$; the scores are
    $\lvert\mathcal{V}\rvert$ numbers three times.

    The sum is what to plan with, not what a meter shows at one moment: gradients come while
    activations go. Left out are dropout, the turned copies of rotary positions, the norms of
    queries and keys, single numbers for each token such as the spread that a norm divides by, and
    what CUDA takes for itself. Code that is written out step by step keeps more.

    Args:
        config: The model.
        batch_size: How many texts one step reads at once.
        n: How many tokens each has; the context of the model if left out.
        precision: "float32", "mixed" as in ``torch.autocast`` with bfloat16, or "bfloat16" for
            weights, gradients and states, too.
        optimizer: "sgd" remembers nothing, "momentum" a number for each parameter, "adam" two.
        fused: Whether attention computes its weights anew on the way back instead of keeping them.
        checkpointing: Whether only what enters a block is kept, and each block computed once more.

    Returns:
        The bytes of each part.

    Raises:
        ValueError: A size is no integer of at least 1, ``n`` is longer than the context, or a name
            is unknown.

    Source: Korthikanti et al. 2022, section 4; Rajbhandari et al. 2020, section 3.1.
    Chapter: my_numbers_differ#out-of-memory.

    Example:
        >>> memory = training_memory(GPTConfig.gpt2(), batch_size=8)
        >>> memory.weights, memory.optimizer, round(memory.total / 2**30, 1)
        (497759232, 995518464, 11.0)
    """
    n = config.context if n is None else n
    require(n <= config.context, "n must be at most the context", n=n, context=config.context)
    size, n_parameters = PRECISIONS[precision], parameter_count(config)
    n_tokens = batch_size * n
    block = n_tokens * _block_bytes(config, size)
    if not fused:
        block += n_tokens * config.n_heads * n * size.weight  # in mixed precision kept twice, too
    entrance = n_tokens * config.d_model * size.stream
    blocks = config.n_layers * entrance + block if checkpointing else config.n_layers * block
    last = n_tokens * config.d_model * (size.stream * config.norm_first + size.inner)
    return TrainingMemory(
        weights=n_parameters * size.weight,
        gradients=n_parameters * size.gradient,
        optimizer=n_parameters * OPTIMIZER_NUMBERS[optimizer] * size.state,
        activations=blocks + last,
        scores=3 * n_tokens * config.vocab_size * size.score,
    )


@checked
def writing_memory(
    config: GPTConfig,
    batch_size: Size = 1,
    n: Size | None = None,
    *,
    dtype: torch.dtype = torch.bfloat16,
    weight_bits: Literal[4, 8, 16, 32] | None = None,
) -> WritingMemory:
    """The memory of a model that writes: its weights, and keys and values of what it has read.

    Args:
        config: The model.
        batch_size: How many texts are written at once.
        n: How many tokens each has in the end; the context of the model if left out.
        dtype: The kind of number of both.
        weight_bits: How many bits a weight of the blocks' matrices takes if it is stored in fewer
            than those of ``dtype``, as tables and norms are; the scales that a group of such
            weights shares are left out.

    Returns:
        The bytes of each part. The few rows of the token at hand are left out.

    Raises:
        ValueError: A size is no integer of at least 1, ``dtype`` is none of PyTorch's, or
            ``weight_bits`` is none of the four.

    Source: Shazeer 2019; Ainslie et al. 2023, section 2; Dettmers et al. 2023, section 3.
    Chapter: my_numbers_differ#out-of-memory.

    Example:
        >>> memory = writing_memory(GPTConfig.gpt2())
        >>> memory.weights, memory.cache
        (248879616, 37748736)
    """
    cache = cache_bytes(
        config.context if n is None else n,
        n_layers=config.n_layers,
        n_kv_heads=config.kv_heads,
        d_head=config.d_model // config.n_heads,
        window=config.window,
        n_sinks=config.n_sinks,
        dtype=dtype,
    )
    weights = parameter_count(config) * dtype.itemsize
    if weight_bits is not None:
        fewer = 8 * dtype.itemsize - weight_bits
        weights -= config.n_layers * _matrix_weights(config) * fewer // 8
    return WritingMemory(weights, batch_size * cache)


def _matrix_weights(config: GPTConfig) -> int:
    """How many weights the matrices of a block have."""
    d_kv = config.kv_heads * config.d_model // config.n_heads
    attention = 2 * config.d_model * (config.d_model + d_kv)
    return attention + (3 if config.gated else 2) * config.d_model * config.width_inside


def _block_bytes(config: GPTConfig, size: Bytes) -> int:
    """What a block keeps of one token for the way back, without attention's weights."""
    d_model, d_ff = config.d_model, config.width_inside
    d_kv = config.kv_heads * d_model // config.n_heads
    norms = 2 * d_model * size.stream
    attention = (3 * d_model + 2 * d_kv) * size.inner  # what enters, queries, keys, values, read
    feed_forward = (d_model + (4 if config.gated else 2) * d_ff) * size.inner
    return norms + attention + feed_forward
