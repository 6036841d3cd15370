"""The same ids from tiktoken and from Hugging Face tokenizers, on text made to tell them apart.

The split patterns are run by three engines: `regex` here, Rust's in tiktoken, Oniguruma in
tokenizers. Each carries its own tables of Unicode, and the youngest knows letters that the others
call unassigned. So the alphabet is what this Python's own table assigns (Unicode 14 to 15.1, older
than all three), and the first test holds that the three agree on every such code point.
"""

import random
import unicodedata

import pytest
import regex
import tiktoken
from tiktoken_ext import openai_public
from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers import models as hf

from softlookup.data import book_prose, messages
from softlookup.tokenization import (
    GPT2_PATTERN,
    GPT4_PATTERN,
    BytePairTokenizer,
    UnigramTokenizer,
    WordPieceTokenizer,
)

N_STRINGS = 20_000
PATTERNS = {"gpt2": GPT2_PATTERN, "gpt4": GPT4_PATTERN}
ASSIGNED = [
    chr(code)
    for code in range(0x110000)
    if not 0xD800 <= code < 0xE000 and unicodedata.category(chr(code)) != "Cn"
]
NASTY = [
    *"\0\t\n\v\f\r\x1c\x1f\x7f\x85\xa0\u2028\u2029\u200b\u200d\u202e\u3000\ufeff\ufffd",
    *["\r\n", "\n\r", " \n", "\t ", "  ", "   ", " \u2003 "],
    *["'s", "'S", "'\u017f", "'ll", "'LL", "'lL", "'ve", "'Re", "'t", "'d", "'m", "’s", "''", "'"],
    *["\u017f", "\u212a", "ß", "ẞ", "İ", "ı", "ﬆ", "ŉ", "ǅ", "ʰ"],  # cases that fold oddly
    *["e\u0301", "\u0301", "\u0308\u0301", "क्षि", "각", "ᄀ\u1161\u11a8", "\u20dd"],  # marks, jamo
    *["😁", "👩\u200d👩\u200d👧", "👍🏽", "🇩🇪🇫🇷", "🇩", "❤\ufe0f", "1\ufe0f\u20e3", "𝕏", "𐍈", "𠜎"],
    *["٠١٢٣٤", "१२३", "½", "²", "Ⅷ", "〇", "𝟘", "1234567", "3.14", "1,000"],
    *["東京", "москва", "بخیر", "สวัสดี", "ΑΣ", "abc", "The", " the", "ing", "xyz", "don't"],
    *["<|endoftext|>", "_", "__init__", "...", "?!", "\\n", "(", ")]", "€", "░", "\U000e0001"],
    *["aaa", "a" * 17, " " * 9, "\n" * 5, "-" * 8],
]


def adversarial_strings(seed: int) -> list[str]:
    """Short strings of nasty pieces, English words and any code point that is assigned."""
    rng = random.Random(seed)
    words = book_prose().split()[:3000]
    sources = [NASTY, NASTY, words, ASSIGNED, [" ", "\n", "'", "s", "S", "1"]]

    def one() -> str:
        mixture = rng.choices(sources, k=3)
        return "".join(rng.choice(rng.choice(mixture)) for _ in range(rng.randint(0, 24)))

    return [one() for _ in range(N_STRINGS)]


STRINGS = adversarial_strings(20170612)


@pytest.fixture(scope="module", params=PATTERNS)
def ours(request) -> BytePairTokenizer:
    texts = [book_prose()[:60_000], *(m.text for m in messages()), *STRINGS[:1500]]
    return BytePairTokenizer.train(texts, 1531, pattern=PATTERNS[request.param])


@pytest.fixture(scope="module")
def encoded(ours) -> list[list[int]]:
    """The ids of all strings: what four tests compare, computed once."""
    return [ours.encode(text) for text in STRINGS]


def to_tiktoken(ours: BytePairTokenizer, pattern: str = "") -> tiktoken.Encoding:
    n_ordinary = len(ours) - len(ours.special_tokens)
    return tiktoken.Encoding(
        "ours",
        pat_str=pattern or ours.pattern,
        mergeable_ranks={token: id_ for id_, token in enumerate(ours.token_bytes[:n_ordinary])},
        special_tokens=ours.special_tokens,
    )


