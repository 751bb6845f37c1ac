"""Cards of each role in words: “critic 和 actor 各 4 卡”, “actor and critic on 4 GPUs each”, “actor 4 卡，critic 2 卡，vllm 2 卡”."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from diagnose.facts.hardware.card_look import OF_CARDS
from diagnose.facts.sentences.prose import NUMERAL, numeral, span_of
from diagnose.facts.whose_run.others import of_others
from diagnose.types import Fact, Line

_ROLES = {
    "trainer_gpus": r"actor|policy|train(?:ing|er)?|训练",
    "critic_gpus": r"critic|value model",
    "ref_gpus": r"ref(?:erence)?",
    "reward_gpus": r"reward|rm|奖励模型",
    "": r"vllm|sglang|rollout|inference|gen(?:eration)?|推理|采样",  # engines have no fact of their own
}
_ROLE = (
    r"(?<![A-Za-z_.\d])(?:"
    + "|".join(_ROLES.values())
    + r")(?:\s?(?:models?|workers?|engines?|servers?|模型|引擎))?(?![A-Za-z_.=\d])"
)
_LIST = rf"(?P<list>{_ROLE}(?:\s*(?:[,，、/&+]|\band\b|和|与|跟|及)+\s*(?:the\s+)?{_ROLE}){{1,4}})"
_N = rf"(?P<n>{NUMERAL})"
# several roles with as many cards each
_EACH = (
    re.compile(rf"{_LIST}[^。；;\n\d,]{{0,12}}?[,，\s]*各(?:自|用|占|有|放|分|是)*\s*{_N}{OF_CARDS}", re.I | re.A),
    re.compile(
        rf"{_LIST}\s*(?:on|uses?|using|gets?|with|take|have|has|:)?\s*{_N}{OF_CARDS}\s*(?:each|apiece)\b", re.I | re.A
    ),
    re.compile(rf"(?<!\w){_N}{OF_CARDS}\s*(?:each|apiece)\s+for\s+(?:the\s+)?{_LIST}", re.I | re.A),
)
# one role with its own, or with the rest
_ONE = re.compile(
    rf"(?P<list>{_ROLE})\s*(?:(?:runs?\s+)?on|uses?|using|gets?|has|占用?|用了?|放|跑?在|[:：=])?\s*"
    rf"(?:{_N}{OF_CARDS}|the\s+(?:other|remaining)\s+(?P<rest>{NUMERAL})(?![\w.]|\s*(?:steps?|engines?)))(?!\s*(?:each|apiece)\b)",
    re.I | re.A,
)
# or its cards before it
_BEFORE = re.compile(
    rf"(?<![\w.-]){_N}(?:{OF_CARDS}\s*(?:(?:for|to|run|do)\s+(?:the\s+)?|(?:用来|用于|做|跑|给)\s*)?(?P<list>{_ROLE})"
    rf"|\s+(?P<list2>{_ROLE})\s+(?:gpus?|cards?)\b)",
    re.I | re.A,
)
# how many of them train and how many generate
_APART = (
    re.compile(
        rf"训练(?:用)?\s*(?P<train>{NUMERAL})\s*(?:张|块|个)?卡?[^。；;\n]{{0,16}}?(?:推理|vllm|采样|rollout)(?:用)?\s*(?P<infer>{NUMERAL})\s*(?:张|块|卡)",
        re.I | re.A,
    ),
    re.compile(
        rf"(?<!\d)(?P<train>{NUMERAL})\s*(?:张|块)?卡\s*(?:用来|用于|做)?训练[^。；;\n]{{0,12}}?(?P<infer>{NUMERAL})\s*(?:[张块]卡?|卡)\s*(?:用来|用于|做|跑|给)?\s*(?:推理|vllm|采样|rollout)",
        re.I | re.A,
    ),
    re.compile(
        rf"\b(?P<train>{NUMERAL})\s+(?:gpus?|cards?)?\s*(?:for|to)\s+train\w*[^.;\n]{{0,16}}?\b(?P<infer>{NUMERAL})\s+(?:gpus?\s+|cards?\s+)?(?:for|to|run)\s+"
        r"(?:vllm|sglang|inference|generat\w*|rollouts?)",
        re.I | re.A,
    ),
    re.compile(
        rf"train\w*\s+(?:uses?|gets?|has|takes?|on)\s+(?P<train>{NUMERAL})\b[^.;\n]{{0,24}}?(?:vllm|sglang|rollouts?|inference|generat\w*)"
        rf"(?:[ -]serv\w*)?\s+(?:uses?|gets?|has|takes?|on)?\s*(?:the\s+other\s+)?(?P<infer>{NUMERAL})\b(?!\s*(?:steps?|engines?))",
        re.I | re.A,
    ),
    re.compile(
        rf"train[^.;\n]{{0,12}}?\b(?P<train>{NUMERAL})\s*[x×]?\s*\w[^.;\n]{{0,16}}?(?:,|\band|\bplus)\s+(?P<infer>{NUMERAL})\s+(?:more|other|extra)"
        r"\s+(?:\w{2,8}\s+)?(?:for|to|runs?|running|serv\w*|host\w*)\s+(?:\w{2,8}\s+)?(?:vllm|sglang|inference|generat\w*|rollouts?)",
        re.I | re.A,
    ),
    # a role right behind its cards: “6 GPUs training, 2 GPUs inference”
    re.compile(
        rf"(?<![\w.-])(?P<train>{NUMERAL})\s+(?:gpus?|cards?)\s+(?:train(?:ing|er)?|actor)\b[^.;\n\d]{{0,12}}?"
        rf"(?<![\w.-])(?P<infer>{NUMERAL})\s+(?:gpus?|cards?)\s+(?:vllm|sglang|inference|generation|rollouts?)\b",
        re.I | re.A,
    ),
    re.compile(
        rf"(?<![\w.-])(?P<infer>{NUMERAL})\s+(?:gpus?|cards?)\s+(?:vllm|sglang|inference|generation|rollouts?)\b[^.;\n\d]{{0,12}}?"
        rf"(?<![\w.-])(?P<train>{NUMERAL})\s+(?:gpus?|cards?)\s+(?:train(?:ing|er)?|actor)\b",
        re.I | re.A,
    ),
    # a part of all
    re.compile(
        rf"(?<![\w.-])(?P<infer>{NUMERAL})\s+(?:out\s+)?of\s+(?:the\s+|my\s+|our\s+)?(?P<all>\d{{1,3}})\s*(?:gpus?|cards?)\s+"
        r"(?:for|to run|run|runs|serve|to serve)\s+"
        r"(?:the\s+)?(?:vllm|sglang|inference|generat\w*|rollouts?)",
        re.I | re.A,
    ),
    re.compile(
        rf"(?<![\w.-])(?P<train>{NUMERAL})\s+train(?:ing|er)?\s+(?:gpus?|cards?)\s+(?:out\s+)?of\s+(?:the\s+)?(?P<all>\d{{1,3}})(?![\w.])",
        re.I | re.A,
    ),
    # those that generate come first
    re.compile(
        rf"\b(?P<infer>{NUMERAL})\s+(?:for\s+)?(?:vllm|sglang|rollouts?|inference)\s*[,/+&]\s*(?:and\s+)?(?P<train>{NUMERAL})\s+(?:for\s+)?train"
        r"(?!\w*\s*(?:steps?|epochs?|batch))",
        re.I | re.A,
    ),
    re.compile(
        rf"(?<!\d)(?P<infer>{NUMERAL})\s*(?:[张块]卡?|卡)\s*(?:用来|用于|做|跑|给)?\s*(?:推理|vllm|sglang|采样|rollout|生成)"
        rf"[^。；;\n\d]{{0,12}}?(?P<train>{NUMERAL})\s*(?:[张块]卡?|卡)\s*(?:用来|用于|做|跑|给)?\s*训练?",
        re.I | re.A,
    ),
    re.compile(
        rf"(?:推理|vllm|sglang|采样|rollout)(?:用)?\s*(?P<infer>{NUMERAL})\s*(?:张|块|个)?卡[^。；;\n\d]{{0,8}}?训练?(?:用)?\s*(?P<train>{NUMERAL})\s*(?:张|块)?卡",
        re.I | re.A,
    ),
    re.compile(
        rf"\b(?P<infer>{NUMERAL})\s+(?:gpus?|cards?)\s+(?:for|to|runs?|running|serv(?:es?|ing))\s+(?:the\s+)?"
        r"(?:vllm|sglang|inference|generat\w*|rollouts?)(?:[ -](?:serv\w+|engine|inference))?(?:\s*\([^)\n]{0,24}\))?"
        rf"\s*(?:,|;|/|\+|and|&|\s)+\s*(?:the\s+other\s+)?(?P<train>{NUMERAL})\s+(?:gpus?\s+|cards?\s+)?(?:for|to|run|runs|do)\s+(?:the\s+)?train",
        re.I | re.A,
    ),
)
_GENERATES = r"(?:vllm|sglang|rollouts?|infer(?:ence)?|generation)"
_TRAINS = r"train(?:ing|er)?(?!\w|[ _](?:steps?|epochs?|batch|samples?|rows?|prompts?|examples?))"
_BETWEEN = r"\s*(?:[,，、/+&]|\band\b)?\s*(?:and\s+)?"
# the same in fewest words, which a number beside them has to be the sum of
_SUMMED = (
    re.compile(
        rf"(?<![\w.-])(?P<infer>{NUMERAL})\s+(?:for\s+)?{_GENERATES}(?!\w){_BETWEEN}(?P<train>{NUMERAL})\s+(?:for\s+)?{_TRAINS}",
        re.I | re.A,
    ),
    re.compile(
        rf"(?<![\w.-])(?P<train>{NUMERAL})\s+(?:for\s+)?{_TRAINS}{_BETWEEN}(?P<infer>{NUMERAL})\s+(?:for\s+)?{_GENERATES}"
        r"(?!\w|[ _-](?:engines?|workers?))",
        re.I | re.A,
    ),
)
_OF_A_MACHINE = (2, 4, 8, 16)
# right before the cards: it was done once
_TRIED = re.compile(r"(?:\btried\b|试[过了])[^.,;。，；\n]*$", re.I | re.A)
_NEAR = 40
TOGETHER = re.compile(
    r"colocat|\bshar(?:e|es|ed|ing)\b|\bsame\b|混部|混布|共用|共享|同一?[张块组批]|一起|复用", re.I | re.A
)


def told_roles(speech: Sequence[Line]) -> dict[str, Fact]:
    """The cards of the whole run and of each role that the words count."""
    return _each_counted(speech) or _trained_and_generating(speech)


def _each_counted(speech: Sequence[Line]) -> dict[str, Fact]:
    """The cards of every role that a line counts, and their sum; empty with fewer than two roles, or where some share cards."""
    for line in speech:
        found = [(match, role) for match in _matches(line.words) for role in _roles(_named(match))]
        roles = [role for _, role in found]
        if len(roles) < 2 or len(set(roles)) < len(roles) or TOGETHER.search(line.words):
            continue
        if of_others(line.words, found[0][0].start()):
            continue
        counts = {role: numeral(match["n"] or match["rest"]) for match, role in found}
        span = span_of(line, found[0][0])
        why = "the sum of the roles"
        whole = Fact("n_gpus", sum(counts.values()), "read", written=found[0][0][0], span=span, why=why)
        apart = _served(whole) if "" in counts and len(counts) > 1 else {}
        return {"n_gpus": whole} | _of_roles(counts, found[0][0][0], whole) | apart
    return {}


def _served(told: Fact) -> dict[str, Fact]:
    """That the engine has cards of its own, where these are counted beside those that train."""
    return {"rollout_mode": replace(told, id="rollout_mode", value="server", why="")}


def _trained_and_generating(speech: Sequence[Line]) -> dict[str, Fact]:
    """The cards that train and those of the whole run, where the words give those that generate as well."""
    for line in speech:
        if not re.search("训练|train|actor", line.words, re.I):
            continue
        found = next((match for form in _APART if (match := form.search(line.words))), None) or _summed(line.words)
        if found and not _TRIED.search(line.words[max(0, found.start() - _NEAR) : found.start()]):
            groups, span = found.groupdict(), span_of(line, found)
            if not (counts := _counts(groups)):
                continue
            train, infer = counts
            cards = Fact("n_gpus", train + infer, "read", written=found[0], span=span)
            return {"n_gpus": cards, "trainer_gpus": replace(cards, id="trainer_gpus", value=train)} | _served(cards)
    return {}


def _summed(words: str) -> re.Match[str] | None:
    """A pair of bare counts, “8 rollout 8 train”, where the same line counts as many in all: “16 cards”, “A100 x16”.

    “7 train + 1 vllm” adds them up itself, to a machine's cards.
    """
    for form in _SUMMED:
        if (found := form.search(words)) and (counts := _counts(found.groupdict())):
            if "+" in found[0] and sum(counts) in _OF_A_MACHINE:
                return found
            rest = f"{words[: found.start()]};{words[found.end() :]}"
            if re.search(rf"(?<![\w.-]){sum(counts)}{OF_CARDS}|[x×*]\s?{sum(counts)}(?![\w.])", rest, re.I | re.A):
                return found
    return None


def _counts(groups: Mapping[str, str | None]) -> tuple[int, int] | None:
    """How many train and how many generate; of a part of all the rest does the other."""
    train, infer, whole = (numeral(word) if (word := groups.get(id)) else 0 for id in ("train", "infer", "all"))
    if whole:
        train, infer = train or whole - infer, infer or whole - train
    return (train, infer) if train > 0 and infer > 0 else None


def _of_roles(counts: Mapping[str, int], written: str, whole: Fact) -> dict[str, Fact]:
    return {role: Fact(role, count, "read", written=written, span=whole.span) for role, count in counts.items() if role}


def _matches(words: str) -> list[re.Match[str]]:
    """The places that count cards of roles, those of several roles at once first, none inside another."""
    if "卡" not in words and "张" not in words and "块" not in words and not re.search(r"gpu|card|each", words, re.I):
        return []
    return max((_apart(words, *_EACH, form) for form in (_ONE, _BEFORE)), key=len)


def _apart(words: str, *forms: re.Pattern[str]) -> list[re.Match[str]]:
    """The matches of all forms that overlap none of an earlier form, as they stand."""
    taken: list[re.Match[str]] = []
    for form in forms:
        for found in form.finditer(words):
            if all(found.end() <= one.start() or one.end() <= found.start() for one in taken):
                taken.append(found)
    return sorted(taken, key=lambda one: one.start())


def _named(match: re.Match[str]) -> str:
    """The roles that a match counts the cards of."""
    groups = match.groupdict()
    return str(groups["list"] or groups["list2"])


def _roles(words: str) -> list[str]:
    return [
        next(id for id, form in _ROLES.items() if re.match(form, found[0], re.I | re.A))
        for found in re.finditer(_ROLE, words, re.I | re.A)
    ]
