"""Laws of the cache: whatever was read in whatever pieces, the scores are those of the full pass.

The full pass here is of one text alone, block by block, under a mask written down by loops.
"""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from softlookup.attention import KeyValueCache, readable
from softlookup.language_models import greedy
from softlookup.models import GPT, GPTConfig

N_TOKENS = 13
PLAIN = GPTConfig(N_TOKENS, context=17, d_model=8, n_heads=4, n_layers=2, d_ff=11)
KINDS = {
    "learned": PLAIN,
    "rotary": replace(PLAIN, positions="rotary"),
    "no positions": replace(PLAIN, positions="none"),
    "grouped": replace(PLAIN, positions="rotary", n_kv_heads=2, tie=False),
    "multi-query": replace(PLAIN, n_kv_heads=1, norm_first=False),
    "window": replace(PLAIN, positions="rotary", window=3),
    "window of one": replace(PLAIN, window=1, norm="rms"),
    "sinks": replace(PLAIN, positions="rotary", window=3, n_sinks=2, n_kv_heads=2),
    "today": replace(GPTConfig.modern(N_TOKENS, 17, 8, 4, 2), n_kv_heads=2),
}
kinds = pytest.mark.parametrize("kind", list(KINDS))
seeds = st.integers(0, 2**31)


def built(config: GPTConfig, seed: int = 3) -> GPT:
    """The model in float64, with weights large enough for uneven attention."""
    model = GPT(config).double().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            values = torch.randn(parameter.shape, dtype=torch.float64, generator=generator)
            parameter.copy_(1.5 * values / math.sqrt(parameter.shape[-1]))
    return model


def mask_by_hand(config: GPTConfig, n: int) -> Tensor:
    rows = []
    for i in range(n):
        window = n if config.window is None else config.window
        rows.append([j <= i and (i - j < window or j < config.n_sinks) for j in range(n)])
    return torch.tensor(rows, dtype=torch.bool).reshape(n, n)


def alone(model: GPT, text: Tensor) -> Tensor:
    """The scores after each token of one text, all at once."""
    n = len(text)
    x = model.embedding.weight[text]
    if model.position_embedding is not None:
        x = x + model.position_embedding.embedding.weight[:n]
    for block in model.blocks:
        x = block(x, mask_by_hand(model.config, n), rotary=model.rotary)
    table = model.embedding if model.unembedding is None else model.unembedding
    return model.norm(x) @ table.weight.mT


def texts(seed: int, *shape: int) -> Tensor:
    return torch.randint(N_TOKENS, shape, generator=torch.Generator().manual_seed(seed))


@kinds
def test_every_split_of_the_prompt(kind):
    """The prompt in one piece, the rest token by token: from no prompt to nothing but prompt."""
    model, ids = built(KINDS[kind]), texts(5, 2, 11)
    expected = torch.stack([alone(model, text) for text in ids])
    assert_close(model(ids), expected)
    for split in range(12):
        cache = model.start(ids[:, :split])
        assert cache.lengths.tolist() == [split, split]
        for t in range(split, 11):
            scores, cache = model.step(ids[:, t], cache)
            assert_close(scores, expected[:, t])


@st.composite
def pieces(draw):
    """Texts of different lengths, and for each of them how many tokens come in which piece."""
    n_texts, n_pieces = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    counts = st.lists(st.integers(0, 4), min_size=n_pieces, max_size=n_pieces)
    return [draw(counts) for _ in range(n_texts)]


@kinds
@settings(max_examples=25)
@given(counts=pieces(), seed=seeds, extra=st.integers(0, 2))
def test_ragged_texts_in_any_pieces(kind, counts, seed, extra):
    """Each text in pieces of its own, some of them empty, filler behind each of them."""
    model = built(KINDS[kind], seed)
    ids = texts(seed, len(counts), 16)
    expected = [alone(model, text) for text in ids]
    cache, read = model.new_cache(), [0] * len(counts)
    for lengths in zip(*counts, strict=True):
        n = max(lengths) + extra
        batch = texts(seed ^ 1, len(counts), n)  # what the filler is does not matter
        for b, length in enumerate(lengths):
            batch[b, :length] = ids[b, read[b] : read[b] + length]
        scores = model(batch, list(lengths), cache)
        for b, length in enumerate(lengths):
            assert_close(scores[b, :length], expected[b][read[b] : read[b] + length])
            read[b] += length
        assert cache.lengths.tolist() == read
        assert all(layer.n_slots == cache.n_slots for layer in cache.layers)


