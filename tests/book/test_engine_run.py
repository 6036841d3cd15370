"""Training that is watched: each way of training is PyTorch's, and counting is the library's."""

import dataclasses
import math

import pytest
import torch
from test_engine import (
    CONFIGS,
    PLAIN,
    QUICK,
    SETUP,
    batches_for,
    close,
    model_of,
    start_of,
    texts_for,
    trained,
    written,
)

from softlookup.language_models import AddK, KneserNey, next_token_loss
from softlookup.training import Muon, recipe_optimizers
from softlookup.training.groups import matrices_and_rest

BROWSERS = ("chromium", "firefox")


@pytest.fixture(scope="module")
def engine(functions_of):
    """Runs JavaScript on the page that holds the engine."""
    call = functions_of("engine/engine.js")
    return lambda code, data=None: call(SETUP + code, data)


def muon_and_adamw(model):
    matrices, rest = matrices_and_rest(model)
    return [Muon(matrices, lr=0.06), torch.optim.AdamW(rest, lr=0.02)]


TRAINERS = {
    "adamw": (0.02, lambda model: [torch.optim.AdamW(model.parameters(), lr=0.02)]),
    "muon": (0.06, muon_and_adamw),
    "recipe": (None, recipe_optimizers),
}


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("optimizer", TRAINERS)
@pytest.mark.parametrize("name", ["plain", "quick"])
def test_twenty_steps_of_a_run_are_pytorchs(engine, name, optimizer, clip):
    rate, ours = TRAINERS[optimizer]
    model, batches = start_of(CONFIGS[name]), batches_for(CONFIGS[name])
    data = {"model": written(model), "batches": batches.tolist(), "clip": clip}
    losses = trained(model, ours(model), batches, clip=clip, scheduled=optimizer == "recipe")
    found, state = engine(
        """const twin = model(data.model);
        const {optimizer, rate, clip} = data;
        const run = new engine.TrainingRun(twin, {ids: data.batches[0][0], nSteps: 20, length: 9,
            batchSize: 4, optimizer, rate, clip});
        run.pieces = data.batches.values();
        return [data.batches.map(() => run.step().loss), lists(twin.state())];""",
        {**data, "optimizer": optimizer, "rate": rate},
    )
    assert found == pytest.approx(losses, abs=1e-9)
    for part, weights in model.state_dict().items():
        assert close(state[part], weights, 1e-7), part


def test_a_step_says_what_it_did_to_each_tensor(engine):
    model, batches = start_of(PLAIN), batches_for(PLAIN)
    data = {"model": written(model), "batches": batches.tolist()}
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    loss = next_token_loss(model(batches[0]), batches[0])
    loss.backward()
    torch.optim.AdamW(model.parameters(), lr=0.02).step()
    found = engine(
        """const twin = model(data.model);
        const run = new engine.TrainingRun(twin, {ids: data.batches[0][0], nSteps: 20, length: 9,
            batchSize: 4, optimizer: "adamw", rate: 0.02});
        run.pieces = data.batches.values();
        const seen = run.stepAndSee();
        run.step();  // what was seen stays
        return {...seen, gradients: lists(Object.fromEntries(run.gradients))};""",
        data,
    )
    assert found["step"] == 1
    assert found["loss"] == pytest.approx(loss.item(), abs=1e-12)
    tensors = {one["name"]: one for one in found["tensors"]}
    assert list(tensors) == list(before)
    for name, parameter in model.named_parameters():
        one, old = tensors[name], before[name]
        assert one["shape"] == list(parameter.shape)
        gradient = found["gradients"][name]
        assert gradient == pytest.approx(parameter.grad.flatten().tolist(), abs=1e-12), name
        assert one["gradient"] == pytest.approx(parameter.grad.norm().item(), abs=1e-10)
        assert one["before"] == pytest.approx(old.norm().item(), abs=1e-10)
        assert one["weight"] == pytest.approx(parameter.detach().norm().item(), abs=1e-6)
        assert one["update"] == pytest.approx((parameter.detach() - old).norm().item(), abs=1e-6)
    whole = math.hypot(*(one["gradient"] for one in found["tensors"]))
    assert found["gradient"] == pytest.approx(whole)


def test_the_loss_on_a_text_foretells_each_token_once(engine):
    model, text = model_of(PLAIN), texts_for(PLAIN, batch=1, n=30)
    pieces = [text[:, first : first + 8] for first in (0, 7, 14, 21)]
    losses = torch.stack([next_token_loss(model(piece), piece) for piece in pieces])
    data = {"model": written(model), "ids": text[0].tolist()}
    code = (
        "return [engine.lossOnText(model(data.model), data.ids, 8), engine.piecesIn(data.ids, 8)]"
    )
    found, n = engine(code, data)
    assert n == 4
    assert found == pytest.approx(losses.mean().item(), abs=1e-12)


