"""What others hold on each card, in words: “每张卡上别的进程占了 12G”, “nvidia-smi already shows 10GB used before I start”."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from diagnose.allocator import TENANT
from diagnose.facts.sentences.prose import clause_of, span_of
from diagnose.facts.whose_run.almost import ALMOST
from diagnose.types import Fact, Line
from diagnose.units import PRINTED, to_gib

_SIZE = r"(?<![\d.])(?P<size>\d{1,3}(?:\.\d{1,2})?|\d{3,6}(?=\s*M))\s*(?P<unit>[GM])(?:i?B)?(?![A-Za-z\d])"
_ROUGHLY = r"(?:\s*(?:about|around|roughly|already|up|some|nearly|almost|[~≈约]|大概|大约|将近|差不多|已经))*\s*"
_WHO = (
    r"(?:\b(?:an)?other\s+(?:\w+\s+)?(?:process(?:es)?|jobs?|users?|programs?|tasks?|people|tenants?|trainings?|students?|containers?)\b"
    r"|\bother(?:s|\s+(?:stuff|things))\b|\b(?:someone|somebody)(?:\s+else)?(?:['’]s(?:\s+\w+)?)?|\bcolleagues?(?:['’]s?\s+\w+)?"
    r"|(?:别的|其[他它余]的?|另一?个|另外的?|残留的?|他人的?|别人的?|同事的?)(?:进程|任务|程序|用户|人|作业|训练|服务|容器)|别人|他人|同事)"
)
_HOLDS = (
    r"(?:\s*(?:is|are|was|were|has been|have been|which|that|already|still|currently|always))*"
    r"(?:\s*(?:还|都|已经?|一直|常驻|也|总共|各|在每?张?卡上))*\s*"
    r"(?:\b(?:us(?:es?|ed|ing)|tak(?:es?|en|ing)(?:\s+up)?|took|h[eo]ld(?:s|ing)?|occup(?:ies|y|ied|ying)|ha(?:s|ve|d)|eat(?:s|ing)?"
    r"|consum(?:es?|ed|ing))\b|(?:占用?|用|吃|霸占)(?:了|着|掉了?|去了?)?)"
)
_HELD = r"(?:used|in use|taken(?:\s+up)?|occupied|held|busy|allocated|gone|占用?了?|被占用?|已用|使用|用了|用掉)"
# before the run is there; before its training its own model may be
_BEFORE = (
    r"(?:\bbefore\s+(?:(?:i|we|it|my|the|our|any)\s+)?(?:(?:job|run|script|program|process)\s+)?(?:even\s+)?(?:start|launch|run)(?:s|ed|ing)?\b"
    r"|(?:启动|开始|开跑|运行|跑|程序)(?:之?前|以前)|还?没(?:有)?(?:开始|启动|跑))"
)
_CARD = r"(?:\bnvidia-smi\b|\bgpus?\b|\bcards?\b|\bvram\b|\b(?:gpu|cuda) memory\b|显存|[每这]?张?卡)"
# an engine or a service that somebody else runs is none of the run
_THEIRS = re.compile(
    r"\b(?:(?:someone|somebody)(?:\s+else)?|colleague|another\s+(?:user|person|student))['’]s?(?:\s+[\w.-]{1,30}){1,2}"
    r"|(?:别人|他人|同事|其他用户)的?\s*(?:[A-Za-z][\w.-]{1,20}\s*)?(?:推理)?(?:服务器?|引擎|进程|server)?",
    re.I | re.A,
)
# where it stands, with its size in brackets or behind a comma
_STANDS = r"(?:sits?|runs?|running|lives?|stands?|is|are|(?:也|还|正)?(?:跑|挂|开|部署)?在)"
# a service of the run on the same card
_SERVICE = r"(?:\bretriev(?:er|al)(?: server| service)?\b|检索(?:器|服务|模型)?)"
_FORMS = (
    re.compile(
        rf"{_SERVICE}[^.。;；,，\n\d]{{0,16}}?{_CARD}[^.。;；,，\n\d]{{0,6}}?{_HOLDS}{_ROUGHLY}{_SIZE}", re.I | re.A
    ),
    re.compile(
        rf"{_SERVICE}[^.。;；,，\n\d]{{0,10}}?{_HOLDS}{_ROUGHLY}{_SIZE}[^.。;；,，\n\d]{{0,16}}?{_CARD}", re.I | re.A
    ),
    re.compile(rf"{_WHO}[^.。;；,，\n\d]{{0,16}}?{_HOLDS}{_ROUGHLY}{_SIZE}", re.I | re.A),
    re.compile(
        rf"{_WHO}[^.。;；,，\n\d]{{0,24}}?{_STANDS}\s*(?:on\s+)?(?:the same |my )?(?:gpu|card|卡)s?\s*#?\d{{0,2}}\s*(?:号?卡?上)?"
        rf"\s*[(（,，:：][^()（）。;；\n]{{0,40}}?{_SIZE}",
        re.I | re.A,
    ),
    re.compile(
        rf"{_SIZE}[^.。;；,，\n\d]{{0,32}}?{_HELD}\s*(?:on (?:each|every) (?:gpu|card)\s*)?\b(?:by|for)\s+{_WHO}",
        re.I | re.A,
    ),
    re.compile(
        rf"被\s*{_WHO}[^.。;；,，\n\d]{{0,8}}?(?:占用?|用|吃)(?:了|着|掉了?|去了?)?{_ROUGHLY}{_SIZE}", re.I | re.A
    ),
    re.compile(
        rf"{_CARD}[^.。;；\n]{{0,40}}?{_SIZE}[^.。;；,，\n\d]{{0,20}}?{_HELD}[^.。;；\n\d]{{0,20}}?{_BEFORE}",
        re.I | re.A,
    ),
    re.compile(
        rf"{_SIZE}[^.。;；,，\n\d]{{0,20}}?{_HELD}[^.。;；\n\d]{{0,30}}?{_CARD}[^.。;；\n\d]{{0,16}}?{_BEFORE}",
        re.I | re.A,
    ),
    re.compile(rf"{_BEFORE}[^.。;；\n\d]{{0,30}}?{_CARD}[^.。;；\n\d]{{0,24}}?{_HELD}{_ROUGHLY}{_SIZE}", re.I | re.A),
    re.compile(
        rf"{_BEFORE}[^.。;；\n\d]{{0,30}}?{_CARD}[^.。;；\n\d]{{0,24}}?{_SIZE}[^.。;；,，\n\d]{{0,12}}?{_HELD}",
        re.I | re.A,
    ),
)
_MARKS = (
    "other",
    "someone",
    "somebody",
    "colleague",
    "before",
    "别",
    "其他",
    "其它",
    "其余",
    "另",
    "残留",
    "他人",
    "同事",
    "retriev",
    "检索",
    "前",
    "没",
)
# the run's own: its engine, its roles and ranks, and host RAM
_OWN = re.compile(
    r"\b(?:vllm|sglang|ray|rollout|engine|reward|ref(?:erence)?|critic|actor|ranks?|workers?|judge)\b|引擎|奖励|参考模型"
    r"|\b(?:host|system|cpu|main)\s+(?:ram|memory)\b|(?<![vV])\bRAM\b|(?<!显)内存|\bswap\b|\bdisk\b|磁盘",
    re.I | re.A,
)
_OVER = re.compile(
    r"\b(?:kill(?:ed|ing)?|stopp?(?:ed|ing)?|freed|ended|gone now|went away)\b|杀掉|杀了|结束了|停了|停掉|清掉|释放",
    re.I | re.A,
)
_CLAUSE_OF_FAILURE = re.compile(
    r"[,，]\s*[^,，\n]{0,40}?(?:\bOOM\w*|out[ -]of[ -]memory|\bcrash\w*|\bfails?\b|爆|炸|挂(?!载)|崩|溢出|报错)",
    re.I | re.A,
)
_STARTS = re.compile(_BEFORE, re.I | re.A)
_LONG = 2000
_SENTENCE = re.compile(r"[。;；!！?？\n]|\.(?=\s|$)", re.A)

_NOBODY = re.compile(
    r"\b(?:nothing|nobody|no[ -]?one) else\b[^.。;；\n]{0,24}\b(?:nodes?|machines?|servers?|box|gpus?|cards?|runs?|running)\b"
    r"|\bno other (?:gpu )?(?:process(?:es)?|jobs?|users?|programs?)\b"
    r"|\bnvidia-smi\b[^.。;；\n]{0,20}\b(?:empty|clean|nothing)\b[^.。;；\n]{0,12}\bbefore\b"
    r"|没有?(?:任何)?(?:其[他它]|别的)(?:的)?(?:进程|任务|程序|作业|人(?=[在用占]))|卡上?(?:都|全)?是空的",
    re.I | re.A,
)


def nobody_beside(speech: Sequence[Line], stated: Mapping[str, Fact]) -> Fact | None:
    """That others hold nothing on the cards, as somebody says who has looked; None where the message's figures show what they hold."""
    printed = [stated[id].value for id in ("gpu_total_gib", "gpu_free_gib", "process_gib") if id in stated]
    if len(printed) == 3 and float(printed[0]) - float(printed[1]) - float(printed[2]) > TENANT:
        return None
    for line in speech:
        if len(line.words) <= _LONG and (found := _NOBODY.search(line.words)):
            return Fact("others_gib", 0, "read", written=found[0].strip(), span=span_of(line, found))
    return None


