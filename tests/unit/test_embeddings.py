"""One-hot rows, lookup, means, similarity, search: loops, numbers by hand, and bad input."""

import math

import pytest
import torch
from torch.testing import assert_close

from softlookup.words import MEASURES, lookup, mean_vectors, nearest, one_hot, similarity

F64 = torch.float64


def tensor(values):
    return torch.tensor(values, dtype=F64)


def random(*shape, generator):
    return torch.randn(*shape, dtype=F64, generator=generator)


@pytest.fixture
def table(generator):
    """A table of 7 vectors of dimension 5."""
    return random(7, 5, generator=generator)


# one_hot


def test_one_hot_rows_are_the_rows_of_the_identity():
    rows = one_hot(torch.arange(5), 5, dtype=F64)
    assert torch.equal(rows, torch.eye(5, dtype=F64))
    assert torch.equal(rows @ rows.mT, torch.eye(5, dtype=F64))


def test_one_hot_equals_a_loop_and_keeps_leading_axes():
    ids = torch.tensor([[2, 0, 6], [6, 6, 1]])
    rows = one_hot(ids, 7)
    assert rows.shape == (2, 3, 7)
    assert rows.dtype == torch.get_default_dtype()
    for b in range(2):
        for i in range(3):
            for j in range(7):
                assert rows[b, i, j] == float(j == ids[b, i])


def test_one_hot_of_nothing_and_of_one_id():
    assert one_hot(torch.zeros(0, dtype=torch.long), 3).shape == (0, 3)
    assert one_hot(torch.tensor(1), 3).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([0, 3], "ids must be from 0 to 2; got smallest=0, largest=3"),
        ([-1], "ids must be from 0 to 2; got smallest=-1"),
    ],
)
def test_one_hot_refuses_ids_that_are_no_column(ids, message):
    with pytest.raises(ValueError, match=message):
        one_hot(torch.tensor(ids), 3)


def test_one_hot_refuses_an_empty_vocabulary_and_an_integer_type():
    with pytest.raises(ValueError, match="vocab_size must be an integer of at least 1; got"):
        one_hot(torch.tensor([0]), 0)
    with pytest.raises(ValueError, match=r"dtype must be a floating-point type; got dtype=torch.i"):
        one_hot(torch.tensor([0]), 2, dtype=torch.int64)


@pytest.mark.bad_input
@pytest.mark.parametrize("ids", [[0.0], [True]])
def test_ids_must_be_integers(ids):
    with pytest.raises(ValueError, match="ids must be integers; got dtype="):
        one_hot(torch.tensor(ids), 3)
    with pytest.raises(ValueError, match="ids must be integers; got dtype="):
        lookup(torch.eye(3), torch.tensor(ids))


# lookup


def test_lookup_of_the_lectures_example():
    magic = tensor([[17, 24, 1], [23, 5, 7], [4, 6, 13], [10, 12, 19], [11, 18, 25]])
    assert lookup(magic, torch.tensor([3])).tolist() == [[10.0, 12.0, 19.0]]


def test_lookup_equals_one_hot_times_table(table):
    ids = torch.tensor([[3, 3, 0], [6, 1, 2]])
    assert_close(lookup(table, ids), one_hot(ids, 7, dtype=F64) @ table, rtol=0, atol=0)


def test_a_row_that_is_read_twice_collects_its_gradient_twice(table):
    table.requires_grad_()
    lookup(table, torch.tensor([4, 1, 4])).sum().backward()
    expected = torch.zeros(7, 5, dtype=F64)
    expected[4], expected[1] = 2, 1
    assert torch.equal(table.grad, expected)


def test_lookup_gives_a_copy_not_a_window(table):
    before = table.clone()
    lookup(table, torch.tensor([2])).zero_()
    assert torch.equal(table, before)


@pytest.mark.parametrize("wrong", [7, -1])
def test_lookup_refuses_an_id_without_a_row(table, wrong):
    with pytest.raises(ValueError, match="ids must be from 0 to 6; got"):
        lookup(table, torch.tensor([0, wrong]))


