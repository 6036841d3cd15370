"""transformers' own GPT-2 and BERT, small and randomly initialised, read by our loaders."""

import hashlib
import json
import random
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import save_file
from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from torch.testing import assert_close

from softlookup.data import SOURCES, book_prose, load_pretrained, weights
from softlookup.language_models import greedy
from softlookup.models import BERTConfig, GPTConfig
from softlookup.models.pretrained import (
    BERTTokenizer,
    GPT2Tokenizer,
    fill_gap,
    load_bert,
    load_gpt2,
    write_on,
)
from softlookup.models.pretrained.bert_tokenizer import bert_words

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
LENGTHS = [11, 4, 7]
GPT2 = {"vocab_size": 17, "n_embd": 10, "n_head": 5, "n_layer": 3, "n_positions": 13}
BERT = {
    "vocab_size": 17,
    "hidden_size": 10,
    "num_attention_heads": 5,
    "num_hidden_layers": 3,
    "intermediate_size": 7,
    "max_position_embeddings": 13,
    "type_vocab_size": 3,
}


@pytest.fixture(autouse=True)
def _quiet():
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()


def randomised(model, generator):
    """Every parameter is a random number: biases of 0 and gains of 1 would hide each other."""
    with torch.no_grad():
        for parameter in model.parameters():
            numbers = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(numbers / parameter.shape[-1] ** 0.5)
    return model.eval()


def gpt2(generator, kind=transformers.GPT2LMHeadModel, **options):
    config = transformers.GPT2Config(**GPT2, bos_token_id=0, eos_token_id=0, **options)
    return randomised(kind(config), generator)


def bert(generator, kind=transformers.BertForMaskedLM, **options):
    return randomised(kind(transformers.BertConfig(**BERT, **options)), generator)


@pytest.fixture
def ids(generator):
    return torch.randint(17, (3, 11), generator=generator)


# GPT-2


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_inner": 7},
        {"activation_function": "gelu"},
        {"activation_function": "relu", "layer_norm_epsilon": 0.1},
        {"tie_word_embeddings": False},
    ],
    ids=lambda options: ",".join(options) or "as published",
)
def test_a_saved_gpt2_gives_the_same_logits(generator, tmp_path, ids, options):
    theirs = gpt2(generator, **options)
    theirs.save_pretrained(tmp_path)
    ours = load_gpt2(tmp_path)
    with torch.no_grad():
        expected = theirs(ids).logits
        assert expected.std() > 0.1
        assert_close(ours(ids), expected, **CLOSE)
        assert_close(load_gpt2(tmp_path / "model.safetensors")(ids), expected, **CLOSE)
    assert ours.config.tie == theirs.config.tie_word_embeddings
    assert sum(p.numel() for p in ours.parameters()) == theirs.num_parameters()


def test_in_float64_they_agree_to_the_last_digits(generator, ids):
    theirs = gpt2(generator).double()
    config = GPTConfig(17, 13, 10, 5, 3, activation="gelu_tanh")
    ours = load_gpt2(theirs.state_dict(), config)
    assert {p.dtype for p in ours.parameters()} == {torch.float64}
    with torch.no_grad():
        assert_close(ours(ids), theirs(ids).logits, rtol=1e-12, atol=1e-12)


def test_a_body_without_its_head_has_other_names(generator, ids, tmp_path):
    """GPT2Model writes "h.0...", not "transformer.h.0..."."""
    body = gpt2(generator, transformers.GPT2Model)
    assert "wte.weight" in body.state_dict()
    body.save_pretrained(tmp_path)
    with torch.no_grad():
        expected = body(ids).last_hidden_state @ body.wte.weight.mT
        assert_close(load_gpt2(tmp_path)(ids), expected, **CLOSE)


