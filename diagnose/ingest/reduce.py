"""From a long text to at most 64 kB of it: the lines that can bear a fact, chosen by cheap tests of their shape.

Lines are looked at before anything is redacted, since redacting a megabyte costs more than reading it; nothing but the chosen
lines leaves this module, and those are redacted in one piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from diagnose.ingest.credentials import hide_key_blocks
from diagnose.ingest.normalise import count_lines, numbered, with_gaps
from diagnose.ingest.printed import printed, without_blanks, without_dots
from diagnose.ingest.redact import redact
from diagnose.ingest.telling import SAME_FORM, Fold, classify, forms

LIMIT = 64_000  # bytes of the reduced paste
LONGEST = 4_000  # bytes of a line that is taken out of a longer text
_HEAD = 6_000
_TAIL = 10_000
_ALIKE = 2  # lines that differ in numbers only, of classes that tell more by their words

# Bytes that each class may take before the others have had theirs, in the order in which they choose.
_SHARES = (("error", 12_000), ("setting", 16_000), ("frame", 10_000), ("memory", 5_000), ("package", 3_000))


def reduce_text(data: bytes) -> str:
    """The redacted text where it is at most 64 kB, else its telling lines with ``⋯ n lines ⋯`` where others were."""
    if len(data) <= 2 * LIMIT:
        whole = redact(data.decode())[0]
        if len(whole.encode()) <= LIMIT:
            return whole
    choice = _Choice(data)
    budget = LIMIT - 6_000
    while True:
        reduced = redact(with_gaps(choice.of(budget), choice.total).decode())[0]
        if len(reduced.encode()) <= LIMIT or budget < 1_000:
            return reduced
        budget = budget * 3 // 4


class _Choice:
    """A long text's lines by their class, and how to choose among them."""

    def __init__(self, data: bytes) -> None:
        if b" PRIVATE KEY" in data:
            data = hide_key_blocks(data.decode()).encode()
        self.lines = data.split(b"\n")
        self.numbers: Sequence[int] = range(1, len(self.lines) + 1)
        self.total = len(self.lines)
        if "⋯ ".encode() in data:
            self._count_gaps(data.decode())
        self.whole = [at for run in printed(self.lines) for at in run]
        for at in self.whole:
            self.lines[at] = without_blanks(self.lines[at])
        short, unset = without_dots(self.lines)
        for at, row in short.items():
            self.lines[at] = row
        self.forms = forms(b"\n".join(self.lines))
        if len(max(self.lines, key=len)) > LONGEST:
            self.lines = [_cut(line) for line in self.lines]
        self.last = set(dict(zip(self.forms, range(len(self.lines)), strict=True)).values())
        places = sorted(self.last.union(Fold().fresh(self.forms)))
        self.classes: dict[str, list[int]] = {name: [] for name, _ in _SHARES}
        for at, name in classify(self.lines, places).items():
            self.classes[name].append(at)
        self.classes["setting"].sort(key=unset.__contains__)  # what has no value comes last

    def _count_gaps(self, text: str) -> None:
        rows = list(numbered(text.split("\n"))) or [(1, "")]
        self.numbers, self.lines = [number for number, _ in rows], [line.encode() for _, line in rows]
        self.total = count_lines(text)

    def of(self, budget: int) -> list[tuple[int, bytes]]:
        """Numbered lines of at most ``budget`` bytes in all."""
        picker = _Picker(self, budget)
        picker.take(self.whole, budget * 2 // 3)
        picker.take(range(len(self.lines)), min(_HEAD, budget // 6))
        picker.take(range(len(self.lines) - 1, -1, -1), min(_TAIL, budget // 4))
        for name, share in _SHARES:
            picker.take(self._with_source(name), share, distinct=name)
        for name, _ in _SHARES:
            picker.take(self._with_source(name), budget, distinct=name)
        return [(self.numbers[at], self.lines[at]) for at in sorted(picker.picked)]

    def _with_source(self, name: str) -> Iterable[int]:
        """The lines of a class; behind a frame also its source line."""
        places = self.classes[name]
        if name != "frame":
            return places
        return [other for at in places for other in (at, at + 1) if other < len(self.lines)]


class _Picker:
    """Takes lines while there is room: all of a class have a share, and of lines of one form only the first few and the last."""

    def __init__(self, choice: _Choice, budget: int) -> None:
        self.choice, self.left = choice, budget
        self.picked: set[int] = set()
        self.seen: dict[bytes, int] = {}

    def take(self, places: Iterable[int], share: int, distinct: str = "") -> None:
        for at in places:
            if at in self.picked:
                continue
            line = self.choice.lines[at]
            size = len(line) + 1 + 20 * (at - 1 not in self.picked)
            if size > share or size > self.left:
                if not distinct or self.left < 100:
                    return
                continue
            if distinct and self._repeats(at, line, distinct):
                continue
            self.picked.add(at)
            share -= size
            self.left -= size

    def _repeats(self, at: int, line: bytes, distinct: str) -> bool:
        """Frames and settings repeat when they are the same to the letter; other lines when only their numbers differ."""
        exact, loose = b"=" + line, self.choice.forms[at]
        times = self.seen.get(loose, 0)
        if distinct in ("frame", "setting"):
            again = exact in self.seen or times >= SAME_FORM
        else:
            again = times >= _ALIKE and at not in self.choice.last
        if not again:
            self.seen[exact] = self.seen.get(exact, 0) + 1
            self.seen[loose] = times + 1
        return again


def _cut(line: bytes) -> bytes:
    """A line of at most 4,000 bytes, parted at a blank where there is one near."""
    if len(line) <= LONGEST:
        return line
    at = line.rfind(b" ", LONGEST - 400, LONGEST)
    return line[: at if at > 0 else LONGEST].decode("utf-8", "ignore").encode() + "…".encode()
