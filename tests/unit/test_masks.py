"""Masks: small ones written out, counts by formula, loops over |i - j|, and bad input."""

import pytest
import torch

from softlookup.masks import (
    causal_mask,
    dilated_mask,
    global_mask,
    padding_mask,
    padding_of,
    window_mask,
)


def picture(mask):
    """The mask as rows of x (may read) and . (may not)."""
    return ["".join("x" if allowed else "." for allowed in row) for row in mask.tolist()]


def test_causal_mask_is_the_lower_triangle():
    assert picture(causal_mask(5)) == ["x....", "xx...", "xxx..", "xxxx.", "xxxxx"]


def test_causal_mask_lets_the_last_queries_read_all_earlier_keys():
    assert picture(causal_mask(2, 5)) == ["xxxx.", "xxxxx"]


def test_causal_mask_of_the_last_queries_is_the_end_of_the_whole_mask():
    assert causal_mask(3, 7).equal(causal_mask(7)[-3:])


def test_causal_mask_of_one_new_token_allows_everything():
    assert causal_mask(1, 7).all()


@pytest.mark.parametrize("n", [1, 2, 7, 11])
def test_causal_mask_has_one_edge_for_each_pair_and_each_token(n):
    assert causal_mask(n).sum().item() == n * (n + 1) // 2


def test_window_mask_reaches_to_both_sides():
    assert picture(window_mask(5, 1)) == ["xx...", "xxx..", ".xxx.", "..xxx", "...xx"]


def test_window_mask_with_the_causal_mask_keeps_the_past():
    combined = window_mask(5, 2) & causal_mask(5)
    assert picture(combined) == ["x....", "xx...", "xxx..", ".xxx.", "..xxx"]


def test_window_mask_at_the_ends_of_the_width():
    assert picture(window_mask(3, 0)) == ["x..", ".x.", "..x"]
    assert window_mask(3, 2).all()


def test_dilated_mask_leaves_gaps():
    expected = ["x..x...", ".x..x..", "..x..x.", "x..x..x", ".x..x..", "..x..x.", "...x..x"]
    assert picture(dilated_mask(7, 1, 3)) == expected


def test_dilated_mask_stops_after_width_keys():
    assert picture(dilated_mask(7, 2, 2))[0] == "x.x.x.."
    assert picture(dilated_mask(7, 2, 2))[6] == "..x.x.x"


@pytest.mark.parametrize("width", [0, 1, 3])
def test_dilated_mask_without_gaps_is_a_window(width):
    assert dilated_mask(7, width, 1).equal(window_mask(7, width))


def test_global_mask_fills_rows_and_columns():
    assert picture(global_mask(5, [0, 3])) == ["xxxxx", "x..x.", "x..x.", "xxxxx", "x..x."]


def test_global_mask_joins_a_window():
    combined = window_mask(4, 0) | global_mask(4, [1])
    assert picture(combined) == ["xx..", "xxxx", ".xx.", ".x.x"]


def test_global_mask_of_no_or_of_repeated_positions():
    assert not global_mask(3, []).any()
    assert global_mask(3, [2, 2]).equal(global_mask(3, [2]))


def test_window_and_global_token_reach_everything_in_two_steps():
    one_step = (window_mask(11, 1) | global_mask(11, [3])).double()
    assert (one_step @ one_step > 0).all()


@pytest.mark.parametrize("lengths", [[3, 0, 5], (3, 0, 5), torch.tensor([3, 0, 5])])
def test_padding_mask_keeps_the_first_tokens_of_each_text(lengths):
    mask = padding_mask(lengths, n=5)
    assert mask.shape == (3, 1, 5)
    assert picture(mask.squeeze(1)) == ["xxx..", ".....", "xxxxx"]


def test_padding_mask_combines_with_the_causal_mask():
    mask = padding_mask([2, 3], n=3) & causal_mask(3)
    assert picture(mask[0]) == ["x..", "xx.", "xx."]
    assert picture(mask[1]) == ["x..", "xx.", "xxx"]


def test_padding_mask_of_no_texts():
    assert padding_mask([], n=3).shape == (0, 1, 3)


def test_every_mask_is_boolean():
    masks = [causal_mask(3), window_mask(3, 1), dilated_mask(3, 1, 2), global_mask(3, [0])]
    assert {mask.dtype for mask in [*masks, padding_mask([1], 3)]} == {torch.bool}


@pytest.mark.parametrize("n", [0, -1])
def test_masks_refuse_a_length_below_one(n):
    message = f"n must be an integer of at least 1; got n={n}"
    with pytest.raises(ValueError, match=message):
        window_mask(n, 1)
    with pytest.raises(ValueError, match=message):
        dilated_mask(n, 1, 1)
    with pytest.raises(ValueError, match=message):
        global_mask(n, [])
    with pytest.raises(ValueError, match=message):
        padding_mask([0], n)
    with pytest.raises(ValueError, match=f"n_q must be an integer of at least 1; got n_q={n}"):
        causal_mask(n)


def test_causal_mask_refuses_more_queries_than_keys():
    with pytest.raises(ValueError, match="n_k must be an integer of at least 5; got n_k=3"):
        causal_mask(5, 3)


def test_widths_and_dilations_have_a_minimum():
    with pytest.raises(ValueError, match="width must be an integer of at least 0; got width=-1"):
        window_mask(3, -1)
    with pytest.raises(ValueError, match="width must be an integer of at least 0; got width=-1"):
        dilated_mask(3, -1, 1)
    with pytest.raises(ValueError, match="integer of at least 1; got dilation=0"):
        dilated_mask(3, 1, 0)


@pytest.mark.parametrize("lengths", [[2], [1, 3, 2]])
def test_a_batch_of_ids_has_one_length_for_each_text(lengths):
    ids = torch.zeros(2, 3, dtype=torch.int64)
    assert torch.equal(padding_of([1, 3], ids), padding_mask([1, 3], n=3))
    with pytest.raises(ValueError, match=f"one length for each text; got n_lengths={len(lengths)}"):
        padding_of(lengths, ids)
