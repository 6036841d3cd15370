"""A small Transformer reads real French, beside the recurrent translators.

The captions of Multi30k, the words that are known, the number of batches and the scores are those
of ``seq2seq_multi30k``; only the model is another one. How good are its translations of captions
that it never saw, and where does its cross-attention look?
"""

from collections.abc import Mapping, Sequence

import torch

from softlookup.recorded import seq2seq_multi30k
from softlookup.recorded.seq2seq_multi30k import (
    COMMON,
    SHOWN,
    Captions,
    by_length,
    example,
    prepared,
    scored,
    small_data,
)
from softlookup.translation import corpus_bleu, train_transformer

DATA = ("multi30k",)
SEED = 0


def load() -> dict[str, Captions] | None:
    """The French and English captions for training and test, or None after a printed line."""
    return seq2seq_multi30k.load()


def run_small() -> dict:
    """The same on ten captions of our own; the last two are held out."""
    sizes = {"d_model": 8, "d_ff": 8, "batch_size": 8, "learning_rate": 0.02}
    return run(small_data(), common=1, shown=(0, 1), n_steps=40, **sizes)


def run(
    data: Mapping[str, Captions],
    *,
    common: int = COMMON,
    shown: Sequence[int] = SHOWN,
    d_model: int = 96,
    d_ff: int = 192,
    n_steps: int = 1300,
    batch_size: int = 64,
    learning_rate: float = 0.004,
) -> dict:
    """Train a Transformer on the short captions, and translate those that are held out.

    Args:
        data: Under "train" and "test" the captions of each language; line i says the same in both.
        common: How often a word must occur to be known.
        shown: The test captions that are kept with their translations.
        d_model: The width of a row.
        d_ff: The width inside a feed-forward layer.
        n_steps: How many batches it reads; with none, only the texts are measured.
        batch_size: How many captions a batch has.
        learning_rate: The largest step size.

    Returns:
        The sizes of the texts, the model's parameters and scores, BLEU by the book's own function,
        too, and the captions shown with the weights of the last block's cross-attention.
    """
    known, pairs, sources, test = prepared(data, common)
    references = [" ".join(target) for _, target in test]
    found = {"train": len(pairs), "test": len(test), "words": [len(words) for words in known]}
    if n_steps == 0:
        return found
    translator = train_transformer(
        pairs,
        generator=torch.Generator().manual_seed(SEED),
        d_model=d_model,
        d_ff=d_ff,
        dropout=0.1,
        n_steps=n_steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
    )
    written = translator.translate(sources)
    own = corpus_bleu([" ".join(text) for text in written], references, lowercase=True)
    return found | {
        "parameters": sum(weights.numel() for weights in translator.model.parameters()),
        **scored(written, references),
        "own_bleu": round(own.score, 1),
        "by_length": by_length(written, references, sources),
        "examples": [example(translator, sources[k], written[k], test[k]) for k in shown],
        "all_written": [" ".join(text) for text in written],
        "all_references": references,
    }
