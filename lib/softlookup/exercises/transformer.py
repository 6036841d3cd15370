"""Checks: counting parameters, the best wrong order, BLEU, a decoder, resampling."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from softlookup.attention.positions import sinusoidal
from softlookup.exercises.compare import advised, compare, counted, integers, one_number
from softlookup.exercises.verdict import Answer, Wrong, exercise
from softlookup.masks import causal_mask
from softlookup.models import Transformer, TransformerConfig
from softlookup.models.encoder_decoder import parameter_counts
from softlookup.translation import corpus_bleu

_VOCAB = 37_000


@exercise("count the parameters.")
def check_lopsided_count(count: Answer) -> str:
    """Check how many parameters the base model has with ten blocks that read and two that write.

    Args:
        count: The learner's number, exact.

    Chapter: transformer#exercises
    """
    config = TransformerConfig(_VOCAB, n_encoder_layers=10, n_decoder_layers=2)
    right, core = parameter_counts(config).total, parameter_counts(config).core
    d, table = 512, _VOCAB * 512
    attention, norm = 4 * d * d, 2 * d
    base = parameter_counts(TransformerConfig.base(_VOCAB)).total
    turned = TransformerConfig(_VOCAB, n_encoder_layers=2, n_decoder_layers=10)
    mistakes = [
        (core, "Those are the blocks, without any embedding."),
        (core + 2 * table, "Source, target and output are one matrix: count it once, not twice."),
        (core + 3 * table, "Source, target and output are one matrix: count it once, not 3 times."),
        (base, "That is the base model with six blocks on each side."),
        (
            parameter_counts(turned).total,
            "Ten blocks read, and two write; you have it reversed: an encoder block is smaller.",
        ),
        (base - 4 * attention, "The attention that a block loses takes its norm along."),
        (base - 4 * norm, "With its norm a block loses the attention that the norm belongs to."),
        (base - attention - norm, "Four blocks have become encoder blocks, not one."),
        (base - 6 * (attention + norm), "All twelve would read then. Two still write."),
        (right + 14 * 4 * d, "The projections of attention have no biases here."),
        (right + 2 * norm, "Behind the last post-norm block there is no further norm."),
    ]
    found = one_number(count.value, "The count")
    if found != right:
        aside = (
            f"{found:,.0f} is not right. Start from 63,045,632: four decoder blocks become encoder "
            "blocks."
        )
        raise Wrong(advised(found, mistakes, aside, rel_tol=0))
    return "58,847,232: the same twelve blocks, 4 million parameters less, and a fast writer."


@exercise("return the words in another order.")
def check_order(answer: Answer) -> str:
    """Check a function of a list of words: another order of them with the highest BLEU.

    Args:
        answer: The learner's function; the words are all different, and five at least.

    Chapter: transformer#exercises
    """
    for text in _SENTENCES:
        words = text.split()
        found = answer(list(words))
        if isinstance(found, str):
            found = found.split()
        if not isinstance(found, Sequence) or not all(isinstance(word, str) for word in found):
            raise Wrong(f"Return a list of words; for “{text}” you returned {found!r}.")
        shown = f"For “{text}” you write “{' '.join(found)}”"
        if sorted(found) != sorted(words):
            raise Wrong(f"{shown}: these are not the same words, each of them once.")
        if list(found) == words:
            raise Wrong(f"{shown}: that is the order of the reference itself.")
        score, best = _bleu_of(found, words), _bleu_of([words[-1], *words[:-1]], words)
        if score < best - 1e-9:
            raise Wrong(f"{shown}: BLEU {score:.1f}. {_advice_on_order(list(found), words)}")
    return "One break, where it spoils least: a word has gone from one end to the other."


@exercise("return the number of parameters.")
def check_pytorch_count(answer: Answer) -> str:
    """Check a function of (d_model, d_ff, n_layers): the parameters of ``nn.Transformer``.

    Args:
        answer: The learner's function; as many blocks read as write.

    Chapter: transformer#exercises
    """
    for d, d_ff, n_layers in ((512, 2048, 6), (64, 48, 1), (64, 48, 3), (32, 128, 2)):
        with torch.device("meta"):
            peer = nn.Transformer(d, 8, n_layers, n_layers, d_ff, batch_first=True)
        right = sum(p.numel() for p in peer.parameters())
        found = one_number(answer(d, d_ff, n_layers), "The count")
        biases, norms = 3 * n_layers * 4 * d, 2 * 2 * d
        mistakes = [
            (
                biases + norms,
                "PyTorch's attention has four biases, and each stack ends with a norm.",
            ),
            (biases, "PyTorch's projections of attention have biases: four of d_model."),
            (norms, "PyTorch puts one more LayerNorm behind each of the two stacks."),
            (norms // 2, "Both stacks end with a LayerNorm, not one of them."),
        ]
        if found != right:
            asked = f"nn.Transformer({d}, 8, {n_layers}, {n_layers}, {d_ff})"
            gap = f"{abs(found - right):,.0f} too {'many' if found > right else 'few'}"
            plain = f"it has {right:,} parameters, you count {found:,.0f}, {gap}."
            raise Wrong(f"{asked}: {advised(right - found, mistakes, plain, rel_tol=0)}")
    return "44,140,544 for the base size: 36,864 biases and 2,048 of final norms above our core."


@exercise("return the number of one candidate for each text.")
def check_choice(answer: Answer) -> str:
    """Check a choice of candidates of (candidates, references): the highest BLEU as one corpus.

    Args:
        answer: The learner's function. ``candidates`` holds a list of translations for each text,
            ``references`` one reference for each. It returns one index for each text, from 0.

    Chapter: transformer#exercises
    """
    complaint = "Return one number for each text: which of its candidates, counted from 0."
    for references in _CHOICES:
        candidates = [list(_CANDIDATES[reference]) for reference in references]
        found = integers(answer(candidates, list(references)), complaint, n=len(references))
        if not all(0 <= k < len(some) for k, some in zip(found, candidates, strict=True)):
            raise Wrong(complaint)
        choices = itertools.product(*(range(len(some)) for some in candidates))
        best = max(_bleu_of_choice(choice, candidates, references) for choice in choices)
        score = _bleu_of_choice(found, candidates, references)
        if score < best - 1e-9:
            aside = f"With {found} BLEU is {score:.2f}; another choice has {best:.2f}."
            advice = _advice_on_choice(found, candidates, references)
            raise Wrong(f"{len(references)} texts: {aside} {advice}".rstrip())
    return "What is good for one text need not be good for the corpus: lengths are added up first."


@exercise("return a row of scores for each place.")
def check_decoder(answer: Answer) -> str:
    """Check a function of (model, target, context, length): the decoder, computed by hand.

    Args:
        answer: The learner's function. ``target`` holds the ids of one text, (n_q,), ``context``
            the encoder's rows, (n_k, d_model), of which the first ``length`` are tokens. It returns
            the scores of the next token at each place, (n_q, vocab).

    Chapter: transformer#exercises
    """
    generator = torch.Generator().manual_seed(18)
    for sizes, n_k, length, n_q in _DECODERS:
        model = _random_model(*sizes)
        context = torch.randn(n_k, sizes[0], generator=generator, dtype=torch.float64)
        target = torch.randint(13, (n_q,), generator=generator)
        right = _decoded(model, target, context, length)
        with _called(model) as called:
            found = answer(model, target.clone(), context.clone(), length)
        if called:
            own = "Use the model's parameters, and write its steps yourself."
            raise Wrong(f"Your function calls the library's {called[0]}. {own}")
        if isinstance(found, Tensor):
            found = found.detach()
        mistakes = [
            (_decoded(model, target, context, length, slip), advice)
            for slip, advice in _DECODER_SLIPS.items()
        ]
        mistakes.append((right.softmax(dim=-1), "Those are probabilities. Return the scores."))
        d_model, n_layers, n_heads = sizes
        case = (
            f"With {counted(n_layers, 'block')} of width {d_model}, {counted(n_heads, 'head')}, "
            f"{counted(n_q, 'target token')} and {length} of {n_k} rows to be read: "
        )
        compare(
            found,
            right,
            "The scores",
            mistakes,
            f"{case}the scores are not the library's. Compare the rows after each sub-layer of the "
            "first block; capture() of the chapter shows the library's.",
            shapes={
                (n_q, d_model): f"{case}those are rows of width {d_model}. The last step compares "
                "them with the embedding table.",
                (1, n_q, 13): "Return one row for each place, without an axis for the batch.",
            },
            case=case,
            tolerance=1e-9,
        )
    return "The whole decoder, from bare matrices: masks, scale, norms and heads are all right."


@exercise("return the share of the draws.")
def check_share_ahead(answer: Answer) -> str:
    """Check a function of two systems' texts and the references: how often the first is ahead.

    Args:
        answer: The learner's function. It returns the share of all draws, with replacement and in
            order, in which the corpus BLEU of the first system is strictly higher.

    Chapter: transformer#exercises
    """
    for first, second, references in _SYSTEMS:
        texts = list(first), list(second), list(references)
        found = one_number(answer(*texts), "The share")
        right = _share_ahead(first, second, references)
        if not math.isclose(found, right, rel_tol=1e-6, abs_tol=1e-6):
            shown = f"For {list(first)} and {list(second)}"
            mistakes = [(share, words) for share, words in _share_slips(first, second, references)]
            plain = f"the share is {right:.4f}, you have {found:.4f}."
            raise Wrong(f"{shown}: {advised(found, mistakes, plain, abs_tol=1e-6)}")
    return "Both systems are scored on the same draws: that is the paired bootstrap."


def _bleu_of(words: Sequence[str], reference: Sequence[str]) -> float:
    text, wanted = " ".join(words), " ".join(reference)
    return corpus_bleu([text], [wanted], smoothing="none", tokenized=True).score


def _advice_on_order(found: list[str], words: list[str]) -> str:
    """What is wrong with an order, from the number of its breaks."""
    pairs = list(itertools.pairwise(words))
    breaks = sum(pair not in pairs for pair in itertools.pairwise(found))
    if breaks == 1:
        return "One break is the least. But where in the sentence does it spoil the fewest runs?"
    return f"The chain is broken in {breaks} places; one is enough for another order."


_SENTENCES = (
    "he hit me with pie",
    "people are fixing the roof of a house",
    "a man in an orange hat is looking at something",
)


def _random_model(d_model: int, n_layers: int, n_heads: int) -> Transformer:
    config = TransformerConfig(
        13,
        d_model=d_model,
        n_heads=n_heads,
        d_ff=3 * d_model,
        n_encoder_layers=1,
        n_decoder_layers=n_layers,
        dropout=0.0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(d_model)
        model = Transformer(config).double().eval().requires_grad_(False)
        for p in model.parameters():
            nn.init.normal_(p, std=0.4)
    return model


_DECODERS = (
    ((8, 1, 1), 5, 5, 4),
    ((12, 2, 3), 5, 5, 6),
    ((8, 3, 2), 7, 3, 1),
    ((20, 2, 4), 6, 2, 5),
)
"""Width, blocks and heads; rows of the context, those that are tokens, tokens of the target."""

_DECODER_SLIPS = {
    "future": "each place reads the future of the target. Where is the causal mask?",
    "filler": "the rows of the filler are read. Which columns may cross-attention not see?",
    "unscaled": "the rows of the table are not multiplied by the root of d_model.",
    "no places": "the position codes are missing.",
    "late places": "the position codes of the target begin at 0.",
    "deaf": "the source is not read. Where is cross-attention?",
    "cross first": "the target reads itself first, and then the source.",
    "causal cross": "the causal mask is for the target's own tokens, not for the source.",
}


@contextmanager
def _called(model: nn.Module) -> Iterator[list[str]]:
    """The names of the library's parts whose forward pass is called here, in their order."""
    called: list[str] = []
    parts = [part for part in model.modules() if type(part).__module__.startswith("softlookup")]
    hooks = [
        part.register_forward_pre_hook(lambda part, _: called.append(type(part).__name__))
        for part in parts
    ]
    try:
        yield called
    finally:
        for hook in hooks:
            hook.remove()


