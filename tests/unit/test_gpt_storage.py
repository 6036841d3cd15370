"""Files of whole GPTs: what is written comes back bit for bit, and damage is refused in words."""

import dataclasses
import json
import re

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

from softlookup.models import GPT, GPTConfig, load_gpt, save_gpt
from softlookup.tokenization import BytePairTokenizer

SIZES = {"vocab_size": 5, "context": 7, "d_model": 6, "n_heads": 3, "n_layers": 2}
LETTERS = ["a", "\n", '"\\', "γ", "\U0001f600"]
CONFIGS = {
    "plain": GPTConfig(**SIZES),
    "quick": GPTConfig.quick(**SIZES),
    "post-norm": GPTConfig(**SIZES, norm_first=False, positions="none"),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gpt.safetensors"


@pytest.fixture
def model(generator):
    return model_of(CONFIGS["plain"], generator)


def model_of(config, generator):
    model = GPT(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(generator=generator)
    return model


def metadata(**changes):
    config = json.dumps(dataclasses.asdict(CONFIGS["plain"]))
    ours = {"softlookup": "gpt", "config": config, "letters": json.dumps(LETTERS)}
    return {name: value for name, value in (ours | changes).items() if value is not None}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_model_comes_back_bit_for_bit(name, path, generator):
    model = model_of(CONFIGS[name], generator)
    save_gpt(path, model, LETTERS)
    found, tokens = load_gpt(str(path))
    assert tokens == LETTERS
    assert found.config == model.config
    assert [name for name, _ in found.named_parameters()] == list(model.state_dict())
    for part, tensor in model.state_dict().items():
        assert torch.equal(found.state_dict()[part], tensor), part
    ids = torch.tensor([[3, 1, 4, 1, 0, 2]])
    assert torch.equal(found(ids), model(ids))


def test_other_programs_read_what_is_written(path, model):
    save_gpt(path, model.double(), LETTERS)
    tensors = load_file(path)
    assert tensors.keys() == model.state_dict().keys()
    for name, tensor in model.state_dict().items():
        assert tensors[name].dtype == torch.float32
        assert_close(tensors[name], tensor.float(), rtol=0, atol=0)
    with safe_open(path, framework="pt") as file:
        texts = file.metadata()
    assert sorted(texts) == ["config", "letters", "softlookup"]
    assert texts["softlookup"] == "gpt"
    assert json.loads(texts["letters"]) == LETTERS
    assert json.loads(texts["config"])["d_model"] == 6


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_what_other_programs_write_is_read(path, model, dtype):
    tensors = {name: tensor.to(dtype) for name, tensor in model.state_dict().items()}
    save_file(tensors, path, metadata())
    found, tokens = load_gpt(path)
    assert tokens == LETTERS
    for name, tensor in found.state_dict().items():
        assert tensor.dtype == torch.float32
        assert_close(tensor, tensors[name].float(), rtol=0, atol=0)


def test_options_that_are_left_out_are_the_usual_ones(path, model):
    save_file(model.state_dict(), path, metadata(config=json.dumps(SIZES)))
    assert load_gpt(path)[0].config == GPTConfig(**SIZES)


def test_a_tokenizer_goes_with_the_model(path, generator):
    tokenizer = BytePairTokenizer([(104, 105), (256, 33)], special_tokens=["<end>"])
    config = dataclasses.replace(CONFIGS["plain"], vocab_size=259)
    save_gpt(path, model_of(config, generator), tokenizer)
    _, found = load_gpt(path)
    assert isinstance(found, BytePairTokenizer)
    assert found.merges == tokenizer.merges
    assert found.pattern == tokenizer.pattern
    assert found.special_tokens == {"<end>": 258}
    assert found.encode("hi! oh") == tokenizer.encode("hi! oh")


def test_loading_leaves_chance_alone(path, model):
    save_gpt(path, model, LETTERS)
    state = torch.get_rng_state()
    load_gpt(path)
    assert torch.equal(torch.get_rng_state(), state)


def test_training_goes_on(path, model):
    save_gpt(path, model, LETTERS)
    found, _ = load_gpt(path)
    found(torch.tensor([[1, 2]])).sum().backward()
    assert all(parameter.grad is not None for parameter in found.parameters())


def test_a_file_cut_short_anywhere_is_refused(path, model):
    save_gpt(path, model, LETTERS)
    whole = path.read_bytes()
    for length in [*range(0, len(whole) - 1, 997), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="the file must be whole safetensors; got"):
            load_gpt(path)


def test_half_precision_and_other_texts_are_written(path, model):
    save_gpt(path, model, LETTERS, dtype=torch.float16, texts={"seed": "7"})
    tensors = load_file(path)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensors[name], tensor.half()), name
        assert torch.equal(load_gpt(path)[0].state_dict()[name], tensor.half().float()), name
    with safe_open(path, framework="pt") as file:
        assert sorted(file.metadata()) == ["config", "letters", "seed", "softlookup"]


@pytest.mark.parametrize("name", ["softlookup", "config", "letters", "tokenizer", "without"])
def test_a_text_may_not_take_the_name_of_another(name, path, model):
    with pytest.raises(ValueError, match=f"texts must have names of their own; got taken=.'{name}"):
        save_gpt(path, model, LETTERS, texts={name: "[]"})
    assert not path.exists()


def test_what_is_too_large_for_half_precision_is_told(path, model):
    with torch.no_grad():
        model.norm.weight[0] = 1e5
    with pytest.raises(ValueError, match=r"all weights must be finite; got wrong=\['norm.weight"):
        save_gpt(path, model, LETTERS, dtype=torch.float16)
    with pytest.raises(ValueError, match="dtype must be one of"):
        save_gpt(path, model, LETTERS, dtype=torch.float64)


def test_what_cannot_be_saved_is_told(path, model):
    with pytest.raises(ValueError, match="the folder of the file must exist; got folder="):
        save_gpt(path.parent / "below" / "it", model, LETTERS)
    rule = "there must be one token for each id of the model; got n_tokens=4, vocab_size=5"
    with pytest.raises(ValueError, match=rule):
        save_gpt(path, model, LETTERS[1:])
    with pytest.raises(ValueError, match="the words of tokens must be distinct"):
        save_gpt(path, model, ["a", "b", "c", "d", "a"])
    with pytest.raises(ValueError, match="tokens must be a list, not one string; got"):
        save_gpt(path, model, "abcde")
    with torch.no_grad():
        model.norm.weight[2] = torch.nan
    with pytest.raises(
        ValueError, match=r"all weights must be finite; got wrong=\['norm.weight'\]"
    ):
        save_gpt(path, model, LETTERS)
    assert not path.exists()


WRONG_TEXTS = {
    "no metadata": (None, "the file must hold a GPT of softlookup; got softlookup=None"),
    "another kind": ({"softlookup": "bert"}, "a GPT of softlookup; got softlookup='bert'"),
    "no config": ({"config": None}, "the file must say its config as JSON; got config=''"),
    "no JSON": ({"config": "{"}, "the file must say its config as JSON; got config='{'"),
    "a list": ({"config": "[]"}, "the file must say its config as JSON; got config='[]'"),
    "half a config": (
        {"config": '{"d_model": 6}'}, "the file's config must be that of a GPT; got GPTConfig"
    ),
    "another option": (
        {"config": json.dumps({**SIZES, "colour": 1})},
        "the file's config must be that of a GPT; got unknown=['colour']",
    ),
    "a size that cannot be": (
        {"config": json.dumps({**SIZES, "n_heads": 4})}, "n_heads must divide d_model"
    ),
    "no letters": ({"letters": None}, "the file must say its letters as JSON; got letters=''"),
    "numbers for letters": ({"letters": "[1, 2, 3, 4, 5]"}, "the file's letters must be strings"),
    "few letters": (
        {"letters": '["a"]'},
        "there must be one token for each id of the model; got n_tokens=1, vocab_size=5",
    ),
    "a letter twice": ({"letters": '["a", "b", "a", "c", "d"]'}, "tokens must be distinct"),
    "without a mask": (
        {"without": '["mask"]'}, "the library's GPT has all its parts; got without=['mask']"
    ),
    "no tokenizer": (
        {"tokenizer": "{}"}, "the file's tokenizer must be of the format 'softlookup byte-pair"
    ),
    "half a tokenizer": (
        {"tokenizer": '{"format": "softlookup byte-pair tokenizer", "version": 1, "merges": []}'},
        "the file's tokenizer must be complete; got missing=['pattern', 'special_tokens']",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_TEXTS)
def test_texts_that_do_not_fit_are_refused(name, path, model):
    changes, words = WRONG_TEXTS[name]
    save_file(model.state_dict(), path, None if changes is None else metadata(**changes))
    with pytest.raises(ValueError, match=re.escape(words)):
        load_gpt(path)


def test_weights_that_do_not_fit_are_refused(path, model):
    state = model.state_dict()
    right, norm = state["norm.weight"], "norm.weight"
    wrong = {
        "missing=['norm.weight'], extra=['last.weight']": {norm: None, "last.weight": right},
        "got wrong=['norm.weight: (7,) instead of (6,)']": {norm: torch.ones(7)},
        "the file's weights must be floating-point numbers": {norm: right.int()},
        "all weights must be finite; got wrong=['norm.weight']": {norm: right * torch.inf},
    }
    for words, changes in wrong.items():
        tensors = {name: t for name, t in (state | changes).items() if t is not None}
        save_file(tensors, path, metadata())
        with pytest.raises(ValueError, match=re.escape(words)):
            load_gpt(path)


def test_no_file_is_told(path):
    with pytest.raises(ValueError, match="there must be a file of a GPT; got path="):
        load_gpt(path)
    path.write_bytes(b"PK\x03\x04 no tensors here")
    with pytest.raises(ValueError, match="the file must be whole safetensors; got"):
        load_gpt(path)
