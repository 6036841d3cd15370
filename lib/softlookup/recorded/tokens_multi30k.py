"""One sentence, three languages: how many tokens each pays, and what the tokenizer was taught.

Multi30k has the same captions in English, German and French. A byte-pair tokenizer learns from
captions mixed in some proportion, and cuts captions that it never saw. What it needs for the same
sentence in another language, divided by what it needs in English, is the price of that language.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from statistics import fmean

from softlookup.recorded.captions import parallel_captions
from softlookup.tokenization import BytePairTokenizer

DATA = ("multi30k",)
SEED = 0
"""Nothing is drawn: the captions of a mixture are the first ones of each language."""
LANGUAGES = ("en", "de", "fr")
MIXTURES = {
    "English only": (1.0, 0.0, 0.0),
    "90 % English": (0.9, 0.05, 0.05),
    "a third each": (1 / 3, 1 / 3, 1 / 3),
}
SIZES = (512, 1024, 2048, 4096, 8192)
SHOWN = 4096
"""The size of which the example is kept, piece by piece."""

Captions = Mapping[str, Sequence[str]]

SMALL = {
    "en": [
        "A cat sleeps on the mat.",
        "Two dogs run through the grass.",
        "A girl reads a book on a bench.",
        "The dog sleeps on the bench.",
        "Two girls run with a dog.",
        "A cat sits on a book.",
        "The girl sleeps on the grass.",
        "A dog reads a book.",
    ],
    "de": [
        "Eine Katze schläft auf der Matte.",
        "Zwei Hunde laufen durch das Gras.",
        "Ein Mädchen liest ein Buch auf einer Bank.",
        "Der Hund schläft auf der Bank.",
        "Zwei Mädchen laufen mit einem Hund.",
        "Eine Katze sitzt auf einem Buch.",
        "Das Mädchen schläft auf dem Gras.",
        "Ein Hund liest ein Buch.",
    ],
    "fr": [
        "Un chat dort sur le tapis.",
        "Deux chiens courent dans l'herbe.",
        "Une fille lit un livre sur un banc.",
        "Le chien dort sur le banc.",
        "Deux filles courent avec un chien.",
        "Un chat est assis sur un livre.",
        "La fille dort sur l'herbe.",
        "Un chien lit un livre.",
    ],
}


def load() -> dict[str, Captions] | None:
    """The training and the test captions by language, or None after a printed line."""
    return parallel_captions(["train", "test"], LANGUAGES)


def run_small() -> dict:
    """The same on eight sentences about cats, dogs and a girl; the last two are held out."""
    data = {
        "train": {language: texts[:6] for language, texts in SMALL.items()},
        "test": {language: texts[6:] for language, texts in SMALL.items()},
    }
    return run(data, sizes=(280, 320), shown=320)


def run(data: Mapping[str, Captions], sizes: Iterable[int] = SIZES, *, shown: int = SHOWN) -> dict:
    """Train a tokenizer on each mixture at each size, and count the tokens of unseen captions.

    Args:
        data: Under "train" and "test" the captions of each language; line i says the same in all.
        sizes: Vocabulary sizes.
        shown: The size of which the first test caption is kept, piece by piece.

    Returns:
        Characters and bytes of a test caption, on average, by language; under "tokens" the tokens
        of one, by mixture, size and language; and under "example" the pieces of the first one.
    """
    train, test = data["train"], data["test"]
    tokens: dict[str, dict[str, dict[str, float]]] = {}
    example: dict[str, dict[str, list[str]]] = {}
    for name, shares in MIXTURES.items():
        texts = mixed(train, shares)
        tokens[name] = {}
        for size in sizes:
            tokenizer = BytePairTokenizer.train(texts, size)
            tokens[name][str(size)] = {
                language: fmean(len(tokenizer.encode(text)) for text in test[language])
                for language in LANGUAGES
            }
            if size == shown:
                example[name] = {
                    language: pieces(tokenizer, test[language][0]) for language in LANGUAGES
                }
    return {
        "characters": {language: fmean(map(len, test[language])) for language in LANGUAGES},
        "bytes": {
            language: fmean(len(text.encode()) for text in test[language]) for language in LANGUAGES
        },
        "tokens": tokens,
        "example": example,
    }


def mixed(captions: Captions, shares: Sequence[float]) -> list[str]:
    """The first captions of each language, by its share; as many in all as one language has."""
    parts = [
        captions[language][: round(share * len(captions[language]))]
        for language, share in zip(LANGUAGES, shares, strict=True)
    ]
    return list(chain.from_iterable(parts))


def pieces(tokenizer: BytePairTokenizer, text: str) -> list[str]:
    """The tokens of a text, to be read; bytes that are no character are hexadecimal."""
    parts = [tokenizer.token_bytes[id_] for id_ in tokenizer.encode(text)]
    return [readable(part) for part in parts]


def readable(part: bytes) -> str:
    """One token in letters, or in hexadecimal digits where it is no whole character."""
    try:
        return part.decode()
    except UnicodeDecodeError:
        return f"<{part.hex(' ').upper()}>"
