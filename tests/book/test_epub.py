"""The e-book: well-formed, complete, its links inside, the same twice; epubcheck agrees."""

import io
import re
import shutil
import subprocess
import zipfile
from collections import Counter
from datetime import date

import pytest
from conftest import ROOT, SITE, absent
from lxml import etree
from lxml import html as pages
from PIL import Image, ImageChops
from site_checks import words_by_sheet

import epub
import registry
from paper.ebook import (
    FRAME,
    SHARP,
    WIDTH,
    Edition,
    File,
    Section,
    ebook,
    files_of,
    headings,
    page,
    places_of,
)
from paper.ebook import small as small_photograph
from paper.snapshot import TAKE, Still, take
from softlookup.show.book_map import NODES, map_html
from softlookup.show.figure import figure_html

NAME = "objectives"  # a short chapter with a figure that moves, and formulas
X = {
    "x": "http://www.w3.org/1999/xhtml",
    "m": "http://www.w3.org/1998/Math/MathML",
    "s": "http://www.w3.org/2000/svg",
    "o": "http://www.idpf.org/2007/opf",
}
EDITION = Edition("A & B", "Nobody", "CC BY 4.0", "A book", date(2026, 11, 21), "https://a.b/1")
TEXT = (
    '<article id="{0}--"><h1>{0}</h1><section id="{0}--more"><h2>More</h2>{1}</section></article>'
)
LINKS = '<a href="#two--more">on</a> <a href="#x--y">gone</a>'
SMALL = [
    File("one", "One < two", TEXT.format("one", LINKS),
         (Section("one--more", 2, "More"),), "First"),
    File("two", "Two", TEXT.format("two", '<a href="#one--folded">back</a>'),
         (Section("two--more", 3, "More"), Section("two--more", 3, "Again")), "Last"),
]  # fmt: skip


def opened(book):
    """The files of an e-book, by path."""
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def small(**options):
    """A made-up book of two pages."""
    known = {"pages": registry.by_name(), "site": "", "mathml": True} | options
    return ebook(EDITION, SMALL, {"cover.png": b"PNG"}, **known)


def texts(files):
    """The parsed XHTML files, by name."""
    return {
        path.split("/")[1]: etree.fromstring(content)
        for path, content in files.items()
        if path.endswith(".xhtml")
    }


def dead_links(trees):
    """Links between the files that lead to no place."""
    ids = {(name, one) for name, tree in trees.items() for one in tree.xpath("//@id")}
    return [
        link
        for name, tree in trees.items()
        for link in tree.xpath("//x:a/@href", namespaces=X)
        if not re.match(r"(https?|mailto):", link)
        and ((file := link.partition("#")[0] or name) not in trees
             or ("#" in link and (file, link.partition("#")[2]) not in ids))
    ]  # fmt: skip


def test_a_small_book_has_its_files_in_order_and_its_links_inside():
    files = opened(small())
    assert next(iter(files)) == "mimetype"
    assert files["mimetype"] == b"application/epub+zip"
    trees = texts(files)
    assert dead_links(trees) == []
    assert trees["one.xhtml"].xpath("//x:a/@href", namespaces=X) == ["two.xhtml#two--more"]
    assert "gone" in "".join(trees["one.xhtml"].itertext())  # plain words
    assert trees["two.xhtml"].xpath("//x:a/@href", namespaces=X) == ["one.xhtml#one--"]
    package = etree.fromstring(files["EPUB/package.opf"])
    items = {one.get("id"): one.get("href") for one in package.iterfind(".//o:item", X)}
    read = [items[one.get("idref")] for one in package.iterfind(".//o:itemref", X)]
    assert read == ["cover.xhtml", "nav.xhtml", "one.xhtml", "two.xhtml"]
    assert set(items.values()) == {path[5:] for path in files if path.startswith("EPUB/")} - {
        "package.opf"
    }


