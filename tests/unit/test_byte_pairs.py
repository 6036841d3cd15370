"""The byte-pair tokenizer: worked ids, special tokens, files, the bugs of others, bad input."""

import copy
import json
import pickle

import pytest

from softlookup.tokenization import (
    GPT2_PATTERN,
    GPT4_PATTERN,
    BytePairTokenizer,
    byte_pairs,
    merges,
)

WHOLE = r"(?s:.+)"
TEXT = "the cat sat on the mat; the cat's hat is 1234 feet   tall\n\nthat is that"


@pytest.fixture
def tokenizer():
    return BytePairTokenizer.train([TEXT, TEXT], 283, special_tokens=["<|end|>", "<|pad|>"])


def test_the_example_of_wikipedia():
    tokenizer = BytePairTokenizer.train(["aaabdaaabac"], 259, pattern=WHOLE)
    assert tokenizer.encode("aaabdaaabac") == [258, 100, 258, 97, 99]
    assert tokenizer.token_bytes[256:] == [b"aa", b"aaa", b"aaab"]
    assert tokenizer.decode([258, 100, 258, 97, 99]) == "aaabdaaabac"


def test_ids_stand_in_order(tokenizer):
    assert len(tokenizer) == 283
    assert tokenizer.token_bytes[:256] == [bytes([byte]) for byte in range(256)]
    assert tokenizer.special_tokens == {"<|end|>": 281, "<|pad|>": 282}
    assert tokenizer.token_bytes[281:] == [b"<|end|>", b"<|pad|>"]
    assert len(tokenizer.merges) == 25
    for k, (left, right) in enumerate(tokenizer.merges):
        both = tokenizer.token_bytes[left] + tokenizer.token_bytes[right]
        assert tokenizer.token_bytes[256 + k] == both


def test_merges_stay_within_chunks():
    assert BytePairTokenizer.train(["a-b-" * 50], 400, pattern=r"\w|\W").merges == []
    tokenizer = BytePairTokenizer.train(["ab ab"], 300, pattern=GPT4_PATTERN)
    assert tokenizer.token_bytes[256:] == [b"ab", b" ab"]


def test_texts_are_counted_together_and_never_joined():
    apart = BytePairTokenizer.train(["ab", "cd", "cd"], 257, pattern=WHOLE)
    assert apart.merges == [(ord("c"), ord("d"))]
    assert BytePairTokenizer.train(["a", "b", "a", "b"], 300, pattern=WHOLE).merges == []
    assert BytePairTokenizer.train((t for t in ["ab"]), 300, pattern=WHOLE).merges == [(97, 98)]


def test_training_stops_where_no_pair_is_left():
    assert len(BytePairTokenizer.train(["abc"], 10_000)) == 258
    assert len(BytePairTokenizer.train([], 10_000)) == 256
    assert len(BytePairTokenizer.train(["", "x"], 10_000, special_tokens=["<end>"])) == 257


def test_the_least_vocabulary_holds_the_bytes():
    tokenizer = BytePairTokenizer.train([TEXT], 257, special_tokens=["<end>"])
    assert tokenizer.merges == []
    assert tokenizer.encode("é") == [0xC3, 0xA9]


