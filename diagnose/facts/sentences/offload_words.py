"""Offloads in a sentence, all of them or by what they move: “offload 都开了”, “every offload is on”, “adam_offload 开了”.

Which settings these are depends on the framework: those of its own keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from diagnose.conditions import holds, in_range
from diagnose.facts.sentences.on_off import ALL_TRUE, OF_ANOTHER, goes_well, switched
from diagnose.facts.sentences.prose import asked, clause_of, span_of
from diagnose.facts.whose_run.told_to import is_told_to
from diagnose.knowledge.records import Framework
from diagnose.types import Fact, Line, Paste

# what moves → the facts that say so; of the first two only one is a trainer's way, between phases before on the host for good
_FILES = ("yaml", "json")
_FACTS = {
    "param": ("param_offload", "param_on_cpu"),
    "optimizer": ("optimizer_offload", "optimizer_on_cpu"),
    "grad": ("grad_offload",),
    "ref": ("ref_offload",),
    "critic": ("critic_param_offload", "critic_optimizer_offload"),
}
_SWITCHED = (
    r"(?:已经?)?(?:(?:打?开|开启|启用|用上|上)(?:了|着)?|设(?:置)?[为成]\s*(?:true|on)|(?:set to|[=:：])\s*(?:true|on))"
)
_ALL = re.compile(
    rf"(?:所有|全部|各种|(?<![不否])能开的?)(?:的)?\s*(?:cpu[ _-]?)?(?:的\s*)?offload\w*"
    rf"|(?<!\w)offload\w*\s*(?:选项|开关)?\s*(?:全部?|都|均|全都)\s*{_SWITCHED}"
    r"|(?<![\w.])offload(?:s|ing)?\s+(?:all|everything)(?:\s+(?:set to|to|is|are))?\s*(?:true|on|enabled)\b"
    r"|\b(?:all|every)\s+(?:(?:the|of|possible|kinds?|available|cpu)\s+){0,3}offload\w*|\bevery ?thing\s+(?:is\s+)?offloaded"
    r"|\bboth offloads (?:are )?(?:on|enabled)\b|\bfull(?:y)? (?:cpu )?offload\w*|\boffload(?:ing|ed)? everything",
    re.I | re.A,
)
_NONE = re.compile(
    r"(?<![能要该开用])(?:没有?|未|不)(?:能|敢|想|打算|法)?(?:开|用|启用)(?:任何)?\s*(?:cpu[ _-]?)?offload"
    r"|offload\w*\s*(?:都|也|全)?\s*(?:没有?|未|不)(?:开|用|启用)(?!全)|\bboth offloads (?:are )?(?:off|disabled)\b"
    r"|\b(?:no|without(?: any)?)\s+(?:cpu[ -])?offload\w*|(?<![\w.])offload\s*[=:：]\s*(?:false|off|0)\b"
    r"|\boffload(?:ing)? (?:is )?(?:all )?(?:off|disabled)\b(?!\s+(?:for|of|on)\b)"
    r"|(?:\b(?:all|every|any)\s+(?:(?:the|cpu)\s+)?|所有的?|全部的?)offload\w*\s*(?:options?|flags?|选项|开关)?"
    r"\s*(?:(?:set )?to|is|are|都|全|也|设为|[=:：])*\s*(?:false|off|disabled|no(?:ne)?\b|关)"
    r"|(?<![\w.])offload(?:s|ing)?\s+(?:all|everything)\s+(?:set to |to |is |are )?(?:false|off|disabled)\b",
    re.I | re.A,
)
# one word for a stage and where its optimizer lives; the third stage takes the weights along
_STAGE = re.compile(
    r"(?<![A-Za-z])(?:zero[-_ ]?|(?:ds[-_ ]?)?z)(?P<stage>[23])[\s_-]*(?:[+,，]|with|和|加)?\s*(?:cpu[ _-]?)?offload"
    r"(?!\s+(?:the\s+)?(?:optim|adam)|\s*优化器)",
    re.I | re.A,
)
_ZERO = re.compile(r"(?<![A-Za-z])(?:zero[-_ ]?(?:stage[-_ ]?)?|(?:ds|deepspeed)[-_ ]?z?)[23](?!\d)", re.I | re.A)
# its setting with the device for a value, as people say it: “offload_optimizer cpu”, “offload_param to nvme”
_DEVICE = re.compile(r"(?<![\w.])offload_(?P<what>optimizer|param)\s+(?:to\s+)?(?:the\s+)?(?:cpu|nvme)\b", re.I | re.A)
# what that word means whoever trains: DeepSpeed keeps it on the host for good
_OF_ZERO = {"param": ("param_on_cpu",), "optimizer": ("optimizer_on_cpu",)}
_WHAT = {
    "param": r"(?:params?|parameters?|model|weights?|权重|参数)",
    "optimizer": r"(?:optim(?:izer)?|adam|优化器)(?:[ _-]?states?|状态)?",
    "grad": r"(?:grads?|gradients?|梯度)",
    "ref": r"(?:ref(?:erence)?(?:[ _-]model)?(?:\s*的)?(?:[ _-]?(?:params?|parameters?|weights?|参数|权重))?|参考模型(?:的?参数)?)",
}
_ANY = f"(?:{'|'.join(_WHAT.values())})"
# “param and optimizer offload” names both
_OTHERS = rf"(?:\s*(?:/|\+|&|、|,|和|与|及|\band\b)\s*{_ANY})"
_NAMED = tuple(
    (
        what,
        re.compile(
            rf"(?<![\w.]){'' if what == 'ref' else OF_ANOTHER}{words}{_OTHERS}{{0,3}}"
            r"[ _-]?(?:的\s*|也\s*|都\s*)?offload(?:s|ed|ing)?(?!\w)",
            re.I | re.A,
        ),
    )
    for what, words in _WHAT.items()
)
# an offload that is one thing's is not all of them
_OF_ONE = re.compile(
    rf"(?<![\w.])(?<!除)(?<!除了)(?<!except )(?:{_ANY}|actor|critic|reward|engine)[ _-]?(?:的\s*|也\s*)?$", re.I | re.A
)
_BUT = tuple(
    (
        what,
        re.compile(
            rf"(?:\b(?:except|besides|but not|apart from)\s+(?:for\s+)?(?:the\s+)?|除了?\s*){words}(?!\w)", re.I | re.A
        ),
    )
    for what, words in _WHAT.items()
)
_ON_BEFORE = re.compile(
    r"(?:开了?|开启了?|打开了?|启用了?|用了|with|using|use|enabled?|turned on|set)[\s:：]*[^。；;\n]{0,80}$",
    re.I | re.A,
)
_ON_AFTER = re.compile(
    rf"^[^。；;\n]{{0,40}}?(?:(?:都|也|全部?)?\s*{_SWITCHED}|\b(?:is|are|both|all)? ?(?:on|enabled|active)\b)|^ ?true\b"
    rf"|^[`'\"”]?{ALL_TRUE}",
    re.I | re.A,
)
# a word for itself between those of a list of settings: “zero3, adam offload, micro batch 2”
_LISTED = (
    re.compile(r"(?:[,，、;；+＋(（&/]|[加和与]|\b(?:and|with|plus))\s*(?:cpu\s+)?$", re.I | re.A),
    re.compile(
        r"\s*(?:[,，、;；+＋)）&/.。]|only\b|\band\b|(?:还是|也|都|就)*\s*(?:爆|炸|OOM|挂)|$)",
        re.I | re.A,
    ),
)
# … in a sentence that lists what one may do, or did, to need less
_REMEDIES = re.compile(
    r"\b(?:try|tried|trying|can|could|may|might|maybe|should|recommend\w*|suggest\w*|reduc\w*|lower\w*|instead|options?|help\w*)\b|试|建议|可以|应该|如果|能不能",
    re.I | re.A,
)
# what is only thought of, asked for or advised
_OPEN = re.compile(
    r"\b(?:should|could|would|if|whether|recommend\w*|suggest\w*|maybe|need)\b|要不要|建议|应该|如果|需要|是否|吗|没|试|\btried\b",
    re.I | re.A,
)


# what is known and not wanted
_REFUSED = re.compile(
    r"[^。；;\n]{0,4}(?:太慢|(?:is |was )?too slow)[^。；;\n]{0,3}?[,，]?\s*(?:所以|so )?(?:我|i |we )?(?:就)?"
    r"(?:不想|不敢|没敢|不用|没用|不开|没开|don['’]?t|do not|won['’]t|not )",
    re.I | re.A,
)


def offload_words(
    speech: Sequence[Line], framework: Framework | None, stated: Mapping[str, Fact], paste: Paste
) -> dict[str, Fact]:
    """The offloads that sentences switch on, or all off, as facts of the framework's keys; of no framework that is known ZeRO's alone.

    None of a nested configuration: below which role it stands its key says, and where that is cut away nothing does.
    """
    found: dict[str, Fact] = {}
    own = _OF_ZERO if framework is None else _own(framework, stated)
    dumped = {one.span.line for one in paste.settings if one.shape in _FILES and "." in one.key}
    for line in speech:
        if "offload" not in line.words.lower() or line.number in dumped:
            continue
        for what, on, match in _of_stage(line.words) if framework is None else _told(line.words):
            if is_told_to(line.words[: match.start()], line.words[match.end() :]):
                continue
            of_zero = what in _OF_ZERO and _of_zero(line.words, match) and _has(framework, _OF_ZERO[what])
            for id in _OF_ZERO[what] if of_zero else own.get(what, ()):
                if id not in stated:
                    found.setdefault(id, Fact(id, on, "read", written=match[0].strip(), span=span_of(line, match)))
    return found


def _of_zero(words: str, match: re.Match[str]) -> bool:
    """Whether it is an offload of DeepSpeed's: with a stage in one word, or what a line switches on that names a stage."""
    return bool(
        _STAGE.fullmatch(match[0])
        or _DEVICE.fullmatch(match[0])
        or (_ZERO.search(words) and not (_NONE.fullmatch(match[0]) or _ALL.fullmatch(match[0])))
    )


