"""The head mixer: mute and solo the heads of a trained layer; what is still answered right?"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from softlookup.attention import MultiHeadAttention
from softlookup.checks import require, require_int, require_mask
from softlookup.show.interactive import Interactive
from softlookup.show.numbers import plain, require_range

_MOST_HEADS, _MOST_WORDS, _MOST_NUMBERS, _LARGEST = 8, 12, 12_000, 1000
_ALT = (
    "One attention map per head of a trained layer, each with buttons to mute it or to hear it "
    "alone. With all heads the questions are answered right; without the head that looks where a "
    "question points, that question is lost and the others are not."
)
_CAPTION = (
    "The head mixer. In each map, the word of a row reads the words of the columns: the lighter a "
    "square, the more is read. Mute a head, or let it speak alone: the output is a sum over the "
    "heads, so the others stay as they are. Below: more heads at the same width are narrower "
    "heads, and the number of parameters stays."
)


class HeadMixer(Interactive):
    r"""A trained layer of heads and its readout, whose heads can be muted in the page.

    The page computes all from the weights: each head's $A$, what it adds to the scores of the
    answers, and their sum over the heads that speak.

    Args:
        layer: A trained layer of 2 to 8 heads that reads its own input.
        readout: From its output to the scores: for each question one score per answer.
        texts: The words of each text, 2 to 12, the same number in all.
        x: What the layer reads: one row per word, for each text.
        targets: The right answer to each question at each word, or -1 where nothing is asked.
        questions: What is asked at each word, 1 to 3 names.
        answers: The names of the answers.
        mask: True where a word may read a word; the same for all texts.
        labels: What each head seems to do, if that is known.
        n_shown: How many of the texts can be looked at; the others are only counted.
        d_model: The width that the slider splits among heads.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: A size, a number or an answer does not fit, or as ``Interactive``.

    Source: lectures 000, "Multi Head Attention and Self Attention", and 004, "Multi-head
    Attention". Chapter: many_heads#muting-heads.

    Example:
        >>> layer, readout = MultiHeadAttention(4, 2), nn.Linear(4, 3)
        >>> x, targets = torch.zeros(1, 2, 4), torch.tensor([[[-1], [2]]])
        >>> HeadMixer(layer, readout, [["a", "b"]], x, targets, questions=["who"],
        ...           answers=["a", "b", "c"], n_shown=1).name
        'fig-many-heads-mixer'
    """

    def __init__(
        self,
        layer: MultiHeadAttention,
        readout: nn.Linear,
        texts: Sequence[Sequence[str]],
        x: Float[Tensor, "texts n d_model"],
        targets: Int[Tensor, "texts n questions"],
        *,
        questions: Sequence[str],
        answers: Sequence[str],
        mask: Bool[Tensor, "#n n"] | None = None,
        labels: Sequence[str] | None = None,
        n_shown: int = 5,
        d_model: int = 512,
        name: str = "fig-many-heads-mixer",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        _require_layer(layer, readout, len(questions) * len(answers))
        _require_texts(texts, x, layer)
        _require_answers(targets, x, questions, answers)
        _require_rest(layer, labels, n_shown, len(texts), d_model)
        if mask is None:
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool)
        require_mask(mask, (x.shape[1], x.shape[1]))
        data = {
            "model": _model(layer, readout),
            "texts": [list(words) for words in texts],
            "x": plain(x),
            "targets": targets.tolist(),
            "questions": list(questions),
            "answers": list(answers),
            "mask": mask.expand(x.shape[1], x.shape[1]).int().tolist(),
            "labels": list(labels or [""] * layer.n_heads),
            "shown": n_shown,
            "width": d_model,
        }
        super().__init__(
            name=name,
            data=data,
            alt=alt,
            caption=caption,
        )


def _model(layer: MultiHeadAttention, readout: nn.Linear) -> dict:
    """The weights as the formulas have them, a block per head; biases that are not there are 0."""
    inner = {"Q": layer.W_Q, "K": layer.W_K, "V": layer.W_V}
    blocks = {
        f"W_{letter}": plain(w.weight.unflatten(0, (layer.n_heads, -1)).mT)
        for letter, w in inner.items()
    }
    biases = {
        f"b_{letter}": plain(_bias(w).unflatten(0, (layer.n_heads, -1)))
        for letter, w in inner.items()
    }
    W_O = plain(layer.W_O.weight.mT.unflatten(0, (layer.n_heads, -1)))
    out = {"W_O": W_O, "b_O": plain(_bias(layer.W_O))}
    return {
        **blocks,
        **biases,
        **out,
        "R": plain(readout.weight.mT),
        "b": plain(_bias(readout)),
    }


def _bias(linear: nn.Linear) -> Tensor:
    return linear.weight.new_zeros(len(linear.weight)) if linear.bias is None else linear.bias


def _require_layer(layer: MultiHeadAttention, readout: nn.Linear, n_scores: int) -> None:
    rule = f"the layer must have 2 to {_MOST_HEADS} heads"
    require(2 <= layer.n_heads <= _MOST_HEADS, rule, n_heads=layer.n_heads)
    width, d_context = layer.W_Q.in_features, layer.W_K.in_features
    rule = "the layer must read its own input"
    require(width == d_context, rule, d_model=width, d_context=d_context)
    wanted, found = (width, n_scores), (readout.in_features, readout.out_features)
    rule = "the readout must lead from d_model to one score per question and answer"
    require(wanted == found, rule, wanted=wanted, readout=found)
    for name, parameter in [*layer.named_parameters(), *readout.named_parameters()]:
        require_range(_LARGEST, **{name: parameter})


def _require_texts(texts: Sequence[Sequence[str]], x: Tensor, layer: MultiHeadAttention) -> None:
    n = len(texts[0]) if texts else 0
    rule = f"a text must have 2 to {_MOST_WORDS} words"
    require(2 <= n <= _MOST_WORDS, rule, words=n)
    lengths = sorted({len(words) for words in texts})
    require(lengths == [n], "all texts must have the same number of words", lengths=lengths)
    shape = (len(texts), n, layer.W_Q.in_features)
    require(x.shape == shape, f"x must have the shape {shape}", x=x)
    rule = f"the page can hold {_MOST_NUMBERS} numbers of x"
    require(x.numel() <= _MOST_NUMBERS, rule, numbers=x.numel())
    require_range(_LARGEST, x=x)


def _require_answers(
    targets: Tensor, x: Tensor, questions: Sequence[str], answers: Sequence[str]
) -> None:
    require(1 <= len(questions) <= 3, "there must be 1 to 3 questions", questions=list(questions))
    several = len(set(answers)) == len(answers) >= 2
    require(several, "answers must be two different names or more", answers=list(answers))
    shape = (*x.shape[:2], len(questions))
    require(targets.shape == shape, f"targets must have the shape {shape}", targets=targets)
    smallest, largest = int(targets.min()), int(targets.max())
    rule = f"a target must be -1 or an answer from 0 to {len(answers) - 1}"
    require(smallest >= -1 and largest < len(answers), rule, smallest=smallest, largest=largest)
    asked = (targets >= 0).flatten(0, 1).any(dim=0).tolist()
    require(all(asked), "each question must be asked somewhere", asked=asked)


def _require_rest(
    layer: MultiHeadAttention,
    labels: Sequence[str] | None,
    n_shown: int,
    n_texts: int,
    d_model: int,
) -> None:
    fits = labels is None or len(labels) == layer.n_heads
    require(fits, "there must be one label for each head", labels=labels, n_heads=layer.n_heads)
    require_int(1, n_shown=n_shown, d_model=d_model)
    rule = "n_shown must be at most 6, and at most the number of texts"
    require(n_shown <= min(6, n_texts), rule, n_shown=n_shown, n_texts=n_texts)
