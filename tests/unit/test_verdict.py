"""What a check says, that it never raises on a learner's mistake, and how it compares."""

import inspect
import math

import pytest
import torch

from softlookup.exercises.compare import (
    advised,
    close,
    compare,
    draws,
    integers,
    matrix,
    numbers,
    one_number,
    scalar,
)
from softlookup.exercises.verdict import Answer, Verdict, Wrong, exercise, verdict

TODO = "return the weights."
BLANK = f"Nothing to check so far: {TODO}"


def test_a_verdict_is_true_when_passed_and_says_so():
    assert Verdict(True, "Well seen.")
    assert not Verdict(False, "Look again.")
    assert repr(Verdict(True, "Well seen.")) == "Right. Well seen."
    assert repr(Verdict(False, "Look again.")) == "Not yet. Look again."
    assert "&lt;b&gt;" in Verdict(False, "<b>")._repr_html_()


def test_verdict_turns_advice_into_a_verdict():
    def wrong():
        raise Wrong("Divide by the number of tokens.")

    assert verdict(wrong) == Verdict(False, "Divide by the number of tokens.")
    assert verdict(lambda: "Yes.") == Verdict(True, "Yes.")


# An exercise


@exercise("give a function.", "give a number.")
def check_both(function, number):
    """Check a function of x and a number.

    Chapter: nowhere#exercises
    """
    if function(3) != number.value:
        raise Wrong("They differ.")
    return "They agree."


def test_an_exercise_makes_a_verdict_of_praise_and_advice():
    assert check_both(abs, 3) == Verdict(True, "They agree.")
    assert check_both(abs, 4) == Verdict(False, "They differ.")
    assert check_both(number=3, function=abs)


def test_an_exercise_asks_for_the_part_that_is_blank():
    assert check_both(..., ...).message == "Nothing to check so far: give a function."
    assert check_both(abs, None).message == "Nothing to check so far: give a number."


def test_an_exercise_shows_what_a_check_takes_and_says():
    text = inspect.getdoc(check_both)
    assert text.startswith("Check a function of x and a number.")
    assert "Chapter: nowhere#exercises" in text
    assert ">>> check_both(..., ...)\n    Not yet. Nothing to check so far: give a fu" in text
    signature = inspect.signature(check_both)
    assert {p.annotation for p in signature.parameters.values()} == {object}
    assert signature.return_annotation is Verdict
    with pytest.raises(TypeError, match="missing a required argument"):
        check_both(abs)


# An answer


def test_a_dictionary_has_exactly_the_keys_and_no_blank():
    assert list(Answer({"b": 1, "a": 2}, TODO).named(("a", "b")).items()) == [("a", 2), ("b", 1)]
    for found in [{"a": 1}, {"a": 1, "b": 2, "c": 3}, ["a", "b"], "ab"]:
        with pytest.raises(Wrong, match="The sizes should be a dictionary with the keys 'a', 'b'"):
            Answer(found, TODO).named(("a", "b"), "The sizes")
    for blank in [..., None, {"a": 1, "b": ...}]:
        with pytest.raises(Wrong, match=BLANK):
            Answer(blank, TODO).named(("a", "b"))


@pytest.mark.parametrize("blank", [None, ...])
def test_a_blank_answer_is_not_started(blank):
    for ask in (lambda: Answer(blank, TODO).value, lambda: Answer(lambda: blank, TODO)()):
        with pytest.raises(Wrong, match=BLANK):
            ask()
    with pytest.raises(Wrong, match=BLANK):
        Answer(lambda: (1, blank), TODO).several(2, "Return two things.")


def test_an_error_in_the_learners_code_is_told():
    with pytest.raises(Wrong, match="Your code stopped with ZeroDivisionError: division by zero"):
        Answer(lambda x: x / 0, TODO)(1)
    with pytest.raises(Wrong, match="The check wants the function itself; it got 3"):
        Answer(3, TODO)()

    def blank():
        raise NotImplementedError

    with pytest.raises(Wrong, match=BLANK):
        Answer(blank, TODO)()


