"""word2vec reads 29,000 captions: its neighbours, its analogies, and what it took from the text.

The captions of Multi30k's photographs are read several times, each time from other random
numbers. Then: which words are near each other, and are they the same after another start? Which
analogies come out? How far does a word point from "man" to "woman", and how often did the captions
speak of women where they used it?
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import permutations

import torch
from torch import Tensor

from softlookup.data import multi30k
from softlookup.words import nearest, similarity, word_tokens
from softlookup.words.word2vec import Word2Vec, analogy_accuracy, train_word2vec

DATA = ("multi30k",)
SEED = 0
STARTS = 3
"""How many times the text is read from the beginning, each time with other random numbers."""

SHOWN = (
    "dog",
    "guitar",
    "kitchen",
    "snow",
    "surfing",
    "chef",
    "two",
    "red",
    "bank",
    "happy",
    "left",
    "light",
)
"""The words whose neighbours are kept."""

FAMILIES = {
    "gender": "man woman, men women, boy girl, boys girls, he she, his her, guy lady, male female",
    "plural": "man men, woman women, boy boys, girl girls, dog dogs, child children, car cars, "
    "horse horses, player players, bike bikes, tree trees, street streets",
    "verb": "walks walking, runs running, jumps jumping, sits sitting, stands standing, "
    "plays playing, rides riding, holds holding, looks looking",
}
"""Pairs of one relation; each two of them make a question."""

MALE_WORDS = (
    "man men boy boys he his him himself guy guys male males gentleman gentlemen father dad son "
    "brother brothers husband groom"
)
FEMALE_WORDS = (
    "woman women girl girls she her hers herself lady ladies female females mother mom daughter "
    "sister sisters wife bride"
)
MALE, FEMALE = frozenset(MALE_WORDS.split()), frozenset(FEMALE_WORDS.split())
"""Words that say of whom they speak: what stands with them is counted, they themselves are not."""

AXES = 100
"""How many directions between words drawn at random the direction from man to woman must beat."""

SMALL_TEXT = """a man rides a red bike down the street
a woman rides a blue bike down the street
a boy rides a bike in the park
a girl in a pink dress dances in the park
two girls in pink dresses dance
two boys kick a ball in the park
men kick a ball in the street
women dance in the street
a woman in a pink dress holds a ball
a man holds a red ball"""


def load() -> list[str] | None:
    """The English captions, or None after one printed line that says why."""
    return multi30k("train", "en")


def run_small() -> dict:
    """The same on ten captions of our own."""
    options = {"epochs": 20, "d_model": 8, "min_count": 1, "often": 2, "subsample": 0.1}
    shown, families = ("bike", "pink"), {"gender": "man woman, boy girl, men women"}
    return run(SMALL_TEXT.split("\n"), starts=2, shown=shown, families=families, **options)


def run(
    captions: Sequence[str],
    *,
    starts: int = STARTS,
    shown: Sequence[str] = SHOWN,
    families: Mapping[str, str] = FAMILIES,
    often: int = 100,
    min_count: int = 5,
    d_model: int = 50,
    epochs: int = 10,
    subsample: float = 0.001,
) -> dict:
    """Train from each start, and look at what the vectors hold.

    Args:
        captions: The text, a sentence a line.
        starts: How many trainings.
        shown: The words whose neighbours are kept.
        families: For each relation its pairs.
        often: From how many occurrences on a word counts as frequent.
        min_count: Words that occur less often are left out.
        d_model: The length of the vectors.
        epochs: Passes over the text.
        subsample: The threshold above which frequent words are thinned out.

    Returns:
        The sizes of the text; the loss after the first and the last epoch; neighbours, how many of
        them two starts share, analogies and the direction from man to woman.
    """
    texts = [word_tokens(caption) for caption in captions]
    counts = Counter(token for text in texts for token in text)
    models, losses = [], []
    for start in range(starts):
        models.append(
            train_word2vec(
                texts,
                d_model=d_model,
                window=5,
                epochs=epochs,
                min_count=min_count,
                subsample=subsample,
                learning_rate=0.05,
                generator=torch.Generator().manual_seed(SEED + start),
                after_epoch=lambda epoch, loss, model: losses.append(loss),
            )
        )
    tables = [model.centre.weight.detach() for model in models]
    return {
        "captions": len(texts),
        "words": sum(counts.values()),
        "vocabulary": len(models[0].vocabulary),
        "losses": [round(losses[0], 2), round(losses[epochs - 1], 2)],
        "neighbours": {word: [near(model, word) for model in models] for word in shown},
        "counts": {word: counts[word] for word in shown},
        "shared": shared_neighbours(models[0], tables, counts, often),
        "analogies": {name: analogies(models, family) for name, family in families.items()},
        "gender": gender(models, texts, counts, often),
    }


def near(model: Word2Vec, word: str, k: int = 5) -> list[str]:
    """The k words nearest to a word, the nearest first."""
    table, (place,) = model.centre.weight.detach(), model.vocabulary.encode([word])
    return model.vocabulary.decode(nearest(table[place], table, k, exclude=[place])[1].tolist())


def shared_neighbours(
    model: Word2Vec, tables: Sequence[Tensor], counts: Counter, often: int, k: int = 5
) -> dict:
    """Of the k nearest words, the share that the first start and the last agree on."""
    first, second = (
        similarity(table, table).fill_diagonal_(-1).topk(k).indices
        for table in (tables[0], tables[-1])
    )
    agree = (first[:, :, None] == second[:, None]).any(dim=2).double().mean(dim=1)
    frequent = torch.tensor([counts[word] >= often for word in model.vocabulary.tokens])
    groups = {"frequent": agree[frequent], "rare": agree[~frequent]}
    return {name: [len(group), rounded(group.mean())] for name, group in groups.items()}


def analogies(models: Sequence[Word2Vec], family: str) -> dict:
    """Right answers for each start: inputs excluded, allowed, and the nearest word to c alone."""
    rows = []
    for model in models:
        table = model.centre.weight.detach()
        ids = [model.vocabulary.encode(pair.split()) for pair in family.split(", ")]
        questions = torch.tensor([one + two for one, two in permutations(ids, 2)])
        alone = similarity(table, table).fill_diagonal_(-1)[questions[:, 2]].argmax(dim=1)
        rows.append(
            [
                round(analogy_accuracy(table, questions), 2),
                round(analogy_accuracy(table, questions, exclude_inputs=False), 2),
                rounded((alone == questions[:, 3]).double().mean()),
            ]
        )
    return {"questions": len(questions), "starts": rows}


def gender(
    models: Sequence[Word2Vec], texts: Sequence[Sequence[str]], counts: Counter, often: int
) -> dict:
    """How far frequent words point from man to woman, beside what the text says of them."""
    known = models[0].vocabulary
    words = [w for w in known.tokens if counts[w] >= often and w not in MALE | FEMALE]
    ids = torch.tensor(known.encode(words))
    said, n_captions = text_ratio(texts, words)
    pairs = [pair.split() for pair in FAMILIES["gender"].split(", ")]
    pairs = torch.tensor([known.encode(pair) for pair in pairs if set(pair) <= set(known.tokens)])
    rows, found = [], {"correlation": [], "by_chance": [], "neighbours": [], "neighbours_after": []}
    for model in models:
        table = model.centre.weight.detach()
        unit = table / table.norm(dim=1, keepdim=True)
        axis = direction(unit, pairs)
        rows.append(unit[ids] @ axis)
        removed = unit - (unit @ axis)[:, None] * axis
        found["correlation"].append(rounded(correlation(rows[-1], said)))
        found["by_chance"].append(rounded(by_chance(unit, ids, said, len(pairs))))
        found["neighbours"].append(rounded(correlation(of_neighbours(unit[ids], said), said)))
        told = of_neighbours(removed[ids], said)
        found["neighbours_after"].append(rounded(correlation(told, said)))
    points = zip(words, rows[0].tolist(), said.tolist(), strict=True)
    found["points"] = [[word, round(x, 2), round(y, 2)] for word, x, y in points]
    return {"male_captions": n_captions[0], "female_captions": n_captions[1], **found}


def direction(unit: Tensor, pairs: Tensor) -> Tensor:
    """The mean step from the first word of a pair to the second, brought to length 1."""
    step = (unit[pairs[:, 1]] - unit[pairs[:, 0]]).mean(dim=0)
    return step / step.norm()


def text_ratio(texts: Sequence[Sequence[str]], words: Sequence[str]) -> tuple[Tensor, list[int]]:
    """How much more often a word stands in captions of women alone than in those of men alone.

    The logarithm of the ratio of the two shares, with half a caption added to each count.
    """
    sides = [Counter(), Counter()]
    n_captions = [0, 0]
    for text in map(set, texts):
        about = bool(text & MALE), bool(text & FEMALE)
        if about[0] != about[1]:
            side = about.index(True)
            sides[side].update(text)
            n_captions[side] += 1
    shares = [
        torch.tensor([side[word] + 0.5 for word in words]) / n
        for side, n in zip(sides, n_captions, strict=True)
    ]
    return (shares[1] / shares[0]).log(), n_captions


def of_neighbours(vectors: Tensor, said: Tensor, k: int = 10) -> Tensor:
    """For each word the mean of what the text says of its k nearest words, itself left out."""
    near = similarity(vectors, vectors).fill_diagonal_(-1).topk(min(k, len(said) - 1)).indices
    return said[near].mean(dim=1)


def by_chance(unit: Tensor, ids: Tensor, said: Tensor, n_pairs: int) -> float:
    """The largest correlation that any of many directions between random words reaches."""
    generator = torch.Generator().manual_seed(SEED)
    found = []
    for _ in range(AXES):
        drawn = ids[torch.randint(len(ids), (n_pairs, 2), generator=generator)]
        found.append(abs(correlation(unit[ids] @ direction(unit, drawn), said)))
    return max(found)


def correlation(x: Tensor, y: Tensor) -> float:
    """Pearson's coefficient of two rows of numbers, from -1 to 1."""
    return torch.corrcoef(torch.stack([x.double(), y.double()]))[0, 1].item()


def rounded(number: float | Tensor) -> float:
    """Two digits: what another processor adds up in another order stays the same."""
    return round(float(number), 2)