def _decoded(
    model: Transformer, target: Tensor, context: Tensor, length: int, slip: str = ""
) -> Tensor:
    """The scores of the library's blocks, or those of a known slip."""
    n_q, n_k, d_model = len(target), len(context), model.config.d_model
    scale = 1.0 if slip == "unscaled" else math.sqrt(d_model)
    x = scale * model.embedding.weight[target]
    if slip != "no places":
        start = int(slip == "late places")
        x = x + sinusoidal(n_q, d_model, start=start, dtype=torch.float64)
    past = torch.ones(n_q, n_q, dtype=torch.bool) if slip == "future" else causal_mask(n_q)
    read = (torch.arange(n_k) < (n_k if slip == "filler" else length)).expand(n_q, n_k)
    if slip == "causal cross":
        read = read & (torch.arange(n_k) <= torch.arange(n_q).unsqueeze(-1))
    for block in model.decoder:
        own = lambda x, block=block: block.self_attention(x, mask=past)  # noqa: E731
        other = lambda x, block=block: block.cross_attention(x, context, mask=read)  # noqa: E731
        for step in _order_of(own, other, slip):
            x = step(x)
        x = block.feed_forward(x)
    return x @ model.embedding.weight.T


def _order_of(own: Callable, other: Callable, slip: str) -> list[Callable]:
    if slip == "deaf":
        return [own]
    return [other, own] if slip == "cross first" else [own, other]