def _has(framework: Framework | None, ids: tuple[str, ...]) -> bool:
    """Whether a key of the framework can tell these facts, by itself or by a word; of no framework nothing speaks against it."""
    keys = framework.keys if framework else ()
    return framework is None or any(
        key.fact in ids or any(set(ids) & set(given) for given in key.values.values()) for key in keys
    )


def _told(words: str) -> Iterator[tuple[str, bool, re.Match[str]]]:
    """What is switched, whether on, and where; a choice by name before all."""
    for form, on in ((_NONE, False), (_ALL, True)):
        match = next((one for one in form.finditer(words) if not _OF_ONE.search(words[: one.start()])), None)
        if match and not (on and _open(words, match)):
            left = {what for what, but in _BUT if but.search(words)}
            yield from ((what, on != (what in left), match) for what in _FACTS)
            return
    yield from _of_stage(words)
    for what, pattern in _NAMED:
        for match in pattern.finditer(words):
            if (told := _on(words, match)) is not None:
                yield what, told, match
                break


def _on(words: str, match: re.Match[str]) -> bool | None:
    """Whether the words have this offload on or off; None where they ask, advise or only name it."""
    if switched(words, match.start(), match.end()) is False:
        return None if asked(words, *clause_of(words, match)) else False
    return True if not _open(words, match) and _switched(words, match) else None


