"""Many attention heads side by side, and the matrix that mixes what they read."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from softlookup.attention.dot_product import attention_scores
from softlookup.attention.lookup import SoftLookup
from softlookup.checks import Rate, Size, checked, require
from softlookup.ops import without_idle, without_unread


@checked
def split_heads(
    rows: Float[Tensor, "*batch n width"], n_heads: Size
) -> Float[Tensor, "*batch heads n d"]:
    """Cut each row into ``n_heads`` pieces of equal width, and give every head its own matrix.

    Args:
        rows: One row per token: head 0's numbers first, then head 1's, and so on.
        n_heads: How many pieces; it must divide the width.

    Returns:
        One matrix per head, a view of the same memory: entry $c$ of head $h$ is entry $hd + c$ of
        the row.

    Raises:
        ValueError: ``rows`` is no matrix, or ``n_heads`` no integer of at least 1 that divides its
            width.

    Source: Vaswani et al. 2017, section 3.2.2; lecture 000, "MHA Illustration".
    Chapter: many_heads#split-and-join.

    Example:
        >>> import torch
        >>> split_heads(torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]), 2).tolist()
        [[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]]
    """
    rule = "n_heads must divide the width of a row"
    require(rows.shape[-1] % n_heads == 0, rule, rows=rows, n_heads=n_heads)
    return rows.unflatten(-1, (n_heads, rows.shape[-1] // n_heads)).transpose(-2, -3)


@checked
def join_heads(heads: Float[Tensor, "*batch heads n d"]) -> Float[Tensor, "*batch n width"]:
    r"""Put the heads' rows side by side again: $\mathrm{Concat}(\text{head}_0, ...)$.

    Args:
        heads: One matrix per head.

    Returns:
        One row per token: head 0's numbers first. It undoes ``split_heads``.

    Raises:
        ValueError: There is no axis of heads.

    Source: Vaswani et al. 2017, section 3.2.2; lecture 000, "MHA Illustration".
    Chapter: many_heads#split-and-join.

    Example:
        >>> import torch
        >>> join_heads(torch.tensor([[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]])).tolist()
        [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]
    """
    return heads.transpose(-2, -3).flatten(-2)


@checked
class MultiHeadAttention(SoftLookup):
    r"""Heads that each look up in their own way: $\mathrm{Concat}(\text{head}_0, ...)\,W^O$.

    Head $h$ is one attention among its own projections,
    $\text{head}_h = \mathrm{softmax}(Q_h K_h^\top/\sqrt{d_k})\,V_h$ with $Q_h = XW^Q_h$,
    $K_h = CW^K_h$, $V_h = CW^V_h$. The matrices of all heads stand side by side in one ``W_Q``,
    ``W_K``, ``W_V``.

    Two probes are identities that a forward hook can read: ``weights`` sees $A$ of all heads
    before dropout; ``heads`` sees each head's output before they are joined.

    Args:
        d_model: The width of a row of ``x``, and of the output.
        n_heads: How many heads.
        d_k: The width of one head's queries and keys; ``d_model // n_heads`` if left out.
        d_v: The width of one head's values; the same if left out.
        d_context: The width of a row of ``context``; ``d_model`` if left out.
        dropout: In training, the share of the weights that is set to 0; the others grow by
            $1/(1 - \text{dropout})$.
        bias: Whether the four projections add a bias.

    Raises:
        ValueError: A size is no integer of at least 1, ``dropout`` is not in [0, 1), or ``n_heads``
            does not divide ``d_model`` where a width is left out.

    Source: Vaswani et al. 2017, section 3.2.2; lectures 000, "Multi Head Attention", 001, "Actual
    Attention: slightly more complicated", and 003, "Multihead Attention Mathematical Formulation".
    Chapter: many_heads#the-library.

    Example:
        >>> import torch
        >>> layer = MultiHeadAttention(d_model=64, n_heads=8)
        >>> layer(torch.zeros(7, 64)).shape, sum(p.numel() for p in layer.parameters())
        (torch.Size([7, 64]), 16640)
    """

    def __init__(
        self,
        d_model: Size,
        n_heads: Size,
        *,
        d_k: Size | None = None,
        d_v: Size | None = None,
        d_context: Size | None = None,
        dropout: Rate = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__(dropout)
        divides = d_model % n_heads == 0 or None not in (d_k, d_v)
        rule = "n_heads must divide d_model, unless d_k and d_v are given"
        require(divides, rule, d_model=d_model, n_heads=n_heads, d_k=d_k, d_v=d_v)
        d_k, d_v = (d_model // n_heads if width is None else width for width in (d_k, d_v))
        d_context = d_model if d_context is None else d_context
        self.d_model, self.d_context, self.n_heads = d_model, d_context, n_heads
        self.W_Q = nn.Linear(d_model, n_heads * d_k, bias=bias)
        self.W_K = self._of_context(d_k, bias=bias)
        self.W_V = self._of_context(d_v, bias=bias)
        self.W_O = nn.Linear(n_heads * d_v, d_model, bias=bias)
        self.heads = nn.Identity()  # probe: what each head read

    def _of_context(self, width: int, *, bias: bool) -> nn.Linear:
        """A projection of what is read; every head has its own."""
        return nn.Linear(self.d_context, self.n_heads * width, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "*batch n_q {self.d_model}"],
        context: Float[Tensor, "*batch n_k {self.d_context}"] | None = None,
        mask: Bool[Tensor, "*#batch #n_q n_k"] | None = None,
    ) -> Float[Tensor, "*batch n_q {self.d_model}"]:
        r"""Each row of ``x`` reads from ``context`` in ``n_heads`` ways; ``W_O`` mixes the results.

        A row of the context that no query may read has no influence at all, whatever it holds; one
        that *some* query may read must be finite.

        Args:
            x: One row per token that reads.
            context: One row per token that is read; ``x`` itself if left out.
            mask: True where a token of ``x`` may read a token of the context, in every head. None
                allows all.

        Returns:
            One row per token of ``x``. A token that may read nothing gets zeros from every head,
            so that its row is the bias of ``W_O`` alone.

        Raises:
            ValueError: The shapes or the dtypes do not fit, or ``mask`` is not boolean.
        """
        context = x if context is None else context
        x, context = without_idle(x, mask), without_unread(context, mask)
        query = split_heads(self.W_Q(x), self.n_heads)
        key = split_heads(self.W_K(context), self.n_heads)
        value = split_heads(self.W_V(context), self.n_heads)
        if mask is not None:
            mask = mask.unsqueeze(-3)  # the same for all heads
        read = self.mix(attention_scores(query, key), value, mask)
        return self.W_O(join_heads(self.heads(read)))
