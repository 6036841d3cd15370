"""nn.Transformer with the same weights, both norm orders; it has norms behind both stacks."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from softlookup.attention.positions import sinusoidal
from softlookup.masks import causal_mask, padding_mask
from softlookup.models import Transformer, TransformerConfig
from softlookup.models.encoder_decoder import parameter_counts

LENGTHS, TARGET_LENGTHS = [13, 2, 7], [5, 11, 3]
EXACT = {"rtol": 1e-10, "atol": 1e-10}
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor:UserWarning")
orders = pytest.mark.parametrize("norm_first", [True, False], ids=["pre-norm", "post-norm"])


def config_for(norm_first, **options):
    sizes = {"d_model": 10, "n_heads": 5, "d_ff": 7, "n_encoder_layers": 2, "n_decoder_layers": 3}
    return TransformerConfig(
        17, **{**sizes, "dropout": 0.0, "norm_first": norm_first, "attention_bias": True,
               "final_norm": True, **options}
    )  # fmt: skip


def copied_into(peer, model):
    """PyTorch's model with a copy of our weights, stack by stack and block by block."""
    state = {}

    def take(prefix, part):
        state.update({f"{prefix}.{name}": p.detach() for name, p in part.named_parameters()})

    for side, attentions in (
        ("encoder", {"self_attention": "self_attn"}),
        ("decoder", {"self_attention": "self_attn", "cross_attention": "multihead_attn"}),
    ):
        take(f"{side}.norm", getattr(model, f"{side}_norm"))
        for i, block in enumerate(getattr(model, side)):
            at = f"{side}.layers.{i}"
            for ours, theirs in attentions.items():
                layer = getattr(block, ours).layer
                projections = (layer.W_Q, layer.W_K, layer.W_V)
                for kind in ("weight", "bias"):
                    stacked = torch.cat([getattr(w, kind).detach() for w in projections])
                    state[f"{at}.{theirs}.in_proj_{kind}"] = stacked
                take(f"{at}.{theirs}.out_proj", layer.W_O)
            take(f"{at}.linear1", block.feed_forward.layer.W_1)
            take(f"{at}.linear2", block.feed_forward.layer.W_2)
            for j, name in enumerate([*attentions, "feed_forward"], start=1):
                take(f"{at}.norm{j}", getattr(block, name).norm)
    peer.load_state_dict(state)
    return peer


@orders
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("tie", ["all", "none"])
def test_forward_and_the_gradient_of_the_tables(generator, norm_first, activation, tie):
    config = config_for(norm_first, activation=activation, tie=tie)
    model = Transformer(config).double()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape, generator=generator) / p.shape[-1] ** 0.5)
    peer = nn.Transformer(
        10, 5, 2, 3, 7, dropout=0.0, activation=activation, batch_first=True,
        norm_first=norm_first, dtype=torch.float64,
    )  # fmt: skip
    peer = copied_into(peer, model)
    source = torch.randint(17, (3, 13), generator=generator)
    target = torch.randint(17, (3, 11), generator=generator)
    filler = ~padding_mask(LENGTHS, 13).squeeze(1)
    target_filler = ~padding_mask(TARGET_LENGTHS, 11).squeeze(1)

    table, source_table, output = model.embedding.weight, model.embedding.weight, None
    if tie == "none":
        source_table, output = model.source_embedding.weight, model.unembedding.weight
    rows = [
        e[ids] * math.sqrt(10) + sinusoidal(ids.shape[1], 10, dtype=torch.float64)
        for e, ids in ((source_table, source), (table, target))
    ]
    out = peer(
        *rows, tgt_mask=~causal_mask(11), src_key_padding_mask=filler,
        tgt_key_padding_mask=target_filler, memory_key_padding_mask=filler,
    )  # fmt: skip
    expected = out @ (table if output is None else output).mT

    ours = model(source, LENGTHS, target, TARGET_LENGTHS)
    assert_close(ours, expected, **EXACT)
    tables = [p for name, p in model.named_parameters() if "embedding" in name]
    assert len(tables) == (1 if tie == "all" else 3)
    found = torch.autograd.grad(ours.square().sum(), tables)
    wanted = torch.autograd.grad(expected.square().sum(), tables)
    assert_close(found, wanted, **EXACT)


def test_pytorch_s_base_model_has_more_parameters():
    """`base-big-param-counts`: 44,140,544 = core + 36,864 attention biases + 2,048 final norms."""
    with torch.device("meta"):
        peer = nn.Transformer(512, 8, 6, 6, 2048)
    count = sum(p.numel() for p in peer.parameters())
    core = parameter_counts(TransformerConfig.base(37_000)).core
    assert count == 44_140_544 == core + 36_864 + 2_048
    same = TransformerConfig(37_000, attention_bias=True, final_norm=True)
    assert parameter_counts(same).core == count