def test_what_is_no_number_is_told_and_not_taken(engine):
    found = engine(
        """const make = () => new engine.GPT(data, engine.plainProducts()).startWeights(1);
        const work = {ids: [1, 2, 3, 4, 5, 6, 7], nSteps: 5, length: 5, batchSize: 2,
            optimizer: "adamw", rate: 1};
        const [dead, high] = [make(), make()];
        dead.embedding.data[6] = NaN;
        const one = new engine.TrainingRun(dead, work).step();
        const kept = high.norm.weight.data.slice();
        high.zeroGrad = () => high.norm.bias.grad.fill(Infinity);
        const two = new engine.TrainingRun(high, work).step();
        return [one.broken, one.step, two.broken, two.step,
            high.norm.weight.data.every((weight, i) => weight === kept[i])];""",
        {**dataclasses.asdict(PLAIN), "vocab_size": 8},
    )
    assert found == ["loss", 1, "gradient", 1, True]


def test_scores_too_large_for_their_digits_are_still_shared_out(engine):
    """In single precision a score is rounded; the largest must be that of the rounded ones."""
    model = model_of(PLAIN)
    with torch.no_grad():
        for block in model.blocks:
            block.self_attention.layer.W_Q.weight.mul_(1e13)
    weights = engine(
        """const twin = model(data.model, "float32");
        const seen = engine.capture(twin, data.ids, "weights");
        return Object.values(seen).map(({numbers}) => Array.from(numbers));""",
        {"model": written(model), "ids": texts_for(PLAIN).tolist()},
    )
    for layer in weights:
        rows = torch.tensor(layer, dtype=torch.float32).reshape(-1, 9)
        torch.testing.assert_close(rows.sum(-1), torch.ones(len(rows)))


def test_bad_work_is_refused(engine):
    messages = engine(
        """const twin = new engine.GPT(data, engine.plainProducts()).startWeights(1);
        const work = {ids: [1, 2, 3, 4, 5], nSteps: 5, length: 5, batchSize: 2};
        const tries = [{length: 6}, {batchSize: 0}, {optimizer: "sgd"},
            {optimizer: "adamw"}, {optimizer: "muon", rate: -1}];
        return tries.map((one) => {
            try { new engine.TrainingRun(twin, {...work, ...one}); return null; }
            catch (error) { return error.message.split(";")[0]; }
        });""",
        dataclasses.asdict(PLAIN),
    )
    assert messages == [
        "length must be from 2 to that of the text",
        "batch_size must be an integer of at least 1",
        "optimizer must be one of adamw, muon, recipe",
        "rate must be positive and finite",
        "rate must be positive and finite",
    ]


# Models that count

TEXT = "she sells sea shells by the sea shore and she sees the sea"
HELD = "the shells she sees are sea shells, by zebras"
LETTERS = sorted({*TEXT, *HELD})


def surprise(model, text):
    total = sum(math.log(model.probability(text[i], list(text[:i]))) for i in range(1, len(text)))
    return -total / (len(text) - 1)


def ids_of(text):
    return [LETTERS.index(letter) for letter in text]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_counting_is_the_librarys(engine, n):
    found = engine(
        """const {ids, held, size, n} = data;
        return [new engine.AddK(ids, n, 0.1, size), new engine.KneserNey(ids, n, size),
            new engine.KneserNey(ids, n, size, 0.4)].map(
                (model) => engine.meanSurprise(model, held));""",
        {"ids": ids_of(TEXT), "held": ids_of(HELD), "size": len(LETTERS), "n": n},
    )
    text = [list(TEXT)]
    ours = [
        AddK(text, n, 0.1, LETTERS),
        KneserNey(text, n, LETTERS),
        KneserNey(text, n, LETTERS, discount=0.4),
    ]
    assert found == pytest.approx([surprise(model, HELD) for model in ours], abs=1e-12)


