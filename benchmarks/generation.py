"""Writing 256 tokens with the cache of keys and values, against reading everything again each time.

Both write the same text, greedily, from one token on. What is compared is processor time.
"""

from dataclasses import replace

import torch
from timing import ratio
from torch import Tensor

from softlookup.language_models import Hypothesis, greedy
from softlookup.models import GPT, GPTConfig

N_TOKENS = 256
PLAIN = GPTConfig(65, context=N_TOKENS, d_model=128, n_heads=8, n_layers=4)
MODERN = GPTConfig.modern(65, N_TOKENS, 128, 8, 4)
MODELS = {
    "4 blocks of width 128: learned positions, LayerNorm, GELU": PLAIN,
    "rotary positions, RMSNorm, SwiGLU": MODERN,
    "the same, two heads of keys for eight": replace(MODERN, n_kv_heads=2),
    "the same, a window of 32": replace(MODERN, n_kv_heads=2, window=32),
    "6 blocks of width 384: learned positions, LayerNorm, GELU": replace(
        PLAIN, d_model=384, n_layers=6
    ),
}
GENERATION_HEADS = ["256 tokens", "time, to recomputing", "cache at the end, KB"]


def generation_row(name: str) -> list[str]:
    """One model: the time with the cache over the time without, and what the cache holds."""
    torch.manual_seed(0)
    model = GPT(MODELS[name]).eval()
    first = torch.zeros(1, 0, dtype=torch.int64)

    def recompute(tokens: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        ids = torch.cat((ids, tokens.unsqueeze(-1)), dim=-1)
        return model(ids)[:, -1], ids

    def with_cache() -> list[Hypothesis]:
        return greedy(model.step, model.start(first), bos=1, eos=None, max_length=N_TOKENS)

    def without() -> list[Hypothesis]:
        return greedy(recompute, first, bos=1, eos=None, max_length=N_TOKENS)

    texts = [write()[0].ids for write in (with_cache, without)]
    if texts[0] != texts[1]:
        raise AssertionError(f"{name}: the two write different texts")
    cache = model.start(torch.tensor([[1, *texts[0][:-1]]]))
    share = ratio(with_cache, without, budget=0.0, least=5)
    print(f"generation | {name} | {share:.2g} of recomputing | {cache.n_bytes / 2**10:.0f} KB")
    return [name, f"{share:.2g}", f"{cache.n_bytes / 2**10:,.0f}"]


def generation_rows() -> list[list[str]]:
    """One row per model."""
    return [generation_row(name) for name in MODELS]


if __name__ == "__main__":
    torch.set_num_threads(1)
    generation_rows()
