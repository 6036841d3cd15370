"""The rotation dial and the sinusoid explorer in Python: what the page gets, what is refused."""

import json
import math

import pytest

from softlookup.show import RotationDial, SinusoidExplorer


def test_the_page_gets_what_python_was_given():
    dial = RotationDial(10, base=50.0, t=0, offset=-30, name="fig-clocks")
    expected = {"d": 10, "base": 50.0, "t": 0, "offset": -30, "longest": 30}
    assert json.loads(dial.data) == expected
    assert 'id="fig-clocks"' in dial.html()
    tables = json.loads(SinusoidExplorer().data)["tables"]
    assert [(t["d"], t["base"], t["first"]) for t in tables] == [
        (50, 10000, 4), (4, 100, 0), (50, 10000, 46)]  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_model": 2}, "d_model must be an integer of at least 4; got d_model=2"),
        ({"d_model": 7}, "d_model must be even and at most 12; got d_model=7"),
        ({"d_model": 14}, "d_model must be even and at most 12; got d_model=14"),
        ({"d_model": 8.0}, "d_model must be an integer of at least 4; got d_model=8.0"),
        ({"base": 1.0}, "base must be finite and above 1; got base=1.0"),
        ({"base": math.nan}, "base must be finite and above 1; got base=nan"),
        ({"base": math.inf}, "base must be finite and above 1; got base=inf"),
        ({"t": -1}, "t must be an integer of at least 0; got t=-1"),
        ({"t": 31}, "t and offset must be at most 30; got t=31, offset=2"),
        ({"offset": -31}, "offset must be an integer of at least -30; got offset=-31"),
        ({"offset": 31}, "t and offset must be at most 30; got t=5, offset=31"),
        ({"alt": " "}, "alt"),
        ({"caption": ""}, "caption"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        RotationDial(**options)