def test_greedy_texts_are_the_same(generator, ids):
    theirs = gpt2(generator)
    ours = load_gpt2(theirs.state_dict(), GPTConfig(17, 13, 10, 5, 3, activation="gelu_tanh"))
    prompt = ids[:1, :4]
    options = {"attention_mask": torch.ones_like(prompt)}  # else a 0 in the text counts as filler
    wanted = theirs.generate(
        prompt, max_new_tokens=9, do_sample=False, eos_token_id=None, pad_token_id=0, **options
    )
    with torch.no_grad():
        for t in range(4, 13):
            scores = ours(prompt)
            prompt = torch.cat((prompt, scores[:, -1:].argmax(-1)), dim=1)
            assert prompt.equal(wanted[:, : t + 1])
    first = int(ids[0, 0])
    state = ours.start(ids[:1, :0])
    (text,) = greedy(ours.step, state, bos=first, eos=16, max_length=9)
    wanted = theirs.generate(
        ids[:1, :1], max_new_tokens=9, do_sample=False, eos_token_id=16, pad_token_id=16
    )
    assert [first, *text.ids] == [i for i in wanted[0].tolist() if i != 16]


# BERT


def their_rows(model, ids, segments, lengths=None):
    mask = torch.ones_like(ids)
    if lengths is not None:
        mask = (torch.arange(ids.shape[1]) < torch.tensor(lengths).unsqueeze(-1)).long()
    return model(ids, attention_mask=mask, token_type_ids=segments)


@pytest.mark.parametrize(
    "options",
    [{}, {"hidden_act": "gelu_new"}, {"hidden_act": "relu", "layer_norm_eps": 0.1}],
    ids=lambda options: ",".join(options) or "as published",
)
def test_a_saved_bert_gives_the_same_logits(generator, tmp_path, ids, options):
    """Of a ragged batch with segments, at every real token."""
    theirs = bert(generator, **options)
    theirs.save_pretrained(tmp_path)
    ours = load_bert(tmp_path)
    segments = torch.randint(3, (3, 11), generator=generator)
    with torch.no_grad():
        expected = their_rows(theirs, ids, segments, LENGTHS).logits
        found = ours.mlm_scores(ours(ids, LENGTHS, segments))
    for b, n in enumerate(LENGTHS):
        assert expected[b, :n].std() > 0.2
        assert_close(found[b, :n], expected[b, :n], **CLOSE)
    assert sum(p.numel() for p in ours.parameters()) == theirs.num_parameters()


@pytest.mark.parametrize("pooled", [True, False])
def test_an_encoder_without_a_head_gives_the_same_rows(generator, tmp_path, ids, pooled):
    config = transformers.BertConfig(**BERT)
    theirs = randomised(transformers.BertModel(config, add_pooling_layer=pooled), generator)
    theirs.save_pretrained(tmp_path)
    ours = load_bert(tmp_path)
    assert ours.head is None
    segments = torch.randint(3, (3, 11), generator=generator)
    with torch.no_grad():
        expected = their_rows(theirs, ids, segments).last_hidden_state
        assert_close(ours(ids, segments=segments), expected, **CLOSE)


def test_bert_in_float64_with_the_head_of_pretraining(generator, ids):
    """The layers of next-sentence prediction are left out."""
    theirs = bert(generator, transformers.BertForPreTraining).double()
    assert "cls.seq_relationship.weight" in theirs.state_dict()
    config = BERTConfig(17, 13, 10, 5, 3, 7, n_segments=3)
    ours = load_bert(theirs.state_dict(), config)
    segments = torch.randint(3, (3, 11), generator=generator)
    with torch.no_grad():
        expected = their_rows(theirs, ids, segments).prediction_logits
        found = ours.mlm_scores(ours(ids, segments=segments))
        assert_close(found, expected, rtol=1e-12, atol=1e-12)


def published_bert(model):
    """The tensors of a BertForPreTraining under the names that the published file has for them."""
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor.clone()
        for name, tensor in model.state_dict().items()
        if "decoder" not in name and "_ids" not in name
    }
    assert sum(name.endswith(("gamma", "beta")) for name in old) == 2 * (2 + 2 * 3)
    assert len(old) == 14 + 16 * 3  # with twelve layers, 206
    return old


def test_the_names_of_the_published_bert(generator, ids, tmp_path):
    """It says gamma and beta, has the layers of next-sentence prediction, and each table once."""
    theirs = bert(generator, transformers.BertForPreTraining)
    save_file(published_bert(theirs), tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(theirs.config.to_dict()))
    ours = load_bert(tmp_path)
    with torch.no_grad():
        assert_close(ours.mlm_scores(ours(ids)), theirs(ids).prediction_logits, **CLOSE)


# by name


