"""Checkpoints by name: every tensor in its place, every fault listed, nothing half-loaded."""

import json
import re
from dataclasses import replace

import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torch.testing import assert_close

from softlookup.models import BERT, GPT, BERTConfig, GPTConfig
from softlookup.models.bert import parameter_count as bert_count
from softlookup.models.gpt import parameter_count as gpt_count
from softlookup.models.pretrained import BERTTokenizer, GPT2Tokenizer, load_bert, load_gpt2
from softlookup.models.pretrained.bert_tokenizer import SPECIAL_TOKENS, bert_words
from softlookup.models.pretrained.checkpoint import (
    Part,
    fill,
    known_activation,
    read_checkpoint,
    require_same,
    require_settings,
)
from softlookup.models.pretrained.gpt2_tokenizer import byte_characters
from softlookup.tokenization import BytePairTokenizer

CONFIG = GPTConfig(17, 13, 10, 5, 2, d_ff=7, activation="gelu_tanh")
BERT_CONFIG = BERTConfig(17, 13, 10, 5, 2, d_ff=7, n_segments=3)
SETTINGS = {
    "model_type": "gpt2",
    "vocab_size": 17,
    "n_positions": 13,
    "n_embd": 10,
    "n_head": 5,
    "n_layer": 2,
    "n_inner": 7,
    "resid_pdrop": 0.25,
}
BERT_SETTINGS = {
    "model_type": "bert",
    "vocab_size": 17,
    "max_position_embeddings": 13,
    "hidden_size": 10,
    "num_attention_heads": 5,
    "num_hidden_layers": 2,
    "intermediate_size": 7,
    "type_vocab_size": 3,
    "hidden_dropout_prob": 0.25,
}


@pytest.fixture
def gpt2_tensors(generator):
    """Names and shapes as the package transformers writes them, numbers at random."""
    shapes = {"wte.weight": (17, 10), "wpe.weight": (13, 10)}
    for i in range(2):
        shapes |= {
            f"h.{i}.ln_1.weight": (10,), f"h.{i}.ln_1.bias": (10,),
            f"h.{i}.attn.c_attn.weight": (10, 30), f"h.{i}.attn.c_attn.bias": (30,),
            f"h.{i}.attn.c_proj.weight": (10, 10), f"h.{i}.attn.c_proj.bias": (10,),
            f"h.{i}.ln_2.weight": (10,), f"h.{i}.ln_2.bias": (10,),
            f"h.{i}.mlp.c_fc.weight": (10, 7), f"h.{i}.mlp.c_fc.bias": (7,),
            f"h.{i}.mlp.c_proj.weight": (7, 10), f"h.{i}.mlp.c_proj.bias": (10,),
        }  # fmt: skip
    shapes |= {"ln_f.weight": (10,), "ln_f.bias": (10,)}
    return {
        f"transformer.{name}": torch.randn(shape, generator=generator)
        for name, shape in shapes.items()
    }


@pytest.fixture
def bert_tensors(generator):
    shapes = {
        "bert.embeddings.word_embeddings.weight": (17, 10),
        "bert.embeddings.position_embeddings.weight": (13, 10),
        "bert.embeddings.token_type_embeddings.weight": (3, 10),
        "cls.predictions.bias": (17,),
    }
    layers = {"bert.embeddings.LayerNorm": (10,), "cls.predictions.transform.dense": (10, 10),
              "cls.predictions.transform.LayerNorm": (10,)}  # fmt: skip
    for i in range(2):
        at = f"bert.encoder.layer.{i}"
        layers |= {f"{at}.attention.self.{name}": (10, 10) for name in ("query", "key", "value")}
        layers |= {f"{at}.attention.output.dense": (10, 10), f"{at}.intermediate.dense": (7, 10),
                   f"{at}.output.dense": (10, 7), f"{at}.attention.output.LayerNorm": (10,),
                   f"{at}.output.LayerNorm": (10,)}  # fmt: skip
    for name, shape in layers.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


# each tensor in its place


