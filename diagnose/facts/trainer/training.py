"""Whether all parameters are trained, or adapters, by words, scripts, frames and the framework."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from diagnose.facts.sentences.on_off import left_out
from diagnose.facts.sentences.prose import is_help, place_of, span_of
from diagnose.facts.settings import written
from diagnose.facts.trainer.algo import ANY_SPOKEN, other_failed
from diagnose.knowledge.records import Framework
from diagnose.types import Fact, Line, Paste

_LORA = re.compile(
    r"(?<![A-Za-z_])(?<!type': ')(?<!type\": \")(?:(?:(?P<q>Q)-?|rs|Ada)?LoRA|DoRA)(?![A-Za-z])(?!_\w{1,40}['\"]\s{0,4}:)"
    # keys that stand in a file whether there are adapters or not
    r"(?!_\w{1,40}\s{0,4}[:=]\s{0,4}(?:null|none|false|0|\[\]|''|\"\")\s{0,4}(?:[,#]|$))(?!_(?:[AB]_init|dtype)\b)"
    r"(?!\s*(?:(?:was|is|has been)\s+)?(?:already\s+)?(?:merged|已?合并))"
    r"|(?<=[_\-])(?P<q1>q)?lora\w{0,40}\.(?:py|sh|ya?ml|json)\b",
    re.I | re.A,
)
_ADAPTER_SCRIPT = re.compile(r"(?<![A-Za-z])(?P<q>q)?lora\w{0,40}\.(?:py|sh|ya?ml)$", re.I | re.A)
_ADAPTER_FRAMES = ("peft/peft_model", "peft/tuners/lora")
# that there are none, which is that all is trained …
_NONE = re.compile(
    r"(?:\bnon?|\bnot(?: a)?|n['’]t(?: a)?|\bwithout(?: any)?|\bw/o|(?:n['’]t|\bnot) us(?:e|ing)"
    r"|\bnever used|(?<!用)不(?:使用|用|开|加)|没有?(?:使用|[用开加])?"
    r"|未(?:使用|[用开])|非|关[掉了])[\s\-]*$",
    re.I | re.A,
)
_NONE_AFTER = re.compile(
    r"\s*(?:[:=：]\s*(?:no|none|off|false)\b|(?:is |was )?(?:turned |switched )?(?:off|disabled|not used)\b|没[开加]|关[了着掉]"
    r"|(?:no|否|不[开用])(?=\s*(?:[,，、;；.。)）]|$)))",
    re.I | re.A,
)
# … and that this run is not the one that has them: compared, asked about, planned or refused
_NOT_YET = re.compile(
    r"(?:\binstead of"
    r"|\b(?:should|shall|would|could|do(?= (?:i|we|you)\b))\s+"
    r"(?:(?:i|we|it|using|use|try|trying|need|switch|switching|mov(?:e|ing)|to)\s+)*"
    r"|\b(?:will|going to|about to|plan(?:ning)? to|want to)\s+(?:try|switch(?: to)?|move(?: to)?)"
    r"|\b(?:thinking (?:of|about)|consider(?:ing)?)(?:\s+(?:using|switching to))?"
    r"|(?:n['’]t|\bnot|\bcannot)\s+(?:want|wish|plan)\s+(?:to\s+use)?|(?:\bcan['’]?t|\bcannot)\s+use"
    r"|不(?:想|打算|愿意?|能|敢)用|(?:打算|准备|计划|考虑|想)(?:试试?|[换改]成?|切换?到|上)|要不要(?:用|上|[换改]成?|试试?)?"
    r"|(?:是否|能不能|应该|应不应该)(?:用|上|[换改]成?|试试?))\s*$",
    re.I | re.A,
)
# “does LoRA help?”
_HELPS = (
    re.compile(r"\b(?:does|do|will|would|can|could)\s+$", re.I | re.A),
    re.compile(r"\s+(?:help|fix|solve|matter|make)", re.I | re.A),
)
# “LoRA 可以吗”
_MAY_HELP = re.compile(r"\s*(?:可以|可行|行|能行|有用|有帮助|能解决|够|会好)(?:吗|么|嘛)", re.A)
_NO_OPTION = re.compile(
    r"\s*(?:would|could|might|may)\s+(?:fit|work|run|do|be)\b"
    r"|\s*(?:is|was)(?:n['’]t| not| no)\s+(?:an?\s+)?option\b|\s*(?:is |was )?(?:not supported|unsupported)|不(?:考虑|想用|能用)",
    re.I | re.A,
)
_ASKED_WITH = re.compile(
    r"(?:\b(?:with|using|via|by|in|for|do|run|train|tune)\s+(?:an?\s+)?(?:(?:\d|4-|8-)?-?bit\s+)?|[用做跑上]\s*)$",
    re.I | re.A,
)
# who asks and answers: “lora? no, full.”, and not of what did not help
_ANSWER = re.compile(
    r"\s*[吗么]?\s*[?？]\s*(?:(?P<no>no(?:pe)?|nah|不是?|没有?)|(?P<yes>yes|yep|yeah|是的?|对))(?=\s*(?:[,，.。;；:：!-]|$))"
    r"(?!\s*[,，.。;；]?\s*(?:still|it\b|same|also|that|does|did|help|又|还是|也))",
    re.I | re.A,
)
_IF = re.compile(r"\bif\s+(?:i|we)\s+(?:us(?:e|ed)|switch(?:ed)? to|tr(?:y|ied))\s*$|(?:如果|要是)用?\s*$", re.I | re.A)
# all is trained no more, or never was: “can't do full FT so …”, “不是全参”
_NOT_FULL = re.compile(
    r"(?:\bnot|\binstead of|\brather than|(?:\bcan['’]?t|\bcannot)\s+(?:do|run|afford|fit)|不是|没用|没有用?|不用|非)\s*(?:a\s+|the\s+)?$",
    re.I | re.A,
)
_TO_ADAPTERS = re.compile(
    r"(?:[换改切]|换用)[成到为用了]{0,2}\s*(?:Q-?)?LoRA|\b(?:switched|moved|changed)\s+(?:[^.;,，。；\n]{0,32}\s)?to\s+(?:Q-?)?LoRA",
    re.I | re.A,
)
_HELPED = re.compile(
    r"\s*(?:之?后)?(?:就|才|都)*\s*(?:好了|可以|能跑|没问题|正常|不爆|行了)|\s*(?:and\s+)?(?:it\s+)?(?:works?|worked|fixed|solved|helped|fits?)\b"
    r"|[^.;。；\n]{0,12}[?？吗]",
    re.I | re.A,
)
_FULL = re.compile(
    r"全参|全量(?:微调|训练|参数)|全量(?=\s*(?:[,，、;；。)）]|$|zero|fsdp))|\bfull[-\s](?:parameters?|params?|weights?|fine[-\s]?tun\w*|ft|sft|finetun\w*)"
    r"|\bfull train(?:ing)?\b|\b(?:no|without|w/o) (?:PEFT|adapters?)\b"
    r"|\b(?:moved|switched|changed|went|going) (?:[^.;,，。；\n]{0,32}\s)?to full\b"
    r"|\b(?:now|currently|need(?:ed|s)?) full\b(?!\s*(?:logs?|trace\w*|error|output|message|shard\w*|of))"
    r"|\bLoRA to full\b|LoRA\s*[换改][到成为]\s*(?:full|全)"
    # beside what trains or shards, and alone in a list: “full zero3”, “sft full, 8 GPUs”, “7B, full, bs 1”
    r"|\bfull[-\s]+(?:grpo|ppo|dpo|kto|orpo|dapo|rloo|rl\b|zero[-_ ]?[123](?!\d))"
    r"|\b(?:sft|grpo|ppo|dpo|kto|orpo|dapo|rloo)\s+full\b(?=\s*(?:[,，、;；+.。)）]|$|zero|fsdp|deepspeed|\d{1,3}(?:\.\d)?b\b|\d{1,4}\s*(?:[x*×]|gpu|卡|张)))"
    r"|(?:^|[,，、;；(（+])\s*full\s*(?=[,，、;；)）+]|$)|(?<!is )(?<!are )\bfull\s+(?:OOMs|goes OOM|runs out|fails|crashes)\b",
    re.I | re.A,
)
_MODES = re.compile(
    r"(?<![A-Za-z_])(?:(?:Q-?)?LoRA|DoRA)(?![A-Za-z])|\bfull\b(?!\s*(?:logs?|trace\w*|error|output|message))|全参|全量",
    re.I | re.A,
)
# both ways fail alike, so that neither is the run's: “LoRA and full both OOM”, “LoRA OOMs too”, “无论 lora 还是全参都爆”
_LORA_OR_FULL = re.compile(
    r"(?<![A-Za-z_])(?:Q-?)?LoRA\s*(?:/|、|和|与|或|还是|and|or|,\s*or)\s*(?:(?:Q-?)?LoRA\s*(?:and|or|和|与)\s*)?(?:full\b(?!\s*(?:logs?|shard))|全参|全量)"
    r"|(?:\bfull|全参(?:微调|训练|数)?|全量(?:微调|训练)?)\s*(?:/|、|和|与|或|还是|,|，|and|or)\s*"
    r"(?:Q-?)?LoRA\b(?:\s*(?:and|or|和|与)\s*(?:Q-?)?LoRA\b|(?=\s*(?:都|均|both)))"
    r"|(?:\bfull|全参(?:微调|训练|数)?|全量(?:微调|训练)?)\s*(?:/|和|与|或|还是|and|or)\s*(?:Q-?)?LoRA\b"
    r"|\b(?:regardless of|no matter)\s+(?:full|(?:Q-?)?LoRA)\b",
    re.I | re.A,
)
_TOO = re.compile(
    r"\s*(?:(?:run|training)s?\s+)?(?:goes |runs |gets? |hits? )?(?:OOM\w*|out of memory|fails?|crash\w*|dies)"
    r"\s*,?\s*(?:too|as well|also)\b"
    r"|\s+(?:also|too)\s+(?:goes |runs |gets? |hits? )?(?:OOM\w*|out of memory|fails?|crash\w*|dies)"
    r"|\s*(?:训练|微调)?\s*也\s*(?:会|是|直接|一样)?\s*(?:OOM|爆|炸|挂|崩)",
    re.I | re.A,
)
# … but for one that came in the place of the other: “换成 LoRA 也爆”
_NOW = re.compile(r"(?:[换改切][成到为用了]{0,2}|\b(?:to|now|with))\s*$", re.I | re.A)
_BESIDE = 60  # characters
_ADAPTED = ("lora", "qlora")
# in lower case; whatever tells of adapters, or that all is trained, holds one
_MARKS = ("full", "全", "lora", "dora", "peft", "adapter")
_FOUR_BIT = re.compile(
    r"\bload_in_4bit\W{0,4}(?:=|:)?\W{0,3}true|(?<!--)\bquant_bits\W{1,3}4\b|(?<=[_/-])qlora_|(?<![\d.])4[-\s]?bits?\s*(?:量化的?)?\s*(?:\+|and|with"
    r"|,)?\s*(?:Q?LoRA|base|model|quanti[sz]\w*|\d+B)\b|[-_]int4\b|[-_]gptq\b|[-_]awq\b|bnb[-_]4bit|\bnf4\b"
    r"|\bLoRA\s*(?:\+|with|and|[,，(（])?\s*(?:a\s+)?4[-\s]?bits?\b(?!\s*(?:adam|optim))",
    re.I | re.A,
)

_FORM = re.compile(r"bnb_4bit_\w{1,40}\W{1,4}(?:nf4)?", re.A)


def read_training(
    paste: Paste, speech: Sequence[Line], stated: Mapping[str, Fact], framework: Framework | None
) -> Fact | None:
    """``full_or_lora`` by words, or by a framework that has no other way; None leaves it to keys and defaults."""
    given, rank = stated.get("full_or_lora"), stated.get("lora_rank")
    answered = rank is not None and rank.origin == "answered"
    if given is not None and not (answered and rank and (given.value in _ADAPTED) != (int(rank.value) > 0)):
        return None
    if rank is not None and rank.certain:
        # a rank belongs to what the words of its line call it: “QLoRA r=16”
        beside = [line for line in speech if rank.span and line.number == rank.span.line]
        said = _training_in_words(paste, beside)
        low = _quantised(paste) or (said is not None and said.value == "qlora")
        value = ("qlora" if low else "lora") if int(rank.value) > 0 else "full"
        return Fact("full_or_lora", value, "read", key=rank.key, written=rank.written, span=rank.span)
    said = (
        _training_in_words(paste, speech, planned=_is_planned(stated))
        or _in_scripts(paste)
        or _in_frames(paste)
        or _in_code(paste)
    )
    if said is not None:
        return said
    trains = bool(paste.settings or paste.commands or any(ANY_SPOKEN.search(line.words) for line in speech))
    if trains and framework is not None and not framework.fallback and framework.keys and not _has_lora(framework):
        return Fact("full_or_lora", "full", "derived", why=f"{framework.title} has no other way")
    return None


def _in_scripts(paste: Paste) -> Fact | None:
    """A script or a configuration that a command names after adapters."""
    for command in paste.commands:
        found = next((match for word in command.words if (match := _ADAPTER_SCRIPT.search(word))), None)
        if found:
            value = "qlora" if found["q"] or _quantised(paste) else "lora"
            return Fact("full_or_lora", value, "read", written=found[0], span=place_of(paste, command.first_line))
    return None


def _in_frames(paste: Paste) -> Fact | None:
    """A forward pass that goes through an adapter's wrapper."""
    for frame in paste.frames:
        if any(part in frame.path for part in _ADAPTER_FRAMES):
            value = "qlora" if _quantised(paste) else "lora"
            return Fact("full_or_lora", value, "read", span=place_of(paste, frame.line))
    return None


