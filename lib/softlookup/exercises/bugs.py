"""Bugs that fooled everyone: what is wrong in twelve parts, twice, and a check of any repair."""

import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import torch
from torch import Tensor

from softlookup.checks import require_choice
from softlookup.exercises import bugs_new, bugs_seen
from softlookup.exercises.bugs_laws import LAWS, SANITY
from softlookup.exercises.bugs_model import PARTS, Part
from softlookup.exercises.verdict import Answer, Verdict, Wrong, verdict


@dataclass(frozen=True)
class Bug:
    """A part with one wrong line.

    Attributes:
        part: Its name among ``PARTS``.
        function: The part as it should not be.
        wrong: The line.
        right: What should stand there.
        why: What goes wrong, in a sentence or two.
        where: Where the like was seen; nothing for a bug planted here.

    Chapter: bugs#twelve-functions
    """

    part: str
    function: Part
    wrong: str
    right: str
    why: str
    where: str = ""

    def lines(self) -> list[str]:
        """The code, one string a line, without its docstring.

        Returns:
            The first line is the ``def``.
        """
        lines = textwrap.dedent(inspect.getsource(self.function)).rstrip().splitlines()
        return [line for line in lines if '"""' not in line]

    def place(self) -> int:
        """Which of ``lines`` is wrong, counted from 0.

        Returns:
            An index.
        """
        return [line.strip().split("  # ")[0] for line in self.lines()].index(self.wrong)

    def repaired(self) -> Part:
        """The same function with the right line.

        Returns:
            A function that keeps all laws.
        """
        lines, k = self.lines(), self.place()
        lines[k] = lines[k].replace(self.wrong, self.right)
        names = dict(self.function.__globals__)
        exec("\n".join(lines), names)
        return names[self.part]


_SEEN = {
    "count_pairs": (
        "i += 1",
        "i += 2 if ids[i : i + 3] == 3 * [ids[i]] else 1",
        "In aaa the pair aa is counted twice and can be joined once: pairs that overlap share a "
        "token.",
        "karpathy/minbpe #51, #72",
    ),
    "positions": (
        "angle = place / 10000 ** (pair / d_model)",
        "angle = place / 10000 ** (2 * pair / d_model)",
        "The formula counts columns, 2i, and this line counts pairs, i: the slowest wave is up "
        "to a hundred times too fast.",
        "vladfi1/slippi-ai #24; ivanvovk/WaveGrad #12",
    ),
    "clean": (
        "return x * keep",
        "return x.masked_fill(~keep, 0.0)",
        "Zero times NaN is NaN: what must have no influence has to be replaced, not multiplied.",
        "pytorch/pytorch #101967",
    ),
    "split": (
        "return rows.view(batch, n_heads, n, d_k)",
        "return rows.view(batch, n, n_heads, d_k).transpose(1, 2)",
        "A view keeps the numbers in their order: a head gets some tokens whole, instead of a "
        "piece of every token.",
        "reczoo/FuxiCTR #30; 649453932/Chinese-Text-Classification-Pytorch #10, #53",
    ),
    "causal": (
        "return allowed.tril()",
        "return allowed.tril(n_k - n_q)",
        "With keys kept from before, the queries are the last tokens, not the first: the triangle "
        "belongs into the other corner.",
        "pytorch/pytorch #108108, #144858",
    ),
    "softmax": (
        "scores = scores + torch.where(mask, 0.0, -torch.inf)",
        "scores = scores.masked_fill(~mask & mask.any(dim=-1, keepdim=True), -torch.inf)",
        "A row of −∞ alone is 0/0. The last line hides that on the way forward, but the gradient "
        "has gone through NaN.",
        "pytorch/pytorch #41508, #103749, #103963",
    ),
    "drop": (
        "return F.dropout(weights, rate)",
        "return F.dropout(weights, rate, training)",
        "A function does not know the model's mode: it drops at evaluation, too.",
        "karpathy/nanoGPT #240; huggingface/pytorch-image-models #1978; pytorch/pytorch #124464",
    ),
    "join": (
        "return heads.reshape(batch, n, d_model)",
        "return heads.transpose(1, 2).reshape(batch, n, d_model)",
        "Without the transposition a row is put together from one head and several tokens, also "
        "later ones.",
        "jsbaan/transformer-from-scratch #6; ajhalthor/Transformer-Neural-Network #8",
    ),
    "norm": (
        "size = x.std(dim=-1, keepdim=True) + eps",
        "size = (x.var(dim=-1, correction=0, keepdim=True) + eps).sqrt()",
        "PyTorch's std divides by d − 1 and LayerNorm by d; and ε stands under the root.",
        "harvardnlp/annotated-transformer #119, #122; codertimo/BERT-pytorch #30",
    ),
    "tie": (
        "unembedding.weight = nn.Parameter(table)",
        "unembedding.weight = table",
        "A new Parameter shares the numbers for now, but is another weight: it is counted, trained "
        "and copied by itself.",
        "karpathy/nanoGPT #21; rasbt/LLMs-from-scratch #826",
    ),
    "total_loss": (
        "total = total + losses[k] / len(losses)",
        "total = total + losses[k] * counts[k] / sum(counts)",
        "A mean of means: a token in a short part counts for more than one in a long part.",
        "huggingface/transformers #24725, #34191; meta-pytorch/torchtune #1875",
    ),
    "top_k": (
        "return scores.masked_fill(scores < least, 1e-10)",
        "return scores.masked_fill(scores < least, -torch.inf)",
        "These are scores, not probabilities: 1e-10 is about 0, and may be the best score of all.",
        "karpathy/minGPT #10",
    ),
}  # fmt: skip

