"""The logit lens: what a model would say if it had to answer after each of its layers."""

from typing import Annotated

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from softlookup.analysis.probes import capture
from softlookup.checks import Ids, checked
from softlookup.models import GPT

OfTokens = Annotated[Int[Tensor, "batch n"], Ids("model.config.vocab_size")]


@checked
def residual_stream(model: GPT, ids: OfTokens) -> Float[Tensor, "streams batch n d_model"]:
    r"""The rows of a decoder-only model before its first block and after each.

    Args:
        model: A ``GPT``: its probes ``rows`` and ``blocks.0.feed_forward.stream`` are read.
        ids: One text per row.

    Returns:
        $L + 1$ times the rows of all tokens: the embeddings, then what each block leaves.

    Raises:
        ValueError: An id is no token, or a text is longer than the context.
        TypeError: The model is no ``GPT``.

    Source: Elhage et al. 2021, "The residual stream".
    Chapter: looking_inside#optional-the-logit-lens.

    Example:
        >>> from softlookup.models import GPTConfig
        >>> model = GPT(GPTConfig(vocab_size=5, context=7, d_model=6, n_heads=2, n_layers=3))
        >>> residual_stream(model, torch.tensor([[0, 4, 2]])).shape
        torch.Size([4, 1, 3, 6])
    """
    names = ["rows", *(f"blocks.{k}.feed_forward.stream" for k in range(len(model.blocks)))]
    with capture(model, *names) as seen:
        model(ids)
    return torch.stack([seen[name] for name in names])


@checked
def logit_lens(model: GPT, ids: OfTokens) -> Float[Tensor, "streams batch n vocab"]:
    r"""Read the residual stream after each layer as if it were the last one.

    The model turns its last rows into scores by its norm and its unembedding, $\mathrm{norm}(x)
    W^U$. The lens does the same with the rows of every layer. Nothing has taught the early rows to
    be read so: a lens that sees nothing does not show that nothing is there.

    Args:
        model: A ``GPT``.
        ids: One text per row.

    Returns:
        $L + 1$ times the scores of the next token at each place; the last are the model's own.

    Raises:
        ValueError: An id is no token, or a text is longer than the context.
        TypeError: The model is no ``GPT``.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
    Chapter: looking_inside#optional-the-logit-lens.

    Example:
        >>> from softlookup.models import GPTConfig
        >>> model = GPT(GPTConfig(vocab_size=5, context=7, d_model=6, n_heads=2, n_layers=3))
        >>> ids = torch.tensor([[0, 4, 2]])
        >>> torch.allclose(logit_lens(model, ids)[-1], model(ids), atol=1e-6)
        True
    """
    rows = model.norm(residual_stream(model, ids))
    table = model.embedding if model.unembedding is None else model.unembedding
    return F.linear(rows, table.weight)