def told_tenants(speech: Sequence[Line], stated: Mapping[str, Fact]) -> Fact | None:
    """GiB that others hold on a card, of several sizes the largest; None where nobody says so, or a card cannot hold as much."""
    size = stated.get("gpu_mem_gib")
    whole = float(size.value) if size is not None and isinstance(size.value, (int, float)) else float("inf")
    found = [fact for line in speech if len(line.words) <= _LONG for fact in _of_line(line)]
    told = [fact for fact in found if 0 < float(fact.value) < whole]
    return max(told, key=lambda fact: float(fact.value)) if told else None


def _of_line(line: Line) -> Iterator[Fact]:
    words = line.words.lower()
    if not any(mark in words for mark in _MARKS):
        return
    for form in _FORMS:
        for match in form.finditer(line.words):
            if not _excluded(line.words, match):
                gib = to_gib(round(float(match["size"]) * PRINTED[f"{match['unit'].lower()}ib"]))
                yield Fact("others_gib", round(gib, 2), "read", written=match[0].strip(), span=span_of(line, match))


def _excluded(words: str, match: re.Match[str]) -> bool:
    """Whether it is the run's own, the host's, over, or merely thought of."""
    end = _SENTENCE.search(words, match.end())
    behind = _THEIRS.sub(" ", words[match.start() : end.start() if end else len(words)])
    clause = clause_of(words, match)[1]
    thought = ALMOST.search(_STARTS.sub(" ", clause))
    # where the failure is told, the run’s own parts are named without holding it
    owned = _OWN.search(behind[: failure.start()] if (failure := _CLAUSE_OF_FAILURE.search(behind)) else behind)
    return bool(owned or _OVER.search(clause) or _OVER.search(behind) or thought)


def words_of(told: Fact) -> str:
    """The remark that the answer makes of it."""
    return (
        f"Others hold {told.value:g} GiB on a card, as you tell it: the run has what is left, and its engine’s share counts of the whole "
        "card. Free that first, or choose cards that are free (CUDA_VISIBLE_DEVICES)."
    )
