"""GPT-2's files on request: one line where they are absent, and all the way to a text."""

import hashlib
import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import save

from softlookup.data import SOURCES, gpt2_files
from softlookup.data import cache as cache_module
from softlookup.data import weights as weights_module
from softlookup.decoding import greedy
from softlookup.gpt import GPTConfig, parameter_count
from softlookup.pretrained import GPT2Tokenizer, load_gpt2
from softlookup.pretrained.gpt2_tokenizer import byte_characters

CONFIG = GPTConfig(259, 13, 6, 3, 1, d_ff=7, activation="gelu_tanh")
ABSENT = (
    "GPT-2, small: not in the cache. gpt2_files(download=True) fetches it. "
    "Until then the book keeps to the models that it trains.\n"
)


@pytest.fixture
def contents(generator):
    """A tiny GPT-2 of random numbers, in the three files of the real one."""
    shapes = {
        "wte.weight": (259, 6), "wpe.weight": (13, 6), "h.0.ln_1.weight": (6,),
        "h.0.ln_1.bias": (6,), "h.0.attn.c_attn.weight": (6, 18), "h.0.attn.c_attn.bias": (18,),
        "h.0.attn.c_proj.weight": (6, 6), "h.0.attn.c_proj.bias": (6,), "h.0.ln_2.weight": (6,),
        "h.0.ln_2.bias": (6,), "h.0.mlp.c_fc.weight": (6, 7), "h.0.mlp.c_fc.bias": (7,),
        "h.0.mlp.c_proj.weight": (7, 6), "h.0.mlp.c_proj.bias": (6,), "ln_f.weight": (6,),
        "ln_f.bias": (6,),
    }  # fmt: skip
    tensors = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    ids = {character: byte for byte, character in enumerate(byte_characters())}
    ids |= {"ow": 256, "low": 257, "<|endoftext|>": 258}
    return {
        "weights": save(tensors),
        "vocabulary": json.dumps(ids).encode(),
        "merges": b"#version: 0.2\no w\nl ow\n",
    }


@pytest.fixture
def cache(contents, tmp_path, monkeypatch):
    """The cache folder, and a source whose checksums are those of the tiny files."""
    monkeypatch.setenv("SOFTLOOKUP_DATA", str(tmp_path))
    source = SOURCES["gpt2_files"]
    files = {
        key: replace(file, sha256=hashlib.sha256(contents[key]).hexdigest())
        for key, file in source.files.items()
    }
    known = {**SOURCES, "gpt2_files": replace(source, files=files)}
    monkeypatch.setattr(weights_module, "SOURCES", known)
    return tmp_path


def put(cache, contents, *keys):
    for key in keys:
        (cache / SOURCES["gpt2_files"].files[key].name).write_bytes(contents[key])


@pytest.mark.parametrize("there", [(), ("weights",), ("weights", "merges")])
def test_one_line_where_a_file_is_absent(cache, contents, there, capsys, monkeypatch):
    """And no attempt to fetch anything."""
    monkeypatch.setattr(cache_module.pooch, "retrieve", None)
    put(cache, contents, *there)
    assert gpt2_files() is None
    assert capsys.readouterr().out == ABSENT


def test_a_damaged_file_is_deleted(cache, contents, capsys):
    put(cache, contents, "weights", "vocabulary", "merges")
    path = cache / "gpt2.merges.txt"
    path.write_bytes(b"#version: 0.2\no w\n")
    assert gpt2_files() is None
    assert capsys.readouterr().out.startswith("GPT-2, small: the copy in the cache was damaged")
    assert not path.exists()


def test_what_is_missing_is_fetched(cache, contents, monkeypatch, capsys):
    """Each file from its own address, by pooch; nothing is printed on success."""
    asked = []

    def retrieve(address, known_hash, fname, path, downloader):
        key = next(k for k, f in SOURCES["gpt2_files"].files.items() if f.name == fname)
        assert known_hash == f"sha256:{hashlib.sha256(contents[key]).hexdigest()}"
        asked.append(address)
        (path / fname).write_bytes(contents[key])

    monkeypatch.setattr(cache_module.pooch, "retrieve", retrieve)
    put(cache, contents, "vocabulary")
    files = gpt2_files(download=True)
    assert [path.read_bytes() for path in files] == list(contents.values())
    assert [address.rsplit("/", 1)[1] for address in asked] == ["model.safetensors", "merges.txt"]
    assert all("/607a30d783dfa663caf39e06633721c8d4cfcd7e/" in address for address in asked)
    assert capsys.readouterr().out == ""


def test_from_files_to_a_text(cache, contents):
    put(cache, contents, "weights", "vocabulary", "merges")
    files = gpt2_files()
    model = load_gpt2(files.weights, CONFIG)
    tokenizer = GPT2Tokenizer.from_files(files.vocabulary, files.merges)
    assert len(tokenizer) == model.config.vocab_size
    ids = tokenizer.encode("slow low")
    assert ids == [ord("s"), 257, ord(" "), 257]
    state = model.start(torch.tensor([ids[:-1]]))
    end = tokenizer.special_tokens["<|endoftext|>"]
    (text,) = greedy(model.step, state, bos=ids[-1], eos=end, max_length=9)
    again = list(ids)
    with torch.no_grad():
        for id_ in text.ids:
            again.append(int(model(torch.tensor([again]))[0, -1].argmax()))
            assert again[-1] == id_
    assert tokenizer.decode(again).startswith("slow low")


def test_the_real_one_is_the_small_gpt2():
    """Its count is what the formula gives for the config that the files go with."""
    assert parameter_count(GPTConfig.gpt2("small")) == 124_439_808
    assert "124,439,808" in SOURCES["gpt2_files"].holds
    assert GPTConfig.gpt2("small").activation == "gelu_tanh"