_SYSTEMS = (
    (
        ("he hit me with a pie", "the dog runs through the wet grass"),
        ("he hit me with the pie", "a dog runs through the wet grass"),
        ("he hit me with a pie", "a dog runs through the wet grass"),
    ),
    (
        ("a man in a red hat", "two girls read a big book", "a cat sleeps on the mat"),
        ("a man in an orange hat", "two girls read a book", "the cat sleeps on the warm mat"),
        ("a man in an orange hat", "two girls read a big book", "a cat sleeps on the mat"),
    ),
    (
        ("a b c d e f g h", "a b c d", "a b c d e", "h g f e d"),
        ("a b c d x f g h", "a b c d e", "a b c d e", "h g f e d c b a"),
        ("a b c d e f g h", "a b c d e", "a b c d e", "h g f e d c b"),
    ),
)


def _scores(texts: Sequence[str], references: Sequence[str], draw: Sequence[int]) -> float:
    return corpus_bleu([texts[k] for k in draw], [references[k] for k in draw]).score


def _share_ahead(first: Sequence[str], second: Sequence[str], references: Sequence[str]) -> float:
    draws = list(itertools.product(range(len(references)), repeat=len(references)))
    ahead = [_scores(first, references, draw) > _scores(second, references, draw) for draw in draws]
    return sum(ahead) / len(draws)


