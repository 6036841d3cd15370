"""What holds for every text: it comes back, and the fast way gives what the plain way gives."""

from collections import Counter
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlookup.data import messages
from softlookup.tokenization import (
    GPT2_PATTERN,
    GPT4_PATTERN,
    BytePairTokenizer,
    UnigramTokenizer,
    WordPieceTokenizer,
    apply_merges,
    count_pairs,
    learn_merges,
    learn_merges_incrementally,
    merge_pair,
    split_chunks,
)
from softlookup.tokenization import merges as merging

FEW = st.text("ab", max_size=14) | st.text("abc", max_size=20)
CHUNKS = st.lists(FEW.map(str.encode), max_size=9)
PATTERNS = st.sampled_from([GPT2_PATTERN, GPT4_PATTERN])
WHOLE = r"(?s:.+)"
MESSAGES = [message.text for message in messages()]


@cache
def trained(pattern):
    """A tokenizer of the messages, the same for every example."""
    return BytePairTokenizer.train(MESSAGES, 701, pattern=pattern, special_tokens=["<|end|>"])


def learn_by_rescan(chunks, n_merges):
    """All pairs counted anew before each merge; ``max`` takes the first of the largest."""
    rows, merges, best_counts = [list(chunk) for chunk in chunks], [], []
    while len(merges) < n_merges:
        counts = {}
        for row in rows:
            for pair, count in count_pairs(row).items():
                counts[pair] = counts.get(pair, 0) + count
        if not counts:
            break
        best = max(counts, key=counts.get)
        rows = [merge_pair(row, best, 256 + len(merges)) for row in rows]
        merges.append(best)
        best_counts.append(counts[best])
    return merges, best_counts, rows


def apply_all_ways(chunk, new_ids):
    """The ids of a chunk, which do not depend on the way that its length calls for."""
    ids = apply_merges(chunk, new_ids)
    assert ids == merging._join_singly(chunk, new_ids) == merging._join_together(chunk, new_ids)
    return ids


def apply_one_by_one(chunk, new_ids):
    """The merge learned first, at its leftmost place, then look again."""
    row = list(chunk)
    while possible := [(new_ids[p], i) for i, p in enumerate(pairwise(row)) if p in new_ids]:
        new_id, i = min(possible)
        row[i : i + 2] = [new_id]
    return row


@given(CHUNKS)
def test_learning_equals_a_rescan_after_each_merge(chunks):
    merges, _, rows = learn_by_rescan(chunks, 40)
    assert learn_merges(Counter(chunks), 40) == merges
    assert learn_merges_incrementally(Counter(chunks), 40) == merges
    new_ids = {pair: 256 + k for k, pair in enumerate(merges)}
    assert [apply_all_ways(chunk, new_ids) for chunk in chunks] == rows  # text trained on


@given(CHUNKS, FEW)
def test_applying_equals_one_merge_at_a_time(chunks, text):
    merges = learn_merges_incrementally(Counter(chunks), 25)
    new_ids = {pair: 256 + k for k, pair in enumerate(merges)}
    assert apply_all_ways(text.encode(), new_ids) == apply_one_by_one(text.encode(), new_ids)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), unique=True), st.binary())
def test_applying_any_order_of_merges(pairs, noise):
    pairs = [pair for k, pair in enumerate(pairs) if max(pair) < 256 + k]
    new_ids = {pair: 256 + k for k, pair in enumerate(pairs)}
    chunk = bytes(byte % 4 for byte in noise)
    assert apply_all_ways(chunk, new_ids) == apply_one_by_one(chunk, new_ids)


@given(CHUNKS)
def test_counts_never_rise_and_no_bytes_come_twice(chunks):
    merges, best_counts, _ = learn_by_rescan(chunks, 60)
    assert best_counts == sorted(best_counts, reverse=True)
    tokens = BytePairTokenizer(learn_merges(Counter(chunks), 60)).token_bytes
    assert len(set(tokens)) == len(tokens) == 256 + len(merges)


@given(CHUNKS, FEW)
def test_fewer_merges_are_the_first_of_more(chunks, text):
    many = learn_merges_incrementally(Counter(chunks), 12)
    lengths = []
    for n in range(len(many) + 1):
        assert learn_merges_incrementally(Counter(chunks), n) == many[:n]
        new_ids = {pair: 256 + k for k, pair in enumerate(many[:n])}
        lengths.append(len(apply_merges(text.encode(), new_ids)))
    assert lengths == sorted(lengths, reverse=True)


@given(st.lists(st.integers(0, 2)))
def test_a_pair_counts_once_for_each_join(ids):
    for pair, count in count_pairs(ids).items():
        assert len(ids) - len(merge_pair(ids, pair, 9)) == count
    assert list(count_pairs(ids)) == list(dict.fromkeys(pairwise(ids)))


@given(st.text(), PATTERNS)
def test_chunks_join_to_the_text(text, pattern):
    chunks = split_chunks(text, pattern)
    assert "".join(chunks) == text
    assert "" not in chunks


@given(st.text(), PATTERNS)
def test_every_text_comes_back(text, pattern):
    tokenizer = trained(pattern)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert len(ids) <= len(text.encode())
    assert all(0 <= id_ < len(tokenizer) for id_ in ids)
    assert b"".join(tokenizer.token_bytes[id_] for id_ in ids) == text.encode()


@given(st.text(), st.text(), PATTERNS)
def test_a_special_token_divides_a_text(left, right, pattern):
    tokenizer = trained(pattern)
    text = f"{left}<|end|>{right}"
    ids = tokenizer.encode(text, allowed_special="all")
    assert ids == [*tokenizer.encode(left), 700, *tokenizer.encode(right)]
    assert tokenizer.decode(ids) == tokenizer.decode(tokenizer.encode(text)) == text


@given(st.lists(st.text(max_size=20), max_size=4), st.text(max_size=20))
def test_a_tokenizer_trained_on_any_text(texts, text):
    tokenizer = BytePairTokenizer.train(texts, 290)
    again = BytePairTokenizer(tokenizer.merges)
    for one in [*texts, text]:
        assert tokenizer.decode(tokenizer.encode(one)) == one
        assert again.encode(one) == tokenizer.encode(one)


@given(st.lists(st.integers(0, 700)))
def test_any_ids_decode(ids):
    tokenizer = trained(GPT4_PATTERN)
    raw = b"".join(tokenizer.token_bytes[id_] for id_ in ids)
    assert tokenizer.decode(ids) == raw.decode("utf-8", "replace")


@given(st.text().map(lambda text: text.replace("▁", "")))
def test_unigram_keeps_every_space(text):
    tokenizer = UnigramTokenizer.train([text, text, "a "], 3 + 2 * len(text))
    ids = tokenizer.encode(text)
    assert 0 not in ids
    assert tokenizer.decode(ids) == text


@given(st.lists(st.text("ab#?é東", min_size=1), min_size=1))
def test_wordpiece_keeps_every_word(words):
    text = " ".join(words)
    for min_count in (1, 2):
        tokenizer = WordPieceTokenizer.train([text], 60, min_count=min_count)
        ids = tokenizer.encode(text)
        assert 0 not in ids
        assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("pattern", [GPT2_PATTERN, GPT4_PATTERN])
def test_merges_of_real_text_equal_a_rescan(pattern):
    chunks = [chunk for text in MESSAGES[:60] for chunk in split_chunks(text, pattern)]
    merges, _, _ = learn_by_rescan([chunk.encode() for chunk in chunks], 150)
    assert BytePairTokenizer.train(MESSAGES[:60], 406, pattern=pattern).merges == merges
