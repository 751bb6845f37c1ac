"""In which phase it failed: the message, the deepest telling traceback frame, the end of the log, the person's words.

Unsettled is absent.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence

from diagnose.facts.failing.signature import is_mark
from diagnose.facts.failing.steps import counted
from diagnose.facts.sentences.prose import place_of
from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Framework, PhaseFrame
from diagnose.types import Fact, Frame, Hit, Line, Paste, Span
from diagnose.vocabulary import OF_ENGINE_START, PHASE_GROUPS

# a mark of a phase is the end of the log when this many lines follow it at most
_END = 15
_NEXT = 4  # characters between the words of two phases that belong together
_FENCE = ("```", "~~~")
# “---> 54     logits = logits.float()”, with five lines of code to either side at most (IPython core/ultratb.py: context)
_ARROW = re.compile(r"\s{0,4}-{1,8}>\s?\d{1,6}\s", re.A)
_SHOWN = 12
# the name of the actor in front of what it prints: “(WorkerDict pid=12)”
_PRINTED_BY = re.compile(r"\(([A-Za-z_]\w{0,60})[^()\n]{0,40}\bpid=\d", re.A)
_STEPS = re.compile(r"(?<![\w.])(?:self\.)?\w{0,20}optim(?:izer)?\.step\(", re.A | re.I)
_ROW = re.compile(r"\s*\d+\s+[\d.]+\s+ray::(?P<owner>\w+)\.(?P<method>\w+)", re.A)


def settle_phase(
    paste: Paste, hits: Sequence[Hit], framework: Framework | None, knowledge: Knowledge, kind: Fact | None = None
) -> Fact | None:
    """The phase as a fact that was read, or None; that of the failure which gave the ``kind``."""
    if all(is_mark(hit.signature) for hit in hits):
        return None
    said = [hit for hit in hits if hit.signature.phase]
    for hit in said:
        if hit.signature.strength == 3 and not _of_a_restart(hit, kind):
            return _fact(hit.signature.phase, hit.signature.title, hit.span)
    frames = {frame.line for frame in paste.frames if frame.path}
    words = [hit for hit in said if hit.span.line not in frames]
    return _by_frames(paste, hits, framework, knowledge) or _by_mark(paste, said) or _by_words(words)


def _of_a_restart(hit: Hit, kind: Fact | None) -> bool:
    """Whether an engine did not start in another run than the one that failed: before its settings were changed, or on a card that is
    still full of what the dead run left.
    """
    return kind is not None and hit.signature.kind in OF_ENGINE_START and kind.value not in OF_ENGINE_START


def _by_words(said: Sequence[Hit]) -> Fact | None:
    """What the person says, where all such words say the same."""
    all_words = [hit for hit in said if hit.signature.strength == 1]
    words = [hit for hit in all_words if not any(_holds(other.span, hit.span) for other in all_words)]
    evals = [hit for hit in words if hit.signature.phase == "eval"]
    words = [hit for hit in words if not any(_generates_within(hit, one) for one in evals)]
    if len({hit.signature.phase for hit in words}) != 1:
        return None
    return _fact(words[0].signature.phase, words[0].signature.title, words[0].span)


def _generates_within(hit: Hit, validation: Hit) -> bool:
    """Whether words of a rollout stand right behind those of a validation, which generates as well: “eval 阶段生成的时候”."""
    behind = hit.span.start - validation.span.end
    return hit.signature.phase == "rollout" and hit.span.line == validation.span.line and 0 <= behind <= _NEXT


def _holds(outer: Span, inner: Span) -> bool:
    """Whether words are a part of longer ones: “logp” of “reference 计算 logp”."""
    around = outer.line == inner.line and outer.start <= inner.start and inner.end <= outer.end
    return around and (outer.start, outer.end) != (inner.start, inner.end)


def _by_mark(paste: Paste, said: Sequence[Hit]) -> Fact | None:
    """What the log did last, where the paste ends there."""
    marks = [hit for hit in said if is_mark(hit.signature)]
    if not marks:
        return None
    last = max(marks, key=lambda hit: hit.span.line)
    if any(True for line in paste.lines if line.number > last.span.line for _ in counted(line)):
        return None  # steps were counted since
    behind = [line for line in _same_block(paste, last.span.line) if line.number > last.span.line]
    # a table of the cards that somebody put behind the log is none of it
    log = [line for line in behind if line.text.strip() and line.words[:1] not in "|+"]
    return _fact(last.signature.phase, last.signature.title, last.span) if len(log) <= _END else None


def _same_block(paste: Paste, number: int) -> list[Line]:
    """All lines, or where a line stands in a fenced block those of such blocks: what a person writes between them is no log."""
    fences = [line.number for line in paste.lines if line.text.lstrip().startswith(_FENCE)]
    if bisect(fences, number) % 2 == 0:
        return list(paste.lines)
    return [line for line in paste.lines if bisect(fences, line.number) % 2]


def _by_frames(paste: Paste, hits: Sequence[Hit], framework: Framework | None, knowledge: Knowledge) -> Fact | None:
    """The deepest frame above the failure that a table knows; a validation or a save counts with all that runs inside it.

    The run's framework decides; where it is silent all frameworks that know the frame must agree.
    """
    tables = [framework.frames] if framework and framework.frames else []
    tables.append(tuple(entry for other in knowledge.frameworks.values() for entry in other.frames))
    words = {line.number: line.words for line in paste.lines}
    told: list[tuple[Frame, PhaseFrame]] = []
    frames = list(deepest_first(paste, hits))
    # printed last frame first, a frame's line of code stands above it
    below = -1 if _upside_down(paste, frames) else 1
    code = {frame.line: words.get(frame.line + below, "") for frame in paste.frames if frame.path}
    code |= _pointed_at(paste, words)
    processes = {line.number: line.text[: line.offset] for line in paste.lines if line.offset}
    for frame in frames:
        entry = _telling(_of_process(tables, processes.get(frame.line, "")), frame, code, paste.frames)
        if entry is not None and (not told or frame.traceback == told[0][0].traceback):
            told.append((frame, entry))
    if not told:
        return _by_own_call(paste, frames, code)
    caller = _of_caller(paste, told[0][0], lambda frame: _telling(tables, frame, code, paste.frames), processes)
    frame, entry = next((one for one in (*told, *caller) if PHASE_GROUPS.get(one[1].phase) == "sometimes"), told[0])
    if frame.path and frame.function != entry.function and (mark := _once_mark(hits, entry, paste.frames)):
        return _fact(mark.signature.phase, mark.signature.title, mark.span)
    return _fact(entry.phase, entry.function, place_of(paste, frame.line))


def _by_own_call(paste: Paste, frames: Sequence[Frame], code: Mapping[int, str]) -> Fact | None:
    """The step of an optimizer that a line of code in the failure's traceback makes, in a loop that no table knows."""
    last = next((frame.traceback for frame in frames if frame.path), None)
    calls = (frame for frame in frames if frame.path and frame.traceback == last)
    steps = next((frame for frame in calls if _STEPS.search(code.get(frame.line, ""))), None)
    return _fact("optimizer_step", "optimizer.step", place_of(paste, steps.line)) if steps else None


