"""The engine in JavaScript, in Chromium and Firefox: it computes what the library computes.

Each model of the library is written down as it is, its choices, weights, scores and gradients; the
engine takes them up by their names. In float64 the two differ by rounding alone.
"""

import dataclasses
import gzip
import json
import math
import random
import unicodedata
from functools import cache

import pytest
import torch
from torch import nn

from softlookup.analysis import capture
from softlookup.attention import readable
from softlookup.language_models import greedy, next_token_loss, sampling_weights
from softlookup.layers.feed_forward import ACTIVATIONS
from softlookup.models import GPT, GPTConfig
from softlookup.show.engine import engine_source
from softlookup.tokenization import BytePairTokenizer
from softlookup.tokenization.splitting import GPT2_PATTERN, GPT4_PATTERN, split_chunks
from softlookup.training import Muon, clip_gradients, recipe_optimizers, recipe_rate
from softlookup.training.groups import matrices_and_rest
from softlookup.training.muon import orthogonalize

BROWSERS = ("chromium", "firefox")

SIZES = {"vocab_size": 13, "context": 12, "d_model": 8, "n_heads": 4, "n_layers": 2}
WINDOW = {"window": 3, "n_sinks": 1}
PLAIN = GPTConfig(**SIZES)
MODERN = GPTConfig.modern(*SIZES.values())
QUICK = GPTConfig.quick(*SIZES.values())
CONFIGS = {
    "plain": PLAIN,
    "modern": MODERN,
    "quick": QUICK,
    "rotary": dataclasses.replace(PLAIN, positions="rotary"),
    "no positions": dataclasses.replace(PLAIN, positions="none"),
    "post-norm": dataclasses.replace(PLAIN, norm_first=False),
    "post-norm, RMSNorm": dataclasses.replace(PLAIN, norm_first=False, norm="rms"),
    "RMSNorm": dataclasses.replace(PLAIN, norm="rms"),
    "no biases": dataclasses.replace(PLAIN, bias=False),
    "another epsilon": dataclasses.replace(PLAIN, eps=0.01),
    "normalized queries": dataclasses.replace(PLAIN, qk_norm=True),
    "shared keys": dataclasses.replace(PLAIN, n_kv_heads=2),
    "one head of keys, rotary": dataclasses.replace(PLAIN, n_kv_heads=1, positions="rotary"),
    "window": dataclasses.replace(PLAIN, window=3),
    "window and sinks": dataclasses.replace(PLAIN, **WINDOW),
    "free head": dataclasses.replace(PLAIN, tie=False),
    "odd widths": GPTConfig(7, 12, 6, 2, 1, d_ff=9, n_kv_heads=1),
    **{name: dataclasses.replace(PLAIN, activation=name) for name in ACTIVATIONS},
    **{f"gated {name}": dataclasses.replace(PLAIN, activation=name, gated=True, bias=name != "relu")
       for name in ACTIVATIONS},
}  # fmt: skip
LENGTHS = [9, 5, 1]
SETUP = """
    const {engine} = maths;
    const kinds = {float32: Float32Array, float64: Float64Array};
    const productsOf = (kind) =>
        kind === "simd" ? engine.simdProducts(1) : engine.plainProducts(kinds[kind]);
    const model = ({config, state}, kind = "float64") =>
        new engine.GPT(config, productsOf(kind)).load(state);
    const lists = (arrays) => Object.fromEntries(
        Object.entries(arrays).map(([name, array]) => [name, Array.from(array)]));
    const grads = (model) => lists(Object.fromEntries(
        [...model.parameters].map(([name, {grad}]) => [name, grad])));
"""
each_config = pytest.mark.parametrize("name", CONFIGS)
each_kind = pytest.mark.parametrize("kind", ["float64", "float32"])
each_product = pytest.mark.parametrize("kind", ["float64", "float32", "simd"])
"""The pages compute with "simd", in float32; it has one precision alone."""


@pytest.fixture(scope="module")
def engine(functions_of):
    """Runs JavaScript on the page that holds the engine."""
    call = functions_of("engine/engine.js")
    return lambda expression, data=None: call(SETUP + expression, data)


def model_of(config, seed=0, std=0.4):
    """A model of the library in float64 whose weights are nowhere near 0, norms and biases too."""
    model, chance = GPT(config).double(), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=std, generator=chance)
            parameter.copy_(parameter.float())  # the same numbers in both precisions
    return model


def written(model):
    """A model for the engine: its choices, and its weights by their names."""
    state = {name: part.flatten().tolist() for name, part in model.state_dict().items()}
    return {"config": dataclasses.asdict(model.config), "state": state}


