"""The run of the chapters: what is kept of it, what it shows, and what it says of a failure."""

import io
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import nbformat
import pytest
import yaml
from conftest import ROOT

import execute
import watch
from screen import Screen, duration
from watch import Watch

WRONG = "total = 0\n\nshare = 1 / total\nprint(share)"
SLOW = "import time\ntime.sleep(100)"


class Book:
    """A throw-away book with the real machinery: one chapter for each list of cells."""

    def __init__(self, folder: Path, **chapters: list[str]) -> None:
        self.root = folder / "book"
        leave_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "_ext", self.root / "_ext", ignore=leave_out)
        (self.root / "lib" / "softlookup").mkdir(parents=True)
        (self.root / "requirements.txt").write_text("")
        (self.root / "intro.md").write_text("# A book\n")
        toc = "".join(f"  - file: chapters/{name}\n" for name in chapters)
        (self.root / "_toc.yml").write_text(f"format: jb-book\nroot: intro\nchapters:\n{toc}")
        (self.root / "chapters").mkdir()
        for name, cells in chapters.items():
            self.write(name, cells)

    def path(self, name: str) -> Path:
        """A chapter's notebook."""
        return self.root / "chapters" / f"{name}.ipynb"

    def write(self, name: str, cells: list[str], **metadata) -> None:
        """Write a chapter anew."""
        code = [nbformat.v4.new_code_cell(cell, id=f"cell-{k}") for k, cell in enumerate(cells)]
        title = nbformat.v4.new_markdown_cell(f"# Chapter {name}", id="title")
        language = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
        notebook = nbformat.v4.new_notebook(cells=[title, *code], metadata=language | metadata)
        nbformat.write(notebook, self.path(name))

    def start(self, **options) -> subprocess.Popen:
        """Start the run in a group of processes of its own."""
        ours = ("PYTEST", "PYTHONPATH", "SOFTLOOKUP")
        variables = {name: it for name, it in os.environ.items() if not name.startswith(ours)}
        return subprocess.Popen(
            [sys.executable, "_ext/execute.py"], cwd=self.root, start_new_session=True, text=True,
            env=variables, **{"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} | options,
        )  # fmt: skip

    def run(self) -> tuple[int, str]:
        """Run what is due: the exit status, and all that was shown."""
        process = self.start()
        shown, _ = process.communicate(timeout=120)
        return process.returncode, shown

    def printed(self, name: str, monkeypatch) -> str | None:
        """What the cache says that a chapter printed; None if it holds nothing for its text."""
        monkeypatch.setattr(execute, "CACHE", self.root / ".jupyter_cache")
        kept = execute.kept(self.path(name))
        return None if kept is None else "".join(execute.text_outputs(kept).values()).strip()


def test_what_ran_is_kept_when_another_fails_and_the_next_run_executes_the_others_alone(
    tmp_path, monkeypatch
):
    book = Book(tmp_path, a=["print('ran')"], b=["x = 1", WRONG], c=["print('too')"])
    status, shown = book.run()
    assert status == 1
    kept = {name: book.printed(name, monkeypatch) for name in "abc"}
    assert kept == {"a": "ran", "b": None, "c": "too"}
    assert "2 of 3 notebooks are done and kept. Failed: b." in shown
    book.write("b", ["print('mended')"])
    status, shown = book.run()
    assert status == 0
    assert shown.splitlines()[0] == "Executing 1 of 3 notebooks, two at a time."
    assert book.printed("b", monkeypatch) == "mended"
    assert book.run() == (0, "All chapters are up to date.\n")


def test_a_failure_says_chapter_cell_line_code_and_message_before_all_else(tmp_path):
    status, shown = Book(tmp_path, b=["x = 1", WRONG]).run()
    assert status == 1
    assert shown.startswith(
        "Executing 1 of 1 notebooks, two at a time.\n\n"
        "Chapter b failed in the cell `cell-1`, line 3:\n\n"
        "      1  total = 0\n"
        "      2\n"
        "  >   3  share = 1 / total\n"
        "      4  print(share)\n\n"
        "ZeroDivisionError: division by zero\n"
    )
    assert shown.index("ZeroDivisionError") < shown.index("The whole report of b.ipynb:")
    assert "Traceback (most recent call last)" in shown
    assert "test session starts" not in shown


def test_a_kernel_that_dies_and_a_cell_that_takes_too_long_are_told(tmp_path):
    book = Book(tmp_path, a=["import os\nos._exit(3)"], b=["1", SLOW])
    book.write("b", ["1", SLOW], execution={"timeout": 2})
    status, shown = book.run()
    assert status == 1
    first, _, _ = shown.partition("The whole report")
    assert "\nChapter a failed:\n\nKernel died\n" in first
    assert "\nChapter b failed in the cell `cell-1`, line 2:\n" in first
    assert "\nA cell timed out while it was being executed, after 2 seconds.\n" in first
    assert "NBMAKE" not in first


def test_what_ran_before_an_interruption_is_kept(tmp_path, monkeypatch):
    book = Book(tmp_path, a=["print('ran')"], b=[SLOW], c=[SLOW])
    process = book.start()
    while "1 of 3 done: a" not in process.stdout.readline():
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    shown, _ = process.communicate(timeout=60)
    assert process.returncode
    assert "1 of 3 notebooks are done and kept. Interrupted." in shown
    assert book.printed("a", monkeypatch) == "ran"
    assert book.printed("b", monkeypatch) is None


def test_an_interruption_that_got_lost_stops_the_run_at_the_next_report():
    """As one does that comes while an object is deleted."""
    shown = Watch([Path("a.ipynb")], print, {}, Screen(io.StringIO()))
    with suppress(KeyboardInterrupt):
        shown.interrupt()
    with pytest.raises(KeyboardInterrupt):
        shown.pytest_runtest_logreport(None)


def test_outputs_are_kept_with_the_code_that_ran_not_with_what_was_written_meanwhile(
    tmp_path, monkeypatch
):
    book = Book(tmp_path, a=["print('first')"])
    late = f"from pathlib import Path\nimport shutil\nshutil.copy({str(tmp_path / 'new')!r}, "
    book.write("a", ["print('second')"])
    shutil.copy(book.path("a"), tmp_path / "new")
    book.write("a", [f"{late}{str(book.path('a'))!r})\nprint('first')"])
    assert book.run()[0] == 0
    assert book.printed("a", monkeypatch) is None  # what was written meanwhile has not run


def test_on_a_terminal_one_line_is_redrawn_and_elsewhere_each_notebook_is_a_line(tmp_path):
    book = Book(tmp_path, a=["1"], b=["import time\ntime.sleep(4)"])
    reader, writer = pty.openpty()
    process = book.start(stdout=writer, stderr=writer)
    os.close(writer)
    shown = b""
    while chunk := _read(reader):
        shown += chunk
    assert process.wait() == 0
    first, *drawn = shown.decode().split("\r\x1b[2K")
    assert first == "Executing 2 of 2 notebooks, two at a time.\r\n"
    assert "\n" not in "".join(drawn)
    assert [line for line in drawn if re.match(r"1 of 2 done · running b \d+ s · \d+ s$", line)]
    assert drawn[-1] == ""
    status, shown = Book(tmp_path / "plain", a=["1"]).run()
    assert status == 0
    assert re.fullmatch(r"Executing 1 of 1 [^\n]*\n1 of 1 done: a, \d+ s\n", shown)


def _read(terminal: int) -> bytes:
    """What a terminal shows next; nothing once its program has ended."""
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux says so of a terminal that was hung up
        return b""


def watched(*names: str, **known: float) -> Watch:
    """A watch over notebooks that nobody runs."""
    paths = [Path(f"{name}.ipynb") for name in names]
    times = {f"{name}.ipynb": seconds for name, seconds in known.items()}
    return Watch(paths, lambda path, seconds: None, times, Screen(io.StringIO()))


def test_what_is_left_is_said_only_where_every_time_is_known():
    known = {"a": 10.0, "b": 30.0, "c": 20.0}
    assert watched("a", "b", "c", **known).left(now=0) == 30  # two at a time
    assert watched("a", "b", **known).left(now=0) == 30  # no sooner than the longest
    assert watched("a", "b", "d", **known).left(now=0) is None
    under_way = watched("a", "b", "c", **known)
    under_way.running = {"b.ipynb": 100.0}
    under_way.done = ["a.ipynb"]
    assert under_way.left(now=115) == 20
    assert under_way.left(now=500) == 20  # what takes longer than last time
    under_way.failed = {"c.ipynb": ""}
    assert under_way.left(now=110) == 20


def test_the_line_counts():
    over = watched("a", "b", "c", a=5.0, b=100.0, c=1.0)
    over.running = {"b.ipynb": over.begun}
    over.done, over.failed = ["a.ipynb"], {"c.ipynb": "broken"}
    line = "1 of 3 done · 1 failed · running b 0 s · 0 s · about 1 min 40 s left"
    assert over.line() == line


def test_a_time_in_words():
    assert [duration(seconds) for seconds in (0.4, 59, 60, 125)] == [
        "0 s", "59 s", "1 min 00 s", "2 min 05 s"
    ]  # fmt: skip


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """It says so."""
        return True


def test_the_line_on_a_terminal_is_no_wider_than_the_terminal_and_stays_below_the_text(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    screen = Screen(stream)
    screen.draw("a line of more than twenty letters")
    screen.say("text")
    screen.draw("")
    line = "a line of more tha…"
    erase = "\r\x1b[2K"
    assert len(line) == 19
    assert stream.getvalue() == f"{erase}{line}{erase}text\n{erase}{line}{erase}"
    monkeypatch.setenv("TERM", "dumb")
    assert not Screen(stream).terminal


def test_the_line_that_failed_is_the_innermost_of_the_cell():
    cell = nbformat.v4.new_code_cell("def f():\n    1 / 0\n\nf()", execution_count=4)
    traceback = [
        "Cell In[4], line 4\n",
        "\x1b[32mCell In[4], line 2\x1b[0m, in f()",
        "In[3], line 9",
    ]
    error = nbformat.v4.new_output("error", ename="E", evalue="", traceback=traceback)
    assert watch.failed_line(cell, error) == 2
    assert watch.failed_line(cell, None) is None


def test_the_code_around_a_line():
    code = "\n".join(f"line {k}" for k in range(1, 12))
    rows = watch.excerpt(code, 6).splitlines()
    assert [row.split()[-1] for row in rows] == ["3", "4", "5", "6", "7", "8", "9"]
    assert [row for row in rows if ">" in row] == ["  >   6  line 6"]
    assert len(watch.excerpt(code, None).splitlines()) == 11


def test_the_times_outlive_an_emptied_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(execute, "CACHE", tmp_path / "cache")
    execute.drop_stale()
    execute.note_seconds({"a.ipynb": 3.0})
    execute.note_seconds({"b.ipynb": 4.0})
    (tmp_path / "cache" / "fingerprint").write_text("another library")
    (tmp_path / "cache" / "global.db").write_text("outputs")
    execute.drop_stale()
    assert execute.seconds() == {"a.ipynb": 3.0, "b.ipynb": 4.0}
    assert not (tmp_path / "cache" / "global.db").exists()


@pytest.mark.parametrize(("report", "words"), [
    ("NBMAKE INTERNAL ERROR\nKernel died\n  File ...", "Kernel died"),
    ("A cell timed out.\nThe message was: ...", "A cell timed out."),
    ("", "nbmake does not say why."),
])  # fmt: skip
def test_the_message_of_a_report(report, words):
    assert watch.message(report) == words


FIGURE = """from IPython.display import HTML
HTML('<figure class="sl-figure" id="fig-{name}"><b>1</b><figcaption>One.</figcaption></figure>')"""


class Site(Book):
    """A throw-away book of three pages with figures, and its site."""

    def __init__(self, folder: Path) -> None:
        figures = {f"0{k}_{name}": [FIGURE.format(name=name)] for k, name in enumerate("ab", 1)}
        super().__init__(folder, **figures)
        config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
        config["logo"] = config["html"]["favicon"] = ""
        for extension in ("lecture_map", "reference_ledger"):
            config["sphinx"]["local_extensions"].pop(extension)
        (self.root / "_config.yml").write_text(yaml.safe_dump(config))
        (self.root / "references.bib").write_text("")
        (self.root / "intro.md").write_text("# A book\n\nSee [Figure](#fig-b).\n")

    def build(self) -> tuple[int, str]:
        """Execute what is due and build the site, as `make book`: the status, and the pages."""
        status, shown = self.run()
        assert status == 0, shown
        book = Path(sys.executable).with_name("jupyter-book")
        command = [book, "build", ".", "-q", "-W", "-n"]
        run = subprocess.run([*command, "--keep-going"], cwd=self.root, capture_output=True,
                             text=True, check=False)  # fmt: skip
        pages = re.search(r"^Pages built: (.*)\.$", run.stdout, flags=re.M)
        assert pages, run.stdout + run.stderr
        return run.returncode, pages[1]

    def page(self, name: str) -> str:
        """A page as built."""
        return (self.root / "_build" / "html" / f"{name}.html").read_text(encoding="utf-8")


def test_only_the_pages_that_changed_are_built_and_those_that_speak_of_them(tmp_path):
    site = Site(tmp_path)
    assert site.build() == (0, "all 3")
    assert site.build() == (0, "none")
    first = FIGURE.format(name="a")
    site.write("01_a", [first, "print('changed')"])
    assert site.build() == (0, "chapters/01_a, intro")  # Sphinx always writes the front page
    assert "changed" in site.page("chapters/01_a")
    site.write("01_a", [first, FIGURE.format(name="new")])
    assert site.build() == (0, "chapters/01_a, intro")
    assert "Figure 2.1" in site.page("intro")
    site.write("02_b", [FIGURE.format(name="before"), FIGURE.format(name="b")])
    assert site.build() == (0, "all 3")
    assert "Figure 2.2" in site.page("intro")


def test_after_a_warning_nothing_passes_for_done(tmp_path):
    site = Site(tmp_path)
    assert site.build() == (0, "all 3")
    front = site.root / "intro.md"
    right = front.read_text()
    front.write_text(right.replace("fig-b", "fig-nowhere"))
    assert site.build() == (1, "intro")
    assert site.build() == (1, "all 3")
    front.write_text(right)
    assert site.build() == (0, "all 3")
    assert site.build() == (0, "none")


def test_what_a_cell_prints_without_a_break_is_one_output():
    def output(text, name="stdout"):
        return nbformat.v4.new_output("stream", name=name, text=text)

    shown = nbformat.v4.new_output("display_data", data={"text/plain": "a table"})
    outputs = [output("one\n"), output("two\n"), shown, output("three\n"), output("!", "stderr")]
    joined = execute.joined(outputs)
    assert [one.get("text", "shown") for one in joined] == ["one\ntwo\n", "shown", "three\n", "!"]
    assert outputs[0].text == "one\n"
