"""The maps of several layers, and which tokens a row may come from (Abnar and Zuidema 2020)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softlookup.analysis.probes import capture
from softlookup.checks import Share, checked, require


@checked
def attention_maps(
    model: nn.Module, *inputs: Tensor
) -> Float[Tensor, "layers *batch heads n_q n_k"]:
    """Run a model once, and collect the attention of all its layers.

    Args:
        model: Any model whose layers have a probe ``weights``, as ``MultiHeadAttention`` has, and
            as many heads each.
        inputs: What the model reads.

    Returns:
        The weights, without gradients, the first layer first. Each row sums to 1, or is all zeros.

    Raises:
        ValueError: The model has no such probe, or its layers differ in shape.

    Source: lecture 002, "Understanding the Model". Chapter: looking_inside#attention-maps.

    Example:
        >>> from softlookup.attention import MultiHeadAttention
        >>> attention_maps(MultiHeadAttention(4, 2), torch.zeros(5, 3, 4)).shape
        torch.Size([1, 5, 2, 3, 3])
    """
    with torch.no_grad(), capture(model, "weights") as seen:
        model(*inputs)
    shapes = {name: tuple(weights.shape) for name, weights in seen.items()}
    require(len(set(shapes.values())) == 1, "all layers must have maps of one shape", **shapes)
    return torch.stack(list(seen.values()))


@checked(not_empty="layers heads n")
def attention_rollout(
    weights: Float[Tensor, "layers *batch heads n n"], *, residual: Share = 0.5
) -> Float[Tensor, "layers *batch n n"]:
    r"""Multiply the maps of the layers: $R_\ell = \tilde{A}_\ell R_{\ell-1}$, $R_{-1} = I$.

    The maps of a layer's heads are averaged. Beside attention every token keeps its own row, by
    the residual connection: $\tilde{A}_\ell = r I + (1 - r)\,\bar{A}_\ell$. What is followed are
    the weights alone. Values, norms and the feed-forward layers are left out, so this says where a
    row *could* come from, and not what the model makes of it.

    Args:
        weights: The attention of each layer, as from ``attention_maps``; the first layer first.
        residual: $r$, the share that a token keeps of its own row, from 0 to 1.

    Returns:
        $R_0, R_1, ...$: entry $(i, j)$ of $R_\ell$ is the share of token $j$'s input in row $i$
        after layer $\ell$. Rows sum to 1; where a row of weights is all zeros, the token keeps its
        own row. Under a causal mask it is causal.

    Raises:
        ValueError: The shape does not fit, or ``residual`` is not in [0, 1].

    Source: Abnar and Zuidema 2020, "Attention rollout"; lecture 002, "Understanding the Model".
    Chapter: looking_inside#optional-rollout.

    Example:
        >>> weights = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]).expand(2, 1, 2, 2)
        >>> attention_rollout(weights)[:, 1]
        tensor([[0.5000, 0.5000],
                [0.7500, 0.2500]])
    """
    maps = weights.mean(dim=-3)
    kept = torch.diag_embed(1 - maps.sum(dim=-1))  # what a row does not read, it keeps
    own = torch.eye(maps.shape[-1], dtype=maps.dtype, device=maps.device)
    steps = residual * own + (1 - residual) * (maps + kept)
    reached = [steps[0]]
    for step in steps[1:]:
        reached.append(step @ reached[-1])
    return torch.stack(reached)
