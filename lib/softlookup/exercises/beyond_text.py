"""Checks of the chapter beyond text: patches, an edge, a summary, twin graphs, a sound."""

from itertools import combinations, permutations

import torch
from torch import Tensor, nn

from softlookup.attention import graph_mask
from softlookup.exercises.compare import close, compare, integers, one_number
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.models import EncoderBlock
from softlookup.ops import unit_vectors
from softlookup.tokenization import patchify

_SEED = 19
_SAMPLES, _FRAME = 64, 16
_MOST_NODES = 8
_TREES = [
    (5, [(0, 1), (1, 2), (2, 3), (3, 4)]),
    (11, [(0, 1), (0, 3), (1, 2), (2, 4), (4, 5), (5, 6), (5, 8), (6, 7), (8, 9), (8, 10)]),
    (11, [(0, 1), (0, 3), (1, 2), (3, 4), (4, 5), (5, 6), (5, 7), (5, 8), (6, 9), (8, 10)]),
]
"""Graphs: how many nodes, and the edges. In the last two, joining the ends is not best."""


@exercise("return the two nodes to join.")
def check_edge(answer: Answer) -> str:
    """Check a function that finds the edge after which a graph needs the fewest blocks.

    Args:
        answer: The learner's function of a mask, (n, n), True where a node reads a node. It returns
            two nodes that, once joined, let every row depend on every node as early as can be.

    Chapter: beyond_text#exercises
    """
    for n, edges in _TREES:
        mask = graph_mask(n, edges)
        needed = {
            pair: _blocks(graph_mask(n, [*edges, pair])) for pair in combinations(range(n), 2)
        }
        fewest, before = min(needed.values()), _blocks(mask)
        told = "Return two nodes, like (0, 3)"
        found = integers(answer(mask.clone()), f"{told}, counted from 0.", n=2)
        if not all(0 <= node < n for node in found):
            raise Wrong(f"There are the nodes 0 to {n - 1}; yours are {tuple(found)}.")
        pair = (min(found), max(found))
        if pair[0] == pair[1]:
            raise Wrong(f"{told}; yours is twice the node {pair[0]}.")
        if mask[pair]:
            raise Wrong(f"The nodes {pair} are joined already.")
        if needed[pair] > fewest:
            steps = (
                f"{needed[pair]} blocks are needed, {before} without a new edge, and another edge "
                f"brings it to {fewest}"
            )
            if _steps(mask)[pair] == before:
                raise Wrong(f"You join the two that are farthest apart. Then {steps}: the way from "
                            "a third node to either of them may still be long.")  # fmt: skip
            raise Wrong(f"With the edge {pair} {steps}.")
    return f"With the right edge, {fewest} blocks do what took {before} in the last graph."


@exercise("return the numbers of k sentences.")
def check_summary(answer: Answer) -> str:
    """Check a function that chooses k sentences that together stand for all.

    Args:
        answer: The learner's function of sentence vectors, one a row, and k: the numbers of k
            sentences with the largest sum, over all sentences, of the cosine with the nearest of
            the chosen.

    Chapter: beyond_text#exercises
    """
    for vectors, k in _texts():
        n = len(vectors)
        cosines = unit_vectors(vectors) @ unit_vectors(vectors).mT
        told = f"Return {k} different numbers from 0 to {n - 1}"
        found = answer(vectors.clone(), k)
        chosen = sorted(integers(found, f"{told}; yours is {found!r}."))
        if len(set(chosen)) != k or len(chosen) != k or not all(0 <= one < n for one in chosen):
            raise Wrong(f"{told}; yours are {chosen}.")
        best, ours = _stand_for(cosines, _best(cosines, k)), _stand_for(cosines, chosen)
        if ours > best - 1e-9:
            continue
        central = cosines.sum(dim=1).argsort(descending=True)[:k].tolist()
        mistakes = [
            (central, "These are the most central ones. They are like each other, and stand twice "
             "for the same."),
            (_greedy(cosines, k), "You take the best one, then the one that adds most to it. Two "
             "that are chosen together can do better: try all choices."),
            (_best(vectors @ vectors.mT, k), "Use the cosine: in a dot product long sentences "
             "count more."),
            (_best(-torch.cdist(vectors, vectors), k), "Use the cosine: with distances, length "
             "counts too."),
            (_best(cosines.clone().fill_diagonal_(0), k), "A chosen sentence is represented by "
             "itself, with the cosine 1."),
        ]  # fmt: skip
        for mistaken, advice in mistakes:
            if chosen == sorted(mistaken):
                raise Wrong(advice)
        raise Wrong(f"Of {n} sentences yours are {chosen}, with a sum of {ours:.4g}; another "
                    f"choice of {k} has {best:.4g}.")  # fmt: skip
    return "In the last text a sentence in the middle is best alone, and not among the best two."


