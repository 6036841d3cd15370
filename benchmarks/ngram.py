"""n-gram models: seconds of training and of evaluation as the text grows fourfold."""

import gc
from functools import partial

from timing import seconds

from softlookup.data import book_prose
from softlookup.language_models import AddK, KneserNey, NGramModel, known_words
from softlookup.words import word_tokens

N_PARAGRAPHS = 300
NGRAM_HEADS = ["4 times the text", "training takes", "evaluation takes"]
MODELS = {
    "trigram, count ratios": lambda texts, words: NGramModel(texts, 3, words),
    "trigram, add-k": lambda texts, words: AddK(texts, 3, 0.01, words),
    "trigram, Kneser-Ney": lambda texts, words: KneserNey(texts, 3, words),
}


def ngram_rows() -> list[list[str]]:
    """Training and evaluation at n and 4n paragraphs: 4 where both are linear in the text."""
    texts = [word_tokens(line) for line in book_prose().splitlines()][: 4 * N_PARAGRAPHS]
    short = texts[::4]  # every fourth, so that both are the same mixture of long and short
    words, rows = known_words(texts, 2), []
    gc.disable()  # as timeit does: its visits grow with all that this process holds
    for name, train in MODELS.items():
        few, many = seconds([partial(train, part, words) for part in (short, texts)])
        model = train(texts, words)
        fast, slow = seconds([partial(evaluate, model, part) for part in (short, texts)])
        factor = sum(map(len, texts)) / sum(map(len, short)) / 4
        rows.append([name, f"{many / few / factor:.2g}", f"{slow / fast / factor:.2g}"])
        print(f"{name}, 4 times the text: training {rows[-1][1]}, evaluation {rows[-1][2]} times")
    gc.enable()
    return rows


def evaluate(model: NGramModel, texts: list[list[str]]) -> float:
    """The log-probability of all texts."""
    return sum(model.log_probability(text) for text in texts)


if __name__ == "__main__":
    ngram_rows()
