"""Data: the bundled messages, and loaders for public text that is fetched on request."""

from softlookup.data.corpus import CLASSES, KINDS, Message, messages, split
from softlookup.data.public import multi30k, sms_spam, tiny_shakespeare
from softlookup.data.sources import SOURCES, RemoteFile, Source

__all__ = [
    "CLASSES",
    "KINDS",
    "SOURCES",
    "Message",
    "RemoteFile",
    "Source",
    "messages",
    "multi30k",
    "sms_spam",
    "split",
    "tiny_shakespeare",
]
