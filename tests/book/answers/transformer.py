"""Answers to the exercises of a chapter: right, and wrong with the words that they get."""

import itertools
import math

import torch
from torch import nn

from softlookup.attention.positions import sinusoidal
from softlookup.exercises.transformer import (
    check_choice,
    check_decoder,
    check_lopsided_count,
    check_order,
    check_pytorch_count,
    check_share_ahead,
)
from softlookup.masks import causal_mask
from softlookup.models import TransformerConfig
from softlookup.models.encoder_decoder import parameter_counts
from softlookup.translation import corpus_bleu

RIGHT, WRONG = {}, {}


# A deep encoder and a shallow decoder


ATTENTION, INNER, NORM = 4 * 512**2, 2 * 512 * 2048 + 2048 + 512, 2 * 512
ENCODER, DECODER = ATTENTION + INNER + 2 * NORM, 2 * ATTENTION + INNER + 3 * NORM
DEEP = 10 * ENCODER + 2 * DECODER + 37_000 * 512
RIGHT[check_lopsided_count] = [
    (DEEP,),
    (63_045_632 - 4 * (ATTENTION + NORM),),
    (parameter_counts(TransformerConfig(37_000, n_encoder_layers=10, n_decoder_layers=2)).total,),
    (torch.tensor([58_847_232]),),
]
WRONG[check_lopsided_count] = [
    (..., "Nothing to check so far: count the parameters"),
    (DEEP - 37_000 * 512, "Those are the blocks, without any embedding."),
    (DEEP + 37_000 * 512, "count it once, not twice"),
    (DEEP + 2 * 37_000 * 512, "count it once, not 3 times"),
    (63_045_632, "six blocks on each side"),
    (2 * ENCODER + 10 * DECODER + 37_000 * 512, "you have it reversed"),
    (63_045_632 - 4 * ATTENTION, "takes its norm along"),
    (63_045_632 - 4 * NORM, "the attention that the norm belongs to"),
    (63_045_632 - ATTENTION - NORM, "Four blocks have become encoder blocks"),
    (12 * ENCODER + 37_000 * 512, "Two still write"),
    (DEEP + 14 * 4 * 512, "have no biases here"),
    (DEEP + 2 * NORM, "there is no further norm"),
    (DEEP + 1, "58,847,233 is not right. Start from"),
    ("many", "should be one number"),
]


# The best wrong order


RIGHT[check_order] = [
    (lambda words: [words[-1], *words[:-1]],),
    (lambda words: words[1:] + words[:1],),
    (lambda words: " ".join(words[1:] + words[:1]),),
    (lambda words: max((list(order) for order in rotations(words)), key=lambda o: same(o, words)),),
]
WRONG[check_order] = [
    (..., "Nothing to check so far: return the words in another order"),
    (lambda words: words, "that is the order of the reference itself"),
    (lambda words: words[::-1], "The chain is broken in 4 places; one is enough"),
    (lambda words: words[2:] + words[:2], "One break is the least. But where"),
    (lambda words: [*words[:-2], words[-1], words[-2]], "broken in 2 places"),
    (lambda words: words[:-1], "these are not the same words"),
    (lambda words: [words[0], *words], "these are not the same words"),
    (lambda words: 5, "Return a list of words"),
    (lambda words: [1, 2], "Return a list of words"),
    (lambda words: words[99], "Your code stopped with IndexError"),
]


def rotations(words):
    return [words[k:] + words[:k] for k in range(1, len(words))]


def same(order, words):
    return corpus_bleu([" ".join(order)], [" ".join(words)], smoothing="none").score


# PyTorch's count


def pytorch_count(d, d_ff, n_layers, *, biases=True, norms=2):
    attention = 4 * d * d + (4 * d if biases else 0)
    pair = 3 * attention + 2 * (2 * d * d_ff + d_ff + d) + 5 * 2 * d
    return n_layers * pair + norms * 2 * d


def by_building(d, d_ff, n_layers):
    with torch.device("meta"):
        peer = nn.Transformer(d, 4, n_layers, n_layers, d_ff, batch_first=True)
    return sum(p.numel() for p in peer.parameters())