def texts_for(config, batch=3, n=9, seed=1):
    chance = torch.Generator().manual_seed(seed)
    return torch.randint(config.vocab_size, (batch, n), generator=chance)


@cache
def computed(name):
    """A model of a name, some texts, and what the library makes of them."""
    model = model_of(CONFIGS[name])
    ids = texts_for(CONFIGS[name])
    scores = model(ids)
    loss = next_token_loss(scores, ids, LENGTHS)
    loss.backward()
    return model, ids, scores.detach(), loss.item()


def close(found, expected, tolerance):
    """Whether a flat list differs from a tensor by a share of its largest entry at most."""
    found = torch.tensor(found, dtype=torch.float64).reshape(expected.shape)
    return bool((found - expected).abs().max() <= tolerance * expected.abs().max())


# The way forward and the way back


@each_kind
@each_config
def test_scores_are_the_librarys(engine, name, kind):
    model, ids, scores, _ = computed(name)
    data = {"model": written(model), "ids": ids.tolist(), "kind": kind}
    found = engine("return Array.from(model(data.model, data.kind).forward(data.ids)[0])", data)
    tolerance = {"float64": 1e-12, "float32": 1e-5}[kind]
    found = torch.tensor(found, dtype=torch.float64).reshape(scores.shape)
    torch.testing.assert_close(found, scores, rtol=0, atol=tolerance)


@each_kind
@each_config
def test_each_gradient_is_the_librarys(engine, name, kind):
    model, ids, _, loss = computed(name)
    data = {"model": written(model), "ids": ids.tolist(), "lengths": LENGTHS, "kind": kind}
    found_loss, found = engine(
        """const twin = model(data.model, data.kind);
        const [loss, backward] = engine.nextTokenLoss(twin, data.ids, data.lengths);
        backward();
        return [loss, grads(twin)];""",
        data,
    )
    tolerance = {"float64": 1e-11, "float32": 1e-5}[kind]
    assert found_loss == pytest.approx(loss, abs=tolerance)
    assert list(found) == [name for name, _ in model.named_parameters()]
    for part, parameter in model.named_parameters():
        if parameter.grad.abs().max() < 1e-12:  # a key's bias moves all scores of a row alike
            assert part.endswith(("W_K.bias", "key_norm.weight"))
            assert max(map(abs, found[part])) < tolerance
        else:
            assert close(found[part], parameter.grad, tolerance), part


def test_gradients_add_up_until_they_are_forgotten(engine):
    model, ids, _, _ = computed("plain")
    once, twice, none = engine(
        """const twin = model(data.model);
        const back = () => engine.nextTokenLoss(twin, data.ids)[1]();
        const grad = () => Array.from(twin.parameters.get("embedding.weight").grad);
        back();
        const once = grad();
        back();
        const twice = grad();
        twin.zeroGrad();
        return [once, twice, grad()];""",
        {"model": written(model), "ids": ids.tolist()},
    )
    assert twice == pytest.approx([2 * value for value in once])
    assert set(none) == {0}


def test_activations_and_slopes(engine):
    x = torch.cat([torch.linspace(-40, 40, 4001), torch.linspace(-1, 1, 333)]).double()
    for name, function in ACTIVATIONS.items():
        rows = x.clone().requires_grad_()
        values = function(rows)
        values.sum().backward()
        code = "return engine.ACTIVATIONS[data[0]].map((f) => data[1].map(f))"
        found = torch.tensor(engine(code, [name, x.tolist()]), dtype=torch.float64)
        torch.testing.assert_close(found[0], values.detach(), rtol=1e-13, atol=2e-14)
        torch.testing.assert_close(found[1], rows.grad, rtol=1e-13, atol=2e-14)


def test_readable_is_the_librarys(engine):
    queries, keys = [4, 7, 0], [0, 3, 4, 5, 7]
    for rule in ({}, {"window": 1}, {"window": 3}, {"window": 3, "n_sinks": 2}):
        code = "return engine.readable(...data).map((slots) => Array.from(slots))"
        found = engine(code, [queries, keys, rule])
        mask = readable(torch.tensor(queries), torch.tensor(keys), **rule)
        assert found == [row.nonzero().flatten().tolist() for row in mask]


# Training


def batches_for(config, n=20):
    chance = torch.Generator().manual_seed(4)
    pattern = torch.arange(9).repeat(5) % config.vocab_size
    starts = torch.randint(36, (n, 4), generator=chance)
    return torch.stack([torch.stack([pattern[i : i + 9] for i in row]) for row in starts.tolist()])


