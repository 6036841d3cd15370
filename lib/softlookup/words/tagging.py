"""One label for each token: spans and BIO tags, window features, scores, labels that clash."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from softlookup.checks import Count, checked, require

Span = tuple[Count, Count, str]
"""A slice of tokens and its label: (start, end, label), the end not included."""

Stray = Literal["refuse", "begin", "drop"]
STRAY = get_args(Stray)
"""What ``bio_to_spans`` can do with an I- tag that continues nothing."""


class SpanScores(NamedTuple):
    """Precision, recall and their harmonic mean, F1; see ``span_scores`` and ``token_scores``.

    Source: van Rijsbergen 1979, chapter 7. Chapter: static_vectors#held-out-names.
    """

    precision: float
    recall: float
    f1: float


@checked
def spans_to_bio(spans: Sequence[Span], n_tokens: Count) -> list[str]:
    """One tag for each token: B-label where a span begins, I-label inside it, O outside all spans.

    Args:
        spans: (start, end, label) with 0 <= start < end <= ``n_tokens``, in any order.
        n_tokens: How many tokens the text has.

    Returns:
        ``n_tokens`` tags; ``bio_to_spans`` gives the spans back, sorted by their start.

    Raises:
        ValueError: A span is empty or not within the text, two spans share a token, or a label is
            no text or blank.

    Source: Ramshaw and Marcus 1995; Tjong Kim Sang and De Meulder 2003, section 2; lecture 000,
    "Token classification". Chapter: static_vectors#spans-and-tags.

    Example:
        >>> spans_to_bio([(1, 3, "PERSON")], 4)
        ['O', 'B-PERSON', 'I-PERSON', 'O']
    """
    tags = ["O"] * n_tokens
    for span in spans:
        start, end, label = _within(n_tokens, span)
        free = all(tag == "O" for tag in tags[start:end])
        require(free, "a token can have one tag, so spans must not overlap", span=span)
        tags[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return tags


@checked
def bio_to_spans(tags: Sequence[str], *, stray: Stray = "refuse") -> list[Span]:
    """The spans that BIO tags spell out.

    A span begins at a B- tag. It goes on while I- tags *of the same label* follow, and ends before
    anything else. An I- tag that continues no span is a stray: after O, at the start, or after
    another label. A person makes none; a tagger that decides token by token can.

    Args:
        tags: One tag for each token: O, or B- or I- and a label.
        stray: "refuse" raises an error; "begin" reads a stray I- as B-, as the scorer of the CoNLL
            shared tasks does; "drop" reads it as O, and so all the I- tags that follow it.

    Returns:
        Spans (start, end, label), sorted, without overlap.

    Raises:
        ValueError: A tag is none of these forms, ``stray`` is unknown, or it is "refuse" and there
            is a stray tag.

    Source: Tjong Kim Sang and De Meulder 2003, section 2. Chapter: static_vectors#spans-and-tags.

    Example:
        >>> bio_to_spans(["B-ORG", "I-ORG", "O", "B-PLACE"])
        [(0, 2, 'ORG'), (3, 4, 'PLACE')]
        >>> bio_to_spans(["O", "I-ORG", "I-ORG"], stray="begin")
        [(1, 3, 'ORG')]
    """
    spans: list[Span] = []
    goes_on = None  # the label of the span that the token before belongs to
    for i, tag in enumerate(tags):
        prefix, label = _parts(tag, i)
        if prefix == "I" and label != goes_on:
            rule = "an I- tag must follow a B- or I- tag of the same label"
            require(stray != "refuse", rule, **{f"tags[{i}]": tag, "before": tags[max(i - 1, 0)]})
            prefix = "B" if stray == "begin" else "O"
        if prefix == "B":
            spans.append((i, i + 1, label))
        elif prefix == "I":
            spans[-1] = (spans[-1][0], i + 1, label)
        goes_on = None if prefix == "O" else label
    return spans


@checked
def window_features(vectors: Float[Tensor, "n d"], width: Count) -> Float[Tensor, "n wide"]:
    """Each token's vector with those of its neighbours, side by side; zeros beyond the edges.

    Args:
        vectors: One row for each token.
        width: How many neighbours to each side, at least 0.

    Returns:
        Rows of length (2 ``width`` + 1) d: the token ``width`` places before, ..., the token
        itself, ..., the token ``width`` places after.

    Raises:
        ValueError: ``vectors`` is no matrix of floating-point numbers, or ``width`` is no integer
            of at least 0.

    Source: Collobert et al. 2011, section 3.2; lecture 000, "Token classification".
    Chapter: static_vectors#a-tagger-on-word-vectors.

    Example:
        >>> window_features(torch.tensor([[1.0], [2.0], [3.0]]), 1)
        tensor([[0., 1., 2.],
                [1., 2., 3.],
                [2., 3., 0.]])
    """
    padded = F.pad(vectors, (0, 0, width, width))
    return torch.cat([padded[k : k + len(vectors)] for k in range(2 * width + 1)], dim=1)


@checked
def span_scores(truth: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]) -> SpanScores:
    """How many spans are found, with both edges and the label exactly right.

    Half a name is a miss and a false alarm. Counts are added over all texts before dividing.

    Args:
        truth: For each text, its spans.
        predicted: For each text, the spans that were found; in the same order.

    Returns:
        Precision, recall and F1, from 0 to 1; 0.0 where there is nothing to divide by, as in
        ``softlookup.words.metrics``.

    Raises:
        ValueError: There are not as many texts on both sides, or a span is malformed or repeated.

    Source: Tjong Kim Sang and De Meulder 2003, section 2. Chapter: static_vectors#held-out-names.

    Example:
        >>> span_scores([[(0, 2, "ORG"), (3, 4, "PLACE")]], [[(0, 1, "ORG"), (3, 4, "PLACE")]])
        SpanScores(precision=0.5, recall=0.5, f1=0.5)
    """
    _require_pairs(truth, predicted)
    texts = zip(map(_span_set, truth), map(_span_set, predicted), strict=True)
    hits = sum(len(wanted & found) for wanted, found in texts)
    return _scores(hits, sum(map(len, predicted)), sum(map(len, truth)))


@checked
def token_scores(truth: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> SpanScores:
    """How many tokens with a tag other than O get exactly that tag.

    Most tokens are O, and are not counted: whoever answers O throughout scores 0, not 0.8.

    Args:
        truth: For each text, one tag for each token.
        predicted: For each text, one tag for each token.

    Returns:
        Precision, recall and F1, from 0 to 1; 0.0 where there is nothing to divide by.

    Raises:
        ValueError: There are not as many texts or tokens on both sides, or a tag is malformed.

    Source: lecture 000, "Token classification". Chapter: static_vectors#held-out-names.

    Example:
        >>> token_scores([["B-ORG", "I-ORG", "O", "O"]], [["B-ORG", "O", "B-ORG", "O"]])
        SpanScores(precision=0.5, recall=0.5, f1=0.5)
    """
    _require_pairs(truth, predicted)
    pairs = []
    for wanted, found in zip(truth, predicted, strict=True):
        same = len(wanted) == len(found)
        rule = "a text must have as many tags on both sides"
        require(same, rule, truth=len(wanted), predicted=len(found))
        for i, pair in enumerate(zip(wanted, found, strict=True)):
            _parts(pair[0], i)
            _parts(pair[1], i)
            pairs.append(pair)
    hits = sum(wanted == found != "O" for wanted, found in pairs)
    return _scores(hits, sum(f != "O" for _, f in pairs), sum(w != "O" for w, _ in pairs))


@checked
def conflicting_labels(tokens: Sequence[str], spans: Sequence[Span]) -> dict[str, list[str]]:
    """Names that one text labels in two ways, a surname alone being the same as the full name.

    A span carries a name if its last tokens are that name: "Sebastian Thrun" carries "Thrun". What
    is listed is for a person to look at: one name can well have two bearers.

    Args:
        tokens: The text.
        spans: (start, end, label), within the text.

    Returns:
        For each such name its labels, both in order of appearance. A name comes here only if it
        is a whole span somewhere.

    Raises:
        ValueError: A span is empty, not within the text, or its label is no text or blank.

    Source: lecture 000, "Token classification". Chapter: static_vectors#spans-and-tags.

    Example:
        >>> conflicting_labels(["Ada", "Low", "met", "Low"], [(0, 2, "PERSON"), (3, 4, "PLACE")])
        {'Low': ['PERSON', 'PLACE']}
    """
    names = []
    for span in sorted(spans):
        start, end, label = _within(len(tokens), span)
        names.append((tuple(tokens[start:end]), label))
    found = {}
    for name, _ in names:
        labels = [label for other, label in names if other[-len(name) :] == name]
        if len(set(labels)) > 1:
            found[" ".join(name)] = list(dict.fromkeys(labels))
    return found


def _parts(tag: str, i: int) -> tuple[str, str]:
    prefix, dash, label = tag.partition("-")
    fits = tag == "O" or (prefix in ("B", "I") and dash == "-" and bool(label.strip()))
    require(fits, "a tag must be O, or B- or I- and a label", **{f"tags[{i}]": tag})
    return prefix, label


def _checked_span(span: Span) -> Span:
    start, end, label = span
    require(start < end, "a span must hold at least one token: start < end", span=span)
    require(bool(label.strip()), "a label must be a text that is not blank", span=span)
    return span


def _within(n_tokens: int, span: Span) -> Span:
    _checked_span(span)
    require(span[1] <= n_tokens, "span must end within the text", span=span, n_tokens=n_tokens)
    return span


def _span_set(spans: Sequence[Span]) -> set[Span]:
    checked = [_checked_span(span) for span in spans]
    require(len(set(checked)) == len(checked), "a text's spans must be distinct", spans=checked)
    return set(checked)


def _require_pairs(truth: Sequence, predicted: Sequence) -> None:
    same = len(truth) == len(predicted)
    rule = "truth and predicted must have one entry for each text"
    require(same, rule, truth=len(truth), predicted=len(predicted))


def _scores(hits: int, n_predicted: int, n_true: int) -> SpanScores:
    precision, recall = _ratio(hits, n_predicted), _ratio(hits, n_true)
    return SpanScores(precision, recall, _ratio(2 * hits, n_predicted + n_true))


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
