"""Checks: two steps, a silent block, PyTorch's cell, BPTT, recall, depth, a scan."""

from copy import deepcopy
from functools import cache

import torch
from torch import Tensor, nn

from softlookup.checks import require, require_int
from softlookup.data import bracket_depths
from softlookup.exercises.compare import Mistakes, compare, draws, numbers, one_number
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.layers import LSTMCell, RNNCell, bptt, unroll

_LECTURE = (
    ((0.1, 0.2), (-0.1, 0.3)),
    ((0.4, 0.5), (0.6, 0.7)),
    (0.1, 0.2),
    (0.8, 0.9),
    (0.5, -0.5),
)
"""W_hh, W_xh, b, W_hy and the first state of lecture 003's example."""
_LETTERS, _UNITS, _ENOUGH, _LONGEST, _MOST_WAITS = 8, 16, 0.9, 64, 300
_GRADIENTS = ("W_xh", "W_hh", "b", "W_hy")


@exercise("compute the new state.", "compute the output.")
def check_second(state: Answer, output: Answer) -> str:
    """Check what the network of lecture 003's example makes of a second input, (0, 1).

    Args:
        state: The new state, two numbers to six decimals.
        output: The output, to six decimals.

    Chapter: recurrence#exercises
    """
    W_hh, W_xh, b, W_hy, start = (torch.tensor(part, dtype=torch.float64) for part in _LECTURE)

    def after(hidden: Tensor, column: int) -> Tensor:
        return torch.tanh(W_hh @ hidden + W_xh[:, column] + b)

    first = after(start, 0)
    expected = after(first, 1)
    by_slide = torch.tensor((0.4228, 0.5370), dtype=torch.float64)
    mistakes = [
        (first, "That is the state after the first input."),
        (after(start, 1), "The old state is now the one that the first input has left."),
        (after(first, 0), "That is the first input again; the second is (0, 1)."),
        (expected.atanh(), "That is a, before the activation."),
        (after(first.atanh(), 1), "The first step has a tanh, too."),
        (torch.tanh(W_hh @ first + b), "The second input is missing."),
        (after(by_slide, 1), "You went on from the slide's 0.4228, which is not tanh of 0.45."),
        (after(first.round(decimals=4), 1), "Do not round in between."),
    ]

    def otherwise(found: Tensor, _: Tensor) -> str:
        return f"The state is not right to six decimals; yours is {found.tolist()}."

    compare(state.value, expected, "The state", mistakes, otherwise, tolerance=1e-6)
    y = one_number(output.value, "The output")
    if abs(y - W_hy @ expected.atanh()) < 1e-5:
        raise Wrong("That is the output without the last tanh.")
    if abs(y - W_hy @ expected) > 2e-6:
        raise Wrong(f"The output is W_hy h, to six decimals; yours is {y}.")
    return "Two steps of the lecture's network, to six decimals."


@exercise("return the new state of each text.")
def check_cell(answer: Answer) -> str:
    """Check a recurrent step against ``torch.nn.RNNCell``.

    Args:
        answer: The learner's function of (x, hidden, weight_ih, weight_hh, bias_ih, bias_hh), with
            one text per row of x and hidden.

    Chapter: recurrence#exercises
    """
    shapes = [(7, 5), (7, 3), (3, 5), (3, 3), (3,), (3,)]
    x, hidden, W_ih, W_hh, b_ih, b_hh = draws(*shapes, seed=8)
    with torch.random.fork_rng(devices=[]):
        peer = nn.RNNCell(5, 3).double()
    peer.load_state_dict({"weight_ih": W_ih, "weight_hh": W_hh, "bias_ih": b_ih, "bias_hh": b_hh})
    expected = peer(x, hidden).detach()
    mistakes = [
        (expected.atanh(), "That is a; the activation is missing."),
        (torch.tanh(x @ W_ih.mT + hidden @ W_hh.mT + b_ih), "PyTorch adds two biases."),
        (torch.tanh(x @ W_ih.mT + hidden @ W_hh.mT + b_hh), "PyTorch adds two biases."),
        (torch.tanh(x @ W_ih.mT + hidden @ W_hh.mT), "Both biases are missing."),
        (
            torch.tanh(x @ W_ih.mT + hidden @ W_hh + b_ih + b_hh),
            "weight_hh must be transposed: row i feeds unit i, and texts are rows.",
        ),
    ]
    found = answer(x, hidden, W_ih, W_hh, b_ih, b_hh)
    aside = "The shape is right, the numbers are not: tanh of two products and two biases."
    compare(found, expected, "The states", mistakes, aside)
    return "Number for number what torch.nn.RNNCell gives."