def start_of(config):
    model = model_of(config, std=0.05)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name and name.endswith("weight"):
                parameter.fill_(1.0)
    return model


def trained(model, optimizers, batches, *, clip=None, scheduled=False):
    """The losses of twenty steps of the library."""
    losses, n = [], len(batches)
    peaks = [[group["lr"] for group in one.param_groups] for one in optimizers]
    for step, ids in enumerate(batches, start=1):
        share = recipe_rate(step, n_steps=n) if scheduled else 1.0
        for one, rates in zip(optimizers, peaks, strict=True):
            for group, rate in zip(one.param_groups, rates, strict=True):
                group["lr"] = rate * share
        model.zero_grad()
        loss = next_token_loss(model(ids), ids)
        loss.backward()
        if clip is not None:
            clip_gradients(model, clip)
        for one in optimizers:
            one.step()
        losses.append(loss.item())
    return losses


def adamw_of(model):
    options = {"lr": 0.02, "betas": (0.8, 0.97), "eps": 1e-6, "weight_decay": 0.1}
    return [torch.optim.AdamW(model.parameters(), **options)]


def muon_of(model):
    matrices, rest = matrices_and_rest(model)
    plain = {"momentum": 0.9, "nesterov": False, "weight_decay": 0.3}
    return [Muon(matrices, lr=0.02, **plain), torch.optim.AdamW(rest, lr=0.01)]


OPTIMIZERS = {
    "adamw": (
        adamw_of,
        """[new engine.AdamW(twin.parameters.values(),
        {lr: 0.02, betas: [0.8, 0.97], eps: 1e-6, weightDecay: 0.1})]""",
    ),
    "muon": (
        muon_of,
        """[new engine.Muon(engine.matricesAndRest(twin)[0],
        {lr: 0.02, momentum: 0.9, nesterov: false, weightDecay: 0.3}),
        new engine.AdamW(engine.matricesAndRest(twin)[1], {lr: 0.01})]""",
    ),
    "recipe": (recipe_optimizers, "engine.recipeOptimizers(twin)"),
}


@each_product
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", ["plain", "quick"])
def test_twenty_steps_are_the_librarys(engine, name, optimizer, kind):
    config, (ours, theirs) = CONFIGS[name], OPTIMIZERS[optimizer]
    model, batches = start_of(config), batches_for(config)
    data = {"model": written(model), "batches": batches.tolist(), "kind": kind}
    if kind != "float64":
        model = model.float()
    scheduled = optimizer == "recipe"
    losses = trained(model, ours(model), batches, clip=0.5, scheduled=scheduled)
    share = "engine.recipeRate(i + 1, 20)" if scheduled else "1"
    found, state = engine(
        f"""const twin = model(data.model, data.kind);
        const optimizers = {theirs};
        const step = (ids, i) => engine.trainStep(twin, optimizers, ids,
            {{share: {share}, clip: 0.5}});
        return [data.batches.map(step), lists(twin.state())];""",
        data,
    )
    assert losses[-1] < 0.8 * losses[0]
    assert found == pytest.approx(losses, abs=1e-9 if kind == "float64" else 1e-4)
    if kind == "float64":
        for part, weights in model.state_dict().items():
            assert close(state[part], weights, 1e-7), part


def test_recipe_rates_are_the_librarys(engine):
    for n in (1, 2, 5, 15, 20, 25, 45, 300):
        code = "return Array.from({length: data}, (_, i) => engine.recipeRate(i + 1, data))"
        expected = [recipe_rate(step, n_steps=n) for step in range(1, n + 1)]
        assert engine(code, n) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (1, 4)])
def test_matrices_become_orthogonal_as_in_the_library(engine, shape):
    x = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    code = """return Array.from(engine.orthogonalize(
        Float64Array.from(data[0]), data[1], engine.plainProducts(Float64Array)))"""
    assert close(engine(code, [x.flatten().tolist(), shape]), orthogonalize(x), 1e-12)


def test_weights_start_as_in_the_library(engine):
    config = dataclasses.replace(MODERN, vocab_size=200, d_model=64, d_ff=176, n_kv_heads=2)
    for zero_writes in (False, True):
        model = GPT(dataclasses.replace(config, zero_writes=zero_writes))
        state = engine(
            """const twin = new engine.GPT(data).startWeights(7);
            const again = new engine.GPT(data).startWeights(7);
            if (JSON.stringify(lists(twin.state())) !== JSON.stringify(lists(again.state())))
                throw new Error("one seed, two starts");
            return lists(twin.state());""",
            dataclasses.asdict(model.config),
        )
        for name, expected in model.state_dict().items():
            found = torch.tensor(state[name], dtype=torch.float64)
            assert found.mean().item() == pytest.approx(expected.mean().item(), abs=0.003), name
            assert found.std().item() == pytest.approx(expected.std().item(), rel=0.1), name


