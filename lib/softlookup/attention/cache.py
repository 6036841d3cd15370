"""What a model keeps of the tokens it has read, so that the next one costs a single step."""

from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from softlookup.checks import Count, Ids, Range, Size, checked, require, require_same_dtype


@checked
def readable(
    queries: Int[Tensor, "*batch n_q"],
    keys: Int[Tensor, "*batch n_k"],
    *,
    window: Size | None = None,
    n_sinks: Count = 0,
) -> Bool[Tensor, "*batch n_q n_k"]:
    """Which key each query may read, from their positions alone, in whatever order they stand.

    Args:
        queries: The position of each query in its text; -1 for filler.
        keys: The position of each key; -1 for filler.
        window: How many of the last keys a query reads, itself included; None for all.
        n_sinks: How many of a text's first keys are read past the window too.

    Returns:
        True where $0 \\le j \\le i$ and, with a window $w$, $j > i - w$ or $j <$ ``n_sinks``. A
        query at -1 reads nothing.

    Raises:
        ValueError: ``window`` is no integer of at least 1, ``n_sinks`` none of at least 0, or there
            are sinks without a window.

    Source: Beltagy et al. 2020, section 3.1; sinks: Xiao et al. 2024, section 3.
    Chapter: modern_attention#sinks.

    Example:
        >>> places = torch.arange(4)
        >>> readable(places, places, window=2, n_sinks=1).int()
        tensor([[1, 0, 0, 0],
                [1, 1, 0, 0],
                [1, 1, 1, 0],
                [1, 0, 1, 1]], dtype=torch.int32)
    """
    _check_window(window, n_sinks)
    i, j = queries.unsqueeze(-1), keys.unsqueeze(-2)
    seen = (j >= 0) & (j <= i)
    return seen if window is None else seen & ((j > i - window) | (j < n_sinks))


@checked
class LayerCache:
    """One layer's part of a ``KeyValueCache``: a key and a value of each head for each slot.

    Attributes:
        key: The keys, before they are turned by their positions; None as long as there are none.
        value: The values; None as long as there are none.

    Source: Shazeer 2019, section 2.4. Chapter: training#the-cache.

    Example:
        >>> layer = LayerCache()
        >>> layer.extend(torch.zeros(2, 3, 5, 4), torch.zeros(2, 3, 5, 7))[1].shape, layer.n_slots
        (torch.Size([2, 3, 5, 7]), 5)
    """

    def __init__(self) -> None:
        self.key: Tensor | None = None
        self.value: Tensor | None = None

    @property
    def n_slots(self) -> int:
        """How many tokens it holds."""
        return 0 if self.key is None else self.key.shape[-2]

    def extend(
        self,
        key: Float[Tensor, "*batch kv_heads n d_k"],
        value: Float[Tensor, "*batch kv_heads n d_v"],
    ) -> tuple[
        Float[Tensor, "*batch kv_heads n_slots d_k"], Float[Tensor, "*batch kv_heads n_slots d_v"]
    ]:
        """Put new tokens behind the others.

        Args:
            key: Their keys.
            value: Their values.

        Returns:
            All keys and all values, the new ones last.

        Raises:
            ValueError: They are not of as many texts, heads and columns, or not of the dtype, of
                those that are kept.
        """
        if self.key is not None:
            for name, old, new in (("key", self.key, key), ("value", self.value, value)):
                fits = old.shape[:-2] == new.shape[:-2] and old.shape[-1] == new.shape[-1]
                rule = f"a new {name} must have the shape of those in the cache, but for the slots"
                require(fits, rule, new=new, kept=old)
                require_same_dtype(kept=old, new=new)
            if not key.shape[-2]:
                return self.key, self.value  # nothing new, nothing to copy
            key, value = torch.cat((self.key, key), -2), torch.cat((self.value, value), -2)
        self.key, self.value = key, value
        return key, value


