"""What holds for attention on every graph: hypothesis draws nodes, edges, heads and the seed."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from softlookup.attention import GraphAttention, graph_mask, graph_scores

seeds = st.integers(0, 2**32 - 1)


edges = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20)
graphs = st.tuples(
    st.tuples(*(st.integers(1, 7) for _ in range(4))),
    st.sampled_from(["concat", "mean"]),
    edges,
    st.booleans(),
    seeds,
)
"""The sizes n, d_in, d_out, n_heads; how heads are combined; edges; whether there are loops."""


def made(graph):
    """A layer with random weights, features, and the mask of the edges folded into n nodes."""
    (n, d_in, d_out, n_heads), combine, pairs, loops, seed = graph
    generator = torch.Generator().manual_seed(seed)
    layer = GraphAttention(d_in, d_out, n_heads, combine=combine).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_(generator=generator)
    x = torch.randn(n, d_in, dtype=torch.float64, generator=generator)
    mask = graph_mask(n, [(i % n, j % n) for i, j in pairs], self_loops=loops)
    return layer, x, mask


@given(graphs)
def test_the_edges_of_a_mask_give_it_back(graph):
    _, x, mask = made(graph)
    edges = [(i, j) for i, j in mask.nonzero().tolist() if i <= j]
    assert graph_mask(len(x), edges, self_loops=False).equal(mask)
    with_loops = mask | torch.eye(len(x), dtype=torch.bool)
    assert graph_mask(len(x), edges).equal(with_loops)


@given(graphs)
def test_a_node_sees_only_its_neighbours(graph):
    layer, x, mask = made(graph)
    out = layer(x, mask)
    for j in range(len(x)):
        changed = x.clone()
        changed[j] += 1.0
        moved = (layer(changed, mask) != out).any(dim=1)
        reads = mask[:, j].clone()
        reads[j] = True  # its own query changes, too
        assert not moved[~reads].any()


@given(graphs, seeds)
def test_renaming_the_nodes_renames_the_outputs(graph, seed):
    layer, x, mask = made(graph)
    p = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    assert_close(layer(x[p], mask[p][:, p]), layer(x, mask)[p])


@given(graphs, st.integers(0, 3))
def test_a_batch_of_n_is_n_batches_of_one(graph, n_batch):
    layer, x, mask = made(graph)
    batch = torch.stack([x * (b + 1) for b in range(n_batch)]) if n_batch else x[None][:0]
    out = layer(batch, mask)
    assert out.shape == (n_batch, *layer(x, mask).shape)
    for b in range(n_batch):
        assert_close(out[b], layer(batch[b], mask))
        assert_close(layer(batch, mask.expand(n_batch, -1, -1))[b], out[b])


@given(graphs)
def test_inputs_are_never_changed(graph):
    layer, x, mask = made(graph)
    copies = x.clone(), mask.clone()
    layer(x, mask)
    assert x.equal(copies[0])
    assert mask.equal(copies[1])


@given(graphs)
def test_empty_rows_give_zeros_and_a_gradient_of_zero(graph):
    layer, x, mask = made(graph)
    mask = mask.clone()
    mask[::2] = False
    x.requires_grad_()
    out = layer(x, mask)
    assert out[::2].eq(0).all()
    gradients = torch.autograd.grad(out[::2].sum(), (x, *layer.parameters()))
    assert all(gradient.eq(0).all() for gradient in gradients)


@given(st.integers(1, 7), st.integers(1, 7), st.integers(1, 7), seeds)
def test_every_query_ranks_the_keys_in_the_same_order(n_q, n_k, d, seed):
    """Brody et al. 2022: which key comes first does not depend on who asks."""
    generator = torch.Generator().manual_seed(seed)
    query, key, a_query, a_key = (
        torch.randn(shape, dtype=torch.float64, generator=generator)
        for shape in [(n_q, d), (n_k, d), (d,), (d,)]
    )
    order = graph_scores(query, key, a_query, a_key).argsort(dim=-1)
    assert order.equal(order[:1].expand(n_q, n_k))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@given(graph=graphs)
def test_dtype_is_preserved_and_all_is_finite(dtype, graph):
    layer, x, mask = made(graph)
    out = layer.to(dtype)(x.to(dtype), mask)
    assert out.dtype == dtype
    assert out.isfinite().all()
