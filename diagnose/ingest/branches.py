"""Which parts of a shell script are gone through: what stands in a branch that the script itself leaves out sets nothing.

``USE_LORA=${USE_LORA:-0}`` and below it ``if [ "$USE_LORA" = 1 ]; then EXTRA+=(model.lora_rank=32); fi``: no adapters. A branch whose
test nobody can decide from the text stays, but where two of one ``if`` set a variable to different values it is untold, and of a
setting that both make the first counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from diagnose.ingest.blanks import Blanks
from diagnose.ingest.lines import Row
from diagnose.ingest.shell_sets import Assignment, assignments, settles, started, take, value_of
from diagnose.ingest.shell_tests import both, decide, either
from diagnose.ingest.shell_values import told
from diagnose.ingest.statements import Statement, Statements, has_branches
from diagnose.ingest.wrapper import read_wrapped
from diagnose.types import Setting

_LEAVES = re.compile(r"(?:exit|return)\b", re.A)
_LOOPS_OVER = re.compile(r"(?P<name>[A-Za-z_]\w{0,80})\s+in\b", re.A)
# what a loop over the arguments looks at
_ARGUMENT = re.compile(r"\"?\$\{?1\}?\"?", re.A)
_PARTED = ("then", "elif", "else", "arm")


class Walked(NamedTuple):
    """The rows with blanks for what is not gone through.

    ``given`` are variables with the line from which on they have a value: the one that the script was called with, or None where its
    branches leave it untold.

    ``arms`` are the lines of branches that nobody can decide: the number of the ``if``, that of the branch, and its first and last line.
    """

    rows: Sequence[Row]
    given: Sequence[tuple[str, int, str | None]] = ()
    arms: Sequence[tuple[int, int, int, int]] = ()

    def first(self, settings: Iterable[Setting]) -> list[Setting]:
        """The settings without those that an earlier branch of the same undecided ``if`` gives another value."""
        kept: list[Setting] = []
        made: dict[tuple[int, str], tuple[int, str]] = {}
        for setting in settings:
            line = setting.span.line
            places = [one for one in self.arms if setting.command < 0 and one[2] <= line <= one[3]]
            before = [(made.setdefault((one[0], setting.key), (one[1], setting.value)), one[1]) for one in places]
            if all(was[0] == arm or was[1] == setting.value for was, arm in before):
                kept.append(setting)
        return kept


@dataclass(slots=True)
class _Branch:
    """An ``if``, ``case``, loop or function that is open: whether the part at hand is gone through, and whether an earlier one was."""

    kind: str
    group: int
    outer: bool | None
    live: bool | None
    subject: str | None = None
    apart: bool = False  # a function or a loop
    options: bool = False  # a case that looks at one argument after the other
    taken: bool | None = False
    test: bool | None = None
    testing: bool = False
    asked: set[str] = field(default_factory=set)
    undecided: bool = False
    sets: list[dict[str, tuple[str, Statement]]] = field(default_factory=list)  # of each part that nobody can decide
    lines: list[tuple[int, int]] = field(default_factory=list)

    def part(self, own: bool | None, line: int) -> None:
        """Begins a part that its own test lets through, or not."""
        if not self.options:
            own = False if self.taken or own is False else None if self.taken is None else own
            self.taken = either(self.taken, own)
        self.live, self.undecided = both(self.outer, own), own is None and not self.options
        if self.undecided:
            self.sets.append({})
            self.lines.append((line, line))


def walk(rows: Sequence[Row]) -> Walked:
    """The rows as they are where no shell's branch stands among them."""
    given = list(read_wrapped(rows))
    return _Walker(rows, given).walked() if has_branches(rows) else Walked(rows, given)


