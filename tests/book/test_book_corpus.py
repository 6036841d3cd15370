"""The book's prose as a corpus: what is taken from a page, and what is left out."""

import nbformat
import pytest

import book_corpus
import registry


@pytest.mark.parametrize(
    ("markdown", "lines"),
    [
        ("Two words meet *here*, in\na **row**.", ["Two words meet here, in a row."]),
        ("# A heading\n\nOne sentence of five words.", ["One sentence of five words."]),
        ("Too short a line.", []),
        ("The weights sum to one: here", []),
        ("so the sum is one over all.", []),
        ("The key $k$ has $d_k$ numbers in it.", ["The key k has d_k numbers in it."]),
        (r"It is $\sqrt{d}$ wide. The rest of it stays here.", ["The rest of it stays here."]),
        ("The score is\n\n$$s = qk$$\n\nand nothing else at all.", []),
        ("Call `row` as often as you like.", ["Call row as often as you like."]),
        ("Call `softmax(scores)` once. Then see what it gives.", ["Then see what it gives."]),
        ("A {term}`soft lookup` mixes what it finds.", ["A soft lookup mixes what it finds."]),
        ("All {term}`keys <key>` fit a little bit.", ["All keys fit a little bit."]),
        ("It was seen by others {cite}`x2020y`, too.", ["It was seen by others, too."]),
        ("It was seen (by {cite}`x2020y`) before. A sentence without brackets is safe.",
         ["A sentence without brackets is safe."]),
        ("In [Figure](#fig-x) it falls. In [chapter 2](02.ipynb) it rises at once.",
         ["In chapter 2 it rises at once."]),
        (":::{note}\n:class: x\nWhat a note says is prose too.\n:::",
         ["What a note says is prose too."]),
        ("```python\nThis is code and no prose.\n```", []),
        ("| a | b |\n| - | - |\n| One sentence of five words. | b |", []),
        ("- The first of two short items.\n- The second of two short items.",
         ["The first of two short items.", "The second of two short items."]),
    ],
)  # fmt: skip
def test_what_is_prose(markdown, lines):
    assert list(book_corpus.prose(markdown)) == lines


def test_only_text_cells_of_a_notebook_are_prose(tmp_path):
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell("What is told comes first here."),
            nbformat.v4.new_code_cell('"What is computed is no prose."'),
        ]
    )
    nbformat.write(notebook, tmp_path / "page.ipynb")
    lines = list(book_corpus.paragraphs(tmp_path / "page.ipynb"))
    assert lines == ["What is told comes first here."]


def test_a_chapter_that_a_link_names_has_its_number(tmp_path):
    told = "All of it is told in [chapter {number}](limits#memory)."
    cells = [nbformat.v4.new_markdown_cell(told)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "page.ipynb")
    number = registry.by_name()["limits"].number
    found = list(book_corpus.paragraphs(tmp_path / "page.ipynb"))
    assert found == [f"All of it is told in chapter {number}."]


def test_what_a_reader_may_pass_over_is_left_out():
    told = """Before all.
# Title
First.
## Optional: more
Not this.
### Below it
Nor this.
## After it
Second.
```python
## Optional: a comment
```
### Optional: a part
Nor that.
### Another part
Third.
## Exercises
Count.
## References
Someone.
"""
    found = [line for line in book_corpus.core(told).splitlines() if line.endswith(".")]
    assert found == ["Before all.", "First.", "Second.", "Third."]


def test_all_chapters_are_read_each_paragraph_once():
    lines = book_corpus.corpus().splitlines()
    assert len(set(lines)) == len(lines) > 1500
    for chapter in registry.chapters():
        assert set(book_corpus.paragraphs(chapter.path)) <= set(lines)
