"""GloVe's weights and loss, fastText's pieces: worked numbers, loops, bad input."""

import math
import re

import pytest
import torch
from torch.testing import assert_close

from softlookup.words.word2vec import character_ngrams, glove_loss, glove_weight

VOCAB, D_MODEL = 11, 5


@pytest.fixture
def parts(generator):
    """Two tables, two rows of biases, and counts with zeros; nothing is symmetric."""
    shapes = (VOCAB, D_MODEL), (VOCAB, D_MODEL), (VOCAB,), (VOCAB,)
    drawn = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    return *drawn, torch.randint(0, 7, (VOCAB, VOCAB), generator=generator).double()


def weight(count, x_max, power):
    """GloVe's weight of one count, as the paper writes it."""
    return (count / x_max) ** power if count < x_max else 1.0


@pytest.mark.parametrize(("x_max", "power"), [(100.0, 0.75), (3.0, 0.5), (6, 1)])
def test_glove_weight_number_by_number(parts, x_max, power):
    counts = parts[-1]
    expected = [[weight(count, x_max, power) for count in row] for row in counts.tolist()]
    assert_close(glove_weight(counts, x_max, power), torch.tensor(expected).double())


def test_glove_weight_of_the_paper():
    counts = torch.tensor([[0.0, 100, 50], [101, 1e9, 1], [6.25, 81, 16]]).double()
    found = glove_weight(counts)
    expected = [[0, 1, 0.5**0.75], [1, 1, 0.01**0.75], [0.125, 0.81**0.75, 0.16**0.75]]
    assert_close(found, torch.tensor(expected).double())


@pytest.mark.parametrize("options", [{}, {"x_max": 3.0, "power": 0.5}])
def test_glove_loss_against_a_loop_over_pairs(parts, options):
    U, V, b, c, counts = parts
    x_max, power = options.get("x_max", 100.0), options.get("power", 0.75)
    total = 0.0
    for i in range(VOCAB):
        for j in range(VOCAB):
            if (count := counts[i, j].item()) > 0:
                error = (U[i] * V[j]).sum() + b[i] + c[j] - math.log(count)
                total += weight(count, x_max, power) * error**2
    assert_close(glove_loss(*parts, **options), total)


def test_an_unseen_pair_has_no_influence(parts):
    U, V, b, c, counts = (part.clone().requires_grad_(part.ndim < 3) for part in parts)
    with torch.no_grad():
        counts[3] = 0
    glove_loss(U, V, b, c, counts.detach()).backward()
    assert torch.equal(U.grad[3], torch.zeros(D_MODEL).double())
    assert b.grad[3] == 0
    assert torch.isfinite(V.grad).all()


def test_scores_that_are_the_logarithms_cost_nothing(generator):
    factors = torch.rand(2, VOCAB, generator=generator, dtype=torch.float64)
    counts = (factors[0, :, None] + factors[1]).exp()
    nothing = torch.zeros(VOCAB, D_MODEL).double()
    assert_close(glove_loss(nothing, nothing, *factors, counts), torch.zeros(()).double())


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({4: -1.0}, "counts must be at least 0"),
        ({4: math.inf}, "counts must be"),
        ({0: math.nan}, "U must be finite"),
        ({2: math.nan}, "bias must be finite"),
    ],
)
def test_glove_refuses_what_is_no_number(parts, change, rule):
    for place, value in change.items():
        parts[place].view(-1)[0] = value
    with pytest.raises(ValueError, match=re.escape(rule)):
        glove_loss(*parts)


@pytest.mark.parametrize("option", ["x_max", "power"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
def test_glove_refuses_options_out_of_range(parts, option, value):
    for call in (lambda **o: glove_weight(parts[4], **o), lambda **o: glove_loss(*parts, **o)):
        with pytest.raises(ValueError, match=option):
            call(**{option: value})


def test_tables_and_counts_must_fit(parts):
    U, V, b, c, counts = parts
    for wrong in (
        (U[:-1], V, b, c, counts),
        (U, V[:, :-1], b, c, counts),
        (U, V, b[:-1], c, counts),
        (U, V, b, c, counts[:, :-1]),
    ):
        with pytest.raises(ValueError, match=r"must have the same|d_model"):
            glove_loss(*wrong)


# Pieces


def pieces_by_length(word, shortest, longest):
    """All pieces, by another way round: length by length, sorted."""
    marked = "<" + word + ">"
    found = []
    for length in range(shortest, longest + 1):
        found += [marked[k : k + length] for k in range(len(marked) - length + 1)]
    return sorted(found if shortest <= len(marked) <= longest else [*found, marked])


@pytest.mark.parametrize("word", ["a", "we", "mice", "banana", "skateboarders", "été", "<>"])
@pytest.mark.parametrize(("shortest", "longest"), [(3, 6), (1, 2), (4, 4), (2, 30)])
def test_pieces_length_by_length(word, shortest, longest):
    found = character_ngrams(word, shortest, longest)
    assert sorted(found) == pieces_by_length(word, shortest, longest)
    assert found.count(f"<{word}>") == 1


def test_the_papers_example():
    assert character_ngrams("where", 3, 3) == ["<wh", "whe", "her", "ere", "re>", "<where>"]
    assert "her" in character_ngrams("where")
    assert "<her>" not in character_ngrams("where")  # the word her is another piece


def test_a_piece_that_occurs_twice_stands_there_twice():
    assert character_ngrams("banana", 3, 3).count("ana") == 2


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (("",), "the word must have at least one character; got word=''"),
        (("cat", 4, 3), "longest must be at least shortest; got shortest=4, longest=3"),
        (("cat", 0), "shortest must be an integer of at least 1"),
    ],
)
def test_pieces_refuse_bad_input(arguments, rule):
    with pytest.raises(ValueError, match=re.escape(rule)):
        character_ngrams(*arguments)