@exercise("give a matrix W, three by three.", "give a bias b of three numbers.")
def check_identity(W: Answer, b: Answer) -> str:
    """Check that x + ReLU(Wx + b) is x, for every x of three numbers.

    Args:
        W: The learner's matrix, three by three.
        b: The learner's bias, without a zero.

    Chapter: recurrence#exercises
    """
    W, b, zeros = W.value, b.value, torch.zeros(3, 3, dtype=torch.float64)
    W, b = numbers(W, zeros, "W"), numbers(b, zeros[0], "b")
    if (b == 0).any():
        raise Wrong("The page has shown a bias of zeros. Find one that has no zero in it.")
    poked = [zeros[0]] if bool((b > 0).any()) else []
    i = W.abs().sum(dim=1).argmax()
    if W[i].any():  # far enough along its own row, every bias is overcome
        poked.append(W[i] * (1 + 2 * b[i].abs()) / W[i].square().sum())
    for x in poked:
        y = x + (W @ x + b).relu()
        shown = [[round(value, 3) + 0.0 for value in v.tolist()] for v in (x, y)]
        raise Wrong(f"With x = {shown[0]} the block gives {shown[1]}: the branch is not silent.")
    return "Silent for every x. No other W will do, but any b that is nowhere positive."


@exercise(f"return the gradients by {', '.join(_GRADIENTS)}.")
def check_bptt(answer: Answer) -> str:
    """Check hand-written gradients of a recurrent network.

    Args:
        answer: The learner's function of (x, targets, h_0, W_xh, W_hh, b, W_hy); it returns the
            gradients by W_xh, W_hh, b and W_hy, in this order.

    Chapter: recurrence#exercises
    """
    generator = torch.Generator().manual_seed(8)
    for n in 1, 2, 6:
        shapes = [(n, 5), (3,), (3, 5), (3, 3), (3,), (7, 3)]
        x, *weights = (
            torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes
        )
        targets = torch.randint(7, (n,), generator=generator)
        _, gradients = bptt(x, targets, *weights)
        expected = [getattr(gradients, name) for name in _GRADIENTS]
        complaint = f"Return four gradients, by {', '.join(_GRADIENTS)}."
        found = answer.several(4, complaint, x, targets, *weights)
        mistakes = _bptt_mistakes(x, targets, *weights)
        for name, mine, right in zip(_GRADIENTS, found, expected, strict=True):
            off = f"With n = {n} the gradient by {name} is off."
            what, known = f"The gradient by {name}", mistakes[name]
            compare(mine, right, what, known, off, case=f"{off} ", tolerance=1e-8)
    return "Four gradients, right to eight digits; the slide's sums would not have passed."


@exercise("give the smallest gap.")
def check_gap(answer: Answer) -> str:
    """Check the smallest gap at which the plain network remembers fewer than 90% of the letters.

    Args:
        answer: The learner's gap, measured with ``recall_accuracy``.

    Chapter: recurrence#exercises
    """
    gap = one_number(answer.value, "The gap")
    if gap != int(gap) or not 1 <= gap <= _LONGEST:
        raise Wrong(f"The gap is a whole number from 1 to {_LONGEST}; yours is {gap:g}.")
    for smaller in range(1, int(gap) + 1):
        share = recall_accuracy(smaller)
        if share < _ENOUGH:
            break
    if share >= _ENOUGH:
        raise Wrong(f"At a gap of {int(gap)} it still says {share:.0%} right. Go on.")
    if smaller < gap:
        raise Wrong(f"A smaller gap is enough: somewhere below {int(gap)} it already fails.")
    return f"At {smaller} it falls to {share:.0%}; one letter fewer, and it still held."