def test_a_hint_follows_the_error_that_it_is_for():
    def refuse():
        raise OverflowError("a size.")

    hints = {"by zero": "Is the row empty?", "NameError": "Define it first."}
    with pytest.raises(Wrong, match=r"by zero \(it was given 1\)\. Is the row empty\?$"):
        Answer(lambda x: x / 0, TODO)(1, hints=hints)
    with pytest.raises(Wrong, match=r"OverflowError: a size\. Is it turned\?$"):
        Answer(refuse, TODO).several(2, "Two.", hints={"size": "Is it turned?", "a": "No."})
    with pytest.raises(Wrong, match=r"TypeError.* \(it was given 'a'\)$"):
        Answer(lambda x: x / 2, TODO)("a", hints=hints)


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("", " (it was given '')"),
        (torch.ones(3, 2), " (it was given a tensor (3, 2))"),
        ("long " * 40, ""),
        (print, " (it was given <built-in function print>)"),
        (lambda: 0, ""),
    ],
)
def test_what_the_code_was_given_is_told_if_it_is_short(argument, shown):
    with pytest.raises(Wrong) as caught:
        Answer(lambda _: 1 / 0, TODO)(argument)
    complaint = "Your code stopped with ZeroDivisionError: division by zero"
    assert str(caught.value) == complaint + shown


def test_the_learners_code_gets_copies():
    tensor, texts = torch.zeros(3), [["a"], ["b"]]

    def spoil(tensor, texts):
        tensor += 1
        texts[0].clear()
        texts.clear()
        return tensor

    assert Answer(spoil, TODO)(tensor, texts).tolist() == [1, 1, 1]
    assert (tensor.tolist(), texts) == ([0, 0, 0], [["a"], ["b"]])
    with pytest.raises(Wrong, match="Work on a copy"):
        Answer(spoil, TODO)(tensor, texts, kept="Work on a copy.")
    assert Answer(torch.clone, TODO)(tensor, kept="Work on a copy.").tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda texts: texts.clear() or 1,
        lambda texts: texts[0].append("b") or 1,
        lambda texts: texts[1].__setitem__(0, "c") or 1,
        lambda texts: texts[2].add_(1),
    ],
)
def test_a_list_that_should_be_kept_is_kept(spoil):
    texts = [["a"], ["b"], torch.ones(1)]
    with pytest.raises(Wrong, match="Work on a copy"):
        Answer(spoil, TODO)(texts, kept="Work on a copy.")
    assert Answer(len, TODO)(texts, kept="Work on a copy.") == 3


def test_several_things_are_so_many():
    assert Answer(lambda: (1, 2), TODO).several(2, "Return two things.") == [1, 2]
    for found in [(1, 2, 3), 1, "ab"]:
        with pytest.raises(Wrong, match="Return two things"):
            Answer(lambda found=found: found, TODO).several(2, "Return two things.")


# Comparisons


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("two", "the weights should be numbers; you returned a str"),
        ([1.0], r"the weights should have shape \(2,\); yours has \(1,\)"),
        ([1.0, float("nan")], "the weights holds NaN"),
    ],
)
def test_numbers_that_cannot_be_compared_are_told(answer, message):
    for compared in (numbers, compare):
        with pytest.raises(Wrong, match=message):
            compared(answer, torch.zeros(2), "the weights")


def test_numbers_takes_lists_arrays_and_tensors():
    expected = torch.tensor([1.0, 2.0], dtype=torch.float64)
    for answer in ([1, 2], expected.numpy(), expected.float()):
        assert close(numbers(answer, expected, "the weights"), expected)
        assert close(compare(answer, expected, "the weights"), expected)
    assert not close(numbers([1, 2.1], expected, "the weights"), expected)


def test_a_single_number_comes_with_or_without_an_axis():
    assert one_number([3], "The gap") == one_number(torch.tensor(3), "The gap") == 3
    with pytest.raises(Wrong, match="The gap should be one number; you gave 'wide'"):
        one_number("wide", "The gap")
    assert scalar(torch.tensor(3), "The gap") == 3
    with pytest.raises(Wrong, match=r"The gap should have shape \(\); yours has \(1,\)"):
        scalar([3], "The gap")