# Writing


@each_product
@pytest.mark.parametrize(
    "config",
    [
        GPTConfig(31, 256, 16, 4, 2),
        GPTConfig.modern(31, 256, 16, 4, 2),
        GPTConfig.quick(31, 256, 16, 4, 2),
        GPTConfig(31, 256, 16, 4, 2, positions="rotary", window=5, n_sinks=2, n_kv_heads=2),
    ],
    ids=["plain", "modern", "quick", "sinks"],
)
def test_greedy_text_is_the_librarys(engine, config, kind):
    model = model_of(config, seed=3, std=0.8)
    data = {"model": written(model), "kind": kind, "prompt": [3, 1, 4, 1, 5]}
    model = model.to(torch.float64 if kind == "float64" else torch.float32)
    start = model.start(torch.tensor([data["prompt"][:-1]]))
    expected = greedy(model.step, start, bos=data["prompt"][-1], eos=None, max_length=200)[0].ids
    cached, anew = engine(
        """const twin = model(data.model, data.kind);
        return [engine.generate, engine.generateAnew].map(
            (write) => [...write(twin, data.prompt, 200)]);""",
        data,
    )
    assert len(set(expected)) > 2
    assert cached == expected
    assert anew == expected


def test_two_texts_go_on_from_one_cache(engine):
    model = model_of(dataclasses.replace(MODERN, window=4, n_sinks=1))
    prompts = texts_for(MODERN, batch=2, n=6)
    cache = model.start(prompts)
    expected = [model.step(torch.tensor(tokens), cache)[0] for tokens in ([1, 2], [5, 5])]
    found, positions = engine(
        """const twin = model(data.model);
        const cache = twin.start(data.prompts);
        const scores = [[1, 2], [5, 5]].map((tokens) => Array.from(twin.step(tokens, cache)[0]));
        return [scores, cache.positions];""",
        {"model": written(model), "prompts": prompts.tolist()},
    )
    assert positions == cache.positions[0].tolist() == [0, 3, 4, 5]
    for ours, theirs in zip(found, expected, strict=True):
        assert close(ours, theirs, 1e-12)


def test_a_window_slides_past_the_context(engine):
    model = model_of(QUICK)
    data = {"model": written(model), "prompt": [2]}
    start = model.start(torch.zeros(1, 0, dtype=torch.int64))
    expected = greedy(model.step, start, bos=2, eos=None, max_length=40)[0].ids
    found = engine("return [...engine.generate(model(data.model), data.prompt, 40)]", data)
    assert found == expected


def test_a_text_ends_at_its_end(engine):
    model = model_of(PLAIN)
    data = {"model": written(model), "prompt": [2]}
    whole = engine("return [...engine.generate(model(data.model), data.prompt, 9)]", data)
    code = "return [...engine.generate(model(data.model), data.prompt, 9, {eos: data.eos})]"
    for write in (code, code.replace("generate(", "generateAnew(")):
        ended = engine(write, {**data, "eos": whole[-1]})
        assert ended == whole[: whole.index(whole[-1]) + 1]


@pytest.mark.parametrize(
    ("options", "filters"),
    [
        ({}, {}),
        ({"temperature": 0.6}, {"temperature": 0.6}),
        ({"topK": 3}, {"top_k": 3}),
        ({"topP": 0.7, "temperature": 1.5}, {"top_p": 0.7, "temperature": 1.5}),
        ({"minP": 0.2, "topK": 5}, {"min_p": 0.2, "top_k": 5}),
    ],
)
def test_tokens_are_drawn_as_often_as_the_library_says(engine, options, filters):
    scores = torch.randn(11, generator=torch.Generator().manual_seed(5))
    drawn = engine(
        """const pick = engine.sampler({seed: 8, ...data[1]});
        const counts = Array(11).fill(0);
        for (let k = 0; k < 20000; k += 1) counts[pick(Float32Array.from(data[0]))] += 1;
        return counts;""",
        [scores.tolist(), options],
    )
    weights = sampling_weights(scores.double(), **filters)
    shares = torch.tensor(drawn) / 20_000
    torch.testing.assert_close(shares.double(), weights, rtol=0, atol=0.015)
    assert (shares[weights == 0] == 0).all()


# The tokenizer

TRAINING = "The value of the expression is not the name of an object: it's what it refers to.\n" * 3
ASSIGNED = [sign for sign in map(chr, range(0x3100)) if unicodedata.category(sign) != "Cn"]
"""Signs that Python's Unicode knows: of younger ones, programs of other years say other things."""
SPECIAL = ["<|end|>", "<|end|>!", "a.b"]