@pytest.mark.bad_input
@pytest.mark.parametrize("wrong", [torch.zeros(3), torch.zeros(0, 2), torch.zeros(2, 0)])
def test_a_table_has_rows(wrong):
    with pytest.raises(ValueError, match="embedding must be a matrix with a row for each vector"):
        lookup(wrong, torch.tensor([], dtype=torch.long))


@pytest.mark.bad_input
def test_a_table_holds_floating_point_numbers():
    with pytest.raises(ValueError, match="embedding must hold floating-point numbers; got dtype="):
        lookup(torch.ones(2, 2, dtype=torch.long), torch.tensor([0]))


# mean_vectors


def test_mean_vectors_equal_a_loop_over_tokens(table):
    documents = [[0, 6, 6, 2], [3], [1, 2, 5, 5, 5]]
    counts = torch.stack([one_hot(torch.tensor(d), 7, dtype=F64).sum(0) for d in documents])
    found = mean_vectors(counts, table)
    for i, document in enumerate(documents):
        expected = sum(table[w] for w in document) / len(document)
        assert_close(found[i], expected)


def test_a_document_without_known_tokens_gets_zeros_and_no_nan(table):
    counts = torch.zeros(2, 7, dtype=F64)
    counts[1, 3] = 2
    found = mean_vectors(counts, table)
    assert torch.equal(found[0], torch.zeros(5, dtype=F64))
    assert_close(found[1], table[3])


def test_counts_may_be_integers(table):
    counts = torch.tensor([[1, 0, 0, 2, 0, 0, 0]])
    assert_close(mean_vectors(counts, table)[0], (table[0] + 2 * table[3]) / 3)


@pytest.mark.bad_input
def test_mean_vectors_refuse_another_vocabulary(table):
    rule = "counts must be rows with one column for each row of embedding; got"
    with pytest.raises(ValueError, match=rule + r" counts=\(2, 5\), embedding=\(7, 5\)"):
        mean_vectors(torch.ones(2, 5), table)


def test_mean_vectors_refuse_what_is_no_count(table):
    for wrong in -1.0, math.nan, math.inf:
        with pytest.raises(ValueError, match=f"finite and not negative; got wrong=.{wrong}"):
            mean_vectors(torch.tensor([[wrong, 0, 0, 0, 0, 0, 0]]), table)


# similarity


def similarity_by_loop(x, y, measure):
    dot = sum(a * b for a, b in zip(x, y, strict=True))
    if measure == "dot":
        return dot
    if measure == "euclidean":
        return -math.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))
    norms = math.sqrt(sum(a * a for a in x)) * math.sqrt(sum(b * b for b in y))
    return dot / norms if norms else 0.0


@pytest.mark.parametrize("measure", MEASURES)
def test_similarity_equals_a_loop_over_all_pairs(measure, generator):
    x, y = random(3, 5, generator=generator), random(2, 5, generator=generator)
    x[1] = 0
    found = similarity(x, y, measure=measure)
    assert found.shape == (3, 2)
    for i in range(3):
        for j in range(2):
            expected = similarity_by_loop(x[i].tolist(), y[j].tolist(), measure)
            assert found[i, j].item() == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_similarity_keeps_batches_apart(measure, generator):
    x, y = random(2, 3, 5, generator=generator), random(2, 7, 5, generator=generator)
    both = similarity(x, y, measure=measure)
    for b in range(2):
        assert_close(both[b], similarity(x[b], y[b], measure=measure))


def test_three_measures_disagree_on_the_chapters_triple():
    query, table = tensor([[2.0, 1.0]]), tensor([[1.0, 0.5], [6.0, -1.0], [2.0, 1.8]])
    best = {m: similarity(query, table, measure=m).argmax().item() for m in MEASURES}
    assert best == {"cosine": 0, "dot": 1, "euclidean": 2}


