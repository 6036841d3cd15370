"""Every choice that makes a GPT, and how many parameters follow from it."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from softlookup.checks import Count, Positive, Rate, Size, checked, require
from softlookup.layers import Activation
from softlookup.models.blocks import Norm
from softlookup.models.configuration import ModelConfig

GPT2_SIZES = {"small": (768, 12), "medium": (1024, 24), "large": (1280, 36), "xl": (1600, 48)}
"""Width and number of blocks; a head is 64 columns wide in all of them."""


@checked
@dataclass(frozen=True)
class GPTConfig(ModelConfig):
    """Every choice that makes a ``GPT``; left alone, those of GPT-2 but for dropout and GELU.

    Attributes:
        vocab_size: How many tokens there are.
        context: The longest text, in tokens.
        d_model: The width of a row.
        n_heads: How many heads; it must divide ``d_model``.
        n_layers: How many blocks.
        d_ff: The width inside a feed-forward layer; four times ``d_model`` if left out.
        n_kv_heads: How many heads of keys and values; as many as queries if left out.
        positions: "learned" adds a trained row for each place, "rotary" turns queries and keys,
            "none" leaves the order to the causal mask.
        window: How many of the last tokens a token reads, itself included; None for all.
        n_sinks: How many of the first tokens are read past the window too.
        norm_first: True for pre-norm with a norm behind the last block, False for post-norm.
        norm: "layer" or "rms".
        activation: As in ``FeedForward``.
        gated: Whether the feed-forward layers are gated.
        bias: Whether linear maps and LayerNorms have biases.
        qk_norm: Whether queries and keys are normalized.
        dropout: The rate, behind the embeddings and in the blocks.
        tie: Whether the scores are products with the embedding table itself.
        zero_writes: Whether the matrices that write to the stream start at 0; then each block
            begins as the identity.
        eps: That of the norms around the sub-layers.

    Raises:
        ValueError: A size is no integer of at least 1, ``d_model`` is not divisible by ``n_heads``
            or ``n_heads`` not by ``n_kv_heads``, a head's width is odd where positions are rotary,
            there are sinks without a window, a name is unknown, ``dropout`` is not in [0, 1),
            ``zero_writes`` no bool, or ``eps`` not positive and finite.

    Source: Radford et al. 2018, section 4.1; Radford et al. 2019, section 2.3; lecture 000,
    "GPT-1". Chapter: objectives#the-config.

    Example:
        >>> config = GPTConfig(50, context=64, d_model=128, n_heads=4, n_layers=4)
        >>> config.width_inside, config.kv_heads
        (512, 4)
    """

    vocab_size: Size
    context: Size
    d_model: Size
    n_heads: Size
    n_layers: Size
    d_ff: Size | None = None
    n_kv_heads: Size | None = None
    positions: Literal["learned", "rotary", "none"] = "learned"
    window: Size | None = None
    n_sinks: Count = 0
    norm_first: bool = True
    norm: Norm = "layer"
    activation: Activation = "gelu"
    gated: bool = False
    bias: bool = True
    qk_norm: bool = False
    dropout: Rate = 0.0
    tie: bool = True
    zero_writes: bool = False
    eps: Positive = 1e-5

    passed_on: ClassVar[tuple[str, ...]] = (
        *("norm_first", "norm", "activation", "gated", "bias"),
        *("n_kv_heads", "qk_norm", "dropout", "eps"),
    )

    def __post_init__(self) -> None:
        """Check what no annotation can say."""
        super().__post_init__()
        heads = {"n_heads": self.n_heads, "n_kv_heads": self.kv_heads}
        require(self.n_heads % self.kv_heads == 0, "n_kv_heads must divide n_heads", **heads)
        is_even = self.positions != "rotary" or self.d_model // self.n_heads % 2 == 0
        rule = "with rotary positions the width of a head must be even"
        require(is_even, rule, d_model=self.d_model, n_heads=self.n_heads)
        rule = "sinks need a window: without one, all tokens are read"
        require(self.window is not None or self.n_sinks == 0, rule, n_sinks=self.n_sinks)

    @classmethod
    def gpt1(cls) -> "GPTConfig":
        """The model of 2018.

        Returns:
            Width 768, 12 heads, 12 blocks, post-norm, for 40,478 tokens and 512 places.
        """
        return cls(40_478, 512, 768, 12, 12, norm_first=False, activation="gelu_tanh", dropout=0.1)

    @classmethod
    def gpt2(cls, size: Literal["small", "medium", "large", "xl"] = "small") -> "GPTConfig":
        """A model of 2019.

        Args:
            size: "small", "medium", "large" or "xl".

        Returns:
            Pre-norm, for 50,257 tokens and 1,024 places; heads of 64 columns.

        Raises:
            ValueError: ``size`` is unknown.
        """
        d_model, n_layers = GPT2_SIZES[size]
        sizes = (50_257, 1024, d_model, d_model // 64, n_layers)
        return cls(*sizes, activation="gelu_tanh", dropout=0.1)

    @classmethod
    def modern(
        cls, vocab_size: Size, context: Size, d_model: Size, n_heads: Size, n_layers: Size
    ) -> "GPTConfig":
        """The block of today.

        Args:
            vocab_size: How many tokens there are.
            context: The longest text, in tokens.
            d_model: The width of a row.
            n_heads: How many heads.
            n_layers: How many blocks.

        Returns:
            Rotary positions, RMSNorm, SwiGLU of about $\\frac{8}{3} d_{model}$, normalized queries
            and keys, and no biases.
        """
        sizes = (vocab_size, context, d_model, n_heads, n_layers, 8 * math.ceil(d_model / 3))
        kinds = {"positions": "rotary", "norm": "rms", "activation": "silu"}
        return cls(*sizes, **kinds, gated=True, bias=False, qk_norm=True)

    @classmethod
    def quick(
        cls, vocab_size: Size, context: Size, d_model: Size, n_heads: Size, n_layers: Size
    ) -> "GPTConfig":
        """The model of the book's recipe: the block of today, for a run of few steps.

        Args:
            vocab_size: As in ``modern``.
            context: As in ``modern``.
            d_model: As in ``modern``.
            n_heads: As in ``modern``.
            n_layers: As in ``modern``.

        Returns:
            As ``modern``, and in each block attention to the last four tokens alone, one head of
            keys and values, and tables apart to read a token and to score it.
        """
        today = cls.modern(vocab_size, context, d_model, n_heads, n_layers)
        return replace(today, window=4, n_kv_heads=1, tie=False)

    @property
    def kv_heads(self) -> int:
        """How many heads of keys and values there are."""
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads


@checked
def parameter_count(config: GPTConfig) -> int:
    """Count the parameters by formula, without building the model.

    Args:
        config: The choices.

    Returns:
        Exactly as many as ``GPT(config)`` has.

    Source: Radford et al. 2018, section 4.1; lecture 000, "GPT-1". Chapter: objectives#parameters.

    Example:
        >>> parameter_count(GPTConfig.gpt1()), parameter_count(GPTConfig.gpt2())
        (116534784, 124439808)
    """
    d_model, d_ff = config.d_model, config.width_inside
    d_head = d_model // config.n_heads
    d_kv = config.kv_heads * d_head
    attention = 2 * d_model * (d_model + d_kv) + 2 * (d_model + d_kv) * config.bias
    attention += 2 * d_head * config.qk_norm
    inner = 2 if config.gated else 1
    feed_forward = (inner + 1) * d_model * d_ff + (inner * d_ff + d_model) * config.bias
    norm = d_model * (2 if config.norm == "layer" and config.bias else 1)
    tables = config.vocab_size * (1 if config.tie else 2)
    tables += config.context * (config.positions == "learned")
    blocks = config.n_layers * (attention + feed_forward + 2 * norm)
    return tables * d_model + blocks + norm * config.norm_first
