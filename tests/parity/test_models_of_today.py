"""What the book quotes of published models is what transformers' configuration classes say."""

import ast
import importlib
import json
from pathlib import Path

import pytest
import torch

import registry

transformers = pytest.importorskip("transformers")

CHAPTER = registry.by_name()["modern_attention"].path


def table(cell_id, name):
    """The dictionary that a cell of the chapter assigns to a name."""
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    source = next("".join(cell["source"]) for cell in cells if cell["id"] == cell_id)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            return ast.literal_eval(node.value)
    raise LookupError(name)


TODAY = table("today-run", "today")
CONFIGS = {
    "gpt-oss-120b": "GptOssConfig",
    "Olmo Hybrid 7B": "OlmoHybridConfig",
    "Qwen3.5-35B-A3B": "Qwen3_5MoeTextConfig",
    "GLM-5": "GlmMoeDsaConfig",
    "DeepSeek-V4-Flash": "DeepseekV4Config",
    "GLM-5.3-Flash": "Glm5NextTextConfig",
    "Inkling-2-Small": "Inkling2TextConfig",
}
LATENT = ("GLM-5", "GLM-5.3-Flash")


def known(name):
    """A configuration class with its defaults; an older transformers may not have it yet."""
    if not hasattr(transformers, name):
        pytest.skip(f"this transformers does not know {name}")
    return getattr(transformers, name)()


def config(model):
    return known(CONFIGS[model])


def reads(model):
    return TODAY[model][1]


def experts(given):
    for name in ("num_local_experts", "n_routed_experts", "num_experts"):
        if getattr(given, name, None):
            return f"{given.num_experts_per_tok} of {getattr(given, name)}"
    return "dense"


def test_every_model_of_the_table_is_looked_up():
    assert set(TODAY) == set(CONFIGS)


@pytest.mark.parametrize("model", CONFIGS)
def test_layers_heads_and_experts(model):
    given = config(model)
    n_layers, _, keeps, said = TODAY[model]
    assert n_layers == given.num_hidden_layers
    kept = given.num_key_value_heads
    shared = "latent" if model in LATENT else f"{kept} head{'s' * (kept > 1)}"
    assert keeps.removesuffix(", sink") == shared
    assert not hasattr(given, "kv_lora_rank") or model in LATENT
    assert said == experts(given)


def test_windows_with_a_full_layer_in_between():
    given = config("gpt-oss-120b")
    assert given.layer_types == ["sliding_attention", "full_attention"] * 18
    assert reads("gpt-oss-120b") == f"window {given.sliding_window}, full"
    given = config("Inkling-2-Small")  # "hybrid": a short convolution beside the attention
    assert given.layer_types == (["hybrid_sliding"] * 5 + ["hybrid"]) * 8
    assert reads("Inkling-2-Small") == f"5 window {given.sliding_window_size:,}, full"


