"""Two small translators read real English and write German: a Transformer and a recurrent one.

Multi30k has captions of photographs in English and in German. Both languages are cut into pieces by
one byte-pair tokenizer, so that no word is unknown. Then a Transformer and the recurrent translator
with attention learn from the same captions, in the same batches, for as many steps. How good are
their translations of captions that they never saw, and where does the Transformer look?
"""

from collections.abc import Iterable, Mapping, Sequence

import torch

from softlookup.recorded.captions import parallel_captions
from softlookup.tokenization import BytePairTokenizer
from softlookup.translation import (
    Translator,
    corpus_bleu,
    train_transformer,
    train_translator,
)

DATA = ("multi30k",)
SEED = 0
PIECES = 3000
"""How many pieces the tokenizer has, for both languages together."""
TAUGHT = 10_000
"""From so many captions of each language it learns them."""
MOST = 60
"""No translation gets longer than that many pieces."""
SHOWN = tuple(range(24))
"""The test captions whose translations are kept."""
LOOKED = 12
"""Of so many of these the attention weights are kept, too."""
GROUPS: Mapping[str, range] = {
    "up to 12": range(13),
    "13 to 18": range(13, 19),
    "19 and more": range(19, 1000),
}
"""Captions by their number of pieces in English."""

SIZES: Mapping[str, Mapping[str, object]] = {
    "Transformer": {"d_model": 128, "d_ff": 512, "dropout": 0.05, "learning_rate": 0.003},
    "recurrent": {"d_model": 96, "d_hidden": 144, "d_attention": 64, "learning_rate": 0.004},
}

Captions = Mapping[str, Sequence[str]]
Pieces = Sequence[str]

SMALL = {
    "en": [
        "A cat sleeps on the mat.",
        "A dog sleeps on the bench.",
        "A girl reads a book.",
        "A dog runs through the grass.",
        "A cat runs on the mat.",
        "A girl runs through the grass.",
        "A white cat sleeps on the bench.",
        "A white dog sleeps in the grass.",
        "A white dog runs on the mat.",
        "A cat sleeps in the grass.",
    ],
    "de": [
        "Eine Katze schläft auf der Matte.",
        "Ein Hund schläft auf der Bank.",
        "Ein Mädchen liest ein Buch.",
        "Ein Hund läuft durch das Gras.",
        "Eine Katze läuft auf der Matte.",
        "Ein Mädchen läuft durch das Gras.",
        "Eine weiße Katze schläft auf der Bank.",
        "Ein weißer Hund schläft im Gras.",
        "Ein weißer Hund läuft auf der Matte.",
        "Eine Katze schläft im Gras.",
    ],
}


def load() -> dict[str, Captions] | None:
    """The English and German captions for training and test, or None after a printed line."""
    return parallel_captions(["train", "test"], ["en", "de"])


def run_small() -> dict:
    """The same on ten captions of our own; the last two are held out."""
    data = {
        "train": {language: texts[:8] for language, texts in SMALL.items()},
        "test": {language: texts[8:] for language, texts in SMALL.items()},
    }
    sizes = {
        "Transformer": {"d_model": 16, "d_ff": 16, "learning_rate": 0.02},
        "recurrent": {"d_model": 8, "d_hidden": 16, "d_attention": 8, "learning_rate": 0.02},
    }
    return run(data, sizes=sizes, n_pieces=300, n_steps=40, batch_size=8, shown=(0, 1))


