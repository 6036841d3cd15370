"""Attention along the edges of a graph: each node reads its neighbours (Veličković et al. 2018)."""

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softlookup.attention.lookup import lookup_weights
from softlookup.checks import (
    require,
    require_choice,
    require_dtype,
    require_float,
    require_int,
    require_pair_mask,
    require_rows,
    require_same_dtype,
)
from softlookup.ops import without_idle, without_unread


def graph_mask(
    n: int, edges: Iterable[tuple[int, int]], *, self_loops: bool = True
) -> Bool[Tensor, "n n"]:
    """Each node reads its neighbours, and itself.

    Args:
        n: The number of nodes.
        edges: Pairs of nodes, counted from 0. An edge has no direction: each end reads the other.
        self_loops: Whether a node reads itself, too. Without that, a node that has no edge may read
            nothing.

    Returns:
        True at $(i, j)$ where $i$ and $j$ share an edge, and on the diagonal. It is symmetric.

    Raises:
        ValueError: ``n`` is no integer of at least 1, or an edge is no pair of integers from 0 to
            ``n - 1``.

    Source: Veličković et al. 2018, section 2.1; lecture 004, "Non-Transformer Examples" (Graph
    Attention). Chapter: soft_lookup#graphs.

    Example:
        >>> graph_mask(3, [(0, 1)]).int()
        tensor([[1, 1, 0],
                [1, 1, 0],
                [0, 0, 1]], dtype=torch.int32)
    """
    require_int(1, n=n)
    mask = torch.eye(n, dtype=torch.bool) & self_loops
    for edge in edges:
        require(len(edge) == 2, "an edge must be a pair of nodes", edge=edge)
        require_int(0, node=edge[0])
        require_int(0, node=edge[1])
        require(max(edge) < n, "a node must be less than n", edge=edge, n=n)
        mask[edge[0], edge[1]] = mask[edge[1], edge[0]] = True
    return mask


def graph_scores(
    query: Float[Tensor, "*batch n_q d"],
    key: Float[Tensor, "*batch n_k d"],
    a_query: Float[Tensor, "*#batch d"],
    a_key: Float[Tensor, "*#batch d"],
    *,
    slope: float = 0.2,
) -> Float[Tensor, "*batch n_q n_k"]:
    r"""How well two nodes fit: $s_{ij} = \mathrm{LeakyReLU}(a^\top [q_i \,\|\, k_j])$.

    The vector $a$ is split in two, so that each node is weighed once, not once for each pair. Both
    parts only add, and LeakyReLU rises: so *every* query ranks the keys in the same order.

    Args:
        query: One row per query: in graph attention the projected features $W h_i$.
        key: One row per key, $W h_j$.
        a_query: The first half of $a$, for the query; leading axes broadcast, so that each head can
            have its own.
        a_key: The second half, for the key.
        slope: The factor of LeakyReLU on numbers below 0.

    Returns:
        One score per pair, any real numbers.

    Raises:
        ValueError: The shapes or the dtypes do not fit.

    Source: Veličković et al. 2018, section 2.1, eq. 3; for the same order: Brody et al. 2022.
    Chapter: soft_lookup#graphs.

    Example:
        >>> key, one = torch.tensor([[3.0], [-10.0]]), torch.ones(1)
        >>> graph_scores(torch.zeros(1, 1), key, one, one)
        tensor([[ 3., -2.]])
    """
    _check_scores(query, key, a_query, a_key)
    of_query = (query * a_query.unsqueeze(-2)).sum(dim=-1, keepdim=True)
    of_key = (key * a_key.unsqueeze(-2)).sum(dim=-1, keepdim=True)
    return F.leaky_relu(of_query + of_key.mT, slope)


