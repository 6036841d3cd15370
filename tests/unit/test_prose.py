"""The prose and the code that Python brings along: what is left in, what is left out."""

import ast
import re

import pytest

from softlookup.data import english_prose, prose, python_code


def test_prose_is_long_and_the_same_each_time():
    text = english_prose()
    assert 200_000 < len(text) < 800_000
    assert text == english_prose()
    text.encode()  # no lone surrogates


def test_paragraphs_are_lines_and_none_comes_twice():
    text = english_prose()
    assert text.endswith("\n")
    lines = text.splitlines()
    assert len(lines) > 1000
    assert len(set(lines)) == len(lines)
    assert all(line == " ".join(line.split()) != "" for line in lines)


def test_prose_is_prose():
    text = english_prose()
    for trace in ("::=", ">>> ", "====", "****", "----"):
        assert sum(trace in line for line in text.splitlines()) < 5, trace
    words = re.findall(r"[a-z]+", text.lower())
    assert 0.04 < words.count("the") / len(words) < 0.10
    assert words.count("self") / len(words) < 0.01
    assert len(re.findall(r"[a-z]- [a-z]", text)) < 5  # words divided at the end of a line


@pytest.mark.parametrize(
    ("block", "line"),
    [
        ("  A word that is non-\n  virtual,\n  and more.", "A word that is non-virtual, and more."),
        ("* An item\n  of a list.", "An item of a list."),
        ("12. An item\n    of a list.", "An item of a list."),
        ("[1] A note.", "A note."),
        ("*emphasis* stays.", "*emphasis* stays."),
        ("a - b", "a - b"),
    ],
)
def test_one_line(block, line):
    assert prose._one_line(block) == line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("The while statement repeats its suite as long as it may.", True),
        ('The "while" statement is used as follows:', True),
        ("It says “look at this sentence, please.”", True),
        ("Compound statements and what they are made of", False),  # a heading
        ("Too few words.", False),
        ('for_stmt ::= "for" target_list "in" starred_list ":" suite ["else" ":" suite].', False),
        ("for i in range(10): print(i) x = f(x) y[2] = {3: 4};", False),
        ("=== *** --- ::: ... === *** --- ... .", False),
    ],
)
def test_is_prose(line, expected):
    assert prose._is_prose(line) is expected


def test_code_is_code():
    text = python_code()
    assert 200_000 < len(text) < 1_500_000
    assert len(re.findall(r"^\s*def \w+\(", text, re.MULTILINE)) > 300
    indented = sum(line.startswith("    ") for line in text.splitlines())
    assert indented > 0.5 * text.count("\n")
    assert "\r" not in text
    ast.parse(text)
