"""Peers of the parts: masked softmax, norms, gates, experts, masks, paths, schedules, counts."""

import networkx
import numpy as np
import pytest
import scipy.special
import sklearn.metrics
import sklearn.preprocessing
import torch
import torch.nn.functional as F
import transformers
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from torch import nn
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.llama.modeling_llama import LlamaMLP
from transformers.models.mixtral.modeling_mixtral import (
    MixtralSparseMoeBlock,
    MixtralTopKRouter,
    load_balancing_loss_func,
)
from transformers.models.qwen3_5_moe.modeling_qwen3_5_moe import torch_recurrent_gated_delta_rule

from softlookup.analysis import captured_variance, token_cosine
from softlookup.attention import (
    attention_multiplications,
    critical_path,
    gaussian_process_weights,
    gaussian_scores,
    graph_mask,
    lookup_weights,
    path_lengths,
    projection_multiplications,
    recurrent_multiplications,
)
from softlookup.attention.efficient import (
    LatentAttention,
    delta_attention,
    delta_step,
    online_softmax,
    sliding_mask,
    softmax_plus_one,
    stream_attention,
    streaming_mask,
    tiled_attention,
    window_attention,
)
from softlookup.attention.positions import alibi_slopes
from softlookup.layers import (
    GatedFeedForward,
    MixtureOfExperts,
    balance_loss,
    layer_norm,
    rms_norm,
    route,
)
from softlookup.models import bert, gpt, vit
from softlookup.ops import masked_softmax, unit_vectors
from softlookup.training import inverse_sqrt, warmup_cosine, warmup_stable_decay
from softlookup.words import (
    document_frequency,
    inverse_document_frequency,
    k_means,
    logistic_gradient,
    logistic_loss,
    softmax_gradient,
    softmax_loss,
    token_scores,
)
from softlookup.words.word2vec import analogy

EXACT = {"rtol": 1e-12, "atol": 1e-12}
F64 = torch.float64
seeds = st.integers(0, 2**32 - 1)