class _Walker:
    def __init__(self, rows: Sequence[Row], given: Sequence[tuple[str, int, str]]) -> None:
        self.rows = rows
        self.given: list[tuple[str, int, str | None]] = list(given)
        read = Statements(rows)
        self.statements, self.closed = read.found, read.closed
        self.values = started(rows)
        self.called = dict(self.values.held)
        self.wrapped = {(name, line): value for name, line, value in given}
        self.open: list[_Branch] = []
        self.blanks = Blanks(rows)
        self.arms: list[tuple[int, int, int, int]] = []
        self.status: bool | None = None  # what the command before came to
        self.ran: bool | None = True  # whether it was run
        self.tested: set[str] = set()  # the names that its chain of tests asks for
        self.last: dict[str, int] = {}  # where each variable is set for the last time
        for at, one in enumerate(self.statements):
            self.last |= dict.fromkeys((each.name for each in assignments(one.text)), at) if "=" in one.text else {}

    def walked(self) -> Walked:
        for at, one in enumerate(self.statements):
            top = self.open[-1] if self.open else None
            if one.kind in ("if", "case", "loop", "braces"):
                if one.group in self.closed:
                    self._begin(one)
            elif one.kind == "end" or one.kind in _PARTED:
                if top and one.group == top.group:
                    self._turn(top, one)
            elif one.kind == "run":
                (self._test if top and top.testing else self._run)(one, at)
            else:
                self._beside(one)
        return Walked(self.blanks.rows(), self.given, self.arms)

    def _beside(self, one: Statement) -> None:
        """A comment, lines that are left out, or what a further row holds of a command."""
        if one.kind == "gap" or one.text[:2] == "#!":
            self._forget()
        settles(one.text, self.values)
        if one.kind == "more":
            self.status = None
        top = self.open[-1] if self.open else None
        if one.kind == "more" and top and top.testing:
            top.test = None
        elif (self._live() if one.kind == "note" else self.ran) is False:
            self.blanks.leave_out(one)

    def _live(self) -> bool | None:
        return self.open[-1].live if self.open else True

    def _forget(self) -> None:
        """Lines are left out, or another script begins: what was set before it nobody can tell."""
        self.values.held = dict.fromkeys(self.values.held, None) | self.called
        self.values.whole = False

    def _begin(self, one: Statement) -> None:
        """A function's commands and those of a loop are run nobody knows how often."""
        self._reach(one.sign)
        if one.kind != "braces" or one.sign in ("&&", "||"):  # alone it may open a dictionary
            self.blanks.leads(one)
        unsure = one.text in ("function", "while", "until")
        live = both(self.ran, None) if unsure else self.ran
        branch = _Branch(
            one.kind, one.group, self.ran, live, testing=one.kind == "if", apart=unsure or one.kind == "loop"
        )
        if one.kind == "case":
            self.values.asked.clear()
            branch.options = bool(_ARGUMENT.fullmatch(one.text)) and any(each.kind == "loop" for each in self.open)
            branch.subject = None if self._inside() else told(lambda: self.values.expand(one.text))
            branch.asked = set(self.values.asked)
        self.open.append(branch)

    def _turn(self, top: _Branch, one: Statement) -> None:
        """The next part of a branch, or its end."""
        line = self.rows[one.row].line.number
        if one.kind != "end":
            self.blanks.leads(one)
        elif top.kind == "if" and top.live:
            self.blanks.leave_out(one)
        if top.undecided:
            top.lines[-1] = (top.lines[-1][0], line - 1)
        if one.kind == "end":
            self._settle(top)
            self.open.pop()
            self.status = None
        elif one.kind == "elif":
            top.testing, top.test, top.undecided = True, None, False
            top.live = top.outer
        elif one.kind == "then" and top.testing:
            top.testing = False
            top.part(top.test, line + 1)
        elif one.kind == "else":
            top.part(True, line + 1)
        elif one.kind == "arm":
            self.blanks.leave_out(one)  # ``--flag)`` is no argument
            on = one.sign in (";&", ";;&")  # the arm above goes on into this one
            top.taken = None if on else top.taken
            top.part(None if on else self._fits(top, one.text), line + 1)

    def _inside(self) -> bool:
        """Whether what is set further down may hold here: in a loop, and in a function, whose arguments are not the script's either."""
        return any(each.apart for each in self.open)

    def _fits(self, top: _Branch, pattern: str) -> bool | None:
        """Whether a case's pattern fits what it looks at."""
        patterns = [part.strip() for part in pattern.split("|")]
        if not top.options:
            if "*" in patterns:
                return True
            words = None if top.subject is None else [top.subject]
        else:
            given = self.values.arguments if self.values.shown else ()
            words = None if given is None or "*" in patterns else [*given, *(word.partition("=")[0] for word in given)]
        if words is None:
            return None
        return told(lambda: any(self.values.fits(word, part) for word in words for part in patterns))

    def _decide(self, one: Statement, at: int) -> bool | None:
        self.values.asked.clear()
        value = decide(one.text, self.values)
        take(one.text, self.values, self.ran is True)
        later = self._inside() and any(name.isdecimal() or self.last.get(name, -1) > at for name in self.values.asked)
        return None if later else value

    def _test(self, one: Statement, at: int) -> None:
        top = self.open[-1]
        value = self._decide(one, at)
        top.asked |= self.values.asked
        joins = {"&&": both, "||": either}.get(one.sign)
        # of several commands in a row the last one counts; what a pipe comes to is not told
        top.test = joins(top.test, value) if joins else None if one.sign == "|" else value

    def _reach(self, sign: str) -> None:
        """Whether the command behind a sign is run."""
        live = self._live()
        if sign in ("&&", "||"):
            reached = self.status if sign == "&&" or self.status is None else not self.status
            self.ran = both(live, reached)
        elif sign != "|":
            self.ran, self.status = live, None
            self.tested.clear()

    def _run(self, one: Statement, at: int) -> None:
        self._reach(one.sign)
        if self.ran is False:
            self.blanks.leave_out(one)
            return
        if at and self.statements[at - 1].kind == "loop" and (over := _LOOPS_OVER.match(one.text)):
            self.values.held[over["name"]] = None
            return
        sets = assignments(one.text) if "=" in one.text else []
        self.status = True if sets else self._decide(one, at)
        if self.status is not None and not sets:
            self.blanks.leads(one)
        else:
            self.blanks.runs(one, self.ran is self._live(), bool(sets))
        self.tested |= set() if sets else self.values.asked
        for each in sets:
            self._set(one, each, len(sets) == 1)
        if not sets:
            settles(one.text, self.values)
        if self.ran and _LEAVES.match(one.text):
            self._left()

    def _set(self, one: Statement, each: Assignment, alone: bool) -> None:
        held, name, line = self.values.held, each.name, self.rows[one.row].line.number
        self.values.whole = self.values.whole or each.value[:1] != "("
        if (name, line) in self.wrapped:
            held[name] = self.wrapped[name, line]
            return
        value = value_of(each, self.values)
        held[name] = value if self.ran or (name in held and held[name] == value) else None
        for branch in self.open if alone and value and " " not in value and not each.more else ():
            if branch.undecided:
                branch.sets[-1][name] = (value or "", one)

    def _left(self) -> None:
        """The script ends here, but it went on: what was taken for not set was set elsewhere."""
        asked = self.tested.union(*(branch.asked for branch in self.open))
        guessed = {name for name in asked if not self.values.held.get(name)}
        self.values.held |= dict.fromkeys(guessed, None)
        for branch in self.open if guessed else ():
            branch.live = branch.taken = None

    def _settle(self, top: _Branch) -> None:
        """What the parts of a branch that nobody can decide set differently is not told behind it."""
        for name in {name for part in top.sets for name in part}:
            made = [part[name] for part in top.sets if name in part]
            if len({value.rstrip("/").rpartition("/")[2].lower() for value, _ in made}) > 1:
                self.given.append((name, self.rows[made[0][1].row].line.number, None))
                for _, one in made:
                    self.blanks.leave_out(one)
        if len(top.lines) > 1:
            self.arms += [(top.group, arm, *lines) for arm, lines in enumerate(top.lines)]
