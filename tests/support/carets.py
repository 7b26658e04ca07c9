"""What an error marks in the source: the expression, or on Python 3.10 the statement around it."""

import linecache
import sys

EXACT = sys.version_info >= (3, 11)
"""Whether the interpreter knows the columns of an instruction."""


def text_above_caret(span):
    """The text that an error at ``span`` marks."""
    line = linecache.getline(span.file, span.line).rstrip()
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    return line[span.column - 1 : end] if span.column else ""


def marked(expression):
    """What `text_above_caret` has to equal if ``expression`` is at fault."""
    return expression if EXACT else _Around(expression)


def marked_column(expression, statement):
    """Where the caret starts, of the columns of the expression at fault and of its statement."""
    return expression if EXACT else statement


class _Around:
    """Equal to every text that contains ``expression``."""

    def __init__(self, expression):
        self.expression = expression

    def __eq__(self, other):
        return self.expression in other

    __hash__ = None

    def __repr__(self):
        return f"...{self.expression!r}..."