@exercise("return an LSTM that counts, and the weights of its scores.")
def check_depth(my_counter: Answer) -> str:
    """Check an LSTM that says after each character how many brackets are open, from 0 to 9.

    It runs in single precision, in which tanh is soon 1: the marks must be far enough apart.

    Args:
        my_counter: The learner's function without arguments. It returns an ``LSTMCell`` with three
            inputs (opening, closing, letter), W_hy with ten rows, and b_y with ten numbers.

    Chapter: recurrence#exercises
    """
    complaint = "Return three things: an LSTMCell(3, k), W_hy (10 × k) and b_y (10 numbers)."
    cell, W_hy, b_y = my_counter.several(3, complaint)
    if not isinstance(cell, LSTMCell) or cell.d_in != 3:
        raise Wrong("The first thing must be an LSTMCell with d_in = 3.")
    W_hy = numbers(W_hy, torch.zeros(10, cell.d_hidden), "W_hy")
    b_y = numbers(b_y, torch.zeros(10), "b_y")
    cell, W_hy, b_y = deepcopy(cell).float(), W_hy.float(), b_y.float()  # as networks are used
    for text in _bracket_texts():
        columns = [{"(": 0, ")": 1}.get(letter, 2) for letter in text]
        x = torch.eye(3, dtype=torch.float32)[columns]
        with torch.no_grad():
            states, _ = unroll(cell, x)
        said = (states @ W_hy.mT + b_y).argmax(dim=1).tolist()
        for t, depth in enumerate(bracket_depths(text), start=1):
            if said[t - 1] != depth:
                raise Wrong(_miscounted(text[:t], said[:t], depth))
    return "It counts to nine over 400 characters, and it was never trained."


