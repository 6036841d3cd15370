"""Formulas within a line as letters and signs, to be read and found where nothing sets them."""

import re
import unicodedata

LETTERS = re.compile(
    r"text(?:bf|it|rm|sf|tt)?|math(?:bb|bf|cal|frak|it|rm|sf|tt)|operatorname|bold(?:symbol)?"
    r"|overline|vec|underbrace|left|right|[bB]igg?[lr]?|displaystyle"
)
"""How letters look, and how large their brackets are: that is not read."""
MARKS = {"hat": "\N{COMBINING CIRCUMFLEX ACCENT}", "bar": "\N{COMBINING MACRON}",
         "tilde": "\N{COMBINING TILDE}"}  # fmt: skip
FUNCTIONS = ("log", "ln", "exp", "sin", "cos", "tan", "tanh", "min", "max", "arg", "det", "dim")
SIGNS = {
    "cdot": "·", "odot": "⊙", "times": "×", "oplus": "⊕", "otimes": "⊗", "top": "⊤", "circ": "∘",
    "sum": "Σ", "prod": "Π", "int": "∫", "nabla": "∇", "partial": "∂", "infty": "∞", "ell": "ℓ",
    "sim": "~", "approx": "≈", "neq": "≠", "ne": "≠", "equiv": "≡", "propto": "∝", "ge": "≥",
    "geq": "≥", "le": "≤", "leq": "≤", "gg": "≫", "ll": "≪", "pm": "±", "in": "∈", "notin": "∉",
    "subset": "⊂", "subseteq": "⊆", "cap": "∩", "cup": "∪", "to": "→", "mapsto": "↦",
    "rightarrow": "→", "leftarrow": "←", "Rightarrow": "⇒", "mid": "|", "vert": "|", "lvert": "|",
    "rvert": "|", "Vert": "‖", "lVert": "‖", "rVert": "‖", "langle": "⟨", "rangle": "⟩",
    "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "dots": "…", "ldots": "…",
    "cdots": "⋯", "vdots": "⋮", "bmod": " mod ", "quad": " ", "qquad": " ", "colon": ":",
    "prime": "′", "lambda": "λ", "Lambda": "Λ", "varphi": "φ", "varepsilon": "ε", "Delta": "Δ",
    "Sigma": "Σ", "Phi": "Φ", "Omega": "Ω", "Theta": "Θ", "Gamma": "Γ", "emptyset": "∅",
    "star": "⋆", "ast": "∗",
    "forall": "∀", "exists": "∃",
}  # fmt: skip
SPACED = frozenset("∈∉≡∝≫≪⊂⊆↦→←⇒⊕")
BUILT = frozenset(["frac", "tfrac", "dfrac", "sqrt", "binom", "begin", "end"])
COMMAND = re.compile(r"\\([A-Za-z]+)\*?")
INNER = r"\s*\{([^{}]*)\}"
ARGUMENT = r"\s*(?:\{([^{}]*)\}|([A-Za-z0-9]))"


def known(command: str) -> bool:
    """Whether a command of TeX, without its backslash, is read as something else than its name."""
    return bool(
        command in SIGNS or command in FUNCTIONS or command in MARKS or command in BUILT
        or LETTERS.fullmatch(command) or greek(command)
    )  # fmt: skip


def greek(command: str) -> str:
    """The small Greek letter with this name; empty if there is none."""
    try:
        return unicodedata.lookup(f"GREEK SMALL LETTER {command.upper()}")
    except KeyError:
        return ""


def read(tex: str) -> str:
    """A short formula in letters and signs: sqrt(d_k), P(y | x)."""
    found = re.sub(
        r"(\\[A-Za-z]+)(?=\\)", r"\1 ", tex
    )  # or what stands in its place would touch it
    found = re.sub(r"(\\l[vV]ert)\s+", r"\1{}", found)
    found = re.sub(r"\\begin\{\w*\}", "(", found)
    found = re.sub(r"\\end\{\w*\}", ")", found).replace(r"\\", "; ").replace("&", " ")
    found = re.sub(r"\\[,;:! ]", " ", found).replace(r"\|", "‖")
    found = found.replace(r"\{", "⦃").replace(r"\}", "⦄")
    before = None
    while before != found:  # from within
        before = found
        found = re.sub(rf"\\(?:{LETTERS.pattern})\*?(?:{INNER}|(?![A-Za-z]))", _letters, found)
        found = re.sub(rf"\\(hat|bar|tilde){ARGUMENT}", _marked, found)
        found = re.sub(rf"\\[dt]?frac{ARGUMENT}{ARGUMENT}", _fraction, found)
        found = re.sub(rf"\\binom{ARGUMENT}{ARGUMENT}", _pair, found)
        found = re.sub(rf"\\sqrt{ARGUMENT}", lambda one: f"sqrt({one[1] or one[2]})", found)
        found = re.sub(r"([_^])\{([^{}]*)\}", _raised, found)
    found = re.sub(r"[{}]", "", COMMAND.sub(_sign, found))
    found = found.replace("⦃", "{").replace("⦄", "}").replace("\\", "")
    found = re.sub(rf"\b({'|'.join(FUNCTIONS)}) (?=\()", r"\1", re.sub(r"\s+", " ", found))
    return re.sub(r"(?<=[∂⌊⌈⟨(]) | (?=[⌋⌉⟩)])", "", found).strip()


def _letters(found: re.Match) -> str:
    """The letters alone."""
    return found[1] or ""


def _marked(found: re.Match) -> str:
    """A letter with what stands above it."""
    return f"{found[2] or found[3]}{MARKS[found[1]]}"


def _one(told: str) -> str:
    """An argument in brackets, unless it is one thing."""
    return told if re.fullmatch(r"\\?\w+|\w\(\w*\)", told.strip()) else f"({told})"


def _fraction(found: re.Match) -> str:
    above, below = found[1] or found[2], found[3] or found[4]
    return f"{_one(above)}/{_one(below)}"


def _pair(found: re.Match) -> str:
    return f"({found[1] or found[2]}; {found[3] or found[4]})"


def _raised(found: re.Match) -> str:
    sign, told = found.groups()
    return f"{sign}{told}" if re.fullmatch(r"\\?\w*|\([^()]*\)", told) else f"{sign}({told})"


def _sign(found: re.Match) -> str:
    """A sign, a Greek letter or a function's name, with a space where words would touch."""
    name = found[1]
    before = found.string[: found.start()][-1:].isalnum()
    behind = re.match(r"[\w\\]", found.string[found.end() :])
    sign = SIGNS.get(name)
    if sign is None:
        told = greek(name) or name
        return f"{' ' * before}{told}{' ' * bool(behind)}" if name in FUNCTIONS else told
    return f" {sign} " if name == "mid" or sign in SPACED else sign