def _share_slips(
    first: Sequence[str], second: Sequence[str], references: Sequence[str]
) -> list[tuple[float, str]]:
    """Known wrong shares, with what to say about each."""
    n = len(references)
    draws = list(itertools.product(range(n), repeat=n))
    one = {draw: _scores(first, references, draw) for draw in draws}
    other = {draw: _scores(second, references, draw) for draw in draws}
    single = [[_scores(texts, references, [k]) for k in range(n)] for texts in (first, second)]
    means = [[sum(scores[k] for k in draw) for draw in draws] for scores in single]
    sets = list(itertools.combinations_with_replacement(range(n), n))
    apart = [one[a] > other[b] for a in draws for b in draws] if n < 4 else [False]
    return [
        (
            sum(one[d] >= other[d] for d in draws) / len(draws),
            "A draw in which both are equal is no win: strictly higher.",
        ),
        (
            sum(other[d] > one[d] for d in draws) / len(draws),
            "That is the share in which the second is ahead.",
        ),
        (
            sum(a > b for a, b in zip(*means, strict=True)) / len(draws),
            "Score the draw as one corpus. BLEU is no mean of texts.",
        ),
        (
            sum(one[d] > other[d] for d in sets) / len(sets),
            "These are sets of texts. The draws in order are more, and not each set is as likely.",
        ),
        (
            float(one[tuple(range(n))] > other[tuple(range(n))]),
            "That is who is ahead on the texts as they are. Draw with replacement.",
        ),
        (
            sum(apart) / len(apart),
            "Both systems must be scored on the same draw, not on a draw for each.",
        ),
        (100 * sum(one[d] > other[d] for d in draws) / len(draws), "A share is at most 1."),
        (float(sum(one[d] > other[d] for d in draws)), "That is how many draws. Which share?"),
    ]


