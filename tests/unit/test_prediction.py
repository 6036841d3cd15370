"""`reveal`: what it refuses, and what it hands to the page and to a notebook."""

import json

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup

from softlookup.show import prediction, reveal


@pytest.fixture
def shown(monkeypatch):
    """What is displayed."""
    found = []
    monkeypatch.setattr(prediction, "display", lambda data, raw: found.append(data))
    return found


def data(shown: list[dict]) -> dict:
    """What the site reads."""
    details = BeautifulSoup(shown[-1]["text/html"], "html.parser").details
    return json.loads(details["data-reveal"])


@pytest.mark.parametrize(
    ("answer", "kind", "kept", "within", "plain"),
    [
        (9.0, "number", 9, 0, "9"),
        (8.9999999, "number", 9, 0, "9"),
        (12345, "number", 12345, 0, "12345"),
        (1 / 3, "number", 0.3333, 0.003333, "0.3333"),
        (-2 / 3, "number", -0.6667, 0.006667, "-0.6667"),
        (7684096.0, "number", 7684000, 76840, "7684000"),
        (torch.tensor([[0.25]]), "number", 0.25, 0.0025, "0.25"),
        (torch.tensor(3), "number", 3, 0, "3"),
        (np.float32(0.1), "number", 0.1, 0.001, "0.1"),
        (np.int64(7), "number", 7, 0, "7"),
        ("less", "choice", "less", None, "less"),
        (["b", "a"], "order", ["b", "a"], None, "b, a"),
        ((7, 4), "shape", [7, 4], None, "(7, 4)"),
        (torch.zeros(7).shape, "shape", [7], None, "(7,)"),
        ((), "shape", [], None, "()"),
    ],
)
def test_the_answer_says_what_kind_of_prediction_it_is(shown, answer, kind, kept, within, plain):
    reveal("stretch", answer)
    expected = {"name": "stretch", "kind": kind, "answer": kept, "within": within, "wrong": []}
    assert data(shown) == expected
    assert shown[0]["text/plain"] == f"Answer to the prediction: {plain}"


def test_a_notebook_shows_a_folded_answer_with_the_known_wrong_guesses(shown):
    reveal("stretch", 9.0, wrong={3: "Both are <long>: `x`.", 4.5: "No."}, within=1)
    page = BeautifulSoup(shown[0]["text/html"], "html.parser")
    assert "open" not in page.details.attrs
    assert page.summary.get_text() == "Answer to the prediction"
    assert page.p.get_text() == "9"
    assert [line.get_text() for line in page("li")] == [
        "Not 3: Both are <long>: x.",
        "Not 4.5: No.",
    ]
    assert [code.get_text() for code in page("code")] == ["x"]
    found = data(shown)
    assert found["within"] == 1
    assert found["wrong"] == [[3, "Both are &lt;long&gt;: <code>x</code>."], [4.5, "No."]]


@pytest.mark.parametrize(
    ("answer", "wrong", "named"),
    [
        ("Less.", "More, or less.", "“More, or less”"),
        (["b", "a"], ("a", "b"), "“a, b”"),
        ((7, 4), (4, 7), "(4, 7)"),
        (0.5, 1 / 3, "0.3333"),
    ],
)
def test_a_wrong_guess_is_of_the_answers_kind(shown, answer, wrong, named):
    reveal("stretch", answer, wrong={wrong: "No."})
    assert data(shown)["wrong"][0][1] == "No."
    assert shown[0]["text/plain"].endswith(f"\nNot {named}: No.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "My guess"}, "name must be lower-case words joined by hyphens; got name='My gu"),
        ({"name": ""}, "name must be lower-case words"),
        ({"answer": float("nan")}, "answer must be finite; got answer=nan"),
        ({"answer": float("inf")}, "answer must be finite; got answer=inf"),
        ({"answer": " "}, "answer must not be empty"),
        ({"answer": ["a"]}, "answer must order two items or more, each named once; got answer=.'a"),
        ({"answer": ["a", "a"]}, "answer must order two items or more, each named once"),
        ({"answer": (7, -1)}, r"answer must hold lengths, not negative; got answer=\(7, -1\)"),
        ({"within": -1.0}, "within must not be negative; got within=-1"),
        ({"within": float("nan")}, "within must be finite"),
        ({"answer": "a", "within": 1.0}, "within is for numbers only; got within=1.0, answer='a'"),
        ({"wrong": {"a": "No."}}, "a wrong guess must be of the answer's kind, number; got wrong="),
        ({"wrong": {3: " "}}, "a wrong guess needs words that say why; got wrong=3, why=' '"),
        ({"wrong": {3: None}}, "a wrong guess needs words that say why"),
        ({"wrong": {3: "It is *twice* $k$."}}, "plain text with `code`: no asterisks, no dollars"),
    ],
)
def test_what_does_not_fit_is_refused(shown, arguments, message):
    with pytest.raises(ValueError, match=message):
        reveal(**{"name": "stretch", "answer": 9.0} | arguments)
    assert shown == []


@pytest.mark.parametrize("answer", [True, None, [1, 2], (1.5, 2), (True,), torch.zeros(2), {}])
def test_what_is_no_answer_is_refused(shown, answer):
    rule = "answer must be a number, a string .a choice., a list of strings .an order. or a tuple"
    with pytest.raises(TypeError, match=rule):
        reveal("stretch", answer)
    with pytest.raises(TypeError, match="wrong guess must be a number"):
        reveal("stretch", 9.0, wrong={None: "No."})
    assert shown == []


@pytest.mark.parametrize(
    ("answer", "wrong", "within", "left"),
    [
        (9.0, {9: "No.", 8: "Less."}, None, [8]),
        (9.0, {8: "No.", 7: "Less."}, 1, [7]),
        ("a", {"a": "No.", "b": "It is `a`."}, None, ["b"]),
        (["b", "a"], {("b", "a"): "No."}, None, []),
    ],
)
def test_a_guess_that_is_right_after_all_is_not_called_wrong(shown, answer, wrong, within, left):
    reveal("stretch", answer, wrong=wrong, within=within)
    assert [guess for guess, _ in data(shown)["wrong"]] == left
