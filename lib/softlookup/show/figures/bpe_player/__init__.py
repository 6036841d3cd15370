"""The BPE player: byte-pair encoding, merge by merge, on a text that the reader edits."""

from collections.abc import Sequence

from softlookup.checks import require
from softlookup.show.interactive import Interactive

_MOST_CHARACTERS = 2_000
_MOST_MERGES = 2_000
_ALT = (
    "A text cut into tokens, byte by byte at first; each step joins the most frequent pair of "
    "neighbours, and a counter tells how many tokens are left."
)
_CAPTION = (
    "The BPE player. Press Step, or drag: the most frequent pair becomes one token. "
    "Then write a text of your own, in any script."
)
SENTENCE = "the best gradient descent method is still grad student descent"
"""The chapter's ten words."""

_EXAMPLES = (
    {
        "label": "Hello, y'all!",
        "text": "Hello, y'all! How are you 😁 ?",
        "mode": "trained",
        "hint": "The lecture's sentence. The smile is four bytes; nothing in the messages taught "
        "the tokenizer to join them. Drag to the left: which pieces fall apart last?",
    },
    {
        "label": "Four scripts",
        "text": "good morning صبح بخیر सुप्रभात おはよう",
        "mode": "trained",
        "hint": "English was in the messages; the others arrive in bytes. Compare the lengths.",
    },
    {
        "label": "aaaa",
        "text": "aaaa aaa aa a banana",
        "hint": "aaa holds a + a twice, but one join uses up the a in the middle: it counts once.",
    },
    {
        "label": "A protein",
        "text": "MKDELRGDAVDEADKLKDELWRGDTTDEADGSKDELRGDDEADMKDELHRGDPDEAD",
        "hint": "Three motifs are hidden in it. Step until you see them.",
    },
)


class BpePlayer(Interactive):
    """Byte-pair encoding on the reader's text, with a slider over the merges.

    In one mode the merges are learned from the text itself, until no pair comes twice. In the
    other they are those of a trained tokenizer, and the slider is the size of its vocabulary.

    Args:
        text: What the player starts with, at most 2,000 characters.
        merges: The merges of a trained tokenizer, at most 2,000 pairs of ids; without them there
            is no second mode.
        source: What those merges were learned from, "the messages".
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: ``text`` is no text or too long, a merge joins an id that does not yet exist,
            there are too many merges, ``source`` is missing; or as ``Interactive``.

    Source: lecture 004, "Subwords Selection". Chapter: tokenization#byte-pair-encoding.

    Example:
        >>> BpePlayer("to be or not to be").name
        'fig-bpe-player'
    """

    def __init__(
        self,
        text: str = SENTENCE,
        *,
        merges: Sequence[tuple[int, int]] = (),
        source: str = "",
        name: str = "fig-bpe-player",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        _require_text(text)
        _require_merges(merges, source)
        kept = [one for one in _EXAMPLES if merges or one.get("mode") != "trained"]
        chapter = text == SENTENCE
        first = {
            "label": "Ten words" if chapter else "The first text",
            "text": text,
            "hint": "The chapter's ten words. When does “ent” become a token, and why so early?"
            if chapter
            else "Edit the text; the first button brings it back.",
        }
        super().__init__(
            name=name,
            data={
                "examples": [first, *kept],
                "merges": [list(pair) for pair in merges],
                "source": source,
            },
            alt=alt,
            caption=caption,
        )


def _require_text(text: str) -> None:
    require(isinstance(text, str), "text must be a string", text=text)
    rule = f"text must have at most {_MOST_CHARACTERS} characters"
    require(len(text) <= _MOST_CHARACTERS, rule, characters=len(text))


def _require_merges(merges: Sequence[tuple[int, int]], source: str) -> None:
    rule = f"merges must be at most {_MOST_MERGES}"
    require(len(merges) <= _MOST_MERGES, rule, n_merges=len(merges))
    for m, pair in enumerate(merges):
        whole = len(pair) == 2 and all(isinstance(id_, int) for id_ in pair)
        rule = f"merge {m} must be two ids from 0 to {255 + m}"
        require(whole and all(0 <= id_ < 256 + m for id_ in pair), rule, pair=pair)
    named = isinstance(source, str) and bool(source.strip())
    require(named or not merges, "source must say what the merges were learned from", source=source)