def test_where_gpt2_s_tensors_go(gpt2_tensors):
    model = load_gpt2(gpt2_tensors, CONFIG)
    block, prefix = model.blocks[1], "transformer.h.1."
    stacked = torch.cat([getattr(block.self_attention.layer, f"W_{x}").weight for x in "QKV"])
    assert stacked.mT.equal(gpt2_tensors[prefix + "attn.c_attn.weight"])
    biases = gpt2_tensors[prefix + "attn.c_attn.bias"]
    assert block.self_attention.layer.W_K.bias.equal(biases[10:20])
    inner = gpt2_tensors[prefix + "mlp.c_fc.weight"]
    assert block.feed_forward.layer.W_1.weight.equal(inner.mT)
    assert block.self_attention.norm.weight.equal(gpt2_tensors[prefix + "ln_1.weight"])
    assert block.feed_forward.norm.bias.equal(gpt2_tensors[prefix + "ln_2.bias"])
    assert model.norm.weight.equal(gpt2_tensors["transformer.ln_f.weight"])
    assert sum(p.numel() for p in model.parameters()) == gpt_count(CONFIG)
    assert not model.training


def test_where_bert_s_tensors_go(bert_tensors):
    model = load_bert(bert_tensors, BERT_CONFIG)
    block, prefix = model.blocks[1], "bert.encoder.layer.1."
    for letter, name in zip("QKV", ("query", "key", "value"), strict=True):
        layer = getattr(block.self_attention.layer, f"W_{letter}")
        assert layer.weight.equal(bert_tensors[f"{prefix}attention.self.{name}.weight"])
    norm = bert_tensors[f"{prefix}attention.output.LayerNorm.bias"]
    assert block.self_attention.norm.bias.equal(norm)
    assert block.feed_forward.norm.bias.equal(bert_tensors[f"{prefix}output.LayerNorm.bias"])
    assert model.head.W.weight.equal(bert_tensors["cls.predictions.transform.dense.weight"])
    assert sum(p.numel() for p in model.parameters()) == bert_count(BERT_CONFIG)
    assert not model.training


@pytest.mark.parametrize("prefix", ["transformer.", ""])
def test_names_with_and_without_prefix(gpt2_tensors, prefix):
    expected = load_gpt2(gpt2_tensors, CONFIG).state_dict()
    renamed = {prefix + name.removeprefix("transformer."): t for name, t in gpt2_tensors.items()}
    found = load_gpt2(renamed, CONFIG).state_dict()
    assert found.keys() == expected.keys()
    assert all(found[name].equal(expected[name]) for name in expected)


def test_the_model_has_copies(gpt2_tensors):
    """Neither the checkpoint nor two parameters share memory: training changes one alone."""
    before = {name: tensor.clone() for name, tensor in gpt2_tensors.items()}
    model = load_gpt2(gpt2_tensors, CONFIG)
    places = [p.untyped_storage().data_ptr() for p in model.parameters()]
    assert len(set(places)) == len(places)
    with torch.no_grad():
        for parameter in model.parameters():
            assert parameter.requires_grad
            assert parameter.is_contiguous()
            parameter.add_(1.0)
    assert all(tensor.equal(before[name]) for name, tensor in gpt2_tensors.items())


def test_loading_draws_no_random_numbers(gpt2_tensors):
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    load_gpt2(gpt2_tensors, CONFIG)
    assert torch.rand(1).equal(expected)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_dtype_is_kept(gpt2_tensors, dtype):
    tensors = {name: tensor.to(dtype) for name, tensor in gpt2_tensors.items()}
    model = load_gpt2(tensors, CONFIG)
    assert {p.dtype for p in model.parameters()} == {dtype}
    assert model.embedding.weight.equal(tensors["transformer.wte.weight"])


def test_a_window_is_no_matter_of_weights(gpt2_tensors, generator):
    ids = torch.randint(17, (2, 11), generator=generator)
    windowed = load_gpt2(gpt2_tensors, replace(CONFIG, window=3))
    whole = load_gpt2(gpt2_tensors, CONFIG)
    assert_close(windowed(ids)[:, :3], whole(ids)[:, :3])
    assert not torch.allclose(windowed(ids)[:, 5:], whole(ids)[:, 5:])