def test_a_number_may_be_written_as_one_reads_it():
    for answer in ("202,383,360", " 202_383_360 ", "202383360", 202_383_360):
        assert scalar(answer, "One block") == 202_383_360
    assert scalar("−0.5", "The sum") == scalar("-.5", "The sum") == -0.5
    with pytest.raises(Wrong, match="One block is one number; with its commas Python reads 3"):
        scalar((202, 383, 360), "One block")
    for answer in ("", "-", "1e", "1.2.3", "two"):
        with pytest.raises(Wrong, match="The sum should be numbers"):
            scalar(answer, "The sum")


def test_a_matrix_has_two_axes_and_any_size():
    for answer in ([[1, 2, 3]], torch.tensor([[1, 2, 3]])):
        expected = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
        assert torch.equal(matrix(answer, "W"), expected)
    with pytest.raises(Wrong, match=r"W should be a matrix; yours has shape \(2,\)"):
        matrix([1, 2], "W")
    with pytest.raises(Wrong, match="W should be numbers; you returned a str"):
        matrix("wide", "W")
    with pytest.raises(Wrong, match="W holds NaN"):
        matrix([[math.nan]], "W")


def test_integers_come_from_anything_that_can_be_gone_through():
    assert integers(torch.tensor([2, 5]), "Give numbers.") == integers((2, 5), "Give numbers.")
    for answer in (4, "ab", [[1, 2]], [1]):
        with pytest.raises(Wrong, match="Give numbers"):
            integers(answer, "Give numbers.", n=2)


RIGHT = torch.tensor([[1.0, 2.0, 4.0], [3.0, 5.0, 7.0]], dtype=torch.float64)
MISTAKES = [
    (RIGHT, "never told, as it is right"),
    (2 * RIGHT, "You doubled it."),
    (2 * RIGHT, "never told, as another stands before it"),
    (RIGHT.sum(dim=1), "You added."),
    (RIGHT.index_fill(0, torch.tensor(1), math.nan), "Your last row is 0/0."),
]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (2 * RIGHT, "Here: You doubled it."),
        (RIGHT.sum(dim=1).tolist(), "Here: You added."),
        ([[1, 2, 4], [math.nan] * 3], "Here: Your last row is 0/0."),
        (RIGHT.mT, "Transpose it."),
        (RIGHT + 1, "off by 1"),
        (RIGHT[0], "The table should have shape (2, 3); yours has (3,)."),
    ],
)
def test_a_known_mistake_is_named(answer, said):
    def otherwise(found, right):
        return f"off by {(found - right).max():g}"

    options = {"shapes": {(3, 2): "Transpose it."}, "case": "Here: "}
    with pytest.raises(Wrong) as caught:
        compare(answer, RIGHT, "The table", MISTAKES, otherwise, **options)
    assert str(caught.value) == said


def test_what_is_right_passes_whatever_the_mistakes_are():
    assert torch.equal(compare(RIGHT.tolist(), RIGHT, "The table", MISTAKES, "no"), RIGHT)
    assert close(compare(RIGHT + 1e-4, RIGHT, "The table", tolerance=1e-3), RIGHT, 1e-3)
    with pytest.raises(Wrong, match="no"):
        compare(RIGHT + 1e-4, RIGHT, "The table", MISTAKES, "no")


def test_the_first_mistake_that_gives_a_number_is_told():
    mistakes = [(2.0, "two"), (torch.tensor(3.0), "three"), (3.0, "three again"), (1e-9, "nearly")]
    assert [advised(found, mistakes, "else") for found in (2, 3, 4)] == ["two", "three", "else"]
    assert advised(2.001, mistakes) == ""
    assert advised(2.001, mistakes, rel_tol=1e-2) == "two"
    assert advised(0.0, mistakes, abs_tol=1e-6) == "nearly"


def test_draws_are_the_same_again():
    first, second = draws((2, 3), (5,), seed=7)
    again = draws((2, 3), seed=7)[0]
    assert torch.equal(first, again)
    assert (first.shape, second.shape) == ((2, 3), (5,))
