"""Which framework the paste shows: one of the catalogue, a fork of one, or another whose name is known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from diagnose.facts.failing.said import FAILURE
from diagnose.facts.sentences.prose import clause_of, moved_from
from diagnose.facts.whose_run.contrasted import of_one_run
from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Detect, Fork, Framework
from diagnose.literals import Haystack
from diagnose.types import Fact, Paste, Span

# A command, a key, a path or a literal is the program's own mark; a name may be a mere comparison.
MARK, NAME = 2, 1


@dataclass(frozen=True, slots=True)
class Detected:
    """The framework whose keys apply, the fork by which it was found, or the slugs between which the paste leaves the choice.

    A fork of the plain file has no ``framework``: its name is known and its keys are not.
    """

    framework: Framework | None = None
    fact: Fact | None = None
    candidates: tuple[str, ...] = ()
    fork: Fork | None = None

    @property
    def ignored(self) -> tuple[str, ...]:
        """Keys of the framework that the fork's own trainer never reads."""
        return self.fork.ignores if self.fork else ()


@dataclass(frozen=True, slots=True)
class _Found:
    """A framework or a fork that the paste shows, how strongly and where."""

    framework: Framework
    fork: Fork | None
    strength: int
    span: Span | None

    @property
    def order(self) -> tuple[int, bool, int]:
        """The strongest first; a name that the catalogue holds no keys for comes last; then by rank."""
        mere = self.strength == NAME and self.framework.fallback
        return -self.strength, mere, (self.fork or self.framework).detect.rank

    @property
    def id(self) -> str:
        return self.fork.id if self.fork and self.framework.fallback else self.framework.slug


def detect(paste: Paste, answered: Fact | None, knowledge: Knowledge) -> Detected:
    """An answer first; else the strongest evidence, then the lowest rank; a tie is left open."""
    if answered is not None:
        return _answered(answered, paste, knowledge)
    found = list(_all(paste, knowledge))
    if not found:
        return Detected()
    best = [one for one in found if one.order == min(one.order for one in found)]
    if len({one.id for one in best}) > 1:
        return Detected(candidates=tuple(sorted({one.id for one in best if not one.framework.fallback})))
    first = _copied(paste, found, best[0]) or best[0]
    fork = first.fork or _named_in_a_value(paste, first) or _named_in_words(paste, found, first)
    fact = Fact("framework", first.id, "read", span=first.span)
    return Detected(None if first.framework.fallback else first.framework, fact, fork=fork)


def fork_of(id: str, knowledge: Knowledge) -> tuple[Framework, Fork] | None:
    """The fork of that id and the framework in whose file it stands."""
    return next(((one, fork) for one in knowledge.frameworks.values() for fork in one.forks if fork.id == id), None)


def _answered(answered: Fact, paste: Paste, knowledge: Knowledge) -> Detected:
    """What a person names; of a framework that is its fork of which the paste bears a mark, since a fork goes by its base's name."""
    id = _meant(str(answered.value), knowledge)
    fork = fork_of(id, knowledge)
    if fork is None:
        framework = knowledge.frameworks.get(id) or knowledge.fallback
        return Detected(framework, replace(answered, value=id), fork=_marked(paste, id, knowledge))
    base, which = fork
    fact = Fact("framework", which.id if base.fallback else base.slug, "answered", written=answered.written)
    return Detected(base, fact, fork=which)


def _marked(paste: Paste, id: str, knowledge: Knowledge) -> Fork | None:
    """The fork of this framework that the paste shows by a mark of its own; none where the marks leave the choice."""
    ours = [one for one in _all(paste, knowledge) if one.framework.slug == id and one.strength == MARK]
    best = [one.fork for one in ours if one.order == min(one.order for one in ours)]
    return best[0] if len(best) == 1 and not knowledge.frameworks[id].fallback else None


def _meant(answered: str, knowledge: Knowledge) -> str:
    """The id of what was answered in a person's own words, such as “R1-V (on TRL)”: of a fork before its base, else the words."""
    if answered in knowledge.frameworks or fork_of(answered, knowledge):
        return answered
    forks = (fork for one in knowledge.frameworks.values() for fork in one.forks)
    named = (
        *((fork.id, fork.detect) for fork in sorted(forks, key=lambda fork: fork.detect.rank)),
        *((one.slug, one.detect) for one in knowledge.frameworks.values() if not one.fallback),
    )
    return next(
        (id for id, marks in named if any(_as_word(name)[1].search(answered) for name in marks.names)), answered
    )


