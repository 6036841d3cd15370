"""The exercises of chapter 9: blank, solved in two ways, and the known wrong answers."""

import itertools

import numpy as np
import pytest
import torch
from torch.autograd.functional import jacobian

from softlookup.attention import additive_scores
from softlookup.data import il_m_a_entarte
from softlookup.exercises import seq2seq as exercises
from softlookup.translation import Translator, alignment_matrix, is_monotone, train_translator

LETTERS = "abcdefg"


def assert_wrong(verdict, advice):
    assert not verdict
    assert advice in verdict.message


# The grid

GRID = [
    [1, 0, 0, 0, 0, 0],
    [0, 0, 1, 0, 0, 0],
    [0, 1, 0, 0, 0, 0],
    [0, 1, 0, 1, 1, 1],
]
PRINTED = [GRID[0], GRID[2], GRID[1], GRID[3]]
CROSSING = [(1, 2), (2, 1)]


def test_grid_solved():
    assert exercises.check_alignment_matrix(GRID, CROSSING)
    links = {(i, j) for i, row in enumerate(GRID) for j, one in enumerate(row) if one}
    grid = alignment_matrix(links, 4, 6)
    for one, other in itertools.permutations(links, 2):
        crosses = not is_monotone({one, other})
        assert bool(exercises.check_alignment_matrix(grid, [one, other])) == crosses
    assert exercises.check_alignment_matrix(np.array(GRID), np.array(CROSSING))


def test_grid_is_that_of_the_library_and_the_lecture():
    """The slide's sums (`alignment-matrix-entarte`), and every link of the grammar's sentence."""
    grid = torch.tensor(GRID)
    assert grid.sum(dim=1).tolist() == [1, 1, 1, 4]
    assert grid.sum(dim=0).tolist() == [1, 2, 1, 1, 1, 1]
    assert grid[:3].argmax(dim=1).tolist() == [0, 2, 1]
    assert torch.tensor(PRINTED)[:3].argmax(dim=1).tolist() == [0, 1, 2]
    pair = il_m_a_entarte()
    assert (list(pair.source), list(pair.target)) == (exercises._FRENCH, exercises._ENGLISH)
    assert {(j, i) for i, j in pair.possible} == exercises._LINKS


def changed(i, j, value):
    grid = torch.tensor(GRID).float()
    grid[i, j] = value
    return grid


@pytest.mark.parametrize(
    ("grid", "crossing", "advice"),
    [
        (..., ..., "Nothing to check so far: draw the grid"),
        (GRID, ..., "Nothing to check so far: give two links"),
        (torch.tensor(GRID).T, CROSSING, "transpose your grid"),
        (list(zip(*GRID, strict=True)), CROSSING, "transpose your grid"),
        (PRINTED, CROSSING, "That is the slide's order. French puts m' before a."),
        (changed(3, 1, 0), CROSSING, "entarté (row 3) and hit (column 1) belong together"),
        (changed(1, 4, 1), CROSSING, "m' (row 1) and a (column 4) do not belong together"),
        (changed(3, 1, 0.5), CROSSING, "write 1 or 0, not 0.5"),
        (GRID[:3], CROSSING, "should have shape (4, 6)"),
        ("il m' a", CROSSING, "should be numbers"),
        (GRID, [], "Two links do cross"),
        (GRID, (), "Two links do cross"),
        (GRID, [(2, 3), (3, 2)], "(2, 3) is no link of your grid. Count rows"),
        (GRID, [(0, 0), (3, 5)], "do not cross"),
        (GRID, [(2, 1), (3, 1)], "do not cross"),
        (GRID, [(1, 2), (2, 1), (3, 1)], "Give two links"),
        (GRID, (1, 2), "Give two links"),
        (GRID, False, "Give two links"),
        (GRID, "m' and a", "Give two links"),
    ],
)
def test_wrong_grids(grid, crossing, advice):
    assert_wrong(exercises.check_alignment_matrix(grid, crossing), advice)


# Reversal


def pairs(n, seed, turn):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(2, 6, (n,), generator=generator).tolist()
    orders = [torch.randperm(7, generator=generator)[:length].tolist() for length in lengths]
    texts = [[LETTERS[k] for k in order] for order in orders]
    return [(text, turn(text)) for text in texts]


