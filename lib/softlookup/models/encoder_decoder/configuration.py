"""Every choice that makes a Transformer, and how many parameters follow from it."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple

from softlookup.checks import Positive, Rate, Size, checked, require
from softlookup.layers import Activation
from softlookup.models.blocks import Norm
from softlookup.models.configuration import ModelConfig


@checked
@dataclass(frozen=True)
class TransformerConfig(ModelConfig):
    """Every choice that makes a ``Transformer``; left alone, those of the paper's base model.

    Attributes:
        vocab_size: How many tokens the source has.
        target_vocab_size: How many the target has; as many if left out.
        d_model: The width of a row, even.
        n_heads: How many heads; it must divide ``d_model``.
        n_encoder_layers: How many blocks read the source.
        n_decoder_layers: How many blocks write the target.
        d_ff: The width inside a feed-forward layer.
        dropout: The rate, behind the embeddings and in the blocks.
        tie: Which tables are one matrix: "all" (source, target and output, which needs one
            vocabulary), "output" (target and output), or "none".
        norm_first: True for pre-norm, False for post-norm.
        norm: "layer" or "rms".
        final_norm: Whether a norm stands behind each stack. Left out: only in pre-norm, whose
            stream nobody has normalized.
        activation: As in ``FeedForward``.
        gated: Whether the feed-forward layers are gated.
        bias: Whether feed-forward layers and LayerNorms have biases.
        attention_bias: Whether the projections of attention have some.
        eps: That of the norms.

    Raises:
        ValueError: A size is no integer of at least 1, ``d_model`` is odd or not divisible by
            ``n_heads``, a name is unknown, ``dropout`` is not in [0, 1), ``eps`` not positive and
            finite, or ``tie`` is "all" with two sizes of vocabularies.

    Source: Vaswani et al. 2017, table 3; lecture 004, "Vocabulary Size".
    Chapter: transformer#the-config.

    Example:
        >>> config = TransformerConfig(37_000, d_model=256, n_heads=4)
        >>> config.d_model // config.n_heads, config.vocab_sizes
        (64, (37000, 37000))
    """

    vocab_size: Size
    target_vocab_size: Size | None = None
    d_model: Size = 512
    n_heads: Size = 8
    n_encoder_layers: Size = 6
    n_decoder_layers: Size = 6
    d_ff: Size = 2048
    dropout: Rate = 0.1
    tie: Literal["all", "output", "none"] = "all"
    norm_first: bool = False
    norm: Norm = "layer"
    final_norm: bool | None = None
    activation: Activation = "relu"
    gated: bool = False
    bias: bool = True
    attention_bias: bool = False
    eps: Positive = 1e-5

    passed_on: ClassVar[tuple[str, ...]] = (
        *("norm_first", "norm", "activation", "gated"),
        *("bias", "attention_bias", "dropout", "eps"),
    )

    def __post_init__(self) -> None:
        """Check what no annotation can say."""
        super().__post_init__()
        rule = "d_model must be even: the positions need pairs of sine and cosine"
        require(self.d_model % 2 == 0, rule, d_model=self.d_model)
        source, target = self.vocab_sizes
        rule = 'tie="all" needs one vocabulary for source and target'
        fits = self.tie != "all" or source == target
        require(fits, rule, vocab_size=source, target_vocab_size=target)

    @classmethod
    def base(cls, vocab_size: Size) -> "TransformerConfig":
        """The paper's base model.

        Args:
            vocab_size: 37,000 for English and German together.

        Returns:
            Width 512, 8 heads, 6 + 6 blocks, 2,048 inside; one matrix for all embeddings.
        """
        return cls(vocab_size)

    @classmethod
    def big(cls, vocab_size: Size) -> "TransformerConfig":
        """The paper's big model.

        Args:
            vocab_size: 37,000 for English and German together.

        Returns:
            Width 1,024, 16 heads, 6 + 6 blocks, 4,096 inside, and dropout 0.3.
        """
        return replace(cls(vocab_size), d_model=1024, n_heads=16, d_ff=4096, dropout=0.3)

    @property
    def vocab_sizes(self) -> tuple[int, int]:
        """How many tokens the source has, and how many the target."""
        target = self.target_vocab_size
        return self.vocab_size, self.vocab_size if target is None else target

    @property
    def ends_with_norm(self) -> bool:
        """Whether a norm stands behind each stack."""
        return self.norm_first if self.final_norm is None else self.final_norm


class ParameterCounts(NamedTuple):
    """How many parameters a ``Transformer`` has, and where.

    Attributes:
        embeddings: In the tables of source, target and output; a shared one counts once.
        encoder: In the blocks that read, with their final norm.
        decoder: In the blocks that write, with theirs.

    Chapter: transformer#parameters

    Example:
        >>> ParameterCounts(30, 4, 5).total, ParameterCounts(30, 4, 5).core
        (39, 9)
    """

    embeddings: int
    encoder: int
    decoder: int

    @property
    def core(self) -> int:
        """Without the embeddings: what does not depend on the vocabulary."""
        return self.encoder + self.decoder

    @property
    def total(self) -> int:
        """All of them."""
        return self.embeddings + self.core


@checked
def parameter_counts(config: TransformerConfig) -> ParameterCounts:
    """Count the parameters by formula, without building the model.

    Args:
        config: The choices.

    Returns:
        Exactly as many as ``Transformer(config)`` has.

    Source: lecture 004, "Vocabulary Size" (table). Chapter: transformer#parameters.

    Example:
        >>> counts = parameter_counts(TransformerConfig.base(37_000))
        >>> counts
        ParameterCounts(embeddings=18944000, encoder=18902016, decoder=25199616)
        >>> counts.core, counts.total
        (44101632, 63045632)
    """
    d_model, d_ff = config.d_model, config.d_ff
    attention = 4 * d_model**2 + 4 * d_model * config.attention_bias
    inner = 2 if config.gated else 1
    feed_forward = (inner + 1) * d_model * d_ff + (inner * d_ff + d_model) * config.bias
    norm = d_model * (2 if config.norm == "layer" and config.bias else 1)
    last = norm * config.ends_with_norm
    source, target = config.vocab_sizes
    tables = {"all": source, "output": source + target, "none": source + 2 * target}
    return ParameterCounts(
        embeddings=tables[config.tie] * d_model,
        encoder=config.n_encoder_layers * (attention + feed_forward + 2 * norm) + last,
        decoder=config.n_decoder_layers * (2 * attention + feed_forward + 3 * norm) + last,
    )
