"""The decoder step: twelve frames from the source to the next word, with scores to overwrite."""

import base64
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from softlookup.attention import AdditiveAttention
from softlookup.checks import require, require_tokens
from softlookup.layers import unroll
from softlookup.show.interactive import Interactive
from softlookup.translation import BOS, EOS, PAD, Translator, pad_batch

_MOST_SOURCE, _MOST_TARGET, _MOST_NUMBERS = 10, 12, 28_000
_SHOWN = {PAD: "⟨filler⟩", BOS: "⟨start⟩", EOS: "⟨end⟩"}
_SCORES = {True: "v^⊤ tanh(W_q h_t + W_k k_j)", False: "h_t^⊤ W k_j"}
_ALT = (
    "One step of a decoder in twelve frames: the source's rows, the new state, a score for each "
    "source word, softmax, the weighted sum, the state beside it, and the word that follows. "
    "Other scores give another word."
)
_CAPTION = (
    "One step of the decoder, frame by frame. Choose the word to write, go on to the scores, and "
    "overwrite them: everything after them is computed anew."
)


class DecoderSteps(Interactive):
    r"""The steps of a trained decoder that writes a given translation; its scores can be changed.

    The words before each step are given, as in training. What the page shows is the model's own:
    weights $a_t = \mathrm{softmax}(s_t)$, context $c_t = \sum_j a_{tj} k_j$, words scored by
    $W_\text{out} \tanh(W_c [c_t; h_t])$. The parts after the scores are computed in the page.

    Args:
        translator: A trained translator with attention, small enough for a page.
        source_words: 1 to 10 words of the source.
        target_words: 1 to 12 words of the translation. One more step writes the end.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: The translator has no attention, is too large, or computes what is not finite;
            a sentence is too short or too long, or holds an unknown word; or as ``Interactive``.

    Source: lecture 001, "Sequence-to-sequence with attention". Chapter: seq2seq#the-decoder.

    Example:
        >>> from softlookup.translation import train_translator
        >>> generator = torch.Generator().manual_seed(1)
        >>> sizes = {"d_model": 4, "d_hidden": 6, "n_steps": 1}
        >>> translator = train_translator([(["un"], ["one"])], generator=generator, **sizes)
        >>> DecoderSteps(translator, ["un"], ["one"]).name
        'fig-seq2seq-decoder'
    """

    def __init__(
        self,
        translator: Translator,
        source_words: Sequence[str],
        target_words: Sequence[str],
        *,
        name: str = "fig-seq2seq-decoder",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        is_translator = isinstance(translator, Translator)
        require(is_translator, "translator must be a Translator", translator=translator)
        attention = translator.model.decoder.attention
        require(attention is not None, "the translator must have attention to show")
        _require_words(_MOST_SOURCE, source_words=source_words)
        _require_words(_MOST_TARGET, target_words=target_words)
        matrices, scores = _computed(translator, list(source_words), list(target_words))
        _require_page(matrices, scores)
        data = {
            "source": list(source_words),
            "before": [_SHOWN[BOS], *target_words],
            "target": [*target_words, _SHOWN[EOS]],
            "words": [_SHOWN.get(word, word) for word in translator.target.tokens],
            "score": _SCORES[isinstance(attention, AdditiveAttention)],
            "scores": scores.tolist(),
            "bound": max(6, math.ceil(scores.abs().max().item()) + 2),
            "d_context": matrices["keys"].shape[1],
            "d_hidden": matrices["states"].shape[1],
            **{what: _packed(matrix) for what, matrix in matrices.items()},
        }
        super().__init__(
            name=name,
            data=data,
            alt=alt,
            caption=caption,
        )


@torch.no_grad()
def _computed(
    translator: Translator, source: list[str], target: list[str]
) -> tuple[dict[str, Tensor], Tensor]:
    """What the page needs after the scores, and the model's scores, one row per step."""
    decoder = translator.model.decoder
    start = translator.model.start(*pad_batch([translator.source.encode(source)]))
    before = torch.tensor([translator.target.encode([BOS, *target])])
    hidden, _ = unroll(decoder.cell, decoder.embedding(before), start.hidden)
    scores = decoder.attention.scores(hidden, start.context)[0]
    keys, hidden = start.context[0], hidden[0]
    W_context, W_state = decoder.combine.weight.split([keys.shape[1], hidden.shape[1]], dim=1)
    matrices = {
        "keys": keys,
        "states": torch.cat((start.hidden, hidden)),
        "from_keys": keys @ W_context.mT,
        "from_states": hidden @ W_state.mT + decoder.combine.bias,
        "W_out": decoder.unembed.weight,
        "b_out": decoder.unembed.bias.unsqueeze(0),
    }
    return matrices, scores


def _packed(matrix: Tensor) -> str:
    """The bytes of a matrix as text: half as long as its digits, and exact for 32-bit numbers."""
    return base64.b64encode(matrix.detach().numpy().astype("<f4").tobytes()).decode("ascii")


def _require_words(most: int, **words: Sequence[str]) -> None:
    require_tokens(**words)
    for name, sentence in words.items():
        fits = 1 <= len(sentence) <= most
        require(fits, f"{name} must be 1 to {most} words", **{name: list(sentence)})


def _require_page(matrices: dict[str, Tensor], scores: Tensor) -> None:
    n_numbers = sum(matrix.numel() for matrix in matrices.values())
    rule = f"the model must be small enough for a page, at most {_MOST_NUMBERS} numbers"
    require(n_numbers <= _MOST_NUMBERS, rule, n_numbers=n_numbers)
    for name, numbers in {**matrices, "scores": scores}.items():
        finite = bool(numbers.isfinite().all())
        require(finite, f"the model must compute finite {name}", **{name: numbers})