@pytest.fixture
def by_name(monkeypatch, tmp_path):
    """Let files of our own be the published ones of a model."""

    def settle(name, config, **files):
        monkeypatch.setenv("SOFTLOOKUP_DATA", str(tmp_path))
        source, known = SOURCES[name], {}
        for key, file in source.files.items():
            content = Path(files[key]).read_bytes()
            (tmp_path / file.name).write_bytes(content)
            known[key] = replace(file, sha256=hashlib.sha256(content).hexdigest())
        monkeypatch.setattr(weights, "SOURCES", {name: replace(source, files=known)})
        monkeypatch.setattr(weights, "CONFIGS", {name: config})

    return settle


def test_gpt2_by_name(generator, tmp_path, trained, files, by_name):
    sizes = GPT2 | {"vocab_size": 500}
    config = transformers.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)
    theirs = randomised(transformers.GPT2LMHeadModel(config), generator)
    theirs.transformer.save_pretrained(tmp_path / "body")
    source = tmp_path / "body" / "model.safetensors"
    config = GPTConfig(500, 13, 10, 5, 3, activation="gelu_tanh")
    by_name("gpt2", config, weights=source, vocabulary=files[0], merges=files[1])
    model, tokenizer = load_pretrained("gpt2")
    read = trained.encode("An embedding").ids
    assert tokenizer.encode("An embedding") == read
    prompt = torch.tensor([read])
    with torch.no_grad():
        assert_close(model(prompt), theirs(prompt).logits, **CLOSE)
    n = 13 - len(read)
    options = {"attention_mask": torch.ones_like(prompt), "eos_token_id": 0, "pad_token_id": 0}
    wanted = theirs.generate(prompt, max_new_tokens=n, do_sample=False, **options)[0].tolist()
    wanted = read + [i for i in wanted[len(read) :] if i != 0]
    said = write_on(model, tokenizer, "An embedding", n, generator=generator, top_k=1)
    assert said == [trained.decode([i]) for i in wanted]
    assert len(said) > len(read) > 1


def test_bert_by_name(generator, tmp_path, pieces, by_name):
    sizes = BERT | {"vocab_size": len(pieces.get_vocab())}
    theirs = transformers.BertForPreTraining(transformers.BertConfig(**sizes))
    source = tmp_path / "published.safetensors"
    save_file(published_bert(randomised(theirs, generator)), source)
    config = BERTConfig(sizes["vocab_size"], 13, 10, 5, 3, 7, n_segments=3)
    (vocabulary,) = pieces.save_model(str(tmp_path))
    by_name("bert-base-uncased", config, weights=source, vocabulary=vocabulary)
    model, tokenizer = load_pretrained("bert-base-uncased")
    read = pieces.encode("An [MASK] is a").ids
    assert tokenizer.encode("An [MASK] is a") == read
    with torch.no_grad():
        expected = theirs(torch.tensor([read])).prediction_logits
        assert_close(model.mlm_scores(model(torch.tensor([read]))), expected, **CLOSE)
    chances = expected[0, read.index(pieces.token_to_id("[MASK]"))].softmax(-1)
    guesses = fill_gap(model, tokenizer, "An [MASK] is a", 3)
    best = chances.argsort(descending=True)[:3].tolist()
    assert [piece for piece, _ in guesses] == [
        pieces.id_to_token(i).removeprefix("##") for i in best
    ]
    assert_close(torch.tensor([p for _, p in guesses]), chances[best], **CLOSE)


# GPT-2's tokenizer

TEXTS = [
    "",
    "The cat's hat isn't 2 cm tall.",
    "  two  spaces,\n\na line\tand a tab \u00a0",
    "naïve café — 東京 😁 \u0301 ½",
    "<|endoftext|>",
    book_prose()[:20_000],
]


@pytest.fixture(scope="module")
def trained():
    theirs = ByteLevelBPETokenizer(add_prefix_space=False)
    theirs.train_from_iterator(
        [book_prose()[:40_000]], 500, special_tokens=["<|endoftext|>"], show_progress=False
    )
    return theirs


@pytest.fixture
def files(trained, tmp_path):
    return trained.save_model(str(tmp_path))