@pytest.fixture(scope="module", params=[GPT4_PATTERN, GPT2_PATTERN], ids=["GPT-4", "GPT-2"])
def tokenizer(request):
    texts = [TRAINING, "naïve Füße 日本 🙂🙂 'S'ſ  \n\n x=1234567;", "aaaa aaaaaaa"]
    return BytePairTokenizer.train(texts, 400, pattern=request.param, special_tokens=SPECIAL)


def saved(tokenizer, folder):
    tokenizer.save(folder / "bpe.json")
    return json.loads((folder / "bpe.json").read_text(encoding="utf-8"))


def adversarial(n, seed=0):
    """Strings that are hard to cut: white space, apostrophes, digits, marks, emoji, any sign."""
    chance = random.Random(seed)
    pieces = [
        *(" ", "  ", "\t", "\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1f", "\x85", "\xa0"),
        *("\u2003", "\u2028", "\u200b", "\ufeff", "\u0000", "'", "'s", "'S", "'ſ", "'Re", "'LL"),
        *("’s", "'\u0131", "1", "23", "4567", "½", "٣", "Ⅷ", "a", "The", "value", " of", "é"),
        *("e\u0301", "ß", "İ", "日本", "🙂", "👩\u200d👧", "\U0001f1e9\U0001f1ea", "...", "!"),
        *("<|end|>", "<|end|>!", "a.b", "aaaaaaa", "\\s", "$", "x" * 70, "ab" * 50, "\u0301"),
        *("\u0660", "ᾳ", "ǅ", "ª", "ʰ", "𝒜", "_", "-", "=1"),
    ]  # fmt: skip
    for k in range(n):
        if k % 4:
            yield "".join(chance.choices(pieces, k=chance.randint(0, 14)))
        else:
            yield "".join(chance.choices(ASSIGNED, k=chance.randint(1, 20)))


def test_ids_are_the_librarys(engine, tokenizer, tmp_path):
    texts = [*adversarial(2000), "", TRAINING]
    found = engine(
        """const tokenizer = engine.BytePairTokenizer.from(data[0]);
        const ids = data[1].map((text) => tokenizer.encode(text));
        return [ids, ids.map((one) => tokenizer.decode(one)), tokenizer.size];""",
        [saved(tokenizer, tmp_path), texts],
    )
    for text, ids, back in zip(texts, *found[:2], strict=True):
        assert ids == tokenizer.encode(text), ascii(text)
        assert back == text
    assert found[2] == len(tokenizer)


def test_texts_are_cut_where_the_library_cuts(engine, tokenizer):
    texts = [*adversarial(2000, seed=2), "'ſa", "'sa", "'Sa"]
    code = "return data[0].map((text) => text.match(engine.splitPattern(data[1])) ?? [])"
    for text, chunks in zip(texts, engine(code, [texts, tokenizer.pattern]), strict=True):
        assert chunks == split_chunks(text, tokenizer.pattern), ascii(text)


def test_special_tokens_are_read_where_they_may(engine, tokenizer, tmp_path):
    texts = [text for text in adversarial(400, seed=1) if "<|" in text or "a.b" in text]
    assert len(texts) > 50
    code = """const tokenizer = engine.BytePairTokenizer.from(data[0]);
        return data[1].map((text) => tokenizer.encode(text, {allowedSpecial: data[2]}));"""
    for allowed in ("all", ["<|end|>"], ["a.b"]):
        found = engine(code, [saved(tokenizer, tmp_path), texts, allowed])
        assert found == [tokenizer.encode(text, allowed_special=allowed) for text in texts]


def test_any_ids_have_a_text(engine, tokenizer, tmp_path):
    chance = random.Random(3)
    many = [[chance.randrange(len(tokenizer)) for _ in range(12)] for _ in range(200)]
    code = """const tokenizer = engine.BytePairTokenizer.from(data[0]);
        return data[1].map((ids) => tokenizer.decode(ids));"""
    found = engine(code, [saved(tokenizer, tmp_path), many])
    assert found == [tokenizer.decode(ids) for ids in many]


# The probes


@pytest.mark.parametrize("name", ["plain", "modern", "quick", "post-norm", "window and sinks"])
def test_each_probe_sees_what_the_librarys_sees(engine, name):
    model, ids, _, _ = computed(name)
    with capture(model) as seen:
        model(ids)
    found = engine(
        """const seen = engine.capture(model(data.model), data.ids);
        return Object.entries(seen).map(([n, one]) => [n, Array.from(one.numbers), one.shape]);""",
        {"model": written(model), "ids": ids.tolist()},
    )
    assert {name for name, _, _ in found} == set(seen)
    for probe, numbers, shape in found:
        assert tuple(shape) == tuple(seen[probe].shape), probe
        assert close(numbers, seen[probe], 1e-12), probe


