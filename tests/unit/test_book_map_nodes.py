"""A node of the book's map stands in its band, with its chapter."""

from softlookup.show import book_map
from softlookup.show.book_map import NODES, Node, map_text


def test_a_new_node_stands_in_its_band_with_its_chapter(monkeypatch):
    before = map_text().splitlines()
    monkeypatch.setattr(book_map, "NODES", (*NODES, Node("heed", "Heed", 7, "Output")))
    after = map_text().splitlines()
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert changed == [(old, f"{old}, Heed (7)") for old in before if old.startswith("Output: ")]
    assert len(changed) == 1
