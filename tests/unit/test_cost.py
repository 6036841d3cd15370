"""Costs: the lectures' numbers, loops that count, the counter, bytes, paths, and bad input."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from softlookup.attention import (
    Attention,
    Operations,
    attention,
    attention_multiplications,
    attention_weights,
    count_operations,
    critical_path,
    dependency_graph,
    path_lengths,
    peak_memory,
    projection_multiplications,
    recurrent_multiplications,
    softmax_exponentials,
    weights_bytes,
)
from softlookup.layers import RNNCell, unroll
from softlookup.masks import causal_mask

N_Q, N_K, D_K, D_V, D, H = 11, 7, 5, 3, 13, 2


def normal(generator, *shape, **options):
    return torch.randn(shape, generator=generator, dtype=torch.float64, **options)


@pytest.fixture
def qkv(generator):
    return [normal(generator, *shape) for shape in ((N_Q, D_K), (N_K, D_K), (N_K, D_V))]


# The formulas


def attention_by_loops(n_q, n_k, d_k, d_v):
    """Multiplications and exponentials, one by one."""
    products = exponentials = 0
    for _ in itertools.product(range(n_q), range(n_k)):
        products += sum(1 for _ in range(d_k))  # one score
        exponentials += 1
        products += sum(1 for _ in range(d_v))  # one value, weighed
    return products, exponentials


def test_attention_formulas_count_what_loops_count():
    wanted = attention_by_loops(N_Q, N_K, D_K, D_V)
    found = attention_multiplications(N_Q, N_K, D_K, D_V), softmax_exponentials(N_Q, N_K)
    assert found == wanted == (616, 77)
    assert attention_multiplications(N_Q, N_K, D_K, D_V, n_heads=H) == H * wanted[0]
    assert softmax_exponentials(N_Q, N_K, n_heads=H) == H * wanted[1]


def test_attention_and_recurrence_cost_the_same_at_n_equal_to_d():
    def core(n):
        return attention_multiplications(n, n, 512, 512)

    def recurrent(n):
        return recurrent_multiplications(n, 512, 512)

    assert core(512) == recurrent(512) == 268_435_456
    assert (core(513), recurrent(513)) == (269_485_056, 268_959_744)
    assert all((core(n) < recurrent(n)) == (n < 512) for n in range(1, 1500))


def test_projections_outweigh_the_core_up_to_twice_the_width():
    def projections(n):
        return projection_multiplications(n, n, 512)

    assert all(projections(n) == 4 * n * 512**2 for n in (1, 7, 512))
    assert projections(1024) == attention_multiplications(1024, 1024, 512, 512)
    assert projections(1025) < attention_multiplications(1025, 1025, 512, 512)
    # so the whole layer never needs fewer than the recurrence
    assert all(projections(n) > recurrent_multiplications(n, 512, 512) for n in range(1, 2000))


def test_projections_of_two_texts_and_of_other_widths():
    found = projection_multiplications(N_Q, N_K, D, d_k=D_K, d_v=D_V)
    by_part = (N_Q * D * D_K, N_K * D * D_K, N_K * D * D_V, N_Q * D_V * D)  # W^Q, W^K, W^V, W^O
    assert found == sum(by_part)
    without = projection_multiplications(N_Q, N_K, D, d_k=D_K, d_v=D_V, output=False)
    assert without == sum(by_part[:3])


def test_heads_of_smaller_width_cost_as_much_but_more_exponentials():
    one, eight = (attention_multiplications(N_Q, N_K, 64 // h, 64 // h, n_heads=h) for h in (1, 8))
    assert one == eight
    assert softmax_exponentials(N_Q, N_K, n_heads=8) == 8 * softmax_exponentials(N_Q, N_K)


def test_recurrence_with_an_input_of_another_width():
    assert recurrent_multiplications(N_Q, D_K, D_V) == N_Q * (D_K * D_V + D_V * D_V)


def test_weights_take_the_bytes_of_their_entries(qkv):
    assert weights_bytes(1000, 1000) == 4_000_000
    for dtype in (torch.float16, torch.float32, torch.float64):
        kept = attention_weights(qkv[0].to(dtype), qkv[1].to(dtype)).expand(H, -1, -1).clone()
        assert weights_bytes(N_Q, N_K, n_heads=H, dtype=dtype) == kept.untyped_storage().nbytes()


def test_costs_grow_with_the_square_of_n():
    for cost in (
        lambda n: attention_multiplications(n, n, 64, 64),
        lambda n: softmax_exponentials(n, n),
        lambda n: weights_bytes(n, n),
    ):
        slopes = [math.log2(cost(2 * n) / cost(n)) for n in (1, 7, 64, 1024)]
        assert slopes == [2, 2, 2, 2]


# Counting


def fused(query, key, value):
    return F.scaled_dot_product_attention(*(rows[None, None] for rows in (query, key, value)))


@pytest.mark.parametrize("path", [attention, fused])
def test_counter_agrees_with_the_formulas(path, qkv):
    wanted = Operations(
        attention_multiplications(N_Q, N_K, D_K, D_V), softmax_exponentials(N_Q, N_K)
    )
    assert count_operations(path, *qkv) == wanted


def test_counter_sees_a_mask_as_no_saving(generator):
    query, key, value = normal(generator, 3, N_K, D_K)
    assert count_operations(attention, query, key, value, causal_mask(N_K)).multiplications == (
        attention_multiplications(N_K, N_K, D_K, D_K)
    )


def test_counter_sees_all_heads_and_texts(generator):
    query, key, value = normal(generator, 3, 2, H, N_K, D_K)
    wanted = Operations(*(2 * H * count for count in attention_by_loops(N_K, N_K, D_K, D_K)))
    assert count_operations(attention, query, key, value) == wanted
    assert count_operations(F.scaled_dot_product_attention, query, key, value) == wanted


def test_counter_sees_the_way_back(generator):
    def backward(path):
        parts = [normal(generator, 1, 1, n, D_K).requires_grad_() for n in (N_Q, N_K, N_K)]
        return count_operations(lambda: path(*parts).sum().backward())

    pairs = N_Q * N_K
    # each product has two on its way back; the fused kernel computes the scores once more
    assert backward(attention) == Operations(6 * pairs * D_K, pairs)
    assert backward(F.scaled_dot_product_attention) == Operations(7 * pairs * D_K, 2 * pairs)


def test_counter_sees_projections_and_core(generator):
    head = Attention(D, D_K, D_V, bias=True).double()
    x, context = normal(generator, N_Q, D), normal(generator, N_K, D)
    wanted = projection_multiplications(N_Q, N_K, D, d_k=D_K, d_v=D_V, output=False)
    wanted += attention_multiplications(N_Q, N_K, D_K, D_V)
    assert count_operations(head, x, context).multiplications == wanted


def test_counter_sees_the_layer_of_many_heads(generator):
    layer, x = (
        nn.MultiheadAttention(D * H, H, batch_first=True).double(),
        normal(generator, 1, 7, D * H),
    )
    wanted = projection_multiplications(7, 7, D * H) + attention_multiplications(
        7, 7, D, D, n_heads=H
    )
    for weights in (True, False):
        found = count_operations(lambda w=weights: layer(x, x, x, need_weights=w))
        assert found == Operations(wanted, softmax_exponentials(7, 7, n_heads=H))


def test_counter_sees_the_recurrence(generator):
    cell, x = RNNCell(D_K, D_V).double(), normal(generator, 1, N_Q, D_K)
    found = count_operations(unroll, cell, x).multiplications
    assert found == recurrent_multiplications(N_Q, D_K, D_V)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("matrix", 2 * 3 * 5),
        ("batch", 7 * 2 * 3 * 5),
        ("vector", 2 * 3),
        ("dot", 3),
        ("linear", 2 * 3 * 5),
        ("biased", 2 * 3 * 5),
        ("added batch", 7 * 2 * 3 * 5),
        ("summed batch", 7 * 2 * 3 * 5),
        ("added vector", 2 * 3),
        ("einsum", 7 * 2 * 3 * 5),
        ("elements", 0),
    ],
)
def test_counter_knows_every_matrix_product(name, count):
    A, B, one = torch.ones(2, 3), torch.ones(3, 5), torch.ones(3)
    many, others = torch.ones(7, 2, 3), torch.ones(7, 3, 5)
    calls = {
        "matrix": lambda: A @ B,
        "batch": lambda: many @ others,
        "vector": lambda: A @ one,
        "dot": lambda: one @ one,
        "linear": lambda: F.linear(A, B.mT),
        "biased": lambda: F.linear(A, B.mT, torch.ones(5)),
        "added batch": lambda: torch.baddbmm(torch.ones(7, 2, 5), many, others),
        "summed batch": lambda: torch.addbmm(torch.ones(2, 5), many, others),
        "added vector": lambda: torch.addmv(torch.ones(2), A, one),
        "einsum": lambda: torch.einsum("bij,bjk->bik", many, others),
        "elements": lambda: A * A,
    }
    assert count_operations(calls[name]) == Operations(count, 0)

    def in_inference():
        with torch.inference_mode():
            calls[name]()

    assert count_operations(in_inference) == Operations(count, 0)


@pytest.mark.parametrize("function", ["exp", "exp_", "softmax", "log_softmax"])
def test_counter_knows_exponentials(function):
    arguments = (-1,) if "softmax" in function else ()
    assert count_operations(getattr(torch.zeros(3, 5), function), *arguments).exponentials == 15
    assert count_operations(torch.logsumexp, torch.zeros(3, 5), -1).exponentials == 15


@pytest.mark.parametrize(
    ("layer", "name"), [(nn.LSTM(5, 3), "mkldnn_rnn_layer"), (nn.Conv1d(7, 3, 1), "convolution")]
)
def test_counter_refuses_what_it_cannot_see_into(layer, name):
    with pytest.raises(ValueError, match=f"cannot be seen into; got operation='{name}'"):
        count_operations(layer, torch.zeros(2, 7, 5))


# Memory

KILO = torch.zeros(1000, dtype=torch.float32)


def test_peak_adds_up_what_is_alive_at_once():
    def chain(x):
        a = x + 1  # 4000 bytes
        b = a + 1  # 8000
        del a
        return b + 1  # 8000 again, not 12000

    def heap(x):
        return [x + k for k in range(3)]

    assert peak_memory(chain, KILO) == 8000
    assert peak_memory(heap, KILO) == 12000


def test_peak_counts_a_storage_once_and_for_all_its_views():
    def views(x):
        a = x + 1
        part = a[:2]
        del a  # the view keeps all of it
        return part.view(2, 1).mT, (x + 1).unsqueeze(0)

    assert peak_memory(views, KILO) == 8000


def test_peak_leaves_out_what_was_there_before():
    layer = nn.Linear(1000, 1).float()
    assert peak_memory(layer, KILO) == 4  # the output alone
    assert peak_memory(lambda x: x.view(10, 100).mT[3:], KILO) == 0
    assert peak_memory(lambda x: x.add_(0), KILO) == 0
    assert peak_memory(lambda x: None, KILO) == 0


def test_peak_knows_the_dtype():
    assert peak_memory(lambda x: x.double(), KILO) == 8000
    assert peak_memory(lambda x: x > 0, KILO) == 1000


def test_peak_sees_gradients_and_what_is_kept_for_them():
    x = torch.zeros(1000, dtype=torch.float32, requires_grad=True)

    def square_of_exp():
        (x.exp().square()).sum().backward()

    # exp is kept for the way back; at the end stand exp, the gradient by exp, and a product
    assert peak_memory(square_of_exp) >= 12000
    assert x.grad is not None
    assert peak_memory(lambda: x.detach().exp().square().sum()) == 8000


def test_peak_of_attention_holds_two_matrices_of_weights(generator):
    n = 127
    query, key, value = normal(generator, 3, n, 2)
    matrix = weights_bytes(n, n, dtype=torch.float64)
    peak = peak_memory(attention, query, key, value)
    assert 2 * matrix <= peak < 3.1 * matrix
    # the fused kernel: an output as large as the values, and one number for each row
    kernel = peak_memory(fused, query, key, value)
    assert kernel <= 8 * n * 2 + 8 * n


def test_peak_is_the_same_on_every_run(qkv):
    assert len({peak_memory(attention, *qkv) for _ in range(5)}) == 1


# Paths


def test_dependency_graphs_written_out():
    graph = dependency_graph("attention", 2)
    assert graph.int().tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]]
    one = dependency_graph("recurrence", 1)
    assert one.equal(dependency_graph("attention", 1))
    assert one.int().tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_paths_of_a_recurrence_grow_with_the_distance(n):
    lengths = path_lengths(dependency_graph("recurrence", n))
    for i, j in itertools.product(range(n), repeat=2):
        assert lengths[n + i, j] == (i - j + 1 if j <= i else -1)
    assert lengths[n:, :n].max() == critical_path(dependency_graph("recurrence", n)) == n


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_paths_of_attention_are_single_steps(n):
    graph = dependency_graph("attention", n)
    assert path_lengths(graph)[n:, :n].eq(1).all()
    assert critical_path(graph) == 1


def by_search(graph, start):
    """Breadth first with a queue, one start at a time."""
    steps, queue = {start: 0}, [start]
    for node in queue:
        for after in range(len(graph)):
            if graph[after, node] and after not in steps:
                steps[after] = steps[node] + 1
                queue.append(after)
    return [steps.get(node, -1) for node in range(len(graph))]


@pytest.mark.parametrize("seed", range(5))
def test_path_lengths_of_any_graph_circles_included(seed):
    generator = torch.Generator().manual_seed(seed)
    graph = torch.rand(11, 11, generator=generator) < 0.15
    lengths = path_lengths(graph)
    for start in range(11):
        assert lengths[:, start].tolist() == by_search(graph, start)


@pytest.mark.parametrize("seed", range(5))
def test_critical_path_is_the_longest_of_all(seed):
    graph = (torch.rand(9, 9, generator=torch.Generator().manual_seed(seed)) < 0.4).tril(-1)

    def longest_to(node):
        return max((1 + longest_to(j) for j in range(9) if graph[node, j]), default=0)

    assert critical_path(graph) == max(longest_to(node) for node in range(9))


def test_critical_path_of_nothing_is_zero():
    assert critical_path(torch.zeros(3, 3, dtype=torch.bool)) == 0


# Bad input


def test_a_circle_has_no_critical_path():
    with pytest.raises(ValueError, match="must not lead around in a circle"):
        critical_path(torch.ones(2, 2, dtype=torch.bool))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_paths_do_not_mind_the_default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        graph = dependency_graph("recurrence", 3)
        assert critical_path(graph) == path_lengths(graph).max() == 3
    finally:
        torch.set_default_dtype(before)
