"""The site offers what was made on paper and as e-books, and nothing else."""

import pytest
from lxml import html as pages

from offer import offer

FRONT = '<section id="three-ways-to-read"><dl>a</dl></section>'


@pytest.fixture
def folders(tmp_path):
    """A site with a front page, and empty folders of PDFs and e-books."""
    found = [tmp_path / name for name in ("html", "pdf", "epub")]
    for folder in found:
        folder.mkdir()
    (found[0] / "intro.html").write_text(FRONT)
    return found


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
    (ebooks / "soft-lookup.epub").write_bytes(b"PK")
    (ebooks / "attention.epub").write_bytes(b"PK")  # a chapter alone is somebody's own
    offer(*folders)
    assert offered(site)[2:] == ["epub/soft-lookup.epub"]
    (ebooks / "soft-lookup-pictures.epub").write_bytes(b"PK")
    offer(*folders)
    assert offered(site)[2:] == ["epub/soft-lookup.epub", "epub/soft-lookup-pictures.epub"]


def test_asked_again_it_says_it_once(folders):
    (folders[2] / "soft-lookup.epub").write_bytes(b"PK")
    offer(*folders)
    once = (folders[0] / "intro.html").read_text()
    offer(*folders)
    assert (folders[0] / "intro.html").read_text() == once
    assert offered(folders[0]) == ["epub/soft-lookup.epub"]
