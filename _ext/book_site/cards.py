"""Social cards: what a page shows where its address is shared, a title beside the chapter's figure.

They are needed where the site has an address (`html.baseurl`), and are drawn there alone, 1200 by
630 pixels. The figure is the small picture of the front page (`thumbnails.py`), an SVG; matplotlib
draws again the few kinds of elements that the book's figures consist of.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import fill
from xml.etree import ElementTree

from sphinx.application import Sphinx

import registry

from .thumbnails import Pictures

FOLDER = "_static/cards"
SIZE = 12, 6.3  # inches of 100 pixels
INK, PAPER, SOFT, ACCENT = "#1d1c1a", "#fdfcf9", "#5b5852", "#0b5a8c"
ROOM = 0.53, 0.1, 0.43, 0.8  # of the figure in the card: left, bottom, width, height
TOKEN = re.compile(r"[MLHVCQZmlhvcqz]|-?\d*\.?\d+(?:e-?\d+)?")
LENGTHS = {"m": 2, "l": 2, "h": 1, "v": 1, "q": 4, "c": 6, "z": 0}
INHERITED = (
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "opacity",
    "stroke-dasharray",
    "font-size",
)
COLOUR = re.compile(r"var\([^,]+, *(#\w+)\)")


def points(path: str) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """The parts of a path: the letter of each, and its points as places."""
    tokens = TOKEN.findall(path)
    kind, at, start = "", (0.0, 0.0), (0.0, 0.0)
    while tokens:
        if tokens[0].isalpha():
            kind = tokens.pop(0)
        low = kind.lower()
        numbers = [float(tokens.pop(0)) for _ in range(LENGTHS[low])]
        x, y = at if kind == low else (0.0, 0.0)
        if low == "h":
            places = [(x + numbers[0], at[1])]
        elif low == "v":
            places = [(at[0], y + numbers[0])]
        else:
            places = [(x + a, y + b) for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
        at = places[-1] if places else start
        if low == "m":
            start = at
        yield ("l" if low in "hv" else low), places or [at]
        if low == "m":
            kind = "L" if kind == "M" else "l"


def outline(path: str):
    """A path as matplotlib has it."""
    from matplotlib.path import Path as Outline

    codes = {"m": [1], "l": [2], "q": [3, 3], "c": [4, 4, 4], "z": [79]}
    parts = list(points(path))
    places = [place for _, part in parts for place in part]
    return Outline(places, [code for kind, _ in parts for code in codes[kind]])


def look_of(element: ElementTree.Element, around: Mapping[str, str]) -> dict[str, str]:
    """What an element says of its look, and what the elements around it say."""
    style = dict(re.findall(r"([\w-]+):\s*([^;]+)", element.get("style", "")))
    own = {key: style.get(key, element.get(key)) for key in INHERITED}
    return {**around, **{key: value for key, value in own.items() if value is not None}}


def colour(said: str | None, usual: str) -> str:
    """A colour of the page by day."""
    said = usual if said is None else COLOUR.sub(r"\1", said)
    return {"currentColor": INK, "inherit": usual}.get(said, PAPER if "var(" in said else said)


def moved(element: ElementTree.Element):
    """The element's `transform`, as matplotlib has it."""
    from matplotlib.transforms import Affine2D

    found = Affine2D()
    for name, text in reversed(re.findall(r"(\w+)\(([^()]*)\)", element.get("transform", ""))):
        numbers = [float(number) for number in re.split(r"[ ,]+", text.strip())]
        if name == "translate":
            found.translate(*[*numbers, 0][:2])
        elif name == "scale":
            found.scale(*numbers)
        elif name == "rotate":
            found.rotate_deg_around(*(numbers[1:] or (0, 0)), numbers[0])
        elif name == "matrix":
            a, b, c, d, e, f = numbers
            found = found + Affine2D([[a, c, e], [b, d, f], [0, 0, 1]])
    return found


