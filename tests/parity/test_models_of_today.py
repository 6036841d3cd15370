"""What chapter 18 quotes of published models is what transformers' configuration classes say."""

import ast
import json
from pathlib import Path

import pytest

transformers = pytest.importorskip("transformers")

CHAPTER = Path(__file__).resolve().parents[2] / "chapters" / "18_modern_attention.ipynb"


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
    "Olmo 3 7B": "Olmo3Config",
    "Qwen3-Next": "Qwen3NextConfig",
    "Kimi Linear": "KimiLinearConfig",
    "MiniMax-M2": "MiniMaxM2Config",
    "DeepSeek-V3.2": "DeepseekV32Config",
    "DeepSeek-V4-Flash": "DeepseekV4Config",
}


def config(model):
    if not hasattr(transformers, CONFIGS[model]):
        pytest.skip(f"this transformers does not know {CONFIGS[model]}")
    return getattr(transformers, CONFIGS[model])()


def experts(given):
    for name in ("num_local_experts", "n_routed_experts", "num_experts"):
        if getattr(given, name, None):
            return f"{given.num_experts_per_tok} of {getattr(given, name)}"
    return "dense"


def test_every_model_of_the_table_is_looked_up():
    assert set(TODAY) == set(CONFIGS)


@pytest.mark.parametrize("model", CONFIGS)
def test_layers_and_experts(model):
    given = config(model)
    n_layers, _, _, said = TODAY[model]
    assert n_layers == given.num_hidden_layers
    assert said == experts(given)


def test_kinds_of_layers():
    kinds = config("gpt-oss-120b").layer_types
    assert kinds == ["sliding_attention", "full_attention"] * 18
    assert TODAY["gpt-oss-120b"][1] == f"window {config('gpt-oss-120b').sliding_window}, full"
    olmo = config("Olmo 3 7B")
    assert olmo.layer_types == (["sliding_attention"] * 3 + ["full_attention"]) * 8
    assert TODAY["Olmo 3 7B"][1] == f"3 window {olmo.sliding_window:,}, full"
    assert olmo.num_key_value_heads == olmo.num_attention_heads
    qwen = config("Qwen3-Next")
    assert qwen.layer_types == (["linear_attention"] * 3 + ["full_attention"]) * 12
    assert TODAY["Qwen3-Next"][2] == f"{qwen.num_key_value_heads} kv heads"
    kimi = config("Kimi Linear").layer_types
    assert 0.7 < kimi.count("linear_attention") / len(kimi) < 0.8


def test_what_stands_besides():
    assert TODAY["MiniMax-M2"][2] == f"{config('MiniMax-M2').num_key_value_heads} kv heads"
    chosen = config("DeepSeek-V3.2")
    assert TODAY["DeepSeek-V3.2"][1] == f"best {chosen.index_topk:,} keys"
    assert chosen.kv_lora_rank + chosen.qk_rope_head_dim == 576  # what the text says of its cache
    assert config("Kimi Linear").kv_lora_rank > 0
    packed = config("DeepSeek-V4-Flash")
    assert sorted(packed.compress_rates.values()) == [4, 128]
    assert TODAY["DeepSeek-V4-Flash"][1] == "4 keys in 1, 128 in 1"
    assert TODAY["DeepSeek-V4-Flash"][2] == f"window {packed.sliding_window}"


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
