"""The next words: a beginning to type, and what every model thinks of each word that may follow."""

from collections.abc import Sequence

from torch import nn

from softlookup.checks import require
from softlookup.language_models import FeedForwardLM, KneserNey, NGramModel, RecurrentLM
from softlookup.show.interactive import Interactive
from softlookup.show.numbers import plain

_MOST_WORDS, _MOST_TEXTS, _LONGEST = 60, 400, 30
_DISCOUNT = 0.75
_ALT = (
    "A line of text to continue; six models beside one another, each with bars for the words that "
    "it thinks most probable next, and a button that draws one."
)
_CAPTION = (
    "The same beginning, six opinions. All bars have one scale, whose end is the largest "
    "probability on show. Draw words, and each is fed back. Where a model has never seen the last "
    "words, it says so."
)


class NextWords(Interactive):
    """Next-word probabilities of four models that count and of two small networks.

    The counts are taken in the page, from the texts; the networks' weights are handed to it.

    Args:
        texts: The words of each text that was read: at most 400 texts of at most 30 words, of at
            most 60 different words.
        window: A window of vectors of the same words, trained on the same texts, without direct
            connections.
        state: A recurrent model of the same words, trained on the same texts.
        prefix: How the line begins.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: There are too many texts or words, a network knows other words, the prefix
            holds a word that is not among them; or as ``Interactive``.

    Source: lecture 001, "Neural Language Models".
    Chapter: generalization#optional-six-opinions.

    Example:
        >>> texts = [["the", "dog", "barks"]]
        >>> window = FeedForwardLM(["barks", "dog", "the"], n=3, d_model=2, d_hidden=3)
        >>> state = RecurrentLM(["barks", "dog", "the"], d_model=2, d_hidden=3)
        >>> NextWords(texts, window, state, ["the"]).name
        'fig-next-words'
    """

    def __init__(
        self,
        texts: Sequence[Sequence[str]],
        window: FeedForwardLM,
        state: RecurrentLM,
        prefix: Sequence[str] = (),
        *,
        name: str = "fig-next-words",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        models = counting_models(texts)
        words = next(iter(models.values())).words
        few = len(texts) <= _MOST_TEXTS and max(map(len, texts)) <= _LONGEST
        rule = f"texts must be at most {_MOST_TEXTS}, each of at most {_LONGEST} words"
        require(few, rule, n_texts=len(texts), longest=max(map(len, texts)))
        most = len(words) - 1
        rule = f"texts must have at most {_MOST_WORDS} different words"
        require(most <= _MOST_WORDS, rule, n_words=most)
        same = window.words == state.words == words
        rule = "window and state must know just the words of the texts"
        sizes = {"n_words": len(words), "window": len(window.words), "state": len(state.words)}
        require(same, rule, **sizes)
        rule = "window must have no direct connections"
        require(window.direct is None, rule, direct=window.direct)
        data = {
            "texts": [window.ids(text) for text in texts],
            "words": words,
            "prefix": " ".join(window.vocabulary.decode(window.ids(prefix))),
            "discount": _DISCOUNT,
            "window": _weights(window),
            "n": window.n,
            "state": _weights(state),
        }
        super().__init__(
            name=name,
            data=data,
            alt=alt,
            caption=caption,
        )


def _weights(network: nn.Module) -> dict[str, list]:
    return {key: plain(part) for key, part in network.named_parameters()}


def counting_models(texts: Sequence[Sequence[str]]) -> dict[str, NGramModel]:
    """The figure's models that count, by name: what the page computes, computed by the library."""
    return {
        "unigram": NGramModel(texts, 1),
        "bigram": NGramModel(texts, 2),
        "trigram": NGramModel(texts, 3),
        "trigram, Kneser-Ney": KneserNey(texts, 3, discount=_DISCOUNT),
    }
