"""The environment of `make gpu`: find a Python whose PyTorch sees the card, bring what it lacks.

It needs nothing but Python's own library. The Python that runs it is asked first, then `.venv`; one
whose PyTorch sees a card wins. Only where neither has PyTorch is `.venv` made, with the lock and
the ordinary index, whose PyTorch brings CUDA. What a Python lacks, such as what runs notebooks,
goes into `.gpu/`, beside its own packages: from the index, or from the folder `.wheels`, which
needs no network and which `make gpu-wheels` fills on another machine. What cannot be had is said,
and the steps that need it fail.

    python benchmarks/gpu_environment.py [what benchmarks/gpu.py takes]
    python benchmarks/gpu_environment.py --wheels 3.12   fill .wheels for this version of Python
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OWN, WHEELS = ROOT / ".gpu", ROOT / ".wheels"
NEEDED = {
    "hypothesis": "hypothesis",
    "ipykernel": "ipykernel",
    "ipywidgets": "ipywidgets",
    "jaxtyping": "jaxtyping",
    "matplotlib": "matplotlib",
    "nbclient": "nbclient",
    "nbformat": "nbformat",
    "numpy": "numpy",
    "pooch": "pooch",
    "pytest": "pytest",
    "regex": "regex",
    "requests": "requests",
    "safetensors": "safetensors",
    "sklearn": "scikit-learn",
    "tqdm": "tqdm",
    "yaml": "PyYAML",
}
"""By the module's name, the package's: what the steps import beside PyTorch."""

CARRIED = ("hypothesis", "ipykernel", "ipywidgets", "jaxtyping", "nbclient", "nbformat", "pooch",
           "pytest", "PyYAML", "regex", "safetensors", "tqdm")  # fmt: skip
"""What `.wheels` holds: small packages, which a machine with CUDA's PyTorch may well lack."""

PLATFORMS = [f"manylinux_2_{n}_x86_64" for n in (17, 24, 27, 28, 31, 34)]
PLATFORMS += ["manylinux2014_x86_64", "manylinux1_x86_64"]

LEAST = {"Python": (3, 11), "PyTorch": (2, 10)}
"""The lowest versions with which the library runs."""

PROBE = """
import importlib.util, json, sys
found = {"lacking": [name for name in sys.argv[1:] if importlib.util.find_spec(name) is None]}
found["Python"] = ".".join(map(str, sys.version_info[:3]))
try:
    import torch
    found.update(torch=torch.__version__, sees_card=torch.cuda.is_available())
except (ImportError, OSError):
    found.update(torch=None, sees_card=False)
print(json.dumps(found))
"""


def variables() -> dict[str, str]:
    """The environment in which the steps run: the library, and what was brought."""
    paths = [str(ROOT / "lib"), str(OWN), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def ask(python: str | Path) -> dict[str, Any]:
    """Which PyTorch a Python has, whether it sees a card, and which modules are lacking."""
    run = subprocess.run([python, "-c", PROBE, *NEEDED], env=variables(), cwd=ROOT,
                         capture_output=True, text=True, check=True)  # fmt: skip
    return json.loads(run.stdout.splitlines()[-1])


def choose(found: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The first Python that sees a card, else the first with PyTorch, else none; none too old."""
    with_torch = [key for key, facts in found.items() if facts["torch"] and not too_old(facts)]
    seeing = [python for python in with_torch if found[python]["sees_card"]]
    return next(iter(seeing + with_torch), None)


def too_old(facts: Mapping[str, Any]) -> list[str]:
    """What of a Python is older than the library allows, in words."""
    there = {"Python": facts["Python"], "PyTorch": facts["torch"] or "99.0"}
    return [
        f"{name} {there[name]} is older than {'.'.join(map(str, least))}"
        for name, least in LEAST.items()
        if tuple(int(part) for part in there[name].split(".")[:2]) < least
    ]


def bring(python: str, modules: list[str]) -> None:
    """Install what is lacking into `.gpu`, in the versions of the lock."""
    packages = [NEEDED[name] for name in modules]
    print(f"Bringing {', '.join(packages)} into .gpu", flush=True)
    source = ["--no-index", "--find-links", WHEELS] if any(WHEELS.glob("*.whl")) else []
    command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *source]
    command += ["--target", OWN, "--upgrade", "-c", ROOT / "requirements.txt", *packages]
    subprocess.run(command, check=False)


def fill_wheels(version: str) -> int:
    """Fetch the small packages for another machine, which has Linux and this Python."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check"]
    command += ["--only-binary=:all:", "--implementation", "cp", "--python-version", version]
    command += [part for name in PLATFORMS for part in ("--platform", name)]
    command += ["-d", WHEELS, "-c", ROOT / "requirements.txt", *CARRIED]
    return subprocess.run(command, check=False).returncode


def main(arguments: list[str]) -> int:
    """Find or make the environment, and start `gpu.py` in it."""
    if arguments[:1] == ["--wheels"]:
        return fill_wheels(arguments[1])
    own = ROOT / ".venv" / "bin" / "python"
    found = {sys.executable: ask(sys.executable)}
    if own.exists():
        found[str(own)] = ask(own)
    python = choose(found)
    for facts in found.values():
        for words in too_old(facts):
            print(f"{words}, so it is not used.")
    if python is None:
        print("No PyTorch here that serves, so .venv is made.", flush=True)
        make = ["make", "--no-print-directory", ".venv/installed", f"PYTHON={sys.executable}"]
        if subprocess.run(make, cwd=ROOT, check=False).returncode:
            print("The environment could not be made, so no step can run.")
            return 1
        python, found[str(own)] = str(own), ask(own)
    facts = found[python]
    if not facts["sees_card"] and shutil.which("nvidia-smi") and "--rehearse" not in arguments:
        print(f"There is an NVIDIA card, but PyTorch {facts['torch']} does not see it.")
        print("Name a Python that does: make gpu PYTHON=... Or rehearse: make gpu REHEARSE=yes")
        return 1
    if facts["lacking"]:
        bring(python, facts["lacking"])
        if lacking := ask(python)["lacking"]:
            print(f"Still lacking: {', '.join(lacking)}. What needs them fails, the rest goes on.")
    command = [python, str(ROOT / "benchmarks" / "gpu.py"), *arguments]
    sys.stdout.flush()
    os.chdir(ROOT)
    return os.execve(python, command, variables())  # in its place: a signal reaches it at once


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