def test_a_trained_gpt_survives_the_way_there_and_back(gpt2_tensors, generator):
    """Ours to their names, by hand, and back."""

    def written(layer, kind):
        values = getattr(layer, kind).detach()
        return values.mT if values.ndim == 2 else values

    model = GPT(CONFIG)
    state = {}
    for part in (name for name in gpt2_tensors if ".h." not in name):
        ours = {"wte": "embedding", "wpe": "position_embedding.embedding", "ln_f": "norm"}
        _, name, kind = part.split(".")
        state[part] = model.get_parameter(f"{ours[name]}.{kind}").detach()
    for i, block in enumerate(model.blocks):
        attention, thought = block.self_attention, block.feed_forward
        layers = {"ln_1": attention.norm, "ln_2": thought.norm, "attn.c_proj": attention.layer.W_O,
                  "mlp.c_fc": thought.layer.W_1, "mlp.c_proj": thought.layer.W_2}  # fmt: skip
        for name, layer in layers.items():
            for kind in ("weight", "bias"):
                state[f"transformer.h.{i}.{name}.{kind}"] = written(layer, kind)
        three = [getattr(attention.layer, f"W_{letter}") for letter in "QKV"]
        for kind in ("weight", "bias"):
            pieces = [written(layer, kind) for layer in three]
            state[f"transformer.h.{i}.attn.c_attn.{kind}"] = torch.cat(pieces, dim=-1)
    ids = torch.randint(17, (3, 11), generator=generator)
    assert_close(load_gpt2(state, CONFIG)(ids), model.eval()(ids))


# what may be there, and what may not


def test_buffers_are_left_out(gpt2_tensors, bert_tensors):
    for i in range(2):
        gpt2_tensors[f"transformer.h.{i}.attn.bias"] = torch.ones(1, 1, 13, 13)
        gpt2_tensors[f"transformer.h.{i}.attn.masked_bias"] = torch.tensor(-1e4)
    gpt2_tensors["lm_head.weight"] = gpt2_tensors["transformer.wte.weight"]
    load_gpt2(gpt2_tensors, CONFIG)
    bert_tensors["bert.embeddings.position_ids"] = torch.arange(13)
    bert_tensors["bert.pooler.dense.weight"] = torch.zeros(10, 10)
    bert_tensors["bert.pooler.dense.bias"] = torch.zeros(10)
    bert_tensors["cls.seq_relationship.bias"] = torch.zeros(2)
    load_bert(bert_tensors, BERT_CONFIG)


def test_only_these_are_left_out(gpt2_tensors, bert_tensors):
    gpt2_tensors["transformer.h.0.attn.bias_2"] = torch.zeros(1)
    gpt2_tensors["transformer.h.0.mlp.bias"] = torch.zeros(1)
    rule = "extra=['transformer.h.0.attn.bias_2', 'transformer.h.0.mlp.bias'], misshapen=[]"
    with pytest.raises(ValueError, match=re.escape(rule)):
        load_gpt2(gpt2_tensors, CONFIG)
    bert_tensors["bert.pooler.bias"] = torch.zeros(1)
    with pytest.raises(ValueError, match=re.escape("missing=[], extra=['bert.pooler.bias']")):
        load_bert(bert_tensors, BERT_CONFIG)