def normal(seed, *shape):
    return torch.randn(shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


# rows


@given(seed=seeds, n=st.integers(1, 7))
def test_masked_softmax_is_scipy_s_over_the_scores_that_are_left(seed, n):
    scores, mask = 10 * normal(seed, 5, n), normal(seed + 1, 5, n) < 0.3
    expected = torch.zeros(5, n, dtype=F64)
    for row, allowed, into in zip(scores, mask, expected, strict=True):
        if allowed.any():
            into[allowed] = torch.from_numpy(scipy.special.softmax(row[allowed].numpy()))
    assert_close(masked_softmax(scores, mask), expected, **EXACT)


@given(seed=seeds, n=st.integers(1, 7), tile=st.integers(1, 8))
def test_online_softmax_is_pytorch_s(seed, n, tile):
    scores = 10 * normal(seed, 3, n)
    assert_close(online_softmax(scores, tile=tile), torch.softmax(scores, dim=-1), **EXACT)


@given(seed=seeds, sink=st.floats(-3, 3))
def test_softmax_plus_one_is_pytorch_s_with_one_more_score(seed, sink):
    scores = normal(seed, 3, 5)
    expected = torch.softmax(F.pad(scores, (1, 0), value=sink), dim=-1)[:, 1:]
    assert_close(softmax_plus_one(scores, sink=sink), expected, **EXACT)


@given(seed=seeds)
def test_lookup_weights_are_pytorch_s_softmax(seed):
    scores = normal(seed, 3, 5)
    assert_close(lookup_weights(scores), torch.softmax(scores, dim=-1), **EXACT)


@given(seed=seeds, scale=st.sampled_from([1e-3, 1.0, 1e3]))
def test_unit_vectors_are_pytorch_s_and_scikit_learn_s(seed, scale):
    x = scale * normal(seed, 5, 7)
    x[2] = 0
    assert_close(unit_vectors(x), F.normalize(x, dim=-1), **EXACT)
    assert_close(unit_vectors(x), torch.from_numpy(sklearn.preprocessing.normalize(x)), **EXACT)


@pytest.mark.parametrize(
    ("ours", "theirs", "n"), [(layer_norm, F.layer_norm, 3), (rms_norm, F.rms_norm, 2)]
)
@given(seed=seeds, eps=st.sampled_from([1e-8, 1e-5, 0.3]))
def test_norms_are_pytorch_s_and_so_are_their_gradients(ours, theirs, n, seed, eps):
    given = [normal(seed, 5, 7), normal(seed + 1, 7), normal(seed + 2, 7)][:n]
    found = []
    for norm in (ours, lambda x, *rest, eps: theirs(x, (7,), *rest, eps=eps)):
        leaves = [x.clone().requires_grad_() for x in given]
        out = norm(*leaves, eps=eps)
        found.append([out, *torch.autograd.grad(out, leaves, normal(seed + 3, 5, 7))])
    assert_close(*found, rtol=1e-10, atol=1e-12)


# layers


@pytest.mark.parametrize("activation", ["silu", "gelu", "relu"])
def test_the_gated_layer_is_llama_s(generator, activation):
    torch.manual_seed(5)
    ours = GatedFeedForward(6, 7, activation=activation).double()
    sizes = {"hidden_size": 6, "intermediate_size": 7, "num_attention_heads": 1}
    theirs = LlamaMLP(transformers.LlamaConfig(**sizes, hidden_act=activation)).double()
    names = {"gate_proj": ours.W_gate, "up_proj": ours.W_1, "down_proj": ours.W_2}
    theirs.load_state_dict({f"{name}.weight": layer.weight for name, layer in names.items()})
    x = torch.randn(2, 3, 6, dtype=F64, generator=generator)
    assert_close(ours(x), theirs(x), **EXACT)


def mixtral(layer: MixtureOfExperts) -> MixtralSparseMoeBlock:
    """Mixtral's block with the weights of our layer."""
    experts = layer.experts
    config = transformers.MixtralConfig(
        hidden_size=layer.router.in_features,
        intermediate_size=experts[0].W_1.out_features,
        num_local_experts=len(experts),
        num_experts_per_tok=layer.k,
        num_attention_heads=1,
    )
    block = MixtralSparseMoeBlock(config).double().eval()
    with torch.no_grad():
        block.gate.weight.copy_(layer.router.weight)
        both = [torch.cat([e.W_gate.weight, e.W_1.weight]) for e in experts]
        block.experts.gate_up_proj.copy_(torch.stack(both))
        block.experts.down_proj.copy_(torch.stack([e.W_2.weight for e in experts]))
    return block


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_mixture_of_experts_is_mixtral_s(generator, k):
    """Mixtral's router shares out its weights in float32."""
    torch.manual_seed(k)
    options = {"n_experts": 5, "k": k, "activation": "silu", "gated": True, "bias": False}
    layer = MixtureOfExperts(3, 7, **options).double()
    x = torch.randn(2, 11, 3, dtype=F64, generator=generator)
    assert_close(layer(x), mixtral(layer)(x), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_routes_and_the_price_on_favourites_are_mixtral_s(generator, k):
    """Mixtral divides by the number of tokens, the paper and we by that of assignments."""
    scores = torch.randn(11, 5, generator=generator)
    sizes = {"hidden_size": 5, "num_local_experts": 5, "num_experts_per_tok": k}
    router = MixtralTopKRouter(transformers.MixtralConfig(**sizes, num_attention_heads=1))
    with torch.no_grad():
        router.weight.copy_(torch.eye(5))
    _, weights, experts = router(scores)
    found = route(scores, k)
    assert found.experts.equal(experts)
    assert_close(found.weights, weights)
    assert_close(balance_loss(scores, k), load_balancing_loss_func((scores,), 5, k) / k)


# masks and their attention


@st.composite
def streams(draw):
    """query, key and value of one text; the width of a window; how many sinks."""
    seed, n, width = draw(seeds), draw(st.integers(1, 11)), draw(st.integers(1, 7))
    query, key, value = (normal(seed + k, 2, n, d) for k, d in enumerate((3, 3, 5)))
    return (query, key, value), width, draw(st.integers(0, 3))


def band(n, width, sinks=0):
    """The mask of a window with sinks, from NumPy's triangles."""
    mask = np.tril(np.ones((n, n), dtype=bool)) & np.triu(np.ones((n, n), dtype=bool), 1 - width)
    mask[:, :sinks] = np.tril(np.ones((n, n), dtype=bool))[:, :sinks]
    return torch.from_numpy(mask)


@given(stream=streams())
def test_windows_and_sinks_are_numpy_s_triangles(stream):
    (query, _, _), width, sinks = stream
    n = query.shape[-2]
    assert sliding_mask(n, width).equal(band(n, width))
    assert streaming_mask(n, width, sinks).equal(band(n, width, sinks))


@given(stream=streams())
def test_windows_streams_and_tiles_are_scaled_dot_product_attention(stream):
    qkv, width, sinks = stream
    n = qkv[0].shape[-2]
    fused = F.scaled_dot_product_attention
    assert_close(window_attention(*qkv, width), fused(*qkv, band(n, width)), **EXACT)
    steps = stream_attention(*qkv, width, n_sinks=sinks)
    out = torch.stack([step.out for step in steps], dim=-2)
    assert_close(out, fused(*qkv, band(n, width, sinks)), **EXACT)
    assert_close(tiled_attention(*qkv, tile=width), fused(*qkv), **EXACT)
    causal = tiled_attention(*qkv, causal=True, tile=width)
    assert_close(causal, fused(*qkv, is_causal=True), **EXACT)


@given(seed=seeds, n=st.integers(1, 11), chunk=st.integers(1, 7))
def test_the_delta_rule_is_that_of_qwen_without_a_gate(seed, n, chunk):
    """Theirs computes in float32, divides queries by the root of d_k, and has heads and batches."""
    query, key, value = (normal((seed + k) % 2**32, 1, n, 2, d) for k, d in enumerate((3, 3, 5)))
    key, rate = unit_vectors(key), normal((seed + 3) % 2**32, 1, n, 2).sigmoid()
    theirs, last = torch_recurrent_gated_delta_rule(
        query * 3**0.5, key, value, torch.zeros_like(rate), rate, output_final_state=True
    )
    ours = delta_attention(*(x.transpose(1, 2) for x in (query, key, value, rate)), chunk=chunk)
    assert_close(theirs.transpose(1, 2).double(), ours, rtol=1e-5, atol=1e-5)
    state = None
    for t in range(n):
        _, state = delta_step(query[:, t], key[:, t], value[:, t], rate[:, t], state)
    assert_close(last.double(), state, rtol=1e-5, atol=1e-5)


@given(seed=seeds, n=st.integers(1, 7))
@pytest.mark.parametrize("form", ["unfolded", "absorbed"])
def test_latent_attention_is_scaled_dot_product_attention_of_unfolded_rows(form, seed, n):
    layer = LatentAttention(d_model=7, n_heads=3, d_head=5, d_latent=2).double()
    x = normal(seed, 2, n, 7)
    latent = x @ layer.W_DKV.weight.mT
    query, key, value = (
        (rows @ W.weight.mT).view(2, n, 3, 5).transpose(1, 2)
        for rows, W in ((x, layer.W_Q), (latent, layer.W_UK), (latent, layer.W_UV))
    )
    read = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    expected = read.transpose(1, 2).reshape(2, n, 15) @ layer.W_O.weight.mT
    found = layer(x, mask=torch.ones(n, n).tril().bool(), form=form)
    assert_close(found, expected, **EXACT)


@given(n=st.integers(1, 40))
def test_slopes_of_alibi_are_bloom_s(n):
    """BLOOM keeps them in float32; its bias at position 1 is the slope itself."""
    theirs = build_alibi_tensor(torch.ones(1, 2, dtype=torch.long), n, torch.float32)
    assert_close(alibi_slopes(n, dtype=torch.float32), theirs[:, 0, 1])


# graphs and counts


@given(seed=seeds, n=st.integers(1, 11), share=st.floats(0, 1))
def test_the_mask_of_a_graph_is_networkx_s(seed, n, share):
    graph = networkx.gnp_random_graph(n, share, seed=seed)
    adjacency = torch.from_numpy(networkx.to_numpy_array(graph, range(n), dtype=bool))
    assert graph_mask(n, graph.edges, self_loops=False).equal(adjacency)
    assert graph_mask(n, graph.edges).equal(adjacency | torch.eye(n, dtype=torch.bool))


@given(seed=seeds, n=st.integers(1, 11), share=st.floats(0, 1))
def test_paths_are_networkx_s(seed, n, share):
    """An edge of NetworkX leads from what is read to what reads it."""
    noise = torch.rand(n, n, generator=torch.Generator().manual_seed(seed))
    reads = (noise < share).tril(-1)
    graph = networkx.from_numpy_array(reads.mT.numpy(), create_using=networkx.DiGraph)
    expected = torch.full((n, n), -1)
    for start, lengths in networkx.all_pairs_shortest_path_length(graph):
        for end, length in lengths.items():
            expected[end, start] = length
    assert path_lengths(reads).equal(expected)
    assert critical_path(reads) == networkx.dag_longest_path_length(graph, weight=None)


def flops(function, *inputs):
    """How many multiplications PyTorch counts."""
    with FlopCounterMode(display=False) as counter:
        function(*inputs)
    return counter.get_total_flops() / 2


def test_multiplications_are_those_that_pytorch_counts():
    query, key, value = torch.zeros(7, 3), torch.zeros(11, 3), torch.zeros(11, 5)
    counted = flops(lambda q, k, v: torch.softmax(q @ k.mT, dim=-1) @ v, query, key, value)
    assert attention_multiplications(7, 11, 3, 5) == counted
    layer = nn.MultiheadAttention(6, 2, batch_first=True, bias=False)
    x, context = torch.zeros(1, 7, 6), torch.zeros(1, 11, 6)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        counted = flops(layer, x, context, context)
    core = attention_multiplications(7, 11, 3, 3, n_heads=2)
    assert projection_multiplications(7, 11, 6) + core == counted
    assert recurrent_multiplications(7, 3, 5) == flops(nn.RNN(3, 5), torch.zeros(7, 3))


def test_parameters_are_as_many_as_transformers_has():
    sizes = {"hidden_size": 6, "num_attention_heads": 2, "intermediate_size": 11}
    layers = {"num_hidden_layers": 3}
    ours = {"d_model": 6, "n_heads": 2, "d_ff": 11, "n_layers": 3}
    config = transformers.BertConfig(
        vocab_size=13, max_position_embeddings=17, type_vocab_size=2, **sizes, **layers
    )
    theirs = transformers.BertForMaskedLM(config).num_parameters()
    mine = bert.BERTConfig(vocab_size=13, context=17, **ours)
    assert bert.parameter_count(mine) == theirs
    config = transformers.ViTConfig(
        image_size=8, patch_size=2, num_channels=3, num_labels=5, **sizes, **layers
    )
    theirs = transformers.ViTForImageClassification(config).num_parameters()
    mine = vit.ViTConfig(5, (8, 8), 2, 3, **ours)
    assert vit.parameter_count(mine) == theirs
    config = transformers.GPT2Config(
        vocab_size=13, n_positions=17, n_embd=6, n_head=2, n_inner=11, n_layer=3
    )
    theirs = transformers.GPT2LMHeadModel(config).num_parameters()
    mine = gpt.GPTConfig(vocab_size=13, context=17, bias=True, **ours)
    assert gpt.parameter_count(mine) == theirs


# training


def shares(schedule, *arguments, n, **options):
    """The rates of a schedule of transformers after each step; the peak is 1."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = schedule(optimizer, *arguments, **options)
    rates = []
    for _ in range(n):
        optimizer.step()
        scheduler.step()
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


@st.composite
def runs(draw):
    """How many steps a run has, how many of them go up, how many down."""
    n = draw(st.integers(2, 30))
    n_warmup = draw(st.integers(0, n - 1))
    return n, n_warmup, draw(st.integers(1, n - n_warmup))


@given(run=runs(), last=st.sampled_from([0.0, 0.25, 1.0]))
def test_schedules_are_those_of_transformers(run, last):
    """The way up of transformers' last schedule starts at its lowest rate, ours at 0."""
    n, n_warmup, n_decay = run
    steps, exact = range(1, n + 1), {"rel": 1e-12, "abs": 1e-12}
    peer = transformers.get_cosine_with_min_lr_schedule_with_warmup
    theirs = shares(peer, n_warmup, n, n=n, min_lr_rate=last)
    ours = [warmup_cosine(t, n_steps=n, n_warmup=n_warmup, last=last) for t in steps]
    assert ours == pytest.approx(theirs, **exact)
    theirs = shares(transformers.get_inverse_sqrt_schedule, n_warmup + 1, n=n)
    ours = [inverse_sqrt(t, n_warmup=n_warmup + 1) for t in steps]
    assert ours == pytest.approx(theirs, **exact)
    options = {"num_training_steps": n, "decay_type": "linear", "min_lr_ratio": last}
    theirs = shares(transformers.get_wsd_schedule, n_warmup, n_decay, n=n, **options)
    sizes = {"n_steps": n, "n_warmup": n_warmup, "n_decay": n_decay, "last": last}
    ours = [warmup_stable_decay(t, **sizes) for t in steps]
    assert ours[n_warmup:] == pytest.approx(theirs[n_warmup:], **exact)


@given(seed=seeds)
def test_losses_of_linear_models_and_their_gradients_are_pytorch_s(seed):
    x, chance = normal(seed, 11, 5), torch.Generator().manual_seed(seed)
    y = torch.randint(0, 3, (11,), generator=chance)
    weight, bias = normal(seed + 1, 5, 3).requires_grad_(), normal(seed + 2, 3).requires_grad_()
    expected = F.cross_entropy(x @ weight + bias, y)
    assert_close(softmax_loss(weight, bias, x, y), expected, **EXACT)
    slopes = torch.autograd.grad(expected, (weight, bias))
    assert_close(softmax_gradient(weight.detach(), bias.detach(), x, y), slopes, **EXACT)
    flags, leaves = (y > 0).double(), (weight[:, 0], bias[0])
    expected = F.binary_cross_entropy_with_logits(x @ leaves[0] + leaves[1], flags)
    assert_close(logistic_loss(*leaves, x, flags), expected, **EXACT)
    slopes = torch.autograd.grad(expected, leaves)
    assert_close(logistic_gradient(*(leaf.detach() for leaf in leaves), x, flags), slopes, **EXACT)


# words and vectors


WORDS = st.sampled_from(["ant", "bee", "cat", "dog", "eel"])


@given(texts=st.lists(st.lists(WORDS, min_size=1, max_size=7), min_size=1, max_size=7))
def test_document_frequencies_and_their_weights_are_scikit_learn_s(texts):
    found = CountVectorizer().fit_transform([" ".join(text) for text in texts])
    counts = torch.from_numpy(found.toarray()).double()
    frequency = torch.from_numpy((found > 0).sum(axis=0)).double().flatten()
    assert document_frequency(counts).equal(frequency)
    expected = torch.from_numpy(TfidfTransformer().fit(found).idf_)
    smooth = inverse_document_frequency(document_frequency(counts), len(texts), "smooth")
    assert_close(smooth, expected, **EXACT)


TAGS = st.sampled_from(["O", "B-PER", "I-PER", "B-ORG"])


@given(pairs=st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=30))
def test_token_scores_are_scikit_learn_s_over_all_tags_but_o(pairs):
    truth, predicted = ([pair[k] for pair in pairs] for k in (0, 1))
    labels = ["B-PER", "I-PER", "B-ORG"]
    options = {"labels": labels, "average": "micro", "zero_division": 0.0}
    expected = sklearn.metrics.precision_recall_fscore_support(truth, predicted, **options)[:3]
    assert tuple(token_scores([truth], [predicted])) == pytest.approx(expected, rel=1e-12)


@given(seed=seeds)
def test_analogies_are_gensim_s(seed):
    table = normal(seed, 11, 5)
    vectors = KeyedVectors(5)
    vectors.add_vectors([str(k) for k in range(11)], table.numpy())
    with np.errstate(invalid="ignore"):  # BLAS flags what stands beside a short row, now and then
        best = vectors.most_similar(positive=["1", "2"], negative=["0"], topn=1)
    assert np.isfinite(best[0][1])
    assert analogy(table, 0, 1, 2) == int(best[0][0])


@given(seed=seeds)
def test_the_mean_cosine_of_tokens_is_scikit_learn_s(seed):
    x = normal(seed, 7, 5)
    cosines = sklearn.metrics.pairwise.cosine_similarity(x)
    expected = cosines[~np.eye(7, dtype=bool)].mean()
    assert token_cosine(x).item() == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(seed=seeds)
def test_captured_variance_is_that_of_scikit_learn_s_components(seed):
    x = normal(seed, 7, 5)
    expected = PCA().fit(x).explained_variance_ratio_.cumsum()
    found = captured_variance(x - x.mean(dim=0))
    assert_close(found, torch.from_numpy(expected), **EXACT)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_k_means_is_as_tight_as_scikit_learn_s(generator, k):
    centres = 20 * torch.randn(k, 3, dtype=F64, generator=generator)
    noise = torch.randn(40, 3, dtype=F64, generator=generator)
    x = centres[torch.arange(40) % k] + noise
    theirs = KMeans(k, n_init=10, random_state=1).fit(x.numpy())
    found = k_means(x, k, generator=generator)
    assert found.inertia == pytest.approx(theirs.inertia_, rel=1e-9)
    assert sklearn.metrics.adjusted_rand_score(found.labels, theirs.labels_) == 1


@given(seed=seeds, noise=st.sampled_from([0.01, 0.5]))
def test_weights_of_a_gaussian_process_give_scikit_learn_s_mean(seed, noise):
    query, x, y = normal(seed, 5, 3), normal(seed + 1, 7, 3), normal(seed + 2, 7)
    peer = GaussianProcessRegressor(RBF(), alpha=noise, optimizer=None).fit(x, y)
    weights = gaussian_process_weights(query, x, gaussian_scores, noise=noise)
    assert_close(weights @ y, torch.from_numpy(peer.predict(query)), rtol=1e-8, atol=1e-10)
