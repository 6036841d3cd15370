"""Stills as an e-book: EPUB 3, a file a page, formulas in MathML or as pictures.

The text is the reader's: its style sheet sets no font, no size and no colour of text, so that what
the reader chose holds, light or dark. Made again of the same site, the book has the same bytes.
"""

import io
import re
import uuid
import zipfile
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from html import escape
from itertools import groupby
from pathlib import Path

from lxml import etree
from PIL import Image, ImageOps
from playwright.sync_api import Browser
from playwright.sync_api import Page as Tab

from book_site.assets import mathjax_files
from registry import Page

from .document import ID, article, document, linked, opened, plain
from .snapshot import Still

HERE = Path(__file__).parent
WIDTH = 480
"""As wide as the page is whose figures are photographed: what they say is read on a phone, too."""
SHARP = 2  # pixels of a photograph for one of the page
COLOURS = 128  # of a photograph
FRAME = 8  # pixels of the page, white, around a photograph: a reader's page may be black
COVER = {"width": 640, "height": 900}
FOLDER = "EPUB"
TYPES = {"png": "image/png", "css": "text/css", "xhtml": "application/xhtml+xml"}
MATHJAX = """MathJax = {
  startup: {typeset: false}, svg: {fontCache: "none"},
  options: {enableAssistiveMml: false, enableMenu: false},
}"""
NEEDS = {"mathml": "<math", "svg": "<svg"}  # what the package must say of a file that holds it
CONTAINER = f"""<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles>
<rootfile full-path="{FOLDER}/package.opf" media-type="application/oebps-package+xml"/>
</rootfiles>
</container>
"""
XHTML = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="en"
 xml:lang="en">
