"""A mixture of experts: many feed-forward layers, of which each token uses a few."""

from typing import Annotated, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from softlookup.checks import Ids, Size, checked, require
from softlookup.layers.feed_forward import Activation, FeedForward, GatedFeedForward
from softlookup.ops import softmax


class Routing(NamedTuple):
    """Where each token goes.

    Args:
        experts: The numbers of its experts, from 0, the one with the highest score first.
        weights: How much each of them counts; they sum to 1.

    Chapter: modern_attention#optional-mixture-of-experts.
    """

    experts: Int[Tensor, "*batch k"]
    weights: Float[Tensor, "*batch k"]


@checked
def route(scores: Float[Tensor, "*batch n_experts"], k: Size) -> Routing:
    """Choose the ``k`` experts with the highest scores, and share out their weights by softmax.

    Args:
        scores: One score per expert, for each token.
        k: How many experts a token uses.

    Returns:
        The experts and their weights: a softmax over the chosen scores alone, which is the softmax
        over all, cut to the chosen and divided by its sum.

    Raises:
        ValueError: ``scores`` is not floating-point, or ``k`` is no integer from 1 to the number of
            experts.

    Source: Shazeer et al. 2017, section 2.1; Jiang et al. 2024, section 2.1.
    Chapter: modern_attention#optional-mixture-of-experts.

    Example:
        >>> route(torch.tensor([[0.0, 5.0, 5.0]]), 2).weights
        tensor([[0.5000, 0.5000]])
    """
    rule = "k must be at most the number of experts"
    require(k <= scores.shape[-1], rule, k=k, scores=scores)
    chosen = scores.topk(k, dim=-1)
    return Routing(chosen.indices, softmax(chosen.values))


@checked
def expert_load(
    experts: Annotated[Int[Tensor, "*batch k"], Ids("n_experts")], n_experts: Size
) -> Float[Tensor, "n_experts"]:
    """Which share of all assignments each expert got.

    Args:
        experts: The numbers of the experts of each token, as in ``Routing``.
        n_experts: How many experts there are.

    Returns:
        Shares from 0 to 1 that sum to 1. A router in balance gives each ``1 / n_experts``.

    Raises:
        ValueError: ``n_experts`` is no integer of at least 1, ``experts`` is empty, or holds
            something else than integers from 0 to ``n_experts - 1``.

    Source: Fedus et al. 2022, equation 5. Chapter: modern_attention#optional-mixture-of-experts.

    Example:
        >>> expert_load(torch.tensor([[0, 2], [0, 1]]), 4)
        tensor([0.5000, 0.2500, 0.2500, 0.0000])
    """
    require(experts.numel() > 0, "experts must not be empty", experts=experts)
    return _visits(experts, n_experts) / experts.numel()


@checked
def balance_loss(scores: Float[Tensor, "*batch n_experts"], k: Size) -> Float[Tensor, ""]:
    r"""A price on favourites: $N \sum_e f_e P_e$, from the load and the mean probability.

    The load $f_e$ is a count and has no slope; what learns is $P_e$, the mean over the tokens of
    the softmax of the scores. The busier an expert, the more its probability costs.

    Args:
        scores: The router's scores, one per expert, for each token.
        k: How many experts a token uses.

    Returns:
        One number: 1 where all loads or all mean probabilities are equal; at most $N/k$, where the
        same ``k`` experts get all.

    Raises:
        ValueError: As for ``route``; or there is no token.

    Source: Fedus et al. 2022, equation 4. Chapter: modern_attention#optional-mixture-of-experts.

    Example:
        >>> balance_loss(torch.tensor([[50.0, 0.0], [50.0, 0.0]]), 1)
        tensor(2.)
    """
    experts = route(scores, k).experts
    n_experts = scores.shape[-1]
    require(experts.numel() > 0, "there must be at least one token", scores=scores)
    load = _visits(experts, n_experts).to(scores.dtype) / experts.numel()
    mean_probability = softmax(scores).reshape(-1, n_experts).mean(dim=0)
    return n_experts * load @ mean_probability


@checked
class MixtureOfExperts(nn.Module):
    r"""Many feed-forward layers and a router: $\sum_{e \in \text{top } k} g_e\, \mathrm{FFN}_e(x)$.

    A linear router scores all experts for each token; the token goes to the ``k`` best alone, and
    $g$ is the softmax of their scores. Parameters grow with the number of experts, the work for a
    token with ``k``. The probe ``scores`` is an identity that sees the router's scores.

    Args:
        d_model: The width of a row.
        d_ff: The width inside one expert.
        n_experts: $N$, how many experts there are.
        k: How many of them a token uses.
        activation: What bends inside an expert, as in ``FeedForward``.
        gated: Whether the experts are gated, as in ``GatedFeedForward``.
        bias: Whether the experts add biases; the router never does.

    Raises:
        ValueError: A number is no integer of at least 1, ``k`` is more than ``n_experts``, or
            ``activation`` is unknown.

    Source: Shazeer et al. 2017, section 2; Jiang et al. 2024, section 2.1.
    Chapter: modern_attention#optional-mixture-of-experts.

    Example:
        >>> layer = MixtureOfExperts(5, 7, n_experts=4, k=2)
        >>> layer(torch.zeros(3, 5)).shape, sum(p.numel() for p in layer.parameters())
        (torch.Size([3, 5]), 348)
    """

    def __init__(
        self,
        d_model: Size,
        d_ff: Size,
        *,
        n_experts: Size,
        k: Size,
        activation: Activation = "relu",
        gated: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__()
        require(k <= n_experts, "k must be at most n_experts", k=k, n_experts=n_experts)
        kind = GatedFeedForward if gated else FeedForward
        layers = [kind(d_model, d_ff, activation=activation, bias=bias) for _ in range(n_experts)]
        self.d_model, self.k = d_model, k
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(layers)
        self.scores = nn.Identity()  # probe: the router's scores

    def forward(
        self, x: Float[Tensor, "*batch {self.d_model}"]
    ) -> Float[Tensor, "*batch {self.d_model}"]:
        """Send each token through its experts, and add up what comes back.

        Args:
            x: One row per token.

        Returns:
            One row per token. What stands in one row has no influence on another.

        Raises:
            ValueError: The width or the dtype does not fit.
        """
        rows = x.reshape(-1, x.shape[-1])
        experts, weights = route(self.scores(self.router(rows)), self.k)
        out = torch.zeros_like(rows)
        for number, expert in enumerate(self.experts):
            token, place = (experts == number).nonzero(as_tuple=True)
            share = weights[token, place].unsqueeze(-1)
            out = out.index_add(0, token, share * expert(rows[token]))
        return out.reshape(x.shape)


def _visits(experts: Tensor, n_experts: int) -> Tensor:
    return torch.bincount(experts.flatten(), minlength=n_experts)
