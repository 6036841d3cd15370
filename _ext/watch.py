"""A plugin of pytest that shows how the run of the chapters goes, and tells what failed and where.

It stands in the process that hands the notebooks out, and takes the place of pytest's own report.
"""

import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from screen import Screen, duration

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
WORKER = re.compile(r"\A\[gw\d+\].*\n")
AROUND = 3  # lines of a cell before and after the one that failed


class Watch:
    """One line that counts, for a run of notebooks through nbmake.

    Args:
        notebooks: The copies that are run.
        finished: What to do with a copy that ran without an error; gets the seconds it took.
        known: The seconds that notebooks took when they ran last, by name.
        screen: Where to show it.
    """

    def __init__(
        self,
        notebooks: list[Path],
        finished: Callable[[Path, float], None],
        known: dict[str, float],
        screen: Screen,
    ) -> None:
        self.waiting = {path.name: path for path in notebooks}
        self.all = len(notebooks)
        self.finished = finished
        self.known = known
        self.screen = screen
        self.begun = time.monotonic()
        self.running: dict[str, float] = {}
        self.done: list[str] = []
        self.failed: dict[str, str] = {}
        self.interrupted = False
        self._over = threading.Event()
        self._redrawing = threading.Thread(target=self._redraw, daemon=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> None:
        """Take the place of pytest's report, before it is set up."""
        config.pluginmanager.unregister(name="terminal")

    def pytest_sessionstart(self) -> None:
        """Begin to redraw the line every second, and to mind Ctrl-C."""
        self._redrawing.start()
        self._usual = signal.signal(signal.SIGINT, self.interrupt)

    def interrupt(self, *_: object) -> None:
        """Stop. An error that is raised while an object is deleted is lost: so it is noted too."""
        self.interrupted = True
        raise KeyboardInterrupt

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A notebook begins."""
        self.running[name_of(nodeid)] = time.monotonic()
        self.screen.draw(self.line())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A notebook ran: keep it at once, or tell what failed."""
        if self.interrupted:
            raise KeyboardInterrupt
        name = name_of(report.nodeid)
        if report.failed:
            self._end(name)
            self.failed[name] = WORKER.sub("", COLOUR.sub("", report.longreprtext))
            self.screen.say(explain(self.waiting[name], self.failed[name]))
        elif report.when == "call":
            seconds = self._end(name)
            self.finished(self.waiting[name], seconds)
            self.done.append(name)
            if not self.screen.terminal:
                self.screen.say(f"{self._count()}: {Path(name).stem}, {duration(seconds)}")
        self.screen.draw(self.line())

    def pytest_sessionfinish(self) -> None:
        """Take the line away."""
        signal.signal(signal.SIGINT, self._usual)
        self._over.set()
        self._redrawing.join()
        self.screen.draw("")

    def _end(self, name: str) -> float:
        now = time.monotonic()
        return now - self.running.pop(name, now)

    def _redraw(self) -> None:
        while not self._over.wait(1):
            self.screen.draw(self.line())

    def _count(self) -> str:
        return f"{len(self.done)} of {self.all} done"

    def line(self) -> str:
        """The line: how many are done, which run, since when, and what is left if it is known."""
        now = time.monotonic()
        runs = [f"{Path(name).stem} {duration(now - then)}"
                for name, then in list(self.running.items())]  # fmt: skip
        parts = [self._count(), f"{len(self.failed)} failed" if self.failed else ""]
        parts += [f"running {', '.join(runs)}" if runs else "", duration(now - self.begun)]
        left = self.left(now)
        parts.append(f"about {duration(left)} left" if left else "")
        return " · ".join(part for part in parts if part)

    def left(self, now: float) -> float | None:
        """The seconds until two at a time are done; None unless each one's time is known."""
        open_ones = self.waiting.keys() - set(self.done) - self.failed.keys()
        if not open_ones <= self.known.keys():
            return None
        spent = {name: now - then for name, then in list(self.running.items())}
        rest = [max(self.known[name] - spent.get(name, 0), 0) for name in open_ones]
        return max(sum(rest) / 2, *rest) if rest else 0


def name_of(nodeid: str) -> str:
    """The file's name of a notebook that pytest speaks of."""
    return Path(nodeid.split("::")[0]).name


def explain(path: Path, report: str) -> str:
    """The chapter, the cell, the code around the line that failed, and the message.

    Args:
        path: The notebook as it ran, with its outputs.
        report: What nbmake says of it.
    """
    cell = failed_cell(nbformat.read(path, as_version=4))
    if cell is None:  # nbmake writes no outputs where the kernel died
        return f"\nChapter {path.stem} failed:\n\n{message(report)}\n"
    error = next((one for one in cell.outputs if one.output_type == "error"), None)
    line = failed_line(cell, error)
    place = f"the cell `{cell.id}`" + (f", line {line}" if line else "")
    own = error is not None and error.ename != "KeyboardInterrupt"  # nbmake's, after a time-out
    words = f"{error.ename}: {COLOUR.sub('', error.evalue)}" if own else message(report)
    return f"\nChapter {path.stem} failed in {place}:\n\n{excerpt(cell.source, line)}\n\n{words}\n"


def message(report: str) -> str:
    """What nbmake's report says before it shows code, a preview or its own traceback."""
    lines = report.removeprefix("NBMAKE INTERNAL ERROR\n").splitlines()
    return lines[0] if lines else "nbmake does not say why."


def failed_cell(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode | None:
    """The cell that holds an error, or else the one that began and did not end."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    wrong = [cell for cell in cells if any(one.output_type == "error" for one in cell.outputs)]
    timed = [(cell, cell.metadata.get("execution", {})) for cell in cells]
    cut = [cell for cell, times in timed if times and "shell.execute_reply" not in times]
    return next(iter([*wrong, *cut]), None)


def failed_line(cell: nbformat.NotebookNode, error: nbformat.NotebookNode | None) -> int | None:
    """The line of the cell that its traceback names, the innermost one."""
    text = COLOUR.sub("", "\n".join(error.traceback)) if error else ""
    lines = re.findall(rf"Cell In\s?\[{cell.execution_count}\], line (\d+)", text)
    return int(lines[-1]) if lines else None


def excerpt(source: str, line: int | None) -> str:
    """The lines around one, which is marked; the whole code where none is known."""
    lines = list(enumerate(source.splitlines(), start=1))
    near = [pair for pair in lines if line is None or abs(pair[0] - line) <= AROUND]
    marked = (f"  {'>' if at == line else ' '} {at:>3}  {text}" for at, text in near)
    return "\n".join(row.rstrip() for row in marked)
