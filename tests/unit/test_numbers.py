"""Numbers in words: what a dictionary says, and that no two numbers are written alike."""

import pytest

from softlookup.data.numbers import LARGEST, english_number, french_number

KNOWN = {
    1: ("un", "one"),
    16: ("seize", "sixteen"),
    17: ("dix sept", "seventeen"),
    20: ("vingt", "twenty"),
    21: ("vingt et un", "twenty one"),
    42: ("quarante deux", "forty two"),
    61: ("soixante et un", "sixty one"),
    70: ("soixante dix", "seventy"),
    71: ("soixante et onze", "seventy one"),
    79: ("soixante dix neuf", "seventy nine"),
    80: ("quatre vingts", "eighty"),
    81: ("quatre vingt un", "eighty one"),
    90: ("quatre vingt dix", "ninety"),
    91: ("quatre vingt onze", "ninety one"),
    99: ("quatre vingt dix neuf", "ninety nine"),
    100: ("cent", "one hundred"),
    101: ("cent un", "one hundred one"),
    180: ("cent quatre vingts", "one hundred eighty"),
    200: ("deux cents", "two hundred"),
    480: ("quatre cent quatre vingts", "four hundred eighty"),
    999: ("neuf cent quatre vingt dix neuf", "nine hundred ninety nine"),
}


@pytest.mark.parametrize("n", KNOWN)
def test_known_numbers(n):
    assert (" ".join(french_number(n)), " ".join(english_number(n))) == KNOWN[n]


@pytest.mark.parametrize("write", [french_number, english_number])
def test_no_two_numbers_are_written_alike(write):
    texts = {tuple(write(n)) for n in range(1, LARGEST + 1)}
    assert len(texts) == LARGEST
    assert all("-" not in text and "zéro" not in text and "zero" not in text for text in texts)


@pytest.mark.parametrize("write", [french_number, english_number])
@pytest.mark.parametrize(
    ("n", "message"), [(0, "at least 1; got n=0"), (1000, "n must be at most 999; got n=1000")]
)
def test_numbers_out_of_range_are_refused(write, n, message):
    with pytest.raises(ValueError, match=message):
        write(n)


@pytest.mark.bad_input
def test_what_is_no_number_is_refused():
    with pytest.raises(ValueError, match=r"an integer of at least 1; got n=2\.0"):
        french_number(2.0)
