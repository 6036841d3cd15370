"""Search on real text: averages of word vectors, before and after contrastive training.

Two searches, each with pairs to learn from and other pairs for the test. A message of the SMS Spam
Collection is cut after its first sentence: which message goes on like this? And a German caption of
Multi30k: which English caption says the same? Both encoders are averages of one table of word
vectors. word2vec makes the table, and contrastive training changes its rows. The rival is TF-IDF,
which finds only words that both sides share.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from softlookup.data import sms_spam
from softlookup.ops import unit_vectors
from softlookup.recorded.captions import parallel_captions
from softlookup.training import train_model
from softlookup.words import (
    contrastive_loss,
    count_matrix,
    inverse_document_frequency,
    procrustes,
    recall_at_k,
    similarity,
    word_tokens,
)
from softlookup.words.word2vec import train_word2vec

DATA = ("sms_spam", "multi30k")
SEED = 0
SEARCHES = ("messages", "captions")
"""The captions come last: their table serves for further trainings."""
TEST_MESSAGES = 500
"""How many pairs of messages are kept for the test; Multi30k has its own test captions."""
FEWER = (100, 300, 1000, 3000, 10_000)
"""How many pairs of captions a training gets that is to show what their number does."""
TEMPERATURES = (0.01, 0.05, 0.2, 1.0)
BATCH_SIZES = (8, 32, 128)
"""What the training with captions is tried with; elsewhere it is ``TEMPERATURE`` and 128."""
TEMPERATURE = 0.05
EPOCHS, LEAST_STEPS = 5, 200
"""Contrastive training goes so often through its pairs, and takes at least so many steps."""
KS = (1, 5, 10)
LEAST_WORDS = 3
"""A part of a message with fewer words is no query."""
SAME = 0.5
"""Two pairs are twins if they share this part of all the words that occur in either of them."""
SHOWN = 4
"""How many test queries are kept with what was found for them."""

Text = list[str]
Pair = tuple[Text, Text]
"""The words of a query and of the document that belongs to it."""
Ids = tuple[list[int], list[int]]
"""The same as rows of a table."""

SMALL_TEXT = """a dog runs = ein hund rennt
a cat runs = eine katze rennt
a dog sleeps = ein hund schläft
a cat sleeps = eine katze schläft
a horse runs = ein pferd rennt
a horse sleeps = ein pferd schläft
a man runs = ein mann rennt
a man sleeps = ein mann schläft"""


def load() -> dict[str, tuple[list[Pair], list[Pair]]] | None:
    """For each search the pairs for training and for the test, or None with a printed line."""
    messages, captions = sms_spam(), parallel_captions(["train", "test"], ["de", "en"])
    if messages is None or captions is None:
        return None
    pairs = message_pairs(list(dict.fromkeys(message.text for message in messages)))
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(SEED)).tolist()
    pairs = [pairs[i] for i in order]
    return {
        "messages": (pairs[TEST_MESSAGES:], pairs[:TEST_MESSAGES]),
        "captions": (caption_pairs(captions["train"]), caption_pairs(captions["test"])),
    }


def caption_pairs(captions: Mapping[str, Sequence[str]]) -> list[Pair]:
    """The words of each German caption and those of the English one that says the same."""
    return [
        (word_tokens(german), word_tokens(english))
        for german, english in zip(captions["de"], captions["en"], strict=True)
    ]


def message_pairs(texts: Sequence[str]) -> list[Pair]:
    """The first sentence of each text and its rest, where both have some words."""
    pairs = []
    for text in texts:
        first, *rest = re.split(r"(?<=[.!?])\s+", text)
        pair = word_tokens(first), word_tokens(" ".join(rest))
        if min(len(pair[0]), len(pair[1])) >= LEAST_WORDS:
            pairs.append(pair)
    return pairs


def run_small() -> dict:
    """The same on eight sentences of our own, in two languages, as messages and as captions."""
    pairs = [tuple(side.split() for side in line.split(" = ")) for line in SMALL_TEXT.split("\n")]
    data = dict.fromkeys(SEARCHES, (pairs[:6], pairs[6:]))
    options = {"d_model": 4, "min_count": 1, "subsample": 1.0, "ks": (1, 2), "batch_size": 3}
    return run(data, fewer=(3,), temperatures=(0.5,), batch_sizes=(2,), **options)


def run(
    data: dict[str, tuple[list[Pair], list[Pair]]],
    searches: Sequence[str] = SEARCHES,
    *,
    fewer: Sequence[int] = FEWER,
    temperatures: Sequence[float] = TEMPERATURES,
    batch_sizes: Sequence[int] = BATCH_SIZES,
    ks: Sequence[int] = KS,
    d_model: int = 64,
    min_count: int = 3,
    subsample: float = 0.001,
    batch_size: int = 128,
) -> dict:
    """Average, then train the average, and count how often the right document is found.

    Args:
        data: What ``load`` gives.
        searches: Which searches, of ``SEARCHES``.
        fewer: Numbers of pairs of captions for further trainings.
        temperatures: Temperatures for further trainings with all pairs of captions.
        batch_sizes: Sizes of batches for the same.
        ks: Among how many answers the right one counts as found.
        d_model: The length of the vectors.
        min_count: Words that occur less often in the training texts are left out.
        subsample: word2vec's threshold above which frequent words are thinned out.
        batch_size: How many pairs are each other's negatives.

    Returns:
        For each search its sizes, the recall of each way, some queries with what was found, and
        the document that word2vec's average finds most often.
        For the messages also how many each way finds of those with a twin in the training.
    """
    results = {}
    for name in searches:
        train, test = data[name]
        joined = name == "messages"  # there a query and its document are one text
        texts = texts_of(train, joined)
        table, row = word_vectors(texts, d_model, min_count, subsample)
        twin = has_twin(train, test) if joined else None
        train = [(ids(query, row), ids(document, row)) for query, document in train]
        test_ids = [(ids(query, row), ids(document, row)) for query, document in test]
        trained = train_table(table, train, batch_size=batch_size)
        unread = train_table(random_table(table), train, batch_size=batch_size)
        scores = {
            "TF-IDF": tf_idf_cosines(texts, test),
            "word2vec": cosines(table, test_ids),
            "word2vec, IDF-weighted": cosines(rarity(texts, row)[:, None] * table, test_ids),
            "word2vec, centred": centred_cosines(table, train, test_ids),
            "word2vec, rotated": centred_cosines(table, train, test_ids, rotated=True),
            "from random numbers": cosines(unread, test_ids),
            "bi-encoder": cosines(trained, test_ids),
        }
        results[name] = {
            "pairs": len(train),
            "documents": len(test),
            "vocabulary": len(row),
            "recall": {way: recalls(found, ks) for way, found in scores.items()},
            "shown": shown(test, scores["word2vec"], scores["bi-encoder"]),
            "hub": hub(test, scores["word2vec"]),
            "lengths": lengths(table, trained, train),
            "training": {
                "temperature": TEMPERATURE,
                "batch_size": min(batch_size, len(train)),
                "steps": n_steps(len(train), batch_size),
            },
        }
        if joined:
            results[name]["twins"] = {
                "with": int(twin.sum()),
                "without": int((~twin).sum()),
                "found": {way: found_first(found, twin) for way, found in scores.items()},
            }
    if "captions" in results:  # the table and the pairs are still those of the captions
        settings = {
            "fewer": [{"pairs": train[:n]} for n in fewer],
            "temperatures": [{"temperature": tau} for tau in temperatures],
            "batch_sizes": [{"batch_size": size} for size in batch_sizes],
        }
        for name, changes in settings.items():
            results["captions"][name] = [
                trained_recall(table, test_ids, {"pairs": train, "batch_size": batch_size} | change)
                for change in changes
            ]
        results["captions"]["temperatures from random numbers"] = [
            trained_recall(
                random_table(table),
                test_ids,
                {"pairs": train, "batch_size": batch_size, "temperature": tau},
            )
            for tau in temperatures
        ]
    return results


def texts_of(train: Sequence[Pair], joined: bool) -> list[Text]:
    """The texts for training; where a query and its document are one text, joined again."""
    if joined:
        return [query + document for query, document in train]
    return [text for side in zip(*train, strict=True) for text in side]


def word_vectors(
    texts: Sequence[Text], d_model: int, min_count: int, subsample: float
) -> tuple[Tensor, dict[str, int]]:
    """The table that word2vec learns from the texts alone, and the row of each word."""
    word2vec = train_word2vec(
        texts,
        d_model=d_model,
        window=5,
        epochs=10,
        min_count=min_count,
        subsample=subsample,
        learning_rate=0.05,
        generator=torch.Generator().manual_seed(SEED),
    )
    row = {word: i for i, word in enumerate(word2vec.vocabulary.tokens)}
    return word2vec.centre.weight.detach(), row


def trained_recall(table: Tensor, test: Sequence[Ids], options: dict) -> float:
    """recall@1 after contrastive training with these options."""
    return recalls(cosines(train_table(table, **options), test), (1,))[0]


def rarity(texts: Sequence[Text], words: Iterable[str]) -> Tensor:
    """The IDF of each word among these texts; a word that none of them holds has the largest."""
    n_texts = Counter(word for text in texts for word in set(text))
    N_j = torch.tensor([float(n_texts[word]) for word in words])
    return inverse_document_frequency(N_j, len(texts), "smooth")


def tf_idf_cosines(texts: Sequence[Text], test: Sequence[Pair]) -> Tensor:
    """The cosine of each query with each document by the words that they share."""
    words = sorted({word for pair in test for text in pair for word in text})
    idf = rarity(texts, words).double()
    queries, documents = (count_matrix(side, words) * idf for side in zip(*test, strict=True))
    return similarity(queries, documents)


def has_twin(train: Sequence[Pair], test: Sequence[Pair]) -> Tensor:
    """Whether some pair of the training has nearly the same words, for each pair of the test."""
    known = [set(query + document) for query, document in train]
    tested = [set(query + document) for query, document in test]
    return torch.tensor(
        [any(len(words & old) >= SAME * len(words | old) for old in known) for words in tested]
    )


def found_first(scores: Tensor, twin: Tensor) -> list[int]:
    """How many find their document in first place: of those with a twin, and of the others."""
    first = (scores >= scores.diagonal()[:, None]).sum(dim=1) == 1
    return [int((first & twin).sum()), int((first & ~twin).sum())]


def ids(text: Text, row: dict[str, int]) -> list[int]:
    """The rows of a text's words; a word that has none is left out."""
    return [row[word] for word in text if word in row]


