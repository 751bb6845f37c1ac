"""The shapes in which people and tables write cards and machines; groups: count, times, card, size…, nodes."""

from __future__ import annotations

import re
from functools import lru_cache

from diagnose.facts.sentences.prose import NOT_OF_RAM, NUMERAL

_SIZE = rf"(\d{{2,3}})(?:\.\d+)?\s*-?\s*G(?:i?B)?(?![A-Za-z]){NOT_OF_RAM}"
_TIMES = r"[x×X*✕]"
_MACHINES = r"(?:nodes?|machines?|servers?|台|机|个?节点)"
_MEASURE = r"(?:张|块|卡|个|枚|台|片)"
# a count stands alone: no digit, letter or numeral before it (a Chinese word may)
_ALONE = r"(?<![A-Za-z0-9_.\-=/十百千])"
# the number of a setting, behind its word and a blank, is no count of what follows it
_NO_SETTING = r"(?<!batch )(?<!batch_size )(?<!batch size )(?<!\bbs )(?<!rank )(?<!length )(?<!epochs )(?<!steps )(?<!zero )(?<!stage )"
# what may stand between a count and the card: a size, a maker, a blank
_BEFORE = rf"(?:{_SIZE}\s*(?:的\s*)?)?(?:(?:NVIDIA|Tesla|GeForce|AMD|Huawei|华为|昇腾|Ascend|英伟达|GPUs?|the|of|local|of the)\s*){{0,2}}"
# a size may lack its unit where nothing follows that it could count: “2x A100 80?”
_BARE_SIZE = r"(?<=[ -])(?P<size2>40|80)(?=\s*(?:[?？,，;；:：。)）]|\.?(?:\s*$|\s+[A-Z])))"
# the whole of a card in MiB, as drivers print it: “A100 81920MiB”
_OF_DRIVER = r"(?:[ ,，:：-]|\s?[(（]){1,3}(?P<mib>16384|24564|24576|32768|40536|40960|49140|49152|81559|81920|98304)\s?Mi?B(?![A-Za-z])"
_AFTER = (
    r"(?:[-\s]?(?:SXM\d?|PCIe|PCIE|HBM\d?e?|NVL|Ti|Ada))*"
    rf"(?:(?:[-\s,，:：/_]|\s?[(（])*{_SIZE}|[ -]{_BARE_SIZE}|{_OF_DRIVER})"
)

# a name ends, or its size or a count follows without a blank: A10080G, H100x8
_ENDS = r"(?:(?![A-Za-z0-9])|(?=[xX]\d{1,3}(?![A-Za-z0-9.]))|(?=(?:16|24|32|40|48|64|80|94|96|141)G(?:i?B)?(?![A-Za-z0-9])))"


@lru_cache(maxsize=8)
def _card(words: tuple[str, ...]) -> str:
    """A pattern for any of the names, the longest first; a blank in a name may be a dash or nothing."""
    forms = sorted(words, key=len, reverse=True)
    return r"(?:" + "|".join(re.sub(r"(?:\\ |\\-)", r"[-\\s]?", re.escape(form)) for form in forms) + r")"