@checked
class KeyValueCache:
    """Keys and values of all layers for the tokens that a batch of texts has read so far.

    A slot is a token of every text at once: slot 7 may be token 7 of one text, token 2 of another
    and filler in a third. Where a text's token stands is written in ``positions``, and a query may
    read a slot as ``readable`` says. Slots that no query will ever read again are dropped.

    Args:
        n_layers: How many layers keep something.
        window: How many of the last tokens a query reads, itself included; None for all.
        n_sinks: How many of a text's first tokens are kept past the window.
        device: Where an empty cache begins a text; what is put in stays where it is.

    Attributes:
        layers: One ``LayerCache`` for each layer.
        positions: The place of each slot's token in its text, (batch, n_slots); -1 is filler.
        lengths: How many tokens each text has read, dropped ones included (until ``renumber``).

    Raises:
        ValueError: ``n_layers`` or ``window`` is no integer of at least 1, ``n_sinks`` none of at
            least 0, or there are sinks without a window.

    Source: Shazeer 2019, section 2.4; sinks: Xiao et al. 2024, section 3.
    Chapter: training#the-cache.

    Example:
        >>> cache = KeyValueCache(n_layers=6)
        >>> cache.begin(torch.tensor([3, 1]), n=3)
        tensor([[ 0,  1,  2],
                [ 0, -1, -1]])
        >>> cache.begin(torch.tensor([1, 1]), n=1)
        tensor([[3],
                [1]])
        >>> cache.positions
        tensor([[ 0,  1,  2,  3],
                [ 0, -1, -1,  1]])
    """

    def __init__(
        self,
        n_layers: Size,
        *,
        window: Size | None = None,
        n_sinks: Count = 0,
        device: torch.device | str | None = None,
    ) -> None:
        _check_window(window, n_sinks)
        self.window, self.n_sinks = window, n_sinks
        self.layers = [LayerCache() for _ in range(n_layers)]
        self.positions = torch.zeros(0, 0, dtype=torch.int64, device=device)
        self.lengths = torch.zeros(0, dtype=torch.int64, device=device)

    @property
    def n_texts(self) -> int:
        """How many texts it holds; 0 before the first is read."""
        return len(self.positions)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.positions.device

    @property
    def n_slots(self) -> int:
        """How many tokens of each text it holds, filler included."""
        return self.positions.shape[-1]

    @property
    def n_bytes(self) -> int:
        """The memory of all keys and values."""
        return sum(layer.key.nbytes + layer.value.nbytes for layer in self._filled())

    def begin(
        self, lengths: Annotated[Int[Tensor, "batch"], Range(0)], n: Count
    ) -> Int[Tensor, "batch {n}"]:
        """Open ``n`` new slots; each layer then adds its keys and values to them.

        Args:
            lengths: How many of the new tokens of each text are real; they come first.
            n: How many slots.

        Returns:
            The positions of the new tokens, -1 at filler. They stand in ``positions`` from now on.

        Raises:
            ValueError: A length is negative, or the cache holds another number of texts.
        """
        if not self.n_texts:
            self.positions = lengths.new_zeros(len(lengths), 0)
            self.lengths = torch.zeros_like(lengths)
        rule = "there must be as many texts as the cache holds"
        require(len(lengths) == self.n_texts, rule, n_texts=len(lengths), held=self.n_texts)
        steps = torch.arange(n, device=lengths.device)
        new = self.lengths.unsqueeze(-1) + steps
        new = new.masked_fill(steps >= lengths.unsqueeze(-1), -1)
        self.positions = torch.cat((self.positions, new), dim=-1)
        self.lengths = self.lengths + lengths
        return new

    def forget(self) -> None:
        """Drop the slots that no text will ever read again: filler, and what left the window."""
        kept = self._read_next().any(dim=0)
        if not kept.all():
            self.positions = self.positions[:, kept]
            for layer in self._filled():
                layer.key, layer.value = layer.key[..., kept, :], layer.value[..., kept, :]

    def renumber(self) -> None:
        """Count what is kept from 0 on, without gaps: positions in the cache, not in the text.

        Right behind the sinks then comes the window, so that no distance is larger than the cache,
        however long the stream. Rotary positions follow, for keys are kept before they are turned.
        To be called after each token; tokens read in one piece keep their distances. Where nothing
        was dropped, nothing changes.

        Source: Xiao et al. 2024, section 3.2. Chapter: modern_attention#optional-and-in-a-real-one.

        Example:
            >>> cache = KeyValueCache(1, window=3, n_sinks=1)
            >>> cache.begin(torch.tensor([7]), n=7)
            tensor([[0, 1, 2, 3, 4, 5, 6]])
            >>> cache.forget(), cache.positions
            (None, tensor([[0, 5, 6]]))
            >>> cache.renumber(), cache.positions
            (None, tensor([[0, 1, 2]]))
        """
        kept = self._read_next()
        self.positions = (kept.cumsum(dim=-1) - 1).masked_fill(~kept, -1)
        self.lengths = kept.sum(dim=-1)

    def rows(self, index: Annotated[Int[Tensor, "chosen"], Ids("self.n_texts")]) -> "KeyValueCache":
        """Some of the texts, in any order, also the same one twice: what ``decoding`` calls.

        Args:
            index: The number of each text that is wanted.

        Returns:
            A new cache; this one stays as it is.

        Raises:
            ValueError: A number is none of a text.

        Chapter: training#the-cache.

        Example:
            >>> cache = KeyValueCache(1)
            >>> cache.begin(torch.tensor([1, 3]), n=3).tolist()
            [[0, -1, -1], [0, 1, 2]]
            >>> cache.rows(torch.tensor([1])).positions
            tensor([[0, 1, 2]])
        """
        other = self.copy()
        other.positions, other.lengths = self.positions[index], self.lengths[index]
        for layer in other._filled():
            layer.key, layer.value = layer.key[index], layer.value[index]
        return other

    def copy(self) -> "KeyValueCache":
        """A cache that can go on in another way. The tensors are shared: none is ever changed.

        Returns:
            A new cache with the same content.
        """
        other = KeyValueCache(len(self.layers), window=self.window, n_sinks=self.n_sinks)
        other.positions, other.lengths = self.positions, self.lengths
        for layer, kept in zip(other.layers, self.layers, strict=True):
            layer.key, layer.value = kept.key, kept.value
        return other

    def _read_next(self) -> Bool[Tensor, "batch n_slots"]:
        """Which slots the next token of each text will read."""
        rule = {"window": self.window, "n_sinks": self.n_sinks}
        return readable(self.lengths.unsqueeze(-1), self.positions, **rule).squeeze(-2)

    def _filled(self) -> list[LayerCache]:
        return [layer for layer in self.layers if layer.key is not None]


def _check_window(window: int | None, n_sinks: int) -> None:
    rule = "sinks need a window: without one, all tokens are read"
    require(window is not None or n_sinks == 0, rule, n_sinks=n_sinks)
