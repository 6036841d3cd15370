"""Every choice that makes a BERT, and how many parameters follow from it."""

import math
from dataclasses import dataclass

from softlookup.checks import require, require_choice, require_int
from softlookup.layers import ACTIVATIONS


@dataclass(frozen=True)
class BERTConfig:
    """Every choice that makes a ``BERT``.

    Attributes:
        vocab_size: How many tokens there are, the mask token among them.
        context: The longest text it takes, for each place has a row of its own.
        d_model: The width of a row.
        n_heads: How many heads; it must divide ``d_model``.
        n_layers: How many blocks.
        d_ff: The width inside a feed-forward layer; left out, ``4 * d_model``.
        n_segments: How many parts a text can have, such as a question and an answer.
        activation: As in ``FeedForward``, in the blocks and in the head.
        dropout: The rate, behind the embeddings and in the blocks.
        eps: That of the norms.
        head: Whether there is the head that scores the masked tokens.

    Raises:
        ValueError: A size is no integer of at least 1, ``n_heads`` does not divide ``d_model``,
            ``activation`` is unknown, ``dropout`` is not in [0, 1), or ``eps`` not positive and
            finite.

    Source: Devlin et al. 2019, section 3. Chapter: training#a-bert.

    Example:
        >>> config = BERTConfig(vocab_size=1000, context=64, d_model=128, n_heads=4, n_layers=2)
        >>> config.width_inside
        512
    """

    vocab_size: int
    context: int
    d_model: int = 768
    n_heads: int = 12
    n_layers: int = 12
    d_ff: int | None = None
    n_segments: int = 2
    activation: str = "gelu"
    dropout: float = 0.0
    eps: float = 1e-12
    head: bool = True

    def __post_init__(self) -> None:
        """Check everything once."""
        names = ("vocab_size", "context", "d_model", "n_heads", "n_layers", "n_segments")
        require_int(1, **{name: getattr(self, name) for name in names}, d_ff=self.width_inside)
        divides = self.d_model % self.n_heads == 0
        require(divides, "n_heads must divide d_model", d_model=self.d_model, n_heads=self.n_heads)
        require_choice(tuple(ACTIVATIONS), activation=self.activation)
        rule = "dropout must be at least 0 and less than 1"
        require(0 <= self.dropout < 1, rule, dropout=self.dropout)
        require(0 < self.eps < math.inf, "eps must be positive and finite", eps=self.eps)

    @classmethod
    def base(cls, vocab_size: int = 30_522) -> "BERTConfig":
        """The paper's base model.

        Args:
            vocab_size: 30,522 for English without capitals.

        Returns:
            Width 768, 12 heads, 12 blocks, texts of up to 512 tokens, dropout 0.1.
        """
        return cls(vocab_size, 512, dropout=0.1)

    @classmethod
    def large(cls, vocab_size: int = 30_522) -> "BERTConfig":
        """The paper's large model.

        Args:
            vocab_size: As in ``base``.

        Returns:
            Width 1,024, 16 heads, 24 blocks, texts of up to 512 tokens, dropout 0.1.
        """
        return cls(vocab_size, 512, d_model=1024, n_heads=16, n_layers=24, dropout=0.1)

    @property
    def width_inside(self) -> int:
        """The width inside a feed-forward layer."""
        return 4 * self.d_model if self.d_ff is None else self.d_ff


def parameter_count(config: BERTConfig) -> int:
    """Count the parameters by formula, without building the model.

    Args:
        config: The choices.

    Returns:
        Exactly as many as ``BERT(config)`` has; the table that embeds tokens and scores them
        counts once.

    Source: Devlin et al. 2019, section 3, which says 110M and 340M. Chapter: training#a-bert.

    Example:
        >>> parameter_count(BERTConfig.base()), parameter_count(BERTConfig.large())
        (109514298, 335174458)
    """
    d_model, d_ff = config.d_model, config.width_inside
    norm = 2 * d_model
    embeddings = (config.vocab_size + config.context + config.n_segments) * d_model + norm
    attention = 4 * (d_model**2 + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    head = d_model**2 + d_model + norm + config.vocab_size if config.head else 0
    return embeddings + config.n_layers * (attention + feed_forward + 2 * norm) + head
