"""The mask player: gaps to fill and texts to shift, with the chances of BERT's recipe."""

from collections.abc import Sequence

from softlookup.checks import require, require_int, require_text, require_tokens
from softlookup.show.interactive import Interactive

_MOST_WORDS, _MOST_OTHERS = 24, 400
_ALT = (
    "A text as a row of cards. In one task some words are hidden, replaced or kept, and only they "
    "must be guessed; in the other each word must say the one after it, and a count tells when the "
    "answers stand in plain sight."
)
_CAPTION = (
    "Two ways to learn from bare text. Each card: what the model reads, and what it should say. "
    "Press a word to see which others it may read."
)


class MaskPlayer(Interactive):
    """A text under the two objectives: gaps as ``mask_tokens`` makes them, and the shift by one.

    Args:
        text: The text at first: 2 to 24 words with spaces between.
        others: Words that may stand in for another.
        share: The probability that a word is chosen, in whole per cent as the slider has it.
        hidden: Of the chosen, the share that is hidden.
        replaced: Of the chosen, the share that is replaced; what is left over is kept.
        mask: What hides a word.
        seed: Where the chances begin.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: The text has too few or too many words, a word is blank, a share is not from 0
            to 1, two of them sum to more, ``seed`` is negative, or as ``Interactive``.

    Source: Devlin et al. 2019, section 3.1; lecture 000, "How to train a Transformer".
    Chapter: objectives#two-games.

    Example:
        >>> MaskPlayer("to be or not", ["be", "not", "or", "to"]).name
        'fig-mask-player'
    """

    def __init__(
        self,
        text: str,
        others: Sequence[str],
        *,
        share: float = 0.15,
        hidden: float = 0.8,
        replaced: float = 0.1,
        mask: str = "[MASK]",
        seed: int = 1,
        name: str = "fig-mask-player",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        require_text(text=text, mask=mask)
        require_tokens(others=others)
        n_words = len(text.split())
        rule = f"text must have 2 to {_MOST_WORDS} words"
        require(2 <= n_words <= _MOST_WORDS, rule, n_words=n_words)
        few = 1 <= len(others) <= _MOST_OTHERS
        require(few, f"others must be 1 to {_MOST_OTHERS} words", n_others=len(others))
        require(all(word.strip() for word in [*others, mask]), "a word must not be blank")
        shares = {"share": share, "hidden": hidden, "replaced": replaced}
        for key, value in shares.items():
            require(0 <= value <= 1, f"{key} must be from 0 to 1", **{key: value})
        rule = "hidden and replaced must sum to at most 1"
        require(hidden + replaced <= 1 + 1e-9, rule, hidden=hidden, replaced=replaced)
        require_int(0, seed=seed)
        data = {"text": " ".join(text.split()), "vocabulary": list(others), "mask": mask}
        super().__init__(
            name=name,
            data={**data, **shares, "seed": seed},
            alt=alt,
            caption=caption,
        )