def _in_code(paste: Paste) -> Fact | None:
    """Adapters that a script makes, whatever their rank."""
    made = next((setting for setting in paste.settings if setting.key == "adapters_made_as"), None)
    if made is None:
        return None
    value = "qlora" if _quantised(paste) else "lora"
    return Fact("full_or_lora", value, "read", written=made.value, span=made.span)


def _has_lora(framework: Framework) -> bool:
    """Whether any key of the framework can make the run anything but full."""
    return bool(framework.told_by_keys() & {"full_or_lora", "lora_rank"})


def _is_planned(stated: Mapping[str, Fact]) -> bool:
    """Whether the text asks of a run to come, and tells of none that failed."""
    return "oom_kind" not in stated and any(id in stated for id in ("planned", "asks_hardware"))


def _training_in_words(paste: Paste, speech: Sequence[Line], *, planned: bool = False) -> Fact | None:
    speech = [line for line in speech if any(mark in line.words.lower() for mark in _MARKS)]
    for line in speech:
        for found in _FULL.finditer(line.words):
            if not (_left(line.words, found) or _alike(line.words, found)):
                return Fact("full_or_lora", "full", "read", written=found[0], span=span_of(line, found))
    for line in speech:
        for found in _LORA.finditer(line.words):
            if (said := _of_adapters(line.words, found, planned)) is None:
                continue
            value = "qlora" if said and (found["q"] or found["q1"] or _quantised(paste)) else "lora" if said else "full"
            return Fact("full_or_lora", value, "read", written=found[0], span=span_of(line, found))
    return None