def byte_characters() -> list[str]:
    """One visible character for each byte, as GPT-2 writes them."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = (byte for byte in range(256) if byte not in visible)
    shown = {byte: chr(byte) for byte in visible} | {b: chr(256 + i) for i, b in enumerate(others)}
    return [shown[byte] for byte in range(256)]


def to_tokenizers(ours: BytePairTokenizer) -> Tokenizer:
    characters = byte_characters()
    names = ["".join(characters[byte] for byte in token) for token in ours.token_bytes]
    merges = [(names[left], names[right]) for left, right in ours.merges]
    theirs = Tokenizer(hf.BPE({name: id_ for id_, name in enumerate(names)}, merges))
    theirs.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(ours.pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    theirs.decoder = decoders.ByteLevel()
    return theirs


@pytest.mark.parametrize(
    "sort", [r"\p{L}", r"\p{N}", r"\s", r"[^\s\p{L}\p{N}]", r"(?i:[sdmt])", r"[\r\n]"]
)
def test_engines_agree_on_every_assigned_code_point(sort):
    text = "".join(ASSIGNED)
    matched = "".join(regex.findall(sort, text))
    assert 0 < len(matched) < len(text)
    only = pre_tokenizers.Split(Regex(sort), "removed", invert=True)
    assert "".join(piece for piece, _ in only.pre_tokenize_str(text)) == matched
    ranks = {bytes([byte]): byte for byte in range(256)}
    only = tiktoken.Encoding("bytes", pat_str=sort, mergeable_ranks=ranks, special_tokens={})
    assert bytes(only.encode_ordinary(text)).decode() == matched  # it drops what does not match


def test_patterns_cut_as_the_published_ones_do(ours, encoded, monkeypatch):
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: {})
    published = {GPT2_PATTERN: openai_public.r50k_base, GPT4_PATTERN: openai_public.cl100k_base}
    theirs = to_tiktoken(ours, published[ours.pattern]()["pat_str"])
    assert encoded == theirs.encode_ordinary_batch(STRINGS)


def test_tiktoken_gives_the_same_ids(ours, encoded):
    theirs = to_tiktoken(ours)
    assert encoded == theirs.encode_ordinary_batch(STRINGS)


def test_tokenizers_gives_the_same_ids(ours, encoded):
    theirs = to_tokenizers(ours).encode_batch(STRINGS)
    assert encoded == [encoding.ids for encoding in theirs]


def test_every_string_survives(ours, encoded):
    assert [ours.decode(ids) for ids in encoded] == STRINGS


def test_strings_reach_the_dark_corners():
    text = "".join(STRINGS)
    assert len(set(STRINGS)) > 0.9 * N_STRINGS
    assert all(nasty in text for nasty in NASTY)
    assert len(set(text)) > 30_000
    assert {unicodedata.category(character) for character in text} >= {
        "Cc", "Cf", "Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "Nd", "Nl", "No", "Zl", "Zp",
        "Zs",
    }  # fmt: skip


def test_tokenizers_own_pattern_of_gpt2():
    ours = BytePairTokenizer.train([book_prose()[:30_000]], 509, pattern=GPT2_PATTERN)
    theirs = to_tokenizers(ours)
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    encodings = theirs.encode_batch(STRINGS)
    assert [ours.encode(text) for text in STRINGS] == [encoding.ids for encoding in encodings]


def test_bytes_that_are_no_text_decode_alike(ours):
    rng = random.Random(7)
    rows = [rng.choices(range(len(ours)), k=rng.randint(0, 9)) for _ in range(3000)]
    rows += [rng.choices(range(0x80, 0x100), k=rng.randint(1, 6)) for _ in range(3000)]
    decoded = [ours.decode(row) for row in rows]
    assert sum("\ufffd" in text for text in decoded) > 1000
    assert decoded == to_tiktoken(ours).decode_batch(rows)
    assert decoded == to_tokenizers(ours).decode_batch(rows, skip_special_tokens=False)


@pytest.mark.parametrize("allowed", [[], ["<|end|>"], ["<|end|>", "<|pad|>"], "all"])
def test_special_tokens_as_in_tiktoken(allowed):
    specials = ["<|end|>", "<|pad|>", "[東京]"]
    ours = BytePairTokenizer.train([book_prose()[:9000]], 401, special_tokens=specials)
    theirs = to_tiktoken(ours)
    rng = random.Random(11)
    pieces = [*specials, "<|", "end", "|>", "<|end|>>", " the", "\n", ".", "東"]
    for text in ("".join(rng.choices(pieces, k=rng.randint(0, 9))) for _ in range(1000)):
        as_set = allowed if allowed == "all" else set(allowed)
        expected = theirs.encode(text, allowed_special=as_set, disallowed_special=())
        ids = ours.encode(text, allowed_special=allowed)
        assert ids == expected
        assert ours.decode(ids) == theirs.decode(ids) == text


def test_wordpiece_of_the_same_vocabulary():
    ours = WordPieceTokenizer.train([m.text for m in messages()[:400]], 997)
    vocabulary = {token: id_ for id_, token in enumerate(ours.tokens)}
    model = hf.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=10**6)
    theirs = Tokenizer(model)
    theirs.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    texts = [m.text for m in messages()] + [
        text for text in STRINGS if not regex.search(r"(?<!\S)##|\[UNK\]", text)
    ]  # theirs reads "##ing" at the start of a word as the end of one
    encodings = theirs.encode_batch(texts, add_special_tokens=False)
    expected = [encoding.ids for encoding in encodings]
    assert len(texts) > 0.99 * N_STRINGS
    assert [ours.encode(text) for text in texts] == expected
    assert 0 in set().union(*map(set, expected))


def test_unigram_of_the_same_probabilities():
    ours = UnigramTokenizer.train([m.text for m in messages()[:400]], 797)
    scores = ours.model.log_probabilities
    vocabulary = [("<unk>", 0.0), *((token, scores[token]) for token in ours.tokens[1:])]
    theirs = Tokenizer(hf.Unigram(vocabulary, unk_id=0))
    theirs.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="always", split=True)
    texts = [m.text for m in messages()]
    # theirs puts no marker before a text that begins with a space, and reads "<unk>" as one token
    texts += [text for text in STRINGS if not regex.search(r"^ |▁|<unk>", text)]
    expected = [encoding.ids for encoding in theirs.encode_batch(texts)]
    assert len(texts) > 0.8 * N_STRINGS
    assert [ours.encode(text) for text in texts] == expected
    assert 0 in set().union(*map(set, expected))
