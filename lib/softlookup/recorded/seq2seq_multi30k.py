"""A small translator reads real French: with attention, with bare states, and with a summary alone.

Multi30k has captions of photographs in French and in English. Three recurrent translators of about
the same size learn from the short ones: one reads all rows of the source, one reads rows that lack
the words' embeddings, and one reads nothing but the summary. How good are their translations of
captions that they never saw, and where does each look? Then the first one writes in several ways:
greedily, with beams of several widths, and by chance.
"""

from collections.abc import Iterable, Mapping, Sequence

import torch

from softlookup.language_models import Hypothesis, beam_search, greedy, known_words, sample
from softlookup.recorded.captions import parallel_captions
from softlookup.translation import BOS, EOS, Translator, bleu_tokens, train_translator

DATA = ("multi30k",)
SEED = 0
LONGEST = 12
"""Captions of more French tokens than that are left out, the full stop counted."""
COMMON = 5
"""A word that occurs less often in the training captions is replaced by UNKNOWN."""
UNKNOWN = "⟨unk⟩"
DECODED = 200
"""On so many captions the ways to write are compared."""
KEPT = 10
"""So many of these are kept."""
MOST = 40
"""No translation gets longer."""
SHOWN = tuple(range(12))
"""The test captions whose translations are kept."""

READERS: Mapping[str, Mapping[str, object]] = {
    "attention": {"d_hidden": 192},
    "attention, bare states": {"d_hidden": 192, "shortcut": False},
    "summary alone": {"d_hidden": 204, "attention": "none"},
}
WAYS: Mapping[str, Mapping[str, object]] = {
    "greedy": {},
    "beam of 2": {"width": 2},
    "beam of 5": {"width": 5},
    "beam of 20": {"width": 20},
    "beam of 100": {"width": 100},
    "beam of 20, penalty 1": {"width": 20, "length_penalty": 1.0},
    "sample": {"temperature": 1.0},
    "sample, temperature 0.5": {"temperature": 0.5},
    "sample, top-p 0.5": {"top_p": 0.5},
}

Sentence = Sequence[str]
Pair = tuple[Sentence, Sentence]
Captions = Mapping[str, Sequence[str]]

SMALL = {
    "fr": [
        "Un chat dort sur le tapis.",
        "Un chien dort sur le banc.",
        "Une fille lit un livre.",
        "Un chien court dans l'herbe.",
        "Un chat court sur le tapis.",
        "Une fille court dans l'herbe.",
        "Un chat blanc dort sur le banc.",
        "Un chien blanc dort dans l'herbe.",
        "Un chien blanc court sur le tapis.",
        "Un chat dort dans l'herbe.",
    ],
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
}


def load() -> dict[str, Captions] | None:
    """The French and English captions for training and test, or None after a printed line."""
    return parallel_captions(["train", "test"], ["fr", "en"])


def run_small() -> dict:
    """The same on ten captions of our own; the last two are held out."""
    sizes = {"n_steps": 25, "d_model": 8, "batch_size": 8, "learning_rate": 0.02}
    ways = {name: WAYS[name] for name in ("greedy", "beam of 2", "sample, temperature 0.5")}
    return run(small_data(), common=1, shown=(0, 1), ways=ways, **sizes)


def small_data() -> dict[str, Captions]:
    """Ten captions of our own in the form of the data; the last two are held out."""
    return {
        "train": {language: texts[:8] for language, texts in SMALL.items()},
        "test": {language: texts[8:] for language, texts in SMALL.items()},
    }


def run(
    data: Mapping[str, Captions],
    *,
    readers: Iterable[str] = READERS,
    ways: Mapping[str, Mapping[str, object]] = WAYS,
    common: int = COMMON,
    shown: Sequence[int] = SHOWN,
    d_model: int = 96,
    n_steps: int = 1300,
    batch_size: int = 64,
    learning_rate: float = 0.004,
) -> dict:
    """Train each reader, translate the test captions, and write with the first reader in each way.

    Args:
        data: Under "train" and "test" the captions of each language; line i says the same in both.
        readers: Which of ``READERS`` are trained; without any, only the texts are measured.
        ways: The ways to write that are compared.
        common: How often a word must occur to be known.
        shown: The test captions that are kept with their translations.
        d_model: The width of the embeddings.
        n_steps: How many batches each model reads.
        batch_size: How many captions a batch has.
        learning_rate: The largest step size.

    Returns:
        The sizes of the texts; for each reader its parameters, its scores and the captions shown,
        with the attention weights; and the scores of each way to write.
    """
    known, pairs, sources, test = prepared(data, common)
    references = [" ".join(target) for _, target in test]
    found = {
        "train": len(pairs),
        "test": len(test),
        "words": [len(words) for words in known],
        "unknown": [share_unknown([pair[side] for pair in test], known[side]) for side in (0, 1)],
        "readers": {},
        "ways": {},
    }
    for name in readers:
        translator = train_translator(
            pairs,
            generator=torch.Generator().manual_seed(SEED),
            d_model=d_model,
            d_attention=64,
            n_steps=n_steps,
            batch_size=batch_size,
            learning_rate=learning_rate,
            **READERS[name],
        )
        written = translator.translate(sources)
        looks = READERS[name].get("attention") != "none"
        found["readers"][name] = {
            "parameters": sum(weights.numel() for weights in translator.model.parameters()),
            **scored(written, references),
            "by_length": by_length(written, references, sources),
            "examples": [
                example(translator, sources[k], written[k], test[k], looks=looks) for k in shown
            ],
        }
        if name == "attention":
            found["ways"] = compared(translator, sources[:DECODED], references[:DECODED], ways)
    return found


