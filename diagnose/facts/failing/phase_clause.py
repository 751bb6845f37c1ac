"""The phase of a clause that tells of the failure, by the words in it, whatever their order.

How a sentence puts a failure in a phase has usual forms, which said.py knows, and no end of others: “OOM while the ref model computes
log probs”, “the value model training OOMs”, “把模型搬到卡上的时候爆了”. Where none of the usual forms tells it, the clause is found
that leads to the failure, or that a word like “while” ties to it, and the cues of each phase's record are looked for in that alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from diagnose.facts.failing.advised import without_advice
from diagnose.facts.failing.said import GLUE, failing_sentences
from diagnose.knowledge.records import Signature
from diagnose.types import Fact, Line, Span

# Of several phases whose cues stand in one clause the first: “critic update” is an update as well, “reference log-prob” a log-prob.
SPECIAL_FIRST = (
    "checkpoint", "ref_logprob", "reward", "values", "critic", "optimizer_step", "weight_sync", "init", "load", "eval", "logprob",
    "rollout", "actor_update",
)  # fmt: skip
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_ASIDE = re.compile(r"\([^()\n]{0,80}\)|（[^（）\n]{0,80}）", re.A)
_SETTING = re.compile(r"[\w.-]{1,80}\s*=\s*\S+", re.A)
_LINK = re.compile(
    r"\b(?:(?<!kicks )in|inside|during|while|whilst|when|whenever|once|upon|at|on|within|as soon as|(?:each|every) time"
    r"|the (?:moment|minute|second)|mid(?=-)"
    r"|as(?= (?:the|it|they|each|every|we|i|its|my)\b))(?:\s+|-)",
    re.I | re.A,
)
_DENIED = re.compile(r"\b(?:not|nor|never|except|either|or)\s*$", re.I | re.A)
_END = re.compile(
    r"[,;:!?()，。；：！？（）\n]|\.(?!\w)|\b(?:with|without|using|because|since|due|even|although|though|despite|if|unless|but|and|or|so|after|before"
    r"|until|till|than|then|which|that|whatever|by default)\b",
    re.I | re.A,
)
_SOMEBODY = re.compile(r"\b(?:i|we|you|i['’]m|we['’]re|how|why|what|please|avoid|help)\b", re.I | re.A)
_TURN = re.compile(r"\b(?:but|however|yet)\b", re.I | re.A)
_FAR, _SUBJECT = 120, 80  # characters
_SENTENCES, _FAILURES = 300, 4  # of a text, and of a sentence: nobody tells of one failure more often
# Chinese: what ends a clause, what is over in it, what it ends in where it names a moment, and what makes it a setting or no failure
_ZH_END = re.compile(r"[，,。；;：:！!？?、（）()\n]|然后|但是?|不过|结果|可是", re.A)
_ZH_OVER = re.compile(
    r"[^，,。；;\s]{0,12}?\s?(?:完(?:了|成)?(?:之?后|以后)?|之后|以后|(?<![之以最])后(?=\s?[算训更同保存加生]))", re.A
)
_ZH_MOMENT = re.compile(
    r"(?:时|时候|阶段|过程|期间|[那这]?一步|到一半|中途|那里|这里|里面?|中|就|的|都|又|直接|会|总是?|一直|突然|报|主机|机器|系统|CPU|GPU|显存|内存|被|给|\s)+$",
    re.A,
)
_ZH_NAMES_MOMENT = re.compile(r"时|阶段|过程|期间|一步|到一半|中途", re.A)
_ZH_NOT = re.compile(
    r"没问题|没事|正常|能过|通过|之前|以前|不是|不会|[开关]了|开启|关闭|设[置成为]|调[整成到小大]|改|换|降|减|加了|还是|依然|仍|用了|不管|无论|如果|怎么|如何|避免"
)
_ZH_OF = re.compile(r"的\s*(?:显存|内存)?\s*$", re.A)  # “save 的显存不够” speaks of what was saved
_ZH_AFTER = re.compile(r"\s*(?:的?(?:位置|地方|时机))?(?:是)?\s*在\s*(?P<clause>[^，,。；;：:\n]{1,30})", re.A)


def told_phase(speech: Sequence[Line], signatures: Mapping[str, Signature]) -> Fact | None:
    """The phase of which all clauses that tell of the failure speak, None where they speak of several or of none."""
    cued = {one.phase: one for one in signatures.values() if one.cues}
    told: dict[str, Fact] = {}
    for line, start, sentence, failures in islice(_failing(speech), _SENTENCES):
        for place, clause in _clauses(sentence, [(found.start(), found.end()) for found in failures[:_FAILURES]]):
            if (phase := _phase_of(clause, cued)) is not None:
                at = line.offset + start + place
                span = Span(line.number, at, at + len(clause.rstrip()))
                told.setdefault(phase, Fact("phase", phase, "read", written=clause.strip(), span=span))
    return next(iter(told.values())) if len(told) == 1 else None


def _failing(speech: Sequence[Line]) -> Iterator[tuple[Line, int, str, tuple[re.Match[str], ...]]]:
    """Every sentence that tells of a failure: its line, its place there, its words, and those of failure."""
    return ((line, *told) for line in speech for told in failing_sentences(without_advice(line.words)))


def _phase_of(clause: str, cued: Mapping[str, Signature]) -> str | None:
    words = _SETTING.sub(" ", clause)
    found = [phase for phase in SPECIAL_FIRST if phase in cued and any(cue.search(words) for cue in cued[phase].cues)]
    return None if not found or {"rollout", "actor_update"} <= set(found) else found[0]


def _clauses(sentence: str, failures: Sequence[tuple[int, int]]) -> Iterator[tuple[int, str]]:
    """The clauses tied to a failure, each with its place in the sentence; asides in brackets are left out."""
    plain = _ASIDE.sub(lambda found: " " * len(found[0]), sentence)
    cut = _chinese if _CHINESE.search(plain) else _english
    for start, end in failures:
        yield from cut(plain, start, end)


def _english(sentence: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """What “while” and its like tie to the failure on either side, and what it is said of."""
    turned = _TURN.search(sentence, end, end + _FAR)
    yield from _linked(sentence, end, turned.start() if turned else min(end + _FAR, len(sentence)))
    for place, clause in _linked(sentence, max(0, start - _FAR), start):
        if GLUE.match(sentence[place + len(clause) : start]):
            yield place, clause
    near = max(0, start - _SUBJECT)
    first = max([found.end() for found in _END.finditer(sentence, near, start)], default=near)
    subject = sentence[first:start]
    if (first > near or not near) and not _SOMEBODY.search(subject) and not _LINK.match(subject.lstrip()):
        yield first, subject


def _linked(sentence: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Each clause that a linking word begins between two places, up to the next such word or the end of its part of the sentence."""
    for link in _LINK.finditer(sentence, start, end):
        if _DENIED.search(sentence[max(0, link.start() - 12) : link.start()]):
            continue
        stops = [found for form in (_END, _LINK) if (found := form.search(sentence, link.end(), end))]
        stop = min(stops, key=lambda found: found.start(), default=None)
        if stop is None or stop[0].lower() != "or":  # one of several settles nothing
            yield link.end(), sentence[link.end() : stop.start() if stop else end]


def _chinese(sentence: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """What stands before the failure in its clause, or in the one before where that names a moment; and what 在 ties to it."""
    near = max(0, start - _FAR)
    bounds = [near, *(found.end() for found in _ZH_END.finditer(sentence, near, start))]
    for i, first in enumerate(reversed(bounds)):
        last = start if i == 0 else bounds[-i] - 1
        clause = sentence[first:last]
        bare = _ZH_MOMENT.sub("", clause)
        if not bare.strip():
            continue
        if not (_ZH_NOT.search(clause) or _ZH_OF.search(clause)) and (
            i == 0 or _ZH_NAMES_MOMENT.search(clause[len(bare) :])
        ):
            over = clause if "没" in clause else _ZH_OVER.sub(lambda found: " " * len(found[0]), clause)
            yield first, over
        break
    if (after := _ZH_AFTER.match(sentence, end)) and not _ZH_NOT.search(after["clause"]):
        yield after.start("clause"), after["clause"]
