"""Direct logit attribution: every score of a word, as a sum of what each part has written."""

from typing import Annotated

from jaxtyping import Int
from torch import Tensor

from softlookup.analysis.circuits import norm_matrix, unembedding_of
from softlookup.analysis.probes import capture
from softlookup.checks import Ids, checked, require
from softlookup.models import GPT

OfTokens = Annotated[Int[Tensor, "batch n"], Ids("model.config.vocab_size")]


@checked
def stream_writes(model: GPT, ids: OfTokens) -> dict[str, Tensor]:
    r"""What each part of a model adds to the residual stream: $X_L = \sum_c w_c$.

    Args:
        model: A ``GPT`` in pre-norm, in evaluation mode.
        ids: One text per row.

    Returns:
        Rows (batch, n, d_model) for each part, in the order of writing: "embedding" (with the
        position, if that is learned), then for each layer "0.0" for head 0 of layer 0, "0.1" and so
        on, "0 bias" for what attention adds whatever it reads, and "0 ffn" for the feed-forward
        layer. They sum to the rows behind the last block.

    Raises:
        ValueError: The model is in post-norm or in training mode, an id is no token, or a text is
            longer than the context.
        TypeError: The model is no ``GPT``.

    Source: Elhage et al. 2021, "The residual stream". Chapter: looking_inside#who-wrote-the-answer.

    Example:
        >>> import torch
        >>> from softlookup.models import GPTConfig
        >>> model = GPT(GPTConfig(5, context=7, d_model=6, n_heads=2, n_layers=1)).eval()
        >>> list(stream_writes(model, torch.tensor([[0, 4, 2]])))
        ['embedding', '0.0', '0.1', '0 bias', '0 ffn']
    """
    require(model.config.norm_first, "in post-norm the stream is no sum", config=model.config)
    require(not model.training, "dropout would change the sum: call model.eval() first")
    with capture(model) as seen:
        model(ids)
    writes = {"embedding": seen["rows"]}
    for k, block in enumerate(model.blocks):
        name, layer = f"blocks.{k}", block.self_attention.layer
        read = seen[f"{name}.self_attention.layer.heads"]
        matrix = layer.W_O.weight.mT.unflatten(0, (layer.n_heads, -1))
        for head in range(layer.n_heads):
            writes[f"{k}.{head}"] = read[:, head] @ matrix[head]
        if layer.W_O.bias is not None:
            writes[f"{k} bias"] = layer.W_O.bias.expand_as(seen["rows"])
        writes[f"{k} ffn"] = seen[f"{name}.feed_forward.write"]
    return writes


@checked
def logit_attribution(model: GPT, ids: OfTokens) -> dict[str, Tensor]:
    r"""Every score, as a sum over the parts that wrote: $s = \sum_c w_c N U / \sigma + b U$.

    The last norm centres and multiplies by gains, which is a matrix $N$; it divides by the spread
    $\sigma$ of the whole row, and adds a shift $b$. With $\sigma$ taken as the model found it,
    the rest is linear, so the sum is exact. What it cannot tell: without one of the parts, $\sigma$
    and all later parts would have been others.

    Args:
        model: A ``GPT`` in pre-norm, in evaluation mode.
        ids: One text per row.

    Returns:
        Scores (batch, n, vocab) for each part of ``stream_writes``, and, if the last norm has a
        shift, for "shift". They sum to the model's own scores.

    Raises:
        ValueError: As in ``stream_writes``.
        TypeError: The model is no ``GPT``.

    Source: Elhage et al. 2021, "Logit attribution"; nostalgebraist 2020.
    Chapter: looking_inside#who-wrote-the-answer.

    Example:
        >>> import torch
        >>> from softlookup.models import GPTConfig
        >>> model = GPT(GPTConfig(5, context=7, d_model=6, n_heads=2, n_layers=1)).eval()
        >>> ids = torch.tensor([[0, 4, 2]])
        >>> torch.allclose(sum(logit_attribution(model, ids).values()), model(ids), atol=1e-6)
        True
    """
    writes = stream_writes(model, ids)
    rows, shift = sum(writes.values()), getattr(model.norm, "bias", None)
    is_centred = model.config.norm == "layer"
    mean = rows.mean(dim=-1, keepdim=True) if is_centred else 0.0
    spread = ((rows - mean).square().mean(dim=-1, keepdim=True) + model.norm.eps).sqrt()
    read_out = norm_matrix(model.norm) @ unembedding_of(model)
    scores = {name: write / spread @ read_out for name, write in writes.items()}
    if shift is not None:
        scores["shift"] = (shift @ unembedding_of(model)).expand_as(scores["embedding"])
    return scores