def trained(*, turn=lambda text: text[::-1], seed=1, letters=LETTERS, **changes):
    sizes = {"n_steps": 300, "d_model": 32, "d_hidden": 64, "d_attention": 16, **changes}
    known = [pair for pair in pairs(1000, seed, turn) if set(pair[0]) <= set(letters)]
    return train_translator(known, generator=torch.Generator().manual_seed(seed), **sizes)


@pytest.fixture(scope="module")
def reverser():
    return trained()


def by_argmax(weights):
    n = weights.shape[1]
    return weights.argmax(dim=1).tolist() == list(range(n - 1, -1, -1))


def by_flip(weights):
    turned = weights.numpy()[:, ::-1]
    return np.all(turned.argmax(axis=1) == np.arange(len(turned)))


def by_turning(weights):
    return (weights.flip(1).argmax(dim=1) == torch.arange(len(weights))).all()


def test_reversal_solved(reverser):
    assert exercises.check_antidiagonal(by_argmax, reverser)
    assert exercises.check_antidiagonal(by_flip, reverser)
    assert exercises.check_antidiagonal(by_turning, trained(seed=7))


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (..., "Nothing to check so far: return True or False"),
        (lambda weights: None, "Nothing to check so far: return True or False"),
        (lambda weights: weights.argmax(1).tolist() == list(range(len(weights))), "For [[0.1, 0.9"),
        (lambda weights: True, "That is the main diagonal"),
        (lambda weights: bool((weights.flip(1).diag() > 0.5).all()), "however small it is"),
        (lambda weights: by_argmax(weights[:2]) or weights[0].argmax() == 2, "One row elsewhere"),
        (lambda weights: by_argmax(weights.mT), "Compare along each row"),
        (lambda weights: len(weights) < 4 and by_argmax(weights), "It has four rows"),
        (lambda weights: weights.argmax(dim=1) == 0, "not one for each row"),
        (lambda weights: weights[0, 9], "IndexError"),
    ],
)
def test_wrong_antidiagonals(function, advice):
    assert_wrong(exercises.check_antidiagonal(function, ...), advice)


def test_wrong_translators(reverser):
    check = exercises.check_antidiagonal
    assert_wrong(check(by_argmax, ...), "Nothing to check so far: train a translator")
    assert_wrong(check(by_argmax, reverser.model), "not a Seq2Seq")
    assert_wrong(check(by_argmax, trained(n_steps=1, attention="none")), "has no attention")
    assert_wrong(check(by_argmax, trained(n_steps=1, letters="abcd")), "It knows 4 letters")
    assert_wrong(check(by_argmax, trained(n_steps=20)), "Train for more steps")
    assert_wrong(check(by_argmax, trained(turn=list)), "It copies")


class Astray(Translator):
    """It writes the right letters and looks one place beside them, as some starts do."""

    def align(self, sources, targets):
        return [weights.roll(1, dims=1) for weights in super().align(sources, targets)]


def test_right_words_with_another_alignment_are_told(reverser):
    astray = Astray(reverser.source, reverser.target, reverser.model)
    verdict = exercises.check_antidiagonal(by_argmax, astray)
    assert_wrong(verdict, "It reverses, but ")
    assert_wrong(verdict, "a neighbour's state knows the letter, too")


# Direct paths


def by_jacobian(layer, query, context):
    return jacobian(lambda c: layer(query, c), context).norm(dim=(1, 3))


def by_rows(layer, query, context):
    context.requires_grad_()
    out = layer(query, context)
    squares = torch.zeros(len(query), len(context))
    for i, number in itertools.product(range(len(query)), range(out.shape[1])):
        (gradient,) = torch.autograd.grad(out[i, number], context, retain_graph=True)
        squares[i] += gradient.square().sum(dim=1)
    return squares.sqrt().tolist()


def blocks(layer, query, context):
    return jacobian(lambda c: layer(query, c), context)


def unmasked(layer, query, context):
    found = by_jacobian(layer, query, context)
    return found.where(found > 0, 0.1)


