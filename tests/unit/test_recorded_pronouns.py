"""The head that reads captions for a pronoun: texts and masks by hand, the recorded lesson."""

import torch
from torch.testing import assert_close

from softlookup.recorded import recorded
from softlookup.recorded.pronoun_captions import (
    BLANK,
    PADDING,
    PRONOUNS,
    UNKNOWN,
    PronounReader,
    beginnings,
    coded,
    read_most,
    readable,
    share_right,
    votes_of,
    without,
    without_another,
)

NUMBERS = {PADDING: 0, UNKNOWN: 1, BLANK: 2, "a": 3, "man": 4, "dogs": 5}


def reader():
    """A head that looks for men and dogs, and says "his" for the one and "their" for the other."""
    model = PronounReader(6, d_model=6, d_k=1, even=False).double().eval()
    model.embedding.weight.data = torch.eye(6).double()
    fits = [0.0, 0, 1, 0, 9, 6]
    model.head.W_Q.weight.data = torch.tensor([[0.0, 0, 1, 0, 0, 0]]).double()
    model.head.W_K.weight.data = torch.tensor([fits]).double()
    votes = torch.zeros(4, 6)
    votes[0, 4] = votes[2, 5] = 1.0
    votes[3, 3] = 0.5  # "a" says "its"
    model.head.W_V.weight.data = votes.double()
    return model


def test_a_caption_is_cut_before_its_first_pronoun():
    captions = [
        "A man holds his hat and her bag",
        "no pronoun here",
        "his hat",
        "Two dogs: their ball",
    ]
    found = beginnings(captions)
    assert found == [(["a", "man", "holds"], 0), (["two", "dogs"], 2)]


def test_texts_end_with_the_blank_and_padding_stands_in_front():
    ids, answers = coded([(["a", "cat"], 0), (["a", "man", "dogs"], 2)], NUMBERS)
    assert ids.tolist() == [[0, 3, 1, 2], [3, 4, 5, 2]]
    assert answers.tolist() == [0, 2]


def test_the_blank_reads_the_words_before_it_and_nothing_else():
    ids = torch.tensor([[0, 3, 1, 2], [3, 4, 5, 2]])
    assert readable(ids)[:, 0].int().tolist() == [[0, 1, 1, 0], [1, 1, 1, 0]]
    _, weights = reader()(ids, readable(ids))
    assert_close(weights.sum(dim=1), torch.ones(2).double())
    assert (weights[:, -1] == 0).all()
    assert weights[0, 0] == 0


def test_weights_are_those_of_the_formula_and_even_ones_are_equal():
    ids = torch.tensor([[0, 3, 4, 2], [3, 4, 5, 2]])
    model = reader()
    _, weights = model(ids, readable(ids))
    e = torch.tensor([0.0, 9, 6]).double().softmax(dim=0)
    assert_close(weights[1, :3], e)
    model.even = True
    votes, weights = model(ids, readable(ids))
    assert_close(weights[0], torch.tensor([0, 0.5, 0.5, 0]).double())
    assert_close(votes[1], torch.tensor([1 / 3, 0, 1 / 3, 1 / 6]).double())


def test_a_word_is_taken_away_from_each_text():
    ids = torch.tensor([[0, 3, 4, 2], [3, 4, 5, 2]])
    model, answers = reader(), torch.tensor([0, 0])
    assert read_most(model, ids).tolist() == [1, 1]
    assert without(model, ids)[:, 0].int().tolist() == [[0, 1, 0, 0], [1, 0, 1, 0]]
    assert share_right(model, ids, answers) == 1.0
    assert share_right(model, ids, torch.tensor([0, 2])) == 0.5
    assert share_right(model, ids, torch.tensor([3, 2]), without(model, ids)) == 1.0
    other = without_another(model, ids)[:, 0]
    assert other[0].int().tolist() == [0, 0, 1, 0]
    assert other[1, 1]
    assert other[1].sum() == 2


def test_votes_are_the_value_without_its_mean():
    assert votes_of(reader(), 4) == [0.8, -0.2, -0.2, -0.2]
    assert votes_of(reader(), 3) == [-0.1, -0.1, -0.1, 0.4]


def test_the_recorded_result_tells_the_lesson():
    found = recorded("pronoun_captions").results
    always_his = max(found["asked"]) / found["test"]
    assert sum(found["asked"]) == found["test"]
    for k in range(3):
        assert found["right"][k] > always_his + 0.3
        assert found["right_without_first"][k] < always_his + 0.1
        assert abs(found["right_without_other"][k] - found["right"][k]) < 0.02
        assert abs(found["right_even"][k] - found["right"][k]) < 0.02
    assert [word for word, _ in found["read_most"][:4]] == ["man", "woman", "boy", "dog"]
    for name in "votes", "votes_even":
        least = max(max(found[name][word]) for word in ("plays", "in"))
        assert found[name]["girl"][1] > 5 * least
    for shown, pronoun in zip(found["shown"][:3], ("her", "its", "her"), strict=True):
        assert PRONOUNS[max(range(4), key=shown["chances"].__getitem__)] == pronoun