def test_the_zero_vector_is_like_nothing_by_rule():
    zero, x = torch.zeros(1, 3, dtype=F64), tensor([[3.0, 0.0, 4.0]])
    assert similarity(zero, x).item() == 0
    assert similarity(zero, zero).item() == 0
    assert similarity(zero, x, measure="dot").item() == 0
    assert similarity(zero, x, measure="euclidean").item() == -5


def test_distance_is_exact_between_near_points_far_from_the_origin():
    x = tensor([[1e8, 0.0]])
    assert similarity(x, x + tensor([[0.0, 1e-3]]), measure="euclidean").item() == -1e-3


def test_similarity_refuses_unknown_measures_and_misfits():
    x = torch.ones(2, 3)
    with pytest.raises(ValueError, match="measure must be one of 'cosine', 'dot', 'euclidean'; go"):
        similarity(x, x, measure="angle")
    rule = "x and y must be rows of the same dimension d, at least 1, with equal leading axes; got"
    with pytest.raises(ValueError, match=rule + r" x=\(2, 0\)"):
        similarity(torch.ones(2, 0), torch.ones(2, 0))


@pytest.mark.bad_input
@pytest.mark.parametrize("y", [torch.ones(2, 4), torch.ones(3), torch.ones(5, 2, 3)])
def test_similarity_refuses_shapes_that_do_not_fit(y):
    with pytest.raises(ValueError, match="same dimension d, at least 1, with equal leading axes"):
        similarity(torch.ones(2, 3), y)


@pytest.mark.bad_input
def test_similarity_refuses_integers():
    with pytest.raises(ValueError, match="y must hold floating-point numbers"):
        similarity(torch.ones(2, 3), torch.ones(2, 3, dtype=torch.long))


# nearest


@pytest.mark.parametrize("measure", MEASURES)
def test_nearest_equals_a_sort_of_all_rows(measure, table, generator):
    queries = random(2, 3, 5, generator=generator)
    scores, ids = nearest(queries, table, 4, measure=measure)
    assert ids.shape == scores.shape == (2, 3, 4)
    for b in range(2):
        for i in range(3):
            query = queries[b, i].tolist()
            pairs = [(-similarity_by_loop(query, row.tolist(), measure), w)
                     for w, row in enumerate(table)]  # fmt: skip
            best = sorted(pairs)[:4]
            assert ids[b, i].tolist() == [w for _, w in best]
            assert scores[b, i].tolist() == pytest.approx([-s for s, _ in best])


def test_nearest_leaves_out_what_is_excluded(table):
    assert nearest(table[3], table, 1)[1].tolist() == [3]
    full = nearest(table[3], table, 7)[1].tolist()
    rest = nearest(table[3], table, 5, exclude=[3, 6, 3])[1].tolist()
    assert rest == [w for w in full if w not in (3, 6)]


def test_equal_similarities_come_in_the_order_of_the_ids():
    table = tensor([[0.0, 1.0], [2.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    assert nearest(tensor([1.0, 0.0]), table, 4)[1].tolist() == [1, 2, 3, 0]


def test_nearest_refuses_more_than_there_is(table):
    rule = "k must be at most the number of rows allowed; got k=6, allowed=5"
    with pytest.raises(ValueError, match=rule):
        nearest(table[0], table, 6, exclude=(0, 1))
    with pytest.raises(ValueError, match="k must be an integer of at least 1; got k=0"):
        nearest(table[0], table, 0)
    with pytest.raises(ValueError, match="exclude must be from 0 to 6; got smallest=7"):
        nearest(table[0], table, 1, exclude=[7])


def test_nearest_refuses_what_has_no_order(table):
    for wrong in math.nan, math.inf:
        query = table[0].clone()
        query[2] = wrong
        with pytest.raises(ValueError, match=r"every similarity must be a number.* n_undefined=7"):
            nearest(query, table, 1)


@pytest.mark.bad_input
def test_nearest_refuses_a_query_of_another_dimension(table):
    rule = r"query must hold vectors as long as the rows of table; got query=\(4,\), table=\(7, 5\)"
    with pytest.raises(ValueError, match=rule):
        nearest(torch.ones(4, dtype=F64), table, 1)