RIGHT[check_pytorch_count] = [(pytorch_count,), (by_building,)]
WRONG[check_pytorch_count] = [
    (..., "Nothing to check so far: return the number of parameters."),
    (lambda *_: None, "Nothing to check so far: return the number of parameters."),
    (lambda *a: pytorch_count(*a, biases=False, norms=0), "four biases, and each stack ends"),
    (lambda *a: pytorch_count(*a, biases=False), "have biases: four of d_model"),
    (lambda *a: pytorch_count(*a, norms=0), "one more LayerNorm behind each of the two stacks"),
    (
        lambda *a: pytorch_count(*a, norms=1),
        "Both stacks end with a LayerNorm, not one of them",
    ),
    (lambda *_: 44_140_544, "nn.Transformer(64, 8, 1, 1, 48): it has"),
    (lambda *a: pytorch_count(*a) + 7, "you count 44,140,551, 7 too many."),
    (lambda *a: pytorch_count(*a) - 7, "you count 44,140,537, 7 too few."),
    (lambda d, d_ff, n: pytorch_count(d, 4 * d, n), "nn.Transformer(64, 8, 1, 1, 48): it has"),
    (lambda d, d_ff, n: 1 / 0, "Your code stopped with ZeroDivisionError"),
]


# The decoder


def normed(x, norm):
    return nn.functional.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, norm.eps)


def attended(layer, x, context, mask):
    """All heads at once, with PyTorch's fused kernel."""
    split = [
        W(rows).unflatten(-1, (layer.n_heads, -1)).transpose(0, 1)
        for W, rows in ((layer.W_Q, x), (layer.W_K, context), (layer.W_V, context))
    ]
    heads = nn.functional.scaled_dot_product_attention(*split, attn_mask=mask)
    return layer.W_O(heads.transpose(0, 1).flatten(1))


def decode(model, target, context, length, *, scaled=True, places=True, start=0, filler=True,
           future=False, cross=True, cross_first=False, causal_cross=False, head=True):  # fmt: skip
    d, n_q, n_k = model.config.d_model, len(target), len(context)
    y = model.embedding.weight[target] * (math.sqrt(d) if scaled else 1)
    y = y + sinusoidal(n_q, d, start=start, dtype=y.dtype) if places else y
    past = torch.ones(n_q, n_q, dtype=torch.bool) if future else causal_mask(n_q)
    read = (torch.arange(n_k) < (length if filler else n_k)).expand(n_q, n_k)
    if causal_cross:
        read = read & (torch.arange(n_k) <= torch.arange(n_q)[:, None])
    for block in model.decoder:
        own, other, last = block.self_attention, block.cross_attention, block.feed_forward
        for part in (other, own) if cross_first else (own, other):
            if part is own:
                y = normed(y + attended(own.layer, y, y, past), own.norm)
            elif cross:
                y = normed(y + attended(other.layer, y, context, read), other.norm)
        inner = nn.functional.relu(last.layer.W_1(y))
        y = normed(y + last.layer.W_2(inner), last.norm)
    return y @ model.embedding.weight.T if head else y


def with_gradient(*given):
    given[0].requires_grad_(True)
    return decode(*given)


def by_the_library(model, target, context, length):
    mask = (torch.arange(len(context)) < length)[None, None]
    return model.decode(target[None], context[None], mask)[0]


RIGHT[check_decoder] = [
    (decode,),
    (with_gradient,),
    (lambda *given: decode(*given).tolist(),),
]
WRONG[check_decoder] = [
    (..., "Nothing to check so far: return a row of scores"),
    (lambda *given: decode(*given, scaled=False), "not multiplied by the root of d_model"),
    (lambda *given: decode(*given, places=False), "the position codes are missing"),
    (lambda *given: decode(*given, start=1), "position codes of the target begin at 0"),
    (lambda *given: decode(*given, filler=False), "Which columns may cross-attention not see"),
    (lambda *given: decode(*given, future=True), "Where is the causal mask?"),
    (lambda *given: decode(*given, cross=False), "Where is cross-attention?"),
    (lambda *given: decode(*given, cross_first=True), "reads itself first, and then the source"),
    (lambda *given: decode(*given, causal_cross=True), "the causal mask is for the target's own"),
    (lambda *given: decode(*given, head=False), "The last step compares them with the embedding"),
    (lambda *given: decode(*given).softmax(dim=-1), "Those are probabilities"),
    (lambda *given: decode(*given)[None], "without an axis for the batch"),
    (lambda *given: 2 * decode(*given), "after each sub-layer", "1 head, 4 target"),
    (lambda *given: "scores", "The scores"),
    (lambda m, t, c, n: m.decoder[99], "Your code stopped with IndexError"),
    (by_the_library, "calls the library's DecoderBlock"),
]


# Resampling


