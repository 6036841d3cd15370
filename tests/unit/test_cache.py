"""The cache: which slot stands where, what is dropped, what is kept, bad input."""

import pytest
import torch
from torch.testing import assert_close

from softlookup.attention import GroupedQueryAttention, KeyValueCache, LayerCache, readable


def filled(cache, lengths, n, *, n_kv_heads=3, d_k=5, d_v=7):
    """The cache after a piece of text, its slots numbered in every layer."""
    cache.begin(torch.tensor(lengths), n)
    for layer in cache.layers:
        first = layer.n_slots
        numbers = torch.arange(first, first + n, dtype=torch.float64).view(n, 1)
        batch = (len(lengths), n_kv_heads, n)
        layer.extend(numbers.expand(*batch, d_k), numbers.expand(*batch, d_v))
    return cache


def slots(layer):
    return layer.key[0, 0, :, 0].tolist()


# slots and positions


def test_positions_of_ragged_pieces():
    """Two pieces of three texts: the second piece goes on where each text ended."""
    cache = KeyValueCache(2)
    assert (cache.n_texts, cache.n_slots, cache.n_bytes) == (0, 0, 0)
    assert cache.begin(torch.tensor([2, 0, 3]), 3).tolist() == [[0, 1, -1], [-1, -1, -1], [0, 1, 2]]
    assert cache.begin(torch.tensor([1, 2, 0]), 2).tolist() == [[2, -1], [0, 1], [-1, -1]]
    assert cache.positions.tolist() == [
        [0, 1, -1, 2, -1],
        [-1, -1, -1, 0, 1],
        [0, 1, 2, -1, -1],
    ]
    assert cache.lengths.tolist() == [3, 2, 3]
    assert (cache.n_texts, cache.n_slots) == (3, 5)


def test_what_a_query_may_read_of_a_ragged_text():
    """Filler at -1 neither reads nor is read; the places count, not the order of the slots."""
    keys = torch.tensor([[0, 1, -1, 2], [-1, 0, 1, 2]])
    queries = torch.tensor([[2, -1], [1, 2]])
    assert readable(queries, keys).int().tolist() == [
        [[1, 1, 0, 1], [0, 0, 0, 0]],
        [[0, 1, 1, 0], [0, 1, 1, 1]],
    ]
    assert readable(queries, keys, window=2).int().tolist() == [
        [[0, 1, 0, 1], [0, 0, 0, 0]],
        [[0, 1, 1, 0], [0, 0, 1, 1]],
    ]
    assert readable(queries, keys, window=1, n_sinks=1).int().tolist() == [
        [[1, 0, 0, 1], [0, 0, 0, 0]],
        [[0, 1, 1, 0], [0, 1, 0, 1]],
    ]


def test_without_a_window_filler_alone_is_dropped():
    """Slot 2 is filler in both texts, slot 1 in one of them."""
    cache = filled(KeyValueCache(2), [1, 2], 3)
    cache.forget()
    assert cache.positions.tolist() == [[0, -1], [0, 1]]
    assert [slots(layer) for layer in cache.layers] == [[0, 1], [0, 1]]
    assert cache.lengths.tolist() == [1, 2]


def test_what_left_the_window_is_dropped():
    """After 7 tokens the next one, at place 7, reads the places 5, 6 and itself; place 0 sinks."""
    for n_sinks, kept in [(0, [5, 6]), (1, [0, 5, 6])]:
        cache = filled(KeyValueCache(1, window=3, n_sinks=n_sinks), [7], 7)
        cache.forget()
        assert cache.positions.tolist() == [kept]
        assert slots(cache.layers[0]) == kept
        assert cache.layers[0].value[0, 0, :, 0].tolist() == kept
        assert cache.begin(torch.tensor([1]), 1).tolist() == [[7]]


def test_a_slot_is_kept_as_long_as_one_text_needs_it():
    """The short text still reads its first tokens, so the long one's stay with them."""
    cache = filled(KeyValueCache(1, window=3), [6, 2], 6)
    cache.forget()
    assert cache.positions.tolist() == [[0, 1, 4, 5], [0, 1, -1, -1]]


def test_a_window_of_one_keeps_nothing():
    cache = filled(KeyValueCache(1, window=1), [2, 2], 2)
    cache.forget()
    assert cache.positions.shape == (2, 0)
    assert cache.layers[0].key.shape == (2, 3, 0, 5)
    assert cache.begin(torch.tensor([1, 1]), 1).tolist() == [[2], [2]]


def test_positions_in_the_cache():
    """Behind the sink comes the window; what only the other text still reads becomes filler."""
    cache = filled(KeyValueCache(1, window=3, n_sinks=1), [7, 2], 7)
    cache.forget()
    assert cache.positions.tolist() == [[0, 1, 5, 6], [0, 1, -1, -1]]
    for _ in range(2):  # the second time nothing is left to do
        cache.renumber()
        assert cache.positions.tolist() == [[0, -1, 1, 2], [0, 1, -1, -1]]
        assert cache.lengths.tolist() == [3, 2]
    assert slots(cache.layers[0]) == [0, 1, 5, 6]
    assert cache.begin(torch.tensor([1, 1]), 1).tolist() == [[3], [2]]


def test_where_nothing_was_dropped_no_number_changes():
    for options in ({}, {"window": 7, "n_sinks": 2}):
        cache = filled(KeyValueCache(1, **options), [5, 3], 5)
        before = cache.positions.tolist(), cache.lengths.tolist()
        cache.renumber()
        assert (cache.positions.tolist(), cache.lengths.tolist()) == before


