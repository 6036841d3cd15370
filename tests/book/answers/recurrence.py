"""Answers to the exercises of chapter 9: right, and wrong with the words that they get."""

from functools import cache

import numpy as np
import torch
from torch import nn

from answers import Later
from softlookup.exercises.recurrence import (
    check_bptt,
    check_cell,
    check_gap,
    check_identity,
    check_worked,
    recall_accuracy,
)
from softlookup.layers import bptt, rnn_step

RIGHT, WRONG = {}, {}

STATE, OUTPUT = [0.421899, 0.537050], 0.820864


# The worked example


TANH = torch.tensor([0.45, 0.6]).double().tanh()
RIGHT[check_worked] = [
    (STATE, OUTPUT, 0.4228),
    (TANH, torch.tensor([0.8, 0.9]).double() @ TANH, 0.4228),
    (np.array(STATE), [OUTPUT], np.float64(0.4228)),
]
WRONG[check_worked] = [
    (..., ..., ..., "Nothing to check so far: compute the new state"),
    (STATE, ..., ..., "Nothing to check so far: compute the output"),
    (STATE, OUTPUT, ..., "Nothing to check so far: name the first wrong number"),
    ([0.45, 0.6], OUTPUT, 0.4228, "before the activation"),
    ([0.4228, 0.5370], OUTPUT, 0.4228, "the slide's digits"),
    ([0.4219, 0.537], OUTPUT, 0.4228, "to six decimals"),
    ([STATE], OUTPUT, 0.4228, "should have shape (2,)"),
    (STATE, 0.9, 0.4228, "without tanh"),
    (STATE, 0.8209, 0.4228, "to six decimals"),
    (STATE, "much", 0.4228, "should be one number"),
    (STATE, OUTPUT, 0.8215, "only because an earlier number is"),
    (STATE, OUTPUT, 0.3382, "only because an earlier number is"),
    (STATE, OUTPUT, 0.45, "Compare number by number"),
    (STATE, OUTPUT, [1, 2], "should have shape (1,)"),
]


# PyTorch's cell


def book_cell(x, hidden, W_ih, W_hh, b_ih, b_hh):
    return torch.tanh(x @ W_ih.T + b_ih + hidden @ W_hh.T + b_hh)


def loop_cell(x, hidden, W_ih, W_hh, b_ih, b_hh):
    return [
        [
            float(torch.tanh(W_ih[i] @ row + b_ih[i] + W_hh[i] @ old + b_hh[i]))
            for i in range(len(b_ih))
        ]
        for row, old in zip(x, hidden, strict=True)
    ]


RIGHT[check_cell] = [
    (book_cell,),
    (loop_cell,),
    (lambda x, h, W, U, b, c: rnn_step(x, h, W, U, b + c),),
]


WRONG[check_cell] = [
    (..., "Nothing to check so far"),
    (lambda *a: None, "Nothing to check so far"),
    (lambda *a: book_cell(*a).atanh(), "the activation is missing"),
    (lambda x, h, W, U, b, c: book_cell(x, h, W, U, b, 0), "PyTorch adds two biases"),
    (lambda x, h, W, U, b, c: book_cell(x, h, W, U, 0, c), "PyTorch adds two biases"),
    (lambda x, h, W, U, b, c: book_cell(x, h, W, U, 0, 0), "Both biases are missing"),
    (lambda x, h, W, U, b, c: book_cell(x, h, W, U.T, b, c), "must be transposed"),
    (lambda *a: book_cell(*a).sigmoid(), "tanh of two products"),
    (lambda *a: book_cell(*a)[0], "should have shape (7, 3)"),
    (lambda x, h, W, U, b, c: x @ W, "RuntimeError"),
]


# A silent block

ZEROS = torch.zeros(3, 3)


RIGHT[check_identity] = [
    (ZEROS, torch.zeros(3)),
    (ZEROS.tolist(), [-1, 0, -2.5]),
    (np.zeros((3, 3)), np.zeros(3)),
]