_NEW = {
    "count_pairs": (
        "before = pair",
        "before = None if overlaps else pair",
        "A pair that was left out uses up nothing: the next one counts again.",
    ),
    "positions": (
        "angle = place / 10000 ** (column // d_model)",
        "angle = place / 10000 ** (column / d_model)",
        "// rounds down, so every exponent is 0 and all waves are the same.",
    ),
    "clean": (
        "nothing = 0.0 * x",
        "nothing = torch.zeros_like(x)",
        "Zero times NaN is NaN, in whatever line it stands.",
    ),
    "split": (
        "return rows.view(batch, n, d_k, n_heads).permute(0, 3, 1, 2)",
        "return rows.view(batch, n, n_heads, d_k).permute(0, 2, 1, 3)",
        "Each head gets every second column: a sound model, but not the one whose weights these "
        "are.",
    ),
    "causal": (
        "return square[:n_q]",
        "return square[n_k - n_q :]",
        "The queries are the last rows of the square, not the first.",
    ),
    "softmax": (
        "scores = scores.masked_fill(~mask, -torch.inf)",
        "scores = scores.masked_fill(~mask & mask.any(dim=-1, keepdim=True), -torch.inf)",
        "In a row without keys the largest score is −∞, and −∞ − (−∞) is NaN.",
    ),
    "drop": (
        "return weights * kept",
        "return weights * kept / (1 - rate)",
        "What is left must grow, or the weights of training sum to less than those of evaluation.",
    ),
    "join": (
        "rows = heads.permute(0, 2, 3, 1)",
        "rows = heads.transpose(1, 2)",
        "The heads' columns are shuffled together, not laid side by side.",
    ),
    "norm": (
        "axes = tuple(range(1, x.ndim))",
        "axes = (-1,)",
        "The statistics are those of the whole text: later tokens have a say.",
    ),
    "tie": (
        "unembedding.weight.copy_(table)",
        "unembedding.weight = table",
        "Equal at the start is not the same: the first step parts them.",
    ),
    "total_loss": (
        "total, n_all = 0.0, len(counts) * max(counts)",
        "total, n_all = 0.0, sum(counts)",
        "That counts filler: as if every part were as long as the longest.",
    ),
    "top_k": (
        "return scores.masked_fill(scores < best.min(), -torch.inf)",
        "return scores.masked_fill(scores < best.amin(dim=-1, keepdim=True), -torch.inf)",
        "The least of all rows is the limit of one row only.",
    ),
}


def _bugs(module: ModuleType, told: dict[str, tuple[str, ...]]) -> dict[str, Bug]:
    return {part: Bug(part, getattr(module, part), *texts) for part, texts in told.items()}


SEEN = _bugs(bugs_seen, _SEEN)
"""The bugs of the chapter, by part."""

NEW = _bugs(bugs_new, _NEW)
"""The bugs of the exercises, by part."""


