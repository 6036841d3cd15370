"""Data: bundled messages, text that every Python has, and loaders for text that is fetched."""

from softlookup.data.agreement import AgreementSentence, agreement_sentences
from softlookup.data.chirps import CHIRP_KINDS, chirps
from softlookup.data.corpus import CLASSES, KINDS, LECTURE_SENTENCES, Message, messages, split
from softlookup.data.expressions import (
    arithmetic_expressions,
    bracket_depths,
    is_expression,
)
from softlookup.data.french import Pair, french_english, il_m_a_entarte
from softlookup.data.grammar import (
    GRAMMAR_ANALOGIES,
    GRAMMAR_SENSES,
    GRAMMAR_SYNONYMS,
    SenseExample,
    planted_senses,
    planted_sentences,
    planted_words,
)
from softlookup.data.karate import KARATE_EDGES, KARATE_INSTRUCTOR_SIDE, KARATE_PLACES
from softlookup.data.names import (
    NAME_PARTS,
    PERSON_OR_PLACE,
    TaggedSentence,
    tagged_sentences,
)
from softlookup.data.numbers import english_number, french_number
from softlookup.data.pictures import SCENE_WORDS, captioned_digits, planted_scenes
from softlookup.data.pretrained import PRETRAINED_FILE, pretrained_vectors
from softlookup.data.prose import book_prose, python_code
from softlookup.data.public import multi30k, sms_spam, tiny_shakespeare
from softlookup.data.sources import SOURCES, RemoteFile, Source
from softlookup.data.weights import PretrainedModel, load_pretrained, pretrained_at_hand

__all__ = [
    "CHIRP_KINDS",
    "CLASSES",
    "GRAMMAR_ANALOGIES",
    "GRAMMAR_SENSES",
    "GRAMMAR_SYNONYMS",
    "KARATE_EDGES",
    "KARATE_INSTRUCTOR_SIDE",
    "KARATE_PLACES",
    "KINDS",
    "LECTURE_SENTENCES",
    "NAME_PARTS",
    "PERSON_OR_PLACE",
    "PRETRAINED_FILE",
    "SCENE_WORDS",
    "SOURCES",
    "AgreementSentence",
    "Message",
    "Pair",
    "PretrainedModel",
    "RemoteFile",
    "SenseExample",
    "Source",
    "TaggedSentence",
    "agreement_sentences",
    "arithmetic_expressions",
    "book_prose",
    "bracket_depths",
    "captioned_digits",
    "chirps",
    "english_number",
    "french_english",
    "french_number",
    "il_m_a_entarte",
    "is_expression",
    "load_pretrained",
    "messages",
    "multi30k",
    "planted_scenes",
    "planted_senses",
    "planted_sentences",
    "planted_words",
    "pretrained_at_hand",
    "pretrained_vectors",
    "python_code",
    "sms_spam",
    "split",
    "tagged_sentences",
    "tiny_shakespeare",
]
