"""What every attention asks of its queries, keys and values."""

from torch import Tensor

from softlookup.checks import require, require_float, require_same_dtype


def check_inputs(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Refuse queries, keys and values that do not fit each other."""
    given = {"query": query, "key": key, "value": value}
    require_float(**given)
    require_same_dtype(**given)
    are_matrices = all(rows.ndim >= 2 for rows in given.values())
    rule = "query, key and value must be matrices with the same leading axes"
    require(are_matrices and query.shape[:-2] == key.shape[:-2] == value.shape[:-2], rule, **given)
    rule = "query and key must have the same last dimension d_k of at least 1"
    require(query.shape[-1] == key.shape[-1] > 0, rule, query=query, key=key)
    rule = "there must be one value for each key"
    require(key.shape[-2] == value.shape[-2], rule, key=key, value=value)


def check_one_key_each(query: Tensor, key: Tensor) -> None:
    """Refuse another number of keys than of queries."""
    rule = "there must be as many keys as queries, one at each position"
    require(query.shape[-2] == key.shape[-2], rule, query=query, key=key)
