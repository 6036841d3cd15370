"""Circuits: what a head would do with every token, read off its weights without any text."""

import torch
from jaxtyping import Float
from torch import Tensor

from softlookup.attention import MultiHeadAttention
from softlookup.attention.positions import Rotary
from softlookup.checks import Count, checked, require
from softlookup.layers import LayerNorm, RMSNorm
from softlookup.models import GPT


@checked
def norm_matrix(norm: LayerNorm | RMSNorm) -> Float[Tensor, "d d"]:
    r"""The linear part of a norm: $N$ in $\mathrm{norm}(x) = xN/\sigma(x) + b$.

    Args:
        norm: LayerNorm, whose matrix centres and multiplies by the gains, or RMSNorm, whose matrix
            holds the gains on its diagonal.

    Returns:
        A square matrix, to be multiplied from the right.

    Source: Elhage et al. 2021, "Handling layer normalization".
    Chapter: looking_inside#circuits-in-the-weights.

    Example:
        >>> norm_matrix(LayerNorm(2)).detach()
        tensor([[ 0.5000, -0.5000],
                [-0.5000,  0.5000]])
    """
    gain = norm.weight
    matrix = torch.eye(len(gain), dtype=gain.dtype, device=gain.device)
    if isinstance(norm, LayerNorm):
        matrix = matrix - 1 / len(gain)
    return matrix * gain


@checked
def ov_matrices(layer: MultiHeadAttention) -> Float[Tensor, "heads d_context d_model"]:
    r"""What each head writes of what it reads: $W^V_h W^O_h$, its biases left out.

    Args:
        layer: Any layer of heads; heads that share their values get the same $W^V_h$.

    Returns:
        One matrix per head, of rank at most $d_v$.

    Source: Elhage et al. 2021, "Splitting attention head terms into circuits".
    Chapter: looking_inside#circuits-in-the-weights.

    Example:
        >>> ov_matrices(MultiHeadAttention(6, 3)).shape
        torch.Size([3, 6, 6])
    """
    out = layer.W_O.weight.mT.unflatten(0, (layer.n_heads, -1))
    values = _of_heads(layer.W_V.weight, layer)
    return values @ out


@checked
def ov_circuit(model: GPT, layer: Count, head: Count) -> Float[Tensor, "vocab vocab"]:
    r"""How reading token $a$ moves the score of token $b$: $E N W^V_h W^O_h N' U$.

    $N$ and $N'$ are the linear parts of the norm before the layer and of the last one. The head's
    direct way alone is told: later layers, biases, and what the first layers add to an embedding
    are left out, and so is the division by the spreads, a positive number that sets the scale.

    Args:
        model: A ``GPT`` in pre-norm.
        layer: Which layer, from 0.
        head: Which of its heads, from 0.

    Returns:
        A row for each token that is read, a column for each that is scored. A head that copies has
        its largest numbers on the diagonal.

    Raises:
        ValueError: The model is in post-norm, or there is no such layer or head.
        TypeError: The model is no ``GPT``.

    Source: Elhage et al. 2021, "Splitting attention head terms into circuits".
    Chapter: looking_inside#circuits-in-the-weights.

    Example:
        >>> from softlookup.models import GPTConfig
        >>> ov_circuit(GPT(GPTConfig(5, 7, 6, n_heads=2, n_layers=1)), 0, 1).shape
        torch.Size([5, 5])
    """
    attention = _sublayer(model, layer, head)
    writes = norm_matrix(attention.norm) @ ov_matrices(attention.layer)[head]
    return model.embedding.weight @ writes @ norm_matrix(model.norm) @ unembedding_of(model)


@checked
def qk_circuit(
    model: GPT,
    layer: Count,
    head: Count,
    *,
    distance: Count = 0,
    keys: Float[Tensor, "vocab {model.config.d_model}"] | None = None,
) -> Float[Tensor, "vocab vocab"]:
    r"""How much token $a$ wants to read token $b$: $E N W^Q_h (E N W^K_h)^\top/\sqrt{d_k}$.

    Args:
        model: A ``GPT`` in pre-norm, without normalized queries.
        layer: Which layer, from 0.
        head: Which of its heads, from 0.
        distance: How many places the key stands before the query; rotary positions turn the query
            by so much, other models take no notice.
        keys: The row that stands for each token that is read: its embedding if left out. With
            what an earlier head writes of each token, the result is K-composition.

    Returns:
        A row for each token that asks, a column for each that is read. Biases are left out.

    Raises:
        ValueError: The model is in post-norm, normalizes its queries, or has no such layer or head,
            or ``keys`` has not a row for each token.
        TypeError: The model is no ``GPT``.

    Source: Elhage et al. 2021, "Splitting attention head terms into circuits"; Cordonnier et al.
    2020. Chapter: looking_inside#circuits-in-the-weights.

    Example:
        >>> from softlookup.models import GPTConfig
        >>> qk_circuit(GPT(GPTConfig(5, 7, 6, n_heads=2, n_layers=1)), 0, 1).shape
        torch.Size([5, 5])
    """
    attention, rows = _sublayer(model, layer, head), model.embedding.weight
    require(not model.config.qk_norm, "normalized queries are not linear", config=model.config)
    keys = rows if keys is None else keys
    require(len(keys) == len(rows), "there must be a row for each token", keys=keys)
    inside, heads = norm_matrix(attention.norm), attention.layer
    asks = rows @ inside @ _of_heads(heads.W_Q.weight, heads)[head]
    offers = keys @ inside @ _of_heads(heads.W_K.weight, heads)[head]
    if model.rotary is not None:
        asks, offers = (_turned(model.rotary, r, k) for r, k in ((asks, distance), (offers, 0)))
    return asks @ offers.mT / asks.shape[-1] ** 0.5