def _all(paste: Paste, knowledge: Knowledge) -> Iterator[_Found]:
    text = "\n".join(line.text for line in paste.lines)
    whole, lowered = Haystack(text), Haystack(text.lower())
    for framework in knowledge.frameworks.values():
        if not framework.fallback and (evidence := _evidence(framework.detect, paste, whole, lowered)):
            yield _Found(framework, None, *evidence)
        for fork in framework.forks:
            if evidence := _evidence(fork.detect, paste, whole, lowered):
                yield _Found(framework, fork, *evidence)


def _evidence(marks: Detect, paste: Paste, whole: Haystack, lowered: Haystack) -> tuple[int, Span | None] | None:
    """How strong the evidence is and where it stands; None when there is none or something rules it out.

    ``whole`` are all lines as one text, ``lowered`` the same in lower case: what is not in there is in no line.
    """
    if any(literal.lower() in lowered for literal in marks.unless):
        return None
    for span in _marks(marks, paste, whole):
        return MARK, span
    for name in marks.names:
        parts, word = _as_word(name)
        if any(part not in lowered for part in parts) or not word.search(whole.text):
            continue
        for line in paste.lines:
            for found in word.finditer(line.text):
                if not _aside(line.text, found):
                    return NAME, Span(line.number, found.start(), found.end())
    return None


# what parts a name in two, as people write it
_PART = re.compile(r"[-_ ]", re.A)
# a version that is written right behind the name, and no size of a model
_VERSION_NEXT = r"(?=v?\d{1,2}(?:\.\d{1,3}){1,2}(?:\.?(?:post|rc|dev)\d{0,8})?(?![A-Za-z0-9]))"
_BESIDE = re.compile(
    r"(?:\bnot?|\bwithout|\bunlike|\binstead of|\bcompared? (?:to|with)|\bthan|\bvs\.?|\bneither|\bnor"
    r"|不是|而不是|没用|没有用|不用|相比|对比|不像)\s*[`'\"“]?$",
    re.I | re.A,
)
_DENIED = re.compile(r"[`'\"”]?[ ]?[?？][ ]?(?:no\b|nope\b|不|没)", re.I | re.A)
_WELL = re.compile(r"\b(?:works?|worked|fine(?![ -]?tun)|ok|no problem|no oom)\b|能训|能跑|没问题|正常", re.I | re.A)


_BRACKETS = re.compile(r"[(（][^()（）\n]{0,80}[)）]", re.A)
# in this clause it is told how far the run came that failed later
_OF_THE_RUN = re.compile(
    r"\b(?:steps?|iter\w*|epochs?|batch(?:es)?|rollouts?|generat\w*|validation|first|initially|at first|before|until|offload\w*)\b"
    r"|\b(?:bsz?|max_\w+|\w+_(?:size|len|length|utilization))\s*(?:=|:|of)?\s*[\d.]+"
    r"|(?<![\w.])\d{1,3}k\b"
    r"|步|轮|step|一开始|刚开始|前几|开了",
    re.I | re.A,
)
# an earlier version of the same trainer went well
_MOVED_ON = re.compile(r"\bupgrad\w+|\bnew(?:er)? version\b|升级|新版本?|更新到", re.I | re.A)


def _aside(text: str, found: re.Match[str]) -> bool:
    """Whether another trainer is merely compared: named after “not”, or in a clause in which all goes well."""
    clause = _without_remarks(text, found)
    well = (
        _WELL.search(clause) and not (FAILURE.search(clause) or _OF_THE_RUN.search(clause)) and len(clause) < len(text)
    ) and not (_MOVED_ON.search(text, found.end()) or of_one_run(text, found.end()))
    denied = _DENIED.match(text, found.end()) or _BESIDE.search(text[max(0, found.start() - 24) : found.start()])
    return bool(well or denied) or moved_from(text, found)


def _without_remarks(text: str, found: re.Match[str]) -> str:
    """The clause of a name without brackets beside it: “name 0.4 (0.3 works fine)” is a remark on another version."""
    start, clause = clause_of(text, found)
    at = found.start() - start
    return _BRACKETS.sub(lambda one: one[0] if one.start() <= at < one.end() else " ", clause)


@lru_cache(maxsize=512)
def _as_word(name: str) -> tuple[list[str], re.Pattern[str]]:
    """Its parts in lower case and the name as a word, or right before its version."""
    after = rf"(?:(?![A-Za-z0-9])|(?<=[A-Za-z]){_VERSION_NEXT})" if name[-1].isascii() else ""
    return _PART.split(name.lower()), re.compile(rf"(?<![A-Za-z0-9]){loose(name)}{after}", re.I | re.A)


def loose(name: str) -> str:
    """The name as a pattern; a dash, an underscore or a blank may stand for one another or be left out."""
    return "[-_ ]?".join(re.escape(part) for part in _PART.split(name))