<head><meta charset="utf-8"/><title>{title}</title><link rel="stylesheet" href="style.css"/></head>
<body{kind}>
{body}
</body>
</html>
"""
COVERS = '<div class="eb-cover"><img src="cover.png" alt="{alt}"/></div>'


@dataclass(frozen=True)
class Section:
    """A heading of a file, to be listed: the place that it names, its depth (2 or 3), its words."""

    place: str
    depth: int
    title: str


@dataclass(frozen=True)
class File:
    """A file of the book.

    Attributes:
        name: Its name, without suffix.
        title: Its title, as words.
        html: What stands in it, as XHTML.
        sections: Its headings.
        part: The part of the book in which it is listed; empty for none.
    """

    name: str
    title: str
    html: str
    sections: tuple[Section, ...] = ()
    part: str = ""


@dataclass(frozen=True)
class Edition:
    """What the package says of the book.

    Attributes:
        title: The title.
        author: Who wrote it.
        rights: What one may do with it.
        about: What it is, in a sentence.
        day: When the edition was released.
        source: An address that is the edition's own; its identifier is made of it.
    """

    title: str
    author: str
    rights: str
    about: str
    day: date
    source: str


def answers(still: Still) -> str:
    """The solutions of a page, in an article of their own."""
    return (
        f'<article class="bk-article pp-article" id="solutions-{still.page.name}--">'
        f"<h1>Solutions: {still.title}</h1>{still.solutions}</article>"
    )


def small(picture: bytes) -> bytes:
    """A photograph of a figure with as many colours as a figure has, rare ones among them."""
    framed = ImageOps.expand(Image.open(io.BytesIO(picture)).convert("RGB"), FRAME * SHARP, "white")
    file = io.BytesIO()
    framed.quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(file, "PNG", optimize=True)
    return file.getvalue()


def photographed(tab: Tab, name: str, pictures: dict[str, bytes]) -> list[dict[str, str]]:
    """Photographs each figure of an open document that is more than a drawing.

    Returns:
        Of each, the name of its file, which `pictures` then holds, and its words.
    """
    shots = []
    for k, alt in enumerate(tab.evaluate("ebook.figures()")):
        path = f"pictures/{name}-{k + 1}.png"
        pictures[path] = small(tab.locator(f'[data-figure="{k}"]').screenshot())
        shots.append({"src": path, "alt": alt})
    return shots


def files_of(
    browser: Browser, still: Still, folder: Path, *, as_pictures: bool
) -> tuple[list[File], dict[str, bytes]]:
    """A page of the book as a file, its solutions as another, and their pictures by path.

    Args:
        browser: Chromium.
        still: The page.
        folder: Where documents lie for as long as they are open.
        as_pictures: Whether formulas become pictures, and not MathML.
    """
    name, pictures = still.page.name, {}
    texts = [article(still), *([answers(still)] if still.solutions else [])]
    html = document(name, "".join(texts), [still], mathml=True)
    size = {"viewport": {"width": WIDTH, "height": 900}, "device_scale_factor": SHARP}
    with opened(browser, html, folder, **size) as tab:
        tab.evaluate((HERE / "ebook.js").read_text(encoding="utf-8"))
        shots = photographed(tab, name, pictures)
        if as_pictures:
            tab.evaluate(f"() => {{ window.{MATHJAX.strip()} }}")
            tab.add_script_tag(path=mathjax_files()["mml-svg.js"])
            tab.evaluate("MathJax.startup.promise")
        options = {"name": name, "shots": shots, "asPicture": as_pictures}
        found = tab.evaluate("(options) => ebook.parts(options)", options)
    for k, data in enumerate(found["images"], 1):
        pictures[f"pictures/{name}-image{k}.png"] = b64decode(data)
    title = plain(still.title)
    heads = [(name, title), (f"solutions-{name}", title)]
    files = [
        File(place, words, text, headings(text))
        for (place, words), text in zip(heads, found["texts"], strict=False)
    ]
    return files, pictures


def headings(text: str) -> tuple[Section, ...]:
    """The headings of a text, each with the section that it heads, whatever box it stands in.

    Args:
        text: An XHTML element.
    """
    found = {}
    for head in etree.fromstring(text).iter("{*}h2", "{*}h3"):
        place = next((one.get("id") for one in head.iterancestors("{*}section")), None)
        words = " ".join("".join(head.itertext()).split())
        if place:
            found.setdefault(place, Section(place, int(head.tag[-1]), words))
    return tuple(found.values())


def places_of(files: Iterable[File]) -> dict[str, str]:
    """The address of each place in the book."""
    return {
        place: f"{file.name}.xhtml#{place}" for file in files for place in ID.findall(file.html)
    }


def page(title: str, body: str, kind: str = "") -> bytes:
    """An XHTML file of the book.

    Args:
        title: Its title, as words.
        body: What stands in it, as XHTML.
        kind: What it is to a reader (`epub:type`), if it is anything.

    Raises:
        ValueError: It is not well-formed.
    """
    kind = kind and f' epub:type="{kind}"'
    text = XHTML.format(title=escape(title), body=body, kind=kind).encode()
    try:
        etree.fromstring(text)
    except etree.XMLSyntaxError as error:
        raise ValueError(f"{title}: not well-formed XHTML: {error}") from error
    return text


def listed(items: list[str]) -> str:
    """A list of the contents; nothing where there is nothing to list."""
    return f"<ol>{''.join(items)}</ol>" if items else ""


def sections(file: File) -> str:
    """The list of a file's sections, those of the next depth below them."""
    items, top = [], min((section.depth for section in file.sections), default=0)
    for section in file.sections:
        link = f'<a href="{file.name}.xhtml#{section.place}">{escape(section.title)}</a>'
        if section.depth == top or not items:
            items.append([link])
        else:
            items[-1].append(f"<li>{link}</li>")
    return listed([f"<li>{first}{listed(below)}</li>" for first, *below in items])


def contents(files: list[File]) -> bytes:
    """The book's contents, which a reader shows: parts, pages and their sections."""
    items = []
    for part, pages in groupby(files, key=lambda file: file.part):
        lines = [
            f'<li><a href="{one.name}.xhtml">{escape(one.title)}</a>{sections(one)}</li>'
            for one in pages
        ]
        items += [f"<li><span>{escape(part)}</span>{listed(lines)}</li>"] if part else lines
    body = (
        f'<nav epub:type="toc" role="doc-toc"><h1>Contents</h1>{listed(items)}</nav>'
        '<nav epub:type="landmarks" hidden="hidden"><h1>Landmarks</h1><ol>'
        '<li><a epub:type="cover" href="cover.xhtml">Cover</a></li>'
        '<li><a epub:type="toc" href="nav.xhtml">Contents</a></li>'
        f'<li><a epub:type="bodymatter" href="{files[0].name}.xhtml">Text</a></li></ol></nav>'
    )
    return page("Contents", body)