def run(
    data: Mapping[str, Captions],
    *,
    sizes: Mapping[str, Mapping[str, object]] = SIZES,
    n_pieces: int = PIECES,
    n_steps: int = 2000,
    batch_size: int = 48,
    shown: Sequence[int] = SHOWN,
) -> dict:
    """Cut both languages into pieces, train each model, and translate the test captions.

    Args:
        data: Under "train" and "test" the captions of each language; line i says the same in both.
        sizes: The widths and the learning rate of each model, by name; without any, only the texts
            are measured.
        n_pieces: How many pieces the tokenizer has.
        n_steps: How many batches each model reads.
        batch_size: How many captions a batch has.
        shown: The test captions that are kept with their translations.

    Returns:
        The sizes of the texts; for each model its parameters, scores and translations; and where
        the Transformer looked.
    """
    train, test = data["train"], data["test"]
    tokenizer = BytePairTokenizer.train([*train["en"][:TAUGHT], *train["de"][:TAUGHT]], n_pieces)
    pairs = list(zip(*(cut(train[side], tokenizer) for side in ("en", "de")), strict=True))
    sources = cut(test["en"], tokenizer)
    plan = {"n_steps": n_steps, "batch_size": batch_size}
    found = {
        "train": len(pairs),
        "test": len(sources),
        "pieces": [mean_length(side) for side in zip(*pairs, strict=True)],
        "examples": [{"source": test["en"][k], "reference": test["de"][k]} for k in shown],
        "models": {},
        "weights": [],
    }
    for name, size in sizes.items():
        translator = trained(name, pairs, {**plan, **size}, n_pieces)
        written = translator.translate(sources, max_length=MOST)
        texts = [joined(ids, tokenizer) for ids in written]
        found["models"][name] = {
            "parameters": sum(weights.numel() for weights in translator.model.parameters()),
            **scored(texts, test["de"]),
            "by_length": by_length(texts, test["de"], sources),
            "written": [texts[k] for k in shown],
        }
        if name == "Transformer":
            looked = [(sources[k], written[k]) for k in shown[:LOOKED]]
            found["weights"] = [looks(translator, *pair, tokenizer) for pair in looked]
    return found


def trained(
    name: str, pairs: Sequence[tuple[Pieces, Pieces]], plan: Mapping[str, object], n_pieces: int
) -> Translator:
    """A Transformer with one table for both languages, or the recurrent translator."""
    generator = torch.Generator().manual_seed(SEED)
    if name == "recurrent":
        return train_translator(pairs, generator=generator, **plan)
    vocabulary = [str(k) for k in range(n_pieces)]
    return train_transformer(
        pairs, generator=generator, vocabulary=vocabulary, n_warmup=100, **plan
    )


def cut(texts: Iterable[str], tokenizer: BytePairTokenizer) -> list[list[str]]:
    """The pieces of each text: their numbers as words."""
    return [[str(k) for k in tokenizer.encode(text)] for text in texts]


def joined(ids: Iterable[str], tokenizer: BytePairTokenizer) -> str:
    """The text that the pieces make; filler and beginnings that a model wrote are left out."""
    return tokenizer.decode(int(k) for k in ids if k.isdigit())


def mean_length(texts: Sequence[Pieces]) -> float:
    """How many pieces a text has on average."""
    return round(sum(map(len, texts)) / len(texts), 1)


def scored(written: Sequence[str], references: Sequence[str]) -> dict:
    """BLEU by the book's own function with its parts, beside sacrebleu's, and the exact ones."""
    from sacrebleu.metrics import BLEU  # of those who record and test; readers need it not

    own, metric = corpus_bleu(written, references), BLEU()
    other = metric.corpus_score(list(written), [list(references)])
    return {
        "bleu": round(own.score, 1),
        "precisions": [round(100 * share, 1) for share in own.precisions],
        "brevity_penalty": round(own.brevity_penalty, 3),
        "exact": sum(map(str.__eq__, written, references)),
        "sacrebleu": round(other.score, 1),
        "signature": str(metric.get_signature()),
    }


def by_length(written: Sequence[str], references: Sequence[str], sources: Sequence[Pieces]) -> dict:
    """How many captions are short, middling and long, and BLEU on them."""
    rows = {}
    for name, lengths in GROUPS.items():
        own = [k for k, source in enumerate(sources) if len(source) in lengths]
        texts = [written[k] for k in own], [references[k] for k in own]
        rows[name] = [len(own), round(corpus_bleu(*texts).score, 1) if own else None]
    return rows


def looks(
    translator: Translator, source: Pieces, written: Pieces, tokenizer: BytePairTokenizer
) -> dict:
    """Where the last block's cross-attention looks while it writes, the mean of its heads."""
    shares = translator.align([source], [written])[0].tolist() if len(written) > 0 else []
    return {
        "read": [joined([k], tokenizer) for k in source],
        "written": [joined([k], tokenizer) for k in written],
        "shares": [[round(share, 2) for share in row] for row in shares],
    }