@exercise("return all states of the recurrence.")
def check_scan(my_scan: Answer) -> str:
    """Check a linear recurrence whose steps do not wait for one another.

    Args:
        my_scan: The learner's function of (a, b), both with a row for each step; it returns all
            states of h_t = a_t h_{t-1} + b_t from h_0 = 0.

    Chapter: recurrence#exercises
    """
    for n in 1, 2, 7, 1000:
        a, b = draws((n, 3), (n, 3), seed=n)
        a = a.clamp(-1, 1)
        a[n // 2, 0] = 0
        expected = _scanned(a, b)
        shifted = torch.cat([torch.zeros(1, 3, dtype=torch.float64), expected[:-1]])
        mistakes = [
            (shifted, "These are the states before each step; return those after it."),
            (_scanned(a.abs(), b), "Some a_t are negative: an absolute value was lost."),
            (a * (shifted + b), "The gate multiplies the old state alone, not what is added."),
            (_scanned(a.flip(0), b.flip(0)).flip(0), "You began at the end of the text."),
        ]
        found = my_scan(a, b, kept="Leave a and b as they were given.")
        if isinstance(found, Tensor) and found.shape == (n, 3) and found.isnan().any():
            raise Wrong("NaN: a logarithm of a negative number, or a division by an a_t of 0?")
        off = f"With n = {n} the states are off."
        shapes = {(3,): "Return all states, one row for each step, and not the last one alone."}
        compare(found, expected, "What you return", mistakes, off, shapes=shapes, tolerance=1e-8)
    a, b = (part.clamp(-1, 1).requires_grad_() for part in draws((1024, 3), (1024, 3), seed=0))
    found = my_scan(a, b)
    if not isinstance(found, Tensor) or found.grad_fn is None:
        raise Wrong("The numbers are right. Use tensors all the way: the check follows the graph.")
    if longest_path(found, "Cum"):
        raise Wrong("torch.cumprod and its like are such scans themselves: use products and sums.")
    n_waits = longest_path(found)
    if n_waits > _MOST_WAITS:
        raise Wrong(f"The numbers are right, but for n = 1024 {n_waits} operations stand in line.")
    return f"The same states, and for 1024 steps only {n_waits} operations stand in line."


def longest_path(result: Tensor, kind: str = "") -> int:
    """How many operations of a kind stand one behind the other on the longest way to a result.

    Args:
        result: What was computed, from something that requires a gradient.
        kind: What the operation's name in PyTorch's graph begins with, "Tanh"; empty for any.

    Returns:
        Their number on the way with the most of them.

    Raises:
        ValueError: PyTorch has recorded no graph for the result.

    Chapter: recurrence#the-recurrent-layer

    Example:
        >>> x = torch.ones(3, requires_grad=True)
        >>> longest_path(x.tanh().tanh() + x.tanh(), "Tanh")
        2
    """
    require(result.grad_fn is not None, "result must come from what requires a gradient")
    depths, waiting = {}, [(result.grad_fn, False)]
    while waiting:
        node, is_ready = waiting.pop()
        parents = [parent for parent, _ in node.next_functions if parent is not None]
        if is_ready:
            before = max((depths[parent] for parent in parents), default=0)
            depths[node] = before + node.name().startswith(kind)
        elif node not in depths:
            waiting.append((node, True))
            waiting.extend((parent, False) for parent in parents)
    return depths[result.grad_fn]


def _scanned(a: Tensor, b: Tensor) -> Tensor:
    hidden, states = torch.zeros_like(b[0]), []
    for gate, added in zip(a, b, strict=True):
        hidden = gate * hidden + added
        states.append(hidden)
    return torch.stack(states)


def _bracket_texts() -> list[str]:
    """Texts that try one thing after the other: up, letters, down, nine deep, and long ones."""
    texts = ["((", "(a", "()", "(a(b)c)d", "(" * 9 + ")" * 9, "(((" + "a" * 397]
    generator = torch.Generator().manual_seed(9)
    for _ in range(8):
        text, depth = "", 0
        for draw in torch.rand(400, generator=generator).tolist():
            letter = "(" if draw < 0.4 else ")" if draw < 0.75 else "a"
            if (letter == "(" and depth == 9) or (letter == ")" and depth == 0):
                letter = "b"
            depth += (letter == "(") - (letter == ")")
            text += letter
        texts.append(text)
    return texts


def _miscounted(text: str, said: list[int], depth: int) -> str:
    """What to say about the first character after which the number is wrong."""
    shown = f"“{text}”" if len(text) <= 24 else f"{len(text)} characters"
    told = f"After {shown} the depth is {depth}; your network says {said[-1]}."
    before = said[-2] if len(said) > 1 else 0
    if text[-1] not in "()" and said[-1] != before:
        if len(text) > 20:
            return f"{told} It fades or drifts: are the gates near enough to 0 or 1?"
        return f"{told} A letter must not change the memory: its g is 0, and f is 1."
    if text[-1] == ")" and said[-1] >= before:
        return f"{told} A closing bracket must take away what an opening one has added."
    if text == "(" * len(text) and len(text) > 1:
        return f"{told} tanh(c) flattens: count in smaller steps, and place the marks by it."
    if ")" in text:
        same = "Does a closing bracket take away exactly what an opening one adds"
        return f"{told} {same}, and are the gates near enough to 0 or 1?"
    return told


def recall_accuracy(gap: int) -> float:
    """Train a plain network of 16 units to say the first of ``gap + 1`` letters; test it.

    Some starts are unlucky, so there are three, with fixed seeds, and the best one counts.

    Args:
        gap: How many letters come after the one to remember, from 1 to 64.

    Returns:
        The share of 500 new texts whose first letter it says, from 0 to 1.

    Raises:
        ValueError: ``gap`` is no integer of at least 1.

    Chapter: recurrence#exercises

    Example:
        >>> recall_accuracy(1) > 0.9
        True
    """
    require_int(1, gap=gap)
    return _best(gap)


@cache
def _best(gap: int) -> float:
    return max(_trained(gap, seed) for seed in range(3))


def _trained(gap: int, seed: int) -> float:
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        cell, out = RNNCell(_LETTERS + 1, _UNITS).float(), nn.Linear(_UNITS, _LETTERS).float()
        nn.init.uniform_(cell.W_hh.weight, -(_UNITS**-0.5), _UNITS**-0.5)  # PyTorch's start
    parameters = [*cell.parameters(), *out.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    for _ in range(150):
        x, y = _texts(32, gap, generator)
        optimizer.zero_grad()
        nn.functional.cross_entropy(out(unroll(cell, x)[0][:, -1]), y).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
    x, y = _texts(500, gap, generator)
    with torch.no_grad():
        return (out(unroll(cell, x)[0][:, -1]).argmax(dim=1) == y).double().mean().item()


def _texts(n: int, gap: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    letters = torch.randint(_LETTERS, (n, gap + 1), generator=generator)
    x = torch.zeros(n, gap + 1, _LETTERS + 1, dtype=torch.float32)
    x.scatter_(2, letters[:, :, None], 1.0)
    x[:, 0, _LETTERS] = 1.0  # the mark
    return x, letters[:, 0]


def _bptt_mistakes(
    x: Tensor, targets: Tensor, h_0: Tensor, W_xh: Tensor, W_hh: Tensor, b: Tensor, W_hy: Tensor
) -> dict[str, Mistakes]:
    """Known wrong gradients of each parameter, with what to say about each."""
    states = [h_0]
    for row in x:
        states.append(torch.tanh(W_hh @ states[-1] + W_xh @ row + b))
    before, h = torch.stack(states[:-1]), torch.stack(states[1:])
    error = torch.softmax(h @ W_hy.mT, dim=1)
    error[torch.arange(len(x)), targets] -= 1
    slopes, direct = 1 - h.square(), error @ W_hy
    deltas, printed, straight = [direct[-1]], [direct[-1]], [direct[-1]]
    for t in reversed(range(len(x) - 1)):
        deltas.insert(0, direct[t] + W_hh.mT @ (slopes[t + 1] * deltas[0]))
        printed.insert(0, direct[t] + printed[0] @ W_hh.mT * slopes[t])
        straight.insert(0, direct[t] + W_hh @ (slopes[t + 1] * straight[0]))
    all_ways = [
        (torch.stack(deltas), "delta is by h; multiply by f'(a) to get to a, as E53 says."),
        (
            slopes * torch.stack(straight),
            "On the way back W_hh is transposed: W_hh.T @ (slope * delta).",
        ),
        (slopes * direct, "Each state also acts on all later losses: add what comes back."),
        (slopes * torch.stack(printed), "That is the slide's recursion; look at E52."),
        (torch.stack(printed), "Those are the slide's formulas; look at E52 and E53."),
    ]
    mean = "Add over the steps, do not average."
    right = slopes * all_ways[0][0]
    mistakes = {
        "W_xh": [(way.mT @ x, text) for way, text in all_ways] + [(right.mT @ x / len(x), mean)],
        "W_hh": [(way.mT @ before, text) for way, text in all_ways],
        "b": [(way.sum(dim=0), text) for way, text in all_ways],
        "W_hy": [(error.mT @ h / len(x), mean)],
    }
    mistakes["W_hh"].append((right.mT @ h, "W_hh meets the state before the step, h_{t-1}."))
    mistakes["W_hy"].append((error.mT @ before, "W_hy meets the state after the step, h_t."))
    mistakes["W_hy"].append((-error.mT @ h, "The sign: what was predicted minus what was right."))
    return mistakes