def package(edition: Edition, files: dict[str, bytes], spine: list[str], *, mathml: bool) -> bytes:
    """The package document: what the book is, what is in it, and in which order it is read.

    Args:
        edition: The edition.
        files: What is in it, by path.
        spine: The names of the XHTML files in their order.
        mathml: Whether its formulas are MathML.
    """
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"{edition.source}{'' if mathml else '#pictures'}")
    features = ["alternativeText", "displayTransformability", "readingOrder"]
    features += ["structuralNavigation", "tableOfContents", *(["MathML"] if mathml else [])]
    facts = [
        *(("accessMode", mode) for mode in ("textual", "visual")),
        ("accessModeSufficient", "textual"),
        *(("accessibilityFeature", feature) for feature in sorted(features)),
        ("accessibilityHazard", "none"),
        (
            "accessibilitySummary",
            "Each figure has an alternative text and a caption; each formula is "
            + ("MathML with its TeX." if mathml else "a picture with its TeX as alternative text."),
        ),
    ]
    metas = "".join(f'<meta property="schema:{key}">{escape(text)}</meta>' for key, text in facts)
    items = []
    for path, content in sorted(files.items()):
        properties = [key for key, sign in NEEDS.items() if sign.encode() in content]
        properties = properties if path.endswith(".xhtml") else []
        properties += {"nav.xhtml": ["nav"], "cover.png": ["cover-image"]}.get(path, [])
        more = f' properties="{" ".join(properties)}"' if properties else ""
        kind = TYPES[path.rsplit(".", 1)[1]]
        items.append(f'<item id="{key_of(path)}" href="{path}" media-type="{kind}"{more}/>')
    order = "".join(f'<itemref idref="{key_of(f"{name}.xhtml")}"/>' for name in spine)
    return f"""<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="edition"
 xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="edition">urn:uuid:{name}</dc:identifier>
<dc:title>{escape(edition.title)}</dc:title>
<dc:language>en</dc:language>
<dc:creator>{escape(edition.author)}</dc:creator>
<dc:date>{edition.day}</dc:date>
<dc:description>{escape(edition.about)}</dc:description>
<dc:rights>{escape(edition.rights)}</dc:rights>
<meta property="dcterms:modified">{edition.day}T00:00:00Z</meta>
{metas}
</metadata>
<manifest>{"".join(items)}</manifest>
<spine>{order}</spine>
</package>
""".encode()


def key_of(path: str) -> str:
    """A file's name in the package document."""
    return re.sub(r"[^\w.-]", "_", path)


def packed(files: dict[str, bytes], day: date) -> bytes:
    """The files of a book as one, with the edition's day and nothing else of this machine."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as book:
        for path, content in {"mimetype": b"application/epub+zip", **files}.items():
            entry = zipfile.ZipInfo(path, (day.year, day.month, day.day, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            first = path == "mimetype"  # it stands first, as it is: so a machine knows the file
            entry.compress_type = zipfile.ZIP_STORED if first else zipfile.ZIP_DEFLATED
            book.writestr(entry, content, compresslevel=9)
    return archive.getvalue()


def ebook(
    edition: Edition,
    files: list[File],
    pictures: dict[str, bytes],
    *,
    pages: dict[str, Page],
    site: str,
    mathml: bool,
) -> bytes:
    """An EPUB.

    Args:
        edition: What is said of it.
        files: Its files in their order; their links look like `#attention--masks`.
        pictures: Its pictures by path, `cover.png` among them.
        pages: The pages of the whole book, by their names.
        site: The address at which the site is published; empty if it is not known.
        mathml: Whether its formulas are MathML.
    """
    places = places_of(files)
    inside = {
        **pictures,
        "style.css": (HERE / "ebook.css").read_bytes(),
        "nav.xhtml": contents(files),
        "cover.xhtml": page("Cover", COVERS.format(alt=escape(edition.title)), "cover"),
    }
    for file in files:
        text = linked(file.html, pages, site, places)
        inside[f"{file.name}.xhtml"] = page(file.title, text, "bodymatter")
    order = ["cover", "nav", *(file.name for file in files)]
    whole = {f"{FOLDER}/{path}": content for path, content in sorted(inside.items())}
    return packed(
        {
            "META-INF/container.xml": CONTAINER.encode(),
            f"{FOLDER}/package.opf": package(edition, inside, order, mathml=mathml),
            **whole,
        },
        edition.day,
    )
