"""Where a text is cut: worked examples of both patterns, nothing lost, bad input."""

import pytest

from softlookup.tokenization import GPT2_PATTERN, GPT4_PATTERN, split_chunks
from softlookup.tokenization.splitting import compiled


@pytest.mark.parametrize(
    ("text", "gpt2", "gpt4"),
    [
        ("", [], []),
        ("a", ["a"], ["a"]),
        ("Hello, y'all!", ["Hello", ",", " y", "'", "all", "!"], ["Hello", ",", " y", "'all", "!"]),
        ("we'll IT'S", ["we", "'ll", " IT", "'", "S"], ["we", "'ll", " IT", "'S"]),
        ("'SELF", ["'", "SELF"], ["'S", "ELF"]),
        ("'ſo 'RE!", ["'", "ſo", " '", "RE", "!"], ["'ſ", "o", " '", "RE", "!"]),  # a long s
        ("½ Ⅷ²", ["½", " Ⅷ²"], ["½", " ", "Ⅷ²"]),
        ("in 2024", ["in", " 2024"], ["in", " ", "202", "4"]),
        ("x  y", ["x", " ", " y"], ["x", " ", " y"]),
        ("  x", [" ", " x"], [" ", " x"]),  # leading spaces
        ("x   ", ["x", "   "], ["x", "   "]),  # and those at the end
        ("a\n\n b", ["a", "\n\n", " b"], ["a", "\n\n", " b"]),
        ("a\n\n ", ["a", "\n\n "], ["a", "\n\n "]),
        ("a \r\nb", ["a", " \r", "\n", "b"], ["a", " \r\n", "b"]),
        ("f(x);\n\ty", ["f", "(", "x", ");", "\n", "\t", "y"], ["f", "(x", ");\n", "\ty"]),
        ("١٢٣٤", ["١٢٣٤"], ["١٢٣", "٤"]),
        ("é ñ", ["é", " ñ"], ["é", " ñ"]),
        ("e\u0301", ["e", "\u0301"], ["e", "\u0301"]),  # a mark is no letter
        ("😁😁", ["😁😁"], ["😁😁"]),
    ],
)
def test_both_patterns(text, gpt2, gpt4):
    assert split_chunks(text, GPT2_PATTERN) == gpt2
    assert split_chunks(text, GPT4_PATTERN) == gpt4
    assert split_chunks(text) == gpt4


def test_a_pattern_of_ones_own():
    assert split_chunks("ab cd", r"\w+|\s") == ["ab", " ", "cd"]
    assert split_chunks("ab\ncd", r"(?s:.+)") == ["ab\ncd"]
    assert split_chunks("ab", r"\s*|\w") == ["a", "b"]  # empty matches are no chunks


def test_a_million_spaces_before_a_word():
    chunks = split_chunks(" " * 1_000_000 + "x")
    assert list(map(len, chunks)) == [999_999, 2]


@pytest.mark.parametrize(
    ("text", "pattern", "message"),
    [
        ("a-b", r"\w+", r"must match every part of the text; got position=1, passed_over='-b'"),
        ("ab!", r"\w+", r"position=2, passed_over='!'"),
        ("-aa", r"a+", r"position=0, passed_over='-aa'"),
        ("aab", r"(?<=a)[ab]", r"position=0, passed_over='aab'"),
        ("ab", r"(a)|b", r"write \(\?:\.\.\.\) for \(\.\.\.\); got pattern='\(a\)\|b'"),
        ("ab", r"[a", r"pattern must be a regular expression \(.*got pattern='\[a'"),
        ("ok\udc80", GPT4_PATTERN, r"lone surrogate; got position=2, character='\\udc80'"),
        ("\ud83d", GPT4_PATTERN, r"lone surrogate; got position=0, character='\\ud83d'"),
    ],
)
def test_bad_input(text, pattern, message):
    with pytest.raises(ValueError, match=message):
        split_chunks(text, pattern)


@pytest.mark.bad_input
def test_what_is_no_string():
    with pytest.raises(ValueError, match="text must be a string; got text=b'ab'"):
        split_chunks(b"ab")
    with pytest.raises(ValueError, match="pattern must be a string; got pattern=7"):
        compiled(7)
