"""Every choice that makes a BERT, and how many parameters follow from it."""

from dataclasses import dataclass

from softlookup.checks import Positive, Rate, Size, checked
from softlookup.layers import Activation
from softlookup.models.configuration import ModelConfig


@checked
@dataclass(frozen=True)
class BERTConfig(ModelConfig):
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

    Source: Devlin et al. 2019, section 3. Chapter: objectives#masked-language-modelling.

    Example:
        >>> config = BERTConfig(vocab_size=1000, context=64, d_model=128, n_heads=4, n_layers=2)
        >>> config.width_inside
        512
    """

    vocab_size: Size
    context: Size
    d_model: Size = 768
    n_heads: Size = 12
    n_layers: Size = 12
    d_ff: Size | None = None
    n_segments: Size = 2
    activation: Activation = "gelu"
    dropout: Rate = 0.0
    eps: Positive = 1e-12
    head: bool = True

    @classmethod
    def base(cls, vocab_size: Size = 30_522) -> "BERTConfig":
        """The paper's base model.

        Args:
            vocab_size: 30,522 for English without capitals.

        Returns:
            Width 768, 12 heads, 12 blocks, texts of up to 512 tokens, dropout 0.1.
        """
        return cls(vocab_size, 512, dropout=0.1)

    @classmethod
    def large(cls, vocab_size: Size = 30_522) -> "BERTConfig":
        """The paper's large model.

        Args:
            vocab_size: As in ``base``.

        Returns:
            Width 1,024, 16 heads, 24 blocks, texts of up to 512 tokens, dropout 0.1.
        """
        return cls(vocab_size, 512, d_model=1024, n_heads=16, n_layers=24, dropout=0.1)


@checked
def parameter_count(config: BERTConfig) -> int:
    """Count the parameters by formula, without building the model.

    Args:
        config: The choices.

    Returns:
        Exactly as many as ``BERT(config)`` has; the table that embeds tokens and scores them
        counts once.

    Source: Devlin et al. 2019, section 3, which says 110M and 340M.
    Chapter: objectives#masked-language-modelling.

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
