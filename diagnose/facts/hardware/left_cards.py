"""Cards and machines that a run has left of more: “8 cards, 2 broken, so 6”, “using 6 of them”, “坏了一台，只剩 3 台”, “4 of 8 H100”."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from diagnose.facts.failing.said import FAILURE
from diagnose.facts.hardware.card_look import A_CARD, OF_CARDS
from diagnose.facts.hardware.card_patterns import PART_OF
from diagnose.facts.sentences.prose import NUMERAL, numeral, span_of
from diagnose.facts.whose_run.others import of_others
from diagnose.types import Fact, Line

_NODE = r"(?:nodes?|machines?|servers?)"
_OF_NODES = rf"(?:\s*{_NODE}\b|\s*(?:台|个?节点|机(?!器)))"
_BARE = r"(?=\s*(?:[,.;:，。；)）]|$))"
_N = rf"(?P<n>{NUMERAL})"
# what is not there for the run
_LOST = re.compile(
    r"\b(?:broken?|dead|down|faulty|bad|offline|dropped|fell off|missing|gone|busy|taken|occupied|unavailable|unhealthy|drained"
    r"|cordoned)\b|坏|掉[卡线]|故障|下线|宕机?|用不了|不可用|占[了用着]|被占|(?:给|被)(?:别人|其他人|同事|别的\S{0,4}|他人)(?:占|用|拿|借)|挂了[\d一两二三四]",
    re.I | re.A,
)
# what is there, behind it
_LEFT = re.compile(
    r"(?:\b(?:so|leav(?:es|ing)(?: (?:me|us))?|left with|down to|(?:now )?(?:us(?:e|es|ing)|train(?:ing)?|run(?:ning)?)"
    r"(?: it)?(?: (?:on|with))?"
    r"|only|remaining)\s+(?:(?:i|we|it|with|have|only|just|use|on|the(?: other| remaining)?)\s+){0,4}"
    r"|(?:只剩下?|还剩下?|剩下?|余下?|只?能用|实际(?:只)?(?:用|有|跑|可用)|现在(?:只)?(?:用|有)|(?<![没不])用)(?:了|的是|的)?\s*)"
    rf"{_N}(?:(?P<cards>{OF_CARDS})|(?P<nodes>{_OF_NODES})|{_BARE})",
    re.I | re.A,
)
# a part of what there is, so called
_USES = re.compile(
    r"(?:\b(?:us(?:e|es|ed|ing)|train(?:s|ed|ing)? on|run(?:s|ning)? on|got|have)\s+(?:only\s+|just\s+)?"
    rf"(?P<n>{NUMERAL})\s+(?:out\s+)?of\s+(?:(?P<them>them|those|these)\b(?!\s+[a-z])"
    rf"|(?:(?:the|my|our|those|these|all)\b\s*)?(?:\d{{1,3}})?(?:{OF_CARDS}|(?P<nodes>{_OF_NODES})))"
    r"|\b(?:(?:us(?:e|es|ed|ing)|train(?:s|ed|ing)? on|run(?:s|ning)? on)\s+(?:only|just)"
    r"|(?:only|just)\s+(?:us(?:e|es|ed|ing)|run(?:s|ning)? on))"
    rf"\s+(?P<n3>{NUMERAL})(?:{OF_CARDS}|(?P<nodes3>{_OF_NODES}))"
    r"|(?:(?:只|仅|就)(?:能|会)?(?:用|分到|拿到|申请到|给)(?:了|到)?|实际(?:只)?(?:用|分到|拿到)(?:了|的是)?|(?<![没不])用了?其中的?)"
    rf"(?:其中的?)?\s*(?P<n1>{NUMERAL})(?:{OF_CARDS}|(?P<nodes1>{_OF_NODES}))"
    rf"|\b(?:job|run|training|experiment)\s+(?:only\s+|just\s+)?uses\s+(?:only\s+|just\s+)?(?P<n4>{NUMERAL})(?:{OF_CARDS}|{_BARE})"
    rf"|(?:只|仅)有\s*(?P<n2>{NUMERAL})(?:{OF_CARDS}|(?P<nodes2>{_OF_NODES}))\s*(?:是)?(?:空闲|可用|能用))",
    re.I | re.A,
)
_OF = re.compile(rf"(?<![\w.-]){_N}\s+(?:out\s+)?of\s+(?P<all>\d{{1,3}}){OF_CARDS}", re.I | re.A)
# … and the others do something else
_FOR_ONE_ROLE = re.compile(
    r"\s*(?:for|to)\s+(?:the\s+)?(?:run\s+|serve\s+)?(?:vllm|sglang|rollout|infer|generat|serv|train)", re.I | re.A
)
_ONLY_SOME_FAIL = re.compile(r"\b(?:on|in|gpu|card|rank|device|index|#)\s*$", re.I | re.A)
_NEAR = 160  # characters to either side of what is lost
_SENTENCE = re.compile(r"[.。；;!?！？](?:\s|$)|[。；！？]|\n", re.A)
_COUNT = re.compile(rf"(?<![\w.-]){_N}(?=\s*[x×*]?\s*(?:{A_CARD}|{_NODE}|[张块台]|卡|个?节点|机))", re.I | re.A)


def left(speech: Sequence[Line], id: str) -> dict[str, Fact]:
    """The cards (``n_gpus``) or the machines (``n_nodes``) that the words leave a run of more; empty where they speak of all."""
    for line in speech:
        for found, count in (*_of_lost(line.words, id), *_used(line.words, id)):
            if not of_others(line.words, found.start()):
                why = "what is left of more"
                return {id: Fact(id, count, "read", written=found[0].strip(), span=span_of(line, found), why=why)}
    return {}


def _of_lost(words: str, id: str) -> Iterator[tuple[re.Match[str], int]]:
    """What a sentence tells to be left behind what it tells to be lost, where it counted more before."""
    for lost in _LOST.finditer(words):
        low, high = max(0, lost.start() - _NEAR), lost.end() + _NEAR
        end = _SENTENCE.search(words, lost.end(), high)
        start = max((stop.end() for stop in _SENTENCE.finditer(words, low, lost.start())), default=low)
        for found in _LEFT.finditer(words, lost.end(), end.start() if end else high):
            more = [
                one for one in _COUNT.finditer(words, start, lost.start()) if numeral(one["n"]) > numeral(found["n"])
            ]
            unit = (
                "n_nodes" if found["nodes"] or (not found["cards"] and more and _is_node(words, more[0])) else "n_gpus"
            )
            if more and unit == id:
                yield found, numeral(found["n"])


def _is_node(words: str, count: re.Match[str]) -> bool:
    return bool(re.match(rf"\s*(?:{_NODE}|台|个?节点|机)", words[count.end() :], re.I | re.A))


def _used(words: str, id: str) -> Iterator[tuple[re.Match[str], int]]:
    """A part that is used of what there is; where only some cards fail, all of them run."""
    for found in _USES.finditer(words):
        if _FOR_ONE_ROLE.match(words, found.end()):
            continue
        groups = found.groupdict()
        nodes = any(groups[name] for name in ("nodes", "nodes1", "nodes2", "nodes3"))
        unit = _last_counted(words, found) if groups["them"] else "n_nodes" if nodes else "n_gpus"
        if unit == id:
            yield found, numeral(next(groups[name] for name in ("n", "n1", "n2", "n3", "n4") if groups[name]))
    for found in _OF.finditer(words) if id == "n_gpus" else ():
        before = words[max(0, found.start() - 40) : found.start()]
        behind = re.split(r"[,;.)，；。]", words[found.end() : found.end() + 24])[0]
        some = FAILURE.search(before) or _ONLY_SOME_FAIL.search(before) or FAILURE.search(behind)
        some = some or _FOR_ONE_ROLE.match(words, found.end())
        if numeral(found["n"]) < int(found["all"]) and not some and not PART_OF.search(words):
            yield found, numeral(found["n"])


def _last_counted(words: str, found: re.Match[str]) -> str:
    """Which were counted last before “use 2 of them”: machines or cards; "" where neither is."""
    counted = list(_COUNT.finditer(words, max(0, found.start() - _NEAR), found.start()))
    return "" if not counted else "n_nodes" if _is_node(words, counted[-1]) else "n_gpus"
