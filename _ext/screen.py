"""What a long run shows: one line redrawn in place; whole lines where there is no terminal."""

import os
import shutil
import sys
import threading
from typing import TextIO


class Screen:
    """A stream for text that stays, and for one line below it that is redrawn.

    Args:
        stream: Where to write. Only a terminal is drawn on; elsewhere the text that stays is all.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.terminal = self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self._line = ""
        self._lock = threading.Lock()

    def draw(self, line: str) -> None:
        """Show a line in place of the one that was drawn before; an empty one removes it."""
        with self._lock:
            self._line = line
            self._redraw()

    def say(self, text: str) -> None:
        """Write text that stays, above the line that is redrawn."""
        with self._lock:
            self.stream.write(f"{self._erase()}{text}\n")
            self._redraw()

    def _erase(self) -> str:
        return "\r\x1b[2K" if self.terminal else ""

    def _redraw(self) -> None:
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1  # a full line would wrap
            line = self._line if len(self._line) <= width else f"{self._line[: width - 1]}…"
            self.stream.write(f"{self._erase()}{line}")
        self.stream.flush()


def duration(seconds: float) -> str:
    """A time in words: `42 s`, `3 min 05 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