_CANDIDATES = {
    "a man in a red shirt is playing the guitar on the street .": (
        "a man in a red shirt is playing the guitar",
        "a man in a red shirt is playing a guitar on a street .",
        "a man in a red shirt plays the guitar on the street .",
    ),
    "two dogs run through the snow .": (
        "two dogs run through the deep white snow .",
        "two dogs run in the snow .",
        "two dogs run through snow .",
    ),
    "a little girl sits on a wall and eats an apple .": (
        "a little girl sits on a wall",
        "a little girl sits on a wall and is eating a green apple .",
        "a girl sits on a wall and eats an apple .",
    ),
    "the children are playing football in the park .": (
        "the children are playing football",
        "the children are playing football in a big park .",
        "the children play football in the park near the lake .",
    ),
    "he opens the door .": (
        "he opens the door .",
        "he opens the door of the house .",
        "then he opens the door .",
    ),
}
_MAN, _DOGS, _GIRL, _CHILDREN, _DOOR = _CANDIDATES
_CHOICES = ((_DOGS, _DOOR), (_MAN, _DOGS, _CHILDREN), (_MAN, _DOGS, _GIRL, _CHILDREN))
"""Corpora in which the best of each text, taken together, are not the best."""


def _bleu_of_choice(
    choice: Sequence[int], candidates: list[list[str]], references: Sequence[str]
) -> float:
    written = [some[k] for k, some in zip(choice, candidates, strict=True)]
    return corpus_bleu(written, references).score


def _advice_on_choice(
    found: list[int], candidates: list[list[str]], references: Sequence[str]
) -> str:
    """What a known mistake would have chosen, if it is what the learner did."""

    def of(rate: Callable[[str, str], float]) -> list[int]:
        pairs = zip(candidates, references, strict=True)
        return [max(range(len(some)), key=lambda k: rate(some[k], text)) for some, text in pairs]

    def length(written: str) -> int:
        return len(written.split())

    slips = [
        (
            of(lambda written, text: corpus_bleu([written], [text]).score),
            "Yours are the best of each text by itself. But BLEU is no mean over the texts.",
        ),
        (
            of(lambda written, text: -abs(length(written) - length(text))),
            "Yours have the lengths of their references; but the penalty sees the sums alone.",
        ),
        (of(lambda written, _: length(written)), "Yours are the longest of each text."),
        (of(lambda written, _: -length(written)), "Yours are the shortest of each text."),
    ]
    return next((advice for slip, advice in slips if slip == found), "")