@checked(not_empty="d_in d d_out")
def composition_score(
    write: Float[Tensor, "*batch d_in d"], read: Float[Tensor, "*batch d d_out"]
) -> Float[Tensor, "*batch"]:
    r"""How well one matrix reads what another writes: $\|AB\|_F / (\|A\|_F \|B\|_F)$.

    Args:
        write: $A$, what an earlier head writes, $N W^V_h W^O_h$.
        read: $B$, what a later head reads: $N (W^Q_h (W^K_h)^\top)^\top$ for its keys,
            $N W^Q_h (W^K_h)^\top$ for its queries, $N W^V_h W^O_h$ for its values.

    Returns:
        From 0, nothing of what is written is read, to 1. Two random matrices do not score 0:
        compare with some of the same shapes and ranks.

    Raises:
        ValueError: A matrix is all zeros.

    Source: Elhage et al. 2021, "Composition". Chapter: looking_inside#circuits-in-the-weights.

    Example:
        >>> read = torch.diag(torch.tensor([3.0, 4.0]))
        >>> composition_score(torch.diag(torch.tensor([1.0, 0.0])), read)
        tensor(0.6000)
    """
    sizes = [torch.linalg.matrix_norm(matrix) for matrix in (write, read)]
    rule = "a matrix of zeros writes and reads nothing"
    require(all(bool((size > 0).all()) for size in sizes), rule, write=write, read=read)
    return torch.linalg.matrix_norm(write @ read) / (sizes[0] * sizes[1])


@checked(not_empty="n")
def copying_score(circuit: Float[Tensor, "n n"]) -> Float[Tensor, ""]:
    r"""Whether a circuit raises what it reads: $\sum_i \lambda_i / \sum_i |\lambda_i|$.

    Args:
        circuit: A square matrix, such as from ``ov_circuit``; $\lambda_i$ are its eigenvalues.

    Returns:
        1 if all eigenvalues are positive, as in a head that copies; -1 if all are negative.

    Raises:
        ValueError: All eigenvalues are 0, or an entry is not finite.

    Source: Elhage et al. 2021, "Detecting copying behavior".
    Chapter: looking_inside#circuits-in-the-weights.

    Example:
        >>> copying_score(torch.diag(torch.tensor([3.0, 2.0, -1.0])))
        tensor(0.6667)
    """
    require(bool(circuit.isfinite().all()), "each entry must be finite", circuit=circuit)
    values = torch.linalg.eigvals(circuit.to(torch.promote_types(circuit.dtype, torch.float32)))
    size = values.abs().sum()
    require(bool(size > 0), "a circuit without eigenvalues copies nothing", circuit=circuit)
    return (values.real.sum() / size).to(circuit.dtype)


@checked
def unembedding_of(model: GPT) -> Float[Tensor, "d_model vocab"]:
    r"""The matrix $U$ that turns a model's last rows into scores.

    Args:
        model: A ``GPT``.

    Returns:
        The transpose of its unembedding, or of its embedding table where the two are tied.

    Raises:
        TypeError: The model is no ``GPT``.

    Source: Press and Wolf 2017. Chapter: looking_inside#who-wrote-the-answer.

    Example:
        >>> from softlookup.models import GPTConfig
        >>> unembedding_of(GPT(GPTConfig(5, 7, 6, n_heads=2, n_layers=1))).shape
        torch.Size([6, 5])
    """
    table = model.embedding if model.unembedding is None else model.unembedding
    return table.weight.mT


def _sublayer(model: GPT, layer: int, head: int) -> torch.nn.Module:
    n_layers, n_heads = model.config.n_layers, model.config.n_heads
    require(model.config.norm_first, "in post-norm the stream is no sum", config=model.config)
    require(layer < n_layers, "there is no such layer", layer=layer, n_layers=n_layers)
    require(head < n_heads, "there is no such head", head=head, n_heads=n_heads)
    return model.blocks[layer].self_attention


def _of_heads(weight: Tensor, layer: MultiHeadAttention) -> Tensor:
    """The projection of each head, (heads, d, width), from the weight of a linear map."""
    is_query = weight is layer.W_Q.weight
    n_own = layer.n_heads if is_query else getattr(layer, "n_kv_heads", layer.n_heads)
    own = weight.unflatten(0, (n_own, -1)).mT
    return own.repeat_interleave(layer.n_heads // n_own, dim=0)


def _turned(rotary: Rotary, rows: Tensor, place: int) -> Tensor:
    places = torch.full((len(rows),), place, device=rows.device)
    return rotary(rows, places)