def _marks(marks: Detect, paste: Paste, whole: Haystack) -> Iterator[Span | None]:
    for command in paste.commands if marks.commands else ():
        started = " ".join(command.words)
        if any(literal in started for literal in marks.commands):
            yield Span(command.first_line, 0, len(_text(paste, command.first_line)))
    yield from _keys(marks, paste)
    for frame in paste.frames if marks.paths else ():
        if any(part in frame.path for part in marks.paths):
            yield Span(frame.line, 0, len(_text(paste, frame.line)))
    for literal in (*marks.commands, *marks.literals):
        for line in paste.lines if literal in whole else ():
            if (start := _begins(literal, line.text)) >= 0:
                yield Span(line.number, start, start + len(literal))


def _keys(marks: Detect, paste: Paste) -> Iterator[Span]:
    for setting in paste.settings if marks.keys else ():
        if setting.key.startswith(marks.keys) and any(_is_key(mark, setting.key) for mark in marks.keys):
            yield setting.span
    written = {setting.key: setting.span for setting in paste.settings} if marks.together else {}
    for keys in marks.together:
        if written.keys() >= set(keys):
            yield written[keys[0]]


def _begins(literal: str, text: str) -> int:
    """Where the literal stands as the beginning of a word, or -1: another trainer's class may end in the same letters."""
    start = text.find(literal)
    while start > 0 and literal[0].isalnum() and text[start - 1].isalnum():
        start = text.find(literal, start + 1)
    return start


def _is_key(mark: str, key: str) -> bool:
    """Whether the key is the mark or lies below it: another's key may begin with the same letters."""
    return key.startswith(mark) and (mark[-1] in "._" or key[len(mark) : len(mark) + 1] in ("", "."))


def _named_in_a_value(paste: Paste, base: _Found) -> Fork | None:
    """A fork of the framework that is shown, whose name stands in a value of the run or in a path of its code."""
    places = "\n".join((*(setting.value for setting in paste.settings), *(frame.path for frame in paste.frames)))
    for fork in sorted(base.framework.forks, key=lambda fork: fork.detect.rank):
        if base.strength == MARK and any(_as_word(name)[1].search(places) for name in fork.detect.names):
            return fork
    return None


# what stands before the name of a program that somebody runs
_RUN = re.compile(
    r"(?:^|\b(?:run(?:ning)?|use|using|with|train(?:ing)?|try(?:ing)?|start(?:ing)?|launch\w*|reproduc\w+)|复现|使用|用|跑|训练|运行|启动)"
    r"\s*(?:the\s+)?[`'\"“*#\[]*$",
    re.I | re.A,
)


def _copied(paste: Paste, found: list[_Found], base: _Found) -> _Found | None:
    """A copy of the framework that is shown, named as what runs, where nothing shows the base but what the copy has too."""
    if base.strength != MARK or base.fork:
        return None
    named = (one for one in found if one.fork is None and one.strength == NAME and one.framework.detect.shares)
    return next(
        (one for one in named if one.span and _runs(paste, one.span) and not _shown_alone(paste, base, one)), None
    )


def _shown_alone(paste: Paste, base: _Found, copy: _Found) -> bool:
    """Whether a mark shows the base that the copy does not share."""
    marks, shares = base.framework.detect, copy.framework.detect.shares
    own = replace(
        marks,
        commands=_others(marks.commands, shares),
        keys=_others(marks.keys, shares),
        paths=_others(marks.paths, shares),
        literals=_others(marks.literals, shares),
    )
    whole = Haystack("\n".join(line.text for line in paste.lines))
    return any(True for _ in _marks(own, paste, whole))


def _others(marks: tuple[str, ...], shares: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one for one in marks if one not in shares)


def _runs(paste: Paste, span: Span) -> bool:
    """Whether the name at this place is of what somebody says that runs, or the text begins with it."""
    begun = next((line.number for line in paste.lines if line.text.strip()), 0)
    before = _text(paste, span.line)[: span.start].lstrip()
    return bool(_RUN.search(before)) and (bool(before) or span.line == begun)


def _named_in_words(paste: Paste, found: list[_Found], base: _Found) -> Fork | None:
    """The one fork of the framework that is shown of which somebody says that it runs, or with whose name the text begins."""
    ours = [one for one in found if one.fork and one.framework is base.framework and one.strength == NAME and one.span]
    if base.strength != MARK or len(ours) != 1 or (span := ours[0].span) is None:
        return None
    return ours[0].fork if _runs(paste, span) else None


def _text(paste: Paste, number: int) -> str:
    line = paste.line(number)
    return line.text if line else ""