def test_the_same_ids_from_the_same_files(trained, files):
    """Here the special token has id 0, so no byte has its own number."""
    ours = GPT2Tokenizer.from_files(*files)
    assert len(ours) == trained.get_vocab_size() == 500
    for text in TEXTS:
        ids = ours.encode(text)
        if "<|endoftext|>" not in text:
            assert ids == trained.encode(text).ids
        assert ours.decode(ids) == text
        assert all(0 <= id_ < 500 for id_ in ids)


def test_the_end_of_a_text(trained, files):
    ours = GPT2Tokenizer.from_files(*files)
    assert ours.special_tokens == {"<|endoftext|>": 0}
    text = "one<|endoftext|>two"
    assert ours.encode(text, allowed_special="all") == trained.encode(text).ids
    assert 0 not in ours.encode(text)
    assert ours.decode(ours.encode(text)) == text


def test_numbers_in_any_order(trained, files, generator):
    """Only the files say which id a token has."""
    ours = GPT2Tokenizer.from_files(*files)
    order = torch.randperm(500, generator=generator).tolist()
    path = Path(files[0])
    ids = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({token: order[id_] for token, id_ in ids.items()}), "utf-8")
    other = GPT2Tokenizer.from_files(*files)
    for text in TEXTS:
        assert other.encode(text) == [order[id_] for id_ in ours.encode(text)]
        assert other.decode(other.encode(text)) == text


# BERT's tokenizer

FRAGMENTS = [
    "[MASK]", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[mask]", " ", "\t", "\r\n", "the", "Naïve",
    "##", "##s", "embedding", "unlookupable", "x" * 100, "x" * 101, "3.14", "it's", "東京", "İ",
    "ΟΔΟΣ", "ß", "e\u0301", "\u0301", "\u200b", "\u2028", "\x85", "\ufffd", "\0",
    "\ue000", "…", "$^`|~",
]  # fmt: skip


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    theirs = BertWordPieceTokenizer()
    theirs.train_from_iterator(
        [book_prose()[:40_000], "東京 οδος ß … 3.14 " * 9], 600, show_progress=False
    )
    (path,) = theirs.save_model(str(tmp_path_factory.mktemp("bert")))
    return BertWordPieceTokenizer(path)


@pytest.fixture(scope="module")
def old_characters():
    """What Unicode 3.2 knew and nobody has sorted anew: all tables of today agree on it."""
    old, characters = unicodedata.ucd_3_2_0, map(chr, (*range(0xD800), *range(0xE000, 0x110000)))
    return [c for c in characters if old.category(c) == unicodedata.category(c) != "Cn"]


def test_the_same_words_around_every_character(old_characters):
    assert len(old_characters) > 90_000
    clean, cut = BertNormalizer(), BertPreTokenizer()
    for start in range(0, len(old_characters), 1000):
        text = "".join(f"a{c}Bc " for c in old_characters[start : start + 1000])
        wanted = [word for word, _ in cut.pre_tokenize_str(clean.normalize_str(text))]
        assert bert_words(text) == wanted


def test_the_same_pieces_of_thousands_of_strings(pieces, old_characters, tmp_path):
    (path,) = pieces.save_model(str(tmp_path))
    ours, chance, n_known = BERTTokenizer.from_file(path), random.Random(0), 0
    assert len(ours) == pieces.get_vocab_size() == 600
    assert ours.special_tokens == {name: pieces.token_to_id(name) for name in FRAGMENTS[:5]}
    anything = [*FRAGMENTS, *map(chr, range(1, 128)), *(" " * 9)]
    for _ in range(5000):
        parts = chance.choices(anything, k=9) + chance.choices(old_characters, k=3)
        text = "".join(chance.sample(parts, chance.randrange(13)))
        wanted = pieces.encode(text).ids
        assert ours.encode(text) == wanted
        n_known += sum(id_ > 5 for id_ in wanted)
    assert n_known > 15_000  # pieces, not only what is unknown


def test_the_same_ids_and_texts_of_prose(pieces, tmp_path):
    (path,) = pieces.save_model(str(tmp_path))
    ours, other = BERTTokenizer.from_file(path), transformers.BertTokenizer(path)
    for text in book_prose()[:20_000].split("\n"):
        ids = ours.encode(text)
        assert ids == pieces.encode(text).ids == other(text)["input_ids"]
        assert ours.decode(ids) == " ".join(pieces.encode(text).tokens).replace(" ##", "")
