"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

from functools import cache

import numpy as np
import torch
from torch import nn

from answers import Later
from softlookup.exercises.recurrence import (
    check_bptt,
    check_cell,
    check_depth,
    check_gap,
    check_identity,
    check_scan,
    check_second,
    recall_accuracy,
)
from softlookup.layers import GRUCell, LSTMCell, bptt, rnn_step

RIGHT, WRONG = {}, {}

# The second step


W_HH = torch.tensor([[0.1, 0.2], [-0.1, 0.3]]).double()
W_XH = torch.tensor([[0.4, 0.5], [0.6, 0.7]]).double()
B, W_HY = torch.tensor([0.1, 0.2]).double(), torch.tensor([0.8, 0.9]).double()
START, ONE, TWO = (torch.tensor(v).double() for v in ([0.5, -0.5], [1.0, 0.0], [0.0, 1.0]))


def step(h, x):
    return rnn_step(x, h, W_XH, W_HH, B)


FIRST = step(START, ONE)
STATE = step(FIRST, TWO)
OUTPUT = (W_HY @ STATE).item()
RIGHT[check_second] = [
    (STATE, OUTPUT),
    ([round(v, 6) for v in STATE.tolist()], round(OUTPUT, 6)),
    (np.array(STATE.tolist()), [OUTPUT]),
]
WRONG[check_second] = [
    (..., ..., "Nothing to check so far: compute the new state"),
    (STATE, ..., "Nothing to check so far: compute the output"),
    (FIRST, OUTPUT, "after the first input"),
    (step(START, TWO), OUTPUT, "the one that the first input has left"),
    (step(FIRST, ONE), OUTPUT, "the first input again"),
    (STATE.atanh(), OUTPUT, "before the activation"),
    (step(FIRST.atanh(), TWO), OUTPUT, "The first step has a tanh, too"),
    (step(FIRST, 0 * TWO), OUTPUT, "The second input is missing"),
    (step(torch.tensor([0.4228, 0.5370]).double(), TWO), OUTPUT, "the slide's 0.4228"),
    (step(torch.tensor([0.4219, 0.5370]).double(), TWO), OUTPUT, "Do not round in between"),
    (-STATE, OUTPUT, "to six decimals"),
    ([STATE.tolist()], OUTPUT, "should have shape (2,)"),
    (STATE, (W_HY @ STATE.atanh()).item(), "without the last tanh"),
    (STATE, round(OUTPUT, 3), "to six decimals"),
    (STATE, "much", "should be one number"),
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
    (ZEROS, -torch.ones(3)),
    (ZEROS.tolist(), [-1, -0.5, -2.5]),
    (np.zeros((3, 3)), np.full(3, -1e-3)),
]