@pytest.mark.parametrize(
    "text", ["", "a", " ", "\n", "\0", "é", "😁", "  two", "end  ", "\r\n\r\n"]
)
def test_short_texts_come_back(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.encode("") == []
    assert tokenizer.decode([]) == ""


def test_ids_after_decoding_in_parts():
    tokenizer = BytePairTokenizer([])
    ids = tokenizer.encode("a€b")
    assert ids == [97, 0xE2, 0x82, 0xAC, 98]
    assert tokenizer.decode(ids[:3]) == "a\ufffd"  # a part of a character is no character
    assert tokenizer.decode(ids[2:]) == "\ufffd\ufffdb"
    assert tokenizer.decode([0xFF, 0xFE]) == "\ufffd\ufffd"


# Special tokens


def test_special_tokens_are_text_unless_they_are_allowed(tokenizer):
    text = "that<|end|>the<|pad|>"
    ids = tokenizer.encode(text)
    assert max(ids) < 281
    assert tokenizer.decode(ids) == text
    both = tokenizer.encode(text, allowed_special="all")
    assert both == [*tokenizer.encode("that"), 281, *tokenizer.encode("the"), 282]
    assert tokenizer.decode(both) == text
    one = tokenizer.encode(text, allowed_special=["<|pad|>"])
    assert one == [*tokenizer.encode("that<|end|>the"), 282]
    assert tokenizer.encode(text, allowed_special={"<|end|>", "<|pad|>"}) == both


def test_special_tokens_are_not_split(tokenizer):
    text = "<|end|><|end|>"
    assert tokenizer.encode(text, allowed_special="all") == [281, 281]
    assert tokenizer.encode("<|end", allowed_special="all") == tokenizer.encode("<|end")


def test_the_longer_of_two_special_tokens():
    tokenizer = BytePairTokenizer([], special_tokens=["<a>", "<a>b", "(.*)"])
    assert tokenizer.encode("<a>b<a>", allowed_special="all") == [257, 256]
    assert tokenizer.encode("<a>b", allowed_special=["<a>"]) == [256, ord("b")]
    assert tokenizer.encode("x(.*)", allowed_special="all") == [ord("x"), 258]  # no pattern


def test_training_does_not_read_special_tokens():
    plain = BytePairTokenizer.train(["<s> <s> <s>"], 262)
    special = BytePairTokenizer.train(["<s> <s> <s>"], 263, special_tokens=["<s>"])
    assert special.merges == plain.merges


# The cache


def test_the_cache_changes_nothing_and_stays_small(tokenizer, monkeypatch):
    monkeypatch.setattr(byte_pairs, "CACHED_CHUNKS", 5)
    texts = [f"{TEXT} {n} that{n}" for n in range(40)]
    first = [tokenizer.encode(text) for text in texts]
    assert len(tokenizer._chunk_ids) <= 5
    again = [tokenizer.encode(text) for text in reversed(texts)][::-1]
    fresh = [BytePairTokenizer(tokenizer.merges).encode(text) for text in texts]
    assert first == again == fresh


def test_what_encode_returns_is_the_callers(tokenizer):
    tokenizer.encode("that").clear()
    assert tokenizer.decode(tokenizer.encode("that")) == "that"


def test_copies_encode_alike(tokenizer):
    for twin in (copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
        assert twin.encode(TEXT + "\nnew words") == tokenizer.encode(TEXT + "\nnew words")


@pytest.mark.parametrize("character", ["a", " ", "-", "é"])
def test_each_of_a_million_equal_characters_is_looked_at_a_few_times(character, monkeypatch):
    """Pair by pair, which is for short chunks alone, it would be hours."""
    looks, join_singly = [], merges._join_singly

    def join_short(chunk, new_ids):
        assert len(chunk) <= merges.SHORT
        return join_singly(chunk, new_ids)

    class Counting(merges._Row):
        def standing(self, pair, places):
            looks.append(len(places))
            return super().standing(pair, places)

    monkeypatch.setattr(merges, "_join_singly", join_short)
    monkeypatch.setattr(merges, "_Row", Counting)
    text = character * 1_000_000
    tokenizer = BytePairTokenizer.train([character * 5000, TEXT], 290)
    looks.clear()
    assert tokenizer.decode(tokenizer.encode(text)) == text
    n_bytes = len(text.encode())
    assert n_bytes - 1 <= sum(looks) < 3 * n_bytes


# Files


def test_a_file_can_be_read_by_people(tmp_path):
    BytePairTokenizer([(104, 105), (256, 33)], pattern=WHOLE, special_tokens=["<é>"]).save(
        tmp_path / "bpe.json"
    )
    assert (tmp_path / "bpe.json").read_text(encoding="utf-8").splitlines() == [
        "{",
        ' "format": "softlookup byte-pair tokenizer",',
        ' "version": 1,',
        ' "pattern": "(?s:.+)",',
        ' "special_tokens": ["<\\u00e9>"],',
        ' "merges": [',
        "  [104, 105],",
        "  [256, 33]",
        " ]",
        "}",
    ]


@pytest.mark.parametrize("pattern", [GPT2_PATTERN, GPT4_PATTERN])
def test_a_loaded_tokenizer_is_the_same(tmp_path, pattern):
    saved = BytePairTokenizer.train([TEXT], 280, pattern=pattern, special_tokens=["é", '"\\'])
    saved.save(str(tmp_path / "bpe.json"))
    loaded = BytePairTokenizer.load(str(tmp_path / "bpe.json"))
    assert loaded.merges == saved.merges
    assert loaded.pattern == saved.pattern
    assert loaded.token_bytes == saved.token_bytes
    assert loaded.special_tokens == saved.special_tokens
    text = f'{TEXT} é "\\ 😁'
    for allowed in ([], "all"):
        expected = saved.encode(text, allowed_special=allowed)
        assert loaded.encode(text, allowed_special=allowed) == expected


def test_no_merges_no_special_tokens(tmp_path):
    BytePairTokenizer([]).save(tmp_path / "bytes.json")
    assert len(BytePairTokenizer.load(tmp_path / "bytes.json")) == 256


def test_a_file_cut_short_is_refused_at_every_length(tmp_path):
    path = tmp_path / "bpe.json"
    BytePairTokenizer([(104, 105), (256, 33)], special_tokens=["<é>"]).save(path)
    whole = path.read_bytes()
    for length in range(len(whole.rstrip())):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"bpe\.json must be a whole JSON file"):
            BytePairTokenizer.load(path)


GOOD = {
    "format": byte_pairs.FORMAT,
    "version": 1,
    "pattern": WHOLE,
    "special_tokens": ["<end>"],
    "merges": [[104, 105]],
}


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "another"}, "must be of the format 'softlookup .*; got format='another'"),
        ({"format": None}, "must be of the format"),
        ({"version": 2}, r"bpe\.json must be of version 1; got version=2"),
        ({"version": None}, "must be of version 1; got version=None"),
        ({"merges": [[104]]}, "merge 0 must be a pair of ids from 0 to 255"),
        ({"merges": [[104, 256]]}, r"merge 0 must be a pair .*; got merge=\(104, 256\)"),
        ({"merges": [[104, -1]]}, "merge 0 must be a pair of ids from 0 to 255"),
        ({"merges": [[104, 1.0]]}, "merge 0 must be a pair"),
        ({"merges": [[104, True]]}, "merge 0 must be a pair"),
        ({"merges": [[1, 2], "ab"]}, "merge 1 must be a pair of ids from 0 to 256; got merge='ab'"),
        ({"merges": {"1": 2}}, r"merges and special_tokens of bpe\.json must be lists"),
        ({"merges": [[1, 2], [1, 2]]}, "merge 1 must make bytes of its own; .* same_as_id=256"),
        ({"special_tokens": "<end>"}, "must be lists"),
        ({"special_tokens": ["a", "a"]}, "special_tokens must be distinct"),
        ({"special_tokens": [7]}, "must be a string that is not empty; got special_token=7"),
        ({"pattern": "["}, "pattern must be a regular expression"),
        ({"pattern": None}, "pattern must be a string; got pattern=None"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path, change, message):
    path = tmp_path / "bpe.json"
    path.write_text(json.dumps(GOOD | change))
    with pytest.raises(ValueError, match=message):
        BytePairTokenizer.load(path)


