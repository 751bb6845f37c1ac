"""Cards of each role in words: “critic 和 actor 各 4 卡”, “actor and critic on 4 GPUs each”, “actor 4 卡，critic 2 卡，vllm 2 卡”."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from diagnose.facts.others import of_others
from diagnose.facts.prose import NUMERAL, numeral, span_of
from diagnose.types import Fact, Line

_ROLES = {
    "trainer_gpus": r"actor|policy|train(?:ing|er)|训练",
    "critic_gpus": r"critic|value model",
    "ref_gpus": r"ref(?:erence)?",
    "reward_gpus": r"reward|rm|奖励模型",
    "": r"vllm|sglang|rollout|inference|generation|推理|采样",  # engines have no fact of their own
}
_ROLE = (
    r"(?<![A-Za-z_.\d])(?:"
    + "|".join(_ROLES.values())
    + r")(?:\s?(?:models?|workers?|engines?|模型|引擎))?(?![A-Za-z_.=\d])"
)
_LIST = rf"(?P<list>{_ROLE}(?:\s*(?:[,，、/&+]|\band\b|和|与|跟|及)+\s*(?:the\s+)?{_ROLE}){{1,4}})"
_CARDS = r"\s*(?:[张块个]\s*)?(?:卡|[张块](?!\w)|(?:gpus?|cards?|[AHLV]\d{2,3}\w?s?)\b)"
_N = rf"(?P<n>{NUMERAL})"
# several roles with as many cards each
_EACH = (
    re.compile(rf"{_LIST}[^。；;\n\d,]{{0,12}}?[,，\s]*各(?:自|用|占|有|放|分|是)*\s*{_N}{_CARDS}", re.I | re.A),
    re.compile(
        rf"{_LIST}\s*(?:on|uses?|using|gets?|with|take|have|has|:)?\s*{_N}{_CARDS}\s*(?:each|apiece)\b", re.I | re.A
    ),
    re.compile(rf"(?<!\w){_N}{_CARDS}\s*(?:each|apiece)\s+for\s+(?:the\s+)?{_LIST}", re.I | re.A),
)
# one role with its own
_ONE = re.compile(
    rf"(?P<list>{_ROLE})\s*(?:on|uses?|using|gets?|has|占用?|用了?|放|跑?在|[:：=])?\s*{_N}{_CARDS}(?!\s*(?:each|apiece)\b)",
    re.I | re.A,
)
_TOGETHER = re.compile(
    r"colocat|\bshar(?:e|es|ed|ing)\b|\bsame\b|混部|混布|共用|共享|同一?[张块组批]|一起|复用", re.I | re.A
)


def told_roles(speech: Sequence[Line]) -> dict[str, Fact]:
    """The cards of every role that a line counts, and their sum; empty with fewer than two roles, or where some share cards."""
    for line in speech:
        found = [(match, role) for match in _matches(line.words) for role in _roles(match["list"])]
        roles = [role for _, role in found]
        if len(roles) < 2 or len(set(roles)) < len(roles) or _TOGETHER.search(line.words):
            continue
        if of_others(line.words, found[0][0].start()):
            continue
        counts = {role: numeral(match["n"]) for match, role in found}
        span = span_of(line, found[0][0])
        why = "the sum of the roles"
        whole = Fact("n_gpus", sum(counts.values()), "read", written=found[0][0][0], span=span, why=why)
        return {"n_gpus": whole} | _of_roles(counts, found[0][0][0], whole)
    return {}


def _of_roles(counts: Mapping[str, int], written: str, whole: Fact) -> dict[str, Fact]:
    return {role: Fact(role, count, "read", written=written, span=whole.span) for role, count in counts.items() if role}


def _matches(words: str) -> list[re.Match[str]]:
    """The places that count cards of roles, those of several roles at once first, none inside another."""
    if "卡" not in words and "张" not in words and "块" not in words and not re.search(r"gpu|card|each", words, re.I):
        return []
    taken: list[re.Match[str]] = []
    for form in (*_EACH, _ONE):
        for found in form.finditer(words):
            if all(found.end() <= one.start() or one.end() <= found.start() for one in taken):
                taken.append(found)
    return sorted(taken, key=lambda one: one.start())


def _roles(words: str) -> list[str]:
    return [
        next(id for id, form in _ROLES.items() if re.match(form, found[0], re.I | re.A))
        for found in re.finditer(_ROLE, words, re.I | re.A)
    ]
