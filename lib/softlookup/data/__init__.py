"""Data: the bundled messages, and loaders for public text that is fetched on request."""

from softlookup.data.corpus import CLASSES, KINDS, Message, messages, split
from softlookup.data.grammar import (
    GRAMMAR_ANALOGIES,
    GRAMMAR_SENSES,
    GRAMMAR_SYNONYMS,
    SenseExample,
    planted_senses,
    planted_sentences,
    planted_words,
)
from softlookup.data.public import multi30k, sms_spam, tiny_shakespeare
from softlookup.data.sources import SOURCES, RemoteFile, Source

__all__ = [
    "CLASSES",
    "GRAMMAR_ANALOGIES",
    "GRAMMAR_SENSES",
    "GRAMMAR_SYNONYMS",
    "KINDS",
    "SOURCES",
    "Message",
    "RemoteFile",
    "SenseExample",
    "Source",
    "messages",
    "multi30k",
    "planted_senses",
    "planted_sentences",
    "planted_words",
    "sms_spam",
    "split",
    "tiny_shakespeare",
]
