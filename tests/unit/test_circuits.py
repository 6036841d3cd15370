"""Attribution and circuits: sums and tables equal to loops over the model's own parts."""

import pytest
import torch
from torch.testing import assert_close

from softlookup.analysis import (
    capture,
    composition_score,
    copying_score,
    logit_attribution,
    norm_matrix,
    ov_circuit,
    ov_matrices,
    qk_circuit,
    score_matrices,
    stream_writes,
    unembedding_of,
)
from softlookup.attention import GroupedQueryAttention, MultiHeadAttention
from softlookup.layers import LayerNorm, RMSNorm
from softlookup.models import GPT, GPTConfig

f64 = torch.float64
IDS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
KINDS = [
    {},
    {"positions": "rotary", "tie": False},
    {"norm": "rms", "bias": False, "n_kv_heads": 1, "gated": True, "activation": "silu"},
]


@pytest.fixture(autouse=True)
def _seed():
    """The layers draw their weights from the global generator."""
    torch.manual_seed(3)


def small_gpt(**options):
    """Two layers of two heads, with weights that are not small."""
    model = GPT(GPTConfig(11, 13, 12, 2, 2, 7, **options)).double()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.3 * torch.randn_like(p))
    return model.eval()


# attribution


@pytest.mark.parametrize("options", KINDS)
def test_the_parts_sum_to_the_scores(options):
    model = small_gpt(**options)
    assert_close(sum(logit_attribution(model, IDS).values()), model(IDS))


def test_the_parts_are_named_in_the_order_of_writing():
    layers = [[f"{k}.0", f"{k}.1", f"{k} bias", f"{k} ffn"] for k in (0, 1)]
    assert list(stream_writes(small_gpt(), IDS)) == ["embedding", *layers[0], *layers[1]]
    assert list(logit_attribution(small_gpt(), IDS))[-1] == "shift"
    without = logit_attribution(small_gpt(**KINDS[2]), IDS)
    assert list(without) == ["embedding", *(n for n in layers[0] + layers[1] if "bias" not in n)]


def test_each_write_equals_loops_over_tokens_and_heads():
    model = small_gpt()
    writes = stream_writes(model, IDS)
    assert_close(
        writes["embedding"], model.embedding(IDS) + model.position_embedding.embedding.weight[:5]
    )
    layer = model.blocks[1].self_attention.layer
    with capture(model) as seen:
        model(IDS)
    weights = seen["blocks.1.self_attention.layer.weights"]
    read = model.blocks[1].self_attention.norm(seen["blocks.0.feed_forward.stream"])
    values = layer.W_V(read)
    for head in (0, 1):
        columns = slice(6 * head, 6 * head + 6)
        for text in (0, 1):
            for i in range(5):
                mixed = sum(weights[text, head, i, j] * values[text, j, columns] for j in range(5))
                row = layer.W_O.weight[:, columns] @ mixed
                assert_close(writes[f"1.{head}"][text, i], row)
    assert_close(writes["1 ffn"], seen["blocks.1.feed_forward.write"])
    assert_close(writes["1 bias"][1, 3], layer.W_O.bias)


def test_each_score_is_its_write_through_the_last_norm():
    model = small_gpt()
    writes, scores = stream_writes(model, IDS), logit_attribution(model, IDS)
    rows = sum(writes.values())
    for text in (0, 1):
        for i in range(5):
            spread = (rows[text, i].var(correction=0) + model.norm.eps).sqrt()
            write = writes["0.1"][text, i]
            normed = (write - write.mean()) / spread * model.norm.weight
            assert_close(scores["0.1"][text, i], normed @ model.embedding.weight.mT)
    assert_close(scores["shift"][0, 0], model.norm.bias @ model.embedding.weight.mT)


def test_attribution_refuses():
    with pytest.raises(ValueError, match="in post-norm the stream is no sum"):
        stream_writes(small_gpt(norm_first=False), IDS)
    with pytest.raises(ValueError, match="dropout would change the sum"):
        logit_attribution(small_gpt().train(), IDS)


# circuits


