"""The heads that write captions: coded texts by hand, shares by a loop, and the recorded lesson."""

import torch
from torch.testing import assert_close

from softlookup.analysis import capture
from softlookup.recorded import recorded
from softlookup.recorded.heads_captions import (
    END,
    PADDING,
    START,
    UNKNOWN,
    N,
    NextWord,
    coded,
    distances,
    loss_of,
    reading,
)

NUMBERS = {START: 0, UNKNOWN: 1, END: 2, "a": 3, "man": 4, "dog": 5}


def model():
    torch.manual_seed(0)
    return NextWord(6, 2, d_model=8).float().eval()


def test_each_word_is_asked_for_the_next_one_and_the_last_for_the_end():
    ids, targets = coded([["a", "man"], ["a", "zebra", "a"]], NUMBERS)
    assert ids.shape == targets.shape == (2, N)
    assert ids[:, :4].tolist() == [[0, 3, 4, 2], [0, 3, 1, 3]]
    assert targets[:, :4].tolist() == [[3, 4, 2, PADDING], [3, 1, 3, 2]]
    assert (targets[:, 4:] == PADDING).all()


def test_a_long_text_is_cut():
    ids, targets = coded([["a"] * 30], NUMBERS)
    assert ids[0].tolist() == [0] + [3] * (N - 1)
    assert targets[0].tolist() == [3] * N


def test_the_loss_is_the_mean_over_the_words_that_are_asked_for():
    texts = coded([["a", "man"], ["dog"]], NUMBERS)
    found = [
        -model()(texts[0]).log_softmax(-1)[text, place, target].item()
        for text, row in enumerate(texts[1].tolist())
        for place, target in enumerate(row)
        if target != PADDING
    ]
    assert len(found) == 5
    assert abs(loss_of(model(), texts) - sum(found) / 5) < 1e-6


def test_the_shares_by_distance_are_those_of_a_loop():
    texts = coded([["a", "man"] * 5, ["dog"] * 7, ["a"]], NUMBERS)
    writer = model()
    with capture(writer, "weights") as seen:
        writer(texts[0])
    weights = seen["attention.weights"].detach()
    for head in range(2):
        rows = [
            [*(weights[text, head, i, i - back] for back in range(3)), weights[text, head, i, 0]]
            for text in range(3)
            for i in range(3, N)
            if texts[1][text, i] != PADDING
        ]
        expected = torch.tensor(rows).mean(0)
        found = torch.tensor(distances(writer, texts, reach=2)[head])
        assert_close(found, expected, rtol=0, atol=0.005001)


def test_a_reading_has_a_causal_map_for_each_head():
    found = reading(model(), ["a", "zebra", "man"], NUMBERS)
    assert found["words"] == [START, "a", "zebra", "man"]
    weights = torch.tensor(found["weights"])
    assert weights.shape == (2, 4, 4)
    assert_close(weights.sum(-1), torch.ones(2, 4), rtol=0, atol=0.021)
    assert (weights.triu(1) == 0).all()


def test_the_recorded_layers_have_the_same_size_however_many_heads_they_have():
    found = recorded("heads_captions").results
    sizes = {found["parameters"][n] for n in ("1", "4", "8")}
    assert len(sizes) == 1
    assert max(sizes) > found["parameters"]["0"]
