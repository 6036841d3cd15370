"""Numbers that an annotation can ask for: ``dropout: Rate``, ``d_model: Size``."""

import math
from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class Range:
    """Which numbers are allowed: of an argument, or of each entry of a tensor.

    Attributes:
        low: The smallest.
        high: The largest. Where it is infinite, any finite number above ``low`` is allowed.
        above: Whether ``low`` itself is left out.
        below: Whether ``high`` itself is left out.

    Chapter: notation#shapes.

    Example:
        >>> Range(0, 1, below=True).words
        'at least 0 and less than 1'
    """

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    below: bool = False

    @property
    def words(self) -> str:
        """The rule, to stand behind "must be"."""
        if self == Range(0, above=True):
            return "positive and finite"
        return " and ".join(filter(None, [self.span, "finite" if self.is_open else ""]))

    @property
    def is_open(self) -> bool:
        """Whether an end is infinite, so that it must be said that infinity is no number here."""
        return math.inf in (-self.low, self.high)

    @property
    def span(self) -> str:
        """Its two ends in words, as far as it has them."""
        has_low, has_high = self.low > -math.inf, self.high < math.inf
        if has_low and has_high and not (self.above or self.below):
            return f"from {self.low} to {self.high}"
        low = f"{'more than' if self.above else 'at least'} {self.low}" if has_low else ""
        high = f"{'less than' if self.below else 'at most'} {self.high}" if has_high else ""
        return " and ".join(filter(None, [low, high]))

    def allows(self, smallest: float, largest: float) -> bool:
        """Whether both ends of some numbers are in the range; NaN never is."""
        low_fits = smallest > self.low if self.above else smallest >= self.low
        high_fits = largest < self.high if self.below else largest <= self.high
        return low_fits and high_fits and -math.inf < smallest and largest < math.inf


@dataclass(frozen=True)
class Ids:
    """Whole numbers that number the rows of a table: from 0 to one less than its length.

    Attributes:
        length: How many rows the table has: the name of an axis ("vocab") or an attribute
            ("self.vocab_size").

    Chapter: notation#shapes.

    Example:
        >>> from jaxtyping import Int
        >>> from torch import Tensor
        >>> WordIds = Annotated[Int[Tensor, "batch n"], Ids("vocab")]
    """

    length: str


Size = Annotated[int, Range(1)]
"""How many there are, or how wide something is: an integer of at least 1."""

Count = Annotated[int, Range(0)]
"""An integer of at least 0."""

Positive = Annotated[float, Range(0, above=True)]
"""A finite number above 0."""

NotNegative = Annotated[float, Range(0)]
"""A finite number of at least 0."""

Rate = Annotated[float, Range(0, 1, below=True)]
"""A share that must leave something, such as dropout's: at least 0 and less than 1."""

Share = Annotated[float, Range(0, 1)]
"""A number from 0 to 1."""

Finite = Range()
"""Any finite number, of an argument or of each entry of a tensor."""
