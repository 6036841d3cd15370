"""The site offers what was made on paper and as e-books, and nothing else."""

from zipfile import ZipFile

import pytest
from lxml import html as pages

import registry
from offer import offer

FIGURE = '<figure class="sl-figure sl-interactive" id="{}"><div>{}</div></figure>'
FRONT = '<section id="three-ways-to-read"><dl>a</dl></section>'


@pytest.fixture
def folders(tmp_path):
    """A site with a front page, and empty folders of PDFs and e-books."""
    found = [tmp_path / name for name in ("html", "pdf", "epub")]
    for folder in found:
        folder.mkdir()
    (found[0] / "intro.html").write_text(FRONT)
    return found


def book_of(folder, pages=()):
    """An e-book of these pages, with pictures of one byte."""
    with ZipFile(folder / "soft-lookup.epub", "w") as book:
        for name, text in dict(pages).items():
            book.writestr(f"EPUB/{name}.xhtml", text)
        for k in (1, 2):
            book.writestr(f"EPUB/pictures/attention-{k}.png", bytes([k]))


def offered(site):
    """The links of the front page, each of which must lead to a file."""
    links = pages.fromstring((site / "intro.html").read_text()).xpath("//a/@href")
    assert all((site / link).exists() for link in links)
    return links


def test_the_site_offers_what_was_made_and_nothing_else(folders):
    site, pdfs, ebooks = folders
    with pytest.raises(FileNotFoundError, match="run `make pdf` or `make epub` first"):
        offer(*folders)
    for name in ("soft-lookup", "attention"):
        (pdfs / f"{name}.pdf").write_bytes(b"%PDF")
    offer(*folders)
    assert offered(site) == ["pdf/soft-lookup.pdf", "pdf/attention.pdf"]
    book_of(ebooks)
    (ebooks / "attention.epub").write_bytes(b"PK")  # a chapter alone is somebody's own
    offer(*folders)
    assert offered(site)[2:] == ["epub/soft-lookup.epub"]
    (ebooks / "soft-lookup-pictures.epub").write_bytes(b"PK")
    offer(*folders)
    assert offered(site)[2:] == ["epub/soft-lookup.epub", "epub/soft-lookup-pictures.epub"]


def test_asked_again_it_says_it_once(folders):
    book_of(folders[2])
    offer(*folders)
    once = (folders[0] / "intro.html").read_text()
    offer(*folders)
    assert (folders[0] / "intro.html").read_text() == once
    assert offered(folders[0]) == ["epub/soft-lookup.epub"]


def test_without_a_script_a_figure_that_moves_is_its_photograph(folders):
    site, _, ebooks = folders
    shot = '<img src="pictures/attention-{}.png" alt="Its &quot;words&quot;" style="width: 9px;"/>'
    told = FIGURE.format("attention--fig-a", shot.format(1)) + FIGURE.format(
        "attention--fig-b", shot.format(2)
    )
    still = '<figure class="sl-figure" id="attention--fig-c"><svg></svg></figure>'
    book_of(ebooks, {"attention": still + told})
    silent = "<noscript>Words{}</noscript>"
    page = site / f"{registry.by_name()['attention'].docname}.html"
    page.parent.mkdir()
    before = "".join(FIGURE.format(f"fig-{name}", silent.format(name)) for name in "cab")
    page.write_text(before)
    for _ in range(2):
        offer(*folders)
        found = pages.fromstring(page.read_text())
        assert [one.text for one in found.iter("noscript")] == ["Wordsc", None, None]
        for picture, name, byte in zip(found.iter("img"), "ab", (1, 2), strict=True):
            assert picture.getparent().getparent().getparent().get("id") == f"fig-{name}"
            assert picture.get("alt") == 'Its "words"'
            assert (page.parent / picture.get("src")).read_bytes() == bytes([byte])
