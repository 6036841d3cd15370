"""safetensors in JavaScript: the files are those of the Python package, and damage is refused."""

import dataclasses
import json
import struct

import pytest
import torch
from safetensors.torch import load, save

from softlookup.models import GPT, GPTConfig, load_gpt, save_gpt

BROWSERS = ("chromium", "firefox")

CONFIG = GPTConfig.quick(5, 12, 8, 4, 2)
LETTERS = ["a", "\n", '"', "γ", "\U0001f600"]
READ = "engine.readSafetensors(Uint8Array.from(data))"


@pytest.fixture(scope="module")
def engine(functions_of):
    """Runs JavaScript on the page that holds the engine."""
    call = functions_of("engine/engine.js")
    return lambda code, data=None: call("const {engine} = maths;" + code, data)


def refused(engine, content):
    code = f"try {{ {READ}; return null; }} catch (error) {{ return error.message; }}"
    return engine(code, list(content))


def with_head(head, data=b"\0\0\0\0"):
    words = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack("<Q", len(words)) + words + data


def test_what_python_writes_is_read(engine):
    chance = torch.Generator().manual_seed(1)
    wide = 10.0 ** torch.randint(-8, 8, (3, 5), generator=chance)
    special = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, 6e-8, -6.1e-5, 65504.0, 1 / 3])
    tensors = {
        "wide": torch.randn(3, 5, generator=chance) * wide,
        "half": torch.cat([torch.randn(9, generator=chance), special]).half(),
        "none": torch.ones(0, 4),
        "one": torch.tensor(7.5),
    }
    content = save(tensors, {"words": '"γάτα"\n'})
    found, shapes, kinds, texts = engine(
        f"""const {{tensors, metadata}} = {READ};
        const each = (f) => Object.fromEntries(
            Object.entries(tensors).map(([name, tensor]) => [name, f(tensor)]));
        return [each(({{numbers}}) => Array.from(numbers)), each(({{shape}}) => shape),
            each(({{dtype}}) => dtype), metadata];""",
        list(content),
    )
    assert texts == {"words": '"γάτα"\n'}
    assert kinds == {"wide": "F32", "half": "F16", "none": "F32", "one": "F32"}
    assert shapes == {name: list(tensor.shape) for name, tensor in tensors.items()}
    for name, tensor in tensors.items():
        assert found[name] == tensor.flatten().tolist(), name


def test_a_file_without_texts_is_read(engine):
    assert engine(f"return {READ}.metadata", list(save({"x": torch.ones(2)}))) == {}


def test_python_reads_what_is_written(engine):
    numbers = [0.1, -2.5, 3e-30, 7.0, 0.0, 1e9]
    data = {"numbers": numbers, "words": "γάτα", "long": "x" * 13}
    content = engine(
        """return Array.from(engine.writeSafetensors({
            matrix: {shape: [2, 3], numbers: Float32Array.from(data.numbers)},
            list: {shape: [6], numbers: data.numbers},
            none: {shape: [0], numbers: []},
        }, {words: data.words, long: data.long}))""",
        data,
    )
    found = load(bytes(content))
    assert sorted(found) == ["list", "matrix", "none"]
    expected = torch.tensor(numbers)
    assert torch.equal(found["matrix"], expected.reshape(2, 3))
    assert torch.equal(found["list"], expected)
    head = json.loads(bytes(content)[8 : 8 + struct.unpack("<Q", bytes(content[:8]))[0]])
    assert head["__metadata__"] == {"words": "γάτα", "long": "x" * 13}
    again = engine(f"return Array.from({READ}.tensors.matrix.numbers)", content)
    assert again == expected.tolist()