def test_the_contents_list_parts_pages_and_sections_as_they_stand():
    nav = texts(opened(small()))["nav.xhtml"].find(".//x:nav", X)
    tops = nav.find("x:ol", X)
    assert [part.find("x:span", X).text for part in tops] == ["First", "Last"]
    assert [link.text for link in tops.iterfind(".//x:a", X)] == [
        "One < two", "More", "Two", "More", "Again",
    ]  # fmt: skip
    below = tops[1].find("x:ol/x:li/x:ol", X)
    assert len(below) == 2  # neighbours, though there is none above them


def test_the_same_book_has_the_same_bytes_and_the_editions_day_alone():
    assert small() == small()
    with zipfile.ZipFile(io.BytesIO(small())) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(2026, 11, 21, 0, 0, 0)}
    for path, content in opened(small()).items():
        days = re.findall(r"\d{4}-\d\d-\d\d", content.decode())
        assert set(days) <= {"2026-11-21"}, path


def test_formulas_as_pictures_are_another_book():
    found = [opened(small(mathml=mathml))["EPUB/package.opf"].decode() for mathml in (True, False)]
    names = [re.search(r"urn:uuid:[\w-]+", package)[0] for package in found]
    assert names[0] != names[1]
    assert [">MathML<" in package for package in found] == [True, False]


def test_what_is_not_well_formed_is_refused():
    with pytest.raises(ValueError, match="Two: not well-formed XHTML"):
        page("Two", "<p>a<br></p>")


def test_an_address_is_known_for_each_place():
    assert places_of(SMALL)["two--more"] == "two.xhtml#two--more"


def headed(title, level, *inside, box="{}"):
    """A section as XHTML: its heading, which may stand in a box, and what is below it."""
    head = box.format(f"<h{level}>{title}</h{level}>")
    return f'<section id="{title.lower()}">{head}{"".join(inside)}</section>'


def test_each_heading_is_a_section_whatever_it_stands_in():
    box = '<div class="pp-heading">{}<p>A short line.</p></div>'
    own = '<div class="admonition"><h3>No section</h3></div>'
    one = headed("One", 2, headed("A", 3, own, box=box), headed("B", 3), box=box)
    text = f"<article>{one}{headed('Two', 2, headed('C', 3))}</article>"
    found = [(one.place, one.depth, one.title) for one in headings(text)]
    assert found == [
        ("one", 2, "One"), ("a", 3, "A"), ("b", 3, "B"), ("two", 2, "Two"), ("c", 3, "C"),
    ]  # fmt: skip


# One chapter of the book ------------------------------------------------------------------


@pytest.fixture(scope="module")
def still(browser, site):
    """The chapter as it stands in an e-book."""
    return take(browser, site, registry.by_name()[NAME], WIDTH)


@pytest.fixture(scope="module", params=epub.FORMULAS)
def written(request, browser, still, tmp_path_factory):
    """How formulas stand in it, and where it lies."""
    folder = tmp_path_factory.mktemp("epub")
    return request.param, epub.write(browser, NAME, [still], folder, request.param)


def article():
    """The chapter as the site has it."""
    docname = registry.by_name()[NAME].docname
    return pages.parse(SITE / f"{docname}.html").getroot().find(".//article")


@pytest.mark.browser
def test_nothing_on_the_cover_touches_its_edge(browser, still, tmp_path):
    picture = Image.open(io.BytesIO(epub.cover(browser, still, tmp_path))).convert("RGB")
    inked = ImageChops.difference(picture, Image.new("RGB", picture.size, "white")).getbbox()
    left, top, right, bottom = inked
    assert min(left, top, picture.width - right, picture.height - bottom) > picture.width / 20


@pytest.mark.browser
def test_the_contents_list_each_heading_under_its_own_parent(written):
    nav = texts(opened(written[1].read_bytes()))["nav.xhtml"].find(".//x:nav", X)
    listed = [
        (link.text, [one.text for one in link.iterfind("../../../x:a", X)])
        for link in nav.iterfind(".//x:a", X)
    ]
    chapter, *_ = listed[0]
    heads = article().xpath(".//section[@id]/*[self::h2 or self::h3]")
    assert len(heads) > 12
    expected = [(words(head), [parent_of(head, chapter)]) for head in heads]
    assert [one for one in listed[1:] if one in expected] == expected


