"""Pairs counted and joined: worked numbers, runs of one id, ties, long chunks, bad input."""

import pytest

from softlookup.tokenization import (
    apply_merges,
    count_pairs,
    learn_merges,
    learn_merges_incrementally,
    merge_pair,
)

LEARNERS = pytest.mark.parametrize("learn", [learn_merges, learn_merges_incrementally])
A, B, C = b"abc"


@pytest.mark.parametrize(
    ("ids", "counts"),
    [
        ([], {}),
        ([5], {}),
        ([1, 2, 3, 1, 2], {(1, 2): 2, (2, 3): 1, (3, 1): 1}),
        ([7, 7], {(7, 7): 1}),
        ([7, 7, 7], {(7, 7): 1}),  # two would share the one in the middle
        ([7, 7, 7, 7], {(7, 7): 2}),
        ([7, 7, 7, 7, 7], {(7, 7): 2}),
        ([2, 7, 7, 2], {(2, 7): 1, (7, 7): 1, (7, 2): 1}),
        ([2, 7, 7, 7, 2, 7, 7], {(2, 7): 2, (7, 7): 2, (7, 2): 1}),
        ([1, 2, 1, 2, 1], {(1, 2): 2, (2, 1): 2}),
    ],
)
def test_count_pairs(ids, counts):
    found = count_pairs(ids)
    assert found == counts
    assert list(found) == list(counts)  # in the order of first occurrence
    for pair, count in found.items():  # a pair counts once for each join
        assert len(merge_pair(ids, pair, 9)) == len(ids) - count


@pytest.mark.parametrize(
    ("ids", "pair", "merged"),
    [
        ([], (1, 2), []),
        ([1], (1, 2), [1]),
        ([1, 2, 3, 1, 2], (1, 2), [9, 3, 9]),
        ([3, 1, 2, 1], (1, 2), [3, 9, 1]),
        ([7, 7, 7], (7, 7), [9, 7]),
        ([7, 7, 7, 7], (7, 7), [9, 9]),
        ([7, 7, 7, 7, 7], (7, 7), [9, 9, 7]),
        ([2, 1], (1, 2), [2, 1]),
    ],
)
def test_merge_pair(ids, pair, merged):
    before = list(ids)
    assert merge_pair(ids, pair, 9) == merged
    assert ids == before


@LEARNERS
def test_learn_the_example_of_wikipedia(learn):
    # aaabdaaabac -> ZabdZabac -> YbdYbac -> XdXac; the ties all go to the first pair of the text
    merges = learn({b"aaabdaaabac": 1}, 3)
    assert merges == [(A, A), (256, A), (257, B)]
    new_ids = {pair: 256 + k for k, pair in enumerate(merges)}
    assert apply_merges(b"aaabdaaabac", new_ids) == [258, ord("d"), 258, A, C]


@LEARNERS
def test_learn_counts_a_chunk_as_often_as_it_occurs(learn):
    assert learn({b"ab": 2, b"bc": 3}, 1) == [(B, C)]
    assert learn({b"ab": 3, b"bc": 3}, 1) == [(A, B)]
    assert learn({b"ab": 1, b"cc": 1, b"cca": 1}, 1) == [(C, C)]


@LEARNERS
def test_a_run_holds_half_as_many_pairs_as_ids(learn):
    assert learn({b"aaa": 1, b"bc": 2}, 1) == [(B, C)]  # 1 < 2: aaa holds one pair
    assert learn({b"aaaa": 1, b"bc": 2}, 1) == [(A, A)]  # 2 = 2, and it comes first


@LEARNERS
def test_ties_look_at_the_text_as_it_is(learn):
    # (x, a) takes the a out of "xab": then (c, d) stands before (a, b), with the same count of 2
    chunks = {b"xab": 1, b"xa": 3, b"cd": 2, b"ab": 2}
    assert learn(chunks, 3) == [(ord("x"), A), (C, ord("d")), (A, B)]


@LEARNERS
def test_a_run_that_loses_its_first_id_keeps_its_pair(learn):
    # (b, a) takes the first a of "baaa"; the other two are still a pair
    merges = learn({b"ba": 5, b"caa": 2, b"baaa": 1}, 2)
    assert merges == [(B, A), (A, A)]  # 3 times; without it 2, as (c, a) before it


@LEARNERS
def test_learn_stops_where_no_pair_is_left(learn):
    assert learn({}, 5) == []
    assert learn({b"": 3, b"a": 2}, 5) == []
    assert learn({b"abc": 1}, 5) == [(A, B), (256, C)]
    assert learn({b"abc": 1}, 0) == []


def test_apply_goes_by_the_order_learned_not_by_the_order_in_the_text():
    new_ids = {(B, C): 256, (A, B): 257}
    assert apply_merges(b"abc", new_ids) == [A, 256]
    assert apply_merges(b"abab", new_ids) == [257, 257]
    hello = {(ord("l"), ord("l")): 256, (ord("H"), ord("e")): 257, (257, 256): 258}
    assert apply_merges(b"Hello", {**hello, (258, ord("o")): 259}) == [259]


@pytest.mark.parametrize("n", range(9))
def test_apply_to_runs_of_one_byte(n):
    new_ids = {(A, A): 256, (256, 256): 257}
    expected = [257] * (n // 4) + [256] * (n % 4 // 2) + [A] * (n % 2)
    assert apply_merges(b"a" * n, new_ids) == expected


def test_apply_without_merges():
    assert apply_merges(b"", {}) == []
    assert apply_merges(b"ab", {}) == [A, B]


def test_a_million_equal_bytes_take_seconds():  # pair by pair it would be hours
    chunk = b"a" * 1_000_000
    merges = learn_merges_incrementally({chunk: 1}, 100)
    ids = apply_merges(chunk, {pair: 256 + k for k, pair in enumerate(merges)})
    lengths = dict.fromkeys(range(256), 1)
    for k, (left, right) in enumerate(merges):
        lengths[256 + k] = lengths[left] + lengths[right]
    assert len(merges) == 25
    assert sum(lengths[id_] for id_ in ids) == 1_000_000