@pytest.mark.parametrize("norm", [LayerNorm(7), RMSNorm(7)])
def test_a_norm_is_its_matrix_divided_by_the_spread(norm):
    norm = norm.double()
    with torch.no_grad():
        norm.weight.copy_(torch.linspace(-1, 2, 7))
    x = torch.randn(5, 7, dtype=f64)
    centred = x - x.mean(-1, keepdim=True) if isinstance(norm, LayerNorm) else x
    spread = (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt()
    assert_close(x @ norm_matrix(norm) / spread, norm(x))


@pytest.mark.parametrize("layer", [MultiHeadAttention(6, 3), GroupedQueryAttention(6, 3)])
def test_a_token_that_reads_itself_writes_by_the_matrices(layer):
    layer = layer.double()
    with torch.no_grad():
        layer.W_V.bias.zero_()
        layer.W_O.bias.zero_()
    x = torch.randn(5, 6, dtype=f64)
    assert_close(x @ ov_matrices(layer).sum(0), layer(x, mask=torch.eye(5, dtype=torch.bool)))


def test_heads_that_share_values_share_their_matrix():
    layer = GroupedQueryAttention(8, 4, n_kv_heads=2, bias=False).double()
    found = ov_matrices(layer)
    for head in range(4):
        shared = layer.W_V.weight.mT[:, 2 * (head // 2) : 2 * (head // 2) + 2]
        assert_close(found[head], shared @ layer.W_O.weight.mT[2 * head : 2 * head + 2])


@pytest.mark.parametrize("options", KINDS)
def test_the_ov_circuit_equals_a_loop_over_tokens(options):
    model = small_gpt(**options)
    part = model.blocks[1].self_attention
    found = ov_circuit(model, 1, 1)
    out = model.embedding if model.unembedding is None else model.unembedding
    for a in range(11):
        read = model.embedding.weight[a] @ norm_matrix(part.norm)
        write = read @ ov_matrices(part.layer)[1] @ norm_matrix(model.norm)
        for b in range(11):
            assert_close(found[a, b], write @ out.weight[b])


def test_the_qk_circuit_holds_the_scores_of_a_model_without_biases():
    """Layer 0 reads normalized embeddings: up to the spreads, its scores are the circuit."""
    model = small_gpt(positions="none", bias=False)
    table, part = model.embedding.weight, model.blocks[0].self_attention
    centred = table - table.mean(-1, keepdim=True)
    spread = (centred.square().mean(-1) + part.norm.eps).sqrt()
    with capture(model) as seen:
        model(IDS)
    for head in (0, 1):
        circuit = qk_circuit(model, 0, head) / spread[:, None] / spread
        scores = circuit[IDS[0]][:, IDS[0]]
        scores = scores.masked_fill(~torch.ones(5, 5).tril().bool(), -torch.inf)
        expected = seen["blocks.0.self_attention.layer.weights"][0, head]
        assert_close(scores.softmax(-1), expected)


def test_rotary_circuits_know_the_distance():
    model = small_gpt(positions="rotary", tie=False, bias=False)
    table, part = model.embedding.weight, model.blocks[0].self_attention
    inside = norm_matrix(part.norm)
    queries, keys = (table @ inside @ w.weight.mT[:, 6:] for w in (part.layer.W_Q, part.layer.W_K))
    for distance in (0, 1, 5):
        found = qk_circuit(model, 0, 1, distance=distance)
        for a in range(11):
            q = model.rotary(queries[a : a + 1], torch.tensor([distance + 2]))
            k = model.rotary(keys, torch.full((11,), 2))
            assert_close(found[a], (q @ k.mT)[0] / 6**0.5)
    assert (found - qk_circuit(model, 0, 1)).abs().max() > 0.1


def test_keys_may_be_what_an_earlier_head_writes():
    model = small_gpt(positions="none")
    first, second = (block.self_attention for block in model.blocks)
    written = model.embedding.weight @ norm_matrix(first.norm) @ ov_matrices(first.layer)[1]
    found = qk_circuit(model, 1, 0, keys=written)
    inside = norm_matrix(second.norm)
    scores = inside @ score_matrices(second.layer)[0] @ inside.mT
    assert_close(found, model.embedding.weight @ scores @ written.mT / 6**0.5)


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({"norm_first": False}, (0, 0), "in post-norm the stream is no sum"),
        ({}, (2, 0), "there is no such layer; got layer=2, n_layers=2"),
        ({}, (0, 2), "there is no such head; got head=2, n_heads=2"),
    ],
)
def test_circuits_refuse(options, arguments, message):
    for circuit in (ov_circuit, qk_circuit):
        with pytest.raises(ValueError, match=message):
            circuit(small_gpt(**options), *arguments)


def test_the_qk_circuit_refuses():
    with pytest.raises(ValueError, match="normalized queries are not linear"):
        qk_circuit(small_gpt(qk_norm=True), 0, 0)
    with pytest.raises(ValueError, match="there must be a row for each token"):
        qk_circuit(small_gpt(), 0, 0, keys=torch.zeros(3, 12, dtype=f64))


def test_the_composition_score_equals_loops():
    write, read = torch.randn(3, 5, dtype=f64), torch.randn(5, 2, dtype=f64)
    product = [
        [sum(write[i, k] * read[k, j] for k in range(5)) for j in range(2)] for i in range(3)
    ]
    sizes = [sum(float(x) ** 2 for row in m for x in row) for m in (product, write, read)]
    expected = torch.tensor((sizes[0] / sizes[1] / sizes[2]) ** 0.5, dtype=f64)
    assert_close(composition_score(write, read), expected)


def test_what_is_written_where_nobody_reads_scores_0():
    write, read = torch.zeros(4, 4), torch.zeros(4, 4)
    write[:, :2], read[2:] = 1, 1
    assert composition_score(write, read) == 0
    with pytest.raises(ValueError, match="a matrix of zeros writes and reads nothing"):
        composition_score(write, torch.zeros(4, 4))


def test_copying_by_hand():
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]])  # eigenvalues i and -i
    assert copying_score(turn).abs() < 1e-6
    assert_close(copying_score(torch.tensor([[1.0, 2.0], [2.0, 1.0]])), torch.tensor(0.5))  # 3, -1
    with pytest.raises(ValueError, match="without eigenvalues copies nothing"):
        copying_score(torch.zeros(3, 3))
    with pytest.raises(ValueError, match="each entry must be finite"):
        copying_score(torch.full((2, 2), torch.nan))


def test_the_unembedding_is_the_table_that_scores():
    tied, apart = small_gpt(), small_gpt(tie=False)
    rows = torch.randn(1, 12, dtype=f64)
    assert_close(rows @ unembedding_of(tied), rows @ tied.embedding.weight.mT)
    assert_close(rows @ unembedding_of(apart), rows @ apart.unembedding.weight.mT)
