"""Which messages the paste holds, and what they measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

from diagnose.facts.failing.advised import without_advice
from diagnose.facts.failing.said import bound, heading
from diagnose.facts.sentences.lowered import Lowered, lower
from diagnose.facts.sentences.prose import span_of, whole_line
from diagnose.facts.settings import written
from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Capture, Signature
from diagnose.literals import Haystack
from diagnose.types import Fact, Hit, Line, Paste, Span
from diagnose.units import PRINTED, parse_size, to_gib
from diagnose.vocabulary import FACTS, Value

# A console breaks a message into so many lines, one of few columns into more; then literals and patterns are tried on the lines
# put together.
_JOINED, _MOST_JOINED = 4, 12
_COLUMNS = range(30, 161)
_LONGEST = 4000


def find_hits(paste: Paste, text: Lowered, knowledge: Knowledge) -> tuple[tuple[Hit, ...], dict[str, Fact]]:
    """Every signature that matches, in the order of the text, and what the strongest ones captured."""
    hits: list[Hit] = []
    captured: dict[str, Fact] = {}
    signatures = knowledge.signatures.values() if paste.lines else ()  # answers alone come without a text
    for signature in sorted(signatures, key=lambda one: -one.strength):
        found = list(matches(signature, paste, text)) if _has_literals(signature, text.whole) else []
        # a mark of a phase may stand in hundreds of lines of a log: the last one tells how far it came
        found = found[-1:] if is_mark(signature) and not signature.apart else found
        for span, _ in found:
            hits.append(Hit(signature, span))
        for facts in _tightest_first(signature, [facts for _, facts in found]):
            for id, fact in facts.items():
                captured.setdefault(id, fact)
    return tuple(sorted(hits, key=lambda hit: (hit.span.line, -hit.signature.strength))), captured


def _tightest_first(signature: Signature, found: list[dict[str, Fact]]) -> list[dict[str, Fact]]:
    """What each place gives; of ranks that each compare one share with what is free the one with least first: all must pass."""
    free = [facts.get("gpu_free_gib") for facts in found]
    if signature.kind != "vllm_free_memory_too_low" or None in free:
        return found
    return sorted(found, key=lambda facts: float(facts["gpu_free_gib"].value))


def is_mark(signature: Signature) -> bool:
    """A line that tells a phase or a fact and no failure of memory."""
    tells = bool(signature.gives or signature.captures or signature.not_memory) or (
        bool(signature.phase) and signature.strength == 2
    )
    return signature.kind == "other" and tells


def matches(
    signature: Signature, paste: Paste, lowered: Lowered | None = None
) -> Iterator[tuple[Span, dict[str, Fact]]]:
    """Every place where the signature stands, with what its patterns capture there; ``lowered`` where somebody has it already."""
    after = 0
    begins = _beginnings(signature, lowered or lower(paste))
    for i in sorted(begins):
        line = paste.lines[i]
        if line.number < after:
            continue
        if (place := _headed(signature, paste.lines, i)) is not None:
            yield Span(line.number, line.offset + place[0], line.offset + place[1]), {}
            continue
        whole = _window(signature, paste.lines, i, begins)
        for size in range(1, len(whole) + 1):
            text = next((text for text in _texts(whole[:size]) if _stands(signature, text)), "")
            if text:
                after = whole[size - 1].number + 1
                span = _span(signature, line, text)
                given = {id: Fact(id, value, "read", span=span) for id, value in signature.gives.items()}
                yield span, {**given, **_captures(signature, whole)}
                break


def _headed(signature: Signature, lines: Sequence[Line], i: int) -> tuple[int, int] | None:
    """Where a person's words for a phase stand in the line that heads the error; None where the line heads none."""
    if signature.strength != 1 or not signature.phase or not lines[i].words.rstrip().endswith((":", "：")):
        return None
    under = next((line.words for line in lines[i + 1 : i + 3] if line.words.strip()), "")
    return heading(signature.patterns, lines[i].words, under)


def _beginnings(signature: Signature, text: Lowered) -> set[int]:
    """The places of the lines that hold the first literal of an alternative, with which a message begins; few do."""
    places = {i for alternative in signature.literals for i in text.beginnings_of(alternative[0])}
    return places & text.new if signature.strength == 1 else places


def _window(signature: Signature, lines: Sequence[Line], i: int, begins: Set[int]) -> Sequence[Line]:
    """The line; for a program's message also the following ones, up to the next such message."""
    size = 1
    if signature.strength >= 2:
        while i + size < len(lines) and i + size not in begins and (size < _JOINED or _is_narrow(lines[i : i + size])):
            size += 1
    return lines[i : i + size]


def _is_narrow(window: Sequence[Line]) -> bool:
    """Whether lines that follow each other are as long as a narrow console has them when it breaks a message."""
    return len(window) < _MOST_JOINED and all(len(line.text) in _COLUMNS for line in window)


