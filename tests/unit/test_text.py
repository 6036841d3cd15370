"""Words, spans, n-grams and ids: the slides' examples, small oracles, bad input."""

import re

import pytest

from softlookup.checks import require_distinct, require_tokens
from softlookup.words import (
    Vocabulary,
    ngrams,
    offsets_to_span,
    span_to_offsets,
    token_offsets,
    word_tokens,
)

NOTE = "Dr. Ada saw J. O'Brien on 3 May."


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("This is a sentence. Yet", ["this", "is", "a", "sentence", "yet"]),
        ("isn't it? y’all!", ["isn't", "it", "y’all"]),
        ("'quoted' rock'n'roll dogs'", ["quoted", "rock'n'roll", "dogs"]),
        ("$1,000 snake_case 3.5", ["1", "000", "snake_case", "3", "5"]),
        ("Straße ÉTÉ москва 東京", ["straße", "été", "москва", "東京"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),  # an accent that is a character of its own
        ("x² ½ ٣", ["x²", "½", "٣"]),
        ("well-known end--start", ["well", "known", "end", "start"]),
        ("", []),
        (" .,!? 🙂\n", []),
    ],
)
def test_word_tokens(text, tokens):
    assert word_tokens(text) == tokens


def test_word_tokens_keeps_case_on_request():
    assert word_tokens("This is Not", lowercase=False) == ["This", "is", "Not"]
    assert word_tokens("This is Not") == ["this", "is", "not"]


def test_word_tokens_agrees_with_a_scan_over_characters():
    def by_hand(text):
        """Grow a word by one character at a time; ASCII text only."""
        words, word = [], ""
        for i, character in enumerate(text):
            following = text[i + 1 : i + 2]
            joins = character == "'" and word and (following.isalnum() or following == "_")
            if character.isalnum() or character == "_" or joins:
                word += character
            elif word:
                words, word = [*words, word], ""
        return [*words, word] if word else words

    text = "It's 7 o'clock; don't 'panic', rock'n'roll_2 is on ''air'' (it''s)."
    assert word_tokens(text, lowercase=False) == by_hand(text)
    assert by_hand(text)[:4] == ["It's", "7", "o'clock", "don't"]


def test_token_offsets_point_into_the_text_as_written():
    assert token_offsets(NOTE)[:4] == [(0, 2), (4, 7), (8, 11), (12, 13)]
    cut = [NOTE[start:end] for start, end in token_offsets(NOTE)]
    assert cut == word_tokens(NOTE, lowercase=False)
    assert token_offsets("...") == []


def test_token_offsets_do_not_move_when_lower_case_is_longer():
    text = "İİ now"  # each İ becomes two characters in lower case
    assert token_offsets(text) == [(0, 2), (3, 6)]
    assert len(word_tokens(text)) == 2


def test_every_span_comes_back_from_its_characters():
    offsets = token_offsets(NOTE)
    spans = [(i, j) for i in range(len(offsets)) for j in range(i + 1, len(offsets) + 1)]
    assert [offsets_to_span(span_to_offsets(span, offsets), offsets) for span in spans] == spans


def test_a_span_is_a_name_in_the_text():
    start, end = span_to_offsets((3, 5), token_offsets(NOTE))
    assert NOTE[start:end] == "J. O'Brien"


@pytest.mark.parametrize(
    ("characters", "span"),
    [((4, 16), (1, 3)), ((5, 9), (1, 3)), ((4, 7), (1, 2)), ((3, 8), (1, 2)), ((0, 99), (0, 4))],
)
def test_offsets_to_span_takes_every_token_it_touches(characters, span):
    assert offsets_to_span(characters, token_offsets("see Ada Lovelace today")) == span


@pytest.mark.parametrize("span", [(1, 1), (2, 1), (-1, 2), (0, 4)])
def test_span_to_offsets_refuses_a_span_outside_the_tokens(span):
    message = f"span must be 0 <= start < end <= n_tokens; got span={span}, n_tokens=3"
    with pytest.raises(ValueError, match=re.escape(message)):
        span_to_offsets(span, token_offsets("one two three"))


@pytest.mark.parametrize("characters", [(2, 2), (-1, 2), (5, 4)])
def test_offsets_to_span_refuses_characters_out_of_order(characters):
    message = f"character_span must be 0 <= start < end; got character_span={characters}"
    with pytest.raises(ValueError, match=re.escape(message)):
        offsets_to_span(characters, token_offsets("one two"))