@kinds
@given(lengths=st.lists(st.integers(0, 7), min_size=1, max_size=3), seed=seeds)
def test_a_batch_is_its_texts_one_by_one(kind, lengths, seed):
    """Without a cache; what the filler is has no influence."""
    model, ids = built(KINDS[kind], seed), texts(seed, len(lengths), 9)
    scores = model(ids, lengths)
    for b, length in enumerate(lengths):
        assert_close(scores[b, :length], alone(model, ids[b, :length]))


@given(lengths=st.lists(st.integers(1, 3), min_size=1, max_size=3), window=st.integers(3, 5),
       n_sinks=st.integers(0, 3), seed=seeds)  # fmt: skip
def test_renumbered_a_stream_is_a_short_text_at_every_step(lengths, window, n_sinks, seed):
    """In one layer: as if the first and the last tokens, side by side, were all the text."""
    model = built(GPTConfig(N_TOKENS, 17, 8, 4, 1, positions="rotary"), seed)
    ids = texts(seed, len(lengths), 17)
    cache = KeyValueCache(1, window=window, n_sinks=n_sinks)
    model(ids, lengths, cache)  # ragged prompts that fit, the rest is filler
    for t in range(14):
        cache.renumber()
        tokens = ids[torch.arange(len(lengths)), torch.tensor(lengths) + t]
        scores, cache = model.step(tokens, cache)
        for b, length in enumerate(lengths):
            text = ids[b, : length + t + 1]
            if len(text) > n_sinks + window:
                text = torch.cat([text[:n_sinks], text[-window:]])
            assert_close(scores[b], alone(model, text)[-1])
        assert cache.positions.max() < n_sinks + window


@pytest.mark.parametrize("kind", ["window", "sinks"])
def test_past_the_context(kind):
    """With a window and without learned positions a text goes on for ever, in constant memory."""
    config = KINDS[kind]
    model = built(replace(config, context=5))
    ids = texts(7, 2, 23)
    expected = torch.stack([alone(model, text) for text in ids])
    cache = model.start(ids[:, :5])
    for t in range(5, 23):
        scores, cache = model.step(ids[:, t], cache)
        assert_close(scores, expected[:, t])
        assert cache.n_slots == config.window - 1 + config.n_sinks
        assert cache.positions[1].tolist()[: config.n_sinks] == list(range(config.n_sinks))
        assert cache.positions[1, -1] == t


@pytest.mark.parametrize("n_sinks", [0, 1, 2])
def test_a_window_over_a_model_that_was_trained_without(n_sinks):
    """The cache's window counts: the scores are those under its mask."""
    model, ids = built(KINDS["no positions"]), texts(7, 2, 13)
    cache = model.new_cache()
    cache.window, cache.n_sinks = 4, n_sinks
    under = built(replace(model.config, window=4, n_sinks=n_sinks))
    expected = torch.stack([alone(under, text) for text in ids])
    assert_close(model(ids[:, :6], cache=cache), expected[:, :6])
    for t in range(6, 13):
        scores, cache = model.step(ids[:, t], cache)
        assert_close(scores, expected[:, t])


