"""Words of failure that tell none: a purpose, a tip, a warning, a denial, a question of what is to come.

“To avoid OOM”, “if you run out of memory, reduce …”, “may cause OOM”, “no CUDA OOM, it only hangs”, “will it OOM?”.

Programs print such sentences at every start, scripts carry them as comments, and documents are made of them.
"""

from __future__ import annotations

import re
from functools import lru_cache

FAILS = (
    r"(?:OOM\w*|OutOfMemory\w*(?:\s*:\s*\w{2,5} out of memory)?|out[ -]of[ -](?:(?:gpu|cuda|npu|cpu|host|device|system|video)[ -])?memory"
    r"|r[au]n(?:s|ning)? out of (?:(?:the|your|gpu|cuda|npu|cpu|host|device|system|video) ){0,3}(?:memory|v?ram))"
)
FAILS_ZH = r"(?:OOM|爆\s*(?:显存|内存|卡)|(?:显存|内存)\s*(?:不足|不够|溢出|爆炸?|OOM|超出))"
_FEW = r"(?:[\w-]+\s+){0,3}?"
_NAME = r"(?:[A-Za-z]\w{0,20}\.){0,3}"  # torch.cuda.
_CHANGE_ZH = r"(?:减|降|调|改|换|增|启用|开启|使用|设置|用|选|采用|参考|删|加|关|切换|尝试|缩|去掉)"
_TIP_ZH = rf"(?:请|可以?|建议|则|需要?|应|不妨|考虑|尝试)(?:再|先|适当|适度|酌情|尝试|考虑|参考|将|把|通过){{0,2}}\s*{_CHANGE_ZH}"
# a question is no tip
_NOT_ASKED = r"(?![^。；\n]{0,30}(?:吗|什么|哪|怎|[?？]))"
# between “not” and the failure: “it is not really due to an OOM”, “we do not get any CUDA OOM”
_NOT_SUCH = (
    r"(?:(?:an?|any|the|really|actually|even|simply|a\s+case\s+of|(?:due|related|linked)\s+to|because\s+of|caused\s+by|about|from|get(?:ting)?"
    r"|see(?:ing)?|hit(?:ting)?|hav(?:e|ing)|run(?:ning)?\s+into|going|go|gpu|cuda|host|cpu|npu|torch|real|usual)\s+){0,5}"
)
_TOLD = (
    # what a setting is for
    re.compile(
        rf"\b(?:(?:avoid|prevent)(?:s|ed|ing)?|reduc(?:e|es|ing)|mitigat(?:e|es|ing))\s+{_FEW}(?:from\s+)?{FAILS}",
        re.I | re.A,
    ),
    re.compile(rf"(?:避免|防止|以免|以防|预防|免得)[^，。；,;\n]{{0,16}}?{FAILS_ZH}", re.I | re.A),
    # what to do then
    re.compile(
        r"\b(?:if|when|whenever|in case|should)\s+you(?:['’]re| are)?\s+(?:still\s+|ever\s+|do\s+|keep\s+)?"
        rf"(?:running into|run into|encounter|get|hit|see|face|experience|meet|have|observe)?\s*[^.,;，。\n]{{0,30}}?{_NAME}{FAILS}",
        re.I | re.A,
    ),
    re.compile(
        r"(?<!\bi )(?<!\bwe )\b(?:reduce|decrease|lower|increase|raise|smaller|shrink|adjust|tune|drop|halve|disable|enable)\b"
        rf"[^.;,，\n]{{0,40}}?\b(?:if|when|in case of)\s+(?:it\s+|still\s+|the\s+|gpu\s+)*{FAILS}",
        re.I | re.A,
    ),
    re.compile(
        rf"(?:(?:如果|若|如|假如|要是|当|一旦)[^，。；,;\n]{{0,12}}?{FAILS_ZH}[^，。；,;\n]{{0,8}}?|{FAILS_ZH}\s*(?:的?时候?|请))[，,]?\s*(?:{_TIP_ZH}"
        rf"|{_CHANGE_ZH}){_NOT_ASKED}",
        re.I | re.A,
    ),
    # what did not come
    re.compile(
        rf"(?<![有会])(?:没有?|未|不会|不再|并未)\s*(?:再|出现|发生|报|遇到|碰到|触发|出|被|任何|系统|内核|的){{0,3}}过?\s*(?:爆|{FAILS_ZH}|溢出)",
        re.I | re.A,
    ),
    re.compile(
        rf"\b(?:no|without|never)\s+(?:an?\s+|any\s+)?(?:(?:gpu|cuda|host|cpu|npu)\s+){{0,2}}{FAILS}", re.I | re.A
    ),
    re.compile(
        r"\b(?:no longer|never)\s+(?:(?:again|fails?|crash(?:es)?|dies|with|gets?|got|sees?|saw|seen|had|have|has|hits?"
        r"|runs?|ran|goes|gone|go|into"
        r"|an?|any|the|cuda|gpu|host)\s+){0,5}"
        rf"{_NAME}{FAILS}",
        re.I | re.A,
    ),
    re.compile(
        rf"(?<!能)(?<!能够)不(?:再|会再)\s*(?:报|出现|出|发生)?\s*(?:CUDA\s*)?{FAILS_ZH}"
        rf"|(?<!能)(?<!能够)不(?:会|报|出现)?\s*(?:CUDA\s*)?{FAILS_ZH}\s*了(?![^，。；\n]{{0,4}}[吗么?？])",
        re.I | re.A,
    ),
    re.compile(r"\bmemory\s+(?:is|was)\s+(?:not|never)\s+(?:\w+\s+)?(?:full|exhausted)", re.I | re.A),
    re.compile(
        rf"(?:显存|内存)(?:也|都|还|一直|根本|完全|确实|倒是?|并|明明)*(?:没有?|未)\s*(?:被)?(?:爆|满|不足|超|溢出|用[完满]|[占打吃]满|耗尽)"
        rf"|(?:和|跟|与)\s*{FAILS_ZH}[^，。；\n]{{0,6}}?(?:没有?(?:什么|任何|啥|多大)?关系?|无关)",
        re.I | re.A,
    ),
    # what it is not
    re.compile(
        r"(?:(?<!should )(?<!must )(?<!could )(?<!would )(?<!may )(?<!might )\bnot|\b(?:is|was|are|were|do|does|did|has|have)n['’]t)"
        rf"\s+{_NOT_SUCH}(?<!why ){FAILS}(?![^.,;\n]{{0,60}}[?？])"
        rf"|\b(?:nothing to do with|unrelated to|rather than|instead of|(?:rul\w+ out|exclud\w+)|neither)\s+(?:an?\s+|the\s+|any\s+)?"
        rf"(?:(?:gpu|cuda|host|cpu|npu)\s+)?{FAILS}",
        re.I | re.A,
    ),
    re.compile(
        rf"(?<!是)(?:不是|并非|不属于|排除了?)\s*+(?:因为|由于|单纯的?|普通的?|什么|那种)*+\s*+(?:CUDA|GPU|CPU|torch)?\s*+{FAILS_ZH}(?:\s*+吧|(?![^，。；\n]{{0,8}}(?:吗|么|[?？])|\s*就是))",
        re.I | re.A,
    ),
    # a name that code fetches, and what is to be seen before it comes
    re.compile(
        rf"\b(?:cannot\s+)?import\s+(?:name\s+)?[\"']?{_NAME}{FAILS}|\bbefore\s+(?:an?\s+|the\s+|any\s+)?{FAILS}\s+(?:happens?|occurs?|hits?|comes?)\b",
        re.I | re.A,
    ),
    # a counter at nought, and what code does then
    re.compile(rf"{FAILS}['\"’”]?\s*(?:alerts?|errors?|events?|counts?)?\s*[:=：]\s*0(?![\d.x])", re.I | re.A),
    re.compile(rf"\b(?:catch(?:es|ing)?|handl(?:e|es|ing)|swallow(?:s|ing)?)\s+{_FEW}{_NAME}{FAILS}", re.I | re.A),
    re.compile(
        rf"(?:\b(?:logg?(?:er|ing)?|console|warnings?)\.\w{{2,12}}|\bprint)\(\s*[rf]?[\"'][^\"'\n]{{0,60}}?{FAILS}[^\"'\n]{{0,80}}",
        re.I | re.A,
    ),
    # what a program has for the case, or will do then: “OOM guard enabled”, “will retry on out of memory”, “checkpoint-on-oom: true”
    re.compile(
        rf"{FAILS}[ -](?:guard|handler|observer|protection|safe|proof|hook|score|recovery|retr(?:y|ies))\b|\b\w{{1,30}}-on-OOM\b"
        rf"|\b(?:disabl|skip|record)\w*\s+{_FEW}{FAILS}(?:\s+(?:kill\w*|batch\w*|snapshots?))?"
        rf"|\b(?:will\s+(?:\w+\s+)?(?:retry|recover|halve|skip|dump|restart)|falls?\s+back|dumps)\b[^.;\n]{{0,40}}?"
        rf"\b(?:on|upon|when|after|if|in case of)\s+{FAILS}",
        re.I | re.A,
    ),
    # what somebody fears
    re.compile(
        rf"\b(?:(?:afraid|scared) of|worr(?:y|ied) about|fear(?:ing)?(?: of)?|against|(?:safe|protect\w*) from)\s+{_FEW}{FAILS}",
        re.I | re.A,
    ),
    re.compile(
        rf"\b(?:afraid|scared|worr(?:y|ied)|fear)\s+(?:that\s+)?(?:an?|the|it|this|that|we|i)\b[^.,;\n]{{0,60}}?\s{FAILS}",
        re.I | re.A,
    ),
    re.compile(rf"(?:害怕|生怕|怕|担心)\s*(?:会|要|再|它|又|训练|直接){{0,3}}\s*{FAILS_ZH}", re.I | re.A),
    # what is written about it: a document, a list of changes, a question of what words mean
    re.compile(
        rf"\b(?:tips?|guides?|advice|sections?|docs?|documentation|faq|troubleshooting)\s+(?:for|on|about|of)\s+{_FEW}{FAILS}"
        rf"|\bdifference between\s+{_FEW}{FAILS}(?:\s+and\s+{_FEW}{FAILS})?"
        rf"|(?:(?:^|[;:•*-])\s*fixe[sd]|[;:•*-]\s*fix)\s+{_FEW}(?:{FAILS}|memory leaks?)"
        r"\s+(?:in|on|of|when|during|for|by|caused|issue|problem)\b"
        rf"|{FAILS}\s+(?:is|was)(?:n['’]t| not) (?:the|my|our)\s+(?:\w+\s+)?(?:problem|issue|cause|reason)\b",
        re.I | re.A,
    ),
    re.compile(
        rf"\bwhat\s+(?:does|do|is|are)\s+(?:an?\s+|the\s+)?[\"'“`]?(?:cuda\s+)?{_NAME}{FAILS}[\"'”`]?[^.;\n?]{{0,30}}?\bmeans?\b"
        rf"|什么(?:是|叫)\s*(?:CUDA\s*)?{FAILS_ZH}|{FAILS_ZH}[^，。；\n]{{0,8}}?什么意思"
        r"|^\s*(?:docs|feat|chore|refactor|tests?|ci|perf|build)(?:\([\w-]{1,30}\))?!?:\s(?!.{0,200}tried to alloc)[^\n]{0,200}?"
        rf"{FAILS}",
        re.I | re.A,
    ),
    # what may come of it
    re.compile(
        rf"\b(?:may|might|could|can|would)\s+(?:\w+\s+)?(?:cause|lead to|result in|trigger|throw|produce|run into)\s*{_FEW}{FAILS}"
        rf"|\brisk(?:s|ing)?\s+(?:of\s+)?(?:an?\s+)?{FAILS}"
        rf"|\byou(?:['’]re|\s+are)\s+(?:more\s+|less\s+|most\s+)?likely\s+to\s+{_FEW}{FAILS}",
        re.I | re.A,
    ),
    # what a program lists or guesses, for any failure: Ray's exits, SGLang's graphs and schedulers
    re.compile(
        rf"(?:\bif\s+(?:the\s+)?exit\s+code\s+is\s+-9\b[^.\n]{{0,20}}?)?\b(?:common|possible|potential)\s+(?:root\s+)?causes?"
        rf"\s+(?:is|are|includes?)\b[^.,;\n]{{0,50}}?{FAILS}(?:[ -]killer)?"
        rf"|\bif\s+the\s+(?:process|worker)\s+was\s+killed\s+by\b[^.\n]{{0,20}}?{FAILS}[^.\n]{{0,300}}"
        rf"|\brun\s+[`'\"]?(?:sudo\s+)?dmesg\b[^.\n]{{0,40}}?\boom\b[`'\"]?\s+to\s+(?:check|see)"
        rf"|\b(?:unexpected\s+failures|killed\s+by\s+the\s+OS)\s*\(e\.g\.,?\s*{FAILS}\)|\bcrash(?:es|ed)?\s+unexpectedly\s+\({FAILS},\s*etc\.?\)"
        rf"|\bif\s+(?:an?\s+)?{FAILS}\s+(?:errors?\s+)?(?:occurs?|happens?)\b[^.,;\n]{{0,50}},\s*(?:please\s+)?(?:consider|try|set|reduce|lower|decrease)\b"
        rf"|\bif\s+(?:it|this)\s+is\s+(?:an?\s+)?{FAILS}(?:\s+(?:problem|issue|error))?,\s*(?:set|reduce|lower|decrease|try|use)\b",
        re.I | re.A,
    ),
    # what somebody asks before it runs
    re.compile(
        rf"\b(?:will|would|should)\s+(?:i|we|it|this|that|these|they|the\s+\w+|\w+|\d[^.;\n?？]{{0,24}})\s+(?:just\s+|still\s+|go\s+|get\s+|hit\s+)?{FAILS}"
        rf"[^.;\n?？]{{0,60}}[?？]|\bfits?\b[^.;\n?？]{{0,40}}\bor\s+(?:will\s+it\s+|would\s+it\s+)?{FAILS}|{FAILS}\s+(?:or\s+fits?|risk)\b",
        re.I | re.A,
    ),
    re.compile(
        rf"(?:会不会|是否会|会否|有没有可能)[^。；;\n]{{0,12}}?{FAILS_ZH}|(?<![都还就又也])会\s*{FAILS_ZH}\s*(?:吗|么|嘛)",
        re.I | re.A,
    ),
)
# who asks how, or could not, has had the failure
_HAD_IT = re.compile(
    r"\b(?:how|cannot|can['’]?t|could\s?n['’]?t|could not|unable|fail\w*|not|ways?|help|any\w*|trying|tried|want)\b[^.;\n]{0,30}$"
    r"|(?:如何|怎么|怎样|咋|无法|没法|没能|不能|求(?!助|救|教|问))[^，,。；\n]{0,8}$",
    re.I | re.A,
)
_WORD = re.compile(r"OOM|memory|v?ram\b|显存|内存|爆", re.I | re.A)


@lru_cache(maxsize=512)
def without_advice(words: str) -> str:
    """The words with dots for every such clause, so that all else keeps its place and no sentence seems to end there."""
    if not _WORD.search(words):
        return words
    for pattern in _TOLD:
        words = pattern.sub(_dots, words)
    return words


def _dots(found: re.Match[str]) -> str:
    had = _HAD_IT.search(found.string[max(0, found.start() - 60) : found.start()])
    return found[0] if had else "·" * len(found[0])
