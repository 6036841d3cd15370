"""Checks of the chapter beyond text: patches, drift, a summary, twin graphs, a sound."""

from itertools import permutations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softlookup.attention import graph_mask
from softlookup.exercises.compare import close, compare, integers, one_number
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.models import EncoderBlock
from softlookup.ops import unit_vectors
from softlookup.tokenization import patchify

_SEED, _TOKENS, _SEEN = 19, 8, 6
_SAMPLES, _FRAME, _HOP = 64, 16, 4
_MOST_NODES = 8


def fine_tuned(frozen: bool) -> tuple[Float[Tensor, "vocab d"], Float[Tensor, "vocab d"]]:
    """Tune a small trained model on new texts, and show its embedding table before and after.

    Args:
        frozen: Whether the table is kept as it is, and only the rest is tuned.

    Returns:
        The table before and after: one row for each of eight tokens, not all of which stand in the
        new texts.

    Chapter: beyond_text#exercises

    Example:
        >>> before, after = fine_tuned(frozen=True)
        >>> torch.equal(before, after)
        True
    """
    generator = torch.Generator().manual_seed(_SEED)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        table, out = nn.Embedding(_TOKENS, 5).double(), nn.Linear(5, _TOKENS).double()
    table.weight.requires_grad_(not frozen)
    before = table.weight.detach().clone()
    optimizer = torch.optim.Adam([p for p in (table.weight, *out.parameters()) if p.requires_grad])
    for _ in range(20):
        ids = torch.randint(_SEEN, (64,), generator=generator)
        optimizer.zero_grad()
        nn.functional.cross_entropy(out(table(ids)), (ids + 1) % _SEEN).backward()
        optimizer.step()
    return before, table.weight.detach()


@exercise("return one length for each token.", "name the tokens that did not move.")
def check_drift(displacement: Answer, still: Answer) -> str:
    """Check a measure of drift, and which tokens did not drift.

    Args:
        displacement: The learner's function of two tables: how far each row has moved.
        still: The tokens that did not move in ``fine_tuned(frozen=False)``.

    Chapter: beyond_text#exercises
    """
    before = torch.tensor([[0.0, 1.0], [2.0, 0.0], [0.0, 5.0]], dtype=torch.float64)
    step = torch.tensor([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]], dtype=torch.float64)
    expected = torch.tensor([5.0, 0.0, 2.0], dtype=torch.float64)
    lengths = before.norm(dim=1)
    mistakes = [
        (expected.square(), "Those are squared lengths: take the root."),
        ((before + step).norm(dim=1) - lengths, "Rows may move without changing their length: "
         "subtract the tables first."),
        (step.abs().mean(dim=1), "A length is the root of the sum of squares."),
        (step.abs().sum(dim=1), "A length is the root of the sum of squares."),
        (expected / lengths, "That is relative to the row's length; here the length of the step "
         "itself is wanted."),
        (-expected, "A length is not negative."),
    ]  # fmt: skip
    shapes = {
        (): "That is one number for the whole table; each token has a drift of its own.",
        (2,): "You have one number per column: a token is a row.",
    }

    def otherwise(found: Tensor, _: Tensor) -> str:
        return f"Row 0 moves by (3, 4), which is 5 far; yours says {found[0].item():.4g}."

    found = displacement(before, before + step)
    compare(found, expected, "The displacement", mistakes, otherwise, shapes=shapes)
    told = f"Give the numbers of the tokens, like [0, 3]; yours is {still.value!r}."
    named = set(integers(still.value, told))
    right = set(range(_SEEN, _TOKENS))
    if named >= set(range(_TOKENS)):
        raise Wrong("In the frozen table no row moves. Tune it: fine_tuned(frozen=False).")
    if named != right:
        raise Wrong(f"Of the tokens {sorted(named)}, or of the others, some are wrong: a row did "
                    "not move if its displacement is exactly 0.")  # fmt: skip
    return (
        "Frozen, no row moves. Tuned, those move whose tokens stand in the new texts, and no other."
    )