def test_a_layer_s_slots():
    layer = LayerCache()
    assert layer.n_slots == 0
    first = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 5, 11)
    second = torch.randn(2, 3, 1, 7), torch.randn(2, 3, 1, 11)
    assert [t.equal(u) for t, u in zip(layer.extend(*first), first, strict=True)] == [True, True]
    for found, *parts in zip(layer.extend(*second), first, second, strict=True):
        assert found.equal(torch.cat(parts, dim=-2))
    assert layer.n_slots == 6


def test_n_bytes():
    """Keys and values of each layer, in the heads that have their own: 8 bytes a number here."""
    cache = filled(KeyValueCache(4), [2, 6], 6, n_kv_heads=3, d_k=5, d_v=7)
    assert cache.n_bytes == 4 * 2 * 3 * 6 * (5 + 7) * 8


# rows and copies


def test_rows_are_taken_from_everything():
    cache = filled(KeyValueCache(2, window=9, n_sinks=1), [1, 3, 2], 3)
    for layer in cache.layers:
        layer.key = layer.key + torch.tensor([10.0, 20.0, 30.0]).view(3, 1, 1, 1)
    other = cache.rows(torch.tensor([2, 0, 2, 1]))
    assert other.lengths.tolist() == [2, 1, 2, 3]
    assert other.positions.tolist() == [[0, 1, -1], [0, -1, -1], [0, 1, -1], [0, 1, 2]]
    assert (other.window, other.n_sinks, other.n_texts) == (9, 1, 4)
    for layer in other.layers:
        assert layer.key[:, 0, 0, 0].tolist() == [30, 10, 30, 20]
        assert layer.value.shape == (4, 3, 3, 7)
    assert cache.n_texts == 3


def test_a_copy_goes_its_own_way():
    cache = filled(KeyValueCache(2, window=2), [3], 3)
    other = cache.copy()
    filled(other, [4], 4)
    other.forget()
    assert cache.positions.tolist() == [[0, 1, 2]]
    assert other.positions.tolist() == [[6]]
    assert [slots(layer) for layer in cache.layers] == [[0, 1, 2]] * 2
    assert (other.window, cache.lengths.tolist(), other.lengths.tolist()) == (2, [3], [7])


# attention with a cache


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_a_layer_keeps_its_keys_before_they_are_turned(n_kv_heads, generator):
    layer = GroupedQueryAttention(8, 4, n_kv_heads=n_kv_heads, qk_norm=True).double()
    x = torch.randn(3, 5, 8, dtype=torch.float64, generator=generator)
    cache = LayerCache()
    layer(x, rotary=lambda rows, positions: -rows, cache=cache)
    key, value = layer.keys_and_values(x)
    assert cache.key.shape == (3, n_kv_heads, 5, 2)
    assert_close(cache.key, key)
    assert_close(cache.value, value)


def test_the_other_text_is_projected_once(generator):
    """Cross-attention over a cache, with nothing new to read, is cross-attention."""
    layer = GroupedQueryAttention(8, 4, d_context=5).double()
    x = torch.randn(3, 7, 8, dtype=torch.float64, generator=generator)
    context = torch.randn(3, 11, 5, dtype=torch.float64, generator=generator)
    mask = torch.rand(3, 1, 11, generator=generator) < 0.6
    cache = LayerCache()
    cache.extend(*layer.keys_and_values(context))
    assert_close(layer(x, context[:, :0], mask, cache=cache), layer(x, context, mask))
    assert cache.n_slots == 11


# bad input


def test_sinks_need_a_window():
    with pytest.raises(ValueError, match=r"sinks need a window: .* got n_sinks=1"):
        KeyValueCache(2, n_sinks=1)
    with pytest.raises(ValueError, match=r"sinks need a window: .* got n_sinks=1"):
        readable(torch.arange(2), torch.arange(2), n_sinks=1)


def test_only_texts_that_are_there_can_be_chosen():
    cache = filled(KeyValueCache(2), [1, 3], 3)
    with pytest.raises(ValueError, match="index must be from 0 to 1; got smallest=0, largest=2"):
        cache.rows(torch.tensor([0, 2]))


def test_as_many_texts_as_before():
    cache = filled(KeyValueCache(2), [1, 3], 3)
    rule = "as many texts as the cache holds; got n_texts=3, held=2"
    with pytest.raises(ValueError, match=rule):
        cache.begin(torch.tensor([1, 1, 1]), 1)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ((2, 2, 1, 5), (2, 2, 1, 7), r"a new key must have .* got new=\(2, 2, 1, 5\), kept=\(2, 3"),
        ((2, 3, 1, 4), (2, 3, 1, 7), r"a new key must have .* got new=\(2, 3, 1, 4\), kept=\(2, 3"),
        ((2, 3, 1, 5), (2, 3, 1, 5), r"a new value must have .* got new=\(2, 3, 1, 5\), kept="),
        ((1, 3, 1, 5), (1, 3, 1, 7), r"a new key must have .* got new=\(1, 3, 1, 5\), kept=\(2, 3"),
    ],
)
def test_what_does_not_fit_the_slots(key, value, message):
    layer = filled(KeyValueCache(1), [1, 2], 2).layers[0]
    with pytest.raises(ValueError, match=message):
        layer.extend(torch.zeros(key).double(), torch.zeros(value).double())
    assert layer.n_slots == 2


def test_a_layer_keeps_one_dtype():
    layer = filled(KeyValueCache(1), [1, 2], 2).layers[0]
    with pytest.raises(ValueError, match=r"same dtype; got kept=torch\.f"):
        layer.extend(torch.zeros(2, 3, 1, 5), torch.zeros(2, 3, 1, 7))


def test_an_empty_cache_counts_in_integers():
    cache = KeyValueCache(2)
    assert (cache.lengths.dtype, cache.positions.dtype) == (torch.int64, torch.int64)
