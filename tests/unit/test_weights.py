"""Real models by name: one line where a file is absent, and all the way to a text or a guess."""

import hashlib
import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import save

from softlookup.data import SOURCES, load_pretrained, pretrained_at_hand
from softlookup.data import downloads as cache_module
from softlookup.data import weights as weights_module
from softlookup.language_models import greedy
from softlookup.models import BERTConfig, GPTConfig
from softlookup.models.bert import parameter_count as bert_count
from softlookup.models.gpt import parameter_count as gpt_count
from softlookup.models.pretrained import fill_gap, load_bert, load_gpt2, write_on
from softlookup.models.pretrained.bert_tokenizer import SPECIAL_TOKENS
from softlookup.models.pretrained.gpt2_tokenizer import byte_characters

GPT2, BERT = NAMES = "gpt2", "bert-base-uncased"
CONFIGS = {
    GPT2: GPTConfig(259, 13, 6, 3, 1, d_ff=7, activation="gelu_tanh"),
    BERT: BERTConfig(17, 13, 10, 5, 1, 7, n_segments=3),
}
ABSENT = {
    GPT2: 'GPT-2, small: not in the cache. load_pretrained("gpt2", download=True) fetches it. '
    "Until then the book keeps to the models that it trains.\n",
    BERT: "BERT, base, without capitals: not in the cache. "
    'load_pretrained("bert-base-uncased", download=True) fetches it. '
    "Until then the book keeps to the models that it trains.\n",
}
PIECES = [*SPECIAL_TOKENS, "a", "embed", "##ding", "is", "lookup", ".", *"bcdefg"]


def gpt2_contents(generator):
    """A tiny GPT-2 of random numbers, in the three files of the real one."""
    shapes = {
        "wte.weight": (259, 6), "wpe.weight": (13, 6), "h.0.ln_1.weight": (6,),
        "h.0.ln_1.bias": (6,), "h.0.attn.bias": (1, 1, 13, 13), "h.0.attn.c_attn.weight": (6, 18),
        "h.0.attn.c_attn.bias": (18,), "h.0.attn.c_proj.weight": (6, 6),
        "h.0.attn.c_proj.bias": (6,), "h.0.ln_2.weight": (6,), "h.0.ln_2.bias": (6,),
        "h.0.mlp.c_fc.weight": (6, 7), "h.0.mlp.c_fc.bias": (7,), "h.0.mlp.c_proj.weight": (7, 6),
        "h.0.mlp.c_proj.bias": (6,), "ln_f.weight": (6,), "ln_f.bias": (6,),
    }  # fmt: skip
    ids = {character: byte for byte, character in enumerate(byte_characters())}
    ids |= {"ow": 256, "low": 257, "<|endoftext|>": 258}
    return {
        "weights": save(random_tensors(shapes, generator)),
        "vocabulary": json.dumps(ids).encode(),
        "merges": b"#version: 0.2\no w\nl ow\n",
    }


def bert_contents(generator):
    """A tiny BERT of random numbers, in the two files and with all names of the real one."""
    layer, maps = "bert.encoder.layer.0.", {"bert.pooler.dense": (10, 10)}
    maps |= {f"{layer}attention.self.{name}": (10, 10) for name in ("query", "key", "value")}
    maps |= {f"{layer}attention.output.dense": (10, 10), f"{layer}intermediate.dense": (7, 10)}
    maps |= {f"{layer}output.dense": (10, 7), "cls.predictions.transform.dense": (10, 10)}
    maps |= {"cls.seq_relationship": (2, 10)}
    tables = {"word": 17, "position": 13, "token_type": 3}
    shapes = {f"bert.embeddings.{name}_embeddings.weight": (n, 10) for name, n in tables.items()}
    for name, shape in maps.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    norms = ["bert.embeddings", f"{layer}attention.output", f"{layer}output"]
    for name in (*norms, "cls.predictions.transform"):
        shapes |= {f"{name}.LayerNorm.gamma": (10,), f"{name}.LayerNorm.beta": (10,)}
    shapes["cls.predictions.bias"] = (17,)
    assert len(shapes) == 14 + 16  # 206 where there are twelve layers
    pieces = "".join(f"{piece}\n" for piece in PIECES)
    return {"weights": save(random_tensors(shapes, generator)), "vocabulary": pieces.encode()}


def random_tensors(shapes, generator):
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


@pytest.fixture
def contents(generator):
    return {GPT2: gpt2_contents(generator), BERT: bert_contents(generator)}


