"""What each step of `make gpu` does; `gpu.py` runs one at a time, in a process of its own.

A step is a function that returns the rows of its table. It gets the sizes and the device: those of
the card, or, in a rehearsal, small ones and the fake second device of the tests, which computes on
the processor and refuses to be mixed with it. What that device cannot do (autocast, the compiler,
processes of their own) is rehearsed on the processor itself.
"""

import json
import math
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch
from xml.etree import ElementTree

import tiers
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from registry import by_name  # tiers knows where it is
from softlookup import capstone as letters
from softlookup.attention import attention
from softlookup.data import book_prose, tiny_shakespeare
from softlookup.language_models import known_words, next_token_loss, random_pieces
from softlookup.masks import causal_mask
from softlookup.models import GPT, GPTConfig
from softlookup.models.gpt import storage
from softlookup.recorded import capstone as workshop
from softlookup.recorded import capstone_model, recorded
from softlookup.tokenization import BytePairTokenizer
from softlookup.training import choose_tier, recipe_optimizers, recipe_rate, train_model

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests" / "unit"))

Rows = tuple[list[str], list[list[str]]]
"""The heads of a table, and its rows."""

RUN = ("n_steps", "d_model", "n_heads", "n_layers", "n_context", "batch_size")
REAL = {
    "tests": ["tests/parity/test_devices_parity.py", "tests/unit/test_devices.py",
              "tests/unit/test_tiers.py"],
    "capstone": {"n_steps": None, "every": 50, "stopped_at": 150},
    "precision": dict.fromkeys(RUN) | {"n_steps": 200},
    "wide": dict(zip(RUN, (30, 1024, 16, 12, 256, 32), strict=True)),
    "kernels": {"lengths": (1024, 8192), "times": 10},
    "compile": {"n": 1024, "times": 30, "backend": "inductor"},
    "larger": {"n_tokens": 512, "n_readings": 6, "length": 128, "window": 128, "d_model": 256,
               "n_heads": 8, "n_layers": 6, "dropout": 0.2, "batch_size": 16},
}  # fmt: skip
N_FIRST = 10
"""Of so many steps the losses are compared; later, what was rounded otherwise has grown."""

SMALL = {
    "tests": ["tests/parity/test_devices_parity.py", "tests/unit/test_tiers.py"],
    "capstone": {"n_steps": 4, "every": 2, "stopped_at": 2},
    "precision": dict(zip(RUN, (3, 8, 2, 1, 16, 2), strict=True)),
    "wide": dict(zip(RUN, (3, 16, 2, 1, 16, 2), strict=True)),
    "kernels": {"lengths": (8, 16), "times": 1},
    "compile": {"n": 8, "times": 1, "backend": "eager"},
    "larger": {"n_tokens": 270, "n_readings": 0, "length": 16, "window": 8, "d_model": 8,
               "n_heads": 2, "n_layers": 1, "dropout": 0.1, "batch_size": 2},
}  # fmt: skip


class Place(NamedTuple):
    """Where a step computes.

    Attributes:
        device: The card; in a rehearsal the fake one, or the processor where that cannot serve.
        folder: Where files for the site go.
        rehearse: Whether there is no card.
    """

    device: torch.device
    folder: Path
    rehearse: bool

    @property
    def sizes(self) -> dict[str, Any]:
        """How large things are."""
        return SMALL if self.rehearse else REAL


@contextmanager
def place_of(folder: Path, *, rehearse: bool, fake: bool = True) -> Iterator[Place]:
    """The card, or the fake second device, which is there only inside the block."""
    if not (rehearse and fake):
        yield Place(torch.device("cpu" if rehearse else "cuda"), folder, rehearse)
        return
    from second_device import AWAY, second_device  # of the tests

    # The recipe's AdamW is fused, which PyTorch allows on devices that it knows by name.
    name = "torch.optim.optimizer._get_fused_kernels_supported_devices"
    with patch(name, lambda: ["cpu", AWAY.type]), second_device() as away:
        yield Place(away, folder, rehearse)


# measuring


class Taken(NamedTuple):
    """What calls took: seconds of one, and the most bytes on the card; None without one."""

    seconds: float
    n_bytes: int | None


highest = 0
"""The most bytes that this step has held on the card."""


