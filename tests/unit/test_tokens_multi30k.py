"""The experiment on three languages: mixtures, counts and pieces, checked by hand."""

import pytest

from softlookup.recorded import recorded, tokens_multi30k
from softlookup.tokenization import BytePairTokenizer

LANGUAGES = tokens_multi30k.LANGUAGES


def test_a_mixture_has_the_first_captions_of_each_language():
    captions = {language: [f"{language} {k}" for k in range(20)] for language in LANGUAGES}
    found = tokens_multi30k.mixed(captions, (0.9, 0.05, 0.05))
    assert found == [*(f"en {k}" for k in range(18)), "de 0", "fr 0"]
    assert tokens_multi30k.mixed(captions, (1.0, 0.0, 0.0)) == captions["en"]


@pytest.mark.parametrize(("name", "shares"), tokens_multi30k.MIXTURES.items())
def test_every_mixture_is_a_whole(name, shares):
    assert sum(shares) == pytest.approx(1)
    captions = {language: ["a"] * 29_000 for language in LANGUAGES}
    assert abs(len(tokens_multi30k.mixed(captions, shares)) - 29_000) <= 1


def test_tokens_are_counted_on_unseen_captions():
    data = {
        "train": {"en": ["aa aa aa"], "de": ["bb"], "fr": ["cc"]},
        "test": {"en": ["aa", "aaaa"], "de": ["bbb", "b"], "fr": ["é", "c"]},
    }
    found = tokens_multi30k.run(data, sizes=(257,), shown=257)
    assert found["tokens"]["English only"]["257"] == {"en": 1.5, "de": 2.0, "fr": 1.5}
    assert found["characters"] == {"en": 3.0, "de": 2.0, "fr": 1.0}
    assert found["bytes"] == {"en": 3.0, "de": 2.0, "fr": 1.5}
    pieces = {"en": ["aa"], "de": ["b", "b", "b"], "fr": ["<C3>", "<A9>"]}
    assert found["example"]["English only"] == pieces


def test_pieces_are_the_tokens_of_the_text():
    tokenizer = BytePairTokenizer([(104, 105)])
    assert tokens_multi30k.pieces(tokenizer, "hi, hip") == ["hi", ",", " ", "hi", "p"]


def test_the_recorded_prices_tell_the_lesson():
    """What the page says of them: who is not in the training text pays, and more with each size."""
    found = recorded("tokens_multi30k").results["tokens"]
    price = {
        name: [row["de"] / row["en"] for row in by_size.values()] for name, by_size in found.items()
    }
    assert price["English only"][0] < 2 < 2.5 < price["English only"][-1]
    assert price["90 % English"][0] > 1.7 > 1.31 > price["90 % English"][-1]
    assert max(price["a third each"]) < 1.12