def test_a_model_goes_from_python_to_the_page_and_back(engine, tmp_path):
    path = tmp_path / "gpt.safetensors"
    model = GPT(CONFIG)
    save_gpt(path, model, LETTERS)
    ids = torch.tensor([[3, 1, 4, 1, 0]])
    scores, content = engine(
        """const {tensors, metadata} = engine.readSafetensors(Uint8Array.from(data.content));
        const weights = Object.entries(tensors).map(([name, {numbers}]) => [name, numbers]);
        const twin = new engine.GPT(JSON.parse(metadata.config));
        twin.load(Object.fromEntries(weights));
        const own = [...twin.parameters].map(
            ([name, {shape, data}]) => [name, {shape, numbers: data}]);
        const texts = {...metadata, config: JSON.stringify(twin.config)};
        return [Array.from(twin.forward(data.ids)[0]),
            Array.from(engine.writeSafetensors(Object.fromEntries(own), texts))];""",
        {"content": list(path.read_bytes()), "ids": ids.tolist()},
    )
    with torch.no_grad():
        expected = model(ids).flatten().tolist()
    assert scores == pytest.approx(expected, abs=1e-5)
    path.write_bytes(bytes(content))
    found, tokens = load_gpt(path)
    assert tokens == LETTERS
    assert dataclasses.replace(found.config, n_kv_heads=1) == CONFIG
    for name, tensor in model.state_dict().items():
        assert torch.equal(found.state_dict()[name], tensor), name


def test_a_file_cut_short_anywhere_is_refused(engine):
    content = save({"x": torch.ones(3, 2), "y": torch.ones(2)}, {"of": "ones"})
    messages = engine(
        """const all = Uint8Array.from(data);
        return data.map((_, n) => {
            try { engine.readSafetensors(all.slice(0, n)); return "read"; }
            catch (error) { return error.message; }
        });""",
        list(content),
    )
    assert len(messages) == len(content)
    rules = {message.split(";")[0] for message in messages}
    assert rules <= {
        "the file must be whole safetensors",
        "x must lie in the file as its shape says",
        "y must lie in the file as its shape says",
    }


ONE = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
DAMAGED = {
    "no head": (with_head(b""), "the file must be safetensors"),
    "no JSON": (with_head(b"{"), "the file must be safetensors"),
    "no text": (with_head(b"\xff\xfe"), "the file must be safetensors"),
    "a list": (with_head([ONE]), "the file must be safetensors"),
    "a zip": (b"PK\x03\x04" + b"\x11" * 60, "the file must be whole safetensors"),
    "a number for text": (with_head({"__metadata__": {"a": 1}}), "the metadata of the file"),
    "a list of texts": (with_head({"__metadata__": ["a"]}), "the file must be safetensors"),
    "another kind": (
        with_head({"x": ONE | {"dtype": "I64"}}), 'x must be of the kind F16 or F32; got dtype='
    ),
    "a kind of every object": (
        with_head({"x": ONE | {"dtype": "toString"}}), "x must be of the kind F16 or F32"
    ),
    "another shape": (with_head({"x": ONE | {"shape": [2]}}), "x must lie in the file"),
    "a gap": (with_head({"x": ONE | {"data_offsets": [4, 8]}}, b"\0" * 8), "x must lie"),
    "over another": (with_head({"x": ONE, "y": ONE}), "y must lie in the file as its shape says"),
    "too much": (with_head({"x": ONE}, b"\0" * 8), "the file must be whole safetensors"),
    "too little": (with_head({"x": ONE}, b"\0" * 3), "x must lie in the file as its shape says"),
    "no places": (with_head({"x": {"dtype": "F32", "shape": [1]}}), "x must be described"),
    "half a size": (with_head({"x": ONE | {"shape": [0.5]}}), "x must be described"),
    "a word": (with_head({"x": "tensor"}), "x must be described"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_refused_in_words(engine, name):
    content, words = DAMAGED[name]
    message = refused(engine, content)
    assert message is not None
    assert message.startswith(words)


def test_numbers_must_fit_their_shape(engine):
    message = engine(
        """try { engine.writeSafetensors({x: {shape: [2, 2], numbers: [1, 2, 3]}}); }
        catch (error) { return error.message; }"""
    )
    assert message.startswith("x must have as many numbers as its shape says; got n=3")
