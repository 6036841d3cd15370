"""`make bench`: ratios of two things measured in one run, printed and written for the site.

A ratio above 1 means that the library takes longer, or more memory, than what it is compared with.
The seconds of a machine say little about another; that two things differ tenfold in one run does.
"""

import datetime
import math
import multiprocessing
import os
import platform
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import torch
from attention import AGAINST_HEADS, GROWTH_HEADS, against_rows, growth_rows
from efficient import TILES_HEADS, WINDOW_HEADS, tiles_rows, window_rows
from generation import GENERATION_HEADS, generation_rows
from memory import high_water
from ngram import HEADS as NGRAM_HEADS
from ngram import ngram_rows
from recipes import RECIPE_HEADS, recipe_rows
from recurrence import gru_rows, length_rows
from sklearn.feature_extraction.text import TfidfVectorizer
from timing import seconds
from tokenization import tokenization_rows
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from word2vec import HEADS, word2vec_rows

from softlookup.attention import attention
from softlookup.counting import count_matrix, tf_idf
from softlookup.data import messages
from softlookup.text import word_tokens

D_K = 64
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
PAGE = Path(__file__).parent / "last_run.md"


def loop(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention one query at a time: what the matrix form is measured against."""
    rows = []
    for one in query:
        weights = (key @ one / math.sqrt(D_K)).softmax(dim=0)
        rows.append(weights @ value)
    return torch.stack(rows)


def fused(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """PyTorch's own kernel; only a batch of heads takes the path that never holds all weights."""
    batch_of_one_head = (tensor[None, None] for tensor in (query, key, value))
    return scaled_dot_product_attention(*batch_of_one_head)[0, 0]


PEERS = {"library": attention, "loop": loop, "fused": fused}


def inputs(n: int) -> tuple[Tensor, Tensor, Tensor]:
    """The same random query, key and value for every peer."""
    generator = torch.Generator().manual_seed(n)
    return tuple(torch.randn(n, D_K, generator=generator) for _ in range(3))


def _peak_of(peer: str, n: int) -> float:
    torch.set_num_threads(1)
    function, arguments = PEERS[peer], inputs(n)
    function(*inputs(16))
    before = high_water()
    function(*arguments)
    return high_water() - before


def peak_megabytes(peer: str, n: int) -> float:
    """By how much one call raises the peak memory of a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_peak_of, peer, n).result()


def _ratio(first: float, second: float) -> float | None:
    """The ratio of two peaks, or None where one is too small to be told from the page size."""
    return first / second if min(first, second) >= 1 else None


def _shown(ratio: float | None) -> str:
    if ratio is None:
        return "—"
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def attention_rows() -> list[list[str]]:
    """One row per length: time and peak memory as ratios to the loop and to the fused kernel."""
    rows = []
    for n in LENGTHS:
        arguments = inputs(n)
        expected = fused(*arguments)
        for function in PEERS.values():
            torch.testing.assert_close(function(*arguments), expected)
        ours, naive, kernel = seconds([partial(peer, *arguments) for peer in PEERS.values()])
        peaks = [peak_megabytes(peer, n) for peer in PEERS]
        ratios = [
            ours / naive,
            ours / kernel,
            _ratio(peaks[0], peaks[1]),
            _ratio(peaks[0], peaks[2]),
        ]
        held = f"{peaks[0]:.0f}" if peaks[0] >= 1 else "under 1"
        row = [f"{n:,}", *map(_shown, ratios), held]
        rows.append(row)
        print(
            f"attention, n = {n}: time {row[1]} of the loop's, {row[2]} of the kernel's;", end=" "
        )
        print(f"memory {row[3]} of the loop's, {row[4]} of the kernel's")
    return rows


def tf_idf_row() -> list[str]:
    """TF-IDF of the bundled messages: the library against scikit-learn, from text to matrix."""
    texts = [message.text for message in messages()]

    def ours() -> Tensor:
        documents = [word_tokens(text) for text in texts]
        vocabulary = sorted(set().union(*documents))
        return tf_idf(count_matrix(documents, vocabulary), idf="smooth")

    def theirs():
        vectorizer = TfidfVectorizer(tokenizer=word_tokens, token_pattern=None, norm=None)
        return vectorizer.fit_transform(texts)

    torch.testing.assert_close(ours(), torch.as_tensor(theirs().toarray()))
    first, second = seconds([ours, theirs])
    print(f"tf-idf of {len(texts)} messages: {first / second:.2g} of scikit-learn's time")
    return [f"{len(texts)} messages", f"{first / second:.2g}"]


def machine() -> str:
    """The machine's kind in words: no name, no path."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU used"
    return f"{platform.machine()} processor, {os.cpu_count()} cores, one thread, {gpu}"


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A Markdown table with numbers to the right."""
    lines = [heads, [":--", *("--:" for _ in heads[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """Measure, print, write."""
    torch.set_num_threads(1)
    heads = ["n", "time, to the loop", "time, to the kernel"]
    heads += ["memory, to the loop", "memory, to the kernel", "library's MB"]
    first = table(heads, attention_rows())
    second = table(["text", "time, to scikit-learn"], [tf_idf_row()])
    third = table(["tokens", "time, to tokenizers", "time, to a rescan"], tokenization_rows())
    fourth = table(HEADS, word2vec_rows())
    recurrent = table(["one training step of the GRU", "time, to nn.GRU"], gru_rows())
    against = table(["n", "time of the GRU, to attention"], length_rows())
    counted = table(NGRAM_HEADS, ngram_rows())
    growth = table(GROWTH_HEADS, growth_rows())
    many_heads = table(AGAINST_HEADS, against_rows())
    generation = table(GENERATION_HEADS, generation_rows())
    recipes = table(RECIPE_HEADS, recipe_rows())
    windows = table(WINDOW_HEADS, window_rows())
    tiles = table(TILES_HEADS, tiles_rows())
    stamp = (
        f"Measured on {datetime.date.today():%d %B %Y}: {machine()}, PyTorch {torch.__version__}."
    )
    parts = [stamp, first, second, third, fourth, recurrent, against, counted, growth]
    parts += [many_heads, generation, recipes, windows, tiles]
    PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
