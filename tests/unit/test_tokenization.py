"""The one door to all tokenizers opens on the very things that the modules define."""

import importlib

from softlookup import tokenization


def test_each_name_is_that_of_its_module():
    modules = (
        "byte_pairs",
        "merges",
        "patches",
        "segmentation",
        "splitting",
        "unigram",
        "wordpiece",
    )
    found = {}
    for name in modules:
        module = importlib.import_module(f"softlookup.tokenization.{name}")
        found |= {key: thing for key, thing in vars(module).items() if not key.startswith("_")}
    for name in tokenization.__all__:
        assert getattr(tokenization, name) is found[name]


def test_every_tokenizer_keeps_words_and_single_spaces():
    text = "a tokenizer takes a text and a text comes back"
    for kind in (
        tokenization.BytePairTokenizer,
        tokenization.WordPieceTokenizer,
        tokenization.UnigramTokenizer,
    ):
        tokenizer = kind.train([text], 300)
        assert tokenizer.decode(tokenizer.encode(text)) == text
        assert len(tokenizer.encode(text)) < len(text)
