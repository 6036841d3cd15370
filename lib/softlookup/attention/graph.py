"""Attention along the edges of a graph: each node reads its neighbours (Veličković et al. 2018)."""

from collections.abc import Iterable
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softlookup.attention.lookup import SoftLookup
from softlookup.checks import Finite, Size, checked, require
from softlookup.ops import without_idle, without_unread


@checked
def graph_mask(
    n: Size, edges: Iterable[tuple[int, int]], *, self_loops: bool = True
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
    Attention). Chapter: soft_lookup#optional-graphs.

    Example:
        >>> graph_mask(3, [(0, 1)]).int()
        tensor([[1, 1, 0],
                [1, 1, 0],
                [0, 0, 1]], dtype=torch.int32)
    """
    mask = torch.eye(n, dtype=torch.bool) & self_loops
    for edge in edges:
        is_pair = isinstance(edge, tuple | list) and len(edge) == 2
        fits = is_pair and all(type(node) is int and 0 <= node < n for node in edge)
        require(fits, "edges must be pairs of nodes, integers from 0 to n - 1", edge=edge, n=n)
        mask[edge[0], edge[1]] = mask[edge[1], edge[0]] = True
    return mask


@checked
def graph_scores(
    query: Float[Tensor, "*batch n_q d"],
    key: Float[Tensor, "*batch n_k d"],
    a_query: Float[Tensor, "*#batch d"],
    a_key: Float[Tensor, "*#batch d"],
    *,
    slope: Annotated[float, Finite] = 0.2,
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
    Chapter: soft_lookup#optional-graphs.

    Example:
        >>> key, one = torch.tensor([[3.0], [-10.0]]), torch.ones(1)
        >>> graph_scores(torch.zeros(1, 1), key, one, one)
        tensor([[ 3., -2.]])
    """
    of_query = (query * a_query.unsqueeze(-2)).sum(dim=-1, keepdim=True)
    of_key = (key * a_key.unsqueeze(-2)).sum(dim=-1, keepdim=True)
    return F.leaky_relu(of_query + of_key.mT, slope)


@checked
class GraphAttention(SoftLookup):
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
    Attention). Chapter: soft_lookup#optional-graphs.

    Example:
        >>> layer = GraphAttention(5, 3, n_heads=2)
        >>> layer(torch.zeros(7, 5), graph_mask(7, [(0, 1), (1, 2)])).shape
        torch.Size([7, 6])
    """

    def __init__(
        self,
        d_in: Size,
        d_out: Size,
        n_heads: Size = 1,
        *,
        combine: Literal["concat", "mean"] = "concat",
        slope: Annotated[float, Finite] = 0.2,
    ) -> None:
        super().__init__()
        self.d_in, self.n_heads, self.combine, self.slope = d_in, n_heads, combine, slope
        self.W = nn.Linear(d_in, n_heads * d_out, bias=False)
        self.a_query = nn.Parameter(torch.empty(n_heads, d_out).uniform_(-1, 1) / d_out**0.5)
        self.a_key = nn.Parameter(torch.empty(n_heads, d_out).uniform_(-1, 1) / d_out**0.5)

    def forward(
        self,
        x: Float[Tensor, "*batch n {self.d_in}"],
        mask: Bool[Tensor, "*#batch #n n"] | None = None,
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
        reads, is_read = without_idle(x, mask), without_unread(x, mask)
        if mask is not None:
            mask = mask.unsqueeze(-3)  # the same for all heads
        query, key = self._heads(reads), self._heads(is_read)
        scores = graph_scores(query, key, self.a_query, self.a_key, slope=self.slope)
        out = self.mix(scores, key, mask)
        return out.mean(dim=-3) if self.combine == "mean" else out.transpose(-3, -2).flatten(-2)

    def _heads(self, x: Tensor) -> Tensor:
        """The features as each head projects them: (..., heads, n, d_out)."""
        return self.W(x).unflatten(-1, (self.n_heads, -1)).transpose(-3, -2)