@pytest.mark.parametrize(
    "probe",
    ["rows", "blocks.0.self_attention.layer.weights", "blocks.1.self_attention.layer.heads",
     "blocks.0.self_attention.write", "blocks.1.self_attention.stream",
     "blocks.1.feed_forward.layer.activations", "blocks.0.feed_forward.write"],
)  # fmt: skip
def test_what_a_probe_replaces_goes_on(engine, probe):
    model, ids, plain, _ = computed("modern")
    part = model.get_submodule(probe)
    attention = model.blocks[0].self_attention.layer, model.blocks[1].self_attention.layer
    for layer in attention:
        layer.fused = False

    def half(module: nn.Module, inputs: object, output: torch.Tensor) -> torch.Tensor:
        return output / 2 + 0.1

    handle = part.register_forward_hook(half)
    expected = model(ids).detach()
    handle.remove()
    for layer in attention:
        layer.fused = True
    found = engine(
        """const hooks = new Map([[data.probe, (numbers) => numbers.map((x) => x / 2 + 0.1)]]);
        return Array.from(model(data.model).forward(data.ids, {hooks})[0]);""",
        {"model": written(model), "ids": ids.tolist(), "probe": probe},
    )
    assert not torch.allclose(expected, plain)
    assert close(found, expected, 1e-12)


