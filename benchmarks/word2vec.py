"""word2vec against gensim: the same text, the same settings, one thread each, in turns.

Time is that of the whole call, from sentences to vectors, so both count the same raw words. Quality
is what each finds of what the planted grammar hides.
"""

import statistics
import time
from collections.abc import Callable

import torch
from gensim.models import Word2Vec as TheirWord2Vec
from torch import Tensor

from softlookup.data import (
    GRAMMAR_ANALOGIES,
    GRAMMAR_SYNONYMS,
    book_prose,
    planted_sentences,
)
from softlookup.ops import cosine_similarity
from softlookup.words import Vocabulary, word_tokens
from softlookup.words.word2vec import analogy_accuracy, train_word2vec

OPTIONS = {"window": 5, "epochs": 5}
N_NEGATIVES = 5
FIRST_RATE, LAST_RATE = 0.025, 0.0001
TURNS = 5

Vectors = tuple[Vocabulary, Tensor]


def ours(sentences: list[list[str]], d_model: int, shrink: bool, seed: int) -> Vectors:
    """Words and vectors from the library."""
    model = train_word2vec(
        sentences, d_model=d_model, n_negatives=N_NEGATIVES, shrink_window=shrink,
        learning_rate=FIRST_RATE, last_learning_rate=LAST_RATE,
        generator=torch.Generator().manual_seed(seed), **OPTIONS,
    )  # fmt: skip
    return model.vocabulary, model.centre.weight.detach()


def theirs(sentences: list[list[str]], d_model: int, shrink: bool, seed: int) -> Vectors:
    """Words and vectors from gensim, with one worker and no subsampling."""
    model = TheirWord2Vec(
        sentences, vector_size=d_model, sg=1, negative=N_NEGATIVES, shrink_windows=shrink, sample=0,
        alpha=FIRST_RATE, min_alpha=LAST_RATE, min_count=1, workers=1, seed=seed + 1, **OPTIONS,
    )  # fmt: skip
    return Vocabulary(model.wv.index_to_key, unknown=None), torch.tensor(model.wv.vectors)


def synonyms_found(vocabulary: Vocabulary, table: Tensor) -> float:
    """The share of the planted synonyms that are their partner's nearest neighbour."""
    similar = cosine_similarity(table[:, None], table[None]).fill_diagonal_(-2)
    nearest = similar.argmax(dim=1)
    pairs = torch.tensor([vocabulary.encode(list(pair)) for pair in GRAMMAR_SYNONYMS])
    both = torch.cat((pairs, pairs.flip(1)))
    return (nearest[both[:, 0]] == both[:, 1]).double().mean().item()


def analogies_solved(vocabulary: Vocabulary, table: Tensor) -> float:
    """The share of the planted analogies that are solved, the inputs excluded."""
    questions = [question for group in GRAMMAR_ANALOGIES.values() for question in group]
    ids = torch.tensor([vocabulary.encode(list(question)) for question in questions])
    return analogy_accuracy(table, ids)


def in_turns(sentences: list[list[str]], d_model: int, shrink: bool) -> tuple[dict, dict]:
    """For both, the seconds of each turn and the vectors that came out of it."""
    times, results = {ours: [], theirs: []}, {ours: [], theirs: []}
    for turn in range(TURNS):
        for train in (ours, theirs) if turn % 2 else (theirs, ours):
            start = time.perf_counter()
            vectors = train(sentences, d_model, shrink, turn)
            times[train].append(time.perf_counter() - start)
            results[train].append(vectors)
    return times, results


def row(name: str, sentences: list[list[str]], d_model: int, shrink: bool, planted: bool) -> list:
    """One line of the table; a ratio above 1 means that the library takes longer."""
    times, results = in_turns(sentences, d_model, shrink)
    ratios = [mine / other for mine, other in zip(times[ours], times[theirs], strict=True)]
    ratio = statistics.median(ratios)
    words = OPTIONS["epochs"] * sum(len(sentence) for sentence in sentences)
    speeds = [words / statistics.median(times[train]) for train in (ours, theirs)]
    quality = [_quality(results, measure) if planted else "—" for measure in MEASURES]
    print(f"word2vec, {name}: {ratio:.2g} of gensim's time;", end=" ")
    print(f"{speeds[0]:,.0f} words a second, gensim {speeds[1]:,.0f};", end=" ")
    print(f"synonyms {quality[0]}, analogies {quality[1]} (library, gensim)")
    return [name, f"{len(results[ours][0][0]):,}", f"{d_model}", f"{ratio:.2g}", *quality]


MEASURES: tuple[Callable[[Vocabulary, Tensor], float], ...] = (synonyms_found, analogies_solved)


def _quality(results: dict, measure: Callable[[Vocabulary, Tensor], float]) -> str:
    """The mean over all turns, each with a seed of its own, in percent: the library's, gensim's."""
    means = [
        statistics.mean(measure(*vectors) for vectors in results[train]) for train in (ours, theirs)
    ]
    return ", ".join(f"{100 * mean:.0f} %" for mean in means)


def word2vec_rows() -> list[list[str]]:
    """The planted grammar with windows of one size and of a random size; and this book."""
    planted = planted_sentences(10_000, torch.Generator().manual_seed(0))
    prose = [word_tokens(line) for line in book_prose().splitlines()]
    return [
        row("planted grammar, fixed windows", planted, 32, False, True),
        row("planted grammar, shrunk windows", planted, 32, True, True),
        row("this book, shrunk windows", prose, 100, True, False),
    ]


WORD2VEC_HEADS = ["text", "vocabulary", "d_model", "time, to gensim"]
WORD2VEC_HEADS += ["synonyms found: library, gensim", "analogies solved: library, gensim"]
"""The heads of the columns of ``word2vec_rows``."""
