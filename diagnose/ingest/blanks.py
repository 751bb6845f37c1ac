"""A script's rows with blanks for what is not gone through, and for what stands in a row before a command that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from diagnose.ingest.lines import Row
from diagnose.ingest.statements import Statement


class Blanks:
    """What is left out is given in the order of the text."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = list(rows)
        self._leads: dict[int, int] = {}  # from where on a row only leads to what may be run
        self._busy: set[int] = set()  # rows with a command that is more than a test or an assignment

    def leave_out(self, one: Statement, start: int | None = None) -> None:
        row = self._rows[one.row]
        end = one.end if start is None else one.start
        start = one.start if start is None else start
        words = f"{row.words[:start]}{' ' * (end - start)}{row.words[end:]}"
        self._rows[one.row] = replace(row, line=replace(row.line, words=words))

    def leads(self, one: Statement) -> None:
        """A test, or a word of a branch, behind which a command may stand in the same row."""
        if one.row not in self._busy:
            self._leads.setdefault(one.row, one.start)

    def runs(self, one: Statement, reached: bool, sets: bool) -> None:
        """A command. Where it is ``reached``, it is read as a row of its own, without what leads to it."""
        chained = one.sign in ("&&", "||") and not self._rows[one.row].words[: one.start].strip("&| \t")
        start = self._leads.pop(one.row, 0 if chained else None)
        if start is not None and reached:
            self.leave_out(one, start)
        if not sets:
            self._busy.add(one.row)

    def rows(self) -> tuple[Row, ...]:
        return tuple(self._rows)
