"""The query bars in Python: what they hand to the page, and what they refuse."""

import json
import math
import re

import pytest
import torch

from softlookup.show import QueryBars

WORDS = ["one", "two", "three"]
NAMES = ["what", "how"]


@pytest.fixture
def keys(generator):
    return torch.randn(3, 2, generator=generator, dtype=torch.float64)


def bars(keys, words=WORDS, query=(1.5, -0.5), names=NAMES, reader="one"):
    query = torch.as_tensor(query) if isinstance(query, tuple) else query
    return QueryBars(words, keys, query, names=names, reader=reader)


def test_the_page_gets_what_python_was_given(keys):
    assert json.loads(bars(keys).data) == {"words": WORDS, "names": NAMES, "reader": "one",
                                           "keys": keys.tolist(), "query": [1.5, -0.5]}  # fmt: skip


def test_the_html_is_small_and_asks_nobody(keys):
    html = bars(keys).html()
    assert len(html.encode()) < 200_000
    assert re.findall(r"https?://[^\"']*", html) == ["http://www.w3.org/2000/svg"]


@pytest.mark.bad_input
@pytest.mark.parametrize("words", [["one"], ["w"] * 13, ["one", " "], "ab", ["one", 2]])
def test_words_must_be_two_to_twelve_words(words, keys):
    with pytest.raises(ValueError, match="words must be 2 to 12 words"):
        bars(keys, words=words)


@pytest.mark.bad_input
@pytest.mark.parametrize("names", [["what"], "ab", ["what", ""], ["a", "b", "c"]])
def test_names_must_be_two_words(names, keys):
    with pytest.raises(ValueError, match="names must be 2 words"):
        bars(keys, names=names)


@pytest.mark.bad_input
@pytest.mark.parametrize("reader", ["", " ", 7])
def test_reader_must_be_a_word(reader, keys):
    with pytest.raises(ValueError, match="reader must be a word"):
        bars(keys, reader=reader)


@pytest.mark.bad_input
def test_shapes_must_fit(keys):
    with pytest.raises(ValueError, match="one row of 2 numbers per word"):
        bars(keys[:2])
    with pytest.raises(ValueError, match="query must have 2 numbers"):
        bars(keys, query=torch.zeros(3))


@pytest.mark.bad_input
def test_numbers_must_be_real(keys):
    with pytest.raises(ValueError, match="floating"):
        bars(keys.long())


@pytest.mark.parametrize("value", [10.5, -11.0, math.nan, math.inf])
def test_numbers_must_be_in_range(value, keys):
    keys[1, 1] = value
    with pytest.raises(ValueError, match="keys must hold numbers from -10 to 10"):
        bars(keys)


@pytest.mark.parametrize("value", [4.5, math.nan])
def test_the_query_must_be_on_its_sliders(value, keys):
    with pytest.raises(ValueError, match="query must hold numbers from -4 to 4"):
        bars(keys, query=(0.0, value))
