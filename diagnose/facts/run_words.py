"""Settings in a sentence, where no key gives them: ZeRO stage, ranks, batch words, lengths, samples a prompt, switches.

A value counts where the text gives one and no other; what was merely tried, advised or asked about is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from diagnose.facts import written
from diagnose.facts.prose import asked, clause_of, span_of
from diagnose.types import Fact, Line, Span
from diagnose.units import KIB
from diagnose.vocabulary import Value

_IS = (
    r"\s*(?:(?:现在|目前|已经?|都|也|就|只)+\s*)?(?:=|:|：|of|is|was|are|为|是|设为|设成|改成|改到|降到|调到"
    r"|(?:is |was )?(?:set|cut|lowered|reduced|down) to|to)?\s*"
)
# of “8 → 2” the run has the second
_N = r"(?:\d{1,6}[kK]?\s*(?:-{1,2}>|=>|→|⇒)\s*)?(?P<n>\d{1,3}(?:,\d{3})+|\d{1,6})(?P<k>[kK]\b)?(?![\w.]*[A-Za-z\d%])"
_LONG = r"(?:length|len|长度|tokens?)"
_MICRO = (
    r"\b(?:micro|per[- ](?:device|gpu|card))[ _-]?(?:train[ _-]?)?batch(?:[ _-]?size)?(?:\s+per (?:gpu|card|device))?"
)
# a batch of no kind
_ANY_BATCH = (
    r"(?<![\w-])(?<!train )(?<!rollout )(?<!global )(?<!total )(?<!mini )(?<!val )(?<!eval )(?<!micro )(?<!effective )(?<!generation )"
    r"(?:batch(?:[ _-]?size)?|bs|bsz)"
)
# a number that counts tokens for sure: thousands of them, or so called
# … behind a word of its own it belongs to that: “prompt 4k response 16k”
_KILO = (
    r"(?<!prompt )(?<!prompt:)(?<!prompt=)(?<!prompts )(?<!input )(?<!response )(?<!output )(?<!answer )(?<!completion )"
    r"(?<![\w.])(?P<n>\d{1,3})(?P<k>[kK])"
)
# a bare number that only a limit of tokens looks like
_ROUND = (
    r"(?P<round>)(?P<n>\d{3,6})(?![\w%]|[.,:]\d|\s*(?:s|sec\w*|ms|min\w*|times|rows|samples|steps|prompts?|GB|G|MB)\b)"
)
_TOKENS = r"(?P<n>\d{1,3}(?:,\d{3})+|\d{1,6})(?:(?P<k>[kK])(?!\w|\.\d)|\s*tokens?\b)"
_ABOUT = r"\s*(?:(?:is|are|of|at|about|around|up to|limit|max|最长|最大|大概|约)\s*){0,2}[:：=~≈]?\s*"
_REPLY = r"(?:response|completion|output|answer|generation|生成|回复|回答|输出)"
_REPLIES = r"(?:samples|completions|responses|rollouts|generations|answers)"
_WORDS = (
    (
        "zero_stage",
        r"(?<![\w-])(?:deepspeed|ds)?[\s_-]*zero(?:[\s_-]*stage)?[\s_-]*(?P<n>[123])(?!\d|[.]\d|\+\+|_(?:init|save|gather)_)",
    ),
    ("zero_stage", r"\bfsdp\b[\s,(（+]*(?P<full>full[ _-]?shard)\b"),
    ("strategy", r"\b(?P<word>fsdp)[\s,(（+]*full[ _-]?shard\b"),
    ("zero_stage", r"\b(?:deepspeed|ds)[\s_-]*(?:z|stage[\s_-]?)(?P<n>[123])(?![A-Za-z\d])"),
    ("lora_rank", rf"\bLoRA[\s,(（]*(?:with\s+|的\s*)?(?:a\s+)?(?:rank|r){_IS}{_N}"),
    ("lora_rank", rf"\brank{_IS}{_N}\s*(?:的\s*)?LoRA"),
    ("micro_batch", rf"{_MICRO}{_IS}{_N}"),
    ("micro_batch", rf"\bbatch(?:[ _-]?size)?\s+(?:per (?:gpu|card|device)|on (?:each|every) (?:gpu|card)){_IS}{_N}"),
    ("micro_batch", rf"每(?:张)?卡\s*(?:的)?\s*(?:batch(?:[ _-]?size)?|bs){_IS}{_N}"),
    # one row in all is one row on a card, whatever batch is meant
    (
        "micro_batch",
        rf"{_ANY_BATCH}{_IS}(?P<n>1)(?!\d|[.,]\d|[kK]\b|\s*prompts?\b)",
    ),
    ("mini_batch_size", rf"\b(?:ppo[ _-])?mini[ _-]?batch(?:[ _-]?size)?{_IS}{_N}"),
    ("gradient_accumulation", rf"\b(?:gradient|grad)[ _-]accum\w*(?:\s+steps?)?{_IS}{_N}"),
    ("gradient_accumulation", rf"梯度累[积计](?:步数)?{_IS}{_N}"),
    (
        "response_length",
        rf"\b(?:max(?:imum)?[ _-])?(?:response|completion|output|answer|generation)[ _-]{_LONG}{_IS}{_N}",
    ),
    ("response_length", rf"(?:回复|回答|输出|响应|生成)(?:的)?(?:最大)?长度{_IS}{_N}"),
    ("prompt_length", rf"\b(?:max(?:imum)?[ _-])?(?:prompt|input)[ _-]{_LONG}{_IS}{_N}"),
    ("prompt_length", rf"(?:输入|提示词?|prompt)(?:的)?(?:最大)?长度{_IS}{_N}"),
    ("prompt_length", rf"{_KILO}\s*(?:tokens?\s*)?(?:的\s*)?(?:prompt|input|输入|提示词?)(?!s)"),
    ("response_length", rf"{_KILO}\s*(?:tokens?\s*)?(?:的\s*)?{_REPLY}(?!s?\s+(?:per|each|in total|for|a)\b)"),
    ("prompt_length", rf"(?<![\w-])(?:prompt|input|输入|提示词?)(?:s|\s+(?:is|are|of))?{_ABOUT}{_TOKENS}"),
    ("response_length", rf"(?<![\w-]){_REPLY}(?:s|\s+(?:is|are|of))?{_ABOUT}{_TOKENS}"),
    ("prompt_length", rf"(?<![\w-])(?:prompt|input){_ABOUT}{_ROUND}"),
    ("response_length", rf"(?<![\w-])(?:response|completion|output|answer){_ABOUT}{_ROUND}"),
    (
        "response_length",
        rf"长度[^。；;\n]{{0,24}}?{_KILO}\s*(?:的时候|时)?\s*(?:就|会|直接|还是|又)+\s*(?:炸|爆|OOM|挂|崩)",
    ),
    (
        "max_length",
        rf"(?:\b(?:(?:sequence|seq|total)[ _-]|context[ -]){_LONG}|序列长度|上下文(?:长度)?|总长度?){_IS}{_N}",
    ),
    ("max_length", rf"{_KILO}\s*(?:tokens?\s*)?(?:的\s*)?(?:序列|上下文|context|sequences?\b|seqs?\b)"),
    ("rollout_n", rf"\bgroup[ _-]size{_IS}{_N}"),
    ("rollout_n", rf"\b(?P<n>\d{{1,3}})\s+{_REPLIES}\s+(?:per|for each|for every|a)\s+prompt"),
    (
        "rollout_tp",
        rf"(?<![\w-])(?:vllm|sglang|rollout|gen|infer(?:ence)?|推理|引擎|采样)[ _-]?(?:的\s*)?tp(?:[ _-]?size)?{_IS}{_N}",
    ),
    (
        "sp",
        r"(?<![\w-])(?:ulysses|sp|sequence[ -]parallel(?:ism)?)(?:[ _-]?size)?\s*(?:of|is)?\s*[=:：]?\s*(?P<n>[248]|16|32)(?![\w.%])",
    ),
    ("rollout_engine", r"\b(?P<word>vllm|sglang)[ -]?(?:rollout|engine|backend|server|colocated?|引擎|推理|后端|采样)"),
    (
        "rollout_engine",
        r"(?:\brollout|\b(?:rollout|inference|generation)[ -](?:engine|backend)|推理|引擎|采样)\s*"
        r"(?:with|by|in|on|using|is|=|:|：|用的?是?|是|后端)?\s*(?P<word>vllm|sglang)\b(?![\w/.-])",
    ),
    ("rollout_engine", r"(?:\bw/o|\bwithout|\bno|不用|没用|不开)\s*(?P<none>vllm)\b"),
    ("rollout_mode", r"\b(?P<word>server|colocated?)\s*(?:模式|mode\b)"),
    ("rollout_mode", r"\bvllm[ -]?(?P<word>colocated?)\b(?!_)"),
    ("rollout_mode", r"\b(?P<word>colocated?)\s+(?:with\s+|的\s*)?(?:vllm|sglang)\b"),
    ("rollout_engine", r"\bcolocated?\s+(?:with\s+|的\s*)?(?P<word>vllm|sglang)\b"),
    ("rollout_mode", r"(?<!-)\bvllm-(?P<word>serve)\b"),
    ("rollout_engine", r"(?<!-)\b(?P<word>vllm)-serve\b"),
    ("quantization", r"(?<![\w.-])(?P<nf4>4[ -]?bits?)\b(?!\s*(?:adam|optim|kv|cache))"),
    ("flash_attention", r"(?<![\w.='\"/-])(?<!no )(?<!without )(?P<on>flash_attention_2)(?![\w=:-]|\.\w)"),
    (
        "double_quant",
        r"(?<![\w.=-])(?<!\bno )(?<!without )(?<!disabled )(?<!disable )(?P<on>double[ -]?quant(?:i[sz](?:ation|ed))?)(?![\w=:-])",
    ),
    (
        "strategy",
        r"(?:\b(?:with|using|on|via)\s|(?<!不)用的?是?)\s*(?P<word>megatron|fsdp2?)\b(?![\w/.]|-(?:lm|core|swift))",
    ),
    (
        "strategy",
        r"(?<![\w./-])(?<!不用)(?<!不用 )(?<!no )(?<!without )(?P<word>megatron)(?![\w./=:-]|\s*(?:lm|core)\b)",
    ),
    ("strategy", r"(?<![\w./-])(?P<word>fsdp2)(?![\w./=:-])"),
    ("strategy", r"(?:[+＋]\s*|(?<!\w)Q?LoRA[ -])(?P<word>fsdp)\b(?![\w/.=:-])"),
    ("strategy", r"(?<![\w./-])(?P<word>fsdp)\s*[+＋]"),
    ("strategy", r"(?<![\w./-])(?P<word>megatron|fsdp2?)[ -]?(?:backend|strategy|后端|训练)"),
    ("rollout_n", r"每(?:个|条)\s*(?:prompt|问题|样本)\s*(?:采样?|生成|rollout)\s*(?P<n>\d{1,3})\s*(?:个|条|次)"),
)
# in lower case; whatever a form of the fact matches holds one of them, and few lines do
_MARKS = {
    "zero_stage": ("zero", "z1", "z2", "z3", "fsdp", "stage"),
    "lora_rank": ("lora",),
    "micro_batch": ("batch", "bs"),
    "mini_batch_size": ("batch",),
    "gradient_accumulation": ("accum", "梯度累"),
    "response_length": (
        *("response", "completion", "output", "answer", "generation"),
        *("生成", "回复", "回答", "输出", "响应", "长度"),
    ),
    "prompt_length": ("prompt", "input", "输入", "提示"),
    "max_length": ("seq", "total", "context", "序列", "上下文", "总长"),
    "rollout_n": ("group", "prompt", "每"),
    "rollout_tp": ("tp",),
    "sp": ("sp", "ulysses", "sequence"),
    "rollout_engine": ("vllm", "sglang"),
    "rollout_mode": ("serve", "colocate"),
    "quantization": ("bit",),
    "double_quant": ("quant",),
    "flash_attention": ("flash_attention_2",),
    "strategy": ("megatron", "fsdp"),
}
_FORMS: dict[str, list[re.Pattern[str]]] = {}
for _fact, _form in _WORDS:
    _FORMS.setdefault(_fact, []).append(re.compile(_form, re.I | re.A))
_OF_CHECKPOINTS = ("checkpointing", "梯度检查点", "重计算")
_ROUND_TOKENS = 128
_MODES = {"colocate": "colocated", "serve": "server"}
# so few rows are those of one card, as nearly everybody who fine-tunes counts them; in a batch of a whole step there are more
_FEW = re.compile(
    rf"{_ANY_BATCH}{_IS}(?P<n>[2-8])(?![\w.,]*[A-Za-z\d%]|\s*(?:prompts?|k\b|(?:per|a) (?:node|step)))", re.I | re.A
)
# the ranks of a model-parallel trainer, where no engine is named right before; capitals, since “ep” is also an epoch
_RANKS = tuple(
    (
        id,
        re.compile(
            rf"(?<![\w-])(?<!vllm )(?<!sglang )(?<!rollout )(?<!infer )(?<!推理 )(?<!推理){form}\s*[=:：]?\s*(?P<n>\d{{1,3}})(?![\w.])",
            re.A,
        ),
    )
    for id, form in (("tp", "[Tt][Pp]"), ("pp", "[Pp][Pp]"), ("ep", "EP"))
)
_ON = re.compile(
    r"\b(?:with|use|using|enabled?|turned on)\s+(?:gradient|activation)[ _-]checkpointing\b|\b(?:gradient|activation)[ _-]checkpointing\s+"
    r"(?:is\s+)?(?:on|enabled|active|true)\b|(?:开了?|开启了?|打开了?|启用了?)\s*(?:gradient[ _-]checkpointing|梯度检查点|重计算)"
    r"|(?:gradient[ _-]checkpointing|梯度检查点|重计算)\s*(?:都|也|已经?)?\s*(?:开|启用)了?",
    re.I | re.A,
)
_OFF = re.compile(
    r"\b(?:without|no)\s+(?:gradient|activation)[ _-]checkpointing\b"
    r"|\b(?:gradient|activation)[ _-]checkpointing\s+(?:is\s+)?(?:off|disabled|false)\b"
    r"|(?:没有?开|不开|关了?)\s*(?:gradient[ _-]checkpointing|梯度检查点|重计算)",
    re.I | re.A,
)
ALMOST = re.compile(
    r"\b(?:tried(?! to allocate)|try|should|could|would|if|whether|instead of|previous\w*|before|need|recommend\w*|suggest\w*"
    r"|or|does|do|maybe)\b|试过?|换成|建议|应该|如果|需要|吗|或者?",
    re.I | re.A,
)
# a question of memory, beside which what the run is to have is told
_WHETHER_IT_FITS = re.compile(
    r"够不够用?|够用?[吗么嘛]|(?:能|可以)(?:[用拿在][^。；;，,]{0,30})?\s*(?:跑|训|放)[^。；;，,]{0,20}[吗么嘛]|会不会\s*(?:爆|炸|OOM)\S*|[放装]得下[吗么嘛]?"
    r"|\b(?:will|would|does|do|is|are|can|could)\b(?:[^.?!]|\.(?=\d)){0,60}\b(?:fit|enough|sufficient|oom)\b"
    r"|\b(?:can|could) (?:i|we|one) (?:\w+ )?(?:run|train|fine-?tune|do|grpo|ppo|dpo|sft|q?lora)\b",
    re.I | re.A,
)
_STAGE_WORD = re.compile(
    r"(?<![\w-])(?P<key>deepspeed)\s*(?:也|都)?\s*(?:=|:|：|是|用的?是?|with|is|at)?\s*[`\"']?"
    r"(?P<value>(?:default-)?zero[-_ ]?[123](?:[-_ ]?offload)?)\b",
    re.I | re.A,
)


def run_words(speech: Sequence[Line], stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """Facts that sentences give and nothing else does."""
    found: dict[str, list[Fact]] = {}
    for line in speech:
        if len(line.words) > 2000:
            continue
        for fact in _of_line(line):
            if fact.id not in stated:
                found.setdefault(fact.id, []).append(fact)
    told = {id: facts[0] for id, facts in found.items() if len({fact.value for fact in facts}) == 1}
    if "micro_batch" not in {**stated, **found} and (few := _few_rows(speech)):
        told["micro_batch"] = few
    return told


def _few_rows(speech: Sequence[Line]) -> Fact | None:
    """A batch of no kind that is so small that it can only be one card's, taken as that."""
    places = [
        (line, match)
        for line in speech
        if len(line.words) <= 2000
        for match in _FEW.finditer(line.words)
        if not _almost(line.words, match)
    ]
    if len({match["n"] for _, match in places}) != 1:
        return None
    line, match = places[0]
    why = "a batch of so few rows nearly always means that of one card"
    return Fact("micro_batch", int(match["n"]), "assumed", written=match[0].strip(), span=span_of(line, match), why=why)