def averages(table: Tensor, texts: Sequence[list[int]]) -> Tensor:
    """The mean of each text's rows, a row for each text; zeros where it has none."""
    starts = torch.tensor([0] + [len(text) for text in texts[:-1]]).cumsum(dim=0)
    flat = torch.tensor([i for text in texts for i in text], dtype=torch.long)
    return F.embedding_bag(flat, table, starts, mode="mean")


def cosines(table: Tensor, pairs: Sequence[Ids]) -> Tensor:
    """The cosine of each query with each document, both of them averages of rows."""
    queries, documents = encoded(table, pairs)
    return queries @ documents.mT


def centred_cosines(
    table: Tensor,
    train: Sequence[Ids],
    pairs: Sequence[Ids],
    *,
    rotated: bool = False,
) -> Tensor:
    """The cosines after each side's own mean is taken off; queries rotated onto their documents.

    Both means come from the texts for training, and the rotation, if it is asked for, from which
    of them are pairs.
    """
    sides = encoded(table, train)
    means = [side.mean(dim=0) for side in sides]
    queries, documents = (
        side - mean for side, mean in zip(encoded(table, pairs), means, strict=True)
    )
    if rotated:
        queries = queries @ procrustes(sides[0] - means[0], sides[1] - means[1])
    return unit_vectors(queries) @ unit_vectors(documents).mT


