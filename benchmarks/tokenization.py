"""Byte-pair encoding against Hugging Face tokenizers on one thread, and against a rescan."""

import os

os.environ["RAYON_NUM_THREADS"] = "1"  # read when tokenizers starts its threads
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import time
from functools import partial
from itertools import chain, pairwise
from pydoc_data.topics import topics

from timing import seconds
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from softlookup.tokenization import (
    GPT4_PATTERN,
    BytePairTokenizer,
    apply_merges,
    count_pairs,
    merge_pair,
    split_chunks,
)

TEXT = "\n".join(topics.values())  # Python's manual whole, code and tables too: half a megabyte
PARAGRAPHS = TEXT.split("\n\n")
TRAIN_SIZE, ENCODE_SIZE = 1024, 4096
BREAK = -1  # stands between two chunks in a rescan
TOKENIZATION_HEADS = ["tokens", "time, to tokenizers", "time, to a rescan"]
SAMPLES = 13  # states of the text, evenly spaced, at which one merge by rescan is timed


def peer(merges: list[tuple[int, int]]) -> Tokenizer:
    """A tokenizer of tokenizers with these merges and with the library's split pattern."""
    ours = BytePairTokenizer(merges)
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    shown = {byte: chr(byte) for byte in visible} | {b: chr(256 + i) for i, b in enumerate(hidden)}
    names = ["".join(shown[byte] for byte in token) for token in ours.token_bytes]
    ids = {name: id_ for id_, name in enumerate(names)}
    theirs = Tokenizer(models.BPE(ids, [(names[a], names[b]) for a, b in merges]))
    cut = pre_tokenizers.Split(Regex(GPT4_PATTERN), "isolated")
    show_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    theirs.pre_tokenizer = pre_tokenizers.Sequence([cut, show_bytes])
    theirs.decoder = decoders.ByteLevel()
    return theirs


def train_peer() -> Tokenizer:
    """Training in tokenizers, on paragraphs: it is slower on one long text."""
    theirs = peer([])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=TRAIN_SIZE, initial_alphabet=alphabet, show_progress=False
    )
    theirs.train_from_iterator(PARAGRAPHS, trainer)
    return theirs


def rescan(ids: list[int], new_id: int) -> tuple[tuple[int, int], list[int]]:
    """One merge the plain way: count all pairs of the text, join the best one everywhere."""
    counts = {pair: n for pair, n in count_pairs(ids).items() if BREAK not in pair}
    best = max(counts, key=counts.get)
    return best, merge_pair(ids, best, new_id)


def rescan_seconds(merges: list[tuple[int, int]]) -> float:
    """How long all merges take by rescan: timed at some states of the text, straight between them.

    At each of them the rescan must find the merge that the library learned.
    """
    chunks = [chunk.encode() for chunk in split_chunks(TEXT)]
    states = [round(i * (len(merges) - 1) / (SAMPLES - 1)) for i in range(SAMPLES)]
    timed = []
    for k in states:
        new_ids = {pair: 256 + i for i, pair in enumerate(merges[:k])}
        ids_of = {chunk: [*apply_merges(chunk, new_ids), BREAK] for chunk in set(chunks)}
        ids = list(chain.from_iterable(ids_of[chunk] for chunk in chunks))
        start = time.perf_counter()
        best, _ = rescan(ids, 256 + k)
        timed.append(time.perf_counter() - start)
        assert best == merges[k]
    spans = zip(pairwise(states), pairwise(timed), strict=True)
    return timed[0] + sum((b - a) * (s + t) / 2 for (a, b), (s, t) in spans)


def train_row() -> list[str]:
    """Training at vocabulary 1,024."""
    ours = BytePairTokenizer.train([TEXT], TRAIN_SIZE)
    assert len(ours) == train_peer().get_vocab_size() == TRAIN_SIZE
    first, second = seconds([partial(BytePairTokenizer.train, [TEXT], TRAIN_SIZE), train_peer], 3)
    slow = rescan_seconds(ours.merges)
    print(f"BPE training, {TRAIN_SIZE} tokens: {first / second:.2g} of tokenizers' time;", end=" ")
    print(f"a rescan after each merge takes {slow / first:.0f} times as long")
    return [f"training, {TRAIN_SIZE:,}", f"{first / second:.2g}", f"{first / slow:.2g}"]


def encode_rows() -> list[list[str]]:
    """Encoding at vocabulary 4,096: with all words met before, and with none."""
    ours = BytePairTokenizer.train([TEXT], ENCODE_SIZE)
    theirs = peer(ours.merges)
    ids = ours.encode(TEXT)
    assert ids == theirs.encode(TEXT).ids
    assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False) == TEXT

    def ours_anew() -> list[int]:
        ours._chunk_ids.clear()
        return ours.encode(TEXT)

    def theirs_anew() -> object:
        theirs.model._clear_cache()
        return theirs.encode_batch_fast([TEXT])  # without offsets: its fastest form

    rows = []
    again = [partial(ours.encode, TEXT), partial(theirs.encode_batch_fast, [TEXT])]
    for name, functions in (("again", again), ("first time", [ours_anew, theirs_anew])):
        first, second = seconds(functions, 3)
        label = f"encoding, {ENCODE_SIZE:,}, {name}"
        print(f"BPE {label}: {first / second:.2g} of tokenizers' time, so {second / first:.2g}x")
        rows.append([label, f"{first / second:.2g}", "—"])
    return rows


def tokenization_rows() -> list[list[str]]:
    """All rows of the table."""
    print(f"BPE on {len(TEXT.encode()):,} bytes of English")
    return [train_row(), *encode_rows()]


if __name__ == "__main__":
    tokenization_rows()
