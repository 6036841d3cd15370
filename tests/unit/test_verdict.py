"""What a check says, and that it never raises on a learner's mistake."""

import pytest
import torch

from softlookup.exercises.verdict import Verdict, Wrong, call, close, numbers, started, verdict


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


@pytest.mark.parametrize("answer", [None, ...])
def test_a_blank_answer_is_not_started(answer):
    with pytest.raises(Wrong, match="Nothing to check so far: return the weights"):
        started(answer, "return the weights")
    with pytest.raises(Wrong, match="Nothing to check so far: return the weights"):
        call(lambda: answer, what="return the weights")


def test_an_error_in_the_learners_code_is_told():
    with pytest.raises(Wrong, match="Your code stopped with ZeroDivisionError: division by zero"):
        call(lambda x: x / 0, 1, what="divide")
    with pytest.raises(Wrong, match="The check wants the function itself; it got 3"):
        call(3, what="divide")

    def blank():
        raise NotImplementedError

    with pytest.raises(Wrong, match="Nothing to check so far: divide"):
        call(blank, what="divide")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("two", "the weights should be numbers; you returned a str"),
        ([1.0], r"the weights should have shape \(2,\); yours has \(1,\)"),
        ([1.0, float("nan")], "the weights holds NaN"),
    ],
)
def test_numbers_that_cannot_be_compared_are_told(answer, message):
    with pytest.raises(Wrong, match=message):
        numbers(answer, torch.zeros(2), "the weights")


def test_numbers_takes_lists_arrays_and_tensors():
    expected = torch.tensor([1.0, 2.0], dtype=torch.float64)
    for answer in ([1, 2], expected.numpy(), expected.float()):
        assert close(numbers(answer, expected, "the weights"), expected)
    assert not close(numbers([1, 2.1], expected, "the weights"), expected)


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
        call(lambda _: 1 / 0, argument, what="divide")
    complaint = "Your code stopped with ZeroDivisionError: division by zero"
    assert str(caught.value) == complaint + shown