def encoded(table: Tensor, pairs: Sequence[Ids]) -> list[Tensor]:
    """The averages of the queries and those of the documents, brought to length 1."""
    return [unit_vectors(averages(table, side)) for side in zip(*pairs, strict=True)]


def random_table(table: Tensor) -> Tensor:
    """A table of the same shape and spread that has read nothing."""
    generator = torch.Generator().manual_seed(SEED)
    return table.std() * torch.randn(table.shape, generator=generator)


def train_table(
    table: Tensor,
    pairs: Sequence[Ids],
    *,
    batch_size: int,
    temperature: float = TEMPERATURE,
    learning_rate: float = 0.003,
) -> Tensor:
    """The table after contrastive training: five times through the pairs, or 200 steps if more."""
    model = nn.Embedding.from_pretrained(table.clone(), freeze=False)
    batch_size = min(batch_size, len(pairs))

    def loss_of_batch(model: nn.Embedding, batch: Sequence[Ids]) -> Tensor:
        queries, documents = zip(*batch, strict=True)
        return contrastive_loss(
            averages(model.weight, queries), averages(model.weight, documents), temperature
        )

    train_model(
        model,
        loss_of_batch,
        full_batches(pairs, batch_size, torch.Generator().manual_seed(SEED)),
        optimizers=torch.optim.Adam(model.parameters(), lr=learning_rate),
        n_steps=n_steps(len(pairs), batch_size),
    )
    return model.weight.detach()