def share_ahead(first, second, references, *, ties=False, corpus=True, scale=True):
    n, wins = len(references), []
    for code in range(n**n):  # the digits of a number in base n
        draw = [code // n**k % n for k in range(n)]
        pair = []
        for system in (first, second):
            written, wanted = [system[k] for k in draw], [references[k] for k in draw]
            if corpus:
                pair.append(corpus_bleu(written, wanted).score)
            else:
                singles = zip(written, wanted, strict=True)
                pair.append(sum(corpus_bleu([h], [r]).score for h, r in singles))
        wins.append(pair[0] > pair[1] or (ties and pair[0] == pair[1]))
    return sum(wins) / len(wins) if scale else sum(wins)


def as_they_are(first, second, references):
    return float(corpus_bleu(first, references).score > corpus_bleu(second, references).score)


def without_order(first, second, references):
    n, wins = len(references), []
    for draw in itertools.combinations_with_replacement(range(n), n):
        wanted = [references[k] for k in draw]
        one, other = (corpus_bleu([s[k] for k in draw], wanted).score for s in (first, second))
        wins.append(one > other)
    return sum(wins) / len(wins)


def on_other_draws(first, second, references):
    n, scores = len(references), []
    for system in (first, second):
        draws = itertools.product(range(n), repeat=n)
        scores.append(
            [corpus_bleu([system[k] for k in d], [references[k] for k in d]).score for d in draws]
        )
    wins = [a > b for a in scores[0] for b in scores[1]]
    return sum(wins) / len(wins)


RIGHT[check_share_ahead] = [(share_ahead,), (lambda *g: torch.tensor(share_ahead(*g)),)]
WRONG[check_share_ahead] = [
    (..., "Nothing to check so far: return the share of the draws"),
    (lambda *g: share_ahead(*g, ties=True), "A draw in which both are equal is no win"),
    (lambda a, b, r: share_ahead(b, a, r), "the share in which the second is ahead"),
    (lambda *g: share_ahead(*g, corpus=False), "Score the draw as one corpus"),
    (lambda *g: share_ahead(*g, scale=False), "That is how many draws"),
    (lambda *g: 100 * share_ahead(*g), "A share is at most 1"),
    (as_they_are, "who is ahead on the texts as they are"),
    (without_order, "These are sets of texts"),
    (on_other_draws, "scored on the same draw"),
    (lambda *g: 0.123, "you have 0.1230"),
    (lambda *g: [0.1, 0.2], "should have shape (1,)"),
    (lambda *g: 1 / 0, "ZeroDivisionError"),
]


# The best of several


def scored(choice, candidates, references):
    written = [some[k] for k, some in zip(choice, candidates, strict=True)]
    return corpus_bleu(written, references).score


def by_all(candidates, references):
    every = itertools.product(*[range(len(some)) for some in candidates])
    return max(every, key=lambda choice: scored(choice, candidates, references))


def in_turns(candidates, references):
    """A right solution here, without going through all: one text is changed at a time."""
    found = []
    for start in range(3):
        choice, before = [start] * len(candidates), None
        while choice != before:
            before = list(choice)
            for i, some in enumerate(candidates):
                choice = max(
                    ([*choice[:i], k, *choice[i + 1 :]] for k in range(len(some))),
                    key=lambda one: scored(one, candidates, references),
                )
        found.append(choice)
    return torch.tensor(max(found, key=lambda one: scored(one, candidates, references)))


def each_by(rate):
    return lambda candidates, references: [
        max(range(len(some)), key=lambda k: rate(some[k].split(), text.split()))
        for some, text in zip(candidates, references, strict=True)
    ]


def alone(written, text):
    return corpus_bleu([" ".join(written)], [" ".join(text)]).score


RIGHT[check_choice] = [(by_all,), (in_turns,)]
WRONG[check_choice] = [
    (..., "Nothing to check so far: return the number of one candidate for each text"),
    (lambda *_: None, "Nothing to check so far"),
    (each_by(alone), "With [0, 0] BLEU is 66.27; another choice has 71.74."),
    (each_by(alone), "the best of each text by itself"),
    (each_by(lambda written, _: len(written)), "the longest of each text"),
    (each_by(lambda written, _: -len(written)), "the shortest of each text"),
    (each_by(lambda written, text: -abs(len(written) - len(text))), "have the lengths of their"),
    (lambda c, r: [1] * len(c), "2 texts: With [1, 1] BLEU is"),
    (lambda c, r: [3] * len(c), "Return one number for each text"),
    (lambda c, r: [-1] * len(c), "Return one number for each text"),
    (lambda c, r: [0], "Return one number for each text"),
    (lambda c, r: [some[0] for some in c], "Return one number for each text"),
    (lambda c, r: 0, "Return one number for each text"),
    (lambda c, r: 1 / 0, "ZeroDivisionError"),
]
