"""Answers to the exercises of chapter 18: right, and wrong with the words that they get."""

import itertools
import math
from collections import Counter

import torch
from torch import nn

from softlookup.exercises.transformer import (
    check_base_count,
    check_bleu,
    check_changed,
    check_pytorch_count,
    check_vocabularies,
)
from softlookup.models import TransformerConfig
from softlookup.models.encoder_decoder import parameter_counts
from softlookup.translation import corpus_bleu

RIGHT, WRONG = {}, {}


# The base model


ATTENTION, THINK, NORM = 4 * 512**2, 2 * 512 * 2048 + 2048 + 512, 2 * 512
BLOCKS = 6 * (ATTENTION + THINK + 2 * NORM) + 6 * (2 * ATTENTION + THINK + 3 * NORM)
RIGHT[check_base_count] = [
    (BLOCKS + 37_000 * 512,),
    (parameter_counts(TransformerConfig.base(37_000)).total,),
    (torch.tensor([63_045_632]),),
]
WRONG[check_base_count] = [
    (..., "Nothing to check so far: count the parameters"),
    (44_101_632, "That is the core, without any embedding."),
    (100_933_632, "count it once, not 3 times"),
    (81_989_632, "count it once, not twice"),
    (63_082_496, "The projections of attention have no biases here."),
    (63_047_680, "there is no further norm"),
    (63_084_544, "That is PyTorch's core"),
    (63_045_632 - 12 * 2560, "30,720 are missing: the biases of all feed-forward layers or"),
    (63_045_632 - 30 * 1024, "30,720 are missing"),
    (63_045_632 - 30 * 512, "A LayerNorm has a gain and a shift"),
    (63_045_632 - 6 * 1024, "the third norm of all decoder blocks or, as chance will have it"),
    (63_045_632 - 12 * 512, "6,144 are missing"),
    (63_045_632 - 12 * 2048, "two biases: one of 2,048, and one of 512"),
    (18_944_000 + 3_150_336 + 4_199_936, "one block of each kind. There are six."),
    (63_045_632 - 6 * 1_048_576, "A decoder block has two attentions"),
    (63_045_632 - 6 * 1_049_600, "A decoder block reads the encoder: one more sub-layer."),
    (63_045_632 - 18 * 512**2, "An attention has four matrices"),
    (65_000_000, "That is what the paper prints."),
    (63_045_633, "63,045,633 is not right. Start with one attention"),
    ("many", "should be one number"),
]


# The vocabularies

BASE, BIG = (39_841, 41_793), (35_368, 36_344)


def by_search(config, millions):
    core, d = parameter_counts(config).core, config.d_model
    rounded = {v: math.floor((core + v * d) / 1e6 + 0.5) for v in range(30_000, 45_000)}
    fitting = [v for v, size in rounded.items() if size == millions]
    return fitting[0], fitting[-1]


RIGHT[check_vocabularies] = [
    (BASE, BIG),
    (torch.tensor(BASE), list(BIG)),
    (by_search(TransformerConfig.base(1), 65), by_search(TransformerConfig.big(1), 213)),
]
WRONG[check_vocabularies] = [
    (
        ...,
        ...,
        "Nothing to check so far: give the smallest and the largest vocabulary for base",
    ),
    (
        BASE,
        ...,
        "Nothing to check so far: give the smallest and the largest vocabulary for big",
    ),
    (BASE[::-1], BIG, "For base: The smaller one comes first."),
    ((40_818, 42_770), BIG, "For base: Rounded, not cut off"),
    ((13_281, 13_931), BIG, "For base: One matrix serves source, target and output"),
    ((39_769, 41_721), BIG, "For base: The projections of attention have no biases here."),
    (
        (39_841, 41_794),
        BIG,
        "For base: nearly. With 41,794 tokens it has 65,500,160; is that the",
    ),
    (
        (39_840, 41_793),
        BIG,
        "nearly. With 39,840 tokens it has 64,499,712; is that the smallest",
    ),
    ((37_000, 41_793), BIG, "with 37,000 tokens it has 63,045,632 parameters, and that is not"),
    (BASE, BASE, "For big, with 39,841 tokens it has"),
    (BASE, (35_368, 36_345), "For big: nearly"),
    (40_000, BIG, "should have shape (2,)"),
    ((39_840.6, 41_793.0), BIG, "For base: tokens are whole numbers."),
    (BASE, (35_368, math.inf), "For big: tokens are whole numbers."),
]


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


# What moves


def changed(model, source, length, target, j):
    other = source.clone()
    other[0, j] = (other[0, j] + 1) % 11
    before, after = (model(ids, [length], target)[0] for ids in (source, other))
    return [i for i in range(target.shape[1]) if not torch.equal(before[i], after[i])]