@pytest.mark.parametrize("model", ["Olmo Hybrid 7B", "Qwen3.5-35B-A3B"])
def test_linear_layers_with_a_full_one_in_between(model):
    kinds = config(model).layer_types
    assert kinds == (["linear_attention"] * 3 + ["full_attention"]) * (len(kinds) // 4)
    assert reads(model) == "3 linear, full"


def test_layers_that_choose_what_they_read():
    given = config("GLM-5")
    assert set(given.layer_types) == {"indexed_attention"}
    assert reads("GLM-5") == f"best {given.index_topk:,} keys"
    given = config("GLM-5.3-Flash")
    assert given.layer_types[:4] == ["linear_attention"] * 3 + ["indexed_attention"]
    assert set(given.layer_types[3::4]) == {"indexed_attention"}
    assert given.layer_types.count("indexed_attention") == 11
    n_pools = given.index_topk // given.index_kpool  # neighbours are chosen together
    assert reads("GLM-5.3-Flash") == f"3 linear, best {n_pools} × {given.index_kpool} keys"
    assert getattr(config("GLM-5"), "index_kpool", 1) == 1
    given = config("DeepSeek-V4-Flash")
    rates = {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
    assert given.compress_rates == rates
    assert given.index_topk > 0  # the first kind chooses among its packed keys
    assert reads("DeepSeek-V4-Flash") == f"packed keys, window {given.sliding_window}"


@pytest.mark.parametrize("model", CONFIGS)
def test_a_learned_sink_is_a_key_without_a_value(model):
    """In the code: one more score beside the others, whose weight is dropped after the softmax."""
    module = type(config(model)).__module__.replace("configuration_", "modeling_")
    path = Path(transformers.__file__).parent / ("/".join(module.split(".")[1:]) + ".py")
    has_sink = "torch.cat([attn_weights, sinks], dim=-1)" in path.read_text(encoding="utf-8")
    assert has_sink == ("sink" in TODAY[model][2])


def test_linear_layers_are_the_delta_rule_with_a_gate():
    for model in ("Olmo Hybrid 7B", "Qwen3.5-35B-A3B"):
        module = type(config(model)).__module__.replace("configuration_", "modeling_")
        assert hasattr(importlib.import_module(module), "torch_recurrent_gated_delta_rule")
    module = type(config("GLM-5.3-Flash")).__module__.replace("configuration_", "modeling_")
    recurrent = importlib.import_module(module).recurrent_kimi_delta_attention
    row, state = torch.ones(1, 1, 1, 3), torch.ones(1, 1, 3, 2)
    gates = torch.tensor([0.5, 0.25, 1.0])  # one for each row of the state
    given = row, row, torch.ones(1, 1, 1, 2), gates.log().view(1, 1, 1, 3), torch.zeros(1, 1, 1)
    _, faded = recurrent(*given, initial_state=state, output_final_state=True)
    torch.testing.assert_close(faded[0, 0], gates.unsqueeze(-1).expand(3, 2))


def test_the_positions_that_chapter_19_says_models_use():
    assert sum(hasattr(config(model), "rope_parameters") for model in CONFIGS) == 5
    for name in ("LlamaConfig", "MistralConfig", "GptOssConfig"):
        assert known(name).rope_parameters["rope_theta"] > 0
    assert config("gpt-oss-120b").rope_parameters["rope_type"] == "yarn"
    for name in ("BertConfig", "OpenAIGPTConfig", "GPT2Config"):
        assert known(name).max_position_embeddings > 0  # rows of the learned table
        assert not hasattr(known(name), "rope_parameters")
    assert known("T5Config").relative_attention_num_buckets == 32
    assert known("MptConfig").attn_config.alibi
    bloom = type(known("BloomConfig")).__module__.replace("configuration_", "modeling_")
    assert hasattr(importlib.import_module(bloom), "build_alibi_tensor")


def test_why_one_model_is_left_out():
    """Its class has a choice of blocks, and is set to read everything."""
    given = known("MiniMaxM3VLTextConfig")
    assert (given.index_topk_blocks, given.index_block_size) == (16, 128)
    assert given.layer_types == ["full_attention"] * 60


def test_what_the_text_says_of_others():
    assert not hasattr(known("MiniMaxM2Config"), "index_topk_blocks")
    assert "linear" not in str(getattr(known("MiniMaxM2Config"), "layer_types", ""))
    kimi = known("Kimi_K25Config").text_config
    assert kimi.model_type == "deepseek_v3"
    assert not hasattr(kimi, "index_topk")
    assert kimi.kv_lora_rank + kimi.qk_rope_head_dim == 576  # DeepSeek-V3's numbers a layer


def test_the_caches_table_has_the_shapes_of_two_of_its_models():
    published = table("cache-models-run", "published")
    for name, given in (
        ("Mistral 7B (2023)", transformers.MistralConfig()),
        ("gpt-oss-120b (2025)", transformers.GptOssConfig()),
    ):
        d_head = getattr(given, "head_dim", None) or given.hidden_size // given.num_attention_heads
        heads = (given.num_attention_heads, given.num_key_value_heads, d_head)
        assert published[name] == (given.num_hidden_layers, *heads)
    assert transformers.MistralConfig().sliding_window == 4096