def prepared(
    data: Mapping[str, Captions], common: int
) -> tuple[list[set[str]], list[Pair], list[Sentence], list[Pair]]:
    """The known words of each language; what is read: training pairs and test sources; the test."""
    train, test = (short_pairs(data[split]) for split in ("train", "test"))
    known = [set(known_words([pair[side] for pair in train], common)) for side in (0, 1)]
    pairs = [(known_only(own, known[0]), known_only(other, known[1])) for own, other in train]
    return known, pairs, [known_only(source, known[0]) for source, _ in test], test


def short_pairs(captions: Captions) -> list[tuple[list[str], list[str]]]:
    """The captions as lower-case tokens, without the long ones; l'herbe is l' and herbe."""
    french = [bleu_tokens(text.lower().replace("'", "' ")) for text in captions["fr"]]
    english = [bleu_tokens(text.lower()) for text in captions["en"]]
    pairs = zip(french, english, strict=True)
    return [(source, target) for source, target in pairs if len(source) <= LONGEST]


def known_only(text: Sentence, known: set[str]) -> list[str]:
    """The text, each token that is not known replaced."""
    return [word if word in known else UNKNOWN for word in text]


def share_unknown(texts: Iterable[Sentence], known: set[str]) -> float:
    """The share of the tokens that are not known."""
    missing = [word not in known for text in texts for word in text]
    return round(sum(missing) / len(missing), 3)


def scored(written: Sequence[Sentence], references: Sequence[str]) -> dict:
    """BLEU as sacrebleu computes it, lower case, with its four precisions and the length ratio."""
    from sacrebleu.metrics import BLEU  # of those who record and test; readers need it not

    metric = BLEU(lowercase=True, force=True)  # the texts are cut into words already
    result = metric.corpus_score([" ".join(text) for text in written], [list(references)])
    exact = sum(" ".join(text) == own for text, own in zip(written, references, strict=True))
    return {
        "bleu": round(result.score, 1),
        "precisions": [round(share, 1) for share in result.precisions],
        "ratio": round(result.sys_len / result.ref_len, 3),
        "exact": exact,
        "signature": str(metric.get_signature()),
    }


def by_length(
    written: Sequence[Sentence], references: Sequence[str], sources: Sequence[Sentence]
) -> dict:
    """How many captions have how many French tokens, and BLEU on them."""
    groups = {"up to 8": range(9), "9 and 10": range(9, 11), "11 and 12": range(11, 13)}
    rows = {}
    for name, sizes in groups.items():
        own = [k for k, source in enumerate(sources) if len(source) in sizes]
        score = scored([written[k] for k in own], [references[k] for k in own]) if own else None
        rows[name] = [len(own), score["bleu"] if score else None]
    return rows


def example(
    translator: Translator, source: Sentence, written: Sentence, pair: Pair, *, looks: bool = True
) -> dict:
    """One caption: what stood there, what was read and written, and where the model looked.

    A model that does not look at the source (``looks=False``) has no weights.
    """
    looked = translator.align([source], [written])[0].tolist() if looks and written else []
    rows = [[round(share, 2) for share in row] for row in looked]
    return {
        "source": list(pair[0]),
        "read": list(source),
        "reference": list(pair[1]),
        "written": list(written),
        "weights": rows if looks else None,
    }


def compared(
    translator: Translator,
    sources: Sequence[Sentence],
    references: Sequence[str],
    ways: Mapping[str, Mapping[str, object]],
) -> dict:
    """For each way to write: its scores, the mean log-probability, and the first captions."""
    rows = {}
    for name, options in ways.items():
        generator = torch.Generator().manual_seed(SEED)
        texts = [decode(translator, source, options, generator) for source in sources]
        written = [translator.target.decode(text.ids) for text in texts]
        rows[name] = {
            **scored(written, references),
            "log_probability": round(sum(t.log_probability for t in texts) / len(texts), 2),
            "different_words": len({word for text in written for word in text}),
            "written": written[:KEPT],
        }
    return rows


def decode(
    translator: Translator,
    source: Sentence,
    options: Mapping[str, object],
    generator: torch.Generator,
) -> Hypothesis:
    """Translate a sentence: with a beam if there is a width, otherwise by chance or greedily."""
    model, (bos, eos) = translator.model, translator.target.encode([BOS, EOS])
    ids = translator.source.encode(list(source))
    with torch.no_grad():
        state = model.start(torch.tensor([ids]), [len(ids)])
    common = (model.step, state, bos, eos, MOST)
    if "width" in options:
        return beam_search(*common, **options)[0]
    return sample(*common, generator=generator, **options)[0] if options else greedy(*common)[0]