def by_jacobian(model, source, length, target, j):
    """The encoder's output is differentiated; nothing is replaced."""
    context, mask = model.encode(source, [length])
    flow = torch.autograd.functional.jacobian(lambda c: model.decode(target, c, mask)[0], context)
    reads = flow.abs().sum(dim=(1, 2, 3, 4)) > 0
    return reads.nonzero().flatten() if j < length else torch.tensor([])


def without_length(model, source, length, target, j):
    return changed(model, source, source.shape[1], target, j)


RIGHT[check_changed] = [
    (changed,),
    (by_jacobian,),
    (lambda *given: set(changed(*given)),),
]


WRONG[check_changed] = [
    (..., "Nothing to check so far: return a list of places of the target."),
    (lambda *_: 3, "Return a list of places, like [0, 1]; you returned 3."),
    (lambda *_: ["first"], "Return a list of places"),
    (without_length, "place 4 is filler, no score moves. You list [0, 1, 2, 3, 4, 5]. Do you"),
    (lambda m, s, n, t, j: range(t.shape[1]), "place 4 is filler"),
    (lambda m, s, n, t, j: range(j, t.shape[1]), "the causal mask is for the target's own"),
    (lambda m, s, n, t, j: range(j + 1, t.shape[1]), "j = 0: the causal mask is for the"),
    (lambda m, s, n, t, j: range(t.shape[1]) if j < n else [], "reads nothing of the source"),
    (lambda *_: [], "j = 0: [0, 1, 2, 3] move; you list []."),
    (lambda m, s, n, t, j: m(s, [n], t[:, 1000]), "Your code stopped with IndexError"),
]


# BLEU


def runs(words, n):
    return Counter(tuple(words[k : k + n]) for k in range(len(words) - n + 1))


def bleu(hypotheses, references, *, clip=True, penalty=True, cut=True, mean="geometric",
         orders=4, scale=100, of_reference=False):  # fmt: skip
    shares = []
    for n in range(1, orders + 1):
        both = [(runs(h, n), runs(r, n)) for h, r in zip(hypotheses, references, strict=True)]
        matches = sum(sum(min(k, r[g]) if clip else k * (g in r) for g, k in h.items())
                      for h, r in both)  # fmt: skip
        total = sum((r if of_reference else h).total() for h, r in both)
        shares.append(matches / max(total, 1))
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    factor = math.exp(1 - r / c) if penalty else 1
    factor = min(1, factor) if cut else factor
    product = math.prod(shares) ** (1 / orders)
    return scale * factor * (product if mean == "geometric" else sum(shares) / orders)


def mean_of_texts(hypotheses, references):
    scores = [bleu([h], [r]) for h, r in zip(hypotheses, references, strict=True)]
    return sum(scores) / len(scores)


def library(hypotheses, references):
    texts = [[" ".join(text) for text in side] for side in (hypotheses, references)]
    return corpus_bleu(*texts, smoothing="none", tokenized=True).score


def greedy(hypotheses, references):
    """It eats the lists, which are its own."""
    score = bleu(hypotheses, references)
    for text in itertools.chain(hypotheses, references):
        text.clear()
    return score


RIGHT[check_bleu] = [(bleu,), (library,), (greedy,)]
WRONG[check_bleu] = [
    (..., "Nothing to check so far: return one score"),
    (lambda h, r: bleu(h, r, scale=1), "The scale goes from 0 to 100."),
    (lambda h, r: bleu(h, r, penalty=False), "where is the brevity penalty?"),
    (lambda h, r: bleu(h, r, cut=False), "What is longer than the reference is not rewarded"),
    (
        lambda h, r: bleu(h, r, clip=False),
        "counts at most as often as it stands in the reference",
    ),
    (lambda h, r: bleu(h, r, of_reference=True), "Divide by the n-grams written"),
    (lambda h, r: bleu(h, r, mean="arithmetic"), "The mean over n is geometric"),
    (lambda h, r: bleu(h, r, orders=1), "Those are single words."),
    (mean_of_texts, "Sum all counts first; BLEU is no mean of texts."),
    (lambda h, r: 50.0, "BLEU is 100.00, you have 50.00."),
    (lambda h, r: [1.0, 2.0], "should have shape (1,)"),
    (lambda h, r: bleu(h, r) / (len(h[0]) - 3), "BLEU is 100.00, you have"),
    (lambda h, r: 100 * math.prod(runs(h[0], n).total() for n in range(5)) / 0, "ZeroDivision"),
]
