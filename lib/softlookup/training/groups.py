"""Which parameters are matrices of the model, and which are biases, gains and tables of rows."""

from collections.abc import Collection

from torch import nn

from softlookup.checks import NotNegative, checked, require


@checked
def decay_groups(
    model: nn.Module, weight_decay: NotNegative, *, tables: Collection[nn.Module] = ()
) -> list[dict]:
    """Two groups for an optimizer: matrices, which decay, and all the rest, which does not.

    Decay pulls a weight towards 0. For a matrix that is a preference for small weights; a norm's
    gain belongs near 1, a bias wherever the data want it, and the row of a rare token in a table of
    embeddings would be pulled at every step but be seen almost never.

    Args:
        model: Its parameters that are trained are divided; one that two layers share comes once.
        weight_decay: That of the first group.
        tables: Layers of the model that are tables of rows although they are no ``nn.Embedding``,
            such as an unembedding.

    Returns:
        ``[{"params": ..., "weight_decay": weight_decay}, {"params": ..., "weight_decay": 0.0}]``,
        each list in the model's order.

    Raises:
        ValueError: ``weight_decay`` is negative or not finite, or a table is no part of the model.

    Source: Radford et al. 2018, section 4.1; Loshchilov and Hutter 2019, algorithm 2.
    Chapter: training#weight-decay.

    Example:
        >>> model = nn.Sequential(nn.Embedding(7, 5), nn.LayerNorm(5), nn.Linear(5, 3))
        >>> [[tuple(p.shape) for p in g["params"]] for g in decay_groups(model, 0.1)]
        [[(3, 5)], [(7, 5), (5,), (5,), (3,)]]
    """
    decayed, rest = matrices_and_rest(model, tables=tables)
    return [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": rest, "weight_decay": 0.0},
    ]


@checked
def matrices_and_rest(
    model: nn.Module, *, tables: Collection[nn.Module] = ()
) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """The matrices that map rows to rows, and every other parameter: norms, biases, embeddings.

    Args:
        model: Its parameters that are trained are divided; one that two layers share comes once.
        tables: Layers of the model that are tables of rows although they are no ``nn.Embedding``.

    Returns:
        Two lists, each in the model's order. A weight that a table and a linear layer share, as in
        a tied model, is a table.

    Raises:
        ValueError: A table is no part of the model.

    Source: Jordan 2024. Chapter: training#optional-muon.

    Example:
        >>> matrices, rest = matrices_and_rest(nn.Linear(5, 3))
        >>> len(matrices), len(rest)
        (1, 1)
    """
    modules = list(model.modules())
    for table in tables:
        is_part = any(table is module for module in modules)
        require(is_part, "each of tables must be a part of the model", table=type(table).__name__)
    rows = {
        id(parameter)
        for module in [*tables, *(m for m in modules if isinstance(m, nn.Embedding))]
        for parameter in module.parameters()
    }
    trained = [p for p in model.parameters() if p.requires_grad]
    is_matrix = [p.ndim == 2 and id(p) not in rows for p in trained]
    chosen = list(zip(trained, is_matrix, strict=True))
    return [p for p, matrix in chosen if matrix], [p for p, matrix in chosen if not matrix]
