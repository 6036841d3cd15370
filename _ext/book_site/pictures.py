"""Still pictures in fewer bytes: no more digits than a screen shows, and steps in place of places.

matplotlib writes six decimals, and each point of a line by its place. Two decimals are finer than a
pixel, and steps from point to point are short numbers that repeat, which compresses better.
"""

import re

FINEST = 2  # decimals, in units of about a pixel
SMALLEST = 100  # a picture whose units are coarser keeps its digits
NUMBER = re.compile(r"-?\d+\.\d+")
VIEW = re.compile(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ')
PLACES = re.compile(r'\b(x|y|x1|x2|y1|y2|cx|cy|r|width|height|points|textLength)="([^"]*)"')
PATH = re.compile(r'\bd="([^"]*)"')
LINES = re.compile(r"(?:[ML]\s*-?[\d.]+\s+-?[\d.]+\s*|z\s*)+")
POINT = re.compile(r"([MLz])(?:\s*(-?[\d.]+)\s+(-?[\d.]+))?")
MOVED = re.compile(r"translate\([^()]*\)")


def short(number: float) -> str:
    """A number with few digits: 3.5 for 3.500001, 0 for -0.001."""
    text = f"{number:.{FINEST}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def rounded(text: str) -> str:
    """Text whose numbers have few digits."""
    return NUMBER.sub(lambda match: short(float(match[0])), text)


def steps(path: str) -> str:
    """A path; if it consists of straight lines, each point as the step that leads there."""
    path = path.strip()
    if not LINES.fullmatch(path):
        return re.sub(r"\s*([MLQCz])\s*", r"\1", rounded(path))
    scale = 10**FINEST
    at, written, is_open = (0, 0), [], False
    for kind, *place in POINT.findall(path):
        if kind == "z":
            written.append("z")
            is_open = False
            continue
        here = tuple(round(float(number) * scale) for number in place)
        if kind == "M" or not is_open:
            written.append("M" + " ".join(short(number / scale) for number in here))
            is_open = True
        else:
            across, down = (new - old for new, old in zip(here, at, strict=True))
            written.append(_step(across / scale, down / scale))
        at = here
    return "".join(written)


def _step(across: float, down: float) -> str:
    if not down:
        return f"h{short(across)}"
    return f"v{short(down)}" if not across else f"l{short(across)} {short(down)}"


def lightened(svg: str) -> str:
    """A picture that looks the same and weighs less.

    Args:
        svg: An `<svg>` element.
    """
    view = VIEW.search(svg)
    if view is None or float(view[1]) < SMALLEST:
        return svg
    svg = PATH.sub(lambda match: f'd="{steps(match[1])}"', svg)
    svg = PLACES.sub(lambda match: f'{match[1]}="{rounded(match[2])}"', svg)
    return MOVED.sub(lambda match: rounded(match[0]), svg)