def _of_caller(
    paste: Paste, failed: Frame, telling: Callable[[Frame], PhaseFrame | None], processes: Mapping[int, str]
) -> list[tuple[Frame, PhaseFrame]]:
    """What frames behind the failure tell that another process printed: who called the worker prints its own after the worker's."""
    worker = _PRINTED_BY.search(processes.get(failed.line, ""))
    found: list[tuple[Frame, PhaseFrame]] = []
    for frame in paste.frames if worker else ():
        caller = _PRINTED_BY.search(processes.get(frame.line, "")) if frame.line > failed.line else None
        if caller and worker and caller[1] != worker[1] and (entry := telling(frame)):
            found.append((frame, entry))
    return found


def _of_process(tables: Sequence[Iterable[PhaseFrame]], process: str) -> list[list[PhaseFrame]]:
    """The tables with the entries of the process that prints a frame; an entry of its own outranks that of any process.

    What in the run's framework hangs on the process no other framework is asked.
    """
    hangs = {entry.function for entry in tables[0] if entry.process}
    found: list[list[PhaseFrame]] = []
    for table in tables:
        own = {entry.function for entry in table if entry.process and entry.process in process}
        kept = [one for one in table if (one.process in process if one.process else one.function not in own)]
        found.append([one for one in kept if not found or one.function not in hangs])
    return found


def _pointed_at(paste: Paste, words: Mapping[int, str]) -> dict[int, str]:
    """The line of code that a notebook's arrow points at, by the line of its frame: a few lines stand around it."""
    starts = sorted(frame.line for frame in paste.frames if frame.path)
    found: dict[int, str] = {}
    for start, end in zip(starts, [*starts[1:], starts[-1] + _SHOWN + 1] if starts else [], strict=True):
        around = (words.get(number, "") for number in range(start + 1, min(end, start + _SHOWN + 1)))
        if arrow := next((line for line in around if _ARROW.match(line)), None):
            found[start] = arrow
    return found


def _once_mark(hits: Sequence[Hit], entry: PhaseFrame, frames: Sequence[Frame]) -> Hit | None:
    """What the log did last before the traceback, where a call to a worker covers all that happens before the first step."""
    if PHASE_GROUPS.get(entry.phase) != "once":
        return None
    first = min(frame.line for frame in frames)
    marks = [hit for hit in hits if is_mark(hit.signature) and hit.signature.phase and hit.span.line < first]
    last = max(marks, key=lambda hit: hit.span.line, default=None)
    return last if last and PHASE_GROUPS.get(last.signature.phase) == "once" else None