@pytest.fixture
def cache(contents, tmp_path, monkeypatch):
    """The cache folder, and sources whose checksums are those of the tiny files."""
    monkeypatch.setenv("SOFTLOOKUP_DATA", str(tmp_path))
    known = dict(SOURCES)
    for name in NAMES:
        files = {
            key: replace(file, sha256=hashlib.sha256(contents[name][key]).hexdigest())
            for key, file in SOURCES[name].files.items()
        }
        known[name] = replace(SOURCES[name], files=files)
    monkeypatch.setattr(weights_module, "SOURCES", known)
    monkeypatch.setattr(weights_module, "CONFIGS", CONFIGS)
    return tmp_path


def put(cache, contents, name, *keys):
    for key in keys or contents[name]:
        (cache / SOURCES[name].files[key].name).write_bytes(contents[name][key])


@pytest.mark.parametrize(
    ("name", "there"),
    [(GPT2, ()), (GPT2, ("weights",)), (GPT2, ("weights", "merges")), (BERT, ("vocabulary",))],
)
def test_one_line_where_a_file_is_absent(cache, contents, name, there, capsys, monkeypatch):
    """And no attempt to fetch anything."""
    monkeypatch.setattr(cache_module.pooch, "retrieve", None)
    if there:
        put(cache, contents, name, *there)
    assert load_pretrained(name) is None
    assert capsys.readouterr().out == ABSENT[name]


def test_one_line_names_all_that_are_absent(cache, contents, capsys, monkeypatch):
    monkeypatch.setattr(cache_module.pooch, "retrieve", None)
    put(cache, contents, BERT, "vocabulary")  # a part is not enough
    assert pretrained_at_hand(GPT2, BERT) == {}
    assert capsys.readouterr().out == (
        "Not at hand: GPT-2, small; BERT, base, without capitals. Fetched once, half a gigabyte "
        'each, by load_pretrained("gpt2", download=True) and load_pretrained("bert-base-uncased", '
        "download=True).\n"
    )


def test_in_a_cache_that_cannot_be_looked_into_all_are_absent(tmp_path, monkeypatch, capsys):
    """No file system answers for a name of this length; a folder that is shut raises as this."""
    monkeypatch.setenv("SOFTLOOKUP_DATA", str(tmp_path / ("a" * 300)))
    assert pretrained_at_hand(GPT2, BERT) == {}
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("Not at hand: GPT-2, small; BERT, base, without capitals. ")


def test_those_at_hand_come_by_name(cache, contents, capsys):
    put(cache, contents, GPT2)
    found = pretrained_at_hand(BERT, GPT2)
    assert list(found) == [GPT2]
    assert found[GPT2].model.config == CONFIGS[GPT2]
    assert "BERT" in capsys.readouterr().out
    assert pretrained_at_hand(GPT2).keys() == {GPT2}
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="gpt3"):
        pretrained_at_hand(GPT2, "gpt3")


@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_file_is_deleted(cache, contents, name, capsys):
    put(cache, contents, name)
    path = cache / SOURCES[name].files["vocabulary"].name
    path.write_bytes(contents[name]["vocabulary"][:-1])
    assert load_pretrained(name) is None
    assert ": the copy in the cache was damaged and has been deleted. " in capsys.readouterr().out
    assert not path.exists()


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (GPT2, ["model.safetensors", "merges.txt"]),
        (BERT, ["model.safetensors"]),
    ],
)
def test_what_is_missing_is_fetched(cache, contents, name, wanted, monkeypatch, capsys):
    """Each file from its own address, by pooch; nothing is printed on success."""
    asked = []

    def retrieve(address, known_hash, fname, path, downloader):
        key = next(k for k, f in SOURCES[name].files.items() if f.name == fname)
        assert known_hash == f"sha256:{hashlib.sha256(contents[name][key]).hexdigest()}"
        asked.append(address)
        (path / fname).write_bytes(contents[name][key])

    monkeypatch.setattr(cache_module.pooch, "retrieve", retrieve)
    put(cache, contents, name, "vocabulary")
    assert load_pretrained(name, download=True) is not None
    assert [address.rsplit("/", 1)[1] for address in asked] == wanted
    revision = {GPT2: "607a30d783dfa663caf39e0", BERT: "86b5e0934494bd15c9632b12"}[name]
    assert all(f"/{name}/resolve/{revision}" in address for address in asked)
    assert capsys.readouterr().out == ""