def _of_stage(words: str) -> Iterator[tuple[str, bool, re.Match[str]]]:
    """What a stage of ZeRO with offload keeps on the host, or a setting of DeepSpeed's that is said with its device."""
    yield from ((match["what"].lower(), True, match) for match in _DEVICE.finditer(words) if not _open(words, match))
    named = (match for match in _STAGE.finditer(words) if not _in_address(words, match))
    if (match := next(named, None)) and not _open(words, match):
        yield from (
            (what, True, match) for what in (("param", "optimizer") if match["stage"] == "3" else ("optimizer",))
        )


def _in_address(words: str, match: re.Match[str]) -> bool:
    """Whether it is a part of a link: what that shows need not be what ran."""
    return "://" in words[words.rfind(" ", 0, match.start()) + 1 : match.start()]


def _switched(words: str, match: re.Match[str]) -> bool:
    if re.match(r"\s*了", words[match.end() :]):
        return True
    before, after = words[: match.start()], words[match.end() :]
    listed = _LISTED[0].search(before) and _LISTED[1].match(after) and not _REMEDIES.search(words)
    return bool(listed or _ON_BEFORE.search(before) or _ON_AFTER.match(after))


def _open(words: str, match: re.Match[str]) -> bool:
    """Whether the clause asks or advises: that is no setting."""
    start, clause = clause_of(words, match)
    return (
        bool(_OPEN.search(clause) or _REFUSED.match(words, match.end()))
        or goes_well(words, match)
        or asked(words, start, clause)
    )


def _own(framework: Framework, stated: Mapping[str, Fact]) -> dict[str, tuple[str, ...]]:
    """What can move → the facts that this framework's keys give it in this version."""
    version = stated.get("framework_version")
    values = {id: fact.value for id, fact in stated.items()}
    keys = [
        key
        for key in framework.keys
        if not key.dead
        and in_range(key.since, key.until, str(version.value) if version else None)
        and holds(key.when, values) is not False
    ]
    ids = {key.fact for key in keys}
    inside = {id for key in keys for given in key.values.values() for id in given}
    own: dict[str, tuple[str, ...]] = {}
    for what, facts in _FACTS.items():
        there = tuple(id for id in facts if id in ids) or tuple(id for id in facts if id in inside)
        own[what] = there[:1] if what != "critic" else there if values.get("algo", "ppo") == "ppo" else ()
    return own