def words(head):
    """What a heading of the site says."""
    return " ".join("".join(head.xpath("./text() | ./*[not(@class='headerlink')]//text()")).split())


def parent_of(head, chapter):
    """What the heading says under which this one stands."""
    above = head.xpath("../../h2")
    return words(above[0]) if above else chapter


@pytest.mark.browser
def test_a_photograph_has_the_colours_of_the_canvases_in_its_figure(browser, tmp_path):
    canvas = '<canvas width="80" height="80"></canvas>'
    figure = (
        '<figure class="sl-figure"><div class="sl-picture"><div class="sl-body">{}</div>{}</div>'
        "</figure>"
    )
    map_of = '<svg viewBox="0 0 9 9"><rect width="9" height="9" fill="#00f"/></svg>'
    recorded = f'<div class="sl-printed">{map_of}</div>'
    figures = figure.format(canvas, "") + figure.format("<p>It waits.</p>", recorded)
    style = "<style>@media screen { .sl-printed { display: none; } }</style>"
    tab = browser.new_page()
    tab.set_content(f'<article class="bk-article"><h1>A page</h1>{style}{figures}</article>')
    tab.evaluate(PAINT)
    found = tab.evaluate(TAKE, {"name": "intro", "root": "/"})
    tab.close()
    known = {key: tuple(found.pop(key)) for key in ("styles", "maths", "sheets", "fonts")}
    still = Still(registry.by_name()["intro"], **found, **known)
    _, pictures = files_of(browser, still, tmp_path, as_pictures=False)
    assert [most_of(picture) for picture in pictures.values()] == ["red", "blue"]


PAINT = """() => {
  const pen = document.querySelector("canvas").getContext("2d");
  pen.fillStyle = "#f00";
  pen.fillRect(0, 0, 80, 80);
}"""


def most_of(picture):
    """The colour of most points of a picture that are not white."""
    points = Image.open(io.BytesIO(picture)).convert("RGB").getcolors()
    names = {(255, 0, 0): "red", (0, 0, 255): "blue"}
    _, colour = max(one for one in points if one[1] != (255, 255, 255))
    return names.get(colour, colour)


def test_a_photograph_keeps_a_colour_that_few_points_have():
    """A map of many shades with one cell in the colour of 1, and a frame in another yellow."""
    picture = Image.linear_gradient("L").convert("RGB")
    yellow, frame = (254, 232, 56), (240, 178, 62)
    picture.paste(yellow, (0, 0, 4, 4))
    picture.paste(frame, (0, 20, 256, 24))
    file = io.BytesIO()
    picture.save(file, "PNG")
    kept = Image.open(io.BytesIO(small_photograph(file.getvalue()))).convert("RGB")
    found = kept.getpixel((FRAME * SHARP + 1, FRAME * SHARP + 1))
    assert max(abs(a - b) for a, b in zip(found, yellow, strict=True)) < 12


@pytest.mark.browser
def test_a_chapter_has_all_its_formulas_and_figures(written):
    kind, path = written
    files = opened(path.read_bytes())
    trees = texts(files)
    text = trees[f"{NAME}.xhtml"]
    formulas = text.xpath("//m:math[@alttext]", namespaces=X)
    places = text.xpath("//*[contains(concat(' ', @class, ' '), ' math ')]")
    pictures = [one for place in places for one in place.iterfind("s:svg[@aria-label]", X)]
    assert text.xpath("//*[starts-with(local-name(), 'mjx')]") == []
    here, gone = (formulas, pictures) if kind == "mathml" else (pictures, formulas)
    assert len(here) == len(places) > 50
    assert gone == []
    figures = text.xpath("//x:figure[contains(@class, 'sl-figure')]", namespaces=X)
    assert len(figures) == len(article().xpath(".//figure[contains(@class, 'sl-figure')]"))
    for figure in figures:
        [words] = figure.xpath(".//x:img/@alt | .//s:svg/@aria-label", namespaces=X)
        assert len(words) > 20
    for source in text.xpath("//x:img/@src", namespaces=X):
        assert files[f"EPUB/{source}"].startswith(b"\x89PNG")