@exercise("return the sentences in order.")
def check_summary(answer: Answer) -> str:
    """Check a function that orders sentences by their centrality.

    Args:
        answer: The learner's function of sentence vectors, one a row: the numbers of the sentences,
            the one with the largest mean cosine with the others first.

    Chapter: beyond_text#exercises
    """
    vectors = torch.tensor(
        [[1.0, 0.2, 0, 0], [0, 9.0, 9.0, 0], [0.8, 0, 0.7, 0.2], [0.4, 0.3, 0.4, 0.35],
         [0.5, 0, 0, 0.6], [0, 0.1, 0, 2.0]],
        dtype=torch.float64,
    )  # fmt: skip
    found = answer(vectors)
    order = integers(found, f"Return the numbers of the sentences; yours is {found!r}.")
    if sorted(order) != list(range(len(vectors))):
        raise Wrong(f"Each sentence should stand there once, from 0 to 5; yours is {order}.")
    unit = unit_vectors(vectors)
    by_cosine = _by(unit @ unit.mT)
    mistakes = [
        (by_cosine[::-1], "That is the wrong way round: the most central sentence comes first."),
        (_by(vectors @ vectors.mT), "Sentence 1 is long, not central: use the cosine."),
        (_by(-torch.cdist(vectors, vectors)), "Use the cosine: with distances, length counts too."),
        (vectors.norm(dim=1).argsort(descending=True).tolist(), "That is an order by length."),
    ]
    for mistaken, advice in mistakes:
        if order == mistaken:
            raise Wrong(advice)
    if order[0] != by_cosine[0]:
        raise Wrong(f"Sentence {order[0]} is not the most central: compare the means of its "
                    "cosines with those of the others.")  # fmt: skip
    if order != by_cosine:
        raise Wrong(f"The first is right; after it, {by_cosine[1:]} would follow, not {order[1:]}.")
    return "The planted sentence, 3, comes first: it has something of all the others."


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


def faded_frames(
    sound: Float[Tensor, "samples"], window: Float[Tensor, "frame"]
) -> Float[Tensor, "frames frame"]:
    """Cut a sound into overlapping frames of 16 samples, one every 4, and fade each.

    Args:
        sound: The samples.
        window: What the samples of a frame are multiplied by.

    Chapter: beyond_text#exercises

    Example:
        >>> faded_frames(torch.ones(64), torch.ones(16)).shape
        torch.Size([13, 16])
    """
    return sound.unfold(0, _FRAME, _HOP) * window


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
    """Check a function that puts a sound together from its faded, overlapping frames.

    Args:
        answer: The learner's function of (frames, window): (13, 16) and (16,). It returns the 64
            samples.

    Chapter: beyond_text#exercises
    """
    generator = torch.Generator().manual_seed(_SEED)
    shares = torch.arange(1, _FRAME + 1, dtype=torch.float64) / (_FRAME + 1)
    for window in (torch.sin(torch.pi * shares).square(), 0.2 + shares):
        sound = torch.randn(_SAMPLES, generator=generator, dtype=torch.float64)
        frames = faded_frames(sound, window)
        total, weight = _put_back(frames), _put_back(window.expand(len(frames), -1))
        times = _put_back(torch.ones_like(frames))
        middle = weight[_SAMPLES // 2]
        mistakes = [
            (total, "Those are the sums: each sample has been added up to four times, faded."),
            (total / times, "You divide by the number of frames that hold a sample. They hold it "
             "faded: what has the sample been multiplied by, in all?"),
            (total / middle, "In the middle it may be right, at the ends it is not: fewer frames "
             "reach them."),
            (total / 4, "At the ends fewer than four frames overlap, and each fades."),
        ]  # fmt: skip

        def otherwise(found: Tensor, right: Tensor) -> str:
            k = int((found - right).abs().argmax())
            return f"Sample {k} should be {right[k]:.4f}; yours is {found[k]:.4f}."

        shapes = {
            (13, 16): "Those are still frames: put each back to where it was cut, and add up.",
            (208,): "Frames overlap: laid end to end they hold most samples four times.",
        }
        found = answer(frames, window)
        compare(found, sound, "The samples", mistakes, otherwise, shapes=shapes)
    return "Exactly the sound, to its ends: nothing is lost where every sample stays above 0."


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
        total[_HOP * k : _HOP * k + _FRAME] += frame
    return total


def _by(likeness: Tensor) -> list[int]:
    """Sentences by their mean likeness to the others."""
    return likeness.fill_diagonal_(0).sum(dim=1).argsort(descending=True).tolist()
