"""What the configs of all models have in common."""

from typing import Any, ClassVar

from softlookup.checks import require


class ModelConfig:
    """What a stack of blocks of one width must fulfil, whatever the model around it.

    Each model's config is a frozen dataclass on top of it, which has these fields among others.

    Attributes:
        d_model: The width of a row.
        n_heads: How many heads; it must divide ``d_model``.
        d_ff: The width inside a feed-forward layer; four times ``d_model`` if left out.
        passed_on: The names of the fields that the blocks take by name.

    Raises:
        ValueError: ``n_heads`` does not divide ``d_model``.

    Source: Vaswani et al. 2017, section 3. Chapter: transformer#the-config.

    Example:
        >>> from softlookup.models import BERTConfig
        >>> config = BERTConfig(vocab_size=1000, context=64, d_model=128, n_heads=4)
        >>> isinstance(config, ModelConfig), config.width_inside, config.block_options
        (True, 512, {'activation': 'gelu', 'dropout': 0.0, 'eps': 1e-12})
    """

    d_model: int
    n_heads: int
    d_ff: int | None
    passed_on: ClassVar[tuple[str, ...]] = ("activation", "dropout", "eps")

    def __post_init__(self) -> None:
        """Check what no annotation can say."""
        sizes = {"d_model": self.d_model, "n_heads": self.n_heads}
        require(self.d_model % self.n_heads == 0, "n_heads must divide d_model", **sizes)

    @property
    def width_inside(self) -> int:
        """The width inside a feed-forward layer."""
        return 4 * self.d_model if self.d_ff is None else self.d_ff

    @property
    def block_options(self) -> dict[str, Any]:
        """What the blocks take by name."""
        return {name: getattr(self, name) for name in self.passed_on}
