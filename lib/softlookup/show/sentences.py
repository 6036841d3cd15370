"""Sentences as figures: with their spans marked, or with what each reader takes from each word.

They are HTML, not drawings: the browser shapes every script, and lays out those that run from
right to left, as a drawing library would not.
"""

import html
from collections.abc import Sequence
from importlib.resources import files

from IPython.display import display
from jaxtyping import Float
from torch import Tensor

from softlookup.checks import require, require_choice
from softlookup.show.draw import ink_on, share_colour
from softlookup.show.figure import check_texts, figure_html
from softlookup.words import Span, conflicting_labels, spans_to_bio

DIRECTIONS = ("ltr", "rtl")
_HUES = ("blue", "orange", "green", "purple", "red", "sky")


def show_spans(
    tokens: Sequence[str], spans: Sequence[Span], *, alt: str, caption: str, name: str
) -> None:
    """Show a text with its spans marked, each with its label in words.

    A span whose name has two labels in this text is flagged, see ``conflicting_labels``. Colour
    only repeats what the label says.

    Args:
        tokens: The text; a token that begins with punctuation stands close to the one before it.
        spans: (start, end, label), without overlap.
        alt: The finding in words.
        caption: What stands below.
        name: The figure's name in links.

    Raises:
        ValueError: As ``show_figure``; or the spans do not fit the text, or overlap.
    """
    check_texts(alt, caption, name)
    spans_to_bio(spans, len(tokens))  # refuses spans that do not fit
    conflicts = conflicting_labels(tokens, spans)
    labels = list(dict.fromkeys(label for *_, label in sorted(spans)))
    hues = {label: _HUES[k % len(_HUES)] for k, label in enumerate(labels)}
    pieces, plain, place = [], [], 0
    for start, end, label in sorted(spans):
        pieces += map(html.escape, tokens[place:start])
        clash = any(" ".join(tokens[i:end]) in conflicts for i in range(start, end))
        pieces.append(_marked(" ".join(tokens[start:end]), label, hues[label], clash))
        plain.append(f"{' '.join(tokens[start:end])} [{label}]{' two labels!' * clash}")
        place = end
    pieces += map(html.escape, tokens[place:])
    text = "".join(
        " " * (k > 0 and piece[0] not in ".,;:!?’”)") + piece for k, piece in enumerate(pieces)
    )
    _show(f'<p class="ss-text">{text}</p>', "; ".join(plain), alt, caption, name)


def show_readings(
    words: Sequence[str],
    weights: Float[Tensor, "readers n"],
    readers: Sequence[int],
    *,
    alt: str,
    caption: str,
    name: str,
    glosses: Sequence[str] = (),
    unread: Sequence[int] = (),
    titles: Sequence[str] = (),
    lang: str = "en",
    direction: str = "ltr",
) -> None:
    """Show how much some words of a sentence take from each of its words, one line for each reader.

    Each line is the whole sentence, and breaks as a sentence does where the page is narrow. The
    number below a word says how much is taken from it, on the colour of that share in all figures.

    Args:
        words: The sentence, in logical order: word 0 is read first, whatever the direction.
        weights: One row for each reader, numbers from 0 to 1.
        readers: The place of each row's reader among the words.
        alt: The finding in words.
        caption: What stands below.
        name: The figure's name in links.
        glosses: What each word means, in English; left out where the sentence is English.
        unread: Places of words that nobody may read; no number stands below them.
        titles: What tells the lines apart, one a reader ("head 0"); left out where the readers do.
        lang: The words' language, as BCP 47 names it: "fa" is Persian.
        direction: "rtl" lays the sentence out from right to left.

    Raises:
        ValueError: As ``show_figure``; or sizes, places or numbers do not fit.

    Source: lecture 003, "Contextualized Word Embeddings".
    Chapter: static_vectors#optional-three-meanings.
    """
    check_texts(alt, caption, name)
    meanings = glosses or words
    _require_readings(words, weights, readers, meanings)
    require_choice(DIRECTIONS, direction=direction)
    rule = "there must be one title for each reader, or none"
    require(len(titles) in (0, len(readers)), rule, readers=len(readers), titles=len(titles))
    blocks, plain = [], [" ".join(meanings)]
    heads = [f"{title}: " for title in titles] or [""] * len(readers)
    for head, reader, row in zip(heads, readers, weights.detach().tolist(), strict=True):
        chips = [
            _chip(
                words[j],
                [*glosses][j : j + 1],
                "" if j in unread else _number(value),
                lang,
                j == reader,
            )
            for j, value in enumerate(row)
        ]
        who = f"{html.escape(head)}{_isolated(words[reader], lang)}, word {reader}, reads"
        blocks.append(
            f'<p class="ss-who">{who}</p><ol class="ss-row" dir="{direction}">{"".join(chips)}</ol>'
        )
        read = [f"{value:.2f}" for j, value in enumerate(row) if j not in unread]
        plain.append(f"{head}{meanings[reader]}: {' '.join(read)}")
    _show("".join(blocks), "\n".join(plain), alt, caption, name)


def _marked(text: str, label: str, hue: str, clash: bool) -> str:
    flag = ' <span class="ss-flag">two labels</span>' if clash else ""
    return (
        f'<mark class="ss-span ss-{hue}">{html.escape(text)} '
        f'<span class="ss-label">{html.escape(label)}</span>{flag}</mark>'
    )


def _isolated(text: str, lang: str) -> str:
    return f'<bdi lang="{html.escape(lang)}">{html.escape(text)}</bdi>'


def _number(weight: float) -> str:
    colour = share_colour(weight)
    paint = f"background: {colour}; color: {ink_on(colour)}"
    return f'<span class="ss-number" dir="ltr" style="{paint}">{weight:.2f}</span>'


def _chip(word: str, gloss: Sequence[str], number: str, lang: str, own: bool) -> str:
    kind = "ss-word ss-own" if own else "ss-word"
    meaning = "".join(f'<small lang="en" dir="ltr">{html.escape(text)}</small>' for text in gloss)
    return f'<li class="{kind}">{_isolated(word, lang)}{meaning}{number}</li>'


def _show(body: str, plain: str, alt: str, caption: str, name: str) -> None:
    style = (files("softlookup.show") / "sentences.css").read_text(encoding="utf-8")
    group = f'<div class="sl-body ss-body" role="group" aria-label="{html.escape(alt)}">'
    picture = f"<style>{style}</style>\n{group}{body}</div>"
    page = figure_html(picture, caption=caption, name=name, kind="sl-sentence")
    display({"text/html": page, "text/plain": f"Figure: {alt}\n{plain}"}, raw=True)


def _require_readings(
    words: Sequence[str], weights: Tensor, readers: Sequence[int], glosses: Sequence[str]
) -> None:
    rule = "there must be one gloss for each word"
    require(len(glosses) == len(words), rule, words=len(words), glosses=len(glosses))
    fits = weights.shape == (len(readers), len(words))
    rule = "weights must have one row for each reader and one column for each word"
    require(fits, rule, weights=weights, readers=len(readers), words=len(words))
    inside = all(0 <= reader < len(words) for reader in readers)
    require(inside, "readers must be places of words", readers=list(readers), words=len(words))
    shares = bool(((weights >= 0) & (weights <= 1)).all())  # NaN is neither
    require(shares, "weights must be numbers from 0 to 1", weights=weights.tolist())