def measured(call: Callable[[], object], times: int = 1) -> Taken:
    """The time of one call, of so many in a row, and what they held on the card."""
    global highest
    on_card = torch.cuda.is_available()
    if on_card:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    begun = time.perf_counter()
    for _ in range(times):
        call()
    if on_card:
        torch.cuda.synchronize()
    seconds = (time.perf_counter() - begun) / times
    n_bytes = torch.cuda.max_memory_allocated() if on_card else None
    highest = max(highest, n_bytes or 0)
    return Taken(seconds, n_bytes)


def megabytes(n_bytes: int | None) -> str:
    """Bytes in words; a dash where nobody counted."""
    return "–" if n_bytes is None else f"{n_bytes / 2**20:,.0f}"


def milliseconds(seconds: float) -> str:
    """Three digits."""
    return f"{1000 * seconds:.3g}"


# the steps


def environment(place: Place) -> Rows:
    """The card, its memory and its software; a product there has to be that of the processor."""
    import gpu_environment

    if lacking := gpu_environment.ask(sys.executable)["lacking"]:
        raise ModuleNotFoundError(f"this Python lacks {', '.join(lacking)}")
    x = torch.randn(64, 32, dtype=torch.float64)
    y = x.to(place.device)
    torch.testing.assert_close((y @ y.mT).cpu(), x @ x.mT)
    facts = {"Python": platform.python_version(), "PyTorch": torch.__version__}
    if not place.rehearse:
        card = torch.cuda.get_device_properties(place.device)
        facts |= {"card": card.name, "memory, GiB": f"{card.total_memory / 2**30:.0f}",
                  "compute capability": f"{card.major}.{card.minor}",
                  "CUDA": torch.version.cuda}  # fmt: skip
    facts["tier"] = choose_tier().name
    return ["fact", "found"], [[name, str(value)] for name, value in facts.items()]


def devices(place: Place) -> Rows:
    """The tests of devices: how many have passed, file by file; a failing one fails the step."""
    rows, failed = [], []
    with TemporaryDirectory() as folder:
        for path in place.sizes["tests"]:
            report = Path(folder) / "report.xml"
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
            # The library's warnings are errors in other tests; those of a driver are not ours.
            command += ["-W", "default", f"--junitxml={report}", path]
            subprocess.run(command, cwd=ROOT, check=False)
            found = ElementTree.parse(report).getroot().find("testsuite").attrib
            n, skipped, broken = (int(found[key]) for key in ("tests", "skipped", "failures"))
            broken += int(found["errors"])
            rows.append([Path(path).name, *map(str, (n - skipped - broken, skipped, broken))])
            if broken or n == skipped:
                failed.append(Path(path).name)
    if failed:
        raise AssertionError(f"{', '.join(failed)}: passed, skipped, failed = {rows}")
    return ["tests", "passed", "skipped", "failed"], rows


def capstone(place: Place) -> Rows:
    """The GPT of letters: alone, under torchrun with DDP and FSDP2, and stopped and resumed."""
    heads = ["run", "s", "MB", "loss at the end", "first losses, to one process"]
    sizes, rows, alone = place.sizes["capstone"], [], None
    with TemporaryDirectory() as folder:
        for run, kind, stops in (("one process", None, []), ("DDP", "ddp", []),
                                 ("FSDP2", "fsdp", []), ("DDP, stopped and resumed", "ddp",
                                                         [sizes["stopped_at"]])):  # fmt: skip
            path = Path(folder) / f"{kind}{len(stops)}.safetensors"
            begun = time.perf_counter()
            parts = [processes(path, kind, stop, sizes) for stop in [*stops, None]]
            seconds = time.perf_counter() - begun
            n_bytes = max(part["bytes"] or 0 for part in parts) or None
            losses = [loss for part in parts for loss in part["losses"]]
            alone = losses if alone is None else alone
            apart = max(abs(a - b) for a, b in zip(losses[:N_FIRST], alone, strict=False))
            note_bytes(n_bytes)
            rows.append([run, f"{seconds:.0f}", megabytes(n_bytes), f"{mean_of_last(losses):.3f}",
                         f"{apart:.0e}" if rows else ""])  # fmt: skip
            print(rows[-1], flush=True)
            if len(losses) != len(alone) or not all(map(math.isfinite, losses)):
                raise ArithmeticError(f"{run}: {len(losses)} losses, the last is {losses[-1]}")
    return heads, rows


def mean_of_last(losses: list[float]) -> float:
    """The mean of the last ten: one batch alone says little."""
    return sum(losses[-10:]) / len(losses[-10:])


def note_bytes(n_bytes: int | None) -> None:
    """What another process held counts for the step, too."""
    global highest
    highest = max(highest, n_bytes or 0)


