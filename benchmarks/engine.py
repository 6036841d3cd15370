"""The engine of the pages, in Chromium, against PyTorch on one thread, and against itself.

The times of both are wall time, taken in turns; a page has no other clock.
"""

import dataclasses
import gzip
import json
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from playwright.sync_api import Page, sync_playwright
from torch.nn import functional

from softlookup.language_models import greedy, next_token_loss
from softlookup.models import GPT, GPTConfig
from softlookup.recorded import capstone_model
from softlookup.recorded.capstone import WEIGHTS
from softlookup.show import Workshop
from softlookup.show.engine import engine_source
from softlookup.show.figures.workshop import as_script
from softlookup.training import recipe_optimizers

N_TOKENS = 100
N_PAIRS = 3
N_PRODUCTS = {1: 4000, 64: 100}
"""Of so many rows: how many products are taken, so that a clock of milliseconds can tell them."""
PLAIN = GPTConfig(65, context=128, d_model=128, n_heads=8, n_layers=4)
MODELS = {
    "the workshop's model": capstone_model()[0].config,
    "learned positions, LayerNorm, GELU": PLAIN,
    "the book's recipe": GPTConfig.quick(65, 128, 128, 8, 4),
}
PAGE = Path(__file__).parents[1] / "_build/html/chapters/workshop.html"
SIZE_HEADS = ["compressed", "kB", "to the figure"]
ENGINE_HEADS = ["4 blocks of width 128, in the browser", "time, to PyTorch", "to plain JavaScript"]
SETUP = """({source, config, state}) => {
    const {engine} = eval(source);
    const text = Array.from({length: 4}, (_, i) => Array.from({length: 32}, (_, j) =>
        (7 * i + j * j) %% 65));
    window.tasks = Object.fromEntries(["simd", "plain"].map((kind) => {
        const products = kind === "simd" ? engine.simdProducts() : engine.plainProducts();
        const twin = new engine.GPT(config, products).load(state);
        const optimizers = engine.recipeOptimizers(twin);
        return [kind, {
            write: () => [...engine.generate(twin, [1], %d)],
            train: () => engine.trainStep(twin, optimizers, text),
        }];
    }));
}"""
PRODUCTS = """({source, x, weight, n, k, m, times}) => {
    const {engine} = eval(source);
    window.tasks = Object.fromEntries(["simd", "plain"].map((kind) => {
        const products = kind === "simd" ? engine.simdProducts() : engine.plainProducts();
        const [rows, kept] = [Float32Array.from(x), products.weights(k * m)];
        kept.set(weight);
        return [kind, {product: () => {
            for (let i = 0; i < times; i += 1) products.timesTransposed(rows, kept, n, k, m);
        }}];
    }));
}"""
TIMED = """([kind, task]) => {
    const start = performance.now();
    tasks[kind][task]();
    return performance.now() - start;
}"""


def times(page: Page, task: str, here: Callable[[], object]) -> list[float]:
    """The median times of PyTorch, of the engine and of its plain products, in turns."""
    rows = []
    for _ in range(N_PAIRS + 1):
        start = time.perf_counter()
        here()
        spent = 1000 * (time.perf_counter() - start)
        rows.append([spent, *(page.evaluate(TIMED, [k, task]) for k in ("simd", "plain"))])
    rows = rows[1:]  # the first warms up
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def engine_row(page: Page, name: str, task: str) -> list[str]:
    """One model that writes, or that takes a step of training on 4 texts of 32 tokens."""
    torch.manual_seed(0)
    model = GPT(MODELS[name])
    state = {part: weights.flatten().tolist() for part, weights in model.state_dict().items()}
    config = dataclasses.asdict(model.config)
    page.evaluate(SETUP % N_TOKENS, {"source": engine_source(), "config": config, "state": state})
    ids = (7 * torch.arange(4).unsqueeze(1) + torch.arange(32) ** 2) % 65
    optimizers = recipe_optimizers(model)

    def write() -> object:
        start = model.start(torch.zeros(1, 0, dtype=torch.int64))
        return greedy(model.step, start, bos=1, eos=None, max_length=N_TOKENS)

    def train() -> None:
        model.zero_grad()
        next_token_loss(model(ids), ids).backward()
        for optimizer in optimizers:
            optimizer.step()

    here, simd, plain = times(page, task, write if task == "write" else train)
    words = {"write": f"{N_TOKENS} tokens", "train": "a training step"}[task]
    print(f"engine | {name}: {words} | {simd / here:.2g} of PyTorch | {simd / plain:.2g} of plain")
    return [f"{name}: {words}", f"{simd / here:.2g}", f"{simd / plain:.2g}"]


def product_row(page: Page, n: int) -> list[str]:
    """n rows times the first matrix of the workshop's feed-forward layer, as it stands there."""
    config = MODELS["the workshop's model"]
    k, m = config.d_model, config.d_ff
    chance = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(shape, generator=chance) for shape in ((n, k), (m, k)))
    data = {"n": n, "k": k, "m": m, "times": N_PRODUCTS[n], "source": engine_source()}
    numbers = {"x": x.flatten().tolist(), "weight": weight.flatten().tolist()}
    page.evaluate(PRODUCTS, data | numbers)

    def product() -> None:
        for _ in range(N_PRODUCTS[n]):
            functional.linear(x, weight)

    here, simd, plain = times(page, "product", product)
    name = f"the product alone: {n} row{'s' * (n > 1)} and a matrix of {m} × {k}"
    print(f"engine | {name} | {simd / here:.2g} of PyTorch | {simd / plain:.2g} of plain")
    return [name, f"{simd / here:.2g}", f"{simd / plain:.2g}"]


def engine_rows() -> list[list[str]]:
    """One row per model and task; none where there is no browser."""
    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    if program is None:
        return []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(0)
        rows = [product_row(page, n) for n in N_PRODUCTS]
        rows += [engine_row(page, name, task) for name in MODELS for task in ("write", "train")]
        browser.close()
    return rows


def size_rows() -> list[list[str]]:
    """What the figure of the workshop and its built page weigh, with the engine and without it.

    The page's own files are not counted in; where the site is not built, a line says so.
    """
    engine = engine_source()
    whole = Workshop(inline=False).html()
    engine_in_it = json.dumps(engine, ensure_ascii=False).replace("<", "\\u003c")
    assert engine_in_it in whole
    parts = {
        "the figure of the workshop": whole,
        "without the engine": whole.replace(engine_in_it, '""'),
        "the engine alone": engine,
        "its weights, when asked for": as_script(WEIGHTS),
    }
    if PAGE.exists():
        built = PAGE.read_text(encoding="utf-8")
        parts["the built page of the workshop"] = built
        parts["the built page, without its engines"] = built.replace(engine_in_it, '""')
    else:
        print("engine-size | the site is not built (make book): the page is left out")
    sizes = {name: len(gzip.compress(text.encode())) for name, text in parts.items()}
    first = next(iter(sizes.values()))
    rows = [[name, f"{size / 1000:.0f}", f"{size / first:.2g}"] for name, size in sizes.items()]
    for row in rows:
        print(f"engine-size | {row[0]}: {row[1]} kB")
    return rows


if __name__ == "__main__":
    torch.set_num_threads(1)
    engine_rows()
    size_rows()
