"""The window's reach: a sentence that grows phrase by phrase, and what a window of words sees."""

from collections.abc import Sequence

from softlookup.checks import require
from softlookup.show.interactive import Interactive

_FEWEST, _MOST = 1, 12
_SMALLEST, _LARGEST = 2, 12
_ALT = (
    "A sentence with more or fewer phrases between its subject and its verb. One slider sets the "
    "number of phrases, the other how many words an n-gram has; the words in the window are marked."
)
_CAPTION = (
    "Move the phrases in between, and then n. The underlined words stand in the window before the "
    "verb; the pale ones are outside it. The subject decides about the verb."
)


class WindowReach(Interactive):
    """Which words of a sentence a window of n - 1 words holds when the model must choose the verb.

    Args:
        subject: The subject; before it stands *the*.
        phrases: 1 to 12 phrases, each a list of words, in the order in which they are put in.
        verb: The last word, which the model must choose.
        n_phrases: How many phrases stand there at the beginning.
        n: How many words an n-gram has at the beginning, the predicted one included; 2 to 12.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: A word is missing, there are too few or too many phrases, ``n_phrases`` is more
            than there are, ``n`` is out of range; or as ``Interactive``.

    Source: lecture 001, "Evolution: From Statistical to Neural Language Models".
    Chapter: generalization#how-far-does-a-window-reach.

    Example:
        >>> WindowReach("dogs", [["near", "the", "tree"]], "wait", n_phrases=1, n=5).name
        'fig-window-reach'
    """

    def __init__(
        self,
        subject: str,
        phrases: Sequence[Sequence[str]],
        verb: str,
        *,
        n_phrases: int,
        n: int,
        name: str = "fig-window-reach",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        rule = f"phrases must be {_FEWEST} to {_MOST} lists of words"
        are_lists = all(not isinstance(phrase, str) and phrase for phrase in phrases)
        require(_FEWEST <= len(phrases) <= _MOST and are_lists, rule, phrases=phrases)
        words = [subject, verb, *(word for phrase in phrases for word in phrase)]
        are_words = all(isinstance(word, str) and word.strip() for word in words)
        require(are_words, "subject, verb and phrases must be words", got=words)
        rule = "n_phrases must be at least 0, and not more than there are phrases"
        require(0 <= n_phrases <= len(phrases), rule, n_phrases=n_phrases, phrases=len(phrases))
        rule = f"n must be {_SMALLEST} to {_LARGEST}"
        require(_SMALLEST <= n <= _LARGEST, rule, n=n)
        data = {
            "subject": subject,
            "phrases": [list(phrase) for phrase in phrases],
            "verb": verb,
            "start": n_phrases,
            "n": n,
            "sizes": [_SMALLEST, _LARGEST],
        }
        super().__init__(name=name, data=data, alt=alt, caption=caption)