def test_one_message_lists_all_faults(gpt2_tensors):
    del gpt2_tensors["transformer.wpe.weight"]
    del gpt2_tensors["transformer.h.1.ln_2.bias"]
    gpt2_tensors["transformer.h.2.ln_1.weight"] = torch.zeros(10)
    gpt2_tensors["transformer.h.0.attn.c_attn.weight"] = torch.zeros(30, 10)
    message = (
        "the checkpoint must fit the model; "
        "got missing=['transformer.wpe.weight', 'transformer.h.1.ln_2.bias'], "
        "extra=['transformer.h.2.ln_1.weight'], "
        "misshapen=['transformer.h.0.attn.c_attn.weight: (30, 10) instead of (10, 30)']"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        load_gpt2(gpt2_tensors, CONFIG)


def test_a_model_stays_as_it_was():
    """Nothing is half-loaded, even where only the last of the tensors does not fit."""
    layer = nn.Linear(3, 5)
    before = {name: p.clone() for name, p in layer.named_parameters()}
    parts = [Part("w", ("weight",)), Part("b", ("bias",))]
    for bias in (torch.zeros(7), torch.zeros(5, dtype=torch.float64), torch.zeros(5).int()):
        with pytest.raises(ValueError, match=r"the checkpoint must fit|one floating-point dtype"):
            fill(layer, parts, {"w": torch.zeros(5, 3), "b": bias})
        assert all(p.equal(before[name]) for name, p in layer.named_parameters())
    fill(layer, parts, {"w": torch.zeros(5, 3), "b": torch.ones(5)})
    assert layer.bias.eq(1).all()


@pytest.mark.parametrize("ours", [["weight"], ["weight", "strange"], ["weight", "bias", "bias"]])
def test_parts_that_are_not_those_of_the_model(ours):
    parts = [Part(name, (name,)) for name in ours]
    tensors = {"weight": torch.zeros(5, 3), "bias": torch.zeros(5)}
    rule = f"parts must name each parameter of the model once; got parts={sorted(ours)}, model=["
    with pytest.raises(ValueError, match=re.escape(rule)):
        fill(nn.Linear(3, 5), parts, tensors)


def test_two_names_of_one_prefix(gpt2_tensors):
    gpt2_tensors["ln_f.bias"] = gpt2_tensors["transformer.ln_f.bias"]
    with pytest.raises(ValueError, match=re.escape("extra=['ln_f.bias']")):
        load_gpt2(gpt2_tensors, CONFIG)


def test_a_config_of_another_size(gpt2_tensors):
    with pytest.raises(ValueError, match=r"extra=\['transformer\.h\.1\.ln_1\.weight', .*\]"):
        load_gpt2(gpt2_tensors, replace(CONFIG, n_layers=1))
    with pytest.raises(ValueError, match=r"wpe\.weight: \(13, 10\) instead of \(11, 10\)"):
        load_gpt2(gpt2_tensors, replace(CONFIG, context=11))


def test_tables_that_are_not_tied(gpt2_tensors, bert_tensors):
    gpt2_tensors["lm_head.weight"] = torch.zeros(17, 10)
    rule = r"transformer\.wte\.weight and lm_head\.weight must be equal"
    with pytest.raises(ValueError, match=rule):
        load_gpt2(gpt2_tensors, CONFIG)
    untied = load_gpt2(gpt2_tensors, replace(CONFIG, tie=False))
    assert untied.unembedding.weight.eq(0).all()
    for name, shape in (("weight", (17, 10)), ("bias", (17,))):
        wrong = {**bert_tensors, f"cls.predictions.decoder.{name}": torch.zeros(shape)}
        rule = rf"{name} and cls\.predictions\.decoder\.{name} must be equal"
        with pytest.raises(ValueError, match=rule.replace("bias and", r"predictions\.bias and")):
            load_bert(wrong, BERT_CONFIG)
    require_same({"a": torch.zeros(2)}, "a", "b")


def test_a_head_that_is_not_there(bert_tensors):
    encoder = {name: t for name, t in bert_tensors.items() if name.startswith("bert.")}
    bare = {name.removeprefix("bert."): t for name, t in encoder.items()}
    without = replace(BERT_CONFIG, head=False)
    assert load_bert(encoder, without).head is None
    assert load_bert(bare, without).embedding.weight.equal(
        bare["embeddings.word_embeddings.weight"]
    )
    with pytest.raises(ValueError, match=r"missing=\['cls\.predictions\.transform\.dense\.weight'"):
        load_bert(encoder, BERT_CONFIG)
    with pytest.raises(ValueError, match=r"extra=\['cls\.predictions\.bias', "):
        load_bert(bert_tensors, without)


@pytest.mark.parametrize(
    ("name", "value"),
    [("positions", "rotary"), ("norm_first", False), ("norm", "rms"), ("gated", True),
     ("bias", False), ("qk_norm", True), ("n_kv_heads", 1)],
)  # fmt: skip
def test_a_config_of_another_kind(gpt2_tensors, name, value):
    shown = {"n_kv_heads": "kv_heads"}.get(name, name)
    with pytest.raises(ValueError, match=f"{shown} must be .* in a GPT-2; got {shown}={value!r}"):
        load_gpt2(gpt2_tensors, replace(CONFIG, **{name: value}))


def test_without_a_config(gpt2_tensors, bert_tensors, tmp_path):
    for load, tensors in ((load_gpt2, gpt2_tensors), (load_bert, bert_tensors)):
        with pytest.raises(ValueError, match=r"without a config\.json, give a config"):
            load(tensors)
        save_file(tensors, tmp_path / "model.safetensors")
        with pytest.raises(ValueError, match=r"without a config\.json, give a config"):
            load(tmp_path)


@pytest.mark.parametrize(("size", "d_model"), [("small", 768), ("xl", 1600)])
def test_a_published_gpt2_is_known_by_its_table(size, d_model):
    """With the head count of that size; the rest of its tensors are missing here."""
    table = torch.zeros(1, dtype=torch.float32).expand(50_257, d_model)
    n_layers = GPTConfig.gpt2(size).n_layers
    with pytest.raises(ValueError, match=r"missing=\['wpe\.weight', .*'ln_f\.bias'\]") as error:
        load_gpt2({"wte.weight": table})
    assert f"'h.{n_layers - 1}.ln_1.weight'" in str(error.value)
    assert f"'h.{n_layers}.ln_1.weight'" not in str(error.value)
    with pytest.raises(ValueError, match=r"without a config\.json, give a config"):
        load_gpt2({"wte.weight": table[1:]})


# files


@pytest.fixture
def folder(gpt2_tensors, tmp_path):
    save_file(gpt2_tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(SETTINGS))
    return tmp_path


def test_a_folder_and_its_settings(folder, gpt2_tensors):
    model = load_gpt2(str(folder))
    assert model.config == replace(CONFIG, dropout=0.25)
    expected = load_gpt2(gpt2_tensors, CONFIG).state_dict()
    assert all(tensor.equal(expected[name]) for name, tensor in model.state_dict().items())
    assert load_gpt2(folder, replace(CONFIG, window=3)).config.window == 3


def test_bert_s_settings(bert_tensors, tmp_path):
    save_file(bert_tensors, tmp_path / "model.safetensors")
    settings = BERT_SETTINGS | {"hidden_act": "gelu_new", "layer_norm_eps": 0.1}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    expected = replace(BERT_CONFIG, dropout=0.25, activation="gelu_tanh", eps=0.1)
    assert load_bert(tmp_path).config == expected


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.3, 0.9, 0.9999])
def test_a_file_cut_short(folder, share):
    path = folder / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(
        ValueError, match=r"model\.safetensors must be a whole safetensors file; got"
    ):
        load_gpt2(folder)


