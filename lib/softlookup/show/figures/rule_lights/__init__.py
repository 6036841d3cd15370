"""The rule lights: the reader's own message, three rules, and what each of them found."""

from softlookup.checks import require
from softlookup.data import messages, split
from softlookup.show.interactive import Interactive
from softlookup.words import MONEY, medicine_pattern

PRINTED_MEDICINES = ("Acetylcysteine", "Apixaban", "...")
"""The list of names on the slide, placeholder included."""

PRINTED_MONEY = r"([Mm]ake)\s+([\w]+\s+|\$\d+\s+((per|for|a)\s+(week|day|year)))"
"""The pattern on the slide."""

_LONGEST = 2000
_START = "Hi! Make $1,000 every week with cheap viagra"
_EXAMPLES = (
    {"label": "A promise", "text": "Hi! Make $500 per week"},
    {"label": "Class", "text": "Make sure you attend class"},
    {"label": "Dots", "text": "See you tomorrow... maybe"},
    {"label": "Digits", "text": "12345"},
    {"label": "A shout", "text": "HAPPY BIRTHDAY, take your APIXABAN"},
    {"label": "Disguise", "text": "M4ke 500 every week with v1agra"},
)
_ALT = (
    "A message to write, three lamps for the rules medicine, capitals and money, and switches "
    "between the rules as printed and repaired; what a rule found is underlined."
)
_CAPTION = (
    "The rule lights. Write a message, and see which rules fire and on what. As printed, the "
    "filter has “in” for its “.contains”, or it would not run at all."
)


class RuleLights(Interactive):
    """The three rules of the spam filter, on what the reader writes.

    Args:
        text: The message that it starts with, of at most 2,000 characters.
        name: The figure's name in links.
        alt: What the figure shows, for who cannot see it.
        caption: What stands below it.

    Raises:
        ValueError: ``text`` is no string or too long, or as ``Interactive``.

    Source: lecture 000, "Heuristics". Chapter: tasks#optional-try-it-yourself.

    Example:
        >>> RuleLights("Make 90 a day").name
        'fig-rule-lights'
    """

    def __init__(
        self,
        text: str = _START,
        *,
        name: str = "fig-rule-lights",
        alt: str = _ALT,
        caption: str = _CAPTION,
    ) -> None:
        require(isinstance(text, str), "text must be a string", text=text)
        rule = f"text must have at most {_LONGEST} characters"
        require(len(text) <= _LONGEST, rule, characters=len(text))
        train = split(messages())[0]
        patterns = {
            "repaired": {"medicine": medicine_pattern(), "money": MONEY},
            "printed": {"medicines": PRINTED_MEDICINES, "money": PRINTED_MONEY},
        }
        super().__init__(
            name=name,
            data={
                "text": text,
                "examples": _EXAMPLES,
                "patterns": patterns,
                "messages": [[message.text, message.spam] for message in train],
            },
            alt=alt,
            caption=caption,
        )
