"""Data: the bundled messages, and loaders for public text that is fetched on request."""

from softlookup.data.corpus import CLASSES, KINDS, Message, messages, split

__all__ = ["CLASSES", "KINDS", "Message", "messages", "split"]
