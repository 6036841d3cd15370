"""What the streaming simulator refuses."""

import pytest
import torch

from softlookup.show import StreamingSimulator

ROWS = torch.ones(5, 3)
BAD = torch.full((5, 3), torch.nan)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((list("abcd"), ROWS, ROWS, ROWS), {"width": 2}, "one row for each token; got n_tokens=4"),
        pytest.param((list("abcde"), ROWS, ROWS[:4], ROWS), {"width": 2}, "one row for each token",
                     marks=pytest.mark.bad_input),
        ((["a"], ROWS[:1], ROWS[:1], ROWS[:1]), {"width": 1}, "from 2 to 32 tokens"),
        ((["a"] * 33, *3 * [torch.ones(33, 2)]), {"width": 1}, "from 2 to 32 tokens"),
        ((list("abcde"), ROWS, ROWS, ROWS), {"width": 0}, "width=0"),
        ((list("abcde"), ROWS, ROWS, ROWS), {"width": 6}, "at most the number of tokens"),
        ((list("abcde"), ROWS, ROWS, ROWS), {"width": 2, "n_sinks": 5}, "at most 4"),
        ((list("abcde"), ROWS, ROWS, ROWS), {"width": 2, "n_sinks": -1}, "n_sinks=-1"),
        ((list("abcde"), ROWS, ROWS, ROWS), {"width": 2, "position": 5}, "less than the number"),
        ((list("abcde"), ROWS, BAD, ROWS), {"width": 2}, "must be finite"),
        pytest.param((list("abcde"), ROWS.long(), ROWS, ROWS), {"width": 2}, "floating-point",
                     marks=pytest.mark.bad_input),
        pytest.param((list("abcde"), ROWS[..., None], ROWS, ROWS), {"width": 2}, "one row for each",
                     marks=pytest.mark.bad_input),
    ],
)  # fmt: skip
def test_bad_input_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        StreamingSimulator(*arguments, **options)