def processes(
    path: Path, kind: str | None, stop: int | None, sizes: dict[str, int | None]
) -> dict[str, Any]:
    """The capstone's program in a process of its own, under torchrun where there is a kind."""
    out = path.with_suffix(".json")
    options = {"path": str(path), "kind": kind or "ddp", "n_steps": sizes["n_steps"],
               "every": sizes["every"], "stop": stop, "out": str(out)}  # fmt: skip
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=1"]
    program = str(Path(__file__).with_name("gpu_worker.py"))
    command = [sys.executable, *(torchrun if kind else []), program, json.dumps(options)]
    loopback = {"GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}
    settings = os.environ | (loopback if sys.platform == "linux" else {})
    subprocess.run(command, env=settings | {"OMP_NUM_THREADS": "1"}, check=True)
    return json.loads(out.read_text())


def precision(place: Place) -> Rows:
    """The same training in float32, with products in TF32, and in bfloat16; in two sizes."""
    by_autocast = torch.device("cpu") if place.rehearse else place.device
    ways = {"float32": ("highest", None, place.device), "TF32": ("high", None, place.device),
            "bfloat16": ("highest", torch.bfloat16, by_autocast)}  # fmt: skip
    rows = []
    for sizes in (sizes_of_letters(place), place.sizes["wide"]):
        first = None
        for name, (products, dtype, device) in ways.items():
            torch.set_float32_matmul_precision(products)
            train_letters(sizes | {"n_steps": 2}, device, dtype)  # the first of all are slow
            losses = []
            taken = measured(lambda: losses.extend(train_letters(sizes, device, dtype)))  # noqa: B023
            last = mean_of_last(losses)
            model = "{n_layers} × {d_model:,}, {n_steps}".format_map(sizes)
            rows.append([model, name, milliseconds(taken.seconds / sizes["n_steps"]),
                         megabytes(taken.n_bytes), f"{last:.3f}",
                         "" if first is None else f"{last - first:+.3f}"])  # fmt: skip
            first = last if first is None else first
            print(rows[-1], flush=True)
    torch.set_float32_matmul_precision("highest")
    sizes_and_way = ["blocks × width, steps", "products in"]
    return [*sizes_and_way, "ms a step", "MB", "loss at the end", "to float32"], rows


def sizes_of_letters(place: Place) -> dict[str, int]:
    """Those of the capstone in this tier, but for what the step itself says."""
    own = place.sizes["precision"]
    tier = letters.SIZES[choose_tier().name]
    return {name: tier[name] if own[name] is None else own[name] for name in RUN}


def model_of_letters(sizes: dict[str, int], device: torch.device) -> tuple[GPT, Iterator[Tensor]]:
    """The capstone's model, and batches of the book's prose."""
    lines = book_prose().splitlines()
    known = [*known_words([list(line) for line in lines], min_count=2), "\n"]
    number = {letter: i for i, letter in enumerate(known)}
    text = (letter for line in lines for letter in line + "\n")
    stream = torch.tensor([number[letter] for letter in text if letter in number])
    torch.manual_seed(17)
    shape = [sizes[name] for name in ("n_context", "d_model", "n_heads", "n_layers")]
    model = GPT(GPTConfig.quick(len(known), *shape)).to(device)
    chance = torch.Generator().manual_seed(17)
    length, n_rows = sizes["n_context"], sizes["batch_size"]
    return model, random_pieces(stream.to(device), length, n_rows, generator=chance)


def train_letters(
    sizes: dict[str, int], device: torch.device, dtype: torch.dtype | None
) -> list[float]:
    """The book's recipe; the loss of each step."""
    model, pieces = model_of_letters(sizes, device)
    n_steps = sizes["n_steps"]
    return train_model(
        model,
        lambda model, ids: next_token_loss(model(ids), ids),
        pieces,
        optimizers=recipe_optimizers(model),
        n_steps=n_steps,
        schedule=lambda step: recipe_rate(step, n_steps=n_steps),
        clip=1.0,
        dtype=dtype,
    )


def kernels(place: Place) -> Rows:
    """The library's table of weights against each of PyTorch's kernels, causal, eight heads."""
    heads = ["n, numbers", "attention", "ms", "ms with gradients", "MB", "error, of the largest"]
    rows, sizes = [], place.sizes["kernels"]
    for dtype in (torch.float32, torch.bfloat16):
        for n in sizes["lengths"]:
            parts = [x.to(dtype) for x in drawn(n)]
            exact = reference(*parts) if n == sizes["lengths"][0] else None
            inputs = [x.to(place.device).requires_grad_() for x in parts]
            for name, call in ways_to_attend(n, place.device).items():
                row = [f"{n:,}, {str(dtype)[6:]}", name]
                rows.append([*row, *kernel_row(call, inputs, exact, sizes["times"])])
                print(rows[-1], flush=True)
    return heads, rows


def drawn(n: int) -> list[Tensor]:
    """Query, key and value of eight heads of width 64, on the processor."""
    chance = torch.Generator().manual_seed(5)
    return [torch.randn(1, 8, n, 64, generator=chance) for _ in range(3)]


def reference(*parts: Tensor) -> Tensor:
    """The same in float64, on the processor."""
    return scaled_dot_product_attention(*(x.double() for x in parts), is_causal=True)


def ways_to_attend(n: int, device: torch.device) -> dict[str, Callable[..., Tensor]]:
    """The library's own, and each kernel of PyTorch alone."""
    mask = causal_mask(n).to(device)

    def kernel(backend: SDPBackend) -> Callable[..., Tensor]:
        def call(*parts: Tensor) -> Tensor:
            with sdpa_kernel([backend]):
                return scaled_dot_product_attention(*parts, is_causal=True)

        return call

    found = {"the library's table": lambda q, k, v: attention(q, k, v, mask)}
    names = {"MATH": "PyTorch, a table", "EFFICIENT_ATTENTION": "PyTorch, memory-efficient",
             "FLASH_ATTENTION": "PyTorch, flash", "CUDNN_ATTENTION": "PyTorch, cuDNN"}  # fmt: skip
    return found | {name: kernel(getattr(SDPBackend, key)) for key, name in names.items()}


def kernel_row(
    call: Callable[..., Tensor], inputs: list[Tensor], exact: Tensor | None, times: int
) -> list[str]:
    """Times, memory and error of a kernel; dashes where PyTorch has none for these numbers."""

    def whole() -> None:
        for x in inputs:
            x.grad = None
        call(*inputs).sum().backward()

    try:
        with torch.no_grad():
            out = call(*inputs)
            forward = measured(lambda: call(*inputs), times)
        whole()
        both = measured(whole, times)
    except RuntimeError as error:
        reasons = ("available kernel", "cudnn", "out of memory")
        if not any(reason in str(error).lower() for reason in reasons):
            raise
        print(error)
        return ["–"] * 4
    wrong = "" if exact is None else f"{error_of(out, exact):.1e}"
    return [milliseconds(forward.seconds), milliseconds(both.seconds), megabytes(both.n_bytes),
            wrong]  # fmt: skip


def error_of(out: Tensor, exact: Tensor) -> float:
    """The largest error, as a share of the largest number."""
    return ((out.cpu().double() - exact).abs().max() / exact.abs().max()).item()


def compiled(place: Place) -> Rows:
    """What `torch.compile` makes of a formula, of the library's attention, and of a GPT's step."""
    sizes, device, rows = place.sizes["compile"], place.device, []
    n, times = sizes["n"], sizes["times"]
    inputs, mask = [x.to(device) for x in drawn(n)], causal_mask(n).to(device)
    model, pieces = model_of_letters(sizes_of_letters(place), device)
    ids = next(pieces)

    def formula(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = (q @ k.mT / 8).masked_fill(~mask, -math.inf)
        return scores.softmax(-1) @ v

    def step(function: Callable[[Tensor], Tensor]) -> Callable[[], object]:
        return lambda: next_token_loss(function(ids), ids).backward()

    def lookup(function: Callable[..., Tensor]) -> Callable[[], object]:
        return lambda: function(*inputs)

    for name, function, use in (
        ("softmax by hand", formula, lookup),
        ("the library's attention", lambda q, k, v: attention(q, k, v, mask), lookup),
        ("a step of the GPT of letters", model, step),
    ):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        use(function)()
        before = measured(use(function), times)
        call = use(torch.compile(function, backend=sizes["backend"]))
        try:
            first = measured(call)
            call()
            after = measured(call, times)
        except Exception as error:  # one that fails is told, and the others go on
            traceback.print_exc()
            told = f"failed: {type(error).__name__}"
            rows.append([name, milliseconds(before.seconds), told, "", "", ""])
            continue
        graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
        if graphs == 0:
            raise RuntimeError(f"{name}: nothing was compiled")
        gained = before.seconds - after.seconds
        pays = f"{math.ceil(first.seconds / gained):,}" if gained > 0 else "never"
        rows.append([name, milliseconds(before.seconds), milliseconds(after.seconds),
                     f"{first.seconds:.1f}", str(graphs), pays])  # fmt: skip
        print(rows[-1], flush=True)
    return ["what", "ms", "ms compiled", "first call, s", "graphs", "pays after calls"], rows


def larger(place: Place) -> Rows:
    """The workshop's model beside a larger one; its weights lie beside the record, uncommitted."""
    sizes, text = place.sizes["larger"], tiny_shakespeare()
    title = "the book's prose" if text is None else "tiny Shakespeare"
    if text is None:  # no network, no cache: it learns, but cannot be compared
        text = "\n\n".join(book_prose().splitlines())
    text = text[:20_000] if place.rehearse else text
    learn, judge, held_out = workshop.parts_of(text)
    tokens = BytePairTokenizer.train([learn], sizes["n_tokens"])
    shape = ("window", "d_model", "n_heads", "n_layers", "dropout")
    model = workshop.new_model(tokens, **{name: sizes[name] for name in shape}).to(place.device)
    ids = workshop.ids_of(learn, tokens).to(place.device)
    path = place.folder / "capstone.safetensors"

    def told(model: GPT, text: str = judge) -> float:
        return bits_of(model.to(place.device), tokens, text, sizes["length"])

    n_steps = max(2, sizes["n_readings"] * len(ids) // (sizes["length"] * sizes["batch_size"]))
    pieces, looks = {name: sizes[name] for name in ("length", "batch_size")}, []

    def work() -> None:
        looks.extend(
            workshop.train_and_choose(model, ids, n_steps, max(1, n_steps // 12), told, **pieces)[1]
        )

    taken = measured(work)
    print(*looks, sep="\n")
    texts = {"text": title, "step": str(workshop.best_look(looks)["step"]),
             "command": "make gpu STEP=larger"}  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = workshop.without_dropout(model)
    storage.save_gpt(path, plain, tokens, dtype=torch.float16, texts=texts)
    kept, _ = storage.load_gpt(path)
    found = told(kept, held_out)
    rows = []
    if title == "tiny Shakespeare":
        known, small = recorded("capstone").results, capstone_model()[0].config
        sized = [f"{known['parameters']:,}", str(small.d_model), str(small.n_layers)]
        rows.append([f"the workshop's, {title}", *sized, "", f"{known['bits']:.3f}"])
    n_numbers = sum(weights.numel() for weights in kept.parameters())
    rows.append([f"larger, {title}", f"{n_numbers:,}", str(sizes["d_model"]),
                 str(sizes["n_layers"]), f"{taken.seconds:.0f}", f"{found:.3f}"])  # fmt: skip
    return ["model", "numbers", "width", "blocks", "s", "bits a byte, held out"], rows


@torch.no_grad()
def bits_of(model: GPT, tokens: BytePairTokenizer, text: str, length: int) -> float:
    """As the workshop's `held_out_bits`, on the model's own device."""
    from softlookup.language_models import bits_per_byte, next_token_log_probabilities

    ids = workshop.ids_of(text, tokens).to(next(model.parameters()).device)
    logs = next_token_log_probabilities(model, ids, length, stride=length // 2)
    return bits_per_byte(logs.sum().item(), len(text.encode()))


def chapter(place: Place, name: str) -> Rows:
    """A notebook in its tier: seconds, memory and result go into the record of chapters."""
    where = ("gpu", "a rehearsal") if place.rehearse else None
    tiers.measure([by_name()[name]], place.folder / "chapters.json", where)
    return [], []


STEPS = {"environment": environment, "devices": devices, "capstone": capstone,
         "precision": precision, "kernels": kernels, "compile": compiled,
         "larger": larger}  # fmt: skip
ON_THE_FAKE = ("environment", "precision", "kernels", "larger")
"""What the fake device serves; the others rehearse on the processor itself."""


def main(name: str, out: str, folder: str, *flags: str) -> None:
    """Run a step, and write what it has found."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    rehearse = "--rehearse" in flags
    with place_of(Path(folder), rehearse=rehearse, fake=name in ON_THE_FAKE) as place:
        if name.startswith("chapter-"):
            heads, rows = chapter(place, name.removeprefix("chapter-"))
        else:
            heads, rows = STEPS[name](place)
    found = {"heads": heads, "rows": rows, "bytes": highest or None}
    Path(out).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