@kinds
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4), data=st.data(), seed=seeds)
def test_rows_of_a_cache_go_on_as_those_texts_would(kind, lengths, data, seed):
    """In any order, one of them twice, and the first cache is as it was."""
    model, ids = built(KINDS[kind], seed), texts(seed, len(lengths), 9)
    cache = model.start(ids[:, :6], lengths)
    index = data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=5))
    chosen = cache.rows(torch.tensor(index))
    for t in range(3):
        rows = torch.arange(len(lengths))
        scores, cache = model.step(ids[rows, torch.tensor(lengths) + t], cache)
        tokens = ids[torch.tensor(index), torch.tensor(lengths)[index] + t]
        found, chosen = model.step(tokens, chosen)
        assert_close(found, scores[index])
    for b, length in enumerate(lengths):
        assert_close(scores[b], alone(model, ids[b, : length + 3])[-1])


@kinds
def test_a_step_leaves_the_cache_before_as_it_was(kind):
    """So that a text can go on in two ways."""
    model, ids = built(KINDS[kind]), texts(5, 2, 7)
    start = model.start(ids[:, :5])
    before = start.copy()
    first, _ = model.step(ids[:, 5], start)
    other, later = model.step(ids[:, 6], start)
    again, _ = model.step(ids[:, 5], start)
    assert again.equal(first)
    assert not other.equal(first)
    assert start.positions.equal(before.positions)
    assert start.lengths.tolist() == [5, 5]
    assert later.lengths.tolist() == [6, 6]
    for layer, kept in zip(start.layers, before.layers, strict=True):
        assert layer.key.equal(kept.key)
        assert layer.value.equal(kept.value)


@kinds
@pytest.mark.parametrize("content", [math.nan, math.inf])
def test_nan_in_filler_reaches_nothing(kind, content):
    """Token 0 is only filler, and its row is broken: no score, no gradient, no later token sees it.

    Its table is not that of the scores, where the row stands for itself.
    """
    model = built(replace(KINDS[kind], tie=False))
    ids, lengths = texts(5, 3, 7).clamp(min=1), [3, 7, 5]
    for b, length in enumerate(lengths):
        ids[b, length:] = 0
    real = torch.tensor([[t < length for t in range(7)] for length in lengths])

    def answers():
        scores = model(ids, lengths)[real]
        cache = model.start(ids[:, :6], [2, 6, 4])
        after, _ = model.step(torch.tensor([1, 2, 3]), cache)
        return [scores, after, *torch.autograd.grad(scores.square().sum(), model.parameters())]

    clean = answers()
    with torch.no_grad():
        model.embedding.weight[0] = content
    for found, expected in zip(answers(), clean, strict=True):
        assert found.equal(expected)


@kinds
def test_greedy_writes_the_same_with_the_cache(kind):
    """`question-training-vs-inference`: decoding from prompts of different lengths."""
    model, ids = built(KINDS[kind]), texts(5, 3, 6)
    lengths = torch.tensor([2, 6, 4])
    last = ids[torch.arange(3), lengths - 1]
    written = greedy(model.step, model.start(ids, lengths - 1), last, 0, 5)
    for b, length in enumerate(lengths.tolist()):
        text, total = ids[b, :length].tolist(), 0.0
        for _ in range(5):
            scores = alone(model, torch.tensor(text))[-1].log_softmax(-1)
            text.append(int(scores.argmax()))
            total += scores.max().item()
            if text[-1] == 0:
                break
        assert written[b].ids == [token for token in text[length:] if token != 0]
        assert written[b].log_probability == pytest.approx(total)


# which slot a query may read


@given(
    st.lists(st.integers(-1, 9), max_size=7), st.lists(st.integers(-1, 9), max_size=7),
    st.none() | st.integers(1, 9), st.integers(0, 4),
)  # fmt: skip
def test_readable_is_the_rule(queries, keys, window, n_sinks):
    n_sinks = 0 if window is None else n_sinks
    found = readable(
        torch.tensor(queries, dtype=torch.int64), torch.tensor(keys, dtype=torch.int64),
        window=window, n_sinks=n_sinks,
    )  # fmt: skip
    assert found.shape == (len(queries), len(keys))
    for i, query in enumerate(queries):
        for j, key in enumerate(keys):
            near = window is None or query - key < window or key < n_sinks
            assert found[i, j].item() == (0 <= key <= query and near)
