"""The forms in which sentences give settings; groups: ``n`` and ``k``, ``word``, or a name that stands for one value."""

from __future__ import annotations

import re

from diagnose.facts.roles.place_forms import PLACE_FORMS
from diagnose.facts.sentences.image_forms import IMAGE_FORMS
from diagnose.facts.sentences.short_forms import SHORT_FORMS

IS = (
    r"\s*(?:(?:现在|目前|已经?|都|也|就|只)+\s*)?(?:(?:is|was)\s+(?:already|currently|only|just|now|still)|(?:now|already)(?=\s+\d)|=|:|：|of|is|was|are|为|是|[设改降调升加][为成到]了?"
    r"|(?:is |was )?(?:set|cut|lowered|reduced|down)(?: to)?|to)?\s*"
)
# of “8 → 2” the run has the second
_N = r"(?:\d{1,6}[kK]?\s*(?:-{1,2}>|=>|→|⇒)\s*)?(?P<n>\d{1,3}(?:,\d{3})+|\d{1,6})(?P<k>[kK]\b)?(?![\w.]*[A-Za-z\d%])"
_LONG = r"(?:length|len|长度|tokens?)"
# of another pass or model than the update
_NO_UPDATE = "".join(
    rf"(?<!{word}{apart})"
    for word in (
        "log prob",
        "log-prob",
        "logprob",
        "log_prob",
        "logp",
        "ref",
        "reference",
        "critic",
        "reward",
        "rollout",
        "infer",
        "eval",
        "forward",
    )
    for apart in (" ", "的", "_", "-", " 的 ")
)
# in words alone: a key may count the rows of all cards
_MICRO_BATCH = r"[ -]?micro[ -]?(?:batch(?:[ -]?size)?|bsz?)(?:[ -]per[ -](?:gpu|card|device))?"
_MICRO = (
    rf"(?=micro|per){_NO_UPDATE}\b"
    r"(?:micro|per[- ](?:device|gpu|card))[ _-]?(?:train[ _-]?)?batch(?:[ _-]?size)?(?:\s+per (?:gpu|card|device))?"
)
_FAILS = r"OOM|爆|炸|挂|崩|out of memory|runs? out|crash|fails?\b|dies\b"
_TRAIN_BATCH = r"\btrain(?:ing)?[ _-](?:batch(?:[ _-]?size)?|bsz?)"
# a batch of no kind
ANY_BATCH = (
    r"(?<![\w-])(?<!train )(?<!rollout )(?<!global )(?<!total )(?<!mini )(?<!val )(?<!eval )(?<!micro )(?<!effective )(?<!generation )"
    r"(?:batch(?:[ _-]?size)?|bs|bsz)"
)
# a number that counts tokens for sure: thousands of them, or so called
# … behind a word of its own it belongs to that: “prompt 4k response 16k”
_KILO = (
    r"(?=\d)(?<!长度)(?<!长度 )(?<!\blen )(?<!length )(?<!length=)"
    r"(?<!输入)(?<!输入 )(?<!提示词)(?<!提示词 )(?<!输出)(?<!输出 )(?<!回复)(?<!回复 )(?<!生成)(?<!生成 )"
    r"(?<!prompt )(?<!prompt:)(?<!prompt=)(?<!prompts )(?<!input )(?<!response )(?<!output )(?<!answer )(?<!completion )"
    r"(?<![\w.])(?P<n>\d{1,3})(?P<k>[kK])"
)
# a bare number that only a limit of tokens looks like
_ROUND = (
    r"(?P<round>)(?P<n>\d{3,6})(?![\w%]|[.,:]\d|\s*(?:s|sec\w*|ms|min\w*|times|rows|samples|steps|prompts?|GB|G|MB)\b)"
)
_TOKENS = r"(?P<n>\d{1,3}(?:,\d{3})+|\d{1,6})(?:(?P<k>[kK])(?!\w|\.\d)|\s*tokens?\b)"
_ABOUT = (
    r"\s*(?:(?:is|are|of|at|about|around|up to|to|limit|max|(?:limited|reduced|lowered|cut|set)(?: to)?|最长|最大|大概|约)\s*){0,2}"
    r"[:：=~≈]?\s*"
)
_REPLY = r"(?:response|resp(?!o)|completion|output|answer|generation|生成|回复|回答|输出)"
_WRITES = r"(?:generat(?:es?|ions?|ed)|gens?)\s*"
_PAIR = rf"(?<![\w-])(?:prompt|input|输入)s?\s*/\s*{_REPLY}s?(?:[ _-]*{_LONG})?\s*[=:：]?\s*"
_TOWER = r"(?:vit|vision(?:[ _-](?:tower|encoder))?|视觉(?:编码器|塔|部分)?)"
_NO_FREEZE = r"(?<!not )(?<!n't )(?<!no )(?<!without )(?<![没不未])(?<!没有)"
_REPLIES = r"(?:samples|completions|responses|rollouts|generations|answers)"
_BEFORE = r"(?<![\w.])(?P<round>)(?P<n>\d{3,6})(?:\s*tokens?)?"
# the engine's share of the card is told as a fraction; in per cent it is mostly what a monitor shows. Keys are read as keys
_SHARE = r"\s*(?:=|:|：|of|at|is|was|to|为|是|(?:设|调|开|给|改)(?:置|的|了)?(?:为|成|到)?)?\s*(?P<share>0?\.\d{1,3})(?![\w%]|\.\d)"
_WORDS = (
    (
        "zero_stage",
        r"(?<![\w-])(?:deepspeed|ds)?[\s_-]*zero(?:[\s_-]*stage)?[\s_-]*(?P<n>[123])(?!\d|[.]\d|\+\+|_(?:init|save|gather)_|\s?[/、]\s?[0-3](?!\d))",
    ),
    ("zero_stage", rf"(?<![\w-])(?:deepspeed[\s_-]*)?zero[\s_-]*stage{IS}(?P<n>[123])(?![\w.]*[A-Za-z\d])"),
    ("zero_stage", r"\bfsdp\b[\s,(（+]*(?P<full>full[ _-]?shard)\b"),
    ("zero_stage", r"\b(?:deepspeed|ds)[\s_-]*(?:z|stage[\s_-]?)(?P<n>[123])(?![A-Za-z\d])"),
    ("zero_stage", r"(?<![A-Za-z\d])z(?P<n>[23])[\s_-]*(?:cpu[\s_-]*)?offload"),
    ("lora_rank", rf"\bLoRA[\s,(（]*(?:with\s+|的\s*)?(?:a\s+)?(?:rank|r){IS}{_N}"),
    ("lora_rank", r"\brank-?(?P<n>\d{1,4})[ -]LoRA\b"),
    ("lora_rank", rf"\bLoRA\s*的?秩{IS}{_N}"),
    ("lora_rank", rf"\brank{IS}(?!0\b){_N}\s*(?:的\s*)?LoRA"),
    ("micro_batch", rf"{_MICRO}{IS}{_N}"),
    ("micro_batch", rf"(?=micro){_NO_UPDATE}(?<![\w-])micro[ _-](?:train[ _-])?bsz?{IS}{_N}"),
    ("micro_batch", rf"(?<![\w-])per[ _-]device(?:[ _-](?:train[ _-]?)?bsz?)?{IS}{_N}"),
    (
        "micro_batch",
        rf"(?<!micro )(?<!micro-)\bbatch(?:[ _-]?size)?\s+(?:per (?:gpu|card|device)|on (?:each|every) (?:gpu|card)){IS}{_N}",
    ),
    # the rows on a card with which it fails
    (
        "micro_batch",
        r"(?:\bper (?:gpu|card|device)|每(?:张|块|个)?(?:卡|GPU))\s+(?P<n>[1-9]\d{0,2})\s*(?:条|个)?\s*"
        rf"(?:(?:就|也|则|会|直接|goes?|gives?|gets?|cuda|gpu)\s*){{0,3}}(?={_FAILS})",
    ),
    (
        "micro_batch",
        r"(?<![\w.-])(?P<n>[1-9]\d{0,2})\s+(?:samples?\s+|sequences?\s+|rows?\s+)?per (?:gpu|card|device)\s+"
        rf"(?:(?:goes?|gives?|gets?|cuda|gpu|always|still)\s+){{0,3}}(?={_FAILS})",
    ),
    ("micro_batch", r"(?<![\w-])mbsz?\s*(?:=|:|：|of|is|为|是)?\s*(?P<n>\d{1,3})(?![\w%]|\.\d)"),
    (
        "micro_batch",
        r"(?<![\w-])micro\s*(?:=|:|：|of|is|为|是)?\s*(?P<n>\d{1,3})"
        r"(?=\s*(?:[,，;；。、)）→]|->|$|\.\s)|\s+(?:grad\w*|gc|flash|zero\W?\d|q?lora|bf16|fp16|seq\w*|max_?len\w*)\b)",
    ),
    ("micro_batch", rf"每(?:张)?卡\s*(?:的)?\s*(?:batch(?:[ _-]?size)?|bs){IS}{_N}"),
    # one row in all is one row on a card, whatever batch is meant
    ("micro_batch", rf"{ANY_BATCH}{IS}(?P<n>1)(?!\d|[.,]\d|[kK]\b|\s*prompts?\b)"),
    # of two kinds of batches the trained one, where it is one row
    ("micro_batch", rf"{_TRAIN_BATCH}{IS}(?P<n>1)(?!\d|[.,]\d|[kK]\b)(?=[^\n]{{0,40}}\beval)"),
    ("micro_batch", rf"\beval[^\n]{{0,40}}{_TRAIN_BATCH}{IS}(?P<n>1)(?!\d|[.,]\d|[kK]\b)"),
    ("eval_micro_batch", rf"\beval(?:uation)?[ _-](?:batch(?:[ _-]?size)?|bsz?){IS}{_N}"),
    ("logprob_micro_batch", rf"(?<!ref )(?<!ref_)(?<!ref-)\blog[ _-]?p(?:robs?)?{_MICRO_BATCH}{IS}{_N}"),
    (
        "ref_logprob_micro_batch",
        rf"\bref(?:erence)?(?:[ _-]model)?(?:\s*的\s*)?(?:[ _-]log[ _-]?p(?:robs?)?)?{_MICRO_BATCH}{IS}{_N}",
    ),
    ("critic_micro_batch", rf"\bcritic(?:\s*的\s*)?{_MICRO_BATCH}{IS}{_N}"),
    ("mini_batch_size", rf"\b(?:ppo[ _-])?mini[ _-]?(?:batch(?:[ _-]?size)?|bsz?){IS}{_N}"),
    ("gradient_accumulation", rf"\b(?:gradient|grad)[ _-]accum\w*(?:\s+steps?)?{IS}{_N}"),
    (
        "gradient_accumulation",
        r"(?<![\w.-])(?:(?-i:ga|GA)s?|accum(?:ulat(?:ion|e|ing))?)\s*(?:=|of|is|是)?\s*(?P<n>\d{1,3})(?![\w%/]|\.\d)",
    ),
    ("gradient_accumulation", rf"梯度累[积计](?:步数)?{IS}{_N}"),
    (
        "response_length",
        rf"(?<!/)(?<!/ )\b(?:max(?:imum)?[ _-])?(?:resp(?:onse)?|completion|output|answer|generation)[ _-]{_LONG}{IS}{_N}",
    ),
    # “1024 completion length”
    ("prompt_length", rf"{_BEFORE}\s+(?:prompt|input)[ _-]{_LONG}(?!{IS}\d)"),
    ("response_length", rf"{_BEFORE}\s+(?:response|completion|output|generation)[ _-]{_LONG}(?!{IS}\d)"),
    ("response_length", rf"(?:回复|回答|输出|响应|生成|response|completion)(?:的)?(?:最大)?长度(?:限制|上限)?{IS}{_N}"),
    ("prompt_length", rf"\b(?:max(?:imum)?[ _-])?(?:prompt|input)[ _-]{_LONG}{IS}{_N}"),
    ("prompt_length", rf"(?:输入|提示词?|prompt)(?:的)?(?:最大)?长度{IS}{_N}"),
    ("prompt_length", rf"{_KILO}\s*(?:tokens?\s*)?(?:的\s*)?(?:prompt|input|输入|提示词?)(?!s)"),
    ("response_length", rf"{_KILO}\s*(?:tokens?\s*)?(?:的\s*)?{_REPLY}(?!s?\s+(?:per|each|in total|for|a)\b)"),
    (
        "prompt_length",
        rf"(?<![\w-])(?:max_)?(?:prompt|input|输入|提示词?)(?:s|\s+(?:is|are|of))?{_ABOUT}{_TOKENS}"
        rf"(?!\s*(?:tokens?\s*)?(?:的\s*)?{_REPLY}s?(?!{_ABOUT}\d))",
    ),
    # of “2k prompt 8k response” as well
    (
        "response_length",
        rf"(?<![\w.])\d{{1,3}}[kK]\s*(?:tokens?\s*)?(?:的\s*)?(?:prompt|input|输入|提示词?)s?[\s,，+/&和]*(?:and\s+)?"
        rf"(?P<n>\d{{1,3}})(?P<k>[kK])\s*(?:tokens?\s*)?(?:的\s*)?{_REPLY}",
    ),
    ("response_length", rf"\bgenerat(?:e|es|ing)\s+(?:up to\s+|about\s+|at most\s+)?{_TOKENS}"),
    (
        "response_length",
        rf"(?:(?<![\w/+-])(?<![/+] )|(?<=[\dkK])(?=[回生输]))(?:max_)?{_REPLY}(?:s|\s+(?:is|are|of))?{_ABOUT}{_TOKENS}",
    ),
    # “prompt/response 1k/8k”
    ("prompt_length", rf"{_PAIR}(?P<n>\d{{1,6}})(?P<k>[kK])?\s*/\s*\d{{1,6}}[kK]?(?![\w.]*[A-Za-z\d%])"),
    ("response_length", rf"{_PAIR}\d{{1,6}}[kK]?\s*/\s*(?P<n>\d{{1,6}})(?P<k>[kK])?(?![\w.]*[A-Za-z\d%])"),
    # “prompts 512 / generate 1024”
    (
        "prompt_length",
        rf"(?<![\w-])(?:prompt|input)s?{_ABOUT}(?P<n>\d{{1,6}})(?P<k>[kK])?\s*[/+]\s*{_WRITES}\d{{2,6}}(?![\w%])",
    ),
    (
        "response_length",
        rf"(?<![\w-])(?:prompt|input)s?{_ABOUT}\d{{1,6}}[kK]?\s*[/+]\s*{_WRITES}(?P<n>\d{{2,6}})(?P<k>[kK])?(?![\w%])",
    ),
    # of “1024 prompt 7168 completion” each number stands before its word
    ("prompt_length", rf"(?<![\w-])(?:max_)?(?:prompt|input){_ABOUT}{_ROUND}(?!\s*{_REPLY}s?(?!{_ABOUT}\d))"),
    ("prompt_length", rf"{_BEFORE}\s*(?:prompt|input)s?[\s,+/&]*(?:and\s+)?(?=\d{{3,6}}\s*(?:tokens?\s*)?{_REPLY})"),
    (
        "response_length",
        rf"(?<![\w.])\d{{3,6}}\s*(?:tokens?\s*)?(?:prompt|input)s?[\s,+/&]*(?:and\s+)?{_BEFORE}\s*{_REPLY}(?!s?{_ABOUT}\d)",
    ),
    (
        "response_length",
        rf"(?<![\w/+-])(?<![/+] )(?:max_)?(?:resp(?:onse)?|completion|output|answer|gen){_ABOUT}{_ROUND}",
    ),
    (
        "response_length",
        rf"长度[^。；;\n]{{0,24}}?{_KILO}\s*(?:的时候|时)?\s*(?:就|会|直接|还是|又)+\s*(?:炸|爆|OOM|挂|崩)",
    ),
    (
        "max_length",
        r"(?:\b(?:(?:sequence|total)[ _-]|seq[ _-]?|context[ -]|(?<!prompt )(?<!response )(?<!completion )(?<!model )max[ -])"
        rf"{_LONG}|序列长度|上下文(?:长度)?|总长度?){IS}{_N}",
    ),
    ("max_length", rf"{_KILO}\s*(?:tokens?\s*)?(?:的\s*)?(?:序列|上下文|context|sequences?\b|seqs?\b)"),
    ("max_length", rf"(?:序列|上下文)(?:最?大?长)?{_ABOUT}{_KILO}"),
    ("max_length", rf"\b(?:seq|ctx){_ABOUT}{_ROUND}"),
    ("max_length", rf"\bcontext(?:\s+window)?{_ABOUT}{_KILO}\b"),
    ("max_length", rf"\bcut-?off(?:[ _-]?(?:len|length))?{IS}{_N}"),
    ("rollout_n", rf"\bgroup[ _-]size{IS}{_N}"),
    ("rollout_n", rf"(?<![\w.])rollout[ _.]n{IS}{_N}"),
    ("rollout_n", rf"每[个条]?\s*(?:prompt|问题|题|提示词?)\s*(?:采样|生成|采)?\s*{_N}(?=\s*[个条次份])"),
    ("rollout_n", rf"(?:组大小|(?:rollout|采样)(?:次数|个数|数量?)){IS}(?:n\s*=\s*)?{_N}"),
    ("rollout_n", r"(?<![\w.])(?-i:G)\s?=\s?(?P<n>[2-9]|\d{2,3})(?![\w%]|\.\d)"),
    (
        "rollout_n",
        r"(?<![\w.])(?P<n>[2-9]|\d{2,3})\s+generations\b(?!\s+(?:per|a|each)\s+(?!prompt)|\s+(?:in total|so far))",
    ),
    ("gpu_memory_utilization", r"\bcolocated?(?:\s+mode)?\s*(?:at|with|=|:)?\s*(?P<share>0\.\d{1,2})(?![\w%]|\.\d)"),
    (
        "gpu_memory_utilization",
        r"(?<![\w.])(?!gpu_memory_utilization|mem_fraction_static)"
        r"(?<!cpu )(?<!host )(?<!node )(?<!system )(?:(?:gpu[ _-]?)?mem(?:ory)?[ _-]?"
        rf"(?:util(?:i[sz]ation)?|frac(?:tion)?(?:[ _-]?static)?)|gpu[ _-]?util(?:i[sz]ation)?|util(?=\s*[=:])){_SHARE}",
    ),
    (
        "gpu_memory_utilization",
        r"(?<![\w.-])mem[_ -]fraction[_ -]static\s+(?:of\s+|at\s+)?(?P<share>0?\.\d{1,3})(?![\w%]|\.\d)",
    ),
    (
        "gpu_memory_utilization",
        r"\b(?:vllm|sglang|rollout)\b[^。;；\n]{0,50}?(?:(?<=[,，、])\s*|\s)util\s*(?:=|:|：|of)?\s*(?P<share>0?\.\d{1,3})(?![\w%]|\.\d)",
    ),
    (
        "gpu_memory_utilization",
        r"(?<![\w.])(?P<share>0?\.\d{1,2})\s+gpu[ _-]?(?:mem(?:ory)?[ _-]?)?util(?:i[sz]ation)?\b(?!\s*[=:]?\s*\d)",
    ),
    ("gpu_memory_utilization", rf"(?:^|[,，、;；(（])\s*(?:with\s+)?utili[sz]ation{_SHARE}"),
    ("gpu_memory_utilization", rf"(?:显存|gpu)\s*的?(?:利用率|占比|比例){_SHARE}"),
    (
        "optimizer",
        r"(?<![\w.=-])(?<!no )(?<!without )(?:(?P<paged>paged)[ _-])?"
        r"(?:8[ _-]?bit[ _-]+adamw?|adamw?[ _-]+8[ _-]?bit)(?P<eight>)(?![\w=-])",
    ),
    ("has_ref", r"\b(?:with|use|using|enabled?)\s+(?:the\s+|a\s+)?KL[ _-](?:loss|penalty|term)(?P<on>)"),
    (
        "has_ref",
        r"(?:\b(?:without|no)\s+(?:any\s+|a\s+|the\s+)?(?:(?:KL[ _-](?:loss|penalty|term))|ref(?:erence)?[ _-](?:model|policy))"
        r"|(?:不用|没有?|去掉了?|不加)\s*(?:参考模型|ref(?:erence)?[ _-]?model|KL\s*(?:loss|散度|惩罚)))(?P<off>)",
    ),
    ("logits_chunked", r"\bliger(?:[ -](?:loss|kernel))?\s+(?:is\s+)?(?P<on>on|enabled)\b"),
    ("rollout_n", rf"\b(?P<n>\d{{1,3}})\s+{_REPLIES}\s+(?:per|for each|for every|a)\s+prompt"),
    (
        "rollout_tp",
        rf"(?<![\w-])(?:vllm|sglang|rollout|gen|infer(?:ence)?|推理|引擎|采样)[ _-]?(?:的\s*)?tp(?:[ _-]?size)?{IS}{_N}",
    ),
    ("rollout_tp", rf"\b(?:vllm|sglang)\b[^,，。;；:：\n]{{0,24}}?\s(?:with\s+)?tp\s*=?\s*{_N}"),
    (
        "gpu_memory_utilization",
        r"\b(?:vllm|sglang)\b[^,，。;；:：\n]{0,40}?\sutil(?:i[sz]ation)?\s*(?:=|of)?\s*(?P<share>0?\.\d{1,3})(?![\w%]|\.\d)",
    ),
    (
        "sp",
        r"(?<![\w-])(?:ulysses|sp|sequence[ -]parallel(?:ism)?|序列并行度?)(?:[ _-]?size)?\s*(?:of|is)?\s*[=:：]?\s*(?:[改设调][到成为])?"
        r"\s*(?P<n>[248]|16|32)(?![\w%]|\.\d)",
    ),
    ("quantization", r"(?<![\w.-])(?P<nf4>4[ -]?bits?)\b(?!\s*(?:adam|optim|kv|cache))"),
    # a trainer's own line (hiyouga/LLaMA-Factory v0.9.3 model/model_utils/quantization.py); in words 8 bits are mostly an optimizer's
    ("quantization", r"\bQuantizing model to (?P<int8>8) bit\b"),
    ("flash_attention", r"(?<![\w.='\"/-])(?<!no )(?<!without )(?P<on>flash_attention_2)(?![\w=:-]|\.\w)"),
    (
        "freeze_vision",
        rf"(?<![\w-]){_NO_FREEZE}(?:freez(?:e|ing)|frozen|冻[结住]了?)\s*(?:the\s+)?{_TOWER}(?![\w=])(?P<on>)",
    ),
    ("freeze_vision", rf"(?<![\w-]){_TOWER}\s*(?:(?:is|was|都|也|已经?)\s*)?(?:frozen|冻[结住])(?![\w=])(?P<on>)"),
    (
        "double_quant",
        r"(?<![\w.=-])(?<!\bno )(?<!without )(?<!disabled )(?<!disable )(?P<on>double[ -]?quant(?:i[sz](?:ation|ed))?)(?![\w=:-])",
    ),
    ("rollout_n", r"每(?:个|条)\s*(?:prompt|问题|样本)\s*(?:采样?|生成|rollout)\s*(?P<n>\d{1,3})\s*(?:个|条|次)"),
)
FORMS: dict[str, list[re.Pattern[str]]] = {}
for _fact, _form in (*_WORDS, *PLACE_FORMS, *SHORT_FORMS, *IMAGE_FORMS):
    FORMS.setdefault(_fact, []).append(re.compile(_form, re.I | re.A))
