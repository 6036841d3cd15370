"""The works that the book names: complete, with a link that lasts, and none without a reader."""

import ast
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from pybtex.database import Entry, parse_file, parse_string

import softlookup

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(softlookup.__file__).parent
WORKS = dict(parse_file(str(ROOT / "references.bib"), bib_format="bibtex").entries)
VENUES = ("journal", "booktitle", "publisher", "institution", "howpublished")
NAME = r"(?:(?:van|von|de|De|Tjong Kim|Spärck) )?[A-ZÀ-Ž][\w'’-]+|nostalgebraist"
NAMED = re.compile(
    rf"(?<![\w.-])(?P<names>(?:{NAME})(?:, (?:{NAME}))*(?:,? and (?:{NAME}))?)"
    r"(?P<others> et al\.)?,? \(?(?P<year>(?:18|19|20)\d\d)\b(?!-)"
)
MONTHS = {"In", "Since", "October", "Python", "January"}


def plain(name: str) -> str:
    """A name in small letters without accents, so that spellings agree."""
    name = unicodedata.normalize("NFD", name.replace("’", "'"))
    return "".join(letter for letter in name if not unicodedata.combining(letter)).lower()


def surnames(work: Entry) -> list[str]:
    """The last names of a work's authors, in order."""
    return [
        plain(" ".join(map(str, [*person.rich_prelast_names, *person.rich_last_names])))
        for person in work.persons["author"]
    ]


def faults(work: Entry) -> list[str]:
    """What a work lacks: author, title, year, venue, or a link that lasts."""
    fields = {name.lower(): text for name, text in work.fields.items()}
    found = [name for name in ("title", "year") if not fields.get(name)]
    if not work.persons.get("author"):
        found.append("author")
    if "eprint" in fields and fields.get("archiveprefix") != "arXiv":
        found.append("archiveprefix of the eprint")
    if not any(fields.get(venue) for venue in VENUES) and "eprint" not in fields:
        found.append("venue")
    link = (
        re.fullmatch(r"10\.\d{4,}/\S+", fields.get("doi", ""))
        or re.fullmatch(r"\d{4}\.\d{4,5}|[a-z-]+/\d{7}", fields.get("eprint", ""))
        or re.fullmatch(r"https?://\S+", fields.get("url", ""))
        or re.search(r"\\url\{https://\S+\}", fields.get("howpublished", ""))
    )
    return found if link else [*found, "doi, eprint or url"]


def cited_in_text(text: str) -> set[str]:
    """The keys that a Markdown text cites."""
    return {
        key.strip()
        for keys in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", text)
        for key in keys.split(",")
    }


def pages() -> str:
    """The text of all pages of the book."""
    texts = [ROOT / "intro.md", *(ROOT / "chapters").glob("*.md")]
    found = [page.read_text(encoding="utf-8") for page in texts]
    for path in (ROOT / "chapters").glob("*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        found += [cell.source for cell in cells if cell.cell_type == "markdown"]
    return "\n\n".join(found)


def named_in(text: str) -> Iterator[tuple[list[str], bool, str]]:
    """The works that a text names by author and year: the names, whether more follow, the year."""
    for match in NAMED.finditer(" ".join(text.split())):
        names = [plain(name) for name in re.split(r",? and |, ", match["names"])]
        if match["names"] not in MONTHS:
            yield names, bool(match["others"]), match["year"]


def keys_of(names: list[str], others: bool, year: str) -> list[str]:
    """The keys of the works with these authors and this year; one name alone is the first."""
    begins = others or len(names) == 1
    return [
        key
        for key, work in WORKS.items()
        if work.fields["year"].rstrip("abc") == year
        and (surnames(work)[: len(names)] if begins else surnames(work)) == names
    ]


def docstrings() -> dict[str, str]:
    """What documents the modules, classes and functions of the library, examples left out."""
    found = {}
    for path in sorted(LIBRARY.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = (ast.get_docstring(node) or "").partition("Example:")[0]
                place = f"{path.relative_to(LIBRARY)}: {getattr(node, 'name', 'module')}"
                found[place] = text
    return {place: text for place, text in found.items() if list(named_in(text))}


DOCSTRINGS = docstrings()


@pytest.mark.parametrize("key", WORKS)
def test_work_has_author_year_title_venue_and_a_link_that_lasts(key):
    assert not faults(WORKS[key])


@pytest.mark.parametrize("place", DOCSTRINGS)
def test_works_that_a_docstring_names_stand_in_the_references(place):
    unknown = [named for named in named_in(DOCSTRINGS[place]) if not keys_of(*named)]
    assert not unknown, "add the work to references.bib, or name all of its authors"


def test_each_work_is_cited_and_each_citation_is_known():
    in_library = {
        key for text in DOCSTRINGS.values() for named in named_in(text) for key in keys_of(*named)
    }
    cited = cited_in_text(pages())
    assert cited - set(WORKS) == set()
    assert set(WORKS) - cited - in_library == set()


def test_year_beside_a_citation_is_the_works_own():
    found = re.findall(r"((?:18|19|20)\d\d)[a-c]? \{cite\}`([\w-]+)`", pages())
    wrong = [(year, key) for year, key in found if WORKS[key].fields["year"].rstrip("abc") != year]
    assert len(found) > 50
    assert not wrong


def test_no_work_stands_twice_in_the_references():
    titles = [re.sub(r"\W", "", work.fields["title"]).lower() for work in WORKS.values()]
    assert len(WORKS) > 100
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("author = {Lee, Ann}", "editor = {Lee, Ann}", "author"),
        ("title = {A Title},", "", "title"),
        ("year = {2001},", "", "year"),
        ("journal = {A Journal},", "", "venue"),
        ("doi = {10.1000/182},", "", "doi, eprint or url"),
        ("doi = {10.1000/182},", "doi = {https://doi.org/10.1000/182},", "doi, eprint or url"),
        ("doi = {10.1000/182},", "eprint = {1706.03762},", "archiveprefix of the eprint"),
    ],
)
def test_a_planted_fault_of_a_work_is_told(old, new, fault):
    whole = "@article{lee2001title, author = {Lee, Ann}, title = {A Title}, year = {2001}, "
    whole += "journal = {A Journal}, doi = {10.1000/182},}"
    planted = whole.replace(old, new)
    assert planted != whole
    for text, expected in ((whole, []), (planted, [fault])):
        (work,) = parse_string(text, "bibtex").entries.values()
        assert faults(work) == expected


def test_works_are_found_in_a_text_by_author_and_year():
    text = "As in Xu, Ba and Kim 2015, section 2 (Vaswani et al. 2017); the model of 2018."
    assert list(named_in(text)) == [
        (["xu", "ba", "kim"], False, "2015"),
        (["vaswani"], True, "2017"),
    ]
    assert keys_of(["vaswani"], True, "2017") == ["vaswani2017attention"]
    assert keys_of(["vaswani"], True, "2016") == keys_of(["parmar"], True, "2017") == []
    assert keys_of(["zhang", "sennrich"], False, "2019") == ["zhang2019root"]
    assert keys_of(["vaswani", "shazeer"], False, "2017") == []
    assert cited_in_text("a {cite}`x2001a,y2002b` and {cite:t}`z2003c`") == {
        "x2001a", "y2002b", "z2003c"
    }  # fmt: skip
