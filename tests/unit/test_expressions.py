"""Arithmetic expressions: what is drawn, what parses, how deep."""

import ast
import itertools

import pytest
import torch

from softlookup.data.expressions import (
    SIGNS,
    arithmetic_expressions,
    bracket_depths,
    is_expression,
)

DRAWN = arithmetic_expressions(2000, torch.Generator().manual_seed(7))


def by_recursive_descent(text):
    """The grammar once more, as a parser that reads from left to right."""

    def expression(k):
        k = term(k)
        while k is not None and k < len(text) and text[k] in "+-*":
            k = term(k + 1)
        return k

    def term(k):
        if k < len(text) and text[k] in "0123456789":
            return k + 1
        if k < len(text) and text[k] == "(":
            k = expression(k + 1)
            return k + 1 if k is not None and k < len(text) and text[k] == ")" else None
        return None

    return expression(0) == len(text)


def test_what_is_drawn_parses_and_python_agrees():
    for text in DRAWN:
        assert is_expression(text)
        ast.parse(text, mode="eval")
        assert len(text) <= 22
        assert set(text) <= set(SIGNS)


def test_the_parser_is_the_grammar():
    """All texts of up to five of five signs, and what was drawn with one sign changed."""
    for n in range(6):
        for signs in itertools.product("7+*()", repeat=n):
            text = "".join(signs)
            assert is_expression(text) == by_recursive_descent(text), text
    generator = torch.Generator().manual_seed(8)
    for text in DRAWN:
        place = int(torch.randint(len(text), (), generator=generator))
        sign = SIGNS[int(torch.randint(len(SIGNS), (), generator=generator))]
        for changed in (text[:place] + sign + text[place + 1 :], text[:place] + text[place + 1 :]):
            assert is_expression(changed) == by_recursive_descent(changed), changed


def test_brackets_are_two_deep_at_most_and_as_frequent_as_said():
    depths = [max(bracket_depths(text)) for text in DRAWN]
    assert set(depths) == {0, 1, 2}
    assert all(bracket_depths(text)[-1] == 0 for text in DRAWN)
    digits = "".join(DRAWN)
    assert {sign for sign in SIGNS if digits.count(sign) > 300} == set(SIGNS)
    first = sum(text.startswith("(") for text in DRAWN) / len(DRAWN)
    assert 0.26 < first < 0.35  # 0.35, less what was too long


def test_depths_by_hand():
    assert bracket_depths("(1+(2))*3") == [1, 1, 1, 2, 2, 1, 0, 0, 0]
    assert bracket_depths("((") == [1, 2]
    assert bracket_depths("") == []


def test_no_line_break_or_foreign_digit_parses():
    assert not any(
        map(is_expression, ("", "3\n", "3+٣", " 3", "3 + 4", "3+", "-3", "(3", "3)", "()"))
    )


def test_the_same_generator_draws_the_same():
    assert arithmetic_expressions(2000, torch.Generator().manual_seed(7)) == DRAWN
    assert arithmetic_expressions(20, torch.Generator().manual_seed(8)) != DRAWN[:20]


def test_bad_input(generator):
    with pytest.raises(ValueError, match="n must be an integer of at least 1; got n=0"):
        arithmetic_expressions(0, generator)


@pytest.mark.bad_input
def test_no_text():
    for function in (is_expression, bracket_depths):
        with pytest.raises(ValueError, match="text must be a string; got text=3"):
            function(3)