def _left(words: str, found: re.Match[str]) -> bool:
    """Whether all parameters are not trained: denied, or given up for adapters with which it fails as well."""
    moved = _TO_ADAPTERS.search(words, found.end())
    return bool(
        _NOT_FULL.search(words[: found.start()][-24:])
        or (moved and not (_HELPED.match(words, moved.end()) or _NOT_YET.search(words[: moved.end() - 4][-32:])))
    )


def _alike(words: str, found: re.Match[str]) -> bool:
    """Whether a way of training is named beside the other one, as one with which it is the same."""
    return any(
        place.start() < found.end() and found.start() < place.end()
        for place in _LORA_OR_FULL.finditer(words, max(0, found.start() - _BESIDE))
    )


def _helps(before: str, after: str) -> bool:
    return bool(_HELPS[0].search(before) and _HELPS[1].match(after)) or bool(_MAY_HELP.match(after))


def _of_adapters(words: str, found: re.Match[str], planned: bool) -> bool | None:
    """Whether the run has adapters by this mention; None where it tells of another run, of a plan or a question.

    Of a run to come the question is asked with them: “will it fit with LoRA?”.
    """
    before, after = words[: found.start()][-48:], words[found.end() :]
    if _alike(words, found) or (_TOO.match(after) and not _NOW.search(before)):
        return None
    if other_failed(words, found, _MODES) or left_out(words, found.start(), found.end()):
        return None
    if answer := _ANSWER.match(after):
        return bool(answer["yes"]) or (None if found["q"] else False)
    if after[:1] in ("?", "？") and not (planned and _ASKED_WITH.search(before)):
        return None
    if _NONE.search(before) or _NONE_AFTER.match(after):
        return None if found["q"] else False
    if _NOT_YET.search(before) or _IF.search(before) or _NO_OPTION.match(after) or _helps(before, after):
        return None
    return True


def _quantised(paste: Paste) -> bool:
    """Whether the base model's weights have 4 bits. In which form they would have them tells nothing where the switch is off."""
    off = any(one.key.endswith("load_in_4bit") and written.truth(one.value) is False for one in paste.settings)
    return any(
        not (_NONE.search(words[: found.start()][-24:]) or is_help(words) or _elsewhere(words, found))
        for line in paste.lines
        for words in (_FORM.sub("", line.words) if off else line.words,)
        for found in _FOUR_BIT.finditer(words)
    )


def _elsewhere(words: str, found: re.Match[str]) -> bool:
    """Whether a file is meant that a configuration's comment names: the one to take on a single card, for one."""
    return words.lstrip()[:1] == "#" and "qlora" in found[0].lower()