WRONG[check_identity] = [
    (..., ..., "Nothing to check so far: give a matrix"),
    (ZEROS, ..., "Nothing to check so far: give a bias"),
    (ZEROS, torch.zeros(3), "no zero in it"),
    (ZEROS, [-1, 0, -2.5], "no zero in it"),
    (torch.eye(3), -torch.ones(3), "With x = [3.0, 0.0, 0.0] the block gives [5.0, 0.0, 0.0]"),
    (-torch.eye(3), -torch.ones(3), "the branch is not silent"),
    (0.001 * torch.eye(3), [-100] * 3, "the branch is not silent"),
    (ZEROS, [-1, -1, 1], "With x = [0.0, 0.0, 0.0] the block gives [0.0, 0.0, 1.0]"),
    (torch.zeros(3, 3), torch.ones(3), "gives [1.0, 1.0, 1.0]: the branch is not silent."),
    (torch.zeros(4, 3), -torch.ones(3), "W should have shape (3, 3)"),
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
            later = (W_hh if slip == "straight" else W_hh.T) @ (slope * delta)
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
    (lambda *a: by_hand(*a, slip="straight"), "On the way back W_hh is transposed"),
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


# The depth


def counter(step=0.02, k=1, *, f=20.0, io=20.0, closing=-1.0, letter=0.0, straight=False):
    cell = LSTMCell(3, k).double()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
        cell.W_xh.bias.copy_(torch.tensor([io, f, 0.0, io]).repeat_interleave(k))
        row = torch.tensor([step, closing * step, letter * step])
        cell.W_xh.weight[2 * k : 3 * k] = row
    marks = torch.arange(10).double() * np.tanh(step)
    marks = marks if straight else marks.tanh()
    return cell, (2 * marks[:, None]).repeat(1, k) / k, -(marks**2)


def counter_of_many_units():
    return counter(k=3)


def counter_in_lists():
    cell, W_hy, b_y = counter()
    return cell, W_hy.tolist(), b_y.tolist()


RIGHT[check_depth] = [(counter,), (counter_of_many_units,), (counter_in_lists,)]
WRONG[check_depth] = [
    (..., "Nothing to check so far"),
    (lambda: None, "Nothing to check so far"),
    (lambda: counter()[:2], "Return three things"),
    (lambda: (GRUCell(3, 1), *counter()[1:]), "must be an LSTMCell with d_in = 3"),
    (lambda: (LSTMCell(2, 1), *counter()[1:]), "must be an LSTMCell with d_in = 3"),
    (lambda: (counter()[0], counter()[1].mT, counter()[2]), "W_hy should have shape (10, 1)"),
    (lambda: counter(closing=0.0), "must take away"),
    (lambda: counter(letter=1.0), "A letter must not change the memory"),
    (lambda: counter(f=6.0), "are the gates near enough"),
    (lambda: counter(f=5.0, io=5.0), "are the gates near enough"),
    (lambda: counter(closing=-0.8), "must take away"),
    (lambda: counter(step=1.0, straight=True), "tanh(c) flattens"),
    (lambda: counter(step=1.0), "tanh(c) flattens"),
    (lambda: counter(step=2.0), "tanh(c) flattens"),
    (lambda: counter(step=3.0), "tanh(c) flattens"),
    (lambda: (counter()[0], counter()[1], 0 * counter()[2]), "your network says 9"),
]


# The scan


def looped(a, b):
    h, states = torch.zeros_like(b[0]), []
    for gate, added in zip(a, b, strict=True):
        h = gate * h + added
        states.append(h)
    return torch.stack(states)


def halved(a, b):
    """Pairs of steps, then the recurrence of the pairs, then the steps between them."""
    if len(a) == 1:
        return b
    odd = len(a) % 2
    if odd:
        a, b = torch.cat([a, a[:1]]), torch.cat([b, b[:1]])
    pairs = halved(a[1::2] * a[::2], a[1::2] * b[::2] + b[1::2])
    before = torch.cat([torch.zeros_like(pairs[:1]), pairs[:-1]])
    states = torch.stack([a[::2] * before + b[::2], pairs], dim=1).flatten(0, 1)
    return states[: len(states) - odd]


def doubled(a, b):
    reach = 1
    while reach < len(a):
        b = b + a * torch.cat([torch.zeros_like(b[:reach]), b[:-reach]])
        a = a * torch.cat([torch.ones_like(a[:reach]), a[:-reach]])
        reach *= 2
    return b


def by_logarithms(a, b):
    products = a.log().cumsum(0).exp()
    return products * (b / products).cumsum(0)


def by_cumprod(a, b):
    """All products of gates at once; right, but cumprod is itself a scan."""
    steps = torch.arange(len(a))
    late = (steps[:, None] > steps)[:, :, None]
    products = torch.where(late, a[:, None], 1.0).cumprod(0)
    return (products * (steps[:, None] >= steps)[:, :, None] * b).sum(1)


RIGHT[check_scan] = [(doubled,), (halved,)]
WRONG[check_scan] = [
    (..., "Nothing to check so far"),
    (lambda a, b: None, "Nothing to check so far"),
    (looped, "operations stand in line"),
    (lambda a, b: doubled(a.detach(), b.detach()), "follows the graph"),
    (by_cumprod, "torch.cumprod and its like"),
    (by_logarithms, "NaN"),
    (lambda a, b: looped(a.abs(), b), "Some a_t are negative"),
    (lambda a, b: torch.cat([0 * b[:1], looped(a, b)[:-1]]), "the states before each step"),
    (lambda a, b: looped(a.flip(0), b.flip(0)).flip(0), "You began at the end"),
    (lambda a, b: doubled(a, b)[-1], "Return all states"),
    (lambda a, b: doubled(a, b)[:, 0], "should have shape"),
    (lambda a, b: doubled(a, b) + 1e-4, "the states are off"),
    (lambda a, b: doubled(a.mul_(1.0).add_(1), b), "Leave a and b as they were given"),
]
