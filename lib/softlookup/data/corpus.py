"""The bundled corpus: short messages, spam and ham, written for this book.

The file ``messages.tsv`` beside this module holds one message a line: class, kind and text,
separated by tabs, in a fixed mixed order. The data card in the book tells how it was made.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from softlookup.checks import require, require_choice, require_int

KINDS = (
    "family", "friends", "love", "work", "study", "health",
    "delivery", "bank", "shop", "money", "prize", "news",
)  # fmt: skip
CLASSES = ("ham", "spam")
LECTURE_SENTENCES = (
    "This is a sentence. This is another sentence.",
    "This is not a sentence. Yet another not a sentence",
)
"""The two documents of lecture 000, its x_1 and x_2, on which the book counts words."""


@dataclass(frozen=True)
class Message:
    """One short message with its label: the pair (x_i, y_i) of the spam task.

    Attributes:
        text: What was written, as one line.
        spam: True for spam (y = 1), False for ham (y = 0).
        kind: What the message is about or pretends to be about, one of ``KINDS``; every kind
            holds messages of both classes. Empty where a data set does not tell.

    Chapter: counting_words#the-corpus

    Example:
        >>> Message("Running late, start without me.", spam=False, kind="friends").spam
        False
    """

    text: str
    spam: bool
    kind: str = ""


def messages() -> list[Message]:
    """All messages of the bundled corpus, in the order of its file.

    Returns:
        A new list of messages, the same ones in the same order each time.

    Chapter: counting_words#the-corpus

    Example:
        >>> len(messages()) >= 100
        True
    """
    text = files("softlookup.data").joinpath("messages.tsv").read_text(encoding="utf-8")
    header, *lines = text.splitlines()
    require(header == "class\tkind\ttext", "messages.tsv must start with its header", header=header)
    return [_message(line) for line in lines]


def split(
    messages: Sequence[Message], *, test_every: int = 4
) -> tuple[list[Message], list[Message]]:
    """A fixed division into training and test messages, the same on every machine.

    Within each pair of class and kind the messages are counted in their order, and every
    ``test_every``-th goes to the test set. No chance is involved, so both parts hold the
    same mixture of classes and kinds, up to rounding.

    Args:
        messages: The messages to divide, in any fixed order.
        test_every: One message in this many becomes a test message; at least 2.

    Returns:
        The training messages and the test messages, each in the order given.

    Raises:
        ValueError: ``test_every`` is no integer or smaller than 2.

    Chapter: counting_words#the-corpus

    Example:
        >>> train, test = split([Message(word, spam=True) for word in "a b c d e".split()])
        >>> [message.text for message in test]
        ['d']
    """
    require_int(2, test_every=test_every)
    seen: defaultdict[tuple[bool, str], int] = defaultdict(int)
    train, test = [], []
    for message in messages:
        group = (message.spam, message.kind)
        seen[group] += 1
        (test if seen[group] % test_every == 0 else train).append(message)
    return train, test


def _message(line: str) -> Message:
    label, kind, text = line.split("\t")
    require_choice(CLASSES, label=label)
    require_choice(KINDS, kind=kind)
    return Message(text, spam=label == "spam", kind=kind)
