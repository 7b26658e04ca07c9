"""Progress of a measurement: a bar in a terminal, a line elsewhere."""

import io
import sys

import pytest

from tilec.jit.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, finish=True):
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with Progress("tuning", 4) as progress:
        for _ in range(4):
            progress.tick()
        if finish:
            progress.finish("fast")
    return stream.getvalue()


def test_line_at_the_end_without_a_terminal(monkeypatch):
    assert shown(monkeypatch, io.StringIO()) == "tuning: fast\n"


def test_bar_and_line_in_a_terminal(monkeypatch):
    text = shown(monkeypatch, Terminal())
    assert "━" in text
    assert "100%" in text
    assert text.endswith("tuning: fast\n")


def test_bar_is_cleared_after_an_error(monkeypatch):
    terminal = Terminal()
    with pytest.raises(KeyError):
        shown_and_failed(monkeypatch, terminal)
    assert terminal.getvalue().endswith("\x1b[2K")


def shown_and_failed(monkeypatch, terminal):
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with Progress("tuning", 4) as progress:
        progress.tick()
        raise KeyError