@lru_cache(maxsize=8)
def named(words: tuple[str, ...], short: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Count before card, and card before count; group ``times`` is a count behind the card."""
    counted = rf"(?P<card>{_card((*words, *short))})s?{_ENDS}"
    card = rf"(?<![A-Za-z0-9.])(?P<card>{_card(words)})s?{_ENDS}"
    count = rf"{_ALONE}{_NO_SETTING}(?P<count>{NUMERAL}|an?(?=\s))"
    # 8A100, 双4090; a table has two blanks between the index of a card and its name
    link = rf"(?!\s{{2,}}(?!{_TIMES}|{_MEASURE}))\s*(?:{_TIMES}|{_MEASURE}|\s|-(?=[A-Za-z])|(?<=双)|(?-i:(?=[A-Z])))\s*(?:{_MEASURE}\s*)?"
    after = _AFTER.replace("(\\d{2,3})", "(?P<size>\\d{2,3})", 1)
    before = _BEFORE.replace("(\\d{2,3})", "(?P<size0>\\d{2,3})", 1)
    trailing = (
        rf"\s*[)）]?\s*(?:{_TIMES}\s*(?P<times>\d{{1,4}})(?![\dGgBb]|\.\d|\s*(?:nodes|机|个?节点))(?:\s*{_TIMES}\s*(?P<machines>\d{{1,3}})\s*(?={_MACHINES})"
        rf"|(?!\s*{_TIMES}\s*\d))"
        r"(?:\s*[(（]?\s*(?P<size1>\d{2,3})\s*G(?:i?B)?\b)?)?"
    )
    return (
        re.compile(
            rf"{_ALONE}(?P<nodes>\d{{1,3}})\s*{_TIMES}\s*(?P<count>\d{{1,2}})\s*(?:{_TIMES}\s*)?{before}{counted}(?:{after})?",
            re.I | re.A,
        ),
        re.compile(rf"{count}{link}{before}{counted}(?:{after})?{trailing}", re.I | re.A),
        re.compile(
            rf"(?:(?<![\d.])(?P<size0>\d{{2,3}})\s*[Gg][Bb]?\s*(?:版|的)?\s*)?{card}(?:{after})?{trailing}", re.I | re.A
        ),
        *_bare(short, trailing),
    )


def _bare(short: tuple[str, ...], trailing: str) -> tuple[re.Pattern[str], ...]:
    """A bare number, which is a card only beside a count, beside its size, called somebody's, or where a run is on it."""
    card = rf"(?P<card>{_card(short) if short else '(?!)'})(?:\s?super)?"
    return (
        re.compile(
            rf"{_ALONE}{card}s?\s*(?:{_TIMES}\s*(?P<times>\d{{1,2}})(?![\dGgBb]|\.\d)"
            rf"|(?P<count>{NUMERAL})\s*(?:卡|张))",
            re.I | re.A,
        ),
        re.compile(
            rf"{_ALONE}(?:(?P<count>{NUMERAL})\s*)?{card}s?(?:\s|[(（,，-])*"
            rf"(?P<size>\d{{2}})\s*G(?:i?B)?(?![A-Za-z0-9]){NOT_OF_RAM}{trailing}",
            re.I | re.A,
        ),
        re.compile(
            rf"{_ALONE}(?P<size>\d{{2}})\s?G(?:i?B)?\s+{card}(?![\w.%]|\s*(?:[MG]i?B|tokens?|steps?)\b)", re.I | re.A
        ),
        re.compile(rf"(?:\b(?:my|the|our)\s+|(?:[用租买]的?是?|我的|一块|一张)\s*){card}(?![A-Za-z0-9])", re.I | re.A),
        # a part of a list, none beside it a number: “WSL, 4090, LoRA”
        re.compile(
            rf"(?:(?<=[^\d\s][,，;；])|(?<=[^\d\s][,，;；]\s)){card}(?=\s*(?:[,，;；]\s*[^\d\s]|[.。]?\s*$))",
            re.I | re.A,
        ),
        re.compile(rf"\b(?:on|using)\s+{card}(?=\s*(?:[,，;；。:：]|\.?\s*$))", re.I | re.A),
        re.compile(
            rf"{_ALONE}(?<!step ){card}(?=\s*(?:上(?![下升])|跑|训练|微调|显卡|单卡))",
            re.I | re.A,
        ),
    )


# cards without a name
UNNAMED = (
    # a count of cards and the size of each right behind it
    re.compile(
        rf"{_ALONE}(?P<count>{NUMERAL})\s*(?:张|块)?卡\s*(?:显存)?\s*(?P<size>16|24|32|40|48|64|80|90|94|96|141)\s*[Gg][Bb]?(?![A-Za-z])"
        r"(?!\s*(?:内存|ram|ddr\d|dimm))",
        re.I | re.A,
    ),
    re.compile(
        rf"{_ALONE}(?P<count>{NUMERAL})\s*(?:{_TIMES}|张|块|卡)\s*(?:张|块"
        rf"|卡)?\s*(?P<size>\d{{2,3}})\s*[Gg][Bb]?\s*(?:的)?\s*(?:显存)?\s*(?:的)?\s*(?:卡|显卡|GPUs?|cards?|服务器|机器)",
        re.I | re.A,
    ),
    re.compile(
        rf"{_ALONE}(?P<count>{NUMERAL})\s*(?:{_TIMES}\s*)?(?:(?P<size>\d{{2,3}})\s*-?\s*[Gg][Bb]?\s*)?(?:NVIDIA\s*)?(?:GPUs?|cards?|GCDs?|gpu卡)(?![A-Za-z0-9_]|:(?!\s*[A-Za-z]))(?:\s*[(（,]?\s*(?:each\s*)?(?P<size1>\d{{2,3}})\s*[Gg][Bb]?(?:\s*each|\s*[)）]|\s*每))?",
        re.I | re.A,
    ),
    re.compile(
        rf"{_ALONE}(?P<count>{NUMERAL})\s*(?:张|块|卡)(?:\s*(?:显卡|卡|GPU))?(?!\s*(?:推理|用来|用于|做|给|上))", re.A
    ),
    re.compile(
        rf"(?:单机|一台|机器|节点|服务器|\b(?:node|machine|server|box)\b)\s*(?:是|有|[:：]|with|of|has|is)?\s*(?P<count>\d{{1,2}})\s*{_TIMES}\s*"
        r"(?P<size>16|24|32|40|48|64|80|90|94|96|141)\s*G(?:i?B)?(?![A-Za-z])(?!\s*(?:ddr|dimm|ram|内存|memory))",
        re.I | re.A,
    ),
    # a count and a size that only cards have
    re.compile(
        rf"{_ALONE}{_NO_SETTING}(?P<count>[1-9]|1[0-6]|32|64)\s?[x×*]\s?(?P<size>24|40|48|64|80|94|96|141)\s?-?G(?:i?B)?(?![A-Za-z0-9])"
        r"(?!\s*(?:of\s+)?(?:(?:system|host|cpu|ddr\d?)\b|ram\b|memory\b|dimm|内存|硬盘|nvme|ssd))",
        re.I | re.A,
    ),
    re.compile(r"\b(?P<count>an?|one|single)\s+(?P<size>\d{2,3})\s?-?GB?\s+(?:gpu|card|vram card)\b", re.I | re.A),
    re.compile(
        r"(?:^|[,，;；、(（])\s*显存\s*(?:是|为|[:：])?\s*(?P<size>\d{2,3})\s*Gi?B?(?=\s*(?:[,，;；、)）。]|$))",
        re.I | re.A,
    ),
    re.compile(r"每(?:张|卡|块|个)(?:卡|GPU)?\s*(?:显存)?\s*(?P<size>\d{2,3})\s*G", re.I | re.A),
    re.compile(
        r"(?<![\d.])(?P<size>\d{1,3})\s?-?G(?:i?B)?\s*(?:of\s+)?(?:VRAM|显存)?\s*(?:each\b|per (?:gpu|card)|/\s*(?:gpu"
        r"|card|卡)|(?:cards?|GPUs?)\b|的?(?:卡|显卡)|显存)",
        re.I | re.A,
    ),
    re.compile(
        r"\b(?:card|gpu)s? (?:has|have|with|of) (?P<size>\d{2,3})\s?G(?:i?B)?\b(?!\s*(?:of\s+)?(?:ram|used|free))",
        re.I | re.A,
    ),
)
CARD_WORD = re.compile(r"gpu|card|gcd|[卡张块]|\d[\s-]*g", re.A)  # in lower case; any of the forms above holds one
# cards that are told by their role are parts of a whole that is not told
SPLIT = re.compile(r"卡\s*(?:推理|训练).*卡\s*(?:推理|训练)", re.A)
NODES = re.compile(
    rf"\b(?:node|machine|host)\s*#?\s?\d{{1,3}}\s*[(（]?(?:/|(?:out )?of)\s*(?P<all>\d{{1,3}})(?![\w/])(?!\s*(?:gpus?|cards?))"
    rf"|{_ALONE}(?:{NUMERAL}|a single)\s+(?:nodes?|machines?|servers?|hosts?)\b[^.;\n]{{0,40}}?"
    rf"(?<!\bran )(?<!\bruns )(?<!\brun )(?<!\brunning )\b(?:out of|of (?:the|our|all))\s+"
    rf"(?P<whole>{NUMERAL})(?=[\s-]*(?:nodes?|machines?|servers?|hosts?|in\b|\.?\s*$|\.\s|[,;:!?()（），。]))"
    rf"|{_ALONE}(?P<boxes>{NUMERAL})(?:\s?[x×*]\s?|\s+)"
    r"(?=\d{1,2}(?:\s?[x×*]|[-\s]?(?:gpu|card))\s?[\w-]{2,16}\s(?:nodes|machines|servers|boxes)\b)"
    rf"|(?:{_ALONE}|(?<=[\d卡张块][x×*]))(?<!第)(?<!第 )(?P<nodes>{NUMERAL})\s*(?:{_TIMES}\s*)?"
    r"(?:nodes?|machines?|servers?|hosts?|boxes|台(?:机器|服务器|机)?|机|个?节点"
    # what has a whole machine's cards is one, whatever a scheduler calls it
    r"|(?:ray )?(?:workers?|pods?|instances?|replicas)(?= (?:of|with|having|x|each with) (?:8|16) ?[x×*]? ?"
    r"(?:NVIDIA )?(?:[AHBV]\d{2,3}s?\b|gpus?\b|cards?\b)))(?!(?![AHBLV]\d)[A-Za-z_\-])",
    re.I | re.A,
)
ONE_NODE = re.compile(
    r"\b(?:one|a single)\s+(?:(?!(?:per|of|the|each|every|on|for|in|from|to|an?)\b)[\w.]+\s+){1,3}(?:machine|node|server|workstation|box)\b"
    r"|^\s*(?:[-*]\s*)?(?:node|machine|server|机器|节点|服务器)\s*[:：]\s*\d+\s*[x×*]"
    rf"|\bnotebook\b|\bcolab\b|\bkaggle\b|\b(?:my|our) (?:workstation|desktop|PC)\b(?=[^\n]{{0,40}}?\b{NUMERAL}\s?[x×*]\s?[A-Z])"
    r"|\b(?:single|one)[-\s](?:node|machine|server|box|host|workstation)\b|\b(?:on|in) (?:the )?same (?:node|machine)\b"
    r"|单机|单节点|单台|(?<!第)一台(?:机器"
    r"|服务器)?|(?:这|该)台(?:机器|服务器)"
    r"|\b(?:one|an?|single|this|our|my)\s+\d+\s*(?:[x×*]|cards?|gpus?|-gpu)[\w\s-]{0,14}?\s(?:node|machine|server|box"
    r"|pod|host|workstation)\b"
    r"|\b(?:machine|server|box|workstation)\s*(?:is|has|:|with)\s*(?:an?\s+)?\d+\s*(?:[x×*]|gpus?\b)"
    r"|\b(?:a|one|my|our|this|single)\s+(?:machine|server|box|workstation|node)\s+(?:has|with|of)\s+"
    rf"{NUMERAL}\s*(?:[x×*]\s*)?(?:NVIDIA |RTX |Tesla )?[A-Z]?\d"
    r"|(?<!每台)(?<!每个)(?<!台)(?:机器|服务器)\s*(?:是|有|为)\s*(?:\d{1,2}|[单两双二四六八])\s*(?:卡|张|块|[x×*])",
    re.I | re.A,
)
# “one node ran out of disk”: one of several, to which something happened
ONE_OF_SEVERAL = re.compile(
    r"\s*(?:(?:just|always|suddenly|randomly|often|sometimes|still|also|only)\s+)?"
    r"(?:ran|runs|died|dies|crash\w*|fail\w*|went|goes|hits?|lost|hangs?|hung|reports?|reported|got|gets|keeps?|dropped|rebooted|disconnect\w*"
    r"|was|(?:is|has) (?:been )?(?:down|slow\w*|dead|gone|broken|unreachable|out|always|different|less|more)|OOM\w*)\b"
    r"|\s*(?:的)?(?:磁盘|硬盘|网络|网卡|报|挂|掉|坏|崩|OOM|卡住|宕|重启|失联)",
    re.I | re.A,
)
WHERE_IT_RUNS = re.compile(r"\b(?:on|in|with|using|have|has|a|my|our|the)\s+$|(?:在|用|我有|就)\s*$", re.I | re.A)
# in lower case; a line that tells of machines in either of the two ways above holds one
MACHINES = (
    "node", "machine", "server", "host", "box", "workstation", "pod", "worker", "instance",
    "replica", "notebook", "colab", "kaggle", "台", "机", "节点", "服务器",
)  # fmt: skip
EACH = re.compile(
    r"(?:每(?:台|机|个?节点|台机器)(?:各|都|有|是){0,2}|(?:节点|机器|服务器)[,，、]?\s*每[个台](?:各|都|有|是){0,2}|单(?:机|台|节点)|一台(?:机器|服务器)?"
    r"|\b(?:each|per node|per machine|nodes? of|(?:each|every) (?:(?:node|machine) )?(?:has|holds"
    r"|with)|each with)|\b(?:nodes?|machines|servers|boxes|hosts)\s*[x×*]|\b(?:nodes|machines|servers)\s*(?:[à@]|a(?=\s)))\s*[:：(（]?\s*"
    # … with what else it holds in between
    r"(?:\d+(?:\.\d+)?\s*[TG]i?B?\s*(?:的)?(?:of\s+)?(?:内存|RAM|memory|host RAM)\s*(?:[、,，和及+]|and|with)\s*){0,1}$",
    re.I | re.A,
)
MACHINES_BEFORE = re.compile(
    r"(?:\d{1,3}|[两双二三四五六七八])\s*(?:台(?:机器|服务器|机)?|机|个?节点)(?:\s*[,，]?\s*(?:上)?[各都](?:自|有|是)?|\s*[x×*]?)\s*$",
    re.A,
)
# “4 nodes 8xH100”, “8xH100, 4 nodes”: a machine's cards beside the number of machines, where nothing calls them all
NODES_BEFORE = re.compile(
    r"(?<!\w)(?:\d{1,3}|two|three|four|eight)\s*(?:nodes?|machines?|servers?)\s*[,:(（]?\s*$", re.I | re.A
)
NODES_BEHIND = re.compile(
    rf"\s*[)）]?\s*(?:(?:的?(?:服务器|机器)|(?:servers?|machines?|nodes?|boxes|box|setup))\s*)?[,，/]?\s*(?:\d{{1,3}}|[两双二三四五六七八])\s*{_MACHINES}(?![A-Za-z])",
    re.I | re.A,
)
# “64 nodes? no 8”
DENIED = re.compile(
    r"\s*[?？]\s*(?:no\b|nope\b|不是?|没有?)[\s,，:]*(?:only\s|just\s|只有|是)?\s*(?P<count>\d{1,3}(?!\w|\.\d))?",
    re.I | re.A,
)
IN_ALL = re.compile(r"[^,，.;；]{0,16}(?:\b(?:total|in all|altogether|overall)\b|共|总)", re.I | re.A)
COUNTED_BY = re.compile(rf"双|\d\s*(?:{_TIMES}\s*(?:\D|\d{{2,3}}\s*G)|[卡张块]|-?\s?(?:gpu|card)\b)", re.I | re.A)
OF_MACHINES = re.compile(r"\s*(?:(?:nodes|machines|servers|boxes|instances)\b|的?(?:机器|节点|服务器))", re.I | re.A)
# “two 8xH100 boxes”, but “2 H200 nodes” counts the nodes
OF_EACH = re.compile(r"\s*-?(?:gpu\s+)?(?:nodes|machines|servers|boxes)\b", re.I | re.A)
# “an H100 node” says nothing of how many cards it has
MACHINE_WORD = re.compile(
    r"\s*-?(?:gpus?\s+|cards?\s+)?(?:node|cluster|machine|server|box|pod|instance|setup|workstation)|\s*的?(?:机器|节点|服务器)",
    re.I | re.A,
)
# “the node has 8 H100”, “机器是 8 卡”
MACHINE_HOLDS = re.compile(
    r"(?:\b(?:nodes?|machines?|servers?|box(?:es)?|workstations?)\s+(?:has|have|with|of|is|are|holds?)"
    r"|(?:机器|节点|服务器|机)(?:上|里)?(?:总共|一共|共)?(?:有|是|为))\s*(?:an?\s+)?$",
    re.I | re.A,
)
EACH_AFTER = re.compile(
    r"^\s*[)）]?\s*(?:GPUs?\s*)?(?:on |in |for )?(?:each|per (?:node|machine)|every (?:node|machine)|/\s*node|a node)\b"
    rf"|^\s*[)）]?\s*{_TIMES}\s*\d{{1,3}}\s*{_MACHINES}(?![A-Za-z])",
    re.I | re.A,
)
# a run that went well, or a machine beside the one that is asked about
WENT_WELL = re.compile(
    r"\b(?:fine|works?|worked|no (?:problem|oom|issue)\w*|never|enough|fits?|is ok|without (?:any )?(?:problem|trouble|oom))\b"
    r"|[(（:：]\s*(?:ok|good)\b|\bok(?:ay)?\s*$|没有?出现|没有?问题|没事|正常|不会|能跑|可以跑|跑得[了动]|放得下|装得下|够用|足够",
    re.I | re.A,
)
BESIDE = re.compile(
    r"\b(?:also (?:tried|tested)|had|was (?:run |trained )?on|originally|at first|initially"
    r"|another|borrowed|previous(?:ly)?|used to|earlier|moved from|instead of|compared (?:to|with)|my (?:desktop|laptop))\b"
    r"(?:(?! to |\bnow\b)[^,，;；.。]){0,24}$"
    r"|(?:也试|还试|之前|以前|原来|第一次|最初|最早|一开始|借了?|相比)(?:(?!现在|目前|[换改]成|换到)[^,，;；。]){0,10}$",
    re.I | re.A,
)
# “one of the 4 nodes ran out”: where some of them failed, all of them run
OF_THE = re.compile(r"\bof the\s+$", re.I | re.A)
TRIED = re.compile(
    r"\b(?:tried|different|several|other|of the|plan(?:ned)?:?|want(?:ed)?|need)\s+$|试过?了?\s*$", re.I | re.A
)
# the whole of a run's cards is one, where nothing counts them
ONE_CARD = re.compile(
    r"\b(?:the|my|this|our) (?:only |own )?(?:card|gpu) (?:has|is an?|with)\b|\bnothing else (?:is )?(?:running )?on the (?:card|gpu)\b"
    r"|\bmy (?:own |local )?(?:laptop|desktop|gaming pc)\b|\b(?:google )?colab\b"
    r"|\d\s?GB?,?\s+single(?=\s*(?:[,，;；。)]|$|gpu\b|card\b))"
    r"|(?:我的|这张|这块)(?:显?卡|GPU)(?:是|有|只有)|卡上没有?(?:别的|其他)",
    re.I | re.A,
)
# “rank 3 of 8”, “world size 16” count the processes, one a card
RANK_OF = re.compile(
    r"(?:(?<![A-Za-z_.-])(?<!lora )(?<!\b[tdpesc]p )(?<!local )rank\s*#?\s?\d{1,4}\s*(?:/|(?:out )?of)\s*"
    r"|(?<![A-Za-z_.-])(?<!vllm )(?<!sglang )(?<!engine )(?<!\b[tdpesc]p )(?<!local )world size\s(?:of |is |was )?\s?)"
    r"(?P<n>[1-9]\d{0,3})(?![\w/.])(?!\s*(?:lora|nodes?))",
    re.I | re.A,
)
# some of the machine's cards, next to a run with others of them
PART_OF = re.compile(
    r"(?:训练|推理)用?\s*\d+\s*(?:张|卡|块).*(?:训练|推理)用?\s*\d+|"
    r"\b(?:with|on|using)\s+(?:only\s+|just\s+)?\d{1,3}\s+of\s+(?:the|my|our|those|these)\b(?!\s+\d{0,3}\s*(?:node|machine|server))"
    r"|\bwith all \d",
    re.I | re.A,
)
# a size that something needs or takes, no card's own
NEEDED = re.compile(
    r"(?:\brequir\w*|\bneed\w*|\btak(?:es?|ing)|\bconsum\w*|\bat (?:least|\d+)|\b(?:hold|keep|occup|reserv|allocat|weigh)\w*|\bused\b"
    r"|\b(?:fine|stable|stays?|sits?|runs?|peak\w*|usage(?: is)?) at|\buses?\b|\busing\b|[=~≈]|占用?|需要?|消耗|至少)[^.,，。;；\n]{0,12}$",
    re.I | re.A,
)
# cards on which something lands, or the bound of a number: not cards of the run
LANDS = re.compile(
    r"\b(?:put|placed|land\w*|ends? up|loaded|all|everything|whole model|copied)\s+(?:is |are )?(?:on|onto|to)\s*(?:an?\s+|one\s+)?$"
    r"|\btoo (?:large|big)\b[^.;\n]{0,40}\b(?:on|in|into|onto|for)\s+(?:an?\s+|one\s+)?$"
    r"|\b(?:more|fewer|less|greater) than\s+$|(?:太大[，,]?|放不下|装不下|不足以|超过|多于)[^，,。；;\n]{0,8}$",
    re.I | re.A,
)
# a letter and a digit in lower case may be a card (t4) or a parallel size (t4 p2 for TP 4, PP 2)
RANKS_BEFORE = re.compile(
    r"(?<![A-Za-z0-9])[tpdec]p?\s*[=:]?\s*\d{1,3}[\s,/_+-]+$|(?<![A-Za-z0-9])[tpdec]p\s*[=:]?\s*$", re.I | re.A
)
RANKS_BEHIND = re.compile(r"[\s,/_+-]*[tpdec]p?\s*[=:]?\s*\d", re.I | re.A)
CALLED_BEFORE = re.compile(
    r"(?:\b(?:an?|the|my|our|this|single|free|nvidia|tesla|colab|kaggle|aws|gcp|on|gpu|card)|[是用卡张块])[\s:：]*$",
    re.I | re.A,
)
CALLED_BEHIND = re.compile(r"[\s-]*(?:gpus?|cards?|instances?|on (?:colab|kaggle)|显?卡|上)(?![a-z])", re.I | re.A)
