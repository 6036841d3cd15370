"""The book's own prose, frozen, and the code that Python brings along."""

import ast
import re
from pathlib import Path

import pytest

from softlookup.data import book_prose, prose, python_code

CARD = Path(__file__).resolve().parents[2] / "chapters" / "data_card.md"


def test_prose_is_long_and_the_same_each_time():
    text = book_prose()
    assert 250_000 < len(text) < 800_000
    assert text == book_prose()


def test_paragraphs_are_lines_and_none_comes_twice():
    text = book_prose()
    assert text.endswith("\n")
    lines = text.splitlines()
    assert len(lines) > 1000
    assert len(set(lines)) == len(lines)
    assert all(line == " ".join(line.split()) != "" for line in lines)


def test_prose_is_prose():
    text = book_prose()
    for trace in ("```", ":::", "\\", "](", "{{", "\N{REPLACEMENT CHARACTER}", ">>> "):
        assert trace not in text, trace
    words = re.findall(r"[a-z]+", text.lower())
    assert 0.04 < words.count("the") / len(words) < 0.10
    for line in text.splitlines():
        assert re.match(r"[\"“‘(]*[A-Z0-9]", line), line
        assert re.search(r"[.!?][\"”’)*]*$", line), line


def test_the_data_card_tells_the_size():
    card, text = " ".join(CARD.read_text(encoding="utf-8").split()), book_prose()
    words, paragraphs = round(len(text.split()), -4), len(text.splitlines())
    told = f"{len(text):,} characters, some {words:,} words, in {paragraphs:,} paragraphs"
    assert told in card


def test_other_prose_than_the_frozen_one_is_refused(monkeypatch, tmp_path):
    (tmp_path / "book.txt").write_text(
        book_prose().replace("lookup", "look-up", 1), encoding="utf-8"
    )
    monkeypatch.setattr(prose, "files", lambda package: tmp_path)
    book_prose.cache_clear()
    with pytest.raises(
        ValueError, match=r"book\.txt must be the frozen prose; got sha256='[0-9a-f]{64}'"
    ):
        book_prose()


def test_code_is_code():
    text = python_code()
    assert 200_000 < len(text) < 1_500_000
    assert len(re.findall(r"^\s*def \w+\(", text, re.MULTILINE)) > 300
    indented = sum(line.startswith("    ") for line in text.splitlines())
    assert indented > 0.5 * text.count("\n")
    assert "\r" not in text
    ast.parse(text)