def test_path_solved():
    assert exercises.check_direct_path(by_jacobian)
    assert exercises.check_direct_path(by_rows)


def test_the_open_layers_have_no_zero_block_and_the_closed_one_has(generator):
    """`attention-core-idea-direct-connection`: also as a_ij (I + (c_j - o_i) g_ij')."""
    for layer, d_query, d_context, is_open in exercises._layers():
        query = torch.randn(3, d_query, dtype=torch.float64, generator=generator)
        context = torch.randn(5, d_context, dtype=torch.float64, generator=generator)
        assert (by_jacobian(layer, query, context) > 0).all().item() == is_open
        if not is_open:
            continue
        weights = layer.scores(query, context).softmax(dim=-1)
        slopes = jacobian(lambda c, f=layer, q=query: f.scores(q, c), context)
        found = blocks(layer, query, context)
        for i, j in itertools.product(range(3), range(5)):
            away = context[j] - weights[i] @ context
            block = torch.eye(d_context).double() + torch.outer(away, slopes[i, j, j])
            torch.testing.assert_close(found[i, :, j], weights[i, j] * block)


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (..., "Nothing to check so far"),
        (lambda *a: None, "Nothing to check so far"),
        (lambda *a: by_jacobian(*a).T, "transpose"),
        (lambda *a: blocks(*a), "should have shape (3, 5)"),
        (lambda f, q, c: jacobian(lambda r: f(r, c), q).norm(dim=(1, 3)), "should have shape"),
        (lambda *a: blocks(*a).sum((0, 1)).norm(dim=1), "should have shape (3, 5)"),
        (lambda *a: by_jacobian(*a) ** 2, "take the root"),
        (lambda *a: blocks(*a).sum((1, 3)), "may cancel to zero"),
        (lambda *a: blocks(*a).sum((1, 3)).abs(), "may cancel to zero"),
        (lambda *a: blocks(*a).abs().sum((1, 3)), "sums of sizes"),
        (lambda *a: blocks(*a).abs().amax((1, 3)), "the largest entries"),
        (lambda *a: blocks(*a).sum(1).norm(dim=-1), "before you measured"),
        (unmasked, "You find a path to them"),
        (lambda *a: by_jacobian(*a) * 1.1, "the numbers are not"),
        (lambda layer, q, c: layer.nothing, "AttributeError"),
    ],
)
def test_wrong_paths(function, advice):
    assert_wrong(exercises.check_direct_path(function), advice)


# Multiplications


def counted(n_k, n_q, d):
    scores = [[[1 for _ in range(d)] for _ in range(n_k)] for _ in range(n_q)]
    contexts = [[[1 for _ in range(n_k)] for _ in range(d)] for _ in range(n_q)]
    return sum(len(row) for step in scores + contexts for row in step)


def test_multiplications_solved():
    count = counted(30, 20, 64)
    longer, both = counted(60, 20, 64) / count, counted(60, 40, 64) // count
    assert exercises.check_multiplications(count, longer, both)
    assert exercises.check_multiplications(torch.tensor(76_800), np.float64(2), [4])


@pytest.mark.parametrize(
    ("count", "longer", "both", "advice"),
    [
        (..., ..., ..., "Nothing to check so far: count"),
        (76_800, ..., ..., "Nothing to check so far: by which factor"),
        (76_800, 2, ..., "when both are twice as long"),
        (600, 2, 4, "the number of scores"),
        (1200, 2, 4, "One score takes 64"),
        (38_400, 2, 4, "Add the other"),
        (39_000, 2, 4, "each weight multiplies 64"),
        (77_400, 2, 4, "Neither softmax nor scale"),
        (153_600, 2, 4, "Do not count additions"),
        (320_000, 2, 4, "not each other"),
        (115_200, 4, 4, "not n_k²"),
        (51_200, 1, 4, "not n_q²"),
        (6_400, 2, 4, "a product, not a sum"),
        (5, 2, 4, "5 is not right. Write two loops"),
        ([1, 2], 2, 4, "should have shape (1,)"),
        ("many", 2, 4, "should be one number"),
        (76_800, 4, 4, "look at E43"),
        (76_800, 3, 4, "count again, and divide: not 3"),
        (76_800, 2, 2, "twice again for the target: not 2"),
    ],
)
def test_wrong_multiplications(count, longer, both, advice):
    assert_wrong(exercises.check_multiplications(count, longer, both), advice)