@exercise("return one row for each patch.")
def check_patches(answer: Answer) -> str:
    """Check a function that cuts an image of 8 × 8 pixels into patches of 2 × 2.

    Args:
        answer: The learner's function of an image, (8, 8): one row per patch, (16, 4).

    Chapter: beyond_text#exercises
    """
    for image in (torch.arange(64.0).view(8, 8), torch.arange(64.0).view(8, 8).square().sin()):
        expected = patchify(image[None], 2).double()
        grid = image.double().view(4, 2, 4, 2)
        mistakes = [
            (image.double().view(16, 4), "A patch has two rows of the image. Yours holds four "
             "pixels of one row."),
            (grid.permute(2, 0, 1, 3).reshape(16, 4), "Read the patches left to right, then top "
             "to bottom; yours go down first."),
            (grid.permute(0, 2, 3, 1).reshape(16, 4), "Inside a patch, too, read left to right, "
             "then top to bottom."),
            (image.double().view(2, 4, 2, 4).permute(1, 3, 0, 2).reshape(16, 4), "Neighbours "
             "belong together: view the image as (4, 2, 4, 2), not as (2, 4, 2, 4)."),
        ]  # fmt: skip

        def otherwise(found: Tensor, right: Tensor) -> str:
            row = int((found - right).abs().amax(dim=1).argmax())
            pixels = [round(pixel, 3) for pixel in right[row].tolist()]
            return f"Patch {row} should hold {pixels}, if the pixels are numbered from 0 to 63."

        compare(answer(image), expected, "The patches", mistakes, otherwise)
    return "16 tokens of 4 numbers: for the Transformer, the digit is now a text."


@exercise("give the number of nodes.", "give its edges.", "give its edges.")
def check_twins(n_nodes: Answer, edges_a: Answer, edges_b: Answer) -> str:
    """Check two graphs that differ, and that no stack of blocks can tell apart by their degrees.

    Args:
        n_nodes: How many nodes each graph has.
        edges_a: The edges of the one, as pairs of nodes counted from 0.
        edges_b: The edges of the other.

    Chapter: beyond_text#exercises
    """
    n = one_number(n_nodes.value, "The number of nodes")
    if n != int(n) or not 1 <= n <= _MOST_NODES:
        raise Wrong(f"The number of nodes should be a whole number from 1 to {_MOST_NODES}.")
    one, other = (_graph(int(n), answer.value) for answer in (edges_a, edges_b))
    for name, graph in (("first", one), ("second", other)):
        if not (torch.matrix_power(graph.double(), int(n)) > 0).all():
            raise Wrong(f"The {name} graph falls apart: some node cannot be reached from node 0.")
    if _is_same_graph(one, other):
        raise Wrong("These are one graph: give the nodes other numbers, and the edges agree.")
    rows = [_read(graph) for graph in (one, other)]
    if not close(*rows):
        counts = [sorted((graph.sum(dim=1) - 1).tolist()) for graph in (one, other)]
        if counts[0] != counts[1]:
            raise Wrong(f"The degrees tell them apart: {counts[0]} and {counts[1]}.")
        raise Wrong("The degrees agree, but after three blocks the rows differ: some node has "
                    "neighbours of other degrees than any node of the other graph.")  # fmt: skip
    return "Two graphs, one set of rows: the block counts nobody twice, and sees no triangle."


@exercise("return the samples.")
def check_sound(answer: Answer) -> str:
    """Check a function that finds a sound from the strengths of its frames alone.

    Args:
        answer: The learner's function of (strengths, first): (49, 9), the sizes of the Fourier
            transform of 49 frames of 16 samples, one beginning at each sample; and the first 15
            samples. It returns all 64 samples.

    Chapter: beyond_text#exercises
    """
    for seed in (1, 2):
        generator = torch.Generator().manual_seed(_SEED + seed)
        noise = torch.randn(_SAMPLES, generator=generator, dtype=torch.float64)
        swings = torch.linspace(0, 4, _SAMPLES, dtype=torch.float64).square()
        sound = noise if seed == 1 else torch.sin(3 * swings) + 0.2 * noise
        frames = sound.unfold(0, _FRAME, 1)
        strengths, first = torch.fft.rfft(frames).abs(), sound[: _FRAME - 1].clone()
        sizes = torch.cat([first, sound[_FRAME - 1 :].abs()])
        energies = torch.cat([first, sound[_FRAME - 1 :].square()])
        without_phase = torch.fft.irfft(strengths + 0j, n=_FRAME)
        mistakes = [
            (sizes, "The size of each new sample is right, and its sign is not: the energy of a "
             "frame knows only the square. Which other sums of the frame are known?"),
            (energies, "Those are the squares of the new samples."),
            (-sound, "All signs are turned around; the first 15 samples are given."),
            (_put_back(without_phase) / _put_back(torch.ones_like(frames)), "You transform the "
             "strengths back as if each frame were symmetric. The squares of the strengths say "
             "something about the frame; what?"),
        ]  # fmt: skip

        def otherwise(found: Tensor, right: Tensor) -> str:
            k = int(((found - right).abs() > 1e-5).int().argmax())
            return f"Sample {k} is the first to be wrong: {right[k]:.4f}; yours is {found[k]:.4f}."

        shapes = {
            (49,): "Those are the new samples; the first 15 belong in front of them.",
            (49, 16): "Those are frames; each gives one new sample.",
        }
        found = answer(strengths.clone(), first)
        options = {"shapes": shapes, "tolerance": 1e-5}
        compare(found, sound, "The samples", mistakes, otherwise, **options)
    return "Frames that overlap in all but one sample hold the sound: its phase is not lost."