# What a token takes


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("name", ["plain", "modern", "shared keys"])
def test_multiplications_are_those_of_the_librarys_layers(engine, name, cached, window):
    config, prompt = dataclasses.replace(CONFIGS[name], window=window), [3, 1, 4]
    model, ids = model_of(config), list(prompt)
    multiplied = []
    for layer in model.blocks.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.register_forward_hook(
                lambda one, given, out: multiplied.append(out.numel() * one.in_features)
            )
    cache, ours = model.start(torch.tensor([prompt[:-1]])), []
    for _ in range(8):
        multiplied.clear()
        if cached:
            scores, cache = model.step(torch.tensor(ids[-1:]), cache)
        else:
            scores = model(torch.tensor([ids]))[:, -1]
        n = len(ids)
        pairs = sum(min(i + 1, window or n) for i in range(n - 1 if cached else 0, n))
        in_attention = 2 * config.n_layers * config.d_model * pairs
        row = 2 * config.n_layers * (config.n_kv_heads or 4) * config.d_model // 4
        ids.append(scores.argmax().item())
        kept = row * cache.n_slots if cached else 0
        ours.append([ids[-1], sum(multiplied) + in_attention, kept])
    found, after = engine(
        """const twin = model(data.model);
        const {window} = twin.config;
        const own = twin.products.timesTransposed;
        const parts = [...engine.toil(twin, data.asked)];
        const same = twin.config.window === window && twin.products.timesTransposed === own;
        return [parts.map(({token, products, kept}) => [token, products, kept]), same];""",
        {
            "model": written(model_of(CONFIGS[name])),
            "asked": {"prompt": prompt, "nTokens": 8, "cached": cached, "window": window},
        },
    )
    assert found == ours
    assert after


# What a worker serves


WORK = """const ids = Array.from({length: 300}, (_, i) => i % 7);
    const heldOut = ids.slice(0, 34);
    const work = {ids, nSteps: 40, length: 12, batchSize: 3, optimizer: "muon", rate: 0.02};
    const watch = {every: 10, heldOut, length: 12, prompt: [3], nTokens: 5};"""


def test_a_worker_reports_pauses_and_goes_on(worker):
    reports, steps, ends, one, alone, lines, message, unseen = worker(
        WORK
        + """const message = await ask("train", {}).catch((error) => error.message);
        await ask("load", {config: data.config, seed: 3});
        const [reports, steps, ends] = [[], [], []];
        const onPart = (part) => {
            steps.push(part.step);
            if (part.heldOut !== undefined) reports.push([part.step, part.heldOut, part.sample]);
            if (part.step === 15) engine.stop();
        };
        ends.push(await ask("train", {...work, watch}, onPart));
        const one = await ask("step", {watch});
        ends.push(await ask("train", {watch}, onPart));
        const alone = [];
        await ask("load", {config: data.config, seed: 3});
        await ask("train", {...work, watch}, ({step, heldOut}) => {
            if (heldOut !== undefined) alone.push([step, heldOut]);
        });
        const lines = await ask("count", {ids, heldOut, vocabSize: 13});
        const unseen = await ask("gradient", {name: "norm.weight"}).catch((error) => error.message);
        return [reports, steps, ends, one, alone, lines, message, unseen];""",
        config=dataclasses.asdict(QUICK),
    )
    assert message == "a model must be loaded first" or message == "a run must be begun first"
    assert unseen.startswith("a step of this tensor must have been seen")
    assert ends == [{"finished": False}, {"finished": True}]
    paused = one["step"]
    assert sorted([*steps, paused]) == list(range(1, 41))
    assert paused >= 16
    assert len(one["tensors"]) == len(one["norms"]) > 10
    assert one["heldOut"] > 0
    assert [step for step, *_ in reports if step != paused] == [
        s for s in (10, 20, 30, 40) if s != paused
    ]
    assert all(len(sample) == 5 for *_, sample in reports)
    whole = dict(alone)
    for step, held_out, _ in reports:
        assert held_out == pytest.approx(whole[step], abs=1e-6)
    assert 0 < lines["kneserNey"] < lines["bigram"] < math.log(13)


def test_a_race_gives_each_the_same_seconds(worker):
    parts, end = worker(
        WORK
        + """const parts = [];
        const {nSteps, ...own} = work;
        const racers = [{config: data.config, work: own},
            {config: data.config, work: {...own, optimizer: "recipe"}, without: ["residual"]},
            {config: data.config, work: {...own, optimizer: "adamw", rate: 1e30}}];
        const end = await ask("race", {racers, seconds: 0.2, heldOut, length: 12},
            (part) => parts.push(part));
        return [parts, end];""",
        config=dataclasses.asdict(QUICK),
    )
    assert end == {"finished": True}
    last = {part["racer"]: part for part in parts}
    assert sorted(last) == [0, 1, 2]
    assert all(part["over"] for part in last.values())
    assert last[2]["broken"] == "loss"
    assert last[2]["heldOut"] is None
    order = [part["racer"] for part in parts]
    assert order.index(1) < len(order) - 1 - order[::-1].index(0)  # in turns
    assert order.index(0) < len(order) - 1 - order[::-1].index(1)
    for racer in (0, 1):
        assert last[racer]["seconds"] >= 0.2
        assert last[racer]["heldOut"] > 0
        own = [part for part in parts if part["racer"] == racer]
        assert [part["step"] for part in own] == list(range(1, len(own) + 1))
        assert all(part["seconds"] < 0.2 for part in own[:-1])