@cache
def verdicts(function: Part | None = None) -> dict[str, str | None]:
    """What every test says of the patient with one part exchanged: first the sanity checks.

    Args:
        function: A function of ``bugs_seen`` or ``bugs_new``, whose name says which part it is;
            None for the healthy patient.

    Returns:
        By the name of the test: None, or what it saw go wrong.

    Chapter: bugs#the-verdict

    Example:
        >>> [name for name, fault in verdicts(bugs_seen.causal).items() if fault]
        ['cache']
    """
    parts = {} if function is None else {function.__name__: function}
    return {name: law(**parts) for name, law in {**SANITY, **LAWS}.items()}


def hunt() -> list[dict]:
    """The bugs of the chapter as ``softlookup.show.BugHunt`` wants them.

    Returns:
        For each its code, the wrong line, the right one, and what every test says.

    Chapter: bugs#twelve-functions
    """
    return [
        {
            "name": part,
            "lines": bug.lines(),
            "wrong": bug.place(),
            "right": bug.right,
            "why": bug.why,
            "where": bug.where,
            "tests": [[name, fault] for name, fault in verdicts(bug.function).items()],
        }
        for part, bug in SEEN.items()
    ]


def check_repairs(**parts: object) -> Verdict:
    """Check the learner's parts: the patient with them must keep every law.

    Args:
        parts: The learner's functions, by the names of the parts they repair.

    Returns:
        Whether it is solved, and which law is still broken.

    Raises:
        ValueError: There is no such part.

    Chapter: bugs#exercises

    Example:
        >>> check_repairs(split=...)
        Not yet. split: Nothing to check so far: write the function anew.
    """
    for part in parts:
        require_choice(tuple(PARTS), part=part)
    return verdict(lambda: _repairs(parts))


def _repairs(parts: dict[str, object]) -> str:
    for part, function in parts.items():
        try:
            answer = Answer(function, "write the function anew.")
            with torch.random.fork_rng(devices=[]), _told():
                _form(part, answer)
                learners = answer.value if part == "tie" else answer
                for name, law in LAWS.items():
                    fault = law(**{part: learners})
                    if fault:
                        raise Wrong(f"“{name}” is broken: {fault}")
        except Wrong as wrong:
            raise Wrong(f"{part}: {wrong}") from wrong
    return f"All {len(LAWS)} laws hold, with {' and with '.join(parts)}."


@contextmanager
def _told() -> Iterator[None]:
    """What goes wrong inside the model because of a part is told, not raised."""
    try:
        yield
    except Wrong:
        raise
    except Exception as error:
        raise Wrong(f"with it the model stops: {type(error).__name__}: {error}") from error


def _form(part: str, answer: Answer) -> None:
    """The result has the form of the healthy part's, and the arguments are left alone."""
    kind = dict if part == "count_pairs" else Tensor
    for given in _examples(part):
        found = answer(*given, kept="it changes what it is given; make a new tensor.")
        right = PARTS[part](*given)
        if not isinstance(found, kind):
            raise Wrong(f"it should return a {kind.__name__}; yours is {found!r:.60}.")
        if kind is Tensor and found.shape != right.shape:
            raise Wrong(f"shape {tuple(found.shape)} where {tuple(right.shape)} is due.")


def _examples(part: str) -> list[list]:
    """Arguments of the sizes that tell one axis from another."""
    generator = torch.Generator().manual_seed(7)

    def some(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    triangle = PARTS["causal"](3, 5)
    return {
        "count_pairs": [[[1, 2, 1, 2]]],
        "positions": [[5, 6]],
        "clean": [[some(2, 3, 5), torch.tensor([[True, True, False], [True, False, False]])]],
        "split": [[some(2, 5, 6), 3]],
        "causal": [[5, 5], [2, 7]],
        "softmax": [[some(2, 3, 3, 5), triangle.expand(2, 1, 3, 5)]],
        "drop": [[some(2, 3, 5), 0.5, False]],
        "join": [[some(2, 3, 5, 7)]],
        "norm": [[some(2, 3, 5), some(5), some(5), 1e-5]],
        "tie": [],
        "total_loss": [[[some(), some()], [3, 5]]],
        "top_k": [[some(3, 11), 4]],
    }[part]