def _of_line(line: Line) -> Iterator[Fact]:
    words = line.words.lower()
    marked = [id for id in _FORMS if any(mark in words for mark in _MARKS[id])]
    forms = [(id, form) for id in marked for form in _FORMS[id]]
    for id, form in (*forms, *_RANKS) if "megatron" in words else forms:
        for match in form.finditer(line.words):
            if not _almost(line.words, match):
                value = _value(id, match)
                if value is None:
                    continue
                yield Fact(id, value, "read", written=match[0].strip(), span=span_of(line, match))
    if not any(mark in words for mark in _OF_CHECKPOINTS):
        return
    for form, on in ((_OFF, "false"), (_ON, "true")):
        told, switch = form.search(line.words), written.of("gradient_checkpointing", on)
        if told and switch is not None and not _almost(line.words, told):
            yield Fact("gradient_checkpointing", switch, "read", written=told[0], span=span_of(line, told))
            return


def _value(id: str, match: re.Match[str]) -> Value | None:
    """The number with its k, or the word where the fact is one of a few."""
    groups = match.groupdict()
    if "none" in groups:
        return "hf"
    if "word" in groups:
        word = match["word"].lower()
        return written.of(id, _MODES.get(word, word))
    if "nf4" in groups:
        return "nf4"
    if "on" in groups:
        return True
    if "full" in groups:
        return 3
    if "round" in groups and int(match["n"]) % _ROUND_TOKENS:
        return None
    return int(match["n"].replace(",", "")) * (KIB if groups.get("k") else 1)


def _almost(words: str, found: re.Match[str]) -> bool:
    """Whether the clause says that it was tried, is advised or asked about."""
    start, clause = clause_of(words, found)
    fits = _WHETHER_IT_FITS.search(clause)
    if fits is None or found[0] in fits[0]:
        return bool(ALMOST.search(clause)) or asked(words, start, clause)
    return bool(ALMOST.search(clause.replace(fits[0], "")))


def worded_settings(speech: Sequence[Line], given: Mapping[str, str]) -> dict[str, tuple[str, Span]]:
    """A launcher's stage named in a sentence, as the key that would set it; nothing where a key does, or where two are named."""
    if any(key.lower().rsplit(".", 1)[-1] == "deepspeed" for key in given):
        return {}
    found = [(match, line) for line in speech for match in _STAGE_WORD.finditer(line.words)]
    values = {match["value"].lower() for match, _ in found}
    if len(values) != 1:
        return {}
    match, line = found[0]
    return {match["key"]: (match["value"], span_of(line, match, "value"))}