def _text(window: Sequence[Line], link: str) -> str:
    """The words of the lines as one: a console breaks at a blank or inside a word."""
    if len(window) == 1:
        return window[0].words[:_LONGEST]
    return link.join(line.words.strip() if link else line.words.strip("\r\n") for line in window)[:_LONGEST]


def _texts(window: Sequence[Line]) -> Iterator[str]:
    """The words of the lines put together with a blank, then without one."""
    yield _text(window, " ")
    if len(window) > 1:
        yield _text(window, "")


def _has_literals(signature: Signature, words: str | Haystack) -> bool:
    """Whether all literals of one alternative stand in the lower-case words."""
    return any(all(map(words.__contains__, alternative)) for alternative in signature.literals)


def _stands(signature: Signature, text: str) -> bool:
    """All literals of one alternative, none of ``unless``, and one of the patterns that capture nothing, if there are any."""
    words = text.lower()
    if not _has_literals(signature, words):
        return False
    if any(literal in words for literal in signature.unless):
        return False
    if not is_mark(signature) and not signature.phase:
        text = without_advice(text)
        if signature.strength > 1 and not _has_literals(signature, text.lower()):
            return False
    elif signature.strength == 1 and not is_mark(signature):
        text = without_advice(text)
    required = [pattern for pattern in signature.patterns if not pattern.groupindex]
    if signature.strength == 1 and signature.phase:
        return bound(required, text) is not None
    return not required or any(pattern.search(text) for pattern in required)


def _span(signature: Signature, line: Line, text: str) -> Span:
    """The first literal's place in the line, or the whole line where the message began further down."""
    words = line.words.lower()
    if signature.strength == 1 and signature.phase and (place := bound(signature.patterns, line.words)):
        return Span(line.number, line.offset + place[0], line.offset + place[1])
    for pattern in signature.patterns:
        if not pattern.groupindex and (found := pattern.search(line.words)):
            return span_of(line, found)
    for alternative in signature.literals:
        if all(literal in text.lower() for literal in alternative):
            start = words.find(alternative[0])
            if start >= 0:
                return Span(line.number, line.offset + start, line.offset + start + len(alternative[0]))
    return whole_line(line)


# a figure of which a photograph or a keyboard made two: 39,59
# a driver that cannot tell what a process holds says -1, which is printed as a size of 2^64 bytes: NVML_VALUE_NOT_AVAILABLE (nvml.h)
_NOT_TOLD_GIB = 2**34
_HALF = re.compile(r"\d[.,]", re.A)


def _captures(signature: Signature, window: Sequence[Line]) -> dict[str, Fact]:
    """Captured figures: from the line, then from the lines put together with and without a blank."""
    facts: dict[str, Fact] = {}
    for text in (window[0].words, _text(window, " "), _text(window, "")):
        for pattern in signature.patterns:
            found = pattern.search(text) if pattern.groupindex else None
            for group, words in (found.groupdict() if found else {}).items():
                start = found.start(group) if found else 0
                half = _HALF.fullmatch(text, max(start - 2, 0), start)
                capture = None if half else signature.captures.get(group)
                value = captured_value(capture, words) if capture and words else None
                if capture and value is not None and capture.fact not in facts:
                    facts[capture.fact] = Fact(capture.fact, value, "read", written=words, span=_place(window, words))
    return facts


def captured_value(capture: Capture, words: str) -> Value | None:
    """The captured words in the fact's unit. ``printed``: as the unit word says; ``gib``, ``mib``…: a bare number in that unit."""
    if capture.unit == "printed":
        try:
            size = round(to_gib(parse_size(words)), 4)
        except ValueError:
            return None
        return size if capture.fact != "process_gib" or size < _NOT_TOLD_GIB else None
    value = written.of(capture.fact, words)
    if value is None or not capture.unit or isinstance(value, (bool, str)):
        return value
    return round(to_gib(value * PRINTED[capture.unit.lower()]), 4) if FACTS[capture.fact].unit == "GiB" else value


def _place(window: Sequence[Line], words: str) -> Span | None:
    for line in window:
        if (found := re.search(re.escape(words), line.words)) is not None:
            return span_of(line, found)
    return None


# of a message: a card or a rank that is not the first
_ANOTHER_CARD = re.compile(r"\bGPU [1-9]\d? has a total\b|\[rank[1-9]|\bcuda:[1-9]", re.A)


def of_another_card(hits: Sequence[Hit], paste: Paste) -> bool:
    """Whether a message comes from a card that is not the first, so that there are several."""
    lines = (paste.line(hit.span.line) for hit in hits)
    return any(_ANOTHER_CARD.search(line.text) for line in lines if line)