# Bad input


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"d_model": 9}, "n_heads must divide d_model; got d_model=9, n_heads=4"),
        ({"n_kv_heads": 3}, "n_kv_heads must divide n_heads"),
        ({"d_model": 4, "positions": "rotary"}, "the width of a head must be even"),
        ({"n_sinks": 1}, "sinks need a window"),
        ({"norm": "batch"}, "norm must be one of layer, rms"),
        ({"positions": "sinusoidal"}, "positions must be one of"),
        ({"activation": "tanh"}, "activation must be one of"),
        ({"n_layers": 0}, "n_layers must be an integer of at least 1; got n_layers=0"),
        ({"window": 0.5}, "window must be an integer"),
        ({"tie": 1}, "tie must be true or false"),
        ({"dropout": 0.1}, "the engine has none"),
        ({"eps": 0}, "eps must be positive"),
        ({"heads": 2}, "an option must be one of a GPTConfig"),
    ],
)
def test_a_poor_config_is_refused_in_words(engine, change, words):
    code = "try { engine.gptConfig(data); } catch (error) { return error.message; }"
    assert words in engine(code, {**SIZES, **change})


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("twin.forward([1, 2])", "ids must be a list of texts"),
        ("twin.forward([])", "ids must be a list of texts"),
        ("twin.forward([[1, 2], [1]])", "texts must be equally long"),
        ("twin.forward([[]])", "the number of tokens must be an integer of at least 1"),
        ("twin.forward([[13]])", "an id must be an integer from 0 to 12; got id=13"),
        ("twin.forward([[0.5]])", "an id must be an integer from 0 to 12"),
        ("twin.forward([Array(13).fill(1)])", "as many tokens as the context; got n=13"),
        ("[...engine.generate(twin, [1], 13)]", "as many tokens as the context"),
        ("[...engine.generate(twin, [], 3)]", "a prompt must have at least one token"),
        ("twin.forward([[1], [2]], {cache: twin.start([[1]])})", "as many texts as the cache"),
        ("twin.forward([[1]], {cache: twin.newCache()})[1]([])", "no way back through a cache"),
        ("twin.load({})", "the weights must be those of the config"),
        ("twin.load({...twin.state(), 'norm.bias': [1]})", "norm.bias must have as many numbers"),
        ("engine.nextTokenLoss(twin, [[1]])", "two real tokens"),
        ("engine.crossEntropy(new Float64Array(6), [1, 3])", "a target must be an integer from 0"),
        ("engine.capture(twin, [[1]], 'scores')", "no probe of the name scores"),
        ("twin.forward([[1]], {hooks: new Map([['rows', () => [1]]])})", "what replaces rows"),
        ("new engine.Muon(twin.parameters.values())", "Muon is for matrices"),
        ("new engine.AdamW([], {lr: -1})", "lr must be at least 0"),
        ("new engine.AdamW([], {betas: [0.9, 1]})", "betas must be in [0, 1)"),
        ("engine.clipGradients(twin, 0)", "max_norm must be above 0"),
        ("engine.sampler({seed: 1, temperature: 0})", "temperature must be positive"),
        ("engine.sampler({seed: 1, topK: 0})", "top_k must be an integer of at least 1"),
        ("engine.sampler({seed: 1, topP: 0})", "top_p must be in (0, 1]"),
        ("engine.sampler({seed: 1, minP: 2})", "min_p must be in [0, 1]"),
        ("engine.layerNorm(new Float64Array(5), new engine.Parameter([2], products), null, 1)",
         "the numbers must be whole rows; got n_numbers=5, width=2"),
        ("new engine.BytePairTokenizer({merges: [[1, 256]], pattern: 'a'})", "merge 0 must be"),
        ("new engine.BytePairTokenizer({merges: [], pattern: '(?i:a)'})", "one of the library's"),
        ("engine.BytePairTokenizer.from({format: 'x'})", "must be a tokenizer of the library"),
        ("words.encode('a\\ud800')", "no lone surrogate; got position=1"),
        ("words.encode('ab')", "pattern must match every part"),
        ("words.encode('a', {allowedSpecial: ['b']})", "must name special tokens"),
        ("words.decode([256])", "an id must be an integer from 0 to 255; got id=256"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_words(engine, code, words):
    found = engine(
        f"""const products = engine.plainProducts(Float64Array);
        const twin = new engine.GPT(data, products).startWeights(1);
        const words = new engine.BytePairTokenizer({{merges: [], pattern: "a"}});
        try {{ {code}; }} catch (error) {{ return error.message; }}""",
        SIZES,
    )
    assert found is not None
    assert words in found


def test_a_loss_that_is_no_number_ends_training(engine):
    code = """const twin = new engine.GPT(data).startWeights(1);
        twin.embedding.data[0] = NaN;
        const before = JSON.stringify(lists(twin.state()));
        try { engine.trainStep(twin, engine.recipeOptimizers(twin), [[0, 1, 2]]); }
        catch (error) { return [error.message, before === JSON.stringify(lists(twin.state()))]; }"""
    words, unchanged = engine(code, SIZES)
    assert words.startswith("the loss must be finite")
    assert unchanged
    assert math.isfinite(computed("plain")[3])


# Instructions for four numbers at once


def test_products_are_those_of_plain_javascript(engine):
    faults, names = engine(
        """const [plain, simd] = [engine.plainProducts(), engine.simdProducts(16)];
        const draw = engine.normalNumbers(1);
        const numbers = (n) => Float32Array.from({length: n}, draw);
        const kept = (array) => {
            const twin = simd.weights(array.length);
            twin.set(array);
            return twin;
        };
        const faults = [];
        const compare = (name, a, b) => {
            const far = Math.max(...a.map((value, i) => Math.abs(value - b[i])));
            if (a.length !== b.length || !(far < 1e-5)) faults.push([name, far]);
        };
        for (const n of [1, 2, 4, 5, 8, 11]) for (const k of [1, 3, 4, 12]) {
            for (const m of [1, 3, 4, 5, 8, 11, 12, 17]) {
                const [a, b, c, d] = [n * k, m * k, k * m, n * m].map(numbers);
                const shape = [n, k, m];
                const name = shape.join(" × ");
                for (const weights of [(x) => x, kept]) {
                    compare(`A Bᵀ ${name}`, plain.timesTransposed(a, b, ...shape),
                        simd.timesTransposed(a, weights(b), ...shape));
                    compare(`A B ${name}`, plain.times(a, c, ...shape),
                        simd.times(a, weights(c), ...shape));
                    compare(`Aᵀ B ${name}`, plain.addTransposedTimes(a, d, c.slice(), ...shape),
                        simd.addTransposedTimes(a, d, weights(c.slice()), ...shape));
                }
            }
        }
        return [faults, [plain.name, simd.name, engine.bestProducts(1).name]];"""
    )
    assert names == ["plain", "simd", "simd"]
    assert faults == []


@pytest.mark.parametrize("name", ["plain", "quick"])
def test_a_model_with_simd_computes_the_same(engine, name):
    model, ids, scores, loss = computed(name)
    found, found_loss, found_grads = engine(
        """const twin = new engine.GPT(data.model.config, engine.simdProducts(1));
        twin.load(data.model.state);
        const [loss, backward] = engine.nextTokenLoss(twin, data.ids, data.lengths);
        backward();
        return [Array.from(twin.forward(data.ids)[0]), loss, grads(twin)];""",
        {"model": written(model), "ids": ids.tolist(), "lengths": LENGTHS},
    )
    assert close(found, scores, 1e-5)
    assert found_loss == pytest.approx(loss, abs=1e-5)
    for part, parameter in model.named_parameters():
        if parameter.grad.abs().max() > 1e-12:
            assert close(found_grads[part], parameter.grad, 1e-5), part


def test_where_memory_ends_plain_javascript_goes_on(engine):
    config = {**SIZES, "d_model": 64, "vocab_size": 3000}
    losses = engine(
        """const all = [engine.plainProducts(), engine.simdProducts(1), engine.simdProducts(16)];
        return all.map((products) => {
            const twin = new engine.GPT(data, products).startWeights(1);
            const step = () => engine.trainStep(twin, engine.recipeOptimizers(twin), [[1, 2, 5]]);
            return [step(), step()];
        });""",
        config,
    )
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
    assert losses[2] == pytest.approx(losses[0], abs=1e-4)


def test_without_the_instructions_the_products_are_plain(engine):
    found = engine(
        """const Module = WebAssembly.Module;
        WebAssembly.Module = class { constructor() { throw new Error("not here"); } };
        try { return [engine.simdProducts(1), engine.bestProducts(1).name]; }
        finally { WebAssembly.Module = Module; }"""
    )
    assert found == [None, "plain"]


# The worker


def test_a_worker_trains_and_writes(worker, engine):
    text = (torch.arange(400) % 11).tolist()
    found = worker(
        """const losses = [];
        const {products} = await ask("load", {config: data.config, seed: 3});
        const work = {ids: data.text, nSteps: 150, length: 12, batchSize: 4, seed: 2};
        const end = await ask("train", work, ({loss}) => losses.push(loss));
        const tokens = [];
        const prompt = {prompt: [4, 5], nTokens: 9};
        await ask("write", prompt, ({token}) => tokens.push(token));
        const drawn = [];
        const sampling = {seed: 1, topK: 1};
        await ask("write", {...prompt, sampling}, ({token}) => drawn.push(token));
        const scores = await ask("scores", {ids: [[4, 5]]});
        const seen = await ask("look", {ids: [[4, 5]], names: ["weights"]});
        const state = await ask("state");
        return [products, losses, end, tokens, drawn, scores.length, Object.keys(seen),
            Object.keys(state)];""",
        config=dataclasses.asdict(QUICK),
        text=text,
    )
    products, losses, end, tokens, drawn, n_scores, seen, state = found
    assert products == "simd"
    assert len(losses) == 150
    assert losses[-1] < 0.2 < 2 < losses[0]
    assert end == {"finished": True}
    assert tokens == drawn == [6, 7, 8, 9, 10, 0, 1, 2, 3]
    assert n_scores == 2 * QUICK.vocab_size
    assert seen == [f"blocks.{k}.self_attention.layer.weights" for k in range(2)]
    assert state == list(GPT(QUICK).state_dict())


def test_a_worker_stops_and_goes_on(worker):
    n_steps, end, mistakes = worker(
        """await ask("load", {config: data.config});
        const work = {ids: Array.from({length: 50}, (_, i) => i % 7), length: 9, batchSize: 2};
        let n = 0;
        const end = await ask("train", {...work, nSteps: 100000}, () => {
            n += 1;
            if (n === 3) engine.stop();
        });
        const mistakes = [];
        const tries = [["dance"], ["write", {prompt: [], nTokens: 1}],
            ["train", {...work, nSteps: 1, length: 51}], ["scores", {ids: [[99]]}]];
        for (const one of tries) {
            await ask(...one).catch((error) => mistakes.push(error.message));
        }
        await ask("scores", {ids: [[1]]});
        const open = ask("train", {...work, nSteps: 100000});
        setTimeout(engine.close, 50);
        await open.catch((error) => mistakes.push(error.message));
        return [n, end, mistakes];""",
        config=dataclasses.asdict(MODERN),
    )
    assert 3 <= n_steps < 1000
    assert end == {"finished": False}
    assert [words.split(";")[0] for words in mistakes] == [
        "ask must be one of load, train, step, gradient, open, save, count, race, write, scores, "
        "look, story, toil, changed, costs, inspect, oneBack, decided, patched, state",
        "a prompt must have at least one token",
        "length must be from 2 to that of the text",
        "an id must be an integer from 0 to 12",
        "the worker was closed",
    ]


def test_a_model_comes_first(worker):
    found = worker("return await ask('scores', {ids: [[1]]}).catch((error) => error.message);")
    assert found == "a model must be loaded first"


def test_the_engine_is_small(engine):
    assert len(gzip.compress(engine_source().encode())) < 60_000