# Additive scores


def split(query, key, W_q, W_k, v):
    return torch.tanh((query @ W_q.T)[:, None] + (key @ W_k.T)[None]) @ v


def by_loops(query, key, W_q, W_k, v):
    queries, keys = [W_q @ row for row in query], [W_k @ row for row in key]
    return [[float(v @ torch.tanh(q + k)) for k in keys] for q in queries]


def in_numpy(*given):
    query, key, W_q, W_k, v = (part.numpy() for part in given)
    return np.einsum("qka,a->qk", np.tanh((query @ W_q.T)[:, None] + key @ W_k.T), v)


def joined(query, key, W_q, W_k, v):
    both = torch.cat([query[:, None].expand(-1, len(key), -1),
                      key[None].expand(len(query), -1, -1)], dim=-1)  # fmt: skip
    return torch.tanh(both @ torch.cat([W_q, W_k], dim=1).T) @ v


def pair_by_pair(query, key, W_q, W_k, v):
    return [[float(v @ torch.tanh(W_q @ q + W_k @ k)) for k in key] for q in query]


def keys_again(query, key, W_q, W_k, v):
    rows = [torch.tanh(W_q @ q + key @ W_k.T) @ v for q in query]
    return torch.stack(rows)


def test_additive_solved():
    assert exercises.check_additive(split)
    assert exercises.check_additive(by_loops)
    assert exercises.check_additive(in_numpy)
    assert exercises.check_additive(additive_scores)
    einsum = lambda q, k, W, U, v: torch.einsum(  # noqa: E731
        "qka,a->qk", torch.tanh(torch.einsum("qd,ad->qa", q, W)[:, None] + k @ U.T), v
    )
    assert exercises.check_additive(einsum)


@pytest.mark.parametrize("function", [joined, pair_by_pair, keys_again])
def test_the_pairwise_form_is_right_and_refused(function, generator):
    shapes = (3, 5), (2, 7), (11, 5), (11, 7), (11,)
    given = [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]
    found = torch.as_tensor(function(*given), dtype=torch.float64)
    torch.testing.assert_close(found, additive_scores(*given))
    assert_wrong(exercises.check_additive(function), "867 are enough. Project each word once")


def test_the_counts_are_those_of_the_two_forms():
    assert "867 multiplications are enough; pair by pair it would be 5,577" in str(
        exercises.check_additive(split)
    )
    assert "took 5,577 multiplications" in str(exercises.check_additive(joined))
    assert "took 5,577 multiplications" in str(exercises.check_additive(pair_by_pair))


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (..., "Nothing to check so far"),
        (lambda *a: None, "Nothing to check so far"),
        (lambda *a: split(*a).T, "transpose"),
        (lambda q, k, W, U, v: (q @ W.T @ v)[:, None] + k @ U.T @ v, "The tanh is missing"),
        (lambda q, k, W, U, v: ((q @ W.T @ v)[:, None] + k @ U.T @ v).tanh(), "inside, before v"),
        (lambda q, k, W, U, v: (q @ W.T).tanh().matmul(v)[:, None] + (k @ U.T).tanh() @ v,
         "Add first, then tanh"),
        (lambda q, k, W, U, v: ((q @ W.T)[:, None] * (k @ U.T)).tanh() @ v, "adds the two"),
        (lambda q, k, W, U, v: (q @ W.T * v) @ (k @ U.T).T, "the additive score adds"),
        (lambda q, k, W, U, v: ((q @ W.T)[:, None] + k @ U.T).tanh().sum(-1), "v is missing"),
        (lambda *a: split(*a).softmax(dim=-1), "Return the scores"),
        (lambda *a: split(*a).sigmoid(), "the numbers are not"),
        (lambda *a: split(*a)[0], "should have shape (11, 13)"),
        (lambda q, k, W, U, v: q @ U.T, "RuntimeError"),
    ],
)  # fmt: skip
def test_wrong_scores(function, advice):
    assert_wrong(exercises.check_additive(function), advice)