def _telling(
    tables: Sequence[Iterable[PhaseFrame]], frame: Frame, code: Mapping[int, str], frames: Sequence[Frame]
) -> PhaseFrame | None:
    """What the frame's line of code calls, else the frame itself, by the first table that knows it without contradiction.

    ``code`` are the lines of code by the numbers of the lines that hold their frames.
    """
    own = code.get(frame.line, "")
    for table in tables:
        possible = [entry for entry in table if _holds_here(entry, frame, code, frames)]
        # a validation or a save is one whatever it calls
        whole = [entry for entry in _best(possible, frame) if PHASE_GROUPS.get(entry.phase) == "sometimes"]
        if whole:
            return whole[0]
        for entries in (_called(possible, own), _best(possible, frame), _called(possible, own, frame.path)):
            if len({entry.phase for entry in entries}) == 1:
                return entries[0]
    return None


def _holds_here(entry: PhaseFrame, frame: Frame, code: Mapping[int, str], frames: Sequence[Frame]) -> bool:
    """Whether the frame is at the line of code, or inside the function, that the entry asks for."""
    return _inside(entry, frame, code, frames) if entry.inside else entry.line in code.get(frame.line, "")


def _inside(entry: PhaseFrame, frame: Frame, code: Mapping[int, str], frames: Sequence[Frame]) -> bool:
    """Whether the function that must stand further out does, at its line, or is this one, whose inner frames were cut off."""
    outer = [other for other in frames if other.traceback == frame.traceback and other.line <= frame.line]
    named = [one for one in outer if one.function == entry.inside or one.function.endswith(f"_{entry.inside}")]
    return any(entry.line in code.get(other.line, "") for other in named)


def deepest_first(paste: Paste, hits: Sequence[Hit]) -> Iterable[Frame]:
    """Frames above the last failure, the last first; after a host kill also the calls in the table of processes below it."""
    ends = [hit for hit in hits if hit.signature.strength >= 2 and not is_mark(hit.signature)]
    end = max((hit.span.line for hit in ends), default=None)
    # a remote failure is told first and then traced
    headed = {frame.traceback for frame in paste.frames if frame.line == end and not frame.path}
    before = [frame for frame in paste.frames if end is None or frame.line <= end or frame.traceback in headed]
    if any(hit.signature.kind == "host_ram" for hit in ends):
        return [*_table(paste), *before[::-1]]
    return reversed(before) if before else _as_called(paste)


def _as_called(paste: Paste) -> Iterable[Frame]:
    """Frames that follow the failure: in their order where a log was turned upside down, else the last first."""
    headed = any("Traceback (most recent" in line.words for line in paste.lines)
    return reversed(paste.frames) if headed or _code_below(paste) else paste.frames


def _code_below(paste: Paste) -> bool:
    """Whether the frames have their line of code below them and none above: a log that was turned has it above."""
    words = {line.number: line.words for line in paste.lines}
    frames = {frame.line for frame in paste.frames if frame.path}
    if not frames:
        return False
    above, below = (words.get(number, "") for number in (min(frames) - 1, max(frames) + 1))
    return below.startswith("    ") and not above.startswith("    ")


def _upside_down(paste: Paste, frames: Sequence[Frame]) -> bool:
    return len(frames) > 1 and frames[0].line < frames[-1].line and all(frame.traceback == 0 for frame in paste.frames)


def _table(paste: Paste) -> list[Frame]:
    """Rows of a table of processes that name a running method: pid, size, ``ray::Class.method``."""
    rows = [(line.number, found) for line in paste.lines if (found := _ROW.match(line.words))]
    methods = [Frame("", found["method"], number, owner=found["owner"], traceback=-1) for number, found in rows]
    if len({frame.function for frame in methods[:3]}) == 1:
        return methods
    # a driver that waits for its workers stands among them
    first = [frame for frame in methods if frame.owner == methods[0].owner]
    return first if len(first) > 1 and len({frame.function for frame in first}) == 1 else []


def _best(table: Iterable[PhaseFrame], frame: Frame) -> list[PhaseFrame]:
    """The entries that fit the frame: those that name the actor's class or a part of the path before those that do not."""
    fitting = [entry for entry in table if _fits(entry, frame)]
    ranked = [entry for entry in fitting if entry.line] or [entry for entry in fitting if entry.inside]
    ranked = ranked or [entry for entry in fitting if entry.path and entry.path in frame.owner]
    ranked = ranked or [entry for entry in fitting if entry.path]
    return ranked or fitting


def _fits(entry: PhaseFrame, frame: Frame) -> bool:
    """A remote call carries a prefix that names the role group, as in ``actor_rollout_update_actor``."""
    if entry.path:
        return frame.function == entry.function and (entry.path in frame.path or entry.path in frame.owner)
    return frame.function == entry.function or (not frame.path and frame.function.endswith(f"_{entry.function}"))


def _called(table: Iterable[PhaseFrame], code: str, path: str = "") -> list[PhaseFrame]:
    """The entries that the frame's own line of code calls on a remote object: what happens inside is not in this traceback.

    With ``path`` also those of that path: a call within the file, for a frame that tells nothing itself.
    """
    called = [entry for entry in table if f".{entry.function}(" in code and (not entry.path or entry.path in path)]
    return [entry for entry in called if entry.line] or called


def _fact(phase: str, written: str, span: Span | None) -> Fact:
    return Fact("phase", phase, "read", written=written, span=span)