def test_no_file(tmp_path):
    rule = r"there must be a safetensors file; got file='model\.safetensors'"
    with pytest.raises(ValueError, match=rule):
        load_gpt2(tmp_path)
    with pytest.raises(ValueError, match=r"there must be a safetensors file; got file='gpt\.bin'"):
        load_bert(tmp_path / "gpt.bin")


def test_nothing_is_unpickled(gpt2_tensors, tmp_path):
    """A pickle under the name of a safetensors file is refused, not opened."""
    torch.save(gpt2_tensors, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="must be a whole safetensors file"):
        load_gpt2(tmp_path, CONFIG)


@pytest.mark.parametrize("text", ['{"n_layer": 2', "\udcff"])
def test_settings_cut_short(folder, text):
    (folder / "config.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=r"config\.json must be a whole JSON file; got"):
        load_gpt2(folder)
    (folder / "config.json").write_text("[]")
    with pytest.raises(ValueError, match=r"config\.json must hold names and values"):
        load_gpt2(folder)


@pytest.mark.parametrize("name", ["vocab_size", "n_positions", "n_embd", "n_head", "n_layer"])
def test_settings_that_are_missing(folder, name):
    settings = {key: value for key, value in SETTINGS.items() if key != name}
    (folder / "config.json").write_text(json.dumps(settings))
    with pytest.raises(
        ValueError, match=rf"config\.json must be complete; got missing=\['{name}'\]"
    ):
        load_gpt2(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [("model_type", "llama"), ("scale_attn_weights", False), ("add_cross_attention", True),
     ("scale_attn_by_inverse_layer_idx", True)],
)  # fmt: skip
def test_settings_that_we_do_not_have(folder, name, value):
    (folder / "config.json").write_text(json.dumps(SETTINGS | {name: value}))
    with pytest.raises(
        ValueError, match=rf"{name} must be .* in config\.json; got {name}={value!r}"
    ):
        load_gpt2(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [("model_type", "gpt2"), ("position_embedding_type", "relative_key"), ("is_decoder", True)],
)
def test_settings_of_bert_that_we_do_not_have(bert_tensors, tmp_path, name, value):
    save_file(bert_tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(BERT_SETTINGS | {name: value}))
    with pytest.raises(
        ValueError, match=rf"{name} must be .* in config\.json; got {name}={value!r}"
    ):
        load_bert(tmp_path)


@pytest.mark.parametrize(("name", "value"), [("n_embd", "10"), ("n_layer", 0), ("resid_pdrop", 2)])
def test_settings_that_are_no_config(folder, name, value):
    """What stands in a file is checked as if the reader had written it."""
    (folder / "config.json").write_text(json.dumps(SETTINGS | {name: value}))
    with pytest.raises(ValueError, match=rf"must be .*; got .*={value!r}"):
        load_gpt2(folder)


def test_an_activation_that_we_do_not_have(folder):
    (folder / "config.json").write_text(json.dumps(SETTINGS | {"activation_function": "mish"}))
    with pytest.raises(
        ValueError, match=r"the activation must be one of gelu, .*activation='mish'"
    ):
        load_gpt2(folder)
    assert known_activation("gelu") == "gelu"
    assert known_activation("swish") == "silu"


def test_settings_left_out_in_old_files():
    require_settings({"a": 1}, "a", b=3)
    with pytest.raises(ValueError, match=r"b must be 3 in config\.json; got b=5"):
        require_settings({"b": 5}, b=3)


def test_read_checkpoint_gives_both(folder, gpt2_tensors):
    tensors, settings = read_checkpoint(folder)
    assert settings == SETTINGS
    assert tensors.keys() == gpt2_tensors.keys()
    (folder / "config.json").unlink()
    assert read_checkpoint(folder / "model.safetensors").settings is None


def test_a_bert_is_no_gpt2(bert_tensors):
    with pytest.raises(ValueError, match="the checkpoint must fit the model"):
        load_gpt2(bert_tensors, CONFIG)
    assert isinstance(load_bert(bert_tensors, BERT_CONFIG), BERT)


# GPT-2's tokenizer


def published(merges, special=("<|endoftext|>",)):
    """A vocabulary in GPT-2's order: bytes that are visible, the others, merges, special tokens."""
    characters = byte_characters()
    visible = [c for byte, c in enumerate(characters) if c == chr(byte)]
    hidden = [c for byte, c in enumerate(characters) if c != chr(byte)]
    names = [*visible, *hidden, *(left + right for left, right in merges), *special]
    return {name: id_ for id_, name in enumerate(names)}


MERGES = [("o", "w"), ("Ġ", "l"), ("Ġl", "ow"), ("e", "r")]


def test_bytes_as_gpt2_writes_them():
    characters = byte_characters()
    assert len(set(characters)) == 256
    assert "".join(characters[0x21:0x7F]) == "".join(map(chr, range(0x21, 0x7F)))
    assert [characters[b] for b in b" \n\x00\x7f\xa0\xad"] == ["Ġ", "Ċ", "Ā", "ġ", "ł", "Ń"]
    assert all(c.isprintable() for c in characters)


def test_ids_by_hand():
    """GPT-2 numbers the visible bytes from 0: "!" is 0, "A" 32, "a" 64."""
    tokenizer = GPT2Tokenizer(published(MERGES), MERGES)
    assert tokenizer.encode("!Aa") == [0, 32, 64]
    assert tokenizer.encode("ow low lower") == [256, 258, 258, 259]
    assert tokenizer.encode(" l") == [257]
    assert tokenizer.encode(" ") == [220]
    assert tokenizer.decode([258, 259, 0]) == " lower!"
    assert tokenizer.special_tokens == {"<|endoftext|>": 260}
    assert tokenizer.encode("a<|endoftext|>", allowed_special="all") == [64, 260]
    assert tokenizer.decode([260]) == "<|endoftext|>"
    assert len(tokenizer) == 261
    assert tokenizer.encode("") == []


def test_other_special_tokens():
    ids = published(MERGES, ("<pad>", "<end>"))
    tokenizer = GPT2Tokenizer(ids, MERGES, ["<end>", "<pad>"])
    assert tokenizer.special_tokens == {"<end>": 261, "<pad>": 260}
    assert tokenizer.encode("a<pad>", allowed_special=["<pad>"]) == [64, 260]
    assert tokenizer.decode([261, 260]) == "<end><pad>"
    with pytest.raises(ValueError, match=r"got missing=\[\], extra=\['<pad>'\]"):
        GPT2Tokenizer(ids, MERGES, ["<end>"])


def test_cuts_are_those_of_gpt2():
    """Digits stay together with their space, and a short form is cut off."""
    merges = [("1", "2"), ("12", "3"), ("123", "4"), ("'", "s"), ("Ġ", "1234"), ("s", "Ġ")]
    tokenizer = GPT2Tokenizer(published(merges), merges)
    assert [tokenizer.decode([id_]) for id_ in tokenizer.encode("it's 1234")] == [
        "i", "t", "'s", " 1234",
    ]  # fmt: skip


def test_it_numbers_what_our_own_tokenizer_cuts():
    text = "low lower newer newer lowest 1234 ..."
    inner = BytePairTokenizer.train([text], 270)
    characters = byte_characters()
    names = ["".join(characters[byte] for byte in token) for token in inner.token_bytes]
    merges = [(names[left], names[right]) for left, right in inner.merges]
    tokenizer = GPT2Tokenizer(published(merges), merges)
    tokens = [tokenizer.decode([id_]) for id_ in tokenizer.encode("lower newer")]
    assert tokens == [inner.decode([id_]) for id_ in inner.encode("lower newer")]


def test_vocabularies_that_do_not_fit():
    good = published(MERGES)
    rule = r"the ids of the vocabulary must be 0, 1, 2, \.\.\., each once; got n_ids=261"
    with pytest.raises(ValueError, match=rule):
        GPT2Tokenizer(good | {"a": 65}, MERGES)
    rule = r"the bytes, the merges and the special tokens, .*; got missing=\['qz'\], extra=\[\]"
    with pytest.raises(ValueError, match=rule):
        GPT2Tokenizer(good, [*MERGES, ("q", "z")])
    few = {name: id_ for name, id_ in good.items() if id_ < 255}
    with pytest.raises(ValueError, match=r"nothing else; got missing=\['.*', '<.endoftext.>'\]"):
        GPT2Tokenizer(few, [])


def test_merges_that_do_not_fit():
    with pytest.raises(
        ValueError, match=r"merge 0 must be a pair of earlier tokens; got merge=\('"
    ):
        GPT2Tokenizer(published(MERGES), MERGES[2:])
    with pytest.raises(ValueError, match=r"merge 4 must make a new token; got merge=\('o', 'w'\)"):
        GPT2Tokenizer(published(MERGES), [*MERGES, ("o", "w")])


@pytest.mark.parametrize("wrong", [-1, 261])
def test_ids_that_stand_for_nothing(wrong):
    rule = rf"ids must be integers from 0 to 260; got wrong=\[{wrong}\]"
    with pytest.raises(ValueError, match=rule):
        GPT2Tokenizer(published(MERGES), MERGES).decode([3, wrong])


def test_files_that_are_none(tmp_path):
    ids, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    text = json.dumps(published(MERGES))
    lines = ["#version: 0.2", *(" ".join(pair) for pair in MERGES), ""]
    merges.write_text("\n".join(lines), encoding="utf-8")
    ids.write_text(text, encoding="utf-8")
    assert GPT2Tokenizer.from_files(ids, str(merges)).encode("low") == [75, 256]
    ids.write_text(text[:-9], encoding="utf-8")
    with pytest.raises(ValueError, match=r"vocab\.json must be a whole JSON file; got"):
        GPT2Tokenizer.from_files(ids, merges)
    ids.write_text("[]")
    with pytest.raises(ValueError, match=r"vocab\.json must hold names and ids"):
        GPT2Tokenizer.from_files(ids, merges)
    ids.write_text(text, encoding="utf-8")
    merges.write_text("\n".join(lines[1:]), encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"merges\.txt must begin with its version; got line='o w'"
    ):
        GPT2Tokenizer.from_files(ids, merges)
    merges.write_text("\n".join(lines[:3]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"nothing else; got missing=\[\], extra=\['er', 'Ġlow'\]"):
        GPT2Tokenizer.from_files(ids, merges)


# BERT's tokenizer

PIECES = ["[PAD]", "un", "##do", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "it", "'", "s", "deja", "##s"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("It's 3.14!", ["it", "'", "s", "3", ".", "14", "!"]),
        ("DÉJÀ e\u0301", ["deja", "e"]),
        ("a\tb\r\nc\u2028d", ["a", "b", "c", "d"]),
        ("a\0b\x07c\u200bd\ufffde\ue000f", ["abcdef"]),
        ("x東京y", ["x", "東", "京", "y"]),
        ("カ한", ["カ\u1112\u1161\u11ab"]),
        ("$5+`<|~^=>", ["$", "5", "+", "`", "<", "|", "~", "^", "=", ">"]),
        ("5€ ΟΔΟΣ", ["5€", "οδοσ"]),
    ],
)
def test_words_as_bert_cuts_them(text, words):
    """Only Chinese characters are cut apart; a sign of ASCII is punctuation, the euro is none."""
    assert bert_words(text) == words


def test_bert_s_ids_by_hand():
    tokenizer = BERTTokenizer(PIECES)
    assert tokenizer.encode("Undo it!") == [4, 1, 2, 7, 3, 5]
    assert tokenizer.encode("") == [4, 5]
    assert tokenizer.encode("un[MASK]dos it's[SEP]déjàs") == [4, 1, 6, 3, 7, 8, 9, 5, 10, 11, 5]
    assert tokenizer.decode([4, 1, 2, 11, 6, 8, 5]) == "[CLS] undos [MASK] ' [SEP]"
    assert tokenizer.special_tokens == {
        "[PAD]": 0, "[UNK]": 3, "[CLS]": 4, "[SEP]": 5, "[MASK]": 6,
    }  # fmt: skip
    assert len(tokenizer) == 12


def test_a_word_of_more_than_a_hundred_signs_is_unknown():
    tokenizer = BERTTokenizer([*SPECIAL_TOKENS, "s", "##s"])
    assert tokenizer.encode("s" * 100) == [2, 5, *[6] * 99, 3]
    assert tokenizer.encode("s" * 101) == [2, 1, 3]


def test_vocabularies_of_bert_that_do_not_fit():
    rule = r"the vocabulary must hold the special tokens; got missing=\['\[SEP\]', '\[MASK\]'\]"
    with pytest.raises(ValueError, match=rule):
        BERTTokenizer(["[PAD]", "[UNK]", "[CLS]", "a"])
    with pytest.raises(ValueError, match=r"must be distinct; got repeated=\['\[UNK\]'\]"):
        BERTTokenizer([*SPECIAL_TOKENS, "a", "[UNK]"])
    with pytest.raises(ValueError, match=r"a piece must hold at least one character; got empty"):
        BERTTokenizer([*SPECIAL_TOKENS, ""])


@pytest.mark.parametrize(
    "wrong",
    [
        -1,
        12,
    ],
)
def test_ids_that_stand_for_no_piece(wrong):
    rule = rf"ids must be integers from 0 to 11; got wrong=\[{wrong}\]"
    with pytest.raises(ValueError, match=rule):
        BERTTokenizer(PIECES).decode([4, wrong])


def test_texts_that_no_bytes_stand_for():
    with pytest.raises(ValueError, match="text must hold no lone surrogate; got position=1"):
        BERTTokenizer(PIECES).encode("a\ud800")
    with pytest.raises(ValueError, match="text must hold no lone surrogate; got position=0"):
        bert_words("\ud800")


@pytest.mark.bad_input
def test_what_is_no_text_or_no_vocabulary():
    with pytest.raises(ValueError, match="text must be a string"):
        BERTTokenizer(PIECES).encode(3)
    with pytest.raises(ValueError, match="tokens must be"):
        BERTTokenizer("[MASK]")


def test_a_file_of_pieces(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{piece}\n" for piece in [*PIECES, "\u2028x"]), encoding="utf-8")
    tokenizer = BERTTokenizer.from_file(path)
    assert len(tokenizer) == 13  # only a line feed ends a line
    assert tokenizer.encode("undo") == [4, 1, 2, 5]
    path.write_bytes("déjà".encode("latin-1"))
    with pytest.raises(ValueError, match=r"vocab\.txt must be a text in UTF-8; got"):
        BERTTokenizer.from_file(str(path))
    path.write_text("\n".join(["", *PIECES]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"a piece must hold at least one character; got empty"):
        BERTTokenizer.from_file(path)