@pytest.mark.parametrize("characters", [(3, 4), (7, 9)])
def test_offsets_to_span_refuses_characters_between_tokens(characters):
    with pytest.raises(ValueError, match=r"character_span must touch a token; got"):
        offsets_to_span(characters, token_offsets("one two. "))


def test_ngrams_of_the_slide():
    tokens = ["This", "is", "a", "sentence"]
    assert ngrams(tokens, 1) == tokens
    assert ngrams(tokens, 2) == ["This is", "is a", "a sentence"]
    assert ngrams(tokens, 4) == ["This is a sentence"]
    assert ngrams(tokens, 5) == []
    assert ngrams([], 1) == []


def test_ngrams_leaves_the_tokens_alone():
    tokens = ["a", "b"]
    ngrams(tokens, 1).append("c")
    assert tokens == ["a", "b"]


@pytest.mark.parametrize("n", [0, -1, pytest.param(1.5, marks=pytest.mark.bad_input)])
def test_ngrams_refuses_n(n):
    with pytest.raises(ValueError, match=f"n must be an integer of at least 1; got n={n}"):
        ngrams(["a"], n)


def test_vocabulary_numbers_from_the_unknown_token():
    vocabulary = Vocabulary(["this", "is", "not"])
    assert vocabulary.tokens == ["<unk>", "this", "is", "not"]
    assert len(vocabulary) == 4
    assert vocabulary.encode(["not", "that", "this", "<unk>"]) == [3, 0, 1, 0]
    assert vocabulary.decode([3, 0, 1]) == ["not", "<unk>", "this"]
    assert "is" in vocabulary
    assert "<unk>" in vocabulary
    assert "that" not in vocabulary
    assert 1 not in vocabulary


def test_vocabulary_token_to_id_to_token_is_the_identity():
    vocabulary = Vocabulary(["b", "a", "c"], unknown="?")
    assert vocabulary.decode(vocabulary.encode(vocabulary.tokens)) == ["?", "b", "a", "c"]
    assert vocabulary.encode(vocabulary.decode([0, 1, 2, 3])) == [0, 1, 2, 3]


def test_vocabulary_without_unknown_token():
    vocabulary = Vocabulary(["b", "a"], unknown=None)
    assert vocabulary.tokens == ["b", "a"]
    assert vocabulary.encode(["a", "b"]) == [1, 0]
    message = "without an unknown token, every token must be known; got missing=['c', 'd']"
    with pytest.raises(ValueError, match=re.escape(message)):
        vocabulary.encode(["a", "d", "c", "d"])


def test_vocabulary_keeps_its_map_when_the_callers_list_changes():
    tokens = ["a"]
    vocabulary = Vocabulary(tokens)
    tokens.append("b")
    vocabulary.tokens.append("c")
    assert vocabulary.tokens == ["<unk>", "a"]


def test_vocabulary_of_nothing_knows_the_unknown_token_only():
    assert Vocabulary([]).encode(["a"]) == [0]
    assert Vocabulary([]).decode([]) == []


@pytest.mark.parametrize(
    ("tokens", "repeated"), [(["a", "b", "a"], "['a']"), (["a", "<unk>"], "['<unk>']")]
)
def test_vocabulary_refuses_repeated_tokens(tokens, repeated):
    message = f"the words of tokens must be distinct; got repeated={repeated}"
    with pytest.raises(ValueError, match=re.escape(message)):
        Vocabulary(tokens)


def test_decode_refuses_ids_without_a_token():
    vocabulary = Vocabulary(["a", "b"])
    message = "ids must be integers from 0 to 2; got wrong=[3, -1]"
    with pytest.raises(ValueError, match=re.escape(message)):
        vocabulary.decode([0, 3, 2, -1])


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "call",
    [
        lambda text: ngrams(text, 2),
        lambda text: Vocabulary(text),
        lambda text: Vocabulary(["a"]).encode(text),
    ],
)
def test_a_text_is_no_list_of_tokens(call):
    message = "tokens must be a list of tokens, not one string; got tokens='not yet'"
    with pytest.raises(ValueError, match=message):
        call("not yet")


@pytest.mark.bad_input
@pytest.mark.parametrize("function", [word_tokens, token_offsets])
def test_a_list_is_no_text(function):
    with pytest.raises(ValueError, match=re.escape("text must be a string; got text=['a']")):
        function(["a"])


def test_require_tokens_and_require_distinct_let_good_lists_pass():
    require_tokens(tokens=["a", "b"], others=[])
    require_distinct(tokens=["a", "b"], others=[])