def test_a_gpt2_writes_on(cache, contents):
    put(cache, contents, GPT2)
    model, tokenizer = load_pretrained(GPT2)
    assert len(tokenizer) == model.config.vocab_size
    assert not model.training
    ids = tokenizer.encode("slow low")
    assert ids == [ord("s"), 257, ord(" "), 257]
    state = model.start(torch.tensor([ids[:-1]]))
    end = tokenizer.special_tokens["<|endoftext|>"]
    (text,) = greedy(model.step, state, bos=ids[-1], eos=end, max_length=9)
    same, again = load_gpt2(cache / "gpt2.model.safetensors", CONFIGS[GPT2]), list(ids)
    with torch.no_grad():
        for id_ in text.ids:
            again.append(int(same(torch.tensor([again]))[0, -1].argmax()))
            assert again[-1] == id_
    assert tokenizer.decode(again).startswith("slow low")


def test_a_bert_guesses(cache, contents):
    put(cache, contents, BERT)
    model, tokenizer = load_pretrained(BERT)
    assert len(tokenizer) == model.config.vocab_size
    assert not model.training
    ids = tokenizer.encode("An embedding is a [MASK].")
    assert tokenizer.decode(ids) == "[CLS] [UNK] embedding is a [MASK] . [SEP]"
    ids = torch.tensor([ids])
    same = load_bert(cache / "bert-base-uncased.model.safetensors", CONFIGS[BERT])
    with torch.no_grad():
        guess = model.mlm_scores(model(ids))[ids == tokenizer.special_tokens["[MASK]"]]
        torch.testing.assert_close(guess, same.mlm_scores(same(ids))[0, 6:7])


def test_writing_ends_where_the_model_ends_the_text(cache, contents, generator):
    put(cache, contents, GPT2)
    model, tokenizer = load_pretrained(GPT2)
    said = write_on(model, tokenizer, "low", 12, generator=generator, top_k=1)
    assert (said[0], len(said)) == ("low", 13)
    with torch.no_grad():  # now the end of a text scores twice as much as the best token did
        best = model(torch.tensor([[257]]))[0, -1].argmax()
        model.embedding.weight[258] = 2 * model.embedding.weight[best]
    assert write_on(model, tokenizer, "low", 12, generator=generator, top_k=1) == ["low"]


def test_a_prompt_must_not_be_empty(cache, contents, generator):
    put(cache, contents, GPT2)
    with pytest.raises(ValueError, match="the prompt must not be empty; got prompt=''"):
        write_on(*load_pretrained(GPT2), "", 3, generator=generator)


def test_there_must_be_one_gap(cache, contents):
    put(cache, contents, BERT)
    real = load_pretrained(BERT)
    assert len(fill_gap(*real, "[MASK]", 99)) == 17
    assert sum(p for _, p in fill_gap(*real, "[MASK] a", 17)) == pytest.approx(1)
    for text, n in ("a lookup", 0), ("[MASK] is [MASK]", 2):
        rule = rf"the text must hold \[MASK\] once; got n_gaps={n}"
        with pytest.raises(ValueError, match=rule):
            fill_gap(*real, text)
    with pytest.raises(ValueError, match="n must be an integer of at least 1; got n=0"):
        fill_gap(*real, "[MASK]", 0)


def test_the_real_ones():
    """Their counts are what the formulas give for the configs that the files go with."""
    real = weights_module.CONFIGS
    assert tuple(real) == NAMES
    assert f"{gpt_count(real[GPT2]):,}" in SOURCES[GPT2].holds
    assert f"{real[GPT2].vocab_size:,} tokens" in SOURCES[GPT2].holds
    assert real[GPT2].activation == "gelu_tanh"
    assert f"{bert_count(real[BERT]):,}" in SOURCES[BERT].holds
    assert f"{real[BERT].vocab_size:,} pieces" in SOURCES[BERT].holds
    assert (real[BERT].activation, real[BERT].eps, real[BERT].head) == ("gelu", 1e-12, True)


def test_another_name():
    rule = "name must be one of 'gpt2', 'bert-base-uncased'; got name='gpt3'"
    with pytest.raises(ValueError, match=rule):
        load_pretrained("gpt3")


@pytest.mark.bad_input
def test_no_name():
    with pytest.raises(ValueError, match="name must be one of 'gpt2', 'bert-base-uncased'; got"):
        load_pretrained(2)