WRONG[check_identity] = [
    (..., ..., "Nothing to check so far: give a matrix"),
    (ZEROS, ..., "Nothing to check so far: give a bias"),
    (torch.eye(3), torch.zeros(3), "With x = [1.0, 0.0, 0.0] the block gives [2.0, 0.0, 0.0]"),
    (-torch.eye(3), torch.zeros(3), "the branch is not silent"),
    (0.001 * torch.eye(3), [-100] * 3, "the branch is not silent"),
    (ZEROS, [0, 0, 1], "With x = [0.0, 0.0, 0.0] the block gives [0.0, 0.0, 1.0]"),
    (torch.zeros(3, 3), torch.ones(3), "gives [1.0, 1.0, 1.0]: the branch is not silent."),
    (torch.zeros(4, 3), torch.zeros(3), "W should have shape (3, 3)"),
    (ZEROS, 0, "b should have shape (3,)"),
]


# BPTT


def by_autograd(x, targets, h, *weights):
    leaves = [W.clone().requires_grad_() for W in weights]
    W_xh, W_hh, b, W_hy = leaves
    loss = 0
    for row, target in zip(x, targets, strict=True):
        h = torch.tanh(W_hh @ h + W_xh @ row + b)
        loss = loss + nn.functional.cross_entropy(W_hy @ h, target)
    return torch.autograd.grad(loss, leaves)


def by_hand(x, targets, h_0, W_xh, W_hh, b, W_hy, *, slip=""):
    h = [h_0]
    for row in x:
        h.append(torch.tanh(W_hh @ h[-1] + W_xh @ row + b))
    grads, later = [torch.zeros_like(W) for W in (W_xh, W_hh, b, W_hy)], torch.zeros_like(h_0)
    for t in reversed(range(len(x))):
        error = torch.softmax(W_hy @ h[t + 1], dim=0)
        error[targets[t]] -= 1
        if slip == "sign":
            error = -error
        delta, slope = W_hy.T @ error + later, 1 - h[t + 1] ** 2
        at_a = delta if slip == "E53" else slope * delta
        old, new = (h[t + 1], h[t + 1]) if slip == "after" else (h[t], h[t + 1])
        for grad, part in zip(
            grads,
            (torch.outer(at_a, x[t]), torch.outer(at_a, old), at_a,
             torch.outer(error, old if slip == "before" else new)),
            strict=True,
        ):  # fmt: skip
            grad += part
        if slip == "E52":
            later = delta @ W_hh.T * (1 - h[t] ** 2)
        elif slip == "no future":
            later = 0 * later
        else:
            later = W_hh.T @ (slope * delta)
    return [g / len(x) for g in grads] if slip == "mean" else grads


RIGHT[check_bptt] = [
    (by_hand,),
    (by_autograd,),
    (lambda *a: [g.tolist() for g in bptt(*a)[1][2:]],),
]


WRONG[check_bptt] = [
    (..., "Nothing to check so far"),
    (lambda *a: by_hand(*a)[:3], "Return four gradients"),
    (lambda *a: by_hand(*a)[::-1], "should have shape (3, 5)"),
    (lambda *a: by_hand(*a, slip="E53"), "multiply by f'(a)"),
    (lambda *a: by_hand(*a, slip="E52"), "That is the slide's recursion; look at E52"),
    (lambda *a: by_hand(*a, slip="no future"), "add what comes back"),
    (lambda *a: by_hand(*a, slip="mean"), "Add over the steps"),
    (lambda *a: by_hand(*a, slip="after"), "W_hh meets the state before"),
    (lambda *a: by_hand(*a, slip="before"), "W_hy meets the state after"),
    (lambda *a: [*by_hand(*a)[:3], by_hand(*a, slip="sign")[3]], "The sign"),
    (lambda *a: [g + 1e-4 for g in by_hand(*a)], "by W_xh is off"),
]


# The gap


@cache
def gap():
    """The smallest gap on this machine."""
    return next(gap for gap in range(2, 65) if recall_accuracy(gap) < 0.9)


RIGHT[check_gap] = [(Later(gap),), (Later(lambda: torch.tensor(float(gap()))),)]
WRONG[check_gap] = [
    (..., "Nothing to check so far"),
    (Later(lambda: gap() - 1), "At a gap of", "it still says"),
    (Later(lambda: gap() + 2), "A smaller gap is enough"),
    (0, "whole number from 1 to 64"),
    (65, "whole number from 1 to 64"),
    (2.5, "whole number from 1 to 64"),
    ("eight", "should be one number"),
]