class Drawing:
    """Draws an SVG on axes whose units are the SVG's.

    Args:
        axes: The axes.
        scale: Points for a unit of the SVG.
        root: The `<svg>` element.
    """

    def __init__(self, axes, scale: float, root: ElementTree.Element) -> None:
        self.axes, self.scale = axes, scale
        self.known = {one.get("id"): one for one in root.iter() if one.get("id")}
        for child in root:
            self.draw(child, {}, axes.transData)

    def draw(self, element: ElementTree.Element, around: Mapping[str, str], base) -> None:
        """Draw an element with all that it holds."""
        kind = element.tag.rpartition("}")[2]
        if kind in ("defs", "clipPath", "style", "title", "image"):
            return
        look = look_of(element, around)
        base = moved(element) + base
        if kind == "path":
            self.patch(outline(element.get("d", "")), look, base)
        elif kind in ("rect", "circle"):
            self.shape(kind, element, look, base)
        elif kind == "text":
            self.text(element, look, base)
        elif kind == "use":
            self.use(element, look, base)
        else:
            for child in element:
                self.draw(child, look, base)

    def patch(self, path, look: Mapping[str, str], base) -> None:
        """Draw a path."""
        from matplotlib.colors import to_rgba
        from matplotlib.patches import PathPatch

        if len(path.vertices) == 0:
            return
        line = colour(look.get("stroke"), "none")
        width = float(re.sub(r"[a-z]+$", "", look.get("stroke-width", "1")))
        shade = colour(look.get("fill"), INK)
        through = float(look.get("opacity", 1))
        patch = PathPatch(
            path,
            facecolor=to_rgba(shade, through * float(look.get("fill-opacity", 1))),
            edgecolor=to_rgba(line, through),
            linewidth=0 if line == "none" else width * self.scale,
            transform=base,
            clip_on=False,
        )
        self.axes.add_artist(patch)

    def shape(self, kind: str, element: ElementTree.Element, look: Mapping, base) -> None:
        """Draw a box or a circle."""
        from matplotlib.path import Path as Outline
        from matplotlib.transforms import Affine2D

        def of(name: str) -> float:
            return float(element.get(name, 0))

        if kind == "circle":
            path = Outline.unit_circle().transformed(
                Affine2D().scale(of("r")).translate(of("cx"), of("cy"))
            )
        else:
            path = outline(f"M{of('x')} {of('y')}h{of('width')}v{of('height')}h{-of('width')}z")
        self.patch(path, look, base)

    def text(self, element: ElementTree.Element, look: Mapping[str, str], base) -> None:
        """Write words."""
        anchor = {"middle": "center", "end": "right"}.get(element.get("text-anchor", ""), "left")
        size = float(re.sub(r"[a-z]+$", "", look.get("font-size", "12")))
        turned = re.search(r"rotate\((-?[\d.]+)", element.get("transform", ""))
        self.axes.text(
            float(element.get("x", 0)),
            float(element.get("y", 0)),
            "".join(element.itertext()).replace("$", r"\$"),
            fontsize=size * self.scale,
            color=colour(look.get("fill"), INK),
            ha=anchor,
            va="baseline",
            rotation=-float(turned[1]) if turned else 0,
            rotation_mode="anchor",
            transform=base,
        )

    def use(self, element: ElementTree.Element, look: Mapping[str, str], base) -> None:
        """Draw again what has a name."""
        from matplotlib.transforms import Affine2D

        target = self.known.get(element.get("href", "").removeprefix("#"))
        if target is not None:
            place = float(element.get("x", 0)), float(element.get("y", 0))
            self.draw(target, look, Affine2D().translate(*place) + base)


def draw_card(file: Path, title: str, number: int | None, svg: str) -> None:
    """Draw a page's card.

    Args:
        file: Where to.
        title: The page's title.
        number: The chapter's number, if it is a chapter.
        svg: A figure, or "".
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from softlookup.show.svg import load_fonts  # only a build imports the library

    load_fonts()
    figure = Figure(figsize=SIZE, dpi=100, facecolor=PAPER)
    FigureCanvasAgg(figure)
    with rc_context({"font.family": ["Soft Lookup Sans", "DejaVu Sans"]}):
        figure.text(0.06, 0.84, "Soft Lookup", fontsize=22, color=SOFT)
        heading = fill(re.sub(r"[*`$]", "", title), 20 if svg else 34)
        figure.text(0.06, 0.47, heading, fontsize=40, color=INK, va="center", linespacing=1.15)
        if number is not None:
            figure.text(0.06, 0.12, f"Chapter {number}", fontsize=22, color=ACCENT)
        if svg:
            root = ElementTree.fromstring(svg)
            left, top, width, height = map(float, root.get("viewBox").split())
            axes = figure.add_axes(ROOM)
            axes.set_axis_off()
            axes.set(xlim=(left, left + width), ylim=(top + height, top), aspect="equal")
            scale = 72 * min(SIZE[0] * ROOM[2] / width, SIZE[1] * ROOM[3] / height)
            Drawing(axes, scale, root)
        figure.savefig(file)


def address_card(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Tell the page's template where its card is."""
    base = app.config.html_baseurl
    if base and doctree is not None:
        has_own = pagename in Pictures.kept(app.env)
        name = Path(pagename).name if has_own else app.config.root_doc
        context["page_card"] = f"{base.rstrip('/')}/{FOLDER}/{name}.png"


def draw_cards(app: Sphinx, exception: Exception | None) -> None:
    """Draw the cards of all chapters, and of the front page, which stands for the other pages."""
    if exception is not None or app.builder.format != "html" or not app.config.html_baseurl:
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    kept = Pictures.best(app.env)
    front = app.config.root_doc
    what = "Embeddings, attention and Transformers"
    draw_card(folder / f"{front}.png", what, None, next(iter(kept.values()), ""))
    for page in registry.chapters():
        if page.docname in kept:
            file = folder / f"{Path(page.docname).name}.png"
            draw_card(file, page.title, page.number, kept[page.docname])


def setup(app: Sphinx) -> None:
    """Draw them at the end."""
    app.connect("html-page-context", address_card)
    app.connect("build-finished", draw_cards, priority=200)  # after the folder is cleared