class GraphAttention(nn.Module):
    r"""Each node becomes a weighted mean of its neighbours, with one set of weights per head.

    In each head $z_i = \sum_j a_{ij} W h_j$ with
    $a_{i} = \mathrm{softmax}_j\,\mathrm{LeakyReLU}(a^\top[Wh_i \,\|\, Wh_j])$ over the nodes that
    the mask allows. The heads are put side by side, or averaged, as the paper does in the last
    layer. The activation that follows is left to the caller. The probe ``weights`` is an identity
    that a forward hook can read: it sees the weights, one matrix per head.

    Args:
        d_in: The width of a node's features.
        d_out: The width of one head's output.
        n_heads: The number of heads.
        combine: "concat" puts the heads side by side, "mean" averages them.
        slope: The factor of LeakyReLU on numbers below 0.

    Raises:
        ValueError: A width or ``n_heads`` is no integer of at least 1, or ``combine`` is unknown.

    Source: Veličković et al. 2018, section 2.1; lecture 004, "Non-Transformer Examples" (Graph
    Attention). Chapter: soft_lookup#graphs.

    Example:
        >>> layer = GraphAttention(5, 3, n_heads=2)
        >>> layer(torch.zeros(7, 5), graph_mask(7, [(0, 1), (1, 2)])).shape
        torch.Size([7, 6])
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        n_heads: int = 1,
        *,
        combine: str = "concat",
        slope: float = 0.2,
    ) -> None:
        super().__init__()
        require_int(1, d_in=d_in, d_out=d_out, n_heads=n_heads)
        require_choice(("concat", "mean"), combine=combine)
        self.n_heads, self.combine, self.slope = n_heads, combine, slope
        self.W = nn.Linear(d_in, n_heads * d_out, bias=False)
        self.a_query = nn.Parameter(torch.empty(n_heads, d_out).uniform_(-1, 1) / d_out**0.5)
        self.a_key = nn.Parameter(torch.empty(n_heads, d_out).uniform_(-1, 1) / d_out**0.5)
        self.weights = nn.Identity()  # probe: hook it to see A of all heads

    def forward(
        self, x: Float[Tensor, "*batch n d_in"], mask: Bool[Tensor, "*#batch #n n"] | None = None
    ) -> Float[Tensor, "*batch n d_combined"]:
        """Each node reads the nodes that the mask allows.

        Args:
            x: The features, one row per node.
            mask: True where a node may read another, as from ``graph_mask``. None allows all.

        Returns:
            One row per node, ``n_heads * d_out`` or ``d_out`` wide; zeros if it may read nothing.

        Raises:
            ValueError: ``x`` does not fit the layer, or ``mask`` is not boolean or does not fit.
        """
        self._check_input(x, mask)
        reads, is_read = without_idle(x, mask), without_unread(x, mask)
        if mask is not None:
            mask = mask.unsqueeze(-3)  # the same for all heads
        query, key = self._heads(reads), self._heads(is_read)
        scores = graph_scores(query, key, self.a_query, self.a_key, slope=self.slope)
        out = self.weights(lookup_weights(scores, mask)) @ key
        return out.mean(dim=-3) if self.combine == "mean" else out.transpose(-3, -2).flatten(-2)

    def _heads(self, x: Tensor) -> Tensor:
        """The features as each head projects them: (..., heads, n, d_out)."""
        return self.W(x).unflatten(-1, (self.n_heads, -1)).transpose(-3, -2)

    def _check_input(self, x: Tensor, mask: Tensor | None) -> None:
        require_rows(self.W.in_features, x=x)
        require_dtype(self.W.weight.dtype, x=x)
        if mask is not None:
            require_pair_mask(mask, (*x.shape[:-1], x.shape[-2]))


def _check_scores(query: Tensor, key: Tensor, a_query: Tensor, a_key: Tensor) -> None:
    given = {"query": query, "key": key, "a_query": a_query, "a_key": a_key}
    require_float(**given)
    require_same_dtype(**given)
    same_axes = query.ndim >= 2 and key.ndim >= 2 and query.shape[:-2] == key.shape[:-2]
    rule = "query and key must be matrices with the same leading axes"
    require(same_axes, rule, query=query, key=key)
    for name, vector in (("a_query", a_query), ("a_key", a_key)):
        batch = (*query.shape[:-2], query.shape[-1])
        pairs = zip(reversed(vector.shape), reversed(batch), strict=False)
        fits = vector.ndim >= 1 and vector.ndim <= len(batch)
        fits = fits and all(size in (1, wanted) for size, wanted in pairs)
        same_width = query.shape[-1] == key.shape[-1] == vector.shape[-1:].numel()
        rule = f"query, key and {name} must have the same last dimension d and fitting axes"
        require(fits and same_width, rule, query=query, key=key, **{name: vector})