def _graph(n: int, edges: object) -> Tensor:
    try:
        pairs = [(int(a), int(b)) for a, b in edges]
    except (TypeError, ValueError):
        raise Wrong(f"Give edges as pairs of nodes, like [(0, 1)]; you gave {edges!r}.") from None
    for pair in pairs:
        if not all(0 <= node < n for node in pair):
            raise Wrong(f"The edge {pair} leaves the nodes 0 to {n - 1}.")
        if pair[0] == pair[1]:
            raise Wrong(f"The edge {pair} leads from a node to itself; each reads itself anyway.")
    return graph_mask(n, pairs)


def _is_same_graph(one: Tensor, other: Tensor) -> bool:
    """Whether some new numbers for the nodes make one graph of the other."""
    if sorted(one.sum(dim=1).tolist()) != sorted(other.sum(dim=1).tolist()):
        return False
    orders = torch.tensor(list(permutations(range(len(one)))))
    renumbered = one[orders[:, :, None], orders[:, None, :]]
    return bool((renumbered == other).all(dim=-1).all(dim=-1).any())


def _read(graph: Tensor) -> Tensor:
    """What a stack of three blocks makes of the degrees, the rows in order of their size."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(_SEED)
        first = nn.Linear(1, 12).double()
        blocks = [EncoderBlock(12, 3, 24).double() for _ in range(3)]
        x = first(graph.sum(dim=1, keepdim=True).double() - 1)
        for block in blocks:
            x = block(x, graph)
    return x[x[:, 0].round(decimals=9).argsort()]


def _put_back(frames: Tensor) -> Tensor:
    """The sum of frames, each at the place where it was cut."""
    total = torch.zeros(_SAMPLES, dtype=frames.dtype)
    for k, frame in enumerate(frames):
        total[k : k + _FRAME] += frame
    return total


def _steps(mask: Tensor) -> Tensor:
    """How many steps lead from each node to each, in a graph that does not fall apart."""
    known, steps = torch.eye(len(mask), dtype=torch.bool), torch.zeros(mask.shape, dtype=torch.long)
    while not known.all():
        steps += (~known).long()
        known = known.float() @ mask.float() > 0
    return steps


def _blocks(mask: Tensor) -> int:
    """After how many blocks each row may depend on every node."""
    return int(_steps(mask).max())


def _stand_for(likeness: Tensor, chosen: list[int]) -> float:
    """The sum, over all sentences, of the likeness to the nearest of the chosen."""
    return likeness[:, chosen].amax(dim=1).sum().item()


def _best(likeness: Tensor, k: int) -> list[int]:
    """The k sentences that together stand for all."""
    choices = combinations(range(len(likeness)), k)
    return list(max(choices, key=lambda chosen: _stand_for(likeness, list(chosen))))


def _greedy(likeness: Tensor, k: int) -> list[int]:
    """One sentence after the other, each the one that adds most."""
    chosen: list[int] = []
    for _ in range(k):
        rest = [one for one in range(len(likeness)) if one not in chosen]
        chosen.append(max(rest, key=lambda one: _stand_for(likeness, [*chosen, one])))
    return chosen


def _texts() -> list[tuple[Tensor, int]]:
    """Sentence vectors, and how many to choose; in the last, one stands between two groups."""
    generator = torch.Generator().manual_seed(_SEED)
    counts = torch.rand(8, 5, generator=generator, dtype=torch.float64)
    lengths = torch.tensor([1, 9, 1, 2, 1, 5, 1, 3], dtype=torch.float64)
    angles = torch.tensor([0.0, 6, -6, 45, 90, 84, 96], dtype=torch.float64).deg2rad()
    groups = torch.stack([angles.cos(), angles.sin()], dim=1)
    return [(counts.square() * lengths[:, None], k) for k in (3, 2)] + [(groups, 2)]