@pytest.mark.parametrize("key", ["pattern", "special_tokens", "merges"])
def test_an_incomplete_file_is_refused(tmp_path, key):
    path = tmp_path / "bpe.json"
    path.write_text(json.dumps({k: v for k, v in GOOD.items() if k != key}))
    with pytest.raises(ValueError, match=rf"must be complete; got missing=\['{key}'\]"):
        BytePairTokenizer.load(path)


@pytest.mark.parametrize("content", [b"[1, 2]", b'"text"', b"\xff\xfe", b""])
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "bpe.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bpe\.json must be"):
        BytePairTokenizer.load(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        BytePairTokenizer.load(tmp_path / "none.json")


# Bad input


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([TEXT], 255), {}, "vocab_size must be at least 256; got vocab_size=255"),
        (([TEXT], 257), {"special_tokens": ["a", "b"]}, "vocab_size must be at least 258"),
        (([TEXT], 300), {"special_tokens": ["a", "a"]}, r"repeated=\['a'\]"),
        (([TEXT], 300), {"special_tokens": [""]}, "must be a string that is not empty"),
        (([TEXT], 300), {"special_tokens": ["\ud800"]}, "lone surrogate"),
        ((["ok", "a\ud800"], 300), {}, r"lone surrogate; got position=1, character='\\ud800'"),
        (([TEXT], 300), {"pattern": r"\w+"}, "pattern must match every part of the text"),
    ],
)
def test_train_bad_input(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        BytePairTokenizer.train(*arguments, **options)


@pytest.mark.parametrize("allowed", [[], "all", ["<|end|>"]])
def test_encode_refuses_lone_surrogates(tokenizer, allowed):
    with pytest.raises(ValueError, match=r"got position=12, character='\\udfff'"):
        tokenizer.encode("abcd<|end|>x\udfff", allowed_special=allowed)


def test_encode_knows_its_special_tokens(tokenizer):
    with pytest.raises(ValueError, match=r"of this tokenizer; got unknown=\['<eos>'\]"):
        tokenizer.encode("a", allowed_special=["<|end|>", "<eos>"])
    with pytest.raises(ValueError, match=r"allowed_special must be a list .*, not one string"):
        tokenizer.encode("a", allowed_special="<|end|>")


@pytest.mark.parametrize("wrong", [283, -1, 10**9])
def test_decode_refuses_ids_out_of_range(tokenizer, wrong):
    message = rf"ids must be integers from 0 to 282; got wrong=\[{wrong}\]"
    with pytest.raises(ValueError, match=message):
        tokenizer.decode([97, wrong, 98])
