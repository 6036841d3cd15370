"""The second model of the workshop: a smaller GPT of characters, which has read this book.

It is trained as ``capstone`` trains its models. The first of every ten paragraphs is held out, the
second of every ten judges, and the weights are kept, in half precision, at the step at which these
are told best. The book is less than half as long as tiny Shakespeare, so the model is narrower, and
reads it more often.
"""

import math
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from softlookup.data import book_prose
from softlookup.data.prose import SHA256
from softlookup.models import load_gpt
from softlookup.recorded import capstone
from softlookup.recorded.ngram_shakespeare import SMALL_TEXT
from softlookup.tokenization import BytePairTokenizer

DATA = ()
OWN_DATA = {"this book’s prose": {"book.txt": SHA256}}
"""What comes with the library, and its checksum."""
SEED = 0
WEIGHTS = Path(__file__).parent / "capstone_prose.safetensors"
PROMPTS = ("Attention is ", "A model ", "Why ")
"""What the samples begin with."""


def load() -> str:
    """The prose of this book."""
    return book_prose()


def run_small() -> dict:
    """The same on the lines of a cat and a dog."""
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 2, "length": 16, "window": 8, "batch_size": 4}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "small.safetensors"
        found = run(SMALL_TEXT * 2, path, n_readings=3, prompts=("The cat",), n_written=20, **sizes)
    del found["sha256"]  # the file names the version of the code
    return found


def run(
    text: str,
    path: str | os.PathLike = WEIGHTS,
    *,
    n_readings: int = 20,
    dropout: float = 0.05,
    length: int = 128,
    window: int = 64,
    d_model: int = 96,
    n_heads: int = 4,
    n_layers: int = 4,
    batch_size: int = 16,
    prompts: Sequence[str] = PROMPTS,
    n_written: int = 300,
) -> dict:
    """Train the GPT, and write its weights in half precision.

    Args:
        text: Paragraphs, each in one line.
        path: The file of the weights.
        n_readings: How many times as many characters are read as the text has; after each reading
            the weights are judged.
        dropout: The rate while it learns.
        length: How many characters a piece of the text has.
        window: How many of the last characters a character reads in each block.
        d_model: The width of a row.
        n_heads: How many heads.
        n_layers: How many blocks.
        batch_size: How many pieces a step reads.
        prompts: What the samples begin with.
        n_written: How many characters each sample goes on for.

    Returns:
        Sizes; the loss of each tenth step in bits a character; what the judging paragraphs cost
        at each look, and the held-out ones before and after the rounding, in bits per byte;
        samples; the size and the checksum of the file.
    """
    learn, judge, held_out = parts_of(text)
    tokens = BytePairTokenizer([])
    shape = {"window": window, "d_model": d_model, "n_heads": n_heads, "n_layers": n_layers}
    model = capstone.new_model(tokens, **shape, dropout=dropout)
    ids = capstone.ids_of(learn, tokens)
    every = max(1, len(ids) // (batch_size * length))
    bits = partial(capstone.held_out_bits, tokens=tokens, length=length)
    told = partial(bits, text=judge)
    sizes = {"length": length, "batch_size": batch_size}
    losses, looks = capstone.train_and_choose(model, ids, n_readings * every, every, told, **sizes)
    model = capstone.without_dropout(model)
    capstone.keep(path, model, tokens, looks, sys.modules[__name__])
    return {
        "learned_from": len(ids),
        "read": n_readings * every * batch_size * length,
        "losses": [loss / math.log(2) for loss in losses[::10]],
        "looks": looks,
        "bits_before_rounding": bits(model, text=held_out),
        **capstone.results_of(path, held_out, length, prompts, n_written),
        "samples": samples_of(path, prompts, n_written),
    }


def samples_of(path: str | os.PathLike, prompts: Sequence[str], n_written: int) -> dict[str, str]:
    """What the model makes of each prompt, each drawn by chance of its own.

    With the same draws two samples go on alike as soon as their last words are the same.
    """
    model, tokens = load_gpt(path)
    written = partial(capstone.drawn_text, model, tokens, n_written=n_written)
    return {prompt: written(prompt, seed=seed) for seed, prompt in enumerate(prompts, SEED)}


def parts_of(text: str) -> tuple[str, str, str]:
    """What is learned from, the paragraphs that judge, and those that are held out."""
    lines = text.splitlines()
    held_out, judge = lines[::10], lines[1::10]
    learn = [line for i, line in enumerate(lines) if i % 10 > 1]
    return tuple("".join(f"{line}\n" for line in part) for part in (learn, judge, held_out))