ROWS = "".join(f"<tr><td>row{k}</td></tr>" for k in range(1, 21))


@pytest.mark.browser
@pytest.mark.parametrize("room", [10, 14, 18, 22])
@pytest.mark.parametrize(
    ("piece", "together"),
    [
        (f"<table><thead><tr><th>head</th></tr></thead>{ROWS}</table>", {"head", "row1", "row2"}),
        ("<p>these</p><ul><li>one</li><li>two</li></ul>", {"these", "one"}),
    ],
    ids=["the head of a table", "words and a list"],
)
def test_a_screens_end_leaves_together_what_is_read_together(browser, piece, together, room):
    style = (ROOT / "_ext/paper/ebook.css").read_text(encoding="utf-8")
    tab = browser.new_page()
    tab.set_content(f'<style>{style}</style><div style="height: {200 - room}mm"></div>{piece}')
    on = words_by_sheet(tab.pdf(width="120mm", height="200mm"))
    tab.close()
    assert any(together <= words for words in on), on


@pytest.mark.browser
def test_a_photograph_is_white_all_around(written):
    files = opened(written[1].read_bytes())
    photographs = [files[path] for path in files if re.search(r"pictures/[^/]*-\d+\.png", path)]
    assert photographs
    for content in photographs:
        picture = Image.open(io.BytesIO(content)).convert("L").point(lambda grey: 255 - grey)
        left, top, right, bottom = picture.getbbox()
        assert min(left, top, picture.width - right, picture.height - bottom) >= FRAME


@pytest.mark.browser
def test_each_exercise_leads_to_its_solution_and_back(written):
    trees = texts(opened(written[1].read_bytes()))
    assert dead_links(trees) == []
    there = trees[f"{NAME}.xhtml"].xpath("//x:p[@class='pp-to-solution']/x:a/@href", namespaces=X)
    back = trees[f"solutions-{NAME}.xhtml"].xpath("//x:h3/x:a/@href", namespaces=X)
    exercises = article().xpath(".//div[contains(@class, 'exercise')]/@id")
    assert there == [f"solutions-{NAME}.xhtml#{NAME}--solution-{one}" for one in exercises]
    assert back == [f"{NAME}.xhtml#{NAME}--{one}" for one in exercises]


@pytest.mark.browser
def test_nothing_of_the_screen_is_left_and_the_fonts_are_the_readers(written):
    files = opened(written[1].read_bytes())
    text = files[f"EPUB/{NAME}.xhtml"].decode()
    tags = Counter(etree.QName(one).localname for one in etree.fromstring(text.encode()).iter("*"))
    assert not {"button", "input", "select", "form", "script", "style"} & set(tags)
    assert "var(--" not in text
    style = files["EPUB/style.css"].decode()
    assert set(re.findall(r"font-family: ([^;]+)", style)) == {"monospace"}
    assert not re.search(r"(?<!-)\bcolor:", style)


@pytest.mark.browser
def test_epubcheck_finds_no_fault(written):
    program = shutil.which("epubcheck")
    if program is None:
        absent("no epubcheck; on Debian and Ubuntu: apt-get install epubcheck")
    with open(program, "rb") as file:  # Debian's is an archive that only some systems can start
        start = ["java", "-jar"] if file.read(2) == b"PK" else []
    command = [*start, program, "--failonwarnings", str(written[1])]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.browser
def test_the_map_of_the_book_is_a_list_of_links_and_no_photograph(browser, tmp_path):
    shown = figure_html(map_html("the map of the book"), caption="The map.", name="fig-map")
    text = f"<h1>A page</h1>{shown.replace('lecture_map.html', '#tasks--')}"
    still = Still(registry.by_name()["intro"], "A page", text, "", *[()] * 4)
    (file,), pictures = files_of(browser, still, tmp_path, as_pictures=False)
    assert pictures == {}
    labels = pages.fromstring(file.html).xpath("//a[@href]/span[@class='bm-label']")
    assert [one.text for one in labels] == [node.label for node in NODES]