def n_steps(n_pairs: int, batch_size: int) -> int:
    """The steps of contrastive training."""
    return max(LEAST_STEPS, EPOCHS * n_pairs // min(batch_size, n_pairs))


def full_batches(
    pairs: Sequence[Ids], batch_size: int, generator: torch.Generator
) -> Iterator[list[Ids]]:
    """Batches without end, in a new order each round; no batch is smaller than the others."""
    while True:
        order = torch.randperm(len(pairs), generator=generator).tolist()
        for i in range(0, len(order) - batch_size + 1, batch_size):
            yield [pairs[k] for k in order[i : i + batch_size]]


def recalls(scores: Tensor, ks: Sequence[int]) -> list[float]:
    """recall@k for each k, to two digits."""
    return [round(recall_at_k(scores, k), 2) for k in ks]


def shown(test: Sequence[Pair], before: Tensor, after: Tensor) -> list[dict]:
    """The first queries of the test: their document, and what comes first before and after."""
    rows = []
    for i, (query, document) in enumerate(test[:SHOWN]):
        found = [test[int(scores[i].argmax())][1] for scores in (before, after)]
        texts = (query, document, *found)
        names = ("query", "document", "word2vec", "bi-encoder")
        rows.append({name: " ".join(text) for name, text in zip(names, texts, strict=True)})
    return rows


def hub(test: Sequence[Pair], scores: Tensor) -> dict:
    """The document that comes first for more queries than any other, and for how many."""
    times = scores.argmax(dim=1).bincount(minlength=len(test))
    return {"times": int(times.max()), "document": " ".join(test[int(times.argmax())][1])}


def lengths(before: Tensor, after: Tensor, pairs: Sequence[Ids]) -> dict[str, list[float]]:
    """The mean length of rows before and after: of the 20 most frequent words, and of others."""
    counts = torch.zeros(len(before))
    for query, document in pairs:
        for i in query + document:
            counts[i] += 1
    frequent = torch.zeros(len(before), dtype=torch.bool)
    frequent[counts.topk(min(20, len(before) // 2)).indices] = True
    norms = [table.norm(dim=1) for table in (before, after)]
    return {
        "frequent": [round(float(norm[frequent].mean()), 2) for norm in norms],
        "others": [round(float(norm[~frequent].mean()), 2) for norm in norms],
    }
